"""Effect of writing systems on XferBench: the paper's appendix D.3 (Tables 6 to 8).

The tables show whether sources that are written like the target score better. Cross-entropies are normalised over the
human sources only (equation 4), then averaged over all pairs of the scripts, or types of writing system, of source and
target.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ecsuite.eval.comparison.results import Result, as_matrix, plain
from ecsuite.eval.xferbench.comparison.normalising import normalise


@dataclass(frozen=True, slots=True)
class Writing:
    """Writing system of a language."""

    language: str
    """English name of the language."""
    script: str
    """Script, as in the paper's Table 7: Persian and Urdu are in Arabic script, Chinese in Chinese."""
    kind: str
    """Type of the script, as in the paper's Table 8: Hangul is an alphabet, Japanese is mixed."""


LANGUAGES: Mapping[str, Writing] = {
    "ar": Writing("Arabic", "Arabic", "abjad"),
    "bg": Writing("Bulgarian", "Cyrillic", "alphabet"),
    "bn": Writing("Bengali", "Bengali", "abugida"),
    "cs": Writing("Czech", "Latin", "alphabet"),
    "da": Writing("Danish", "Latin", "alphabet"),
    "de": Writing("German", "Latin", "alphabet"),
    "el": Writing("Greek", "Greek", "alphabet"),
    "en": Writing("English", "Latin", "alphabet"),
    "es": Writing("Spanish", "Latin", "alphabet"),
    "et": Writing("Estonian", "Latin", "alphabet"),
    "eu": Writing("Basque", "Latin", "alphabet"),
    "fa": Writing("Persian", "Arabic", "abjad"),
    "fi": Writing("Finnish", "Latin", "alphabet"),
    "fr": Writing("French", "Latin", "alphabet"),
    "he": Writing("Hebrew", "Hebrew", "abjad"),
    "hi": Writing("Hindi", "Devanagari", "abugida"),
    "hu": Writing("Hungarian", "Latin", "alphabet"),
    "hy": Writing("Armenian", "Armenian", "alphabet"),
    "id": Writing("Indonesian", "Latin", "alphabet"),
    "it": Writing("Italian", "Latin", "alphabet"),
    "ja": Writing("Japanese", "Japanese", "mixed"),
    "ka": Writing("Georgian", "Georgian", "alphabet"),
    "kk": Writing("Kazakh", "Cyrillic", "alphabet"),
    "ko": Writing("Korean", "Hangul", "alphabet"),
    "mr": Writing("Marathi", "Devanagari", "abugida"),
    "nl": Writing("Dutch", "Latin", "alphabet"),
    "pl": Writing("Polish", "Latin", "alphabet"),
    "pt": Writing("Portuguese", "Latin", "alphabet"),
    "ro": Writing("Romanian", "Latin", "alphabet"),
    "ru": Writing("Russian", "Cyrillic", "alphabet"),
    "sv": Writing("Swedish", "Latin", "alphabet"),
    "sw": Writing("Swahili", "Latin", "alphabet"),
    "ta": Writing("Tamil", "Tamil", "abugida"),
    "th": Writing("Thai", "Thai", "abugida"),
    "tr": Writing("Turkish", "Latin", "alphabet"),
    "uk": Writing("Ukrainian", "Cyrillic", "alphabet"),
    "ur": Writing("Urdu", "Arabic", "abjad"),
    "vi": Writing("Vietnamese", "Latin", "alphabet"),
    "zh": Writing("Chinese", "Chinese", "logographic"),
}
"""Writing systems by ISO 639-1 code."""
MIN_HUMAN_SOURCES = 3
"""Minimum number of human sources: normalised scores of two are always +x and -x, whatever their scripts."""
_CODES = {entry.language.lower(): code for code, entry in LANGUAGES.items()} | {"mandarin": "zh"}
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


def writing_of(name: str) -> Writing | None:
    """Writing system of a source named by language code or English name (`fr`, `French text`); None otherwise."""
    words = [word for word in plain(name).split("_") if word not in _OTHER_WORDS]
    return LANGUAGES.get(_CODES.get(words[0], words[0])) if len(words) == 1 else None


def by_script(results: Sequence[Result]) -> WritingMatrix | None:
    """Table 7: scores by script; None if not defined, see `_matrix`."""
    return _matrix(results, lambda writing: writing.script)


def by_kind(results: Sequence[Result]) -> WritingMatrix | None:
    """Table 8: scores by type of writing system; None if not defined, see `_matrix`."""
    return _matrix(results, lambda writing: writing.kind)


def _matrix(results: Sequence[Result], class_of: Callable[[Writing], str]) -> WritingMatrix | None:
    """Average normalised scores over classes of sources and targets; targets of unknown script are left out.

    Returns None for fewer than `MIN_HUMAN_SOURCES` human sources, or if all sources or all targets are of one class.
    """
    human = [(result, writing) for result in results if (writing := writing_of(result.name))]
    targets = [(target, writing) for target in results[0].targets if (writing := writing_of(target))]
    if len(human) < MIN_HUMAN_SOURCES or not targets:
        return None
    normalised = normalise(as_matrix([result for result, _ in human], [target for target, _ in targets]))
    if normalised is None:
        return None
    rows, row_of = np.unique([class_of(writing) for _, writing in human], return_inverse=True)
    columns, column_of = np.unique([class_of(writing) for _, writing in targets], return_inverse=True)
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
