"""Engines by name and options: `here`, `local:8`, `slurm,partition=low`, `ray,address=head:6379`, `workers`."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ecsuite.jobs.groups import GroupFolder, require_locks
from ecsuite.jobs.launchers import SECONDS_SILENT, Launcher, Users, num_cores, options_of, visible_gpus
from ecsuite.runtime.errors import ConfigError, unknown_name

if TYPE_CHECKING:
    from ecsuite.jobs.ray import RayOptions

MAX_WORKERS = 1000
"""Maximum number of processes of one command on this machine."""
SILENT = "silent"
"""Option of every engine but `here`: minutes without a sign of life after which a job counts as hanging."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Engine of a command with its options."""

    num_workers: int | None = None
    """Maximum number of processes of this machine; None: one per core or GPU."""
    launcher: Callable[[GroupFolder], Launcher] | None = None
    """Makes the launcher of workers on other machines."""
    seconds_silent: float = SECONDS_SILENT
    """See `Runner`."""
    slurm: Mapping[str, str] | None = None
    """Options of sbatch; None for other engines than Slurm."""
    require: Callable[[Path], None] = lambda folder: None
    """Called with the store before a study begins; `ConfigError` if the engine can't be used."""

    def planning(self) -> AbstractContextManager[None]:
        """Plan jobs for this engine: devices of other machines need not be present here."""
        if self.launcher is None:
            return nullcontext()
        from ecsuite.runtime.devices import planned_elsewhere

        return planned_elsewhere()

    def workers_for(self, device: str) -> int:
        """Maximum number of processes of this machine for jobs on a type of device: cpu or cuda."""
        if self.num_workers is not None:
            return self.num_workers
        return num_cores() if device == "cpu" else max(1, len(visible_gpus()))


def place_of(on: str, slurm: str | None = None) -> Place:
    """Read `--on`.

    Args:
        on: `here` (this process), `local` (a process for each core), `local:8`, `slurm`, `ray` or `workers` (which
            the user starts); then options, such as `ray,address=head:6379,cpus=2` or `local:8,silent=10`.
        slurm: Options of sbatch: `partition=low,time=2:00:00`.

    Raises:
        ConfigError: If there is no such engine, or an option is not valid.
    """
    name, comma, text = on.partition(",")
    if slurm is not None and name != "slurm":
        raise ConfigError(f"--slurm: not read by --on {on}; read by --on slurm")
    options = options_of(f"--on {on}", text) if comma else {}
    kind, colon, number = name.partition(":")
    is_local = kind == "local" and (not colon or (number.isdecimal() and 0 < int(number) <= MAX_WORKERS))
    if not is_local and name not in ("here", "slurm", "ray", "workers"):
        raise ConfigError(
            f"--on {on}: expected here, local, local:N with N from 1 to {MAX_WORKERS:,}, slurm, ray or workers"
        )
    minutes = options.pop(SILENT, None) if name != "here" else None
    seconds = SECONDS_SILENT if minutes is None else 60 * _number(on, SILENT, minutes, least=1)
    if name == "slurm":
        from ecsuite.jobs.slurm import Slurm, require_slurm, slurm_options

        known = slurm_options(slurm, options)
        return Place(
            launcher=partial(Slurm, options=known),
            seconds_silent=seconds,
            slurm=known,
            require=require_slurm,
        )
    if name == "ray":
        from ecsuite.jobs.ray import Cluster, Ray

        cluster = Cluster(_ray_options(on, options))
        return Place(launcher=partial(Ray, cluster=cluster), seconds_silent=seconds, require=cluster.require)
    for option in options:
        raise unknown_name(f"option of --on {name}", option, [SILENT] if name != "here" else [])
    if name == "workers":
        return Place(launcher=Users, seconds_silent=seconds, require=partial(require_locks, "--on workers"))
    if name == "here":
        return Place(num_workers=1)
    return Place(num_workers=int(number) if colon else None, seconds_silent=seconds)


def _ray_options(on: str, options: Mapping[str, str]) -> "RayOptions":
    from ecsuite.jobs.ray import RayOptions

    names = [field.name for field in fields(RayOptions)]
    values: dict[str, str | float] = {}
    for name, value in options.items():
        if name not in names:
            raise unknown_name("option of --on ray", name, [*names, SILENT])
        values[name] = value if name == "address" else _number(on, name, value, least=0)
    return RayOptions(**values)  # type: ignore[arg-type]


def _number(on: str, name: str, text: str, *, least: float) -> float:
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not least <= number < 1e6:
        raise ConfigError(f"--on {on}: {name}={text}: expected a number of at least {least:g}")
    return number
