"""A run that diverges says so, keeps what was finite, and does not block its folder."""

import itertools
import pickle
import signal
from dataclasses import replace

import pytest

from ecsuite.games.plays.population import Population
from ecsuite.games.runs import run_folder
from ecsuite.runtime.errors import ConfigError, DivergedError

IMAGES = (
    "world.kind=shape", "task.kind=concept", "channel.kind=quantized", "task.num_targets=2",
    "world.images_per_batch=12", "training.batch_size=6", "training.num_examples=48", "evaluation.num_valid=6",
    "evaluation.corpus_size=6", "sender.perception=conv", "receiver.perception=conv", "sender.perception.size=8",
    "receiver.perception.size=8",
)  # fmt: skip
STATISTICS = {"none": (), "baselines": ("channel.kind=reinforce",), "normalisation": IMAGES}
"""Games by the state that their training batches change beside the weights."""


@pytest.fixture
def poison():
    """Makes the loss of a training step, from 1, not a number; `undo` of what it returns ends that."""
    with pytest.MonkeyPatch.context() as patch:

        def poison(step):
            train_on, count = Population.train_on, itertools.count(1)

            def poisoned(players, *arguments):
                played = train_on(players, *arguments)
                factor = float("nan") if next(count) == step else 1
                return replace(played, objective=played.objective * factor)

            patch.setattr(Population, "train_on", poisoned)
            return patch

        yield poison


def diverge(run, experiment, folder, **options):
    with pytest.raises(DivergedError) as error:
        run(experiment, folder, **options)
    return error.value


@pytest.mark.slow
@pytest.mark.parametrize("name", STATISTICS)
def test_the_state_before_the_update_that_failed_is_kept(tmp_path, small, run, poison, contents, kill, name):
    """It is the checkpoint of a run that was asked to stop there, and goes on to the bytes of an undisturbed run."""
    experiment = small("training.num_epochs=1", *STATISTICS[name])
    run(experiment, tmp_path / "asked", progress=kill(signal.SIGTERM, 5))
    patch = poison(7)
    diverge(run, experiment, tmp_path / "run")
    name = "checkpoint-000000006.safetensors"
    assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "asked" / name).read_bytes()
    patch.undo()
    notes = []
    run(experiment, tmp_path / "run", resume=True, notes=notes)
    assert len(notes) == 1 and "the run that diverged at step 7 is tried again" in notes[0]
    run(experiment, tmp_path / "whole")
    gone_on, whole = contents(tmp_path / "run"), contents(tmp_path / "whole")
    del gone_on[name], whole["checkpoint-000000004.safetensors"]  # the ones before the last
    assert gone_on == whole


def test_with_the_same_settings_it_diverges_at_the_same_step(tmp_path, small, run, contents, unchanged):
    experiment = small("optimizer.lr=1e30")
    first = diverge(run, experiment, tmp_path)
    sent = pickle.loads(pickle.dumps(first))  # as to another process
    before = contents(tmp_path)
    again = diverge(run, experiment, tmp_path, resume=True)
    assert str(again) == str(sent) and again.outcome == sent.outcome
    assert contents(tmp_path) == before
    message = f"holds this run, which diverged at step {first.outcome['step']}: try a smaller optimizer.lr"
    with unchanged(tmp_path), pytest.raises(ConfigError, match=message):
        run(experiment, tmp_path)


@pytest.mark.sample(1)
@pytest.mark.parametrize("change", ["optimizer.lr=0.001", "training.num_epochs=1", "channel.length=fixed"])
def test_other_settings_replace_it(tmp_path, small, run, contents, unchanged, change):
    failed = diverge(run, small("optimizer.lr=1e30"), tmp_path / "run").outcome["step"]
    notes = []
    if change != "training.num_epochs=1":
        message = r"holds another run \(.*\), which diverged at step \d: without --resume it is replaced"
        with unchanged(tmp_path / "run"), pytest.raises(ConfigError, match=message):
            run(small(change), tmp_path / "run", resume=True)
    experiment = small("optimizer.lr=0.001", change)
    run(experiment, tmp_path / "run", notes=notes)
    assert notes == [f"{tmp_path / 'run'}: the run that diverged at step {failed} is replaced"]
    run(experiment, tmp_path / "fresh")
    assert contents(tmp_path / "run") == contents(tmp_path / "fresh")


@pytest.mark.slow
def test_a_replacement_that_is_killed_blocks_nothing(tmp_path, small, run, whole, contents, monkeypatch):
    """Where it dies, the run that began may begin again, also with --resume, and the log has its lines only."""
    write = run_folder.write_atomically
    for name, is_before in (("before", True), ("after", False)):
        folder = tmp_path / name
        diverge(run, small("optimizer.lr=1e30"), folder)

        def die(*arguments, is_before=is_before):
            if not is_before:
                write(*arguments)
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(run_folder, "write_atomically", die)
            with pytest.raises(KeyboardInterrupt):
                run(small(), folder)
        run(small(), folder, resume=not is_before)
    assert contents(tmp_path / "before") == contents(tmp_path / "after") == contents(whole)
