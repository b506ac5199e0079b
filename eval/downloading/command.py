"""`ecsuite data`: the data of XferBench from the network, once."""

import signal
import sys
from pathlib import Path
from typing import Annotated

import typer

from ecsuite.config import ConfigError, look_up
from ecsuite.eval.command_options import Json
from ecsuite.eval.reporting import Reporter, print_json

KINDS = {
    "wikipedia": "articles of the target languages, a file a language",
    "wmt14": "English-French sentence pairs for `ecsuite translate`",
}
"""What there is to prepare."""


def data(
    what: Annotated[
        str, typer.Argument(help="wikipedia (target languages) or wmt14 (English-French pairs).")
    ],
    languages: Annotated[
        str | None,
        typer.Option(help="wikipedia: codes separated by commas; the paper's ten targets if not given."),
    ] = None,
    articles: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="wikipedia: of each language; as the paper if not given (targets 100000, sources 200000).",
        ),
    ] = None,
    pairs: Annotated[int | None, typer.Option(min=1, help="wmt14: how many; 3000000 if not given.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder (wikipedia) or .gz file (wmt14); in ~/.cache/ecsuite if not given."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Download and prepare data, once: what is there and whole is not downloaded again."""
    look_up("data", what, KINDS)
    if what == "wikipedia" and pairs is not None:
        raise ConfigError("--pairs is for wmt14; wikipedia has --languages and --articles")
    if what == "wmt14" and (languages is not None or articles is not None):
        raise ConfigError("--languages and --articles are for wikipedia; wmt14 has --pairs")
    from ecsuite.eval.downloading.downloads import data_folder, read_sources
    from ecsuite.eval.downloading.wikipedia import prepare_wikipedia
    from ecsuite.eval.downloading.wmt14 import NUM_PAIRS, prepare_wmt14
    from ecsuite.eval.xferbench.presets import TARGETS

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(75))  # so that a half-written file is removed
    with Reporter() as reporter:
        try:
            if what == "wikipedia":
                codes = TARGETS if languages is None else [code.strip() for code in languages.split(",")]
                files = prepare_wikipedia(
                    codes,
                    out or data_folder("wikipedia"),
                    num_articles=articles,
                    progress=reporter.progress,
                    note=reporter.note,
                )
            else:
                file = out or data_folder("wmt14") / "en-fr.tsv.gz"
                files = [
                    prepare_wmt14(
                        file,
                        num_pairs=pairs or NUM_PAIRS,
                        progress=reporter.progress,
                        note=reporter.note,
                    )
                ]
        except (KeyboardInterrupt, SystemExit):
            reporter.note("stopped; finished files are kept, and the same command goes on from there")
            raise
    unit = "articles" if what == "wikipedia" else "pairs"
    folder = files[0].parent
    made = {file.name: read_sources(folder)[file.name] for file in files}
    if as_json:
        print_json({"folder": str(folder), "files": made})
        return
    for name, entry in made.items():
        print(f"{name:16}{entry[unit]:>12,} {unit} {entry['characters']:>16,} characters")
    print(f"In {folder}")
