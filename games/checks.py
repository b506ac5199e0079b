"""What must hold of batches, messages and measures, whichever parts they come from: a function says what does not.

A run with parts of the user's own asks before its first step, and `ecsuite check` asks in more games.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np
import torch

from ecsuite.agents.message import EOS, PAD, Message
from ecsuite.games.channels import Channel
from ecsuite.games.worlds.world import Batch, World

TOLERANCE = 1e-4
"""Largest difference of two probabilities, or of a length from the one that the symbols have."""
ROUNDED = 0.05
"""The same of symbols in bf16."""


def fault_of_batch(batch: Batch) -> str | None:
    """Which field of a batch does not fit the others; None if all do."""
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
    """What is wrong with the objects of a batch as input of perceptions; None if nothing is."""
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
    """What is missing or not finite among the means of a batch or of an evaluation; None if nothing is.

    Args:
        measures: By name, such as loss, measures of the task, and length.
        needed: The names that there have to be.
    """
    missing = [name for name in needed if name not in measures]
    if missing:
        return f"expected a measure {', '.join(missing)}, got {', '.join(measures)}"
    bad = {name: value for name, value in measures.items() if not np.isfinite(value)}
    return f"expected finite measures, got {bad}" if bad else None


def fault_of_ids(message: Message) -> str | None:
    """What breaks the rules of a message of ids; None if nothing does.

    After the first EOS there is only PAD, and the length counts the symbols with EOS.
    """
    ids = message.symbols.t()  # (batch, num_steps)
    ended = (ids == EOS).cumsum(1)
    after = torch.cat([torch.zeros_like(ended[:, :1]), ended[:, :-1]], dim=1) > 0
    if bool((ids[after] != PAD).any()):
        return "there are symbols after the first EOS"
    if bool((ids[~after] == PAD).any()):
        return "there is PAD before the message has ended"
    if not torch.equal((ids != PAD).sum(1), message.length.long()):
        return "the length is not the number of symbols with EOS"
    return None


def fault_of_message(message: Message, channel: Channel) -> str | None:
    """What two parts of a message say that do not agree; None if they agree.

    A relaxed message ends with a step with the weight of EOS there, if it has not ended before: symbols that are not
    there, such as those that a channel drops, have no weight and say nothing.
    """
    symbols, ends, length = message.symbols, message.ends, message.length
    near = TOLERANCE if symbols.dtype == torch.float32 else ROUNDED
    if channel.is_of_values:
        is_whole = bool((length == len(symbols)).all())
        return None if is_whole else f"its length is not the number of its words, {len(symbols)}"
    if not symbols.is_floating_point():
        return fault_of_ids(replace(message, ends=None))
    if ends is None:
        if channel.has_eos:
            return "it may end at several steps, and has no probability of each"
        is_whole = bool((length == len(symbols)).all())
        return None if is_whole else f"its length is not the number of its symbols, {len(symbols)}"
    if not torch.allclose(ends.sum(0), torch.ones_like(length), atol=near):
        return "the probabilities of its ends do not add up to 1"
    steps = torch.arange(1, len(ends) + 1, device=ends.device, dtype=ends.dtype)
    if not torch.allclose(steps @ ends, length, atol=near * len(ends)):
        return "its length is not the mean of its ends"
    left = 1 - (ends.cumsum(0) - ends)  # the probability that it has not ended before, (num_steps, batch)
    is_there = symbols.sum(-1) > 0.5
    expected = left * symbols[..., EOS]
    if channel.has_eos and not torch.allclose(ends[is_there], expected[is_there], atol=near):
        return "its ends are not where its symbols have EOS"
    return None
