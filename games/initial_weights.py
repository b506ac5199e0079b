"""Agents that begin with the weights of another run: `--init-from RUN`, or `training.init_sender` for those of a role.

The SHA-256 of the weights belongs to the run, whatever the folder is called that they came from. After the run has
begun, the other one is no longer needed.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import cycle
from pathlib import Path

from torch import Tensor

from ecsuite.files.tensor_files import digest_of
from ecsuite.games.best_checkpoint import weights_of_corpus
from ecsuite.games.checkpoints import newest_step
from ecsuite.games.players.options import SocietyOptions
from ecsuite.games.players.players import Players
from ecsuite.games.players.side_by_side import SIDES
from ecsuite.games.sections import ROLES, Experiment, Role
from ecsuite.parts.config import parse_yaml
from ecsuite.runtime.errors import ConfigError, DamagedError

Agents = Sequence[Mapping[str, Tensor] | None]
"""The weights of each agent of a role, by name; None: its own."""
SIZES = ("num_attributes", "num_values")
"""What a world says of the sizes of its objects."""


def with_initial_weights(
    experiment: Experiment, folder: Path | None, note: Callable[[str], None]
) -> tuple[Experiment, dict[Role, Agents]]:
    """The experiment with the checksums of the weights that its agents begin with, and these weights by agent.

    Args:
        experiment: Names the runs.
        folder: Its own run folder, which may not exist; where training has begun, checksums are there, too. None: it
            has none.
        note: Told of damaged checkpoints of the other runs.

    Raises:
        ConfigError: If a run has no checkpoint, or its weights have changed since the config was written.
    """
    sums: dict[str, str] = {}
    weights: dict[Role, Agents] = {}
    for role in ROLES:
        source, key = experiment.training.init_of(role), f"training.init_{role}"
        if experiment.society.members:
            if source is not None:
                raise ConfigError(f"{key}: society.members says what agents begin with, expected null")
            source, key = ", ".join(experiment.society.members), "society.members"
            if not any(member.run for member in experiment.society.members_of(role) if member.is_of(role)):
                continue
        if source is None:
            continue
        place = f"{key}: {source}"
        try:
            if experiment.society.members:
                for run in dict.fromkeys(
                    each.run for each in experiment.society.members_of(role) if each.run
                ):
                    require_sizes(Path(run), experiment)
                weights[role] = member_weights(experiment.society, role, note)
            else:
                require_sizes(Path(source), experiment)
                weights[role] = agent_weights(Path(source), role, note)
        except (ConfigError, DamagedError) as error:
            known = None if folder is None else _begun(folder).get(role)
            if known is None:
                raise type(error)(f"{key}: {error}") from None
            sums[role] = known
            continue
        sums[role] = _digest(weights[role])
        if experiment.weights.get(role, sums[role]) != sums[role]:
            raise ConfigError(
                f"{place} has other weights than when this config was written (SHA-256 {sums[role]}, expected "
                f"{experiment.weights[role]}): name the run again with --init-from, or restore it"
            )
    return replace(experiment, weights=sums), weights


def member_weights(society: SocietyOptions, role: Role, note: Callable[[str], None]) -> Agents:
    """The weights of each member that is an agent of a role; those of a run take its agents in turn."""
    runs: dict[str, Iterator[Mapping[str, Tensor] | None]] = {}
    found: list[Mapping[str, Tensor] | None] = []
    for member in society.members_of(role):
        if member.run is None or not member.is_of(role):
            found.append(None)
            continue
        if member.run not in runs:
            runs[member.run] = cycle(agent_weights(Path(member.run), role, note))
        found.append(next(runs[member.run]))
    return found


def agent_weights(folder: Path, role: Role, note: Callable[[str], None]) -> Agents:
    """The weights of each agent of a role of a run, by name. Nothing of the run is imported.

    Raises:
        ConfigError: If the folder has no checkpoint, or no such agents.
        DamagedError: If none of its checkpoints can be read.
    """
    tensors = weights_of_corpus(folder, note)
    if tensors is None:
        raise ConfigError(f"{folder}: expected a run folder with a checkpoint")
    agents: dict[int, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        if (place := re.fullmatch(rf"agents\.(\d+)\.{SIDES[role]}\.(.+)", name)) is not None:
            agents.setdefault(int(place[1]), {})[place[2]] = tensor
    if not agents:
        raise ConfigError(f"{folder}: expected a run with a {role}")
    return [agents[number] for number in sorted(agents)]


def require_sizes(folder: Path, experiment: Experiment) -> None:
    """Refuse a run whose objects have other attributes or values, where weights fit as the products are equal.

    Raises:
        ConfigError: If it has.
    """
    try:
        there = parse_yaml((folder / "config.yaml").read_text(encoding="utf-8"), str(folder))["world"]
        here = experiment.to_tree()["world"]
        others = [key for key in SIZES if there["kind"] == here["kind"] and there.get(key) != here.get(key)]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return  # which is told where its weights are read
    if others:
        told = ", ".join(f"{key} is {there.get(key)} there and {here.get(key)} here" for key in others)
        raise ConfigError(f"{folder}: expected a run with objects of the same sizes, but {told}")


def set_agent_weights(players: Players, role: Role, agents: Agents, source: str) -> None:
    """Give the agents of a role the weights of those of another run: to each those of its number, in turn.

    Args:
        players: Whose agents.
        role: Which of them.
        agents: All weights of each agent of the other run. Of a channel, only what is learnt here, such as a
            temperature, and nothing of a loss: its baselines are of another game.
        source: Where they are from, for messages; empty: named members.

    Raises:
        ConfigError: If a weight has another shape, or is only there or only here; the message names one.
    """
    for index, side in enumerate(players.sides(role)):
        learnt = {name for name, _ in side.named_parameters()}
        own = {name: tensor for name, tensor in side.state_dict().items() if _is_kept(name, learnt)}
        other = agents[index % len(agents)]
        if other is None:
            continue
        given = {name: tensor for name, tensor in other.items() if name in own or _is_kept(name, learnt)}
        for name in sorted({*own, *given}):
            here, there = (tuple(each[name].shape) if name in each else None for each in (own, given))
            if here != there:
                where = source or players.options.members_of(role)[index].source
                raise ConfigError(
                    f"the {role} of {where} does not fit: {name} is {_shown(there)} there and {_shown(here)} here"
                )
        side.load_state_dict(given, strict=False)


def _is_kept(name: str, learnt: Collection[str]) -> bool:
    """Whether an agent takes a weight of this name over: none of a loss, and of a channel only what is learnt."""
    module = name.partition(".")[0]
    return module != "loss" and (module != "channel" or name in learnt)


def _digest(agents: Agents) -> str:
    """SHA-256 of the weights of agents."""
    named = {
        f"{number}.{name}": tensor
        for number, weights in enumerate(agents)
        for name, tensor in (weights or {}).items()
    }
    return digest_of(named)


def _shown(shape: tuple[int, ...] | None) -> str:
    if shape is None:
        return "missing"
    return " x ".join(map(str, shape)) or "a single value"


def _begun(folder: Path) -> Mapping[str, str]:
    """The checksums in the config of a run that has a checkpoint, and so needs no initial weights; else empty."""
    try:
        tree = parse_yaml((folder / "config.yaml").read_text(encoding="utf-8"), str(folder))
        return dict(tree["weights"]) if newest_step(folder) else {}
    except (OSError, ValueError, KeyError, TypeError):
        return {}
