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
