"""Figures that the ICY paper prints, Perkins (2021): the tables of `published.yaml`, and the grammars' metrics.

Figures of acquisition are in `published_acquisition`, accuracies after a fixed number of updates in `published_budget`.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any, TypeVar

import yaml

Figure = TypeVar("Figure")


@cache
def published_tables() -> Mapping[str, Any]:
    """The content of `published.yaml`, which is read once."""
    content: Mapping[str, Any] = yaml.safe_load(
        resources.files(__package__).joinpath("published.yaml").read_text("utf-8")
    )
    return content


def by_grammar(
    grammars: Sequence[str], rows: Mapping[str, Sequence[Figure | None]]
) -> dict[str, dict[str, Figure]]:
    """Figures of table rows, by name of the row and by grammar, without those that the table leaves out.

    Args:
        grammars: The columns of the table.
        rows: A figure for each column; None where the table prints nothing.

    Raises:
        ValueError: If a row has more or fewer figures than columns.
    """
    return {
        name: {
            grammar: figure for grammar, figure in zip(grammars, figures, strict=True) if figure is not None
        }
        for name, figures in rows.items()
    }


_METRICS = published_tables()["grammar_metrics"]

GRAMMAR_METRICS: Mapping[str, Mapping[str, Mapping[str, float]]] = {
    table: by_grammar(_METRICS["columns"], _METRICS[table]) for table in ("table9", "table10")
}
"""Appendix D, Tables 9 and 10: table, metric, grammar; means over five seeds."""
