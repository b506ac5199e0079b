"""`ecsuite people`: studies with people, as web pages."""

import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ecsuite.commands.completion import OneOf, names_of
from ecsuite.commands.options import OUTPUT, As, Json, Out, Plot, Seed, TrustCode
from ecsuite.eval.views.console import print_json
from ecsuite.eval.views.figures.canvas import prepare_picture
from ecsuite.files.atomic_files import prepare_output_file
from ecsuite.runtime.errors import ConfigError, missing_extra
from ecsuite.tables.forms import Form, publish

if TYPE_CHECKING:
    from ecsuite.people.database import Database
    from ecsuite.people.study import Study

DATASETS, PROTOCOLS = OneOf("synth", "eng"), OneOf("balanced", "published")
KINDS = OneOf("codes", "agents", "chains", "pairs", "rounds")
ROLES = OneOf("receiver", "sender")
Port = Annotated[int, typer.Option(min=0, max=65535, help="Port of the page; 0: any free port.")]
Host = Annotated[
    str,
    typer.Option(
        metavar="ADDRESS", help="Network address to listen at; 0.0.0.0: all addresses of this machine."
    ),
]
NoBrowser = Annotated[bool, typer.Option("--no-browser", help="Do not open a browser.")]
Place = Annotated[
    Path,
    typer.Argument(metavar="STUDY", help="A study file, or the folder of its answers.", show_default=False),
]
Answers = Annotated[
    Path | None,
    typer.Option(
        rich_help_panel=OUTPUT,
        metavar="FOLDER",
        help="Folder of the answers; default runs/ and the study's name.",
    ),
]


def try_grammar(
    grammar: Annotated[
        str,
        typer.Argument(
            help="A grammar with meanings (see `ecsuite list grammars`), or a study file.", show_default=False
        ),
        names_of("grammars"),
    ],
    dataset: Annotated[str, typer.Option(help=f"{DATASETS}."), DATASETS] = "synth",
    protocol: Annotated[str, typer.Option(help=f"{PROTOCOLS}."), PROTOCOLS] = "balanced",
    seed: Seed = 0,
    port: Port = 8000,
    host: Host = "127.0.0.1",
    no_browser: NoBrowser = False,
) -> None:
    """Play Secret Spy Codes yourself, or the game of a study file; nothing is stored."""
    _require_people()
    from tempfile import TemporaryDirectory

    from ecsuite.people.database import make_database
    from ecsuite.people.study import read_study

    tree = {"name": "try", "grammars": [grammar], "datasets": [dataset], "protocol": protocol, "seed": seed}
    if grammar.endswith((".yaml", ".yml")):
        if (dataset, protocol, seed) != ("synth", "balanced", 0):
            raise ConfigError("--dataset, --protocol, --seed: not used with a study file, which sets them")
        study = read_study(Path(grammar))
        if study.run or study.play:
            raise ConfigError(
                f"{grammar}: to try a game with agents, type `ecsuite people play {study.run or study.play}`"
            )
    else:
        study = _study(tree, "ecsuite people try")
    with TemporaryDirectory() as folder:
        database = make_database(study, Path(folder))
        _run(study, database, port, host, no_browser, is_trial=True)


def play_run(
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN_OR_GAME",
            help="A run folder of trained agents, or a game of rounds: a name or a file.",
            show_default=False,
        ),
    ],
    role: Annotated[
        str, typer.Option(help="receiver (choose objects) or sender (type messages)."), ROLES
    ] = "receiver",
    seed: Seed = 0,
    out: Answers = None,
    port: Port = 8000,
    host: Host = "127.0.0.1",
    no_browser: NoBrowser = False,
    trust_code: TrustCode = False,
) -> None:
    """Play instead of an agent: learn the language of trained agents, or take part in a game of rounds."""
    _require_people()
    from ecsuite.people.database import RUNS, make_database, only_server
    from ecsuite.people.kinds import load_agents

    if Path(run).is_dir() or ("/" in run and not run.endswith((".yaml", ".yml"))):
        name = f"people_{Path(run).resolve().name}_{role}"
        tree = {"name": name, "run": run, "roles": [role], "seed": seed}
    else:
        if role != "receiver":
            raise ConfigError(
                f"--role {role!r}: not used with a game of rounds, in which every agent has both roles"
            )
        name = f"people_{Path(run).stem}"
        tree = {"name": name, "play": run, "seed": seed}
    study = _study(tree, "ecsuite people play")
    _trust(study, trust_code)
    agents = load_agents(study)
    with only_server(out or RUNS / name) as folder:
        _run(study, make_database(study, folder), port, host, no_browser, is_trial=True, agents=agents)


def serve_study(
    file: Annotated[Path, typer.Argument(help="A study file (docs/people.md).", show_default=False)],
    out: Answers = None,
    port: Port = 8000,
    host: Host = "127.0.0.1",
    no_browser: NoBrowser = False,
    trust_code: TrustCode = False,
) -> None:
    """Let people take part in a study; after an interruption, the same command continues it."""
    _require_people()
    from ecsuite.people.database import RUNS, make_database, only_server
    from ecsuite.people.kinds import load_agents
    from ecsuite.people.study import read_study, require_filled_in

    study = read_study(file)
    require_filled_in(study, file)
    _trust(study, trust_code)
    agents = load_agents(study)
    with only_server(out or RUNS / study.name) as folder:
        _run(study, make_database(study, folder), port, host, no_browser, is_trial=False, agents=agents)


