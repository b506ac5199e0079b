"""Training: it learns, repeats to the byte, and refuses what is not finite."""

import signal
import threading
from dataclasses import replace

import numpy as np
import pytest
import torch

from ecsuite.formats import read_corpus
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.plays.evaluation import evaluate
from ecsuite.games.plays.population import Population
from ecsuite.games.plays.signalling import Signalling
from ecsuite.games.runs.result import RunResult
from ecsuite.games.training import trainer
from ecsuite.games.training.train import train
from ecsuite.games.worlds.world import make_world
from ecsuite.runtime.devices import hardware
from ecsuite.runtime.provenance import own_commit


@pytest.mark.slow
def test_disc_tiny_is_learned(tmp_path, run, log_of):
    result = run(load_experiment("disc_tiny"), tmp_path / "run")
    assert result.stopped == "epochs" and result.step == result.num_steps == 512
    assert result.measures["accuracy"] > 0.9 > result.chance["accuracy"] == 0.25
    accuracies = [line["valid"]["accuracy"] for line in log_of(tmp_path / "run")]
    assert len(accuracies) == 8 and accuracies[0] < accuracies[-1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "channel", "bar"),
    [
        ("discrimination", "soft", 0.6),
        ("discrimination", "reinforce", 0.6),
        ("reconstruction", "gumbel", 0.3),
    ],
)
def test_every_channel_and_task_is_learned_somewhat(tmp_path, run, task, channel, bar):
    """Half the epochs; measured over seeds: 0.79 to 0.86, 0.86 to 0.90, 0.53 to 0.86."""
    overrides = [
        f"task.kind={task}",
        f"channel.kind={channel}",
        "training.num_epochs=2",
        "optimizer.lr=0.01",
        "training.precision=fp32",
    ]
    assert run(load_experiment("disc_tiny", overrides), tmp_path).measures["accuracy"] > bar


@pytest.mark.sample(1)
@pytest.mark.parametrize(("every", "number"), [(4, 6), (5, 5), (24, 1)])
def test_agents_are_evaluated_once_as_they_are(tmp_path, small, run, log_of, monkeypatch, every, number):
    """After the last of 24 steps, too, whose figures are those of the run."""
    evaluations, evaluate = [], Signalling.evaluate
    monkeypatch.setattr(
        Signalling, "evaluate", lambda play: evaluations.append(evaluate(play)) or evaluations[-1]
    )
    result = run(small(f"training.evaluate_every={every}"), tmp_path / "run")
    assert [line["valid"] for line in log_of(tmp_path / "run")] == evaluations
    assert len(evaluations) == number and result.measures == evaluations[-1]


def test_a_run_folder_is_complete(finished, small, run, log_of):
    result = run(small(), finished)
    assert result.was_done
    assert sorted(file.name for file in finished.iterdir()) == [
        "checkpoint-000000020.safetensors", "checkpoint-000000024.safetensors", "config.yaml", "corpus.jsonl",
        "log.jsonl", "meanings.jsonl", "metadata.json",
    ]  # fmt: skip
    corpus = read_corpus(finished)  # compares the checksums, too
    assert len(corpus.messages) == 16 and corpus.eos == 0
    assert corpus.meanings.tolist() == [[a, b] for a in range(4) for b in range(4)]
    names = [corpus.concept_names[concept] for concept in corpus.concepts[6]]
    assert names == ["attribute0=1", "attribute1=2"]
    metadata = corpus.metadata
    assert (metadata["vocab_size"], metadata["max_len"]) == (5, 3)
    assert metadata["training"] == {
        "stopped": "epochs", "step": 24, "num_steps": 24, "epoch": 3.0, **result.measures,
    }  # fmt: skip
    assert metadata["chance"] == {"accuracy": 0.25}
    assert metadata["versions"]["torch"] == torch.__version__
    assert metadata["versions"]["hardware"] == hardware(torch.device("cpu"))
    assert metadata["versions"]["commit"] == own_commit()
    log = log_of(finished)
    assert [line["step"] for line in log] == [4, 8, 12, 16, 20, 24]
    assert log[-1]["valid"] == result.measures
    assert set(log[0]["train"]) == {"loss", "accuracy", "length"}
    assert 0 <= log[0]["train"]["accuracy"] <= 1 and 1 <= log[0]["train"]["length"] <= 4


