"""Figures of the translation graph: which word translates which concept, and how consistently.

Both figures show the pairs of the best matching first, each word beside its concept.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics.translation_graph import Translation, translate
from ecsuite.eval.reports.canvas import (
    COLOURS,
    FONT_SIZE,
    corpus_name,
    label,
    new_figure,
    save,
    text_width,
    whole_numbers,
)
from ecsuite.eval.statistics.counting import Ints
from ecsuite.runtime.errors import CorpusError

MAX_WORDS = 64
"""Maximum number of words: matched words first, then the most frequent others."""
MAX_ROWS = 200
"""Absolute maximum number of words or concepts."""
_ROW = 0.2
"""Height of a line of labels, in inches."""
_PAIRED, _FREE_WORD, _FREE_CONCEPT = COLOURS[0], "#8A5A00", COLOURS[1]
_LINE_GREY, _TEXT_GREY = "#9A9A9A", "#555555"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Sides:
    """Words and concepts of a figure in order: first the pairs of the best matching, at equal indices."""

    words: Ints
    concepts: Ints
    num_pairs: int
    """Number of pairs at the start of both lists."""
    more_words: str
    """Text for the words that are left out; empty if there are none."""
    more_concepts: str

    @classmethod
    def of(cls, translation: Translation, max_words: int) -> Self:
        words = _pairs_first(translation.word, translation.words.totals())
        concepts = _pairs_first(translation.concept, translation.concepts.totals())
        num_words = min(max(max_words, len(translation.word)), MAX_ROWS)
        return cls(
            words=words[:num_words],
            concepts=concepts[:MAX_ROWS],
            num_pairs=min(len(translation.word), MAX_ROWS),
            more_words=_more(len(words) - num_words, "word"),
            more_concepts=_more(len(concepts) - MAX_ROWS, "concept"),
        )


def _pairs_first(paired: Ints, totals: Ints) -> Ints:
    """Types of one side: those of the pairs in their order, then the others by decreasing frequency."""
    others = np.setdiff1d(np.arange(len(totals)), paired)
    return np.concatenate([paired, others[np.argsort(-totals[others], kind="stable")]])


def _more(number: int, noun: str) -> str:
    return f"… and {number:,} more {noun}{'s' if number > 1 else ''}" if number > 0 else ""


def draw_translation(corpus: Corpus, *paths: Path, max_words: int = MAX_WORDS) -> None:
    """Draw the best-match graph: words on the left, concepts on the right, as in figure 2 of Carmeli et al. (2024).

    A coloured line is a pair of the best matching; its width shows the number of co-occurrences. A grey line is the
    most frequent other concept of a word, or the most frequent word of an unmatched concept. The columns on the right
    show the co-occurrences of each pair, their share of the uses of the word and of the occurrences of the concept
    (`map_shares` of the metric `cbm`).

    Raises:
        CorpusError: If the corpus has no concepts.
        ConfigError: If matplotlib is missing, or a file is neither .svg nor .png.
    """
    translation = _translation(corpus)
    sides = _Sides.of(translation, max_words)
    word_labels = [label(translation.words.name(word)) for word in sides.words]
    concept_labels = [label(translation.concepts.name(concept)) for concept in sides.concepts]
    num_rows = max(len(word_labels) + bool(sides.more_words), len(concept_labels) + bool(sides.more_concepts))

    # All positions are in inches from the top left corner, so that lines of text never overlap.
    left = 0.32 + max(map(text_width, [*word_labels, sides.more_words, "words"]))
    right = left + 2.6
    columns = right + 0.5 + max(map(text_width, [*concept_labels, sides.more_concepts, "concepts"]))
    headings = ("used together", "share of word", "share of concept")
    ends = columns + np.cumsum([text_width(heading) + 0.18 for heading in headings]) - 0.18
    width, top = max(float(ends[-1]) + 0.25, 6.8), 0.95
    height = top + num_rows * _ROW + 0.75
    figure = new_figure(width, height)
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(height, 0))
    axes.axis("off")

    plain: dict[str, Any] = {"fontsize": FONT_SIZE, "va": "center", "parse_math": False}

    def write(x: float, y: float, text: str, **look: Any) -> None:
        axes.text(x, y, text, **plain | look)

    def height_of(row: int) -> float:
        return top + (row + 0.5) * _ROW

    _title(write, translation, corpus_name(corpus))
    write(left - 0.12, top - 0.1, "words", ha="right", color=_TEXT_GREY)
    write(right + 0.12, top - 0.1, "concepts", color=_TEXT_GREY)
    if sides.num_pairs:
        for end, heading in zip(ends, headings, strict=True):
            write(end, top - 0.1, heading, ha="right", color=_TEXT_GREY)

    for word, concept in _secondary_edges(translation, sides):
        axes.plot([left, right], [height_of(word), height_of(concept)], color=_LINE_GREY, lw=0.6, alpha=0.55)
    strongest = int(translation.weights.max(initial=1))
    shares = translation.shares()
    for row in range(sides.num_pairs):
        weight = translation.weights[sides.words[row], sides.concepts[row]]
        y = height_of(row)
        width_of_line = 0.8 + 4.2 * float(weight) / strongest
        axes.plot([left, right], [y, y], color=_PAIRED, lw=width_of_line, solid_capstyle="butt")
        figures = (f"{weight:,}", *(f"{share:.0%}" for share in shares[row]))
        for end, figure_text in zip(ends, figures, strict=True):
            write(end, y, figure_text, ha="right", color=_TEXT_GREY)
    paired: dict[str, Any] = {"marker": "o", "color": _PAIRED, "mfc": _PAIRED, "ms": 5.5}
    free_word = {"marker": "^", "color": _FREE_WORD, "mfc": "white", "ms": 5.5}
    free_concept = {"marker": "s", "color": _FREE_CONCEPT, "mfc": "white", "ms": 5.5}
    for x, beside, labels, free, side, more in (
        (left, left - 0.12, word_labels, free_word, "right", sides.more_words),
        (right, right + 0.12, concept_labels, free_concept, "left", sides.more_concepts),
    ):
        for row, text in enumerate(labels):
            is_paired = row < sides.num_pairs
            axes.plot([x], [height_of(row)], **paired if is_paired else free)
            write(beside, height_of(row), text, ha=side, color="black" if is_paired else free["color"])
        write(beside, height_of(len(labels)), more, ha=side, color=_TEXT_GREY, style="italic")

    kinds: dict[str, dict[str, Any]] = {
        "best match": {"color": _PAIRED, "lw": 3},
        "second best": {"color": _LINE_GREY, "lw": 0.8},
        "paraphrase: word without concept": free_word | {"ls": ""},
        "unmatched concept": free_concept | {"ls": ""},
    }
    for text, look in kinds.items():
        axes.plot([], [], label=text, **look)
    figure.legend(loc="lower center", ncols=4, frameon=False, fontsize=FONT_SIZE, columnspacing=1.2)
    save(figure, *paths)


def _title(write: Any, translation: Translation, name: str) -> None:
    """Write the two title lines of a translation graph."""
    num_words, num_concepts = translation.weights.shape
    good = translation.present[translation.word, translation.concept].sum()
    edges = np.maximum(translation.words.per_row, translation.concepts.per_row).sum()
    write(0.2, 0.25, f"{name}: concept best matching {good / edges:.3f}", fontsize=11)
    counts = f"{num_words:,} words, {num_concepts:,} concepts, {len(translation.word):,} pairs"
    write(0.2, 0.5, f"{counts}, {len(translation.words.per_row):,} samples", color=_TEXT_GREY)


def _secondary_edges(translation: Translation, sides: _Sides) -> list[tuple[int, int]]:
    """Ends of the grey lines: each word's most frequent other concept, each unmatched concept's best word."""
    weights = translation.weights[np.ix_(sides.words, sides.concepts)].copy()
    pairs = np.arange(sides.num_pairs)
    weights[pairs, pairs] = 0
    if not weights.size:
        return []
    best_concept, best_word = weights.argmax(axis=1), weights.argmax(axis=0)
    of_words = list(enumerate(best_concept.tolist()))
    of_concepts = [(word, concept) for concept, word in enumerate(best_word.tolist())][sides.num_pairs :]
    return sorted({edge for edge in (*of_words, *of_concepts) if weights[edge]})


def draw_heatmap(corpus: Corpus, *paths: Path, max_words: int = MAX_WORDS) -> None:
    """Draw how often each word is used with each concept, with the best matching on the diagonal, outlined.

    The colour is the share of the word's uses that have the concept in their phrase, so that rare words are seen as
    well as frequent ones.

    Raises:
        CorpusError: If the corpus has no concepts, or all messages are empty.
        ConfigError: If matplotlib is missing, or a file is neither .svg nor .png.
    """
    translation = _translation(corpus)
    if not len(translation.words.ids):
        raise CorpusError("every message is empty: there are no words to match with concepts")
    sides = _Sides.of(translation, max_words)
    present = translation.present[np.ix_(sides.words, sides.concepts)]
    shares = 100 * present / np.maximum(translation.words.totals()[sides.words], 1)[:, None]
    num_words, num_concepts = shares.shape
    word_labels = [label(translation.words.name(word)) for word in sides.words]
    concept_labels = [label(translation.concepts.name(concept)) for concept in sides.concepts]
    left, top = 0.75 + max(map(text_width, word_labels)), 0.6 + max(map(text_width, concept_labels))
    table_width, table_height = _ROW * max(num_concepts, 8), _ROW * max(num_words, 8)
    width, height = left + table_width + 1.2, top + table_height + 0.5
    title = f"{corpus_name(corpus)}: words and their concepts, best match outlined"
    width = max(width, 0.5 + text_width(title, 11))
    figure = new_figure(width, height)
    box = (left / width, 0.4 / height, table_width / width, table_height / height)
    axes = figure.add_axes(box)
    mesh = axes.pcolormesh(shares, cmap="Blues", vmin=0, vmax=100, rasterized=shares.size > 10_000)
    axes.invert_yaxis()
    for row in range(sides.num_pairs):
        across, down = [row, row + 1, row + 1, row, row], [row, row, row + 1, row + 1, row]
        axes.plot(across, down, color=_FREE_CONCEPT, lw=1.2, clip_on=False, zorder=3)
    axes.xaxis.tick_top()
    plain: dict[str, Any] = {"fontsize": FONT_SIZE, "parse_math": False}
    axes.set_xticks(np.arange(num_concepts) + 0.5, concept_labels, rotation=90, **plain)
    axes.set_yticks(np.arange(num_words) + 0.5, word_labels, **plain)
    axes.tick_params(length=0)
    axes.set_ylabel("words", fontsize=FONT_SIZE)
    notes = "; ".join(note for note in (sides.more_words, sides.more_concepts) if note)
    figure.text(left / width, 0.2 / height, notes, fontsize=FONT_SIZE, va="center", style="italic")
    figure.text(0.2 / width, 1 - 0.25 / height, title, fontsize=11, va="center")
    bar_height = min(table_height, 2.4)
    bar_left, bar_bottom = (left + table_width + 0.2) / width, 1 - (top + bar_height - 0.1) / height
    bar_box = (bar_left, bar_bottom, 0.15 / width, bar_height / height)
    bar = figure.colorbar(mesh, cax=figure.add_axes(bar_box))
    bar.ax.tick_params(labelsize=FONT_SIZE)
    bar.locator = whole_numbers()
    bar.set_label("% of the word's uses", fontsize=FONT_SIZE)
    save(figure, *paths)


def _translation(corpus: Corpus) -> Translation:
    """The translation graph of a corpus with concepts."""
    translation = translate(corpus)
    if translation is None:
        raise CorpusError("the corpus has no concepts to match words with")
    return translation
