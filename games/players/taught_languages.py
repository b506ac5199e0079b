"""A language that agents are taught: its messages for the meanings of a world, of a grammar, a corpus, or several."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ecsuite.agents.message import EOS, PAD
from ecsuite.agents.taught import Language
from ecsuite.corpus import Corpus
from ecsuite.formats import read_corpus
from ecsuite.games.channels.channels import Channel
from ecsuite.games.worlds.object_worlds import ObjectWorld
from ecsuite.games.worlds.world import Batch, World
from ecsuite.grammars.clauses import WEIGHT, clause_variants, is_clauses
from ecsuite.grammars.icy import ALIASES
from ecsuite.grammars.making import make_corpus
from ecsuite.grammars.registry import BASELINES, GRAMMARS
from ecsuite.parts.own_code import is_foreign
from ecsuite.runtime.errors import ConfigError, CorpusError, shown

MOST_MEANINGS = 2**16
"""Of a world with more, so many are looked at for one that a language lacks."""


class TaughtLanguage:
    """The messages of a language, by meaning.

    Args:
        place: The setting, for messages.
        options: What is taught.
        world: Has the meanings.
        channel: Has the symbols.
        seed: Of the run: of which meanings are taught, and in which of their messages.

    Raises:
        ConfigError: If there is no such language, a meaning lacks a message, or a message does not fit the channel.
    """

    def __init__(
        self, place: str, options: Language.Options, world: World, channel: Channel, seed: int
    ) -> None:
        self.place, self.options, self.seed = place, options, seed
        corpora = [_corpus(place, name, options, world, channel) for name in options.languages]
        shares = options.shares or (1.0,) * len(corpora)
        meanings = np.concatenate([np.asarray(corpus.meanings, dtype=np.float64) for corpus in corpora])
        distinct, of_rows = np.unique(meanings, axis=0, return_inverse=True)
        self.numbers = {row.tobytes(): number for number, row in enumerate(distinct)}
        """The number of each meaning, by its values."""
        self.messages = _padded(place, corpora, channel)
        """The message of each row, (num_rows, num_steps), with EOS and PAD after its end."""
        weights = np.concatenate(
            [share * _weights(corpus) for share, corpus in zip(shares, corpora, strict=True)]
        )
        self._sort(of_rows.ravel(), weights)
        taught = np.random.default_rng([seed, *b"taught meanings"]).permutation(len(distinct))
        self.is_taught = np.zeros(len(distinct), dtype=bool)
        self.is_taught[taught[: max(1, round(options.share * len(distinct)))]] = True
        self._require_meanings(world)
        self._drawn: tuple[int, NDArray[np.int64]] | None = None

    def rounds(self, world: World, batch: Batch, *, is_taught: bool) -> tuple[Batch, NDArray[np.int64]]:
        """The rounds of a batch about meanings that are taught, or about others, and the numbers of their meanings.

        Raises:
            ConfigError: If a round is about a meaning for which the language has no message, and it is of those that
                are taught.
        """
        meanings = np.asarray(world.describe(batch).meanings, dtype=np.float64)
        numbers = np.array([self.numbers.get(row.tobytes(), -1) for row in meanings], dtype=np.int64)
        if is_taught and (numbers < 0).any():
            raise self._lacks(meanings[numbers < 0][0])
        rows = np.flatnonzero((numbers >= 0) & (self.is_taught[numbers] == is_taught))
        return batch.take(rows), numbers[rows]

    def ids(self, meanings: NDArray[np.int64], epoch: int) -> Tensor:
        """What is said of meanings, by their numbers, in an epoch: ids, (num_steps, batch)."""
        epoch = epoch if self.options.redraw else 0
        if self._drawn is None or self._drawn[0] != epoch:
            draws = np.random.default_rng([self.seed, epoch, *b"variants"]).random(len(self.numbers))
            place = (self.cumulative <= draws[:, None] * self.cumulative[:, -1:]).sum(1)
            self._drawn = epoch, self.rows[np.arange(len(place)), place.clip(max=self.rows.shape[1] - 1)]
        return torch.from_numpy(self.messages[self._drawn[1][meanings]].T.copy())

    def has(self, meanings: NDArray[np.int64], said: Tensor) -> Tensor:
        """Whether the language has these messages, ids (num_steps, batch), for meanings, by their numbers, (batch,)."""
        ids = np.full((said.shape[1], max(len(said), self.messages.shape[1])), PAD)
        ids[:, : len(said)] = said.t().cpu().numpy()
        known = np.full((len(self.messages), ids.shape[1]), PAD)
        known[:, : self.messages.shape[1]] = self.messages
        same = (known[self.rows[meanings]] == ids[:, None]).all(-1)
        weights = np.diff(self.cumulative[meanings], axis=1, prepend=0.0)
        return torch.from_numpy((same & (weights > 0)).any(1))

    def described(self) -> Mapping[str, Any]:
        """What it is, for the metadata of the run."""
        digest = hashlib.sha256(self.messages.tobytes() + self.cumulative.tobytes()).hexdigest()
        return {"meanings": int(self.is_taught.sum()), "of": len(self.is_taught), "sha256": digest}

    def _sort(self, of_rows: NDArray[np.int64], weights: NDArray[np.float64]) -> None:
        """The rows of each meaning, (num_meanings, most rows of one), and the sums of their weights."""
        order = np.argsort(of_rows, kind="stable")
        counts = np.bincount(of_rows)
        place = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
        self.rows = np.zeros((len(counts), counts.max()), dtype=np.int64)
        shown_weights = np.zeros(self.rows.shape)
        self.rows[of_rows[order], place] = order
        shown_weights[of_rows[order], place] = weights[order]
        self.cumulative = shown_weights.cumsum(1)
        if (self.cumulative[:, -1] <= 0).any():
            raise ConfigError(f"{self.place}.shares: expected more than 0 for a language with each meaning")

    def _require_meanings(self, world: World) -> None:
        """Refuse a language without a message for a meaning of training."""
        if not isinstance(world, ObjectWorld):
            self.rounds(world, world.batch("train", 0), is_taught=True)
            return
        for batch in world.corpus_batches(MOST_MEANINGS):
            described = world.describe(batch)
            is_trained = described.columns.get("split", np.full(len(batch), "train")) == "train"
            for row in np.asarray(described.meanings, dtype=np.float64)[is_trained]:
                if row.tobytes() not in self.numbers:
                    raise self._lacks(row)

    def _lacks(self, meaning: NDArray[np.float64]) -> ConfigError:
        values = ", ".join(f"{value:g}" for value in meaning.tolist())
        return ConfigError(
            f"{self.place}: {' and '.join(self.options.languages)}: no message for the meaning {values} of the world: "
            "expected one for each meaning of training"
        )


def is_grammar(name: str) -> bool:
    """Whether the name of a language is that of a grammar, ours or a user's, and not that of a corpus."""
    first = name.replace("+", ",").partition(",")[0].strip()
    return is_foreign(name) or ALIASES.get(first.lower(), first.lower()) in GRAMMARS.parts


