"""Studies: shipped ones, settings and their mistakes; when a run ends, on given accuracies."""

from dataclasses import fields, replace

import pytest

from ecsuite.eval.icy.agents import parse_model
from ecsuite.eval.icy.protocol import ACQUISITION, EarlyStopping, Protocol, StopDecision
from ecsuite.eval.icy.study import StudyConfig, load_study, resolve
from ecsuite.grammars.geometry import Geometry
from ecsuite.runtime.errors import ConfigError


def refused(**changes):
    """The error message of a study with these settings."""
    with pytest.raises(ConfigError) as error:
        StudyConfig(**{"models": ("lstm",), **changes})
    return str(error.value)


def test_defaults_and_signatures():
    study = StudyConfig(models=("lstm",))
    assert study.geometry == Geometry()
    assert (study.protocol, study.role, study.channels, study.hidden_size) == ("exact", "sender", (), 128)
    assert (study.cap_ratio, study.clip, study.held_out, study.early_stop) == (20, None, 0, False)
    assert set(OTHER) == {field.name for field in fields(Protocol)}
    for name, value in OTHER.items():
        base = paper() if name == "check_every" else Protocol()
        assert replace(base, **{name: value}).signature(20) != base.signature(20), name
    assert Protocol().signature(10) != Protocol().signature(20) == Protocol(check_every=10).signature(20)


MISTAKES = {
    "no model": ({"models": ()}, "models: expected at least one, such as husendz:dgsend (--model)"),
    "a sender as receiver": ({"role": "receiver", "models": ("husenda:rnn",)}, "unknown receiver 'husenda:rnn'"),
    "a model twice": ({"models": ("gru", "RNNAutoReg:GRU")}, "models: expected different names, got gru twice"),
    "a channel twice": ({"protocol": "budget", "channels": ("gumbel", "Gumbel,form=sound")},
         "channels: expected different names, got gumbel twice"),
    "a pair twice": ({"protocol": "end-to-end", "models": ("gru", "rnn", "gru"), "receivers": ("gru",)},
         "models, receivers: expected different names, got gru with gru twice"),
    "unknown receiver": ({"protocol": "end-to-end", "receivers": ("x",)}, "unknown receiver 'x'"),
    "no receiver": ({"protocol": "end-to-end"}, "end-to-end: expected one receiver, or one for each model"),
    "no steps": ({"protocol": "budget", "max_steps": 0}, "max_steps: expected 1 or more, got 0"),
    "unknown grammar": ({"grammars": ("perm", "prooj")}, "unknown grammar 'prooj'; did you mean 'proj'?"),
    "a grammar twice": ({"grammars": ("rot", "Cumrot")}, "grammars: expected different names, got rot twice"),
    "target 0": ({"target": 0.0}, "target: expected an accuracy, more than 0 and at most 1, got 0"),
    "target nan": ({"target": float("nan")}, "target: expected an accuracy, more than 0 and at most 1, got nan"),
    "cap nan": ({"cap_ratio": float("nan")}, "cap_ratio: expected 1 or more, got nan"),
    "held out nan": ({"held_out": float("nan")}, "held_out: expected a fraction from 0 to 0.9, got nan"),
    "held out none": ({"held_out": 0.01, "num_attributes": 1},
         "held_out: 0.01 of 10 meanings is none or all of them: change --held-out or raise --num-values"),
    "clip inf": ({"clip": float("inf")}, "clip: expected a number above 0, got inf"),
    "too wide": ({"hidden_size": 10**8}, "hidden_size: expected 1 to 16,384, got 100,000,000"),
    "too wide a model": ({"models": ("lstm,hidden=99999",)}, "hidden_size: expected 1 to 16,384, got 99,999"),
    "a seed twice": ({"seeds": (1, 2, 1)}, "seeds: expected different numbers from 0 to 2^63 - 1"),
    "a large seed": ({"seeds": (2**63,)}, "seeds: expected different numbers from 0 to 2^63 - 1"),
    "many values": ({"num_values": 10**8}, "100000000^5 meanings in messages of 20 symbols do not fit"),
    "metrics of models": ({"metrics": ("topsim",)}, "metrics: not read by protocol exact; read by metrics"),
}  # fmt: skip


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


