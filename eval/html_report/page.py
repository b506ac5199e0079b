"""The page: gathers its parts, and renders the templates into one file that loads nothing."""

import base64
import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from ecsuite.eval.html_report.comparing import about_scores, differences
from ecsuite.eval.html_report.corpora import corpora_data, object_data
from ecsuite.eval.html_report.galleries import galleries, plane_galleries, system_galleries
from ecsuite.eval.html_report.inventories import inventories
from ecsuite.eval.html_report.overview import overview
from ecsuite.eval.html_report.systems import systems
from ecsuite.eval.html_report.transcripts import transcripts
from ecsuite.eval.reports.citations import bibliography, names_in_run
from ecsuite.eval.results.equal_sizes import EqualSizes
from ecsuite.eval.results.means import means_of
from ecsuite.eval.results.reading import names_apart, read_sources
from ecsuite.eval.results.sources import Source
from ecsuite.files.atomic_files import check_output_file, prepare_output_file, write_atomically
from ecsuite.formats.corpora import Reading
from ecsuite.runtime.errors import ConfigError
from ecsuite.version import __version__

PACKAGE = "ecsuite.eval.html_report"
SCRIPTS = ("elements.js", "browser.js", "page.js")
"""The script of the page, in this order."""
MAX_LISTED = 3
"""Most names of sources in the title."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Written:
    """What was written."""

    path: Path
    """The file."""
    num_runs: int
    num_corpora: int
    """Corpora with a message browser."""
    num_characters: int
    """Size of the page."""
    notes: tuple[str, ...] = ()
    """What could not be shown, or not all of it."""

    def __str__(self) -> str:
        """A line that says what is in the page."""
        runs = f"{self.num_runs} run{'' if self.num_runs == 1 else 's'}"
        corpora = f"{self.num_corpora} corp{'us' if self.num_corpora == 1 else 'ora'}"
        return f"{runs} and the messages of {corpora} in {self.path} ({self.num_characters / 1e6:.1f} MB)"


def check_out(out: Path) -> None:
    """Check before the work starts that a page can be written.

    Raises:
        ConfigError: If the name does not end in .html, the file is a folder or can't be written, or Jinja is
            not installed.
    """
    if out.is_dir():
        raise ConfigError(f"--out {out}: expected a file such as {out / 'report.html'}, got a folder")
    if out.suffix not in (".html", ".htm"):
        raise ConfigError(f"--out {out}: expected the name of a page, ending in .html")
    _environment()
    check_output_file(out)


def write_report(
    paths: Iterable[str | Path],
    out: Path,
    *,
    by: Sequence[str] | None = None,
    metrics: Sequence[str] | None = None,
    base: str | None = None,
    title: str | None = None,
    reading: Reading | None = None,
) -> Written:
    """Write a page about runs, sweeps, searches, corpora and files of scores.

    Args:
        paths: Their folders and files.
        out: The page; its folder is made.
        by: Settings of a row of the tables; None: all that vary.
        metrics: Figures of the tables; None: accuracy, and the scores that were asked for.
        base: Settings, or a run, that all others are compared with; None: the first row.
        title: Heading of the page; None: the names of the paths.
        reading: How corpora of other tools are read; None: as their content says.

    Raises:
        ConfigError: If there is nothing at a path, a setting, figure or base is unknown, or Jinja is not installed.
    """
    check_out(out)
    places = [Path(path) for path in paths]
    copies: list[str] = []
    sources = names_apart(read_sources(places, copies.append))
    if not any(source.is_run or source.records or source.corpus for source in sources):
        where = ", ".join(map(str, places))
        raise ConfigError(f"{where}: nothing to show: expected runs, sweeps, corpora or files of scores")
    runs = [source for source in sources if source.is_run]
    others = [source for source in sources if not source.is_run]
    sizes = EqualSizes()
    table = means_of(runs, by=by, figures=metrics, sizes=sizes) if runs else None
    if base is not None and table is None:
        raise ConfigError(f"--base {base}: no runs to compare")
    compared = differences(table, runs, base, sizes) if table else None
    about = about_scores(runs, table.figures) if table else []
    corpora, notes = corpora_data(sources, reading or Reading())
    notes = [*copies, *notes]
    found, num_other = inventories(sources)
    rows = None
    if others:
        rows = systems(sources, {corpus["title"]: place for place, corpus in enumerate(corpora)}, metrics)
    text = (
        _environment()
        .get_template("page.html")
        .render(
            title=title or _title(places),
            version=__version__,
            overview=overview(sources),
            table=table,
            about=about,
            galleries=[
                *(galleries(table, runs, about, compared) if table else []),
                *(system_galleries(rows) if rows else []),
                *plane_galleries(sources),
            ],
            has_scores=any(run.scores for run in runs),
            differences=compared,
            systems=rows,
            inventories=found,
            num_other_inventories=num_other,
            corpora=corpora,
            transcripts=transcripts(sources),
            notes=notes,
            works=bibliography(_cited(sources)),
            first_path=str(places[0]) if places else "PATH",
            data=_as_json(
                {
                    "corpora": corpora,
                    "objects": object_data(),
                }
            ),
            **_assets(),
        )
    )
    prepare_output_file(out)
    write_atomically(out, text.encode(errors="backslashreplace"))  # names of files may be no text
    size = len(text)
    return Written(
        path=out, num_runs=len(runs), num_corpora=len(corpora), num_characters=size, notes=tuple(notes)
    )


def _title(paths: Sequence[Path]) -> str:
    names = [path.resolve().name for path in paths]
    more = f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else ""
    return ", ".join(names[:MAX_LISTED]) + more


def _cited(sources: Sequence[Source]) -> Iterable[str]:
    """What the sources rest on, by name."""
    for source in sources:
        if source.folder is not None and source.folder.is_dir() and (source.is_run or source.metadata):
            yield from names_in_run(source.folder)
        yield from source.scores


def _environment() -> Any:
    """Jinja, which escapes all that it inserts."""
    import jinja2

    return jinja2.Environment(
        loader=jinja2.PackageLoader(PACKAGE),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _assets() -> dict[str, str]:
    """Script and style, with the hashes by which the page allows these and nothing else."""
    templates = resources.files(PACKAGE) / "templates"
    style = (templates / "page.css").read_text("utf-8")
    script = "\n".join((templates / name).read_text("utf-8") for name in SCRIPTS)
    return {"style": style, "script": script, "style_hash": _hash(style), "script_hash": _hash(script)}


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _as_json(data: Any) -> str:
    """JSON that can stand in a script element: no character begins a tag or a comment."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
