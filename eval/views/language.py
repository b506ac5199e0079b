"""Views of a language: example messages with their meanings, and concepts associated with messages and symbols.

`score`, `show`, the HTML page and the figures select and format messages by the functions here. They need only the
corpus, so languages of runs, grammars and files look alike.
"""

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.text import Text

from ecsuite.corpus import SPEAKER, Corpus
from ecsuite.eval.counts.counting import flat, message_labels, narrow_content, num_distinct_rows
from ecsuite.eval.results.logs import first_measure, read_log
from ecsuite.eval.statistics.contingency import Ints
from ecsuite.eval.views.figures.canvas import COLOURS, ink_on
from ecsuite.formats.directory import CORPUS
from ecsuite.games.tasks.directions import held_out_of, measure_title
from ecsuite.runtime.printable import counted, printable
from ecsuite.tables.cells import Cell, nothing, text
from ecsuite.tables.forms import Form, publish
from ecsuite.tables.table import Column, Table, name_column, number_column, row_of

NUM_EXAMPLES = 10
"""Number of example messages printed for a corpus."""
NUM_USED = 5
"""Number of messages, and of symbols, in the lists of the most used."""
MOST_MESSAGES = 100_000
"""Maximum number of messages that are read one by one; ten million would take minutes and gigabytes."""
MOST_SYMBOLS = 100
"""Maximum number of symbols shown per message."""
MOST_FEATURES = 3
"""Maximum number of values shown per feature vector."""
EMPTY = "(empty)"
"""Text for a message without symbols."""
MAX_GRID = 12
"""Maximum number of values of an attribute in a grid."""
MAX_NAMED = 2
"""Maximum number of concepts shown for a message."""
LEAST_GAIN = 0.1
"""Minimum excess of a concept's share among the uses of a message over its share among all messages;"""
MANY = 10
"""for messages with fewer uses than this, more than half of the uses must also have the concept."""
GOLDEN = (5**0.5 - 1) / 2
"""Golden ratio; the fractional parts of its multiples are spread evenly for any number of them."""
STEPS, TRIES = 1000, 8
"""Maximum numbers of draws of a message, and of its uses searched for a new meaning, for the examples."""
CURVE_WIDTH = 40
"""Maximum width of the learning curve in characters."""
BLOCKS, ASCII = "▁▂▃▄▅▆▇█", "_.-=^"
"""Characters of the learning curve, from low to high; the second set for terminals without the first."""
PALE = "#D9D9D9"
"""Fallback colour of symbols."""
SYMBOL_COLOURS = (
    *COLOURS[:6],
    COLOURS[7],
    "#8C8C8C",
    *("#7FB8D8", "#EBAF80", "#7FCFB9", "#E6BDD3"),
    COLOURS[6],
)
"""Colours of symbols: the palette of Okabe and Ito, and lighter colours."""
_UNNAMED = re.compile(r"attribute\d+=")

