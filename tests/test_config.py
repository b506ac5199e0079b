"""Configs: strict in keys, values and types, with messages that name the place and the remedy."""

import ast
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
import yaml

from ecsuite import config
from ecsuite.config import ConfigError, WorldConfig, unknown_name
from ecsuite.games.experiment import Experiment, load_experiment, named_configs, override, with_training

CONFIGS = Path(config.__file__).parent / "configs"


def test_shipped_configs_load_and_say_what_they_are():
    about = named_configs()
    assert list(about) == sorted(file.stem for file in CONFIGS.glob("*.yaml"))
    assert {"disc_large", "disc_small", "disc_tiny", "recon_large", "shape_qt", "mu_shapeworld"} <= set(about)
    assert all(about.values())
    for name in about:
        assert load_experiment(name).name == name


# The figures of XferBench's appendix A.3. EGG's vocabularies of 6 and 100 count EOS, ours don't.
PAPER = {
    "disc_small": {
        "task": "discrimination", "num_attributes": 4, "num_values": 4, "num_distractors": 5, "vocab_size": 5,
        "max_len": 10, "num_examples": 32_768, "num_epochs": 10, "num_steps": 320,
    },
    "disc_large": {
        "task": "discrimination", "num_attributes": 12, "num_values": 8, "num_distractors": 5, "vocab_size": 99,
        "max_len": 30, "num_examples": 3_500_000, "num_epochs": 100, "num_steps": 341_800,
    },
    "recon_large": {
        "task": "reconstruction", "num_attributes": 8, "num_values": 8, "num_distractors": None, "vocab_size": 99,
        "max_len": 30, "num_examples": 1_000_000, "num_epochs": 10, "num_steps": 9_770,
    },
}  # fmt: skip


