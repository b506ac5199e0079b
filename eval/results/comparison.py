"""Comparison of samples: every command that asks whether two sources differ calls `compare`.

One rule for all scores and commands:

- *Size.* A score that depends on the number of messages is compared at one size, that of the smallest corpus; larger
  ones are drawn from (`equal_sizes`), and the values that are shown are those at this size.
- *Test.* Samples of several seeds are compared by Welch's t test, over the blocks of settings that both have where
  settings are averaged over. Runs are pairs only where they share something besides the number of a seed: the random
  split of held-out objects, or the trained agents (Student's paired t test). Two corpora are compared by the intervals
  of their scores, which show how a score varies with another corpus of the same language, not with another seed.
- *Family.* p-values are corrected by Holm's procedure for all differences of one comparison: all pairs (or all others
  with a baseline) in all scores that were asked for.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice
from textwrap import shorten
from typing import Any

import numpy as np

from ecsuite.eval.metrics import table_order, traits_of
from ecsuite.eval.metrics.score import Signature
from ecsuite.eval.metrics.traits import Direction
from ecsuite.eval.results.equal_sizes import EqualSizes
from ecsuite.eval.results.samples import (
    UNSIGNED,
    Sample,
    has_runs,
    pooled_error,
    repetition,
    require_same_targets,
    rows_of,
    samples_of,
)
from ecsuite.eval.results.sources import Source
from ecsuite.eval.statistics.contingency import Floats
from ecsuite.eval.statistics.differences import (
    Difference,
    corrected,
    difference_of_estimates,
    num_comparisons,
    paired_difference,
    unpaired_difference,
    with_effect,
)
from ecsuite.eval.statistics.estimates import ALPHA, NO_SPREAD, student_quantile, student_tail
from ecsuite.games.tasks.directions import DIRECTIONS
from ecsuite.runtime.errors import ConfigError, look_up

ONLY_IN_ONE = "only in one"
"""Why a score is left out that a single source has."""
UNRELIABLE_INTERVALS = ("has", "ncnpmi")
"""Scores whose 95 % intervals cover more often than they say: nothing is concluded from them.

See docs/evidence/how_many_messages.md.
"""
HELD_OUT = "world.held_out"
"""The share of objects that is held out at random, by the seed of the run."""
_WORDS = {"v": "version"}
"""Readable names of signature parts."""

Pairs = Callable[[Sequence[Sample]], Sequence[tuple[Sample, Sample]]]


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparedScore:
    """One score of all sources."""

    name: str
    """Name of the score."""
    direction: Direction | None
    """Better direction; None: neither, or unknown."""
    samples: Mapping[str, Sample]
    """Samples by source, in the order in which they were given, at the size at which they are compared."""
    baseline: Sample | None
    """The sample that all others are compared with; None: each pair is compared."""
    differences: tuple[Difference, ...]
    """Differences of pairs; none if no pair is comparable."""
    size: int | None = None
    """Messages that were drawn from each larger corpus; None: the corpora are of one size, or it does not matter."""
    reason: str | None = None
    """Why the sources are not comparable in it."""

    @property
    def ranked(self) -> list[Sample]:
        """The samples, highest score first."""
        return sorted(self.samples.values(), key=lambda sample: (-sample.score, sample.name))

    def difference(self, first: str, second: str) -> Difference | None:
        """The difference of two sources in this order; None if they were not compared."""
        for each in self.differences:
            if (each.source, each.baseline) == (first, second):
                return each
            if (each.source, each.baseline) == (second, first):
                return _reversed(each)
        return None

    def best(self) -> set[str]:
        """The source with the best score and those that no test tells apart from it; none if it tells no source apart.

        Single runs are not among them: nothing is known of their noise between seeds.
        """
        names = [name for name, each in self.samples.items() if not (each.is_run and len(each.seeds) == 1)]
        if self.direction is None or len(names) < 2:
            return set()
        first = (max if self.direction == "higher" else min)(names, key=lambda name: self.samples[name].score)
        found = {name: each for name in names if (each := self.difference(first, name)) is not None}
        alike = {name for name, each in found.items() if not each.is_clear and each.conclusion != "unknown"}
        sign = 1 if self.direction == "higher" else -1
        return (
            {first, *alike}
            if any(each.is_clear and sign * each.mean > 0 for each in found.values())
            else set()
        )

    def to_json(self) -> dict[str, Any]:
        """The score as JSON-ready data."""
        return {
            "name": self.name,
            "direction": self.direction,
            "sources": [sample.to_json() for sample in self.samples.values()],
            "differences": [each.to_json() for each in self.differences],
            "reason": self.reason,
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """Sources compared in one score or several."""

    sources: tuple[str, ...]
    """Names of the sources, in the order in which they were given."""
    scores: tuple[ComparedScore, ...]
    """The scores, in the order of tables."""
    left_out: Mapping[str, str]
    """Reason per score that is not compared."""
    without: Mapping[str, str]
    """Reason per source that is not compared: it has no value, or its training did not end."""

    @property
    def differences(self) -> list[Difference]:
        """The differences in all scores: the family of Holm's correction."""
        return [each for score in self.scores for each in score.differences]

    @property
    def num_comparisons(self) -> int:
        """Number of differences for which Holm's correction was made."""
        return num_comparisons(self.differences)

    def correction_json(self) -> dict[str, Any]:
        """The correction as JSON-ready data."""
        return {"method": "Holm", "comparisons": self.num_comparisons}

    def to_json(self) -> dict[str, Any]:
        """The comparison as JSON-ready data; of one score that was asked for, see `one_to_json`."""
        return {
            "sources": list(self.sources),
            "scores": [score.to_json() for score in self.scores],
            "left_out": dict(self.left_out),
            "correction": self.correction_json(),
        }

    def one_to_json(self) -> dict[str, Any]:
        """The comparison in one score as JSON-ready data."""
        [score] = self.scores
        return {
            "metric": score.name,
            "signature": score.ranked[0].signature,
            "baseline": None if score.baseline is None else score.baseline.name,
            "sources": [sample.to_json() for sample in score.ranked],
            "differences": [each.to_json() for each in score.differences],
            "correction": self.correction_json(),
        }


