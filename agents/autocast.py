"""Calls of senders and receivers in a given precision, and checks of values that user code returns."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

import ecsuite.parts.own_code as own_code
from ecsuite.agents.message import Message
from ecsuite.agents.receivers import Receiver
from ecsuite.agents.senders import MessageBuilder, Sender
from ecsuite.agents.shared_states import Places, distinct_messages, select
from ecsuite.runtime.errors import ConfigError, PartError


def check_message(kind: str, sender: nn.Module, meanings: Tensor, returned: Any) -> None:
    """Raise `PartError` unless the returned value is a message for each meaning, (batch, num_features).

    Raises:
        PartError: With file and line of the part.
    """
    if not isinstance(returned, Message):
        raise wrong(kind, "forward", "builder.message() to be returned", type_name(returned))
    if returned.symbols.shape[1] != len(meanings):
        raise wrong(kind, "forward", f"{len(meanings)} messages", f"{returned.symbols.shape[1]}")


def check_states(kind: str, receiver: Receiver, message: Message, returned: Any) -> None:
    """Raise `PartError` unless the value is states for each end of a message, or after each symbol, with weights."""
    if not isinstance(returned, tuple) or len(returned) != 2:
        raise wrong(kind, "forward", "the result of message.at_ends(states)", type_name(returned))
    num_steps, batch = message.symbols.shape[:2]
    num_ends = 1 if message.ends is None else len(message.ends)
    if isinstance(returned[0], Tensor) and len(returned[0]) == num_steps:
        num_ends = num_steps
    require_shape(kind, "forward", "states", returned[0], (num_ends, batch, receiver.state_size))
    require_shape(kind, "forward", "weights of the ends", returned[1], (num_ends, batch))


def require_shape(
    kind: str, method: str, what: str, value: Any, shape: tuple[int, ...], of: str = ""
) -> None:
    """Raise `PartError` unless `value` is a tensor of this shape; `of` replaces the method's name in the message."""
    found = tuple(value.shape) if isinstance(value, Tensor) else None
    if found != shape:
        got = type_name(value) if found is None else f"{found}"
        raise wrong(kind, method, f"{of or f'{method} to give'} {what} of shape {shape}", got)


def wrong(kind: str, method: str, expected: str, got: str) -> PartError:
    """Make the error for a value returned by a method of user code."""
    name = kind.partition(":")[2]
    return PartError(f"{own_code.place_of(kind, method)}: {name}: expected {expected}, got {got}")


def type_name(value: object) -> str:
    """Name of the class of a value."""
    return type(value).__name__


def call_sender(sender: Sender, meanings: Tensor, builder: MessageBuilder) -> Message:
    """Generate a message for each meaning.

    Args:
        sender: Called as `sender(meanings, builder)`; returns `builder.message()`. Unless `casts_weights`, it is
            called under autocast, but the builder is not.
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
        receiver: Called as `receiver(message, dtype)` if `casts_weights`, else as `receiver(message)`
            under autocast; returns the result of `Message.at_ends`.
        message: Messages.
        dtype: Precision of the computation.

    Returns:
        States (num_ends, batch, state_size) in `dtype`, and the probability of each end, (num_ends, batch).

    Raises:
        ConfigError: If the receiver returns anything else.
    """
    casts_weights = receiver.casts_weights
    places: Places = None
    if vars(type(receiver)).get("reads_distinct"):  # not inherited, see `Receiver`
        message, places = distinct_messages(message, width=receiver.state_size)
    symbols, wanted = message.symbols, dtype if casts_weights else torch.float32
    if symbols.is_floating_point() and symbols.dtype != wanted:  # a sender may use another precision
        message = replace(message, symbols=symbols.to(wanted))
    with autocast_to(symbols.device, torch.float32 if casts_weights else dtype):
        if casts_weights:
            states, ends = receiver(message, dtype)
        else:
            states, ends = _checked(receiver, receiver(message))
    if places is not None:  # ids, which have one end
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
    """A message builder that computes without autocast while its sender is called under autocast."""

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
    """Autocast to `dtype`, overriding any surrounding autocast; fp32: no autocast."""
    if not torch.amp.is_autocast_available(device.type):
        return nullcontext()
    if dtype == torch.float32:
        return torch.autocast(device.type, enabled=False)
    return torch.autocast(device.type, dtype=dtype)
