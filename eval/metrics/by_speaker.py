"""Metrics of a corpus with several speakers: each is scored alone, and a score is the mean over them."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from msgspec import structs

from ecsuite.corpus import SPEAKER, Corpus
from ecsuite.eval.metrics.score import Options, Score
from ecsuite.eval.metrics.traits import Metric
from ecsuite.eval.statistics.chance import Chance
from ecsuite.eval.statistics.estimates import mean_and_half_width, standard_error
from ecsuite.jobs.graph import Runner

BY_SPEAKER = "by_speaker"
"""The key of the details that has the value of each speaker."""
BY_TARGET = "by_target"
"""The key of the details that has parts of the value, such as of each target language, which are means, too."""
REMARKS = ("warning", "note", "limits")
"""Keys of the details that have a sentence on how to read a score."""
NUM_NAMED = 5
"""Most speakers that a remark names."""


def speakers_of(corpus: Corpus) -> list[Any]:
    """The speakers of a corpus in the order of their names; empty where it does not say who spoke.

    Messages of which it is not known who said them are of none.
    """
    return corpus.values_of(SPEAKER) if SPEAKER in corpus.columns else []


def by_speaker(
    metric: Metric, corpus: Corpus, options: Options, *, runner: Runner | None = None
) -> list[Score]:
    """The scores of a corpus: where it has several speakers, the mean over them, unless a metric takes all together.

    Each speaker is scored alone. A score is the mean over the speakers for whom it is defined, with Student's 95 %
    interval over them. Its chance level is the mean over them in each shuffle, see `Chance.average`.
    """
    parts = [corpus] if metric.shared.is_of_all_speakers else parts_of(corpus)
    each = [metric(part, options, runner=runner) for part in parts]
    if len(each) == 1:
        return each[0]
    bounds = {traits.name: traits.bounds for traits in metric.traits}
    return [mean_score(speakers_of(corpus), scores, bounds) for scores in zip(*each, strict=True)]


def parts_of(corpus: Corpus) -> list[Corpus]:
    """The messages of each speaker, where there are several; else the corpus."""
    speakers = speakers_of(corpus)
    return [corpus] if len(speakers) < 2 else [corpus.where(SPEAKER, speaker) for speaker in speakers]


def mean_score(
    speakers: Sequence[Any], scores: Sequence[Score], bounds: Mapping[str, tuple[float, float] | None]
) -> Score:
    """One score of the scores of each speaker; its interval ends where the score does.

    That is by name in `bounds`, or where the range depends on the corpus, such as that of `synonymy`, by its chance.
    """
    first = scores[0]
    values = [score.value for score in scores]
    defined = [score for score in scores if score.value is not None]
    details: dict[str, Any] = {BY_SPEAKER: dict(zip(map(str, speakers), values, strict=True))}
    details |= _remarks(speakers, scores)
    signature = f"{_common_signature([score.signature for score in scores])}|speakers:{len(speakers)}"
    if not defined:
        reasons: dict[str, list[Any]] = {}
        for speaker, score in zip(speakers, scores, strict=True):
            reasons.setdefault(str(score.reason), []).append(speaker)
        reason = _all_said(reasons, len(speakers))
        return structs.replace(first, signature=signature, chance=None, reason=reason, details=details)
    if all(BY_TARGET in score.details for score in defined):
        targets = [score.details[BY_TARGET] for score in defined]
        details[BY_TARGET] = {name: fmean(each[name] for each in targets) for name in targets[0]}
    known = [float(score.value) for score in defined if score.value is not None]
    value, half_width = mean_and_half_width(known)
    chance = Chance.average([score.chance for score in defined], known, standard_error(known), len(known) - 1)
    declared = bounds.get(first.name.partition(",")[0]) or (chance.bounds if chance else None)
    low, high = declared or (-math.inf, math.inf)
    return structs.replace(
        first,
        value=value,
        ci95=None if half_width is None else (max(low, value - half_width), min(high, value + half_width)),
        chance=chance,
        reason=None,
        signature=signature,
        details=details,
    )


def _remarks(speakers: Sequence[Any], scores: Sequence[Score]) -> dict[str, str]:
    """Merge the remarks on the scores of speakers: once where all have it, else with the speakers' names."""
    remarks: dict[str, str] = {}
    is_defined = any(score.value is not None for score in scores)
    for key in REMARKS:
        said: dict[str, list[Any]] = {}
        for speaker, score in zip(speakers, scores, strict=True):
            if key in score.details:
                said.setdefault(str(score.details[key]), []).append(speaker)
            if key == "warning" and is_defined and score.value is None:
                said.setdefault(f"has no score and is not in the mean: {score.reason}", []).append(speaker)
        if said:
            remarks[key] = _all_said(said, len(speakers))
    return remarks


def _all_said(said: Mapping[str, Sequence[Any]], num_speakers: int) -> str:
    """Sentences, each with the names of those of whom it is said."""
    return "; ".join(_said(sentence, who, num_speakers) for sentence, who in said.items())


def _said(sentence: str, who: Sequence[Any], num_speakers: int) -> str:
    """A sentence with the names of those of whom it is said, unless they are all."""
    if len(who) == num_speakers:
        return sentence
    named = ", ".join(map(str, who[:NUM_NAMED])) + (
        f" and {len(who) - NUM_NAMED} more" if len(who) > NUM_NAMED else ""
    )
    return f"speaker{'s' if len(who) > 1 else ''} {named}: {sentence}"


def _common_signature(signatures: Sequence[str]) -> str:
    """One signature of those of speakers: what differs, such as their numbers of messages, is listed: `n:2x60+300`."""
    if len(set(signatures)) == 1:
        return signatures[0]
    rows = [[part.partition(":") for part in signature.split("|")] for signature in signatures]
    values: dict[str, Counter[str]] = {}
    for row in rows:
        for key, _, value in row:
            values.setdefault(key, Counter())[value] += 1
    return "|".join(f"{key}:{_listed(counts)}" if any(counts) else key for key, counts in values.items())


def _listed(counts: Counter[str]) -> str:
    """Each value, with the number of speakers that have it: `2x60+300`; the value alone where all have it."""
    if len(counts) == 1:
        return next(iter(counts))
    order = sorted(counts, key=lambda value: (len(value), value))  # numbers in their order
    return "+".join(f"{counts[value]}x{value}" if counts[value] > 1 else value for value in order)
