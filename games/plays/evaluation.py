"""Evaluation of agents: the measures on the rounds of a split, and a corpus of the trained sender.

A corpus has one message per distinct meaning or, in games about sets, per round.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ecsuite.agents.message import EOS, PAD, Message
from ecsuite.corpus import SPEAKER, Corpus
from ecsuite.games.channels.channels import Mode
from ecsuite.games.channels.noise import noise_generator
from ecsuite.games.config.sections import Experiment
from ecsuite.games.players.agent import Speaker
from ecsuite.games.plays.population import Population
from ecsuite.games.tasks.tasks import Reconstruction
from ecsuite.games.tasks.views import SeenRounds
from ecsuite.games.worlds.object_worlds import ObjectWorld
from ecsuite.games.worlds.world import Batch, Description, World, make_world
from ecsuite.parts.registry import Part
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.ragged import Ragged

MOST_VALUES = 2**20
"""Most tensor elements per group of batches; within a group, each distinct meaning gets one message."""
Item = TypeVar("Item")
"""Element type of `in_groups`: a batch, or a batch with its messages."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SpokenRounds:
    """Batch of rounds of a split, with the senders' messages."""

    first: int
    """Index of the first round."""
    batch: Batch
    rounds: SeenRounds
    """The rounds as agents see them."""
    messages: Sequence[Message] | None = None
    """Greedy messages of each sender; None in mode `sample`, where messages are sampled during play."""