def content_of(languages: Sequence[str]) -> str:
    """The SHA-256 of languages: of corpora the messages and meanings, of grammars the names."""
    found = hashlib.sha256()
    for name in languages:
        if is_grammar(name):
            found.update(name.encode())
            continue
        corpus = _read(name)
        found.update(corpus.content().values.tobytes() + corpus.content().offsets.tobytes())
        found.update(b"" if corpus.meanings is None else np.ascontiguousarray(corpus.meanings).tobytes())
    return found.hexdigest()


def _corpus(place: str, name: str, options: Language.Options, world: World, channel: Channel) -> Corpus:
    """The corpus of a language, with meanings as the world has them."""
    try:
        corpus = _made(name, options, world, channel) if is_grammar(name) else _read(name)
    except (ConfigError, CorpusError) as error:
        raise ConfigError(f"{place}: {error}") from None
    if corpus.meanings is None or not len(corpus.messages):
        raise ConfigError(
            f"{place}: {name} has no {'meanings' if len(corpus.messages) else 'messages'}: expected both"
        )
    width = world.describe(world.batch("train", 0)).meanings.shape[1]
    found = (
        corpus.meanings.reshape(len(corpus.messages), -1).shape[1]
        if corpus.meanings.dtype.kind in "iuf"
        else 0
    )
    if found != width:
        raise ConfigError(
            f"{place}: {name} has meanings of {found} numbers, and those of the world have {width}"
        )
    return corpus


