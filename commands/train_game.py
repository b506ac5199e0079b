"""`ecsuite train-game`: train a sender and a receiver on a game."""

from pathlib import Path
from typing import Annotated

import typer

from ecsuite.commands.options import Device, Json, OptionalSeed, OutFolder, Set
from ecsuite.config import DivergedError
from ecsuite.eval.reports.console import Reporter, print_json


def train_game(
    game: Annotated[str, typer.Argument(help="A shipped experiment (see `ecsuite list`) or a YAML file.")],
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
    world: Annotated[str | None, typer.Option(help="The world, such as attributes.")] = None,
    loss: Annotated[str | None, typer.Option(help="The training loss.")] = None,
    epochs: Annotated[int | None, typer.Option(help="Number of passes over the training examples.")] = None,
    batch_size: Annotated[int | None, typer.Option(help="Number of examples per step.")] = None,
    until_accuracy: Annotated[
        float | None, typer.Option(help="Stop at this validation accuracy, 0 to 1.")
    ] = None,
    max_minutes: Annotated[float | None, typer.Option(help="Stop after this many minutes.")] = None,
    train_data: Annotated[str | None, typer.Option(help="Text file of training examples.")] = None,
    valid_data: Annotated[str | None, typer.Option(help="Text file of validation examples.")] = None,
    features: Annotated[
        str | None, typer.Option(help="The npz file of feature vectors (see `ecsuite features`).")
    ] = None,
    objects: Annotated[
        str | None, typer.Option(help="Table of objects: CSV, TSV, JSON or Parquet; a column an attribute.")
    ] = None,
    assign: Set = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue from the newest checkpoint of the run folder.")
    ] = False,
    trust_code: Annotated[
        bool, typer.Option("--trust-code", help="Import the foreign parts of a config from a run folder.")
    ] = False,
    device: Device = "auto",
    as_json: Json = False,
) -> None:
    """Train a sender and a receiver on a game, and write the sender's messages as a corpus."""
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
        "world.train_data": train_data,
        "world.valid_data": valid_data,
        "world.features": features,
        "world.objects": objects,
    }
    from ecsuite.games.experiment import load_experiment
    from ecsuite.games.training import train
    from ecsuite.jobs.signals import stop_signals

    folder = out
    try:
        with Reporter() as reporter, stop_signals() as should_stop:
            experiment = load_experiment(game, assign or [], options, reporter.note, trust_code=trust_code)
            folder = out or Path("runs") / experiment.name
            result = train(
                experiment,
                folder,
                resume=resume,
                device=device,
                progress=reporter.progress,
                note=reporter.note,
                should_stop=should_stop,
            )
    except DivergedError as error:
        if as_json:
            print_json({"folder": str(folder), **(error.outcome or {})})
        raise
    if as_json:
        print_json({"folder": str(folder), **result.to_json()})
    else:
        print(result.summary())
        if result.stopped != "preempted":
            print(f"Corpus in {folder}; next: ecsuite score {folder / 'corpus.jsonl'}")
    if result.stopped == "preempted":
        raise typer.Exit(75)
