"""What is said of what: the meanings of a corpus as texts, its messages, and what the most used of them are about.

Nothing here needs more than the corpus, so that every language is shown alike: of a run, a grammar or a file.
"""

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.text import Text

from ecsuite.corpus import SPEAKER, Corpus
from ecsuite.eval.figures.canvas import COLOURS, ink_on
from ecsuite.eval.results.logs import first_measure, read_log
from ecsuite.eval.statistics.counting import (
    Ints,
    first_rows,
    flat,
    narrow_content,
    num_distinct_rows,
    num_labels,
)
from ecsuite.runtime.printable import counted, printable
from ecsuite.tables.cells import Cell, nothing, text
from ecsuite.tables.forms import Form, publish
from ecsuite.tables.table import Column, Table, name_column, number_column, row_of

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

PALE = "#D9D9D9"
"""Colour of symbols beyond the colours."""
SYMBOL_COLOURS = (
    *COLOURS[:6],
    COLOURS[7],
    "#8C8C8C",
    *("#7FB8D8", "#EBAF80", "#7FCFB9", "#E6BDD3"),
    COLOURS[6],
)
"""Colours of symbols: those of Okabe and Ito, and lighter ones."""

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


class LanguageView:
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


def symbol_colours(language: LanguageView) -> dict[int, str]:
    """The colour of each symbol: by id where there are as many colours, else of the most used ones."""
    symbols = language.symbols
    if len(symbols) > len(SYMBOL_COLOURS):
        symbols = sorted(language.by_use()[: len(SYMBOL_COLOURS)])
    elif not symbols or 1 <= symbols[0] <= symbols[-1] <= len(SYMBOL_COLOURS):
        return {symbol: SYMBOL_COLOURS[symbol - 1] for symbol in symbols}
    return dict(zip(symbols, SYMBOL_COLOURS, strict=False))


def heading(language: LanguageView, path: Path) -> tuple[str, list[str]]:
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


NUM_SAMPLES = 10
"""Messages that are shown of a corpus."""
MOST_FEATURES = 3
"""Numbers that are shown of a vector of features."""
MOST_SYMBOLS = 100
"""Symbols that are shown of a message."""
_UNNAMED = re.compile(r"attribute\d+=")


@dataclass(frozen=True, kw_only=True, slots=True)
class Example:
    """A message and its meaning as texts."""

    meaning: str | None
    """The meaning: `color=red shape=star`; None if it is not known."""
    message: str
    """The symbols, with spaces between them, without EOS."""
    speaker: str | None
    """Who says it; None where one speaks, or it is not known."""

    def to_json(self) -> dict[str, Any]:
        """The sample as JSON-ready data."""
        return asdict(self)


def samples_of(corpus: Corpus, labels: NDArray[np.integer[Any]]) -> tuple[Example, ...]:
    """Messages spread evenly over a corpus, at most `NUM_SAMPLES`, distinct ones as far as there are enough.

    Args:
        corpus: The corpus.
        labels: The number of each different message, in order of first occurrence, shape (num_messages,).
    """
    number = NUM_SAMPLES
    rows = first_rows(labels, num_labels(labels))  # ascending, as labels are
    if len(rows) < min(number, len(labels)):
        others = np.setdiff1d(np.arange(len(labels)), rows)
        rows = np.sort(np.concatenate([rows, _spread(others, number - len(rows))]))
    rows, speakers = _spread(rows, number), who_speaks(corpus)
    content = corpus.take(rows).content()
    return tuple(
        Example(
            meaning=meaning_text(corpus, row),
            message=_message(corpus, content[place]),
            speaker=None if speakers is None or speakers[row] is None else str(speakers[row]),
        )
        for place, row in enumerate(rows.tolist())
    )


def who_speaks(corpus: Corpus) -> NDArray[Any] | None:
    """The speaker of each message, (num_messages,); None where one speaks, or it is not known."""
    speakers = corpus.columns.get(SPEAKER)
    return None if speakers is None or not (speakers[1:] != speakers[:1]).any() else speakers


def _spread(rows: NDArray[np.int64], number: int) -> NDArray[np.int64]:
    """At most `number` of the rows, at equal distances."""
    if len(rows) <= number:
        return rows
    places: NDArray[np.int64] = rows[np.linspace(0, len(rows) - 1, number).round().astype(int)]
    return places


def _message(corpus: Corpus, symbols: NDArray[np.int32]) -> str:
    names = corpus.symbol_names
    shown = symbols[:MOST_SYMBOLS].tolist()
    return " ".join(str(symbol) if names is None else names[symbol] for symbol in shown)


def with_file(corpus: Corpus, row: int, meaning: str) -> str:
    """A meaning as text, after the name of the image that the message is about, where the corpus has names."""
    if "file" not in corpus.columns or corpus.columns["file"][row] is None:
        return meaning
    name, is_number = str(corpus.columns["file"][row]), _UNNAMED.match(meaning)
    return name if not meaning or is_number else f"{name}: {meaning}"


def meaning_text(corpus: Corpus, row: int) -> str | None:
    """The concepts where they have names of their own, else the values; after the name of the user's image."""
    meaning = _meaning_text(corpus, row)
    return (with_file(corpus, row, _phrase(corpus, row)) or meaning) if "file" in corpus.columns else meaning


def _phrase(corpus: Corpus, row: int) -> str:
    """The concepts of a message as text; empty if they are not known."""
    if corpus.concepts is None or not corpus.concept_names:
        return ""
    return " ".join(corpus.concepts_of(row))


