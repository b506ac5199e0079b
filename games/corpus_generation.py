"""Generate a corpus with a trained sender: one message per distinct meaning, or per round of a game on sets."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ecsuite.agents.message import EOS, PAD
from ecsuite.config import WORDS_OF_VALUES, Experiment
from ecsuite.corpus import Corpus, Ragged
from ecsuite.games.game import Game, SenderReceiverGame
from ecsuite.games.set_game import SetGame
from ecsuite.games.worlds.attributes import World
from ecsuite.games.worlds.rounds import Rules, SetWorld

BATCH = 4096
"""Meanings per batch."""


def noise_generator(seed: int, purpose: str, index: int, device: torch.device) -> torch.Generator:
    """The random generator for one purpose and index: a pure function of its arguments, so no state is saved."""
    words = np.random.SeedSequence([seed, index, *purpose.encode()]).generate_state(1, np.uint64)
    return torch.Generator(device).manual_seed(int(words[0] >> np.uint64(1)))


@torch.no_grad()
def record_corpus(game: SenderReceiverGame, world: World | SetWorld, experiment: Experiment) -> Corpus:
    """Generate a corpus with the trained sender.

    Args:
        game: The game with its trained agents.
        world: Where the meanings come from.
        experiment: Sets the corpus size, and whether the symbols are the most likely ones or sampled.

    Returns:
        The messages (with EOS where the length is variable), meanings and concepts: one message per distinct meaning
        or, in a game on sets, per round.
    """
    game.eval()
    device = next(game.parameters()).device
    mode, seed = experiment.evaluation.mode, experiment.training.seed
    outputs, inputs = [], []
    for index, sender_input in enumerate(_sender_inputs(world, experiment)):
        noise = noise_generator(seed, "corpus", index, device)
        if isinstance(game, SetGame):
            outputs.append(game.generate_message(sender_input, mode, noise))
            inputs.append(sender_input.rules)
        else:
            assert isinstance(game, Game)
            outputs.append(game.generate_message(torch.from_numpy(sender_input).to(device), mode, noise))
            inputs.append(sender_input)
    size, channel = experiment.evaluation.corpus_size, experiment.channel
    corpus_inputs = np.concatenate(inputs)[:size]
    if isinstance(game, SetGame):
        columns = _rule_columns(game.world.rules, corpus_inputs)
    else:
        concepts, names = attribute_concepts(corpus_inputs, experiment.world.num_values)
        columns = {"meanings": corpus_inputs, "concepts": concepts, "concept_names": names}
    if channel.kind in WORDS_OF_VALUES:
        words = np.concatenate(
            [message.symbols.float().cpu().numpy().transpose(1, 0, 2) for message in outputs]
        )
        messages, symbol_names = words_to_symbols(words[:size], channel.num_levels)
        vocab_size, eos = channel.num_levels**channel.word_size, None
    else:
        symbols = [message.symbols.t().cpu().numpy() for message in outputs]  # (batch, num_steps) each
        lengths = np.concatenate([(each != PAD).sum(1) for each in symbols])[:size]
        flat = np.concatenate([each[each != PAD] for each in symbols]).astype(np.int32)[: lengths.sum()]
        messages, symbol_names = Ragged.from_lengths(flat, lengths), None
        vocab_size, eos = channel.vocab_size, EOS if channel.length == "variable" else None
    metadata = {"vocab_size": vocab_size, "max_len": channel.max_len}
    if channel.kind == "continuous":
        metadata["symbols"] = (
            f"rounded to {channel.num_levels} levels here; the receiver gets the exact values"
        )
    return Corpus(messages=messages, eos=eos, symbol_names=symbol_names, metadata=metadata, **columns)


def words_to_symbols(words: NDArray[np.float32], num_levels: int) -> tuple[Ragged, tuple[str, ...] | None]:
    """Map words of values to symbol ids: 1 + the number whose digits are the levels, least significant digit first.

    Args:
        words: Values from 0 to 1, (num_messages, max_len, word_size).
        num_levels: Levels of a value.

    Returns:
        The messages and None. Where such ids need more than 31 bits: ids from 1 in lexicographic order of the digits,
        and the digits as symbol names, with an empty name for id 0.
    """
    levels = np.rint(words * (num_levels - 1)).astype(np.int64)
    num_messages, max_len, word_size = words.shape
    names = None
    if num_levels**word_size < 2**31:
        ids = 1 + levels @ num_levels ** np.arange(word_size)
    else:
        kinds, kind_ids = np.unique(levels.reshape(-1, word_size), axis=0, return_inverse=True)
        ids = 1 + kind_ids
        names = ("", *(("" if num_levels <= 10 else ".").join(map(str, kind)) for kind in kinds.tolist()))
    flat = ids.reshape(-1).astype(np.int32)
    return Ragged.from_lengths(flat, np.full(num_messages, max_len)), names


def _sender_inputs(world: World | SetWorld, experiment: Experiment) -> Iterator[Any]:
    """Batches of meanings or rounds, at least `corpus_size` in total where the world has that many."""
    size = experiment.evaluation.corpus_size
    if isinstance(world, World):
        meanings = world.distinct_meanings(size)
        yield from np.split(meanings, range(BATCH, len(meanings), BATCH))
        return
    for number in range(-(-size // experiment.training.batch_size)):
        yield world.batch(world.corpus_split, number)


def _rule_columns(rules: Rules, chosen: NDArray[np.int64]) -> dict[str, Any]:
    """The corpus columns of rounds: meanings and, where rules have them, concepts."""
    columns: dict[str, Any] = {"meanings": rules.meanings[chosen]}
    if rules.concepts is not None:
        rows = [rules.concepts[rule].tolist() for rule in chosen.tolist()]
        columns |= {"concepts": Ragged.from_rows(rows), "concept_names": rules.concept_names}
    return columns


def attribute_concepts(meanings: NDArray[np.int64], num_values: int) -> tuple[Ragged, tuple[str, ...]]:
    """The concepts of attribute values: one per attribute, such as `attribute0=3`.

    Args:
        meanings: Attribute values, (num_messages, num_attributes).
        num_values: Number of values of each attribute.

    Returns:
        Ids of the concepts of each message, and their names.
    """
    num_messages, num_attributes = meanings.shape
    ids = meanings + num_values * np.arange(num_attributes)
    names = (f"attribute{a}={v}" for a in range(num_attributes) for v in range(num_values))
    lengths = np.full(num_messages, num_attributes, dtype=np.int64)
    return Ragged.from_lengths(ids.astype(np.int32).ravel(), lengths), tuple(names)
