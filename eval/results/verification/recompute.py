"""Recomputation of claims: scores with the options of their signatures, and figures and messages of restored agents."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch

import ecsuite.parts.own_code as own_code
from ecsuite.corpus import Corpus
from ecsuite.eval.metrics import METRIC_OF, find_metric
from ecsuite.eval.metrics.computing import num_threads
from ecsuite.eval.metrics.conclusions import conclusion, p_value
from ecsuite.eval.metrics.score import Options, Score, Signature, is_number
from ecsuite.eval.metrics.traits import SENDER
from ecsuite.eval.results.files import XFERBENCH
from ecsuite.eval.results.verification.outcome import (
    EXACT,
    Agreement,
    CheckedClaim,
    Platform,
    Tolerance,
    compare_mappings,
    compare_values,
    differing_paths,
)
from ecsuite.eval.run_metrics.language_metrics import LanguageMetrics
from ecsuite.eval.views.scorecard import score_corpus
from ecsuite.files.tensor_files import read_tensors
from ecsuite.games.config.experiment import ignore
from ecsuite.games.config.sections import Experiment, with_training
from ecsuite.games.plays.notes import has_small_products
from ecsuite.games.plays.play import Play, make_play
from ecsuite.games.runs.checkpoints import weights_in
from ecsuite.games.runs.identity import check_data
from ecsuite.games.runs.result import EXTRA_CHANCE, METRICS
from ecsuite.games.runs.run_folder import RunFolder
from ecsuite.jobs.graph import Runner, no_progress
from ecsuite.runtime.devices import (
    choose_device,
    choose_precision,
    default_products,
    deterministic_kernels,
    fixed_threads,
    require_device_name,
    routed_products,
    versions,
)
from ecsuite.runtime.errors import ConfigError, DamagedError, DivergedError, shown

if TYPE_CHECKING:
    from ecsuite.games.runs.run import Run

SHARE = 1e-6
"""Relative tolerance of scores of the same messages: other processors and numpy versions sum in another order. Scores
files do not record where they were computed, so equal bits are not required."""
TRAINED_SHARE = 0.02
"""Relative tolerance of a score that trains models and has no interval."""
SHOWN = 3
"""Maximum number of differing details that a reason names."""
CONCLUDED = ("conclusion", "p_holm", "adjusted")
"""Keys in a file for the conclusion on a score."""
PARTS = ("ci95", "chance", "details")
"""Parts of a score that are verified in addition to its value."""
OWN = "not a score of ecsuite: name the file of your own metric with --metrics ./mine.py:my_metric"
"""Reason why a score of a user's own metric is not computed."""
MAX_SEEDS = 10_000
"""Maximum number of seeds of an XferBench score."""
VERSION = "v"
"""Key of a metric's version in a signature."""
AGENT_SHARES = {"fp32": 0.001, "tf32": 0.02, "bf16": 0.02}
"""Relative tolerance of figures of agents between machines, by precision: other rounding changes the answers in rounds
where two answers are almost equally good."""
COMPARED = ("device", "hardware", "num_threads", "precision", "torch", "numpy", "ecsuite", "commit", "python")
"""Properties of a platform that can change figures, in the order of the output."""
CHANCE = "chance level of "
"""Prefix of the name of a claimed chance level."""
LANGUAGE = "metrics."
"""Prefix of the name of a score measured at the end of the training."""
REQUESTED = ("limit", "interrupt", "preempted", "pruned")
"""Reasons for which a training may end before its last step."""


