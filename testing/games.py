"""Checks of the parts of a game: agents, channels, perceptions, tasks, losses, optimizers, schedules and worlds."""

import random
from collections.abc import Sequence
from dataclasses import fields, replace
from multiprocessing.reduction import ForkingPickler
from typing import Any

import numpy as np
import torch
from torch import nn

from ecsuite.agents.message import EOS, PAD, Message
from ecsuite.formats.directory import CORPUS
from ecsuite.games.channels.channels import Channel, Mode
from ecsuite.games.channels.noise import noise_generator
from ecsuite.games.config.experiment import from_tree
from ecsuite.games.config.registry import SCHEDULES
from ecsuite.games.engine.optimizers import Optimise
from ecsuite.games.players.pair import objective_of
from ecsuite.games.players.teaching import ALL_RIGHT
from ecsuite.games.plays.checks import (
    TOLERANCE as OF_VALUES,
)
from ecsuite.games.plays.checks import (
    fault_of_batch,
    fault_of_features,
    fault_of_ids,
    fault_of_measures,
    fault_of_message,
)
from ecsuite.games.plays.evaluation import evaluate
from ecsuite.games.plays.population import make_population
from ecsuite.games.runs.run_folder import CONFIG, RunFolder
from ecsuite.games.tasks.tasks import choose, right_parts
from ecsuite.games.worlds.world import Batch
from ecsuite.parts.strict_yaml import load_yaml
from ecsuite.runtime.errors import ConfigError
from ecsuite.testing import Check, bound, require, watched
from ecsuite.testing.trial import SOCIETIES, Trial, gradients, play, same, scratch_folder

ALONE = 1e-3
"""Maximum relative difference of the loss of a round alone and in a batch, due to the order of sums."""
TOLERANCE = 0.1
"""Maximum difference of the loss between bf16 and fp32, in nats and as a share of the loss."""


def game_checks(kind: str, name: str, settings: Sequence[str]) -> list[Check]:
    """Checks of a part of a game. See `ecsuite.testing.checks`."""
    trial = Trial.of(kind, name, settings)
    names = [*ALL, *(AGENTS if kind not in ("optimizer", "schedule") else [])]

    return bound(names, lambda: trial)


def part_checks(kind: str, name: str, settings: Sequence[str]) -> list[Check]:
    """Checks of a part without a network. See `ecsuite.testing.checks`."""
    trial = Trial.of(kind, name, settings)
    return bound(ALL, lambda: trial)


def options_survive_yaml(trial: Trial) -> None:
    """Its options are unchanged after writing them to YAML and reading them again."""
    written = load_yaml(trial.experiment.to_yaml())
    again = from_tree(written, CONFIG)
    require(again == trial.experiment, f"{trial.part.options} changes in YAML")


def every_option_is_read(trial: Trial) -> None:
    """Every option is read."""
    read: set[str] = set()
    noted = trial.with_options(watched(trial.part.options, read))
    world = noted.world()
    game = noted.game(world)
    objective_of(game, play(game, world.batch("train", 0), "train"))
    play(game, world.batch("valid", 0), "greedy")
    experiment = noted.experiment
    Optimise(experiment.optimizer, game, game.modules_of)
    schedule = SCHEDULES.load(experiment.schedule.kind)
    schedule(schedule.horizon(experiment.schedule.options, 2), steps_per_epoch=3).factor(1)
    unread = [option.name for option in fields(trial.part.options) if option.name not in read]
    require(not unread, f"nothing reads {', '.join(unread)}")


def training_repeats(trial: Trial) -> None:
    """Equal seeds give equal weights, logs and corpora, independent of earlier draws."""
    with scratch_folder() as folder:
        for name in ("first", "second"):
            _scramble(name)
            trial.train(folder / name)
        for file in (CORPUS, RunFolder(folder).checkpoint(6).name):
            contents = [(folder / name / file).read_bytes() for name in ("first", "second")]
            require(contents[0] == contents[1], f"{file} differs between two runs with the same seed")


def training_resumes(trial: Trial) -> None:
    """A run that was stopped and resumed ends with the same weights and corpus."""
    with scratch_folder() as folder:
        trial.train(folder / "whole")
        trial.train(folder / "parts", stop_after=3)
        _scramble("between")
        trial.train(folder / "parts", resume=True)
        for file in (CORPUS, RunFolder(folder).checkpoint(6).name):
            contents = [(folder / name / file).read_bytes() for name in ("whole", "parts")]
            require(contents[0] == contents[1], f"{file} differs after a run was stopped and resumed")


