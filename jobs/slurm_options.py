"""Options of sbatch, as users write them after `--slurm`."""

from collections.abc import Mapping

from ecsuite.runtime.errors import ConfigError

DEFAULTS = {"time": "60"}
"""Options of sbatch unless others are given: minutes of a task."""


def slurm_options(text: str | None, others: Mapping[str, str] = {}) -> dict[str, str]:
    """Options of sbatch, from `partition=low,gres=gpu:1,time=2:00:00`, and those that `--on slurm,…` has.

    Raises:
        ConfigError: If a piece has no `=`, or the time is not one.
    """
    options = {**DEFAULTS, **options_of(f"--slurm {text}", text or ""), **others}
    minutes_of(options["time"])
    return options


def options_of(place: str, text: str) -> dict[str, str]:
    """Options from `partition=low,gres=gpu:1`; `ConfigError` that begins with the place if a piece has no `=`."""
    options = {}
    for piece in text.split(","):
        key, equals, value = piece.strip().partition("=")
        if not equals and piece.strip():
            raise ConfigError(f"{place}: expected KEY=VALUE, such as partition=low, got {piece.strip()}")
        if equals:
            options[key.strip().lstrip("-").replace("-", "_")] = value.strip()
    return options


def minutes_of(text: str) -> int:
    """Minutes from Slurm's `90`, `1:30:00` or `1-12:00:00`.

    Raises:
        ConfigError: If it is none of these.
    """
    days, dash, clock = text.rpartition("-")
    pieces = clock.split(":")
    if not all(piece.isdecimal() for piece in ([days] if dash else []) + pieces) or len(pieces) > 3:
        raise ConfigError(f"--slurm time={text}: expected minutes (90), 1:30:00 or 1-12:00:00")
    numbers = [int(piece) for piece in pieces]
    if dash:
        hours, minutes = (*numbers, 0, 0)[:2]
    else:
        hours, minutes = (numbers[0], numbers[1]) if len(numbers) == 3 else (0, numbers[0])
    return max(1, int(days or 0) * 24 * 60 + hours * 60 + minutes)
