"""Figures of a corpus: translation graph, words by concepts, colour naming, sensitivity to the corpus size.

Every function draws one figure and writes it to all given files, as SVG, PDF or PNG by their suffix.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from ecsuite.corpus import Corpus
from ecsuite.eval.counts.counting import flat, row_labels
from ecsuite.eval.metrics.cbm import TranslationGraph, sensitivity, translate
from ecsuite.eval.statistics.contingency import Ints
from ecsuite.eval.views.figures.canvas import (
    COLOURS,
    SOFT,
    fit,
    label,
    look,
    new_figure,
    require_matplotlib,
    save,
    set_caption,
)
from ecsuite.eval.views.figures.curves import Curve, curves, draw_learning_curves
from ecsuite.eval.views.figures.heat_map import colour_chart, heat_map
from ecsuite.eval.views.language import corpus_name
from ecsuite.files.data_folder import data_folder
from ecsuite.games.runs.run_folder import RunFolder
from ecsuite.runtime.errors import CorpusError
from ecsuite.spaces.colour import CHIP, colour_space
from ecsuite.spaces.space import Space

MAX_WORDS = 64
"""Maximum number of words in a figure: matched words first, then the most frequent others."""
MAX_ROWS = 200
"""Maximum number of words or concepts in a figure, for any request."""
ROW_HEIGHT = 0.15
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
"""Styles of matched pairs, of other edges, and of unmatched words and concepts."""


def draw_score(corpus: Corpus, folder: Path, formats: Iterable[str] = ("svg", "png")) -> list[Path]:
    """Draw all available figures of a corpus into a folder, which is created if there is at least one.

    `translation` and `heatmap` need concepts, `sensitivity` needs more than one segment of samples, and `accuracy`
    needs a corpus that was read from a run folder; `colours` needs messages about the chips of the World Color Survey,
    and the survey.

    Args:
        corpus: Corpus with or without concepts.
        folder: Output folder.
        formats: Suffixes of the files, `svg` or `png`.

    Returns:
        Written files; empty if there is nothing to draw.

    Raises:
        ConfigError: If matplotlib is missing, or a format is neither svg nor png.
    """
    formats = tuple(formats)
    require_matplotlib()
    written: list[Path] = []

    def files(name: str) -> list[Path]:
        folder.mkdir(parents=True, exist_ok=True)
        paths = [folder / f"{name}.{suffix}" for suffix in formats]
        written.extend(paths)
        return paths

    if corpus.concepts is not None and corpus.concepts.values.size:
        draw_translation(corpus, *files("translation"))
        if corpus.content().values.size:
            draw_heatmap(corpus, *files("heatmap"))
        curve = sensitivity(corpus)
        if len(curve["sizes"]) > 1:
            draw_sensitivity({corpus_name(corpus): curve}, *files("sensitivity"))
    if corpus.attribute_names == (CHIP,) and (survey := data_folder("wcs")).is_dir():
        draw_colours(corpus, colour_space(survey), *files("colours"))
    source = Path(str(corpus.metadata.get("source_path", "")))
    run = source if source.is_dir() else source.parent
    if "source_path" in corpus.metadata and RunFolder(run).log.is_file():
        draw_learning_curves([run], *files("accuracy"))
    return written


def draw_colours(corpus: Corpus, space: Space, *paths: Path) -> None:
    """Draw a mode map: the most frequent word of each colour.

    Args:
        corpus: Messages about chips.
        space: Semantic space of the colours.
        *paths: Output files.

    Raises:
        ConfigError: If matplotlib is missing, a file is not .svg, .pdf or .png, or a meaning is not a chip.
    """
    assert corpus.meanings is not None and space.chart is not None and space.colours is not None
    words = row_labels(corpus.content())
    num_words = int(words.max(initial=-1)) + 1
    codes = space.find(flat(corpus.meanings)) * num_words + words
    counts = np.bincount(codes, minlength=len(space) * num_words).reshape(len(space), num_words)
    modes = np.where(counts.any(1), counts.argmax(1), -1)
    number = len(np.unique(modes[modes >= 0]))
    notes = (
        f"{num_words} words, {number} of them the most frequent for a colour; each chip has its word's mean colour",
    )
    title = f"{corpus_name(corpus)}: words for colours"
    save(colour_chart(space.chart, space.colours, modes, space.need, title=title, notes=notes), *paths)


def draw_sensitivity(curves_by_name: Mapping[str, Mapping[str, Any]], *paths: Path) -> None:
    """Draw the score against the number of samples, as in figure 4 of Carmeli et al. (2024).

    Args:
        curves_by_name: Results of `sensitivity` by the name of the corpus.
        *paths: Output files.

    Raises:
        ConfigError: If matplotlib is missing, or a file is not .svg, .pdf or .png.
    """
    lines = []
    for name, curve in curves_by_name.items():
        segments = f"{curve['step']:,} samples each"
        for key, kind in (("accumulated", "the first samples"), ("segmented", segments)):
            scores = curve[key]
            spread = "" if curve[f"{key}_sd"] is None else f" (SD {curve[f'{key}_sd']:.3f})"
            prefix = f"{label(name)}: " if len(curves_by_name) > 1 else ""
            line = f"{prefix}{kind}{spread}"
            lines.append(Curve(x=curve["sizes"][: len(scores)], y=scores, name=line))
    names = (
        ", ".join(map(label, curves_by_name)) if len(curves_by_name) < 3 else f"{len(curves_by_name)} corpora"
    )
    title = f"{names}: sensitivity to the corpus size"
    save(curves(lines, x="samples", y="CBM (concept best matching)", limits=(0, None), title=title), *paths)


def draw_heatmap(corpus: Corpus, *paths: Path, max_words: int = MAX_WORDS) -> None:
    """Draw the use of each word with each concept, with the best matching outlined on the diagonal.

    The colour is the share of the word's uses whose phrase has the concept, so that rare words are as visible as
    frequent ones.

    Raises:
        CorpusError: If the corpus has no concepts, or all messages are empty.
        ConfigError: If matplotlib is missing, or a file is not .svg, .pdf or .png.
    """
    translation = _translation(corpus)
    if not len(translation.samples.word_ids):
        raise CorpusError("every message is empty: expected words to match with concepts")
    sides = Sides.of(translation, max_words)
    present = translation.present[np.ix_(sides.words, sides.concepts)]
    figure = heat_map(
        100 * present / np.maximum(translation.samples.word_totals[sides.words], 1)[:, None],
        [translation.samples.word_names[word] for word in sides.words],
        [translation.samples.phrases.names[concept] for concept in sides.concepts],
        has_texts=False,
        limits=(0, 100),
        names=("words", "concepts"),
        scale="% of the word's uses",
        outlined=[(pair, pair, 1, 1) for pair in range(sides.num_pairs)],
        title=f"{corpus_name(corpus)}: words and their concepts, best match outlined",
        notes=[sides.more_words, sides.more_concepts],
    )
    save(figure, *paths)


@dataclass(frozen=True, kw_only=True, slots=True)
class Sides:
    """Words and concepts of a figure in order: first the pairs of the best matching, at equal indices."""

    words: Ints
    concepts: Ints
    num_pairs: int
    """Number of pairs at the start of both."""
    more_words: str
    """Note on the number of words that are left out; empty if there are none."""
    more_concepts: str

    @classmethod
    def of(cls, translation: TranslationGraph, max_words: int) -> Self:
        """Order the words and concepts of a translation graph; all pairs are included, for any `max_words`."""
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
    """Order the types of one side: matched types in the order of their pairs, then others by decreasing frequency."""
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
        ConfigError: If matplotlib is missing, or a file is not .svg, .pdf or .png.
    """
    translation = _translation(corpus)
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
    for axes, x, names, ids, unmatched in (
        (graph, 0, samples.word_names, sides.words, FREE_WORD),
        (others, 1, samples.phrases.names, sides.concepts, FREE_CONCEPT),
    ):
        rows = range(len(ids))
        graph.plot([x] * (len(ids) - sides.num_pairs), rows[sides.num_pairs :], **unmatched)
        axes.set_yticks(rows, [label(names[number]) for number in ids])
        for text in axes.get_yticklabels()[sides.num_pairs :]:
            text.set_color(unmatched["color"])
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
    set_caption(figure, name, notes)
    fit(figure, grid, 3.0, ROW_HEIGHT * num_rows, _legend())
    save(figure, *paths)


