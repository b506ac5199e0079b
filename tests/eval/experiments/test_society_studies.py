"""Studies of societies in the papers' sizes: every run is built, and its agents play and learn."""

import numpy as np
import pytest
import torch

from ecsuite.eval.experiments.grids import SWEEP
from ecsuite.eval.experiments.study import load_study
from ecsuite.games.config.sections import with_training
from ecsuite.games.engine.optimizers import Optimise
from ecsuite.games.plays.population import make_population
from ecsuite.games.runs.identity import check_data
from ecsuite.games.worlds.feature_files import write_features
from ecsuite.games.worlds.world import make_world
from ecsuite.runtime.errors import ConfigError

SIZES = {
    "society_ease_of_teaching_full": (8, 300_000),
    "society_iterated_full": (4, 80 * 5200),
    "society_size_full": (5, 400_000),
    "society_imitation_full": (5, 900_000),
}
"""Runs of a seed, and steps of the first one."""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder with a small file of image features."""
    monkeypatch.chdir(tmp_path)
    write_features("byol_imagenet.npz", {"features": np.random.default_rng(1).normal(size=(64, 2048))})


def steps_of(experiment):
    """A step of play, and those of a second generation in which agents begin, learn messages, and understand them."""
    options = experiment.generations
    if options.every is None:
        return [0] if experiment.society.imitate_every is None else [0, experiment.society.imitate_every]
    learning = options.sender_steps + options.receiver_steps
    return sorted({0, options.every, options.every + options.sender_steps, options.every + learning})


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * ("imitation" in name)) for name in SIZES]
)
def test_every_run_is_built_and_makes_steps(name):
    study = load_study(f"paper/{name}", device="cpu")
    assert (len(study.variants), first_steps(study)) == SIZES[name]
    for variant in study.variants:
        check_data(variant.experiment)
        experiment = with_training(variant.experiment, batch_size=4, precision="fp32")
        torch.manual_seed(1)
        players = make_population(experiment, make_world(experiment))
        updates = Optimise(experiment.optimizer, players)
        for step in steps_of(experiment):
            before = [each.detach().clone() for each in players.parameters()]
            players.begin_step(step, updates.optimizer)
            updates.optimizer.zero_grad(set_to_none=True)
            played = players.train_on(step, step, 0)
            played.objective.backward()
            players.scale_gradients(step)
            updates.step()
            assert played.objective.isfinite(), (variant.name, step)
            assert any((new != old).any() for new, old in zip(players.parameters(), before, strict=True))


def first_steps(study):
    """Steps of the first run."""
    training = study.variants[0].experiment.training
    return training.num_examples // training.batch_size * training.num_epochs


def test_the_features_that_a_study_needs_are_asked_for(tmp_path):
    (tmp_path / "byol_imagenet.npz").unlink()
    with pytest.raises(ConfigError, match=r"byol_imagenet\.npz: can't be read"):
        load_study("paper/society_imitation_full", device="cpu")


def test_each_study_of_societies_has_a_reduced_and_a_full_size():
    names = [f"paper/{name}" for name in SWEEP.shipped() if name.startswith("society_")]
    assert {f"paper/{name}" for name in SIZES} <= set(names)
    for name in ("ease_of_teaching", "iterated"):
        assert f"paper/society_{name}" in names
