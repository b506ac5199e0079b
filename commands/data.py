"""`ecsuite data`: the data of XferBench, of machine translation, of XTREME and of ELCC from the network, once."""

from collections.abc import Mapping
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

import typer

from ecsuite.commands.options import OUTPUT, As, Json, Quiet, names_in, require_read
from ecsuite.eval.reports.console import Reporter, print_json
from ecsuite.runtime.errors import look_up
from ecsuite.tables.forms import Form, publish
from ecsuite.tables.table import Table, name_column, number_column, row_of

KINDS = {
    "wikipedia": "articles of the target languages, a file a language",
    "wmt14": "English-French sentence pairs for `ecsuite translate`",
    "xtreme": "the nine tasks of `ecsuite xtreme`, as their authors publish them",
    "elcc": "the corpora of the Emergent Language Corpus Collection with their metadata",
}
"""What there is to prepare."""

READS = {
    "wikipedia": ("languages", "articles"),
    "wmt14": ("pairs",),
    "xtreme": ("tasks",),
    "elcc": ("systems",),
}
"""By data set, the options that it reads beside those of all."""


def data(
    ctx: typer.Context,
    what: Annotated[
        str,
        typer.Argument(
            help="wikipedia (target languages), wmt14 (English-French pairs), xtreme (its tasks) or elcc (corpora)."
        ),
    ],
    languages: Annotated[
        str | None,
        typer.Option(
            metavar="CODES",
            help="wikipedia: codes separated by commas; the paper's ten targets if not given.",
        ),
    ] = None,
    articles: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="wikipedia: of each language; as the paper if not given (targets 100000, sources 200000).",
        ),
    ] = None,
    pairs: Annotated[int | None, typer.Option(min=1, help="wmt14: how many; 3000000 if not given.")] = None,
    tasks: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES", help="xtreme: names separated by commas (udpos,panx); all nine if not given."
        ),
    ] = None,
    systems: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="elcc: names separated by commas (rlupus); all if not given."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel=OUTPUT,
            metavar="PATH",
            help="Folder (wikipedia, xtreme, elcc) or .gz file (wmt14); in ~/.cache/ecsuite if not given.",
        ),
    ] = None,
    quiet: Quiet = False,
    as_json: Json = False,
    form: As = Form.TEXT,
) -> None:
    """Download and prepare data sets; complete files are not downloaded again."""
    look_up("data", what, KINDS)
    require_read(ctx, what, [what], READS)
    from ecsuite.downloads.downloads import data_folder, read_sources
    from ecsuite.downloads.elcc import prepare_elcc
    from ecsuite.downloads.languages import XFERBENCH_TARGETS
    from ecsuite.downloads.wikipedia import prepare_wikipedia
    from ecsuite.downloads.wmt14 import NUM_PAIRS, prepare_wmt14
    from ecsuite.downloads.xtreme import ORIGINS, prepare_xtreme
    from ecsuite.jobs.signals import exit_at_sigterm

    with exit_at_sigterm(), Reporter(quiet=quiet) as reporter:  # so that a half-written file is removed
        try:
            if what == "wikipedia":
                files = prepare_wikipedia(
                    XFERBENCH_TARGETS if languages is None else names_in(languages),
                    out or data_folder("wikipedia"),
                    num_articles=articles,
                    progress=reporter.progress,
                    note=reporter.note,
                )
                folder, names = files[0].parent, [file.name for file in files]
            elif what == "wmt14":
                file = prepare_wmt14(
                    out or data_folder("wmt14") / "en-fr.tsv.gz",
                    num_pairs=pairs or NUM_PAIRS,
                    progress=reporter.progress,
                    note=reporter.note,
                )
                folder, names = file.parent, [file.name]
            elif what == "elcc":
                folder = out or data_folder("elcc")
                names = prepare_elcc(
                    None if systems is None else names_in(systems),
                    folder,
                    progress=reporter.progress,
                    note=reporter.note,
                )
            else:
                folder = out or data_folder("xtreme")
                names = prepare_xtreme(
                    list(ORIGINS) if tasks is None else names_in(tasks),
                    folder,
                    progress=reporter.progress,
                    note=reporter.note,
                )
        except (KeyboardInterrupt, SystemExit):
            reporter.note("stopped; finished files are kept, and the same command goes on from there")
            raise
    sources = read_sources(folder)
    made = {name: sources[name] for name in names}
    if as_json:
        print_json({"folder": str(folder), "files": made})
        return
    publish([_table(what, made, f"In {folder}")], form)


def _table(what: str, made: Mapping[str, Mapping[str, Any]], note: str) -> Table:
    """A row a task or system with its files and bytes, or a row a file with its articles or pairs."""
    if what in ("xtreme", "elcc"):
        place = 1 if what == "elcc" else 0  # systems/NAME/…, TASK/…
        rows = []
        for part, entries in groupby(made.items(), key=lambda entry: entry[0].split("/")[place]):
            sizes = [entry.get("bytes", 0) for _, entry in entries]
            rows.append(row_of(part, len(sizes), sum(sizes)))
        first = name_column("system" if what == "elcc" else "task")
        return Table(columns=(first, number_column("files"), number_column("bytes")), rows=rows, notes=[note])
    unit = "articles" if what == "wikipedia" else "pairs"
    rows = [row_of(name, entry[unit], entry.get("characters", 0)) for name, entry in made.items()]
    columns = (name_column("file"), number_column(unit), number_column("characters"))
    return Table(columns=columns, rows=rows, notes=[note])
