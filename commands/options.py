"""Options that several commands have, each written once."""

from pathlib import Path
from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else, on standard output.")]
Device = Annotated[str, typer.Option(help="auto, cpu or cuda.")]
Seeds = Annotated[str | None, typer.Option(help="How many (10), a range (123-132) or a list (123,125).")]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change any setting; can be repeated."),
]
Out = Annotated[Path | None, typer.Option(help="Write the JSON to this file.")]
Workers = Annotated[int | None, typer.Option(min=1, help="Processes; one a core if not given.")]
Preset = Annotated[str, typer.Option(help="How much compute XferBench spends: mini, danish or full.")]
Protocol = Annotated[str, typer.Option(help="XferBench's: strict, published-2024 or head-2024-12.")]
Targets = Annotated[
    Path | None,
    typer.Option(help="Folder of texts (da.txt.gz …) for XferBench instead of what the preset has."),
]
NumSeeds = Annotated[int, typer.Option("--seeds", min=1, help="How many seeds for XferBench.")]
Cache = Annotated[
    Path, typer.Option(help="Folder of XferBench's finished stages, which are not computed again.")
]
CACHE = Path("runs/xferbench")
