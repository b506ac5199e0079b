"""The scores of a language, computed again with the options that their signatures name."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import ecsuite.parts.own_code as own_code
from ecsuite.corpus import Corpus
from ecsuite.eval.metrics import METRIC_OF, find_metric
from ecsuite.eval.metrics.conclusions import conclusion, p_value
from ecsuite.eval.metrics.parallel import num_threads
from ecsuite.eval.metrics.score import Options, Score
from ecsuite.eval.metrics.traits import SENDER
from ecsuite.eval.reports.scorecard import score_corpus
from ecsuite.eval.results.files import XFERBENCH
from ecsuite.eval.results.sources import Record
from ecsuite.eval.verification.rows import Bound, Row, Verdict, compared, differences, is_number
from ecsuite.jobs.graph import Runner
from ecsuite.runtime.devices import require_device_name
from ecsuite.runtime.errors import ConfigError, DivergedError, shown

if TYPE_CHECKING:
    from ecsuite.games.runs import Run

SHARE = 1e-6
"""By which a score of the same messages may differ: other processors and versions of numpy add in another order. Files
of scores do not say where they were computed, so that equal bits are not asked for."""
TRAINED_SHARE = 0.02
"""The same of a score that trains models and has no interval."""
SHOWN = 3
"""Most names of differing details in a reason."""
PARTS = ("ci95", "chance", "details")
"""What is claimed of a score beside its value, and what it concludes beside others."""
OWN = "no metric of ecsuite gives it: --metrics ./mine.py:my_metric names the file of one of your own"
"""Why a score of a metric that is not ours is not computed."""
MAX_SEEDS = 10_000
"""Most seeds of a score of XferBench."""
VERSION = "v"
"""The key of a metric's version in a signature."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Scoring:
    """How claimed scores are computed again."""

    is_all: bool = False
    """Whether also those that train models are."""
    own: tuple[str, ...] = ()
    """Metrics of a user's own that may have made them, `./mine.py:my_metric`."""
    targets: Path | None = None
    """The folder of target texts of XferBench; None: those of its preset."""
    device: str = "auto"
    """Of metrics that train."""
    runner: Runner = field(default_factory=Runner)
    """How models are trained, and who is told of progress; nothing that was kept is read."""

    def __post_init__(self) -> None:
        """Check the device, the folder of texts, and that metrics of a user's own are named by their files.

        Raises:
            ConfigError: If one is none.
        """
        require_device_name(self.device)
        if self.targets is not None and not self.targets.is_dir():
            raise ConfigError(f"targets: expected a folder of target texts, got {self.targets}")
        for name in self.own:
            if not own_code.is_foreign(name):
                raise ConfigError(
                    f"metrics: expected ./mine.py:my_metric, one of your own, got {shown(name)}; those of ecsuite are "
                    "computed again in any case"
                )


def score_rows(
    corpus: Corpus, records: Sequence[Record], scoring: Scoring, *, run: "Run | None", agents: Bound
) -> Iterator[Row]:
    """A row a claimed score.

    Args:
        corpus: The messages.
        records: The claimed scores.
        scoring: What is computed again.
        run: The run whose messages they are, for metrics that ask agents; None: no run's.
        agents: How far scores of agents may differ.
    """
    metrics = [metric_of(record, scoring) for record in records]
    scores, failed = _all_computed(corpus, records, metrics, scoring, run)
    number = sum(record.value is not None for record in records)
    for record, metric in zip(records, metrics, strict=True):
        verdict: Verdict = "unverifiable"
        if (score := _match(record, scores)) is not None:
            yield _compared(record, score, agents, _concluded(record, score, number, len(corpus.messages)))
            continue
        if metric is None:
            reason = OWN
        elif find_metric(metric).shared.trains and not scoring.is_all:
            verdict, reason = "not verified", "trains models, which takes long: --all"
        else:
            reason = failed.get(metric, "no metric gives such a score here")
        yield Row(
            kind="score",
            name=record.score,
            verdict=verdict,
            claimed=record.value,
            reason=reason,
            signature=record.signature,
        )


def _all_computed(
    corpus: Corpus,
    records: Sequence[Record],
    metrics: Sequence[str | None],
    scoring: Scoring,
    run: "Run | None",
) -> tuple[list[Score], dict[str, str]]:
    """The scores of all metrics that are asked for, with the options of each; and why one could not be computed."""
    asked: dict[Options, list[str]] = {}
    for record, metric in zip(records, metrics, strict=True):
        if metric is not None and (scoring.is_all or not find_metric(metric).shared.trains):
            asked.setdefault(options_of(record, scoring), []).append(metric)
    scores: list[Score] = []
    failed: dict[str, str] = {}
    for options, names in asked.items():
        scores += _computed(corpus, list(dict.fromkeys(names)), options, scoring.runner, run, failed)
    scores += _computed(corpus, scoring.own, Options(), None, run, failed)
    return scores, failed


def metric_of(record: Record, scoring: Scoring) -> str | None:
    """The metric that gives a score, with its options; None of a metric that is none of ours."""
    name, comma, options = record.score.partition(",")
    known = METRIC_OF.get(name)
    if known is None or record.signature is None:
        return None
    if known == XFERBENCH:
        comma, options = ",", _xferbench_options(signature_fields(record.signature), scoring)
    return f"{known}{comma}{options}"


