"""Worlds and tasks are independent choices: every pair that makes sense is played, every other one is refused."""

import pytest
import torch

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.config.registry import TASKS, WORLDS
from ecsuite.games.players.pair import make_pair
from ecsuite.games.worlds.attributes import AttributeWorld
from ecsuite.games.worlds.feature_files import synthetic_features, write_features
from ecsuite.games.worlds.rules import ThingWorld
from ecsuite.games.worlds.world import World, make_world
from ecsuite.runtime.errors import ConfigError

SMALL = ("sender.hidden_size=8", "receiver.hidden_size=8", "training.batch_size=4")
WORLD = {
    "attributes": (),
    "unequal_attributes": ("world.kind=unequal_attributes", "world.num_values=[4, 3, 2]"),
    "letter_strings": ("world.kind=letter_strings", "world.max_count=4"),
    "thing": ("world.kind=thing",),
    "shape": ("world.kind=shape", "world.images_per_batch=8"),
    "shapeworld": ("world.kind=shapeworld", "world.images_per_label=2"),
    "features": ("world.kind=features",),
    "text": ("world.kind=text", "world.num_values=4"),
    "objects": ("world.kind=objects",),
    "images": ("world.kind=images", "world.size=32"),
    "image_features": ("world.kind=image_features",),
    "digits": ("world.kind=digits",),
}
TASK = {
    "discrimination": ("task.num_distractors=3",),
    "in_batch": ("task.kind=in_batch",),
    "reconstruction": ("task.kind=reconstruction",),
    "autoencoding": ("task.kind=autoencoding",),
    "concept": ("task.kind=concept", "task.num_targets=2", "task.num_distractors=3"),
}
MEASURES = {
    "discrimination": {"accuracy"},
    "in_batch": {"accuracy"},
    "reconstruction": {"accuracy", "attribute_accuracy"},
    "autoencoding": {"accuracy"},
    "concept": {"accuracy", "set_accuracy"},
}


def load(*overrides):
    return load_experiment("disc_tiny", [*SMALL, *overrides])


@pytest.fixture
def files(tmp_path, feature_file, object_table, image_folder):
    """Settings that name the files of a world, by world and task."""
    lines = {
        "discrimination": "0 1 . 2 3 . 1 1 . 3 3 . 2\n",
        "in_batch": "0 1\n2 3\n",
        "reconstruction": "0 1\n2 3\n",
        "autoencoding": "0 1\n2 3\n",
        "concept": "0 1 . 2 3 . 1 1 . 3 3 . 0 0 . 2 0\n",
    }

    def files(kind, task):
        if kind == "features":
            return [f"world.features={feature_file}"]
        if kind == "objects":
            return [f"world.objects={object_table}"]
        if kind.startswith("image"):
            return [f"world.objects={image_folder}"]
        if kind != "text":
            return []
        (tmp_path / "rounds.txt").write_text(lines[task] * 4)
        return [f"world.{split}_data={tmp_path}/rounds.txt" for split in ("train", "valid")]

    return files


def test_every_world_of_the_registry_is_one():
    assert set(WORLDS.parts) == {*WORLD, "space", "events"} and set(TASKS.parts) == set(
        TASK
    )  # worlds/test_semantic_space.py, players/test_teaching.py
    for kind in WORLDS.parts:
        assert issubclass(WORLDS.load(kind), World)


@pytest.mark.sample(10)
@pytest.mark.parametrize("task", TASK)
@pytest.mark.parametrize("kind", [kind for kind in WORLD if kind != "attributes"])
def test_every_world_of_sets_gives_rounds_for_every_task(kind, task, files):
    conv = kind in ("shape", "shapeworld", "images")
    perceptions = [
        f"{agent}.perception={'conv' if conv else 'linear'},size=8" for agent in ("sender", "receiver")
    ]
    if (
        kind in ("objects", "images", "image_features", "digits", "unequal_attributes", "letter_strings")
        and task == "concept"
    ):
        pytest.skip("lists of objects have no rules")
    if task in ("reconstruction", "autoencoding"):
        del perceptions[1]  # the receiver sees no objects
    experiment = load(*WORLD[kind], *TASK[task], *perceptions, *files(kind, task))
    world = make_world(experiment)
    game = make_pair(experiment, world)
    rounds = world.batch("train", 0)
    features = world.features(torch.from_numpy(rounds.objects), torch.float32)
    assert features.shape == (len(rounds.objects), *world.object_shape)
    played = game.play(rounds, "train", torch.Generator().manual_seed(0))
    assert played.objective.isfinite() and len(rounds) == 4
    assert set(played.measures) == {"loss", "length"} | MEASURES[task]
    played.objective.backward()
    for name, parameter in game.named_parameters():
        assert parameter.grad is not None and parameter.grad.isfinite().all(), name
    description = world.describe(rounds)
    assert len(description.meanings) == 4 and len(description.concepts) == 4


