"""Metrics of the language while it is learnt: those of `evaluation.metrics`, at every evaluation.

They are of the most likely messages, or of the senders' own probabilities, for at most
`evaluation.metrics_corpus_size` meanings of the corpus, and have no chance level and no interval, whose draws would
take most of the time. Training does not depend on them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from types import SimpleNamespace
from typing import Any

from ecsuite.games.plays.play import Play
from ecsuite.games.sections import Experiment
from ecsuite.runtime.errors import ConfigError, PartError

PLACE = "ecsuite.eval.metrics"
"""The package of the metrics, which is above this one and imported when it is used."""
BY_SPEAKER = "ecsuite.eval.metrics.by_speaker"
"""What scores the speakers of a society one by one; imported when it is used."""
RESAMPLING = "ecsuite.eval.statistics.resampling"
"""Where their draws are made; imported when it is used, as it takes half a second."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LanguageScores:
    """Scores of the language at an evaluation."""

    values: Mapping[str, float | None] = field(default_factory=dict)
    """By name of the score; None where it is not defined."""
    reasons: Mapping[str, str] = field(default_factory=dict)
    """Why a score is not defined."""
    lower_is_better: tuple[str, ...] = ()
    """The scores of which a lower one is better, by the names of `figures`."""

    def entry(self) -> dict[str, Any]:
        """Their part of an entry of the log."""
        reasons = {"reasons": dict(self.reasons)} if self.reasons else {}
        return {"metrics": dict(self.values), **reasons} if self.values else {}

    def figures(self) -> dict[str, float | None]:
        """The scores by the names that they have among other figures, such as `metrics.topsim`."""
        return {f"metrics.{name}": value for name, value in self.values.items()}


def metrics_of(experiment: Experiment) -> dict[str, Any]:
    """The metrics of an experiment by their names.

    Raises:
        ConfigError: If there is no such metric, or it takes too long.
    """
    metrics: dict[str, Any] = {}
    for name in experiment.evaluation.metrics:
        try:
            metric = import_module(PLACE).load_metric(name)
            if import_module(PLACE).traits_of_metric(name).trains:
                raise ConfigError(f"{name} trains models: `ecsuite score` it afterwards")
            metrics[name] = import_module(BY_SPEAKER).by_speaker(metric)
        except PartError:
            raise
        except ConfigError as error:
            raise ConfigError(f"evaluation.metrics: {error}") from None
    return metrics


class LanguageMetrics:
    """The metrics of an experiment, for errors see `metrics_of`.

    Args:
        experiment: Names the metrics.
    """

    def __init__(self, experiment: Experiment) -> None:
        self.metrics = metrics_of(experiment)
        size = min(experiment.evaluation.corpus_size, experiment.evaluation.metrics_corpus_size)
        self.evaluation = replace(experiment.evaluation, mode="greedy", corpus_size=size)
        self.experiment = replace(experiment, evaluation=self.evaluation)

    def __call__(self, play: Play) -> LanguageScores:
        """Score the messages of the agents of a play.

        Raises:
            PartError: If a metric of a user's own returns something that is no score.
        """
        if not self.metrics:
            return LanguageScores()
        corpus = play.corpus(self.evaluation)
        options, traits_of = (
            import_module(f"{PLACE}.score").Options(run=self._asked(play)),
            import_module(PLACE).traits_of,
        )
        with import_module(RESAMPLING).few_draws():
            scores = [score for metric in self.metrics.values() for score in metric(corpus, options)]
        return LanguageScores(
            values={score.name: None if score.value is None else float(score.value) for score in scores},
            reasons={score.name: score.reason for score in scores if score.reason is not None},
            lower_is_better=tuple(
                f"metrics.{score.name}" for score in scores if traits_of(score).direction == "lower"
            ),
        )

    def _asked(self, play: Play) -> Any:
        """What metrics ask that ask the agents of a run; None: there are no senders."""
        players = getattr(play, "players", None)
        is_asked = players is not None and any(
            each.asks_agents for metric in self.metrics.values() for each in metric.traits
        )
        return (
            SimpleNamespace(players=players, experiment=self.experiment, has_agents=True)
            if is_asked
            else None
        )
