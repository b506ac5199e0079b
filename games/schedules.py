"""Schedules of the learning rate: the factor on the optimizer's rate at each step."""

from dataclasses import dataclass

from ecsuite.config import ConfigError, Count


class Constant:
    """The same rate at every step.

    Args:
        options: The options.
        num_epochs: Epochs of the run.
        steps_per_epoch: Steps of each.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """A constant rate has no options."""

    def __init__(self, options: Options, *, num_epochs: int, steps_per_epoch: int) -> None:
        pass

    def factor(self, step: int) -> float:
        """The factor at a step, counted from 0."""
        return 1.0


class Linear:
    """The rate decreases by the same amount at every step, and reaches 0 at the end of its horizon.

    Args:
        options: The options.
        num_epochs: Epochs of the run.
        steps_per_epoch: Steps of each.

    Raises:
        ConfigError: If the run is longer than the horizon.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of a linear decrease."""

        num_epochs: Count | None = None
        """Epochs until the rate reaches 0; null: those of the run, which then can't be continued for longer."""

    def __init__(self, options: Options, *, num_epochs: int, steps_per_epoch: int) -> None:
        horizon = options.num_epochs or num_epochs
        if num_epochs > horizon:
            raise ConfigError(
                f"schedule.num_epochs: the rate is 0 after {horizon} epochs, so expected at least those of the run, "
                f"{num_epochs}"
            )
        self.num_steps = horizon * steps_per_epoch

    def factor(self, step: int) -> float:
        """The factor at a step, counted from 0."""
        return 1 - step / self.num_steps
