"""The precision of a game: bf16 where it is faster, which is a matter of sizes as well as of the processor."""

import torch

from ecsuite.games.sections import Experiment
from ecsuite.runtime.devices import choose_precision

SMALLEST_BF16 = 16_000_000
"""Work of a game, as `work_of_step` has it, from which on bf16 is the faster one on CPUs that multiply it natively.

Fitted to all shipped games on an AMD EPYC: `benchmarks/precisions.py`, docs/evidence/speed.md.
"""


def choose_game_precision(experiment: Experiment, device: torch.device) -> str:
    """Resolve `auto`: as `choose_precision`, but fp32 on the CPU for small games.

    Casts to and from bf16, and gates in it, take longer than the time that small products save.

    Raises:
        ConfigError: If it is tf32, and the device is not CUDA.
    """
    asked = experiment.training.precision
    precision = choose_precision(asked, device)
    if asked != "auto" or device.type != "cpu" or work_of_step(experiment) >= SMALLEST_BF16:
        return precision
    return "fp32"


def work_of_step(experiment: Experiment) -> int:
    """Examples of a batch times the square of the widest hidden state, to which the largest product is proportional.

    Zero for agents of other kinds than ours, of whose products nothing is known.
    """
    tree = experiment.to_tree()
    widths = (tree[role].get("hidden_size") for role in ("sender", "receiver"))
    widest = max((width for width in widths if isinstance(width, int)), default=0)
    return experiment.training.batch_size * widest**2
