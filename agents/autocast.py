"""Call a sender or receiver in the precision of the game.

Most classes of this package cast their weights to the precision of their input, and the gradients of their steps are
summed in fp32, which autocast does not do (`casts_weights`). Any other one is given fp32 inputs under
`torch.autocast`, so that torch's layers work in every precision:

    class MySender(Sender):
        def __init__(self, num_features: int, vocab_size: int) -> None:
            super().__init__()
            self.perceive, self.scores = nn.Linear(num_features, 64), nn.Linear(64, vocab_size + 1)
            self.embed, self.cell = nn.Embedding(vocab_size + 1, 64), nn.GRUCell(64, 64)

        def forward(self, meanings: Tensor, builder: MessageBuilder) -> Message:
            state = self.perceive(meanings)  # (batch, 64)
            inputs = torch.zeros_like(state)
            while not builder.done:
                state = self.cell(inputs, state)
                inputs = embed_symbols(self.embed, builder.step(self.scores(state)))
            return builder.message()

    class MyReceiver(Receiver):
        def __init__(self, vocab_size: int) -> None:
            super().__init__(state_size=64)
            self.embed, self.encode = nn.Embedding(vocab_size + 1, 64), nn.GRU(64, 64)

        def forward(self, message: Message) -> tuple[Tensor, Tensor]:
            states, _ = self.encode(embed_symbols(self.embed, message.symbols))  # (num_steps, batch, 64)
            return message.at_ends(states)
"""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from ecsuite.agents.message import Message
from ecsuite.agents.receivers import Receiver
from ecsuite.agents.senders import MessageBuilder, Sender
from ecsuite.agents.shared_states import Places, distinct_messages, select
from ecsuite.runtime.errors import ConfigError


def call_sender(sender: Sender, meanings: Tensor, builder: MessageBuilder) -> Message:
    """Generate a message for each meaning.

    Args:
        sender: Called as `sender(meanings, builder)`; returns `builder.message()`. Unless it casts its weights, it is
            called under autocast, and the builder computes outside of it.
        meanings: (batch, num_features), in the precision of the computation.
        builder: Collects the message symbol by symbol.

    Raises:
        ConfigError: If the sender returns anything but a message.
    """
    casts_weights = sender.casts_weights
    with autocast_to(meanings.device, torch.float32 if casts_weights else meanings.dtype):
        if casts_weights:
            message: Message = sender(meanings, builder)
        else:
            message = sender(meanings.float(), _BuilderWithoutAutocast(builder, meanings.device))
    if not isinstance(message, Message):
        raise ConfigError(
            f"sender {type(sender).__name__}: expected builder.message() to be returned, got {type(message).__name__}"
        )
    return message


def call_receiver(receiver: Receiver, message: Message, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Encode a message up to each of its possible ends.

    Args:
        receiver: Where it casts its weights, it is called as `receiver(message, dtype)`, else as `receiver(message)`
            under autocast. It returns what `Message.at_ends` returns.
        message: The message.
        dtype: Precision of the computation.

    Returns:
        States (num_ends, batch, state_size) in `dtype`, and the probability of each end, (num_ends, batch).

    Raises:
        ConfigError: If the receiver returns anything else.
    """
    casts_weights = receiver.casts_weights
    places: Places = None
    if receiver.reads_distinct:
        message, places = distinct_messages(message, width=receiver.state_size)
    symbols, wanted = message.symbols, dtype if casts_weights else torch.float32
    if symbols.is_floating_point() and symbols.dtype != wanted:  # a sender may say them in another precision
        message = replace(message, symbols=symbols.to(wanted))
    with autocast_to(symbols.device, torch.float32 if casts_weights else dtype):
        if casts_weights:
            states, ends = receiver(message, dtype)
        else:
            states, ends = _checked(receiver, receiver(message))
    if places is not None:  # of ids, which have one end
        states, ends = select(states[0], places)[None], ends[:, places]
    return states.to(dtype), ends


def _checked(receiver: Receiver, returned: Any) -> tuple[Tensor, Tensor]:
    """States and ends from the return value of a receiver, which may lack `at_ends`."""
    if isinstance(returned, tuple) and len(returned) == 2:
        states, ends = returned
        if isinstance(states, Tensor) and isinstance(ends, Tensor) and states.shape[:-1] == ends.shape:
            return states, ends
    raise ConfigError(
        f"receiver {type(receiver).__name__}: expected states (num_ends, batch, state_size) and the probability of "
        "each end (num_ends, batch), as message.at_ends(states) returns them"
    )


class _BuilderWithoutAutocast:
    """A message builder that computes in full precision while its sender is called under autocast."""

    def __init__(self, builder: MessageBuilder, device: torch.device) -> None:
        self.builder, self.without_autocast = builder, autocast_to(device, torch.float32)

    @property
    def done(self) -> bool:
        """Whether the message is complete."""
        return self.builder.done

    def step(self, logits: Tensor) -> Tensor:
        """See `MessageBuilder`."""
        with self.without_autocast:
            return self.builder.step(logits)

    def message(self) -> Message:
        """See `MessageBuilder`."""
        with self.without_autocast:
            return self.builder.message()


def autocast_to(device: torch.device, dtype: torch.dtype) -> AbstractContextManager[object]:
    """Autocast to `dtype`, whatever surrounds it; fp32: no autocast."""
    if not torch.amp.is_autocast_available(device.type):
        return nullcontext()
    if dtype == torch.float32:
        return torch.autocast(device.type, enabled=False)
    return torch.autocast(device.type, dtype=dtype)
