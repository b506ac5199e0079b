"""The time of a sweep is estimated from runs that are begun, where none are kept."""

import json
from pathlib import Path

import yaml
from model_server import ModelServer

from ecsuite.eval.experiments.jobs import plan
from ecsuite.eval.experiments.study import load_study
from ecsuite.eval.experiments.sweep import measured_seconds


def test_a_plan_measures_and_keeps_nothing(ecsuite, small):
    small["vary"] = {"training.num_epochs": [1, 3]}
    Path("study.yaml").write_text(yaml.safe_dump(small))
    code, out, _ = ecsuite("sweep", "study.yaml", "--plan", "--on", "local:2")
    assert (
        code == 0
        and " with 2 places, by a short measurement of training" in out
        and not Path("runs").exists()
    )
    code, out, _ = ecsuite("sweep", "study.yaml", "--plan", "--json")
    expected = json.loads(out)["expected"]
    assert code == 0 and expected["by"] == "measurement" and 0 < expected["seconds"] < 600


def test_what_cannot_be_measured_has_no_estimate(small, tmp_path):
    runs = plan(load_study(small), tmp_path)
    assert measured_seconds([job for run in runs for job in run.scores.values()]) is None
    [(job, seconds)] = measured_seconds([runs[0].training]).items()
    assert job is runs[0].training and seconds > 0


def test_a_plan_with_language_models_asks_nobody_and_tells_the_calls(ecsuite):
    with ModelServer() as server:
        model = {"kind": "server", "url": server.url, "model": "m"}
        settings = {
            "play": {
                "agents": 4,
                "participant": {"kind": "language_model", "backend": model, "prompt_price": 2},
            },
            "training": {"num_examples": 20, "batch_size": 5},
        }
        study = {"base": "naming", "set": settings, "vary": {"play.pool": [2, 5]}, "seeds": 3, "score": []}
        Path("study.yaml").write_text(yaml.safe_dump(study))
        code, out, _ = ecsuite("sweep", "study.yaml", "--plan", "--on", "local:2")
        assert code == 0 and server.asked == 0 and "about 240 calls, " in out and "by their prices" in out
