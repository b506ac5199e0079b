"""Effect of writing systems on XferBench: the paper's appendix D.3 (Tables 6 to 8).

The tables show whether sources that are written like the target score better. Cross-entropies are normalised over the
human sources only (equation 4), then averaged over all pairs of the scripts, or types of writing system, of source and
target.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ecsuite.downloads.languages import LANGUAGES
from ecsuite.eval.results.files import plain
from ecsuite.eval.results.samples import Sample, as_matrix
from ecsuite.eval.xferbench.comparison.normalising import normalise

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
"""Minimum number of human sources: normalised scores of two are always +x and -x, whatever their scripts."""
_CODES = {each.name.lower(): code for code, each in LANGUAGES.items()} | {"mandarin": "zh"}
_OTHER_WORDS = ("human", "text", "wiki", "wikipedia")
"""Words that the name of a source may contain besides its language."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WritingMatrix:
    """Mean normalised scores by writing system of source and target; lower is better."""

    sources: tuple[str, ...]
    """Scripts or types of the sources, sorted."""
    targets: tuple[str, ...]
    """Scripts or types of the targets, sorted."""
    values: tuple[tuple[float, ...], ...]
    """Means: rows are the scripts of sources, columns those of targets."""
    num_pairs: tuple[tuple[int, ...], ...]
    """Number of language pairs of each mean."""


def script_of(name: str) -> str | None:
    """Script of a source named by language code or English name (`fr`, `French text`); None otherwise."""
    words = [word for word in plain(name).split("_") if word not in _OTHER_WORDS]
    return SCRIPTS.get(_CODES.get(words[0], words[0])) if len(words) == 1 else None


def by_script(results: Sequence[Sample]) -> WritingMatrix | None:
    """Table 7: scores by script; None if not defined, see `_matrix`."""
    return _matrix(results, str)


def by_kind(results: Sequence[Sample]) -> WritingMatrix | None:
    """Table 8: scores by type of writing system; None if not defined, see `_matrix`."""
    return _matrix(results, TYPE_OF_SCRIPT.__getitem__)


def _matrix(results: Sequence[Sample], class_of: Callable[[str], str]) -> WritingMatrix | None:
    """Average normalised scores over classes of sources and targets; targets of unknown script are left out.

    Returns None for fewer than `MIN_HUMAN_SOURCES` human sources, or if all sources or all targets are of one class.
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
