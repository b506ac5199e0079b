"""Return values of a user's own agents, checked once before they are trained."""

from typing import Any

from torch import Tensor, nn

import ecsuite.parts.own_code as own_code
from ecsuite.agents.message import Message
from ecsuite.agents.receivers import Receiver
from ecsuite.runtime.errors import PartError


def check_message(kind: str, sender: nn.Module, meanings: Tensor, returned: Any) -> None:
    """Refuse what is no message for each of the meanings, (batch, num_features).

    Raises:
        PartError: With file and line of the part, as all functions here.
    """
    if not isinstance(returned, Message):
        raise wrong(kind, "forward", "builder.message() to be returned", type_name(returned))
    if returned.symbols.shape[1] != len(meanings):
        raise wrong(kind, "forward", f"{len(meanings)} messages", f"{returned.symbols.shape[1]}")


def check_states(kind: str, receiver: Receiver, message: Message, returned: Any) -> None:
    """Refuse what is no states for each end of a message, or after each of its symbols, with weights."""
    if not isinstance(returned, tuple) or len(returned) != 2:
        raise wrong(kind, "forward", "what message.at_ends(states) returns", type_name(returned))
    num_steps, batch = message.symbols.shape[:2]
    num_ends = 1 if message.ends is None else len(message.ends)
    if isinstance(returned[0], Tensor) and len(returned[0]) == num_steps:
        num_ends = num_steps
    require_shape(kind, "forward", "states", returned[0], (num_ends, batch, receiver.state_size))
    require_shape(kind, "forward", "weights of the ends", returned[1], (num_ends, batch))


def require_shape(
    kind: str, method: str, what: str, value: Any, shape: tuple[int, ...], of: str = ""
) -> None:
    """Refuse what is no tensor of a shape; `of`: what is said of it, if not that the method gives it."""
    found = tuple(value.shape) if isinstance(value, Tensor) else None
    if found != shape:
        got = type_name(value) if found is None else f"{found}"
        raise wrong(kind, method, f"{of or f'{method} to give'} {what} of shape {shape}", got)


def wrong(kind: str, method: str, expected: str, got: str) -> PartError:
    """The error for what a method of a user's own part returned."""
    name = kind.partition(":")[2]
    return PartError(f"{own_code.place_of(kind, method)}: {name}: expected {expected}, got {got}")


def type_name(value: object) -> str:
    """The name of the class of a value."""
    return type(value).__name__
