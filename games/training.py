"""The training loop: batch, loss, update; regular evaluations and checkpoints; at the end, the corpus."""

import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ecsuite.formats import write_corpus
from ecsuite.games.best_checkpoint import Best, read_best, save_best
from ecsuite.games.checkpoints import load_checkpoint, remove_old_checkpoints, save_checkpoint
from ecsuite.games.corpus_generation import record_corpus
from ecsuite.games.experiment import ignore
from ecsuite.games.first_step import try_first_step
from ecsuite.games.game import Game
from ecsuite.games.initial_weights import set_agent_weights, with_initial_weights
from ecsuite.games.interactions import keep_interactions, require_pyarrow
from ecsuite.games.language_metrics import LanguageMetrics, LanguageScores
from ecsuite.games.loggers import Logger, started
from ecsuite.games.needed_resources import require_resources, require_weights
from ecsuite.games.noise import noise_generator
from ecsuite.games.noise_objects import evaluations_of
from ecsuite.games.optimizers import WeightUpdates
from ecsuite.games.registry import SCHEDULES
from ecsuite.games.run_folder import (
    EXTRA,
    METRICS,
    REMEDY,
    SINCE_BEST,
    StopReason,
    check_run_folder,
    is_accuracy_reached,
    only_process,
    prepare_run_folder,
    versions,
    write_divergence,
)
from ecsuite.games.run_identity import with_data, with_horizon
from ecsuite.games.run_log import CHECKSUM, LOG, NUM_LINES, open_log
from ecsuite.games.sections import Experiment, with_training
from ecsuite.games.society.generations import bottleneck_note
from ecsuite.games.society.society import Society, make_players
from ecsuite.games.training_notes import (
    ESTIMATE_AFTER,
    description,
    devices_of_run,
    note_on_time_left,
    progress_label,
    steps_of_the_end,
)
from ecsuite.games.training_result import Result
from ecsuite.games.world_making import make_world
from ecsuite.games.worlds.world import World
from ecsuite.jobs.signals import StopRequest
from ecsuite.runtime.devices import (
    PRECISIONS,
    choose_device,
    choose_precision,
    deterministic_kernels,
    routed_products,
)
from ecsuite.runtime.errors import DivergedError


def train(
    experiment: Experiment,
    folder: Path,
    *,
    resume: bool = False,
    device: str = "auto",
    loggers: Sequence[Logger] = (),
    progress: Callable[[str, float, float], None],
    note: Callable[[str], None],
    announce: Callable[[str], None] = ignore,
    should_stop: Callable[[], StopRequest | None] = lambda: None,
) -> Result:
    """Train the agents of an experiment and write their corpus.

    Works in any thread, and leaves the handlers of signals alone.

    Args:
        experiment: What to train.
        folder: The run folder; created if missing.
        resume: Continue from the newest checkpoint of the folder, if there is one.
        device: auto, cpu, cuda or mps.
        loggers: Take the figures of every evaluation; see `ecsuite.games.loggers.make_loggers`.
        progress: Called as `progress(label, steps done, steps in total)` after every step; the last evaluation and
            the corpus count as so many steps as they are likely to take.
        note: Called with each message for the user.
        announce: Called with each line of what is trained and where it is written, before the first step.
        should_stop: Called after every step. After `interrupt` the run ends with a checkpoint and a corpus, after
            `preempted` with a checkpoint; None: it goes on. See `ecsuite.jobs.signals.stop_signals`.

    Raises:
        ConfigError: If the experiment can't be run, or the folder holds another one. Another process that uses it is
            waited for.
        DamagedError: If the folder's checkpoints can't be read.
        DivergedError: If the loss, the weights or an evaluation are not finite. The last state with a finite loss is
            saved if its weights are known to be finite; `outcome` has the fields of `Result`.
    """
    target_device = choose_device(device)
    with only_process(folder, note, should_stop):
        return _train(
            experiment, folder, resume, target_device, loggers, progress, note, announce, should_stop
        )


