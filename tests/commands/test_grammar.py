"""`ecsuite grammar` as users type it: corpora that can be scored, the same bytes for the same seed."""

from pathlib import Path

import pytest

from ecsuite.corpus import Corpus
from ecsuite.formats import read_corpus, write_corpus

SMALL = ["--num-attributes", "2", "--num-values", "3", "--word-length", "2"]


def test_a_grammar_becomes_a_corpus_that_can_be_scored(ecsuite, as_json):
    code, out, err = ecsuite("grammar", "concat", *SMALL)
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "9 messages in runs/concat (concat|2x3|w2|V4|seed:0|v:1)",
        "Next: ecsuite score runs/concat",
    ]
    scores = as_json("score", "runs/concat", "--metrics", "posdis")["scores"]
    assert {score["name"]: score["value"] for score in scores}["posdis"] == pytest.approx(1)


def test_a_grammar_s_json_and_options(as_json):
    data = as_json("grammar", "Cumrot+perm", *SMALL, "--vocab-size", "5", "--seed", "3", "--out", "here")
    assert data == {
        "folder": "here", "num_messages": 9, "grammar": "rot+perm", "signature": "rot+perm|2x3|w2|V5|seed:3|v:1",
        "seed": 3, "num_attributes": 2, "num_values": 3, "word_length": 2, "vocab_size": 5,
    }  # fmt: skip
    assert {path.name for path in Path("here").iterdir()} == {
        "corpus.jsonl",
        "meanings.jsonl",
        "metadata.json",
    }


def test_a_seed_gives_the_same_bytes_each_time_and_another_seed_others(ecsuite):
    for out, seed in (("one", 1), ("again", 1), ("other", 2)):
        assert ecsuite("grammar", "hol", *SMALL, "--seed", seed, "--out", out)[0] == 0
    for file in Path("one").iterdir():
        assert file.read_bytes() == Path("again", file.name).read_bytes()
    assert Path("one/corpus.jsonl").read_bytes() != Path("other/corpus.jsonl").read_bytes()


def test_a_language_without_meanings(as_json):
    Path("text.txt").write_text("the cat sat on the mat and the dog sat on the cat\n")
    data = as_json("grammar", "text_parentheses", "--num-symbols", "300", "--text", "text.txt")
    folder = Path(data["folder"])
    assert folder.parent == Path("runs") and not (folder / "meanings.jsonl").exists()
    assert len(read_corpus(folder).messages.values) == 300


def test_the_corpus_of_a_run_is_not_replaced(ecsuite, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.yaml").write_text("name: game\n")
    code, out, err = ecsuite("grammar", "perm", "--num-attributes", "1", "--out", "run")
    assert (code, out) == (2, "") and err.startswith(
        "run: has a run, or a corpus of another source, which would be replaced; choose"
    )
    assert [file.name for file in (tmp_path / "run").iterdir()] == ["config.yaml"]


def test_one_meaning_is_one_message(ecsuite):
    code, out, _ = ecsuite("grammar", "perm", "--num-attributes", "1", "--num-values", "1", "--out", "one")
    assert code == 0 and out.startswith("1 message in one (perm|1x1|")


@pytest.mark.parametrize(("file", "kind"), [("jobs", "a sweep"), ("people.db", "a study with people")])
def test_the_folder_of_something_else_is_refused(ecsuite, file, kind):
    Path("there").mkdir()
    Path("there", file).touch()
    for line in (
        f"grammar hol {' '.join(SMALL)} --out there",
        "icy --model fc1l --seeds 1 --save-corpora there",
        "icy --model fc1l --seeds 1 --cache there",
        "data wikipedia --languages da --out there",
    ):
        option = next(each for each in reversed(line.split()) if each.startswith("--"))
        message = f"there is the folder of {kind}: choose another folder with {option}\n"
        assert ecsuite(*line.split()) == (2, "", message)
    assert [each.name for each in Path("there").iterdir()] == [file]


def test_a_corpus_of_no_grammar_is_not_replaced(ecsuite):
    write_corpus(Corpus([[1]]), "mine")
    code, _, err = ecsuite("grammar", "hol", *SMALL, "--out", "mine")
    assert code == 2 and err.startswith(
        "mine: has a run, or a corpus of another source, which would be replaced"
    )
    assert ecsuite("grammar", "hol", *SMALL, "--out", "new")[0] == 0
    assert ecsuite("grammar", "hol", *SMALL, "--out", "new")[0] == 0


def test_examples_of_all_grammars_are_side_by_side_in_letters(ecsuite, as_json):
    """Rows of the object of values 0 and of those that differ from it in one attribute, as in the paper's Table 1."""
    rows = as_json("grammar", "--examples", "--seed", "2")["rows"]
    assert [row["object"] for row in rows] == [[0, 0, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0]]
    assert list(rows[0])[1:] == ["concat", "perm", "rot", "proj", "shufdet", "shuf", "pairsum", "hol"]
    for row in rows:
        letters = [ord(letter) - ord("a") for letter in row["concat"]]
        assert len(letters) == 9 and set(letters) <= set(range(5))
        assert sorted(row["perm"]) == sorted(row["concat"]) == sorted(row["shufdet"])
        sums = "".join(chr(ord("a") + sum(letters[: end + 1]) % 5) for end in range(9))
        assert row["rot"] == sums
    first, last, _, _ = (row["concat"] for row in rows)
    assert first[:6] == last[:6] and first[6:] != last[6:]  # only the word of the last attribute changes
    code, out, _ = ecsuite("grammar", "--examples", "--seed", "2")
    assert code == 0 and f"(0, 0, 0)  {first}" in out and not Path("runs").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", "ecsuite grammar: expected a grammar, such as shufdet"),
        ("--examples --out here", "--out: not used with --examples"),
        ("--examples --num-values 1", "--num-values: expected at least 2"),
        ("--examples --vocab-size 27", "--vocab-size: expected at most 26 letters, got 27"),
    ],
)
def test_mistakes_with_examples(ecsuite, arguments, message):
    code, _, err = ecsuite("grammar", *arguments.split())
    assert code == 2 and err.startswith(message)
