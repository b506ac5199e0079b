"""The trainer of a play in a run folder: steps, regular evaluations and checkpoints, and at the end the corpus.

`Trainer.step` is one iteration: a step of the play, then evaluation and checkpoint if due. Only evaluations and
checkpoints synchronise with the device.
"""

import hashlib
import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ecsuite.corpus import SPEAKER
from ecsuite.formats import write_corpus
from ecsuite.formats.directory import BESIDE, LANGUAGES_KEY
from ecsuite.games.config.registry import SCHEDULES
from ecsuite.games.engine.optimizers import NotFiniteError, Optimise
from ecsuite.games.plays.checks import hook_of
from ecsuite.games.plays.notes import has_small_products
from ecsuite.games.plays.play import Play, TrainedPlay, sums
from ecsuite.games.runs.checkpoints import (
    Best,
    load_checkpoint,
    read_best,
    remove_old_checkpoints,
    save_best,
    save_checkpoint,
)
from ecsuite.games.runs.identity import RunContext
from ecsuite.games.runs.result import (
    EXTRA,
    EXTRA_CHANCE,
    METRICS,
    REMEDY,
    SINCE_BEST,
    RunResult,
    StopReason,
    flat_figures,
    is_accuracy_reached,
    measures_of,
)
from ecsuite.games.runs.run_folder import FolderState, Log, RunFolder
from ecsuite.games.training.loggers import Logger
from ecsuite.jobs.signals import StopRequest
from ecsuite.runtime.devices import default_products, deterministic_kernels, routed_products, versions
from ecsuite.runtime.errors import ConfigError, DivergedError, LimitError
from ecsuite.runtime.randomness import initial_weights
from ecsuite.runtime.time_left import TimeLeft, duration_text

REMARK_AFTER = 5.0
"""Seconds of training after which the remarks of a play are queried a second time."""
LONG_RUN = 900.0
"""Estimated remaining seconds from which a note explains how to end the run sooner."""
FORWARD_SHARE = 1 / 3
"""Duration of an evaluation batch relative to a training step."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingCallbacks:
    """Callbacks for progress, messages and stop requests; see `ecsuite.games.training.train.train`."""

    progress: Callable[[str, float, float], None]
    note: Callable[[str], None]
    announce: Callable[[str], None]
    should_stop: Callable[[], StopRequest | None]
    loggers: Sequence[Logger] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class LanguageScores:
    """Scores of the language at an evaluation."""

    values: Mapping[str, float | None] = field(default_factory=dict)
    """Values by name of the score; None: undefined."""
    reasons: Mapping[str, str] = field(default_factory=dict)
    """Reasons of undefined scores, by name."""
    lower_is_better: tuple[str, ...] = ()
    """Scores for which lower values are better, by their names in `figures`."""

    def entry(self) -> dict[str, Any]:
        """Keys and values for an entry of the log."""
        reasons = {"reasons": dict(self.reasons)} if self.reasons else {}
        return {"metrics": dict(self.values), **reasons} if self.values else {}

    def figures(self) -> dict[str, float | None]:
        """Scores by their names among all figures, such as `metrics.topsim`."""
        return {f"metrics.{name}": value for name, value in self.values.items()}


Scorer = Callable[[Play], LanguageScores]
"""Function that scores the language of a play by the metrics of its experiment, without an effect on its state."""


@dataclass(kw_only=True, slots=True)
class TrainState:
    """Mutable state of a training run."""

    step: int = 0
    """Steps done."""
    sums: dict[str, Any] = field(default_factory=dict)
    """Sums of the measures over the steps since the last evaluation at a multiple of `evaluate_every`."""
    valid: dict[str, float] = field(default_factory=dict)
    """The last evaluation; empty before the first one."""
    is_evaluated: bool = False
    """Whether `valid` describes the agents' current weights."""
    language: LanguageScores = field(default_factory=LanguageScores)
    stopped: StopReason | None = None
    """Reason to stop; None: training continues."""
    must_save: bool = False
    """Whether to write a checkpoint after this step even if `checkpoint_every` does not require one."""
    is_checked: bool = False
    """Whether losses and weights up to this step are known to be finite."""

    def stop(self, reason: StopReason) -> None:
        """Stop after this step and save the state; the first reason takes precedence."""
        self.stopped = self.stopped or reason
        self.must_save = True