def compare(
    sources: Sequence[Source],
    metrics: Sequence[str] | None = None,
    baseline: str | None = None,
    *,
    by: Sequence[str] | None = None,
    as_rows: bool = False,
    distinct: bool = False,
    with_incomplete: bool = False,
    sizes: EqualSizes | None = None,
    pairs: Pairs | None = None,
) -> Comparison:
    """Compare sources in every score that at least two of them have.

    Runs that differ only in their seed are one source, unless there would be no other source.

    Args:
        sources: See `ecsuite.eval.results.reading.read_sources`.
        metrics: Names of scores, and of measures of trainings; None: the scores that were asked for, or all but sizes.
        baseline: Name of the source that the others are compared with; None: all pairs are compared.
        by: Settings that tell the sources apart: the effect of these over all other settings and seeds; None: all that
            vary.
        as_rows: Whether sources with equal settings are one, corpora too.
        distinct: Whether runs that differ only in their seed are sources of their own.
        with_incomplete: Whether runs count that were ended by the clock, a stop or pruning.
        sizes: Draws from larger corpora where a score depends on their sizes; None: with those of its own.
        pairs: Chooses the pairs to compare, of samples of one score; None: by the baseline.

    Raises:
        ConfigError: If a source has no scores, there is no score that two have, or a name is unknown.
    """
    counted, names, left_out, merges_seeds = _placed(
        sources, metrics, by=by, as_rows=as_rows, distinct=distinct, with_incomplete=with_incomplete
    )
    samples = {name: samples_of(_having(counted, name), name, merges_seeds=merges_seeds) for name in names}
    compared = compare_samples(samples, baseline, sizes, pairs)
    fullest = max(compared, key=lambda score: len(score.samples))
    without = {
        each.name: each.failure or each.ending
        for each in sources
        if not counts(each, with_incomplete=with_incomplete)
    }
    for source in counted:
        if not any(_has(source, name) for name in names):
            why = _reasons(source).get(names[0]) or "not in it"
            without[source.name] = source.failure or f"{names[0]}: {why}"
    return Comparison(
        sources=tuple(dict.fromkeys(name for score in (fullest, *compared) for name in score.samples)),
        scores=tuple(compared),
        left_out=left_out,
        without=without,
    )


def samples_to_compare(sources: Sequence[Source], metric: str) -> list[Sample]:
    """The samples of a score that `compare` would compare.

    Args:
        sources: See `compare`.
        metric: Name of the score.

    Raises:
        ConfigError: If no source has the score.
    """
    counted, _, _, merges_seeds = _placed(sources, [metric])
    return samples_of(_having(counted, metric), metric, merges_seeds=merges_seeds)