@dataclass(frozen=True, kw_only=True, slots=True)
class VerifyOptions:
    """Scope and options of a verification."""

    is_all: bool = False
    """Whether scores that train models are also computed again."""
    own: tuple[str, ...] = ()
    """A user's own metrics among the claimed scores, `./mine.py:my_metric`."""
    targets: Path | None = None
    """Folder of target texts of XferBench; None: the texts of its preset."""
    device: str = "auto"
    """Device of agents and of metrics that train; auto: the device of the agents' training, if this machine has it."""
    trust_code: bool = False
    """Whether foreign parts of runs are imported."""
    runner: Runner = field(default_factory=Runner)
    """Trains models, and reports progress; stored results are not read."""
    note: Callable[[str], None] = ignore
    """Called with each message about files."""

    def __post_init__(self) -> None:
        """Validate the device, the folder of texts, and that own metrics are named by their files.

        Raises:
            ConfigError: If one is not valid.
        """
        require_device_name(self.device)
        if self.targets is not None and not self.targets.is_dir():
            raise ConfigError(f"targets: expected a folder of target texts, got {self.targets}")
        for name in self.own:
            if not own_code.is_foreign(name):
                raise ConfigError(
                    f"metrics: expected your own metric, ./mine.py:my_metric, got {shown(name)}; metrics of ecsuite "
                    "are always computed again"
                )

    @property
    def without_progress(self) -> Self:
        """Options for one of several sources, without its own progress reports."""
        return replace(self, runner=replace(self.runner, progress=no_progress))


def platform_of(metadata: Mapping[str, Any], precision: str, device: str) -> Platform:
    """Platform of the verification: the recorded one, as far as this machine allows.

    Args:
        metadata: Metadata of the run.
        precision: Precision in its config.
        device: auto, cpu, cuda or mps.

    Raises:
        ConfigError: If this machine lacks the device.
    """
    recorded = metadata.get("versions")
    recorded = dict(recorded) if isinstance(recorded, Mapping) else {}
    if device == "auto":
        try:
            device = choose_device(str(recorded.get("device"))).type
        except ConfigError:
            device = "auto"
    chosen = choose_device(device)
    try:
        used = choose_precision(precision, chosen)
    except ConfigError:  # tf32 needs CUDA
        used = "fp32"
    threads = recorded.get("num_threads")
    if not isinstance(threads, int) or not 0 < threads <= (os.cpu_count() or 1):
        threads = torch.get_num_threads()
    current = versions(chosen) | {"num_threads": threads, "precision": used}
    recorded |= {"precision": precision} if recorded else {}
    changed = {
        "threads" if key == "num_threads" else key: [
            text[:12] if len(text) == 40 and text.isalnum() else text  # a commit is abbreviated
            for text in (str(recorded[key]), str(current[key]))
        ]
        for key in COMPARED
        if recorded.get(key) is not None and current.get(key) is not None and recorded[key] != current[key]
    }
    is_same = bool(recorded) and not changed
    precisions = (used, str(recorded.get("precision", used)))
    reason = (
        "same machine, versions, threads and precision" if is_same else "the run has no record of its machine"
    )
    return Platform(
        device=chosen,
        precision=used,
        num_threads=threads,
        recorded=recorded,
        current=current,
        changes=tuple(f"{key}: {one} in the run, {other} here" for key, (one, other) in changed.items()),
        tolerance=EXACT if is_same else Tolerance(share=max(AGENT_SHARES[each] for each in precisions)),
        reason=f"different {', '.join(changed)}" if changed else reason,
    )


