"""How the jobs of a study compute, and what they tell while they train."""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import torch

from ecsuite.devices import PRECISIONS, computing
from ecsuite.eval.learning.checkpoints import Checkpoint
from ecsuite.eval.learning.encoders import Backbone
from ecsuite.jobs.job import Context, Job, Resources


@dataclass(frozen=True, kw_only=True, slots=True)
class Machine:
    """How a job computes; results depend on it."""

    device: str
    """cpu or cuda."""
    precision: str
    """bf16 or fp32."""
    num_threads: int
    """Threads of products on the CPU."""

    @property
    def place(self) -> torch.device:
        """The device."""
        return torch.device(self.device)

    def computing(self, seed: int) -> AbstractContextManager[None]:
        """See `ecsuite.devices.computing`."""
        return computing(self.place, self.precision, seed=seed, num_threads=self.num_threads)

    def prepared(self, backbone: Backbone) -> None:
        """Let a backbone compute in the precision."""
        backbone.products = PRECISIONS[self.precision]


def resources_of(*, machine: Machine, **_: Any) -> Resources:
    """What a job needs, from its inputs."""
    num_gpus = int(machine.device == "cuda")
    return Resources(num_threads=machine.num_threads, memory=4.0, num_gpus=num_gpus)


def backbone_name(*, pretrained: Job | None, seed: int | None = None, **_: Any) -> str:
    """The backbone of a job and its seed, for people."""
    if pretrained is not None:
        return f"{pretrained.inputs['name']}, seed {pretrained.inputs['seed']}"
    return "published model" if seed is None else f"published model, seed {seed}"


def followed(context: Context, label: str, *, share: float = 1.0) -> dict[str, Any]:
    """What every training is given to report its progress, to save its state, and to stop.

    Args:
        context: See `Context`.
        label: What is trained.
        share: The share of the job that the training is.
    """
    return {
        "report_progress": lambda done: context.report_progress(label, share * done),
        "checkpoint": Checkpoint(file=context.scratch / "training.safetensors"),
        "should_stop": context.should_stop,
    }