def draws_come_from_the_generator(trial: Trial) -> None:
    """It draws from the generator that it gets as argument, in training also from torch's global generators."""
    world = trial.world()
    game, batch = trial.game(world), world.batch("train", 0)
    for mode in ("train", "sample", "greedy"):
        found = []
        for name in ("first", "second"):
            _scramble(name)
            before = _global_states()
            found.append(play(game, batch, mode).message)
            after = "" if mode != "train" else " (Python's or NumPy's): a resumed run draws other numbers"
            require(before == _global_states(), f"a global generator was used in mode {mode}{after}")
        require(same(*found), f"mode {mode}: messages change with a global seed")


def greedy_is_deterministic(trial: Trial) -> None:
    """The most likely messages and their scores are deterministic."""
    world = trial.world()
    game, batch = trial.game(world), world.batch("valid", 0)
    first, second = play(game, batch, "greedy"), play(game, batch, "greedy")
    require(same(first.message, second.message), "two calls gave different messages")
    require(same(dict(first.measures), dict(second.measures)), "two calls gave different measures")


def batches_are_independent(trial: Trial) -> None:
    """Messages and measures of a batch do not depend on earlier batches."""
    world = trial.world()
    game = trial.game(world)
    for mode in ("train", "greedy"):
        first = play(game, world.batch("valid", 0), mode)
        play(game, world.batch("train", 1), mode)
        again = play(game, world.batch("valid", 0), mode)
        require(same(first.message, again.message), f"mode {mode}: messages change after another batch")
    require(same(dict(first.measures), dict(again.measures)), "measures change after another batch")


def messages_are_well_formed(trial: Trial) -> None:
    """Messages end at the first EOS, and their lengths agree."""
    world = trial.world()
    game = trial.game(world)
    if game.channel.is_of_values:
        return
    for mode in ("greedy", "sample"):
        fault = fault_of_ids(play(game, world.batch("valid", 0), mode).message)
        require(fault is None, f"mode {mode}: {fault}")


def parts_of_messages_agree(trial: Trial) -> None:
    """The symbols, ends and length of a message agree, also for the receiver in training."""
    world = trial.world()
    game = trial.game(world)
    sent = play(game, world.batch("train", 0), "train").message
    noise = noise_generator(0, "check", 1, game.device)
    for message, words in (
        (sent, "as sent"),
        (game.channel.received(sent, noise), "as received"),
        (sent.with_all_ends(), "with all ends"),
    ):
        fault = fault_of_message(message, game.channel)
        require(fault is None, f"a message of training, {words}: {fault}")


def rounds_do_not_depend_on_each_other(trial: Trial) -> None:
    """The message of a round, and the loss of a message, do not depend on the rest of the batch."""
    world = trial.world()
    game, batch = trial.game(world).eval(), world.batch("valid", 0)
    with torch.no_grad():
        message = game.speaker.generate_message(batch, "greedy", None)
        given = message if game.channel.is_of_values else messages_of_all_lengths(game.channel, len(batch))
        losses = game.understand(given, *game.round_parts(batch), mode="greedy", generator=None).loss
        for row in range(len(batch)):
            alone = batch.take(np.array([row]))
            again = game.speaker.generate_message(alone, "greedy", None)
            require(
                same_symbols(message_of_row(message, row), again),
                f"round {row} has different messages alone and in a batch",
            )
            parts = game.round_parts(alone)
            loss = game.understand(message_of_row(given, row), *parts, mode="greedy", generator=None).loss
            difference = float((loss - losses[row]).abs())
            require(
                difference <= ALONE * max(1.0, float(losses[row].abs())),
                f"the loss of a message is {float(loss):.4f} alone and {float(losses[row]):.4f} in a batch",
            )


def societies_train(trial: Trial) -> None:
    """In societies and with generations, repeated and resumed runs end with the same weights and corpus."""
    generations, several, shared = SOCIETIES
    for choices in ((generations, several), (shared,)):
        for settings in choices:
            try:
                society = trial.in_society(settings)
                make_population(society.experiment, society.world())
            except ConfigError:
                continue  # the part rejects this society
            training_resumes(society)
            break


