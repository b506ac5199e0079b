"""`ecsuite cite`: BibTeX of the works behind a run, a game or a metric."""

import functools
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated

import typer

from ecsuite.eval.experiments.grids import FOLDER, shipped_studies
from ecsuite.eval.views.citations import bibliography, names_in_run, names_in_study, sources
from ecsuite.parts.config import parse_yaml
from ecsuite.runtime.errors import look_up
from ecsuite.runtime.printable import note


def cite(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            help="Runs, sweeps, corpora, files of scores; names of games, studies, claims, parts, metrics, grammars, "
            "commands or data."
        ),
    ] = None,
) -> None:
    """Print BibTeX of ecsuite and of the works behind runs (with their scores), games, metrics and data."""
    from ecsuite.commands.named import registered_names

    registered = functools.cache(registered_names)
    print("\n".join(bibliography(name for each in what or () for name in _names(each, registered))))
    if not what:
        note("ecsuite cite RUN... adds the works behind a run and its scores")


def _names(what: str, registered: Callable[[], Mapping[str, Mapping[str, str]]]) -> Iterable[str]:
    """Names of the parts, metrics and studies that an argument refers to.

    Args:
        what: The run, study or name.
        registered: Function that returns all names by kind; called unless the argument is a folder.

    Raises:
        ConfigError: If the argument is none of them.
    """
    from ecsuite.eval.experiments.claims.claim import load_claim, shipped_claims

    place = Path(what)
    if place.is_dir() or (place.suffix and place.is_file()):
        from ecsuite.eval.views.methods.methods import names_at

        return names_at(place)
    if what in shipped_claims():
        return [load_claim(what).source.work]
    shipped = registered()
    studies = shipped_studies()
    others = {*sources()} - {*studies} | {
        name for kind in shipped if kind != "studies" for name in shipped[kind]
    }
    if (study := what.removeprefix(f"{FOLDER}/")) in studies and what not in others:
        names = list(names_in_study(study, parse_yaml(studies[study].read_text("utf-8"), what)))
    elif what.startswith(f"{FOLDER}/"):
        look_up("study", study, studies)
        raise AssertionError
    elif what in others:
        names = [what]
    elif "/" in what:
        return names_in_run(Path(what))
    else:
        look_up("game, study, part, metric or run", what, dict.fromkeys([*others, *studies]))
        raise AssertionError
    if not sources().keys() & {*names}:
        note(f"{what}: no published work is listed for it")
    return names
