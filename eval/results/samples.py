"""Samples: the values of one score over the seeds of a source, gathered from the records of sources."""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import combinations
from pathlib import Path
from textwrap import shorten
from typing import Any

import numpy as np

from ecsuite.eval.metrics import METRIC_OF, bound_of, range_of, table_order, traits_of
from ecsuite.eval.metrics.conclusions import are_read_alike, passes_of
from ecsuite.eval.metrics.score import Score, Signature
from ecsuite.eval.results.files import FILES, XFERBENCH, Messages, name_by_folders, name_of_file, plain
from ecsuite.eval.results.sources import MOST_SETTINGS, Source
from ecsuite.eval.statistics.contingency import Floats
from ecsuite.eval.statistics.estimates import (
    ALPHA,
    NO_SPREAD,
    Bound,
    Interval,
    cut,
    joint_bound,
    mean_and_half_width,
    normal_quantile,
    share_interval,
    student_quantile,
)
from ecsuite.runtime.errors import ConfigError, shown
from ecsuite.tables.cells import value_text

UNSIGNED = "unsigned (another program)"
"""Signature of results without one, whose settings are unknown."""
OF_A_SOURCE = ("seed", "seeds", "passes", "n", "pairs", "objects")
"""Parts of a signature in which sources of one table may differ. Different passes allow no conclusion on a pair; larger
corpora are subsampled to equal numbers of messages (`equal_sizes`); the number of pairs or objects drawn from a large
corpus changes the precision of a score, not what it estimates."""
EQUAL_SIZES = (
    "compare corpora with equal numbers of symbols (games: evaluation.corpus_size, grammars: --num-symbols)"
)
"""Advice on unequal passes."""
BASELINE_NAMES = ("nothing", "no_pretrain", "no_pretraining", "dev_null")
"""Names of the baseline without a corpus: a model without pretraining."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """Values of one score: of a corpus, or over the seeds of a game.

    Raises:
        ConfigError: If there is no seed or no target, targets differ between seeds, or a number is not finite.
    """

    name: str
    """The source's name in tables."""
    by_target: tuple[Mapping[str, float], ...]
    """Values by target, for each seed. XferBench: cross-entropies in nats per token by target language; any other
    metric has itself as the only target."""
    seeds: tuple[int, ...]
    """Seeds of XferBench or of the training of a game, in the order of `by_target`."""
    signature: str
    """Signature of the score without the parts of `OF_A_SOURCE`: samples with equal signatures are comparable."""
    source: str = ""
    """Path of the scored corpus, otherwise the name in the file, otherwise the file."""
    fingerprint: str = ""
    """Identity of the source, if known: the hash of the corpus, or the settings of the game without the seed."""
    ci95: Interval | None = None
    """The interval of the score, if there is one seed and the metric has an interval."""
    sizes: tuple[str | None, ...] = ()
    """Number of messages in the signature, for each seed; None if the score does not depend on it."""
    corpora: tuple[Messages | None, ...] = ()
    """Messages of each seed; None if their path is unknown."""
    passes: float | None = None
    """Passes over the corpus per epoch of pretraining, for XferBench, at least 1; None if unknown."""
    is_run: bool = False
    """Whether it comes from runs of a game, or parts of them, which can be trained with other seeds."""
    blocks: tuple[str, ...] = ()
    """Values of the settings averaged over, for each seed; empty: no setting is averaged over."""
    runs: tuple[Source, ...] = ()
    """Run of each seed; empty: unknown."""
    bounds: tuple[Bound | None, ...] = ()
    """Whether the value of each seed is a bound of the true value (`bound_of`); empty: none is."""

    def __post_init__(self) -> None:
        """Validate seeds, targets and values."""
        first = self.by_target[0] if self.by_target else {}
        if not first or len(self.by_target) != len(self.seeds):
            raise ConfigError(f"{self.name}: expected at least one seed and one target, and a score for each")
        for seed, values in zip(self.seeds, self.by_target, strict=True):
            if values.keys() != first.keys():
                require_same_targets(first, values, f"{self.name}, seed {seed}", f"seed {self.seeds[0]}")
            for target, value in values.items():
                if not math.isfinite(value):
                    raise ConfigError(f"{self.name}: {value} is not a score ({target}, seed {seed})")

    @property
    def targets(self) -> tuple[str, ...]:
        """The target languages."""
        return tuple(self.by_target[0]) if self.by_target else ()

    def values(self, targets: Sequence[str] | None = None) -> Floats:
        """The values in the order of `targets`, shape (num_seeds, num_targets)."""
        chosen = targets or self.by_target[0]
        return np.array([[row[target] for target in chosen] for row in self.by_target])

    @property
    def seed_scores(self) -> Floats:
        """The score of each seed: means over the targets."""
        scores: Floats = self.values().mean(1)
        return scores

    @property
    def deviation(self) -> float | None:
        """Standard deviation of the score over the seeds; None for one seed, and over combinations of settings."""
        has_seeds = len(self.seeds) > 1 and len(set(self.blocks)) < 2
        return float(self.seed_scores.std(ddof=1)) if has_seeds else None

    @property
    def cells(self) -> dict[str, Floats]:
        """Scores of the seeds by block: combinations of the settings that are averaged over."""
        return _cells(self.seed_scores.tolist(), self.blocks)

    def within(self, blocks: Collection[str]) -> "Sample":
        """Values of some of the blocks, at least one of which the sample has."""
        indices = [index for index, block in enumerate(self.blocks) if block in blocks]
        if len(indices) == len(self.seeds):
            return self

        def chosen(values: tuple[Any, ...]) -> tuple[Any, ...]:
            return tuple(values[index] for index in indices) if values else ()

        return replace(
            self,
            by_target=chosen(self.by_target),
            seeds=chosen(self.seeds),
            sizes=chosen(self.sizes),
            corpora=chosen(self.corpora),
            blocks=chosen(self.blocks),
            runs=chosen(self.runs),
            bounds=chosen(self.bounds),
        )

    @property
    def bound(self) -> Bound | None:
        """Whether the score is a bound of the true score, because some of its values are bounds."""
        return joint_bound(self.bounds)

    @property
    def score(self) -> float:
        """The score: the mean over targets and seeds, with equal weight for each combination of averaged settings."""
        if len(set(self.blocks)) > 1:
            return float(np.mean([values.mean() for values in self.cells.values()]))
        return float(self.values().mean())

    @property
    def limits(self) -> Interval | None:
        """Least and greatest possible value of the score, see `limits_of_values`."""
        return limits_of_values(self.targets[0], self.values()) if len(self.targets) == 1 else None

    @property
    def estimate(self) -> "Estimate":
        """The score with its 95 % interval over seeds; equal values have none, as they do not show the spread."""
        found = estimate_of(self.seed_scores.tolist(), self.limits, self.blocks)
        return replace(found, mean=self.score, bound=self.bound)

    @property
    def interval(self) -> Interval | None:
        """The 95 % interval of `score`: over seeds or, of a single corpus, its own."""
        return self.ci95 if len(self.seeds) == 1 else self.estimate.ci95

    @property
    def is_baseline(self) -> bool:
        """Whether the name is a name of the model without pretraining."""
        return plain(self.name) in BASELINE_NAMES

    def to_json(self) -> dict[str, Any]:
        """The sample as JSON-ready data."""
        return {
            "name": self.name,
            "score": self.score,
            "seeds": list(self.seeds),
            "seed_scores": self.seed_scores.tolist(),
            "sizes": list(self.sizes),
            "source": self.source,
            "ci95": None if (found := self.interval) is None else list(found),
            **({"bounds": list(self.bounds)} if any(self.bounds) else {}),
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class Estimate:
    """A mean over seeds or draws with its 95 % interval."""

    mean: float | None
    """The mean; None if it is undefined."""
    half_width: float | None = None
    """Half the width of its interval; None for one value, or equal values."""
    values: tuple[float, ...] = ()
    """The values, such as one per seed, at the size of the comparison."""
    num_blocks: int = 0
    """Number of combinations of other settings over whose means the interval is, see `is_over_blocks`; 0: it is over
    the values."""
    is_best: bool = False
    """Whether it is the best of a column, or no test distinguishes it from the best, see `ComparedScore.best`."""
    sd: float | None = None
    """Standard deviation over seeds, if both of its parts are requested."""
    within_sd: float | None = None
    """Part of the standard deviation that is noise within a corpus: the root mean square of the errors of single
    scores, from their intervals; None without intervals."""
    bound: Bound | None = None
    """Whether the true mean is at least (lower) or at most (upper) this mean, as values are censored; None if not."""
    limits: Interval | None = None
    """Least and greatest possible value; None: unlimited."""

    @property
    def num_values(self) -> int:
        """Number of values."""
        return len(self.values)

    @property
    def ci95(self) -> Interval | None:
        """The interval, cut at `limits`; None without `half_width`."""
        if self.mean is None or self.half_width is None:
            return None
        return cut((self.mean - self.half_width, self.mean + self.half_width), self.limits)

    @property
    def between_sd(self) -> float | None:
        """Part of the standard deviation that is between trainings, at least 0."""
        if self.sd is None or self.within_sd is None:
            return None
        return math.sqrt(max(0.0, self.sd**2 - self.within_sd**2))


def _cells(values: Sequence[float], blocks: Sequence[str]) -> dict[str, Floats]:
    """Values by block; all in one without blocks."""
    cells: dict[str, list[float]] = {}
    for block, value in zip(blocks or ("",) * len(values), values, strict=True):
        cells.setdefault(block, []).append(value)
    return {block: np.array(own) for block, own in cells.items()}


def is_over_blocks(blocks: Sequence[str]) -> bool:
    """Whether an interval is over the means of blocks, as a block with one run has no spread over seeds."""
    counts = Counter(blocks)
    return len(counts) > 1 and min(counts.values()) == 1


def estimate_of(values: Sequence[float], limits: Interval | None, blocks: Sequence[str] = ()) -> Estimate:
    """Mean of the values of some seeds with its 95 % interval; equal values have none.

    Args:
        values: One per seed.
        limits: Least and greatest possible value; None: unlimited.
        blocks: Combination of other settings of each value; all combinations have equal weight; empty: one.
    """
    cells = list(_cells(values, blocks).values())
    is_over = is_over_blocks(blocks)
    if len(cells) == 1 or is_over:
        parts = cells[0].tolist() if len(cells) == 1 else [float(cell.mean()) for cell in cells]
        mean, half_width = mean_and_half_width(parts)
    else:
        error, freedom = pooled_error([cells])
        mean = float(np.mean([cell.mean() for cell in cells]))
        half_width = student_quantile(1 - ALPHA / 2, freedom) * error
    return Estimate(
        mean=mean,
        half_width=None if half_width is None or half_width < NO_SPREAD else half_width,
        values=tuple(values),
        num_blocks=len(cells) if is_over else 0,
        limits=limits,
    )


def limits_of_values(name: str, values: Floats) -> Interval | None:
    """Least and greatest possible value of a score or measure; None: unlimited, or values in another unit (percent)."""
    limits = range_of(name)
    return limits if limits is not None and limits[0] <= values.min() <= values.max() <= limits[1] else None


@dataclass(frozen=True, kw_only=True, slots=True)
class FormedProtocols:
    """Number of runs that formed a protocol. Outcomes with two peaks are not summarised by a mean with an interval."""

    number: int
    """Runs whose agents understand each other (`Source.has_protocol`)."""
    of: int
    """Runs for which it is known."""

    @classmethod
    def of_runs(cls, runs: Iterable[Source]) -> "FormedProtocols | None":
        """Count the runs that formed a protocol; None if it is unknown for all."""
        known = [each for run in runs if (each := run.has_protocol) is not None]
        return cls(number=sum(known), of=len(known)) if known else None

    @classmethod
    def is_split(cls, runs: Iterable[Source]) -> bool:
        """Whether some runs formed a protocol and others did not; figures then show each run, and no mean."""
        formed = cls.of_runs(runs)
        return formed is not None and 0 < formed.number < formed.of

    @property
    def share(self) -> float:
        """Share of the runs that formed a protocol."""
        return self.number / self.of

    @property
    def ci95(self) -> Interval:
        """Exact 95 % interval of the share, over seeds."""
        return share_interval(self.number, self.of)

    def __str__(self) -> str:
        """The number and the interval of the share: `3 of 5 [15%, 95%]`."""
        low, high = self.ci95
        return f"{self.number} of {self.of} [{low:.0%}, {high:.0%}]"

    def to_json(self) -> dict[str, Any]:
        """The numbers, the share and its interval, JSON-ready."""
        return {"number": self.number, "of": self.of, "share": self.share, "ci95": list(self.ci95)}


def pooled_error(groups: Sequence[Sequence[Floats]]) -> tuple[float, float]:
    """Standard error and degrees of freedom of a sum of means over cells, by Welch and Satterthwaite.

    Satterthwaite (1946), "An approximate distribution of estimates of variance components", Biometrics Bulletin 2,
    equation 17. For two groups of one cell each it is the error of Welch's t test.

    Args:
        groups: For each group, the values of each of its cells, at least two per cell; the mean of a group is the mean
            of its cells' means.
    """
    parts = [
        (float(np.var(cell, ddof=1)) / len(cell) / len(cells) ** 2, len(cell) - 1)
        for cells in groups
        for cell in cells
    ]
    total = sum(part for part, _ in parts)
    if total == 0:
        return 0.0, float(min(freedom for _, freedom in parts))
    return math.sqrt(total), total**2 / sum(part**2 / freedom for part, freedom in parts)


def noise_between(results: Iterable[Sample]) -> str:
    """Note on the noise that intervals of single corpora do not include."""
    if any(result.is_run for result in results):  # which can be trained with other seeds
        return "Noise between seeds is not in these intervals: train each source with several seeds."
    return "Noise between repetitions, such as other seeds or other people, is not in these intervals."


def repetition(results: Sequence[Sample]) -> str | None:
    """Reason why no conclusion is drawn on samples: models read one corpus more often than another.

    None if the passes are similar, see `are_read_alike`.
    """
    known = [result for result in results if result.passes is not None]
    if all(are_read_alike(one.passes, other.passes) for one, other in combinations(known, 2)):
        return None
    return "passes per epoch differ: " + ", ".join(f"{each.name} {each.passes:.3g}" for each in known)


def require_same_targets(expected: Iterable[str], found: Iterable[str], who: str, other: str) -> None:
    """Raise an error if the target languages differ.

    Raises:
        ConfigError: If a target is missing or additional.
    """
    expected, found = set(expected), set(found)
    for lacking, one, another in ((expected - found, who, other), (found - expected, other, who)):
        if lacking:
            raise ConfigError(f"{one}: no score for {', '.join(sorted(lacking))}, which {another} has")


def as_matrix(results: Sequence[Sample], targets: Sequence[str]) -> Floats:
    """Values h[s, t], means over seeds, shape (num_sources, num_targets)."""
    return np.array([result.values(targets).mean(0) for result in results])


def samples_of(sources: Iterable[Source], metric: str, *, merges_seeds: bool = True) -> list[Sample]:
    """Make the samples of a score; values of one source with different seeds are one sample.

    Sources with equal names get names with as many parent folders as needed to be unique. If a source has a score with
    several signatures, and exactly one signature occurs in every source, scores with other signatures are left out.

    Args:
        sources: See `Results.read`; failed runs are left out. Sources of one row (`Results.group`) are one sample.
        metric: Name of the score, or of a measure of the training.
        merges_seeds: Whether runs of one game with different seeds are one source; otherwise each folder is one.

    Raises:
        ConfigError: If a source has no such score, or one seed of a source has two different scores.
    """
    merged: dict[tuple[object, ...], list[tuple[Sample, Path]]] = {}
    sources = list(sources)
    # A failed run has no scores: the samples of its game have fewer seeds.
    scored = [each for each in sources if each.failure is None or each.records_of(metric)]
    for source in scored or sources:
        records = source.records_of(metric) or [
            record for record in source.records if record.is_measure and record.figure == metric
        ]
        file = source.file if source.folder is None or not source.is_run else source.folder / FILES[0]
        if not records:
            raise _lacking(source, file, metric)
        for record in records:
            sample = _sample(source, record, file)
            if not merges_seeds:
                name = (
                    source.folder.resolve().name
                    if source.folder is not None
                    else source.file.resolve().parent.name
                    if source.file.name in FILES
                    else source.file.stem
                )
                sample = replace(sample, name=name, fingerprint=str(source.folder or source.file))
            key = (sample.name, sample.fingerprint or sample.source, sample.signature, sample.passes)
            merged.setdefault(key, []).append((sample, source.file))
    samples = [
        _merge_runs([sample for sample, _ in found]) if found[0][0].blocks else _merge(found)
        for found in merged.values()
    ]
    if len({sample.signature for sample in samples}) > 1:
        samples = _of_common_signature(samples)
    if len({sample.name for sample in samples}) == len(samples):
        return samples
    settings = {source.group: short_settings(source) for source in sources if source.is_run and source.group}
    return _with_different_names(samples, settings)


def _lacking(source: Source, file: Path, metric: str) -> ConfigError:
    """Error for a source without a score, with the most similar name if no metric has this name."""
    scores = [record.name for record in source.records if not record.is_measure]
    others = shorten(", ".join(dict.fromkeys(scores)), 80, placeholder=" …")
    if metric == XFERBENCH and not scores:
        return ConfigError(
            f"{file}: expected `scores` of `ecsuite score --out`, or `by_target` of a results.json"
        )
    if metric == XFERBENCH:
        command = "`ecsuite score --metrics xferbench`"
        return ConfigError(
            f"{file}: no XferBench score; compute it with {command}, or choose another score with --metric: {others}"
        )
    is_known = metric.partition(",")[0] in METRIC_OF
    similar = [] if is_known else get_close_matches(metric, [*scores, *source.measures], n=1)
    hint = "".join(f"; did you mean {name!r}?" for name in similar)
    has = (" It" if hint else "; it") + f" has {others}" if others else ""
    return ConfigError(f"{file}: no score {metric}{hint}{has}")


def _sample(source: Source, record: Score, file: Path) -> Sample:
    """Make the sample of a record: for XferBench, cross-entropies by seed and target language; otherwise one number."""
    metric = record.figure if record.is_measure else record.name
    if record.value is None and record.reason:
        what = "XferBench score" if metric == XFERBENCH else f"score {metric}"
        raise ConfigError(f"{file}: the {what} is undefined: {record.reason}")
    signature = Signature(record.signature)
    options = signature.options
    seeds = [_seed(options[key]) for key in ("seed", "seeds") if key in options]
    name, identity, interval = source.name, source.digest, None
    if metric == XFERBENCH and not source.row:
        rows = _rows_of_xferbench(file, record, seeds)
    else:
        if record.value is None:
            raise ConfigError(f"{file}: {metric}: expected a number, got None")
        if source.row or (source.game is not None and source.seed is not None and source.group):
            is_short = 0 < len(source.settings) <= MOST_SETTINGS
            name = source.row or (short_settings(source) if is_short else str(source.game))
            identity = source.group
            seed = -1 if source.seed is None else source.seed  # values without a seed stay separate
        elif seeds and seeds[0] is not None:
            seed = seeds[0]
        else:
            seed = source.seed if source.seed is not None else 0
        rows, interval = {seed: {metric: float(record.value)}}, record.ci95
    is_of_run = source.game is not None or source.is_of_run or source.is_run
    return Sample(
        name=name,
        by_target=tuple(rows.values()),
        seeds=tuple(rows),
        signature=signature.without(*OF_A_SOURCE) or (metric if source.row else UNSIGNED),
        source=str(source.corpus or (file if source.name == name_of_file(file) else source.name)),
        fingerprint=identity,
        ci95=interval,
        sizes=(options.get("n"),) * len(rows),
        corpora=(None if source.corpus is None else Messages(source.corpus, source.how),) * len(rows),
        passes=passes_of(record.signature) if "passes" in options else None,
        is_run=is_of_run,
        blocks=(source.block,) * len(rows) if source.row else (),
        runs=(source,) * len(rows) if is_of_run else (),
        bounds=(bound,) * len(rows) if (bound := bound_of(record)) else (),
    )


def _merge_runs(samples: Sequence[Sample]) -> Sample:
    """Merge the runs of a row into one sample; runs with equal seed and block count as one, by their mean."""
    places: dict[tuple[str, int], list[Sample]] = {}
    for number, sample in enumerate(samples):
        for seed in sample.seeds:  # values without a seed stay separate
            places.setdefault((sample.blocks[0], -1 - number if seed < 0 else seed), []).append(sample)
    keys = sorted(places)
    firsts = [places[key][0] for key in keys]
    [metric] = firsts[0].by_target[0]
    means = [math.fsum(each.score for each in places[key]) / len(places[key]) for key in keys]
    sizes = [tuple(dict.fromkeys(each.sizes[0] for each in places[key])) for key in keys]
    return replace(
        firsts[0],
        by_target=tuple({metric: mean} for mean in means),
        seeds=tuple(seed if seed >= 0 else number for number, (_, seed) in enumerate(keys)),
        sizes=tuple(each[0] if len(each) == 1 else "+".join(map(str, each)) for each in sizes),
        corpora=tuple(places[key][0].corpora[0] if len(places[key]) == 1 else None for key in keys),
        blocks=tuple(block for block, _ in keys),
        runs=tuple(each.runs[0] for each in firsts) if all(each.runs for each in firsts) else (),
        bounds=tuple(joint_bound(each.bound for each in places[key]) for key in keys)
        if any(sample.bounds for sample in samples)
        else (),
        ci95=firsts[0].ci95 if len(keys) == 1 and len(places[keys[0]]) == 1 else None,
    )


def short_settings(source: Source) -> str:
    """Settings of a run as a name, with short keys."""
    return ", ".join(
        f"{key.rpartition('.')[2]}={value_text(value)}" for key, value in source.settings.items()
    )


def _seed(number: str) -> int | None:
    """Read a seed in a signature; None if it is not a single number."""
    return int(number) if number.isdecimal() and len(number) < 20 else None


def _rows_of_xferbench(file: Path, record: Score, seeds: Sequence[int | None]) -> dict[int, dict[str, float]]:
    by_seed = record.details.get("by_seed")
    if by_seed is not None:
        return _seed_rows(file, by_seed)
    [seed] = seeds if len(seeds) == 1 else [None]
    if record.signature and seed is None:
        got = shown(record.signature)
        raise ConfigError(f"{file}: expected a signature with one seed, or `by_seed`, got {got}")
    return {seed or 0: _targets(file, record.details)}


def _seed_rows(file: Path, by_seed: Any) -> dict[int, dict[str, float]]:
    rows = by_seed if isinstance(by_seed, list) else []
    seeds = [row.get("seed") if isinstance(row, dict) else None for row in rows]
    if not rows or not all(type(seed) is int for seed in seeds) or len(set(seeds)) < len(seeds):
        raise ConfigError(
            f"{file}: by_seed: expected a list of objects with `seed` and `by_target`, and unique seeds"
        )
    return {row["seed"]: _targets(file, row) for row in rows}


def _targets(file: Path, details: Mapping[str, Any]) -> dict[str, float]:
    by_target = details.get("by_target")
    if not isinstance(by_target, dict) or not by_target:
        raise ConfigError(f"{file}: expected `by_target`, the cross-entropy on each target language")
    for target, value in by_target.items():
        if type(value) not in (int, float) or not math.isfinite(value):
            raise ConfigError(f"{file}: by_target: expected a number for {target}, got {shown(value)}")
    return {target: float(value) for target, value in by_target.items()}


def _merge(measured: Sequence[tuple[Sample, Path]]) -> Sample:
    """Merge the results of one source; a file that was read twice counts once."""
    first = measured[0][0]
    places: dict[int, tuple[Sample, int, Path]] = {}
    for result, file in measured:
        for place, values in enumerate(result.by_target):
            others = (other.by_target[at] for other, at, _ in places.values())
            if first.signature == UNSIGNED and any(values == known for known in others):
                continue
            seed = len(places) if first.signature == UNSIGNED else result.seeds[place]
            other, at, known_file = places.setdefault(seed, (result, place, file))
            if other.by_target[at] != values:
                raise ConfigError(
                    f"{first.name}: seed {seed} has different scores in {known_file} and {file}"
                )
    seeds = tuple(sorted(places))
    rows = [places[seed] for seed in seeds]
    return replace(
        first,
        by_target=tuple(result.by_target[place] for result, place, _ in rows),
        seeds=seeds,
        sizes=tuple(result.sizes[place] for result, place, _ in rows),
        corpora=tuple(result.corpora[place] for result, place, _ in rows),
        runs=tuple(result.runs[place] for result, place, _ in rows)
        if all(each.runs for each, *_ in rows)
        else (),
        ci95=first.ci95 if len(seeds) == 1 else None,
        bounds=tuple(result.bounds[place] if result.bounds else None for result, place, _ in rows)
        if any(result.bounds for result, *_ in rows)
        else (),
    )


def _of_common_signature(results: Sequence[Sample]) -> list[Sample]:
    """Results with the only signature that every source has; otherwise, one signature per row of a table.

    A mean over values of different signatures means nothing: rows with several have the one that most runs have.
    """
    by_source: dict[tuple[str, str], set[str]] = {}
    for result in results:
        by_source.setdefault((result.name, result.fingerprint or result.source), set()).add(result.signature)
    common = set.intersection(*by_source.values()) if by_source else set()
    if len(common) == 1:
        return [result for result in results if result.signature in common]
    numbers = Counter[str]()
    for result in results:
        numbers[result.signature] += len(result.seeds)
    ranked = {signature: rank for rank, (signature, _) in enumerate(numbers.most_common())}
    best: dict[str, Sample] = {}
    for result in sorted(results, key=lambda result: ranked[result.signature]):
        best.setdefault(result.fingerprint, result)
    return [result for result in results if not result.blocks or best[result.fingerprint] is result]


def _with_different_names(results: Sequence[Sample], settings: Mapping[str, str]) -> list[Sample]:
    """Make equal names unique: means over seeds by their settings, other results by parent folders.

    Args:
        results: The results.
        settings: Settings of runs as a name, by the fingerprint of their result.
    """
    named = [
        replace(result, name=settings[result.fingerprint])
        if len(result.seeds) > 1
        and settings.get(result.fingerprint)
        and any(other.name == result.name and other.fingerprint != result.fingerprint for other in results)
        else result
        for result in results
    ]
    results = list(named)
    for index, result in enumerate(results):
        namesakes = [other for other in results if other is not result and other.name == result.name]
        same = [other for other in namesakes if other.signature == result.signature]
        if not same:
            continue  # rejected later, with a message that names the differing part of the signature
        name = name_by_folders(result.source, [other.source for other in same])
        if name is None:
            raise ConfigError(
                f"{result.name}: {result.source} has scores of two different corpora; remove the older scores"
            )
        named[index] = replace(result, name=name)
    return named


def over_seeds(sources: Sequence[Source]) -> list[tuple[str, Sample, Estimate]]:
    """Mean of each score (per signature) over the seeds, in the order of tables; undefined scores are left out.

    Args:
        sources: Scored runs of one game.

    Returns:
        Name of the score, its values over the seeds with a value, and their mean with the spreads.
    """
    names = dict.fromkeys(
        record.name
        for source in sources
        for record in source.records
        if not record.is_measure and record.value is not None and traits_of(record.name).question != "sizes"
    )
    found = []
    for name in sorted(names, key=table_order):
        of_sources = [(source, source.records_of(name)) for source in sources]
        defined = [source for source, own in of_sources if any(record.value is not None for record in own)]
        records = [record for source in defined for record in source.records_of(name)]
        errors = [  # an interval that is cut at the range of the score has its width on the other side
            max(record.value - record.ci95[0], record.ci95[1] - record.value) / normal_quantile(1 - ALPHA / 2)
            for record in records
            if record.ci95 is not None and record.value is not None
        ]
        for sample in samples_of(defined, name):
            is_known = len(errors) == len(sample.seeds)
            of_seeds = replace(
                sample.estimate,
                sd=sample.deviation,
                within_sd=math.sqrt(float(np.mean(np.square(errors)))) if is_known else None,
            )
            found.append((name, sample, of_seeds))
    return found


def is_one_game(sources: Sequence[Source]) -> bool:
    """Whether all sources are runs of one game that differ only in their seeds."""
    return (
        len(sources) > 1 and all(source.group for source in sources) and len({s.group for s in sources}) == 1
    )
