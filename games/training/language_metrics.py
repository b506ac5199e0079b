"""Metrics of the language during training: `evaluation.metrics`, at every evaluation."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ecsuite.corpus import Corpus
from ecsuite.games.config.sections import Experiment
from ecsuite.games.plays.play import Play, players_of
from ecsuite.games.plays.population import Population
from ecsuite.runtime.errors import ConfigError, PartError

if TYPE_CHECKING:
    from ecsuite.games.runs.run import Run

PLACE = "ecsuite.eval.metrics"
"""Package of the metrics; it is a higher layer, so it is imported on use."""
BY_SPEAKER = "ecsuite.eval.metrics.computing"
"""Module that scores each speaker of a society; imported on use."""
RESAMPLING = "ecsuite.eval.statistics.resampling"
"""Module of the resampling draws; imported on use, as it takes half a second."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LanguageScores:
    """Scores of the language at an evaluation."""

    values: Mapping[str, float | None] = field(default_factory=dict)
    """Values by name of the score; None: undefined."""
    reasons: Mapping[str, str] = field(default_factory=dict)
    """Reasons of undefined scores, by name."""
    lower_is_better: tuple[str, ...] = ()
    """Scores for which lower is better, by their names in `figures`."""

    def entry(self) -> dict[str, Any]:
        """Keys and values for an entry of the log."""
        reasons = {"reasons": dict(self.reasons)} if self.reasons else {}
        return {"metrics": dict(self.values), **reasons} if self.values else {}

    def figures(self) -> dict[str, float | None]:
        """Scores by their names among all figures, such as `metrics.topsim`."""
        return {f"metrics.{name}": value for name, value in self.values.items()}


def metrics_of(experiment: Experiment) -> dict[str, Any]:
    """Metrics of an experiment, by name.

    Raises:
        ConfigError: If there is no such metric, or it trains models.
    """
    metrics: dict[str, Any] = {}
    for name in experiment.evaluation.metrics:
        try:
            metric = import_module(PLACE).find_metric(name)
            if metric.shared.trains:
                raise ConfigError(f"{name} trains models: `ecsuite score` it afterwards")
            metrics[name] = metric
        except PartError:
            raise
        except ConfigError as error:
            raise ConfigError(f"evaluation.metrics: {error}") from None
    return metrics


class LanguageMetrics:
    """Scores the language of a play by the metrics of an experiment; for errors see `metrics_of`.

    Args:
        experiment: Names the metrics.
    """

    def __init__(self, experiment: Experiment) -> None:
        self.metrics = metrics_of(experiment)
        size = min(experiment.evaluation.corpus_size, experiment.evaluation.metrics_corpus_size)
        self.evaluation = replace(experiment.evaluation, mode="greedy", corpus_size=size)
        self.experiment = experiment
        self.asking = [name for name, metric in self.metrics.items() if metric.shared.needs_agents]
        self.asks = bool(self.asking) or any(
            traits.asks_agents for metric in self.metrics.values() for traits in metric.traits
        )
        self.copy: Population | None = None

    def __call__(self, play: Play) -> LanguageScores:
        """Score the messages of a play, and its agents.

        Raises:
            ConfigError: If a metric needs senders and receivers, and the play has none.
            PartError: If a metric of a user's own returns something that is no score.
        """
        if not self.metrics:
            return LanguageScores()
        corpus = play.corpus(self.evaluation)
        run = self._run(play, corpus) if self.asks else None
        options, traits_of = import_module(f"{PLACE}.score").Options(run=run), import_module(PLACE).traits_of
        by_speaker = import_module(BY_SPEAKER).by_speaker
        with import_module(RESAMPLING).few_draws():
            scores = [
                score
                for name, metric in self.metrics.items()
                for score in (
                    metric(run, options) if name in self.asking else by_speaker(metric, corpus, options)
                )
            ]
        return LanguageScores(
            values={score.name: None if score.value is None else float(score.value) for score in scores},
            reasons={score.name: score.reason for score in scores if score.reason is not None},
            lower_is_better=tuple(
                f"metrics.{score.name}" for score in scores if traits_of(score).direction == "lower"
            ),
        )

    def _run(self, play: Play, corpus: Corpus) -> "Run | None":
        """Run with a copy of the agents, on the CPU and in fp32, so that the state of the training does not change.

        None if the play has no senders and receivers, and no metric requires them.
        """
        players = play.players
        if players is None:
            if self.asking:
                raise ConfigError(
                    f"evaluation.metrics: {self.asking[0]} asks senders and receivers, and play "
                    f"{self.experiment.play.kind} has none: expected metrics of a corpus, such as topsim"
                )
            return None
        self.copy = self.copy or players_of(self.experiment, players.world).eval()
        self.copy.load_state_dict(players.state_dict())
        experiment = replace(self.experiment, evaluation=self.evaluation)
        run: Run = import_module("ecsuite.games.runs.run").Run(Path(self.experiment.name), experiment)
        vars(run).update(players=self.copy, corpus=corpus)  # instead of reading them from the folder
        return run
