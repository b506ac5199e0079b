import json
from pathlib import Path

import numpy as np
import pytest

from ecsuite.corpus import Corpus
from ecsuite.formats import read_corpus, write_corpus

ROWS = [[1, 2, 0], [3, 0], [0]]


def test_a_seed_gives_the_same_bytes_each_time_and_another_seed_others(succeeded):
    sizes = ("--num-attributes", "2", "--num-values", "3", "--word-length", "2")
    for out, seed in (("one", 1), ("again", 1), ("other", 2)):
        succeeded("grammar", "hol", *sizes, "--seed", seed, "--out", out)
    for file in Path("one").iterdir():
        assert file.read_bytes() == Path("again", file.name).read_bytes()
    assert Path("one/corpus.jsonl").read_bytes() != Path("other/corpus.jsonl").read_bytes()


def test_examples_of_all_grammars_are_side_by_side_in_letters(succeeded, as_json):
    """Rows of the object of values 0 and of those that differ from it in one attribute, as in the paper's Table 1."""
    rows = as_json("grammar", "--examples", "--seed", "2")["rows"]
    assert [row["object"] for row in rows] == [[0, 0, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0]]
    assert list(rows[0])[1:] == ["concat", "perm", "rot", "proj", "shufdet", "shuf", "pairsum", "hol"]
    for row in rows:
        letters = [ord(letter) - ord("a") for letter in row["concat"]]
        assert len(letters) == 9 and set(letters) <= set(range(5))
        assert sorted(row["perm"]) == sorted(row["concat"]) == sorted(row["shufdet"])
        assert row["rot"] == "".join(chr(ord("a") + sum(letters[: end + 1]) % 5) for end in range(9))
    first, last, _, _ = (row["concat"] for row in rows)
    assert first[:6] == last[:6] and first[6:] != last[6:]  # only the word of the last attribute changes
    assert f"(0, 0, 0)  {first}" in succeeded("grammar", "--examples", "--seed", "2")
    assert not Path("runs").exists()


def test_forms_say_what_they_leave_out_and_are_read_as_they_were(succeeded):
    datasets = pytest.importorskip("datasets")
    given = {"concepts": [[0, 3], [1, 2], [1, 3]], "concept_names": ("a=0", "a=1", "b=0", "b=1")}
    write_corpus(Corpus(ROWS, eos=0, meanings=np.array([[0, 1], [1, 0], [1, 1]]), **given), "run")
    out = succeeded("convert", "run", "out/lines.jsonl", "--to", "elcc")
    assert out == "3 messages in out/lines.jsonl; left out: meanings and concepts, metadata\n"
    assert succeeded("convert", "run", "saved", "--to", "hf").endswith("left out: metadata\n")
    assert datasets.load_from_disk("saved")["b"][:] == [1, 0, 1]
    for again in (read_corpus("out/lines.jsonl"), read_corpus("saved")):
        assert [row.tolist() for row in again.messages] == ROWS and again.eos == 0


def test_elcc_of_several_speakers_is_a_file_each(succeeded):
    write_corpus(Corpus([[1, 2], [2], [3]], columns={"speaker": [0, 1, 0]}), "run")
    assert succeeded("convert", "run", "out", "--to", "elcc") == "3 messages in out; left out: metadata\n"
    found = {file.name: file.read_text() for file in Path("out").iterdir()}
    assert found == {"speaker-0.jsonl": "[1, 2]\n[3]\n", "speaker-1.jsonl": "[2]\n"}


def test_an_unknown_conclusion_has_its_reason(succeeded):
    meanings = np.array([[a, b] for a in range(2) for b in range(2)] * 2)  # too few for an interval
    write_corpus(
        Corpus(meanings + np.array([1, 5]), meanings=meanings, columns={"speaker": np.repeat([0, 1], 4)}), "few",
    )  # fmt: skip
    out = succeeded("score", "few", "--metrics", "topsim", "--by", "speaker")
    assert "unknown (no interval): topsim." in out


def test_what_metadata_say_of_how_they_were_read_is_not_believed(refused, as_json):
    rows = Corpus([[1, 2], [2, 1]] * 6, meanings=[[1, 2], [2, 1]] * 6, metadata={"where": 3, "reading": "x"})
    write_corpus(rows, "run")
    assert not {"where", "reading"} & as_json("score", "run", "--metrics", "ami")["corpus"].keys()
    Path("s.json").write_text(json.dumps({"corpus": {"source_path": "run", "where": 3}, "scores": []}))
    refused("verify", "s.json")