def extreme_sizes_work(trial: Trial) -> None:
    """Messages of one symbol, long messages, and a batch of one round work."""
    for max_len in (1, 7):
        channel = trial.experiment.channel
        try:
            changed = replace(channel, options=replace(channel.options, max_len=max_len))
            sized = replace(trial, experiment=replace(trial.experiment, channel=changed))
            world = sized.world()
            game = sized.game(world)
        except ConfigError:
            continue  # the part rejects messages of this length
        batch = world.batch("train", 0)
        tried: list[tuple[int, Mode]] = [
            (size, mode) for size in (len(batch), 1) for mode in ("train", "greedy")
        ]
        for size, mode in tried:
            result = play(game, batch.cut(size), mode)
            loss = result.measures["loss"]
            require(bool(loss.isfinite()), f"max_len {max_len}, {size} rounds: the loss is {loss}")
            num_rounds = result.message.symbols.shape[1]
            require(num_rounds == size, f"{num_rounds} messages for {size} rounds")


def gradients_flow(trial: Trial) -> None:
    """Every parameter gets a finite gradient, and some are not zero, for either agent."""
    world = trial.world()
    game = trial.game(world)
    found = gradients(game, world.batch("train", 0))
    bad = [name for name, gradient in found.items() if not bool(gradient.isfinite().all())]
    require(not bad, f"the gradient of {', '.join(bad[:3])} is not finite")
    own = trial.module(game)
    missing = [name for name, _ in _own_parameters(game, own) if name not in found]
    require(not missing, f"{', '.join(missing[:3])} get no gradient")
    zero = [name for name, _ in _own_parameters(game, own) if not bool(found[name].any())]
    require(len(zero) < len(_own_parameters(game, own)) or not zero, "all its gradients are zero")
    for side, name in ((game.speaker, "sender"), (game.listener, "receiver")):
        given = [each.grad for each in side.parameters()]
        is_learning = any(each is not None and bool(each.any()) for each in given)
        require(is_learning or not given, f"the {name} gets no gradient")


def bf16_agrees(trial: Trial) -> None:
    """In bf16 the loss is close to the loss in fp32."""
    world = trial.world()
    batch = world.batch("valid", 0)
    for mode in ("train", "greedy"):
        losses = [
            float(play(trial.game(world, dtype=dtype), batch, mode).measures["loss"])
            for dtype in (torch.float32, torch.bfloat16)
        ]
        difference = abs(losses[0] - losses[1])
        near = difference <= TOLERANCE * max(1.0, abs(losses[0]))
        # Symbols with nearly equal logits may be exchanged in bf16.
        require(
            near or mode == "greedy",
            f"mode {mode}: the loss is {losses[1]:.4f}, in fp32 {losses[0]:.4f}",
        )


def works_on_another_device(trial: Trial) -> None:
    """Its tensors are on the device of its inputs (tried on torch's device `meta`)."""
    world = trial.world()
    game = trial.game(world).to("meta")
    for mode in ("train", "greedy"):
        game.train(mode == "train")
        played = game.play(world.batch("train", 0), mode, None)
        if mode == "train":
            played.objective.backward()


def choices_are_what_is_measured(trial: Trial) -> None:
    """Answers whose choices are all right, and no others, have an accuracy of 1."""
    world = trial.world()
    game, batch = trial.game(world).eval(), world.batch("valid", 0)
    if not game.task.has_choices:
        return
    candidates, truth = game.round_parts(batch)
    with torch.no_grad():
        message = game.speaker.generate_message(batch, "greedy", None)
        played = game.understand(message, candidates, truth, mode="greedy", generator=None)
        chosen = choose(game.task.choices(played.answer), None).chosen
    are_right = right_parts(chosen, truth).all(-1)
    others = int((are_right != (played.measures["accuracy"] > ALL_RIGHT)).sum())
    require(not others, f"in {others} of {len(batch)} rounds choices and accuracy disagree")


def can_be_sent_to_a_worker(trial: Trial) -> None:
    """It can be sent to another process."""
    ForkingPickler.dumps(trial.game(trial.world()))


def evaluates(trial: Trial) -> None:
    """Its measures are finite numbers, and each has a chance level."""
    world = trial.world()
    players = make_population(trial.experiment, world)
    fault = fault_of_measures(
        evaluate(players, world, trial.experiment), ("loss", "accuracy", *players.chance())
    )
    require(fault is None, str(fault))


ALL = (
    options_survive_yaml, every_option_is_read, training_repeats, training_resumes, societies_train, evaluates,
)  # fmt: skip
AGENTS = (
    draws_come_from_the_generator,
    greedy_is_deterministic,
    batches_are_independent,
    messages_are_well_formed,
    parts_of_messages_agree,
    rounds_do_not_depend_on_each_other,
    extreme_sizes_work,
    gradients_flow,
    bf16_agrees,
    works_on_another_device,
    choices_are_what_is_measured,
    can_be_sent_to_a_worker,
)