def _placed(
    sources: Sequence[Source],
    metrics: Sequence[str] | None,
    *,
    by: Sequence[str] | None = None,
    as_rows: bool = False,
    distinct: bool = False,
    with_incomplete: bool = False,
) -> tuple[list[Source], list[str], dict[str, str], bool]:
    """Sources that count, runs in their rows; the scores to compare; scores left out; whether seeds are merged."""
    counted = [each for each in sources if counts(each, with_incomplete=with_incomplete)]
    if sources and not counted:
        raise ConfigError(f"{sources[0].name}: {sources[0].ending}: --incomplete counts such runs, too")
    is_table = as_rows or by is not None or (not distinct and all(each.is_run for each in counted))
    placed = rows_of(counted, by) if is_table else counted
    names, left_out = _common(placed) if metrics is None else (list(metrics), {})
    if not names:
        why = "; ".join(f"{name}: {reason}" for name, reason in islice(left_out.items(), 3))
        is_scored = left_out and ONLY_IN_ONE not in left_out.values()
        advice = "" if is_scored else "; run `ecsuite score` on each"
        raise ConfigError(f"no score that two of them have{': ' if why else ''}{why}{advice}")
    if as_rows or by is not None:
        return placed, names, left_out, True
    has_rows = len({each.name for each in samples_of(_having(placed, names[0]), names[0])}) > 1
    merges_seeds = not distinct and has_rows
    if metrics is not None:
        for name in names:  # a single source with a value is no comparison: the others give the reason
            having = _having(counted, name)
            samples_of(having if len(having) > 1 else counted, name)
    return placed if merges_seeds else counted, names, left_out, merges_seeds


def counts(source: Source, *, with_incomplete: bool = False) -> bool:
    """Whether a run counts in means and comparisons: it did not diverge, and ended as its settings say."""
    return source.status != "diverged" and (source.is_whole or with_incomplete)


def compare_samples(
    samples: Mapping[str, Sequence[Sample]],
    baseline: str | None = None,
    sizes: EqualSizes | None = None,
    pairs: Pairs | None = None,
) -> list[ComparedScore]:
    """Compare samples by score; all differences are one family of Holm's correction.

    Args:
        samples: By score.
        baseline: See `compare`.
        sizes: See `compare`.
        pairs: See `compare`.

    Raises:
        ConfigError: If a score has no sample, or no source has the baseline's name.
    """
    sizes = sizes or EqualSizes()
    compared = [_compared(name, found, baseline, sizes, pairs) for name, found in samples.items()]
    flat = iter(corrected([each for score in compared for each in score.differences]))
    return [replace(score, differences=tuple(islice(flat, len(score.differences)))) for score in compared]


def _compared(
    metric: str, samples: Sequence[Sample], baseline: str | None, sizes: EqualSizes, pairs: Pairs | None
) -> ComparedScore:
    """One score of the sources that have it, before the correction."""
    if not samples:
        raise ConfigError(f"no {metric} score: expected at least one")
    choose_baseline(samples, baseline)  # an unknown name is refused
    direction = traits_of(metric).direction or DIRECTIONS.get(metric)
    at_size, reasons, is_drawn = list(samples), dict[str, str](), False
    try:
        require_comparable(samples)
        within, reasons = _within_common_blocks(samples)
        at_size, undrawn = sizes.at_one_size(within, metric)
        reasons |= undrawn
        is_drawn, reason = at_size != list(within), None
    except ConfigError as error:
        reason = str(error)
    ordered = sorted(at_size, key=lambda sample: (-sample.score, sample.name))
    chosen = choose_baseline(ordered, baseline)
    differences = []
    if reason is None:
        for first, second in pairs(ordered) if pairs is not None else pairs_of(ordered, chosen):
            differences.append(difference(first, second, reasons))
        if differences and reasons and all(each.ci95 is None for each in differences):
            differences, reason = [], next(iter(reasons.values()))
    return ComparedScore(
        name=metric,
        direction=direction,
        samples={sample.name: sample for sample in at_size},
        baseline=chosen,
        differences=tuple(differences),
        size=min(int(size) for each in at_size for size in each.sizes if size and size.isdecimal())
        if is_drawn
        else None,
        reason=reason,
    )


