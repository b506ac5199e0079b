"""Invariants of batches, messages and measures; a check returns a description of the fault.

They are checked once, in a first step of a copy of the game, before a run with user code writes anything, and not
during training.
"""

import copy
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import ecsuite.parts.own_code as own_code
from ecsuite.agents.autocast import check_message, check_states, require_shape, type_name, wrong
from ecsuite.agents.message import EOS, PAD, Message
from ecsuite.corpus import Corpus
from ecsuite.games.channels.channels import Channel
from ecsuite.games.channels.noise import noise_generator
from ecsuite.games.config.registry import SCHEDULES
from ecsuite.games.config.sections import Experiment, foreign_parts
from ecsuite.games.engine.optimizers import Optimise
from ecsuite.games.players.pair import Pair, PlayResult, objective_of
from ecsuite.games.plays.play import Measures, Play, TrainedPlay, make_play
from ecsuite.games.tasks.tasks import TaskOutput
from ecsuite.games.worlds.world import Batch, World
from ecsuite.parts.registry import Part
from ecsuite.runtime.errors import ConfigError, PartError

Hook = Callable[[Play, int, Measures], None]
"""Function called after each step with the play, the number of the step, from 0, and its measures."""
TOLERANCE = 1e-4
"""Tolerance for probabilities, and for lengths computed from symbols, in fp32."""
ROUNDED = 0.05
"""Tolerance for symbols in lower precision, such as bf16."""


def fault_of_batch(batch: Batch) -> str | None:
    """Check that the fields of a batch are consistent; return the fault, or None."""
    labels, num_objects = batch.labels, len(batch.objects)
    if labels.ndim != 2 or labels.dtype != np.bool_:
        return f"expected labels, (batch, num_candidates), of bool, got {labels.shape} of {labels.dtype}"
    if batch.candidates is None:
        if labels.size != num_objects:
            return (
                f"expected an object for each of the {labels.shape} labels, as there are no candidates, got "
                f"{num_objects}"
            )
    elif batch.candidates.shape != labels.shape:
        return f"expected candidates of the shape of labels, {labels.shape}, got {batch.candidates.shape}"
    for name, indices in (("shown", batch.shown), ("candidates", batch.candidate_indices())):
        if indices.ndim != 2 or len(indices) != len(labels):
            return f"expected {name} of {len(labels)} rounds, got {indices.shape}"
        if indices.min(initial=0) < 0 or indices.max(initial=0) >= num_objects:
            return (
                f"expected indices of {num_objects} objects in {name}, got {indices.min()} to {indices.max()}"
            )
    return None if labels.any(1).all() else "expected a target among the candidates of each round"


def fault_of_features(world: World, batch: Batch, dtype: torch.dtype) -> str | None:
    """Check shape, dtype and finite values of the features of a batch's objects; return the fault, or None."""
    found = world.features(torch.from_numpy(np.array(batch.objects)), dtype)
    shape = (len(batch.objects), *world.object_shape)
    if not isinstance(found, torch.Tensor) or tuple(found.shape) != shape or found.dtype != dtype:
        got = (
            f"{tuple(found.shape)} of {found.dtype}"
            if isinstance(found, torch.Tensor)
            else type(found).__name__
        )
        return f"expected features of objects of shape {shape} of {dtype}, got {got}"
    return None if bool(found.isfinite().all()) else "expected finite features of objects"


def fault_of_measures(measures: Mapping[str, float], needed: Iterable[str]) -> str | None:
    """Check that the means of a batch or an evaluation are complete and finite; return the fault, or None.

    Args:
        measures: Values by name, such as loss, measures of the task, and length.
        needed: Required names.
    """
    missing = [name for name in needed if name not in measures]
    if missing:
        return f"expected a measure {', '.join(missing)}, got {', '.join(measures)}"
    bad = {name: value for name, value in measures.items() if not np.isfinite(value)}
    return f"expected finite measures, got {bad}" if bad else None


def fault_of_ids(message: Message) -> str | None:
    """Check a message of ids; return the fault, or None.

    After the first EOS there is only PAD, and the length counts the symbols with EOS.
    """
    ids = message.symbols.t()  # (batch, num_steps)
    ended = (ids == EOS).cumsum(1)
    after = torch.cat([torch.zeros_like(ended[:, :1]), ended[:, :-1]], dim=1) > 0
    if bool((ids[after] != PAD).any()):
        return "a message has symbols after the first EOS"
    if bool((ids[~after] == PAD).any()):
        return "a message has PAD before its end"
    if not torch.equal((ids != PAD).sum(1), message.length.long()):
        return "the length of a message is not its number of symbols, including EOS"
    return None


