"""Agents: cells, senders, receivers, and the message between them."""

from ecsuite.agents.cells import CELLS
from ecsuite.agents.receivers import RecurrentReceiver
from ecsuite.agents.senders import RecurrentSender

SENDERS: dict[str, type[RecurrentSender]] = {cell: RecurrentSender for cell in CELLS}
"""Senders by the names that users write."""

RECEIVERS: dict[str, type[RecurrentReceiver]] = {cell: RecurrentReceiver for cell in CELLS}
"""Receivers by the names that users write."""

__all__ = ["RECEIVERS", "SENDERS"]