def _trust(study: "Study", trust_code: bool) -> None:
    """Trust the code that a study's game names, if the user asks for it."""
    if trust_code and (study.run or study.play):
        from ecsuite.games.config.experiment import load_experiment
        from ecsuite.games.runs.run_folder import RunFolder

        file = str(RunFolder(Path(study.run)).config) if study.run else str(study.play)
        load_experiment(file, trust_code=True, is_of_run=bool(study.run))


def new_study(
    file: Annotated[
        Path, typer.Argument(help="The study file to write, such as study.yaml.", show_default=False)
    ],
    kind: Annotated[str, typer.Option(help=f"{KINDS}."), KINDS] = "codes",
) -> None:
    """Write a study file with all its settings, and texts of consent and instructions to fill in."""
    from ecsuite.people.study import write_template

    written = write_template(kind, file)
    print("\n".join(map(str, written)))


def simulate(
    file: Annotated[Path, typer.Argument(help="A study file (docs/people.md).", show_default=False)],
    out: Answers = None,
) -> None:
    """Let programs take part in a study, to see its tables and corpora before people do."""
    from dataclasses import replace

    from ecsuite.people.database import RUNS, make_database, only_server
    from ecsuite.people.kinds import make_kind
    from ecsuite.people.session import Sessions
    from ecsuite.people.simulated import simulate as take_part
    from ecsuite.people.study import read_study

    study = read_study(file)
    if study.run or study.play:
        raise ConfigError(f"{file}: programs can't play games with agents: expected codes, chains or pairs")
    study = replace(study, name=f"{study.name}_simulated", simulated=True)
    with only_server(out or RUNS / study.name) as folder:
        database = make_database(study, folder)
        number = take_part(Sessions(make_kind(study, database)))
        print(f"{number} simulated participants in {database.file}; {_report_of(database)}")
        database.close()


def status(study: Place, as_json: Json = False, form: As = Form.TEXT) -> None:
    """Show the number of participants of a study by condition."""
    from ecsuite.people.database import open_database, reading, stored_study
    from ecsuite.people.kinds import make_kind, read_records

    database = open_database(study)
    stored = stored_study(database)
    with reading(database):
        table, rows = make_kind(stored, database).status(read_records(database), time.time())
    if as_json:
        print_json({"study": stored.name, "conditions": rows})
    else:
        publish([table], form)


def export(
    study: Place,
    out: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel=OUTPUT,
            metavar="FOLDER",
            help="The folder to write; default export in the study's.",
        ),
    ] = None,
    worker_ids: Annotated[
        bool,
        typer.Option("--worker-ids", help="Include the platform's participant IDs in their stored form."),
    ] = False,
) -> None:
    """Write the answers of a study as tables and corpora."""
    from ecsuite.people.database import folder_of, open_database, reading, stored_study
    from ecsuite.people.export import export as write
    from ecsuite.people.kinds import make_kind

    database = open_database(study)
    folder = out or folder_of(study) / "export"
    stored = stored_study(database)
    with reading(database):
        written = write(make_kind(stored, database), folder, has_workers=worker_ids)
    print("\n".join([f"In {folder}:", *written]))


def report(
    study: Place, out: Out = None, plot: Plot = None, as_json: Json = False, form: As = Form.TEXT
) -> None:
    """Evaluate a study: tables with the paper's figures, and tests."""
    if plot is not None:
        prepare_picture(plot)
    from ecsuite.people.database import open_database, reading, stored_study
    from ecsuite.people.kinds import make_kind, read_records

    database = open_database(study)
    stored = stored_study(database)
    with reading(database):
        written = make_kind(stored, database).report(read_records(database))
    if out is not None:
        prepare_output_file(out)
    written.publish(out=out, picture=plot, as_json=as_json, form=form)


def forget(
    token: Annotated[str, typer.Argument(help="The participant's token.", show_default=False)],
    study: Annotated[
        Path | None, typer.Argument(help="The folder of the study, if it is not in runs/.")
    ] = None,
) -> None:
    """Delete the data of a participant."""
    from ecsuite.people.database import find_participant

    database, row = find_participant(token, study)
    database.forget(row["id"])
    print(f"Deleted: one participant of {database.file}. Earlier exports still have the data.")


def _report_of(database: "Database") -> str:
    return f"ecsuite people report {shlex.quote(str(database.file.parent))}"


def _require_people() -> None:
    try:
        import markdown_it  # noqa: F401
        import PIL  # noqa: F401
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise missing_extra(f"a study with people needs {error.name}", "people") from None


def _study(tree: dict[str, Any], command: str) -> "Study":
    from ecsuite.parts.config import build
    from ecsuite.people.study import ANY_NUMBER, Study, with_texts

    return with_texts(build(Study, {**tree, "participants": ANY_NUMBER}, command))


def _run(
    study: "Study",
    database: "Database",
    port: int,
    host: str,
    no_browser: bool,
    *,
    is_trial: bool,
    agents: Any = None,
) -> None:
    from ecsuite.people.connections import address, bound, serve
    from ecsuite.people.kinds import make_kind
    from ecsuite.people.server import People
    from ecsuite.people.session import Sessions

    sessions = Sessions(make_kind(study, database, agents))
    listening = bound(host, port)
    print(f"The page is at {address(listening)}   (Ctrl-C ends it)", flush=True)
    if is_trial and study.pairs:
        second = address(listening).replace("127.0.0.1", "localhost")
        print(f"The partner is a second tab at {second}", flush=True)
    if study.run or study.play or not is_trial:
        print(f"Answers are stored in {database.file}; {_report_of(database)}", flush=True)
    people = People(sessions, is_trial=is_trial)
    serve(people.app(), listening, opens_browser=not no_browser, close=sessions.close)
