"""`ecsuite preview`: draw examples of a game."""

from pathlib import Path
from typing import Annotated

import typer

from ecsuite.commands.options import Set
from ecsuite.eval.reports.canvas import prepare_picture


def preview(
    game: Annotated[str, typer.Argument(help="A shipped experiment (see `ecsuite list`) or a YAML file.")],
    out: Annotated[Path | None, typer.Option(help="The picture, .png or .svg; default GAME.png.")] = None,
    rounds: Annotated[int, typer.Option(help="Number of examples to draw.")] = 2,
    split: Annotated[str, typer.Option(help="train, valid, test or seen.")] = "train",
    assign: Set = None,
) -> None:
    """Draw examples of a game: targets, distractors and the rule or the attribute values."""
    from ecsuite.games.experiment import load_experiment

    experiment = load_experiment(game, assign or [])
    file = out or Path(f"{experiment.name}.png")
    prepare_picture(file)
    from ecsuite.games.preview import show_rounds

    for line in show_rounds(experiment, file, num_rounds=rounds, split=split):
        print(line)
    print(f"Picture: {file}")