Message = tuple[int, ...]
"""Content symbols."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Example:
    """A message and its meaning as texts."""

    meaning: str | None
    """The meaning, see `meaning_text`."""
    message: str
    """The message, see `message_text`; empty if it has no symbols."""
    speaker: str | None
    """The speaker; None if there is only one, or it is unknown."""

    def to_json(self) -> dict[str, Any]:
        """The example as JSON-ready data."""
        return asdict(self)


def examples_of(corpus: Corpus, number: int = NUM_EXAMPLES) -> tuple[Example, ...]:
    """Select example messages in the order of the corpus, see `example_indices`.

    Args:
        corpus: The corpus; a large one is thinned evenly.
        number: Maximum number of examples.
    """
    corpus = _thinned_corpus(corpus)
    indices = example_indices(corpus, number)
    speakers, content = speakers_by_message(corpus), corpus.take(np.array(indices, dtype=np.int64)).content()
    return tuple(
        Example(
            meaning=meaning_text(corpus, index),
            message=message_text(corpus, content[position].tolist()),
            speaker=None if speakers is None or speakers[index] is None else str(speakers[index]),
        )
        for position, index in enumerate(indices)
    )


def example_indices(corpus: Corpus, number: int) -> list[int]:
    """Choose frequent and rare messages as examples; a larger set contains each smaller one.

    Messages are drawn alternately by their uses (the most used first) and evenly among the distinct messages (the
    rarest first), by a low-discrepancy sequence. Each message comes with a meaning and a speaker that no earlier
    example has, if possible; which of them is drawn with a fixed seed.

    Args:
        corpus: The corpus.
        number: Maximum number of messages.

    Returns:
        Indices of messages, ascending.
    """
    return sorted(islice(_by_preference(corpus), number))


def _by_preference(corpus: Corpus) -> Iterator[int]:
    """Yield the indices of all messages, the best examples first."""
    labels = message_labels(corpus)
    if not len(labels):
        return
    random = np.random.default_rng(0)
    uses = np.bincount(labels)
    ranked = np.argsort(-uses, kind="stable")  # labels, the most used first
    ends, by_label = np.cumsum(uses[ranked]), np.argsort(labels, kind="stable")
    starts = np.cumsum(uses) - uses
    speakers = speakers_by_message(corpus)
    seen, chosen, waiting = set(), set(), []

    def is_new(index: int) -> bool:
        meaning = meaning_text(corpus, index)
        key = (index if meaning is None else meaning, None if speakers is None else repr(speakers[index]))
        if key in seen:
            return False
        seen.add(key)
        return True

    drawn: dict[int, None] = {}
    for step in range(STEPS):
        share = step * GOLDEN % 1
        by_use = int(np.searchsorted(ends, int(share * len(labels)), side="right"))
        for rank in (by_use, len(ranked) - 1 - int(share * len(ranked))):
            if rank in drawn:
                continue
            drawn[rank] = None
            label = ranked[rank]
            rows = random.permutation(by_label[starts[label] : starts[label] + uses[label]])[:TRIES].tolist()
            index = next((row for row in rows if is_new(row)), None)
            if index is None:
                waiting.append(rows[0])
            else:
                chosen.add(index)
                yield index
        if len(drawn) == len(ranked):
            break
    others = random.permutation(len(labels)).tolist()
    for index in chain(waiting, filter(is_new, others[:STEPS]), others):
        if index not in chosen:
            chosen.add(index)
            yield index


def message_text(corpus: Corpus, symbols: Sequence[int]) -> str:
    """Names of symbols, or their ids, separated by spaces; a long message is cut."""
    names = corpus.symbol_names
    parts = [str(symbol) if names is None else printable(names[symbol]) for symbol in symbols[:MOST_SYMBOLS]]
    return " ".join([*parts, *(["…"] if len(symbols) > MOST_SYMBOLS else [])])


def meaning_text(corpus: Corpus, index: int) -> str | None:
    """Meaning of a message as text: `color=red shape=star`, `red or circle`, `3 1`; None if unknown.

    Concepts are given by names, attributes without names by values, a feature vector by its first numbers. The name of
    the image, if the corpus has it, precedes named concepts, and replaces numbers.
    """
    names = None if corpus.concepts is None else corpus.concepts_of(index)
    is_unnamed = names is None or all(map(_UNNAMED.match, names))
    meaning: str | None
    if names is not None and (corpus.meanings is None or not is_unnamed):
        # ShapeWorld's rules have their connective among the concepts.
        connective = next((word for word in ("and", "or") if word in names), None)
        others = (name for name in names if name != connective)
        meaning = (" " if connective is None else f" {connective} ").join(others)
    elif corpus.meanings is None:
        meaning = None
    else:
        values = flat(corpus.meanings)[index].tolist()
        if any(isinstance(value, float) for value in values):
            parts = [f"{value:.2f}" for value in values[:MOST_FEATURES]]
            parts += [f"… ({len(values)} numbers)"] if len(values) > MOST_FEATURES else []
        else:
            heads = [f"{name}=" for name in corpus.attribute_names]
            if len(heads) != len(values) or all(map(_UNNAMED.match, heads)):
                heads = [""] * len(values)
            parts = [
                f"{head}{'-' if value == -1 else value}" for head, value in zip(heads, values, strict=True)
            ]
        meaning = " ".join(parts)
    file = corpus.columns["file"][index] if "file" in corpus.columns else None
    if file is not None:
        meaning = f"{file}: {meaning}" if meaning and corpus.concept_names and not is_unnamed else str(file)
    return None if meaning is None else printable(meaning)


def speakers_by_message(corpus: Corpus) -> NDArray[Any] | None:
    """Speaker of each message, (num_messages,); None if there is only one, or it is unknown."""
    speakers = corpus.columns.get(SPEAKER)
    return None if speakers is None or not (speakers[1:] != speakers[:1]).any() else speakers


def _thinned_corpus(corpus: Corpus) -> Corpus:
    """Thin a corpus evenly to at most `MOST_MESSAGES` messages."""
    number = len(corpus.messages)
    if number <= MOST_MESSAGES:
        return corpus
    return corpus.take(np.linspace(0, number - 1, MOST_MESSAGES).astype(np.int64))


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """Uses of a message, or of a symbol at a position, and the associated concepts."""

    symbols: Message
    place: int | None
    """Position of the symbol in its messages, from 1; None for a message."""
    count: int
    """Number of messages."""
    about: tuple[tuple[str, float], ...]
    """Concepts that are more frequent among these uses than among all messages, with their shares of the uses."""

    @property
    def about_text(self) -> str:
        """Concepts as text, such as `color=red (100 %), shape=star (60 %)`."""
        return ", ".join(f"{name} ({100 * share:.0f} %)" for name, share in self.about)


@dataclass(frozen=True, kw_only=True, slots=True)
class MessageGrid:
    """Messages of all combinations of two attributes."""

    attributes: tuple[str, str]
    """Attribute names of rows and of columns."""
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    indices: Ints
    """Message index of each combination, -1 without one, (num_rows, num_columns)."""
    speaker: str
    """Heading suffix with the speaker of all its messages, `, speaker 0`; empty with a single speaker."""


class LanguageView:
    """View of a language; a large corpus is thinned evenly.

    Args:
        corpus: Messages, with meanings and concepts if known.
    """

    def __init__(self, corpus: Corpus) -> None:
        self.all_messages = Corpus(corpus.messages, eos=corpus.eos)
        """All messages without meanings, which saves memory."""
        self.corpus = _thinned_corpus(corpus)
        content = self.corpus.content()
        self.messages: list[Message] = [tuple(content[index].tolist()) for index in range(len(content))]

    def __len__(self) -> int:
        """Number of messages in the view."""
        return len(self.messages)

    @cached_property
    def speakers(self) -> list[str] | None:
        """Speaker of each message, or `unknown`; None if there is only one, or it is unknown."""
        speakers = speakers_by_message(self.corpus)
        if speakers is None:
            return None
        return ["unknown" if speaker is None else str(speaker) for speaker in speakers.tolist()]

    @cached_property
    def colours(self) -> dict[int, str]:
        """Colour of each symbol: by id if there are enough colours, otherwise for the most used symbols."""
        ids, counts = np.unique(self.corpus.content().values, return_counts=True)
        symbols: list[int] = ids.tolist()
        if len(symbols) > len(SYMBOL_COLOURS):
            symbols = sorted(ids[np.argsort(-counts, kind="stable")[: len(SYMBOL_COLOURS)]].tolist())
        elif not symbols or 1 <= symbols[0] <= symbols[-1] <= len(SYMBOL_COLOURS):
            return {symbol: SYMBOL_COLOURS[symbol - 1] for symbol in symbols}
        return dict(zip(symbols, SYMBOL_COLOURS, strict=False))

    def name(self, symbol: int) -> str:
        """Name of a symbol."""
        return message_text(self.corpus, (symbol,))

    def concepts(self, index: int) -> list[str]:
        """Names of the concepts of a message: the corpus's concepts, or `attribute0=3` for integer meanings."""
        corpus = self.corpus
        if corpus.concepts is not None:
            return corpus.concepts_of(index)
        if corpus.meanings is None or corpus.meanings.ndim != 2 or corpus.meanings.dtype.kind not in "iuU":
            return []
        values = corpus.meanings[index].tolist()
        return [f"{corpus.name_of_attribute(place)}={value}" for place, value in enumerate(values)]

    def meaning(self, index: int) -> str:
        """Meaning of a message, see `meaning_text`; empty if unknown."""
        return meaning_text(self.corpus, index) or ""

    @property
    def held_out(self) -> str:
        """Name of the validation objects if they were held out of the training, see `held_out_of`."""
        return held_out_of(_mapping(self.corpus.metadata.get("extra_evaluations")))

    def examples(self, number: int) -> list[int]:
        """Indices of example messages, see `example_indices`."""
        return example_indices(self.corpus, number)

    @cached_property
    def attributes(self) -> tuple[str, ...]:
        """Names of the attributes if every meaning has one value of each; otherwise empty."""
        keys = [
            tuple(name.partition("=")[0] if "=" in name else "" for name in self.concepts(index))
            for index in range(len(self))
        ]
        is_regular = bool(keys) and len(set(keys)) == 1 and len(set(keys[0])) == len(keys[0])
        return keys[0] if is_regular and all(keys[0]) else ()

    def values(self, index: int) -> tuple[str, ...]:
        """Attribute values of a meaning."""
        return tuple(name.partition("=")[2] for name in self.concepts(index))

    @cached_property
    def grid(self) -> MessageGrid | None:
        """Messages of the first speaker by two attributes; None for other meanings, or too many values."""
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
        return MessageGrid(
            attributes=(self.attributes[0], self.attributes[1]),
            rows=tuple(rows),
            columns=tuple(columns),
            indices=indices,
            speaker="" if speakers is None else f", speaker {speakers[0]}",
        )

    def most_used_messages(self, number: int) -> list[Usage]:
        """The most used messages, in descending order, without messages used once."""
        counts = Counter(self.messages)
        several = [message for message, count in counts.items() if count > 1]
        wanted = sorted(several, key=lambda message: (-counts[message], message))[:number]
        uses = {message: [] for message in wanted}  # type: dict[Message, list[int]]
        for index, message in enumerate(self.messages):
            if message in uses:
                uses[message].append(index)
        return [self._usage(message, None, indices) for message, indices in uses.items()]

    def most_used_symbols(self, number: int) -> list[Usage]:
        """The most used symbols by position, in descending order; empty if no message has two symbols."""
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
        """Names of all concepts, and whether each message has them, (num_messages, num_concepts)."""
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


