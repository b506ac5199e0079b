"""A metric that can't score a game is refused before the first run."""

from dataclasses import replace

import pytest

from ecsuite.eval.experiments import study
from ecsuite.eval.experiments.study import load_study, made_up, require_scorable
from ecsuite.eval.metrics import METRICS, find_metric
from ecsuite.games.config.experiment import load_experiment
from ecsuite.runtime.errors import ConfigError


def test_metrics_score_games_about_attributes_and_sets():
    of_runs = [name for name in METRICS.parts if find_metric(name).shared.needs_agents]
    costly = ("residual_entropy", "tre7", "xferbench", *of_runs)
    cheap = [name for name in METRICS.parts if name not in costly]
    require_scorable([load_experiment("disc_tiny"), load_experiment("thing_gs")], cheap, "study.yaml")


def test_generalisation_needs_held_out_objects():
    with pytest.raises(ConfigError, match=r"^study.yaml: score: generalisation .* set world.held_out=0.3"):
        require_scorable([load_experiment("disc_tiny")], ["topsim", "generalisation"], "study.yaml")
    held_out = load_experiment("disc_tiny", changes={"world.held_out": 0.3})
    require_scorable([load_experiment("disc_tiny"), held_out], ["generalisation", "rsa"], "study.yaml")
    by_value = load_experiment("disc_tiny", changes={"world.held_out_value": "attribute0=1,attribute1=2"})
    require_scorable([by_value], ["generalisation"], "study.yaml")


def test_the_made_up_language_is_about_the_objects_of_the_game():
    of_objects, of_attributes = made_up(load_experiment("disc_tiny"))
    assert of_objects.messages is of_attributes.messages and len(of_objects.messages) == 16
    assert of_objects.meanings.shape == (16, 2)


def test_a_metric_without_what_it_needs_is_refused(small, monkeypatch):
    joined = study.joined
    monkeypatch.setattr(study, "joined", lambda found: replace(joined(found), concepts=None))
    small["score"] = ["topsim", "cbm"]
    with pytest.raises(
        ConfigError,
        match=r"^sweep: score: cbm has no value for disc_tiny \(world attributes\): the corpus has no concepts$",
    ):
        load_study(small)
