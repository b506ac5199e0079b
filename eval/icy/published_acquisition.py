"""Figures of acquisition that the ICY paper prints: Perkins (2021), appendix F, Tables 12 to 15."""

from collections.abc import Mapping

from ecsuite.config import look_up
from ecsuite.eval.icy.published import by_grammar, published_tables

_TABLES = published_tables()["acquisition"]

GRAMMARS: tuple[str, ...] = tuple(_TABLES["columns"])
"""The columns, in the paper's order."""

CAP: float = _TABLES["limit"]
"""The ratio to CONCAT at which the paper's runs stop."""

Figures = Mapping[str, tuple[float, float]]

ACQUISITION: Mapping[str, Mapping[str, Figures]] = {
    table: by_grammar(
        GRAMMARS,
        {model: [(mean, half_width) for mean, half_width in row] for model, row in _TABLES[table].items()},
    )
    for table in ("table12", "table13", "table14", "table15")
}
"""Table, model, grammar: mean ratio to CONCAT, and half the width of its interval."""


def published(model: str, table: str | None = None) -> Figures:
    """The paper's figures of a model: from a table, or from the one with most seeds; empty if no table has the model.

    Raises:
        ConfigError: If there is no such table.
    """
    tables = [table] if table else ["table15", "table12", "table14", "table13"]
    look_up("table", tables[0], ACQUISITION)
    return next((ACQUISITION[name][model] for name in tables if model in ACQUISITION[name]), {})