def _reversed(measured: Difference) -> Difference:
    """A difference with its sources exchanged."""
    ci95, g_ci95 = (
        None if bounds is None else (-bounds[1], -bounds[0])
        for bounds in (measured.ci95, measured.hedges_g_ci95)
    )
    return replace(
        measured,
        source=measured.baseline,
        baseline=measured.source,
        mean=-measured.mean,
        ci95=ci95,
        hedges_g=None if measured.hedges_g is None else -measured.hedges_g,
        hedges_g_ci95=g_ci95,
    )


def _within_common_blocks(samples: Sequence[Sample]) -> tuple[list[Sample], dict[str, str]]:
    """Samples over the combinations of averaged settings that all have, and reasons of those that share none.

    Raises:
        ConfigError: If there is no such combination.
    """
    blocks = [set(sample.blocks) for sample in samples]
    if not any(blocks):
        return list(samples), {}
    shared = {block for own in blocks for block in own if sum(block in other for other in blocks) > 1}
    common = set.intersection(*([own for own in blocks if own & shared] or [set[str]()]))
    if not common and len(samples) > 1:
        names = " and ".join(sample.name for sample in samples[:2])
        raise ConfigError(f"{names} have no combination of other settings in common")
    reasons = {
        sample.name: f"{sample.name} has no combination of other settings in common with the others"
        for sample, own in zip(samples, blocks, strict=True)
        if not own & shared and len(samples) > 1
    }
    return [sample if sample.name in reasons else sample.within(common) for sample in samples], reasons


def difference(first: Sample, second: Sample, at_own_size: Mapping[str, str] | None = None) -> Difference:
    """The difference of two samples, before the correction.

    Args:
        first: A sample.
        second: The one that is subtracted.
        at_own_size: By name, the reason why a sample is not at the size of the others.
    """
    one, other = first.seed_scores, second.seed_scores
    has_seeds = min(len(one), len(other)) > 1
    measured, is_paired = Difference(mean=first.score - second.score), False
    own = at_own_size or {}
    is_unlike = set(first.sizes) != set(second.sizes) or set(first.blocks) != set(second.blocks)
    if is_unlike and {first.name, second.name} & own.keys():
        basis = "; ".join(own[each.name] for each in (first, second) if each.name in own)
    elif (why := repetition((first, second))) is not None:
        basis = why
    elif has_seeds and len(first.cells) + len(second.cells) > 2:
        measured, basis = _over_blocks(first, second)
    elif has_seeds and (shared := shared_by(first, second)):
        is_paired = True
        measured, basis = paired_difference(one - other), f"paired by {len(one)} seeds: the same {shared}"
    elif has_seeds:
        measured, basis = (
            unpaired_difference(one, other),
            f"{len(one)} and {len(other)} seeds, Welch's t test",
        )
    elif Signature(first.signature).name in UNRELIABLE_INTERVALS:
        basis = "its intervals are too wide" + (": train several seeds" if has_runs((first, second)) else "")
    elif first.ci95 is not None and second.ci95 is not None:
        measured = difference_of_estimates(first.score, first.ci95, second.score, second.ci95)
        basis = "intervals of the scores"
    else:
        basis = "no interval"
    if measured.ci95 is not None and has_seeds and len(first.cells) == len(second.cells) == 1:
        measured = with_effect(measured, one, other, is_paired=is_paired)
    return replace(measured, source=first.name, baseline=second.name, basis=basis)


def shared_by(first: Sample, second: Sample) -> str:
    """Name what the runs of two samples share seed by seed besides the number of the seed; empty: nothing.

    Runs of one world share the objects that a seed holds out at random; runs that differ only in how they are
    evaluated share their agents.
    """
    if not first.runs or not second.runs or first.seeds != second.seeds:
        return ""
    found = {_shared_by_runs(one, other) for one, other in zip(first.runs, second.runs, strict=True)}
    return found.pop() if len(found) == 1 else ""


def _shared_by_runs(first: Source, second: Source) -> str:
    one, other = first.config, second.config
    differing = {key for key in {**one, **other} if one.get(key) != other.get(key)}
    if not one or not other or not differing:
        return ""
    if all(key.startswith("evaluation.") for key in differing):
        return "agents"
    held_out = one.get(HELD_OUT)
    is_world = any(key.startswith(("world.", "data.", "code.")) for key in differing)
    is_split = isinstance(held_out, int | float) and not isinstance(held_out, bool) and held_out > 0
    return "held-out objects" if is_split and not is_world else ""


