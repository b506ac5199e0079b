"""`ecsuite grammar` as users type it: corpora that can be scored, the same bytes for the same seed."""

from pathlib import Path

import pytest

SMALL = ["--num-attributes", "2", "--num-values", "3", "--word-length", "2"]


def test_a_seed_gives_the_same_bytes_each_time_and_another_seed_others(ecsuite):
    for out, seed in (("one", 1), ("again", 1), ("other", 2)):
        assert ecsuite("grammar", "hol", *SMALL, "--seed", seed, "--out", out)[0] == 0
    for file in Path("one").iterdir():
        assert file.read_bytes() == Path("again", file.name).read_bytes()
    assert Path("one/corpus.jsonl").read_bytes() != Path("other/corpus.jsonl").read_bytes()


def test_the_corpus_of_a_run_is_not_replaced(ecsuite, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.yaml").write_text("name: game\n")
    code, out, err = ecsuite("grammar", "perm", "--num-attributes", "1", "--out", "run")
    assert (code, out) == (2, "") and err.startswith(
        "run: has a run, or a corpus of another source, which would be replaced; choose"
    )
    assert [file.name for file in (tmp_path / "run").iterdir()] == ["config.yaml"]


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
