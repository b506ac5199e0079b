"""`ecsuite plot`: learning curves of runs."""

from pathlib import Path
from typing import Annotated

import typer


def plot(
    runs: Annotated[list[Path], typer.Argument(help="Run folders.")],
    out: Annotated[Path, typer.Option(help="The picture: .svg or .png.")] = Path("curves.svg"),
    measure: Annotated[str, typer.Option(help="What is drawn: accuracy, loss, length, ...")] = "accuracy",
) -> None:
    """Draw the learning curves of runs, a line a run."""
    from ecsuite.eval.reports.canvas import prepare_picture
    from ecsuite.eval.reports.learning_curves import draw_curves

    prepare_picture(out)
    draw_curves(runs, out, measure=measure)
    print(f"{measure} of {len(runs)} {'run' if len(runs) == 1 else 'runs'} in {out}")
