"""Figures of a corpus: words and concepts, sensitivity to the corpus size, and accuracy in training.

Every function draws one figure and writes it to all given files, as SVG or PNG by their suffix.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ecsuite.corpus import Corpus
from ecsuite.eval.counts.counting import flat, row_labels
from ecsuite.eval.figures.canvas import label, require_matplotlib, save
from ecsuite.eval.figures.colour_chart import colour_chart
from ecsuite.eval.figures.curves import Curve, curves
from ecsuite.eval.figures.heat_map import heat_map
from ecsuite.eval.metrics.cbm import sensitivity
from ecsuite.eval.reports.languages import corpus_name
from ecsuite.eval.reports.learning_curves import draw_curves
from ecsuite.eval.reports.translation_plots import MAX_WORDS, Sides, draw_translation, translation_of
from ecsuite.files.data_folder import data_folder
from ecsuite.runtime.errors import CorpusError
from ecsuite.spaces.colour import CHIP, colour_space
from ecsuite.spaces.space import Space


def draw_score(corpus: Corpus, folder: Path, formats: Iterable[str] = ("svg", "png")) -> list[Path]:
    """Draw all available figures of a corpus into a folder, which is created if there is at least one figure.

    `translation` and `heatmap` need concepts, `sensitivity` needs more than one segment of samples, and `accuracy`
    needs a corpus that was read from a run folder; `colours` needs messages about the chips of the World Color Survey,
    and the survey.

    Args:
        corpus: The corpus.
        folder: Output folder.
        formats: Suffixes of the files, `svg` or `png`.

    Returns:
        The written files; empty if there is nothing to draw.

    Raises:
        ConfigError: If matplotlib is missing, or a format is neither svg nor png.
    """
    formats = tuple(formats)
    require_matplotlib()
    written: list[Path] = []

    def files(name: str) -> list[Path]:
        folder.mkdir(parents=True, exist_ok=True)
        written.extend(named := [folder / f"{name}.{suffix}" for suffix in formats])
        return named

    if corpus.concepts is not None and corpus.concepts.values.size:
        draw_translation(corpus, *files("translation"))
        if corpus.content().values.size:
            draw_heatmap(corpus, *files("heatmap"))
        found = sensitivity(corpus)
        if len(found["sizes"]) > 1:
            draw_sensitivity({corpus_name(corpus): found}, *files("sensitivity"))
    if corpus.attribute_names == (CHIP,) and (survey := data_folder("wcs")).is_dir():
        draw_colours(corpus, colour_space(survey), *files("colours"))
    source = Path(str(corpus.metadata.get("source_path", "")))
    run = source if source.is_dir() else source.parent
    if "source_path" in corpus.metadata and (run / "log.jsonl").is_file():
        draw_curves([run], *files("accuracy"))
    return written


def draw_colours(corpus: Corpus, space: Space, *paths: Path) -> None:
    """Draw the most used word of each colour: a mode map.

    Args:
        corpus: Messages about chips.
        space: The colours.
        *paths: Output files.

    Raises:
        ConfigError: If matplotlib is missing, a file is neither .svg nor .png, or a meaning is no chip.
    """
    assert corpus.meanings is not None and space.chart is not None and space.colours is not None
    words = row_labels(corpus.content())
    num_words = int(words.max(initial=-1)) + 1
    codes = space.find(flat(corpus.meanings)) * num_words + words
    counts = np.bincount(codes, minlength=len(space) * num_words).reshape(len(space), num_words)
    modes = np.where(counts.any(1), counts.argmax(1), -1)
    number = len(np.unique(modes[modes >= 0]))
    notes = (
        f"{num_words} words, {number} of them most used for some colour; each colour is the mean of its word",
    )
    title = f"{corpus_name(corpus)}: words for colours"
    save(colour_chart(space.chart, space.colours, modes, space.need, title=title, notes=notes), *paths)


def draw_sensitivity(curves_by_name: Mapping[str, Mapping[str, Any]], *paths: Path) -> None:
    """Draw the score against the number of samples, as in figure 4 of Carmeli et al. (2024).

    Args:
        curves_by_name: Results of `sensitivity` by the name of the corpus.
        *paths: Output files.

    Raises:
        ConfigError: If matplotlib is missing, or a file is neither .svg nor .png.
    """
    lines = []
    for name, curve in curves_by_name.items():
        segments = f"{curve['step']:,} samples each"
        for key, what in (("accumulated", "the first samples"), ("segmented", segments)):
            scores = curve[key]
            spread = "" if curve[f"{key}_sd"] is None else f" (SD {curve[f'{key}_sd']:.3f})"
            told = (f"{label(name)}: " if len(curves_by_name) > 1 else "") + what + spread
            lines.append(Curve(x=curve["sizes"][: len(scores)], y=scores, name=told))
    names = (
        ", ".join(map(label, curves_by_name)) if len(curves_by_name) < 3 else f"{len(curves_by_name)} corpora"
    )
    title = f"{names}: sensitivity to the corpus size"
    save(curves(lines, x="samples", y="CBM (concept best matching)", limits=(0, None), title=title), *paths)


def draw_heatmap(corpus: Corpus, *paths: Path, max_words: int = MAX_WORDS) -> None:
    """Draw how often each word is used with each concept, with the best matching on the diagonal, outlined.

    The colour is the share of the word's uses that have the concept in their phrase, so that rare words are seen as
    well as frequent ones.

    Raises:
        CorpusError: If the corpus has no concepts, or all messages are empty.
        ConfigError: If matplotlib is missing, or a file is neither .svg nor .png.
    """
    translation = translation_of(corpus)
    if not len(translation.samples.word_ids):
        raise CorpusError("every message is empty: there are no words to match with concepts")
    sides = Sides.of(translation, max_words)
    present = translation.present[np.ix_(sides.words, sides.concepts)]
    figure = heat_map(
        100 * present / np.maximum(translation.samples.word_totals[sides.words], 1)[:, None],
        [translation.samples.word_name(word) for word in sides.words],
        [translation.samples.phrases.name(concept) for concept in sides.concepts],
        has_texts=False,
        limits=(0, 100),
        names=("words", "concepts"),
        scale="% of the word's uses",
        outlined=[(pair, pair, 1, 1) for pair in range(sides.num_pairs)],
        title=f"{corpus_name(corpus)}: words and their concepts, best match outlined",
        notes=[sides.more_words, sides.more_concepts],
    )
    save(figure, *paths)
