"""Comparison of samples: every command that compares sources calls `Results.compare`.

One rule for all scores and commands:

- *Size.* A score that depends on the number of messages is compared at the size of the smallest corpus; larger corpora
  are subsampled (`equal_sizes`), and the values shown are the values at this size.
- *Test.* Samples of several seeds are compared by Welch's t test, within blocks of settings that both have if settings
  are averaged over. Runs are paired (Student's paired t test) only if they share more than the number of a seed: the
  random split of held-out objects, or the trained agents. Two corpora are compared by the intervals of their scores,
  which show the variation over other corpora of the same language, not over seeds.
- *Censoring.* A value at a bound, such as an accuracy of 1 or the time of a run that was stopped, bounds the true
  value: a difference of such values leads to a conclusion only if the true values would enlarge it.
- *Family.* p-values are corrected by Holm's procedure for all differences of one comparison: all pairs (or all others
  with a baseline) in all requested scores.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice
from textwrap import shorten
from typing import Any

import numpy as np

from ecsuite.eval.metrics import traits_of
from ecsuite.eval.metrics.score import Signature
from ecsuite.eval.metrics.traits import Direction
from ecsuite.eval.results.equal_sizes import EqualSizes
from ecsuite.eval.results.samples import (
    UNSIGNED,
    Estimate,
    FormedProtocols,
    Sample,
    pooled_error,
    repetition,
    require_same_targets,
)
from ecsuite.eval.results.sources import Source
from ecsuite.eval.statistics.contingency import Floats
from ecsuite.eval.statistics.estimates import (
    ALPHA,
    NO_SPREAD,
    OPPOSITE,
    Difference,
    corrected,
    cut,
    difference_bound,
    difference_of_estimates,
    paired_difference,
    student_quantile,
    student_tail,
    unpaired_difference,
    with_effect,
)
from ecsuite.games.tasks.directions import DIRECTIONS
from ecsuite.runtime.errors import ConfigError, look_up

HELD_OUT = "world.held_out"
"""Setting with the share of objects that is held out at random, by the seed of the run."""
_WORDS = {"v": "version"}
"""Readable names of signature parts."""

Pairs = Callable[[Sequence[Sample]], Sequence[tuple[Sample, Sample]]]


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparedScore:
    """One score of all sources, compared."""

    name: str
    """Name of the score."""
    direction: Direction | None
    """The better direction; None: neither, or unknown."""
    samples: Mapping[str, Sample]
    """Samples by source, in the given order, at the size of the comparison."""
    baseline: Sample | None
    """The sample that all others are compared with; None: all pairs are compared."""
    differences: tuple[Difference, ...]
    """Differences of pairs; empty if no pair is comparable."""
    size: int | None = None
    """Number of messages drawn from each larger corpus; None: equal sizes, or the size does not matter."""
    reason: str | None = None
    """Reason why all sources, or sources without the most frequent signature, are not comparable."""

    @property
    def ranked(self) -> list[Sample]:
        """The samples, highest score first."""
        return sorted(self.samples.values(), key=lambda sample: (-sample.score, sample.name))

    def difference(self, first: str, second: str) -> Difference | None:
        """Difference of two sources in this order; None if they were not compared."""
        for each in self.differences:
            if (each.source, each.baseline) == (first, second):
                return each
            if (each.source, each.baseline) == (second, first):
                ci95, g_ci95 = (
                    None if bounds is None else (-bounds[1], -bounds[0])
                    for bounds in (each.ci95, each.hedges_g_ci95)
                )
                return replace(
                    each,
                    source=first,
                    baseline=second,
                    mean=-each.mean,
                    ci95=ci95,
                    hedges_g=None if each.hedges_g is None else -each.hedges_g,
                    hedges_g_ci95=g_ci95,
                    bound=OPPOSITE[each.bound],
                )
        return None

    def best(self) -> set[str]:
        """Sources with the best score, or that no test distinguishes from it; empty if it differs from no source.

        Single runs are left out, as their noise between seeds is unknown.
        """
        names = [name for name, each in self.samples.items() if not (each.is_run and len(each.seeds) == 1)]
        if self.direction is None or len(names) < 2:
            return set()
        first = (max if self.direction == "higher" else min)(names, key=lambda name: self.samples[name].score)
        found = {name: each for name in names if (each := self.difference(first, name)) is not None}
        alike = {
            name
            for name, each in found.items()
            if not each.is_clear and (each.conclusion != "unknown" or each.bound is not None)
        }
        sign = 1 if self.direction == "higher" else -1
        return (
            {first, *alike}
            if any(each.is_clear and sign * each.mean > 0 for each in found.values())
            else set()
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """Sources compared in one or several scores."""

    sources: tuple[str, ...]
    """Names of the sources, in the given order."""
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
        """Number of differences in Holm's correction."""
        return sum(each.p_value is not None for score in self.scores for each in score.differences)

    def correction_json(self) -> dict[str, Any]:
        """The correction as JSON-ready data."""
        return {"method": "Holm", "comparisons": self.num_comparisons}

    def to_json(self) -> dict[str, Any]:
        """The comparison as JSON-ready data; for a single requested score, see `one_to_json`."""
        return {
            "sources": list(self.sources),
            "scores": [
                {
                    "name": score.name,
                    "direction": score.direction,
                    "sources": [sample.to_json() for sample in score.samples.values()],
                    "differences": [each.to_json() for each in score.differences],
                    "reason": score.reason,
                }
                for score in self.scores
            ],
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


def compare_samples(
    samples: Mapping[str, Sequence[Sample]],
    baseline: str | None = None,
    sizes: EqualSizes | None = None,
    pairs: Pairs | None = None,
) -> list[ComparedScore]:
    """Compare samples by score; all differences are one family of Holm's correction.

    Args:
        samples: Samples by score.
        baseline: See `Results.compare`.
        sizes: See `Results.compare`.
        pairs: See `Results.compare`.

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
    direction = traits_of(metric).direction or DIRECTIONS.get(metric)
    ordered = sorted(samples, key=lambda sample: (-sample.score, sample.name))
    chosen = choose_baseline(ordered, baseline)
    groups: dict[tuple[str, frozenset[str]], list[Sample]] = {}
    for sample in samples:
        groups.setdefault((sample.signature, frozenset(sample.by_target[0])), []).append(sample)
    largest = max(groups.values(), key=len)
    at_size = {sample.name: sample for sample in samples}
    differences, reasons, sizes_drawn = list[Difference](), list[str](), list[int]()
    for group in groups.values():
        if group is not largest:
            try:
                require_comparable([largest[0], group[0]])
            except ConfigError as error:
                reasons.append(str(error))
        if len(group) == 1 < len(groups):
            continue
        try:
            require_comparable(group)
            within, left = group, dict[str, str]()
            if any(sample.blocks for sample in group):
                within, left = _within_common_blocks(group)
            drawn = within
            if len({size for sample in within for size in sample.sizes}) > 1:
                drawn, undrawn = sizes.at_one_size(within, metric)
                left |= undrawn
        except ConfigError as error:
            reasons.append(str(error))
            continue
        if drawn != within:
            sizes_drawn += [int(size) for each in drawn for size in each.sizes if size and size.isdecimal()]
        at_size |= {sample.name: sample for sample in drawn}
        found = sorted(drawn, key=lambda sample: (-sample.score, sample.name))
        if pairs is not None:
            asked = pairs(found)
        elif chosen is not None and chosen.name not in {each.name for each in found}:
            asked = []
        else:
            asked = pairs_of(found, None if chosen is None else at_size[chosen.name])
        measured = [difference(first, second, left) for first, second in asked]
        if measured and left and all(each.ci95 is None for each in measured):
            reasons.append(next(iter(left.values())))
            continue
        differences += measured
    return ComparedScore(
        name=metric,
        direction=direction,
        samples=at_size,
        baseline=None if chosen is None else at_size[chosen.name],
        differences=tuple(differences),
        size=min(sizes_drawn, default=None),
        reason="; ".join(reasons) or None,
    )


def _within_common_blocks(samples: Sequence[Sample]) -> tuple[list[Sample], dict[str, str]]:
    """Samples over the combinations of averaged settings that all share, and reasons for samples that share none.

    Raises:
        ConfigError: If there is no such combination.
    """
    blocks = [set(sample.blocks) for sample in samples]
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
        second: The sample to subtract.
        at_own_size: Reason, by name, why a sample is not at the size of the others.
    """
    one, other = first.seed_scores, second.seed_scores
    has_seeds = min(len(one), len(other)) > 1
    measured, is_paired = Difference(mean=first.score - second.score), False
    own = at_own_size or {}
    is_over_blocks = max(len(set(first.blocks)), len(set(second.blocks))) > 1
    is_unlike = set(first.sizes) != set(second.sizes) or set(first.blocks) != set(second.blocks)
    if is_unlike and {first.name, second.name} & own.keys():
        basis = "; ".join(own[each.name] for each in (first, second) if each.name in own)
    elif (why := repetition((first, second))) is not None:
        basis = why
    elif has_seeds and is_over_blocks:
        measured, basis = _over_blocks(first, second)
    elif has_seeds and (shared := shared_by(first, second)):
        is_paired = True
        measured, basis = paired_difference(one - other), f"paired by {len(one)} seeds: the same {shared}"
    elif has_seeds:
        measured, basis = (
            unpaired_difference(one, other),
            f"{len(one)} and {len(other)} seeds, Welch's t test",
        )
    elif not traits_of(Signature(first.signature).name).has_reliable_interval:
        basis = "the intervals of this score are too wide" + (
            ": train several seeds" if first.is_run or second.is_run else ""
        )
    elif first.ci95 is not None and second.ci95 is not None:
        measured = difference_of_estimates(first.score, first.ci95, second.score, second.ci95)
        basis = "intervals of the scores"
    else:
        basis = "no interval"
    if measured.ci95 is not None and has_seeds and not is_over_blocks:
        measured = with_effect(measured, one, other, is_paired=is_paired)
    bound, limits = difference_bound(first.bound, second.bound), first.limits
    if measured.ci95 is not None and limits is not None and limits == second.limits:
        measured = replace(measured, ci95=cut(measured.ci95, (limits[0] - limits[1], limits[1] - limits[0])))
    return replace(measured, source=first.name, baseline=second.name, basis=basis, bound=bound)


def shared_by(first: Sample, second: Sample) -> str:
    """Name what the runs of two samples share seed by seed, other than the number of the seed; empty: nothing.

    Runs of one world share the objects that a seed holds out at random; runs that differ only in settings of evaluation
    share their agents.
    """
    if not first.runs or not second.runs or first.seeds != second.seeds:
        return ""
    shared = set()
    for one, other in (
        (one.config, other.config) for one, other in zip(first.runs, second.runs, strict=True)
    ):
        differing = {key for key in {**one, **other} if one.get(key) != other.get(key)}
        held_out = one.get(HELD_OUT)
        is_split = isinstance(held_out, int | float) and not isinstance(held_out, bool) and held_out > 0
        if not one or not other or not differing:
            shared.add("")
        elif all(key.startswith("evaluation.") for key in differing):
            shared.add("agents")
        elif is_split and not any(key.startswith(("world.", "data.", "code.")) for key in differing):
            shared.add("held-out objects")
        else:
            shared.add("")
    return shared.pop() if len(shared) == 1 else ""


def _over_blocks(first: Sample, second: Sample) -> tuple[Difference, str]:
    """Main effect: the mean over blocks of the difference within a block."""
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
        ConfigError: If signatures or targets differ; the message names the differing part or languages.
    """
    first, *others = samples
    for other in others:
        if other.signature != first.signature:
            apart = differing_parts(first.signature, other.signature)
            one, two = (first.name, other.name) if first.name != other.name else (first.source, other.source)
            raise ConfigError(f"{two} cannot be compared with {one}: {apart}")
        if other.by_target[0].keys() != first.by_target[0].keys():
            require_same_targets(first.by_target[0], other.by_target[0], other.name, first.name)
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
    """Choose the sample that all others are compared with.

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
    """Pairs of samples to compare: the baseline with each other sample, or all pairs."""
    if baseline is None:
        return list(combinations(samples, 2))
    return [(each, baseline) for each in samples if each is not baseline]


@dataclass(frozen=True, kw_only=True, slots=True)
class Combination:
    """Combination of settings, as a row of a table."""

    name: str
    """Name of the combination in the comparison."""
    settings: tuple[Any, ...]
    """Values of the table's keys."""
    num_runs: int
    """Runs whose figures are in the means."""
    num_failed: int
    """Runs that failed."""
    num_incomplete: int
    """Runs that were ended by the clock, a stop or pruning, or are unfinished, and are not in the means."""
    cells: tuple[Estimate, ...]
    """Estimates, one per figure of the table."""
    runs: tuple[Source, ...] = ()
    """The runs whose figures are in the means."""
    formed: FormedProtocols | None = None
    """Number of its runs that formed a protocol; None: unknown for all."""


@dataclass(frozen=True, kw_only=True)
class Means:
    """Means over seeds, with 95 % intervals, and the comparison of all pairs of rows."""

    keys: tuple[str, ...]
    """The settings of a row."""
    figures: tuple[str, ...]
    """Names of the columns."""
    rows: tuple[Combination, ...]
    """The rows, in the order of the runs."""
    comparison: Comparison | None
    """Comparison of the rows; None if nothing is comparable."""
    sources: tuple[Source, ...]
    """The runs of all rows."""

    def to_json(self) -> dict[str, Any]:
        """The means as JSON-ready data."""
        return {
            "rows": [
                {
                    "settings": dict(zip(self.keys, row.settings, strict=True)),
                    "num_runs": row.num_runs,
                    "num_failed": row.num_failed,
                    "num_incomplete": row.num_incomplete,
                    **({} if row.formed is None else {"formed": row.formed.to_json()}),
                    "figures": {
                        name: {
                            "is_best": cell.is_best,
                            "mean": cell.mean,
                            "half_width": cell.half_width,
                            "ci95": None if cell.ci95 is None else list(cell.ci95),
                            "num_values": cell.num_values,
                            **({"num_blocks": cell.num_blocks} if cell.num_blocks else {}),
                            **({} if cell.bound is None else {"bound": cell.bound}),
                        }
                        for name, cell in zip(self.figures, row.cells, strict=True)
                    },
                }
                for row in self.rows
            ],
            "correction": None if self.comparison is None else self.comparison.correction_json(),
        }
