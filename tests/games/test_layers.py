"""Layers of an experiment: a later kind keeps the options that it has; names with options are short for sections."""

import pytest
import yaml

from ecsuite.games.channels.channels import GumbelChannel
from ecsuite.games.channels.message_builders import ValueOptions
from ecsuite.games.config.experiment import load_experiment, override
from ecsuite.parts.registry import Part, to_tree
from ecsuite.runtime.errors import ConfigError


def test_a_later_kind_drops_what_it_lacks_and_keeps_what_it_has():
    tuned = load_experiment(
        "disc_tiny", ["channel.temperature=2", "channel.vocab_size=9", "channel.length=fixed"]
    )
    quantized = override(tuned, ["channel.kind=quantized", "channel.word_size=7"])
    assert quantized.channel == Part("quantized", ValueOptions(max_len=3, word_size=7))
    back = override(quantized, ["channel.kind=gumbel"])
    assert back.channel == Part("gumbel", GumbelChannel.Options(max_len=3))
    reinforce = override(tuned, ["channel.kind=reinforce"]).channel.options
    assert (reinforce.vocab_size, reinforce.length, reinforce.max_len) == (9, "fixed", 3)
    thing = load_experiment("disc_tiny", ["world.kind=thing", "task.kind=concept"])
    assert (thing.world.options.num_attributes, thing.task.options.num_distractors) == (2, 3)
    assert load_experiment("disc_tiny", ["world.kind=shapeworld"]).world.options.images_per_label == 10


@pytest.mark.parametrize("key", ["channel", "channel.kind"])
def test_a_kind_with_options_is_short_for_them(key, tmp_path):
    expected = Part("quantized", ValueOptions(max_len=3, word_size=8))
    assert load_experiment("disc_tiny", [f"{key}=quantized,word_size=8"]).channel == expected
    assert load_experiment("disc_tiny", flags={key: "quantized,word_size=8"}).channel == expected
    text = (
        "channel: quantized,word_size=8" if key == "channel" else "channel: {kind: 'quantized,word_size=8'}"
    )
    (tmp_path / "mine.yaml").write_text(text + "\n")
    written = load_experiment(str(tmp_path / "mine.yaml"), ["channel.max_len=3"])
    assert written.channel == expected
    assert yaml.safe_load(written.to_yaml())["channel"] == {
        "kind": "quantized", "max_len": 3, "word_size": 8, "num_levels": 2, "normalize": "sigmoid",
        "noise": {"kind": "none"},
    }  # fmt: skip


@pytest.mark.parametrize("key", ["sender", "sender.kind"])
def test_the_name_of_an_agent_is_short_for_its_options(key):
    options = load_experiment("disc_tiny", [f"{key}=gru-2l,hidden_size=8"]).sender.options
    found = (options.cell, options.num_layers, options.hidden_size, options.embedding_size)
    assert found == ("gru", 2, 8, 16)
    hierarchical = load_experiment("disc_tiny", [f"{key}=husendz:dgsend,hidden=8"]).sender
    found = (hierarchical.kind, hierarchical.options.cell, hierarchical.options.hidden_size)
    assert found == ("husendz", "dgsend", 8)


@pytest.mark.parametrize(
    ("name", "kind", "cell"),
    [("recurrent,cell=lstm", "recurrent", "lstm"), ("husenda,cell=dgsend", "husenda", "dgsend")],
)
def test_a_kind_of_agent_is_a_name_too(name, kind, cell):
    """Also where the short names of the papers are others."""
    sender = load_experiment("disc_tiny", [f"sender={name}"]).sender
    assert (sender.kind, sender.options.cell) == (kind, cell)
    assert load_experiment("disc_tiny", ["receiver=hier,cell=rnn"]).receiver.options.cell == "rnn"


def test_a_perception_is_a_part_of_an_agent():
    things = ["world.kind=thing", "task.kind=concept"]
    mlp = load_experiment(
        "disc_tiny", [*things, "sender.perception=mlp,size=8", "receiver.perception.size=9"]
    )
    usual = {"dropout": 0.0, "noise": 0.0, "shift": 0, "brightness": 0.0}
    assert to_tree(mlp.sender.options.perception) == {"kind": "mlp", **usual, "size": 8}
    assert to_tree(mlp.receiver.options.perception) == {"kind": "linear", **usual, "size": 9}
    nested = override(mlp, ["receiver={perception: {kind: tanh, size: 4}}"])
    assert to_tree(nested.receiver.options.perception) == {"kind": "tanh", **usual, "size": 4}


def test_the_world_sets_the_perceptions_that_a_config_leaves_open():
    for world, kinds in {"attributes": ["identity", "tanh"], "thing": ["linear", "linear"]}.items():
        experiment = load_experiment("disc_tiny", [f"world.kind={world}"])
        assert [part.options.perception.kind for part in (experiment.sender, experiment.receiver)] == kinds


def test_data_files_given_as_flags_are_a_world_of_text(tmp_path):
    files = {"world.train_data": "a.txt", "world.valid_data": "b.txt"}
    text = load_experiment("disc_tiny", flags=files)
    assert text.world.kind == "text" and text.world.options.num_values == 4
    assert text.task.options.num_distractors is None  # as many as the files have
    own = load_experiment("disc_tiny", ["task.num_distractors=2"], files)
    assert own.task.options.num_distractors == 2
    assert load_experiment("recon_large", flags=files).task.kind == "reconstruction"
    assert load_experiment("thing_qt", flags=files).world.options.num_values == 10
    with pytest.raises(ConfigError, match=r"world.train_data and valid_data: give both files$"):
        load_experiment("disc_tiny", flags={"world.train_data": "a.txt"})


def test_a_flag_names_the_part_whose_options_are_assigned():
    experiment = load_experiment(
        "disc_tiny", ["channel.entropy_coefficient=0.3"], {"channel.kind": "reinforce", "training.seed": 7}
    )
    assert experiment.channel.kind == "reinforce" and experiment.channel.options.entropy_coefficient == 0.3
    assert experiment.training.seed == 7


@pytest.mark.parametrize(
    ("setting", "section", "option", "value"),
    [
        ("world=unequal_attributes,num_values=[4,4]", "world", "num_values", (4, 4)),
        ("world=unequal_attributes,num_values=[4, 2, 3],exponents=[1,2,3]", "world", "num_values", (4, 2, 3)),
    ],
)
def test_a_short_name_may_hold_a_list(setting, section, option, value):
    experiment = load_experiment("disc_tiny", [setting])
    assert getattr(getattr(experiment, section).options, option) == value


def test_a_short_name_may_hold_a_list_of_lists():
    settings = ["society.senders=2", "society.meets=list,pairs=[[0,0],[1,0,0.5]]"]
    assert load_experiment("disc_tiny", settings).society.meets.options.pairs == ((0, 0), (1, 0, 0.5))


def test_a_list_that_does_not_end_is_refused():
    with pytest.raises(ConfigError, match="num_values"):
        load_experiment("disc_tiny", ["world=unequal_attributes,num_values=[4,4"])


def test_options_of_a_part_of_a_section_without_a_kind_are_laid_over_those_below(tmp_path):
    file = tmp_path / "ring.yaml"
    file.write_text("society: {senders: 4, receivers: 4, meets: ring}\n")
    meets = load_experiment(str(file), ["society.meets.distance=2"]).society.meets
    assert (meets.kind, meets.options.distance) == ("ring", 2)
    with pytest.raises(ConfigError, match=r"^--set: society.meets.distance: meeting groups does not read it"):
        load_experiment(str(file), ["society.meets=groups", "society.meets.distance=2"])
