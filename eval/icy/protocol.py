"""Protocols of ICY: how learning is measured, early stopping, and the figures that the paper prints.

The criterion of acquisition is that of Perkins (2021), section 4.4. `EarlyStopping` gets the accuracy of every training
batch before the update. Meanings are drawn independently for each batch, so this is the accuracy on new samples, at no
extra cost. The published figures are in `published.yaml`; receivers are as in the published program, which differs from
the paper's description.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from ecsuite.parts.config import packaged_yaml
from ecsuite.runtime.errors import look_up

PROTOCOLS = {
    "exact": "updates to the target accuracy, measured on every training batch (Tables 3 to 6, 12 to 15, 19)",
    "paper": "as exact, but measured as in the published program: one batch every 50 updates, rounded ratios",
    "budget": "accuracy after the number of updates that CONCAT needed (Tables 16, 17, 20)",
    "end-to-end": "accuracy in the original language after end-to-end training of a pair (Table 18, figure 7)",
    "metrics": "compositionality metrics of the grammars, without training (figure 3, Tables 9, 10)",
}
"""Names of the protocols and what they measure."""

TARGETS = {"exact": 0.8, "paper": 0.8, "budget": 0.99, "end-to-end": 0.99, "metrics": 0.99}
"""Default target accuracy by protocol."""

VERSION = 2
"""Increased whenever a run with the same inputs would be trained differently or count other steps."""

EARLY_STOP_AT = 0.25
"""Fraction of the cap after which `early_stop` may stop a run, and of the way from floor to target it requires."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Protocol:
    """How a run is trained and measured."""

    name: Literal["exact", "paper"] = "exact"
    """exact: the mean accuracy of `window` consecutive batches; steps are counted at the window's middle. paper: one
    batch, after the first update and then after every 50, as in the published program (without its checks by wall-clock
    time)."""
    target: float | None = 0.8
    """Accuracy of symbols (of attributes for a receiver) at which a language counts as acquired; None: no target."""
    window: int = 11
    """Number of batches in the mean of `exact`; odd."""
    check_every: int = 50
    """Number of updates between the checks of `paper`."""
    batch_size: int = 128
    """Number of meanings in a batch."""
    lr: float = 1e-3
    """Learning rate of Adam."""
    clip: float | None = None
    """Maximum norm of a gradient; None: no clipping. The paper says 5.0; its program does not clip."""
    hidden_size: int = 128
    """Size of hidden states and embeddings, unless a model sets its own."""
    held_out: float = 0.0
    """Fraction of meanings that are held out from training."""
    precision: Literal["fp32", "tf32", "bf16"] = "fp32"
    """Precision of the factors of matrix products (see `devices.products_precision`)."""
    early_stop: bool = False
    """Stop a run after a quarter of its cap if it is less than a quarter of the way from the floor to the target."""

    def signature(self, cap: float) -> str:
        """Everything that can change the number of steps.

        Args:
            cap: Maximum number of steps of a run, as a multiple of the steps of CONCAT with the same seed.
        """
        looks = f"window:{self.window}" if self.name == "exact" else f"every:{self.check_every}"
        parts = [self.name, f"target:{self.target}", f"cap:{cap:g}", looks]
        parts += [f"batch:{self.batch_size}", f"lr:{self.lr:g}", f"clip:{self.clip or 'none'}"]
        parts += [f"hidden:{self.hidden_size}", f"held-out:{self.held_out:g}"]
        parts += ["stop:early" if self.early_stop else "stop:cap"]
        return "|".join([*parts, f"precision:{self.precision}", f"v:{VERSION}"])


@dataclass(frozen=True, kw_only=True, slots=True)
class StopDecision:
    """How a run ended."""

    steps: int
    """Number of updates until the language was acquired, else the updates made."""
    reached: bool
    """Whether the language was acquired."""
    is_early: bool = False
    """Whether the run was stopped before the cap without acquiring the language."""


