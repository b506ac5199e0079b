"""Views of runs: their settings, versions and hardware, the titles of their measures, and failed runs."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ecsuite.eval.results.files import SEED
from ecsuite.eval.results.sources import Source
from ecsuite.games.tasks.directions import held_out_of, measure_title
from ecsuite.runtime.printable import printable
from ecsuite.tables.cells import Role, number, text, value_text
from ecsuite.tables.table import Column, Table, name_column, number_column, row_of

FACTS = ("ecsuite", "commit", "python", "torch", "numpy", "device", "hardware", "num_threads")
"""Facts about program and machine in the metadata of a run, by their keys in `versions`."""
NAMES = {"num_threads": "threads", "torch": "PyTorch", "python": "Python", "numpy": "NumPy"}
"""Names of these facts in tables."""
ROLES: Mapping[str, Role] = {"failed": "bad", "diverged": "bad", "capped": "warning"}
"""Roles of statuses."""
UNKNOWN = "not recorded"
MAX_VALUES = 12
"""Maximum number of values listed for a setting."""
SHORT_COMMIT = 12
"""Number of characters shown of a commit."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Fact:
    """A property of runs with its values."""

    name: str
    value: str
    is_mixed: bool = False
    """Whether the runs differ in it, although it is not a varied setting."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Overview:
    """Settings, versions and ends of the runs of a page."""

    varied: tuple[Fact, ...]
    """Settings that vary, with all their values."""
    facts: tuple[Fact, ...]
    """Versions, device and precision."""
    fixed: tuple[Fact, ...]
    """Settings that all runs share."""
    num_runs: int
    num_failed: int
    num_seeds: int
    failures: tuple[Fact, ...]
    """Failed runs, with reasons."""
    stopped: tuple[Fact, ...]
    """Incomplete runs, which were ended by the clock or by a request."""
    num_others: int
    """Number of corpora and scores files."""


def overview(sources: Sequence[Source]) -> Overview:
    """Collect the settings, versions and ends of the sources."""
    runs = [source for source in sources if source.is_run]
    keys = list(dict.fromkeys(key for run in runs for key in run.settings))
    known = [run for run in runs if run.config]
    common = known[0].config if known else {}
    fixed = {
        key: value
        for key, value in common.items()
        if key not in (*keys, SEED) and all(run.config.get(key, ...) == value for run in known)
    }
    varied = []
    for key in keys:
        different = list(dict.fromkeys(shown(run.settings.get(key)) for run in runs))
        more = f", and {len(different) - MAX_VALUES} more" if len(different) > MAX_VALUES else ""
        varied.append(Fact(name=key, value=", ".join(different[:MAX_VALUES]) + more))
    of_sources = [source for source in sources if "versions" in source.metadata] or list(sources[:1])
    values: dict[str, list[str]] = {NAMES.get(name, name): [] for name in FACTS}
    for source in of_sources:
        versions = source.metadata.get("versions")
        for name in FACTS:
            version = versions.get(name) if isinstance(versions, dict) else None
            text = UNKNOWN if version is None else printable(shown(version))
            values[NAMES.get(name, name)].append(text[: SHORT_COMMIT if name == "commit" else None])
    if found := [source for source in of_sources if source.is_run]:
        values["precision"] = [shown(run.config.get("training.precision", UNKNOWN)) for run in found]
    facts = []  # different values have counts
    for name, texts in values.items() if sources else ():
        counts = Counter(texts).most_common()
        text = ", ".join(f"{value} ({count})" for value, count in counts) if len(counts) > 1 else counts[0][0]
        facts.append(Fact(name=name, value=text, is_mixed=len(counts) > 1))
    return Overview(
        varied=tuple(varied),
        facts=tuple(facts),
        fixed=tuple(Fact(name=key, value=shown(value)) for key, value in fixed.items()),
        num_runs=len(runs),
        num_failed=sum(run.failure is not None for run in runs),
        num_seeds=len({run.seed for run in runs}),
        failures=tuple(Fact(name=run.title, value=run.failure) for run in runs if run.failure is not None),
        stopped=tuple(Fact(name=run.title, value=run.ending) for run in runs if not run.is_whole),
        num_others=len(sources) - len(runs),
    )


def shown(value: Any) -> str:
    """Format a value of a setting as in YAML."""
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else value_text(value)


def figure_titles(sources: Iterable[Source]) -> dict[str, str]:
    """Titles of accuracies in tables, by figure: `accuracy, held-out objects`, `accuracy, seen objects`.

    If only some of the runs hold out objects, the title is the figure's name.

    Args:
        sources: The runs of the table.
    """
    titles: dict[str, set[str]] = {}
    for source in sources:
        measures = [record for record in source.records if record.is_measure and "accuracy" in record.name]
        about = held_out_of(str(record.unit["rounds"]) for record in measures if "rounds" in record.unit)
        for record in measures:
            title = measure_title(record.name, str(record.unit.get("rounds", about)))
            titles.setdefault(record.figure, set()).add(title)
    return {name: found.pop() if len(found) == 1 else name for name, found in titles.items()}


def failed_runs(sources: Sequence[Source]) -> list[Source]:
    """The runs that failed, diverged, or were ended by the clock, a stop or pruning."""
    return [source for source in sources if source.status != "done"]


def failed_runs_table(sources: Sequence[Source]) -> Table:
    """Table with one row per run: settings, seed, end and reason, and the last accuracy."""
    settings = list(dict.fromkeys(key for source in sources for key in source.settings))
    columns = (
        name_column("run"),
        *(name_column(key) for key in settings),
        number_column("seed"),
        Column("status"),
        number_column("accuracy", figure_titles(sources).get("accuracy")),
        Column("why", wraps=True),
    )
    rows = [
        row_of(
            source.name,
            *(text(source.settings.get(key)) for key in settings),
            text(source.seed),
            text(source.status, role=ROLES[source.status]),
            number(source.measures.get("accuracy")),
            text(source.failure or source.ending),
        )
        for source in failed_runs(sources)
    ]
    return Table(columns=columns, rows=rows)


def failed_runs_json(sources: Sequence[Source]) -> dict[str, Any]:
    """The runs, JSON-ready."""
    return {
        "failed_runs": [
            {
                "run": source.name,
                "settings": dict(source.settings),
                "seed": source.seed,
                "status": source.status,
                "why": source.failure or source.stopped,
                "measures": source.measures,
            }
            for source in failed_runs(sources)
        ],
        "num_runs": len(sources),
    }
