"""Where jobs are computed, by name: `here`, `local`, `local:8`, `slurm`."""

from dataclasses import dataclass
from functools import partial

from ecsuite.config import ConfigError
from ecsuite.jobs.computing import Engine
from ecsuite.jobs.slurm import Slurm, slurm_options

MAX_WORKERS = 1000
"""Most processes of one command on this machine."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where jobs are computed."""

    num_workers: int | None = None
    """Most processes of this machine; None: one for each core."""
    engine: Engine | None = None
    """Computes elsewhere."""


def place_of(on: str, slurm: str | None = None) -> Place:
    """The place that `--on` names.

    Args:
        on: `here` (this process), `local` (a process for each core), `local:8`, or `slurm`.
        slurm: Options of sbatch: `partition=low,time=2:00:00`.

    Raises:
        ConfigError: If there is no such place, or an option is not valid.
    """
    if slurm is not None and on != "slurm":
        raise ConfigError(f"--slurm: not read by --on {on}; read by --on slurm")
    if on == "here":
        return Place(num_workers=1)
    if on == "slurm":
        return Place(engine=partial(Slurm, options=slurm_options(slurm)))
    kind, colon, number = on.partition(":")
    if kind == "local" and (not colon or (number.isdecimal() and 0 < int(number) <= MAX_WORKERS)):
        return Place(num_workers=int(number) if colon else None)
    raise ConfigError(f"--on {on}: expected here, local, local:N with N from 1 to {MAX_WORKERS:,}, or slurm")
