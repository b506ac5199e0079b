"""Normalised cross-entropies: the confidence intervals of the paper, and the effect of writing systems.

Boldt & Mortensen (2024), appendix E: mean and standard deviation differ between languages, so cross-entropies are
normalised over the sources of each language (equation 4), and the mean normalised score of a source is bootstrapped
over languages. There are two different ways to convert the bounds back to nats:

- `paper`: equations 5 and 6. They do not specify the language t, so each language has its own bounds; the bounds here
  are the means over languages, as the score itself is a mean over languages.
- `program`: the authors' program, `analysis.py`: the distances of the bounds from the mean normalised score, times the
  standard deviation of the sources' scores, are added to the score. Figure 2 of the paper shows these.

Both depend on the set of sources, and neither includes seed noise.

Appendix D.3 (Tables 6 to 8) shows whether sources that are written like the target score better: cross-entropies are
normalised over the human sources only, then averaged over all pairs of the scripts, or types of writing system, of
source and target.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ecsuite.downloads.languages import LANGUAGES
from ecsuite.eval.results.files import plain
from ecsuite.eval.results.samples import Sample, as_matrix
from ecsuite.eval.statistics.bootstrap import mean_interval
from ecsuite.eval.statistics.contingency import Floats
from ecsuite.eval.statistics.estimates import Interval


@dataclass(frozen=True, kw_only=True, slots=True)
class Normalised:
    """Normalised score of a source."""

    name: str
    """The source's name."""
    mean: float
    """Mean over languages of the normalised scores, in standard deviations; below 0 is better than average."""
    ci95: Interval | None
    """Bootstrap interval of the mean; None for few languages."""
    paper: Interval | None
    """Bounds in nats by equations 5 and 6."""
    program: Interval | None
    """Bounds in nats as in the authors' program."""


def normalise(values: Floats) -> Floats | None:
    """Equation 4: cross-entropies of each language minus their mean, divided by their standard deviation (ddof 1).

    Args:
        values: Cross-entropies, shape (num_sources, num_targets).

    Returns:
        Normalised values, same shape; None for a single source, or if all sources are equal on some language.
    """
    if len(values) < 2:
        return None
    spread = values.std(0, ddof=1)
    return (values - values.mean(0)) / spread if (spread > 1e-12).all() else None


def normalised_scores(results: Sequence[Sample]) -> list[Normalised] | str:
    """Normalise the scores of all sources by the paper's procedure.

    Returns:
        One item per source, or the reason if normalisation is not possible.
    """
    if len(results) < 2:
        return "normalisation needs at least two sources"
    values = as_matrix(results, results[0].targets)
    normalised = normalise(values)
    if normalised is None:
        return "all sources are equal on some language: its standard deviation is 0"
    scores, level, scale = values.mean(1), float(values.mean()), float(values.std(0, ddof=1).mean())
    spread, converted = scores.std(ddof=1), list[Normalised]()
    for result, row, score in zip(results, normalised, scores, strict=True):
        mean, ci95, paper, program = float(row.mean()), mean_interval(row, expanded=False), None, None
        if ci95 is not None:
            low, high = ci95
            paper = (level + scale * low, level + scale * high)
            program = (float(score + spread * (low - mean)), float(score + spread * (high - mean)))
        converted.append(Normalised(name=result.name, mean=mean, ci95=ci95, paper=paper, program=program))
    return converted


TYPES_OF_SCRIPTS = {
    "abjad": ("Arabic", "Hebrew"),
    "abugida": ("Bengali", "Devanagari", "Tamil", "Thai"),
    "alphabet": ("Armenian", "Cyrillic", "Georgian", "Greek", "Hangul", "Latin"),
    "logographic": ("Chinese",),
    "mixed": ("Japanese",),
}
"""Types of writing systems, as in the paper's Table 8, each with its scripts, as in Table 7."""
TYPE_OF_SCRIPT = {script: kind for kind, scripts in TYPES_OF_SCRIPTS.items() for script in scripts}
SCRIPTS = {code: each.script for code, each in LANGUAGES.items() if each.script in TYPE_OF_SCRIPT}
"""Scripts of languages by ISO 639-1 code."""
MIN_HUMAN_SOURCES = 3
"""Minimum number of human sources: normalised scores of two sources are always +x and -x."""
_CODES = {each.name.lower(): code for code, each in LANGUAGES.items()} | {"mandarin": "zh"}
_OTHER_WORDS = ("human", "text", "wiki", "wikipedia")
"""Words that the name of a source may contain in addition to its language."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WritingMatrix:
    """Mean normalised scores by writing system of source and target; lower is better."""

    sources: tuple[str, ...]
    """Scripts or types of the sources, sorted."""
    targets: tuple[str, ...]
    """Scripts or types of the targets, sorted."""
    values: tuple[tuple[float, ...], ...]
    """Means, with scripts of sources as rows and scripts of targets as columns."""
    num_pairs: tuple[tuple[int, ...], ...]
    """Number of language pairs of each mean."""


def script_of(name: str) -> str | None:
    """Script of a source named by language code or English name (`fr`, `French text`); None otherwise."""
    words = [word for word in plain(name).split("_") if word not in _OTHER_WORDS]
    return SCRIPTS.get(_CODES.get(words[0], words[0])) if len(words) == 1 else None


def by_script(results: Sequence[Sample], class_of: Callable[[str], str] = str) -> WritingMatrix | None:
    """Table 7: means of normalised scores by scripts of sources and targets; targets of unknown script are left out.

    Args:
        results: The sources.
        class_of: Class of a script, by default the script itself.

    Returns:
        None for fewer than `MIN_HUMAN_SOURCES` human sources, or if all sources or all targets are of one class.
    """
    human = [(result, script) for result in results if (script := script_of(result.name))]
    targets = [(target, script) for target in results[0].targets if (script := script_of(target))]
    if len(human) < MIN_HUMAN_SOURCES or not targets:
        return None
    normalised = normalise(as_matrix([result for result, _ in human], [target for target, _ in targets]))
    if normalised is None:
        return None
    rows, row_of = np.unique([class_of(script) for _, script in human], return_inverse=True)
    columns, column_of = np.unique([class_of(script) for _, script in targets], return_inverse=True)
    if min(len(rows), len(columns)) < 2:
        return None
    sums, counts = np.zeros((2, len(rows), len(columns)))
    np.add.at(sums, (row_of[:, None], column_of), normalised)
    np.add.at(counts, (row_of[:, None], column_of), 1)
    return WritingMatrix(
        sources=tuple(rows.tolist()),
        targets=tuple(columns.tolist()),
        values=tuple(map(tuple, (sums / counts).tolist())),
        num_pairs=tuple(map(tuple, counts.astype(int).tolist())),
    )


def by_type(results: Sequence[Sample]) -> WritingMatrix | None:
    """Table 8: means by type of writing system, see `by_script`."""
    return by_script(results, TYPE_OF_SCRIPT.__getitem__)
