"""`ecsuite convert`: a corpus in the form of another tool."""

from pathlib import Path
from typing import Annotated

import typer


def convert(
    corpus: Annotated[Path, typer.Argument(help="A run folder, a corpus.jsonl, or a file of another tool.")],
    out: Annotated[
        Path, typer.Argument(help="The file to write; for hf, and elcc of several speakers, a folder.")
    ],
    to: Annotated[
        str, typer.Option(help="elcc (JSON lines of symbols), hf (save_to_disk), egg (tensors) or csv.")
    ],
) -> None:
    """Write a corpus in the form of another tool, and say what that form leaves out."""
    from ecsuite.formats import read_corpus
    from ecsuite.formats.converting import convert as write

    found = read_corpus(corpus)
    lost = write(found, to, out)
    print(f"{len(found.messages):,} messages in {out}; left out: {', '.join(lost)}")
