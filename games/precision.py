"""The precision of a game: bf16 where it is faster, which is a matter of sizes as well as of the processor."""

from typing import Any

import torch

from ecsuite.agents.perception import ConvolutionalPerception
from ecsuite.agents.registry import PERCEPTIONS
from ecsuite.games.registry import PLAYS
from ecsuite.games.sections import Experiment
from ecsuite.runtime.devices import choose_precision
from ecsuite.runtime.errors import ConfigError

ROLES = ("sender", "receiver")
SMALLEST_BF16 = 2_000_000
"""Work of a game (`work_of_step`) from which on bf16 is the faster one on CPUs that multiply it natively.

Fitted to all shipped games on an AMD EPYC: `benchmarks/precisions.py`, docs/evidence/speed.md.
"""


def choose_game_precision(experiment: Experiment, device: torch.device) -> str:
    """Resolve `auto`: as `choose_precision`, but fp32 on the CPU for small games, and in plays that do not read bf16.

    Casts to and from bf16, and gates in it, take longer than the time that small products save.

    Raises:
        ConfigError: If the play does not read it, or if it is tf32, and the device is not CUDA.
    """
    asked, kind = experiment.training.precision, experiment.play.kind
    read = PLAYS.load(kind).precisions
    if asked not in ("auto", *read):
        expected = ", ".join(("auto", *read))
        raise ConfigError(
            f"training.precision: play {kind} does not read {asked}: expected one of {expected}"
        )
    if asked == "auto" and "bf16" not in read:
        return "fp32"
    precision = choose_precision(asked, device)
    if asked != "auto" or device.type != "cpu" or has_convolutions(experiment):
        return precision
    return precision if work_of_step(experiment) >= SMALLEST_BF16 else "fp32"


def has_convolutions(experiment: Experiment) -> bool:
    """Whether an agent sees through convolutions, which are most of a game's work."""
    tree = experiment.to_tree()
    kinds = [tree.get(role, {}).get("perception", {}).get("kind", "identity") for role in ROLES]
    return any(issubclass(PERCEPTIONS.load(kind), ConvolutionalPerception) for kind in kinds)


def has_small_products(experiment: Experiment) -> bool:
    """Whether torch's default library multiplies faster than the one for large products: up to the same work."""
    return 0 < work_of_step(experiment) < SMALLEST_BF16


def work_of_step(experiment: Experiment) -> int:
    """To what the largest product of a batch is proportional: its rows times the square of its width.

    The rows of hidden states are examples, those of perceptions with hidden layers examples times candidates. Agents of
    other kinds than ours have no width, since nothing is known of them.
    """
    tree = experiment.to_tree()
    task, agents = tree.get("task", {}), [tree.get(role, {}) for role in ROLES]
    candidates = sum(task.get(key) or 0 for key in ("num_targets", "num_distractors"))
    of_states = _widest(agents, "hidden_size")
    of_perceptions = _widest([agent.get("perception", {}) for agent in agents], "size")
    return experiment.training.batch_size * max(of_states**2, candidates * of_perceptions**2)


def _widest(parts: list[dict[str, Any]], key: str) -> int:
    return max((width for part in parts if isinstance(width := part.get(key), int)), default=0)
