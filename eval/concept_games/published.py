"""Figures that the CBM paper prints: Carmeli et al. (2024), https://arxiv.org/abs/2403.14705, Tables 1, 3 and 4.

They are in `published.yaml`, with notes on their source.
"""

from collections.abc import Mapping
from typing import Any

from ecsuite.parts.config import packaged_yaml

Figures = Mapping[str, float]
"""Figures of a row, by the measures of `ecsuite.eval.concept_games.jobs`."""

_CONTENT: Mapping[str, Any] = packaged_yaml(__package__, "published.yaml")

MISPRINTS: Mapping[str, str] = _CONTENT["misprints"]
"""Notes for readers of Table 3 on match scores that contradict Table 4, by row."""


def _rows(table: str) -> dict[str, dict[str, float]]:
    """Figures of a table, by row and column."""
    content = dict(_CONTENT[table])
    columns = content.pop("columns")
    return {row: dict(zip(columns, figures, strict=True)) for row, figures in content.items()}


_COUNTS = _rows("table4")

PUBLISHED: Mapping[str, Mapping[str, Figures]] = {
    "table1": _rows("table1"),
    "table3": {row: {**figures, **_COUNTS[row]} for row, figures in _rows("table3").items()},
}
"""Figures by table and row. The rows of Table 3 include those of Table 4."""
