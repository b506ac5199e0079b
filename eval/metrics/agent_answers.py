"""Answers of the agents of a run: vectors of objects, and probabilities of messages."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ecsuite.agents.autocast import call_receiver, call_sender
from ecsuite.agents.message import EOS
from ecsuite.agents.senders import MessageBuilder
from ecsuite.eval.counts.counting import row_labels
from ecsuite.eval.statistics.contingency import Floats, Ints
from ecsuite.games.channels.channels import MOST_MESSAGES, all_messages, num_messages
from ecsuite.games.channels.message_builders import SymbolOptions
from ecsuite.games.channels.noise import noise_generator
from ecsuite.games.config.sections import Experiment
from ecsuite.games.players.agent import Speaker
from ecsuite.games.players.learning import GivenMessages
from ecsuite.games.players.pair import Pair
from ecsuite.games.plays.population import Population
from ecsuite.games.tasks.views import View
from ecsuite.games.worlds.world import Batch, World
from ecsuite.runtime.ragged import Ragged

Vectors = NDArray[np.float64]
NOTHING_LEARNT = "the {} learns no representation of objects"
"""Reason why a score of an agent's vectors is undefined."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DistinctObjects:
    """Distinct objects of a world."""

    features: Tensor
    """Features as the agents get them, (num_objects, *object_shape)."""
    meanings: NDArray[np.generic]
    """Description of the objects by the world, (num_objects, num_attributes)."""


def objects_of(world: World, most: int, seed: int) -> DistinctObjects | None:
    """Draw at most `most` distinct objects of the corpus; None if the sender sees several at once."""
    if world.rounds.sender_sees_all or world.rounds.num_targets > 1:
        return None
    objects, meanings = [], []
    for batch in world.corpus_batches(4 * most):  # with repetitions
        objects.append(batch.objects[batch.shown[:, 0]])
        meanings.append(world.describe(batch).meanings)
    found, described = np.concatenate(objects), np.concatenate(meanings)
    flat = np.ascontiguousarray(found).reshape(len(found), -1)
    _, first = np.unique(flat, axis=0, return_index=True)
    rows = np.sort(first)
    if len(rows) > most:
        rows = np.sort(np.random.default_rng([seed, *b"objects"]).choice(rows, most, replace=False))
    features = world.features(torch.from_numpy(np.ascontiguousarray(found[rows])), torch.float32)
    return DistinctObjects(features=features, meanings=described[rows].reshape(len(rows), -1))


@torch.inference_mode()
def inputs(objects: DistinctObjects) -> Vectors:
    """Features of the objects, (num_objects, num_features)."""
    return _vectors(objects.features)


@torch.inference_mode()
def of_sender(pair: Pair, objects: DistinctObjects) -> Vectors | None:
    """First representation of objects that the sender learns, (num_objects, size); None without one.

    It is the output of its perception or, if this learns nothing, as `identity`, of the network's first layer
    (`Sender.represent`).
    """
    meanings = pair.speaker.meanings(_view(objects), 1, None)
    learnt = meanings if pair.speaker.perception.learns else pair.speaker.network.represent(meanings)
    return None if learnt is None else _vectors(learnt)


@torch.inference_mode()
def of_receiver(pair: Pair, objects: DistinctObjects) -> Vectors | None:
    """First representation of candidates that the receiver learns, (num_objects, size); None without one.

    It is the output of its perception. If this learns nothing, as `identity`, a candidate's score is the product of its
    features x and the projected state W s, which equals the product of W^T x and s: then it is W^T x. A receiver
    without candidates is represented by its states after the messages about the objects.
    """
    listener = pair.listener
    if listener.perception is None:
        return after_messages(pair, objects)
    vectors = listener.perception(objects.features)
    if not listener.perception.learns:
        if listener.projection is None:
            return None
        vectors = vectors @ listener.projection.weight
    return _vectors(vectors)


@torch.inference_mode()
def after_messages(pair: Pair, objects: DistinctObjects) -> Vectors:
    """The states of the receiver after the most likely messages about the objects, (num_objects, state_size)."""
    message = pair.speaker.message(_view(objects), 1, "greedy", None, 0)
    states, ends = call_receiver(pair.listener.network, message, torch.float32)
    return _vectors((ends[..., None] * states).sum(0))


def _view(objects: DistinctObjects) -> View:
    return View(features=objects.features, num_seen=1, indices=None)


def _vectors(tensor: Tensor) -> Vectors:
    return tensor.reshape(len(tensor), -1).double().numpy()


