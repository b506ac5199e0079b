"""Records, plain text and tables with meanings: each is read, or one line says what is expected."""

import pytest

from ecsuite.formats import read_corpus
from ecsuite.runtime.errors import CorpusError


def rows(ragged):
    return [ragged[index].tolist() for index in range(len(ragged))]


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
def test_a_run_without_a_corpus_says_what_to_do(refused, tmp_path, path):
    (tmp_path / "runs/x").mkdir(parents=True)
    (tmp_path / "runs/x/config.yaml").write_text("name: x\n")
    assert refused("score", path) == (
        "runs/x: the run has no corpus yet: wait until its training ends, or continue it with "
        "`ecsuite train-game runs/x/config.yaml --out runs/x --resume`\n"
    )
