"""The score contract: every number that ecsuite reports is a `Score` with its signature.

A metric is a pure function `(corpus, options) -> list[Score]`. An undefined value is `None` with a reason; NaN and
infinity are rejected here, so no table or JSON file contains them.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Self, TypeGuard

import msgspec

from ecsuite.eval.statistics.chance import Chance
from ecsuite.eval.statistics.estimates import Bound
from ecsuite.runtime.errors import ConfigError, shown


@dataclass(frozen=True, kw_only=True, slots=True)
class Options:
    """Options of scoring that a user can set. The signature of a metric has the options that affect it."""

    seed: int = 0
    """Seed of every random draw: pair sampling, bootstrap, model initialisation."""
    device: str = "auto"
    """`auto`, `cpu`, `cuda` or `mps`."""
    run: Any = None
    """The `Run` whose corpus is scored, for metrics that need its agents; None without a run."""

    def __post_init__(self) -> None:
        """Validate the seed and the device."""
        if type(self.seed) is not int or self.seed < 0:
            raise ConfigError(f"seed: expected an integer from 0, got {self.seed!r}")
        if self.device != "auto":
            from ecsuite.runtime.devices import require_device_name  # which imports torch

            require_device_name(self.device)


class Signature(str):
    """The name of a score with all settings that can change its value: `topsim|eos:strip|v:1`.

    The version is raised whenever the same input gives another value. Scores with equal signatures are comparable.
    """

    __slots__ = ()

    @classmethod
    def of(cls, name: str, version: int, **options: object) -> "Signature":
        """Format a signature.

        Args:
            name: Name of the score.
            version: Version of its metric.
            **options: Settings in the order of the text.
        """
        return cls("|".join([name, *(f"{key}:{value}" for key, value in options.items()), f"v:{version}"]))

    @property
    def name(self) -> str:
        """The name of the score."""
        return self.partition("|")[0]

    @property
    def options(self) -> dict[str, str]:
        """The settings by name, with the version as `v`; a setting without a value has an empty one."""
        return dict(part.partition(":")[::2] for part in self.split("|")[1:])

    def without(self, *names: str) -> "Signature":
        """The signature without some of its settings."""
        return Signature("|".join(part for part in self.split("|") if part.partition(":")[0] not in names))


class Score(msgspec.Struct, frozen=True, kw_only=True):
    """A value of a metric or a measure of a training, as computed or as read from a file.

    Raises:
        ValueError: If the value is undefined without a reason, defined with one, or not finite.
    """

    name: str
    """Name of the metric, as in the registry or in the paper that defined it, or of a measure of a training."""
    value: float | int | bool | None
    """The number, or None where it is undefined."""
    about: str = ""
    """Meaning of the value, in about six words; empty for a measure, or if a file does not have it."""
    signature: str = ""
    """All settings that can change the value, and no others: `name|option:value|…|v:1`. Scores of one name with equal
    signatures are comparable. Empty for a measure, or a score of another program."""
    ci95: tuple[float, float] | None = None
    """95 % interval over messages, speakers or agents, as the metric defines it; not over seeds of a training."""
    reason: str | None = None
    """Reason why the value is None; empty if a file does not have it."""
    chance: Chance | None = None
    """The chance level of the score, if known."""
    details: Mapping[str, Any] = {}
    """Further figures and tables, JSON-ready: by seed and target for XferBench, by speaker for a society."""
    traits: Any = None  # Traits | None, which are above this module
    """The `Traits` of a user's own metric; None: the traits of the built-in metric with this name."""
    unit: Mapping[str, Any] = {}
    """Part of the source that was measured, such as `{"rounds": "held out"}`; empty: the whole."""
    is_measure: bool = False
    """Whether it is a measure of a training, such as accuracy."""
    bound: Bound | None = None
    """Whether the value is a bound of the true value, such as the time of a run that ended before its target; None: it
    is not, or it follows from the value, see `bound_of`."""
    stored: Mapping[str, Any] = {}
    """JSON that it was read from, with its conclusion among the scores of its file; empty if computed here."""

    def __post_init__(self) -> None:
        """Check the invariants."""
        if (self.value is None) != (self.reason is not None):
            got = f"got {self.value!r} and {self.reason!r}"
            raise ValueError(f"{self.name}: a score needs either a value or a reason, {got}")
        if self.value is not None and not math.isfinite(self.value):
            raise ValueError(f"{self.name}: {self.value!r} is not a score; give None and a reason")
        if self.ci95 is not None and not all(math.isfinite(bound) for bound in self.ci95):
            raise ValueError(f"{self.name}: the interval {self.ci95!r} is not finite")

    @property
    def figure(self) -> str:
        """Name after its unit, as in tables of runs: `held out accuracy`."""
        return " ".join([*map(str, self.unit.values()), self.name])

    def to_json(self, *, is_kept: bool = False) -> dict[str, Any]:
        """The score as JSON-ready data, in reading order.

        Args:
            is_kept: Whether the JSON is for a file that is read again, which also has the score of each permutation.
        """
        chance = self.chance
        level = None if chance is None else chance.to_json(self.value) | (chance.kept() if is_kept else {})
        return {
            "name": self.name,
            "value": self.value,
            "ci95": None if self.ci95 is None else list(self.ci95),
            "chance": level,
            "about": self.about,
            "reason": self.reason,
            "details": dict(self.details),
            "signature": self.signature,
        }

    @classmethod
    def of_json(cls, data: Mapping[str, Any], file: object) -> Self:
        """Read a score from an entry of a file; only its name is required.

        Args:
            data: The entry.
            file: The file, named in errors.

        Raises:
            ConfigError: If the value or the interval is not numeric.
        """
        name, value, bounds = str(data["name"]), data.get("value"), data.get("ci95")
        if value is not None and not (is_number(value) or isinstance(value, bool)):
            raise ConfigError(f"{file}: {name}: expected a number, got {shown(value)}")
        is_interval = isinstance(bounds, list) and len(bounds) == 2 and all(map(is_number, bounds))
        if bounds is not None and not is_interval:
            raise ConfigError(f"{file}: ci95 of {name}: expected two numbers, got {shown(bounds)}")
        texts = {key: text if isinstance(text := data.get(key), str) else "" for key in TEXTS}
        chance, details = data.get("chance"), data.get("details")
        return cls(
            name=name,
            value=value,
            about=texts["about"],
            signature=texts["signature"],
            ci95=None if bounds is None else (float(bounds[0]), float(bounds[1])),
            reason=texts["reason"] if value is None else None,
            chance=Chance.of_json(chance) if isinstance(chance, Mapping) else None,
            details=details if isinstance(details, Mapping) else {},
            stored=data,
        )


TEXTS = ("about", "reason", "signature")
"""Keys of texts in the JSON of a score."""


def is_number(value: Any) -> TypeGuard[float]:
    """Whether a value is a finite number, and not a boolean."""
    return type(value) in (int, float) and math.isfinite(value)


def unscored(traits: Any, **options: object) -> "partial[Score]":
    """Make a function that creates the score of some `Traits` from its value, with the signature complete."""
    line = Signature.of(traits.name, traits.version, **options)
    return partial(Score, name=traits.name, about=traits.about, signature=line)
