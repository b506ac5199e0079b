"""The morphemes of a language as a table, and some messages cut into them."""

from collections.abc import Iterator, Mapping
from typing import Any

from rich.table import Table
from rich.text import Text

MAX_ROWS = 30
"""Most morphemes that are shown."""


def inventory_tables(details: Mapping[str, Any]) -> Iterator[Table | Text]:
    """What the details of `morphemes` have; nothing for those of other scores.

    Args:
        details: Of a score.
    """
    if "inventory" not in details:
        return
    inventory = details["inventory"]
    if inventory:
        cut = f" (the first {MAX_ROWS} of {len(inventory)})" if len(inventory) > MAX_ROWS else ""
        yield Text(f"\nMorphemes in the order of their weight{cut}:")
        table = Table(box=None, padding=(0, 1, 0, 0))
        table.add_column("form", min_width=8)
        table.add_column("meaning")
        table.add_column("bits", justify="right")
        table.add_column("messages", justify="right")
        for each in inventory[:MAX_ROWS]:
            table.add_row(
                Text(" ".join(each["form"])),
                Text(" ".join(each["meaning"])),
                f"{each['weight']:.3f}",
                f"{each['num_messages']:,}",
            )
        yield table
    if details["segmented"]:
        yield Text("\nMessages cut into morphemes [form: meaning], and what they are about:")
        table = Table(box=None, padding=(0, 2, 0, 0))
        table.add_column("message")
        table.add_column("meaning", style="dim")
        for each in details["segmented"]:
            table.add_row(Text(each["message"]), Text(each["meaning"]))
        yield table
