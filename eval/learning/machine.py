"""What jobs that train models have in common: what they compute on, and how they are followed."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, Self

import torch

from ecsuite.eval.learning.checkpoints import Checkpoint
from ecsuite.eval.learning.training import Followed
from ecsuite.jobs.job import Context, Resources
from ecsuite.runtime.devices import PRECISIONS, choose_device, choose_precision, computing

FULL_THREADS = 8
"""Threads of models of the papers' sizes on the CPU; reduced ones have one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Machine:
    """Settings of a computation that can change the last digits of its result; fixed when a study is made."""

    device: Literal["cpu", "cuda", "mps"]
    """Where the model is."""
    precision: Literal["bf16", "fp32"]
    """Precision of matrix products and activations."""
    num_threads: int
    """Threads of products on the CPU."""

    @classmethod
    def chosen(cls, device: str, precision: str, *, is_reduced: bool) -> Self:
        """The machine of a study.

        Args:
            device: auto, cpu, cuda or mps.
            precision: auto, bf16 or fp32.
            is_reduced: Whether the models are smaller than the paper's.

        Raises:
            ConfigError: If the device is unknown or not there.
        """
        place = choose_device(device)
        return cls(
            device=place.type,  # type: ignore[arg-type]
            precision=choose_precision(precision, place),  # type: ignore[arg-type]
            num_threads=1 if is_reduced else FULL_THREADS,
        )

    @property
    def place(self) -> torch.device:
        """Where the model is."""
        return torch.device(self.device)

    @property
    def dtype(self) -> torch.dtype:
        """Type of activations."""
        return PRECISIONS[self.precision]

    @contextmanager
    def computing(self, seed: int) -> Iterator[None]:
        """Compute with these settings and torch's global generators seeded; all is restored on exit."""
        with computing(self.place, self.precision, seed=seed, num_threads=self.num_threads):
            yield


def training_resources(*, machine: Machine, **_: Any) -> Resources:
    """What a job that trains a model needs."""
    return Resources(num_threads=machine.num_threads, memory=4.0, num_gpus=int(machine.device != "cpu"))


def followed(context: Context, label: str, *, share: float = 1.0) -> Followed:
    """How the training of a job is followed.

    Args:
        context: Of the job.
        label: What is trained.
        share: Of the job, 0 to 1; the rest comes after.
    """
    return Followed(
        report_progress=lambda done: context.report_progress(label, share * done),
        checkpoint=Checkpoint(
            file=context.scratch / "training.safetensors",
            note=lambda text: context.report_progress(text, 0.0),
        ),
        should_stop=context.should_stop,
    )