def _over_blocks(first: Sample, second: Sample) -> tuple[Difference, str]:
    """The main effect: the mean over blocks of the difference within a block."""
    one, other = first.cells, second.cells
    blocks = list(one)
    apart = [float(one[block].mean() - other[block].mean()) for block in blocks]
    basis = f"mean over {len(blocks)} combinations of other settings"
    groups: list[list[Floats]] = [[cells[block] for block in blocks] for cells in (one, other)]
    if min(len(cell) for cells in groups for cell in cells) < 2:
        return paired_difference(np.array(apart)), f"paired by {len(blocks)} combinations of other settings"
    mean, (error, freedom) = float(np.mean(apart)), pooled_error(groups)
    if error < NO_SPREAD:
        return Difference(mean=mean, ci95=(mean, mean)), basis
    half_width = student_quantile(1 - ALPHA / 2, freedom) * error
    p_value = 2 * student_tail(abs(mean) / error, freedom)
    return Difference(mean=mean, ci95=(mean - half_width, mean + half_width), p_value=p_value), basis


def require_comparable(samples: Sequence[Sample]) -> None:
    """Raise an error if samples were measured with different settings.

    Raises:
        ConfigError: If signatures or targets differ; the message names the part or the languages.
    """
    first, *others = samples
    for other in others:
        if other.signature != first.signature:
            apart = differing_parts(first.signature, other.signature)
            one, two = (first.name, other.name) if first.name != other.name else (first.source, other.source)
            raise ConfigError(f"{two} cannot be compared with {one}: {apart}")
        require_same_targets(first.targets, other.targets, other.name, first.name)
    names = [sample.name for sample in samples]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"{name}: expected unique names of sources, got this name more than once")


def differing_parts(first: str, second: str) -> str:
    """Differences between two signatures: `preset mini, not full`."""
    if UNSIGNED in (first, second):
        return "one of them is unsigned (from another program), so its settings are unknown"
    parts, others = Signature(first).options, Signature(second).options
    apart = [
        f"{_WORDS.get(key, key)} {_value(others, key)}, not {_value(parts, key)}"
        for key in dict.fromkeys([*parts, *others])
        if parts.get(key) != others.get(key)
    ]
    return "; ".join(apart) or "the order of the signature parts differs"


def _value(parts: Mapping[str, str], key: str) -> str:
    value = parts[key] or "given" if key in parts else "none"
    return shorten(value, 60, placeholder="…")


def choose_baseline(samples: Sequence[Sample], name: str | None) -> Sample | None:
    """The sample that all others are compared with.

    Args:
        samples: All samples.
        name: Name given by the user; None: the source without pretraining, if there is one.

    Raises:
        ConfigError: If no source has this name.
    """
    if name is not None:
        return look_up("baseline", name, {sample.name: sample for sample in samples})
    return next((sample for sample in samples if sample.is_baseline), None)


def pairs_of(samples: Sequence[Sample], baseline: Sample | None) -> list[tuple[Sample, Sample]]:
    """Pairs of samples to compare: each other sample with the baseline, or all pairs."""
    if baseline is None:
        return list(combinations(samples, 2))
    return [(each, baseline) for each in samples if each is not baseline]


def common_scores(sources: Sequence[Source]) -> list[str]:
    """Names of the scores that at least two sources have (or the only one), without sizes."""
    return _common(sources)[0]


def _having(sources: Sequence[Source], name: str) -> list[Source]:
    """Sources with a value of a score or a measure; all if none has one, so that reading them gives the reason."""
    return [each for each in sources if _has(each, name)] or list(sources)


def _has(source: Source, name: str) -> bool:
    """Whether a source has a value of a score or a measure."""
    return name in source.measures or any(record.value is not None for record in source.records_of(name))


def _common(sources: Sequence[Source]) -> tuple[list[str], dict[str, str]]:
    """Names of the scores that can be compared, in the order of tables, and why others are left out."""
    per_source = [_reasons(source) for source in sources]
    asked = {name for source in sources for name in source.scores}
    every = dict.fromkeys(name for names in per_source for name in names if name in asked)
    common, left_out = [], {}
    for name in sorted(every, key=table_order):
        if traits_of(name).question == "sizes":
            continue
        if sum(name in names and names[name] is None for names in per_source) >= min(2, len(sources)):
            common.append(name)
        else:
            reasons = [names[name] or ONLY_IN_ONE for names in per_source if name in names]
            left_out[name] = reasons[0]
    return common, left_out


def _reasons(source: Source) -> dict[str, str | None]:
    """Reason per undefined score of a source; None for a score with a value."""
    return {record.score: record.reason for record in source.records if not record.is_measure}