def _own_parameters(game: nn.Module, own: nn.Module | None) -> list[tuple[str, Any]]:
    """The parameters of the part, with their names in the game."""
    ids = {id(each) for each in own.parameters()} if own is not None else set()
    return [(name, each) for name, each in game.named_parameters() if id(each) in ids]


def _scramble(text: str) -> None:
    """Change the state of every global generator."""
    seed = sum(text.encode())
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def _global_states() -> tuple[Any, ...]:
    """The states of the global generators."""
    return random.getstate(), repr(np.random.get_state(legacy=False)), torch.get_rng_state().numpy().tobytes()


def world_checks(kind: str, name: str, settings: Sequence[str]) -> list[Check]:
    """Checks of a world. See `ecsuite.testing.checks`."""
    trial = Trial.of(kind, name, settings)

    return bound((*ALL, *WORLDS), lambda: trial)


def batches_are_pure(trial: Trial) -> None:
    """A batch depends on the seed, the split and its number only."""
    first, second = trial.world(), trial.world()
    for split in first.splits:
        last = second.batch(split, 1)
        require(
            _equal_batches(first.batch(split, 0), second.batch(split, 0)),
            f"{split}: batch 0 is not reproducible",
        )
        require(_equal_batches(first.batch(split, 1), last), f"{split}: batch 1 depends on earlier draws")


def batches_differ(trial: Trial) -> None:
    """Two batches of training differ."""
    world = trial.world()
    require(not _equal_batches(world.batch("train", 0), world.batch("train", 1)), "batches 0 and 1 are equal")


def indices_and_labels_fit(trial: Trial) -> None:
    """Every round shows objects of the batch, and has a target among its candidates."""
    world = trial.world()
    for split in world.splits:
        fault = fault_of_batch(world.batch(split, 0))
        require(fault is None, f"{split}: {fault}")


def features_have_the_shape(trial: Trial) -> None:
    """Objects have the shape that the world declares as input of perceptions."""
    world = trial.world()
    for dtype in (torch.float32, torch.bfloat16):
        fault = fault_of_features(world, world.batch("train", 0), dtype)
        require(fault is None, str(fault))


def meanings_are_described(trial: Trial) -> None:
    """Every round of the corpus has a meaning."""
    world = trial.world()
    for batch in world.corpus_batches(8):
        description = world.describe(batch)
        require(len(description.meanings) == len(batch), "the numbers of meanings and rounds differ")
        if description.concepts is not None:
            largest = description.concepts.values.max(initial=-1)
            require(largest < len(description.concept_names), "a concept has no name")


def _equal_batches(first: Batch, second: Batch) -> bool:
    """Whether two batches are equal."""
    return all(same(getattr(first, each.name), getattr(second, each.name)) for each in fields(Batch))


WORLDS = (
    batches_are_pure,
    batches_differ,
    indices_and_labels_fit,
    features_have_the_shape,
    meanings_are_described,
)


def messages_of_all_lengths(channel: Channel, number: int) -> Message:
    """Messages of random symbols of a channel with a vocabulary, of all possible lengths."""
    generator = torch.Generator().manual_seed(0)
    num_steps = channel.max_len + channel.has_eos
    ids = torch.randint(1, 1 + channel.vocab_size, (num_steps, number), generator=generator)
    lengths = 1 + torch.arange(number) % num_steps if channel.has_eos else torch.full((number,), num_steps)
    if channel.has_eos:
        step = torch.arange(1, 1 + num_steps)[:, None]
        ids = ids.where(step < lengths, torch.where(step == lengths, EOS, PAD))
    return Message(symbols=ids, ends=None, length=lengths.float())


def message_of_row(message: Message, row: int) -> Message:
    """One message of a batch, without padding."""
    symbols = message.symbols[:, row : row + 1]
    if not symbols.is_floating_point():
        symbols = symbols[: int(message.length[row])]
    return Message(symbols=symbols, ends=None, length=message.length[row : row + 1])


def same_symbols(first: Message, second: Message) -> bool:
    """Whether two messages are equal; values are compared up to rounding."""
    if first.symbols.is_floating_point():
        return torch.allclose(first.symbols, second.symbols, atol=OF_VALUES)
    return torch.equal(first.symbols, message_of_row(second, 0).symbols)