def _meaning_text(corpus: Corpus, row: int) -> str | None:
    concepts = None if corpus.concepts is None else corpus.concepts_of(row)
    is_unnamed = concepts is None or all(_UNNAMED.match(name) for name in concepts)
    if corpus.meanings is None or not is_unnamed:
        return None if concepts is None else " ".join(concepts)
    values = flat(corpus.meanings)[row].tolist()
    if not any(isinstance(value, float) for value in values):
        return " ".join("-" if value == -1 else str(value) for value in values)
    shown = " ".join(f"{value:.2f}" for value in values[:MOST_FEATURES])
    return f"{shown} … ({len(values)} numbers)" if len(values) > MOST_FEATURES else shown


MAX_LINES = 10
"""Most messages in the table."""
NUM_USED = 5
"""Messages, and symbols, in the lists of the most used."""
CURVE_WIDTH = 40
"""Most characters of the learning curve."""
BLOCKS, ASCII = "▁▂▃▄▅▆▇█", "_.-=^"
"""Characters of the learning curve, from low to high; the second where the terminal has no others."""


def print_language(
    language: LanguageView, title: str, lines: Sequence[str], run: Path | None, form: Form = Form.TEXT
) -> None:
    """Print a language; text has a heading and the learning curve. See `language_page.draw_language`."""
    if form is Form.TEXT:
        console = Console(highlight=False, force_jupyter=False)
        console.print(Text(title, "bold"))
        for line in (*lines, *([] if run is None else [learning_curve(run)]), ""):
            console.print(Text(line))
    tables = [grid_table(language) if language.grid is not None else sample_table(language)]
    for heading, used in (
        ("Most used messages", language.most_used_messages(NUM_USED)),
        ("Most used symbols, by place", language.most_used_symbols(NUM_USED)),
    ):
        tables += [used_table(language, heading, used)] if used else []
    publish(tables, form)


def learning_curve(run: Path) -> str:
    """The accuracy of validation as one line, or another measure of a run that has none."""
    measure = first_measure(run)
    values = read_log(run, measure)["valid"]
    ticks = BLOCKS if _can_print(BLOCKS) else ASCII
    is_share = measure == "accuracy"
    form = ".1%" if is_share else ".4g"
    shares = values if is_share else within_their_range(values)
    return (
        f"{measure} {values[0]:{form}} {sparkline(thinned(shares, CURVE_WIDTH), ticks)} {values[-1]:{form}}"
    )


def within_their_range(values: Sequence[float]) -> Sequence[float]:
    """Where each value lies between the least finite one, 0, and the greatest, 1; NaN stays."""
    array = np.array(values, dtype=np.float64)
    finite = array[np.isfinite(array)]
    if not len(finite):
        return values
    places: list[float] = ((array - finite.min()) / (np.ptp(finite) or 1.0)).clip(0.0, 1.0).tolist()
    return places


def grid_table(language: LanguageView) -> Table:
    """Messages by two attributes."""
    grid = language.grid
    assert grid is not None
    first = name_column(grid.attributes[0], f"{grid.attributes[0]}, {grid.attributes[1]}{grid.speaker}")
    rows = [
        row_of(
            text(name, role="dim"),
            *(tiles(language, language.messages[index]) if index >= 0 else None for index in indices),
        )
        for name, indices in zip(grid.rows, grid.indices.tolist(), strict=True)
    ]
    return Table(columns=(first, *(Column(name, heading=name) for name in grid.columns)), rows=rows)


def sample_table(language: LanguageView) -> Table:
    """Some messages with their meanings."""
    indices = language.sample(MAX_LINES)
    heading = f"{len(indices)} of {len(language):,} messages" if len(indices) < len(language) else "messages"
    has_meanings = bool(language.meaning(0))
    columns = [Column("message", heading=heading), Column("meaning", wraps=True, is_shown=has_meanings)]
    columns += [] if language.speakers is None else [Column("speaker")]
    rows = []
    for index in indices:
        speaker = [] if language.speakers is None else [str(language.speakers[index])]
        rows.append(row_of(tiles(language, language.messages[index]), language.meaning(index), *speaker))
    return Table(columns=columns, rows=rows)


def used_table(language: LanguageView, heading: str, used: Sequence[Usage]) -> Table:
    """A list of the most used messages or symbols."""
    rows = [
        row_of(
            tiles(language, usage.symbols, "" if usage.place is None else f"{usage.place}. "),
            usage.count,
            usage.about_text or "no concept in particular",
        )
        for usage in used
    ]
    columns = (name_column("message", heading), number_column("uses"), Column("about", wraps=True))
    return Table(columns=columns, rows=rows)


def tiles(language: LanguageView, message: Message, before: str = "") -> Cell:
    """A message after a text, each symbol on its colour where the terminal has colours; of a long one the beginning."""
    if not message:
        return nothing("(empty)")
    colours = symbol_colours(language)
    shown, spans = before, []
    for number, symbol in enumerate(message[:MOST_SYMBOLS]):
        colour = colours.get(symbol, PALE)
        shown += " " if number else ""
        begin, shown = len(shown), shown + printable(language.name(symbol))
        spans.append((begin, len(shown), f"{ink_on(colour)} on {colour}"))
    shown += " …" if len(message) > MOST_SYMBOLS else ""
    return Cell(value=shown, lines=(shown,), colours=tuple(spans))


def _can_print(text: str) -> bool:
    """Whether standard output has these characters."""
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True
