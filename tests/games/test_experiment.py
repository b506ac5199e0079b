"""Experiments: layers of parts with options, former names, and messages that name the place and the readers."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

import ecsuite
from ecsuite.games.config.experiment import load_experiment, named_configs, override
from ecsuite.games.config.sections import PARTS, unread_settings, with_training
from ecsuite.games.runs.run import Run
from ecsuite.parts.registry import to_tree
from ecsuite.runtime.errors import ConfigError

CONFIGS = Path(ecsuite.__file__).parent / "configs"


def test_shipped_configs_say_what_they_are():
    about = named_configs()
    assert list(about) == sorted(file.stem for file in CONFIGS.glob("*.yaml")) and len(about) >= 17
    assert all(about.values())


# The figures of XferBench's appendix A.3. EGG's vocabularies of 6 and 100 count EOS, ours don't.
PAPER = {
    "disc_small": {
        "task.kind": "discrimination", "world.num_attributes": 4, "world.num_values": 4, "task.num_distractors": 5,
        "channel.vocab_size": 5, "channel.max_len": 10, "training.num_examples": 32_768, "training.num_epochs": 10,
    },
    "disc_large": {
        "task.kind": "discrimination", "world.num_attributes": 12, "world.num_values": 8, "task.num_distractors": 5,
        "channel.vocab_size": 99, "channel.max_len": 30, "training.num_examples": 3_500_000,
        "training.num_epochs": 100,
    },
    "recon_large": {
        "task.kind": "reconstruction", "world.num_attributes": 8, "world.num_values": 8, "channel.vocab_size": 99,
        "channel.max_len": 30, "training.num_examples": 1_000_000, "training.num_epochs": 10,
    },
}  # fmt: skip
OF_ALL = {
    "world.kind": "attributes", "channel.kind": "gumbel", "channel.length": "variable",
    "channel.straight_through": False, "channel.temperature": 1.0, "channel.temperature_decay": 0.9,
    "channel.temperature_min": 0.1, "loss.length_cost": 0, "training.batch_size": 1024, "optimizer.kind": "adam",
    "optimizer.lr": 0.001, "schedule.kind": "constant", "sender.hidden_size": 256, "receiver.hidden_size": 512,
    **{
        f"{role}.{option}": value
        for role in ("sender", "receiver")
        for option, value in {"kind": "recurrent", "cell": "gru", "num_layers": 1, "embedding_size": 32}.items()
    },
}  # fmt: skip


@pytest.mark.parametrize("name", PAPER)
def test_paper_configs_have_the_papers_figures(name):
    tree = load_experiment(name).to_tree()
    expected = {**OF_ALL, **PAPER[name]}
    found = {key: tree[key.partition(".")[0]][key.partition(".")[2]] for key in expected}
    assert found == expected


def test_a_config_written_and_read_is_the_same(tmp_path):
    experiment = load_experiment("disc_tiny", ["training.until_accuracy=0.9", "about=a “new” one"])
    file = tmp_path / "another_name.yaml"
    file.write_text(experiment.to_yaml())
    assert load_experiment(str(file)) == experiment
    assert list(yaml.safe_load(experiment.to_yaml())) == [
        "name", "about", "world", "task", "channel", "sender", "receiver", "optimizer", "schedule", "loss", "training",
        "evaluation",
    ]  # fmt: skip


@pytest.mark.sample(10)
@pytest.mark.parametrize("name", named_configs())
def test_a_written_config_has_the_options_of_its_kinds_and_no_others(name, tmp_path):
    features = ["world.features=a.npz"] if name in ("mu_cub", "yao") else []
    experiment = load_experiment(name, features)
    assert experiment.name == name
    tree = yaml.safe_load(experiment.to_yaml())
    for section, registry in PARTS.items():
        part = getattr(experiment, section)
        if part.kind in ("signalling", "literal"):  # the usual one is left out
            assert section not in tree
        elif section == "play" or section not in unread_settings(experiment.play.kind):
            written = {"kind", *to_tree(part.options)}
            assert set(tree[section]) == (
                written if section == "play" else written - {"taught"}
            )  # nothing, so it is left out
        assert type(part.options) is registry.load(part.kind).Options
    (tmp_path / "written.yaml").write_text(experiment.to_yaml())
    assert load_experiment(str(tmp_path / "written.yaml")) == experiment


def test_another_world_brings_its_perceptions_without_options_of_the_former_ones():
    """`digits` sets the size of the perceptions of its world, which those of events have none of."""
    found = load_experiment("digits", ["world=events"])
    assert [found.sender.options.perception.kind, found.receiver.options.perception.kind] == [
        "identity",
        "tanh",
    ]
    assert found.world.options.held_out == 0.2  # options of the same name are kept
    kept = load_experiment("digits", ["world=events", "sender.perception=mlp"])
    assert kept.sender.options.perception.options.size == 64
    with pytest.raises(
        ConfigError, match=r"^--set: sender.perception.size: perception identity does not read"
    ):
        load_experiment("digits", ["world=events", "sender.perception.size=3"])


def test_a_misspelt_option_of_a_perception_is_told_also_where_another_world_is_chosen(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text("world: digits\nsender: {perception: {sise: 3}}\n")
    with pytest.raises(ConfigError, match=r"mine.yaml:2: unknown key 'sender.perception.sise'; did you mean"):
        load_experiment(str(file), ["world=events"])


def test_a_file_needs_no_more_than_it_changes(tmp_path):
    (tmp_path / "mine.yaml").write_text("world: {num_values: 7}\n")
    (tmp_path / "empty.yaml").write_text("{}\n")
    mine, default = (load_experiment(str(tmp_path / f"{name}.yaml")) for name in ("mine", "empty"))
    world = replace(default.world, options=replace(default.world.options, num_values=7))
    assert mine == replace(default, name="mine", world=world)
    assert {section: getattr(default, section).kind for section in PARTS} == {
        "play": "signalling", "world": "attributes", "task": "discrimination", "channel": "gumbel",
        "sender": "recurrent", "receiver": "recurrent", "optimizer": "adam", "schedule": "constant", "loss": "task",
        "reasoning": "literal",
    }  # fmt: skip


@pytest.mark.sample(2)
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


def test_messages_about_assignments_name_what_gave_them():
    experiment = load_experiment("disc_tiny")
    for flags, given_by in (({}, "assignments"), ({"world.objects": "--objects"}, "--set")):
        run = Run(Path("run"), experiment, flags_by_key=flags)
        for wrong in ("channel.max_len", "channel.max_len=[", "channel.max_len=no"):
            with pytest.raises(ConfigError, match=f"^{given_by}[ :]"):
                run.evaluate(assignments=wrong)


def assignments(tree, path=""):
    """`section.key=value` for every value of a tree."""
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from assignments(value, f"{path}{key}.")
        else:
            yield f"{path}{key}={yaml.safe_dump(value).removesuffix('...' + chr(10)).strip()}"


def test_flags_have_precedence_over_assignments_and_these_over_changes():
    flags = {"training.seed": 3, "training.num_epochs": None}
    changes = {"training.seed": 5, "training.num_epochs": 7}
    assignments = ["training.seed=4", "training.batch_size=9"]
    training = load_experiment("disc_tiny", assignments, flags, changes=changes).training
    assert (training.seed, training.num_epochs, training.batch_size) == (3, 7, 9)
    with pytest.raises(ConfigError, match=r"^command line: training.seed: expected int >= 0, got -1$"):
        load_experiment("disc_tiny", flags={"training.seed": -1})
    with pytest.raises(ConfigError, match=r"^set: training.seed: expected int >= 0, got -1$"):
        load_experiment("disc_tiny", changes={"training.seed": -1})


MISTAKES = {
    "channel.temprature=2": "unknown key 'channel.temprature'; did you mean 'channel.temperature'? choices: ",
    "seed=1": "unknown key 'seed'; did you mean 'training.seed'? choices: ",
    "Seed=1": "unknown key 'Seed'; did you mean 'training.seed'? choices: ",
    "epochs=1": "unknown key 'epochs'; did you mean 'schedule.num_epochs' or 'training.num_epochs'? choices: ",
    "max_length=8": "unknown key 'max_length'; did you mean 'channel.max_len'? choices: ",
    "temperature=2": "unknown key 'temperature'; did you mean 'channel.temperature'? choices: ",
    "world=3": "--set: unknown world '3'; choices: ",
    "world={num_values: 3, pol: 4}": "unknown key 'world.pol'",
    "training=3": "training: expected a section with keys, got 3",
    "channel.temperature": "--set channel.temperature: expected key=value, such as channel.temperature=2",
    "channel.temperature=": "--set: channel.temperature: expected float, got None",
    "channel.temperature=[": "--set channel.temperature: '[' is not a YAML value",
    "channel.temperature=!!python/name:os.system": "--set channel.temperature: '!!python/name:os.system' is not a YAML",
    "channel.length=fixd": "--set: channel.length: unknown value 'fixd'; did you mean 'fixed'? choices: variable, ",
    "evaluation.batch_size=0": "--set: evaluation.batch_size: expected int >= 1, got 0",
    "world.held_out=1": "--set: world.held_out: expected float < 1.0, got 1",
    "receiver.perception.dropout=1": "--set: receiver.perception.dropout: expected float < 1.0, got 1",
    "sender.cell=gr": "--set: sender.cell: unknown cell 'gr'; did you mean 'gru'? choices: rnn, gru, ",
    "sender.num_layers=10": "--set: sender.num_layers: expected int <= 9, got 10",
    "sender=gruu": "--set: unknown sender 'gruu'; did you mean 'gru'? choices: ",
    "sender.kind=gru-2l,hiden=8": "--set: ",
    "channel=quantised": "--set: unknown channel 'quantised'; did you mean 'quantized'? choices: soft, gumbel, ",
    "channel=quantized,word_size": "--set: channel quantized: expected key=value after the comma, got 'word_size'",
    "channel=quantized,word_size=0": "--set: channel.word_size: expected int >= 1, got 0",
    "world=text,train_data=x.txt": "--set: world.train_data and valid_data: give both files",
    "task=concept,variant=ref": "--set: task.variant: unknown value 'ref'; did you mean 'reference'? ch",
    "schedule=linear,num_epochs=0": "--set: schedule.num_epochs: expected int >= 1, got 0",
    "schedule.kind=liner": "--set: unknown schedule 'liner'; did you mean 'linear'? choices: constant, linear",
    "task.num_distractors=0": "--set: task.num_distractors: expected int >= 1, got 0",
}  # fmt: skip


@pytest.mark.parametrize("assignment", MISTAKES)
def test_mistakes_in_overrides_are_named(assignment):
    with pytest.raises(ConfigError) as error:
        load_experiment("disc_tiny", [assignment])
    assert "\n" not in str(error.value)
    assert MISTAKES[assignment] in str(error.value)
    assert str(error.value).startswith("--set")


UNREAD = {
    "channel.word_size=4": "channel.word_size: channel gumbel does not read it; read by quantized, cont",
    "world.rule_length=2": "world.rule_length: world attributes does not read it; read by thing, shape",
    "world.features=a.npz": "world.features: world attributes does not read it; read by features",
    "world.train_data=a.txt": "world.train_data: world attributes does not read it; read by text",
    "task.num_targets=2": "task.num_targets: task discrimination does not read it; read by concept",
    "schedule.num_epochs=9": "schedule.num_epochs: schedule constant does not read it; read by linear",
    "sender.blocks=2": "unknown key 'sender.blocks'",
    "receiver.blocks=2": "receiver.blocks: receiver recurrent does not read it; read by cnn",
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
    with pytest.raises(ConfigError, match="^" + re.escape(f"{file}:1: {UNREAD[assignment]}")):
        load_experiment(str(file))


FILES = {
    "wrld: {num_values: 3}": "unknown key 'wrld'; did you mean 'world'? choices: world, ",
    "world: {num_valus: 3}": "unknown key 'world.num_valus'; did you mean 'world.num_values'? choices: ",
    "world:": "world: expected a name or a section with keys, got None",
    "world: {kind: }": "world.kind: expected a name, got null",
    "world: things": "unknown world 'things'; did you mean 'thing'? choices: thing, ",
    "world: {num_values: two}": "world.num_values: expected int, got 'two'",
    "training: 3": "training: expected a section with keys, got 3",
    "training: {sed: 3}": "unknown key 'training.sed'; did you mean 'training.seed'? choices: ",
    "sender: {perception: {kind: mlp, sise: 3}}": "unknown key 'sender.perception.sise'; did you mean 'sender.percept",
    "data: {train_data: 3}": "data: expected str, got {'train_data': 3}",
    "1: 2": "unknown key '1'; choices: ",
    "name: 3": "name: expected str, got 3",
}  # fmt: skip


@pytest.mark.parametrize("text", FILES)
def test_mistakes_in_files_are_named(tmp_path, text):
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    line = "" if text == "world: things" else ":1"
    with pytest.raises(ConfigError, match="^" + re.escape(f"{file}{line}: {FILES[text]}")):
        load_experiment(str(file))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("world: {num_values: 3}\ntraining:\n  seed: 1\n  num_epoch: 3\n", 4),
        ("world:\n  num_values: two\n", 2),
        ("sender:\n  kind: gru\n  perception:\n    kind: mlp\n    sise: 3\n", 5),
        ("optimizer: {kind: adam,\n  lr: fast}", 2),
    ],
)
def test_a_mistake_in_a_file_is_named_with_its_line(tmp_path, text, line):
    """Also where a `--set` above it is right."""
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError, match=f"^{re.escape(str(file))}:{line}: "):
        load_experiment(str(file), ["training.seed=3"])


@pytest.mark.parametrize("name", ["../../elsewhere", "/tmp/elsewhere", "a/b", "a\\b", "..", "''"])
def test_a_name_is_that_of_a_folder_in_runs(name, tmp_path):
    """Of which a config of somebody else can't choose the place."""
    (tmp_path / "game.yaml").write_text(f"name: {name}\nworld: attributes\n")
    with pytest.raises(ConfigError, match="name: expected the name of a folder"):
        load_experiment(str(tmp_path / "game.yaml"))


@pytest.mark.parametrize(
    "taught", ["[concat, synth]", "{kind: [concat, synth]}", "{language: [concat, synth]}"]
)
def test_a_list_names_variants_of_a_language_that_is_taught(taught):
    options = load_experiment("disc_tiny", [f"receiver.taught={taught}"]).receiver.options.taught.options
    assert options.language == ("concat", "synth")


def test_a_section_in_place_of_a_language_is_refused():
    with pytest.raises(ConfigError, match=r"^--set: receiver\.taught\.kind: expected a name, got {'a': 1}$"):
        load_experiment("disc_tiny", ["receiver.taught={kind: {a: 1}}"])