def check_agents(
    folder: Path,
    experiment: Experiment,
    metadata: Mapping[str, Any],
    records: Sequence[Score],
    platform: Platform,
    corpus: Corpus | None,
) -> Iterator[CheckedClaim]:
    """Evaluate the restored agents of a run: one row per figure of the last evaluation, and one for the corpus.

    Args:
        folder: The run folder.
        experiment: Its config.
        metadata: Its metadata, with claims.
        records: The claimed measures.
        platform: The platform of the verification.
        corpus: Their claimed corpus; None: it can't be read.

    Raises:
        ConfigError: If weights, data files or parts are missing.
        DamagedError: If weights can't be read, or do not fit the config.
    """
    with fixed_threads(platform.num_threads):
        check_data(experiment)
        play = make_play(with_training(experiment, precision=platform.precision), platform.device)
        is_known = not play.steps_before  # the length of a teaching phase is known after it
        if is_known:
            yield from _check_ending(folder, play, metadata["training"])
        _restore(play, folder, metadata["training"])
        if not is_known:
            yield from _check_ending(folder, play, metadata["training"])
        with (
            torch.no_grad(),
            routed_products(platform.device, platform.precision),
            default_products(platform.device) if has_small_products(experiment) else nullcontext(),
            deterministic_kernels(platform.device, is_asked=experiment.training.deterministic),
        ):
            measures = {"": play.evaluate()}
            language = LanguageMetrics(experiment)(play).values if experiment.evaluation.metrics else {}
            measures |= play.other_evaluations()
            chance = {"": play.chance(), **play.other_chance()}
            spoken = None if corpus is None else play.corpus(experiment.evaluation)
    figures = [
        (each.figure, each.value, measures.get(str(each.unit.get("rounds", "")), {}).get(each.name))
        for each in records
    ]
    levels = {"": metadata.get("chance"), **_mapping(metadata.get(EXTRA_CHANCE))}
    for rounds, claimed in levels.items():
        suffix = f", {rounds}" if rounds else ""
        for name, value in _mapping(claimed).items():
            figures.append((f"{CHANCE}{name}{suffix}", value, chance.get(rounds, {}).get(name)))
    figures += [
        (f"{LANGUAGE}{name}", value, language.get(name))
        for name, value in _mapping(metadata.get(METRICS)).items()
    ]
    for name, value, here in figures:
        also = "" if here is None or is_number(here) else "it is not a number here"
        yield compare_values(
            "evaluation", name, value, here, platform.tolerance, why=platform.reason, also=also
        )
    if corpus is not None and spoken is not None:
        yield _check_messages(corpus, spoken, platform)


def _restore(play: Play, folder: Path, training: Mapping[str, Any]) -> None:
    """Restore the weights that the figures of a run belong to: the best ones, or the last ones."""
    best = training.get("best_step")
    run = RunFolder(folder)
    last = run.checkpoint(training["step"] if best is None else best)
    files = [last] if best is None else [run.best_state(best), last]
    file = next((each for each in files if each.is_file()), None)
    if file is None:
        raise ConfigError(f"the agents can't be restored: {files[0].name} is missing")
    tensors = read_tensors(file)[0]
    try:
        play.restore(weights_in(tensors) if file == last else tensors)
    except (RuntimeError, KeyError):
        raise DamagedError(f"{file.name}: its tensors do not fit the config") from None
    play.recall(folder)


def _check_ending(folder: Path, play: Play, claimed: Mapping[str, Any]) -> list[CheckedClaim]:
    """Check length and end of a training against its settings, its play and its checkpoints.

    Args:
        folder: The run folder.
        play: Its play, with as many steps as are known.
        claimed: The training section of the metadata.
    """
    step, settings = claimed.get("step"), play.experiment.training
    num_steps = play.steps_before + play.steps_per_epoch * settings.num_epochs
    here: dict[str, Any] = {"step": RunFolder(folder).newest_step or step, "num_steps": num_steps}
    if is_number(step):
        here["epoch"] = max(step - play.steps_before, 0) / play.steps_per_epoch
    is_possible = {
        "epochs": step == num_steps,
        "accuracy": settings.until_accuracy is not None,
        "patience": settings.patience is not None,
        "minutes": settings.max_minutes is not None,
    }
    possible = [reason for reason, is_so in is_possible.items() if is_so]
    if step != num_steps:
        possible += REQUESTED
    stopped = claimed.get("stopped")
    here["stopped"] = stopped if stopped in possible else " or ".join(possible)
    return compare_mappings("evaluation", "end of the training", claimed, here)


