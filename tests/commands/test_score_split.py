"""`ecsuite score --split`: the scores of the messages about held-out objects, which are not those of the run."""

import json
from pathlib import Path

import numpy as np

from ecsuite.corpus import Corpus
from ecsuite.formats import write_corpus


def test_scores_of_a_split_are_not_kept(ecsuite):
    meanings = np.array([[a, b] for a in range(4) for b in range(4)])
    messages = [[1 + a, 5 + (b if a < 2 else a)] for a, b in meanings.tolist()]
    split = np.where(meanings[:, 0] < 2, "train", "held_out")
    write_corpus(Corpus(messages, meanings=meanings, columns={"split": split}), "run")
    values = {}
    for name in ("train", "held_out"):
        code, out, err = ecsuite("score", "run", "--metrics", "topsim", "--where", f"split={name}", "--json")
        assert code == 0, err
        values[name] = json.loads(out)["scores"][0]["value"]
    assert values["train"] > 0.9 > values["held_out"]
    assert not Path("run/scores.json").exists()
    code, _, err = ecsuite("score", "run", "--metrics", "topsim", "--where", "split=valid")
    assert (code, err) == (2, "no message with split valid; split is one of held_out, train\n")


def test_scores_by_column_stand_side_by_side(ecsuite):
    meanings = np.array([[a, b] for a in range(4) for b in range(4)])
    first, second = (
        [[1 + a, 5 + b] for a, b in meanings.tolist()],
        [[1 + (a * 4 + b) % 5] for a, b in meanings],
    )
    corpus = Corpus(
        first + second,
        meanings=np.concatenate([meanings, meanings]),
        columns={"turn": np.repeat([1, 2], 16), "speaker": np.tile(["asker", "answerer"], 16)},
    )
    write_corpus(corpus, "run")
    code, out, err = ecsuite("score", "run", "--metrics", "topsim", "--by", "turn", "--json")
    assert code == 0, err
    found = json.loads(out)
    assert [each["name"] for each in found["corpora"]] == ["turn=1", "turn=2"]
    values = [each["scores"][0]["value"] for each in found["corpora"]]
    assert values[0] > 0.9 > values[1] and found["comparison"]["sources"] == ["turn=1", "turn=2"]
    for name, value in zip(("1", "2"), values, strict=True):
        _, out, _ = ecsuite("score", "run", "--metrics", "topsim", "--where", f"turn={name}", "--json")
        assert json.loads(out)["scores"][0]["value"] == value
    _, out, _ = ecsuite("score", "run", "--metrics", "posdis", "--by", "turn,speaker")
    assert "turn=1,speaker=answerer" in out and not Path("run/scores.json").exists()
    for by, message in (
        ("trn", "no column trn: the corpus has the columns turn, speaker\n"),
        ("turn", "--by turn: expected one corpus, without --plan and without a folder of pictures\n"),
    ):
        paths = ["run"] * (1 + (by == "turn"))
        assert ecsuite("score", *paths, "--by", by)[::2] == (2, message)


def test_a_part_without_scores_is_named(ecsuite):
    meanings = [[a, b] for a in range(4) for b in range(4)]
    messages = [*([[1 + a, 5 + b] for a, b in meanings] * 2), *([[]] * 16)]
    corpus = Corpus(messages, meanings=meanings * 3, columns={"turn": np.repeat([1, 2, 3], 16)})
    write_corpus(corpus, "run")
    code, out, _ = ecsuite("score", "run", "--metrics", "topsim", "--by", "turn")
    assert code == 0 and "turn=3 has none of these scores: topsim: " in out


def test_parts_are_told_apart_whatever_is_in_their_column(ecsuite):
    """Models are named with slashes; as names of files these two would be one, or the last word of it."""
    names = ["model/a//\x1b]0;x\x07b", "model/a/\x1b]0;x\x07b"]
    meanings = [[a, b] for a in range(4) for b in range(4)] * 2
    messages = [[1 + a, 5 + b] for a, b in meanings]
    write_corpus(Corpus(messages, meanings=meanings, columns={"model": np.repeat(names, 16)}), "run")
    _, out, _ = ecsuite("score", "run", "--metrics", "topsim", "--by", "model", "--json")
    found = json.loads(out)
    parts = [each["name"] for each in found["corpora"]]
    assert len(set(parts)) == 2 and sorted(found["comparison"]["sources"]) == sorted(parts)
    assert all(part.startswith("model=model/a/") for part in parts)
    code, out, _ = ecsuite("score", "run", "--metrics", "topsim", "--by", "model")
    assert code == 0 and "model=model/a/" in out and "\x1b" not in out
