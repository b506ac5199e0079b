"""A run ends well however it is stopped, and goes on to the bytes of a run that never was."""

import signal

import pytest
import torch

from ecsuite.config import ConfigError, DivergedError
from ecsuite.formats import read_corpus
from ecsuite.games.run_folder import with_horizon
from ecsuite.games.training import train

PRODUCTS = ("config.yaml", "corpus.jsonl", "meanings.jsonl", "metadata.json")


STOPS = {
    "accuracy": {"overrides": ["training.until_accuracy=0.01"], "step": 4},
    "minutes": {"overrides": ["training.max_minutes=1e-9"], "step": 1},
    "epochs": {"overrides": ["training.num_epochs=1"], "step": 8},
    "interrupt": {"signal": (signal.SIGINT, 5), "step": 6},
    "interrupt at an evaluation": {"signal": (signal.SIGINT, 7), "step": 8},
    "preempted": {"signal": (signal.SIGTERM, 5), "step": 6},
    "preempted at the end": {"signal": (signal.SIGTERM, 23), "step": 24},
}


@pytest.mark.parametrize("name", STOPS)
def test_every_stop_ends_well_and_goes_on_to_the_same_bytes(tmp_path, small, run, name, contents, kill):
    """Each ends in a checkpoint and a complete corpus that says how far it came (preemption: the checkpoint alone)."""
    stop, stopped = STOPS[name], name.split()[0]
    folder, whole = tmp_path / "stopped", tmp_path / "whole"
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)]
    progress = kill(*stop["signal"]) if "signal" in stop else lambda *_: None
    result = run(small(*stop.get("overrides", [])), folder, progress=progress)
    assert handlers == [
        signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)
    ]
    assert (result.stopped, result.step) == (stopped, stop["step"])
    assert (folder / f"checkpoint-{stop['step']:09d}.safetensors").exists()
    if stopped == "preempted":
        assert not (folder / "metadata.json").exists()
    else:
        corpus = read_corpus(folder)
        assert len(corpus.messages) == 16 and len(corpus.meanings) == 16
        told = corpus.metadata["training"]
        assert (told["stopped"], told["step"], told["epoch"]) == (stopped, stop["step"], stop["step"] / 8)
        assert told["num_steps"] == (8 if stopped == "epochs" else 24)
        assert 0 <= told["accuracy"] <= 1

    run(small(), folder, resume=True)
    run(small(), whole)
    gone_on, uninterrupted = contents(folder), contents(whole)
    for kept in [file for file in gone_on if file.startswith("checkpoint") and file not in uninterrupted]:
        assert stop["step"] > 20, kept  # the fall-back checkpoint is the one at the stop
        del gone_on[kept]
    assert {file: gone_on[file] for file in uninterrupted if file in gone_on} == {
        file: uninterrupted[file] for file in uninterrupted if file in gone_on
    }
    assert set(PRODUCTS) | {"checkpoint-000000024.safetensors", "log.jsonl"} <= set(gone_on)


def test_a_second_stop_and_a_second_resume(tmp_path, small, run, contents, kill):
    folder = tmp_path / "run"
    for at in (2, 9, 17):
        assert run(small(), folder, resume=True, progress=kill(signal.SIGTERM, at)).step == at + 1
    run(small(), folder, resume=True)
    run(small(), tmp_path / "whole")
    gone_on, whole = contents(folder), contents(tmp_path / "whole")
    assert gone_on == whole


def test_a_run_that_reached_its_accuracy_and_lost_its_corpus_stops_where_it_stopped(
    tmp_path, small, run, contents
):
    folder, experiment = tmp_path / "run", small("training.until_accuracy=0.01")
    run(experiment, folder)
    before = contents(folder)
    for product in ("corpus.jsonl", "meanings.jsonl", "metadata.json"):
        (folder / product).unlink()
    assert run(experiment, folder, resume=True).stopped == "accuracy"
    assert contents(folder) == before


def test_more_epochs_go_on_and_training_means_stay_right(tmp_path, small, run, log_of):
    """A plan that ends between evaluations logs one more line; the next line still averages a whole interval."""
    folder = tmp_path / "run"
    run(small("training.num_epochs=1", "training.evaluate_every=5"), folder)
    run(small("training.evaluate_every=5"), folder, resume=True)
    run(small("training.evaluate_every=5"), tmp_path / "whole")
    log, whole = log_of(folder), log_of(tmp_path / "whole")
    assert [line["step"] for line in log] == [5, 8, 10, 15, 20, 24]
    assert [line for line in log if line["step"] != 8] == whole
    ends = [read_corpus(each).metadata["training"] for each in (folder, tmp_path / "whole")]
    assert ends[0] == ends[1]


