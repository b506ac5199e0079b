"""Each state once: messages that begin alike bring an agent into the same state, which is computed once for them all.

The state of a recurrent network depends on what it began with and on the symbols since then, and on nothing else. So of
a batch of ids, a sender computes one state for each different meaning and beginning of a message, a receiver one for
each different beginning, and neither computes any after the end of a message. States, messages and losses are those of
rows that are computed one by one, but for rounding; a gradient is the sum over the rows that share a state.

How many states there are depends on values: a device other than a CPU would have to be waited for, and replicas under
vmap have different ones. There each row has a state of its own, up to the last step, and so it has in batches so small
that finding out takes longer than it saves. Without it a step of `disc_small` with REINFORCE takes 3.2 times as long.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ecsuite.agents.message import EOS, PAD, Message
from ecsuite.agents.replicas import are_computing

FEWEST_VALUES = 2**14
"""Fewest numbers in the states of a step that are shared: 128 rows of 64 units take as long either way, of 128 units
1.15 times as long one by one, 512 rows of 256 units three times (AMD EPYC, one thread, `disc_tiny`)."""

Places = Tensor | None
"""The place of the state that each row is in, or follows on; None: that of the row itself."""


class Builder(Protocol):
    """A message builder, as far as it is used here; see `ecsuite.agents.senders.MessageBuilder`."""

    def step(self, logits: Tensor) -> Tensor:
        """Logits (batch, vocab_size + 1) to the symbol of this step."""


class IdBuilder:
    """Base class of message builders whose steps return what was said: ids, (batch,), and PAD after the end."""

    looks_at_ends = True
    """Whether training may end a batch of messages when all have ended, which depends on values, so that a step can't
    be recorded. False: all have `max_len` steps; what comes after the end of a message counts for nothing."""


class DistinctStates:
    """The states that a sender computes: of each different meaning and beginning of a message one.

        states = DistinctStates(meanings, builder)
        hidden = start(states.meanings)
        while not builder.done:
            symbols, places = states.say(logits(hidden))
            hidden = next_state(symbols, select(hidden, places))

    Meanings with a gradient are not taken for one: objects may look the same to a perception that learns to tell them
    apart.

    Args:
        meanings: (batch, num_features).
        builder: Builds the messages; each row has a state of its own if it is no `IdBuilder`.
        width: Of a state.
    """

    def __init__(self, meanings: Tensor, builder: Builder, *, width: int) -> None:
        self.builder, self.meanings = builder, meanings
        self.are_shared = isinstance(builder, IdBuilder) and may_share(meanings, len(meanings), width)
        if isinstance(builder, IdBuilder):
            builder.looks_at_ends = self.are_shared
        self.places: Places = None
        if self.are_shared and not meanings.requires_grad:
            firsts, places = distinct_rows(meanings)
            if len(firsts) < len(meanings):
                self.meanings, self.places = meanings[firsts], places

    def say(self, logits: Tensor) -> tuple[Tensor, Places]:
        """Say a symbol in each row.

        Args:
            logits: Of each state, (num_states, vocab_size + 1).

        Returns:
            The symbol that brings about each of the next states, and the place of the state that it follows on.
        """
        said = self.builder.step(select(logits, self.places))
        if not self.are_shared:
            return said, None
        ids = said.numpy()
        rows = np.flatnonzero(ids > EOS)  # of messages that go on
        if not len(rows):
            return said.new_full((len(logits),), EOS), None
        before = rows if self.places is None else self.places.numpy()[rows]
        width = int(ids.max()) + 1
        keys, places = torch.unique(torch.from_numpy(before * width + ids[rows]), return_inverse=True)
        followed, symbols = np.divmod(keys.numpy(), width)
        if len(rows) < len(ids):  # what a message that has ended is given counts for nothing
            places = torch.zeros_like(said).index_copy_(0, torch.from_numpy(rows), places)
        self.places = _places(places.numpy(), len(keys))
        return torch.from_numpy(symbols), _places(followed, len(logits))


@dataclass(frozen=True, kw_only=True, slots=True)
class Beginnings:
    """The different beginnings of the messages of a batch, for which a receiver computes a state each."""

    message: Message
    """The messages."""
    symbols: Tensor
    """The last symbol of each beginning, the shortest first, (num_beginnings,); else of each row, (num_steps, batch),
    or weights (num_steps, batch, vocab_size + 1)."""
    sizes: Sequence[int] | None
    """How many there are of each length; None: one for each row."""
    followed: Sequence[Places]
    """For each length, the places of the beginnings without the last symbol among those that are shorter by one."""
    ends: Tensor | None = None
    """The place among all beginnings of each message at each of its possible ends, (num_ends, batch)."""

    def steps(self, read: Tensor) -> Sequence[Tensor]:
        """Inputs of each step from the encodings of all symbols, (*symbols.shape, width)."""
        return read.unbind(0) if self.sizes is None else read.split(list(self.sizes))

    def joined(self, states: Sequence[Tensor]) -> Tensor:
        """The states after each step as those of all symbols, (*symbols.shape, width)."""
        return torch.stack(list(states)) if self.sizes is None else torch.cat(list(states))

    def at_ends(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """The states of whole messages, from those of all symbols; see `Message.at_ends`."""
        if self.ends is None:
            return self.message.at_ends(states)
        of_ends = select(states, self.ends.flatten()).unflatten(0, self.ends.shape)
        if self.message.ends is not None:
            return of_ends, self.message.ends
        return of_ends, torch.ones_like(self.message.length)[None]


def beginnings(message: Message, *, width: int, are_independent: bool = True) -> Beginnings:
    """The beginnings of messages.

    Args:
        message: The messages. Relaxed ones have a state for each row.
        width: Of a state.
        are_independent: Whether states depend on their own message alone; otherwise, too, each row has one.
    """
    said = message.symbols
    may_be_shared = are_independent and may_share(said, said.shape[1], width)
    if said.is_floating_point() or not may_be_shared:
        return Beginnings(message=message, symbols=said, sizes=None, followed=[None] * len(said))
    # In alphabetical order a beginning is new where it differs from the one above.
    ids = said.t().contiguous().numpy()  # (batch, num_steps)
    order = np.argsort((ids - PAD).astype(">u4").view((np.void, 4 * ids.shape[1]))[:, 0])
    ids = ids[order]
    differs = np.ones(ids.shape, dtype=bool)
    np.not_equal(ids[1:], ids[:-1], out=differs[1:])
    is_new = np.logical_or.accumulate(differs, axis=1) & (ids != PAD)
    # At least two steps, so that all weights have a gradient where all messages are empty, if one of zeros.
    sizes = [size for step, size in enumerate(is_new.sum(0).tolist()) if size or step < 2]
    places = is_new.cumsum(0) - 1  # of each row, among the beginnings of each length
    offsets = np.cumsum([0, *sizes])
    before = places.T[:-1][is_new.T[1:]]  # of all beginnings but the first `sizes[0]`
    parts = np.split(before, offsets[1:-1] - sizes[0])[1:]
    last = message.length.long().numpy()[order] - 1
    if message.ends is None:
        steps = last[None]
    else:  # after its end the state of a message stays as it is
        steps = np.minimum(np.arange(len(message.ends))[:, None], last)
    ends = (offsets[steps] + places[np.arange(len(ids)), steps])[:, np.argsort(order)]
    return Beginnings(
        message=message,
        symbols=torch.from_numpy(ids.T[is_new.T]),
        sizes=sizes,
        followed=[None, *(_places(part, size) for part, size in zip(parts, sizes[:-1], strict=True))],
        ends=torch.from_numpy(ends),
    )


def distinct_messages(message: Message, *, width: int) -> tuple[Message, Places]:
    """The different ones of a batch of messages, and the place of each row among them; see `beginnings`."""
    said = message.symbols
    if said.is_floating_point() or message.ends is not None or not may_share(said, said.shape[1], width):
        return message, None
    firsts, places = distinct_rows(said.t())
    if len(firsts) == len(places):
        return message, None
    return Message(symbols=said[:, firsts], ends=None, length=message.length[firsts]), places


def select(rows: Tensor, places: Places) -> Tensor:
    """The rows at these places, (number, ...); gradients of a row that is there more than once are summed in fp32."""
    if places is None:
        return rows
    dtype = torch.promote_types(rows.dtype, torch.float32)
    return rows.to(dtype).index_select(0, places).to(rows.dtype)


def select_states(state: tuple[Tensor, ...], places: Places) -> tuple[Tensor, ...]:
    """All parts of a state at these places; see `select`."""
    return tuple(select(part, places) for part in state)


def may_share(like: Tensor, num_rows: int, width: int) -> bool:
    """Whether so many rows may share states of a width: where values may be looked at, and it pays."""
    return num_rows * width >= FEWEST_VALUES and may_look_at(like)


def may_look_at(tensor: Tensor) -> bool:
    """Whether what is computed may depend on the values of a tensor: on a CPU, and not for replicas."""
    return tensor.device.type == "cpu" and not are_computing()


def distinct_rows(table: Tensor) -> tuple[Tensor, Tensor]:
    """The first of each different row of a table, (num_distinct,), and the place of each row among them, (batch,)."""
    size = table[0].numel() * table.element_size()
    content = table.detach().contiguous().view(torch.uint8).numpy().tobytes()
    places: dict[bytes, int] = {}
    firsts, found = list[int](), list[int]()
    for row, start in enumerate(range(0, len(content), size)):
        place = places.setdefault(content[start : start + size], len(firsts))
        found.append(place)
        if place == len(firsts):
            firsts.append(row)
    return torch.tensor(firsts), torch.tensor(found)


def _places(places: NDArray[np.int64], number: int) -> Places:
    """Places among so many rows; None if they are all of them in their order."""
    is_in_order = len(places) == number and np.array_equal(places, np.arange(number))
    return None if is_in_order else torch.from_numpy(places)
