"""Comparison at equal sizes: scores that depend on the number of messages are computed on subsamples of larger corpora.

A mean over subsamples of n rows (messages with their meanings) without replacement is a U-statistic of the corpus:
Hoeffding (1948), "A class of statistics with asymptotically normal distribution", Annals of Mathematical Statistics 19.
For smooth scores it varies over corpora as the score of all rows does, so the score's interval is moved to the mean,
and widened by the error from the number of subsamples.

Subsamples also have the number of meanings of the smallest corpora. Otherwise copies of messages would change a score:
n of ten copies of n messages are of about 0.65 n meanings, and plug-in estimates of fewer meanings are higher.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.corpus import SPEAKER, Corpus
from ecsuite.eval.counts.counting import flat, has_attributes, meaning_labels
from ecsuite.eval.metrics import METRIC_OF, find_metric, traits_of
from ecsuite.eval.metrics.computing import by_speaker, speakers_of
from ecsuite.eval.metrics.score import Options
from ecsuite.eval.results.files import Messages
from ecsuite.eval.results.samples import Estimate, Sample
from ecsuite.eval.statistics.contingency import Ints
from ecsuite.eval.statistics.estimates import ALPHA, Interval, cut, normal_quantile
from ecsuite.eval.statistics.resampling import few_draws
from ecsuite.runtime.errors import ConfigError, CorpusError

NUM_DRAWS = 50
"""Number of subsamples of a larger corpus."""
SEED = 0
"""Seed of the subsamples; all scores use the same rows."""


@dataclass(frozen=True, kw_only=True)
class EqualSizes:
    """Scores at a smaller number of messages; each corpus is read once, and each metric computed once per size."""

    may_draw: bool = True
    """Whether corpora may be read; otherwise scores of unequal sizes are not comparable."""
    progress: Callable[[str, float, float], None] = lambda *_: None
    """Called as `progress(label, done, total)` for the subsamples of a corpus."""
    corpora: dict[Messages, Corpus] = field(default_factory=dict)
    """Cache of loaded corpora."""
    means: dict[tuple[Messages, str, int, int | None], Mapping[str, Estimate]] = field(default_factory=dict)
    """Cache of the means of all scores by corpus, metric, size and number of meanings."""

    def at_one_size(self, samples: Sequence[Sample], metric: str) -> tuple[list[Sample], dict[str, str]]:
        """Samples at the size of the smallest of their corpora.

        Args:
            samples: Samples of one score.
            metric: Name of the score.

        Returns:
            The samples in the same order, and the reasons, by name, why samples stay at their own size.

        Raises:
            ConfigError: If corpora may not be read.
        """
        if traits_of(metric).question == "sizes":  # a subsample would only have the smaller size
            return list(samples), {}
        if not self.may_draw:
            raise ConfigError(
                "the corpora are of different sizes: `ecsuite compare` compares them at one size"
            )
        drawn, reasons = [], {}
        known = {sample.name: sizes for sample in samples if (sizes := self._known_sizes(sample))}
        smallest = min(map(min, known.values()), default=0)
        least = next((name for name, sizes in known.items() if smallest in sizes), "")
        num_meanings = self._num_meanings(samples, metric, smallest)
        for sample in samples:
            try:
                drawn.append(self._at(sample, metric, smallest, num_meanings))
            except ConfigError as error:
                drawn.append(sample)
                own = f"{sample.name} has {max(known[sample.name]):,}, " if sample.name in known else ""
                reasons[sample.name] = (
                    f"scores depend on the number of messages ({own}{least} {smallest:,}), and {sample.name} "
                    f"cannot be subsampled: {error}"
                )
        return drawn, reasons

    @staticmethod
    def _known_sizes(sample: Sample) -> list[int]:
        return [int(text) for text in sample.sizes if text is not None and text.isdecimal()]

    @staticmethod
    def _size(text: str | None) -> int:
        if text is None:
            raise ConfigError("its signature has no number of messages: score it again")
        if not text.isdecimal():
            raise ConfigError(f"its sizes differ ({text})")
        return int(text)

    def _num_meanings(self, samples: Sequence[Sample], metric: str, size: int) -> int | None:
        """Mean number of meanings of a speaker in the corpora of a size; None if it is unknown."""
        found = list[int]()
        for sample in samples:
            for own, messages in zip(sample.sizes, sample.corpora, strict=False):
                with suppress(ConfigError):  # a corpus that is missing
                    corpus = self._corpus(sample.name, messages) if own == str(size) else None
                    labels = None if corpus is None else meaning_labels(corpus)
                    if corpus is not None and labels is not None:
                        found += [len(np.unique(labels[part])) for part in self._parts(corpus, metric)]
        return round(sum(found) / len(found)) if found else None

    def _at(self, result: Sample, metric: str, size: int, num_meanings: int | None) -> Sample:
        if all(self._size(text) == size for text in result.sizes):
            return result
        if traits_of(metric).trains:
            raise ConfigError(f"{metric} trains models on all messages: score corpora of one size")
        rows, interval = [], result.ci95
        for place, messages in enumerate(result.corpora):
            value = float(result.by_target[place][metric])
            if self._size(result.sizes[place]) > size:
                mean = self._mean(result, messages, metric, size, num_meanings, value)
                interval = None if interval is None else moved(interval, value, mean, result.limits)
                assert mean.mean is not None
                value = mean.mean
            rows.append({metric: value})
        return replace(result, by_target=tuple(rows), ci95=interval, sizes=(str(size),) * len(rows))

    def _mean(
        self,
        result: Sample,
        messages: Messages | None,
        metric: str,
        size: int,
        num_meanings: int | None,
        value: float,
    ) -> Estimate:
        corpus = self._corpus(result.name, messages)
        assert messages is not None
        parts = self._parts(corpus, metric)
        if any(map(is_exhaustive, map(corpus.take, parts))):
            raise ConfigError("it has each meaning of its world once")
        name = METRIC_OF[metric.partition(",")[0]] + "".join(metric.partition(",")[1:])
        key = messages, name, size, num_meanings
        if key not in self.means:
            whole = self._scores(corpus, name)
            if not math.isclose(whole.get(metric, math.nan), value, rel_tol=1e-9, abs_tol=1e-12):
                raise ConfigError(f"{result.name}: {messages.path} has changed since it was scored")
            draws = [self._draw(corpus, parts, name, size, num_meanings, draw) for draw in range(NUM_DRAWS)]
            self.means[key] = {score: mean_of([draw.get(score) for draw in draws]) for score in whole}
        mean = self.means[key][metric]
        if mean.mean is None:
            raise ConfigError(f"{metric} is undefined in draws of {size:,} messages from {result.name}")
        return mean

    @staticmethod
    def _parts(corpus: Corpus, metric: str) -> list[Ints]:
        """Rows of each speaker, if a metric scores each alone; otherwise all rows."""
        speakers = speakers_of(corpus)
        if len(speakers) < 2 or traits_of(metric).is_of_all_speakers:
            return [np.arange(len(corpus.messages))]
        return [np.flatnonzero(corpus.has(SPEAKER, speaker)) for speaker in speakers]

    def _draw(
        self,
        corpus: Corpus,
        parts: Sequence[Ints],
        name: str,
        size: int,
        num_meanings: int | None,
        draw: int,
    ) -> dict[str, float]:
        """Scores of rows that are drawn without replacement, `size` rows per part, of `num_meanings` if possible."""
        self.progress(f"{name} at {size:,} messages", draw, NUM_DRAWS)
        rng = np.random.default_rng([SEED, draw])
        orders, labels = [rng.permutation(part) for part in parts], meaning_labels(corpus)
        if labels is not None and num_meanings is not None:
            orders = [order[of_some_meanings(labels[order], num_meanings)] for order in orders]
        rows = np.concatenate([order[:size] for order in orders])
        return self._scores(corpus.take(np.sort(rows)), name)

    @staticmethod
    def _scores(corpus: Corpus, name: str) -> dict[str, float]:
        with few_draws():
            scores = by_speaker(find_metric(name), corpus, Options())
        return {score.name: float(score.value) for score in scores if score.value is not None}

    def _corpus(self, name: str, messages: Messages | None) -> Corpus:
        if messages is None or not (messages in self.corpora or messages.path.exists()):
            raise ConfigError(f"the corpus of {name} is missing, so it can't be subsampled")
        if messages not in self.corpora:
            try:
                self.corpora[messages] = messages.read()
            except (ConfigError, CorpusError) as error:
                raise ConfigError(f"the corpus of {name} can't be subsampled: {error}") from None
        return self.corpora[messages]


def of_some_meanings(labels: NDArray[np.integer[Any]], number: int) -> Ints:
    """Order of rows: one of each of the first `number` meanings, then their other rows, then the rows of all others.

    Args:
        labels: Meaning of each row, in a random order of the rows, (num_rows,).
        number: Number of meanings.
    """
    _, first, of_row = np.unique(labels, return_index=True, return_inverse=True)
    place = np.argsort(np.argsort(first))[of_row]  # of the meaning of each row, in order of first occurrence
    is_later = np.arange(len(labels)) != first[of_row]
    return np.argsort(np.where(place < number, is_later, 2), kind="stable")


def mean_of(values: Sequence[float | None]) -> Estimate:
    """Mean of the scores of subsamples with its interval; undefined if one of them is."""
    scores = np.array([math.nan if value is None else value for value in values])
    mean, error = float(scores.mean()), float(scores.std(ddof=1)) / math.sqrt(len(scores))
    if math.isnan(mean):
        return Estimate(mean=None)
    half_width = normal_quantile(1 - ALPHA / 2) * error
    return Estimate(mean=mean, half_width=half_width)


def moved(interval: Interval, value: float, mean: Estimate, limits: Interval | None) -> Interval:
    """Interval of a value, moved to the mean over subsamples, widened by its error and cut at the possible values.

    An end that was cut at the possible values is as far from the value as the other end.
    """
    assert mean.mean is not None and mean.half_width is not None
    widths = [abs(end - value) for end in interval]
    if limits is not None:
        widths = [
            max(widths) if end == limit else width
            for width, end, limit in zip(widths, interval, limits, strict=True)
        ]
    below, above = (math.hypot(width, mean.half_width) for width in widths)
    return cut((mean.mean - below, mean.mean + above), limits)


def is_exhaustive(corpus: Corpus) -> bool:
    """Whether a corpus has every combination of its attribute values exactly once."""
    if corpus.meanings is None or not has_attributes(corpus.meanings):
        return False
    values = flat(corpus.meanings)
    combinations = math.prod(len(np.unique(values[:, attribute])) for attribute in range(values.shape[1]))
    return bool(len(values) == combinations == len(np.unique(values, axis=0)))