@pytest.mark.slow
def test_the_written_config_and_its_seed_decide_everything(tmp_path, small, run, whole, contents):
    torch.rand(3)  # a global random state that someone else moved must not matter
    run(load_experiment(str(whole / "config.yaml")), tmp_path / "again")
    run(small("training.seed=2"), tmp_path / "two")
    one, again, two = (contents(folder) for folder in (whole, tmp_path / "again", tmp_path / "two"))
    assert one == again
    assert one["corpus.jsonl"] != two["corpus.jsonl"] and one["log.jsonl"] != two["log.jsonl"]


def test_any_thread_may_train_and_signals_stay_as_they_are(tmp_path, small, whole, contents):
    handlers, found = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)], []

    def work():
        train(small(), tmp_path, device="cpu", progress=look, note=lambda _: None)

    def look(*_):
        found.append([signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)])

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [handlers] * 26  # the beginning, the steps, and the last evaluation
    assert contents(tmp_path) == contents(whole)


def test_an_evaluation_twice_is_equal_and_batches_do_not_matter(small):
    experiment = small("evaluation.num_valid=100")
    world = make_world(experiment)
    torch.manual_seed(0)
    players = Population.from_experiment(experiment, world)
    first = evaluate(players, world, experiment)
    assert evaluate(players, world, experiment) == first
    sampled = small("evaluation.num_valid=100", "evaluation.mode=sample")
    assert evaluate(players, world, sampled) == evaluate(players, world, sampled) != first
    for size in ("training.batch_size=7", "evaluation.batch_size=9"):
        other = small("evaluation.num_valid=100", size)
        assert evaluate(players, make_world(other), other) == pytest.approx(first, rel=1e-5)


def test_summary():
    measures, chance = {"loss": 0.5, "accuracy": 0.75, "length": 2.5}, {"accuracy": 1 / 6}
    result = RunResult(
        stopped="minutes",
        step=1234,
        num_steps=341_800,
        measures=measures,
        chance=chance,
        extra_evaluations={"unseen ref": {"loss": 0.7, "accuracy": 0.625}},
    )
    first, *lines = [line.split() for line in result.summary().splitlines()]
    assert first == ["time", "limit", "reached,", "step", "1,234", "of", "341,800"]
    assert lines[0] == ["loss", "0.500", "nats"]
    assert lines[1][:2] == ["accuracy", "75.0%"] and lines[1][-1] == "0.17"
    assert lines[2][:3] == ["length", "2.500", "mean"]
    assert lines[3] == ["accuracy,", "unseen", "ref", "62.5%"]
    of_held_out = replace(
        result,
        extra_evaluations={"seen objects": {"loss": 0.1, "accuracy": 0.99}},
        extra_chance={"seen objects": {"accuracy": 0.25}},
    )
    lines = [line.split() for line in of_held_out.summary().splitlines()]
    assert lines[2] == ["accuracy,", "held-out", "objects", "75.0%", "chance", "level", "0.17"]
    assert lines[4] == ["accuracy,", "seen", "objects", "99.0%", "chance", "level", "0.25"]


def test_a_long_run_notes_the_options_that_shorten_it(tmp_path, small, run, monkeypatch):
    monkeypatch.setattr(trainer, "LONG_RUN", 0.0)
    notes = []
    run(small("training.num_epochs=1"), tmp_path / "a", notes=notes)
    assert len(notes) == 1
    assert notes[0] == (
        "about 5 s left at this speed. To end it in minutes: --until-accuracy 0.95 or --max-minutes 10. "
        "Ctrl-C stops it with a checkpoint and a complete corpus; --resume continues from there."
    )


COMBINATIONS = {
    (task, channel, length): cell
    for task, of_task in {
        "discrimination": {
            "soft": "rnn",
            "gumbel": "gru",
            "reinforce": "lstm",
            "quantized": "gru",
            "continuous": "rnn",
        },
        "reconstruction": {
            "soft": "lstm",
            "gumbel": "rnn",
            "reinforce": "gru",
            "quantized": "lstm",
            "continuous": "gru",
        },
    }.items()
    for channel, cell in of_task.items()
    for length in (["fixed"] if channel in ("quantized", "continuous") else ["variable", "fixed"])
}
"""A cell for every task, channel and length of messages."""