def test_a_finished_run_repeated_says_so_at_once(tmp_path, small, run, contents):
    result = run(small(), tmp_path)
    before = contents(tmp_path)
    steps = []
    again = run(small(), tmp_path, progress=lambda *step: steps.append(step))
    assert again.was_done and not result.was_done and steps == []
    assert (again.measures, again.step, again.stopped) == (result.measures, result.step, result.stopped)
    assert again.summary().startswith("already finished: all epochs done, step 24 of 24\n")
    assert contents(tmp_path) == before


@pytest.mark.parametrize("resume", [False, True])
@pytest.mark.parametrize(
    "change",
    ["training.max_minutes=5", "training.until_accuracy=0.01", "training.until_accuracy=1", "about=other"],
)
def test_a_finished_run_asked_to_stop_otherwise_is_left_as_it_is(tmp_path, small, run, change, resume):
    result = run(small(), tmp_path)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    again = run(small(change), tmp_path, resume=resume)
    assert again.was_done and (again.measures, again.step, again.stopped) == (result.measures, 24, "epochs")
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


@pytest.mark.parametrize("resume", [False, True])
def test_an_accuracy_that_was_reached_is_not_reached_again(tmp_path, small, run, resume):
    """Its config would stop at an earlier step than its corpus is of."""
    first = run(small("training.until_accuracy=0.02"), tmp_path)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    again = run(small("training.until_accuracy=0.01"), tmp_path, resume=resume)
    assert again.was_done and (again.stopped, again.step) == ("accuracy", first.step)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


@pytest.mark.parametrize("resume", [False, True])
@pytest.mark.parametrize("is_killed", [False, True], ids=["finished", "killed"])
@pytest.mark.parametrize("decay", ["constant", "linear"])
def test_fewer_epochs_than_were_done_are_refused(tmp_path, small, run, kill, decay, is_killed, resume):
    decay = f"schedule.kind={decay}"
    run(small(decay), tmp_path, progress=kill(signal.SIGTERM, 13) if is_killed else lambda *_: None)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    with pytest.raises(ConfigError) as error:
        run(small(decay, "training.num_epochs=1"), tmp_path, resume=resume)
    done = "14 steps (1.75 epochs)" if is_killed else "24 steps (3 epochs)"
    assert str(error.value) == f"the run in {tmp_path} has {done} already; --epochs 1 means 8"
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_a_damaged_corpus_of_a_finished_run_is_written_again(tmp_path, small, run, contents):
    run(small(), tmp_path)
    before = contents(tmp_path)
    with (tmp_path / "corpus.jsonl").open("ab") as file:
        file.write(b"[1]\n")
    with pytest.raises(ConfigError, match="holds this run, unfinished: add --resume"):
        run(small(), tmp_path)
    assert not run(small(), tmp_path, resume=True).was_done
    assert contents(tmp_path) == before


def test_a_run_that_went_on_after_its_corpus_and_was_killed_is_unfinished(tmp_path, small, run, kill):
    experiment = small("training.max_minutes=1e-9")
    assert run(experiment, tmp_path).step == 1
    before = (tmp_path / "metadata.json").read_bytes()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ecsuite.games.training.write_corpus", lambda *_: None)  # killed before it
        run(experiment, tmp_path, resume=True)
    assert (tmp_path / "metadata.json").read_bytes() == before
    with pytest.raises(ConfigError, match="holds this run, unfinished: add --resume"):
        run(experiment, tmp_path)


HORIZON = ("schedule.kind=linear", "schedule.num_epochs=3")


def test_epochs_are_added_to_a_decay_with_a_horizon_of_its_own(tmp_path, small, run, contents):
    run(small(*HORIZON, "training.num_epochs=2"), tmp_path / "run")
    run(small(*HORIZON, "training.num_epochs=3"), tmp_path / "run", resume=True)
    run(small(*HORIZON, "training.num_epochs=3"), tmp_path / "whole")
    assert contents(tmp_path / "run") == contents(tmp_path / "whole")


def test_without_a_horizon_the_decay_ends_with_the_epochs(tmp_path, small, run, contents, kill):
    """A run in which it was not given is the same run with the number of its epochs, and may then stop earlier."""
    run(small(HORIZON[0]), tmp_path / "run", progress=kill(signal.SIGTERM, 9))
    shorter = small(*HORIZON, "training.num_epochs=2")
    with pytest.raises(
        ConfigError,
        match=r"would differ at every step \(schedule.num_epochs is 3 in the folder, 2 requested\)",
    ):
        run(small(HORIZON[0], "training.num_epochs=2"), tmp_path / "run", resume=True)
    run(shorter, tmp_path / "run", resume=True)
    run(shorter, tmp_path / "whole")
    assert contents(tmp_path / "run") == contents(tmp_path / "whole")