PAIR = {"protocol": "end-to-end", "receivers": ("gru",)}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (PAIR, "hashtable has no weights to train end to end; name another sender"),
        ({"protocol": "budget", "channels": ("gumbel",)}, "hashtable has no logits for a channel"),
        ({"protocol": "budget", "channels": ("gumbel",), "role": "receiver", "models": ("KNN",)},
         "knn has no logits for a channel; use --channel soft"),
        ({**PAIR, "models": ("gru",), "receivers": ("knn",)},
         "knn has no weights to train end to end; name another receiver"),
    ],
)  # fmt: skip
def test_what_a_hashtable_cannot_do(settings, message):
    with pytest.raises(ConfigError, match=message):
        resolve(StudyConfig(**{"models": ("hashtable",), **settings}))


FLOOR = 0.4


def ended(protocol, accuracies, cap=None):
    """The first decision and its number of updates, over accuracies after 0, 1, ... updates; None if there is none."""
    early_stopping = EarlyStopping(protocol, cap, FLOOR)
    for updates, accuracy in enumerate(accuracies):
        decision = early_stopping.observe(updates, accuracy)
        if decision is not None:
            return updates, decision
    return None


def exact(**changes):
    return Protocol(**{"window": 5, **changes})


def paper(**changes):
    return Protocol(name="paper", **changes)


def decision(steps, *, reached=False, is_early=False):
    return StopDecision(steps=steps, reached=reached, is_early=is_early)


RUNS = {
    "window of 1": (exact(window=1), [0.0] * 20 + [1.0] * 10, None, (20, decision(20, reached=True))),
    "middle of the window": (exact(), [0.0] * 20 + [1.0] * 10, None, (23, decision(21, reached=True))),
    "full window": (exact(), [1.0] * 10, None, (4, decision(2, reached=True))),
    "single high batch": (exact(), [0.7] * 30 + [1.0] + [0.7] * 30, None, None),
    "paper counts from 0": (paper(), [1.0] * 100, None, (1, decision(0, reached=True))),
    "paper after 50": (paper(), [0.0] * 30 + [1.0] * 100, None, (51, decision(50, reached=True))),
    "paper between looks": (paper(), [0.0] * 100 + [1.0, 0.0, 1.0] + [0.0] * 97, None, None),
    "paper every 7": (paper(check_every=7), [0.0] * 21 + [1.0] * 100, None, (22, decision(21, reached=True))),
    "cap": (exact(), [0.5] * 200, 60, (62, decision(60))),
    # The published program measures every 50 updates, so its capped runs exceed the cap.
    "paper beyond the cap": (paper(), [0.5] * 300, 120, (151, decision(150))),
    "paper at the cap": (paper(), [0.5] * 300, 150, (151, decision(150))),
    "target at the cap": (exact(), [0.0] * 58 + [0.9] * 10, 60, (62, decision(60, reached=True))),
    "no cap": (exact(), [0.5] * 1000, None, None),
    "no target": (exact(target=None), [1.0] * 300, 100, (102, decision(100))),
    # Floor 0.4 and target 0.8: below 0.5 a run is stopped early, from a quarter of its cap on.
    "early": (exact(early_stop=True), [0.49] * 300, 200, (52, decision(50, is_early=True))),
    "early, later": (
        exact(early_stop=True), [0.7] * 100 + [0.1] * 200, 200, (101, decision(99, is_early=True)),
    ),
    "not early": (exact(early_stop=True), [0.51] * 300, 200, (202, decision(200))),
    "early without a cap": (exact(early_stop=True), [0.49] * 300, None, None),
    "early below the floor": (
        exact(early_stop=True, target=None), [0.39] * 300, 200, (52, decision(50, is_early=True)),
    ),
    "not early above it": (exact(early_stop=True, target=None), [0.41] * 300, 200, (202, decision(200))),
    "off by default": (exact(), [0.0] * 300, 200, (202, decision(200))),
}  # fmt: skip
"""Protocol, accuracy after 0, 1, ... updates, cap, and the updates and decision at the end; None if it does not end."""


@pytest.mark.parametrize("name", RUNS)
def test_how_a_run_ends(name):
    protocol, accuracies, cap, expected = RUNS[name]
    assert ended(protocol, accuracies, cap) == expected


OTHER = {
    "name": "paper", "target": 0.95, "window": 21, "check_every": 10, "batch_size": 64, "lr": 2e-3, "clip": 5.0,
    "hidden_size": 1280, "held_out": 0.1, "precision": "bf16", "early_stop": True,
}  # fmt: skip


@pytest.mark.parametrize("window", [1, 3, 11, 21])
def test_exact_is_unbiased_on_a_straight_line(window):
    """Accuracy t / 100 has its 0.8 at 80 updates, whatever the window."""
    found = ended(exact(window=window), [updates / 100 + 1e-9 for updates in range(200)])
    assert found == (80 + window // 2, decision(80, reached=True))
