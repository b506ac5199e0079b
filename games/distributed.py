"""One game trained by several processes, which `torchrun` starts: each plays its share of every batch.

The gradients are averaged before the update, and so are the measures, baselines and whether to stop, so that all
processes have the same weights and decide alike. Examples and noise are those of one process (`ProcessNoise`): the
result differs by the order of sums alone. The first process writes the run folder and all messages.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, distributed, nn

from ecsuite.games.noise import ProcessNoise
from ecsuite.games.processes import is_started
from ecsuite.games.worlds.world import Batch, World
from ecsuite.runtime.errors import ConfigError


@dataclass(frozen=True, kw_only=True, slots=True)
class Processes:
    """The processes that train a game together, as one of them knows them."""

    rank: int = 0
    """The number of this one, from 0."""
    number: int = 1
    """How many there are."""

    @property
    def is_first(self) -> bool:
        """Whether this process writes the files."""
        return self.rank == 0

    def share(self, batch: Batch, noise: torch.Generator) -> tuple[Batch, torch.Generator | ProcessNoise]:
        """The rounds of a batch that this process plays, and the noise of these rounds."""
        if self.number == 1:
            return batch, noise
        size = len(batch) // self.number
        own = batch.part(self.rank * size, (self.rank + 1) * size)
        return own, ProcessNoise(generator=noise, rank=self.rank, num_processes=self.number)

    def average(self, values: Sequence[Tensor]) -> list[Tensor]:
        """Means over the processes of tensors that have the same shapes in each."""
        if self.number == 1 or not values:
            return list(values)
        flat = torch.cat([each.detach().float().reshape(-1) for each in values])
        distributed.all_reduce(flat)
        parts = (flat / self.number).split([each.numel() for each in values])
        return [part.view_as(each).to(each.dtype) for part, each in zip(parts, values, strict=True)]

    def average_gradients(self, parameters: Sequence[nn.Parameter]) -> None:
        """Replace the gradient of each weight by its mean over the processes."""
        if self.number == 1:
            return
        trained = [each for each in parameters if each.grad is not None]
        for each, gradient in zip(trained, self.average([each.grad for each in trained]), strict=True):  # type: ignore[misc]
            each.grad = gradient

    def average_buffers(self, buffers: Sequence[Tensor], before: Sequence[Tensor]) -> None:
        """Change buffers, such as baselines, by the mean of what the processes changed them by.

        Args:
            buffers: As this process has left them.
            before: As they were before, alike in all processes.
        """
        if self.number == 1:
            return
        pairs = [(now, old) for now, old in zip(buffers, before, strict=True) if now.is_floating_point()]
        changes = self.average([now - old for now, old in pairs])
        for (now, old), change in zip(pairs, changes, strict=True):
            now.copy_(old + change)

    def highest(self, value: int) -> int:
        """The highest of the numbers that the processes have."""
        if self.number == 1:
            return value
        values: list[Any] = [None] * self.number
        distributed.all_gather_object(values, value)
        return int(max(values))

    def joined(self, own: Sequence[Any]) -> list[Any]:
        """The values of all processes, where process r has every `number`-th one from r on, in their order."""
        if self.number == 1:
            return list(own)
        found: list[Any] = [None] * self.number
        distributed.all_gather_object(found, list(own))
        return [found[place % self.number][place // self.number] for place in range(sum(map(len, found)))]

    def of_first(self, compute: Callable[[], Any]) -> Any:
        """What the first process computes; the others wait for it."""
        if self.number == 1:
            return compute()
        values = [compute() if self.is_first else None]
        distributed.broadcast_object_list(values, src=0)
        return values[0]

    def wait(self) -> None:
        """Wait until all processes are here."""
        if self.number > 1:
            self.highest(0)

    def require_divisible(self, world: World) -> None:
        """Refuse batches that do not divide into equal shares; `ConfigError` if one does not."""
        size = world.sizes.batch_size
        for name, rest in (
            ("training.batch_size", size),
            ("the last batch of an epoch", world.num_train % size),
        ):
            if rest % self.number:
                near = -(-size // self.number) * self.number
                fits = [each for each in range(near, 8 * near, self.number) if world.num_train % each == 0]
                hint = f"--batch-size {fits[0]}" if fits else f"a number of processes that divides {rest}"
                raise ConfigError(
                    f"{name}: {rest} examples do not divide into {self.number} equal shares, one for each "
                    f"process: try {hint}"
                )

    def require_fits(
        self, game: nn.Module, world: World, *, is_foreign: bool, length_cost_power: float
    ) -> None:
        """Refuse games of which a share of a batch can't be played alone.

        Args:
            game: Its modules.
            world: Its world.
            is_foreign: Whether it has parts of the user's own.
            length_cost_power: The power of `loss.length_cost_power`.

        Raises:
            ConfigError: If the batch does not divide, or the game needs whole batches.
        """
        if self.number == 1:
            return
        what = ""
        if not hasattr(game, "processes"):
            what = "societies"
        elif is_foreign:
            what = "parts of your own, which may draw noise for whole batches,"
        elif length_cost_power:
            what = "loss.length_cost_power, which takes the accuracy of the whole batch,"
        elif any(
            isinstance(each, nn.modules.batchnorm._BatchNorm) and each.training for each in game.modules()
        ):
            what = "perceptions with batch normalisation, whose statistics are of the whole batch,"
        elif getattr(game, "receiver_dropout", 0) and world.batch("train", 0).candidates is not None:
            what = "receiver.perception.dropout, where rounds of a batch share objects,"
        if what:
            raise ConfigError(
                f"{what} can't be trained by {self.number} processes: start it without torchrun"
            )
        self.require_divisible(world)


@contextmanager
def joined_processes(device: torch.device) -> Iterator[Processes]:
    """Meet the other processes that torchrun started, by gloo on the CPU and NCCL on CUDA.

    Args:
        device: Where the game is trained; each process of a machine takes a GPU of its own.

    Raises:
        ConfigError: If there are fewer GPUs than processes, or the device is neither a CPU nor one of CUDA.
    """
    if not is_started() or os.environ["WORLD_SIZE"] == "1":
        yield Processes()
        return
    number = int(os.environ["WORLD_SIZE"])
    if device.type not in ("cpu", "cuda"):
        raise ConfigError(f"--device {device.type}: {number} processes train on cpu or cuda")
    if device.type == "cuda":
        num_local, num_gpus = int(os.environ["LOCAL_WORLD_SIZE"]), torch.cuda.device_count()
        if num_local > num_gpus:
            raise ConfigError(
                f"{num_local} processes for {num_gpus} GPU(s): expected one process for a GPU: try "
                f"--nproc-per-node={num_gpus}, or --device cpu"
            )
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    distributed.init_process_group("cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo")
    try:
        yield Processes(rank=distributed.get_rank(), number=number)
    finally:
        distributed.destroy_process_group()
