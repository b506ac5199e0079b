"""Early stopping on given accuracy sequences: the counted steps, and the end of a run."""

from dataclasses import fields, replace

import pytest

from ecsuite.eval.icy.protocol import EarlyStopping, Protocol, StopDecision

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


@pytest.mark.parametrize("window", [1, 3, 11, 21])
def test_exact_is_unbiased_on_a_straight_line(window):
    """Accuracy t / 100 has its 0.8 at 80 updates, whatever the window."""
    found = ended(exact(window=window), [updates / 100 + 1e-9 for updates in range(200)])
    assert found == (80 + window // 2, decision(80, reached=True))


OTHER = {
    "name": "paper",
    "target": 0.95,
    "window": 21,
    "check_every": 10,
    "batch_size": 64,
    "lr": 2e-3,
    "clip": 5.0,
    "hidden_size": 1280,
    "held_out": 0.1,
    "precision": "bf16",
    "early_stop": True,
}


def test_the_signature_names_the_defaults():
    assert Protocol().signature(20) == (
        "exact|target:0.8|cap:20|window:11|batch:128|lr:0.001|clip:none|hidden:128|held-out:0|stop:cap|"
        "precision:fp32|v:2"
    )


def test_every_setting_that_can_matter_changes_the_signature():
    assert set(OTHER) == {field.name for field in fields(Protocol)}
    for name, value in OTHER.items():
        base = paper() if name == "check_every" else Protocol()
        assert replace(base, **{name: value}).signature(20) != base.signature(20), name
    assert Protocol().signature(10) != Protocol().signature(20)


def test_a_setting_that_a_protocol_does_not_use_is_not_in_its_signature():
    assert Protocol(check_every=10).signature(20) == Protocol().signature(20)
    assert paper(window=21).signature(20) == paper().signature(20)
