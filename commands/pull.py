"""`ecsuite pull`: download and verify what `ecsuite push` uploaded to the Hugging Face hub."""

from pathlib import Path
from typing import Annotated

import typer

from ecsuite.commands.options import Json, Quiet
from ecsuite.eval.views.console import Reporter, print_json


def pull(
    address: Annotated[
        str,
        typer.Argument(
            metavar="hf:OWNER/NAME[@REVISION]", help="The repository, with a branch, a tag or a commit."
        ),
    ],
    folder: Annotated[
        Path | None, typer.Argument(help="A new folder; default NAME in the current folder.")
    ] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Download what `ecsuite push` uploaded to the Hugging Face hub, verify every file, and run no code of it."""
    from ecsuite.hub.address import read_address
    from ecsuite.hub.pulling import pull as download
    from ecsuite.jobs.signals import exit_at_sigterm

    place = read_address(address)
    with exit_at_sigterm(), Reporter(quiet=quiet) as reporter:
        pulled = download(place, folder or Path(place.name), progress=reporter.progress, note=reporter.note)
    if as_json:
        print_json(pulled.to_json())
        return
    print(f"{len(pulled.files)} files verified in {pulled.folder}, commit {pulled.commit}")
    print(f"Next: {pulled.advice}")
