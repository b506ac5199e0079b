"""The score contract: every number that leaves ecsuite is a `Score` with its signature.

A metric is a pure function `(corpus, options) -> list[Score]`. A value that is not defined is `None`
with a reason; NaN and infinity are refused here, so they can't reach a table or a JSON file.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ecsuite.corpus import Corpus


def no_progress(label: str, done: float, total: float) -> None:
    """The default for `Options.progress`: show nothing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Options:
    """What a user may choose about scoring. Each metric's signature holds what concerns it."""

    seed: int = 0
    """Seed of every random draw: pair sampling, bootstrap, model initialisation."""
    preset: str = "mini"
    """How much compute XferBench spends."""
    protocol: str = "strict"
    """XferBench's protocol: `strict`, or one of the authors' program."""
    num_seeds: int = 1
    """XferBench runs with so many seeds from `seed` on."""
    cache: Path | None = None
    """Folder of XferBench's finished stages, which are not computed again; None keeps nothing."""
    num_workers: int = 1
    """Processes for XferBench on a CPU."""
    targets: Path | None = None
    """Folder of target texts for XferBench; None means the embedded artificial languages."""
    device: str = "auto"
    """`auto`, `cpu` or `cuda`."""
    progress: Callable[[str, float, float], None] = no_progress
    """Called as `progress(label, done, total)` from long work; `done` and `total` in the same unit."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Score:
    """One measured number and all that is needed to trust it.

    Raises:
        ValueError: If the value is undefined without a reason, defined with one, or not finite.
    """

    name: str
    """The metric's name, as in the registry or in the paper that defined it."""
    value: float | int | bool | None
    """The number, or None where it is undefined."""
    about: str
    """What the number means, in about six words."""
    signature: str
    """Everything that can change the value, and nothing else: `name|option:value|…|v:1`. Scores of one name
    with equal signatures are comparable."""
    ci95: tuple[float, float] | None = None
    """95 % confidence interval, where one is defined."""
    reason: str | None = None
    """Why the value is None."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """Further figures and tables, JSON-ready."""

    def __post_init__(self) -> None:
        """Hold the invariants that readers of scores rely on."""
        if (self.value is None) != (self.reason is not None):
            got = f"got {self.value!r} and {self.reason!r}"
            raise ValueError(f"{self.name}: a score needs either a value or a reason, {got}")
        if self.value is not None and not math.isfinite(self.value):
            raise ValueError(f"{self.name}: {self.value!r} is not a score; give None and a reason")
        if self.ci95 is not None and not all(math.isfinite(bound) for bound in self.ci95):
            raise ValueError(f"{self.name}: the interval {self.ci95!r} is not finite")

    def to_json(self) -> dict[str, Any]:
        """The score as JSON-ready data, in the order in which people read it."""
        data = asdict(self)
        data["ci95"] = None if self.ci95 is None else list(self.ci95)
        return {
            key: data[key] for key in ("name", "value", "ci95", "about", "reason", "details", "signature")
        }


Metric = Callable[[Corpus, Options], list[Score]]


def signature(name: str, version: int, **options: object) -> str:
    """Join a metric's name, its options and its version: `topsim|eos:strip|v:1`.

    Args:
        name: The metric's name.
        version: Raised whenever the same input would give another value.
        **options: Everything else that can change the value, in reading order.
    """
    return "|".join([name, *(f"{key}:{value}" for key, value in options.items()), f"v:{version}"])
