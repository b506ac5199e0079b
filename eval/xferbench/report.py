"""The score of a study: value, signature and details."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ecsuite.eval.metrics.conclusions import limits_of
from ecsuite.eval.metrics.score import Score, signature
from ecsuite.eval.xferbench.protocols import PROTOCOLS
from ecsuite.eval.xferbench.result import XferBenchResult
from ecsuite.eval.xferbench.study import Study
from ecsuite.eval.xferbench.texts import fingerprint
from ecsuite.eval.xferbench.traits import XFERBENCH

ABOUT_EMBEDDED = "transfer to human-like languages, lower is better"
REDUCED = "nats per BPE token at a reduced size; not comparable with published XferBench scores"


def report(study: Study, result: XferBenchResult | None, reason: str | None = None) -> Score:
    """The score of a study.

    Args:
        study: What was asked.
        result: What came out; None if there is no score.
        reason: Why there is no score.
    """
    preset, protocol = study.preset, PROTOCOLS[study.protocol]
    line = signature(
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
        warnings.append(f"torch could not compile the models, which took longer ({result.not_compiled})")
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


def _figures(study: Study, result: XferBenchResult) -> dict[str, Any]:
    """The details of a score that is defined."""
    preset, by_seed = study.preset, result.by_seed
    tuned = next(iter(result.tuned.values()))  # sizes of data are the same for all seeds
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


def _passes(study: Study) -> str:
    """Passes over the shortest corpus per epoch: 2.27; 1 if no symbol is read twice, as without pretraining."""
    whole = study.preset.pretrain_tokens
    sizes = [len(corpus.messages.values) for corpus in study.corpora.values() if corpus is not None]
    return f"{whole / max(1, min([whole, *sizes])):.2f}".rstrip("0").rstrip(".")


def _seeds(seeds: Sequence[int]) -> str:
    """Seeds in a signature: 0, 0-2 or 0,2."""
    if len(seeds) > 1 and list(seeds) == list(range(seeds[0], seeds[-1] + 1)):
        return f"{seeds[0]}-{seeds[-1]}"
    return ",".join(map(str, seeds))
