"""From a trained sender to a corpus: a message for each of many distinct meanings, or for each of many rounds."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ecsuite.agents.message import EOS, PAD
from ecsuite.config import WORDS_OF_VALUES, Experiment
from ecsuite.corpus import Corpus, Ragged
from ecsuite.games.game import Game, SpeakingGame
from ecsuite.games.set_game import SetGame
from ecsuite.games.worlds.attributes import World
from ecsuite.games.worlds.rounds import Rules, SetWorld

BATCH = 4096
"""Meanings spoken of at a time."""


def noise_generator(seed: int, purpose: str, index: int, device: torch.device) -> torch.Generator:
    """The source of noise for one purpose and index: a pure function of these, so nothing has to be saved."""
    words = np.random.SeedSequence([seed, index, *purpose.encode()]).generate_state(1, np.uint64)
    return torch.Generator(device).manual_seed(int(words[0] >> np.uint64(1)))


@torch.no_grad()
def record_corpus(game: SpeakingGame, world: World | SetWorld, experiment: Experiment) -> Corpus:
    """Let the sender speak.

    Args:
        game: The game with its trained agents.
        world: Where the meanings come from.
        experiment: Sets the corpus's size, and whether symbols are the likeliest or drawn.

    Returns:
        Messages as said, each with its EOS where the length is variable, with meanings and concepts: one for each
        distinct meaning or, in a game about sets, one for each round.
    """
    game.eval()
    device = next(game.parameters()).device
    mode, seed = experiment.evaluation.mode, experiment.training.seed
    said, about = [], []
    for index, topic in enumerate(_topics(world, experiment)):
        noise = noise_generator(seed, "corpus", index, device)
        if isinstance(game, SetGame):
            said.append(game.speak(topic, mode, noise))
            about.append(topic.rules)
        else:
            assert isinstance(game, Game)
            said.append(game.speak(torch.from_numpy(topic).to(device), mode, noise))
            about.append(topic)
    size, channel = experiment.evaluation.corpus_size, experiment.channel
    spoken = np.concatenate(about)[:size]
    if isinstance(game, SetGame):
        known = _of_rules(game.world.rules, spoken)
    else:
        concepts, names = attribute_concepts(spoken, experiment.world.num_values)
        known = {"meanings": spoken, "concepts": concepts, "concept_names": names}
    if channel.kind in WORDS_OF_VALUES:
        words = np.concatenate([message.symbols.float().cpu().numpy().transpose(1, 0, 2) for message in said])
        messages, symbol_names = spell(words[:size], channel.num_levels)
        vocab_size, eos = channel.num_levels**channel.word_size, None
    else:
        symbols = [message.symbols.t().cpu().numpy() for message in said]  # (batch, num_steps) each
        lengths = np.concatenate([(each != PAD).sum(1) for each in symbols])[:size]
        flat = np.concatenate([each[each != PAD] for each in symbols]).astype(np.int32)[: lengths.sum()]
        messages, symbol_names = Ragged.from_lengths(flat, lengths), None
        vocab_size, eos = channel.vocab_size, EOS if channel.length == "variable" else None
    made = {"vocab_size": vocab_size, "max_len": channel.max_len}
    if channel.kind == "continuous":
        made["symbols"] = f"rounded to {channel.num_levels} levels; the receiver hears them as they are"
    return Corpus(messages=messages, eos=eos, symbol_names=symbol_names, metadata=made, **known)


def spell(words: NDArray[np.float32], num_levels: int) -> tuple[Ragged, tuple[str, ...] | None]:
    """Words of values as symbols: a word's id is 1 + the number whose digits are its levels, the lowest first.

    Args:
        words: Values from 0 to 1, (num_messages, max_len, word_size).
        num_levels: Levels of a value.

    Returns:
        The messages, and no names. Where ids would not fit 31 bits: ids from 1 in the order of the digits, and the
        digits as names, that of id 0 being empty.
    """
    levels = np.rint(words * (num_levels - 1)).astype(np.int64)
    num_messages, max_len, word_size = words.shape
    names = None
    if num_levels**word_size < 2**31:
        ids = 1 + levels @ num_levels ** np.arange(word_size)
    else:
        kinds, place = np.unique(levels.reshape(-1, word_size), axis=0, return_inverse=True)
        ids = 1 + place
        names = ("", *(("" if num_levels <= 10 else ".").join(map(str, kind)) for kind in kinds.tolist()))
    flat = ids.reshape(-1).astype(np.int32)
    return Ragged.from_lengths(flat, np.full(num_messages, max_len)), names


def _topics(world: World | SetWorld, experiment: Experiment) -> Iterator[Any]:
    """What to speak of, a batch at a time: at least as much as the corpus has room for, where there is so much."""
    size = experiment.evaluation.corpus_size
    if isinstance(world, World):
        meanings = world.distinct_meanings(size)
        yield from np.split(meanings, range(BATCH, len(meanings), BATCH))
        return
    for number in range(-(-size // experiment.training.batch_size)):
        yield world.batch(world.corpus_split, number)


def _of_rules(rules: Rules, chosen: NDArray[np.int64]) -> dict[str, Any]:
    """Meanings and concepts of rounds, as a corpus has them."""
    known: dict[str, Any] = {"meanings": rules.meanings[chosen]}
    if rules.concepts is not None:
        rows = [rules.concepts[rule].tolist() for rule in chosen.tolist()]
        known |= {"concepts": Ragged.from_rows(rows), "concept_names": rules.concept_names}
    return known


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
