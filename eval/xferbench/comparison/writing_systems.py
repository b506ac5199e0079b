"""Does XferBench favour sources that are written like the target? The paper's appendix D.3 (Tables 6 to 8).

Cross-entropies are normalised over the human sources alone (equation 4), then averaged over all pairs of a source's
and a target's script, or type of writing system.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ecsuite.eval.comparison.normalising import normalise
from ecsuite.eval.comparison.results import Result, as_matrix, plain


@dataclass(frozen=True, slots=True)
class Writing:
    """How a language is written."""

    language: str
    """Its English name."""
    script: str
    """Its script; as the paper's Table 7 has it, Persian and Urdu are in Arabic script, and Chinese in Chinese."""
    kind: str
    """The type of that script in the paper's Table 8, where Hangul is an alphabet and Japanese is mixed."""


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
"""By ISO 639-1 code."""
FEWEST_HUMAN = 3
"""Human sources: of two, one is above their mean and the other as far below it, whatever their scripts."""
_CODES = {entry.language.lower(): code for code, entry in LANGUAGES.items()} | {"mandarin": "zh"}
_BESIDES = ("human", "text", "wiki", "wikipedia")
"""What a name may hold besides its language."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WritingMatrix:
    """Mean normalised scores by how source and target are written; lower is better."""

    sources: tuple[str, ...]
    """Scripts or types of the sources, in alphabetical order."""
    targets: tuple[str, ...]
    """Those of the targets."""
    values: tuple[tuple[float, ...], ...]
    """A row a script of sources, a column a script of targets."""
    num_pairs: tuple[tuple[int, ...], ...]
    """How many pairs of languages stand behind each mean."""


def writing_of(name: str) -> Writing | None:
    """How a language is written, by its code or English name (`fr`, `French text`); None for anything else."""
    words = [word for word in plain(name).split("_") if word not in _BESIDES]
    return LANGUAGES.get(_CODES.get(words[0], words[0])) if len(words) == 1 else None


def by_script(results: Sequence[Result]) -> WritingMatrix | None:
    """Table 7: by the scripts of human sources and targets; None where that says nothing."""
    return _matrix(results, lambda writing: writing.script)


def by_kind(results: Sequence[Result]) -> WritingMatrix | None:
    """Table 8: by the types of writing systems; None where that says nothing."""
    return _matrix(results, lambda writing: writing.kind)


def _matrix(results: Sequence[Result], class_of: Callable[[Writing], str]) -> WritingMatrix | None:
    """Average normalised scores over classes of sources and of targets; targets of unknown script are left out.

    None with fewer than `FEWEST_HUMAN` human sources, or if all of them are, or all targets are, of one class.
    """
    human = [(result, writing) for result in results if (writing := writing_of(result.name))]
    targets = [(target, writing) for target in results[0].targets if (writing := writing_of(target))]
    if len(human) < FEWEST_HUMAN or not targets:
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
