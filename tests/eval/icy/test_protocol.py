"""Early stopping on given accuracy sequences: the counted steps, and the end of a run."""

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


@pytest.mark.parametrize("window", [1, 3, 11, 21])
def test_exact_is_unbiased_on_a_straight_line(window):
    """Accuracy t / 100 has its 0.8 at 80 updates, whatever the window."""
    found = ended(exact(window=window), [updates / 100 + 1e-9 for updates in range(200)])
    assert found == (80 + window // 2, decision(80, reached=True))
