"""Records, plain text and tables with meanings: each is read, or one line says what is expected."""

import json

import pytest

from ecsuite.formats import read_corpus
from ecsuite.runtime.errors import CorpusError


def rows(ragged):
    return [ragged[index].tolist() for index in range(len(ragged))]


def said(corpus):
    """Messages as texts."""
    names = corpus.symbol_names
    return [
        " ".join(str(each) if names is None else names[each] for each in row) for row in rows(corpus.messages)
    ]


def concepts(corpus):
    return [[corpus.concept_names[each] for each in row] for row in rows(corpus.concepts)]


def written(folder, records):
    path = folder / "mine.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_records_of_named_attributes(tmp_path):
    corpus = read_corpus(
        written(
            tmp_path,
            [
                {"message": [3, 1], "meaning": {"color": "red", "size": 2}, "speaker": "a"},
                {"message": [3], "meaning": {"color": "blue", "size": 1}, "speaker": "b"},
            ],
        )
    )
    assert said(corpus) == ["3 1", "3"] and corpus.symbol_names is None
    assert concepts(corpus) == [["color=red", "size=2"], ["color=blue", "size=1"]]
    assert corpus.meanings.tolist() == [["red", "2"], ["blue", "1"]]


def test_records_whose_meanings_name_different_attributes(tmp_path):
    found = read_corpus(
        written(
            tmp_path,
            [
                {"message": "da bu", "meaning": {"color": "red"}},
                {"message": "ki", "meaning": {"shape": None, "x": 1}},
            ],
        )
    )
    assert said(found) == ["da bu", "ki"]
    assert concepts(found) == [["color=red"], ["x=1"]] and found.meanings is None


@pytest.mark.parametrize(
    ("meanings", "expected"),
    [
        ([[0, 2], [1, 1]], [[0, 2], [1, 1]]),
        (["0 2", "1 1"], [[0, 2], [1, 1]]),
        ([7, 8], [[7], [8]]),
        ([["red", "star"], ["blue", "dot"]], [["red", "star"], ["blue", "dot"]]),
        ([[0.5, 1], [1, 2]], [[0.5, 1.0], [1.0, 2.0]]),
    ],
)
def test_meanings_as_vectors(tmp_path, meanings, expected):
    records = [{"messages": "3 1", "meanings": meaning} for meaning in meanings]
    corpus = read_corpus(written(tmp_path, records))
    assert corpus.meanings.tolist() == expected and corpus.symbol_names is None
    assert said(corpus) == ["3 1", "3 1"]


def test_texts_of_concepts(tmp_path):
    records = [
        {"message": ["a", "b"], "meaning": "color=red shape=star"},
        {"message": [], "meaning": "color=blue"},
    ]
    corpus = read_corpus(written(tmp_path, records))
    assert concepts(corpus) == [["color=red", "shape=star"], ["color=blue"]]
    assert said(corpus) == ["a b", ""]


def test_plain_text(tmp_path):
    file = tmp_path / "mine.txt"
    file.write_text("3 1 4\n\n1\n")
    assert said(read_corpus(file)) == ["3 1 4", "", "1"] and read_corpus(file).symbol_names is None
    file.write_text("da bu\nki 1\n")
    assert said(read_corpus(file)) == ["da bu", "ki 1"]
    file.write_text("[3, 1]\n[4]\n")
    assert said(read_corpus(file)) == ["3 1", "4"]


def test_csv(tmp_path):
    file = tmp_path / "mine.csv"
    file.write_text("3,1,4\n1,,\n\n2\n")
    assert said(read_corpus(file)) == ["3 1 4", "1", "2"]
    file.write_text("id,message,color,shape\n1,3 1 4,red,star\n2,1,blue,dot\n")
    corpus = read_corpus(file)
    assert said(corpus) == ["3 1 4", "1"]
    assert concepts(corpus) == [["color=red", "shape=star"], ["color=blue", "shape=dot"]]
    file.write_text("message,meaning\nda bu,0 1\nki,1 1\n")
    assert read_corpus(file).meanings.tolist() == [[0, 1], [1, 1]]
    (tmp_path / "mine.tsv").write_text("message\tcolor\n1 2\tred, dark\n")
    assert concepts(read_corpus(tmp_path / "mine.tsv")) == [["color=red, dark"]]


def test_separators_at_the_ends_of_rows(tmp_path):
    """They are no column before the others, as names of rows are that the header leaves out."""
    file = tmp_path / "mine.csv"
    file.write_text("message,color\nda bu,red,\nki,blue,\n")
    assert said(read_corpus(file)) == ["da bu", "ki"]
    assert concepts(read_corpus(file)) == [["color=red"], ["color=blue"]]
    file.write_text("message,color\n1,da bu,red\n2,ki,blue\n")
    assert said(read_corpus(file)) == ["da bu", "ki"]


