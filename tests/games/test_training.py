"""Training: it learns, ends in a complete corpus however it is stopped, and repeats to the byte."""

import itertools
import json
import os
import signal

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from ecsuite.config import WORDS_OF_VALUES, load_experiment
from ecsuite.formats import read_corpus
from ecsuite.games import training
from ecsuite.games.channels import CHANNELS
from ecsuite.games.game import Game
from ecsuite.games.making import make_game, make_world
from ecsuite.games.training import evaluate, train

PRODUCTS = ("config.yaml", "corpus.jsonl", "meanings.jsonl", "metadata.json")


def contents(folder):
    """Everything in a run folder that must repeat; the log without its clock."""
    files = {file.name: file.read_bytes() for file in folder.iterdir() if file.name != "log.jsonl"}
    return files | {"log.jsonl": log_of(folder)}


def log_of(folder):
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    for line in lines:
        assert line.pop("examples_per_second") >= 0
    return lines


def trained(folder):
    return json.loads((folder / "metadata.json").read_bytes())["training"]


@pytest.mark.slow
def test_disc_tiny_is_learned(tmp_path, run):
    result = run(load_experiment("disc_tiny"), tmp_path / "run")
    assert result.stopped == "epochs" and result.step == result.num_steps == 512
    assert result.measures["accuracy"] > 0.9 > result.chance["accuracy"] == 0.25
    accuracies = [line["valid"]["accuracy"] for line in log_of(tmp_path / "run")]
    assert len(accuracies) == 8 and accuracies[0] < accuracies[-1]


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
        f"game.task={task}",
        f"channel.kind={channel}",
        "training.num_epochs=4",
        "training.precision=fp32",
    ]
    assert run(load_experiment("disc_tiny", overrides), tmp_path).measures["accuracy"] > bar


def test_a_run_folder_is_complete(tmp_path, small, run):
    folder, experiment = tmp_path / "run", small()
    result = run(experiment, folder)
    assert sorted(file.name for file in folder.iterdir()) == [
        "checkpoint-000000020.safetensors",
        "checkpoint-000000024.safetensors",
        "config.yaml",
        "corpus.jsonl",
        "log.jsonl",
        "meanings.jsonl",
        "metadata.json",
    ]
    corpus = read_corpus(folder)  # compares the checksums, too
    assert len(corpus.messages) == 16 and corpus.eos == 0
    assert corpus.meanings.tolist() == [[a, b] for a in range(4) for b in range(4)]
    assert [corpus.concept_names[concept] for concept in corpus.concepts[6]] == [
        "attribute0=1",
        "attribute1=2",
    ]
    metadata = corpus.metadata
    assert (metadata["vocab_size"], metadata["max_len"]) == (5, 3)
    assert metadata["training"] == {
        "stopped": "epochs", "step": 24, "num_steps": 24, "epoch": 3.0, **result.measures,
    }  # fmt: skip
    assert metadata["chance"] == {"accuracy": 0.25}
    assert metadata["versions"]["torch"] == torch.__version__
    log = log_of(folder)
    assert [line["step"] for line in log] == [4, 8, 12, 16, 20, 24]
    assert log[-1]["valid"] == result.measures
    assert set(log[0]["train"]) == {"loss", "accuracy", "length"}
    assert 0 <= log[0]["train"]["accuracy"] <= 1 and 1 <= log[0]["train"]["length"] <= 4


def test_the_written_config_runs_again_to_the_same_bytes(tmp_path, small, run):
    run(small(), tmp_path / "first")
    run(load_experiment(str(tmp_path / "first" / "config.yaml")), tmp_path / "second")
    assert contents(tmp_path / "first") == contents(tmp_path / "second")


