"""Experiments: layers of parts with options, former names, and messages that name the place and the readers."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from ecsuite import config
from ecsuite.components import to_tree
from ecsuite.config import ConfigError
from ecsuite.games.experiment import PARTS, load_experiment, named_configs, override, with_training

CONFIGS = Path(config.__file__).parent / "configs"


def test_shipped_configs_load_and_say_what_they_are():
    about = named_configs()
    assert list(about) == sorted(file.stem for file in CONFIGS.glob("*.yaml"))
    assert {"disc_large", "disc_small", "disc_tiny", "recon_large", "shape_qt", "mu_shapeworld"} <= set(about)
    assert all(about.values())
    for name in about:
        features = ["world.features=a.npz"] if name in ("mu_cub", "yao") else []
        assert load_experiment(name, features).name == name


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
    world, channel, training = experiment.world.options, experiment.channel.options, experiment.training
    assert (experiment.world.kind, experiment.task.kind) == ("attributes", paper["task"])
    assert (world.num_attributes, world.num_values) == (paper["num_attributes"], paper["num_values"])
    if paper["num_distractors"] is not None:
        assert experiment.task.options.num_distractors == paper["num_distractors"]
    assert experiment.channel.kind == "gumbel"
    assert (channel.length, channel.straight_through) == ("variable", False)
    assert (channel.vocab_size, channel.max_len) == (paper["vocab_size"], paper["max_len"])
    assert (channel.temperature, channel.temperature_decay, channel.temperature_min) == (1.0, 0.9, 0.1)
    assert experiment.loss.options.length_cost == 0
    for agent, hidden_size in ((experiment.sender, 256), (experiment.receiver, 512)):
        options = agent.options
        assert (agent.kind, options.cell, options.num_layers) == ("recurrent", "gru", 1)
        assert (options.hidden_size, options.embedding_size) == (hidden_size, 32)
    assert (training.num_examples, training.num_epochs) == (paper["num_examples"], paper["num_epochs"])
    assert (training.batch_size, experiment.optimizer.kind, experiment.optimizer.options.lr) == (
        1024,
        "adam",
        0.001,
    )
    assert experiment.schedule.kind == "constant"
    assert -(-training.num_examples // training.batch_size) * training.num_epochs == paper["num_steps"]


def test_a_config_written_and_read_is_the_same(tmp_path):
    experiment = load_experiment("disc_tiny", ["training.until_accuracy=0.9", "about=a “new” one"])
    file = tmp_path / "another_name.yaml"
    file.write_text(experiment.to_yaml())
    assert load_experiment(str(file)) == experiment
    assert list(yaml.safe_load(experiment.to_yaml())) == [
        "name", "about", "world", "task", "channel", "sender", "receiver", "optimizer", "schedule", "loss", "training",
        "evaluation",
    ]  # fmt: skip


@pytest.mark.parametrize("name", named_configs())
def test_a_written_config_has_the_options_of_its_kinds_and_no_others(name, tmp_path):
    features = ["world.features=a.npz"] if name in ("mu_cub", "yao") else []
    experiment = load_experiment(name, features)
    tree = yaml.safe_load(experiment.to_yaml())
    for section, registry in PARTS.items():
        part = getattr(experiment, section)
        assert set(tree[section]) == {"kind", *to_tree(part.options)}
        assert type(part.options) is registry.load(part.kind).Options
    (tmp_path / "written.yaml").write_text(experiment.to_yaml())
    assert load_experiment(str(tmp_path / "written.yaml")) == experiment


def test_a_file_needs_no_more_than_it_changes(tmp_path):
    (tmp_path / "mine.yaml").write_text("world: {num_values: 7}\n")
    (tmp_path / "empty.yaml").write_text("{}\n")
    mine, default = (load_experiment(str(tmp_path / f"{name}.yaml")) for name in ("mine", "empty"))
    world = replace(default.world, options=replace(default.world.options, num_values=7))
    assert mine == replace(default, name="mine", world=world)
    assert {section: getattr(default, section).kind for section in PARTS} == {
        "world": "attributes", "task": "discrimination", "channel": "gumbel", "sender": "recurrent",
        "receiver": "recurrent", "optimizer": "adam", "schedule": "constant", "loss": "task",
    }  # fmt: skip


@pytest.mark.parametrize("name", ["disc_tiny", "recon_large", "thing_qt", "mu_shapeworld"])
def test_overrides_later_ones_win_and_every_key_can_be_set(name):
    experiment = load_experiment(name, ["optimizer.lr=1", "optimizer.lr=1e-4", "name=other", "about=new"])
    assert experiment.optimizer.options.lr == 1e-4
    assert (experiment.name, experiment.about) == ("other", "new")
    assert override(experiment, ["training.max_minutes=3"]).training.max_minutes == 3.0
    assert override(experiment, ["training.until_accuracy=null"]).training.until_accuracy is None
    assert with_training(experiment, seed=7).training.seed == 7
    assert all(
        override(experiment, [assignment]) == experiment for assignment in assignments(experiment.to_tree())
    )


def assignments(tree, path=""):
    """`section.key=value` for every value of a tree."""
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from assignments(value, f"{path}{key}.")
        else:
            yield f"{path}{key}={yaml.safe_dump(value).removesuffix('...' + chr(10)).strip()}"


def test_flags_have_precedence_over_assignments_and_these_over_changes():
    flags, changes = (
        {"training.seed": 3, "training.num_epochs": None},
        {"training.seed": 5, "training.num_epochs": 7},
    )
    experiment = load_experiment(
        "disc_tiny", ["training.seed=4", "training.batch_size=9"], flags, changes=changes
    )
    training = experiment.training
    assert (training.seed, training.num_epochs, training.batch_size) == (3, 7, 9)
    with pytest.raises(ConfigError, match=r"^command line: training.seed: expected int >= 0, got -1$"):
        load_experiment("disc_tiny", flags={"training.seed": -1})
    with pytest.raises(ConfigError, match=r"^set: training.seed: expected int >= 0, got -1$"):
        load_experiment("disc_tiny", changes={"training.seed": -1})


MISTAKES = {
    "channel.temprature=2": "unknown key 'channel.temprature'; did you mean 'channel.temperature'? choices: ",
    "temperature=2": "unknown key 'temperature'; did you mean 'channel.temperature'? choices: ",
    "world=3": "--set: unknown world '3'; choices: attributes, text, ",
    "world={num_values: 3, pol: 4}": "unknown key 'world.pol'",
    "training=3": "training: expected a section with keys, got 3",
    "channel.temperature": "--set channel.temperature: expected key=value, such as channel.temperature=2",
    "channel.temperature=hot": "--set: channel.temperature: expected float, got 'hot'",
    "channel.temperature=true": "--set: channel.temperature: expected float, got True",
    "channel.temperature=": "--set: channel.temperature: expected float, got None",
    "channel.temperature=0": "--set: channel.temperature: expected float > 0.0, got 0",
    "channel.temperature=.nan": "--set: channel.temperature: expected float > 0.0, got nan",
    "channel.temperature=.inf": "--set: channel.temperature: expected float <= 1.79",
    "channel.temperature=[": "--set channel.temperature: '[' is not a YAML value",
    "channel.temperature=!!python/name:os.system": "--set channel.temperature: '!!python/name:os.system' is not a YAML",
    "loss.length_cost=.nan": "--set: loss.length_cost: expected float >= 0.0, got nan",
    "channel.entropy_coefficient=0.2": "--set: channel.entropy_coefficient: channel gumbel does not read it; read by r",
    "channel.length=long": "--set: channel.length: unknown value 'long'; choices: variable, fixed",
    "channel.length=fixd": "--set: channel.length: unknown value 'fixd'; did you mean 'fixed'? choices: variable, ",
    "channel.max_len=2.5": "--set: channel.max_len: expected int, got 2.5",
    "channel.max_len=0": "--set: channel.max_len: expected int >= 1, got 0",
    "channel.vocab_size=-1": "--set: channel.vocab_size: expected int >= 1, got -1",
    "channel.straight_through=1": "--set: channel.straight_through: expected bool, got 1",
    "training.seed=-1": "--set: training.seed: expected int >= 0, got -1",
    f"training.seed={2**63}": f"--set: training.seed: expected int <= {2**63 - 1}, got {2**63}",
    "training.until_accuracy=95": "--set: training.until_accuracy: expected float <= 1.0, got 95",
    "training.until_accuracy=high": "--set: training.until_accuracy: expected float or null, got 'high'",
    "evaluation.batch_size=0": "--set: evaluation.batch_size: expected int >= 1, got 0",
    "world.num_values=1": "--set: world.num_values: expected int >= 2, got 1",
    "world.held_out=1": "--set: world.held_out: expected float < 1.0, got 1",
    "world.held_out=-0.1": "--set: world.held_out: expected float >= 0.0, got -0.1",
    "world.held_out=.nan": "--set: world.held_out: expected float",
    "receiver.perception.dropout=1": "--set: receiver.perception.dropout: expected float < 1.0, got 1",
    "receiver.perception.size=0": "--set: receiver.perception.size: expected int >= 1",
    "sender.hidden_size=0": "--set: sender.hidden_size: expected int >= 1, got 0",
    "sender.cell=gr": "--set: sender.cell: unknown cell 'gr'; did you mean 'gru'? choices: rnn, gru, ",
    "sender.num_layers=10": "--set: sender.num_layers: expected int <= 9, got 10",
    "sender=gruu": "--set: unknown sender 'gruu'; did you mean 'gru'? choices: ",
    "sender.kind=gru-2l,hiden=8": "--set: ",
    "channel=quantised": "--set: unknown channel 'quantised'; did you mean 'quantized'? choices: soft, gumbel, ",
    "channel=quantized,word_size": "--set: channel quantized: expected key=value after the comma, got 'word_size'",
    "channel=quantized,word_size=0": "--set: channel.word_size: expected int >= 1, got 0",
    "schedule.kind=cosine": "--set: unknown schedule 'cosine'; did you mean 'linear'? choices: constant, linear",
    "optimizer.lr=0": "--set: optimizer.lr: expected float > 0.0, got 0",
    "task.num_distractors=0": "--set: task.num_distractors: expected int >= 1, got 0",
    "task.sender_input=none": "--set: task.sender_input: unknown value 'none'; choices: targets, targets_and_distract",
}  # fmt: skip


@pytest.mark.parametrize("assignment", MISTAKES)
def test_mistakes_in_overrides_are_named(assignment):
    with pytest.raises(ConfigError) as error:
        load_experiment("disc_tiny", [assignment])
    assert "\n" not in str(error.value)
    assert MISTAKES[assignment] in str(error.value)
    assert str(error.value).startswith("--set")


OF_KINDS = {
    ("world.kind=text", "world.train_data=x.txt"): "--set: world.train_data and valid_data: give both files",
    ("world.kind=text", "world.train_data=3"): "--set: world.train_data: expected str or null, got 3",
    ("world.kind=thing", "world.rule_length=0"): "--set: world.rule_length: expected int >= 1, got 0",
    ("world.kind=thing", "world.distractors=easy"): "--set: world.distractors: unknown value 'easy'; choices: random, ",
    ("world.kind=shape", "world.images_per_batch=0"): "--set: world.images_per_batch: expected int >= 1, got 0",
    ("world.kind=shapeworld", "world.images_per_label=0"): "--set: world.images_per_label: expected int >= 1, got 0",
    ("world.kind=features", "world.features=3"): "--set: world.features: expected str or null, got 3",
    ("task.kind=concept", "task.num_targets=0"): "--set: task.num_targets: expected int >= 1, got 0",
    ("task.kind=concept", "task.variant=ref"): "--set: task.variant: unknown value 'ref'; did you mean 'reference'? ch",
    ("channel.kind=reinforce", "channel.entropy_coefficient=.inf"): "--set: channel.entropy_coefficient: expected floa",
    ("channel.kind=quantized", "channel.word_size=0"): "--set: channel.word_size: expected int >= 1, got 0",
    ("channel.kind=quantized", "channel.num_levels=1"): "--set: channel.num_levels: expected int >= 2, got 1",
    ("channel.kind=quantized", "channel.normalize=softmax"): "--set: channel.normalize: unknown value 'softmax'; choic",
    ("schedule.kind=linear", "schedule.num_epochs=0"): "--set: schedule.num_epochs: expected int >= 1, got 0",
}  # fmt: skip


@pytest.mark.parametrize("assignments", OF_KINDS)
def test_mistakes_in_options_of_a_kind_are_named(assignments):
    with pytest.raises(ConfigError) as error:
        load_experiment("disc_tiny", assignments)
    assert str(error.value).startswith(OF_KINDS[assignments])


UNREAD = {
    "channel.word_size=4": "channel.word_size: channel gumbel does not read it; read by quantized, continuous",
    "channel.entropy_coefficient=1": "channel.entropy_coefficient: channel gumbel does not read it; read by reinforce",
    "world.rule_length=2": "world.rule_length: world attributes does not read it; read by thing, shape",
    "world.images_per_batch=9": "world.images_per_batch: world attributes does not read it; read by shape",
    "world.images_per_label=9": "world.images_per_label: world attributes does not read it; read by shapeworld",
    "world.features=a.npz": "world.features: world attributes does not read it; read by features",
    "world.train_data=a.txt": "world.train_data: world attributes does not read it; read by text",
    "task.num_targets=2": "task.num_targets: task discrimination does not read it; read by concept",
    "task.variant=concept": "task.variant: task discrimination does not read it; read by concept",
    "schedule.num_epochs=9": "schedule.num_epochs: schedule constant does not read it; read by linear",
    "sender.blocks=2": "unknown key 'sender.blocks'",
    "receiver.blocks=2": "receiver.blocks: receiver recurrent does not read it; read by cnn",
    "receiver.form=sum": "receiver.form: receiver recurrent does not read it; read by fc2l",
    "receiver.zero_input=true": "unknown key 'receiver.zero_input'",
    "sender.perception.size=8": "sender.perception.size: perception identity does not read it; read by linear, tanh, ",
}  # fmt: skip


@pytest.mark.parametrize("assignment", UNREAD)
def test_an_option_that_nothing_reads_names_its_readers(assignment, tmp_path):
    with pytest.raises(ConfigError, match="^" + re.escape(f"--set: {UNREAD[assignment]}")):
        load_experiment("disc_tiny", [assignment])
    key, _, value = assignment.partition("=")
    section, _, option = key.partition(".")
    inner = f"{{perception: {{size: {value}}}}}" if "." in option else f"{{{option}: {value}}}"
    file = tmp_path / "mine.yaml"
    file.write_text(f"{section}: {inner}\n")
    with pytest.raises(ConfigError, match="^" + re.escape(f"{file}: {UNREAD[assignment]}")):
        load_experiment(str(file))


FILES = {
    "wrld: {num_values: 3}": "unknown key 'wrld'; did you mean 'world'? choices: name, about, world,",
    "world: {num_valus: 3}": "unknown key 'world.num_valus'; did you mean 'world.num_values'? choices: world.kind, ",
    "world: 3": "world: expected a name or a section with keys, got 3",
    "world:": "world: expected a name or a section with keys, got None",
    "world: {kind: }": "world.kind: expected a name, got null",
    "world: {kind: 3}": "world.kind: expected a name, got 3",
    "world: things": "unknown world 'things'; did you mean 'thing'? choices: attributes, ",
    "world: {num_values: two}": "world.num_values: expected int, got 'two'",
    "world: {num_values: 1}": "world.num_values: expected int >= 2, got 1",
    "training: 3": "training: expected a section with keys, got 3",
    "training: {sed: 3}": "unknown key 'training.sed'; did you mean 'training.seed'? choices: ",
    "sender: {perception: {kind: mlp, sise: 3}}": "unknown key 'sender.perception.sise'; did you mean 'sender.percept",
    "sender: {perception: 3}": "sender.perception: expected a name or a section with keys, got 3",
    "1: 2": "unknown key '1'; choices: name",
    "name: 3": "name: expected str, got 3",
}  # fmt: skip


@pytest.mark.parametrize("text", FILES)
def test_mistakes_in_files_are_named(tmp_path, text):
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError, match="^" + re.escape(f"{file}: {FILES[text]}")):
        load_experiment(str(file))
