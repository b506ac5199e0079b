"""Early stopping on given accuracy sequences: the counted steps, and the end of a run."""

from dataclasses import fields, replace

import pytest

from ecsuite.eval.icy.protocol import Protocol, StopDecision

FLOOR = 0.4


def ended(protocol, accuracies, cap=None, floor=FLOOR):
    """The first decision and its number of updates, over accuracies after 0, 1, ... updates; None if there is none."""
    early_stopping = protocol.early_stopping(cap, floor)
    for updates, accuracy in enumerate(accuracies):
        decision = early_stopping.observe(updates, accuracy)
        if decision is not None:
            return updates, decision
    return None


def exact(**changes):
    return Protocol(**{"window": 5, **changes})


def paper(**changes):
    return Protocol(name="paper", **changes)


def test_exact_counts_the_steps_at_the_middle_of_the_window():
    """A rise at 20 updates: the mean of five reaches 0.8 with the fourth high batch of five, 23; its middle is 21."""
    accuracies = [0.0] * 20 + [1.0] * 10
    assert ended(exact(), accuracies) == (23, StopDecision(steps=21, reached=True))


@pytest.mark.parametrize("window", [1, 3, 11, 21])
def test_exact_is_unbiased_on_a_straight_line(window):
    """Accuracy t / 100 has its 0.8 at 80 updates, whatever the window."""
    found = ended(exact(window=window), [updates / 100 + 1e-9 for updates in range(200)])
    assert found == (80 + window // 2, StopDecision(steps=80, reached=True))


def test_exact_waits_for_a_full_window():
    assert ended(exact(), [1.0] * 4) is None
    assert ended(exact(), [1.0] * 5) == (4, StopDecision(steps=2, reached=True))


def test_exact_ignores_a_single_high_batch():
    assert ended(exact(), [0.7] * 30 + [1.0] + [0.7] * 30) is None


def test_exact_measures_after_every_update():
    early_stopping = exact(window=1).early_stopping(None, FLOOR)
    for updates, accuracy in enumerate([0.1, 0.5, 0.3]):
        early_stopping.observe(updates, accuracy)
        assert early_stopping.accuracy == accuracy


def test_paper_measures_after_the_first_update_and_then_after_every_fifty():
    looks = []
    early_stopping = paper().early_stopping(None, FLOOR)
    for updates in range(200):
        early_stopping.observe(updates, updates / 1000)
        if early_stopping.accuracy == updates / 1000 and updates:
            looks.append(updates)
    assert looks == [1, 51, 101, 151]


def test_paper_counts_from_zero():
    """The published program counts updates from 0: `updates` = 51 is its update 50."""
    assert ended(paper(), [1.0] * 100) == (1, StopDecision(steps=0, reached=True))
    assert ended(paper(), [0.0] * 30 + [1.0] * 100) == (51, StopDecision(steps=50, reached=True))


def test_paper_measures_single_batches_only():
    accuracies = [0.0] * 200
    accuracies[100] = accuracies[102] = 1.0
    assert ended(paper(), accuracies) is None
    accuracies[101] = 0.8
    assert ended(paper(), accuracies) == (101, StopDecision(steps=100, reached=True))


@pytest.mark.parametrize(("every", "steps"), [(1, 20), (7, 21), (50, 50)])
def test_paper_can_measure_more_often(every, steps):
    found = ended(paper(check_every=every), [0.0] * 21 + [1.0] * 100)
    assert found == (steps + 1, StopDecision(steps=steps, reached=True))


@pytest.mark.parametrize("every", [1, 50])
def test_paper_does_not_measure_before_the_first_update(every):
    assert paper(check_every=every).early_stopping(None, FLOOR).observe(0, 1.0) is None


def test_exact_ends_at_the_cap():
    assert ended(exact(), [0.5] * 200, cap=60) == (62, StopDecision(steps=60, reached=False))


def test_paper_ends_at_the_first_measurement_at_or_beyond_the_cap():
    """The published program measures every 50 updates, so its capped runs exceed the cap."""
    assert ended(paper(), [0.5] * 300, cap=120) == (151, StopDecision(steps=150, reached=False))
    assert ended(paper(), [0.5] * 300, cap=150) == (151, StopDecision(steps=150, reached=False))


@pytest.mark.parametrize("protocol", [exact(), paper(check_every=60)])
def test_the_target_counts_even_at_the_cap(protocol):
    accuracies = [0.0] * 58 + [0.9] * 10
    assert ended(protocol, accuracies, cap=60)[1] == StopDecision(steps=60, reached=True)


@pytest.mark.parametrize("protocol", [exact(), paper()])
def test_without_a_cap_only_the_target_ends_a_run(protocol):
    assert ended(protocol, [0.5] * 1000) is None


@pytest.mark.parametrize("protocol", [exact(target=None), paper(target=None)])
def test_without_a_target_only_the_cap_ends_a_run(protocol):
    _, decision = ended(protocol, [1.0] * 300, cap=100)
    assert decision == StopDecision(steps=100, reached=False)


@pytest.mark.parametrize("accuracy", [0.0, FLOOR, 0.79])
def test_there_is_no_early_stop_by_default(accuracy):
    _, decision = ended(exact(), [accuracy] * 300, cap=200)
    assert decision == StopDecision(steps=200, reached=False)


def test_an_early_stop_is_possible_from_a_quarter_of_the_cap():
    """Floor 0.4 and target 0.8: below 0.5 a run is stopped early."""
    protocol = exact(early_verdict=True)
    assert ended(protocol, [0.49] * 300, cap=200)[1] == StopDecision(steps=50, reached=False, is_early=True)
    assert ended(protocol, [0.51] * 300, cap=200)[1] == StopDecision(steps=200, reached=False)
    assert ended(protocol, [0.49] * 300) is None


def test_an_early_stop_is_possible_later():
    """A run whose accuracy falls is stopped when the mean of five is below 0.5: three of 0.7 and two of 0.1."""
    accuracies = [0.7] * 100 + [0.1] * 200
    _, decision = ended(exact(early_verdict=True), accuracies, cap=200)
    assert decision == StopDecision(steps=99, reached=False, is_early=True)


def test_without_a_target_only_the_floor_counts_for_an_early_stop():
    """Without one, a run is stopped early only below the floor."""
    protocol = exact(early_verdict=True, target=None)
    assert ended(protocol, [0.41] * 300, cap=200)[1] == StopDecision(steps=200, reached=False)
    assert ended(protocol, [0.39] * 300, cap=200)[1].is_early


@pytest.mark.parametrize("protocol", [exact(early_verdict=True), paper(early_verdict=True)])
def test_a_run_at_the_target_is_not_stopped_early(protocol):
    _, decision = ended(protocol, [0.9] * 300, cap=4, floor=0.95)
    assert decision.reached


def test_early_stopping_objects_of_one_protocol_share_no_state():
    protocol = exact()
    first, second = protocol.early_stopping(None, FLOOR), protocol.early_stopping(None, FLOOR)
    for updates in range(4):
        first.observe(updates, 1.0)
    assert second.observe(4, 1.0) is None
    assert first.observe(4, 1.0) is not None


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
    "early_verdict": True,
}


def test_the_signature_names_the_defaults():
    assert Protocol().signature(20) == (
        "exact|target:0.8|cap:20|window:11|batch:128|lr:0.001|clip:none|hidden:128|held-out:0|verdict:cap|"
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