def test_the_seed_decides_everything(tmp_path, small, run):
    for name, seed in (("one", 1), ("again", 1), ("two", 2)):
        torch.rand(3)  # a global random state that someone else moved must not matter
        run(small(f"training.seed={seed}"), tmp_path / name)
    one, again, two = (contents(tmp_path / name) for name in ("one", "again", "two"))
    assert one == again
    assert one["corpus.jsonl"] != two["corpus.jsonl"] and one["log.jsonl"] != two["log.jsonl"]


def test_greedy_evaluation_twice_is_equal_and_batches_do_not_matter(small):
    experiment = small("evaluation.num_valid=100")
    torch.manual_seed(0)
    game, world = Game(experiment), make_world(experiment)
    first = evaluate(game, world, experiment)
    assert evaluate(game, world, experiment) == first
    other = small("evaluation.num_valid=100", "training.batch_size=7")
    assert evaluate(game, make_world(other), other) == pytest.approx(first, rel=1e-5)


def test_sampled_evaluation_repeats_and_differs_from_greedy(small):
    torch.manual_seed(0)
    experiment = small("evaluation.mode=sample")
    game, world = Game(experiment), make_world(experiment)
    assert evaluate(game, world, experiment) == evaluate(game, world, experiment)
    assert evaluate(game, world, experiment) != evaluate(game, world, small())


def kill(number, at):
    """A progress callback that sends a signal to this process after some step."""
    return lambda _, done, total: os.kill(os.getpid(), number) if done == at else None


STOPS = {
    "accuracy": {"overrides": ["training.until_accuracy=0.01"], "step": 4},
    "minutes": {"overrides": ["training.max_minutes=1e-9"], "step": 1},
    "epochs": {"overrides": ["training.num_epochs=1"], "step": 8},
    "interrupt": {"progress": kill(signal.SIGINT, 5), "step": 6},
    "interrupt at an evaluation": {"progress": kill(signal.SIGINT, 7), "step": 8},
    "preempted": {"progress": kill(signal.SIGTERM, 5), "step": 6},
    "preempted at the end": {"progress": kill(signal.SIGTERM, 23), "step": 24},
}


@pytest.mark.parametrize("name", STOPS)
def test_every_stop_ends_well_and_goes_on_to_the_same_bytes(tmp_path, small, run, name):
    """Each ends in a checkpoint and a complete corpus that says how far it came (preemption: the checkpoint alone)."""
    stop, stopped = STOPS[name], name.split()[0]
    folder, whole = tmp_path / "stopped", tmp_path / "whole"
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)]
    result = run(small(*stop.get("overrides", [])), folder, progress=stop.get("progress", lambda *_: None))
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


def test_a_second_stop_and_a_second_resume(tmp_path, small, run):
    folder = tmp_path / "run"
    for at in (2, 9, 17):
        assert run(small(), folder, resume=True, progress=kill(signal.SIGTERM, at)).step == at + 1
    run(small(), folder, resume=True)
    run(small(), tmp_path / "whole")
    gone_on, whole = contents(folder), contents(tmp_path / "whole")
    assert gone_on == whole


def test_a_run_that_reached_its_accuracy_and_lost_its_corpus_stops_where_it_stopped(tmp_path, small, run):
    folder, experiment = tmp_path / "run", small("training.until_accuracy=0.01")
    run(experiment, folder)
    before = contents(folder)
    for product in ("corpus.jsonl", "meanings.jsonl", "metadata.json"):
        (folder / product).unlink()
    assert run(experiment, folder, resume=True).stopped == "accuracy"
    assert contents(folder) == before


def test_more_epochs_go_on_and_training_means_stay_right(tmp_path, small, run):
    """A plan that ends between evaluations logs one more line; the next line still averages a whole interval."""
    folder = tmp_path / "run"
    run(small("training.num_epochs=1", "training.evaluate_every=5"), folder)
    run(small("training.evaluate_every=5"), folder, resume=True)
    run(small("training.evaluate_every=5"), tmp_path / "whole")
    log, whole = log_of(folder), log_of(tmp_path / "whole")
    assert [line["step"] for line in log] == [5, 8, 10, 15, 20, 24]
    assert [line for line in log if line["step"] != 8] == whole
    assert trained(folder) == trained(tmp_path / "whole")


