"""What came out of a study: cross-entropies by seed and target."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ecsuite.eval.xferbench.jobs import plan
from ecsuite.eval.xferbench.study import Study
from ecsuite.jobs.graph import Runner
from ecsuite.jobs.job import Job, Result
from ecsuite.runtime.errors import DivergedError


@dataclass(frozen=True, kw_only=True, slots=True)
class XferBenchResult:
    """Results of the seeds that have a score."""

    tuned: Mapping[int, Mapping[str, Mapping[str, Any]]]
    """By seed and target, what `jobs.tune_and_test` returned."""
    pretrained: Mapping[str, Any]
    """What `jobs.pretrain` returned for the first of these seeds."""
    failures: Mapping[int, str] = field(default_factory=dict)
    """By seed, why it has no score: its pretraining or one of its targets failed."""

    @property
    def by_seed(self) -> dict[int, dict[str, float]]:
        """By seed, the cross-entropy on the held-out text of each target, nats per token."""
        return {
            seed: {name: value["cross_entropy"] for name, value in values.items()}
            for seed, values in self.tuned.items()
        }

    @property
    def not_compiled(self) -> str | None:
        """Why a model was not compiled that was to be; None: there is none."""
        values = [self.pretrained, *(value for values in self.tuned.values() for value in values.values())]
        return next((value["not_compiled"] for value in values if "not_compiled" in value), None)

    @property
    def means(self) -> list[float]:
        """The XferBench score of each seed."""
        return [float(np.mean(list(values.values()))) for values in self.by_seed.values()]


def collect(study: Study, results: Mapping[Job, Result]) -> XferBenchResult:
    """The result of a study from those of its jobs.

    Args:
        study: What was asked.
        results: The results of the jobs of `plan`.

    Raises:
        DivergedError: If no seed has a score.
    """
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


def measure(study: Study, runner: Runner) -> XferBenchResult:
    """Run a study.

    Raises:
        ConfigError: If a text is too short, or a corpus does not fit the protocol.
        DivergedError: If no seed has a score.
    """
    return collect(study, runner.run(list(plan(study).values())))
