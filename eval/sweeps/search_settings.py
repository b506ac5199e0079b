"""The key `search` of a study: which settings are searched, for which figure, and how."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

from ecsuite.eval.metrics import METRIC_OF, find_metric
from ecsuite.eval.sweeps.grids import Range, Settings, Values, at, read_values
from ecsuite.games.directions import DIRECTIONS
from ecsuite.games.sections import METRICS, Experiment
from ecsuite.parts.config import Count, Seed, build
from ecsuite.runtime.errors import ConfigError, unknown_name

MEASURES = (*DIRECTIONS, "length", "steps")
"""Figures of a training that may be searched for, besides scores."""
MAX_CORNERS = 2_000
"""Most combinations of choices and bounds that are checked before the first trial."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Header:
    """The keys of `search`."""

    over: Any
    """Ranges and choices by `section.key`."""
    trials: Count
    """How many combinations of settings are tried, each with every seed."""
    maximise: str = ""
    """A score or a measure of training, the higher the better: its mean over seeds."""
    minimise: str = ""
    """The same, the lower the better."""
    method: Literal["tpe", "random"] = "tpe"
    """tpe: Optuna's tree-structured Parzen estimator; random: draws that ignore what came out."""
    prune: Literal["none", "median"] = "none"
    """median: end a run that is worse than the median of the runs of earlier trials."""
    at_once: Count = 4
    """Trials that are under way at the same time, wherever they are computed."""
    seed: Seed = 0
    """Seed of the method."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchSettings:
    """A search."""

    over: Mapping[str, Values]
    """Ranges and choices by `section.key`."""
    objective: str
    """The figure that is searched for."""
    is_maximised: bool
    """Whether higher is better."""
    header: Header
    """The other keys."""

    @property
    def trials(self) -> int:
        """Number of trials."""
        return self.header.trials

    @property
    def is_measure(self) -> bool:
        """Whether the figure is one of the training, not a score."""
        return self.objective in MEASURES

    @property
    def intermediate(self) -> str:
        """The name of the figure in the log of a training."""
        return f"valid.{self.objective}" if self.is_measure else f"metrics.{self.objective}"

    def corners(self) -> list[Settings]:
        """The combinations of all choices with all lower bounds, and with all upper ones; the first ones of many."""
        choices = {key: values for key, values in self.over.items() if isinstance(values, list)}
        ranges = {key: values.ends() for key, values in self.over.items() if isinstance(values, Range)}
        ends = [{key: pair[which] for key, pair in ranges.items()} for which in ((0, 1) if ranges else (0,))]
        found: list[Settings] = []
        for chosen in product(*choices.values()):
            found += [{**dict(zip(choices, chosen, strict=True)), **end} for end in ends]
            if len(found) >= MAX_CORNERS:
                break
        return found

    def with_objective(self, metrics: Sequence[str], source: str) -> tuple[str, ...]:
        """The metrics of the study, with the one of the figure that is searched for.

        Raises:
            ConfigError: If no metric has such a score.
        """
        names = [name.partition(",")[0].rpartition(":")[2] for name in metrics]
        if self.is_measure or self.objective in names:
            return tuple(metrics)
        try:
            find_metric(self.objective)
        except ConfigError:
            if self.objective in METRIC_OF:
                return tuple(metrics)  # of a metric with several scores, which `score` names
            place = at(source, "search", "maximise" if self.is_maximised else "minimise")
            raise unknown_name(f"figure in {place}", self.objective, [*MEASURES, *METRIC_OF]) from None
        return (*metrics, self.objective)

    def require_intermediate(self, experiment: Experiment, source: str) -> None:
        """Check that the figure is measured while a game is trained, if runs are to be ended by it.

        Raises:
            ConfigError: If it is not.
        """
        measured = experiment.evaluation.metrics
        if self.header.prune != "none" and not self.is_measure and self.objective not in measured:
            raise ConfigError(
                f"{at(source, 'search', 'prune')}: {self.objective} is not measured during training; "
                f"set: {{{METRICS}: [{self.objective}]}} measures it"
            )


def read_search(tree: Any, source: str) -> SearchSettings:
    """The key `search` of a study.

    Raises:
        ConfigError: If a key or a value is not valid.
    """
    place = at(source, "search")
    if not isinstance(tree, Mapping):
        raise ConfigError(f"{place}: expected keys such as over, trials and maximise, got {tree}")
    if tree.get("method") == "grid":
        raise ConfigError(f"{at(source, 'search', 'method')}: a grid is the key `vary`, without search")
    missing = [key for key in ("over", "trials") if key not in tree]
    if missing:
        raise ConfigError(
            f"{place}: {missing[0]}: expected, such as over: {{optimizer.lr: [1e-4, 1e-2, log]}}"
        )
    header: Header = build(Header, tree, place)
    if bool(header.maximise) == bool(header.minimise):
        raise ConfigError(f"{place}: expected one of maximise and minimise, such as maximise: topsim")
    where = at(source, "search", "over")
    over = read_values(header.over, where)
    if not over:
        raise ConfigError(f"{where}: expected at least one setting, such as optimizer.lr: [1e-4, 1e-2, log]")
    for key, values in over.items():
        if isinstance(values, list) and len(values) < 2:
            raise ConfigError(
                f"{where}: {key}: expected a range or several values, got one; a fixed value belongs in set"
            )
    return SearchSettings(
        over=over,
        objective=header.maximise or header.minimise,
        is_maximised=bool(header.maximise),
        header=header,
    )