NUM_DRAWN, NUM_DRAWN_OF_MANY = 1000, 100
"""Messages drawn per meaning: with at most `MOST_MESSAGES` possible messages, or with more."""
MOST_ROWS = 2**14
"""Messages that are computed in one batch."""
LEAST = 1e-12
"""Probability below which messages are left out."""
LEAST_LOG = -700.0
"""Minimum log probability, whose exponential is above 0."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Said:
    """Messages about meanings with weights: probabilities, or 1 for a drawn message."""

    meanings: NDArray[Any]
    """The meaning of each message, as in the corpus, (num_rows, width)."""
    words: NDArray[np.integer[Any]]
    """Label of the message, from 0, (num_rows,)."""
    weights: Floats
    """Weight of each message, (num_rows,)."""
    speakers: Ints
    """The speaker of each message, (num_rows,)."""
    num_drawn: int | None
    """Number of messages drawn per speaker and meaning; None: weights are probabilities."""


@torch.no_grad()
def said_by(players: Population, experiment: Experiment) -> Said:
    """Messages of all senders about each meaning of the corpus, sampled or with probabilities.

    Probabilities are exact if a channel has at most `MOST_MESSAGES` messages and its words are symbols: they are the
    probabilities of all messages under the sender's softmax. Words of a codebook, and messages of larger channels, are
    drawn. A sender with one message per meaning says it with probability 1.

    Args:
        players: The trained agents.
        experiment: Sets the seed and the size of the corpus.
    """
    channel, world, seed = players.channel, players.world, experiment.training.seed
    number = num_messages(channel)
    num_drawn: int | None = NUM_DRAWN if number <= MOST_MESSAGES else NUM_DRAWN_OF_MANY
    if not channel.has_samples or (not channel.is_of_values and number <= MOST_MESSAGES):
        num_drawn = None
    symbols: list[NDArray[Any]] = []
    meanings, weights, speakers = [], [], []
    for speaker, own in enumerate(players.senders):
        for place, batch in enumerate(world.corpus_batches(experiment.evaluation.corpus_size)):
            about = world.describe(batch).meanings
            if num_drawn is None and channel.has_samples:
                parts = _all_of(own, batch)
            else:
                parts = _drawn(own, batch, num_drawn or 1, f"messages of {speaker} in batch {place}", seed)
            for rows, said, probabilities in parts:
                symbols.append(said)
                meanings.append(about[rows])
                weights.append(probabilities)
                speakers.append(np.full(len(rows), speaker))
    if channel.is_of_values:
        messages, _ = channel.as_symbols(torch.from_numpy(np.concatenate(symbols)).to(players.device))
    else:
        width = max(each.shape[1] for each in symbols)
        table = np.concatenate([np.pad(each, ((0, 0), (0, width - each.shape[1]))) for each in symbols])
        messages = Ragged.from_lengths(table[table > EOS].astype(np.int32), (table > EOS).sum(1))
    return Said(
        meanings=np.concatenate(meanings),
        words=row_labels(messages),
        weights=np.concatenate(weights),
        speakers=np.concatenate(speakers),
        num_drawn=num_drawn,
    )


Part = tuple[Ints, NDArray[Any], Floats]
"""Rows of a batch, messages about them, (num_rows, num_steps, ...), and their weights."""


def log_probabilities(speaker: Speaker, meanings: Tensor, messages: Tensor) -> Floats:
    """Log probability of the symbols of messages about meanings, by the sender's softmax.

    Args:
        speaker: A sender of symbols.
        meanings: As the network gets them, (num_meanings, width).
        messages: With EOS and PAD, (num_messages, max_len).

    Returns:
        For each symbol given the symbols before it, in nats, (num_messages, num_meanings, max_len); 0 after the end.
    """
    options = cast(SymbolOptions, speaker.channel.options)
    found = []
    for some in messages.to(meanings.device).split(max(1, MOST_ROWS // len(meanings))):
        builder = GivenMessages(options, some.repeat_interleave(len(meanings), 0).t())
        call_sender(speaker.network, meanings.repeat(len(some), 1), cast(MessageBuilder, builder))
        of_steps = torch.stack(builder.log_probabilities, -1).double().clamp(min=LEAST_LOG)
        found.append(of_steps.view(len(some), len(meanings), -1).cpu().numpy())
    return np.concatenate(found)


def _all_of(speaker: Speaker, batch: Batch) -> Iterator[Part]:
    """Yield every message about the rounds of a batch, with its probability."""
    messages = all_messages(speaker.channel)
    meanings = speaker.meanings(speaker.shown(batch), batch.num_positive, None)
    for rows in _parts(len(batch), len(messages)):
        some = meanings[torch.from_numpy(rows).to(meanings.device)]
        shares = np.exp(log_probabilities(speaker, some, messages).sum(-1)).T  # (num_rows, num_messages)
        places, kept = np.nonzero(shares > LEAST)
        yield rows[places], messages.numpy()[kept], shares[places, kept]


def _drawn(speaker: Speaker, batch: Batch, number: int, purpose: str, seed: int) -> Iterator[Part]:
    """Yield `number` drawn messages about each round of a batch."""
    for part, rows in enumerate(_parts(len(batch), number)):
        noise = noise_generator(seed, purpose, part, speaker.device)
        repeated = np.repeat(rows, number)
        said = speaker.generate_message(batch.take(repeated), "sample", noise)
        yield repeated, said.symbols.transpose(0, 1).cpu().numpy(), np.ones(len(repeated))


def _parts(num_rounds: int, number: int) -> Iterator[Ints]:
    """Split rounds into batches, where each round has `number` messages."""
    size = max(1, MOST_ROWS // number)
    for start in range(0, num_rounds, size):
        yield np.arange(start, min(start + size, num_rounds))
