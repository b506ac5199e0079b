"""The training loop: batch, loss, update; regular evaluations and checkpoints; at the end, the corpus."""

import json
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import torch

from ecsuite.config import ConfigError
from ecsuite.devices import PRECISIONS, choose_device, choose_precision, routed_products
from ecsuite.formats import write_corpus
from ecsuite.games.checkpoints import load_checkpoint, save_checkpoint
from ecsuite.games.corpus_generation import noise_generator, record_corpus
from ecsuite.games.experiment import Experiment, with_training
from ecsuite.games.game import Game, make_world
from ecsuite.games.registry import OPTIMIZERS, SCHEDULES
from ecsuite.games.run_folder import check_run_folder, open_log, prepare_run_folder, stop_signals, versions
from ecsuite.games.worlds.world import World

StopReason = Literal["epochs", "accuracy", "minutes", "interrupt", "preempted"]
"""Why a run ended: all epochs done, accuracy reached, time limit, Ctrl-C, or SIGTERM or SIGUSR1 (preemption)."""

ESTIMATE_AFTER = 20.0
"""Seconds of training after which the remaining time is estimated once."""

LONG_RUN = 600.0
"""Remaining seconds from which the user gets a note on how to end the run sooner."""


class DivergedError(ConfigError):
    """A loss or weights that are not finite; they were neither used nor saved."""

    def __init__(self, step: int, what: str) -> None:
        super().__init__(f"step {step}: {what}; try a smaller training.lr, or training.precision=fp32")


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """How a run ended."""

    stopped: StopReason
    step: int
    num_steps: int
    """Steps of all epochs."""
    measures: dict[str, float]
    """The last evaluation: loss (nats), accuracy, length (symbols incl. EOS), and the task's own metrics."""
    chance: dict[str, float]
    """Chance level of each metric."""
    probes: dict[str, dict[str, float]]
    """Further evaluations of the final agents by name, such as `unseen concept`; empty where there are none."""
    was_done: bool = False
    """Whether the folder already held this run, finished."""

    def summary(self) -> str:
        """How the run ended, in a few lines of text."""
        how = {
            "epochs": "all epochs done",
            "accuracy": "accuracy reached",
            "minutes": "time limit reached",
            "interrupt": "interrupted; --resume continues it",
            "preempted": "stopped by a signal; --resume continues it",
        }[self.stopped]
        already = "already finished: " if self.was_done else ""
        lines = [f"{already}{how}, step {self.step:,} of {self.num_steps:,}"]
        for name, value in self.measures.items():
            if name in self.chance:
                figure = f"{value:8.1%}  chance level {self.chance[name]:.2g}"
            else:
                figure = f"{value:8.3f}  {'nats' if name == 'loss' else 'mean message length incl. EOS'}"
            lines.append(f"  {name.replace('_', ' '):20}{figure}")
        lines += [f"  {name:20}{extra['accuracy']:8.1%}  accuracy" for name, extra in self.probes.items()]
        return "\n".join(lines)


