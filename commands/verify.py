"""`ecsuite verify`: hold what a run, a corpus or a sweep claims against what comes out here."""

from pathlib import Path
from typing import Annotated

import typer

from ecsuite.commands.options import As, Device, Json, Out, Quiet, TrustCode, advanced, prepare_outputs
from ecsuite.tables.forms import Form


def verify(
    sources: Annotated[
        list[Path], typer.Argument(help="Run folders, corpora, files of scores, or folders of sweeps.")
    ],
    every: Annotated[
        bool, typer.Option("--all", help="Also compute scores again that train models, which takes long.")
    ] = False,
    accept: Annotated[
        bool,
        typer.Option(
            "--accept", help="Take files that you edited as they are: their checksums are written anew."
        ),
    ] = False,
    metrics: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="Metrics of your own among the scores: `./mine.py:my_metric`."),
    ] = None,
    targets: Annotated[
        Path | None,
        advanced(metavar="FOLDER", help="Folder of target texts of XferBench; default those of the preset."),
    ] = None,
    trust_code: TrustCode = False,
    only_plan: Annotated[
        bool,
        typer.Option("--plan", help="Say what would be computed and how long it takes, and compute nothing."),
    ] = False,
    device: Device = "auto",
    quiet: Quiet = False,
    out: Out = None,
    as_json: Json = False,
    form: As = Form.TEXT,
) -> None:
    """Check files, score again what is claimed, ask the agents again, and say line by line what agrees."""
    if accept:
        _accept(sources)
        return
    from ecsuite.eval.results.verification.recompute import VerifyOptions
    from ecsuite.eval.results.verification.verify import plan, verify_all
    from ecsuite.eval.views.console import Reporter
    from ecsuite.jobs.graph import Runner
    from ecsuite.parts.own_code import trust
    from ecsuite.parts.registry import split_names

    prepare_outputs(out, None)
    if only_plan:
        plan(sources, is_all=every).publish(out=out, picture=None, as_json=as_json, form=form)
        return
    own = tuple(split_names(metrics)) if metrics else ()
    trust(own)
    with Reporter(quiet=quiet) as reporter:
        runner = Runner(progress=reporter.progress, note=reporter.note)
        options = VerifyOptions(
            is_all=every,
            own=own,
            targets=targets,
            device=device,
            trust_code=trust_code,
            runner=runner,
            note=reporter.note,
        )
        verification = verify_all(sources, options)
    verification.report().publish(out=out, picture=None, as_json=as_json, form=form)
    if verification.exit_code:
        raise typer.Exit(verification.exit_code)


def _accept(folders: list[Path]) -> None:
    from ecsuite.games.runs.run_folder import RunFolder

    for folder in folders:
        taken = RunFolder(folder).accept_edits()
        accepted = f"accepted {', '.join(taken)}" if taken else "nothing was edited"
        print(f"{folder}: {accepted}")
