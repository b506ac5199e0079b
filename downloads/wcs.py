"""The World Color Survey: its archive as three tables, need frequencies of colours, and a corpus of every language.

Cook, Kay and Regier (2005), "The World Color Survey database", in Handbook of Categorization in Cognitive Science.
"""

import csv
import hashlib
import io
import lzma
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ecsuite.corpus import SPEAKER, Corpus
from ecsuite.downloads.downloads import add_records, only_download, read_sources
from ecsuite.downloads.web import fetch
from ecsuite.files.atomic_files import write_atomically
from ecsuite.formats.directory import METADATA, write_corpus
from ecsuite.jobs.graph import no_progress
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.ragged import Ragged
from ecsuite.spaces.colour import (
    CHIP,
    CHIPS,
    LANGUAGES,
    NA,
    NAMING,
    NEED,
    NO_ANSWER,
    AnswersNA,
    SurveyLanguage,
    survey,
)
from ecsuite.spaces.need import capacity_achieving

ARCHIVE = "https://www1.icsi.berkeley.edu/wcs/data/"
FILES = {
    "term.txt": "20021219/txt/term.txt",
    "chip.txt": "20021219/txt/chip.txt",
    "lang.txt": "20021219/txt/lang.txt",
    "cnum-vhcm-lab-new.txt": "cnum-maps/cnum-vhcm-lab-new.txt",
}
"""Files of the archive, with their paths in it."""
CITATION = "Kay, Berlin, Maffi, Merrifield and Cook (2009), The World Color Survey, CSLI"
"""Citation that the archive requests."""
ANSWERS = "6cd44d3e24c445c6332e1ea19ea5a4821fdca9b3375378f4cbd9f77f47d451bd"
"""SHA-256 of the answers behind the figures of the documentation, with every missing answer as NA."""
CORPORA = "languages"
"""Folder of the corpora."""
ANSWERS_NA = "na.csv"
"""Table of the languages in which NA is a word, with the evidence; if missing, need and corpora are recomputed."""


def prepare_wcs(
    folder: Path,
    *,
    given: Path | None = None,
    progress: Callable[[str, float, float], None] = no_progress,
    note: Callable[[str], None] = lambda text: None,
) -> list[str]:
    """Write the survey's tables, the need frequency of each colour, and a corpus of every language.

    Existing files are not changed. A corpus has the answers of all speakers: each message is a term, its meaning is the
    number of the chip, and the speaker is a column; missing answers are left out. A table and the metadata of the
    corpora say whether NA is a missing answer or a word of a language (`ecsuite.spaces.colour.AnswersNA`).

    Args:
        folder: Destination.
        given: A folder with the files of the archive, or with the three tables; None: the archive is downloaded.
        progress: Called with a label, the number of finished steps and their total.
        note: Called with messages to the user, a line each.

    Returns:
        The names of the folders of the corpora.

    Raises:
        ConfigError: If the archive can't be reached, or a file has an unexpected content.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with only_download(folder, note):
        if not all((folder / name).is_file() for name in (CHIPS, LANGUAGES, NAMING)):
            _write_tables(folder, given, progress, note)
        languages = survey(folder)
        _note_other_answers(folder, note)
        words = [each.name for each in languages if each.na.is_word]
        if words:
            note(
                f"NA is a word of {', '.join(words)}, and a missing answer of others ({folder / ANSWERS_NA})"
            )
        evidence = _table(_answers_na(languages))
        is_current = (folder / ANSWERS_NA).is_file() and (folder / ANSWERS_NA).read_bytes() == evidence
        if not is_current or not (folder / NEED).is_file():
            _write_need(folder, languages, progress)
        names = []
        for done, language in enumerate(languages):
            progress("corpora", done, len(languages))
            name = f"{CORPORA}/{language.number:03d}-{_plain(language.name)}"
            if not is_current or not (folder / name / METADATA).is_file():
                write_corpus(corpus_of(language), folder / name)
            names.append(name)
        if not is_current:
            write_atomically(folder / ANSWERS_NA, evidence)
        counts = [int((each.answers >= 0).sum()) for each in languages]
        records = {
            name: {"url": ARCHIVE, "messages": count} for name, count in zip(names, counts, strict=True)
        }
        if read_sources(folder) != records:
            add_records(folder, records)
    note(f"please cite {CITATION}")
    return names


def corpus_of(language: SurveyLanguage) -> Corpus:
    """Corpus of a language's answers: each message is a term, sorted by speaker and chip."""
    speakers, chips = np.nonzero(language.answers >= 0)
    terms = language.answers[speakers, chips].astype(np.int32)
    return Corpus(
        Ragged(terms, np.arange(len(terms) + 1)),
        symbol_names=language.terms,
        meanings=(chips + 1)[:, None].astype(np.int32),
        attribute_names=(CHIP,),
        columns={SPEAKER: speakers + 1},
        metadata={
            "source": CITATION,
            "language": language.name,
            "country": language.country,
            "iso639_3": language.code,
            **({"family": language.family} if language.family else {}),
            **({"NA": _evidence(language.na)} if language.na.number else {}),
        },
    )


def _evidence(na: AnswersNA) -> dict[str, Any]:
    """Reading of NA, with the reason; shares are rounded."""
    shares = {name: round(getattr(na, name), 4) for name in ("share", "most", "agreement")}
    return {"is": "a word" if na.is_word else "missing", "answers": na.number, **shares}


