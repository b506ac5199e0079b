"""Protocols: when a language counts as acquired (Perkins 2021, section 4.4), and when to stop hoping.

A watch sees the accuracy of every training batch before it is learnt from. Meanings are drawn afresh for each batch, so
this is accuracy on new draws, and costs nothing.
"""

from abc import ABC, abstractmethod
from collections import deque
from dataclasses import dataclass
from typing import Literal

VERSION = 1
"""Raised whenever a run with the same inputs would count other steps than before."""

HOPELESS_AT = 0.25
"""Share of the cap after which an early verdict may fall."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Protocol:
    """How a run is trained and measured."""

    name: Literal["exact", "paper"] = "exact"
    """exact: the mean accuracy of `window` batches in a row; steps are those at the window's middle. paper: one batch,
    after the first update and then after every 50, as the published program does (without its wall-clock looks)."""
    target: float | None = 0.8
    """Accuracy of symbols (of attributes for a receiver) at which a language counts as acquired; None: never."""
    cap_ratio: float = 20.0
    """A run ends at so many times the steps that CONCAT took with the same seed."""
    window: int = 11
    """Batches in the mean of `exact`; odd."""
    check_every: int = 50
    """Updates between the looks of `paper`."""
    batch_size: int = 128
    lr: float = 1e-3
    """Learning rate of Adam."""
    clip: float | None = None
    """Largest norm of a gradient. The paper says 5.0; its program never clipped."""
    hidden_size: int = 128
    """Width of states and embeddings, unless a model says."""
    held_out: float = 0.0
    """Share of meanings that are never trained on."""
    precision: Literal["fp32", "bf16"] = "fp32"
    """bf16: the factors of products are rounded to bf16, where the processor multiplies those faster."""
    early_verdict: bool = False
    """End a run at a quarter of its cap if it has come less than a quarter of the way from the floor to the target."""

    def signature(self) -> str:
        """All that can change a count of steps."""
        looks = f"window:{self.window}" if self.name == "exact" else f"every:{self.check_every}"
        parts = [self.name, f"target:{self.target}", f"cap:{self.cap_ratio:g}", looks]
        parts += [f"batch:{self.batch_size}", f"lr:{self.lr:g}", f"clip:{self.clip or 'none'}"]
        parts += [f"hidden:{self.hidden_size}", f"held-out:{self.held_out:g}"]
        parts += ["verdict:early" if self.early_verdict else "verdict:cap"]
        return "|".join([*parts, f"precision:{self.precision}", f"v:{VERSION}"])

    def early_stopping(self, cap: int | None, floor: float) -> "EarlyStopping":
        """Watch one run.

        Args:
            cap: Updates after which to give up; None: never.
            floor: Accuracy that needs no learning.
        """
        return (ExactEarlyStopping if self.name == "exact" else PaperEarlyStopping)(self, cap, floor)


@dataclass(frozen=True, kw_only=True, slots=True)
class StopDecision:
    """How a run ended."""

    steps: int
    """Updates until the language was acquired, or those made in vain."""
    reached: bool
    """Whether it was acquired."""
    is_early: bool = False
    """Whether it was given up before the cap."""


class EarlyStopping(ABC):
    """One run under a protocol."""

    def __init__(self, protocol: Protocol, cap: int | None, floor: float) -> None:
        """See `Protocol.early_stopping`."""
        self.protocol, self.cap = protocol, cap
        self.accuracy = 0.0
        """As the protocol last saw it."""
        way = 0.0 if protocol.target is None else HOPELESS_AT * (protocol.target - floor)
        self.hopeless_below = floor + way if protocol.early_verdict else 0.0

    def see(self, updates: int, accuracy: float) -> StopDecision | None:
        """Look at a batch's accuracy after so many updates; a verdict ends the run."""
        steps = self.look(updates, accuracy)
        if steps is None:
            return None
        if self.protocol.target is not None and self.accuracy >= self.protocol.target:
            return StopDecision(steps=steps, reached=True)
        if self.cap is None:
            return None
        if steps >= self.cap:
            return StopDecision(steps=steps, reached=False)
        if steps >= HOPELESS_AT * self.cap and self.accuracy < self.hopeless_below:
            return StopDecision(steps=steps, reached=False, is_early=True)
        return None

    @abstractmethod
    def look(self, updates: int, accuracy: float) -> int | None:
        """Set `accuracy`, and give the steps that it belongs to; None where the protocol does not look."""


class ExactEarlyStopping(EarlyStopping):
    """Looks after every update, through a window."""

    def __init__(self, protocol: Protocol, cap: int | None, floor: float) -> None:
        """See `Protocol.early_stopping`."""
        super().__init__(protocol, cap, floor)
        self.window: deque[float] = deque(maxlen=protocol.window)

    def look(self, updates: int, accuracy: float) -> int | None:
        """See the base class."""
        self.window.append(accuracy)
        if len(self.window) < self.protocol.window:
            return None
        self.accuracy = sum(self.window) / self.protocol.window
        return updates - self.protocol.window // 2


class PaperEarlyStopping(EarlyStopping):
    """Looks at single batches; counts updates from 0 as the published program does, so its steps are one less."""

    def look(self, updates: int, accuracy: float) -> int | None:
        """See the base class."""
        if updates == 0 or (updates - 1) % self.protocol.check_every:
            return None
        self.accuracy = accuracy
        return updates - 1
