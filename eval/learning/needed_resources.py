"""What the training of a model takes at least, asked for before it begins."""

from collections.abc import Sequence
from pathlib import Path

from torch import Tensor

from ecsuite.files.disk_space import require_space
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.memory import free_memory, size_text

BYTES_PER_WEIGHT = 12
"""Of its gradient and its two moments in memory; of itself and its moments in a checkpoint."""


def require_training(parameters: Sequence[Tensor], folder: Path | None) -> None:
    """Refuse a training whose gradients and moments do not fit into the free memory, or whose checkpoint has no room.

    Args:
        parameters: What is trained; its memory is taken already. Only on the CPU the free memory is asked for.
        folder: Where checkpoints are written; None: there are none.

    Raises:
        ConfigError: If it cannot fit; the message says what is needed, what is free, and what to change.
    """
    num_weights = sum(parameter.numel() for parameter in parameters)
    needed = BYTES_PER_WEIGHT * num_weights
    if parameters[0].device.type == "cpu" and needed > (free := free_memory()):
        raise ConfigError(
            f"the training of {num_weights:,} weights needs at least {size_text(needed)} of memory, and "
            f"{size_text(free)} are free: choose a smaller --preset, or fewer processes by --workers"
        )
    if folder is not None:
        require_space(needed, folder, "for a checkpoint")
