"""Options that several commands have, each written once."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from ecsuite.config import ConfigError

Json = Annotated[bool, typer.Option("--json", help="Print JSON only, on standard output.")]
Device = Annotated[str, typer.Option(help="auto, cpu or cuda.")]
Seeds = Annotated[
    str | None, typer.Option(help="A number of seeds (10), a range (123-132) or a list (123,125).")
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change any setting of the YAML; can be repeated."),
]
Out = Annotated[Path | None, typer.Option(help="Write the JSON to this file.")]
Workers = Annotated[int | None, typer.Option(min=1, help="Number of processes; default one per core.")]
Preset = Annotated[str, typer.Option(help="Size of XferBench: mini, danish or full.")]
Protocol = Annotated[str, typer.Option(help="Protocol of XferBench: strict, published-2024 or head-2024-12.")]
Targets = Annotated[
    Path | None,
    typer.Option(help="Folder of target texts (da.txt.gz ...) for XferBench; default those of the preset."),
]
Cache = Annotated[Path, typer.Option(help="Folder of finished stages, which are not computed again.")]
CACHE = Path("runs/xferbench")
MAX_SEEDS = 10_000
"""Most seeds of a study."""
Results = Annotated[
    list[Path],
    typer.Argument(
        help="Files of `ecsuite score --out`, results.json files, or folders of these.",
        show_default=False,
    ),
]


def read_seeds(text: str | None, first: int) -> tuple[int, ...] | None:
    """Seeds as users write them: a number of seeds (`10`), a range (`123-132`) or a list (`123,125`).

    Args:
        text: What the user wrote; None gives None.
        first: Where seeds begin if only their number is given.

    Raises:
        ConfigError: If it is none of these.
    """
    if text is None:
        return None
    try:
        start, dash, end = text.partition("-")
        if "," in text:
            seeds: Sequence[int] = [int(part) for part in text.split(",") if part.strip()]
        elif dash:
            seeds = range(int(start), int(end) + 1)
        else:
            seeds = range(first, first + int(text))
        # Not len(), which has no number for a range of more than 2^63.
        if not seeds or (isinstance(seeds, range) and seeds.stop - seeds.start > MAX_SEEDS):
            raise ValueError
        return tuple(seeds)
    except ValueError:
        raise ConfigError(
            f"--seeds {text}: expected how many (10), a range (123-132) or a list (123,125); at most {MAX_SEEDS:,}"
        ) from None


def consecutive_seeds(text: str | None, first: int) -> range:
    """Seeds of a command that takes consecutive ones; a single one, `first`, if none are given.

    Args:
        text: See `read_seeds`.
        first: Where seeds begin if only their number is given.

    Raises:
        ConfigError: If they are not consecutive.
    """
    seeds = read_seeds(text, first) or (first,)
    if seeds != tuple(range(seeds[0], seeds[0] + len(seeds))):
        raise ConfigError(f"--seeds {text}: expected consecutive seeds, such as 3 or 5-7")
    return range(seeds[0], seeds[0] + len(seeds))
