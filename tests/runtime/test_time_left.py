"""Time that is left, by a fake clock: nothing is said at first, then what is said is right within a factor of 1.5."""

import pytest

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.plays.rounds import Rounds
from ecsuite.games.training import trainer as train_state
from ecsuite.games.training.train import train
from ecsuite.runtime.time_left import TimeLeft, duration_text


def guesses(seconds_of_steps, first=0):
    """What is said after each step, and what is right, from the second step on."""
    total = len(seconds_of_steps)
    left, now, found = TimeLeft(total), 0.0, []
    for number, seconds in enumerate(seconds_of_steps[first:], first + 1):
        now += seconds
        left.add(now, number)
        found.append((number, left.seconds(now, number), sum(seconds_of_steps[number:])))
    return found


@pytest.mark.parametrize(
    "seconds",
    [
        [2.0] + [0.01] * 299,  # the first step compiles
        [1.0, 2.0, 0.5] + [0.01] * 297,  # as do the next ones
        [0.01] * 300,
        [30.0] * 20,  # long steps, such as many calls of a model
        ([0.02] * 9 + [0.1]) * 30,  # evaluations
        [5.0] * 5 + [200.0] * 95,
    ],
)
def test_the_time_left_is_right_after_a_twentieth_of_the_work(seconds):
    found = guesses(seconds)
    early = [guess for number, guess, _ in found if (number - 1) < 0.05 * (len(seconds) - 1)]
    later = [(guess, right) for number, guess, right in found if 0.1 < number / len(seconds) < 0.9]
    assert not any(guess is not None for guess in early)
    assert len(later) > 10
    for guess, right in later:
        assert right / 1.5 < guess < right * 1.5


def test_of_resumed_work_a_twentieth_of_the_rest_counts():
    found = guesses([0.0] * 900 + [1.0] * 100, first=900)
    assert [guess for *_, guess, _ in found[:5]] == [None] * 5
    assert found[6][1] == pytest.approx(93)


def test_the_time_left_is_from_the_last_minute():
    """Ten steps a second for two minutes, then one: after a minute at the new speed nothing is left of the old one."""
    left = TimeLeft(1800)
    for second in range(121):
        left.add(second, 10 * second)
    assert left.text(120, 1200) == "1:00 left"
    left = TimeLeft(1270 + 7200)
    for second in range(121):
        left.add(second, 10 * second)
    for second in range(121, 191):
        left.add(second, 1200 + second - 120)
    assert left.text(190, 1270) == "2 h 00 min left"
    assert TimeLeft.WINDOW == 60 and len(left.samples) < 130


def test_nothing_is_said_of_the_time_before_something_was_done():
    left = TimeLeft(10)
    assert left.text(0, 0) == ""
    left.add(0, 5)
    assert left.text(3, 5) == ""


def test_a_play_of_rounds_counts_calls_and_has_no_long_end(tmp_path, monkeypatch):
    """Evaluations of rounds take no time; a model that answers for half of the agents is asked half as often."""

    def reports(name):
        found = []
        experiment = load_experiment(
            "naming", ["training.num_examples=40", "training.batch_size=8", "training.precision=fp32"]
        )
        told = lambda label, done, total: found.append((label, done, total))  # noqa: E731
        train(experiment, tmp_path / name, device="cpu", progress=told, note=lambda _: None)
        return found

    assert [done for _, done, total in reports("steps") if total == 5] == [0, 1, 2, 3, 4, 5, 5]
    monkeypatch.setattr(Rounds, "calls", lambda self, num_steps: [16, 0, 16, 16, 2][:num_steps])
    found = reports("calls")
    assert [(done, total) for _, done, total in found] == [(n, 50) for n in (0, 16, 16, 32, 48, 50, 50)]
    assert "34 calls left" in found[1][0] and "0 calls left" in found[5][0]


def test_how_to_end_a_long_training_is_said_once_its_time_is_known(tmp_path, monkeypatch):
    clock = iter(range(0, 10**9, 500))
    monkeypatch.setattr(train_state.time, "monotonic", lambda: next(clock))
    notes, experiment = (
        [],
        load_experiment(
            "disc_tiny", ["training.num_examples=1280", "training.num_epochs=1", "training.precision=fp32"]
        ),
    )
    train(experiment, tmp_path / "run", device="cpu", progress=lambda *_: None, note=notes.append)
    found = [note for note in notes if "left at this speed" in note]
    assert len(found) == 1 and found[0].startswith("about ")


def test_durations_are_hours_and_minutes():
    seconds = (3, 40, 170, 5399, 5400, 7200, 8280, 9 * 3600 + 3540, 36000, 2160000)
    texts = ["5 s", "40 s", "3 min", "90 min", "1 h 30 min", "2 h", "2 h 20 min", "10 h", "10 h", "600 h"]
    assert list(map(duration_text, seconds)) == texts