def test_a_finished_run_repeated_says_so_at_once(tmp_path, small, run):
    result = run(small(), tmp_path)
    before = contents(tmp_path)
    steps = []
    again = run(small(), tmp_path, progress=lambda *step: steps.append(step))
    assert again.was_done and not result.was_done and steps == []
    assert (again.measures, again.step, again.stopped) == (result.measures, result.step, result.stopped)
    assert again.summary().startswith("already there: all epochs done, step 24 of 24\n")
    assert contents(tmp_path) == before


def test_a_finished_run_extended_and_killed_is_unfinished(tmp_path, small, run):
    run(small("training.num_epochs=1"), tmp_path)
    run(small(), tmp_path, resume=True, progress=kill(signal.SIGTERM, 12))
    with pytest.raises(
        ValueError, match="holds this run, unfinished: add --resume to go on, or choose another"
    ):
        run(small(), tmp_path)


def test_a_summary_for_people():
    measures, chance = {"loss": 0.5, "accuracy": 0.75, "length": 2.5}, {"accuracy": 1 / 6}
    result = training.Result(
        stopped="minutes",
        step=1234,
        num_steps=341_800,
        measures=measures,
        chance=chance,
        probes={"unseen ref": {"loss": 0.7, "accuracy": 0.625}},
    )
    first, *lines = [line.split() for line in result.summary().splitlines()]
    assert first == ["time", "is", "up,", "step", "1,234", "of", "341,800"]
    assert lines[0] == ["loss", "0.500", "nats"]
    assert lines[1][:2] == ["accuracy", "75.0%"] and lines[1][-1] == "0.17"
    assert lines[2][:3] == ["length", "2.500", "symbols"]
    assert lines[3] == ["unseen", "ref", "62.5%", "accuracy"]


def test_a_loss_that_is_not_finite_stops_before_the_update(tmp_path, small, run, monkeypatch):
    """The message names the step, and weights and optimizer are as the last checkpoint has them."""
    play, weights, calls = Game.play, {}, itertools.count(1)

    def poisoned(game, examples, mode, *rest):
        played = play(game, examples, mode, *rest)
        if mode == "train" and next(calls) == 5:
            weights.update(game=game, before={n: p.clone() for n, p in game.state_dict().items()})
            object.__setattr__(played, "objective", played.objective * float("nan"))
        return played

    monkeypatch.setattr(Game, "play", poisoned)
    with pytest.raises(
        training.DivergedError, match=r"^step 5: the loss is nan, so the update was not made; try a"
    ):
        run(small(), tmp_path)
    for name, tensor in weights["game"].state_dict().items():
        assert tensor.equal(weights["before"][name])
    monkeypatch.undo()
    assert run(small(), tmp_path, resume=True).step == 24


def test_weights_that_are_not_finite_are_never_saved(tmp_path, small, run):
    """A finite loss may have a gradient that is not; what it broke is not saved."""
    experiment = small("training.evaluate_every=1", "training.checkpoint_every=1")
    run(experiment, tmp_path, progress=kill(signal.SIGTERM, 3))
    step = torch.optim.Adam.step

    def broken(self, *args, **kwargs):
        step(self, *args, **kwargs)
        self.param_groups[0]["params"][0].data.fill_(float("nan"))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.optim.Adam, "step", broken)
        with pytest.raises(
            training.DivergedError, match=r"^step 5: the update made weights that are not finite, so"
        ):
            run(experiment, tmp_path, resume=True)
    assert max(file.name for file in tmp_path.glob("checkpoint*")) == "checkpoint-000000004.safetensors"


