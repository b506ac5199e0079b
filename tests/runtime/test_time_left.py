"""Time that is left, by a fake clock: nothing is said at first, then what is said is right within a factor of 1.5."""

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.training import trainer as train_state
from ecsuite.games.training.train import train


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
