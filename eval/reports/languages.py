"""What is said of what: the meanings of a corpus as texts, its messages, and what the most used of them are about.

Nothing here needs more than the corpus, so that every language is shown alike: of a run, a grammar or a file.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.corpus import Corpus
from ecsuite.eval.counts.counting import narrow_content, num_distinct_rows
from ecsuite.eval.reports.samples import who_speaks, with_file
from ecsuite.eval.statistics.contingency import Ints
from ecsuite.runtime.printable import counted, printable

MAX_GRID = 12
"""Most values of an attribute in a grid."""
MAX_NAMED = 2
"""Most concepts that say what a message is about."""
LEAST_GAIN = 0.1
"""A message is about a concept if the share of its uses that have it is this much more than among all messages,"""
MANY = 10
"""and, if it is used less often than this, more than half of its uses have it."""
GOLDEN = (5**0.5 - 1) / 2
"""Multiples of it, without their whole part, are spread evenly for any number of them."""

MOST_MESSAGES = 100_000
"""Messages that are looked at one by one; ten million would take minutes and gigabytes."""

Message = tuple[int, ...]
"""Content symbols."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """A message, or a symbol at a place, and what it is used for."""

    symbols: Message
    place: int | None
    """The place of the symbol in its messages, from 1; None for a message."""
    count: int
    """Number of messages."""
    about: tuple[tuple[str, float], ...]
    """Concepts that are more frequent among these uses than among all, each with its share of the uses."""

    @property
    def about_text(self) -> str:
        """Such as `color=red (100 %), shape=star (60 %)`."""
        return ", ".join(f"{name} ({100 * share:.0f} %)" for name, share in self.about)


@dataclass(frozen=True, kw_only=True, slots=True)
class Grid:
    """Messages of all combinations of two attributes."""

    attributes: tuple[str, str]
    """Names, of rows and of columns."""
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    indices: Ints
    """The index of the message of each combination, -1 where there is none, (num_rows, num_columns)."""
    speaker: str
    """Whose messages they are, `, speaker 0`; empty where one speaks."""


class Language:
    """A corpus as people look at it; of a large one, messages that are spread evenly.

    Args:
        corpus: Its messages, with meanings and concepts where they are known.
    """

    def __init__(self, corpus: Corpus) -> None:
        self.all_messages = Corpus(corpus.messages, eos=corpus.eos)
        """Of the whole corpus, whose meanings need not stay in memory."""
        if (number := len(corpus.messages)) > MOST_MESSAGES:
            corpus = corpus.take(np.linspace(0, number - 1, MOST_MESSAGES).astype(np.int64))
        self.corpus = corpus
        content = corpus.content()
        self.messages: list[Message] = [tuple(content[index].tolist()) for index in range(len(content))]

    def __len__(self) -> int:
        """Number of messages that are looked at."""
        return len(self.messages)

    @cached_property
    def speakers(self) -> list[str] | None:
        """Who says each message, or `unknown`; None where one speaks, or the corpus does not say it."""
        speakers = who_speaks(self.corpus)
        if speakers is None:
            return None
        return ["unknown" if speaker is None else str(speaker) for speaker in speakers.tolist()]

    @cached_property
    def symbols(self) -> list[int]:
        """The symbols that are used, by increasing id."""
        return [int(symbol) for symbol in np.unique(self.corpus.content().values)]

    def by_use(self) -> list[int]:
        """The symbols, most used first."""
        symbols, counts = np.unique(self.corpus.content().values, return_counts=True)
        return [int(symbol) for symbol in symbols[np.argsort(-counts, kind="stable")]]

    def name(self, symbol: int) -> str:
        """A symbol as text."""
        names = self.corpus.symbol_names
        return str(symbol) if names is None else names[symbol]

    def spoken(self, message: Message) -> str:
        """A message as text."""
        return " ".join(map(self.name, message)) or "(empty)"

    def concepts(self, index: int) -> list[str]:
        """The names of the concepts of a message: those of the corpus, or `attribute0=3` of integer meanings."""
        corpus = self.corpus
        if corpus.concepts is not None:
            return corpus.concepts_of(index)
        if corpus.meanings is None or corpus.meanings.ndim != 2 or corpus.meanings.dtype.kind not in "iuU":
            return []
        values = corpus.meanings[index].tolist()
        return [f"{corpus.name_of_attribute(place)}={value}" for place, value in enumerate(values)]

    def meaning(self, index: int) -> str:
        """What a message is about, as text, with the name of an image of the user's; empty if it is not known."""
        return with_file(self.corpus, index, phrase(self.concepts(index)))

    @cached_property
    def attributes(self) -> tuple[str, ...]:
        """The attributes, if every meaning has one value of each; otherwise none."""
        keys = [_keys(self.concepts(index)) for index in range(len(self))]
        is_regular = bool(keys) and len(set(keys)) == 1 and len(set(keys[0])) == len(keys[0])
        return keys[0] if is_regular and all(keys[0]) else ()

    def values(self, index: int) -> tuple[str, ...]:
        """The values of the attributes of a meaning."""
        return tuple(name.partition("=")[2] for name in self.concepts(index))

    def sample(self, number: int) -> list[int]:
        """Indices of messages, spread evenly; of different meanings, or speakers, where there are as many."""
        first: dict[Any, int] = {}
        for index in range(len(self)):
            meaning = tuple(self.concepts(index)) or index
            first.setdefault((meaning, self.speakers and self.speakers[index]), index)
        indices = list(first.values()) if len(first) >= number else list(range(len(self)))
        chosen, step = dict.fromkeys(indices[: number if len(indices) <= number else 0]), 0
        while len(chosen) < min(number, len(indices)):
            chosen[indices[int(step * GOLDEN % 1 * len(indices))]] = None
            step += 1
        return (
            sorted(chosen)
            if self.attributes
            else sorted(chosen, key=lambda index: (self.meaning(index), index))
        )

    @cached_property
    def grid(self) -> Grid | None:
        """The first speaker's messages by two attributes; None if meanings have not two, or too many values."""
        if len(self.attributes) != 2:
            return None
        speakers = self.speakers
        own = [index for index in range(len(self)) if speakers is None or speakers[index] == speakers[0]]
        place = {self.values(index): index for index in reversed(own)}
        values = sorted(place, key=lambda each: place[each])
        rows, columns = (list(dict.fromkeys(value[side] for value in values)) for side in range(2))
        if max(len(rows), len(columns)) > MAX_GRID:
            return None
        indices = np.array([[place.get((row, column), -1) for column in columns] for row in rows])
        return Grid(
            attributes=(self.attributes[0], self.attributes[1]),
            rows=tuple(rows),
            columns=tuple(columns),
            indices=indices,
            speaker="" if speakers is None else f", speaker {speakers[0]}",
        )

    def most_used_messages(self, number: int) -> list[Usage]:
        """The most used messages, most used first; without those that are used once."""
        counts = Counter(self.messages)
        several = [message for message, count in counts.items() if count > 1]
        wanted = sorted(several, key=lambda message: (-counts[message], message))[:number]
        uses = {message: [] for message in wanted}  # type: dict[Message, list[int]]
        for index, message in enumerate(self.messages):
            if message in uses:
                uses[message].append(index)
        return [self._usage(message, None, indices) for message, indices in uses.items()]

    def most_used_symbols(self, number: int) -> list[Usage]:
        """The most used symbols by their place in the message, most used first; none if no message has two."""
        if max(map(len, self.messages), default=0) < 2:
            return []
        uses: dict[tuple[int, int], list[int]] = {}
        for index, message in enumerate(self.messages):
            for place, symbol in enumerate(message, start=1):
                uses.setdefault((symbol, place), []).append(index)
        wanted = sorted(uses, key=lambda each: (-len(uses[each]), each[1], each[0]))[:number]
        return [self._usage((symbol,), place, uses[symbol, place]) for symbol, place in wanted]

    @cached_property
    def _has(self) -> tuple[list[str], NDArray[np.bool_]]:
        """The names of all concepts, and which messages have each, (num_messages, num_concepts)."""
        rows = [self.concepts(index) for index in range(len(self))]
        names = {name: None for row in rows for name in row}
        ids = {name: number for number, name in enumerate(names)}
        has = np.zeros((len(rows), len(names)), dtype=bool)
        for index, row in enumerate(rows):
            has[index, [ids[name] for name in row]] = True
        return list(names), has

    def _usage(self, symbols: Message, place: int | None, uses: Sequence[int]) -> Usage:
        names, has = self._has
        shares = has[uses].mean(axis=0)
        gains = shares - has.mean(axis=0)
        is_frequent = shares > (0.0 if len(uses) >= MANY else 0.5)
        named = [
            each
            for each in np.argsort(-gains, kind="stable")
            if gains[each] >= LEAST_GAIN and is_frequent[each]
        ]
        about = tuple((names[each], float(shares[each])) for each in named[:MAX_NAMED])
        return Usage(symbols=symbols, place=place, count=len(uses), about=about)


