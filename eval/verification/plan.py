"""What a verification would compute, and how long that is likely to take; figures and scores are not computed."""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ecsuite.eval.metrics import find_metric
from ecsuite.eval.metrics.score import Options
from ecsuite.eval.reports.console import Report
from ecsuite.eval.reports.scorecard import score_corpus
from ecsuite.eval.results.files import is_number
from ecsuite.eval.results.reading import run_source
from ecsuite.eval.results.sources import METADATA, Record, Source
from ecsuite.eval.verification.claims import corpus_of, sources_of
from ecsuite.eval.verification.scores import Scoring, metric_of
from ecsuite.formats import read_corpus
from ecsuite.games.run_log import CLOCK, LOG
from ecsuite.games.training_notes import FORWARD_SHARE
from ecsuite.runtime.time_left import duration_text
from ecsuite.tables.cells import count, nothing, text
from ecsuite.tables.table import Table, name_column, number_column, row_of

MEASURED = 50
"""Messages of a corpus on which the time of a metric is measured; it is taken to grow with their number."""
SECONDS_OF_A_RUN = 0.5
"""What it takes to make a game and its agents."""
BYTES_PER_SECOND = 3e8
"""How fast files are read and held against their checksums."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Planned:
    """What of a source would be verified."""

    name: str
    """The source."""
    figures: int
    """Figures of agents."""
    scores: int
    """Scores."""
    left_out: int
    """Scores that train models, and are left out or have no estimate."""
    seconds: float | None
    """How long all but those are likely to take; None: not known."""


def plan(places: Sequence[Path], *, is_all: bool) -> Report:
    """What of sources would be verified, and how long that takes.

    Args:
        places: As of `verify_all`.
        is_all: Whether scores that train models are computed, too.

    Raises:
        ConfigError: As `verify_all` does.
        DamagedError: If a file that says what is claimed is damaged.
    """
    speeds: dict[str, float] = {}
    planned = [_planned(source, speeds) for place in places for source in sources_of(place)]
    known = [each.seconds for each in planned if each.seconds is not None]
    trained = sum(each.left_out for each in planned)
    line = f"about {duration_text(sum(known))}" if known else "no estimate of the time"
    if trained:
        what = "which takes minutes to hours each" if is_all else "and are left out without --all"
        line += f"; scores that train models, {what}: {trained}"
    columns = (
        name_column("source"),
        *(number_column(name) for name in ("figures", "scores", "trained", "time")),
    )
    rows = [
        row_of(
            each.name,
            count(each.figures),
            count(each.scores),
            count(each.left_out),
            nothing("not known") if each.seconds is None else text(duration_text(each.seconds)),
        )
        for each in planned
    ]
    data = {
        "expected": {"seconds": sum(known), "by": "measurement"} if known else None,
        "sources": [
            {name: getattr(each, name) for name in ("name", "figures", "scores", "left_out", "seconds")}
            for each in planned
        ],
    }
    return Report(tables=[Table(columns=columns, rows=rows)], notes=(line,), data=data)


def _planned(source: Source, speeds: dict[str, float]) -> Planned:
    """What of a source would be verified."""
    folder = source.folder
    if folder is not None and (folder / METADATA).is_file():
        own = run_source(folder)
        records, metadata = own.records, own.metadata
    else:
        records, metadata = source.records, source.metadata
    figures = [record for record in records if record.is_measure]
    scores = [record for record in records if not record.is_measure]
    metrics = {metric for record in scores if (metric := metric_of(record, Scoring())) is not None}
    trained = {metric for metric in metrics if find_metric(metric).shared.trains}
    place = corpus_of(source)
    seconds = _seconds_of_files(folder)
    if place is not None and scores:
        seconds += _seconds_of_scores(place, sorted(metrics - trained), speeds)
    of_agents = _seconds_of_agents(folder, metadata, figures) if figures else 0.0
    return Planned(
        name=source.title,
        figures=len(figures),
        scores=len(scores),
        left_out=sum(metric_of(record, Scoring()) in trained for record in scores),
        seconds=None if of_agents is None else seconds + of_agents,
    )


def _seconds_of_files(folder: Path | None) -> float:
    if folder is None or not folder.is_dir():
        return 0.0
    return sum(file.stat().st_size for file in folder.iterdir() if file.is_file()) / BYTES_PER_SECOND


def _seconds_of_scores(place: Path, metrics: Sequence[str], speeds: dict[str, float]) -> float:
    """The time of metrics, measured on a few messages once, and taken to grow with the number of messages."""
    corpus = read_corpus(place)
    number = len(corpus.messages)
    few = corpus.take(np.arange(min(number, MEASURED)))
    for name in metrics:
        if name not in speeds and not find_metric(name).shared.needs_agents:
            start = time.perf_counter()
            score_corpus(few, [name], Options())
            speeds[name] = (time.perf_counter() - start) / max(1, len(few.messages))
    return sum(speeds.get(name, 0.0) * find_metric(name).shared.size(number) for name in metrics)


def _seconds_of_agents(folder: Path | None, metadata: Any, figures: Sequence[Record]) -> float | None:
    """The time of the rounds of evaluation, by the speed of training that the log has; None where it has none."""
    try:
        assert folder is not None
        lines = (folder / LOG).read_bytes().splitlines()
        speed = json.loads(lines[-1])[CLOCK]
        evaluation = metadata["config"]["evaluation"]
        rounds = len({str(record.unit) for record in figures}) * evaluation["num_valid"]
        rounds += metadata["num_messages"]
    except (AssertionError, OSError, ValueError, LookupError, TypeError):
        return None
    return SECONDS_OF_A_RUN + FORWARD_SHARE * rounds / speed if is_number(speed) and speed > 0 else None
