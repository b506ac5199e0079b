"""`ecsuite train-game`: train a sender and a receiver on a game."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from ecsuite.commands.completion import names_of
from ecsuite.commands.game_options import GameOptions
from ecsuite.commands.options import Device, Json, OutFolder, Quiet, Set, TrustCode, advanced
from ecsuite.commands.setting_options import flags_of, settings_of
from ecsuite.eval.views.console import Reporter, print_json
from ecsuite.runtime.errors import ConfigError, DamagedError, DivergedError

EARLY: Mapping[str, tuple[int, str]] = {
    "interrupt": (130, "stopped by Ctrl-C with a checkpoint and a corpus of the agents so far"),
    "preempted": (75, "stopped by a signal with a checkpoint and no corpus"),
}
"""Exit code and message of an interrupted training, by reason."""


def train_game(
    game: Annotated[
        str,
        typer.Argument(
            help="A shipped game (see `ecsuite list`), a YAML file, or own objects: a table, a folder."
        ),
        names_of("games"),
    ],
    out: OutFolder = None,
    log: Annotated[
        list[str] | None,
        typer.Option(help="csv, tensorboard, wandb, trackio, mlflow, ./mine.py:MyLogger; can be repeated."),
        names_of("loggers"),
    ] = None,
    init_from: Annotated[str | None, advanced(help="Begin with the agents of this run folder.")] = None,
    assign: Set = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue from the newest checkpoint of the run folder.")
    ] = False,
    plan: Annotated[
        bool, typer.Option("--plan", help="Show steps, calls of models, tokens and time, and do nothing.")
    ] = False,
    replay: Annotated[
        Path | None,
        advanced(help="Repeat the run of this folder with its stored answers, and ask no model."),
    ] = None,
    trust_code: TrustCode = False,
    device: Device = "auto",
    quiet: Quiet = False,
    as_json: Json = False,
    *,
    options: GameOptions,
) -> None:
    """Train a sender and a receiver on a game, and write the sender's messages as a corpus."""
    from ecsuite.games.config.experiment import ignore, load_experiment
    from ecsuite.games.config.sections import ROLES
    from ecsuite.games.training.loggers import make_loggers

    changes = {} if init_from is None else {f"training.init_{role}": init_from for role in ROLES}
    from ecsuite.jobs.signals import stop_signals

    folder = out
    try:
        with Reporter(quiet=quiet) as reporter, stop_signals() as should_stop:
            experiment = load_experiment(
                game,
                assign or [],
                settings_of(options),
                reporter.note,
                changes=changes,
                trust_code=trust_code,
                flags_by_key=flags_of(GameOptions),
            )
            if plan:
                from ecsuite.games.training.train import cost

                _show_cost(cost(experiment, device), as_json)
                return
            loggers = make_loggers(log or [])
            folder = out or Path("runs") / experiment.name
            # imports torch, only after the game is known to exist
            from ecsuite.eval.run_metrics.language_metrics import LanguageMetrics
            from ecsuite.games.training.train import train

            result = train(
                experiment,
                folder,
                resume=resume,
                replay=replay,
                device=device,
                scorer=LanguageMetrics,
                progress=reporter.progress,
                loggers=loggers,
                note=reporter.note,
                announce=ignore if as_json else reporter.note,
                should_stop=should_stop,
            )
    except (ConfigError, DamagedError) as error:
        if init_from is None or not any(str(error).startswith(f"{key}: {init_from}") for key in changes):
            raise
        from ecsuite.parts.config import with_source

        raise type(error)(with_source("--init-from", str(error))) from None
    except DivergedError as error:
        if as_json:
            print_json({"folder": str(folder), **(error.outcome or {})})
        raise
    if as_json:
        print_json({"folder": str(folder), **result.to_json()})
    elif not quiet:
        print(result.summary())
        if result.stopped not in EARLY:
            print(f"Corpus in {folder}; next: ecsuite score {shlex.quote(str(folder))}")
    if result.stopped in EARLY:
        code, why = EARLY[result.stopped]
        reporter.note(f"{why}; --resume continues it in {folder}")
        raise typer.Exit(code)


def _show_cost(cost: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(cost)
        return
    from ecsuite.runtime.time_left import duration_text

    print(f"{cost['steps']:,} steps, {cost['rounds']:,} rounds")
    for place, each in cost.get("participants", {}).items():
        print(
            f"{place}: {each['calls']:,} calls, {each['prompt_tokens']:,} tokens of prompts and "
            f"{each['answer_tokens']:,} of answers, about {duration_text(3600 * each['hours'])} at "
            f"{each['seconds_per_call']:.2g} s a call, {each['concurrency']} at once"
            + (f"; {each['cost']:,.2f} by its prices" if each["cost"] else "")
        )
