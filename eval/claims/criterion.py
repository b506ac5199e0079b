"""What decides on a claim: a statistic of runs, the arms that are compared, and what follows from their difference."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from ecsuite.eval.claims.sections import read_section
from ecsuite.eval.experiments.grids import at, mapping
from ecsuite.parts.config import Weight, refuse_unread
from ecsuite.runtime.errors import ConfigError, shown

Arm = Mapping[str, Any]
"""Values by setting; its runs have these."""
KindName = Literal["effect", "null", "order", "structure"]
ACCURACY = "accuracy"
"""A control that a claim on structure must have, beside one more: the number of distinct messages."""
FEWEST_SIZES = 3
"""Sizes that must agree where the published one is not run."""

_TWO_ARMS = ("arm", "baseline", "sizes")
READS: Mapping[str, tuple[str, ...]] = {
    "effect": (*_TWO_ARMS, "published", "published_from"),
    "null": (*_TWO_ARMS, "margin", "margin_from"),
    "order": ("order", "pairs", "published", "published_from"),
    "structure": (*_TWO_ARMS, "published", "published_from", "controls"),
}
"""By kind, the keys that it reads and not every kind does."""
NEEDS: Mapping[str, tuple[str, ...]] = {
    "effect": ("arm", "baseline", "published", "published_from"),
    "null": ("arm", "baseline", "margin", "margin_from"),
    "order": (),
    "structure": ("arm", "baseline", "published", "published_from", "controls"),
}
"""By kind, the keys that it cannot do without."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Statistic:
    """A figure of each run, or a correlation of two figures over runs."""

    measure: str = ""
    """Name of a figure."""
    minus: str = ""
    """A figure of the same run that is subtracted; empty: none."""
    log: bool = False
    """Whether it is the natural logarithm of the figure, so that differences are those of ratios."""
    undefined: float | None = None
    """What counts where a run failed or has no such figure; None: the seed leaves the comparison."""
    correlation: tuple[str, ...] = ()
    """Two figures that are correlated over the runs of an arm; none: it is no correlation."""
    within: tuple[str, ...] = ()
    """Settings within whose cells they are correlated."""
    method: Literal["Spearman", "Pearson"] = "Spearman"
    """The coefficient; Spearman's is of the ranks in each cell."""

    @property
    def name(self) -> str:
        """What tables call it."""
        if self.correlation:
            return f"{self.method}'s correlation of {' and '.join(self.correlation)}"
        name = f"{self.measure} - {self.minus}" if self.minus else self.measure
        return f"ln {name}" if self.log else name

    @property
    def figures(self) -> tuple[str, ...]:
        """The figures of a run that it reads."""
        return self.correlation or tuple(filter(None, (self.measure, self.minus)))


@dataclass(frozen=True, kw_only=True, slots=True)
class Sizes:
    """Sizes at which the same is asked, where the published one is not run."""

    setting: str
    """What is the size."""
    values: tuple[Any, ...]
    """The sizes, at least three."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Criterion:
    """A criterion; see `ecsuite.eval.claims.verdict` for what follows."""

    about: str = ""
    """What it asks, in a line."""
    kind: KindName
    """An effect, no effect, an order, or an effect on structure."""
    statistic: Statistic
    """What is compared."""
    arm: Arm | None = None
    """Which runs."""
    baseline: Arm | float | None = None
    """The runs whose mean is subtracted, or a number."""
    paired: bool = True
    """Whether runs with equal seeds are compared."""
    published: float | tuple[float, ...] | None = None
    """The published difference, with its sign; of an order the values of its arms, or the differences of its pairs."""
    published_from: str = ""
    """Where it is printed, or why this size counts where none is."""
    margin: Weight | None = None
    """Half the width of what counts as no effect."""
    margin_from: str = ""
    """Why."""
    order: tuple[Arm, ...] = ()
    """Arms, the one with the highest mean first."""
    pairs: tuple[tuple[Arm, Arm], ...] = ()
    """Pairs of arms, each with the higher one first."""
    controls: Mapping[str, Weight] | None = None
    """Figures by name, with how far the arm may be below the baseline."""
    sizes: Sizes | None = None
    """Sizes at which the same is asked."""
    runs: Literal["all", "success"] = "all"
    """Whether all runs count, or those that the paper's own rule counts."""

    @property
    def compared(self) -> list[tuple[Arm, Arm | float]]:
        """The pairs of arms that are compared."""
        if self.pairs:
            return list(self.pairs)
        if self.order:
            places = range(len(self.order))
            return [(self.order[high], self.order[low]) for high in places for low in places if high < low]
        assert self.arm is not None and self.baseline is not None
        return [(self.arm, self.baseline)]

    @property
    def published_differences(self) -> list[float] | None:
        """The published difference of each pair; None where none is stated."""
        if not isinstance(self.published, tuple):
            return None if self.published is None else [self.published]
        if not self.order:
            return list(self.published)
        places = range(len(self.order))
        return [self.published[high] - self.published[low] for high in places for low in places if high < low]

    @property
    def arms(self) -> list[Arm]:
        """All arms, each once, in the order in which they are named."""
        named = [arm for pair in self.compared for arm in pair if isinstance(arm, Mapping)]
        return list({repr(sorted(map(repr, arm.items()))): arm for arm in named}.values())