def _check_messages(claimed: Corpus, spoken: Corpus, platform: Platform) -> CheckedClaim:
    """Compare a corpus with the messages of the restored agents: the number of equal messages."""
    number, number_here = len(claimed.messages), len(spoken.messages)
    if number_here != number:
        also = f"the agents here give {number_here:,} messages"
        return compare_values("corpus", "messages", number, number_here, platform.tolerance, also=also)
    same = sum(np.array_equal(claimed.messages[row], spoken.messages[row]) for row in range(number))
    names = ("symbol_names", "attribute_names", "concept_names")
    also = ""
    if not have_equal_meanings(claimed, spoken):
        also = "their meanings differ"
    elif any((getattr(claimed, name) or ()) != (getattr(spoken, name) or ()) for name in names):
        also = "their names differ"
    return compare_values(
        "corpus", "reproduced messages", number, same, platform.tolerance, why=platform.reason, also=also
    )


def have_equal_meanings(one: Corpus, other: Corpus) -> bool:
    """Whether the meanings of two corpora are equal: names exactly, numbers up to rounding."""
    first, second = one.meanings, other.meanings
    if first is None or second is None:
        return first is second
    if any(each.dtype.kind in "US" for each in (first, second)):
        return np.array_equal(first, second)
    return first.shape == second.shape and bool(np.allclose(first, second))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def check_scores(
    corpus: Corpus,
    records: Sequence[Score],
    options: VerifyOptions,
    *,
    run: "Run | None" = None,
    agents: Tolerance = EXACT,
) -> Iterator[CheckedClaim]:
    """Compute the claimed scores of a corpus again, one row per score.

    Args:
        corpus: The messages.
        records: The claimed scores.
        options: Selects the scores to compute again.
        run: The run of the messages, for metrics that need agents; None: no run.
        agents: Tolerance of scores of agents.
    """
    metrics = [metric_of(record, options) for record in records]
    names: dict[Options, dict[str, None]] = {}
    for record, metric in zip(records, metrics, strict=True):
        if metric is not None and (options.is_all or not find_metric(metric).shared.trains):
            names.setdefault(options_of(record, options), {})[metric] = None
    scores: list[Score] = []
    failed: dict[str, str] = {}
    for each, asked in (*names.items(), (Options(), options.own)):
        scores += _compute(corpus, list(asked), each, options.runner, run, failed)
    number = sum(record.value is not None for record in records)
    for record, metric in zip(records, metrics, strict=True):
        verdict: Agreement = "unverifiable"
        if (score := _match(record, scores)) is not None:
            yield _check_score(
                record, score, agents, _wrong_conclusions(record, score, number, len(corpus.messages))
            )
            continue
        if metric is None:
            reason = OWN
        elif find_metric(metric).shared.trains and not options.is_all:
            verdict, reason = "not verified", "trains models, which takes long; add --all to compute it"
        else:
            reason = failed.get(metric, "no metric of this version has this score")
        yield CheckedClaim(
            kind="score",
            name=record.name,
            verdict=verdict,
            claimed=record.value,
            reason=reason,
            signature=record.signature or None,
        )


def metric_of(record: Score, options: VerifyOptions) -> str | None:
    """Metric of a score, with its options; None for a user's own metric."""
    name, comma, own = record.name.partition(",")
    known = METRIC_OF.get(name)
    if known is None or not record.signature:
        return None
    if known == XFERBENCH:  # the options are in the signature
        fields = signature_fields(record.signature)
        first, *further = (
            int(each) if each.isdecimal() else 0 for each in fields.get("seeds", "0").split("-")
        )
        values: dict[str, str] = {key: fields[key] for key in ("preset", "protocol") if key in fields}
        values["num_seeds"] = str(min(max(1, further[0] - first + 1), MAX_SEEDS) if further else 1)
        values |= {} if options.targets is None else {"targets": str(options.targets)}
        comma, own = ",", ",".join(f"{key}={value}" for key, value in values.items())
    return f"{known}{comma}{own}"


def options_of(record: Score, options: VerifyOptions) -> Options:
    """Options with which a score was computed, from its signature and its chance level."""
    fields, chance = signature_fields(record.signature), record.chance
    drawn_with = 0 if chance is None else chance.seed or 0
    seeds = str(fields.get("seeds", fields.get("seed", drawn_with)))
    first = seeds.partition("-")[0]
    return Options(seed=int(first) if first.isdecimal() else 0, device=options.device)