def spoken_rounds(players: Population, world: World, split: str, mode: Mode) -> Iterator[SpokenRounds]:
    """Iterate over the batches of a split; in greedy mode with messages, computed once per distinct meaning.

    Args:
        players: The agents, in evaluation mode.
        world: World with the split.
        split: Name of the split.
        mode: How symbols are chosen: greedy or sample.
    """
    size = world.sizes.evaluation_batch_size
    batches = ((first, world.batch(split, first // size)) for first in range(0, world.num_valid, size))
    drawn = (
        SpokenRounds(first=first, batch=batch, rounds=players.first_pair.rounds(batch))
        for first, batch in batches
    )
    if mode == "sample":
        yield from drawn
        return
    for group in in_groups(drawn, lambda each: sum(map(Tensor.numel, each.rounds.tensors().values()))):
        seen = [(each.rounds.shown, each.rounds.num_positive) for each in group]
        said = [sender.messages(seen) for sender in players.senders]
        for each, *messages in zip(group, *said, strict=True):
            yield replace(each, messages=messages)


def in_groups(items: Iterable[Item], num_values: Callable[[Item], int]) -> Iterator[list[Item]]:
    """Group consecutive items until a group has at least `MOST_VALUES` values; the last group may have fewer."""
    group, total = list[Item](), 0
    for item in items:
        group.append(item)
        total += num_values(item)
        if total >= MOST_VALUES:
            yield group
            group, total = [], 0
    if group:
        yield group


@torch.no_grad()
def evaluate(
    players: Population,
    world: World,
    experiment: Experiment,
    split: str = "valid",
) -> dict[str, float]:
    """Means over the examples of a split: loss (nats), accuracy, length, and the task's own metrics.

    Args:
        players: The agents.
        world: World with the split.
        experiment: Provides evaluation mode and seed.
        split: Name of the split.
    """
    measures: list[Mapping[str, Tensor]] = []
    size = world.sizes.evaluation_batch_size
    players.eval()
    mode = experiment.evaluation.mode
    for each in spoken_rounds(players, world, split, mode):
        noise = noise_generator(experiment.training.seed, split, each.first, players.device)
        measures.append(players.play_rounds(each.rounds, mode, noise, messages=each.messages).measures)
    players.train()
    # One table, so that there is one device synchronisation.
    sizes = [value.numel() for value in measures[0].values()]
    table = torch.stack([torch.cat([value.flatten() for value in each.values()]) for each in measures])
    numbers = np.arange(len(measures))
    weights = np.minimum(size, world.num_valid - numbers * size) / world.num_valid
    # Summed sequentially, so that the result does not depend on the order of reduction.
    total = np.zeros(table.shape[1])
    for row, weight in zip(table.double().cpu().numpy(), weights, strict=True):
        total += row * weight
    parts = np.split(total, np.cumsum(sizes)[:-1])
    return players.summary({name: part for name, part in zip(measures[0], parts, strict=True)})


@torch.no_grad()
def record_corpus(players: Population, experiment: Experiment) -> Corpus:
    """Generate a corpus with the trained sender: one message per distinct meaning or, in a game about sets, per round.

    With several senders: the same number of messages of each, concatenated, with the column `speaker`.

    Args:
        players: The trained agents.
        experiment: Sets the corpus size, and whether the symbols are the most likely ones or sampled.
    """
    players.eval()
    mode, seed, size = experiment.evaluation.mode, experiment.training.seed, experiment.evaluation.corpus_size
    outputs, descriptions, speakers = [], [], []
    for speaker, own in enumerate(players.senders):
        purpose = "corpus" if speaker == 0 else f"corpus of {speaker}"
        said = _sampled(own, size, seed, purpose) if mode == "sample" else _most_likely(own, size)
        for batch, message in said:
            outputs.append(message)
            described = players.world.describe(batch)
            more = {} if players.contact is None else players.contact.columns(speaker, described)
            descriptions.append(replace(described, columns={**described.columns, **more}))
            speakers.append(np.full(len(batch), speaker))
    channel = players.channel
    if channel.is_of_values:
        words = torch.cat([message.symbols.transpose(0, 1) for message in outputs])
        messages, symbol_names = channel.as_symbols(words)
    else:
        symbols = [message.symbols.t().cpu().numpy() for message in outputs]  # (batch, num_steps) each
        lengths = np.concatenate([(each != PAD).sum(1) for each in symbols])
        flat = np.concatenate([each[each != PAD] for each in symbols]).astype(np.int32)
        messages, symbol_names = Ragged.from_lengths(flat, lengths), None
    description = joined(descriptions)
    of_speakers = {SPEAKER: np.concatenate(speakers)} if len(players.senders) > 1 else {}
    metadata: dict[str, int | str | None] = {**channel.sizes}
    if experiment.channel.kind in ("continuous", "variational"):
        metadata["symbols"] = (
            f"rounded to {channel.num_levels} levels here; the receiver gets the exact values"
        )
    return Corpus(
        messages=messages,
        eos=EOS if channel.has_eos else None,
        symbol_names=symbol_names,
        meanings=description.meanings,
        attribute_names=_attribute_names(players.world, description),
        concepts=description.concepts,
        concept_names=description.concept_names,
        columns={**description.columns, **of_speakers},
        metadata=metadata,
    )


def every_object(experiment: Experiment, most: int) -> tuple[ObjectWorld, Batch, Description]:
    """Make the world of a play whose agents all see the same object, and a batch with each object once, as target.

    Args:
        experiment: The config; its task is not read.
        most: Maximum number of objects.

    Raises:
        ConfigError: If it is not a world of single objects with attribute values, has more objects, or holds some out.
    """
    play = f"for play {experiment.play.kind}, expected"
    world = make_world(replace(experiment, task=Part("reconstruction", Reconstruction.Options())))
    if not isinstance(world, ObjectWorld) or world.num_values is None or world.has_rules:
        raise ConfigError(f"world: {play} a world of single objects with attribute values")
    if world.objects.number > most:
        raise ConfigError(f"world: {play} at most {most:,} objects, got {world.objects.number:,}")
    if world.subsets.members:
        raise ConfigError(f"world: {play} no objects that are held out: all objects are talked about")
    numbers = np.arange(world.objects.number)[:, None]
    batch = world.batch_of(numbers, np.zeros_like(numbers))
    return world, batch, world.describe(batch)


def corpus_of_signs(
    signs: NDArray[np.int64], names: Sequence[str], world: World, described: Description, size: int
) -> Corpus:
    """Make the corpus of speakers who have one sign for each object of a world.

    Args:
        signs: Number of the sign of each speaker for each object, (num_speakers, num_objects).
        names: Names of the signs.
        world: The world of `every_object`.
        described: The description of its objects.
        size: Maximum number of messages of a speaker.
    """
    signs = signs[:, :size]
    rows = np.tile(np.arange(signs.shape[1]), len(signs))
    used, ids = np.unique(signs, return_inverse=True)
    of = described.of(rows)
    return Corpus(
        messages=Ragged.from_lengths(ids.reshape(-1).astype(np.int32), np.ones(signs.size, dtype=np.int64)),
        symbol_names=tuple(names[each] for each in used.tolist()),
        meanings=of.meanings,
        attribute_names=_attribute_names(world, of),
        concepts=of.concepts,
        concept_names=of.concept_names,
        columns={**of.columns, SPEAKER: np.repeat(np.arange(len(signs)), signs.shape[1])},
    )


def _most_likely(speaker: Speaker, size: int) -> Iterator[tuple[Batch, Message]]:
    """Batches of a corpus with a speaker's greedy messages, computed once per distinct meaning."""
    batches = speaker.world.corpus_batches(size)
    for group in in_groups(batches, lambda batch: batch.objects.size + batch.shown.size):
        seen = [(speaker.shown(batch), batch.num_positive) for batch in group]
        yield from zip(group, speaker.messages(seen), strict=True)


def _sampled(speaker: Speaker, size: int, seed: int, purpose: str) -> Iterator[tuple[Batch, Message]]:
    """Batches of a corpus with a speaker's sampled messages; each batch has its own noise generator."""
    for index, batch in enumerate(speaker.world.corpus_batches(size)):
        noise = noise_generator(seed, purpose, index, speaker.device)
        yield batch, speaker.generate_message(batch, "sample", noise)


def _attribute_names(world: World, description: Description) -> tuple[str, ...]:
    """Attribute names of meanings, such as `color` for `color=red`; empty if meanings have no values."""
    names = world.names_of_attributes
    is_named = description.meanings.dtype.kind in "iu" and len(names) == description.meanings.shape[-1]
    return names if is_named else ()


def joined(descriptions: Sequence[Description]) -> Description:
    """Concatenate the descriptions of several batches of one world."""
    phrases = [description.concepts for description in descriptions if description.concepts is not None]
    concepts = None
    if phrases:
        values = np.concatenate([each.values for each in phrases])
        concepts = Ragged.from_lengths(values, np.concatenate([each.lengths for each in phrases]))
    return Description(
        meanings=np.concatenate([description.meanings for description in descriptions]),
        concepts=concepts,
        concept_names=descriptions[0].concept_names,
        columns={
            name: np.concatenate([each.columns[name] for each in descriptions])
            for name in descriptions[0].columns
        },
    )
