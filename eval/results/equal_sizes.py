"""Scores whose value depends on the number of messages, at one size: the larger corpus is drawn from.

A mean over draws of n rows (messages with their meanings) without replacement is a U-statistic of the corpus: Hoeffding
(1948), "A class of statistics with asymptotically normal distribution", Annals of Mathematical Statistics 19. For
smooth scores it varies over corpora as the score of all rows does, whose interval is therefore moved to the mean, and
widened by the error of so many draws.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ecsuite.corpus import SPEAKER, Corpus
from ecsuite.eval.metrics import METRIC_OF, load_metric, traits_of
from ecsuite.eval.metrics.by_speaker import by_speaker, speakers_of
from ecsuite.eval.metrics.score import Options
from ecsuite.eval.results.files import Messages
from ecsuite.eval.results.samples import Sample
from ecsuite.eval.statistics.counting import Ints, flat, has_attributes
from ecsuite.eval.statistics.differences import ALPHA, Interval
from ecsuite.eval.statistics.distributions import normal_quantile
from ecsuite.eval.statistics.resampling import few_draws
from ecsuite.runtime.errors import ConfigError, CorpusError

NUM_DRAWS = 50
"""Draws from the larger corpus."""
SEED = 0
"""Of the draws; the same rows are drawn for every score."""


@dataclass(frozen=True, kw_only=True)
class EqualSizes:
    """Scores of corpora at smaller sizes; each corpus is read once, and each metric computed once at a size."""

    progress: Callable[[str, float, float], None] = lambda *_: None
    """Called as `progress(label, done, total)` for the draws from one corpus."""
    corpora: dict[Messages, Corpus] = field(default_factory=dict)
    """Those that were read."""
    means: dict[tuple[Messages, str, int], Mapping[str, "Mean"]] = field(default_factory=dict)
    """By corpus, metric and size, the means by score."""

    def of_pair(self, first: Sample, second: Sample, metric: str) -> tuple[Sample, Sample, str]:
        """Two sources at the size of the smallest of their corpora, and how they got there.

        Args:
            first: A source.
            second: Another one.
            metric: Name of the score.

        Raises:
            ConfigError: If they can't be compared at one size, with the reason.
        """
        if len({*first.sizes, *second.sizes}) <= 1:
            return first, second, ""
        smallest = min(map(self._size, (*first.sizes, *second.sizes)))
        drawn = tuple(self._at(result, metric, smallest) for result in (first, second))
        return drawn[0], drawn[1], f" at {smallest:,} messages, {NUM_DRAWS} draws from larger corpora"

    @staticmethod
    def _size(text: str | None) -> int:
        if text is None:
            raise ConfigError("one has no number of messages in its signature: score it again")
        if not text.isdecimal():
            raise ConfigError(f"the sizes of a corpus differ by speaker ({text})")
        return int(text)

    def _at(self, result: Sample, metric: str, size: int) -> Sample:
        """A source with its scores at a size."""
        if all(self._size(text) == size for text in result.sizes):
            return result
        if traits_of(metric).trains:
            raise ConfigError(f"{metric} trains models on all messages: score corpora of one size")
        rows, interval = [], result.ci95
        for place, messages in enumerate(result.corpora):
            value = float(result.by_target[place][metric])
            if self._size(result.sizes[place]) > size:
                mean = self._mean(result, messages, metric, size, value)
                interval = None if interval is None else mean.moved(interval, value)
                value = mean.value
            rows.append({metric: value})
        return replace(result, by_target=tuple(rows), ci95=interval, sizes=(str(size),) * len(rows))

    def _mean(
        self, result: Sample, messages: Messages | None, metric: str, size: int, value: float
    ) -> "Mean":
        """The mean of a score over draws from a corpus."""
        corpus = self._corpus(result.name, messages)
        assert messages is not None
        parts = self._parts(corpus, metric)
        if any(map(is_exhaustive, map(corpus.take, parts))):
            raise ConfigError(
                f"{result.name} says each meaning of its world once, so its size is that of the world"
            )
        name = METRIC_OF[metric.partition(",")[0]] + "".join(metric.partition(",")[1:])
        key = messages, name, size
        if key not in self.means:
            whole = self._scores(corpus, name)
            if not math.isclose(whole.get(metric, math.nan), value, rel_tol=1e-9, abs_tol=1e-12):
                raise ConfigError(f"{result.name}: {messages.path} no longer is what was scored")
            draws = [self._draw(corpus, parts, name, size, draw) for draw in range(NUM_DRAWS)]
            self.means[key] = {score: Mean.of([draw.get(score) for draw in draws]) for score in whole}
        mean = self.means[key][metric]
        if math.isnan(mean.value):
            raise ConfigError(f"{metric} is undefined in draws of {size:,} messages from {result.name}")
        return mean

    @staticmethod
    def _parts(corpus: Corpus, metric: str) -> list[Ints]:
        """The rows of each speaker, where a metric scores each alone; else all rows."""
        speakers = speakers_of(corpus)
        if len(speakers) < 2 or traits_of(metric).is_of_all_speakers:
            return [np.arange(len(corpus.messages))]
        return [np.flatnonzero(corpus.has(SPEAKER, speaker)) for speaker in speakers]

    def _draw(
        self, corpus: Corpus, parts: Sequence[Ints], name: str, size: int, draw: int
    ) -> dict[str, float]:
        """The scores of rows that are drawn without replacement, of each part so many."""
        self.progress(f"{name} at {size:,} messages", draw, NUM_DRAWS)
        rng = np.random.default_rng([SEED, draw])
        rows = np.concatenate([rng.permutation(part)[:size] for part in parts])
        return self._scores(corpus.take(np.sort(rows)), name)

    @staticmethod
    def _scores(corpus: Corpus, name: str) -> dict[str, float]:
        with few_draws():
            scores = by_speaker(load_metric(name))(corpus, Options())
        return {score.name: float(score.value) for score in scores if score.value is not None}

    def _corpus(self, name: str, messages: Messages | None) -> Corpus:
        """The corpus of a source."""
        if messages is None or not (messages in self.corpora or messages.path.exists()):
            raise ConfigError(f"the corpus of {name} is not there, so it can't be drawn from")
        if messages not in self.corpora:
            try:
                self.corpora[messages] = messages.read()
            except (ConfigError, CorpusError) as error:
                raise ConfigError(f"the corpus of {name} can't be drawn from: {error}") from None
        return self.corpora[messages]


@dataclass(frozen=True, kw_only=True, slots=True)
class Mean:
    """A mean over draws."""

    value: float
    """The mean; NaN if a draw is undefined."""
    error: float
    """Its standard error, of so many draws."""

    @classmethod
    def of(cls, values: list[float | None]) -> "Mean":
        """The mean of the scores of draws, None where one is undefined."""
        scores = np.array([math.nan if value is None else value for value in values])
        return cls(value=float(scores.mean()), error=float(scores.std(ddof=1)) / math.sqrt(len(scores)))

    def moved(self, interval: Interval, value: float) -> Interval:
        """The interval of a value as that of the mean, wider by the error of the draws."""
        width = normal_quantile(1 - ALPHA / 2) * self.error
        below, above = (math.hypot(abs(bound - value), width) for bound in interval)
        return self.value - below, self.value + above


def is_exhaustive(corpus: Corpus) -> bool:
    """Whether a corpus has each combination of the values of its attributes, and each once."""
    if corpus.meanings is None or not has_attributes(corpus.meanings):
        return False
    values = flat(corpus.meanings)
    combinations = math.prod(len(np.unique(values[:, attribute])) for attribute in range(values.shape[1]))
    return bool(len(values) == combinations == len(np.unique(values, axis=0)))
