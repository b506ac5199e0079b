"""The first step of a run with parts of the user's own: tried with a copy of the game, before anything is written.

What each own part returns is checked here, once, and not in training.
"""

import copy
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import ecsuite.parts.own_code as own_code
from ecsuite.agents.message import Message
from ecsuite.agents.own_agents import check_message, check_states, require_shape, type_name, wrong
from ecsuite.games.noise import noise_generator
from ecsuite.games.optimizers import Optimise
from ecsuite.games.players.pair import Pair
from ecsuite.games.registry import SCHEDULES
from ecsuite.games.sections import Experiment, foreign_parts
from ecsuite.games.tasks import TaskOutput
from ecsuite.games.worlds.world import Batch, World
from ecsuite.parts.registry import Part
from ecsuite.runtime.errors import ConfigError, PartError


def try_first_step(experiment: Experiment, world: World, game: Pair, steps_per_epoch: int) -> None:
    """Play a batch in training and in evaluation, and make the first update.

    Raises:
        PartError: If a part of the user's own returns what does not fit; the message names its file and line.
        ConfigError: If a part refuses the game.
    """
    trial = copy.deepcopy(game)
    _watch(experiment, trial)
    try:
        batch = world.batch("train", 0)
        if own_code.is_foreign(experiment.world.kind):
            _check_batch(experiment.world.kind, world, batch)
        updates = Optimise(experiment.optimizer, trial, trial.modules_of)
        optimizer = updates.optimizer
        if not isinstance(optimizer, torch.optim.Optimizer):
            raise wrong(
                experiment.optimizer.kind, "optimizer", "a torch.optim.Optimizer", type_name(optimizer)
            )
        factor = SCHEDULES.make(experiment.schedule, steps_per_epoch=steps_per_epoch).factor(0)
        if not isinstance(factor, int | float) or not np.isfinite(factor):
            raise wrong(experiment.schedule.kind, "factor", "a finite number", f"{factor!r:.60}")
        noise = noise_generator(0, "train", 0, game.device)
        trial.play(batch, "train", noise).objective.backward()
        updates.factor = float(factor)
        updates.step()
        with torch.inference_mode():
            trial.eval().play(batch, "greedy", None)
    except ConfigError:
        raise
    except Exception as error:
        if own_code.error_in_part(error) is not None:
            raise
        kinds = sorted({kind for part in _parts(experiment) for kind in foreign_parts(part)})
        where = f"{own_code.place_of(kinds[0])}: " if len(kinds) == 1 else ""
        said = f"{type(error).__name__}: {' '.join(str(error).split()):.300}"
        raise PartError(f"{where}the first step with {', '.join(kinds)} failed: {said}") from error


def _parts(experiment: Experiment) -> list[Part]:
    found = (getattr(experiment, name) for name in experiment.__dataclass_fields__)
    return [part for part in found if isinstance(part, Part)]


def _watch(experiment: Experiment, game: Pair) -> None:
    """Check what the user's own parts of a game return."""
    sender, receiver = experiment.sender, experiment.receiver
    for agent, perception in ((sender, game.speaker.perception), (receiver, game.listener.perception)):
        if perception is not None:
            _hook(agent.options.perception, perception, _check_perception)
    _hook(sender, game.speaker.network, check_message)
    _hook(receiver, game.listener.network, check_states)
    _hook(experiment.task, game.task, _check_task)
    if own_code.is_foreign(experiment.channel.kind):
        game.channel.start_message = _watched_channel(experiment.channel.kind, game.channel)  # type: ignore[method-assign]
    if own_code.is_foreign(experiment.loss.kind):
        loss = game.loss
        del game.speaker.loss  # it may be a module
        game.speaker.loss = _watched_loss(experiment.loss.kind, loss)


def _hook(part: Part, module: Any, check: Callable[[str, Any, Any, Any], None]) -> None:
    """Call `check(kind, module, first argument, returned)` whenever a module of a user's own is called."""
    if own_code.is_foreign(part.kind) and isinstance(module, nn.Module):
        module.register_forward_hook(lambda _, given, returned: check(part.kind, module, given[0], returned))


