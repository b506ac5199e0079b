"""`ecsuite score --split`: the scores of the messages about held-out objects, which are not those of the run."""

import json
from pathlib import Path

import numpy as np

from ecsuite.corpus import Corpus
from ecsuite.formats import write_corpus


def test_an_unknown_conclusion_has_its_reason(ecsuite):
    meanings = [[a, b] for a in range(2) for b in range(2)] * 2  # too few meanings for an interval
    columns = {"speaker": np.repeat([0, 1], 4)}
    write_corpus(
        Corpus([[1 + a, 5 + b] for a, b in meanings], meanings=np.array(meanings), columns=columns), "few"
    )
    code, out, _ = ecsuite("score", "few", "--metrics", "topsim", "--by", "speaker")
    assert code == 0 and "unknown (no interval): topsim." in out


def test_what_metadata_say_of_how_they_were_read_is_not_believed(ecsuite):
    rows = Corpus([[1, 2], [2, 1]] * 6, meanings=[[1, 2], [2, 1]] * 6, metadata={"where": 3, "reading": "x"})
    write_corpus(rows, "run")
    code, out, err = ecsuite("score", "run", "--metrics", "ami", "--json")
    assert code == 0 and not {"where", "reading"} & json.loads(out)["corpus"].keys(), err
    Path("s.json").write_text(json.dumps({"corpus": {"source_path": "run", "where": 3}, "scores": []}))
    code, out, err = ecsuite("verify", "s.json")
    assert code == 2 and err.count("\n") == 1, err
