"""Which runs are trained together, how long they are expected to take, and their progress."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from ecsuite.agents.spec import Role
from ecsuite.eval.icy.agents import parse_model
from ecsuite.eval.icy.protocol import Protocol
from ecsuite.eval.icy.published import CAP as PUBLISHED_CAP
from ecsuite.eval.icy.published import published_ratios
from ecsuite.grammars.geometry import Geometry
from ecsuite.jobs.job import Context, Job, Stopped, canonical

EXPECTED_STEPS = 350
"""Estimated number of updates for CONCAT to the usual target."""
EXPECTED_STEPS_HIGH = 1000
"""The same to a target of `HIGH_TARGET` or more."""
HIGH_TARGET = 0.95
EXPECTED_RATIO = {"hol": 20.0, "rot": 7.0, "shuf": 20.0, "pairsum": 10.0, "shufdet": 2.0, "proj": 2.3}
"""Estimated ratios of updates to CONCAT of models that are not in the paper; of other grammars, `USUAL_RATIO`."""
USUAL_RATIO = 1.5

UNBATCHED_FAMILIES = ("hashtable", "transformer", "sru", "sru-tanh")
"""Families whose runs are trained one at a time, but for those of `BATCHED_ON_CUDA` there."""
BATCHED_ON_CUDA = ("transformer",)
SMALL_FAMILIES = ("fc1l", "fc2l")
"""Families so small that many runs are trained in parallel."""
MOST_SMALL_RUNS = 16
"""Most runs of small families in a group: the cost depends on the number of operations rather than on their size."""
MOST_RUNS = {"fp32": 2, "tf32": 4, "bf16": 4}
"""Most runs of other families in a group, by precision: more do not fit a core's cache."""
NUM_SHOWN = 2
"""Number of runs of a group whose accuracy the progress line shows."""


def expected_steps(*, protocol: Protocol, cap: float, basis: Sequence[Any], **inputs: Any) -> float:
    """Estimated number of updates of a run; changes only the order of jobs and the time left.

    Without a target a run ends at its cap, which is a multiple of the updates of its basis if there is one.
    """
    is_high = protocol.target is None or protocol.target >= HIGH_TARGET
    steps = EXPECTED_STEPS_HIGH if is_high else EXPECTED_STEPS
    if not basis:
        return min(steps, cap)
    ratio = _expected_ratio(protocol=protocol, **inputs)
    return steps * (cap if protocol.target is None else min(ratio, cap))


def is_expected_to_fail(*, protocol: Protocol, cap: float, basis: Sequence[Any], **inputs: Any) -> bool:
    """Whether a run is expected to end at its cap: as in the paper, or as with the usual model."""
    if not basis or protocol.target is None:
        return False
    return _expected_ratio(protocol=protocol, **inputs) >= min(cap, PUBLISHED_CAP)


def _expected_ratio(
    *, model: str, role: Role, geometry: Geometry, grammar: str, protocol: Protocol, **_: Any
) -> float:
    """Updates in multiples of CONCAT's: as in the paper, or as with the usual model.

    Fewer where there are few meanings, which an agent learns by heart after it has met each a few times.
    """
    name = grammar.partition(",")[0]
    published = published_ratios(model).get(name) if role == "sender" else None
    ratio = EXPECTED_RATIO.get(name, USUAL_RATIO) if published is None else published[0]
    return min(ratio, USUAL_RATIO + geometry.num_meanings / protocol.batch_size)


def group_runs(jobs: Sequence[Job], num_free: int) -> Sequence[Sequence[Job]]:
    """Group runs of one model: as many as is efficient, but no fewer groups than free workers.

    Args:
        jobs: Of `learn_grammar`.
        num_free: Number of workers that compute nothing now.
    """
    alike: dict[str, list[Job]] = {}
    for job in jobs:
        own = ("grammar", "seed", "basis")
        common = {name: value for name, value in job.inputs.items() if name not in own}
        alike.setdefault(json.dumps(canonical(common)), []).append(job)
    return [group for same in alike.values() for group in _groups(same, num_free)]


def _groups(jobs: Sequence[Job], num_free: int) -> Iterator[Sequence[Job]]:
    inputs = jobs[0].inputs
    family = parse_model(inputs["role"], inputs["model"]).family
    is_batched = family not in UNBATCHED_FAMILIES or (
        family in BATCHED_ON_CUDA and inputs["device"] == "cuda"
    )
    if inputs["role"] == "receiver" or not is_batched or inputs["channel"] != "soft":
        yield from _batched(jobs, 1)
    elif inputs["device"] != "cpu":
        yield jobs
    elif family in SMALL_FAMILIES:
        # Of nearly equal size: a run alone takes more than twice the time that it takes in a group.
        number = max(math.ceil(len(jobs) / MOST_SMALL_RUNS), min(num_free, len(jobs)))
        ends = [len(jobs) * index // number for index in range(number + 1)]
        yield from (jobs[start:end] for start, end in pairwise(ends))
    else:
        num_seeds = len({job.inputs["seed"] for job in jobs})
        most = max(1, min(MOST_RUNS[inputs["protocol"].precision], num_seeds // num_free))
        for grammar in dict.fromkeys(job.inputs["grammar"] for job in jobs):
            yield from _batched([job for job in jobs if job.inputs["grammar"] == grammar], most)


def _batched(jobs: Sequence[Job], size: int) -> Iterator[Sequence[Job]]:
    """Split jobs into groups of a size; the last may be smaller."""
    for start in range(0, len(jobs), size):
        yield jobs[start : start + size]


class GroupProgress:
    """Reports the progress of runs that are trained together, and ends them if they are asked to stop."""

    def __init__(self, inputs: Sequence[Mapping[str, Any]], context: Context) -> None:
        self.inputs, self.context = inputs, context
        self.accuracies: dict[int, float] = {}
        self.shares: dict[int, float] = {}

    def __call__(self, index: int, updates: int, accuracy: float) -> None:
        """Note the state of a run.

        Raises:
            Stopped: If the group is asked to stop.
        """
        self.accuracies[index] = accuracy
        self.shares[index] = min(1.0, updates / expected_steps(**self.inputs[index]))
        texts = [
            f"{self.inputs[place]['grammar']} {self.inputs[place]['seed']}: {self.accuracies[place]:.2f}"
            + (" (expected not to be learnt)" if is_expected_to_fail(**self.inputs[place]) else "")
            for place in sorted(self.accuracies)
        ]
        more = f" +{len(texts) - NUM_SHOWN}" if len(texts) > NUM_SHOWN else ""
        label = f"{self.inputs[index]['model']} {' '.join(texts[:NUM_SHOWN])}{more}"
        self.context.report_progress(label, sum(self.shares.values()) / len(self.inputs))
        if self.context.should_stop():
            raise Stopped