def train(
    experiment: Experiment,
    folder: Path,
    *,
    resume: bool = False,
    device: str = "auto",
    progress: Callable[[str, float, float], None],
    note: Callable[[str], None],
) -> Result:
    """Train the agents of an experiment and write their corpus.

    Args:
        experiment: What to train.
        folder: The run folder; created if missing.
        resume: Continue from the newest checkpoint of the folder, if there is one.
        device: auto, cpu or cuda.
        progress: Called as `progress(label, steps done, steps in total)` after every step.
        note: Called with each message for the user.

    Raises:
        ConfigError: If the experiment can't be run, or the folder holds another one.
        DamagedError: If the folder's checkpoints can't be read.
        DivergedError: If the loss is not finite.
    """
    target_device = choose_device(device)
    experiment = with_training(
        experiment, precision=choose_precision(experiment.training.precision, target_device)
    )
    settings = experiment.training
    world = make_world(experiment)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        game = Game(experiment, world, PRECISIONS[settings.precision]).to(target_device)
    optimizer = OPTIMIZERS.load(experiment.optimizer.kind)(experiment.optimizer.options).optimizer(
        game.parameters()
    )
    rates = [group["lr"] for group in optimizer.param_groups]
    steps_per_epoch = -(-world.num_train // settings.batch_size)
    num_steps = steps_per_epoch * settings.num_epochs
    schedule = SCHEDULES.load(experiment.schedule.kind)(
        experiment.schedule.options, num_epochs=settings.num_epochs, steps_per_epoch=steps_per_epoch
    )
    chance = dict(game.task.chance())

    done = check_run_folder(folder, experiment, resume=resume)
    if done is not None:
        outcome = {"stopped": done["stopped"], "step": done["step"], "num_steps": num_steps, "was_done": True}
        measures = {name: done[name] for name in ("loss", *chance, "length")}
        return Result(**outcome, measures=measures, chance=chance, probes=done["probes"])
    saved = load_checkpoint(folder, game, optimizer, note)
    prepare_run_folder(folder, experiment)
    state: dict[str, Any] = saved or {"step": 0, "log_lines": 0, "sums": {}, "valid": {}}
    step, sums, valid, log_lines = state["step"], state["sums"], state["valid"], state["log_lines"]
    log = open_log(folder / "log.jsonl", log_lines)
    # The run may have been killed after it reached its accuracy and before it wrote its corpus.
    stopped: StopReason = "accuracy" if _is_reached(settings.until_accuracy, valid) else "epochs"
    began, first_step, hinted = time.monotonic(), step, False

    with log, stop_signals() as received, routed_products(target_device):
        while step < num_steps and stopped == "epochs":
            epoch = step // steps_per_epoch
            noise = noise_generator(settings.seed, "train", step, target_device)
            played = game.play(world.batch("train", step), "train", noise, epoch)
            if not played.objective.isfinite():
                raise DivergedError(
                    step + 1, f"the loss is {played.objective.item()}, so this update was skipped"
                )
            for group, rate in zip(optimizer.param_groups, rates, strict=True):
                group["lr"] = rate * schedule.factor(step)
            optimizer.zero_grad(set_to_none=True)
            played.objective.backward()
            optimizer.step()
            step += 1
            sums = {name: value + sums.get(name, 0.0) for name, value in played.measures.items()}

            seconds = time.monotonic() - began
            if received and received[0] != signal.SIGINT:
                stopped = "preempted"
            elif received and step < num_steps:
                stopped = "interrupt"
            elif settings.max_minutes is not None and seconds >= 60 * settings.max_minutes:
                stopped = "minutes"
            if step % settings.evaluate_every == 0 or step == num_steps:
                _require_finite_weights(game, step)
                valid = evaluate(game, world, experiment)
                num_since = (step - 1) % settings.evaluate_every + 1
                trained = {name: float(total) / num_since for name, total in sums.items()}
                sums = sums if step % settings.evaluate_every else {}
                speed = (step - first_step) * settings.batch_size / (time.monotonic() - began)
                entry = {"step": step, "epoch": step / steps_per_epoch, "train": trained, "valid": valid}
                log.write(json.dumps({**entry, "examples_per_second": round(speed)}).encode() + b"\n")
                log_lines += 1
                if stopped == "epochs" and _is_reached(settings.until_accuracy, valid):
                    stopped = "accuracy"
            if step % settings.checkpoint_every == 0 or step == num_steps or stopped != "epochs":
                _require_finite_weights(game, step)
                log.flush()
                os.fsync(log.fileno())
                sums = {name: float(total) for name, total in sums.items()}
                save_checkpoint(folder, step, game, optimizer, log_lines=log_lines, sums=sums, valid=valid)

            progress(_label(valid, epoch, settings.num_epochs), step, num_steps)
            if not hinted and seconds > ESTIMATE_AFTER:
                hinted = True
                _note_time_left(
                    note, seconds * (num_steps - step) / (step - first_step), settings.until_accuracy
                )

        probes: dict[str, dict[str, float]] = {}
        if stopped != "preempted":
            valid = evaluate(game, world, experiment)
            probes = {
                name: evaluate(game, other, experiment, split)
                for name, (other, split) in world.extra_evaluations().items()
            }
            outcome = {
                "stopped": stopped,
                "step": step,
                "num_steps": num_steps,
                "epoch": step / steps_per_epoch,
            }
            provenance = {"config": experiment.to_tree(), "versions": versions(target_device)}
            provenance |= {"training": outcome | valid} | ({"probes": probes} if probes else {})
            corpus = record_corpus(game, experiment)
            write_corpus(
                replace(corpus, metadata={**corpus.metadata, **provenance, "chance": chance}), folder
            )
    return Result(
        stopped=stopped, step=step, num_steps=num_steps, measures=valid, chance=chance, probes=probes
    )


@torch.no_grad()
def evaluate(game: Game, world: World, experiment: Experiment, split: str = "valid") -> dict[str, float]:
    """Means over the examples of a split: loss (nats), accuracy, length, and the task's own metrics."""
    totals: dict[str, float] = {}
    device = next(game.parameters()).device
    size = world.sizes.evaluation_batch_size
    game.eval()
    for number in range(-(-world.num_valid // size)):
        noise = noise_generator(experiment.training.seed, split, number * size, device)
        played = game.play(world.batch(split, number), experiment.evaluation.mode, noise)
        weight = min(size, world.num_valid - number * size) / world.num_valid
        for name, value in played.measures.items():
            totals[name] = totals.get(name, 0.0) + value.item() * weight
    game.train()
    return totals


def _require_finite_weights(game: Game, step: int) -> None:
    """Raise `DivergedError` if weights are not finite: a finite loss may have a gradient that is not."""
    if not all(parameter.isfinite().all() for parameter in game.parameters()):
        raise DivergedError(step, "the update made weights that are not finite, so they were not saved")


def _is_reached(until_accuracy: float | None, valid: dict[str, float]) -> bool:
    """Whether the last evaluation, if any, reached the accuracy at which to stop."""
    return until_accuracy is not None and valid.get("accuracy", -1) >= until_accuracy


def _label(valid: dict[str, float], epoch: int, num_epochs: int) -> str:
    """The text of the progress line."""
    accuracy = f", validation accuracy {valid['accuracy']:.1%}" if valid else ""
    return f"epoch {epoch + 1}/{num_epochs}{accuracy}"


def _note_time_left(note: Callable[[str], None], seconds: float, until_accuracy: float | None) -> None:
    """If much time is left, tell the user how long it takes and which options shorten it."""
    if seconds < LONG_RUN:
        return
    hours = f"{seconds / 3600:.1f} hours" if seconds >= 5400 else f"{seconds / 60:.0f} minutes"
    until = "" if until_accuracy else "--until-accuracy 0.95, "
    note(
        f"about {hours} at this speed; {until}--max-minutes 30 or --epochs 1 ends the run sooner. Ctrl-C stops it with "
        "a checkpoint and a complete corpus; --resume continues from there."
    )
