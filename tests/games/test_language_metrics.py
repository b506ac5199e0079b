"""Metrics of the language while it is learnt: in the log, and without any effect on training."""

import pytest
import torch

from ecsuite.eval.metrics import METRICS as METRICS_BY_NAME
from ecsuite.eval.metrics import find_metric
from ecsuite.eval.metrics.score import Options
from ecsuite.files.tensor_files import read_tensors
from ecsuite.formats import read_corpus
from ecsuite.games.runs.run import load_run
from ecsuite.games.runs.run_folder import RunFolder

METRICS = "evaluation.metrics=topsim,zla"

AGENTS = [name for name in METRICS_BY_NAME.parts if find_metric(name).shared.needs_agents]
AGENTS = [f"{name},outsiders=counting" if name == "covertness" else name for name in AGENTS]


@pytest.mark.slow
def test_they_are_in_the_log_and_training_does_not_depend_on_them(tmp_path, small, run, whole, log_of):
    result = run(small(METRICS), tmp_path)
    log = log_of(tmp_path)
    assert all({"topsim", "zla_segments"} <= set(line["metrics"]) for line in log) and len(log) == 6
    assert [{key: line[key] for key in line if key not in ("metrics", "reasons")} for line in log] == log_of(
        whole
    )
    for file in ("corpus.jsonl", "meanings.jsonl"):
        assert (tmp_path / file).read_bytes() == (whole / file).read_bytes()
    for file in RunFolder(whole).checkpoints:  # the rest of it has a checksum of the log
        found, expected = read_tensors(tmp_path / file.name)[0], read_tensors(file)[0]
        assert found.keys() == expected.keys() and all(
            torch.equal(found[key], expected[key]) for key in found
        )
    (score,) = find_metric("topsim")(read_corpus(tmp_path), Options())
    assert result.metrics["topsim"] == pytest.approx(score.value)
    found = load_run(tmp_path)
    assert found.log["metrics.topsim"].tolist() == [line["metrics"]["topsim"] for line in log]
    assert found.corpus.metadata["metrics"] == result.metrics


def test_metrics_of_agents_are_refused_before_a_play_that_has_none(ecsuite, tmp_path):
    code, _, err = ecsuite("train-game", "naming", "--metrics", "topsim,rsa", "--out", "run")
    assert (code, err.count("\n")) == (2, 1) and not (tmp_path / "run").exists()
    assert err.startswith(
        "evaluation.metrics: rsa needs senders and receivers, which play naming does not have: expected metrics of a "
        "corpus"
    )