def heading(language: LanguageView, path: Path) -> tuple[str, list[str]]:
    """Title of a language, and up to three lines on its training and its sizes.

    Args:
        language: The language.
        path: The path of its folder or file, which names it.
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
        measure = measure_title("accuracy", language.held_out) + (":" if language.held_out else "")
        lines.append(f"{measure} {accuracy:.1%}{chance_text} at step {training.get('step')}")
    kinds = {part: _mapping(config.get(part)).get("kind") for part in ("task", "world", "channel")}
    if all(kinds.values()):
        seed = _mapping(config.get("training")).get("seed")
        lines.append("{task} game, world {world}, channel {channel}".format(**kinds) + f", seed {seed}")
    content = narrow_content(language.all_messages)
    mean = float(content.lengths.mean()) if len(content) else 0.0
    num_symbols = len(np.unique(content.values))
    sizes = (
        f"{counted(len(content), 'message')}, {num_distinct_rows(content):,} distinct; "
        f"{counted(num_symbols, 'symbol')}; mean length {mean:.1f} without EOS"
    )
    some = f"; {len(language):,} of them below" if len(language) < len(content) else ""
    return printable(title), list(map(printable, [*lines, sizes + some]))


def print_language(
    language: LanguageView, title: str, lines: Sequence[str], run: Path | None, form: Form = Form.TEXT
) -> None:
    """Print a language, in text form with heading and learning curve; figure: `figures.language_page.draw_language`."""
    if form is Form.TEXT:
        console = Console(highlight=False, force_jupyter=False)
        console.print(Text(title, "bold"))
        for line in (*lines, *([] if run is None else [learning_curve(run, language.held_out)]), ""):
            console.print(Text(line))
    grid = language.grid
    cells = [] if grid is None else [index for index in grid.indices.ravel().tolist() if index >= 0]
    in_grid, in_examples = (
        {
            (
                language.meaning(index),
                language.messages[index],
                language.speakers and language.speakers[index],
            )
            for index in indices
        }
        for indices in (cells, language.examples(NUM_EXAMPLES))
    )
    tables = [] if grid is None else [grid_table(language)]
    if grid is None or not in_examples <= in_grid:
        tables.append(example_table(language))
    for heading, used in (
        ("Most used messages", language.most_used_messages(NUM_USED)),
        ("Most used symbols, by place", language.most_used_symbols(NUM_USED)),
    ):
        tables += [used_table(language, heading, used)] if used else []
    publish(tables, form)


def learning_curve(run: Path, held_out: str = "") -> str:
    """The validation accuracy over training as one line, or another measure of a run without accuracy.

    Args:
        run: The run folder.
        held_out: Name of the validation objects if they were held out of the training.
    """
    measure = first_measure(run)
    values = read_log(run, measure).values["valid"]
    ticks = BLOCKS if _can_print(BLOCKS) else ASCII
    is_share = measure == "accuracy"
    form = ".1%" if is_share else ".4g"
    shares = values if is_share else within_their_range(values)
    title = f"{measure_title(measure, held_out)}:" if held_out and "accuracy" in measure else measure
    return f"{title} {values[0]:{form}} {sparkline(thinned(shares, CURVE_WIDTH), ticks)} {values[-1]:{form}}"


def within_their_range(values: Sequence[float]) -> Sequence[float]:
    """Scale values linearly from 0 (minimum) to 1 (maximum of finite values); NaN stays."""
    array = np.array(values, dtype=np.float64)
    finite = array[np.isfinite(array)]
    if not len(finite):
        return values
    places: list[float] = ((array - finite.min()) / (np.ptp(finite) or 1.0)).clip(0.0, 1.0).tolist()
    return places


def grid_table(language: LanguageView) -> Table:
    """Table of messages by two attributes."""
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


def example_table(language: LanguageView) -> Table:
    """Table of example messages with their meanings."""
    indices = language.examples(NUM_EXAMPLES)
    heading = f"{len(indices)} of {len(language):,} messages" if len(indices) < len(language) else "messages"
    has_meanings = bool(language.meaning(0)) if len(language) else False
    columns = [Column("message", heading=heading), Column("meaning", wraps=True, is_shown=has_meanings)]
    columns += [] if language.speakers is None else [Column("speaker")]
    rows = []
    for index in indices:
        speaker = [] if language.speakers is None else [str(language.speakers[index])]
        rows.append(row_of(tiles(language, language.messages[index]), language.meaning(index), *speaker))
    return Table(columns=columns, rows=rows)


def used_table(language: LanguageView, heading: str, used: Sequence[Usage]) -> Table:
    """Table of the most used messages or symbols."""
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
    """Cell with the text of a message after `before`, each symbol on its colour if the terminal has colours."""
    if not message:
        return nothing(EMPTY)
    shown, spans, begin = before + message_text(language.corpus, message), [], len(before)
    for symbol in message[:MOST_SYMBOLS]:
        colour, end = language.colours.get(symbol, PALE), begin + len(language.name(symbol))
        spans.append((begin, end, f"{ink_on(colour)} on {colour}"))
        begin = end + 1
    return Cell(value=shown, lines=(shown,), colours=tuple(spans))


def _can_print(text: str) -> bool:
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def sparkline(values: Iterable[float], ticks: str) -> str:
    """Draw values from 0 to 1 as a line of characters, from the lowest to the highest of `ticks`."""
    return "".join(ticks[min(int(value * len(ticks)), len(ticks) - 1)] for value in values if value == value)


def thinned(values: Sequence[float], number: int) -> Iterator[float]:
    """Yield at most `number` of the values, spread evenly, including the first and the last."""
    for place in np.unique(np.linspace(0, len(values) - 1, num=min(number, len(values))).round().astype(int)):
        yield values[place]


def _mapping(value: Any) -> Mapping[str, Any]:
    """Mapping in metadata, which any program may have written; empty for another type."""
    return value if isinstance(value, Mapping) else {}


def corpus_name(corpus: Corpus) -> str:
    """Name of a corpus in titles: its run folder or file; `corpus` if it was made in Python."""
    source = Path(str(corpus.metadata.get("source_path", "")))
    return (source.resolve().parent.name if source.name == CORPUS else source.name) or "corpus"
