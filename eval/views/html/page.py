"""HTML page about runs, sweeps, searches, corpora and scores files: a single file that loads nothing.

This module collects its parts; `templates/` has the page, its style and its script.
"""

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from ecsuite.eval.results.equal_sizes import EqualSizes
from ecsuite.eval.results.results import Results
from ecsuite.eval.results.sources import Source
from ecsuite.eval.views.citations import bibliography, names_in_run
from ecsuite.eval.views.comparison import about_scores, differences
from ecsuite.eval.views.figures.tiles import MARKERS, NAMED_COLOURS
from ecsuite.eval.views.html.corpora import corpora_data
from ecsuite.eval.views.html.galleries import galleries, plane_galleries, system_galleries, systems
from ecsuite.eval.views.means import MEAN_DIGITS, mean_cell, means_table
from ecsuite.eval.views.runs import figure_titles, overview
from ecsuite.eval.views.score_tables import MAX_ROWS
from ecsuite.files.atomic_files import check_output_file, prepare_output_file, write_atomically
from ecsuite.formats.corpora import Reading
from ecsuite.games.runs.run_folder import RunFolder
from ecsuite.runtime.errors import ConfigError, CorpusError
from ecsuite.runtime.printable import printable
from ecsuite.version import __version__

PACKAGE = "ecsuite.eval.views.html"
SCRIPTS = ("elements.js", "browser.js", "page.js")
"""Files of the page's script, in order."""
MAX_LISTED = 3
"""Maximum number of source names in the title."""
MAX_INVENTORIES = 12
"""Maximum number of corpora with a table of morphemes."""
_PART = re.compile(r"\[([^\[\]]*): ([^\[\]]*)\]")
"""Pattern of a morpheme in a message: form and meaning."""
MAX_TRANSCRIPTS = 20
"""Maximum number of runs with a transcript."""
ROUNDS_AT_ENDS = 10
"""Number of rounds of a transcript at its beginning, and at its end."""
MAX_CHARACTERS = 120
"""Maximum number of characters in a cell of a transcript."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WrittenPage:
    """A written page."""

    path: Path
    """The file."""
    num_runs: int
    num_corpora: int
    """Corpora with a message browser."""
    num_characters: int
    """Size of the page in characters."""
    notes: tuple[str, ...] = ()
    """Notes on missing or incomplete content."""

    def __str__(self) -> str:
        """One line about the content of the page."""
        runs = f"{self.num_runs} run{'' if self.num_runs == 1 else 's'}"
        corpora = f"{self.num_corpora} corp{'us' if self.num_corpora == 1 else 'ora'}"
        return f"{runs} and the messages of {corpora} in {self.path} ({self.num_characters / 1e6:.1f} MB)"


def _prepare(out: Path) -> Any:
    """Check, before the work starts, that a page can be written; return Jinja, which escapes all inserted text.

    Raises:
        ConfigError: If the name does not end in .html, the file is a folder or can't be written, or Jinja is
            not installed.
    """
    if out.is_dir():
        raise ConfigError(f"--out {out}: expected a file such as {out / 'report.html'}, got a folder")
    if out.suffix not in (".html", ".htm"):
        raise ConfigError(f"--out {out}: expected the name of a page, ending in .html")
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(PACKAGE),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    check_output_file(out)
    return environment


def write_report(
    paths: Iterable[str | Path],
    out: Path,
    *,
    by: Sequence[str] | None = None,
    metrics: Sequence[str] | None = None,
    base: str | None = None,
    title: str | None = None,
    reading: Reading | None = None,
) -> WrittenPage:
    """Write a page about runs, sweeps, searches, corpora and scores files.

    Args:
        paths: Folders and files.
        out: The page; its folder is created.
        by: Settings of a row of the tables; None: all that vary.
        metrics: Figures of the tables; None: accuracy, and the requested scores.
        base: Settings, or a run, that all others are compared with; None: the first row.
        title: Heading of the page; None: the names of the paths.
        reading: Reading options for corpora of other tools; None: detect them.

    Raises:
        ConfigError: If there is nothing at a path, a setting, figure or base is unknown, or Jinja is not installed.
    """
    environment = _prepare(out)
    places = [Path(path) for path in paths]
    names = [path.resolve().name for path in places]
    more = f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else ""
    copies: list[str] = []
    sources = Results.read(places, copies.append).with_distinct_names()
    if not any(source.is_run or source.records or source.corpus for source in sources):
        where = ", ".join(map(str, places))
        raise ConfigError(f"{where}: nothing to show: expected runs, sweeps, corpora or scores files")
    runs = [source for source in sources if source.is_run]
    others = [source for source in sources if not source.is_run]
    sizes = EqualSizes()
    table = Results(runs).means(by=by, figures=metrics, sizes=sizes) if runs else None
    if base is not None and table is None:
        raise ConfigError(f"--base {base}: no runs to compare")
    compared = differences(table, runs, base, sizes, by) if table else None
    about = about_scores(runs, table.figures) if table else []
    corpora, notes = corpora_data(sources, reading or Reading())
    if not corpora and notes and not any(source.is_run or source.records for source in sources):
        raise CorpusError(notes[-1])
    notes = [*copies, *notes]
    found, num_other = inventories(sources)
    rows = None
    if others:
        rows = systems(sources, {corpus["title"]: place for place, corpus in enumerate(corpora)}, metrics)
    cited: list[str] = []  # games, parts, metrics and so on
    for source in sources:
        if source.folder is not None and source.folder.is_dir() and (source.is_run or source.metadata):
            cited += names_in_run(source.folder)
        cited += source.scores
    # JSON in a script element, so no character may begin a tag or a comment.
    objects = {"shapes": sorted(MARKERS), "colours": dict(NAMED_COLOURS)}  # drawable by the script
    content = {"corpora": corpora, "objects": objects}
    data = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    text = environment.get_template("page.html").render(
        title=title or ", ".join(names[:MAX_LISTED]) + more,
        version=__version__,
        overview=overview(sources),
        table=table,
        about=about,
        score_notes=means_table(table).notes if table else (),
        has_protocols=any(row.formed is not None and row.formed.of > 1 for row in table.rows)
        if table
        else False,
        mean_text=lambda mean, num_runs: mean_cell(mean, MEAN_DIGITS, num_runs).text,
        galleries=[
            *(galleries(table, runs, about, compared, sizes) if table else []),
            *(system_galleries(rows) if rows else []),
            *plane_galleries(sources),
        ],
        titles=figure_titles(runs),
        has_scores=any(run.scores for run in runs),
        differences=compared,
        systems=rows,
        inventories=found,
        num_other_inventories=num_other,
        corpora=corpora,
        transcripts=transcripts(sources),
        notes=notes,
        works=bibliography(cited),
        first_path=str(places[0]) if places else "PATH",
        data=data.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"),
        **_assets(),
    )
    prepare_output_file(out)
    write_atomically(out, text.encode(errors="backslashreplace"))  # file names may not be valid text
    size = len(text)
    return WrittenPage(
        path=out, num_runs=len(runs), num_corpora=len(corpora), num_characters=size, notes=tuple(notes)
    )


def _assets() -> dict[str, str]:
    """Script and style, with the hashes by which the page allows only these."""
    templates = resources.files(PACKAGE) / "templates"
    assets = {
        "style": (templates / "page.css").read_text("utf-8"),
        "script": "\n".join((templates / name).read_text("utf-8") for name in SCRIPTS),
    }
    digests = {
        name: base64.b64encode(hashlib.sha256(text.encode()).digest()) for name, text in assets.items()
    }
    return assets | {f"{name}_hash": f"sha256-{digest.decode()}" for name, digest in digests.items()}


@dataclass(frozen=True, kw_only=True, slots=True)
class MorphemeTable:
    """The morphemes of a corpus, as the metric `morphemes` found them."""

    title: str
    """Title of the corpus."""
    value: float
    """Share of meanings that morphemes express."""
    rows: Sequence[Mapping[str, Any]]
    """The first morphemes, by weight: `form`, `meaning`, `weight`, `num_messages`."""
    num_more: int
    """Number of further morphemes."""
    messages: Sequence[tuple[Sequence[tuple[str, str | None]], str]]
    """Messages as pairs of form and meaning (or None), each with the meaning of the message."""


def inventories(sources: Sequence[Source]) -> tuple[list[MorphemeTable], int]:
    """Morphemes of the sources that were scored with `morphemes`, and the number of sources left out."""
    found = [
        (source.title, float(record.value), record.details)
        for source in sources
        for record in source.records_of("morphemes")
        if record.value is not None and "inventory" in record.details
    ]
    tables = [
        MorphemeTable(
            title=title,
            value=value,
            rows=details["inventory"][:MAX_ROWS],
            num_more=max(0, len(details["inventory"]) - MAX_ROWS),
            messages=[(_parts(each["message"]), each["meaning"]) for each in details.get("segmented", ())],
        )
        for title, value, details in found[:MAX_INVENTORIES]
    ]
    return tables, max(0, len(found) - MAX_INVENTORIES)


def _parts(message: str) -> list[tuple[str, str | None]]:
    """Split a message of the details into its parts: `[3 4: color=red] 7` has two."""
    parts: list[tuple[str, str | None]] = []
    place = 0
    for match in _PART.finditer(message):
        parts += [(message[place : match.start()].strip(), None), (match[1], match[2])]
        place = match.end()
    parts.append((message[place:].strip(), None))
    return [part for part in parts if part[0]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Transcript:
    """Excerpt of the rounds of a run."""

    title: str
    """Title of the run."""
    num_rounds: int
    """Number of all its rounds."""
    rows: tuple[tuple[str, ...], ...]
    """Round, speaker, listener, meaning, message, answer, and whether the message was understood."""


def transcripts(sources: Sequence[Source]) -> list[Transcript]:
    """Transcripts of the sources that have rounds; damaged files are skipped."""
    found: list[Transcript] = []
    for source in sources:
        file = None if source.folder is None else RunFolder(source.folder).rounds
        if file is None or not file.is_file() or len(found) == MAX_TRANSCRIPTS:
            continue
        lines = file.read_bytes().splitlines()
        chosen = (
            lines if len(lines) <= 2 * ROUNDS_AT_ENDS else [*lines[:ROUNDS_AT_ENDS], *lines[-ROUNDS_AT_ENDS:]]
        )
        try:
            rows = tuple(_row(json.loads(line)) for line in chosen)
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
        found.append(Transcript(title=source.title, num_rounds=len(lines), rows=rows))
    return found


def _row(played: dict[str, Any]) -> tuple[str, ...]:
    """Round as texts without control characters, which the page escapes."""
    listener = "" if played["listener"] < 0 else played["listener"]
    meaning = ", ".join(map(str, played["meaning"]))
    outcome = "" if listener == "" else "understood" if played["success"] else "not understood"
    cells = (
        f"{played['round']} {played['phase']}".strip(), f"{played['speaker']} ({played['participant_kind']})",
        listener, meaning, played["said"], played["answer"], outcome,
    )  # fmt: skip
    return tuple(printable(str(cell))[:MAX_CHARACTERS] for cell in cells)