class EarlyStopping:
    """Acquisition criterion and early stopping of one run.

    Args:
        protocol: The protocol.
        cap: Maximum number of updates; None: unlimited.
        floor: Accuracy without learning (see `LanguageDataset.floor`); 0 to 1.
    """

    def __init__(self, protocol: Protocol, cap: int | None, floor: float) -> None:
        self.protocol, self.cap = protocol, cap
        self.accuracy = 0.0
        """The last measured accuracy."""
        self.window: deque[float] = deque(maxlen=protocol.window)
        margin = 0.0 if protocol.target is None else EARLY_STOP_AT * (protocol.target - floor)
        self.early_stop_below = floor + margin if protocol.early_stop else 0.0

    def observe(self, updates: int, accuracy: float) -> StopDecision | None:
        """Process the accuracy of a batch after `updates` updates; a decision ends the run."""
        steps = self._measure(updates, accuracy)
        if steps is None:
            return None
        if self.protocol.target is not None and self.accuracy >= self.protocol.target:
            return StopDecision(steps=steps, reached=True)
        if self.cap is None:
            return None
        if steps >= self.cap:
            return StopDecision(steps=steps, reached=False)
        if steps >= EARLY_STOP_AT * self.cap and self.accuracy < self.early_stop_below:
            return StopDecision(steps=steps, reached=False, is_early=True)
        return None

    def _measure(self, updates: int, accuracy: float) -> int | None:
        """Set `accuracy` and return its number of steps; None if the protocol does not measure after this update."""
        if self.protocol.name == "paper":
            # The published program counts updates from 0, so steps are one less.
            if updates == 0 or (updates - 1) % self.protocol.check_every:
                return None
            self.accuracy = accuracy
            return updates - 1
        self.window.append(accuracy)
        if len(self.window) < self.protocol.window:
            return None
        self.accuracy = sum(self.window) / self.protocol.window
        return updates - self.protocol.window // 2


Figure = TypeVar("Figure")
PublishedRatios = Mapping[str, tuple[float, float]]
"""Mean ratio to CONCAT, and half the width of its interval, by grammar."""
PublishedAccuracies = Mapping[str, float]
"""Accuracy by grammar."""

_TABLES: Mapping[str, Any] = packaged_yaml("ecsuite.eval.icy", "published.yaml")


def _by_grammar(
    grammars: Sequence[str], rows: Mapping[str, Sequence[Figure | None]]
) -> dict[str, dict[str, Figure]]:
    """Figures by row and grammar, without empty cells of the table."""
    return {
        name: {
            grammar: figure for grammar, figure in zip(grammars, figures, strict=True) if figure is not None
        }
        for name, figures in rows.items()
    }


def _by_channel(table: str) -> dict[str, dict[str, dict[str, float]]]:
    """Figures of a table by channel, model and grammar."""
    channels = ("soft", "gumbel", "reinforce")
    return {channel: _by_grammar(_TABLES[table]["columns"], _TABLES[table][channel]) for channel in channels}


_METRICS, _ACQUISITION = _TABLES["grammar_metrics"], _TABLES["acquisition"]

GRAMMAR_METRICS: Mapping[str, Mapping[str, PublishedAccuracies]] = {
    table: _by_grammar(_METRICS["columns"], _METRICS[table]) for table in ("table9", "table10")
}
"""Appendix D, Tables 9 and 10: table, metric, grammar; means over five seeds."""

ACQUISITION_GRAMMARS: tuple[str, ...] = tuple(_ACQUISITION["columns"])
"""The columns of the tables of acquisition, in the paper's order."""
PUBLISHED_CAP: float = _ACQUISITION["limit"]
"""The ratio to CONCAT at which the paper's runs stop."""
ACQUISITION: Mapping[str, Mapping[str, PublishedRatios]] = {
    table: _by_grammar(
        ACQUISITION_GRAMMARS, {model: list(map(tuple, row)) for model, row in _ACQUISITION[table].items()}
    )
    for table in ("table12", "table13", "table14", "table15")
}
"""Appendix F: table, model, grammar."""

TABLE_16, TABLE_17, TABLE_18 = map(_by_channel, ("table16", "table17", "table18"))
"""Accuracies by channel, model and grammar: of senders after CONCAT's updates, of receivers, and of pairs (named by
sender and receiver) after 10,000 updates end to end."""
TABLE_20: Mapping[str, PublishedAccuracies] = _by_grammar(
    _TABLES["table20"]["columns"],
    {model: row for model, row in _TABLES["table20"].items() if model != "columns"},
)
"""Senders over `soft`, CONCAT trained to 0.99, 5 seeds: model, grammar."""


def published_ratios(model: str, table: str | None = None) -> PublishedRatios:
    """The paper's figures of a model from a table, by default the one with most seeds; empty if no table has it.

    Raises:
        ConfigError: If there is no such table.
    """
    tables = [table] if table else ["table15", "table12", "table14", "table13"]
    look_up("table", tables[0], ACQUISITION)
    return next((ACQUISITION[name][model] for name in tables if model in ACQUISITION[name]), {})
