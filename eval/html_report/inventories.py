"""The morphemes of languages for the page: the inventory, and messages cut into them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ecsuite.eval.reports.inventory_table import MAX_ROWS
from ecsuite.eval.results.sources import Source

MAX_SOURCES = 12
"""Most languages of a page."""
_PART = re.compile(r"\[([^\[\]]*): ([^\[\]]*)\]")
"""A morpheme in a message: its form, and what it means."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Inventory:
    """What `morphemes` found in a corpus."""

    title: str
    """Of the corpus."""
    value: float
    """Share of what is meant that a morpheme says."""
    rows: Sequence[Mapping[str, Any]]
    """The first morphemes, by weight: `form`, `meaning`, `weight`, `num_messages`."""
    num_more: int
    """Further ones."""
    messages: Sequence[tuple[Sequence[tuple[str, str | None]], str]]
    """Messages as forms with what they mean, or None; and what each message is about."""


def inventories(sources: Sequence[Source]) -> tuple[list[Inventory], int]:
    """The inventories of the sources that were scored with `morphemes`, and how many were left out."""
    found = [
        _inventory(source.title, float(record.value), record.details)
        for source in sources
        for record in source.records_of("morphemes")
        if record.value is not None and "inventory" in record.details
    ]
    return found[:MAX_SOURCES], max(0, len(found) - MAX_SOURCES)


def _inventory(title: str, value: float, details: Mapping[str, Any]) -> Inventory:
    rows = details["inventory"]
    return Inventory(
        title=title,
        value=value,
        rows=rows[:MAX_ROWS],
        num_more=max(0, len(rows) - MAX_ROWS),
        messages=[(_parts(each["message"]), each["meaning"]) for each in details.get("segmented", ())],
    )


def _parts(message: str) -> list[tuple[str, str | None]]:
    """A message of the details as its parts: `[3 4: color=red] 7` has two."""
    parts: list[tuple[str, str | None]] = []
    place = 0
    for match in _PART.finditer(message):
        parts += [(message[place : match.start()].strip(), None), (match[1], match[2])]
        place = match.end()
    parts.append((message[place:].strip(), None))
    return [part for part in parts if part[0]]
