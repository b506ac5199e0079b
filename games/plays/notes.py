"""Description of a game and its agents for the user, and the choice of its precision.

The precision auto is bf16 if that is faster, which depends on the sizes and on the processor.
"""

from typing import Any

import torch

from ecsuite.agents.perception import ConvolutionalPerception
from ecsuite.agents.registry import PERCEPTIONS
from ecsuite.games.channels.channels import Channel
from ecsuite.games.config.registry import NOISES, PLAYS
from ecsuite.games.config.sections import EvaluationOptions, Experiment, TrainingOptions
from ecsuite.games.config.society import SocietyOptions
from ecsuite.games.plays.population import Population
from ecsuite.games.worlds.world import World
from ecsuite.parts.registry import KIND, Part, to_tree
from ecsuite.runtime.devices import choose_precision
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.printable import counted


def description(experiment: Experiment, players: Population, world: World, precision: str) -> list[str]:
    """Describe the game and its agents in two lines.

    Args:
        experiment: The experiment.
        players: The agents, on their device.
        world: Its world.
        precision: Precision of products and activations.
    """
    channel = players.channel
    task = experiment.task.kind
    if players.task.scores_candidates:
        task += candidates_text(world)
    words = words_text(channel, experiment.training, experiment.evaluation)
    agents = agents_text(experiment.sender, experiment.receiver, experiment.society)
    sizes = [
        sum(each.numel() for each in players.parameters() if each.requires_grad or is_all)
        for is_all in (1, 0)
    ]
    trained = "" if sizes[0] == sizes[1] else f", {sizes[1]:,} of them trained"
    number = torch.get_num_threads()
    threads = f", {counted(number, 'thread')}" if players.device.type == "cpu" else ""
    return [
        f"{experiment.name}: {task}; {objects_text(world)}; channel {experiment.channel.kind} ({words})",
        f"{agents}: {sizes[0]:,} parameters{trained}; {precision} on {players.device.type}{threads}",
    ]


def candidates_text(world: World) -> str:
    """Text about the receiver's candidates."""
    if world.rounds.in_batch:
        return " among the objects of a batch"
    if world.num_targets > 1:
        return " between sets of objects"
    fewest = world.rounds.fewest_distractors
    return f" among {'' if fewest is None else f'{fewest + 1} to '}{world.num_distractors + 1} objects"


def objects_text(world: World) -> str:
    """Text about the objects of a world."""
    if world.num_values is not None and world.shows_values:
        number, values = len(world.num_values), sorted(set(world.num_values))
        each = f"{values[0]}" if len(values) == 1 else f"{values[0]} to {values[-1]}"
        return f"objects of {counted(number, 'attribute')} of {each} values"
    if len(world.object_shape) == 1:
        return f"objects of {world.object_shape[0]:,} features"
    return f"images of {world.object_shape[0]} x {world.object_shape[1]} pixels"


def words_text(channel: Channel, training: TrainingOptions, evaluation: EvaluationOptions) -> str:
    """Text about the messages: vocabulary, length, and noise of the channel."""
    if channel.is_of_values:
        return f"{channel.max_len} words of values"
    up_to = "up to " if channel.has_eos else ""
    words = f"{channel.vocab_size:,} symbols, {up_to}{channel.max_len} per message"
    section = to_tree(getattr(channel.options, "noise", None)) or {KIND: "none"}
    if section[KIND] == "none":
        return words
    if section[KIND] == NOISES.of_lists:
        said = ", then ".join(section["of"])
    else:
        said = ", ".join(f"{value}" if key == KIND else f"{key} {value}" for key, value in section.items())
    if not training.noise:
        return f"{words}; noise {said} in evaluation only"
    return f"{words}; noise {said} in training, {'also' if evaluation.noise else 'none'} in evaluation"


def agents_text(sender: Part, receiver: Part, society: SocietyOptions) -> str:
    """Text about the agents of a game, with their numbers if there is more than one pair."""
    agents = f"sender {agent_text(sender)}, receiver {agent_text(receiver)}"
    if society.agents is not None:
        return f"{agents}; {society.agents} agents that do both"
    if society.number("sender") * society.number("receiver") == 1:
        return agents
    numbers = {"sender": society.senders, "receiver": society.receivers}
    told = " and ".join(counted(number, role) for role, number in numbers.items())
    return f"{agents}; {told}"


def agent_text(part: Part) -> str:
    """Short description of an agent."""
    cell, size = getattr(part.options, "cell", None), getattr(part.options, "hidden_size", None)
    name = part.kind if cell is None else cell if part.kind == "recurrent" else f"{part.kind}:{cell}"
    return name if size is None else f"{name} of {size} units"


ROLES = ("sender", "receiver")
SMALLEST_BF16 = 2_000_000
"""Work of a game (`work_of_step`) above which bf16 is faster on CPUs with native bf16 products.

Fitted to all shipped games on an AMD EPYC: `benchmarks/precisions.py`, docs/evidence/speed.md.
"""


def choose_game_precision(experiment: Experiment, device: torch.device) -> str:
    """Resolve `auto`: as `choose_precision`, but fp32 on the CPU for small games and for plays without bf16.

    Casts to and from bf16, and gates in it, take longer than small products save.

    Raises:
        ConfigError: If the play does not support the precision, or it is tf32 and the device is not CUDA.
    """
    asked, kind = experiment.training.precision, experiment.play.kind
    read = PLAYS.load(kind).precisions
    if asked not in ("auto", *read):
        expected = ", ".join(("auto", *read))
        raise ConfigError(
            f"training.precision: play {kind} does not support {asked}: expected one of {expected}"
        )
    if asked == "auto" and "bf16" not in read:
        return "fp32"
    precision = choose_precision(asked, device)
    if asked != "auto" or device.type != "cpu":
        return precision
    tree = experiment.to_tree()
    perceptions = [tree.get(role, {}).get("perception", {}).get(KIND, "identity") for role in ROLES]
    if any(issubclass(PERCEPTIONS.load(kind), ConvolutionalPerception) for kind in perceptions):
        return precision  # convolutions are most of a game's work
    return precision if work_of_step(experiment) >= SMALLEST_BF16 else "fp32"


def has_small_products(experiment: Experiment) -> bool:
    """Whether products are so small (below `SMALLEST_BF16`) that torch's default library computes them faster."""
    return 0 < work_of_step(experiment) < SMALLEST_BF16


def work_of_step(experiment: Experiment) -> int:
    """Work of the largest product of a batch, up to a factor: its rows times the square of its width.

    A hidden state has a row per example, a perception with hidden layers a row per example and candidate. Agents that
    are user code have no known width.
    """
    tree = experiment.to_tree()
    task, agents = tree.get("task", {}), [tree.get(role, {}) for role in ROLES]
    candidates = sum(task.get(key) or 0 for key in ("num_targets", "num_distractors"))
    of_states = _widest(agents, "hidden_size")
    of_perceptions = _widest([agent.get("perception", {}) for agent in agents], "size")
    return experiment.training.batch_size * max(of_states**2, candidates * of_perceptions**2)


def _widest(parts: list[dict[str, Any]], key: str) -> int:
    return max((width for part in parts if isinstance(width := part.get(key), int)), default=0)
