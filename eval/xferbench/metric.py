"""XferBench as a metric of a corpus, and as the score of a source that generates a corpus for each seed.

A study results in cross-entropies by seed and target; the score has their mean, a signature and details.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics.computing import parts_of
from ecsuite.eval.metrics.conclusions import limits_of
from ecsuite.eval.metrics.score import Options, Score, Signature
from ecsuite.eval.metrics.traits import metric
from ecsuite.eval.xferbench.presets import PRESETS, PROTOCOLS, USUAL, XFERBENCH, XferBenchOptions
from ecsuite.eval.xferbench.texts import Text, TextFile, choose_texts, fingerprint, preset_folder
from ecsuite.jobs.graph import Runner
from ecsuite.runtime.errors import ConfigError, DivergedError, look_up

if TYPE_CHECKING:
    from ecsuite.eval.xferbench.jobs import Corpora, XferBenchStudy
    from ecsuite.jobs.job import Job, Result

MAX_SEED = 2**31 - 1
"""Maximum seed: seeds of fine-tuning with at most 63 bits are derived from it."""


@metric(XFERBENCH)
def xferbench(
    corpus: Corpus, options: Options, own: XferBenchOptions = USUAL, *, runner: Runner
) -> list[Score]:
    """Score a corpus by XferBench at a preset.

    The score is the mean over targets and seeds. It has no interval over the targets, because their levels differ;
    `ecsuite compare` computes intervals of differences. A seed whose training diverged is left out, and named in the
    details; if no seed is left, the value is None.

    Raises:
        ConfigError: If the preset, the protocol or the device is unknown, or the texts cannot be used.
    """
    if len(corpus.messages.values) == 0:
        return [report(study_of(corpus, options, own), None, "the corpus has no symbols to learn from")]
    return [score_source(corpus, options, own, runner)]


def score_source(
    corpus: "Corpora", options: Options, own: XferBenchOptions = USUAL, runner: Runner | None = None
) -> Score:
    """Score a corpus, a corpus for each seed, or, for None, the model without pretraining.

    Raises:
        ConfigError: See `xferbench`.
    """
    study = study_of(corpus, options, own)
    try:
        return report(study, measure(study, runner or Runner()))
    except DivergedError as error:
        return report(study, None, str(error))


def jobs_of(corpus: Corpus, options: Options, own: XferBenchOptions = USUAL) -> "list[Job]":
    """The scoring jobs of a corpus, for several speakers per speaker; none for a corpus without symbols.

    Raises:
        ConfigError: See `xferbench`.
    """
    from ecsuite.eval.xferbench.jobs import plan

    return [
        job
        for part in parts_of(corpus)
        if len(part.messages.values)
        for job in plan(study_of(part, options, own)).values()
    ]


def study_of(corpus: "Corpora", options: Options, own: XferBenchOptions = USUAL) -> "XferBenchStudy":
    """The study of a corpus, or of a corpus for each seed, from options of all metrics and of XferBench.

    Raises:
        ConfigError: See `xferbench`.
    """
    from ecsuite.eval.xferbench.jobs import make_study

    if options.seed + own.num_seeds - 1 > MAX_SEED:
        raise ConfigError(
            f"num_seeds={own.num_seeds}: expected seeds of at most {MAX_SEED:,}, starting at {options.seed}"
        )
    return make_study(
        corpus,
        texts_of(own),
        PRESETS[own.preset],
        range(options.seed, options.seed + own.num_seeds),
        protocol=own.protocol,
        device=options.device,
    )


def texts_of(own: XferBenchOptions) -> list[Text]:
    """The target texts of options, from the folder or of the preset.

    Raises:
        ConfigError: If there is no such preset or folder, it lacks a text, or a text is empty.
    """
    preset = look_up("preset", own.preset, PRESETS)
    texts = choose_texts(preset_folder(Path(own.targets) if own.targets else None, preset), preset)
    for text in texts:
        if isinstance(text, TextFile):
            text.require_text()
    return texts


def own_options(name: str) -> XferBenchOptions:
    """Validate the options after the name of XferBench or of a source: `xferbench,preset=danish,num_seeds=3`.

    Raises:
        ConfigError: If an option is unknown or out of bounds; see also `texts_of`.
    """
    from ecsuite.eval.metrics import METRICS
    from ecsuite.parts.own_functions import options_in

    own: XferBenchOptions = options_in(METRICS, name, XferBenchOptions)
    look_up("protocol", own.protocol, PROTOCOLS)
    texts_of(own)
    return own


@dataclass(frozen=True, kw_only=True, slots=True)
class XferBenchResult:
    """Results of the seeds that have a score."""

    tuned: Mapping[int, Mapping[str, Mapping[str, Any]]]
    """Values of `jobs.tune_and_test`, by seed and target."""
    pretrained: Mapping[str, Any]
    """Value of `jobs.pretrain` for the first of these seeds."""
    failures: Mapping[int, str] = field(default_factory=dict)
    """Reason for a missing score, by seed: pretraining or a target failed."""

    @property
    def by_seed(self) -> dict[int, dict[str, float]]:
        """Cross-entropy on the held-out text by seed and target, nats per token."""
        return {
            seed: {name: value["cross_entropy"] for name, value in values.items()}
            for seed, values in self.tuned.items()
        }

    @property
    def not_compiled(self) -> str | None:
        """Reason why a model could not be compiled; None if all models were compiled."""
        values = [self.pretrained, *(value for values in self.tuned.values() for value in values.values())]
        return next((value["not_compiled"] for value in values if "not_compiled" in value), None)

    @property
    def means(self) -> list[float]:
        """The XferBench score of each seed."""
        return [float(np.mean(list(values.values()))) for values in self.by_seed.values()]


def collect(study: "XferBenchStudy", results: "Mapping[Job, Result]") -> XferBenchResult:
    """Collect the result of a study from the results of its jobs.

    Args:
        study: The study.
        results: The results of the jobs of `plan`.

    Raises:
        DivergedError: If no seed has a score.
    """
    from ecsuite.eval.xferbench.jobs import plan

    jobs = plan(study)
    failures: dict[int, str] = {}
    for (seed, *_), job in jobs.items():
        reason = results[job].failure
        if reason is not None:
            failures.setdefault(seed, f"{job.label}: {reason}")
    seeds = [seed for seed in study.corpora if seed not in failures]
    if not seeds:
        raise DivergedError(next(iter(failures.values())))
    return XferBenchResult(
        tuned={
            seed: {text.name: results[jobs[seed, text.name]].value for text in study.texts} for seed in seeds
        },
        pretrained=results[jobs[seeds[0],]].value,
        failures=failures,
    )


def measure(study: "XferBenchStudy", runner: Runner) -> XferBenchResult:
    """Run a study.

    Raises:
        ConfigError: If a text is too short, or a corpus does not fit the protocol.
        DivergedError: If no seed has a score.
    """
    from ecsuite.eval.xferbench.jobs import plan

    return collect(study, runner.run(list(plan(study).values())))


ABOUT_EMBEDDED = "transfer to human-like languages, lower is better"
REDUCED = "nats per BPE token at a reduced size; not comparable with published XferBench scores"


def report(study: "XferBenchStudy", result: XferBenchResult | None, reason: str | None = None) -> Score:
    """The score of a study.

    Args:
        study: The study.
        result: Its result; None if there is no score.
        reason: Reason for a missing score.
    """
    preset, protocol = study.preset, PROTOCOLS[study.protocol]
    line = Signature.of(
        XFERBENCH.name,
        XFERBENCH.version,
        preset=preset.name,
        protocol=protocol.name,
        targets="embedded" if study.is_embedded else fingerprint(study.texts),
        passes=_passes(study),
        seeds=_seeds(list(study.corpora if result is None else result.tuned)),
        precision=study.machine.precision,
    )
    details: dict[str, Any] = {"preset": preset.name, "protocol": protocol.name}
    details |= {"note": REDUCED} if preset.is_reduced else {}
    limits = limits_of(line)
    details |= {"limits": limits} if limits else {}
    failures = {} if result is None else result.failures
    warnings = [protocol.warning] if protocol.warning else []
    warnings += [f"left out: {reason}" for reason in failures.values()]
    if result is not None and result.not_compiled is not None:
        warnings.append(f"torch could not compile the models, so training was slower ({result.not_compiled})")
    details |= {"warning": "; ".join(warnings)} if warnings else {}
    details |= {"failed": {str(seed): reason for seed, reason in failures.items()}} if failures else {}
    details |= {} if result is None else _figures(study, result)
    return Score(
        name=XFERBENCH.name,
        value=None if result is None else float(np.mean(result.means)),
        reason=reason,
        about=ABOUT_EMBEDDED if study.is_embedded else XFERBENCH.about,
        signature=line,
        details=details,
    )


def _figures(study: "XferBenchStudy", result: XferBenchResult) -> dict[str, Any]:
    """Details of a defined score."""
    preset, by_seed = study.preset, result.by_seed
    tuned = next(iter(result.tuned.values()))  # sizes of data do not depend on the seed
    repeated = {name: round(value["repeats"], 4) for name, value in tuned.items() if value["repeats"] > 1}
    details: dict[str, Any] = {
        "by_target": {name: float(np.mean([run[name] for run in by_seed.values()])) for name in tuned},
        "by_seed": [
            {"seed": seed, "value": mean, "by_target": values}
            for (seed, values), mean in zip(by_seed.items(), result.means, strict=True)
        ],
        "repeats": round(result.pretrained["repeats"], 4),
        "pretrain_tokens": preset.pretrain_tokens * preset.pretrain_epochs,
        "tune_tokens": preset.tune_tokens * preset.tune_epochs,
        "test_tokens": {name: value["test_tokens"] for name, value in tuned.items()},
        "parameters": result.pretrained["parameters"],
    }
    details |= {"text_repeats": repeated} if repeated else {}
    details |= {"reference": dict(preset.reference)} if preset.reference and study.is_embedded else {}
    return details


def _passes(study: "XferBenchStudy") -> str:
    """Passes over the shortest corpus per epoch: 2.27; 1 if no symbol is read twice, as without pretraining."""
    whole = study.preset.pretrain_tokens
    sizes = [len(corpus.messages.values) for corpus in study.corpora.values() if corpus is not None]
    return f"{whole / max(1, min([whole, *sizes])):.2f}".rstrip("0").rstrip(".")


def _seeds(seeds: Sequence[int]) -> str:
    """Seeds in a signature: 0, 0-2 or 0,2."""
    if len(seeds) > 1 and list(seeds) == list(range(seeds[0], seeds[-1] + 1)):
        return f"{seeds[0]}-{seeds[-1]}"
    return ",".join(map(str, seeds))