class Progress:
    """Reports progress and, once for a long run, the remaining time.

    Args:
        play: The play.
        num_steps: Steps of all epochs.
        first_step: Steps done before this process.
        callbacks: Receive progress and notes.
    """

    def __init__(self, play: Play, num_steps: int, first_step: int, callbacks: TrainingCallbacks) -> None:
        self.play, self.settings, self.callbacks = play, play.experiment.training, callbacks
        self.first_step = first_step
        calls = play.calls(num_steps)
        self.calls = None if calls is None else [0, *accumulate(calls)]
        evaluation, end = play.experiment.evaluation, 0
        if isinstance(play, TrainedPlay):
            batches = (evaluation.num_valid + evaluation.corpus_size) / self.settings.batch_size
            end = math.ceil(
                batches * FORWARD_SHARE
            )  # duration of the last evaluation and the corpus, in steps
        self.total = num_steps + end if self.calls is None else max(1, self.calls[-1])
        self.left, self.is_hinted = TimeLeft(self.total), False
        self.remarks_again, self.remarks = True, set[str]()
        self.began = time.monotonic()

    @property
    def seconds(self) -> float:
        """Seconds of training."""
        return time.monotonic() - self.began

    def examples_per_second(self, step: int) -> int:
        """Training examples per second, up to `step`."""
        num_examples = (step - self.first_step) * self.settings.batch_size * self.settings.accumulate
        return round(num_examples / max(self.seconds, 1e-6))

    def show_beginning(self) -> None:
        """Report that the first step is next."""
        done = self.first_step if self.calls is None else self.calls[self.first_step]
        self.callbacks.progress("first step", done, self.total)

    def show(self, state: TrainState) -> None:
        """Report a step: the epoch, the remaining calls of models, and the last evaluation."""
        epoch = max(state.step - 1 - self.play.steps_before, 0) // self.play.steps_per_epoch
        now, done = time.monotonic(), state.step if self.calls is None else self.calls[state.step]
        valid, shown = state.valid, [f"epoch {epoch + 1}/{self.settings.num_epochs}"]
        shown += [] if self.calls is None else [f"{self.total - done:,} calls left"]
        shown += [f"loss {valid['loss']:.3f}"] if "loss" in valid else []
        shown += [f"accuracy {valid['accuracy']:.1%}"] if "accuracy" in valid else []
        scores = [(name, value) for name, value in state.language.values.items() if value is not None]
        shown += [f"{name} {value:.3f}" for name, value in scores[:2]]
        self.callbacks.progress("  ".join(shown), done, self.total)
        if state.step == self.first_step + 1:
            self._remark()
        elif self.remarks_again and now - self.began > REMARK_AFTER:
            self.remarks_again = False
            self._remark()
        self.left.add(now, done)  # not before the first step, which also imports and compiles
        if self.is_hinted or (seconds := self.left.seconds(now, done)) is None:
            return
        self.is_hinted = True
        if seconds >= LONG_RUN:
            until = "" if self.settings.until_accuracy else "--until-accuracy 0.95 or "
            self.callbacks.note(
                f"about {duration_text(seconds)} left at this speed. To end it in minutes: {until}--max-minutes 10. "
                "Ctrl-C stops it with a checkpoint and a complete corpus; --resume continues from there."
            )

    def _remark(self) -> None:
        """Pass the remarks of the play to `note`, each once."""
        for line in self.play.remarks():
            if line not in self.remarks:
                self.remarks.add(line)
                self.callbacks.note(line)

    def show_end(self, state: TrainState) -> None:
        """Report that the last evaluation and the corpus are next."""
        done = state.step if self.calls is None else self.calls[state.step]
        self.callbacks.progress("last evaluation and corpus", done, self.total)