def fault_of_message(message: Message, channel: Channel) -> str | None:
    """Check that symbols, ends and length of a message agree; return the fault, or None.

    The probability that a relaxed message ends at a step is the weight of EOS at this step times the probability that
    it has not ended before. Symbols without weight, such as those that a channel drops, are not checked.
    """
    symbols, ends, length = message.symbols, message.ends, message.length
    near = TOLERANCE if symbols.dtype == torch.float32 else ROUNDED
    if channel.is_of_values:
        is_whole = bool((length == len(symbols)).all())
        return None if is_whole else f"the length of a message is not its number of words, {len(symbols)}"
    if not symbols.is_floating_point():
        return fault_of_ids(replace(message, ends=None))
    if ends is None:
        if channel.has_eos:
            return "a message may end at several steps, but has no probability of each"
        is_whole = bool((length == len(symbols)).all())
        return None if is_whole else f"the length of a message is not its number of symbols, {len(symbols)}"
    if not torch.allclose(ends.sum(0), torch.ones_like(length), atol=near):
        return "the probabilities of a message's ends do not add up to 1"
    steps = torch.arange(1, len(ends) + 1, device=ends.device, dtype=ends.dtype)
    if not torch.allclose(steps @ ends, length, atol=near * len(ends)):
        return "the length of a message is not the mean of its ends"
    left = 1 - (ends.cumsum(0) - ends)  # P(not ended before), (num_steps, batch)
    is_there = symbols.sum(-1) > 0.5
    expected = left * symbols[..., EOS]
    if channel.has_eos and not torch.allclose(ends[is_there], expected[is_there], atol=near):
        return "the ends of a message are not at the steps of EOS"
    return None


def try_first_step(experiment: Experiment, world: World, game: Pair, steps_per_epoch: int) -> None:
    """Play a batch in training and in evaluation, and make the first update.

    Raises:
        PartError: If user code returns an invalid value; the message names its file and line.
        ConfigError: If a part rejects the game.
    """
    kinds = sorted(set(foreign_parts(experiment)))
    if not kinds:  # only a metric is user code
        return
    trial = copy.deepcopy(game)
    _watch(experiment, trial)
    try:
        batch = world.batch("train", 0)
        if own_code.is_foreign(kind := experiment.world.kind):
            _raise_fault(kind, "draw", fault_of_batch(batch))
            _raise_fault(kind, "features", fault_of_features(world, batch, torch.float32))
        updates = Optimise(experiment.optimizer, trial, trial.modules_of)
        optimizer = updates.optimizer
        if not isinstance(optimizer, torch.optim.Optimizer):
            raise wrong(
                experiment.optimizer.kind, "optimizer", "a torch.optim.Optimizer", type_name(optimizer)
            )
        factor = SCHEDULES.make(experiment.schedule, steps_per_epoch=steps_per_epoch).factor(0)
        if not isinstance(factor, int | float) or not np.isfinite(factor):
            raise wrong(experiment.schedule.kind, "factor", "a finite number", f"{factor!r:.60}")
        played = trial.play(batch, "train", noise_generator(0, "train", 0, game.device))
        _check_play(experiment, trial, played)
        objective = objective_of(trial, played)
        require_shape(experiment.loss.kind, "over_pairs", "an objective", objective, ())
        objective.backward()
        updates.factor = float(factor)
        updates.step()
        with torch.inference_mode():
            _check_play(experiment, trial, trial.eval().play(batch, "greedy", None))
    except ConfigError:
        raise
    except Exception as error:
        if own_code.error_in_part(error) is not None:
            raise
        where = f"{own_code.place_of(kinds[0])}: " if len(kinds) == 1 else ""
        said = f"{type(error).__name__}: {' '.join(str(error).split()):.300}"
        raise PartError(f"{where}the first step with {', '.join(kinds)} failed: {said}") from error


def hook_of(name: str) -> Hook:
    """Load a function `training.after_step`; its errors are raised as `PartError` with its file and line.

    Args:
        name: `./FILE.py:NAME`.

    Raises:
        PartError: If there is no such function.
    """
    function = own_code.named(name, "function")
    if isinstance(function, type):
        raise PartError(f"{own_code.place_of(name)}: training.after_step: expected a function, got a class")

    def hook(play: Play, step: int, measures: Measures) -> None:
        try:
            returned = function(play, step, measures)
        except Exception as error:
            raise own_code.error_in_part(error) or error from error
        if returned is not None:
            got = type_name(returned)
            raise PartError(
                f"{own_code.place_of(name)}: training.after_step: expected to return None, got {got}"
            )

    return hook