@pytest.mark.parametrize("resume", [False, True])
def test_other_epochs_are_refused_where_the_rate_depends_on_them(tmp_path, small, run, resume):
    run(small(HORIZON[0], "training.num_epochs=2"), tmp_path)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    with pytest.raises(ConfigError) as error:
        run(small(HORIZON[0], "training.num_epochs=3"), tmp_path, resume=resume)
    assert str(error.value) == (
        f"the learning rate of the run in {tmp_path} would differ at every step (schedule.num_epochs is 2 in the "
        "folder, 3 requested): choose another folder with --out, and set schedule.num_epochs if epochs are to be "
        "added later"
    )
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


@pytest.mark.parametrize(("overrides", "message"), [
    (["schedule.num_epochs=3"], "schedule.num_epochs: schedule constant does not read it; read by linear"),
    ([*HORIZON, "training.num_epochs=4"], r"after 3 epochs, expected at least training.num_epochs \(4\)"),
    ([*HORIZON, "schedule.num_epochs=0"], "schedule.num_epochs: expected int >= 1, got 0"),
])  # fmt: skip
def test_a_horizon_that_means_nothing_is_refused(small, overrides, message):
    with pytest.raises(ConfigError, match=message):
        with_horizon(small(*overrides))


@pytest.mark.parametrize(("reason", "has_corpus"), [("interrupt", True), ("preempted", False)])
def test_a_program_may_stop_a_run(tmp_path, small, run, contents, reason, has_corpus):
    requests = iter([None, None, reason])
    result = train(
        small(),
        tmp_path / "run",
        device="cpu",
        progress=lambda *_: None,
        note=lambda _: None,
        should_stop=lambda: next(requests),
    )
    assert (result.stopped, result.step) == (reason, 3)
    assert (tmp_path / "run" / "corpus.jsonl").exists() == has_corpus
    run(small(), tmp_path / "run", resume=True)
    run(small(), tmp_path / "whole")
    assert contents(tmp_path / "run") == contents(tmp_path / "whole")


def test_a_finished_run_extended_and_killed_is_unfinished(tmp_path, small, run, kill):
    run(small("training.num_epochs=1"), tmp_path)
    run(small(), tmp_path, resume=True, progress=kill(signal.SIGTERM, 12))
    with pytest.raises(
        ValueError, match="holds this run, unfinished: add --resume to continue it, or choose another"
    ):
        run(small(), tmp_path)


def test_weights_that_are_not_finite_are_never_saved(tmp_path, small, run, kill):
    """A finite loss may have a gradient that is not; what it broke is not saved."""
    experiment = small("training.evaluate_every=1", "training.checkpoint_every=1")
    run(experiment, tmp_path, progress=kill(signal.SIGTERM, 3))
    step = torch.optim.Adam.step

    def broken(self, *args, **kwargs):
        step(self, *args, **kwargs)
        self.param_groups[0]["params"][0].data.fill_(float("nan"))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.optim.Adam, "step", broken)
        with pytest.raises(DivergedError, match=r"^step 5: the update made weights that are not finite, so"):
            run(experiment, tmp_path, resume=True)
    assert max(file.name for file in tmp_path.glob("checkpoint*")) == "checkpoint-000000004.safetensors"


@pytest.mark.parametrize("overrides", [
    ["channel.max_len=1", "channel.length=fixed"],
    ["channel.vocab_size=1", "channel.max_len=1"],
    ["channel.vocab_size=1", "channel.length=fixed"],
    ["channel.straight_through=true", "training.precision=bf16"],
    ["training.batch_size=1", "training.num_examples=5"],
    ["training.batch_size=4096"],
    ["channel.kind=reinforce", "training.precision=bf16", "evaluation.mode=sample"],
])  # fmt: skip
def test_corner_settings_train_stop_and_go_on_to_the_same_bytes(
    tmp_path, small, run, overrides, contents, kill
):
    experiment = small("training.evaluate_every=1", "training.checkpoint_every=1", *overrides)
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
            with pytest.raises(ConfigError, match=r"run: another process is training in it"):
                run(small(), tmp_path / "run", resume=True)

    run(small(), tmp_path / "run", progress=second)
    assert tried and [file.name for file in tmp_path.iterdir()] == ["run"]
