"""Sharing of states: messages that begin alike lead to the same state, which is computed once for all of them.

The state of a recurrent network depends only on its initial state and on the symbols since. So for a batch of ids,
a sender computes one state per distinct meaning and message prefix, and a receiver one per distinct
prefix; neither computes states after the end of a message. States, messages and losses equal the results of
separate rows up to rounding; a gradient is the sum over the rows that share a state.

The number of states depends on values, which would require synchronisation on devices other than a CPU, and differs
between replicas under vmap. There, and in batches too small to gain time, each row has its own state up to the last
step. Without sharing, a step of `disc_small` with REINFORCE takes 3.2 times as long.
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
"""Minimum number of values in the states of a step for sharing. Without it, 128 rows of 64 units take the same time, of
128 units 1.15 times as long, and 512 rows of 256 units three times (AMD EPYC, one thread, `disc_tiny`)."""

Places = Tensor | None
"""Index of the state, or of the previous state, of each row; None: the row's own index."""


class Builder(Protocol):
    """A message builder, as used here; see `ecsuite.agents.senders.MessageBuilder`."""

    def step(self, logits: Tensor) -> Tensor:
        """Logits (batch, vocab_size + 1) to the symbol of this step."""


class IdBuilder:
    """Base class of message builders whose steps return ids, (batch,), with PAD after the end."""

    looks_at_ends = True
    """Whether training stops a batch once all messages have ended, which depends on values, so that a step can't
    be recorded. False: all messages have `max_len` steps; symbols after the end of a message are ignored."""


