"""From a trained sender to a corpus: one message for each of many distinct meanings."""

import numpy as np
import torch
from numpy.typing import NDArray

from ecsuite.agents.message import EOS, PAD
from ecsuite.config import Experiment
from ecsuite.corpus import Corpus, Ragged
from ecsuite.games.game import Game
from ecsuite.games.worlds import World

BATCH = 4096
"""Meanings spoken of at a time."""


def noise_generator(seed: int, purpose: str, index: int, device: torch.device) -> torch.Generator:
    """The source of noise for one purpose and index: a pure function of these, so nothing has to be saved."""
    words = np.random.SeedSequence([seed, index, *purpose.encode()]).generate_state(1, np.uint64)
    return torch.Generator(device).manual_seed(int(words[0] >> np.uint64(1)))


@torch.no_grad()
def record_corpus(game: Game, world: World, experiment: Experiment) -> Corpus:
    """Let the sender speak.

    Args:
        game: The game with its trained agents.
        world: Where the meanings come from.
        experiment: Sets the corpus's size, and whether symbols are the likeliest or drawn.

    Returns:
        Messages as said, each with its EOS where the length is variable, with meanings and concepts.
    """
    meanings = world.distinct_meanings(experiment.evaluation.corpus_size)
    device = next(game.parameters()).device
    values, lengths = [], []
    for index, batch in enumerate(np.split(meanings, range(BATCH, len(meanings), BATCH))):
        generator = noise_generator(experiment.training.seed, "corpus", index, device)
        message = game.speak(torch.from_numpy(batch).to(device), experiment.evaluation.mode, generator)
        symbols = message.symbols.t().cpu().numpy()  # (batch, num_steps)
        values.append(symbols[symbols != PAD].astype(np.int32))
        lengths.append(message.length.long().cpu().numpy())
    concepts, names = attribute_concepts(meanings, world.num_values)
    return Corpus(
        messages=Ragged.from_lengths(np.concatenate(values), np.concatenate(lengths)),
        eos=EOS if experiment.channel.length == "variable" else None,
        meanings=meanings,
        concepts=concepts,
        concept_names=names,
        metadata={"vocab_size": experiment.channel.vocab_size, "max_len": experiment.channel.max_len},
    )


def attribute_concepts(meanings: NDArray[np.int64], num_values: int) -> tuple[Ragged, tuple[str, ...]]:
    """The concepts of attribute values: one an attribute, such as `attribute0=3`.

    Args:
        meanings: Attribute values, (num_messages, num_attributes).
        num_values: Values of an attribute.

    Returns:
        Ids of the concepts of each message, and their names.
    """
    num_messages, num_attributes = meanings.shape
    ids = meanings + num_values * np.arange(num_attributes)
    names = (f"attribute{a}={v}" for a in range(num_attributes) for v in range(num_values))
    lengths = np.full(num_messages, num_attributes, dtype=np.int64)
    return Ragged.from_lengths(ids.astype(np.int32).ravel(), lengths), tuple(names)
