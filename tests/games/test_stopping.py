"""A run ends well however it is stopped, and goes on to the bytes of a run that never was."""

import signal

import pytest

from ecsuite.formats import read_corpus
from ecsuite.games.runs.run import load_run
from ecsuite.games.training.train import train
from ecsuite.runtime.errors import ConfigError
from stopped_runs import trained

UNFINISHED = "holds this run, unfinished: add --resume to continue it, or choose another folder with --out"
STOPS = {
    "accuracy": (["training.until_accuracy=0.01"], None, 4),
    "minutes": (["training.max_minutes=1e-9"], None, 1),
    "epochs": (["training.num_epochs=1"], None, 8),
    "interrupt": ([], (signal.SIGINT, 5), 6),
    "interrupt at an evaluation": ([], (signal.SIGINT, 7), 8),
    "preempted": ([], (signal.SIGTERM, 5), 6),
    "preempted at the end": ([], (signal.SIGTERM, 23), 24),
}
"""Settings, the signal after a step, and the step of the end."""


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", STOPS)
def test_every_stop_ends_well_and_goes_on_to_the_same_bytes(tmp_path, small, run, whole, name, contents, kill):
    """Each ends in a checkpoint and a complete corpus that says how far it came (preemption: the checkpoint alone)."""
    overrides, sent, step = STOPS[name]
    stopped, numbers = name.split()[0], (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)
    handlers = [signal.getsignal(number) for number in numbers]
    progress = kill(*sent) if sent else lambda *_: None
    result = run(small(*overrides), tmp_path, progress=progress)
    assert handlers == [signal.getsignal(number) for number in numbers]
    assert (result.stopped, result.step) == (stopped, step)
    assert (tmp_path / f"checkpoint-{step:09d}.safetensors").exists()
    if stopped == "preempted":
        assert not (tmp_path / "metadata.json").exists()
    else:
        corpus = read_corpus(tmp_path)
        assert len(corpus.messages) == 16 and len(corpus.meanings) == 16
        told = corpus.metadata["training"]
        assert (told["stopped"], told["step"], told["epoch"]) == (stopped, step, step / 8)
        assert told["num_steps"] == (8 if stopped == "epochs" else 24) and 0 <= told["accuracy"] <= 1

    run(small(), tmp_path, resume=True)
    gone_on, uninterrupted = contents(tmp_path), contents(whole)
    if step > 20:  # the checkpoint before the last is the one at the stop
        for files in (gone_on, uninterrupted):
            del files[min(name for name in files if name.startswith("checkpoint"))]
    assert gone_on == uninterrupted


@pytest.mark.slow
def test_a_second_stop_and_a_second_resume(tmp_path, small, run, whole, contents, kill):
    for at in (2, 9, 17):
        assert run(small(), tmp_path, resume=True, progress=kill(signal.SIGTERM, at)).step == at + 1
    run(small(), tmp_path, resume=True)
    assert contents(tmp_path) == contents(whole)


def test_a_run_that_lost_its_corpus_stops_where_it_stopped(tmp_path, small, run, contents, unchanged):
    """And an accuracy that was reached is not reached again: the finished run is left as it is."""
    experiment = small("training.until_accuracy=0.02")
    run(experiment, tmp_path)
    before = contents(tmp_path)
    for product in ("corpus.jsonl", "meanings.jsonl", "metadata.json"):
        (tmp_path / product).unlink()
    assert run(experiment, tmp_path, resume=True).stopped == "accuracy"
    assert contents(tmp_path) == before
    for resume in (False, True):
        with unchanged(tmp_path):
            assert run(small("training.until_accuracy=0.01"), tmp_path, resume=resume).was_done


