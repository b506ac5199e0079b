"""Space of the 330 colours of the World Color Survey, and the colour naming of its languages' speakers.

Kay, Berlin, Maffi, Merrifield and Cook (2009), The World Color Survey, CSLI; its data are downloaded by
`ecsuite data wcs`.
"""

import csv
import lzma
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.runtime.errors import ConfigError
from ecsuite.spaces.space import Floats, Ints, Space, similar

CHIPS, LANGUAGES, NAMING, NEED = "chips.csv", "languages.csv", "naming.tsv.xz", "need.csv"
"""Files of the folder: chips, languages, answers, and need of each chip."""
CHIP = "chip"
"""Attribute of a corpus with the number of a chip."""
NO_ANSWER = ("*", "?")
"""Marks of a missing answer."""
NA = "NA"
"""Mark of a missing answer in some languages, a word in others; see `AnswersNA`."""
CONCENTRATION = 2.5
"""Minimum ratio of the agreement of speakers on NA to its share at which NA is a word."""
VARIANCE = 64.0
"""Variance of beliefs in CIELAB, where a distance of 8 units is just noticeable: Zaslavsky et al. (2018), Materials."""
NUM_HUES = 40
"""Columns of hues in the chart; the greys are column 0."""
TURNS = (-16, -12, -8, -4, 4, 8, 12, 16)
"""Columns by which the hues of a language are rotated, as in Regier, Kay and Khetarpal (2007), figure 6, both ways."""