def heading(language: Language, path: Path) -> tuple[str, list[str]]:
    """The title of a language, and up to three lines on how it was learnt and on its sizes.

    Args:
        language: The language.
        path: Where it lies, which names it.
    """
    metadata = language.corpus.metadata
    config = _mapping(metadata.get("config"))
    training, chance = _mapping(metadata.get("training")), _mapping(metadata.get("chance"))
    name, game = path.name, config.get("name")
    title = name if game in (None, name) else f"{name} ({game})"
    lines = []
    if isinstance(accuracy := training.get("accuracy"), int | float):
        by_chance = chance.get("accuracy")
        chance_text = f" (chance {by_chance:.1%})" if isinstance(by_chance, int | float) else ""
        lines.append(f"accuracy {accuracy:.1%}{chance_text} at step {training.get('step')}")
    kinds = {part: _mapping(config.get(part)).get("kind") for part in ("task", "world", "channel")}
    if all(kinds.values()):
        seed = _mapping(config.get("training")).get("seed")
        lines.append("{task} game, world {world}, channel {channel}".format(**kinds) + f", seed {seed}")
    content = narrow_content(language.all_messages)
    mean = float(content.lengths.mean()) if len(content) else 0.0
    num_symbols = len(np.unique(content.values))
    sizes = (
        f"{counted(len(content), 'message')}, {num_distinct_rows(content):,} distinct; "
        f"{counted(num_symbols, 'symbol')}; mean length {mean:.1f}"
    )
    some = f"; below: of {len(language):,} of them" if len(language) < len(content) else ""
    return printable(title), list(map(printable, [*lines, sizes + some]))


