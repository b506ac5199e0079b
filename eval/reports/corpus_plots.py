"""Figures of a corpus: translation graph, sensitivity to the corpus size, and accuracy in training.

Every function draws one figure and writes it to all given files, as SVG or PNG by their suffix.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics.cbm_sensitivity import sensitivity
from ecsuite.eval.reports.canvas import (
    COLOURS,
    FONT_SIZE,
    TITLE_SIZE,
    corpus_name,
    format_curves,
    label,
    new_figure,
    save,
    text_width,
)
from ecsuite.eval.reports.learning_curves import draw_curves
from ecsuite.eval.reports.translation_plots import draw_heatmap, draw_translation

_WIDTH = 6.4
"""Width of figures of curves in inches."""


def draw_score(corpus: Corpus, folder: Path, formats: Iterable[str] = ("svg", "png")) -> list[Path]:
    """Draw all available figures of a corpus into a folder, which is created if there is at least one figure.

    `translation` and `heatmap` need concepts, `sensitivity` needs more than one segment of samples, and `accuracy`
    needs a corpus that was read from a run folder.

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
    new_figure(1, 1)  # fails before anything is written
    written: list[Path] = []

    def files(name: str) -> list[Path]:
        folder.mkdir(parents=True, exist_ok=True)
        written.extend(named := [folder / f"{name}.{suffix}" for suffix in formats])
        return named

    if corpus.concepts is not None and corpus.concepts.values.size:
        draw_translation(corpus, *files("translation"))
        if corpus.content().values.size:
            draw_heatmap(corpus, *files("heatmap"))
        curves = sensitivity(corpus)
        if len(curves["sizes"]) > 1:
            draw_sensitivity({corpus_name(corpus): curves}, *files("sensitivity"))
    source = Path(str(corpus.metadata.get("source_path", "")))
    run = source if source.is_dir() else source.parent
    if "source_path" in corpus.metadata and (run / "log.jsonl").is_file():
        draw_curves([run], *files("accuracy"))
    return written


def draw_sensitivity(curves: Mapping[str, Mapping[str, Any]], *paths: Path) -> None:
    """Draw the score against the number of samples, as in figure 4 of Carmeli et al. (2024).

    Args:
        curves: Results of `sensitivity` by the name of the corpus.
        *paths: Output files.

    Raises:
        ConfigError: If matplotlib is missing, or a file is neither .svg nor .png.
    """
    figure = new_figure(_WIDTH, 4 + 0.4 * len(curves), layout="constrained")
    axes = figure.subplots()
    for index, (name, curve) in enumerate(curves.items()):
        colour = COLOURS[index % len(COLOURS)]
        of = f"{label(name)}: " if len(curves) > 1 else ""
        sizes = np.array(curve["sizes"])
        segments = f"{curve['step']:,} samples each"
        for key, style, what in (("accumulated", "-", "the first samples"), ("segmented", "--", segments)):
            scores = np.array(curve[key], dtype=float)  # None becomes NaN, a gap
            spread = "" if curve[f"{key}_sd"] is None else f" (SD {curve[f'{key}_sd']:.3f})"
            text = of + what + spread
            axes.plot(sizes[: len(scores)], scores, style, marker="o", ms=3, color=colour, label=text)
    format_curves(axes, "samples", "CBM (concept best matching)")
    names = ", ".join(map(label, curves)) if len(curves) < 3 else f"{len(curves)} corpora"
    axes.set_title(f"{names}: sensitivity to the corpus size", fontsize=TITLE_SIZE, loc="left")
    _legend_below(figure, axes)
    save(figure, *paths)


def _legend_below(figure: Any, axes: Any) -> None:
    """Draw a legend below, with as many columns as fit."""
    widest = max(map(text_width, axes.get_legend_handles_labels()[1]))
    num_columns = max(1, int(_WIDTH / (widest + 0.6)))
    figure.legend(loc="outside lower center", ncols=num_columns, frameon=False, fontsize=FONT_SIZE)