def _draw_pairs(graph: Any, columns: Any, translation: TranslationGraph, sides: Sides) -> None:
    """Draw the pairs of the best matching, and write their counts and shares next to them."""
    strongest = int(translation.weights.max(initial=1))
    shares = translation.shares()
    for row in range(sides.num_pairs):
        weight = translation.weights[sides.words[row], sides.concepts[row]]
        width = 0.8 + 3.4 * float(weight) / strongest
        graph.plot([0, 1], [row, row], **PAIR | {"linewidth": width, "solid_capstyle": "butt"})
        for x, text in enumerate((f"{weight:,}", *(f"{share:.0%}" for share in shares[row]))):
            written = columns.text(x, row, text, ha="center", va="center_baseline", color=SOFT)
            written.set_in_layout(False)  # within the axes, so not measured
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
    return {name: Line2D([], [], **style) for name, style in kinds.items()}


def _secondary_edges(translation: TranslationGraph, sides: Sides) -> list[tuple[int, int]]:
    """Find the grey lines: each word's most frequent other concept, each unmatched concept's most frequent word."""
    weights = translation.weights[np.ix_(sides.words, sides.concepts)].copy()
    pairs = np.arange(sides.num_pairs)
    weights[pairs, pairs] = 0
    if not weights.size:
        return []
    best_concept, best_word = weights.argmax(axis=1), weights.argmax(axis=0)
    from_words = list(enumerate(best_concept.tolist()))
    from_concepts = [(word, concept) for concept, word in enumerate(best_word.tolist())][sides.num_pairs :]
    return sorted({edge for edge in (*from_words, *from_concepts) if weights[edge]})


def _translation(corpus: Corpus) -> TranslationGraph:
    """Compute the translation graph of a corpus; `CorpusError` without concepts."""
    translation = translate(corpus)
    if translation is None:
        raise CorpusError("the corpus has no concepts to match words with")
    return translation
