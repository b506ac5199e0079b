"""`ecsuite train-game`: train a sender and a receiver on a game."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from ecsuite.commands.corpus_options import Columns, roles_in
from ecsuite.commands.options import Device, Json, OptionalSeed, OutFolder, Quiet, Set, advanced
from ecsuite.eval.reports.console import Reporter, print_json
from ecsuite.runtime.errors import DivergedError

FLAGS = {
    "training.seed": "--seed",
    "sender.kind": "--sender",
    "receiver.kind": "--receiver",
    "channel.kind": "--channel",
    "task.kind": "--task",
    "world.kind": "--world",
    "loss.kind": "--loss",
    "training.num_epochs": "--epochs",
    "training.batch_size": "--batch-size",
    "training.until_accuracy": "--until-accuracy",
    "training.max_minutes": "--max-minutes",
    "training.keep_best": "--keep-best",
    "training.patience": "--patience",
    "evaluation.metrics": "--metrics",
    "evaluation.keep": "--keep",
    "world.train_data": "--train-data",
    "world.valid_data": "--valid-data",
    "world.features": "--features",
    "world.objects": "--objects",
    "world.columns": "--column",
}
"""The option that sets a key of the config, for messages."""
EARLY: Mapping[str, tuple[int, str]] = {
    "interrupt": (130, "stopped by Ctrl-C with a checkpoint and a corpus of what was learnt so far"),
    "preempted": (75, "stopped by a signal with a checkpoint and no corpus"),
}
"""How a training ends that was stopped from outside, by its reason: the exit code, and what is said of it."""


def train_game(
    game: Annotated[
        str,
        typer.Argument(
            help="A shipped game (see `ecsuite list`), a YAML file, or own objects: a table, a folder."
        ),
    ],
    out: OutFolder = None,
    seed: OptionalSeed = None,
    sender: Annotated[
        str | None, typer.Option(help="The sender, such as lstm or husendz:dgsend,hidden_size=64.")
    ] = None,
    receiver: Annotated[str | None, typer.Option(help="The receiver, such as gru or hier:gru.")] = None,
    channel: Annotated[
        str | None, typer.Option(help="The channel, such as gumbel or ./noisy.py:NoisyChannel,flip=0.1.")
    ] = None,
    task: Annotated[str | None, typer.Option(help="The task, such as reconstruction.")] = None,
    world: Annotated[str | None, advanced(help="The world, such as attributes.")] = None,
    loss: Annotated[str | None, advanced(help="The training loss.")] = None,
    epochs: Annotated[int | None, typer.Option(help="Number of passes over the training examples.")] = None,
    batch_size: Annotated[int | None, advanced(help="Number of examples per step.")] = None,
    until_accuracy: Annotated[
        float | None, typer.Option(help="Stop at this validation accuracy, 0 to 1.")
    ] = None,
    max_minutes: Annotated[float | None, typer.Option(help="Stop after this many minutes.")] = None,
    keep_best: Annotated[
        str | None, typer.Option(help="Keep the state with the best accuracy, loss, metrics.topsim, ...")
    ] = None,
    patience: Annotated[
        int | None, advanced(help="Stop after this many evaluations without a better one.")
    ] = None,
    metrics: Annotated[
        str | None, typer.Option(help="Metrics of the language at each evaluation, such as topsim,posdis.")
    ] = None,
    log: Annotated[
        list[str] | None,
        typer.Option(help="csv, tensorboard, wandb, trackio, mlflow, ./mine.py:MyLogger; can be repeated."),
    ] = None,
    keep: Annotated[
        str | None,
        advanced(help="Write what happened in the last evaluation: interactions, or also probabilities."),
    ] = None,
    init_from: Annotated[str | None, advanced(help="Begin with the agents of this run folder.")] = None,
    train_data: Annotated[str | None, advanced(help="Text file of training examples.")] = None,
    valid_data: Annotated[str | None, advanced(help="Text file of validation examples.")] = None,
    features: Annotated[
        str | None, advanced(help="The npz file of feature vectors (see `ecsuite data features`).")
    ] = None,
    objects: Annotated[
        str | None, typer.Option(help="Own objects: a table, an npz file, a folder of images, or hf:NAME.")
    ] = None,
    column: Columns = None,
    assign: Set = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue from the newest checkpoint of the run folder.")
    ] = False,
    trust_code: Annotated[
        bool, advanced("--trust-code", help="Import the foreign parts of a config from a run folder.")
    ] = False,
    device: Device = "auto",
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Train a sender and a receiver on a game, and write the sender's messages as a corpus."""
    from ecsuite.games.experiment import ignore, load_experiment
    from ecsuite.games.loggers import make_loggers
    from ecsuite.games.sections import ROLES
    from ecsuite.games.settings_layers import listed

    options = {
        "training.seed": seed,
        "sender.kind": sender,
        "receiver.kind": receiver,
        "channel.kind": channel,
        "task.kind": task,
        "world.kind": world,
        "loss.kind": loss,
        "training.num_epochs": epochs,
        "training.batch_size": batch_size,
        "training.until_accuracy": until_accuracy,
        "training.max_minutes": max_minutes,
        "training.keep_best": keep_best,
        "training.patience": patience,
        "evaluation.metrics": None if metrics is None else listed(metrics),
        "evaluation.keep": None if keep is None else listed(keep),
        "world.train_data": train_data,
        "world.valid_data": valid_data,
        "world.features": features,
        "world.objects": objects,
        "world.columns": roles_in(column) if column else None,
    }
    changes = {} if init_from is None else {f"training.init_{role}": init_from for role in ROLES}
    from ecsuite.jobs.signals import stop_signals

    folder = out
    try:
        with Reporter(quiet=quiet) as reporter, stop_signals() as should_stop:
            experiment = load_experiment(
                game,
                assign or [],
                options,
                reporter.note,
                changes=changes,
                trust_code=trust_code,
                flags_by_key=FLAGS,
            )
            loggers = make_loggers(log or [])
            folder = out or Path("runs") / experiment.name
            from ecsuite.games.training import train  # torch is imported once the game is known to exist

            result = train(
                experiment,
                folder,
                resume=resume,
                device=device,
                progress=reporter.progress,
                loggers=loggers,
                note=reporter.note,
                announce=ignore if as_json else reporter.note,
                should_stop=should_stop,
            )
    except DivergedError as error:
        if as_json:
            print_json({"folder": str(folder), **(error.outcome or {})})
        raise
    if as_json:
        print_json({"folder": str(folder), **result.to_json()})
    elif not quiet:
        print(result.summary())
        if result.stopped not in EARLY:
            print(f"Corpus in {folder}; next: ecsuite score {folder}")
    if result.stopped in EARLY:
        code, why = EARLY[result.stopped]
        reporter.note(f"{why}; --resume continues it in {folder}")
        raise typer.Exit(code)