def test_a_long_run_is_told_what_would_shorten_it(tmp_path, small, run, monkeypatch):
    monkeypatch.setattr(training, "HINT_AFTER", 0.0)
    monkeypatch.setattr(training, "LONG", 0.0)
    notes = []
    run(small("training.num_epochs=1"), tmp_path / "a", notes=notes)
    assert len(notes) == 1
    assert notes[0].startswith(
        "about 0 minutes at this speed; --until-accuracy 0.95, --max-minutes 30 or --epochs 1 "
    )
    assert "Ctrl-C stops it with a checkpoint and a complete corpus; --resume goes on from there." in notes[0]


COMBINATIONS = [
    combination
    for combination in itertools.product(
        ["discrimination", "reconstruction"], CHANNELS, ["variable", "fixed"], ["rnn", "gru", "lstm"]
    )
    if combination[1] not in WORDS_OF_VALUES or combination[2] == "fixed"
]


@pytest.mark.parametrize(("task", "channel", "length", "cell"), COMBINATIONS)
def test_every_combination_trains_and_records_a_corpus(tmp_path, small, run, task, channel, length, cell):
    experiment = small(
        f"game.task={task}", f"channel.kind={channel}", f"channel.length={length}", f"sender.architecture={cell}",
        f"receiver.architecture={cell}", "training.num_examples=33", "training.num_epochs=1", "channel.length_cost=0.1",
    )  # fmt: skip
    result = run(experiment, tmp_path)
    assert result.step == 2  # the second batch has one example
    assert np.isfinite(list(result.measures.values())).all()
    corpus = read_corpus(tmp_path)
    assert len(corpus.messages) == 16
    assert corpus.messages.lengths.max() <= (3 if length == "fixed" else 4)
    assert ("attribute_accuracy" in result.measures) == (task == "reconstruction")


@pytest.mark.parametrize("overrides", [
    ["channel.max_len=1", "channel.length=fixed"],
    ["channel.vocab_size=1", "channel.max_len=1"],
    ["channel.vocab_size=1", "channel.length=fixed"],
    ["channel.straight_through=true", "training.precision=bf16"],
    ["training.batch_size=1", "training.num_examples=5"],
    ["training.batch_size=4096"],
    ["channel.kind=reinforce", "training.precision=bf16", "evaluation.mode=sample"],
])  # fmt: skip
def test_corner_settings_train_stop_and_go_on_to_the_same_bytes(tmp_path, small, run, overrides):
    experiment = small("training.evaluate_every=1", "training.checkpoint_every=1", *overrides)
    run(experiment, tmp_path / "stopped", progress=kill(signal.SIGTERM, 1))
    run(experiment, tmp_path / "stopped", resume=True)
    run(experiment, tmp_path / "whole")
    assert contents(tmp_path / "stopped") == contents(tmp_path / "whole")


def test_text_files_are_trained_on(tmp_path, small, run):
    world = make_world(small())
    for name, number in (("train", 64), ("valid", 16)):
        examples = world.examples(name, np.arange(number))
        lines = [
            " . ".join(" ".join(map(str, candidate)) for candidate in candidates) + f" . {target}"
            for candidates, target in zip(
                examples.candidates.tolist(), examples.targets.tolist(), strict=True
            )
        ]
        (tmp_path / f"{name}.txt").write_text("\n".join(lines) + "\n")
    files = [f"world.{name}_data={tmp_path / name}.txt" for name in ("train", "valid")]
    result = run(small(*files, "training.num_epochs=1"), tmp_path / "run")
    assert result.num_steps == 2
    corpus = read_corpus(tmp_path / "run")
    assert len(np.unique(corpus.meanings, axis=0)) == len(corpus.messages) <= 16


def test_devices_that_are_not_there(tmp_path, small):
    if not torch.cuda.is_available():
        with pytest.raises(ValueError, match="--device cuda: this machine has no CUDA device"):
            train(small(), tmp_path / "a", device="cuda", progress=lambda *_: None, note=lambda _: None)
        assert not (tmp_path / "a").exists()