def _train(
    experiment: Experiment,
    folder: Path,
    resume: bool,
    target_device: torch.device,
    loggers: Sequence[Logger],
    progress: Callable[[str, float, float], None],
    note: Callable[[str], None],
    announce: Callable[[str], None],
    should_stop: Callable[[], StopRequest | None],
) -> Result:
    experiment = with_training(
        experiment, precision=choose_precision(experiment.training.precision, target_device)
    )
    settings = experiment.training
    experiment, initial = with_initial_weights(with_data(with_horizon(experiment)), folder, note)
    world = make_world(experiment)
    require_weights(experiment, world)
    game = make_players(experiment, world, PRECISIONS[settings.precision]).to(target_device)
    society = game if isinstance(game, Society) else None
    require_resources(experiment, game, folder, target_device, note)
    if isinstance(game, Game):
        for role, weights in initial.items():
            set_agent_weights(game, role, weights, str(settings.init_of(role)))
    batches_per_epoch = -(-world.num_train // settings.batch_size)
    steps_per_epoch = -(-batches_per_epoch // settings.accumulate)
    if experiment.code:
        try_first_step(experiment, world, game.speakers()[0], steps_per_epoch)
    updates = WeightUpdates(experiment.optimizer, game)
    optimizer = updates.optimizer
    num_steps = steps_per_epoch * settings.num_epochs
    schedule = SCHEDULES.make(experiment.schedule, steps_per_epoch=steps_per_epoch)
    chance = dict(game.chance())
    for line in (*world.notes, bottleneck_note(experiment.generations, world)):
        if line is not None:
            note(line)
    measure_language = LanguageMetrics(experiment)
    if experiment.evaluation.keep:
        require_pyarrow()
    language = measure_language(game)  # also to fail here, before anything is written, and for their names
    result = partial(Result, num_steps=num_steps, chance=chance)

    found = check_run_folder(folder, experiment, steps_per_epoch=steps_per_epoch, resume=resume)
    saved = load_checkpoint(folder, game, optimizer, note) if resume else None
    if resume and saved is None and found.finished is None:
        note(f"{folder}: no run to resume, so it starts from the beginning")
    best = None
    if settings.keep_best is not None:
        names = ["loss", *chance, "length", *language.figures()]
        best = Best(settings, names, None if saved is None else saved["best"], language.lower_is_better)
    if found.finished is not None:
        done = found.finished
        measures = {name: done[name] for name in ("loss", *chance, "length")}
        ended = {name: done[name] for name in ("stopped", "step", "num_steps")}
        kept = {"metrics": done[METRICS], "best_step": done.get("best_step")}
        return result(**ended, **kept, measures=measures, extra_evaluations=done[EXTRA], was_done=True)
    if found.diverged_at is not None:
        what = "is replaced" if found.is_replaced else f"is tried again; if it diverges again, {REMEDY}"
        note(f"{folder}: the run that diverged at step {found.diverged_at} {what}")
    prepare_run_folder(folder, experiment, is_replaced=found.is_replaced)
    remove_old_checkpoints(folder)  # the run may have been killed before it removed one
    state: dict[str, Any] = saved or {"step": 0, NUM_LINES: 0, "sums": {}, "valid": {}}
    step, sums, valid = state["step"], state["sums"], state["valid"]
    devices = devices_of_run(state.get("devices", []), target_device, step, note)
    log = open_log(folder / LOG, step, state[NUM_LINES], note, state.get(CHECKSUM))
    # The run may have been killed after it reached its accuracy and before it wrote its corpus.
    stopped: StopReason = "accuracy" if is_accuracy_reached(experiment, valid) else "epochs"
    if stopped == "epochs" and best is not None and best.is_over:
        stopped = "patience"
    language = LanguageScores()
    for line in description(experiment, game, world, folder, step=step, num_steps=num_steps):
        announce(line)
    total = num_steps + steps_of_the_end(experiment)
    began = began_second = time.monotonic()
    first_step, hinted = step, False

    config = experiment.to_tree()
    provenance: dict[str, Any] = {"config": config, "versions": versions(target_device)}
    provenance |= {"devices": devices} if len(devices) > 1 else {}

    def means() -> dict[str, float]:
        """Of the training batches since the last evaluation at a multiple of `evaluate_every`."""
        num_since = (step - 1) % settings.evaluate_every + 1
        found = {name: float(total) / num_since for name, total in sums.items()}
        return found if society is None else society.means_by_kind(found)

    def ending(stopped: StopReason, step: int) -> dict[str, Any]:
        epoch = step / steps_per_epoch
        return {"stopped": stopped, "step": step, "num_steps": num_steps, "epoch": epoch, **valid}

    def log_entry(step: int) -> dict[str, Any]:
        num_examples = (step - first_step) * settings.batch_size * settings.accumulate
        speed = num_examples / max(time.monotonic() - began, 1e-6)
        entry = {"step": step, "epoch": step / steps_per_epoch, "train": means(), "valid": valid}
        entry |= language.entry()
        return {**entry, "examples_per_second": round(speed)}

    def save() -> None:
        log.file.flush()
        os.fsync(log.file.fileno())
        state = {
            **log.state,
            "sums": {name: float(each) for name, each in sums.items()},
            "valid": valid,
            "devices": devices,
        }
        if best is not None:
            state["best"] = best.to_json()
        save_checkpoint(folder, step, game, optimizer, **state)

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

    with (
        log.file,
        started(loggers, config, folder, step) as tell,
        routed_products(target_device, settings.precision),
        deterministic_kernels(target_device, is_asked=settings.deterministic),
    ):
        while step < num_steps and stopped == "epochs":
            epoch, within = divmod(step, steps_per_epoch)
            first = within * settings.accumulate
            numbers = range(first, min(first + settings.accumulate, batches_per_epoch))
            if society is not None:
                society.begin_step(step, optimizer)
            optimizer.zero_grad(set_to_none=True)
            buffers = [buffer.clone() for buffer in game.buffers()]
            of_step: dict[str, Any] = {}
            for number in (epoch * batches_per_epoch + place for place in numbers):
                played = game.train_on(number, step, epoch)
                # The backward pass is started before the loss is looked at, which waits for the device.
                if played.objective.requires_grad:  # not where all agents of a step are slow
                    (played.objective / len(numbers)).backward()
                if not played.objective.isfinite():
                    # The batch has changed the statistics of normalisation and the baselines of the channel.
                    for buffer, before in zip(game.buffers(), buffers, strict=True):
                        buffer.copy_(before)
                    if step > 0 and _has_finite_weights(game):
                        save()
                    what = f"the loss is {played.objective.item()}, so this update was skipped"
                    raise diverged(step + 1, what)
                for name, value in played.measures.items():
                    of_step[name] = value / len(numbers) + of_step.get(name, 0.0)
            if society is not None:
                society.scale_gradients(step)
            updates.step(schedule.factor(step))
            step += 1
            sums = {**sums, **{name: value + sums.get(name, 0.0) for name, value in of_step.items()}}

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
                valid, language = finite_evaluation(), measure_language(game)
                entry = log_entry(step)
                log.write(entry)
                tell(entry)
                sums = sums if step % settings.evaluate_every else {}
                if stopped == "epochs" and is_accuracy_reached(experiment, valid):
                    stopped = "accuracy"
                    is_saved = True
                if best is not None and step % settings.evaluate_every == 0:
                    if best.add(step, {**valid, **language.figures()}):
                        save_best(folder, step, game)
                        is_saved = True
                    if stopped == "epochs" and best.is_over:
                        stopped = "patience"
                        is_saved = True
            if is_saved:
                save()

            progress(progress_label(valid, language.values, epoch, settings.num_epochs), step, total)
            if step == first_step + 1:
                began_second = time.monotonic()  # the first step also imports and compiles
                if society is not None and (reason := society.side_by_side.reason) is not None:
                    note(f"pairs play one after the other, which takes longer: {reason}")
            elif not hinted and seconds > ESTIMATE_AFTER:
                hinted = True
                left = (time.monotonic() - began_second) * (total - step) / (step - first_step - 1)
                if (hint := note_on_time_left(left, settings.until_accuracy)) is not None:
                    note(hint)

        extra: dict[str, dict[str, float]] = {}
        best_step: int | None = None
        if stopped != "preempted":
            progress("last evaluation and corpus", step, total)
            valid, language = finite_evaluation(), measure_language(game)
            kept = {}
            if best is not None:
                best_step = step
                if best.step is not None and not best.improves({**valid, **language.figures()}):
                    best_step = best.step
                    game.load_state_dict(read_best(folder, best_step))
                    valid, language = finite_evaluation(), measure_language(game)
                kept = {"best_step": best_step, SINCE_BEST: best.num_since}
            others = evaluations_of(world, experiment)
            extra = {
                name: evaluate(game, other, experiment, split) for name, (other, split) in others.items()
            }
            provenance |= {"training": ending(stopped, step) | kept} | ({EXTRA: extra} if extra else {})
            provenance |= {METRICS: dict(language.values)} if language.values else {}
            evaluations = {"valid": (world, "valid"), **others}
            provenance |= keep_interactions(game, evaluations, experiment, folder)
            corpus = record_corpus(game, experiment)
            metadata = {**corpus.metadata, **provenance, "chance": chance}
            write_corpus(replace(corpus, metadata=metadata), folder)
    return result(
        stopped=stopped,
        step=step,
        measures=valid,
        extra_evaluations=extra,
        metrics=language.values,
        best_step=best_step,
    )


@torch.no_grad()
def evaluate(
    game: Game | Society,
    world: World,
    experiment: Experiment,
    split: str = "valid",
) -> dict[str, float]:
    """Means over the examples of a split: loss (nats), accuracy, length, and the task's own metrics.

    Args:
        game: Agents.
        world: Has the split.
        experiment: The evaluation's mode and seed.
        split: Which examples.
    """
    measures: list[Mapping[str, Tensor]] = []
    size = world.sizes.evaluation_batch_size
    game.eval()
    num_batches = -(-world.num_valid // size)
    for number in range(num_batches):
        noise = noise_generator(experiment.training.seed, split, number * size, game.device)
        measures.append(game.play(world.batch(split, number), experiment.evaluation.mode, noise).measures)
    game.train()
    # In one table, so that the device is waited for once.
    sizes = [value.numel() for value in measures[0].values()]
    table = torch.stack([torch.cat([value.flatten() for value in each.values()]) for each in measures])
    numbers = np.arange(num_batches)
    weights = np.minimum(size, world.num_valid - numbers * size) / world.num_valid
    # One batch after the other, so that a sum does not depend on how it is divided.
    total = np.zeros(table.shape[1])
    for row, weight in zip(table.double().cpu().numpy(), weights, strict=True):
        total += row * weight
    parts = np.split(total, np.cumsum(sizes)[:-1])
    return game.summary({name: part for name, part in zip(measures[0], parts, strict=True)})


def _has_finite_weights(game: nn.Module) -> bool:
    """Whether all weights are finite; a finite loss may have a gradient that is not."""
    return bool(torch.stack([parameter.isfinite().all() for parameter in game.parameters()]).all())