@pytest.mark.parametrize("name", PAPER)
def test_paper_configs_have_the_papers_figures(name):
    experiment, paper = load_experiment(name), PAPER[name]
    world, game, channel, training = (
        experiment.world,
        experiment.game,
        experiment.channel,
        experiment.training,
    )
    assert (game.task, world.num_attributes, world.num_values) == (
        paper["task"], paper["num_attributes"], paper["num_values"],
    )  # fmt: skip
    if paper["num_distractors"] is not None:
        assert game.num_distractors == paper["num_distractors"]
    assert (channel.kind, channel.length, channel.straight_through) == ("gumbel", "variable", False)
    assert (channel.vocab_size, channel.max_len) == (paper["vocab_size"], paper["max_len"])
    assert (channel.temperature, channel.temperature_decay, channel.temperature_min) == (1.0, 0.9, 0.1)
    assert channel.length_cost == 0
    for agent, hidden_size in ((experiment.sender, 256), (experiment.receiver, 512)):
        assert (agent.architecture, agent.hidden_size, agent.embedding_size) == ("gru", hidden_size, 32)
    assert (training.num_examples, training.num_epochs) == (paper["num_examples"], paper["num_epochs"])
    assert (training.batch_size, training.lr) == (1024, 0.001)
    assert -(-training.num_examples // training.batch_size) * training.num_epochs == paper["num_steps"]


def test_a_config_written_and_read_is_the_same(tmp_path):
    experiment = load_experiment("disc_tiny", ["training.until_accuracy=0.9", "about=a “new” one"])
    file = tmp_path / "another_name.yaml"
    file.write_text(experiment.to_yaml())
    assert load_experiment(str(file)) == experiment
    assert set(yaml.safe_load(experiment.to_yaml())) == {
        "name", "about", "world", "game", "channel", "sender", "receiver", "training", "evaluation",
    }  # fmt: skip


def test_a_file_needs_no_more_than_it_changes(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text("world: {num_values: 7}\n")
    assert load_experiment(str(file)) == replace(Experiment(name="mine"), world=WorldConfig(num_values=7))


def test_overrides_later_ones_win_and_every_key_can_be_set():
    experiment = load_experiment(
        "disc_tiny", ["training.lr=1", "training.lr=1e-4", "name=other", "about=new"]
    )
    assert experiment.training.lr == 1e-4
    assert (experiment.name, experiment.about) == ("other", "new")
    assert override(experiment, ["training.max_minutes=3"]).training.max_minutes == 3.0
    assert override(experiment, ["training.until_accuracy=null"]).training.until_accuracy is None
    assert with_training(experiment, seed=7).training.seed == 7
    tree = yaml.safe_load(experiment.to_yaml())
    for section, values in tree.items():
        for key, value in values.items() if isinstance(values, dict) else [("", values)]:
            same = yaml.safe_dump(value).removesuffix("...\n").strip()
            assert override(experiment, [f"{section}{'.' if key else ''}{key}={same}"]) == experiment


MISTAKES = {
    "channel.temprature=2": "unknown key 'channel.temprature'; did you mean 'channel.temperature'? choices: name, ",
    "temperature=2": "unknown key 'temperature'; did you mean 'channel.temperature'? choices: ",
    "world=3": "unknown key 'world'; did you mean 'world.pool'? choices: name, about, world.kind, ",
    "channel.temperature": "--set channel.temperature: expected key=value, such as channel.temperature=2",
    "channel.temperature=hot": "--set: channel.temperature: expected float, got 'hot'",
    "channel.temperature=true": "--set: channel.temperature: expected float, got True",
    "channel.temperature=": "--set: channel.temperature: expected float, got None",
    "channel.temperature=0": "--set: channel.temperature: expected a number above 0, got 0.0",
    "channel.temperature=.nan": "--set: channel.temperature: expected a number above 0, got nan",
    "channel.temperature=.inf": "--set: channel.temperature: expected a number above 0, got inf",
    "channel.temperature=[": "--set channel.temperature: '[' is not a YAML value",
    "channel.temperature=!!python/name:os.system": "--set channel.temperature: '!!python/name:os.system' is not a YAML",
    "channel.length_cost=.nan": "--set: channel.length_cost: expected at least 0, got nan",
    "channel.entropy_coefficient=.inf": "--set: channel.entropy_coefficient: expected less than 2^63, got inf",
    "channel.length=long": "--set: channel.length: unknown value 'long'; choices: variable, fixed",
    "channel.length=fixd": "--set: channel.length: unknown value 'fixd'; did you mean 'fixed'? choices: variable, ",
    "channel.max_len=2.0": "--set: channel.max_len: expected int, got 2.0",
    "channel.max_len=0": "--set: channel.max_len: expected at least 1, got 0",
    "channel.vocab_size=-1": "--set: channel.vocab_size: expected at least 1, got -1",
    "channel.straight_through=1": "--set: channel.straight_through: expected bool, got 1",
    "training.seed=-1": "--set: training.seed: expected at least 0, got -1",
    f"training.seed={2**63}": f"--set: training.seed: expected less than 2^63, got {2**63}",
    "training.until_accuracy=95": "--set: training.until_accuracy: expected at most 1, got 95.0",
    "training.until_accuracy=high": "--set: training.until_accuracy: expected float or null, got 'high'",
    "world.num_values=1": "--set: world.num_values: expected at least 2, got 1",
    "world.train_data=x.txt": "--set: world.train_data and world.valid_data: give both files or none",
    "world.rule_length=0": "--set: world.rule_length: expected at least 1, got 0",
    "world.distractors=easy": "--set: world.distractors: unknown value 'easy'; choices: random, hard",
    "world.held_out=1": "--set: world.held_out: expected a share from 0 to below 1, got 1.0",
    "world.held_out=-0.1": "--set: world.held_out: expected a share from 0 to below 1, got -0.1",
    "receiver.dropout=1": "--set: receiver.dropout: expected a share from 0 to below 1, got 1.0",
    "world.held_out=.nan": "--set: world.held_out: expected a share from 0 to below 1, got nan",
    "world.pool=0": "--set: world.pool: expected at least 1, got 0",
    "world.images_per_world=0": "--set: world.images_per_world: expected at least 1, got 0",
    "world.features=3": "--set: world.features: expected str or null, got 3",
    "game.num_targets=0": "--set: game.num_targets: expected at least 1, got 0",
    "game.variant=reference": "--set: game.variant: unknown value 'reference'; did you mean 'ref'? choices: setref",
    "game.sender_sees=none": "--set: game.sender_sees: unknown value 'none'; choices: targets, all",
    "channel.word_size=0": "--set: channel.word_size: expected at least 1, got 0",
    "channel.num_levels=1": "--set: channel.num_levels: expected at least 2, got 1",
    "channel.normalize=softmax": "--set: channel.normalize: unknown value 'softmax'; choices: sigmoid, minmax",
    "channel.kind=quantized": "--set: channel.length: quantized words have no EOS; set channel.length=fixed",
    "channel.kind=continuous": "--set: channel.length: continuous words have no EOS; set channel.length=fixed",
    "sender.perception_size=0": "--set: sender.perception_size: expected at least 1, got 0",
    "receiver.perception_size=0": "--set: receiver.perception_size: expected at least 1, got 0",
    "world.train_data=3": "--set: world.train_data: expected str or null, got 3",
}


@pytest.mark.parametrize("assignment", MISTAKES)
def test_mistakes_in_overrides_are_named(assignment):
    with pytest.raises(ConfigError, match="^" + re.escape(MISTAKES[assignment])):
        load_experiment("disc_tiny", [assignment])


FILES = {
    "wrld: {num_values: 3}": "unknown key 'wrld'; did you mean 'world'? choices: name, about, world,",
    "world: {num_valus: 3}": "unknown key 'world.num_valus'; did you mean 'world.num_values'? choices: world.kind, ",
    "world: 3": "world: expected a section with keys, got 3",
    "world:": "world: expected a section with keys, got None",
    "world: {num_values: two}": "world.num_values: expected int, got 'two'",
    "world: {num_values: 1}": "world.num_values: expected at least 2, got 1",
    "3": "expected keys and values, got int",
    "": "expected keys and values, got NoneType",
    "- world": "expected keys and values, got list",
    "1: 2": "unknown key '1'; choices: name",
    "name: 3": "name: expected str, got 3",
    "world: {": "not YAML: while parsing",
    "world: !!python/object/apply:os.system [echo]": "not YAML: could not determine a constructor for the tag",
    "!!python/object:ecsuite.config.Experiment {}": "not YAML: could not determine a constructor for the tag",
}


@pytest.mark.parametrize("text", FILES)
def test_mistakes_in_files_are_named(tmp_path, text):
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError, match="^" + re.escape(f"{file}: {FILES[text]}")):
        load_experiment(str(file))


def test_files_and_names_that_are_not_there(tmp_path):
    with pytest.raises(
        ConfigError, match=r"^unknown game 'disk_small'; did you mean 'disc_small'\? choices: disc_l"
    ):
        load_experiment("disk_small")
    with pytest.raises(ConfigError, match=r"nowhere.yaml: can't be read: .*No such file"):
        load_experiment(str(tmp_path / "nowhere.yaml"))
    (tmp_path / "binary.yml").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match=r"binary.yml: can't be read: .*decode"):
        load_experiment(str(tmp_path / "binary.yml"))


