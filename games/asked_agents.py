"""What trained agents say of meanings that they are given, and what they take messages to mean."""

from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from ecsuite.agents.autocast import call_receiver
from ecsuite.agents.message import EOS, PAD, Message
from ecsuite.games.players.pair import Pair
from ecsuite.games.tasks import Reconstruction
from ecsuite.games.views import View
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.given_values import as_array, rows_of
from ecsuite.runtime.ragged import Ragged


@torch.inference_mode()
def said_of(pair: Pair, meanings: ArrayLike) -> list[list[int]]:
    """The most likely symbols of the sender, without EOS; for arguments and errors see `Run.speak`."""
    if pair.world.rounds.sender_sees_all or pair.world.rounds.num_targets > 1:
        raise ConfigError("the sender of this game sees several objects: its messages are in `corpus`")
    message = pair.speaker.message(_view(pair, meanings), 1, "greedy", None, 0)
    if pair.channel.is_of_values:
        raise ConfigError("the words of this channel are values: its messages are in `corpus`")
    rows = message.symbols.t().tolist()
    return [[symbol for symbol in row if symbol not in (EOS, PAD)] for row in rows]


@torch.inference_mode()
def reconstructed(pair: Pair, task: Reconstruction, messages: Ragged | ArrayLike) -> NDArray[Any]:
    """The objects that the receiver reconstructs, (num_messages, num_attributes); for errors see `Run.understand`."""
    values: NDArray[Any] = task.values(_states(pair, messages))[0].numpy()
    return values


@torch.inference_mode()
def scores_of(pair: Pair, messages: Ragged | ArrayLike, candidates: ArrayLike) -> NDArray[np.float32]:
    """How well candidates fit to messages, (num_messages, num_candidates); see `Run.scores`."""
    choices, states = array_of(candidates), _states(pair, messages)
    if not len(choices):
        raise ConfigError("candidates: expected at least one")
    if isinstance(pair.task, Reconstruction):
        _require_values(pair, choices)
        likelihoods = pair.task.logits(states)[0].log_softmax(-1)  # (num_messages, num_attributes, values)
        asked = pair.task.asked_values(torch.from_numpy(choices.astype(np.int64)))
        places = asked.t()[None].expand(len(likelihoods), -1, -1)
        summed: NDArray[np.float32] = likelihoods.gather(2, places).sum(1).numpy()
        return summed
    if not pair.task.scores_candidates:
        raise ConfigError("the receiver of this game neither chooses among objects nor names values")
    view = _view(pair, choices)
    everyone = torch.arange(len(choices)).expand(states.shape[1], -1)
    seen = View(features=view.features, num_seen=len(choices), indices=everyone)
    found: NDArray[np.float32] = pair.listener.scores(states, seen, None)[0].numpy()
    return found


def array_of(meanings: ArrayLike) -> NDArray[Any]:
    """Meanings as an array, (number, ...).

    Raises:
        ConfigError: If they are no rows of one length.
    """
    try:
        found = np.asarray(as_array(meanings))
    except ValueError:
        raise ConfigError("meanings: expected rows of one length") from None
    if not found.ndim:
        raise ConfigError(f"meanings: expected rows, got {meanings!r:.60}")
    return found


def _states(pair: Pair, messages: Ragged | ArrayLike) -> Tensor:
    """The receiver's states after messages, (1, num_messages, state_size)."""
    if isinstance(pair.task, Reconstruction) and pair.task.num_known:
        raise ConfigError("the receiver of this game also sees attributes of the target (task.num_known)")
    return call_receiver(pair.listener.network, _message(pair, messages), torch.float32)[0]


def _view(pair: Pair, meanings: ArrayLike) -> View:
    """Meanings as objects that an agent sees, one a round."""
    world, given = pair.world, array_of(meanings)
    if world.num_values is not None and world.shows_values:
        _require_values(pair, given)
        given = given.astype(np.int64)
    elif given.shape[1:] != world.object_shape:
        raise ConfigError(f"meanings: expected objects of shape {world.object_shape}, got {given.shape[1:]}")
    features = world.features(torch.from_numpy(np.array(given)), torch.float32)
    return View(features=features, num_seen=1, indices=None)


def _require_values(pair: Pair, meanings: NDArray[Any]) -> None:
    """Refuse what are no attribute values of the world, (number, num_attributes)."""
    num_values = pair.world.num_values or ()
    fits = meanings.ndim == 2 and meanings.shape[1] == len(num_values) and meanings.dtype.kind in "iu"
    if not fits or (meanings < 0).any() or (meanings >= np.array(num_values)).any():
        raise ConfigError(f"meanings: expected rows of {len(num_values)} attribute values below {num_values}")


def _message(pair: Pair, messages: Ragged | ArrayLike) -> Message:
    """Messages of symbols as the receiver gets them."""
    channel = pair.channel
    if channel.is_of_values:
        raise ConfigError("the words of this channel are values, which messages of ids can't give")
    given = rows_of(messages, "message")
    given = given.before(EOS) if channel.has_eos else given
    rows = [given[number].tolist() for number in range(len(given))]
    if not rows:
        raise ConfigError("expected at least one message")
    least, many = (0, "up to ") if channel.has_eos else (channel.max_len, "")
    for row in rows:
        is_long = not least <= len(row) <= channel.max_len
        if is_long or not all(0 < symbol <= channel.vocab_size for symbol in row):
            expected = f"{many}{channel.max_len} symbols from 1 to {channel.vocab_size}"
            raise ConfigError(f"message {row}: expected {expected}")
    rows = [[*row, EOS] for row in rows] if channel.has_eos else rows
    width = max(map(len, rows))
    ids = torch.tensor([[*row, *[PAD] * (width - len(row))] for row in rows])
    return Message(symbols=ids.t(), ends=None, length=torch.tensor([float(len(row)) for row in rows]))