class Trainer:
    """Trains a play in a run folder, or only plays if nothing is trained.

    Args:
        play: The play.
        context: Config of the run, with precision, schedule and checksums resolved.
        folder: The run folder.
        device: Device of the computation.
        callbacks: Receive progress and notes, and may stop the run.
        scorer: Scores the language at each evaluation; None: there are no metrics.

    Raises:
        ConfigError: If a setting is not valid for the play.
    """

    def __init__(
        self,
        play: Play,
        context: RunContext,
        folder: Path,
        *,
        device: torch.device,
        callbacks: TrainingCallbacks,
        scorer: Scorer | None = None,
    ) -> None:
        self.context, self.experiment = context, (experiment := context.experiment)
        self.play, self.folder, self.device = play, folder, device
        self.callbacks, self.settings = callbacks, experiment.training
        after_step = self.settings.after_step
        self.hook = None if after_step is None else hook_of(after_step)
        self.optimise: Optimise | None = None
        if isinstance(play, TrainedPlay):
            self.optimise = play.optimise = Optimise(experiment.optimizer, play.module, play.modules_of)
            self.schedule = SCHEDULES.make(context.schedule, steps_per_epoch=play.steps_per_epoch)
        if not self.num_steps:
            raise ConfigError(
                "training.num_epochs: expected at least 1 without sender.taught or receiver.taught, got 0"
            )
        if self.settings.accumulate > 1 and not play.accumulates:
            raise ConfigError(
                f"training.accumulate: a step of play {experiment.play.kind} has one batch: expected 1, got "
                f"{self.settings.accumulate}"
            )
        if self.settings.until_accuracy is not None and "accuracy" not in play.figures:
            raise ConfigError(
                f"training.until_accuracy: expected null: evaluations have {', '.join(play.figures)}, but no accuracy"
            )
        self.chance = dict(play.chance())
        self.scorer = scorer
        # Computed once to fail before anything is written, and for the names of the scores.
        language = LanguageScores() if scorer is None else scorer(play)
        self.best: Best | None = None
        if self.settings.keep_best is not None:
            names = [*play.figures, *language.figures()]
            self.best = Best(self.settings, names, language.lower_is_better)
        self.state = TrainState()

    @property
    def num_steps(self) -> int:
        """Steps of all epochs, and of the teaching phase before them."""
        return self.play.steps_before + self.play.steps_per_epoch * self.settings.num_epochs

    def run(self, *, resume: bool) -> RunResult:
        """Train to the last step, or to an earlier stop.

        Args:
            resume: Continue from the newest checkpoint of the folder, if there is one.

        Raises:
            ConfigError: If the folder holds another run.
            DamagedError: If the folder's checkpoints can't be read.
            DivergedError: If losses, weights or evaluations are not finite.
            LimitError: If a limit set by the user is reached before the end of the first step.
        """
        earlier = RunFolder(self.folder).check(
            self.context,
            steps_per_epoch=self.play.steps_per_epoch,
            steps_before=self.play.steps_before,
            resume=resume,
        )
        saved = None
        if resume:
            optimizer = None if self.optimise is None else self.optimise.optimizer
            saved = load_checkpoint(self.folder, self.play.restore, self.callbacks.note, optimizer)
        if earlier.finished is not None:
            return self._finished(earlier.finished)
        self._begin(earlier, saved, resume)
        config = self.context.to_tree()
        self.provenance: dict[str, Any] = {"config": config, "versions": versions(self.device)}
        self.provenance |= {"devices": self.devices} if len(self.devices) > 1 else {}
        with ExitStack() as stack:
            for log in filter(None, (self.log, self.languages)):
                stack.enter_context(log.file)
            for logger in self.callbacks.loggers:
                logger.start(config, self.folder, self.state.step)
                stack.callback(logger.close)
            stack.enter_context(routed_products(self.device, self.context.precision))
            if has_small_products(self.experiment):
                stack.enter_context(default_products(self.device))
            stack.enter_context(deterministic_kernels(self.device, is_asked=self.settings.deterministic))
            self.progress.show_beginning()
            while self.state.step < self.num_steps and self.state.stopped is None:
                self.step()
            with self._seeded("corpus"):
                return self._end()

    def _begin(self, earlier: FolderState, saved: Mapping[str, Any] | None, resume: bool) -> None:
        """Prepare the folder, and restore the state of its checkpoint."""
        note, state = self.callbacks.note, self.state
        if resume and saved is None:
            note(f"{self.folder}: no run to resume: starts from the beginning")
        if earlier.diverged_at is not None:
            what = "is replaced" if earlier.is_replaced else f"is tried again; if it diverges again, {REMEDY}"
            note(f"{self.folder}: the run that diverged at step {earlier.diverged_at} {what}")
        RunFolder(self.folder).write(self.context, is_replaced=earlier.is_replaced)
        remove_old_checkpoints(self.folder)  # the run may have been killed before it removed one
        saved = saved or {"step": 0, "sums": {}, "valid": {}}
        state.step, state.sums, state.valid = saved["step"], saved["sums"], saved["valid"]
        self.devices: list[Mapping[str, Any]] = list(saved.get("devices", []))
        before = self.devices[-1]["device"] if self.devices else None
        if before is not None and before != self.device.type:
            note(
                f"the run was on {before} up to step {state.step} and continues on {self.device.type}: from there its "
                "noise is drawn differently, so the result differs from a run on one device"
            )
        if before != self.device.type:
            self.devices.append({"device": self.device.type, "from_step": state.step})
        self.log = RunFolder(self.folder).open_log(state.step, saved, note)
        self.languages: Log | None = None
        if LANGUAGES_KEY in self.experiment.evaluation.keep:
            own, name = saved.get(LANGUAGES_KEY, {}), BESIDE[LANGUAGES_KEY]
            self.languages = RunFolder(self.folder).open_log(state.step, own, note, name)
        elif not resume:
            (self.folder / BESIDE[LANGUAGES_KEY]).unlink(missing_ok=True)
        if self.best is not None:
            self.best.restore(saved.get("best"))
            if self.best.is_over:
                state.stopped = "patience"
        # The run may have been killed after it reached its accuracy and before it wrote its corpus.
        if state.step > self.play.steps_before and is_accuracy_reached(self.experiment, state.valid):
            state.stopped = "accuracy"
        if self.hook is not None:
            note(
                f"training.after_step: {self.settings.after_step}: a resumed run ends with the "
                "same bytes only if the function depends only on its arguments, which is not checked"
            )
        for line in self.play.lines():
            self.callbacks.announce(line)
        begin = (
            f"from step {state.step:,} of {self.num_steps:,}" if state.step else f"{self.num_steps:,} steps"
        )
        size = min(self.settings.batch_size, self.play.num_rounds)
        self.callbacks.announce(f"{begin} of {size:,} rounds; written to {self.folder}")
        self.progress = Progress(self.play, self.num_steps, state.step, self.callbacks)

    def step(self) -> None:
        """Run a step, then evaluation, checkpoint, progress and stopping criteria as due."""
        state, settings, step = self.state, self.settings, self.state.step
        state.is_evaluated = False
        if self.optimise is not None:
            played = step - self.play.steps_before
            self.optimise.factor = self.schedule.factor(played) if played >= 0 else 1.0
        try:
            with self._seeded("train"):
                measures = self.play.train_step(step)
                if self.hook is not None:
                    self.hook(self.play, step, measures)
        except LimitError as error:
            if not step:
                raise  # no step is complete, so there is no corpus
            self.callbacks.note(str(error))
            state.stop("limit")
            self._save()
            return
        except NotFiniteError as error:
            if step > 0 and self._has_finite_state():
                self._save()
            raise self._diverged(step + 1, str(error)) from None
        state.step, state.sums = step + 1, sums(state.sums, measures)
        state.must_save = state.is_checked = False
        num_steps = self.num_steps  # decreases if the teaching phase ends early
        request, minutes = self.callbacks.should_stop(), settings.max_minutes
        if request == "preempted" or (request is not None and state.step < num_steps):
            state.stop(request)
        elif minutes is not None and self.progress.seconds >= 60 * minutes:
            state.stop("minutes")
        if state.step % settings.evaluate_every == 0 or state.step in (num_steps, self.play.steps_before):
            self._evaluate_and_log()
        if state.step % settings.checkpoint_every == 0 or state.step == num_steps or state.must_save:
            self._require_finite()
            self._save()
        self.progress.show(state)

    def _seeded(self, purpose: str) -> AbstractContextManager[None]:
        """Seed torch's global generators, from which users' parts may draw, for a purpose at the current step.

        So a resumed run repeats the draws, as of `nn.Dropout`. Not in plays without training, which may wait for
        people or models: other threads that need these generators would wait too.
        """
        if self.optimise is None or not self.experiment.code:
            return nullcontext()
        words = f"{self.settings.seed} {self.state.step} {purpose}".encode()
        # A SeedSequence takes ten times as long, one percent of a small step.
        seed = int.from_bytes(hashlib.blake2b(words, digest_size=7).digest(), "big")
        return initial_weights(seed, self.device)

    def _evaluate_and_log(self) -> None:
        """Evaluate and log; save a new best state; stop on accuracy or patience."""
        state = self.state
        self._require_finite()
        self._evaluate()
        entry = self._log_entry()
        self.log.write(entry)
        if self.languages is not None:
            with self._seeded("languages"):
                self._write_languages(self.languages)
        if self.callbacks.loggers:
            figures = flat_figures(entry)
            for logger in self.callbacks.loggers:
                logger.log(state.step, figures)
        is_regular = state.step % self.settings.evaluate_every == 0
        if is_regular:
            state.sums = {}
        if state.step <= self.play.steps_before:
            return  # teaching phase: no stop and no best state yet
        if state.stopped is None and is_accuracy_reached(self.experiment, state.valid):
            state.stop("accuracy")
        if self.best is not None and is_regular:
            if self.best.add(state.step, self._figures()):
                save_best(self.folder, state.step, self.play.state())
                state.must_save = True
            if state.stopped is None and self.best.is_over:
                state.stop("patience")

    def _write_languages(self, log: Log) -> None:
        """Append the most likely message of each speaker about each of the first meanings, one per line."""
        evaluation, players = self.experiment.evaluation, self.play.players
        size = min(evaluation.corpus_size, evaluation.metrics_corpus_size)
        corpus = self.play.corpus(replace(evaluation, mode="greedy", corpus_size=size))
        names, content, began = corpus.symbol_names, corpus.content(), getattr(players, "first_steps", None)
        for row, speaker in enumerate(corpus.columns.get(SPEAKER, np.zeros(len(content), np.int64)).tolist()):
            symbols = [names[each] if names else each for each in content[row].tolist()]
            about = (
                corpus.concepts_of(row) if corpus.meanings is None else corpus.meanings[row].ravel().tolist()
            )
            line = {"step": self.state.step, "speaker": speaker, "message": symbols, "meaning": about}
            log.write(line if began is None else {**line, "began": int(began[speaker])})

    def _end(self) -> RunResult:
        """Make the last evaluation and the corpus, but not after preemption, as the run continues elsewhere."""
        state, stopped = self.state, self.state.stopped or "epochs"
        if stopped == "preempted":
            return self._result(stopped)
        self.progress.show_end(state)
        if not state.is_evaluated:
            self._evaluate()
        best_step, kept = self._with_best_state()
        others = self.play.other_evaluations()
        metadata = self.provenance | {"training": self._ending(stopped, state.step) | kept}
        chance = {name: dict(levels) for name, levels in self.play.other_chance().items()}
        metadata |= {EXTRA: others, EXTRA_CHANCE: chance} if others else {}
        metadata |= {METRICS: dict(state.language.values)} if state.language.values else {}
        metadata |= self.play.keep(self.folder)
        if self.languages is not None:
            self.languages.file.flush()
            content = (self.folder / BESIDE[LANGUAGES_KEY]).read_bytes()
            metadata |= {LANGUAGES_KEY: {"sha256": hashlib.sha256(content).hexdigest()}}
        corpus = self.play.corpus(self.experiment.evaluation)
        write_corpus(
            replace(corpus, metadata={**corpus.metadata, **metadata, "chance": self.chance}), self.folder
        )
        return self._result(
            stopped,
            extra_evaluations=others,
            extra_chance=chance,
            metrics=state.language.values,
            best_step=best_step,
        )

    def _with_best_state(self) -> tuple[int | None, dict[str, Any]]:
        """Restore the best state with `keep_best`; return its step and its entries of the metadata."""
        best, state = self.best, self.state
        if best is None:
            return None, {}
        step = state.step
        if best.step is not None and not best.improves(self._figures()):
            step = best.step
            self.play.restore(read_best(self.folder, step))
            self._evaluate()
        return step, {"best_step": step, SINCE_BEST: best.num_since}

    def _finished(self, done: Mapping[str, Any]) -> RunResult:
        """Result of a finished run that is already in the folder."""
        return RunResult(
            stopped=done["stopped"],
            step=done["step"],
            num_steps=done["num_steps"],
            measures=measures_of(done),
            chance=self.chance,
            extra_evaluations=done[EXTRA],
            extra_chance=done[EXTRA_CHANCE],
            metrics=done[METRICS],
            best_step=done.get("best_step"),
            was_done=True,
        )

    def _result(self, stopped: StopReason, step: int | None = None, **more: Any) -> RunResult:
        """Result of this run."""
        return RunResult(
            stopped=stopped,
            step=self.state.step if step is None else step,
            num_steps=self.num_steps,
            measures=self.state.valid,
            chance=self.chance,
            **{"extra_evaluations": {}, "extra_chance": {}, **more},
        )

    def _evaluate(self) -> None:
        """Evaluate the current agents: figures and language metrics; `DivergedError` if a figure is not finite."""
        with self._seeded("valid"):
            figures = self.play.evaluate()
            if not all(math.isfinite(value) for value in figures.values()):
                raise self._diverged(self.state.step, "the evaluation is not finite and was not used")
            self.state.valid, self.state.is_evaluated = figures, True
            if self.scorer is not None:
                self.state.language = self.scorer(self.play)

    def _figures(self) -> dict[str, float | None]:
        """Figures of the last evaluation, with its language metrics."""
        return {**self.state.valid, **self.state.language.figures()}

    def _log_entry(self, step: int | None = None) -> dict[str, Any]:
        """Entry of the log for a step; None: the current step."""
        state, settings = self.state, self.settings
        step = state.step if step is None else step
        number = (state.step - 1) % settings.evaluate_every + 1
        means = self.play.means({name: float(total) for name, total in state.sums.items()}, number)
        entry = {
            "step": step,
            "epoch": self._epoch(step),
            "train": means,
            "valid": state.valid,
        }
        return {
            **entry,
            **state.language.entry(),
            "examples_per_second": self.progress.examples_per_second(step),
        }

    def _ending(self, stopped: StopReason, step: int) -> dict[str, Any]:
        """Training section of the metadata."""
        epoch = self._epoch(step)
        ending = {"stopped": stopped, "step": step, "num_steps": self.num_steps, "epoch": epoch}
        return {**ending, **self.state.valid}

    def _epoch(self, step: int) -> float:
        """Passes over the training examples after `step` steps."""
        return max(step - self.play.steps_before, 0) / self.play.steps_per_epoch

    def _save(self) -> None:
        """Write a checkpoint."""
        for log in filter(None, (self.log, self.languages)):
            log.file.flush()
            os.fsync(log.file.fileno())
        values: dict[str, Any] = {
            **self.log.state,
            "sums": {name: float(total) for name, total in self.state.sums.items()},
            "valid": self.state.valid,
            "devices": self.devices,
        }
        if self.languages is not None:
            values[LANGUAGES_KEY] = self.languages.state
        if self.best is not None:
            values["best"] = self.best.to_json()
        optimizer = None if self.optimise is None else self.optimise.optimizer
        save_checkpoint(self.folder, self.state.step, self.play.state(), optimizer, **values)

    def _require_finite(self) -> None:
        """Raise `DivergedError` if the loss or the weights are not finite."""
        if self.state.is_checked:
            return
        try:
            if self.optimise is not None:
                self.optimise.require_finite()
        except NotFiniteError as error:
            raise self._diverged(self.state.step, str(error)) from None
        if not self._has_finite_state():
            what = "the update gave weights that are not finite and were not saved"
            raise self._diverged(self.state.step, what)
        self.state.is_checked = True

    def _has_finite_state(self) -> bool:
        """Whether all weights are finite; a finite loss may have a gradient that is not."""
        if not isinstance(self.play, TrainedPlay):
            return True
        return bool(torch.stack([each.isfinite().all() for each in self.play.module.parameters()]).all())

    def _diverged(self, step: int, what: str) -> DivergedError:
        """Record in the folder that the run diverged; return the error to raise."""
        metadata = {
            **self.provenance,
            "training": self._ending("diverged", step),
            "chance": self.chance,
        }
        RunFolder(self.folder).write_divergence(
            self.log, {**self._log_entry(step), "stopped": "diverged"}, metadata
        )
        outcome = self._result("diverged", step)
        return DivergedError(f"step {step}: {what}; {REMEDY}", outcome.to_json())
