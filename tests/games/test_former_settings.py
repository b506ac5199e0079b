"""Former names of settings mean what they meant: in files, assignments and flags; files of format 1 are read."""

import re
from copy import deepcopy
from pathlib import Path

import pytest
import yaml

from ecsuite.games.experiment import load_experiment
from ecsuite.runtime.errors import ConfigError

SETS = ("world.kind=shapeworld", "task.kind=concept")
SAME = {
    "game.task=reconstruction": ("task.kind=reconstruction", ()),
    "game.num_distractors=2": ("task.num_distractors=2", ()),
    "game.num_targets=2": ("task.num_targets=2", SETS),
    "game.variant=setref": ("task.variant=set_reference", SETS),
    "game.variant=ref": ("task.variant=reference", SETS),
    "game.variant=concept": ("task.variant=concept", SETS),
    "game.sender_sees=all": ("task.sender_input=targets_and_distractors", ()),
    "game.sender_sees=targets": ("task.sender_input=targets", ()),
    "world.pool=40": ("world.images_per_batch=40", ("world.kind=shape",)),
    "world.images_per_world=4": ("world.images_per_label=4", SETS),
    "channel.length_cost=0.5": ("loss.length_cost=0.5", ()),
    "sender.architecture=lstm": ("sender.kind=lstm", ()),
    "sender.architecture=gru-2l,hidden=8": ("sender.kind=gru-2l,hidden_size=8", ()),
    "receiver.architecture=lstm": ("receiver.kind=lstm", ()),
    "sender.perception=conv": ("sender.perception.kind=conv", SETS),
    "sender.perception_size=8": ("sender.perception.size=8", SETS),
    "receiver.perception_size=8": ("receiver.perception.size=8", SETS),
    "sender.dropout=0.5": ("sender.perception.dropout=0.5", ()),
    "receiver.dropout=0.5": ("receiver.perception.dropout=0.5", ()),
    "training.lr=0.5": ("optimizer.lr=0.5", ()),
    "training.lr_decay=linear": ("schedule.kind=linear", ()),
    "training.lr_decay=none": ("schedule.kind=constant", ("schedule.kind=linear",)),
}
"""Present assignments by former ones, with assignments of the layer below."""


def write(file, *assignments):
    """A YAML file with these settings as nested sections."""
    tree = {}
    for assignment in assignments:
        key, _, value = assignment.partition("=")
        *sections, option = key.split(".")
        inner = tree
        for section in sections:
            inner = inner.setdefault(section, {})
        inner[option] = yaml.safe_load(value)
    file.parent.mkdir(exist_ok=True)
    file.write_text(yaml.safe_dump(tree))
    return load_experiment(str(file))


@pytest.mark.parametrize("former", SAME)
def test_a_former_name_is_the_present_one(former, tmp_path):
    present, below = SAME[former]
    (tmp_path / "below.yaml").write_text(load_experiment("disc_tiny", below).to_yaml())
    file = str(tmp_path / "below.yaml")
    expected = load_experiment(file, [present])
    assert expected != load_experiment(file) or "targets" in present or "set_reference" in present
    assert load_experiment(file, [former]) == expected
    key, _, value = former.partition("=")
    flags = {key: yaml.safe_load(value)}
    assert load_experiment(file, flags=flags) == load_experiment(file, changes=flags) == expected
    if not former.startswith("game."):
        paths = [tmp_path / name / "mine.yaml" for name in ("former", "present")]
        assert write(paths[0], *below, former) == write(paths[1], *below, present)


WRITTEN_BY_0_1 = Path(__file__).parents[1] / "fixtures" / "v0.1" / "finished" / "config.yaml"
FORMAT_1 = yaml.safe_load(WRITTEN_BY_0_1.read_text())
"""Every setting of format 1."""


@pytest.fixture
def load(tmp_path):
    """Loads a file of format 1 with changes by `section.key`: the experiment and the notes."""

    def load(**changes):
        tree = deepcopy(FORMAT_1)
        for key, value in changes.items():
            section, _, option = key.partition("__")
            tree[section][option] = value
        (tmp_path / "old.yaml").write_text("format: 1\n" + yaml.safe_dump(tree, sort_keys=False))
        notes = []
        return load_experiment(str(tmp_path / "old.yaml"), note=notes.append), notes

    return load


