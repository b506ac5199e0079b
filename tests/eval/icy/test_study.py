"""Studies: shipped ones, YAML files, changes from the command line, seeds as users write them, and invalid settings."""

import pytest

from ecsuite.eval.icy.agents import parse_model
from ecsuite.eval.icy.protocol import ACQUISITION
from ecsuite.eval.icy.study import StudyConfig, load_study
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


@pytest.mark.parametrize("name", ["icy_table3", "icy_table4", "icy_table5", "icy_table15"])
def test_a_table_s_study_is_of_all_the_models_in_it_and_of_as_many_seeds(name):
    study = load_study(name, {})
    assert {str(parse_model("sender", model)) for model in study.models} == set(ACQUISITION[study.published])
    assert study.seeds == tuple(range(123, 133 if name in ("icy_table3", "icy_table15") else 128))
    assert (study.geometry, study.cap_ratio, study.protocol) == (Geometry(), 20, "exact")
