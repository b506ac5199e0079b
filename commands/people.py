"""`ecsuite people`: studies with people, as web pages."""

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from ecsuite.commands.options import OUTPUT, As, Json, Plot, Seed, require_read
from ecsuite.eval.figures.canvas import prepare_picture
from ecsuite.eval.reports.console import print_json
from ecsuite.files.atomic_files import prepare_output_file
from ecsuite.runtime.errors import ConfigError, look_up
from ecsuite.tables.forms import Form, publish

ACTIONS = {
    "try": "play the game yourself: ecsuite people try shufdet",
    "play": "learn the language of trained agents: ecsuite people play runs/disc_small",
    "serve": "let people take part: ecsuite people serve study.yaml",
    "status": "how many have taken part: ecsuite people status study.yaml",
    "export": "tables and corpora: ecsuite people export study.yaml --out data",
    "report": "tables beside the paper's, and tests: ecsuite people report study.yaml",
    "forget": "delete what a participant gave: ecsuite people forget TOKEN",
}
"""What can be done."""
SERVING = ("port", "host", "no_browser")
READS = {
    "try": (*SERVING, "dataset", "protocol", "seed"),
    "play": (*SERVING, "role", "seed", "out"),
    "serve": (*SERVING, "out"),
    "status": ("as_json", "form"),
    "export": ("out", "worker_ids"),
    "report": ("out", "plot", "as_json", "form"),
    "forget": (),
}
"""By action, the options that it reads beside those of all."""


def people(
    ctx: typer.Context,
    action: Annotated[
        str,
        typer.Argument(help="try, play, serve, status, export, report or forget.", show_default=False),
    ],
    what: Annotated[
        list[str] | None,
        typer.Argument(
            help="A grammar (try); a run (play); a study file or its folder; a token, and its study if not in runs/.",
            show_default=False,
        ),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the page; 0: any free one.")] = 8000,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Address to listen at; 0.0.0.0: all of this machine.")
    ] = "127.0.0.1",
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Open no browser.")] = False,
    dataset: Annotated[str, typer.Option(help="try: synth or eng.")] = "synth",
    protocol: Annotated[str, typer.Option(help="try: balanced or published.")] = "balanced",
    role: Annotated[
        str, typer.Option(help="play: receiver (choose objects) or sender (type messages).")
    ] = "receiver",
    worker_ids: Annotated[
        bool, typer.Option("--worker-ids", help="export: with the platform's IDs, as they are stored.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel=OUTPUT,
            metavar="PATH",
            help="Folder of the answers (play, serve; default runs/NAME) or export, or a file for report's JSON.",
        ),
    ] = None,
    plot: Plot = None,
    seed: Seed = 0,
    as_json: Json = False,
    form: As = Form.TEXT,
) -> None:
    """Serve games to people, Secret Spy Codes or one with trained agents, and evaluate their answers."""
    look_up("action", action, ACTIONS)
    require_read(ctx, action, [action], READS)
    names = what or []
    if len(names) != 1 and not (action == "forget" and len(names) == 2):
        raise ConfigError(f"ecsuite people {action}: expected one name, got {len(names)}: {ACTIONS[action]}")
    if action in ("try", "play", "serve"):
        from ecsuite.people.serving import require_people

        require_people()
    if action == "try":
        _try(names[0], dataset, protocol, seed, port, host, no_browser)
    elif action == "play":
        _play(names[0], role, seed, out, port, host, no_browser)
    elif action == "serve":
        _serve(Path(names[0]), out, port, host, no_browser)
    elif action == "forget":
        _forget(names[0], Path(names[1]) if names[1:] else None)
    else:
        _evaluate(action, Path(names[0]), out, plot, worker_ids, as_json, form)


def _evaluate(
    action: str, place: Path, out: Path | None, plot: Path | None, worker_ids: bool, as_json: bool, form: Form
) -> None:
    """Read the answers of a study, and print or write what was asked."""
    if plot is not None:
        prepare_picture(plot)
    from ecsuite.people.opening import folder_of, open_database, stored_study
    from ecsuite.people.records import read_records

    database = open_database(place)
    study, records = stored_study(database), read_records(database)
    if action == "status":
        from ecsuite.people.report import status_rows, status_table

        now = time.time()
        if as_json:
            print_json({"study": study.name, "conditions": status_rows(study, records, now)})
        else:
            publish([status_table(study, records, now)], form)
    elif action == "export":
        from ecsuite.people.export import export

        folder = out or folder_of(place) / "export"
        print("\n".join([f"In {folder}:", *export(study, database, folder, has_workers=worker_ids)]))
    else:
        from ecsuite.people.reports import make_report

        report = make_report(study, database, records)
        if out is not None:
            prepare_output_file(out)
        report.publish(out=out, picture=plot, as_json=as_json, form=form)


def _forget(token: str, study: Path | None) -> None:
    from ecsuite.people.opening import find_participant

    database, row = find_participant(token, study)
    database.forget(row["id"])
    print(f"Deleted: one participant of {database.file}. An earlier export still has what they gave.")


def _try(
    grammar: str, dataset: str, protocol: str, seed: int, port: int, host: str, no_browser: bool
) -> None:
    from tempfile import TemporaryDirectory

    from ecsuite.parts.config import build
    from ecsuite.people.opening import make_database
    from ecsuite.people.study import ANY_NUMBER, Study, with_texts

    tree = {"name": "try", "grammars": [grammar], "datasets": [dataset], "protocol": protocol, "seed": seed}
    study: Study = with_texts(build(Study, {**tree, "participants": ANY_NUMBER}, "ecsuite people try"))
    with TemporaryDirectory() as folder:
        database = make_database(study, Path(folder))
        _run(study, database, port, host, no_browser, is_trial=True)


def _play(run: str, role: str, seed: int, out: Path | None, port: int, host: str, no_browser: bool) -> None:
    from ecsuite.parts.config import build
    from ecsuite.people.games import load_agents
    from ecsuite.people.opening import RUNS, make_database
    from ecsuite.people.study import ANY_NUMBER, Study, with_texts

    name = f"people_{Path(run).resolve().name}_{role}"
    tree = {"name": name, "run": run, "roles": [role], "seed": seed, "participants": ANY_NUMBER}
    study: Study = with_texts(build(Study, tree, "ecsuite people play"))
    agents = load_agents(study)
    database = make_database(study, out or RUNS / name)
    _run(study, database, port, host, no_browser, is_trial=True, agents=agents)


def _serve(file: Path, out: Path | None, port: int, host: str, no_browser: bool) -> None:
    from ecsuite.people.games import load_agents
    from ecsuite.people.opening import RUNS, make_database
    from ecsuite.people.study import read_study

    study = read_study(file)
    agents = load_agents(study)
    database = make_database(study, out or RUNS / study.name)
    _run(study, database, port, host, no_browser, is_trial=False, agents=agents)


def _run(
    study: Any, database: Any, port: int, host: str, no_browser: bool, *, is_trial: bool, agents: Any = None
) -> None:
    from ecsuite.people.games import game_to_play
    from ecsuite.people.server import People
    from ecsuite.people.serving import address, bound, serve
    from ecsuite.people.session import Sessions

    sessions = Sessions(study, database, game_to_play(database, agents))
    listening = bound(host, port)
    print(f"The page is at {address(listening)}   (Ctrl-C ends it)", flush=True)
    if study.run or not is_trial:
        print(
            f"Answers are stored in {database.file}; ecsuite people report {database.file.parent}", flush=True
        )
    people = People(sessions, is_trial=is_trial)
    serve(people.app(), listening, opens_browser=not no_browser, close=database.close)
