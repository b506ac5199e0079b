"""Where a training stands, who is told of it, and how far it is."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from ecsuite.games.language_metrics import LanguageScores
from ecsuite.games.loggers import Logger
from ecsuite.games.plays.play import Measures, Play, TrainedPlay
from ecsuite.games.run_folder import StopReason
from ecsuite.games.training_notes import (
    REMARK_AFTER,
    note_on_time_left,
    progress_label,
    steps_of_the_end,
)
from ecsuite.jobs.signals import StopRequest
from ecsuite.runtime.time_left import TimeLeft


@dataclass(frozen=True, kw_only=True, slots=True)
class Callbacks:
    """Who is told of a training, and who may stop it; see `ecsuite.games.training.train`."""

    progress: Callable[[str, float, float], None]
    note: Callable[[str], None]
    announce: Callable[[str], None]
    should_stop: Callable[[], StopRequest | None]
    loggers: Sequence[Logger] = ()


@dataclass(kw_only=True, slots=True)
class TrainState:
    """Where a training stands."""

    step: int = 0
    """Steps done."""
    sums: dict[str, Any] = field(default_factory=dict)
    """Of the measures of the steps since the last evaluation at a multiple of `evaluate_every`."""
    valid: dict[str, float] = field(default_factory=dict)
    """The last evaluation; empty before the first one."""
    is_evaluated: bool = False
    """Whether it is of the agents as they are."""
    language: LanguageScores = field(default_factory=LanguageScores)
    stopped: StopReason | None = None
    """Why no further step is made; None: it goes on."""
    must_save: bool = False
    """Whether there is a reason to write a checkpoint after this step, beside `checkpoint_every`."""
    is_checked: bool = False
    """Whether its figures are known to be finite."""

    def add(self, measures: Measures) -> None:
        """A step is done."""
        self.step += 1
        self.sums = sums(self.sums, measures)
        self.must_save = self.is_checked = False

    def stop(self, reason: StopReason) -> None:
        """Make no further step; the first reason counts. The state is saved."""
        self.stopped = self.stopped or reason
        self.must_save = True


def sums(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """The sum of the measures of each name."""
    return {
        **first,
        **{name: value + first[name] if name in first else value for name, value in second.items()},
    }


class Progress:
    """Tells how far a training is, and once, of a long one, how long it takes.

    Args:
        play: What is played.
        num_steps: Steps of all epochs.
        first_step: Steps that were done before.
        callbacks: Who is told.
    """

    def __init__(self, play: Play, num_steps: int, first_step: int, callbacks: Callbacks) -> None:
        self.play, self.settings, self.callbacks = play, play.experiment.training, callbacks
        self.first_step = first_step
        calls = play.calls(num_steps)
        self.calls = None if calls is None else [0, *accumulate(calls)]
        end = steps_of_the_end(play.experiment) if isinstance(play, TrainedPlay) else 0
        self.total = num_steps + end if self.calls is None else max(1, self.calls[-1])
        self.left, self.is_hinted = TimeLeft(self.total), False
        self.remarks_again, self.remarks = True, set[str]()
        self.began = time.monotonic()

    @property
    def seconds(self) -> float:
        """Seconds of training."""
        return time.monotonic() - self.began

    def examples_per_second(self, step: int) -> int:
        """Examples of training a second, after so many steps."""
        num_examples = (step - self.first_step) * self.settings.batch_size * self.settings.accumulate
        return round(num_examples / max(self.seconds, 1e-6))

    def show(self, state: TrainState) -> None:
        """Tell of a step."""
        epoch = max(state.step - 1 - self.play.steps_before, 0) // self.play.steps_per_epoch
        now, done = time.monotonic(), self._done(state)
        calls_left = None if self.calls is None else self.total - done
        epochs = self.settings.num_epochs
        label = progress_label(state.valid, state.language.values, epoch, epochs, calls_left)
        self.callbacks.progress(label, done, self.total)
        if state.step == self.first_step + 1:
            self._remark()
        elif self.remarks_again and self.seconds > REMARK_AFTER:
            self.remarks_again = False
            self._remark()
        self.left.add(now, done)  # not before the first step, which also imports and compiles
        if not self.is_hinted and (seconds := self.left.seconds(now, done)) is not None:
            self.is_hinted = True
            hint = note_on_time_left(seconds, self.settings.until_accuracy)
            if hint is not None:
                self.callbacks.note(hint)

    def _done(self, state: TrainState) -> int:
        """The work that is done: steps, or calls of models."""
        return state.step if self.calls is None else self.calls[state.step]

    def _remark(self) -> None:
        """Note what the play has to say, each line once."""
        for line in self.play.remarks():
            if line not in self.remarks:
                self.remarks.add(line)
                self.callbacks.note(line)

    def show_end(self, state: TrainState) -> None:
        """Tell of the last evaluation and the corpus."""
        self.callbacks.progress("last evaluation and corpus", self._done(state), self.total)