def _check_perception(kind: str, module: Any, features: Tensor, returned: Any) -> None:
    require_shape(kind, "forward", "vectors of objects", returned, (len(features), module.out_features))


def _check_task(kind: str, module: Any, answer: Tensor, returned: Any) -> None:
    if not isinstance(returned, TaskOutput):
        raise wrong(kind, "forward", "a TaskOutput", type_name(returned))
    if not isinstance(returned.measures, Mapping) or "accuracy" not in returned.measures:
        raise wrong(kind, "forward", "measures with `accuracy`", f"{list(returned.measures)}")
    for name, value in {"loss": returned.loss, **returned.measures}.items():
        require_shape(kind, "forward", name, value, tuple(answer.shape[:2]))


def _watched_channel(kind: str, channel: Any) -> Callable[..., Any]:
    """`start_message` of a channel, whose builders are checked."""
    start = channel.start_message

    def start_message(*arguments: Any, **settings: Any) -> Any:
        builder = start(*arguments, **settings)
        return _WatchedBuilder(kind, builder, channel)

    return start_message


class _WatchedBuilder:
    """A message builder whose symbols and message are checked."""

    def __init__(self, kind: str, builder: Any, channel: Any) -> None:
        self.kind, self.builder, self.channel = kind, builder, channel

    @property
    def done(self) -> bool:
        """Whether the message is complete."""
        return bool(self.builder.done)

    def step(self, logits: Tensor) -> Any:
        """The symbol of these logits."""
        said = self.builder.step(logits)
        is_id = isinstance(said, Tensor) and not said.is_floating_point()
        shape = (
            (len(logits),) if is_id else (len(logits), self.channel.num_logits or self.channel.symbol_size)
        )
        require_shape(
            self.kind, "start_message", "ids or weights of a symbol", said, shape, "step of the builder"
        )
        return said

    def message(self) -> Message:
        """The message."""
        made = self.builder.message()
        if not isinstance(made, Message):
            raise wrong(self.kind, "start_message", "a Message of the builder", type_name(made))
        return made


def _watched_loss(kind: str, loss: Any) -> Callable[..., Any]:
    """A loss of which loss and cost are checked."""

    def checked(output: Any, ends: Tensor, message: Message) -> Any:
        returned = loss(output, ends, message)
        if not isinstance(returned, tuple) or len(returned) != 2:
            raise wrong(kind, "__call__", "loss and cost of each message", type_name(returned))
        for name, value in zip(("loss", "cost"), returned, strict=True):
            if isinstance(value, Tensor) or name == "loss":  # a cost may be 0
                require_shape(kind, "__call__", name, value, tuple(ends.shape[1:]))
        return returned

    return checked


def _check_batch(kind: str, world: World, batch: Batch) -> None:
    """Check that the fields of a batch fit together."""
    labels, num_objects = batch.labels, len(batch.objects)
    if labels.ndim != 2 or labels.dtype != np.bool_:
        raise wrong(
            kind, "draw", "labels, (batch, num_candidates), of bool", f"{labels.shape} of {labels.dtype}"
        )
    if batch.candidates is None:
        if labels.size != num_objects:
            expected = f"an object for each of the {labels.shape} labels, as there are no candidates"
            raise wrong(kind, "draw", expected, f"{num_objects}")
    elif batch.candidates.shape != labels.shape:
        raise wrong(
            kind, "draw", f"candidates of the shape of labels, {labels.shape}", f"{batch.candidates.shape}"
        )
    for name, indices in (("shown", batch.shown), ("candidates", batch.candidate_indices())):
        if indices.ndim != 2 or len(indices) != len(labels):
            raise wrong(kind, "draw", f"{name} of {len(labels)} rounds", f"{indices.shape}")
        if indices.min(initial=0) < 0 or indices.max(initial=0) >= num_objects:
            raise wrong(kind, "draw", f"indices of {num_objects} objects in {name}", f"{indices.max()}")
    if not labels.any(1).all():
        raise wrong(kind, "draw", "a target among the candidates of each round", "a round without one")
    found = world.features(torch.from_numpy(np.array(batch.objects)), torch.float32)
    require_shape(kind, "features", "features of objects", found, (num_objects, *world.object_shape))