def _xferbench_options(fields: Mapping[str, str], scoring: Scoring) -> str:
    """The options of XferBench that a signature names, as after its name; words that are none are left out."""
    first, *further = (int(each) if each.isdecimal() else 0 for each in fields.get("seeds", "0").split("-"))
    values = {key: fields[key] for key in ("preset", "protocol") if key in fields}
    values["num_seeds"] = str(min(max(1, further[0] - first + 1), MAX_SEEDS) if further else 1)
    values |= {} if scoring.targets is None else {"targets": str(scoring.targets)}
    return ",".join(f"{key}={value}" for key, value in values.items())


def options_of(record: Record, scoring: Scoring) -> Options:
    """The options with which a score was computed, from its signature and its chance level."""
    fields, chance = signature_fields(record.signature), record.chance or {}
    seeds = str(fields.get("seeds", fields.get("seed", chance.get("seed") or 0)))
    first = seeds.partition("-")[0]
    seed = int(first) if first.isdecimal() else 0
    return Options(seed=seed, device=scoring.device)


def signature_fields(signature: str | None) -> Mapping[str, str]:
    """The options in a signature by name."""
    return dict(part.partition(":")[::2] for part in (signature or "").split("|")[1:])


def _computed(
    corpus: Corpus,
    names: Sequence[str],
    options: Options,
    runner: Runner | None,
    run: "Run | None",
    failed: dict[str, str],
) -> list[Score]:
    """The scores of metrics; why one can't be computed is noted in `failed`."""
    traits = {name: find_metric(name).shared for name in names}
    others = [name for name in names if not traits[name].needs_agents]
    asking = [name for name in names if traits[name].needs_agents or (traits[name].asks_agents and run)]
    scores = (
        list(score_corpus(corpus, others, options, runner=runner, num_processes=num_threads()).scores)
        if others
        else []
    )
    for name in asking:
        try:
            scores += score_corpus(corpus, [name], options, run=run, runner=runner).scores
        except (ConfigError, DivergedError) as error:
            failed[name] = str(error)
    return scores


def _match(record: Record, scores: Sequence[Score]) -> Score | None:
    """The score of the same signature; else of the same name."""
    name = record.score.partition(",")[0]
    same = [
        each for each in scores if (each.name.partition(",")[0], each.signature) == (name, record.signature)
    ]
    named = [score for score in scores if score.name == record.score]
    return next(iter([*same, *named]), None)


def _concluded(record: Record, score: Score, number: int, num_messages: int) -> list[str]:
    """What a file concludes of a score and does not follow from it.

    A file keeps scores of several tables, so that the p-value was corrected for at most all of them.
    """
    claimed, p = record.concluded, p_value(score)
    if not claimed:
        return []
    p_holm = claimed.get("p_holm")
    if p is None or not is_number(p_holm):
        is_possible = p is None and p_holm is None
    else:
        is_possible = p * (1 - SHARE) <= p_holm <= min(1.0, number * p) * (1 + SHARE)
    if not is_possible:
        return ["p_holm"]
    here = conclusion(score, p_holm, num_messages).to_json()
    return list(differences(claimed, here, Bound(share=SHARE, least=1e-3)))


def _compared(record: Record, score: Score, agents: Bound, concluded: Sequence[str]) -> Row:
    """The row of a score that was computed here, and what was concluded from it wrongly."""
    traits = (
        find_metric(METRIC_OF[name]).shared if (name := score.name.partition(",")[0]) in METRIC_OF else None
    )
    bound = Bound(share=SHARE, least=1e-3)
    asks = traits is not None and traits.asks_agents and SENDER in signature_fields(score.signature)
    if asks or (traits is not None and traits.needs_agents):
        bound = agents if agents.share else bound
    elif traits is not None and traits.trains:
        bound = Bound(share=TRAINED_SHARE, interval=record.ci95)
    here = score.to_json(is_kept=True)
    parts = {name: getattr(record, name) for name in PARTS}
    parts["ci95"] = None if record.ci95 is None else list(record.ci95)
    others = [place for name in PARTS for place in differences(parts[name], here[name], bound, name)]
    if not others and traits is not None and not traits.trains:  # else another value has other conclusions
        others += concluded
    more = f" and {len(others) - SHOWN} more" if len(others) > SHOWN else ""
    changed = _changes(record.signature, score.signature)
    told = "; ".join(text for _, text in changed)
    is_other = any(key != VERSION for key, _ in changed)  # then it is not the score that is claimed
    also = [f"{', '.join(others[:SHOWN])}{more}: not as claimed"] if others else []
    also += [f"other signature: {told}"] if is_other else []
    return compared(
        "score",
        record.score,
        record.value,
        score.value,
        bound,
        why="" if is_other else told,
        also="; ".join(also),
        signature=record.signature,
        has_signature=not changed,
    )


def _changes(claimed: str | None, here: str) -> list[tuple[str, str]]:
    """What differs between two signatures: its key, and a text."""
    before, now = signature_fields(claimed), signature_fields(here)
    changes = []
    for key in {**before, **now}:
        if before.get(key) != now.get(key):
            what = "metric version" if key == VERSION else key
            changes.append((key, f"{what} {before.get(key, 'none')} there, {now.get(key, 'none')} here"))
    return changes
