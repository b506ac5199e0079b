"""`ecsuite audit`: whether messages matter to agents that act."""

from pathlib import Path
from typing import Annotated

import typer

from ecsuite.commands.options import As, Json, Out, Plot, TrustCode, prepare_outputs
from ecsuite.runtime.printable import note
from ecsuite.tables.forms import Form


def audit(
    run: Annotated[Path, typer.Argument(help="A run folder of agents that act.", show_default=False)],
    episodes: Annotated[int, typer.Option(min=8, max=1_000_000, help="Episodes of each row.")] = 512,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="step|turn", help="Messages are also severed and swapped at each step, or turn, alone."
        ),
    ] = None,
    trust_code: TrustCode = False,
    out: Out = None,
    plot: Plot = None,
    as_json: Json = False,
    form: As = Form.TEXT,
) -> None:
    """Say whether agents that act use what they say: rewards with messages changed, and what messages tell."""
    from ecsuite.eval.run_metrics.audit import audit as found
    from ecsuite.eval.run_metrics.audit import report
    from ecsuite.games.plays.acting import Acting
    from ecsuite.games.runs.run import load_run
    from ecsuite.runtime.errors import ConfigError

    prepare_outputs(out, plot)
    opened = load_run(run, trust_code=trust_code, note=note)
    play = opened.play
    if not isinstance(play, Acting):
        kind = opened.experiment.play.kind
        raise ConfigError(
            f"{run}: expected a run of play acting, whose agents act in a world with steps, got {kind}"
        )
    report(found(play, num_episodes=episodes, by=by)).publish(
        out=out, picture=plot, as_json=as_json, form=form
    )
