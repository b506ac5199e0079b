"""Schedules: the factor on the learning rate at each step."""

import math
from dataclasses import dataclass, replace
from typing import Any

from ecsuite.parts.config import Count, Natural, Positive, Share
from ecsuite.runtime.errors import ConfigError


class Constant:
    """The same rate at every step."""

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """A constant rate has no options."""

    def __init__(self, options: Options, *, steps_per_epoch: int) -> None:
        pass

    @staticmethod
    def horizon(options: Options, num_epochs: int) -> Options:
        """The options for a run of `num_epochs`: the same."""
        return options

    def factor(self, step: int) -> float:
        """The factor on the optimizer's rate at a step, counted from 0."""
        return 1.0


def with_epochs(options: Any, num_epochs: int) -> Any:
    """Options with their horizon in epochs written out; `ConfigError` if the run is longer."""
    if options.num_epochs is not None and options.num_epochs < num_epochs:
        raise ConfigError(
            f"schedule.num_epochs: the rate is at its end after {options.num_epochs} epochs, expected at least "
            f"training.num_epochs ({num_epochs})"
        )
    return replace(options, num_epochs=options.num_epochs or num_epochs)


class Linear:
    """The rate decreases by the same amount at every step, and reaches 0 at the end of its horizon."""

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of a linear decrease."""

        num_epochs: Count | None = None
        """Epochs until the rate reaches 0; null: those of the run, which are part of it from then on."""

    horizon = staticmethod(with_epochs)

    def __init__(self, options: Options, *, steps_per_epoch: int) -> None:
        assert options.num_epochs is not None
        self.num_steps = options.num_epochs * steps_per_epoch

    def factor(self, step: int) -> float:
        """The factor on the optimizer's rate at a step, counted from 0."""
        return 1 - step / self.num_steps


class Cosine:
    """The rate follows half a cosine to the end of its horizon (Loshchilov & Hutter 2017, arXiv 1608.03983, eq. 5).

    Before that it may rise from 0 by the same amount at every step.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of a decrease by a cosine."""

        num_epochs: Count | None = None
        """Epochs until the rate is at its end; null: those of the run, which are part of it from then on."""
        last: Share = 0.0
        """Share of the rate at the end."""
        warmup_steps: Natural = 0
        """Steps in which the rate rises, before it decreases."""

    horizon = staticmethod(with_epochs)

    def __init__(self, options: Options, *, steps_per_epoch: int) -> None:
        assert options.num_epochs is not None
        self.options = options
        self.num_steps = options.num_epochs * steps_per_epoch
        if options.warmup_steps >= self.num_steps:
            raise ConfigError(
                f"schedule.warmup_steps: expected fewer than the {self.num_steps:,} steps of the schedule, got "
                f"{options.warmup_steps:,}"
            )

    def factor(self, step: int) -> float:
        """The factor on the optimizer's rate at a step, counted from 0."""
        warmup, last = self.options.warmup_steps, self.options.last
        if step < warmup:
            return (step + 1) / (warmup + 1)
        share = (step - warmup) / (self.num_steps - warmup)
        return last + (1 - last) * (1 + math.cos(math.pi * share)) / 2


class Steps:
    """The rate is multiplied by the same factor every so many epochs."""

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of a decrease in steps."""

        every: Count = 1
        """Epochs between two changes of the rate."""
        by: Positive = 0.9
        """The factor."""

    def __init__(self, options: Options, *, steps_per_epoch: int) -> None:
        self.options, self.steps_per_epoch = options, steps_per_epoch

    @staticmethod
    def horizon(options: Options, num_epochs: int) -> Options:
        """The options for a run of `num_epochs`: the same."""
        return options

    def factor(self, step: int) -> float:
        """The factor on the optimizer's rate at a step, counted from 0."""
        factor: float = self.options.by ** (step // self.steps_per_epoch // self.options.every)
        return factor
