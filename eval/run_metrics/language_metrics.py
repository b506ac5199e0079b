"""Metrics of the language during training: `evaluation.metrics`, at every evaluation."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics import find_metric, traits_of
from ecsuite.games.config.sections import Experiment
from ecsuite.games.plays.play import Play, players_of
from ecsuite.games.plays.population import Population
from ecsuite.games.runs.run import Run
from ecsuite.games.training.trainer import LanguageScores
from ecsuite.runtime.errors import ConfigError, PartError

if TYPE_CHECKING:
    from ecsuite.eval.metrics.traits import Metric


class LanguageMetrics:
    """Score the language of a play by the metrics of an experiment; the `scorer` of `ecsuite.games.training.train`.

    Args:
        experiment: Experiment with the names of the metrics.

    Raises:
        ConfigError: If there is no such metric, or it trains models.
    """

    def __init__(self, experiment: Experiment) -> None:
        self.metrics: dict[str, Metric] = {}
        for name in experiment.evaluation.metrics:
            try:
                metric = find_metric(name)
                if metric.shared.trains:
                    raise ConfigError(
                        f"{name} trains models: compute it after the training with `ecsuite score`"
                    )
                self.metrics[name] = metric
            except PartError:
                raise
            except ConfigError as error:
                raise ConfigError(f"evaluation.metrics: {error}") from None
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
            PartError: If a user's own metric does not return scores.
        """
        # Imported on use: statistics take half a second, which a run without metrics does not need.
        from ecsuite.eval.metrics.computing import by_speaker
        from ecsuite.eval.metrics.score import Options
        from ecsuite.eval.statistics.resampling import few_draws

        corpus = play.corpus(self.evaluation)
        run = self._run(play, corpus) if self.asks else None
        options = Options(run=run)
        with few_draws():
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

    def _run(self, play: Play, corpus: Corpus) -> Run | None:
        """Run with a copy of the agents, on the CPU and in fp32, so that the state of the training does not change.

        None if the play has no senders and receivers, and no metric requires them.
        """
        players = play.players
        if players is None:
            if self.asking:
                raise ConfigError(
                    f"evaluation.metrics: {self.asking[0]} needs senders and receivers, which play "
                    f"{self.experiment.play.kind} does not have: expected metrics of a corpus, such as topsim"
                )
            return None
        self.copy = self.copy or players_of(self.experiment, players.world).eval()
        self.copy.load_state_dict(players.state_dict())
        run = Run(Path(self.experiment.name), replace(self.experiment, evaluation=self.evaluation))
        vars(run).update(players=self.copy, corpus=corpus)  # instead of reading them from the folder
        return run
