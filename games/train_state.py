"""Where a training stands, who is told of it, and how far it is."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ecsuite.games.language_metrics import LanguageScores
from ecsuite.games.loggers import Logger
from ecsuite.games.plays.play import Measures, Play
from ecsuite.games.run_folder import StopReason
from ecsuite.games.training_notes import (
    ESTIMATE_AFTER,
    note_on_time_left,
    progress_label,
    steps_of_the_end,
)
from ecsuite.jobs.signals import StopRequest


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
        self.first_step, self.total = first_step, num_steps + steps_of_the_end(play.experiment)
        self.is_hinted, self.remarks = False, set[str]()
        self.began = self.began_second = time.monotonic()

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
        label = progress_label(state.valid, state.language.values, epoch, self.settings.num_epochs)
        self.callbacks.progress(label, state.step, self.total)
        if state.step == self.first_step + 1:
            self.began_second = time.monotonic()  # the first step also imports and compiles
            self._remark()
        elif not self.is_hinted and self.seconds > ESTIMATE_AFTER:
            self.is_hinted = True
            self._remark()
            seconds = (time.monotonic() - self.began_second) / (state.step - self.first_step - 1)
            hint = note_on_time_left(seconds * (self.total - state.step), self.settings.until_accuracy)
            if hint is not None:
                self.callbacks.note(hint)

    def _remark(self) -> None:
        """Note what the play has to say, each line once."""
        for line in self.play.remarks():
            if line not in self.remarks:
                self.remarks.add(line)
                self.callbacks.note(line)

    def show_end(self, state: TrainState) -> None:
        """Tell of the last evaluation and the corpus."""
        self.callbacks.progress("last evaluation and corpus", state.step, self.total)
