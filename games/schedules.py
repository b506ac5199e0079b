"""Schedules of the learning rate: the factor on the optimizer's rate at each step."""

from dataclasses import dataclass, replace

from ecsuite.config import ConfigError, Count


class Constant:
    """The same rate at every step.

    Args:
        options: The options.
        steps_per_epoch: Not used.
    """

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
        """The factor at a step, counted from 0."""
        return 1.0


class Linear:
    """The rate decreases by the same amount at every step, and reaches 0 at the end of its horizon.

    Args:
        options: The options, with a horizon.
        steps_per_epoch: Steps of an epoch.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of a linear decrease."""

        num_epochs: Count | None = None
        """Epochs until the rate reaches 0; null: those of the run, which are part of it from then on."""

    def __init__(self, options: Options, *, steps_per_epoch: int) -> None:
        assert options.num_epochs is not None
        self.num_steps = options.num_epochs * steps_per_epoch

    @staticmethod
    def horizon(options: Options, num_epochs: int) -> Options:
        """The options for a run of `num_epochs`, with their horizon.

        Raises:
            ConfigError: If the run is longer than the horizon.
        """
        if options.num_epochs is not None and options.num_epochs < num_epochs:
            raise ConfigError(
                f"schedule.num_epochs: the rate is 0 after {options.num_epochs} epochs, expected at least "
                f"training.num_epochs ({num_epochs})"
            )
        return replace(options, num_epochs=options.num_epochs or num_epochs)

    def factor(self, step: int) -> float:
        """The factor at a step, counted from 0."""
        return 1 - step / self.num_steps
