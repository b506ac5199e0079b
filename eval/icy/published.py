"""Figures that the ICY paper prints, Perkins (2021): the tables of `published.yaml`, and those of one model.

Receivers are those of the published program, which differ from the paper's description: see `published.yaml`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from ecsuite.agents.spec import Role
from ecsuite.eval.icy.agents import parse_model
from ecsuite.parts.config import packaged_yaml
from ecsuite.runtime.errors import look_up

Figure = TypeVar("Figure")
Ratios = Mapping[str, tuple[float, float]]
"""By grammar: mean ratio to CONCAT, and half the width of its interval."""
Accuracies = Mapping[str, float]
"""By grammar."""

CHANNELS = ("soft", "gumbel", "reinforce")

_TABLES: Mapping[str, Any] = packaged_yaml("ecsuite.eval.icy", "published.yaml")


def _by_grammar(
    grammars: Sequence[str], rows: Mapping[str, Sequence[Figure | None]]
) -> dict[str, dict[str, Figure]]:
    """Figures of table rows by row and grammar, without those that the table leaves out."""
    return {
        name: {grammar: each for grammar, each in zip(grammars, figures, strict=True) if each is not None}
        for name, figures in rows.items()
    }


def _by_channel(table: str) -> dict[str, dict[str, dict[str, float]]]:
    """Figures of a table by channel, model and grammar."""
    return {channel: _by_grammar(_TABLES[table]["columns"], _TABLES[table][channel]) for channel in CHANNELS}


_METRICS, _ACQUISITION = _TABLES["grammar_metrics"], _TABLES["acquisition"]

GRAMMAR_METRICS: Mapping[str, Mapping[str, Accuracies]] = {
    table: _by_grammar(_METRICS["columns"], _METRICS[table]) for table in ("table9", "table10")
}
"""Appendix D, Tables 9 and 10: table, metric, grammar; means over five seeds."""

GRAMMARS: tuple[str, ...] = tuple(_ACQUISITION["columns"])
"""The columns of the tables of acquisition, in the paper's order."""
CAP: float = _ACQUISITION["limit"]
"""The ratio to CONCAT at which the paper's runs stop."""
ACQUISITION: Mapping[str, Mapping[str, Ratios]] = {
    table: _by_grammar(GRAMMARS, {model: list(map(tuple, row)) for model, row in _ACQUISITION[table].items()})
    for table in ("table12", "table13", "table14", "table15")
}
"""Appendix F: table, model, grammar."""

TABLE_16, TABLE_17, TABLE_18 = map(_by_channel, ("table16", "table17", "table18"))
"""By channel, model and grammar: senders after CONCAT's updates; receivers; pairs (their model is sender and receiver)
after 10,000 updates end to end."""
TABLE_20: Mapping[str, Accuracies] = _by_grammar(
    _TABLES["table20"]["columns"],
    {model: row for model, row in _TABLES["table20"].items() if model != "columns"},
)
"""Senders over `soft`, CONCAT trained to 0.99, 5 seeds: model, grammar."""


def published_ratios(model: str, table: str | None = None) -> Ratios:
    """The paper's figures of a model: from a table, or from the one with most seeds; empty if no table has the model.

    Raises:
        ConfigError: If there is no such table.
    """
    tables = [table] if table else ["table15", "table12", "table14", "table13"]
    look_up("table", tables[0], ACQUISITION)
    return next((ACQUISITION[name][model] for name in tables if model in ACQUISITION[name]), {})


def published_accuracies(model: str, role: Role, channel: str) -> Accuracies:
    """The paper's accuracies of a model after CONCAT's updates; Table 20 has priority; empty if in no table."""
    spec = parse_model(role, model)
    if "hidden" in dict(spec.options):
        return {}
    table = (TABLE_16 if role == "sender" else TABLE_17).get(channel, {})
    extra = TABLE_20.get(spec.name, {}) if role == "sender" and channel == "soft" else {}
    return {**table.get(spec.name, {}), **extra}


def published_pair(sender: str, receiver: str, channel: str) -> Accuracies:
    """The paper's accuracies of a pair after training end to end; empty where there are none."""
    specs = parse_model("sender", sender), parse_model("receiver", receiver)
    if any("hidden" in dict(spec.options) for spec in specs):
        return {}
    return TABLE_18.get(channel, {}).get(" ".join(spec.name for spec in specs), {})
