"""Agents that begin with the weights of another run: `--init-from RUN`, or `training.init_sender` for one of them.

The SHA-256 of the weights belongs to the run, whatever the folder is called that they came from. After the run has
begun, the other one is no longer needed.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from torch import Tensor

from ecsuite.files.tensor_files import digest_of
from ecsuite.games.best_checkpoint import weights_of_corpus
from ecsuite.games.checkpoints import newest_step
from ecsuite.games.game import PARTS, Game
from ecsuite.games.sections import ROLES, Experiment, Role
from ecsuite.parts.config import parse_yaml
from ecsuite.runtime.errors import ConfigError, DamagedError

Weights = Mapping[str, Tensor]


def with_initial_weights(
    experiment: Experiment, folder: Path | None, note: Callable[[str], None]
) -> tuple[Experiment, dict[Role, Weights]]:
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
    weights: dict[Role, Weights] = {}
    for role in ROLES:
        source = experiment.training.init_of(role)
        if source is None:
            continue
        place = f"training.init_{role}: {source}"
        try:
            weights[role] = agent_weights(Path(source), role, note)
        except (ConfigError, DamagedError) as error:
            known = None if folder is None else _begun(folder).get(role)
            if known is None:
                raise type(error)(f"training.init_{role}: {error}") from None
            sums[role] = known
            continue
        sums[role] = digest_of(weights[role])
        if experiment.weights.get(role, sums[role]) != sums[role]:
            raise ConfigError(
                f"{place} has other weights than when this config was written (SHA-256 {sums[role]}, expected "
                f"{experiment.weights[role]}): name the run again with --init-from, or restore it"
            )
    return replace(experiment, weights=sums), weights


def agent_weights(folder: Path, role: Role, note: Callable[[str], None]) -> Weights:
    """The weights of an agent of a run, by name. Nothing of the run is imported.

    Raises:
        ConfigError: If the folder has no checkpoint.
        DamagedError: If none of its checkpoints can be read.
    """
    found = weights_of_corpus(folder, note)
    if found is None:
        raise ConfigError(f"{folder}: expected a run folder with a checkpoint")
    return {name: tensor for name, tensor in found.items() if _module_of(name) in (*PARTS[role], f"{role}s")}


def set_agent_weights(game: Game, role: Role, weights: Weights, source: str) -> None:
    """Give an agent of a game the weights of another run.

    Args:
        game: The game.
        role: Which agent.
        weights: All weights of the other agent. Of a channel, only what is learnt here, such as a temperature: its
            baselines are of the losses of another game.
        source: Where they are from, for messages.

    Raises:
        ConfigError: If a weight has another shape, or is only there or only here; the message names one.
    """
    learnt = {name for name, _ in game.named_parameters()}
    own = {
        name: tensor
        for name, tensor in game.state_dict().items()
        if _module_of(name) in PARTS[role] and (_module_of(name) != "channel" or name in learnt)
    }
    given = {name: each for name, each in weights.items() if _module_of(name) != "channel" or name in own}
    for name in sorted({*own, *given}):
        here, there = (tuple(each[name].shape) if name in each else None for each in (own, given))
        if here != there:
            raise ConfigError(
                f"the {role} of {source} does not fit: {name} is {_shown(there)} there and {_shown(here)} here"
            )
    game.load_state_dict(given, strict=False)


def _module_of(name: str) -> str:
    """The name of the module of a game that a weight is in."""
    return name.partition(".")[0]


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