@pytest.mark.slow
def test_more_epochs_go_on_and_training_means_stay_right(tmp_path, small, run, log_of):
    """A plan that ends between evaluations logs one more line; the next line still averages a whole interval."""
    folder, every = tmp_path / "run", "training.evaluate_every=5"
    run(small("training.num_epochs=1", every), folder)
    run(small(every), folder, resume=True)
    run(small(every), tmp_path / "whole")
    log, whole = log_of(folder), log_of(tmp_path / "whole")
    assert [line["step"] for line in log] == [5, 8, 10, 15, 20, 24]
    assert [line for line in log if line["step"] != 8] == whole
    ends = [read_corpus(each).metadata["training"] for each in (folder, tmp_path / "whole")]
    assert ends[0] == ends[1]


@pytest.mark.parametrize("more", [(), ("training.keep_best=accuracy",)])
def test_measures_of_an_interrupted_run_are_those_of_its_corpus(tmp_path, small, more):
    """And not of the last evaluation that was logged, at a step before."""
    experiment, steps = small(*more), []

    def should_stop():
        steps.append(None)
        return "interrupt" if len(steps) == 6 else None

    result = train(
        experiment, tmp_path, device="cpu", progress=lambda *_: None, note=lambda _: None, should_stop=should_stop
    )  # fmt: skip
    run = load_run(tmp_path)
    assert (result.stopped, result.step, run.log["step"].tolist()) == ("interrupt", 6, [4.0])
    assert run.measures == result.measures
    trained(experiment, tmp_path, stop_after=3, resume=True)
    assert run.log["step"].tolist() == [4.0, 8.0] and run.measures != result.measures


def test_a_run_that_went_on_after_its_corpus_and_was_killed_is_unfinished(tmp_path, small, run):
    experiment = small("training.max_minutes=1e-9")
    assert run(experiment, tmp_path).step == 1
    before = (tmp_path / "metadata.json").read_bytes()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ecsuite.games.training.trainer.write_corpus", lambda *_: None)  # killed before it
        run(experiment, tmp_path, resume=True)
    assert (tmp_path / "metadata.json").read_bytes() == before
    with pytest.raises(ConfigError, match=UNFINISHED):
        run(experiment, tmp_path)


HORIZON = ("schedule.kind=linear", "schedule.num_epochs=3")


@pytest.mark.slow
def test_epochs_are_added_to_a_decay_with_a_horizon_of_its_own(tmp_path, small, run, contents):
    run(small(*HORIZON, "training.num_epochs=2"), tmp_path / "run")
    run(small(*HORIZON), tmp_path / "run", resume=True)
    run(small(*HORIZON), tmp_path / "whole")
    assert contents(tmp_path / "run") == contents(tmp_path / "whole")


@pytest.mark.slow
@pytest.mark.parametrize("overrides", [
    ["channel.max_len=1", "channel.length=fixed"],
    ["channel.vocab_size=1", "channel.max_len=1"],
    ["channel.vocab_size=1", "channel.length=fixed"],
    ["channel.straight_through=true", "training.precision=bf16"],
    ["training.batch_size=1", "training.num_examples=3", "evaluation.num_valid=2"],
    ["training.batch_size=4096"],
    ["channel.kind=reinforce", "training.precision=bf16", "evaluation.mode=sample"],
])  # fmt: skip
def test_corner_settings_train_stop_and_go_on_to_the_same_bytes(tmp_path, small, run, overrides, contents, kill):
    every = ("training.evaluate_every=1", "training.checkpoint_every=1")
    experiment = small("training.num_examples=70", *every, *overrides)
    run(experiment, tmp_path / "stopped", progress=kill(signal.SIGTERM, 1))
    run(experiment, tmp_path / "stopped", resume=True)
    run(experiment, tmp_path / "whole")
    assert contents(tmp_path / "stopped") == contents(tmp_path / "whole")


def test_two_runs_do_not_train_in_one_folder(tmp_path, small, run):
    """The second one removed the first one's checkpoints, and both wrote into one log."""
    tried = []

    def second(*_):
        if not tried:
            tried.append(True)
            with pytest.raises(ConfigError, match=r"run: this process is training in it"):
                run(small(), tmp_path / "run", resume=True)

    run(small("training.num_epochs=1"), tmp_path / "run", progress=second)
    assert tried and [file.name for file in tmp_path.iterdir()] == ["run"]