def try_play(experiment: Experiment, device: torch.device) -> None:
    """Run the first step and an evaluation on a new instance of a play.

    Raises:
        PartError: If a returned value is invalid; the message names its file and line.
    """
    kind = experiment.play.kind
    play = make_play(experiment, device)
    if isinstance(play, TrainedPlay):
        play.optimise = Optimise(experiment.optimizer, play.module, play.modules_of)
    after_step = experiment.training.after_step
    hook = None if after_step is None else hook_of(after_step)
    for method, measure, needed in (
        ("train_step", partial(play.train_step, 0), ()),
        ("evaluate", play.evaluate, (*play.figures, *play.chance())),
    ):
        measures = measure()
        if not isinstance(measures, Mapping):
            raise wrong(kind, method, "measures by name", type_name(measures))
        figures = {name: float(value) for name, value in measures.items()}
        _raise_fault(kind, method, fault_of_measures(figures, needed))
        if hook is not None and method == "train_step":
            hook(play, 0, measures)
    corpus = play.corpus(experiment.evaluation)
    if not isinstance(corpus, Corpus):
        raise wrong(kind, "corpus", "a Corpus", type_name(corpus))


def _check_play(experiment: Experiment, game: Pair, played: PlayResult) -> None:
    """Check the message and the measures of a batch."""
    fault = fault_of_message(played.message, game.channel)
    _raise_fault(experiment.channel.kind, "start_message", fault)
    _raise_fault(experiment.sender.kind, "forward", fault)
    measures = {name: float(value) for name, value in played.measures.items()}
    if fault := fault_of_measures(measures, ("loss", "accuracy", *game.task.chance())):
        _raise_fault(experiment.loss.kind, "forward", fault)
        _raise_fault(experiment.task.kind, "forward", fault)
        raise ValueError(fault)


def _raise_fault(kind: str, method: str, fault: str | None) -> None:
    """Raise `PartError` with file and line of the method if there is a fault and the part is user code."""
    if fault is not None and own_code.is_foreign(kind):
        raise PartError(f"{own_code.place_of(kind, method)}: {kind.partition(':')[2]}: {fault}")


def _watch(experiment: Experiment, game: Pair) -> None:
    """Install checks of the return values of user code."""
    sender, receiver = experiment.sender, experiment.receiver
    for agent, perception in ((sender, game.speaker.perception), (receiver, game.listener.perception)):
        if perception is not None:
            _hook(agent.options.perception, perception, _check_perception)
    _hook(sender, game.speaker.network, check_message)
    _hook(receiver, game.listener.network, check_states)
    _hook(experiment.task, game.task, _check_task)
    if own_code.is_foreign(kind := experiment.channel.kind):
        _replace(
            game.channel, "start_message", lambda builder, *_: _watch_builder(kind, game.channel, builder)
        )
        _replace(game.channel, "received", lambda message, *_: _check_received(kind, game.channel, message))
    _hook(experiment.loss, game.loss, _check_loss)


def _check_received(kind: str, channel: Channel, message: Any) -> None:
    """Check the message that the channel passes to the receiver."""
    if not isinstance(message, Message):
        raise wrong(kind, "received", "a Message", type_name(message))
    _raise_fault(kind, "received", fault_of_message(message, channel))


def _hook(part: Part, module: Any, check: Callable[[str, Any, Any, Any], None]) -> None:
    """Call `check(kind, module, first argument, returned)` after each call of a module that is user code."""
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


def _watch_builder(kind: str, channel: Any, builder: Any) -> None:
    """Install checks of the symbols and the message of a message builder."""
    num_weights = channel.num_logits or channel.symbol_size

    def check_symbols(said: Any, logits: Tensor) -> None:
        is_id = isinstance(said, Tensor) and not said.is_floating_point()
        shape = (len(logits),) if is_id else (len(logits), num_weights)
        of = "step of the builder to give"
        require_shape(kind, "start_message", "ids or weights of a symbol", said, shape, of)

    def check_message(message: Any) -> None:
        if not isinstance(message, Message):
            raise wrong(kind, "start_message", "a Message of the builder", type_name(message))

    _replace(builder, "step", check_symbols)
    _replace(builder, "message", check_message)


def _replace(owner: Any, name: str, check: Callable[..., None]) -> None:
    """Call `check(returned, *arguments)` after each call of a method."""
    method = getattr(owner, name)

    def checked(*arguments: Any, **settings: Any) -> Any:
        returned = method(*arguments, **settings)
        check(returned, *arguments)
        return returned

    with suppress(AttributeError):  # a class with slots
        setattr(owner, name, checked)


def _check_loss(kind: str, module: Any, output: TaskOutput, returned: Any) -> None:
    if not isinstance(returned, tuple) or len(returned) != 2:
        raise wrong(kind, "forward", "loss and cost of each message", type_name(returned))
    for name, value in zip(("loss", "cost"), returned, strict=True):
        if isinstance(value, Tensor) or name == "loss":  # a cost may be 0
            require_shape(kind, "forward", name, value, tuple(output.loss.shape[1:]))
