"""Accuracies after a fixed number of updates that the ICY paper prints: Perkins (2021), Tables 16, 17, 18 and 20.

Receivers are those of the published program, which differ from the paper's description: see `published.yaml`.
"""

from collections.abc import Mapping

from ecsuite.agents.spec import Role
from ecsuite.eval.icy.models import parse_model
from ecsuite.eval.icy.published import by_grammar, published_tables

Figures = Mapping[str, float]

CHANNELS = ("soft", "gumbel", "reinforce")

_TABLES = published_tables()

SENDER_GRAMMARS: tuple[str, ...] = tuple(_TABLES["table16"]["columns"])
RECEIVER_GRAMMARS: tuple[str, ...] = tuple(_TABLES["table17"]["columns"])
PAIR_GRAMMARS: tuple[str, ...] = tuple(_TABLES["table18"]["columns"])


def _by_channel(table: str) -> dict[str, dict[str, dict[str, float]]]:
    """Figures of a table by channel, model and grammar."""
    return {channel: by_grammar(_TABLES[table]["columns"], _TABLES[table][channel]) for channel in CHANNELS}


TABLE_16: Mapping[str, Mapping[str, Figures]] = _by_channel("table16")
"""Senders: channel, model, grammar."""
TABLE_17: Mapping[str, Mapping[str, Figures]] = _by_channel("table17")
"""Receivers: channel, model, grammar."""
TABLE_18: Mapping[str, Mapping[str, Figures]] = _by_channel("table18")
"""Pairs after 10,000 updates end to end: channel, sender and receiver, grammar."""
TABLE_20: Mapping[str, Figures] = by_grammar(
    _TABLES["table20"]["columns"],
    {model: row for model, row in _TABLES["table20"].items() if model != "columns"},
)
"""Senders over `soft`, CONCAT trained to 0.99, 5 seeds: model, grammar."""


def published_budget(model: str, role: Role, channel: str) -> Figures:
    """The paper's accuracies of a model after CONCAT's updates; Table 20 has priority; empty if in no table."""
    spec = parse_model(role, model)
    if "hidden" in dict(spec.options):
        return {}
    table = (TABLE_16 if role == "sender" else TABLE_17).get(channel, {})
    extra = TABLE_20.get(spec.name, {}) if role == "sender" and channel == "soft" else {}
    return {**table.get(spec.name, {}), **extra}


def published_pair(sender: str, receiver: str, channel: str) -> Figures:
    """The paper's accuracies of a pair after training end to end; empty where there are none."""
    specs = parse_model("sender", sender), parse_model("receiver", receiver)
    if any("hidden" in dict(spec.options) for spec in specs):
        return {}
    return TABLE_18.get(channel, {}).get(" ".join(spec.name for spec in specs), {})
