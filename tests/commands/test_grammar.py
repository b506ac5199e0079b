"""`ecsuite grammar` as users type it: corpora that can be scored, the same bytes for the same seed."""

from pathlib import Path

import pytest

from ecsuite.formats import read_corpus
from ecsuite.grammars.geometry import Geometry
from ecsuite.grammars.icy import language

SMALL = ["--num-attributes", "2", "--num-values", "3", "--word-length", "2"]


def files(folder="."):
    return {str(path.relative_to(folder)) for path in Path(folder).rglob("*") if path.is_file()}


def test_a_grammar_becomes_a_corpus_that_can_be_scored(ecsuite, as_json):
    code, out, err = ecsuite("grammar", "shufdet", *SMALL)
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "9 messages in runs/shufdet (shufdet,decides:last|2x3|w2|V4|seed:0|v:1)",
        "Next: ecsuite score runs/shufdet",
    ]
    corpus, made = (
        read_corpus("runs/shufdet"),
        language("shufdet", Geometry(num_attributes=2, num_values=3, word_length=2), 0),
    )
    assert (corpus.messages.values.reshape(9, 4) == made.messages).all() and (
        corpus.meanings == made.meanings
    ).all()
    scores = as_json("score", "runs/shufdet", "--metrics", "topsim,posdis")["scores"]
    assert all(0 <= score["value"] <= 1 for score in scores)


def test_a_concatenation_scores_as_one(ecsuite, as_json):
    assert ecsuite("grammar", "concat", *SMALL, "--out", "here")[0] == 0
    scores = {score["name"]: score for score in as_json("score", "here", "--metrics", "posdis")["scores"]}
    assert scores["posdis"]["value"] == pytest.approx(1)


def test_a_grammar_s_json_and_options(as_json):
    data = as_json("grammar", "Cumrot+perm", *SMALL, "--vocab-size", "5", "--seed", "3", "--out", "here")
    assert data == {
        "folder": "here", "num_messages": 9, "grammar": "rot+perm", "signature": "rot+perm|2x3|w2|V5|seed:3|v:1",
        "seed": 3, "num_attributes": 2, "num_values": 3, "word_length": 2, "vocab_size": 5,
    }  # fmt: skip
    assert files() == {"here/corpus.jsonl", "here/meanings.jsonl", "here/metadata.json"}


def test_a_seed_gives_the_same_bytes_each_time_and_another_seed_others(ecsuite):
    for out, seed in (("one", 1), ("again", 1), ("other", 2)):
        assert ecsuite("grammar", "hol", *SMALL, "--seed", seed, "--out", out)[0] == 0
    for file in files("one"):
        assert Path("one", file).read_bytes() == Path("again", file).read_bytes()
    assert Path("one/corpus.jsonl").read_bytes() != Path("other/corpus.jsonl").read_bytes()


def test_a_language_without_meanings(as_json):
    Path("text.txt").write_text("the cat sat on the mat and the dog sat on the cat\n")
    for name, more in {"dyck": [], "regular,runs=3": [], "text_parentheses": ["--text", "text.txt"]}.items():
        sizes = [] if more else ["--vocab-size", "10"]
        data = as_json("grammar", name, "--num-symbols", "300", *sizes, *more)
        folder = Path(data["folder"])
        assert folder.parent == Path("runs") and not (folder / "meanings.jsonl").exists()
        assert len(read_corpus(folder).messages.values) == 300
        assert data["num_messages"] == len(read_corpus(folder).messages)
