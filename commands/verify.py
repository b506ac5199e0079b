"""`ecsuite verify`: compare the stored results of a run, a corpus or a sweep with recomputed ones."""

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
        bool, typer.Option("--all", help="Also recompute scores that train models, which takes long.")
    ] = False,
    accept: Annotated[
        bool,
        typer.Option("--accept", help="Accept files that you edited, and update their checksums."),
    ] = False,
    metrics: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="Your own metrics among the scores: `./mine.py:my_metric`."),
    ] = None,
    targets: Annotated[
        Path | None,
        advanced(
            metavar="FOLDER", help="Folder of target texts of XferBench; default the texts of the preset."
        ),
    ] = None,
    trust_code: TrustCode = False,
    only_plan: Annotated[
        bool,
        typer.Option("--plan", help="List the computations and the estimated time, and compute nothing."),
    ] = False,
    device: Device = "auto",
    quiet: Quiet = False,
    out: Out = None,
    as_json: Json = False,
    form: As = Form.TEXT,
) -> None:
    """Check files, recompute scores and figures of the agents, and report line by line what agrees."""
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
