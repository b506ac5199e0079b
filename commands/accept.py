"""`ecsuite accept`: accept files that were edited by hand."""

from pathlib import Path
from typing import Annotated

import typer


def accept(
    folders: Annotated[list[Path], typer.Argument(help="Run folders, corpora, or folders of sweeps.")],
) -> None:
    """Take the files of a run, corpus or sweep as they are after you edited them: their checksums are written anew."""
    from ecsuite.games.edited_files import accept_edits

    for folder in folders:
        taken = accept_edits(folder)
        accepted = f"accepted {', '.join(taken)}" if taken else "nothing was edited"
        print(f"{folder}: {accepted}")
