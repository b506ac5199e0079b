"""Supervised training of a model over a channel, as a job: to a target or for a number of updates."""

from collections.abc import Sequence
from typing import Any

from ecsuite.agents.spec import Role
from ecsuite.eval.icy.batches import Run
from ecsuite.eval.icy.channels import SupervisedChannel
from ecsuite.eval.icy.protocol import Protocol
from ecsuite.grammars.geometry import Geometry
from ecsuite.grammars.icy import VERSION as GRAMMARS_VERSION
from ecsuite.jobs.runner import Job, ProgressCallback

VERSION = 1
"""Increased whenever training with the same inputs would give different results than before."""

EXPECTED_STEPS = 1000
"""Estimated number of updates for CONCAT; affects only the ETA."""


def training_job(
    *,
    model: str,
    role: Role,
    geometry: Geometry,
    runs: Sequence[Run],
    protocol: Protocol,
    link: SupervisedChannel,
    device: str,
    keeps_weights: bool = False,
) -> Job:
    """Make the job that trains one model on some runs; its result is that of `train_supervised`."""
    inputs = {
        "model": model,
        "role": role,
        "geometry": geometry,
        "runs": runs,
        "protocol": protocol,
        "channel": str(link),
        "device": device,
        "keeps_weights": keeps_weights,
    }
    key = {
        "what": "teaching",
        "model": model,
        "role": role,
        "geometry": str(geometry),
        "grammars": GRAMMARS_VERSION,
        "runs": [[run.grammar, run.seed, run.cap] for run in runs],
        "protocol": protocol.signature(),
        "channel": link.signature,
        "device": device,
        "weights": keeps_weights,
        "version": VERSION,
    }
    work = sum(_expected(run, protocol) for run in runs)
    return Job(function=train_supervised, inputs=inputs, key=key, work=work)


def train_supervised(
    *,
    model: str,
    role: Role,
    geometry: Geometry,
    runs: Sequence[Run],
    protocol: Protocol,
    channel: str,
    device: str,
    keeps_weights: bool,
    report_progress: ProgressCallback,
) -> list[dict[str, Any]]:
    """Train a model; returns for each run seed, steps, reached, accuracy, floor, held_out, and weights if requested."""
    import torch

    from ecsuite.eval.icy.acquisition import learn
    from ecsuite.eval.icy.weights import pack

    ends = [_expected(run, protocol) for run in runs]

    def report_run(index: int, updates: int, accuracy: float) -> None:
        label = f"{model} {runs[index].grammar} {runs[index].seed} {accuracy:.2f}"
        report_progress(label, min(1.0, updates / ends[index]))

    outcomes = learn(
        model,
        role,
        geometry,
        runs,
        protocol,
        channel=channel,
        device=torch.device(device),
        report_progress=report_run,
    )
    kept = ("seed", "steps", "reached", "accuracy", "floor", "held_out")
    return [
        {key: getattr(outcome, key) for key in kept}
        | ({"weights": pack(outcome.weights)} if keeps_weights else {})
        for outcome in outcomes
    ]


def _expected(run: Run, protocol: Protocol) -> int:
    """Estimated number of updates of a run."""
    return (
        EXPECTED_STEPS
        if run.cap is None
        else run.cap
        if protocol.target is None
        else min(run.cap, EXPECTED_STEPS)
    )
