"""`ecsuite cite`: BibTeX of what a run, a game or a metric rests on."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from ecsuite.eval.reports.citations import bibliography, names_in_run, sources
from ecsuite.runtime.errors import look_up


def cite(
    what: Annotated[
        list[str] | None,
        typer.Argument(help="Run folders, and names of games, parts, metrics, grammars, commands or data."),
    ] = None,
) -> None:
    """Print BibTeX of ecsuite and of the works behind runs (with their scores), games, metrics and data."""
    print("\n".join(bibliography(name for each in what or () for name in _names(each))))
    if not what:
        print("ecsuite cite RUN... adds the works behind a run and its scores", file=sys.stderr)


def _names(what: str) -> Iterable[str]:
    """The names that a run or a name stands for.

    Raises:
        ConfigError: If it is neither.
    """
    path = Path(what)
    if path.is_dir() or "/" in what:
        return names_in_run(path)
    known = sources()
    if what not in known:
        from ecsuite.commands.named import KINDS

        shipped = [
            name
            for kind in ("games", "channels", "worlds", "metrics", "grammars")
            for name in KINDS[kind].names()
        ]
        if what not in shipped:
            look_up("game, part, metric or run", what, dict.fromkeys([*known, *shipped]))
        print(f"{what}: rests on no published work that is known here", file=sys.stderr)
    return [what]
