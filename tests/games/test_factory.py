"""From names to worlds and games: every pair that is offered works, every other one says what would."""

from importlib import import_module

import pytest
import torch

from ecsuite.config import ConfigError
from ecsuite.games.experiment import load_experiment, named_configs
from ecsuite.games.factory import SET_WORLDS, TASKS_BY_WORLD, WORLDS, make_game, make_world
from ecsuite.games.game import Game
from ecsuite.games.set_game import SetGame
from ecsuite.games.tasks import TASKS
from ecsuite.games.worlds.attributes import AttributeValueWorld
from ecsuite.games.worlds.rounds import SetWorld
from ecsuite.games.worlds.things import ThingWorld

SMALL = (
    "sender.hidden_size=8",
    "receiver.hidden_size=8",
    "sender.perception_size=8",
    "receiver.perception_size=8",
)


def load(*overrides):
    return load_experiment("disc_tiny", [*SMALL, *overrides])


def test_the_registries_have_the_same_worlds():
    assert set(WORLDS) == set(TASKS_BY_WORLD) == {"attributes", *SET_WORLDS}
    assert {task for tasks in TASKS_BY_WORLD.values() for task in tasks} == set(TASKS)
    for place in SET_WORLDS.values():
        module, name = place.split(":")
        assert issubclass(getattr(import_module(module), name), SetWorld)


@pytest.mark.parametrize("kind", ["thing", "shape", "shapeworld"])
def test_every_world_of_sets_gives_rounds_that_its_game_plays(kind):
    perception = "linear" if kind == "thing" else "conv"
    experiment = load(
        f"world.kind={kind}", "game.task=concept", "game.num_targets=2", "game.num_distractors=3",
        "training.batch_size=4", "world.pool=8", f"sender.perception={perception}", f"receiver.perception={perception}",
        "world.images_per_world=2",
    )  # fmt: skip
    world = make_world(experiment)
    game = make_game(experiment, world, torch.float32)
    assert isinstance(world, SetWorld) and isinstance(game, SetGame) and game.world is world
    rounds = world.batch("train", 0)
    assert world.features(rounds.objects).shape == (len(rounds.objects), *world.object_shape)
    played = game.play(rounds, "train", torch.Generator().manual_seed(0))
    assert played.objective.isfinite() and set(played.measures) == {
        "loss",
        "accuracy",
        "set_accuracy",
        "length",
    }


@pytest.mark.parametrize("name", named_configs())
def test_every_shipped_experiment_can_be_made(name):
    experiment = load_experiment(name, SMALL)
    if experiment.world.kind == "features":
        assert experiment.game.task in TASKS_BY_WORLD["features"]  # its file is the user's
        return
    world = make_world(experiment)
    assert len(make_game(experiment, world, torch.float32).task.chance()) >= 1
    assert world.num_train == experiment.training.num_examples


def test_the_game_is_that_of_the_world():
    one, sets = load(), load("world.kind=thing", "game.task=concept")
    assert type(make_world(one)) is AttributeValueWorld and type(make_world(sets)) is ThingWorld
    assert type(make_game(one, make_world(one), torch.float32)) is Game
    game = make_game(sets, make_world(sets), torch.bfloat16)
    assert type(game) is SetGame and game.dtype == torch.bfloat16


MISTAKES = {
    ("world.kind=think",): r"unknown world 'think'; did you mean 'thing'\? choices: attributes, thing, shape, ",
    ("game.task=concepts",): r"unknown task 'concepts'; did you mean 'concept'\? choices: discrimination, reco",
    ("game.task=concept",): r"game.task: expected discrimination or reconstruction in world attributes, got concept$",
    ("world.kind=thing",): r"game.task: expected concept in world thing, got discrimination$",
    ("world.kind=shapeworld", "game.task=reconstruction"): r"game.task: expected concept in world shapeworld, got",
    ("world.kind=features", "game.task=reconstruction"): r"game.task: expected concept or discrimination in world",
    ("world.kind=features",): r"world.features: expected an npz file of feature vectors, got null$",
    ("world.kind=thing", "game.task=concept", "game.variant=ref"): r"game.variant: expected setref in world thing",
    ("world.kind=shape", "game.task=concept", "game.variant=concept"): r"game.variant: expected setref in world shape",
    ("world.kind=thing", "game.task=concept", "world.rule_length=3"): r"world.rule_length: expected at most 2 attribu",
}  # fmt: skip


@pytest.mark.parametrize("overrides", MISTAKES)
def test_worlds_and_tasks_that_do_not_fit(overrides):
    with pytest.raises(ConfigError, match=f"^{MISTAKES[overrides]}"):
        make_world(load(*overrides))


@pytest.mark.parametrize("agent", ["sender", "receiver"])
def test_perceptions_that_do_not_fit(agent):
    sets = ["world.kind=thing", "game.task=concept"]
    experiment = load(*sets, f"{agent}.perception=conv")
    with pytest.raises(
        ConfigError, match=r"^perception conv: not for vectors of 8 features; choices: linear, mlp$"
    ):
        make_game(experiment, make_world(experiment), torch.float32)
    experiment = load(*sets, f"{agent}.perception=mlpp")
    with pytest.raises(ConfigError, match=r"^unknown perception 'mlpp'; did you mean 'mlp'\?"):
        make_game(experiment, make_world(experiment), torch.float32)
