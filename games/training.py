"""The training loop: batch, loss, update; regular evaluations and checkpoints; at the end, the corpus."""

import json
import math
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from ecsuite.config import DivergedError
from ecsuite.devices import PRECISIONS, choose_device, choose_precision, routed_products
from ecsuite.formats import write_corpus
from ecsuite.games.checkpoints import load_checkpoint, save_checkpoint
from ecsuite.games.corpus_generation import noise_generator, record_corpus
from ecsuite.games.experiment import Experiment, with_training
from ecsuite.games.first_step import try_first_step
from ecsuite.games.game import Game, make_world
from ecsuite.games.registry import OPTIMIZERS, SCHEDULES
from ecsuite.games.run_folder import (
    EXTRA,
    REMEDY,
    StopReason,
    check_run_folder,
    is_accuracy_reached,
    only_process,
    open_log,
    prepare_run_folder,
    versions,
    write_divergence,
)
from ecsuite.games.run_identity import with_data, with_horizon
from ecsuite.games.worlds.world import World
from ecsuite.jobs.signals import StopRequest

ESTIMATE_AFTER = 20.0
"""Seconds of training after which the remaining time is estimated once."""

LONG_RUN = 600.0
"""Remaining seconds from which the user gets a note on how to end the run sooner."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """How a run ended."""

    stopped: StopReason
    step: int
    """Steps done; of a run that diverged, the step that failed."""
    num_steps: int
    """Steps of all epochs."""
    measures: dict[str, float]
    """The last evaluation: loss (nats), accuracy, length (symbols incl. EOS), and the task's own metrics; empty if
    the run diverged before the first one."""
    chance: dict[str, float]
    """Chance level of each metric."""
    extra_evaluations: dict[str, dict[str, float]]
    """Further evaluations of the final agents by name, such as `unseen concept`; empty where there are none."""
    was_done: bool = False
    """Whether the folder already held this run, finished."""

    def to_json(self) -> dict[str, Any]:
        """How the run ended, JSON-ready."""
        tree = asdict(self)
        tree[EXTRA] = tree.pop("extra_evaluations")
        return tree

    def summary(self) -> str:
        """How the run ended, in a few lines of text."""
        how = {
            "epochs": "all epochs done",
            "accuracy": "accuracy reached",
            "minutes": "time limit reached",
            "interrupt": "interrupted; --resume continues it",
            "preempted": "stopped by a signal; --resume continues it",
            "diverged": f"diverged; {REMEDY}",
        }[self.stopped]
        already = "already finished: " if self.was_done else ""
        lines = [f"{already}{how}, step {self.step:,} of {self.num_steps:,}"]
        for name, value in self.measures.items():
            if name in self.chance:
                figure = f"{value:8.1%}  chance level {self.chance[name]:.2g}"
            else:
                figure = f"{value:8.3f}  {'nats' if name == 'loss' else 'mean message length incl. EOS'}"
            lines.append(f"  {name.replace('_', ' '):20}{figure}")
        for name, extra in self.extra_evaluations.items():
            lines.append(f"  {name:20}{extra['accuracy']:8.1%}  accuracy")
        return "\n".join(lines)


def train(
    experiment: Experiment,
    folder: Path,
    *,
    resume: bool = False,
    device: str = "auto",
    progress: Callable[[str, float, float], None],
    note: Callable[[str], None],
    should_stop: Callable[[], StopRequest | None] = lambda: None,
) -> Result:
    """Train the agents of an experiment and write their corpus.

    Works in any thread, and leaves the handlers of signals alone.

    Args:
        experiment: What to train.
        folder: The run folder; created if missing.
        resume: Continue from the newest checkpoint of the folder, if there is one.
        device: auto, cpu or cuda.
        progress: Called as `progress(label, steps done, steps in total)` after every step.
        note: Called with each message for the user.
        should_stop: Called after every step. After `interrupt` the run ends with a checkpoint and a corpus, after
            `preempted` with a checkpoint; None: it goes on. See `ecsuite.jobs.signals.stop_signals`.

    Raises:
        ConfigError: If the experiment can't be run, or the folder holds another one, or another process uses it.
        DamagedError: If the folder's checkpoints can't be read.
        DivergedError: If the loss, the weights or an evaluation are not finite. The last state with a finite loss is
            saved if its weights are known to be finite; `outcome` has the fields of `Result`.
    """
    with only_process(folder):
        return _train(experiment, folder, resume, device, progress, note, should_stop)


def _train(
    experiment: Experiment,
    folder: Path,
    resume: bool,
    device: str,
    progress: Callable[[str, float, float], None],
    note: Callable[[str], None],
    should_stop: Callable[[], StopRequest | None],
) -> Result:
    target_device = choose_device(device)
    experiment = with_training(
        experiment, precision=choose_precision(experiment.training.precision, target_device)
    )
    settings = experiment.training
    experiment = with_data(with_horizon(experiment))
    world = make_world(experiment)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        game = Game(experiment, world, PRECISIONS[settings.precision]).to(target_device)
    steps_per_epoch = -(-world.num_train // settings.batch_size)
    if experiment.code:
        try_first_step(experiment, world, game, steps_per_epoch)
    optimizer = OPTIMIZERS.make(experiment.optimizer).optimizer(game.parameters())
    rates = [group["lr"] for group in optimizer.param_groups]
    num_steps = steps_per_epoch * settings.num_epochs
    schedule = SCHEDULES.make(experiment.schedule, steps_per_epoch=steps_per_epoch)
    chance = dict(game.task.chance())
    for line in world.notes:
        note(line)
    result = partial(Result, num_steps=num_steps, chance=chance)

    found = check_run_folder(folder, experiment, steps_per_epoch=steps_per_epoch, resume=resume)
    saved = load_checkpoint(folder, game, optimizer, note) if resume else None
    if found.finished is not None:
        done = found.finished
        measures = {name: done[name] for name in ("loss", *chance, "length")}
        ended = {name: done[name] for name in ("stopped", "step", "num_steps")}
        return result(**ended, measures=measures, extra_evaluations=done[EXTRA], was_done=True)
    if found.diverged_at is not None:
        what = "is replaced" if found.is_replaced else f"is tried again; if it diverges again, {REMEDY}"
        note(f"{folder}: the run that diverged at step {found.diverged_at} {what}")
    prepare_run_folder(folder, experiment, is_replaced=found.is_replaced)
    state: dict[str, Any] = saved or {"step": 0, "log_lines": 0, "sums": {}, "valid": {}}
    step, sums, valid = state["step"], state["sums"], state["valid"]
    log, log_lines = open_log(folder / "log.jsonl", step, state["log_lines"], note)
    # The run may have been killed after it reached its accuracy and before it wrote its corpus.
    stopped: StopReason = "accuracy" if is_accuracy_reached(experiment, valid) else "epochs"
    began, first_step, hinted = time.monotonic(), step, False

    provenance = {"config": experiment.to_tree(), "versions": versions(target_device)}

    def means() -> dict[str, float]:
        """Of the training batches since the last evaluation at a multiple of `evaluate_every`."""
        num_since = (step - 1) % settings.evaluate_every + 1
        return {name: float(total) / num_since for name, total in sums.items()}

    def ending(stopped: StopReason, step: int) -> dict[str, Any]:
        epoch = step / steps_per_epoch
        return {"stopped": stopped, "step": step, "num_steps": num_steps, "epoch": epoch, **valid}

    def log_entry(step: int) -> dict[str, Any]:
        speed = (step - first_step) * settings.batch_size / max(time.monotonic() - began, 1e-6)
        entry = {"step": step, "epoch": step / steps_per_epoch, "train": means(), "valid": valid}
        return {**entry, "examples_per_second": round(speed)}

    def save() -> None:
        log.flush()
        os.fsync(log.fileno())
        totals = {name: float(total) for name, total in sums.items()}
        save_checkpoint(folder, step, game, optimizer, log_lines=log_lines, sums=totals, valid=valid)

    def diverged(step: int, what: str) -> DivergedError:
        """Note in the folder that the run diverged; returns the error to raise."""
        metadata = {**provenance, "training": ending("diverged", step), "chance": chance}
        write_divergence(folder, log, {**log_entry(step), "stopped": "diverged"}, metadata)
        outcome = result(stopped="diverged", step=step, measures=valid, extra_evaluations={})
        return DivergedError(f"step {step}: {what}; {REMEDY}", outcome.to_json())

    def finite_evaluation() -> dict[str, float]:
        found = evaluate(game, world, experiment)
        if not all(math.isfinite(value) for value in found.values()):
            raise diverged(step, "the evaluation is not finite, so it was not used")
        return found

    with log, routed_products(target_device, settings.precision):
        while step < num_steps and stopped == "epochs":
            epoch = step // steps_per_epoch
            noise = noise_generator(settings.seed, "train", step, target_device)
            buffers = [buffer.clone() for buffer in game.buffers()]
            played = game.play(world.batch("train", step), "train", noise, epoch)
            if not played.objective.isfinite():
                # The batch has changed the statistics of normalisation and the baselines of the channel.
                for buffer, before in zip(game.buffers(), buffers, strict=True):
                    buffer.copy_(before)
                if step > 0 and _has_finite_weights(game):
                    save()
                raise diverged(step + 1, f"the loss is {played.objective.item()}, so this update was skipped")
            for group, rate in zip(optimizer.param_groups, rates, strict=True):
                group["lr"] = rate * schedule.factor(step)
            optimizer.zero_grad(set_to_none=True)
            played.objective.backward()
            optimizer.step()
            step += 1
            sums = {name: value + sums.get(name, 0.0) for name, value in played.measures.items()}

            seconds, request = time.monotonic() - began, should_stop()
            if request == "preempted" or (request is not None and step < num_steps):
                stopped = request
            elif settings.max_minutes is not None and seconds >= 60 * settings.max_minutes:
                stopped = "minutes"
            is_evaluated = step % settings.evaluate_every == 0 or step == num_steps
            is_saved = step % settings.checkpoint_every == 0 or step == num_steps or stopped != "epochs"
            if (is_evaluated or is_saved) and not _has_finite_weights(game):
                raise diverged(step, "the update made weights that are not finite, so they were not saved")
            if is_evaluated:
                valid = finite_evaluation()
                log.write(json.dumps(log_entry(step)).encode() + b"\n")
                log_lines += 1
                sums = sums if step % settings.evaluate_every else {}
                if stopped == "epochs" and is_accuracy_reached(experiment, valid):
                    stopped = "accuracy"
                    is_saved = True
            if is_saved:
                save()

            progress(_label(valid, epoch, settings.num_epochs), step, num_steps)
            if not hinted and seconds > ESTIMATE_AFTER:
                hinted = True
                _note_time_left(
                    note, seconds * (num_steps - step) / (step - first_step), settings.until_accuracy
                )

        extra: dict[str, dict[str, float]] = {}
        if stopped != "preempted":
            valid = finite_evaluation()
            extra = {
                name: evaluate(game, other, experiment, split)
                for name, (other, split) in world.extra_evaluations().items()
            }
            provenance |= {"training": ending(stopped, step)} | ({EXTRA: extra} if extra else {})
            corpus = record_corpus(game, experiment)
            metadata = {**corpus.metadata, **provenance, "chance": chance}
            write_corpus(replace(corpus, metadata=metadata), folder)
    return result(stopped=stopped, step=step, measures=valid, extra_evaluations=extra)


@torch.no_grad()
def evaluate(game: Game, world: World, experiment: Experiment, split: str = "valid") -> dict[str, float]:
    """Means over the examples of a split: loss (nats), accuracy, length, and the task's own metrics."""
    totals: dict[str, float] = {}
    size = world.sizes.evaluation_batch_size
    game.eval()
    for number in range(-(-world.num_valid // size)):
        noise = noise_generator(experiment.training.seed, split, number * size, game.device)
        played = game.play(world.batch(split, number), experiment.evaluation.mode, noise)
        weight = min(size, world.num_valid - number * size) / world.num_valid
        for name, value in played.measures.items():
            totals[name] = totals.get(name, 0.0) + value.item() * weight
    game.train()
    return totals


def _has_finite_weights(game: Game) -> bool:
    """Whether all weights are finite; a finite loss may have a gradient that is not."""
    return all(bool(parameter.isfinite().all()) for parameter in game.parameters())


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
