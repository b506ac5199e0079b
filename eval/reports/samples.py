"""Messages of a corpus with their meanings, in a form that people read."""

import re
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.corpus import SPEAKER, Corpus
from ecsuite.eval.counts.counting import flat
from ecsuite.eval.statistics.contingency import first_rows, num_labels

NUM_SAMPLES = 10
"""Messages that are shown of a corpus."""
MOST_FEATURES = 3
"""Numbers that are shown of a vector of features."""
MOST_SYMBOLS = 100
"""Symbols that are shown of a message."""
_UNNAMED = re.compile(r"attribute\d+=")


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
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


def samples_of(corpus: Corpus, labels: NDArray[np.integer[Any]]) -> tuple[Sample, ...]:
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
        Sample(
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
