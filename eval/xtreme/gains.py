"""Whether a body helps: its scores less those of another body, seed by seed, with the interval that seeds give.

A seed decides how every body is born and tuned, so that scores of the same seed are compared (paired differences).
Student's interval then tells what other seeds would have given; tasks and languages are those of the run. The gain of
the corpus over the random body is the one question asked, at 95 %. Its gains over the further controls are more
questions, any of which may look sure by luck: their p values are corrected by Holm's procedure (1979, "A simple
sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6).
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy import stats

from ecsuite.eval.statistics.counting import Floats
from ecsuite.eval.xtreme.result import REFERENCE, TransferResult
from ecsuite.eval.xtreme.scoring.averaging import SOURCE

Verdict = Literal["gain", "loss", "within noise", "no spread", "one seed"]
ERROR = 0.05
"""Share of intervals that miss the truth, and the p value below which there is a gain or a loss."""
_NO_SPREAD = 1e-9
"""Points; differences that vary less than this do so by rounding."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Estimate:
    """A difference in points, as well as seeds tell it."""

    by_seed: tuple[float, ...]
    """One a seed."""
    mean: float
    """Their mean."""
    ci95: tuple[float, float] | None
    """Student's interval over seeds; None with one seed, from which nobody can tell a gain from noise."""
    p: float | None
    """Of the paired t test, two-sided; None with one seed."""
    verdict: Verdict
    """`within noise` if the interval contains 0; `no spread` if all seeds differ alike, as scores of few questions may,
    which tells nothing of noise; `one seed` if there is no interval."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Gain:
    """What one body has over another."""

    body: str
    """The one."""
    over: str
    """The other."""
    overall: Estimate
    """Of overall scores: means over tasks of means over languages."""
    by_task: Mapping[str, Estimate]
    """Of task scores: means over languages."""
    by_language: Mapping[str, Mapping[str, float]]
    """Of scores by task and language, means over seeds; without intervals, they are many."""
    english: Estimate | None
    """Of scores in English alone, where tasks are learnt in English; None elsewhere, or where it was not tested."""
    others: Estimate | None
    """Of scores in the other languages alone, which nothing was tuned on; None as above."""
    p_holm: float | None = None
    """The p value corrected for all controls compared; None where it is the only question, or there is none."""

    @property
    def verdict(self) -> Verdict:
        """That of the interval, unless the correction takes it back."""
        is_luck = self.p_holm is not None and self.p_holm >= ERROR
        return "within noise" if is_luck else self.overall.verdict

    def to_json(self) -> dict[str, Any]:
        """All of it, JSON-ready."""
        return {**asdict(self), "verdict": self.verdict}


def estimate(differences: Floats) -> Estimate:
    """The mean of differences, and how far other seeds may take it.

    Args:
        differences: One a seed, in points, shape (num_seeds,).
    """
    num_seeds = len(differences)
    mean = float(differences.mean())
    if num_seeds == 1:
        return Estimate(by_seed=(mean,), mean=mean, ci95=None, p=None, verdict="one seed")
    if np.ptp(differences) < _NO_SPREAD:
        half, p = 0.0, 1.0
    else:
        error = float(differences.std(ddof=1)) / num_seeds**0.5
        half = float(stats.t.ppf(1 - ERROR / 2, num_seeds - 1)) * error
        p = 2 * float(stats.t.sf(abs(mean) / error, num_seeds - 1))
    by_seed = tuple(differences.tolist())
    verdict: Verdict = "no spread" if half == 0 and abs(mean) >= _NO_SPREAD else _judge(mean, half)
    return Estimate(by_seed=by_seed, mean=mean, ci95=(mean - half, mean + half), p=p, verdict=verdict)


def gain(result: TransferResult, body: str, over: str) -> Gain:
    """Compare two bodies on the same seeds, tasks and languages.

    Raises:
        ConfigError: If there is no such body.
    """
    differences = {
        task: result.language_scores(body, task) - result.language_scores(over, task)
        for task in result.languages
    }  # each (num_seeds, num_languages)
    by_task = {task: of_task.mean(1) for task, of_task in differences.items()}
    return Gain(
        body=body,
        over=over,
        overall=estimate(np.mean(list(by_task.values()), axis=0)),
        by_task={task: estimate(of_seeds) for task, of_seeds in by_task.items()},
        by_language={
            task: dict(zip(codes, differences[task].mean(0).tolist(), strict=True))
            for task, codes in result.languages.items()
        },
        english=_part(result, differences, is_english=True),
        others=_part(result, differences, is_english=False),
    )


def gains_over_reference(result: TransferResult) -> tuple[Gain, ...]:
    """What each body has over the random one, the corpus first; nothing if that was not run."""
    if REFERENCE not in result.bodies:
        return ()
    return tuple(gain(result, body, REFERENCE) for body in result.bodies if body != REFERENCE)


def gains_over_controls(result: TransferResult) -> tuple[Gain, ...]:
    """What the corpus has over each control but the random one, p values corrected for their number."""
    others = [body for body in result.bodies if body not in (result.corpus, REFERENCE)]
    gains = [gain(result, result.corpus, other) for other in others]
    p_values = [each.overall.p for each in gains if each.overall.p is not None]
    if not p_values:  # one seed for all
        return tuple(gains)
    return tuple(replace(each, p_holm=p_holm) for each, p_holm in zip(gains, holm(p_values), strict=True))


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p values for their number: each by how many are not smaller, and none below a smaller one's."""
    order = np.argsort(p_values, kind="stable")
    factors = len(order) - np.arange(len(order))
    corrected = np.empty(len(order))
    corrected[order] = np.minimum(1, np.maximum.accumulate(np.asarray(p_values)[order] * factors))
    return [float(p) for p in corrected]


def _part(result: TransferResult, differences: Mapping[str, Floats], *, is_english: bool) -> Estimate | None:
    """Of the tasks that were tested both in English and elsewhere, one of these sides."""
    parts = []
    for task, codes in result.languages.items():
        chosen = [(code == SOURCE) == is_english for code in codes]
        if result.is_zero_shot and 0 < sum(chosen) < len(codes):
            parts.append(differences[task][:, chosen].mean(1))
    return estimate(np.mean(parts, axis=0)) if parts else None


def _judge(mean: float, half: float) -> Verdict:
    """The verdict on an interval by its middle and half its width."""
    if abs(mean) <= max(half, _NO_SPREAD):
        return "within noise"
    return "gain" if mean > 0 else "loss"
