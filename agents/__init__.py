"""Agents: cells, senders, receivers, and the message between them."""

from collections.abc import Callable
from functools import partial

from torch import nn

from ecsuite.agents.cells import CELLS
from ecsuite.agents.receivers import RecurrentReceiver
from ecsuite.agents.senders import RecurrentSender

SENDERS: dict[str, Callable[..., nn.Module]] = {cell: partial(RecurrentSender, cell=cell) for cell in CELLS}
"""Senders by the names that users write; each is made from num_features, vocab_size, hidden_size, embedding_size."""

RECEIVERS: dict[str, Callable[..., nn.Module]] = {
    cell: partial(RecurrentReceiver, cell=cell) for cell in CELLS
}
"""Receivers by the names that users write; each is made from vocab_size, hidden_size, embedding_size."""

DESCRIPTIONS: dict[str, str] = {
    "rnn": "one layer of Elman's simple recurrent network",
    "gru": "one layer of gated recurrent units",
    "lstm": "one layer of long short-term memory",
}
"""What each architecture is, in a line."""

__all__ = ["DESCRIPTIONS", "RECEIVERS", "SENDERS"]