@pytest.mark.parametrize("kind", ["thing", "shape"])
def test_reconstruction_is_about_the_values_of_the_object(kind):
    """The corpus has the values of the target, and not the rule by which it was drawn."""
    perceptions = ["sender.perception=conv,size=8"] if kind == "shape" else []
    world = make_world(load(*WORLD[kind], *TASK["reconstruction"], *perceptions, "world.rule_length=2"))
    rounds = world.batch("valid", 0)
    values = rounds.values[rounds.shown[:, 0]]
    assert rounds.shown.shape == rounds.labels.shape == (4, 1) and rounds.labels.all()
    description = world.describe(rounds)
    assert (description.meanings == values).all() and (values >= 0).all()
    assert (values < world.num_values).all()
    for row, phrase in zip(values, description.concepts, strict=True):
        names = [names[value] for names, value in zip(world.value_names, row, strict=True)]
        assert [description.concept_names[concept] for concept in phrase] == names
    rules = world.rules.meanings[rounds.rules]
    assert ((rules == values) | (rules < 0)).all()


@pytest.mark.parametrize("kind", ["thing", "shape"])
def test_discrimination_in_worlds_of_rules_has_one_target(kind):
    world = make_world(load(*WORLD[kind], *TASK["discrimination"]))
    rounds = world.batch("train", 0)
    assert rounds.shown.shape == (4, 1) and rounds.labels.shape == (4, 4)
    assert (rounds.labels.sum(1) == 1).all()
    shown = rounds.objects[rounds.shown[:, 0]]
    assert (rounds.objects[rounds.candidate_indices()[rounds.labels]] == shown).all()


def test_the_game_is_that_of_the_world():
    one, sets = load(), load("world.kind=thing", "task.kind=concept")
    assert type(make_world(one)) is AttributeWorld and type(make_world(sets)) is ThingWorld
    game = make_pair(sets, make_world(sets), torch.bfloat16)
    assert game.speaker.dtype == game.listener.dtype == torch.bfloat16


MISTAKES = {
    ("world.kind=think",): r"--set: unknown world 'think'; did you mean 'thing'\? choices: thing, letter_strings, ",
    ("task.kind=concepts",): r"--set: unknown task 'concepts'; did you mean 'concept'\? choices: discrimination, in_b",
    ("task.kind=concept",): r"task concept: world attributes has no rules; worlds with rules: text, thing, shape, s",
    ("world.kind=features",): r"--set: world.features: expected an npz file of feature vectors, such as --features ve",
    ("world.kind=thing", "task.kind=concept", "task.variant=reference"):
        r"task.variant: expected set_reference in world \w+, got reference$",
    ("world.kind=shape", "task.kind=concept", "task.variant=concept"):
        r"task.variant: expected set_reference in world \w+, got concept$",
    ("world.kind=thing", "task.kind=concept", "world.rule_length=3"): r"world.rule_length: expected at most 2 attribu",
    ("world.kind=thing", "task.num_distractors=null"): r"task.num_distractors: expected a number \(only world text ",
}  # fmt: skip


@pytest.mark.parametrize("overrides", MISTAKES)
def test_worlds_and_tasks_that_do_not_fit(overrides):
    with pytest.raises(ConfigError, match=f"^{MISTAKES[overrides]}"):
        experiment = load(*overrides)
        make_pair(experiment, make_world(experiment))


def test_features_without_attributes_cannot_be_reconstructed(tmp_path):
    made = synthetic_features(1, 8, 24, 5, 4)
    write_features(tmp_path / "bare.npz", {"features": made["features"]})
    experiment = load("world.kind=features", f"world.features={tmp_path}/bare.npz", *TASK["reconstruction"])
    message = r"^task: reconstruction needs objects with attribute values, but this world"
    with pytest.raises(ConfigError, match=message):
        make_pair(experiment, make_world(experiment))


@pytest.mark.parametrize("agent", ["sender", "receiver"])
def test_perceptions_that_do_not_fit(agent):
    sets = ["world.kind=thing", "task.kind=concept"]
    experiment = load(*sets, f"{agent}.perception=conv")
    choices = "identity, linear, tanh, mlp, recurrent"
    message = rf"^{agent}.perception: conv does not take vectors of 8 features: set one of {choices}$"
    with pytest.raises(ConfigError, match=message):
        make_pair(experiment, make_world(experiment))
    with pytest.raises(ConfigError, match=r"^--set: unknown perception 'mlpp'; did you mean 'mlp'\?"):
        load(*sets, f"{agent}.perception=mlpp")
    images = load("world.kind=shape", "task.kind=concept", f"{agent}.perception=mlp")
    with pytest.raises(
        ConfigError,
        match=r"perception: (mlp|linear) does not take images: set one of conv, conv_max, conv_g",
    ):
        make_pair(images, make_world(images))