class DistinctStates:
    """States that a sender computes: one per distinct meaning and message prefix.

        states = DistinctStates(meanings, builder)
        hidden = start(states.meanings)
        while not builder.done:
            symbols, places = states.say(logits(hidden))
            hidden = next_state(symbols, select(hidden, places))

    Equal meanings with a gradient do not share a state: their objects may differ, and the perception may learn to
    distinguish them.

    Args:
        meanings: Meanings, (batch, num_features).
        builder: Builds the messages; states are shared only with an `IdBuilder`.
        width: Width of a state.
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
        """Generate the next symbol of each row.

        Args:
            logits: Logits of each state, (num_states, vocab_size + 1).

        Returns:
            The input symbol of each next state, and the index of its previous state.
        """
        said = self.builder.step(select(logits, self.places))
        if not self.are_shared:
            return said, None
        ids = said.numpy()
        rows = np.flatnonzero(ids > EOS)  # messages that have not ended
        if not len(rows):
            return said.new_full((len(logits),), EOS), None
        before = rows if self.places is None else self.places.numpy()[rows]
        width = int(ids.max()) + 1
        keys, places = torch.unique(torch.from_numpy(before * width + ids[rows]), return_inverse=True)
        followed, symbols = np.divmod(keys.numpy(), width)
        if len(rows) < len(ids):  # symbols after the end of a message are ignored
            places = torch.zeros_like(said).index_copy_(0, torch.from_numpy(rows), places)
        self.places = _places(places.numpy(), len(keys))
        return torch.from_numpy(symbols), _places(followed, len(logits))


@dataclass(frozen=True, kw_only=True, slots=True)
class Beginnings:
    """The distinct prefixes of the messages of a batch; a receiver computes one state per prefix."""

    message: Message
    """The messages."""
    symbols: Tensor
    """The last symbol of each prefix, shortest first, (num_prefixes,); without sharing, of each row, (num_steps,
    batch), or weights (num_steps, batch, vocab_size + 1)."""
    sizes: Sequence[int] | None
    """Number of prefixes of each length; None: one per row."""
    followed: Sequence[Places]
    """Per length, the index of each prefix without its last symbol among the prefixes that are shorter by one."""
    ends: Tensor | None = None
    """Index among all prefixes of each message at each of its possible ends, (num_ends, batch)."""

    def steps(self, read: Tensor) -> Sequence[Tensor]:
        """Split the encodings of all symbols, (*symbols.shape, width), into inputs of each step."""
        return read.unbind(0) if self.sizes is None else read.split(list(self.sizes))

    def joined(self, states: Sequence[Tensor]) -> Tensor:
        """Combine the states after each step into states of all symbols, (*symbols.shape, width)."""
        return torch.stack(list(states)) if self.sizes is None else torch.cat(list(states))

    def at_ends(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """Select the states of whole messages from the states of all symbols; see `Message.at_ends`."""
        if self.ends is None:
            return self.message.at_ends(states)
        of_ends = select(states, self.ends.flatten()).unflatten(0, self.ends.shape)
        if self.message.ends is not None:
            return of_ends, self.message.ends
        return of_ends, torch.ones_like(self.message.length)[None]


def beginnings(message: Message, *, width: int, are_independent: bool = True) -> Beginnings:
    """Compute the distinct prefixes of messages.

    Args:
        message: The messages. Relaxed messages do not share states.
        width: Width of a state.
        are_independent: Whether states depend only on their own message; otherwise states are not shared.
    """
    said = message.symbols
    may_be_shared = are_independent and may_share(said, said.shape[1], width)
    if said.is_floating_point() or not may_be_shared:
        return Beginnings(message=message, symbols=said, sizes=None, followed=[None] * len(said))
    # In alphabetical order, a prefix is new if it differs from the previous row.
    ids = said.t().contiguous().numpy()  # (batch, num_steps)
    order = np.argsort((ids - PAD).astype(">u4").view((np.void, 4 * ids.shape[1]))[:, 0])
    ids = ids[order]
    differs = np.ones(ids.shape, dtype=bool)
    np.not_equal(ids[1:], ids[:-1], out=differs[1:])
    is_new = np.logical_or.accumulate(differs, axis=1) & (ids != PAD)
    # At least two steps, so that all weights have a gradient, possibly zero, even if all messages are empty.
    sizes = [size for step, size in enumerate(is_new.sum(0).tolist()) if size or step < 2]
    places = is_new.cumsum(0) - 1  # index of each row among the prefixes of each length
    offsets = np.cumsum([0, *sizes])
    before = places.T[:-1][is_new.T[1:]]  # for all prefixes except the first `sizes[0]`
    parts = np.split(before, offsets[1:-1] - sizes[0])[1:]
    last = message.length.long().numpy()[order] - 1
    if message.ends is None:
        steps = last[None]
    else:  # after its end, the state of a message does not change
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
    """Select the distinct messages of a batch, and the index of each row among them; see `beginnings`."""
    said = message.symbols
    if said.is_floating_point() or message.ends is not None or not may_share(said, said.shape[1], width):
        return message, None
    firsts, places = distinct_rows(said.t())
    if len(firsts) == len(places):
        return message, None
    return Message(symbols=said[:, firsts], ends=None, length=message.length[firsts]), places


def select(rows: Tensor, places: Places) -> Tensor:
    """Select the rows at indices, (number, ...); gradients of repeated rows are summed in fp32."""
    if places is None:
        return rows
    dtype = torch.promote_types(rows.dtype, torch.float32)
    return rows.to(dtype).index_select(0, places).to(rows.dtype)


def select_states(state: tuple[Tensor, ...], places: Places) -> tuple[Tensor, ...]:
    """Select rows of all parts of a state; see `select`."""
    return tuple(select(part, places) for part in state)


def may_share(like: Tensor, num_rows: int, width: int) -> bool:
    """Whether `num_rows` rows may share states of a width: if values may be read, and sharing saves time."""
    return num_rows * width >= FEWEST_VALUES and may_look_at(like)


def may_look_at(tensor: Tensor) -> bool:
    """Whether the computation may depend on the values of a tensor: on a CPU, and not for replicas."""
    return tensor.device.type == "cpu" and not are_computing()


def distinct_rows(table: Tensor) -> tuple[Tensor, Tensor]:
    """Index of the first occurrence of each distinct row, (num_distinct,), and of each row among them, (batch,)."""
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
    """Convert indices to a tensor; None if they are 0 to `number` - 1 in order."""
    is_in_order = len(places) == number and np.array_equal(places, np.arange(number))
    return None if is_in_order else torch.from_numpy(places)