def test_unknown_names_far_from_any_get_no_suggestion():
    assert str(unknown_name("colour", "xyz", ["red", "blue"])) == "unknown colour 'xyz'; choices: red, blue"


def test_values_for_sets_and_words_of_values_are_taken():
    experiment = load_experiment(
        "disc_tiny",
        ["channel.kind=quantized", "channel.length=fixed", "channel.word_size=64", "world.held_out=0"],
    )
    assert (experiment.channel.kind, experiment.channel.word_size) == ("quantized", 64)
    assert experiment.world.held_out == 0.0
    for kind in config.WORDS_OF_VALUES:  # the order of the two settings does not matter
        assert override(experiment, [f"channel.kind={kind}"]).channel.kind == kind
    with pytest.raises(ConfigError, match="quantized words have no EOS"):
        override(experiment, ["channel.length=variable"])


def test_every_field_is_documented():
    """A line of documentation stands under each field, but for the sections, whose classes have one."""
    tree = ast.parse(Path(config.__file__).read_text())
    for kind in (node for node in tree.body if isinstance(node, ast.ClassDef) and node.decorator_list):
        for entry, following in pairwise(kind.body):
            if isinstance(entry, ast.AnnAssign) and not ast.unparse(entry.annotation).endswith("Config"):
                is_documented = isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant)
                assert is_documented, f"{kind.name}: {ast.unparse(entry)}"
