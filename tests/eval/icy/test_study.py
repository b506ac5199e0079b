"""Studies: shipped ones, YAML files, changes from the command line, seeds as users write them, and invalid settings."""

from dataclasses import fields

import pytest

from ecsuite.eval.experiments.grids import ICY
from ecsuite.eval.icy.agents import parse_model
from ecsuite.eval.icy.protocol import ACQUISITION, PROTOCOLS
from ecsuite.eval.icy.study import READS, StudyConfig, load_study
from ecsuite.grammars.geometry import Geometry
from ecsuite.runtime.errors import ConfigError


def refused(**changes):
    """The error message of a study with these settings."""
    with pytest.raises(ConfigError) as error:
        StudyConfig(**{"models": ("lstm",), **changes})
    return str(error.value)


def test_the_defaults_are_those_of_the_paper():
    study = StudyConfig(models=("lstm",))
    assert study.geometry == Geometry()
    assert (study.protocol, study.role, study.channels, study.hidden_size) == ("exact", "sender", (), 128)
    assert (study.cap_ratio, study.clip, study.held_out, study.early_stop) == (20, None, 0, False)


MISTAKES = {
    "no model": ({"models": ()}, "models: expected at least one, such as husendz:dgsend (--model)"),
    "a sender as receiver": (
        {"role": "receiver", "models": ("husenda:rnn",)},
        "unknown receiver 'husenda:rnn'",
    ),
    "a model twice": (
        {"models": ("gru", "RNNAutoReg:GRU")},
        "models: expected different names, got gru twice",
    ),
    "a channel twice": (
        {"protocol": "budget", "channels": ("gumbel", "Gumbel,form=sound")},
        "channels: expected different names, got gumbel twice",
    ),
    "a pair twice": (
        {"protocol": "end-to-end", "models": ("gru", "rnn", "gru"), "receivers": ("gru",)},
        "models, receivers: expected different names, got gru with gru twice",
    ),
    "unknown receiver": ({"protocol": "end-to-end", "receivers": ("x",)}, "unknown receiver 'x'"),
    "no receiver": ({"protocol": "end-to-end"}, "end-to-end: expected one receiver, or one for each model"),
    "no steps": ({"protocol": "budget", "max_steps": 0}, "max_steps: expected 1 or more, got 0"),
    "unknown grammar": ({"grammars": ("perm", "prooj")}, "unknown grammar 'prooj'; did you mean 'proj'?"),
    "a grammar twice": ({"grammars": ("rot", "Cumrot")}, "grammars: expected different names, got rot twice"),
    "target 0": ({"target": 0.0}, "target: expected an accuracy, more than 0 and at most 1, got 0"),
    "target nan": (
        {"target": float("nan")},
        "target: expected an accuracy, more than 0 and at most 1, got nan",
    ),
    "cap nan": ({"cap_ratio": float("nan")}, "cap_ratio: expected 1 or more, got nan"),
    "held out nan": ({"held_out": float("nan")}, "held_out: expected a fraction from 0 to 0.9, got nan"),
    "held out none": (
        {"held_out": 0.01, "num_attributes": 1},
        "held_out: 0.01 of 10 meanings is none or all of them: change --held-out or raise --num-values",
    ),
    "clip inf": ({"clip": float("inf")}, "clip: expected a number above 0, got inf"),
    "too wide": ({"hidden_size": 10**8}, "hidden_size: expected 1 to 16,384, got 100,000,000"),
    "too wide a model": ({"models": ("lstm,hidden=99999",)}, "hidden_size: expected 1 to 16,384, got 99,999"),
    "a seed twice": ({"seeds": (1, 2, 1)}, "seeds: expected different numbers from 0 to 2^63 - 1"),
    "a large seed": ({"seeds": (2**63,)}, "seeds: expected different numbers from 0 to 2^63 - 1"),
    "many values": ({"num_values": 10**8}, "100000000^5 meanings in messages of 20 symbols do not fit"),
    "metrics of models": (
        {"metrics": ("topsim",)},
        "metrics: not read by protocol exact; read by metrics",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_invalid_settings_are_rejected(mistake):
    changes, message = MISTAKES[mistake]
    found = refused(**changes)
    assert found.startswith(message)
    assert "\n" not in found


def test_every_shipped_study_can_be_read():
    assert {"icy_table3", "icy_table6", "icy_table15", "icy_figure3"} <= set(ICY.shipped())
    for name in ICY.shipped():
        study = load_study(name, {})
        assert study.about.startswith("ICY ") and study.name == name
        assert study == load_study(f"paper/{name}", {})


@pytest.mark.parametrize("name", ["icy_table3", "icy_table4", "icy_table5", "icy_table15"])
def test_a_table_s_study_is_of_all_the_models_in_it_and_of_as_many_seeds(name):
    study = load_study(name, {})
    assert {str(parse_model("sender", model)) for model in study.models} == set(ACQUISITION[study.published])
    assert study.seeds == tuple(range(123, 133 if name in ("icy_table3", "icy_table15") else 128))
    assert (study.geometry, study.cap_ratio, study.protocol) == (Geometry(), 20, "exact")


def test_changes_override_the_file_and_none_leaves_it_unchanged():
    whole = load_study("icy_table3", {"seeds": None, "target": None})
    assert whole == load_study("icy_table3", {})
    changed = load_study("icy_table3", {"seeds": (5,), "cap_ratio": 3, "models": ["gru"]})
    assert (changed.seeds, changed.cap_ratio, changed.models) == ((5,), 3.0, ("gru",))
    assert changed.published == "table12"


def test_every_setting_that_is_read_exists():
    names = {field.name for field in fields(StudyConfig)}
    assert READS.keys() == PROTOCOLS.keys()
    assert all(names.issuperset(read) for read in READS.values())


def test_another_protocol_leaves_out_what_it_does_not_read_in_the_file():
    """As another kind of a part does with the options that it has and the new one lacks."""
    study = load_study("icy_figure7", {"protocol": "budget"})
    assert (study.receivers, study.channels, study.max_steps) == ((), ("reinforce",), 10_000)
    study = load_study("icy_table16", {"protocol": "exact", "cap_ratio": 5.0})
    assert (study.channels, study.cap_ratio, study.target) == ((), 5.0, 0.99)
    with pytest.raises(
        ConfigError, match=r"^--cap: not read by protocol metrics; read by exact, paper, end-to-end$"
    ):
        load_study("icy_figure3", {"cap_ratio": 5.0}, {"cap_ratio": "--cap"})


def test_a_yaml_file_is_a_study(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text("models: [gru, 'husendz:dgsend']\nseeds: [1, 2]\ntarget: 9e-1\nheld_out: 0\n")
    study = load_study(str(file), {"num_values": 4})
    assert (study.name, study.models, study.seeds) == ("mine", ("gru", "husendz:dgsend"), (1, 2))
    assert (study.target, study.held_out, study.num_values) == (0.9, 0.0, 4)


FILES = {
    "models: lstm": "mine.yaml: models: expected list, got 'lstm'",
    "model: [lstm]": "mine.yaml: unknown key 'model'; did you mean 'models'? choices: models, ",
    "models: [lstm]\nseeds: 10": "mine.yaml: seeds: expected list, got 10",
    "models: [lstm]\nseeds: [a]": "mine.yaml: seeds: expected int, got 'a'",
    "models: [lstm]\nprotocol: fast": "mine.yaml: protocol: unknown value 'fast'",
    "models: [lstm]\ncap_ratio: 0": "mine.yaml: cap_ratio: expected 1 or more, got 0",
    "protocol: metrics\ncap_ratio: 20": "mine.yaml: cap_ratio: not read by protocol metrics; read by exact, paper, ",
    "models: [lstm]\nprotocol: budget\nearly_stop: true": (
        "mine.yaml: early_stop: not read by protocol budget; read by exact, paper"
    ),
    "models: [lstm]\nsupervised: same": "mine.yaml: supervised: not read by protocol exact; read by end-to-end",
}


@pytest.mark.parametrize("text", FILES)
def test_a_mistake_in_a_file_is_named_with_the_file(tmp_path, monkeypatch, text):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.yaml").write_text(text)
    with pytest.raises(ConfigError) as error:
        load_study("mine.yaml", {})
    assert str(error.value).startswith(FILES[text])
    assert "\n" not in str(error.value)


def test_a_missing_study(tmp_path):
    with pytest.raises(ConfigError, match="unknown study 'icy_tabel3'; did you mean 'icy_table3'"):
        load_study("paper/icy_tabel3", {})
    with pytest.raises(ConfigError, match="can't be read: "):
        load_study(str(tmp_path / "nowhere.yaml"), {})
