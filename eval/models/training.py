"""The training of all models that learn a corpus: machine, checkpoints, training loop, learning rate schedules.

A checkpoint has everything that a killed training needs to continue bit-identically: the trained parameters, the state
of the optimizer, the position in the data, and the states of all generators, both current and before the current epoch
was drawn, so that its order can be drawn again.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from ecsuite.files.disk_space import require_space
from ecsuite.files.tensor_files import optimizer_tensors, read_tensors, restore_optimizer, write_tensors
from ecsuite.jobs.job import Context, Resources, Stopped
from ecsuite.runtime.compiler import take_step
from ecsuite.runtime.devices import PRECISIONS, choose_device, choose_precision, computing, global_generators
from ecsuite.runtime.errors import ConfigError, DamagedError, DivergedError
from ecsuite.runtime.graphs import Outputs
from ecsuite.runtime.memory import free_memory, size_text
from ecsuite.runtime.recording import Recorded

FULL_THREADS = 8
"""CPU threads of models of the papers' sizes; reduced models use one thread."""
BYTES_PER_WEIGHT = 12
"""Bytes per parameter: gradient and two moments in memory; the parameter and its moments in a checkpoint."""

CHECKPOINT_SECONDS = 60.0
"""Default seconds between checkpoints."""
MAX_COST = 0.03
"""Maximum share of the time for checkpoints; large models are saved less often."""

MOMENTS = ("before_epoch", "now")
"""Fields of `Position` with generator states."""

CHECK_EVERY = 50
"""Updates between two checks that the loss is finite; each check synchronises with the device."""
BUCKET = 16
"""On CUDA, batches are padded to multiples of this length."""

Batch = TypeVar("Batch")
Generator = torch.Generator | np.random.Generator


@dataclass(frozen=True, kw_only=True, slots=True)
class Machine:
    """Device, precision and threads of a study, which can change the last digits of a result."""

    device: Literal["cpu", "cuda", "mps"]
    """Device of the model."""
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
            ConfigError: If the device is unknown or not available.
        """
        place = choose_device(device)
        return cls(
            device=place.type,  # type: ignore[arg-type]
            precision=choose_precision(precision, place),  # type: ignore[arg-type]
            num_threads=1 if is_reduced else FULL_THREADS,
        )

    @property
    def place(self) -> torch.device:
        """Device of the model."""
        return torch.device(self.device)

    @property
    def dtype(self) -> torch.dtype:
        """Type of activations."""
        return PRECISIONS[self.precision]

    @contextmanager
    def computing(self, seed: int) -> Iterator[None]:
        """Set device settings and seed torch's global generators; both are restored on exit."""
        with computing(self.place, self.precision, seed=seed, num_threads=self.num_threads):
            yield


def training_resources(*, machine: Machine, **_: Any) -> Resources:
    """Resources of a job that trains a model."""
    return Resources(num_threads=machine.num_threads, memory=4.0, num_gpus=int(machine.device != "cpu"))


@dataclass(frozen=True, kw_only=True, slots=True)
class Checkpoint:
    """File in which a training saves its state, and the interval."""

    file: Path
    """The file; a missing folder is created."""
    key: str = ""
    """Identity of the training in addition to the file name; a file with another key is ignored."""
    seconds: float = CHECKPOINT_SECONDS
    """Minimum time between two checkpoints; 0: after every update."""
    note: Callable[[str], None] = lambda _: None
    """Called with a message if the file exists and cannot be used."""


@dataclass(kw_only=True, slots=True)
class Position:
    """Position of a training in its data."""

    num_updates: int = 0
    """Updates made."""
    done: int = 0
    """Units of data used, in the unit of the training's `total`."""
    num_batches: int = 0
    """Batches used in the current epoch."""
    before_epoch: list[Tensor] = field(default_factory=list)
    """States of the generators before the current epoch was drawn."""
    now: list[Tensor] = field(default_factory=list)
    """States of the generators when the position was saved."""