def read_criterion(tree: Any, source: str, *path: str) -> Criterion:
    """Read a criterion.

    Raises:
        ConfigError: If a key or a value is not valid, or its kind does not read it or needs another one.
    """
    place = at(source, *path)
    content = dict(mapping(tree, place))
    if content.get("kind", "") is None:  # as YAML reads the word
        content["kind"] = "null"
    read: dict[str, Any] = {}
    if "statistic" in content:
        read["statistic"] = read_section(Statistic, content.pop("statistic"), source, *path, "statistic")
    if content.get("sizes") is not None:
        read["sizes"] = read_section(Sizes, content.pop("sizes"), source, *path, "sizes")
    criterion = read_section(Criterion, content, source, *path, given=read)
    given = [each.name for each in fields(Criterion) if getattr(criterion, each.name) != each.default]
    written = {key: at(source, *path, key) for key in given}
    refuse_unread(f"kind: {criterion.kind}", [criterion.kind], written, READS)
    for key in NEEDS[criterion.kind]:
        if key not in given:
            raise ConfigError(f"{place}: kind: {criterion.kind}: expected the key {key}")
    _require_sense(criterion, place)
    return criterion


def _require_sense(criterion: Criterion, place: str) -> None:
    """Refuse what says nothing: no arms, an effect of 0, controls that are missing, a correlation of an order."""
    statistic = criterion.statistic
    if bool(statistic.measure) == bool(statistic.correlation) or len(statistic.correlation) not in (0, 2):
        raise ConfigError(f"{place}: statistic: expected a measure, or a correlation of two figures")
    if statistic.correlation and (criterion.kind not in ("effect", "null") or criterion.baseline != 0):
        raise ConfigError(f"{place}: a correlation is an effect or a null, with baseline: 0")
    if criterion.kind == "order":
        if (len(criterion.order) < 2) == (not criterion.pairs):
            raise ConfigError(f"{place}: expected an order of two arms or more, or pairs")
        number = len(criterion.order) or len(criterion.pairs)
        if criterion.published is not None and (
            not isinstance(criterion.published, tuple) or len(criterion.published) != number
        ):
            raise ConfigError(
                f"{place}: published: expected {number} numbers, got {shown(criterion.published)}"
            )
    elif isinstance(criterion.published, tuple) or criterion.published == 0:
        raise ConfigError(f"{place}: published: expected a number other than 0")
    if criterion.kind == "structure" and (
        criterion.controls is None or ACCURACY not in criterion.controls or len(criterion.controls) < 2
    ):
        raise ConfigError(f"{place}: controls: expected {ACCURACY} and the number of distinct messages")
    if criterion.sizes is not None and len(criterion.sizes.values) < FEWEST_SIZES:
        raise ConfigError(f"{place}: sizes: expected {FEWEST_SIZES} sizes or more")
