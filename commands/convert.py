"""`ecsuite convert`: write a corpus in the format of another tool."""

from pathlib import Path
from typing import Annotated

import typer

from ecsuite.commands.completion import OneOf
from ecsuite.commands.options import CorpusOptions


def convert(
    corpus: Annotated[Path, typer.Argument(help="A run folder, a corpus.jsonl, or a file of another tool.")],
    out: Annotated[
        Path, typer.Argument(help="The file to write; a folder for hf, and for elcc with several speakers.")
    ],
    to: Annotated[
        str,
        typer.Option(help="elcc (JSON lines of symbols), hf (save_to_disk), egg (tensors) or csv."),
        OneOf("csv", "egg", "elcc", "hf"),
    ],
    *,
    read_with: CorpusOptions,
) -> None:
    """Write a corpus in the format of another tool, and report lost information."""
    from ecsuite.formats.converting import convert as write
    from ecsuite.formats.converting import require_new

    require_new(to, out)
    found = read_with.read(corpus)
    lost = write(found, to, out)
    print(f"{len(found.messages):,} messages in {out}; left out: {', '.join(lost)}")
