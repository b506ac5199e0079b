"""The options of `ecsuite train-game` that each set a key of the game."""

from dataclasses import dataclass
from typing import Annotated

import typer

from ecsuite.commands.completion import names_of
from ecsuite.commands.options import Columns, OptionalSeed, advanced, roles_in
from ecsuite.commands.setting_options import Sets


def listed_in(text: str) -> list[str]:
    """Split a list of names at commas."""
    from ecsuite.games.config.experiment import listed  # imports numpy

    return listed(text)


@dataclass(frozen=True, kw_only=True, slots=True)
class GameOptions:
    """Options that set a key of a game; None: not given."""

    seed: Annotated[OptionalSeed, Sets("training.seed")] = None
    sender: Annotated[
        str | None,
        typer.Option(help="The sender, such as lstm or husendz:dgsend,hidden_size=64."),
        names_of("senders"),
        Sets("sender.kind"),
    ] = None
    receiver: Annotated[
        str | None,
        typer.Option(help="The receiver, such as gru or hier:gru."),
        names_of("receivers"),
        Sets("receiver.kind"),
    ] = None
    channel: Annotated[
        str | None,
        typer.Option(help="The channel, such as gumbel or ./noisy.py:NoisyChannel,flip=0.1."),
        names_of("channels"),
        Sets("channel.kind"),
    ] = None
    task: Annotated[
        str | None,
        typer.Option(help="The task, such as reconstruction."),
        names_of("tasks"),
        Sets("task.kind"),
    ] = None
    world: Annotated[
        str | None, advanced(help="The world, such as attributes."), names_of("worlds"), Sets("world.kind")
    ] = None
    loss: Annotated[
        str | None, advanced(help="The training loss."), names_of("losses"), Sets("loss.kind")
    ] = None
    epochs: Annotated[
        int | None,
        typer.Option(help="Number of passes over the training examples."),
        Sets("training.num_epochs"),
    ] = None
    batch_size: Annotated[
        int | None, advanced(help="Number of examples per step."), Sets("training.batch_size")
    ] = None
    until_accuracy: Annotated[
        float | None,
        typer.Option(help="Stop at this validation accuracy, 0 to 1."),
        Sets("training.until_accuracy"),
    ] = None
    max_minutes: Annotated[
        float | None, typer.Option(help="Stop after this many minutes."), Sets("training.max_minutes")
    ] = None
    keep_best: Annotated[
        str | None,
        typer.Option(help="Keep the state with the best accuracy, loss, metrics.topsim, ..."),
        Sets("training.keep_best"),
    ] = None
    patience: Annotated[
        int | None,
        advanced(help="Stop after this number of evaluations without improvement."),
        Sets("training.patience"),
    ] = None
    metrics: Annotated[
        str | None,
        typer.Option(help="Metrics of the language at each evaluation, such as topsim,posdis."),
        names_of("metrics"),
        Sets("evaluation.metrics", listed_in),
    ] = None
    keep: Annotated[
        str | None,
        advanced(
            help="Store messages: interactions, probabilities (last evaluation), languages (each evaluation)."
        ),
        Sets("evaluation.keep", listed_in),
    ] = None
    train_data: Annotated[
        str | None, advanced(help="Text file of training examples."), Sets("world.train_data")
    ] = None
    valid_data: Annotated[
        str | None, advanced(help="Text file of validation examples."), Sets("world.valid_data")
    ] = None
    features: Annotated[
        str | None,
        advanced(help="The npz file of feature vectors (see `ecsuite data features`)."),
        Sets("world.features"),
    ] = None
    objects: Annotated[
        str | None,
        typer.Option(help="Own objects: a table, an npz file, a folder of images, or hf:NAME."),
        Sets("world.objects"),
    ] = None
    column: Annotated[Columns, Sets("world.columns", roles_in)] = None
