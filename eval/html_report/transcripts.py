"""Transcripts of plays of rounds for the page: the first and the last rounds of each run, as they were said."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ecsuite.eval.results.sources import Source
from ecsuite.games.run_log import ROUNDS
from ecsuite.runtime.printable import printable

MOST_RUNS = 20
"""Most runs with a transcript."""
EACH = 10
"""Rounds at the beginning, and at the end."""
MOST_CHARACTERS = 120
"""Most characters of a cell."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Transcript:
    """Some rounds of a run."""

    title: str
    """The run."""
    num_rounds: int
    """Of all its rounds."""
    rows: tuple[tuple[str, ...], ...]
    """Round, speaker, listener, what it was about, what was said, the answer, and whether it was understood."""


def transcripts(sources: Sequence[Source]) -> list[Transcript]:
    """The transcripts of those sources that have rounds; a file that is damaged has none."""
    found: list[Transcript] = []
    for source in sources:
        file = None if source.folder is None else source.folder / ROUNDS
        if file is None or not file.is_file() or len(found) == MOST_RUNS:
            continue
        lines = file.read_bytes().splitlines()
        chosen = lines if len(lines) <= 2 * EACH else [*lines[:EACH], *lines[-EACH:]]
        try:
            rows = tuple(_row(json.loads(line)) for line in chosen)
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
        found.append(Transcript(title=source.title, num_rounds=len(lines), rows=rows))
    return found


def _row(played: dict[str, Any]) -> tuple[str, ...]:
    """A round as texts without control characters; the page escapes them."""
    listener = "" if played["listener"] < 0 else played["listener"]
    meaning = ", ".join(map(str, played["meaning"]))
    outcome = "" if listener == "" else "understood" if played["success"] else "not understood"
    cells = (
        f"{played['round']} {played['phase']}".strip(), f"{played['speaker']} ({played['participant_kind']})",
        listener, meaning, played["said"], played["answer"], outcome,
    )  # fmt: skip
    return tuple(printable(str(cell))[:MOST_CHARACTERS] for cell in cells)
