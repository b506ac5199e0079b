"""The precision of a game: bf16 where it is faster, which is a matter of sizes as well as of the processor."""

import torch

from ecsuite.agents.perception import ConvolutionalPerception
from ecsuite.agents.registry import PERCEPTIONS
from ecsuite.games.sections import Experiment
from ecsuite.runtime.devices import choose_precision

ROLES = ("sender", "receiver")
SMALLEST_BF16 = 3_000_000
"""Work of a game (`work_of_step`) from which on bf16 is the faster one on CPUs that multiply it natively.

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
    if asked != "auto" or device.type != "cpu" or has_convolutions(experiment):
        return precision
    return precision if work_of_step(experiment) >= SMALLEST_BF16 else "fp32"


def has_convolutions(experiment: Experiment) -> bool:
    """Whether an agent sees through convolutions, which are most of a game's work."""
    tree = experiment.to_tree()
    kinds = [tree[role].get("perception", {}).get("kind", "identity") for role in ROLES]
    return any(issubclass(PERCEPTIONS.load(kind), ConvolutionalPerception) for kind in kinds)


def work_of_step(experiment: Experiment) -> int:
    """Examples of a batch times the square of the widest hidden state, to which the largest product is proportional.

    Zero for agents of other kinds than ours, of whose products nothing is known.
    """
    tree = experiment.to_tree()
    widths = (tree[role].get("hidden_size") for role in ROLES)
    widest = max((width for width in widths if isinstance(width, int)), default=0)
    return experiment.training.batch_size * widest**2