THINGS = (
    "world.kind=thing", "world.num_values=3", "world.num_attributes=3", "world.rule_length=2", "world.held_out=0.25",
    "game.task=concept", "game.num_targets=2", "channel.kind=quantized", "channel.length=fixed",
    "training.num_epochs=1", "sender.perception_size=8", "receiver.perception_size=8",
)  # fmt: skip
PICTURES = (
    "world.kind=shape", "game.task=concept", "game.num_targets=2", "channel.kind=quantized",
    "channel.length=fixed", "world.pool=6", "training.batch_size=6", "training.num_examples=24",
    "training.num_epochs=1", "evaluation.num_valid=9", "training.evaluate_every=1", "training.checkpoint_every=1",
    "evaluation.corpus_size=10", "sender.perception=conv", "receiver.perception=conv", "sender.perception_size=8",
    "receiver.perception_size=8",
)  # fmt: skip
SETS = {
    "quantized": THINGS,
    "decay": (*THINGS, "training.lr_decay=linear"),
    "gumbel": (*THINGS, "channel.kind=gumbel", "channel.length=variable"),
    "reinforce": (*THINGS, "channel.kind=reinforce", "evaluation.mode=sample"),
    "continuous, all": (*THINGS, "channel.kind=continuous", "game.sender_sees=all"),
    "pictures": PICTURES,
    "pictures, conv4, bf16": (*PICTURES, "sender.perception=conv4", "training.precision=bf16"),
}
"""Games about sets: 8 steps, of pictures 4."""


@pytest.mark.parametrize("name", SETS)
def test_games_about_sets_stop_and_go_on_to_the_same_bytes(tmp_path, small, run, name):
    experiment = small(*SETS[name])
    at = 2 if name.startswith("pictures") else 5
    stopped = run(experiment, tmp_path / "stopped", progress=kill(signal.SIGTERM, at))
    assert stopped.stopped == "preempted" and stopped.step == at + 1 and stopped.probes == {}
    run(experiment, tmp_path / "stopped", resume=True)
    run(experiment, tmp_path / "whole")
    gone_on, whole = contents(tmp_path / "stopped"), contents(tmp_path / "whole")
    fallback = {file for file in gone_on if file.startswith("checkpoint") and file not in whole}
    assert len(fallback) <= 1 and {file: gone_on[file] for file in gone_on if file not in fallback} == {
        file: whole[file] for file in whole if file in gone_on
    }
    assert set(PRODUCTS) | {"log.jsonl"} <= set(whole)


def test_the_rate_falls_to_zero_over_all_epochs(tmp_path, small, run, monkeypatch):
    rates = []

    class Watched(torch.optim.Adam):
        def step(self, *arguments):
            rates.append(self.param_groups[0]["lr"])
            return super().step(*arguments)

    monkeypatch.setattr(training.torch.optim, "Adam", Watched)
    run(
        small("training.lr_decay=linear", "training.lr=0.8", *THINGS, "training.num_examples=128"),
        tmp_path / "a",
    )
    assert len(rates) == 4 and rates == pytest.approx([0.8, 0.6, 0.4, 0.2])


def test_a_run_about_sets_is_complete(tmp_path, small, run):
    """Its corpus, what probes found, and the same figures when the finished run is asked for again."""
    experiment = small(*THINGS, "evaluation.corpus_size=70", "channel.num_levels=3")
    result = run(experiment, tmp_path)
    assert set(result.measures) == {"loss", "accuracy", "set_accuracy", "length"}
    assert result.chance == {"accuracy": 0.6, "set_accuracy": 0.5**5}
    assert set(result.probes) == {"seen rules"} and set(result.probes["seen rules"]) == set(result.measures)
    assert result.probes["seen rules"] != result.measures
    corpus = read_corpus(tmp_path)
    assert len(corpus.messages) == 70 and corpus.eos is None
    assert corpus.concept_names[:3] == ("attribute0=0", "attribute0=1", "attribute0=2")
    assert (corpus.concepts.lengths == 2).all()
    metadata = corpus.metadata
    assert (metadata["vocab_size"], metadata["max_len"]) == (3**6, 3)
    assert metadata["probes"] == result.probes and metadata["chance"] == result.chance
    assert {name: metadata["training"][name] for name in result.measures} == result.measures
    again = run(experiment, tmp_path)
    assert again.was_done and (again.measures, again.probes) == (result.measures, result.probes)
    assert again.summary().splitlines()[-1].split()[:2] == ["seen", "rules"]
    assert set(log_of(tmp_path)[0]["train"]) == set(result.measures)


