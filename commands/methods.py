"""`ecsuite methods`: write the methods section of a paper from the files of runs."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from ecsuite.commands.options import Json
from ecsuite.eval.views.console import print_json
from ecsuite.parts.registry import split_names
from ecsuite.tables.forms import Form


def methods(
    sources: Annotated[
        list[Path], typer.Argument(help="Run folders, sweeps, corpora, or files of scores: all of one study.")
    ],
    form: Annotated[
        Form, typer.Option("--as", metavar="FORM", help="text, markdown, or latex with \\cite.")
    ] = Form.MARKDOWN,
    bib: Annotated[Path | None, typer.Option(metavar="FILE", help="Write BibTeX of the cited works.")] = None,
    metrics: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Scores to describe; default all stored scores.")
    ] = None,
    hardware: Annotated[bool, typer.Option("--hardware", help="Also describe the machine.")] = False,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the text to this file.")] = None,
    as_json: Json = False,
) -> None:
    """Describe runs from their files alone: game, agents, training, seeds, metrics, versions."""
    from ecsuite.eval.views.methods.methods import methods as methods_of
    from ecsuite.files.atomic_files import check_output_file, prepare_output_file, write_atomically

    files = [file for file in (bib, out) if file is not None]
    for file in files:
        check_output_file(file)
    found = methods_of(sources, metrics=None if metrics is None else split_names(metrics), hardware=hardware)
    text = found.text(form)  # before anything is written
    for file in files:
        prepare_output_file(file)
    if bib is not None:
        write_atomically(bib, found.bibtex().encode())
    if as_json:
        print_json(found.to_json())
        return
    if out is None:
        sys.stdout.write(text)
    else:
        write_atomically(out, text.encode())
