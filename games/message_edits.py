"""Edits of messages on their way to the receiver: symbols that are left out, put in, or become others.

Each does the same to ids and to relaxed symbols, and leaves a message whose symbols, ends and length agree. EOS is
never lost and never becomes another symbol: it says where the message ends.
"""

from dataclasses import replace

import torch
from torch import Tensor

from ecsuite.agents.message import EOS, PAD, Message


def whole(message: Message, num_steps: int) -> Message:
    """A message of ids with PAD up to `num_steps`, as on every device; others have all steps anyway."""
    missing = num_steps - len(message.symbols)
    if message.symbols.is_floating_point() or missing <= 0:
        return message
    fill = torch.full_like(message.symbols[:1], PAD).expand(missing, -1)
    return replace(message, symbols=torch.cat([message.symbols, fill]))


def without(message: Message, lost: Tensor) -> Message:
    """Leave symbols out; those after them move up.

    Relaxed, a symbol that is lost may also have been the end: that probability goes to where the next symbol moves.

    Args:
        message: Of variable length, with all steps.
        lost: Which symbols are lost, (num_steps, batch); where that would be EOS, it is not.
    """
    symbols, ends = message.symbols, message.ends
    if ends is None:
        lost = lost & (symbols > EOS)
        return _of_ids(message, _moved(symbols, _places(~lost), ~lost))
    lost = (
        lost & (torch.arange(len(lost), device=lost.device) < len(lost) - 1)[:, None]
    )  # the last one is EOS alone
    going_on = torch.ones_like(
        symbols[0, :, EOS]
    )  # the probability that no lost symbol just before was the end
    weights = []
    for step, is_lost in zip(symbols, lost, strict=True):
        stopped = 1 - going_on[:, None]
        weights.append(
            torch.cat([step[:, :1] * going_on[:, None] + stopped, step[:, 1:] * going_on[:, None]], -1)
        )
        going_on = torch.where(is_lost, going_on * (1 - step[:, EOS]), 1.0)
    places = _places(~lost)
    # A lost symbol and the next that is kept have one place.
    moved_ends = (_at(places, len(ends)) * ends).sum(1)
    moved = _moved_weights(torch.stack(weights), places, ~lost)
    is_empty = torch.arange(len(lost), device=lost.device)[:, None] >= (~lost).sum(0)
    return _of_weights(message, torch.where(is_empty[..., None], _eos_like(moved), moved), moved_ends)


def with_inserted(message: Message, before: Tensor, inserted: Tensor) -> Message:
    """Put symbols in; those after them move down, and what has no room any more is lost.

    Args:
        message: Of variable length, with all steps.
        before: Before which symbols one is put in, if the message goes on to there, (num_steps, batch).
        inserted: Ids of the symbols, (num_steps, batch).
    """
    symbols, ends = message.symbols, message.ends
    if ends is None:
        before = before & (symbols != PAD)
    places = _places(torch.ones_like(before)) + before.cumsum(0)
    is_room = torch.ones_like(before)
    if ends is None:
        moved = _moved(symbols, places, is_room) + _moved(inserted, places - 1, before) - PAD
        cut = torch.where((moved[:-1] == EOS).any(0), PAD, EOS)
        return _of_ids(message, torch.cat([moved[:-1], cut[None]]))
    known = torch.arange(symbols.shape[-1], device=symbols.device)
    new = (inserted[..., None] == known).to(symbols.dtype)
    moved = _moved_weights(symbols, places, is_room) + _moved_weights(new, places - 1, before)
    moved_ends = (_at(places, len(ends)) * ends).sum(1)[:-1]
    last = _eos_like(moved[:1])
    return _of_weights(
        message, torch.cat([moved[:-1], last]), torch.cat([moved_ends, 1 - moved_ends.sum(0, keepdim=True)])
    )


def rotated(message: Message, by: Tensor, vocab_size: int) -> Message:
    """Let each content symbol be the one that comes so many ids after it, in a ring; 0: it stays.

    Args:
        message: With all steps.
        by: From 0 to vocab_size - 1, (num_steps, batch).
        vocab_size: Number of content symbols.
    """
    symbols = message.symbols
    if not symbols.is_floating_point():
        others = 1 + (symbols - 1 + by) % vocab_size
        return replace(message, symbols=torch.where(symbols > EOS, others, symbols))
    known = torch.arange(vocab_size, device=symbols.device)
    content = symbols[..., 1:].gather(-1, (known - by[..., None]) % vocab_size)
    return replace(message, symbols=torch.cat([symbols[..., :1], content], -1))


def erased(message: Message, lost: Tensor, symbol_size: int) -> Message:
    """Take the weights of symbols away, also of EOS; where a message ends stays known.

    Args:
        message: With all steps.
        lost: Which symbols, (num_steps, batch).
        symbol_size: Number of content symbols and EOS.
    """
    weights = message.symbols
    if not weights.is_floating_point():
        weights = (weights[..., None] == torch.arange(symbol_size, device=weights.device)).float()
    return replace(message, symbols=weights * (~lost)[..., None])


def _places(kept: Tensor) -> Tensor:
    """The place of each symbol, (num_steps, batch): the number of those before it that are kept."""
    return kept.cumsum(0) - kept.long()


def _at(places: Tensor, num_steps: int) -> Tensor:
    """Whether a symbol has a place, (num_places, num_steps, batch)."""
    return torch.arange(num_steps, device=places.device)[:, None, None] == places


def _moved(ids: Tensor, places: Tensor, kept: Tensor) -> Tensor:
    """Ids at their places, and PAD where there is none, (num_steps, batch)."""
    return ((_at(places, len(ids)) & kept) * (ids - PAD)).sum(1) + PAD


def _moved_weights(weights: Tensor, places: Tensor, kept: Tensor) -> Tensor:
    """Weights at their places, and zeros where there are none, (num_steps, batch, symbol_size)."""
    is_at = _at(places, len(weights)) & kept  # (num_places, num_steps, batch)
    return torch.einsum("pnb,nbs->pbs", is_at.to(weights.dtype), weights)


def _eos_like(weights: Tensor) -> Tensor:
    """EOS as weights of the same shape."""
    return (
        (torch.arange(weights.shape[-1], device=weights.device) == EOS).to(weights.dtype).expand_as(weights)
    )


def _of_ids(message: Message, symbols: Tensor) -> Message:
    return replace(message, symbols=symbols, length=(symbols != PAD).sum(0).to(message.length.dtype))


def _of_weights(message: Message, symbols: Tensor, ends: Tensor) -> Message:
    steps = torch.arange(1, len(ends) + 1, device=ends.device, dtype=ends.dtype)
    return replace(message, symbols=symbols, ends=ends, length=steps @ ends)
