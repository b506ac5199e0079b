"""What trained senders say of each meaning, and with which probability: all messages, or as many as are drawn."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ecsuite.agents.autocast import call_sender
from ecsuite.agents.message import EOS
from ecsuite.agents.senders import MessageBuilder
from ecsuite.corpus import Ragged
from ecsuite.eval.statistics.counting import Floats, Ints, row_labels
from ecsuite.games.message_builders import SymbolOptions
from ecsuite.games.noise import noise_generator
from ecsuite.games.players.agent import Speaker
from ecsuite.games.players.learning import GivenMessages
from ecsuite.games.players.players import Players
from ecsuite.games.sections import Experiment
from ecsuite.games.worlds.world import Batch

MOST_MESSAGES = 1024
"""Of a channel with so many different messages or fewer, each has its probability; of others, messages are drawn."""
NUM_DRAWN, NUM_DRAWN_OF_MANY = 1000, 100
"""Messages that are drawn for each meaning from at most `MOST_MESSAGES`, or from more."""
MOST_ROWS = 2**14
"""Messages that are computed at once."""
LEAST = 1e-12
"""Messages of less probability are left out."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Said:
    """Messages about meanings, each with its weight: probabilities, or 1 of one that was drawn."""

    meanings: NDArray[Any]
    """What each is about, as the corpus has it, (num_rows, width)."""
    words: Ints
    """The message, from 0, (num_rows,)."""
    weights: Floats
    """(num_rows,)."""
    speakers: Ints
    """Who says it, (num_rows,)."""
    num_drawn: int | None
    """Messages that were drawn of each speaker for each meaning; None: weights are probabilities."""


@torch.no_grad()
def said_by(players: Players, experiment: Experiment) -> Said:
    """The messages of all senders about each meaning of the corpus, as they are sampled.

    Probabilities are exact where a channel has at most `MOST_MESSAGES` messages and its words are symbols: those of all
    messages under the sender's softmax. Words of a codebook and of many symbols are drawn. A sender that has one
    message for a meaning says it with probability 1.

    Args:
        players: The trained agents.
        experiment: Sets the seed and the size of the corpus.
    """
    channel, world, seed = players.channel, players.world, experiment.training.seed
    number = _num_messages(channel)
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
        messages, _ = channel.as_symbols(torch.from_numpy(np.concatenate(symbols)))
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
"""Rows of a batch, what is said of each, (num_rows, num_steps, ...), and its weight."""


def _num_messages(channel: Any) -> int:
    """How many different messages there are."""
    lengths = range(channel.max_len + 1) if channel.has_eos else (channel.max_len,)
    return sum(int(channel.vocab_size) ** length for length in lengths)


def _all_messages(channel: Any) -> Tensor:
    """Each message once, (max_len, num_messages), with EOS after those that end early, and PAD."""
    max_len, rows = channel.max_len, []
    for length in range(max_len + 1) if channel.has_eos else (max_len,):
        codes = np.indices((channel.vocab_size,) * length).reshape(length, channel.vocab_size**length).T
        row = np.full((len(codes), max_len), -1)
        row[:, :length] = codes + 1
        row[:, length : length + 1] = EOS
        rows.append(row)
    return torch.from_numpy(np.concatenate(rows).T.copy())


def _all_of(speaker: Speaker, batch: Batch) -> Iterator[Part]:
    """Every message about the rounds of a batch, with its probability."""
    options = cast(SymbolOptions, speaker.channel.options)
    messages = _all_messages(speaker.channel)
    number = messages.shape[1]
    vectors = speaker.meanings(speaker.shown(batch), batch.num_positive, None)
    for rows in _parts(len(batch), number):
        builder = GivenMessages(options, messages.repeat(1, len(rows)))
        given = vectors[torch.from_numpy(rows)].repeat_interleave(number, 0)
        said = call_sender(speaker.network, given, cast(MessageBuilder, builder))
        assert said.log_probability is not None
        shares = said.log_probability.double().exp().numpy()
        kept = shares > LEAST
        yield np.repeat(rows, number)[kept], messages.repeat(1, len(rows)).T.numpy()[kept], shares[kept]


def _drawn(speaker: Speaker, batch: Batch, number: int, purpose: str, seed: int) -> Iterator[Part]:
    """Messages about the rounds of a batch that are drawn, a number of each."""
    for part, rows in enumerate(_parts(len(batch), number)):
        noise = noise_generator(seed, purpose, part, speaker.device)
        repeated = np.repeat(rows, number)
        said = speaker.generate_message(batch.take(repeated), "sample", noise)
        yield repeated, said.symbols.transpose(0, 1).cpu().numpy(), np.ones(len(repeated))


def _parts(num_rounds: int, number: int) -> Iterator[Ints]:
    """Rounds that are computed at once, where each has a number of messages."""
    size = max(1, MOST_ROWS // number)
    for start in range(0, num_rounds, size):
        yield np.arange(start, min(start + size, num_rounds))
