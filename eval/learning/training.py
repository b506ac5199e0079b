"""The training loop of all models that learn a corpus, and its schedules of the learning rate."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from ecsuite.eval.learning.checkpoints import Checkpoint, Generator, Position, Saver, set_states, states_of
from ecsuite.eval.learning.gpt2 import LanguageModel
from ecsuite.eval.learning.needed_resources import require_training
from ecsuite.jobs.job import Stopped
from ecsuite.runtime.compiler import take_step
from ecsuite.runtime.devices import global_generators
from ecsuite.runtime.errors import DivergedError
from ecsuite.runtime.graphs import Outputs
from ecsuite.runtime.recording import Recorded

CHECK_EVERY = 50
"""Updates between two checks that the loss is finite; each check synchronises with the device."""
COMPILED_WIDTH = 512
"""Minimum width of models that are compiled on a GPU."""

BUCKET = 16
"""On CUDA, batches are padded to multiples of this length."""

Batch = TypeVar("Batch")


@dataclass(frozen=True, kw_only=True, slots=True)
class Followed:
    """How a training is followed; nothing of it changes the result."""

    report_progress: Callable[[float], None] = lambda share: None
    """Called after every update with the share that is done, 0 to 1."""
    checkpoint: Checkpoint | None = None
    """Where the state is saved; None saves nothing."""
    should_stop: Callable[[], object] = lambda: False
    """Asked after every update; true ends the training, with a checkpoint."""


UNFOLLOWED = Followed()
"""Nobody is told, and nothing is saved."""


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
    followed: Followed = UNFOLLOWED,
) -> None:
    """Train parameters in place: AdamW, gradients clipped to norm 1.

    A training that was stopped or killed goes on from its checkpoint when it is called again with the same arguments
    and the same initial weights, and ends with the weights of an uninterrupted one. On CUDA, the updates of batches of
    the same shapes are one graph; see `Recorded`.

    Args:
        parameters: The parameters to train.
        draw_epoch: Draws the batches of the next epoch, in their order; may be called again for the same epoch.
        inputs_of: The tensors of a batch, on the device; those of one shape should be many.
        loss_of: The loss of these tensors, on which alone it depends, besides weights and generators of the device.
        total: Units of data to train on; training ends with the batch that reaches it.
        lr: Maximum learning rate.
        schedule: From the units done to the factor of the learning rate.
        weight_decay: Weight decay of AdamW.
        generators: All generators from which `draw_epoch` and `inputs_of` draw, besides torch's global ones.
        size_of: Units of data of a batch; by default one, so that `total` is the number of updates.
        decays_vectors: Whether the weight decay also applies to vectors, that is biases and normalisation.
        is_compiled: Whether the loss is compiled.
        followed: Who is told, where the state is saved, and when to stop.

    Raises:
        ConfigError: If it does not fit into the memory, or its checkpoint on the disk.
        DivergedError: If the loss or the final weights are not finite.
        Stopped: If the training was asked to stop before its end.
    """
    parameters = list(parameters)
    require_training(parameters, None if followed.checkpoint is None else followed.checkpoint.file.parent)
    decayed = [each for each in parameters if each.dim() > 1 or decays_vectors]
    others = [each for each in parameters if each.dim() <= 1 and not decays_vectors]
    groups: list[dict[str, Any]] = [{"params": decayed}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(
        [group for group in groups if group["params"]], lr=lr, weight_decay=weight_decay, fused=True
    )
    device, recorded = parameters[0].device, Recorded(optimizer, is_surveyed=not is_compiled)
    # A graph would keep a rate that is not on the device.
    rate = torch.zeros((), device=device) if device.type == "cuda" else None
    # Only checkpoints need their states.
    generators = [] if followed.checkpoint is None else [*generators, *global_generators(device)]
    position, saver = Position(), None
    if followed.checkpoint is not None:
        identity = {"total": total, "lr": lr, "weight_decay": weight_decay, "generators": len(generators)}
        saver = Saver(followed.checkpoint, identity, parameters, optimizer)
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
            followed.report_progress(min(1.0, position.done / total))
            is_stopped = not is_last and bool(followed.should_stop())
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
    """Factor of the learning rate: rises linearly over `warmup` updates, then falls linearly to 0."""
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
    """The length to which a batch is padded: on CUDA longer than it is, so that there are few, with a graph each."""
    return length if device.type != "cuda" else max(length, min(most, -(-length // BUCKET) * BUCKET))


def compile_if_wide(
    model: LanguageModel, width: int, device: torch.device, losses: Sequence[Callable[[], Tensor]]
) -> str | None:
    """Compile the loss of a model in place, if it is wide enough for this to pay, on CUDA; if that fails, it is not.

    Args:
        model: The model, without gradients.
        width: Of its hidden states.
        device: Where it is.
        losses: The loss of a batch of each size, with which the compilation is tried; nothing of them is left.

    Returns:
        Why it is not compiled; None if it is, or there was no reason to.
    """
    if device.type != "cuda" or width < COMPILED_WIDTH:
        return None
    model.compiled_loss = torch.compile(model.whole_loss, dynamic=False)
    try:
        with torch.random.fork_rng(devices=[device], device_type="cuda"):
            for loss in losses:
                loss().backward()
    except torch.OutOfMemoryError:
        raise
    except Exception as error:  # compilers raise errors of many classes
        model.compiled_loss = None
        return f"{type(error).__name__}: {' '.join(str(error).split()):.200}"
    finally:
        model.zero_grad(set_to_none=True)
    return None