def phrase(names: Sequence[str]) -> str:
    """Concepts as one text: `color=red shape=star`, `red or circle`."""
    for word in ("and", "or"):  # ShapeWorld's rules have their connective among the concepts
        if word in names:
            return f" {word} ".join(name for name in names if name != word)
    return " ".join(names)


def sparkline(values: Iterable[float], ticks: str) -> str:
    """Values from 0 to 1 as a line of characters, from the lowest to the highest of `ticks`."""
    return "".join(ticks[min(int(value * len(ticks)), len(ticks) - 1)] for value in values if value == value)


def thinned(values: Sequence[float], number: int) -> Iterator[float]:
    """At most so many of the values, spread evenly, the first and the last among them."""
    for place in np.unique(np.linspace(0, len(values) - 1, num=min(number, len(values))).round().astype(int)):
        yield values[place]


def _keys(names: Sequence[str]) -> tuple[str, ...]:
    """What stands before the `=` of names; empty where there is none."""
    return tuple(name.partition("=")[0] if "=" in name else "" for name in names)


def _mapping(value: Any) -> Mapping[str, Any]:
    """A mapping of the metadata, which any program may have written; empty if it is none."""
    return value if isinstance(value, Mapping) else {}


def corpus_name(corpus: Corpus) -> str:
    """What a corpus is called in titles: its run folder or file; `corpus` if it was made in Python."""
    source = Path(str(corpus.metadata.get("source_path", "")))
    return (source.resolve().parent.name if source.name == "corpus.jsonl" else source.name) or "corpus"
