"""`ecsuite people`: studies with people, as web pages."""

from pathlib import Path
from typing import Annotated, Any

import typer

from ecsuite.commands.options import OUTPUT, Seed, require_read
from ecsuite.config import ConfigError, look_up

ACTIONS = {
    "try": "play the game yourself: ecsuite people try shufdet",
    "serve": "let people take part: ecsuite people serve study.yaml",
}
"""What can be done."""
READS = {
    "try": ("port", "host", "no_browser", "dataset", "protocol", "seed"),
    "serve": ("port", "host", "no_browser", "out"),
}
"""By action, the options that it reads beside those of all."""


def people(
    ctx: typer.Context,
    action: Annotated[str, typer.Argument(help="try, serve.", show_default=False)],
    what: Annotated[
        list[str] | None,
        typer.Argument(help="A grammar (try), a study file or its folder.", show_default=False),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0: any free one.")] = 8000,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Address to listen at; 0.0.0.0: all of this machine.")
    ] = "127.0.0.1",
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Open no browser.")] = False,
    dataset: Annotated[str, typer.Option(help="try: synth or eng.")] = "synth",
    protocol: Annotated[str, typer.Option(help="try: balanced or published.")] = "balanced",
    out: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel=OUTPUT, metavar="FOLDER", help="Folder; serve: of the answers, default runs/NAME."
        ),
    ] = None,
    seed: Seed = 0,
) -> None:
    """Serve the game Secret Spy Codes to people, and evaluate what they typed."""
    look_up("action", action, ACTIONS)
    require_read(ctx, action, [action], READS)
    names = what or []
    if len(names) != 1:
        raise ConfigError(f"ecsuite people {action}: expected one name, got {len(names)}: {ACTIONS[action]}")
    from ecsuite.people.serving import require_people

    require_people()
    if action == "try":
        _try(names[0], dataset, protocol, seed, port, host, no_browser)
    else:
        _serve(Path(names[0]), out, port, host, no_browser)


def _try(
    grammar: str, dataset: str, protocol: str, seed: int, port: int, host: str, no_browser: bool
) -> None:
    from tempfile import TemporaryDirectory

    from ecsuite.config import build
    from ecsuite.people.opening import make_database
    from ecsuite.people.study import Study, with_texts

    tree = {"name": "try", "grammars": [grammar], "datasets": [dataset], "protocol": protocol, "seed": seed}
    study: Study = with_texts(build(Study, {**tree, "participants": 1_000_000}, "ecsuite people try"))
    with TemporaryDirectory() as folder:
        database = make_database(study, Path(folder))
        _run(study, database, port, host, no_browser, is_trial=True)


def _serve(file: Path, out: Path | None, port: int, host: str, no_browser: bool) -> None:
    from ecsuite.people.opening import RUNS, make_database
    from ecsuite.people.study import read_study

    study = read_study(file)
    database = make_database(study, out or RUNS / study.name)
    _run(study, database, port, host, no_browser, is_trial=False)


def _run(study: Any, database: Any, port: int, host: str, no_browser: bool, *, is_trial: bool) -> None:
    from ecsuite.people.server import People
    from ecsuite.people.serving import address, bound, serve
    from ecsuite.people.session import Sessions

    listening = bound(host, port)
    print(f"The page is at {address(listening)}   (Ctrl-C ends it)", flush=True)
    if not is_trial:
        print(f"Answers are stored in {database.file}", flush=True)
    people = People(Sessions(study, database), is_trial=is_trial)
    serve(people.app(), listening, opens_browser=not no_browser, close=database.close)
