"""The translation graph: which word translates which concept, and how consistently, the best matching first."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from ecsuite.corpus import Corpus
from ecsuite.eval.figures.canvas import COLOURS, SOFT, fit, label, look, new_figure, save, write_title
from ecsuite.eval.metrics.cbm import TranslationGraph, translate
from ecsuite.eval.reports.languages import corpus_name
from ecsuite.eval.statistics.contingency import Ints
from ecsuite.runtime.errors import CorpusError

MAX_WORDS = 64
"""Maximum number of words: matched words first, then the most frequent others."""
MAX_ROWS = 200
"""Absolute maximum number of words or concepts."""
ROW = 0.15
"""Height of a row in inches."""
PAIR: dict[str, Any] = {"color": COLOURS[0], "marker": "o"}
EDGE: dict[str, Any] = {"color": SOFT, "linewidth": 0.5, "alpha": 0.5}
FREE_WORD: dict[str, Any] = {"color": "#8A5A00", "marker": "^", "markerfacecolor": "white", "linestyle": ""}
FREE_CONCEPT: dict[str, Any] = {
    "color": COLOURS[1],
    "marker": "s",
    "markerfacecolor": "white",
    "linestyle": "",
}
"""Looks of pairs, of other edges, and of what has no pair."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sides:
    """Words and concepts of a figure in order: first the pairs of the best matching, at equal indices."""

    words: Ints
    concepts: Ints
    num_pairs: int
    """Number of pairs at the start of both lists."""
    more_words: str
    """Text for the words that are left out; empty if there are none."""
    more_concepts: str

    @classmethod
    def of(cls, translation: TranslationGraph, max_words: int) -> Self:
        """The sides of a translation graph with at most so many words that have no pair."""
        words = _pairs_first(translation.word, translation.samples.word_totals)
        concepts = _pairs_first(translation.concept, translation.samples.concept_totals)
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


@look()
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
    translation = translation_of(corpus)
    sides = Sides.of(translation, max_words)
    figure = new_figure()
    grid: Any = figure.subplots(1, 2, squeeze=False, width_ratios=[3, 2])
    graph, columns = grid[0]
    for word, concept in _secondary_edges(translation, sides):
        graph.plot([0, 1], [word, concept], **EDGE)
    _draw_pairs(graph, columns, translation, sides)
    others = graph.secondary_yaxis("right")
    num_rows = max(len(sides.words), len(sides.concepts))
    samples = translation.samples
    for axes, x, name_of, ids, free in (
        (graph, 0, samples.word_name, sides.words, FREE_WORD),
        (others, 1, samples.phrases.name, sides.concepts, FREE_CONCEPT),
    ):
        rows = range(len(ids))
        graph.plot([x] * (len(ids) - sides.num_pairs), rows[sides.num_pairs :], **free)
        axes.set_yticks(rows, [label(name_of(each)) for each in ids])
        for text in axes.get_yticklabels()[sides.num_pairs :]:
            text.set_color(free["color"])
    for axes in (graph, others, columns):
        axes.grid(visible=False)
        axes.spines[:].set_visible(False)
        axes.tick_params(length=0)
    for axes in grid[0]:
        axes.set_ylim(num_rows - 0.5, -0.5)
    graph.set_xticks([0, 1], ["words", "concepts"])
    graph.xaxis.tick_top()
    graph.tick_params(axis="x", length=0, labelcolor=SOFT)
    name = f"{corpus_name(corpus)}: concept best matching {translation.share:.3f}"
    num_words, num_concepts = translation.weights.shape
    counts = f"{num_words:,} words, {num_concepts:,} concepts, {len(translation.word):,} pairs"
    notes = [f"{counts}, {len(samples.phrase):,} samples", sides.more_words, sides.more_concepts]
    write_title(figure, name, notes)
    fit(figure, grid, 3.0, ROW * num_rows, _legend())
    save(figure, *paths)


def _draw_pairs(graph: Any, columns: Any, translation: TranslationGraph, sides: Sides) -> None:
    """Draw the pairs of the best matching, and write their figures beside them."""
    strongest = int(translation.weights.max(initial=1))
    shares = translation.shares()
    for row in range(sides.num_pairs):
        weight = translation.weights[sides.words[row], sides.concepts[row]]
        width = 0.8 + 3.4 * float(weight) / strongest
        graph.plot([0, 1], [row, row], **PAIR | {"linewidth": width, "solid_capstyle": "butt"})
        for x, text in enumerate((f"{weight:,}", *(f"{share:.0%}" for share in shares[row]))):
            written = columns.text(x, row, text, ha="center", va="center_baseline", color=SOFT)
            written.set_in_layout(False)  # within the axes, so that there is nothing to measure
    columns.set_xlim(-0.5, 2.5)
    headings = ("used\ntogether", "share of\nword", "share of\nconcept") if sides.num_pairs else ("",) * 3
    columns.set_xticks(range(3), headings)
    columns.set_yticks([])
    columns.xaxis.tick_top()
    columns.tick_params(axis="x", labelcolor=SOFT)


def _legend() -> dict[str, Any]:
    from matplotlib.lines import Line2D

    kinds = {
        "best match": PAIR | {"linewidth": 3},
        "second best": EDGE,
        "paraphrase: word without concept": FREE_WORD,
        "unmatched concept": FREE_CONCEPT,
    }
    return {name: Line2D([], [], **look_of) for name, look_of in kinds.items()}


def _secondary_edges(translation: TranslationGraph, sides: Sides) -> list[tuple[int, int]]:
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


def translation_of(corpus: Corpus) -> TranslationGraph:
    """The translation graph of a corpus with concepts."""
    translation = translate(corpus)
    if translation is None:
        raise CorpusError("the corpus has no concepts to match words with")
    return translation