@pytest.mark.sample(4)
@pytest.mark.parametrize("combination", COMBINATIONS)
def test_every_combination_trains_and_records_a_corpus(tmp_path, small, run, combination):
    (task, channel, length), cell = combination, COMBINATIONS[combination]
    lengths = [] if channel in ("quantized", "continuous") else [f"channel.length={length}"]
    lengths += ["loss.length_cost=0.1"] if length == "variable" else []
    experiment = small(
        f"task.kind={task}", f"channel.kind={channel}", *lengths, f"sender.kind={cell}", f"receiver.kind={cell}",
        "training.num_examples=33", "training.num_epochs=1",
    )  # fmt: skip
    result = run(experiment, tmp_path)
    assert result.step == 2  # the second batch has one example
    assert np.isfinite(list(result.measures.values())).all()
    corpus = read_corpus(tmp_path)
    assert len(corpus.messages) == 16
    assert corpus.messages.lengths.max() <= (3 if length == "fixed" else 4)
    assert ("attribute_accuracy" in result.measures) == (task == "reconstruction")


@pytest.fixture
def text_files(tmp_path, small):
    """Settings for text files of 64 and 16 rounds, four objects each."""
    world = make_world(small())
    for name, number in (("train", 64), ("valid", 16)):
        numbers, targets = world.candidates(name, 0, np.arange(number))
        candidates = world.objects.values(numbers)
        lines = [
            " . ".join(" ".join(map(str, candidate)) for candidate in of_round) + f" . {target}"
            for of_round, (target,) in zip(candidates.tolist(), targets.tolist(), strict=True)
        ]
        (tmp_path / f"{name}.txt").write_text("\n".join(lines) + "\n")
    return ["world.kind=text", *(f"world.{name}_data={tmp_path / name}.txt" for name in ("train", "valid"))]


def test_text_files_are_trained_on(tmp_path, small, run, text_files):
    result = run(small(*text_files, "training.num_epochs=1"), tmp_path / "run")
    assert result.num_steps == 2
    corpus = read_corpus(tmp_path / "run")
    assert len(np.unique(corpus.meanings, axis=0)) == len(corpus.messages) <= 16


def test_text_files_with_an_informed_sender(tmp_path, small, run, text_files):
    informed = small(*text_files, "training.num_epochs=1", "task.sender_input=targets_and_distractors")
    assert run(informed, tmp_path / "run").num_steps == 2
    assert len(read_corpus(tmp_path / "run").messages) == 16  # one for each round of evaluation


def test_text_files_with_several_targets_are_trained_on(tmp_path, small, run):
    lines = "1 0 . 1 2 . 3 3 . 0 2 . 1 0\n3 3 . 0 0 . 1 1 . 1 3 . 2 3\n2 2 . 0 1 . 2 1 . 1 3 . 0 2\n"
    (tmp_path / "rounds.txt").write_text(lines)
    files = [f"world.{split}_data={tmp_path}/rounds.txt" for split in ("train", "valid")]
    concept = ["world.kind=text", *files, "task.kind=concept", "task.num_targets=2", "task.num_distractors=2"]
    result = run(small(*concept, "training.num_epochs=1"), tmp_path / "run")
    assert result.num_steps == 1 and set(result.chance) == {"accuracy", "set_accuracy"}
    assert len(read_corpus(tmp_path / "run").messages) == 3


def test_held_out_objects_are_evaluated_apart_from_those_of_training(tmp_path, small, run):
    result = run(small("world.held_out=0.25", "training.num_epochs=1"), tmp_path)
    assert set(result.extra_evaluations) == {"seen objects"}
    assert result.extra_evaluations["seen objects"] != result.measures
    corpus = read_corpus(tmp_path)
    assert len(corpus.messages) == 16 and corpus.metadata["extra_evaluations"] == result.extra_evaluations


def test_devices_that_are_not_there(tmp_path, small):
    if not torch.cuda.is_available():
        with pytest.raises(ValueError, match=r"^device cuda: this machine has no CUDA device"):
            train(small(), tmp_path / "a", device="cuda", progress=lambda *_: None, note=lambda _: None)
        assert not (tmp_path / "a").exists()


def test_figures_of_training_are_means_since_the_last_evaluation(tmp_path, small, run, log_of):
    losses = {}
    for every in (1, 2):
        run(small(f"training.evaluate_every={every}", "training.num_epochs=1"), tmp_path / str(every))
        losses[every] = [line["train"]["loss"] for line in log_of(tmp_path / str(every))]
    # All steps but the last are of as many rounds.
    assert losses[2][1:3] == pytest.approx([sum(losses[1][2:4]) / 2, sum(losses[1][4:6]) / 2])
