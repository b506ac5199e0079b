"""`ecsuite push`: upload runs, corpora and results to the Hugging Face hub."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ecsuite.commands.options import OUTPUT, As, Json, Quiet
from ecsuite.eval.views.console import Reporter, print_json
from ecsuite.runtime.memory import size_text
from ecsuite.tables.cells import text
from ecsuite.tables.forms import Form, publish
from ecsuite.tables.table import Column, Table, name_column, number_column, row_of

if TYPE_CHECKING:
    from ecsuite.hub.pushing import Parcel


def push(
    source: Annotated[
        Path,
        typer.Argument(help="A run, a corpus, the folder of a sweep or a collection, or a file of scores."),
    ],
    address: Annotated[str, typer.Argument(metavar="hf:OWNER/NAME[@BRANCH]", help="The repository.")],
    licence: Annotated[
        str | None,
        typer.Option(
            "--license",
            metavar="NAME",
            help="Required: cc-by-4.0, cc0-1.0, mit, …, or the https address of another licence.",
        ),
    ] = None,
    about: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="YAML with your own statements: description, personal_information, biases, limitations, …",
        ),
    ] = None,
    private: Annotated[bool, typer.Option("--private", help="Make a new repository private.")] = False,
    no_agents: Annotated[
        bool, typer.Option("--no-agents", help="Do not upload the weights of trained agents.")
    ] = False,
    plan: Annotated[
        bool,
        typer.Option("--plan", rich_help_panel=OUTPUT, help="List the files, and upload nothing."),
    ] = False,
    write: Annotated[
        Path | None,
        typer.Option(
            "--write",
            metavar="FILE",
            rich_help_panel=OUTPUT,
            help="Write the card to this file, and upload nothing.",
        ),
    ] = None,
    quiet: Quiet = False,
    as_json: Json = False,
    form: As = Form.TEXT,
) -> None:
    """Upload a run, a corpus or results to the Hugging Face hub, with a card, Croissant metadata and checksums."""
    from ecsuite.files.atomic_files import prepare_output_file, write_atomically
    from ecsuite.hub.address import read_address, read_licence
    from ecsuite.hub.card import read_statements
    from ecsuite.hub.pushing import pack, page_of, send

    if write is not None:
        prepare_output_file(write)
    place, terms = read_address(address), read_licence(licence)
    parcel = pack(source, place, licence=terms, statements=read_statements(about), with_agents=not no_agents)
    if write is not None:
        write_atomically(write, parcel.card)
    if plan or write is not None:
        if as_json:
            print_json(parcel.to_json())
            return
        publish([_table(parcel)], form, [f"{name}: left out, {why}" for name, why in parcel.left_out.items()])
        print(f"{size_text(parcel.size)} in {len(parcel.files)} files for {place}; nothing was sent")
        if write is not None:
            print(f"The card is in {write}")
        return
    with Reporter(quiet=quiet) as reporter:
        commit = send(parcel, is_private=private, note=reporter.note)
    if as_json:
        print_json({**parcel.to_json(), "commit": commit, "page": page_of(place)})
        return
    print(f"{size_text(parcel.size)} in {len(parcel.files)} files: {page_of(place)}, commit {commit}")
    print(f"Others get it with: ecsuite pull hf:{place.repository}@{commit}")


def _table(parcel: "Parcel") -> Table:
    rows = [row_of(each.name, each.size, text(f"{each.sha256[:16]}…")) for each in parcel.files]
    return Table(columns=(name_column("file"), number_column("bytes"), Column("SHA-256")), rows=rows)
