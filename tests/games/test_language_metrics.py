"""Metrics of the language while it is learnt: in the log, and without any effect on training."""

import numpy as np
import pytest
import torch

from ecsuite.eval.metrics import METRICS as METRICS_BY_NAME
from ecsuite.eval.metrics import find_metric
from ecsuite.eval.metrics.score import Options
from ecsuite.eval.run_metrics.language_metrics import LanguageMetrics
from ecsuite.eval.statistics.resampling import few_draws
from ecsuite.files.tensor_files import read_tensors
from ecsuite.formats import read_corpus
from ecsuite.games.plays.signalling import Signalling
from ecsuite.games.runs.run import load_run
from ecsuite.games.runs.run_folder import RunFolder
from ecsuite.runtime.errors import ConfigError

METRICS = "evaluation.metrics=topsim,zla"
OWN = """
import numpy as np
import torch

def lengths(corpus):
    '''Mean length.'''
    np.random.rand(), torch.rand(1)
    return None if len(corpus.messages) < 3 else float(corpus.messages.lengths.mean())
"""

OF_AGENTS = """
def mine(run):
    '''Accuracy, if the agents and their corpus are of one time.'''
    meanings = run.corpus.meanings.tolist()
    said = [[symbol for symbol in row if symbol] for row in run.corpus.messages]
    assert run.speak(meanings) == said
    return run.evaluate()["valid"]["accuracy"]
"""
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


def test_a_metric_that_is_not_defined_is_null_with_its_reason(tmp_path, small, run, log_of):
    run(small("evaluation.metrics=topsim", "evaluation.metrics_corpus_size=2"), tmp_path)
    line = log_of(tmp_path)[0]
    assert line["metrics"] == {"topsim": None}
    assert line["reasons"] == {"topsim": "fewer than three messages"}
    assert np.isnan(load_run(tmp_path).log["metrics.topsim"]).all()


def test_a_function_of_ones_own_may_draw_what_it_likes(tmp_path, small, run, whole, log_of, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(OWN)
    run(small("evaluation.metrics=./mine.py:lengths"), tmp_path / "run")
    assert all(1 <= line["metrics"]["lengths"] <= 4 for line in log_of(tmp_path / "run"))
    assert (tmp_path / "run" / "corpus.jsonl").read_bytes() == (whole / "corpus.jsonl").read_bytes()
    (tmp_path / "mine.py").write_text(OWN + "\n")
    with pytest.raises(ConfigError, match="holds another run"):
        run(small("evaluation.metrics=./mine.py:lengths"), tmp_path / "run", resume=True)


def test_no_chance_level_and_no_interval_is_drawn(small, monkeypatch):
    """Their draws would take most of the time."""
    from ecsuite.eval.statistics.chance import Chance

    drawn, describe = [], Chance.from_permutations

    def counted(draws, **rest):
        drawn.append(len(draws))
        return describe(draws, **rest)

    monkeypatch.setattr(Chance, "from_permutations", counted)
    experiment = small("evaluation.metrics=posdis")
    play = Signalling(experiment.play.options, experiment=experiment, device=torch.device("cpu"))
    LanguageMetrics(experiment)(play)
    assert drawn == [1] and play.module.training


def test_every_metric_of_agents_is_computed_in_training_as_afterwards(
    tmp_path, small, run, whole, log_of, monkeypatch
):
    """And training does not depend on those either, which ask copies of the agents."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(OF_AGENTS)
    names = [*AGENTS, "efficiency"]
    metrics = f"evaluation.metrics={[*names, './mine.py:mine']}"
    run(small(metrics, "training.evaluate_every=1000"), tmp_path / "run")
    found = log_of(tmp_path / "run")[-1]
    asked = load_run(tmp_path / "run", trust_code=True)
    with few_draws():  # values, without their own chance levels
        expected = {
            score.name: score
            for name in AGENTS
            for score in find_metric(name)(asked, Options())  # type: ignore[arg-type]
        }
    assert len(expected) > len(AGENTS) >= 6
    for name, score in expected.items():
        assert found["metrics"][name] == (
            None if score.value is None else pytest.approx(score.value, abs=1e-6)
        )
        assert found.get("reasons", {}).get(name) == score.reason
    assert found["metrics"]["mine"] == pytest.approx(asked.evaluate()["valid"]["accuracy"])
    assert found["metrics"]["efficiency_loss"] > 0
    for file in RunFolder(whole).checkpoints:
        trained, alone = read_tensors(tmp_path / "run" / file.name)[0], read_tensors(file)[0]
        assert all(torch.equal(trained[key], alone[key]) for key in alone)


def test_metrics_of_agents_are_refused_before_a_play_that_has_none(ecsuite, tmp_path):
    code, _, err = ecsuite("train-game", "naming", "--metrics", "topsim,rsa", "--out", "run")
    assert (code, err.count("\n")) == (2, 1) and not (tmp_path / "run").exists()
    assert err.startswith(
        "evaluation.metrics: rsa needs senders and receivers, which play naming does not have: expected metrics of a "
        "corpus"
    )