def test_words_of_64_values_are_written_with_their_names(tmp_path, small, run):
    run(small(*THINGS, "channel.word_size=64", "evaluation.corpus_size=20"), tmp_path)
    corpus = read_corpus(tmp_path)
    assert corpus.metadata["vocab_size"] == 2**64
    assert all(len(name) == 64 for name in corpus.symbol_names[1:])


def test_without_held_out_rules_nothing_is_probed(tmp_path, small, run):
    result = run(small(*THINGS, "world.held_out=0", "training.num_examples=32"), tmp_path)
    assert result.probes == {} and "probes" not in read_corpus(tmp_path).metadata


def test_evaluation_leaves_the_statistics_of_training_alone(small):
    experiment = small(*PICTURES)
    world = make_world(experiment)
    torch.manual_seed(0)
    game = make_game(experiment, world, torch.float32)
    game.play(world.batch("train", 0), "train")
    before = {name: tensor.clone() for name, tensor in game.state_dict().items()}
    first = evaluate(game, world, experiment)
    assert game.training and all(module.training for module in game.modules())
    assert evaluate(game, world, experiment) == first
    after = game.state_dict()
    assert all(tensor.equal(after[name]) for name, tensor in before.items())
    game.play(world.batch("train", 1), "train")
    moved = {name for name, tensor in game.state_dict().items() if not tensor.equal(before[name])}
    assert moved == {name for name in before if name.split(".")[-1].startswith(("running_", "num_batches_"))}
    assert len(moved) >= 2 * 3 * 3  # each agent's norms: mean, variance and count


def test_checkpoints_hold_the_statistics_of_batch_normalisation(tmp_path, small, run):
    run(small(*PICTURES), tmp_path)
    tensors = load_file(max(tmp_path.glob("checkpoint*")))
    counts = [tensor for name, tensor in tensors.items() if name.endswith("num_batches_tracked")]
    assert len(counts) >= 6 and all(count == 4 for count in counts)  # a batch a step, none from evaluation
    means = [tensor for name, tensor in tensors.items() if name.endswith("running_mean")]
    assert len(means) == len(counts) and all(mean.abs().max() > 0 for mean in means)


def test_a_probe_is_the_evaluation_of_its_split(small):
    experiment = small(*THINGS)
    world = make_world(experiment)
    torch.manual_seed(0)
    game = make_game(experiment, world, torch.float32)
    ((probed, split),) = world.probes().values()
    losses = []
    with torch.no_grad():
        for number in range(2):  # 50 rounds: one batch of 32, and one that counts for 18
            losses.append(game.play(probed.batch("seen", number), "greedy").measures["loss"].item())
    expected = (32 * losses[0] + 18 * losses[1]) / 50
    assert evaluate(game, probed, experiment, split)["loss"] == pytest.approx(expected)


@pytest.mark.parametrize(
    "overrides", [["training.batch_size=1"], ["training.batch_size=1", "game.sender_sees=all"]]
)
def test_one_round_a_step(tmp_path, small, run, overrides):
    result = run(small(*THINGS, "training.num_examples=3", "evaluation.num_valid=2", *overrides), tmp_path)
    assert result.step == 3 and np.isfinite(list(result.measures.values())).all()