def _read(name: str) -> Corpus:
    """A corpus in a file or folder."""
    if not Path(name).exists():
        raise ConfigError(f"no grammar and no corpus {shown(name)}; grammars: ecsuite list grammars")
    return read_corpus(name)


def _made(name: str, options: Language.Options, world: World, channel: Channel) -> Corpus:
    """The corpus of a grammar, in the sizes of the world and the channel."""
    if name.partition(",")[0].strip().lower() in BASELINES:
        raise ConfigError(f"{name} has no meanings: expected a language that has them")
    sizes = world.num_values
    if sizes is None:
        raise ConfigError(f"{name}: the objects of the world have no attribute values, expected a corpus")
    if is_clauses(name):
        if len(sizes) != 3 or sizes[0] != sizes[1]:
            raise ConfigError(
                f"{name}: expected a world of agents, patients and actions, such as world events"
            )
        return clause_variants(name, options.seed, entities=sizes[0], actions=sizes[2])
    if len(set(sizes)) > 1:
        raise ConfigError(f"{name}: expected attributes with as many values each, got {list(sizes)}")
    if channel.max_len < len(sizes):
        raise ConfigError(
            f"{name}: messages of {len(sizes)} words are longer than those of the channel (channel.max_len: "
            f"{channel.max_len})"
        )
    try:
        return make_corpus(
            name,
            seed=options.seed,
            num_attributes=len(sizes),
            num_values=sizes[0],
            word_length=channel.max_len // len(sizes),
            vocab_size=channel.vocab_size,
        )
    except ConfigError as error:
        said = (
            str(error)
            .replace("--word-length", "channel.max_len")
            .replace("--vocab-size", "channel.vocab_size")
        )
        raise ConfigError(said) from None


def _weights(corpus: Corpus) -> NDArray[np.float64]:
    """How often each message of a corpus is used: its column `weight`, or all equally often."""
    try:
        weights = np.asarray(corpus.columns.get(WEIGHT, np.ones(len(corpus.messages))), dtype=np.float64)
    except (TypeError, ValueError):
        weights = np.full(1, np.nan)
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise ConfigError("a corpus that is taught: expected weights of at least 0")
    return weights


def _padded(place: str, corpora: Sequence[Corpus], channel: Channel) -> NDArray[np.int64]:
    """The messages of corpora, (num_messages, max_len + 1 where there is EOS), with EOS and PAD after their ends."""
    named: dict[str, int] = {}
    symbols = np.concatenate([_numbered(corpus, named) for corpus in corpora])
    lengths = np.concatenate([corpus.content().lengths for corpus in corpora])
    for wrong in (symbols.max(initial=1), symbols.min(initial=1)):
        if not 1 <= wrong <= channel.vocab_size:
            raise ConfigError(
                f"{place}: the channel has no symbol {wrong}: expected symbols from 1 to {channel.vocab_size} "
                "(channel.vocab_size)"
            )
    for wrong in (lengths.max(), lengths.min()):
        if wrong > channel.max_len or (not channel.has_eos and wrong < channel.max_len):
            raise ConfigError(
                f"{place}: a message has {wrong} symbols, and those of the channel have "
                f"{'at most' if channel.has_eos else 'exactly'} {channel.max_len} (channel.max_len)"
            )
    padded = np.full((len(lengths), channel.max_len + channel.has_eos), PAD, dtype=np.int64)
    padded[np.arange(padded.shape[1]) < lengths[:, None]] = symbols
    if channel.has_eos:
        padded[np.arange(len(padded)), lengths] = EOS
    return padded


def _numbered(corpus: Corpus, named: dict[str, int]) -> NDArray[np.int64]:
    """The symbols of all messages without EOS; those with names by the number of the name, from 1, which are added."""
    symbols = corpus.content().values.astype(np.int64)
    if corpus.symbol_names is None:
        return symbols
    used, places = np.unique(symbols, return_inverse=True)
    numbers = [named.setdefault(corpus.symbol_names[each], len(named) + 1) for each in used.tolist()]
    return np.array(numbers, dtype=np.int64)[places]