def signature_fields(signature: str | None) -> dict[str, str]:
    """The options in a signature by name."""
    return Signature(signature or "").options


def _compute(
    corpus: Corpus,
    names: Sequence[str],
    options: Options,
    runner: Runner,
    run: "Run | None",
    failed: dict[str, str],
) -> list[Score]:
    """Compute the scores of metrics; reasons for metrics that can't be computed go into `failed`."""
    traits = {name: find_metric(name).shared for name in names}
    others = [name for name in names if not traits[name].needs_agents]
    asking = [name for name in names if traits[name].needs_agents or (traits[name].asks_agents and run)]
    scores: list[Score] = []
    if others:
        scores += score_corpus(corpus, others, options, runner=runner, num_processes=num_threads()).scores
    for name in asking:
        try:
            scores += score_corpus(corpus, [name], options, run=run, runner=runner).scores
        except (ConfigError, DivergedError) as error:
            failed[name] = str(error)
    return scores


def _match(record: Score, scores: Sequence[Score]) -> Score | None:
    """The score with equal signature, otherwise with equal name."""
    name = record.name.partition(",")[0]
    equal = [
        each for each in scores if (each.name.partition(",")[0], each.signature) == (name, record.signature)
    ]
    return next(iter([*equal, *(each for each in scores if each.name == record.name)]), None)


def _wrong_conclusions(record: Score, score: Score, number: int, num_messages: int) -> list[str]:
    """Keys of conclusions in a file that do not follow from the score.

    A file stores scores of several tables, so the p-value was corrected for at most all of them.
    """
    claimed = {key: record.stored[key] for key in CONCLUDED if key in record.stored}
    p = p_value(score)
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
    return list(differing_paths(claimed, here, Tolerance(share=SHARE, least=1e-3)))


def _check_score(record: Score, score: Score, agents: Tolerance, conclusions: Sequence[str]) -> CheckedClaim:
    """Compare a claimed score with the computed one: value, interval, chance level, details, signature.

    Args:
        record: The claimed score.
        score: The score computed here.
        agents: Tolerance of scores of agents.
        conclusions: Keys of wrong conclusions in the file.
    """
    name = score.name.partition(",")[0]
    traits = find_metric(METRIC_OF[name]).shared if name in METRIC_OF else None
    claimed_fields, fields = signature_fields(record.signature), signature_fields(score.signature)
    tolerance = Tolerance(share=SHARE, least=1e-3)
    if traits is not None and (traits.needs_agents or (traits.asks_agents and SENDER in fields)):
        tolerance = agents if agents.share else tolerance
    elif traits is not None and traits.trains:
        tolerance = Tolerance(share=TRAINED_SHARE, interval=record.ci95)
    here = score.to_json(is_kept=True)
    claim = {**record.stored, "details": record.details}
    others = [
        path for part in PARTS for path in differing_paths(claim.get(part), here[part], tolerance, part)
    ]
    if not others and traits is not None and not traits.trains:  # another value would have other conclusions
        others += conclusions
    more = f" and {len(others) - SHOWN} more" if len(others) > SHOWN else ""
    changed = {
        key: f"{'metric version' if key == VERSION else key} {claimed_fields.get(key, 'none')} claimed, "
        f"{fields.get(key, 'none')} here"
        for key in {**claimed_fields, **fields}
        if claimed_fields.get(key) != fields.get(key)
    }
    changes = "; ".join(changed.values())
    is_other = any(key != VERSION for key in changed)  # then it is another score than claimed
    also = [f"{', '.join(others[:SHOWN])}{more}: different from the claim"] if others else []
    also += [f"different signature: {changes}"] if is_other else []
    return compare_values(
        "score",
        record.name,
        record.value,
        score.value,
        tolerance,
        why="" if is_other else changes,
        also="; ".join(also),
        signature=record.signature or None,
        has_signature=not changed,
    )