@dataclass(frozen=True, kw_only=True)
class AnswersNA:
    """Counts of the answer NA in a language, which is either a word or a missing answer.

    The table does not distinguish the two. NA counts as a word if speakers agree on it as on words: more than half of
    the speakers give NA for some chip, and for a chip with one NA, another speaker gives it at least `CONCENTRATION`
    times as often as answers are NA overall. Missing answers are spread over the chips, or are most of the answers.
    The bounds are not from the literature. In the survey they hold for 3 of 95 languages with NA: Arabela (4.2
    times), Tucano (3.3) and Chinantec (3.2); of the others where most speakers give NA for some chip, Tifal has 2.2,
    and Cree, 85 % of whose answers are NA, 1.0.
    """

    number: int
    share: float
    """Share of NA in all answers."""
    most: float
    """Largest share over chips of the speakers who answer NA."""
    agreement: float
    """Probability that a second speaker answers NA for a chip for which one speaker answered NA."""

    @property
    def is_word(self) -> bool:
        """Whether NA counts as a word."""
        return self.most > 0.5 and self.agreement >= CONCENTRATION * self.share

    @classmethod
    def of(cls, answers: list[list[str]]) -> "AnswersNA":
        """Count the answers of speakers to chips."""
        are_na = np.array(answers) == NA  # (num_speakers, num_chips)
        speakers, number = are_na.sum(0), int(are_na.sum())
        others = max(1, number * (len(are_na) - 1))
        return cls(
            number=number,
            share=float(are_na.mean()),
            most=float(speakers.max() / len(are_na)),
            agreement=float((speakers * (speakers - 1)).sum() / others),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class SurveyLanguage:
    """A language of the survey, with the colour naming of its speakers."""

    number: int
    """Number in the survey."""
    name: str
    country: str
    code: str
    """ISO 639-3."""
    terms: tuple[str, ...]
    """Abbreviations of the words."""
    family: str
    """Language family, from the column `family` of the table; empty without it."""
    answers: Ints
    """Index of the word that each speaker gave each chip, -1 for none, (num_speakers, num_chips)."""
    na: AnswersNA

    def encoder(self) -> Floats:
        """q(w|m): share of each word in the answers about a chip, (num_chips, num_terms); zeros without answers."""
        places = np.where(self.answers < 0, len(self.terms), self.answers)
        chips = np.arange(self.answers.shape[1])
        codes = (chips * (len(self.terms) + 1) + places).ravel()
        counts = np.bincount(codes, minlength=len(chips) * (len(self.terms) + 1)).reshape(len(chips), -1)
        counts = counts[:, :-1]
        shares: Floats = counts / np.maximum(counts.sum(1, keepdims=True), 1)
        return shares


def colour_space(folder: Path, variance: float = VARIANCE) -> Space:
    """Make the space with chips as meanings and as referents: p(u|m) is a Gaussian about the chip in CIELAB.

    Args:
        folder: Folder of the survey, see `ecsuite data wcs`.
        variance: Variance of the Gaussian, in squared units of CIELAB.

    Raises:
        ConfigError: If a file is missing or invalid.
    """
    chart, lab = _chips(folder)
    squared = ((lab[:, None] - lab[None]) ** 2).sum(-1)
    return Space(
        name="colour",
        beliefs=similar(squared, 2 * variance),
        need=_need(folder, len(lab)),
        vectors=np.arange(1, len(lab) + 1)[:, None],
        attribute=CHIP,
        points=(lab - lab.mean(0)) / lab.std(),
        chart=chart,
        colours=to_rgb(lab),
        turns=tuple(_turned(chart, columns) for columns in TURNS),
    )


def survey(folder: Path) -> list[SurveyLanguage]:
    """Read the languages of the survey, by number.

    Raises:
        ConfigError: If a file is missing or invalid.
    """
    names = {int(row["language"]): row for row in _rows(folder / LANGUAGES)}
    answers: dict[int, list[list[str]]] = {}
    try:
        with lzma.open(folder / NAMING, "rt", encoding="utf-8") as lines:
            next(lines)
            for line in lines:
                language, _, terms = line.rstrip("\n").split("\t")
                answers.setdefault(int(language), []).append(terms.split(" "))
    except FileNotFoundError:
        raise _missing(folder) from None
    except (lzma.LZMAError, EOFError, ValueError, UnicodeDecodeError) as error:
        raise ConfigError(f"{folder / NAMING}: expected answers of `ecsuite data wcs`: {error}") from None
    return [_language(number, names[number], rows) for number, rows in sorted(answers.items())]


def _language(number: int, row: Mapping[str, str], answers: list[list[str]]) -> SurveyLanguage:
    na = AnswersNA.of(answers)
    missing = NO_ANSWER if na.is_word else (*NO_ANSWER, NA)
    terms = sorted({term for speaker in answers for term in speaker}.difference(missing))
    place = {term: code for code, term in enumerate(terms)}
    return SurveyLanguage(
        number=number,
        name=row["name"],
        country=row["country"],
        code=row["iso639_3"],
        family=row.get("family") or "",
        terms=tuple(terms),
        answers=np.array([[place.get(term, -1) for term in speaker] for speaker in answers]),
        na=na,
    )


def _chips(folder: Path) -> tuple[Ints, Floats]:
    """Row and column of each chip, (num_chips, 2), and its coordinates in CIELAB, (num_chips, 3)."""
    rows = sorted(_rows(folder / CHIPS), key=lambda row: int(row["chip"]))
    chart = np.array([["ABCDEFGHIJ".index(row["row"]), int(row["column"])] for row in rows])
    return chart, np.array([[float(row[axis]) for axis in "Lab"] for row in rows])


def _need(folder: Path, number: int) -> Floats:
    """Need of each chip, computed when the survey was prepared, (num_chips,)."""
    need = np.array([float(row["need"]) for row in _rows(folder / NEED)])
    if len(need) != number:
        raise ConfigError(f"{folder / NEED}: {len(need)} rows: expected {number}")
    return need


def _rows(file: Path) -> list[dict[str, Any]]:
    try:
        with file.open(newline="", encoding="utf-8") as lines:
            return list(csv.DictReader(lines))
    except FileNotFoundError:
        raise _missing(file.parent) from None


def _missing(folder: Path) -> ConfigError:
    return ConfigError(f"{folder}: no World Color Survey there: download it with ecsuite data wcs")


def _turned(chart: Ints, columns: int) -> Ints:
    """For each chip, the index of the chip whose word it gets if hues are rotated by `columns`; greys are unchanged."""
    place = {(int(row), int(column)): number for number, (row, column) in enumerate(chart)}
    turned = [
        place.get((row, (column - 1 + columns) % NUM_HUES + 1 if column else 0), number)
        for number, (row, column) in enumerate(chart.tolist())
    ]
    return np.array(turned)


@cache
def _matrix() -> NDArray[np.float64]:
    """Matrix from CIE XYZ to linear sRGB, IEC 61966-2-1, (3, 3)."""
    return np.array([[3.2406, -1.5372, -0.4986], [-0.9689, 1.8758, 0.0415], [0.0557, -0.2040, 1.0570]])


def to_rgb(lab: Floats) -> Floats:
    """Convert CIELAB to sRGB for pictures, (num_colours, 3), from 0 to 1, with the white point of the screen."""
    height = (lab[:, 0] + 16) / 116
    parts = np.stack([height + lab[:, 1] / 500, height, height - lab[:, 2] / 200], axis=1)
    xyz = np.where(parts > 6 / 29, parts**3, 3 * (6 / 29) ** 2 * (parts - 4 / 29))
    linear = np.clip(xyz * [0.9505, 1.0, 1.089] @ _matrix().T, 0, 1)
    shown: Floats = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    return shown