class Saver:
    """Saves and restores the state of a training.

    Args:
        checkpoint: File and interval.
        identity: Settings of the training, JSON values; a checkpoint of another identity is ignored.
        parameters: The trained parameters.
        optimizer: Their optimizer.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        identity: Mapping[str, Any],
        parameters: Sequence[nn.Parameter],
        optimizer: torch.optim.Optimizer,
    ) -> None:
        self.checkpoint, self.parameters, self.optimizer = checkpoint, parameters, optimizer
        shapes = [list(parameter.shape) for parameter in parameters]
        self.identity = {"key": checkpoint.key, "shapes": shapes, **identity}
        self._next = time.monotonic() + checkpoint.seconds

    @property
    def is_due(self) -> bool:
        """Whether a checkpoint is due."""
        return time.monotonic() >= self._next

    def save(self, position: Position) -> None:
        """Write a checkpoint atomically in place of the previous one."""
        began = time.monotonic()
        tensors: dict[str, Tensor] = {
            f"parameter.{index}": each for index, each in enumerate(self.parameters)
        }
        tensors |= optimizer_tensors(self.optimizer)
        for moment in MOMENTS:
            states = getattr(position, moment)
            tensors |= {f"{moment}.{index}": state for index, state in enumerate(states)}
        counts = [position.num_updates, position.done, position.num_batches]
        values = {"training": self.identity, "torch": torch.__version__, "counts": counts}
        self.checkpoint.file.parent.mkdir(parents=True, exist_ok=True)
        write_tensors(self.checkpoint.file, tensors, values)
        ended, seconds = time.monotonic(), self.checkpoint.seconds
        self._next = ended + (max(seconds, (ended - began) / MAX_COST) if seconds else 0.0)

    @torch.no_grad()
    def restore(self) -> Position | None:
        """Load the saved state into parameters and optimizer; None, with a note, if there is no usable checkpoint."""
        file = self.checkpoint.file
        if not file.is_file():
            return None
        try:
            tensors, values = read_tensors(file)
            if values.get("torch") != torch.__version__:
                raise DamagedError("it was written by another version of torch")
            if values.get("training") != self.identity:
                raise DamagedError("it belongs to another training")
            position = self._checked_position(tensors, values)
        except (DamagedError, OSError) as error:
            self.checkpoint.note(f"{file}: not a usable checkpoint ({error}); the training starts again")
            return None
        for index, parameter in enumerate(self.parameters):
            parameter.copy_(tensors[f"parameter.{index}"])
        restore_optimizer(self.optimizer, tensors)
        return position

    def _checked_position(self, tensors: Mapping[str, Tensor], values: Mapping[str, Any]) -> Position:
        """Validate a checkpoint and return its position; raises `DamagedError` if it is incomplete or does not fit."""
        optimized = [parameter for group in self.optimizer.param_groups for parameter in group["params"]]
        owners = {"parameter": self.parameters, "optimizer": optimized}
        missing = {f"parameter.{index}" for index in range(len(self.parameters))}.difference(tensors)
        try:
            for name, tensor in tensors.items():
                owner, index, *key = name.split(".")
                if owner in owners and key != ["step"] and tensor.shape != owners[owner][int(index)].shape:
                    missing.add(name)
            num_updates, done, num_batches = map(int, values["counts"])
            states = {
                moment: [tensors[f"{moment}.{index}"] for index in range(self.identity["generators"])]
                for moment in MOMENTS
            }
        except (KeyError, IndexError, TypeError, ValueError):
            raise DamagedError("it is incomplete") from None
        if missing:
            raise DamagedError(f"{min(missing)} does not fit this training")
        return Position(num_updates=num_updates, done=done, num_batches=num_batches, **states)


def states_of(generators: Sequence[Generator]) -> list[Tensor]:
    """The states of generators as bytes."""
    return [
        generator.get_state()
        if isinstance(generator, torch.Generator)
        else torch.tensor(list(json.dumps(generator.bit_generator.state).encode()), dtype=torch.uint8)
        for generator in generators
    ]


def set_states(generators: Sequence[Generator], states: Sequence[Tensor]) -> None:
    """Set the states of generators to those that `states_of` returned."""
    for generator, state in zip(generators, states, strict=True):
        if isinstance(generator, torch.Generator):
            generator.set_state(state)
        else:
            generator.bit_generator.state = json.loads(bytes(state.tolist()))


@dataclass(frozen=True, kw_only=True, slots=True)
class Callbacks:
    """Progress, checkpoint and stop request of a training; they do not change the result."""

    report_progress: Callable[[float], None] = lambda share: None
    """Called after every update with the completed share, 0 to 1."""
    checkpoint: Checkpoint | None = None
    """The checkpoint of the state; None: no checkpoints."""
    should_stop: Callable[[], object] = lambda: False
    """Called after every update; true ends the training, with a checkpoint."""


NO_CALLBACKS = Callbacks()
"""No progress reports, no checkpoint, no stop."""


def job_callbacks(context: Context, label: str, *, share: float = 1.0) -> Callbacks:
    """Callbacks of a training in a job.

    Args:
        context: Context of the job.
        label: Name of the training in progress lines.
        share: Share of the job that this training takes, as its first part, 0 to 1.
    """
    return Callbacks(
        report_progress=lambda done: context.report_progress(label, share * done),
        checkpoint=Checkpoint(
            file=context.scratch / "training.safetensors",
            note=lambda text: context.report_progress(text, 0.0),
        ),
        should_stop=context.should_stop,
    )


def require_training(parameters: Sequence[Tensor], folder: Path | None) -> None:
    """Reject a training whose gradients and moments exceed the free memory, or whose checkpoint exceeds the disk.

    Args:
        parameters: The trained parameters, whose own memory is already allocated. Memory is checked on the CPU only.
        folder: Folder of the checkpoints; None: no checkpoints.

    Raises:
        ConfigError: If it does not fit; the message has the required and the free size, and the options to change.
    """
    num_weights = sum(parameter.numel() for parameter in parameters)
    needed = BYTES_PER_WEIGHT * num_weights
    if parameters[0].device.type == "cpu" and needed > (free := free_memory()):
        raise ConfigError(
            f"the training of {num_weights:,} weights needs at least {size_text(needed)} of memory, "
            f"but {size_text(free)} are free: choose a smaller --preset, or fewer processes by --workers"
        )
    if folder is not None:
        require_space(needed, folder, "for a checkpoint")


def train(
    parameters: Sequence[nn.Parameter],
    draw_epoch: Callable[[], Sequence[Batch]],
    inputs_of: Callable[[Batch], Sequence[Tensor]],
    loss_of: Callable[..., Tensor],
    *,
    total: int,
    lr: float,
    schedule: Callable[[int], float],
    weight_decay: float,
    generators: Sequence[Generator],
    size_of: Callable[[Batch], int] = lambda _: 1,
    decays_vectors: bool = True,
    is_compiled: bool = False,
    callbacks: Callbacks = NO_CALLBACKS,
) -> None:
    """Train parameters in place with AdamW, and gradients clipped to norm 1.

    A training that was stopped or killed continues from its checkpoint when it is called again with the same arguments
    and the same initial weights, and ends with the weights of an uninterrupted training. On CUDA, updates of batches
    with the same shapes use one graph; see `Recorded`.

    Args:
        parameters: The parameters to train.
        draw_epoch: Draws the batches of the next epoch, in their order; may be called again for the same epoch.
        inputs_of: Returns the tensors of a batch on the device; few different shapes are faster.
        loss_of: Returns the loss of these tensors; depends only on them, the weights and the generators of the device.
        total: Units of data to train on; training ends with the batch that reaches it.
        lr: Maximum learning rate.
        schedule: Factor of the learning rate as a function of the units done.
        weight_decay: Weight decay of AdamW.
        generators: Generators of `draw_epoch` and `inputs_of`, in addition to torch's global generators.
        size_of: Units of data of a batch; by default one, so that `total` is the number of updates.
        decays_vectors: Whether the weight decay also applies to vectors (biases and normalisation).
        is_compiled: Whether the loss is compiled.
        callbacks: Progress, checkpoint and stop request.

    Raises:
        ConfigError: If memory or disk space for the checkpoint is insufficient.
        DivergedError: If the loss or the final weights are not finite.
        Stopped: If `should_stop` ended the training.
    """
    parameters = list(parameters)
    require_training(parameters, None if callbacks.checkpoint is None else callbacks.checkpoint.file.parent)
    decayed = [each for each in parameters if each.dim() > 1 or decays_vectors]
    others = [each for each in parameters if each.dim() <= 1 and not decays_vectors]
    groups: list[dict[str, Any]] = [{"params": decayed}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(
        [group for group in groups if group["params"]], lr=lr, weight_decay=weight_decay, fused=True
    )
    device, recorded = parameters[0].device, Recorded(optimizer, is_surveyed=not is_compiled)
    # A graph would record the rate as a constant if it were not on the device.
    rate = torch.zeros((), device=device) if device.type == "cuda" else None
    # Only checkpoints need their states.
    generators = [] if callbacks.checkpoint is None else [*generators, *global_generators(device)]
    position, saver = Position(), None
    if callbacks.checkpoint is not None:
        identity = {"total": total, "lr": lr, "weight_decay": weight_decay, "generators": len(generators)}
        saver = Saver(callbacks.checkpoint, identity, parameters, optimizer)
        restored = saver.restore()
        if restored is not None:
            position = restored
            set_states(generators, position.now)

    def update(*inputs: Tensor) -> Outputs:
        loss = loss_of(*inputs)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, 1.0)
        take_step(optimizer)
        return {"loss": loss.detach()}, ()

    while position.done < total:
        if position.num_batches == 0:
            position.before_epoch = states_of(generators)
            batches = draw_epoch()
        else:
            # A restored position within an epoch.
            set_states(generators, position.before_epoch)
            batches = draw_epoch()
            set_states(generators, position.now)
        for batch in batches[position.num_batches :]:
            size = size_of(batch)
            is_last = position.done + size >= total
            present, inputs = lr * schedule(position.done), inputs_of(batch)
            for group in optimizer.param_groups:
                group["lr"] = present if rate is None else rate
            if rate is None:
                figures, _ = update(*inputs)
            else:
                rate.fill_(present)
                figures, _ = recorded(tuple(each.shape for each in inputs), update, inputs)
            loss = figures["loss"]
            if (position.num_updates % CHECK_EVERY == 0 or is_last) and not torch.isfinite(loss):
                raise DivergedError(
                    f"the loss is {loss.item()} at update {position.num_updates + 1}, "
                    f"after {position.done / total:.0%} of the training"
                )
            position.num_updates += 1
            position.num_batches += 1
            position.done += size
            callbacks.report_progress(min(1.0, position.done / total))
            is_stopped = not is_last and bool(callbacks.should_stop())
            if saver is not None and (is_stopped or saver.is_due):
                position.now = states_of(generators)
                saver.save(position)
            if is_stopped:
                raise Stopped
            if is_last:
                break
        position.num_batches = 0
    if not all(bool(parameter.isfinite().all()) for parameter in parameters):
        raise DivergedError("the weights are not finite after the last update")


def rate_by_update(update: int, num_updates: int, warmup: int) -> float:
    """Factor of the learning rate, which rises linearly over `warmup` updates, then falls linearly to 0."""
    rising = (update + 1) / warmup if update < warmup else 1.0
    falling = (num_updates - update) / max(1, num_updates - warmup)
    return min(rising, falling, 1.0)


def rate_by_share(done: float, warmup: float) -> float:
    """Factor of the learning rate when the share `done` of the training is done.

    Linear warm-up until the share `warmup`, then linear decay to 0. The warm-up starts at 0.01, as a step with a
    learning rate of 0 has no effect.
    """
    rise = 1.0 if warmup == 0 else min(1.0, 0.01 + done / warmup)
    return min(rise, max(0.0, (1 - done) / (1 - warmup)))


def bucketed(length: int, most: int, device: torch.device) -> int:
    """Padded length of a batch: on CUDA a multiple of `BUCKET`, to limit the number of shapes and graphs."""
    return length if device.type != "cuda" else max(length, min(most, -(-length // BUCKET) * BUCKET))