def test_a_file_of_format_1_is_read_and_what_nothing_reads_is_noted(load, tmp_path):
    experiment, (note,) = load(channel__length_cost=0.25, training__lr=0.002)
    present = {
        "name": "game",
        "about": FORMAT_1["about"],
        "world": {"num_attributes": 2, "num_values": 4},
        "task": {"num_distractors": 3},
        "channel": {"vocab_size": 5, "max_len": 3},
        "sender": {"hidden_size": 8, "embedding_size": 4},
        "receiver": {"hidden_size": 8, "embedding_size": 4},
        "optimizer": {"lr": 0.002},
        "loss": {"length_cost": 0.25},
        "training": {
            key: value for key, value in FORMAT_1["training"].items() if key not in ("lr", "lr_decay")
        },
        "evaluation": FORMAT_1["evaluation"],
    }
    (tmp_path / "now").mkdir()
    (tmp_path / "now" / "old.yaml").write_text(yaml.safe_dump(present))
    assert experiment == load_experiment(str(tmp_path / "now" / "old.yaml"))
    assert note == (
        f"{tmp_path}/old.yaml: 10 settings of format 1 that this experiment does not read left out, such as "
        "world.rule_length"
    )


def test_a_file_of_format_1_without_unread_settings_needs_no_note(tmp_path):
    (tmp_path / "old.yaml").write_text("game: {task: reconstruction}\ntraining: {lr: 0.5}\n")
    notes = []
    experiment = load_experiment(str(tmp_path / "old.yaml"), note=notes.append)
    assert (experiment.task.kind, experiment.optimizer.options.lr, notes) == ("reconstruction", 0.5, [])


def test_in_format_1_a_world_of_single_objects_did_not_hold_out_or_encode_or_show_distractors(load):
    """These settings are read now; in a file of format 1 they had no effect."""
    unread = {
        "world__held_out": 0.25, "game__sender_sees": "all", "sender__perception": "mlp", "sender__dropout": 0.5,
        "receiver__perception_size": 7,
    }  # fmt: skip
    assert load(**unread)[0] == load()[0]


def test_a_game_about_sets_in_format_1(load):
    experiment, (note,) = load(
        world__kind="shape", world__pool=40, world__rule_length=2, game__task="concept", game__num_targets=4,
        game__sender_sees="all", channel__kind="quantized", channel__length="fixed", channel__word_size=5,
        sender__perception="conv", sender__perception_size=9, receiver__perception="conv_grid", receiver__dropout=0.1,
        training__lr_decay="linear",
    )  # fmt: skip
    world, task, channel = experiment.world.options, experiment.task.options, experiment.channel
    assert (world.images_per_batch, world.rule_length, world.held_out) == (40, 2, 0.1)
    assert (experiment.task.kind, task.num_targets, task.num_distractors) == ("concept", 4, 3)
    assert (task.variant, task.sender_input) == ("set_reference", "targets_and_distractors")
    assert (channel.kind, channel.options.word_size, channel.options.max_len) == ("quantized", 5, 3)
    sender, receiver = experiment.sender.options.perception, experiment.receiver.options.perception
    assert (sender.kind, sender.options.size, sender.options.dropout) == ("conv", 9, 0.0)
    assert (receiver.kind, receiver.options.size, receiver.options.dropout) == ("conv_grid", 60, 0.1)
    assert experiment.schedule.kind == "linear"
    assert note.endswith(
        ": 10 settings of format 1 that this experiment does not read left out, such as world.num_attributes"
    )


def test_text_files_in_format_1_are_a_world_of_their_own(load, tmp_path):
    experiment, _ = load(world__train_data="a.txt", world__valid_data="b.txt")
    world = experiment.world
    assert (world.kind, world.options.train_data, world.options.valid_data) == ("text", "a.txt", "b.txt")
    assert world.options.num_values == 4 and experiment.task.options.num_distractors == 3


MISTAKES = {
    "gane: {}": "unknown key 'gane'; did you mean 'game'? choices: ",
    "world: {num_valus: 3}": "unknown key 'world.num_valus'; did you mean 'world.num_values'? choices: ",
    "world: 3": "world: expected a section with keys, got 3",
    "sender: {perception: mpl}": "unknown perception 'mpl'; did you mean 'mlp'? choices: ",
    "training: {lr: fast}": "optimizer.lr: expected float, got 'fast'",
}


@pytest.mark.parametrize("text", MISTAKES)
def test_mistakes_in_files_of_format_1_are_named(tmp_path, text):
    file = tmp_path / "old.yaml"
    file.write_text(
        f"game: {{task: concept}}\n{'world: {kind: thing}' if 'world' not in text else ''}\n{text}\n"
    )
    with pytest.raises(ConfigError, match="^" + re.escape(f"{file}: {MISTAKES[text]}")):
        load_experiment(str(file))
