"""The morphemes of a language as a table, and some messages cut into them."""

from collections.abc import Iterator, Mapping
from typing import Any

from ecsuite.tables.cells import count, number, text
from ecsuite.tables.table import Column, Table, name_column, number_column, row_of

MAX_ROWS = 30
"""Most morphemes that are shown."""


def inventory_tables(details: Mapping[str, Any]) -> Iterator[Table]:
    """What the details of `morphemes` have; nothing for those of other scores.

    Args:
        details: Of a score.
    """
    if "inventory" not in details:
        return
    inventory = details["inventory"]
    if inventory:
        cut = f" (the first {MAX_ROWS} of {len(inventory)})" if len(inventory) > MAX_ROWS else ""
        columns = (name_column("form"), Column("meaning"), number_column("bits"), number_column("messages"))
        rows = [
            row_of(
                " ".join(each["form"]),
                " ".join(each["meaning"]),
                number(each["weight"], 3),
                count(each["num_messages"]),
            )
            for each in inventory[:MAX_ROWS]
        ]
        yield Table(columns=columns, rows=rows, title=f"Morphemes in the order of their weight{cut}:")
    if details["segmented"]:
        rows = [row_of(each["message"], text(each["meaning"], role="dim")) for each in details["segmented"]]
        yield Table(
            columns=(Column("message"), Column("meaning")),
            rows=rows,
            title="Messages cut into morphemes [form: meaning], and what they are about:",
        )
