"""`ecsuite audit`: whether messages matter to agents that act, or to the agents of a recorded log."""

from dataclasses import fields
from pathlib import Path
from typing import Annotated

import typer

from ecsuite.commands.options import (
    As,
    CorpusOptions,
    Json,
    Out,
    Plot,
    Seed,
    TrustCode,
    given_options,
    prepare_outputs,
)
from ecsuite.parts.config import RUN_CONFIG, refuse_unread
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.printable import note
from ecsuite.tables.forms import Form

OF_RUNS = ("episodes", "by", "trust_code", "plot")
"""Options for runs, whose agents play new episodes."""
OF_LOGS = ("where", "delay", "seed", *(each.name for each in fields(CorpusOptions)))
"""Options for logs."""


def audit(
    ctx: typer.Context,
    run: Annotated[
        Path,
        typer.Argument(
            metavar="PATH",
            help="A run folder of agents that act, or a log: a table of steps or rounds.",
            show_default=False,
        ),
    ],
    episodes: Annotated[int, typer.Option(min=8, max=1_000_000, help="Number of episodes per row.")] = 512,
    by: Annotated[
        str | None,
        typer.Option(metavar="step|turn", help="Also remove and swap messages at each single step, or turn."),
    ] = None,
    where: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN=VALUE", help="Only these rows of a log.")
    ] = None,
    delay: Annotated[
        int, typer.Option(min=0, help="Delay of messages in a log, in steps; 0: heard at the same step.")
    ] = 1,
    seed: Seed = 0,
    trust_code: TrustCode = False,
    out: Out = None,
    plot: Plot = None,
    as_json: Json = False,
    form: As = Form.TEXT,
    *,
    read_with: CorpusOptions,
) -> None:
    """Test whether agents that act use messages: rewards with changed messages, and information in messages."""
    if not run.exists():
        raise ConfigError(f"{run}: no such file or folder")
    is_log = not (run / RUN_CONFIG).is_file()
    reads = {"logs": OF_LOGS, "runs": OF_RUNS}
    refuse_unread(
        f"an audit of {'a log' if is_log else 'a run'}",
        ["logs" if is_log else "runs"],
        given_options(ctx),
        reads,
    )
    prepare_outputs(out, plot)
    if is_log:
        from ecsuite.eval.run_metrics.log_audit import audit_log

        corpus = read_with.read(run, where or (), is_log=True)
        audit_log(corpus, seed=seed, delay=delay).report().publish(
            out=out, picture=None, as_json=as_json, form=form
        )
        return
    from ecsuite.eval.run_metrics.audit import audit as found
    from ecsuite.eval.run_metrics.audit import report
    from ecsuite.games.plays.acting import Acting
    from ecsuite.games.runs.run import load_run

    opened = load_run(run, trust_code=trust_code, note=note)
    play = opened.play
    if not isinstance(play, Acting):
        raise ConfigError(
            f"{run}: the agents of this run do not act in an environment; audit reads runs of games such as "
            "speaker_listener"
        )
    report(found(play, num_episodes=episodes, by=by)).publish(
        out=out, picture=plot, as_json=as_json, form=form
    )
