"""`ecsuite preview`: look at rounds of a game."""

from pathlib import Path
from typing import Annotated

import typer

from ecsuite.commands.corpus_options import Columns, roles_in
from ecsuite.commands.options import Plot, Set
from ecsuite.eval.figures.canvas import prepare_picture

FLAGS = {"world.columns": "--column"}
"""How users write a setting, for messages."""
ROUNDS, SPLIT = "Number of rounds.", "train, valid, test or seen."


def preview(
    game: Annotated[
        str,
        typer.Argument(help="A shipped game (see `ecsuite list`), a YAML file, or a table of objects."),
    ],
    plot: Plot = None,
    rounds: Annotated[int, typer.Option(help=ROUNDS)] = 2,
    split: Annotated[str, typer.Option(help=SPLIT)] = "train",
    assign: Set = None,
    column: Columns = None,
) -> None:
    """Show rounds of a game: rule, targets and distractors; images are drawn, by default to GAME.png."""
    show_rounds(game, plot, rounds, split, assign, column)


def show_rounds(
    game: str,
    plot: Path | None,
    rounds: int,
    split: str,
    assign: list[str] | None,
    column: list[str] | None = None,
) -> None:
    """Print rounds of a game, and draw them; for the arguments see `preview`."""
    if plot is not None:
        prepare_picture(plot)
    from ecsuite.games.experiment import load_experiment

    experiment = load_experiment(
        game, assign or [], {"world.columns": roles_in(column) if column else None}, flags_by_key=FLAGS
    )
    from ecsuite.games.preview import make_preview  # torch is imported once the game is known to exist

    found = make_preview(experiment, num_rounds=rounds, split=split)
    if plot is None and found.has_images:
        plot = Path(f"{experiment.name}.png")
        prepare_picture(plot)
    if plot is not None:
        found.draw(plot)
    for line in found.lines():
        print(line)
    if plot is not None:
        print(f"\nPicture: {plot}")