def _answers_na(languages: Sequence[SurveyLanguage]) -> list[Sequence[object]]:
    """Reading of NA in each language that has it."""
    found = [(each.number, each.name, _evidence(each.na)) for each in languages if each.na.number]
    return [
        ("language", "name", "is", "answers", "share", "most", "agreement"),
        *((number, name, *evidence.values()) for number, name, evidence in found),
    ]


def _plain(name: str) -> str:
    """A name of ASCII letters for a folder: `Apinayé` is `Apinaye`."""
    letters = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    return re.sub("[^A-Za-z0-9]+", "_", letters).strip("_")


def _write_tables(
    folder: Path,
    given: Path | None,
    progress: Callable[[str, float, float], None],
    note: Callable[[str], None],
) -> None:
    """Write the three tables, copied from a folder or made from the files of the archive."""
    tables = (CHIPS, LANGUAGES, NAMING)
    if given is not None and all((given / name).is_file() for name in tables):
        for name in tables:
            write_atomically(folder / name, (given / name).read_bytes())
        return
    source = given or folder / "archive"
    for done, (name, place) in enumerate(FILES.items()):
        if given is not None and not (given / name).is_file():
            raise ConfigError(
                f"{given}: expected {', '.join(FILES)} or {', '.join(tables)}; {name} is not there"
            )
        if given is None and not (source / name).is_file():
            source.mkdir(exist_ok=True)
            fetch(
                ARCHIVE + place,
                source / name,
                sha256=None,
                offline_advice="Without a network, copy the files from another machine: --from FOLDER",
                progress=lambda share, done=done, name=name: progress(name, done + share, len(FILES)),  # type: ignore[misc]
                note=note,
            )
    write_atomically(folder / CHIPS, _table(_chips(source)))
    write_atomically(folder / LANGUAGES, _table(_languages(source)))
    write_atomically(folder / NAMING, lzma.compress(_answers(source).encode()))


def _table(rows: Iterable[Sequence[object]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def _chips(source: Path) -> list[Sequence[object]]:
    """Number, position in the chart and CIELAB values of each chip, sorted by number."""
    grid = {int(row[0]): row[1:4] for row in _cells(source / "chip.txt", 4)}
    lab = {int(row[0]): row[-3:] for row in _cells(source / "cnum-vhcm-lab-new.txt", 9) if row[0].isdecimal()}
    if set(grid) != set(lab):
        raise ConfigError(f"{source}: chip.txt and cnum-vhcm-lab-new.txt have different chips")
    header = ("chip", "row", "column", "grid", "L", "a", "b")
    return [header, *([number, *grid[number], *lab[number]] for number in sorted(grid))]


def _languages(source: Path) -> list[Sequence[object]]:
    """Number, name and country of each language; the archive's table has no language codes."""
    rows = _cells(source / "lang.txt", 3)
    return [("language", "name", "country", "iso639_3"), *([*row[:3], ""] for row in rows)]


def _answers(source: Path) -> str:
    """One line per speaker: language, speaker, and the terms of all chips."""
    answers: dict[tuple[int, int], dict[int, str]] = {}
    for cells in _cells(source / "term.txt", 4):
        place = int(cells[0]), int(cells[1])
        answers.setdefault(place, {})[int(cells[2])] = cells[3].replace(" ", "_") or "*"
    number = max(max(terms) for terms in answers.values())
    lines = [f"language\tspeaker\tterms of chips 1 to {number}"]
    for (language, speaker), terms in sorted(answers.items()):
        lines.append(
            f"{language}\t{speaker}\t{' '.join(terms.get(chip, '*') for chip in range(1, number + 1))}"
        )
    return "\n".join(lines) + "\n"


def _cells(file: Path, least: int) -> list[list[str]]:
    """Read the rows of a tab-separated table of the archive."""
    rows = []
    for number, line in enumerate(file.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        cells = line.split("\t")
        if line.strip():
            if len(cells) < least:
                raise ConfigError(
                    f"{file}:{number}: {len(cells)} cells, expected {least} with tabs between them"
                )
            rows.append(cells)
    return rows


def _write_need(
    folder: Path, languages: Sequence[SurveyLanguage], progress: Callable[[str, float, float], None]
) -> None:
    """Write the mean capacity-achieving need over all languages, as in Zaslavsky et al. (2018)."""
    needs = []
    for done, language in enumerate(languages):
        progress("need of the colours", done, len(languages))
        needs.append(capacity_achieving(language.encoder()))
    mean = np.mean(needs, axis=0)
    rows = [(chip, f"{need:.9g}") for chip, need in enumerate(mean.tolist(), 1)]
    write_atomically(folder / NEED, _table([("chip", "need"), *rows]))


def _note_other_answers(folder: Path, note: Callable[[str], None]) -> None:
    lines = lzma.decompress((folder / NAMING).read_bytes()).decode().split("\n")
    missing = {*NO_ANSWER, NA}
    plain = []
    for line in lines:
        *first, terms = line.split("\t")
        parts = ["NA" if term in missing else term for term in terms.split(" ")] if first else [terms]
        plain.append("\t".join([*first, " ".join(parts)]))
    if hashlib.sha256("\n".join(plain).encode()).hexdigest() != ANSWERS:
        note("the archive has changed: its answers differ from those in the documentation")