@pytest.mark.parametrize("text", ["{}\nki\n", "message,color\n{},red\nki,blue\n"])
def test_messages_of_any_length(tmp_path, text):
    file = tmp_path / ("mine.csv" if "," in text else "mine.txt")
    file.write_text(text.format("da bu " * 30_000))
    assert read_corpus(file).messages.lengths.tolist() == [60_000, 1]


def test_what_convert_writes_as_csv_is_read(tmp_path, ecsuite):
    assert ecsuite("grammar", "concat", "--num-attributes", "2", "--num-values", "3", "--out", "run")[0] == 0
    assert ecsuite("convert", "run", "out.csv", "--to", "csv")[0] == 0
    corpus, again = read_corpus(tmp_path / "run"), read_corpus(tmp_path / "out.csv")
    assert said(corpus) == said(again) and concepts(corpus) == concepts(again)
    assert corpus.meanings.tolist() == [[int(item) for item in row] for row in again.meanings]


def test_parquet_with_meanings(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    file = tmp_path / "mine.parquet"
    parquet.write_table(pyarrow.table({"message": ["da bu", "ki"], "meaning": [[0, 1], [1, 1]]}), file)
    corpus = read_corpus(file)
    assert said(corpus) == ["da bu", "ki"] and corpus.meanings.tolist() == [[0, 1], [1, 1]]
    colors = [{"color": "red"}, {"color": "blue"}]
    parquet.write_table(pyarrow.table({"messages": [[1, 2], [3]], "meanings": colors}), file)
    assert concepts(read_corpus(file)) == [["color=red"], ["color=blue"]]


FAULTS = {
    "a.csv": {
        "message,color\n1 2,red\n3\n": "a.csv: row 3: expected 2 cells, as in the header, got 1",
        "color,shape\nred,star\n": "a.csv: no column of messages among color, shape",
        "message,color\n": "a.csv: a header and no rows, expected one message per row",
        "": "a.csv: empty file, expected a header with a column `message`",
    },
    "a.txt": {"": "a.txt: empty file, expected one message per line, such as 3 1 4"},
    "a.jsonl": {
        '{"message": [1], "meaning": [0, 1]}\n' + '{"message": [1], "meaning": [0]}\n' * 30: (
            "a.jsonl: expected meanings of one length, got 1, 2"
        ),
        '{"message": [1], "meaning": [0]}\n' + '{"message": [1], "meaning": {"a": 1}}\n' * 30: (
            'a.jsonl:2, column meaning: expected a value like the first, got {"a": 1}'
        ),
        '{"message": [1], "c": {"x": 1}, "c.x": 5}\n{"message": [2], "c": {"x": 2}, "c.x": 6}\n': (
            "a.jsonl: two columns have the name c.x: one is in column c.x"
        ),
        '{"message": {"a": 1}}\n': (
            'a.jsonl:1: expected a message as a list of integers or of strings, or as a text, got {"a": 1}'
        ),
        '{"message": [1]}\n[1]\n': (
            'a.jsonl:2: expected an object such as {"message": [3, 1, 4], "meaning": {"color": "red"}}, got [1]'
        ),
        '{"message": [1], "meaning": {"a": 1}}\n{"message": [1], "meaning": "red"}\n': (
            'a.jsonl:2, column meaning: expected a value like the first, got "red"'
        ),
    },
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "text", "message"), [(name, *item) for name, faults in FAULTS.items() for item in faults.items()]
)
def test_a_fault_is_one_line(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(CorpusError) as caught:
        read_corpus(tmp_path / name)
    assert str(caught.value).splitlines()[0] == f"{tmp_path}/{message}"


@pytest.mark.parametrize("path", ["runs/x", "runs/x/corpus.jsonl"])
def test_a_run_without_a_corpus_says_what_to_do(ecsuite, tmp_path, path):
    (tmp_path / "runs/x").mkdir(parents=True)
    (tmp_path / "runs/x/config.yaml").write_text("name: x\n")
    code, out, err = ecsuite("score", path)
    assert (code, out) == (2, "")
    assert err == (
        "runs/x: the run has no corpus yet: wait until its training ends, or continue it with "
        "`ecsuite train-game runs/x/config.yaml --out runs/x --resume`\n"
    )


def test_an_empty_corpus_is_refused_and_empty_messages_are_told(ecsuite, tmp_path):
    (tmp_path / "a.jsonl").write_text("[]\n")
    code, out, err = ecsuite("score", "a.jsonl")
    assert (code, out) == (2, "") and err.count("\n") == 1
    assert err == "a.jsonl: its only message is empty: expected one message per line, such as [3, 1, 4]\n"
    (tmp_path / "a.jsonl").write_text("[]\n" * 12)
    code, out, _ = ecsuite("score", "a.jsonl", "--metrics", "elcc,has")
    assert code == 0 and out.endswith("Every message is empty, so no score is defined.\n")
