"""Rows of a benchmark: what was measured, how often, where and with which versions; printed, or as JSON.

Each script of this folder makes rows and hands them to `publish`; `compare.py` compares two files of them.
"""

import argparse
import json
import os
import platform
import resource
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ecsuite.runtime.provenance import processor
from ecsuite.version import __version__

PACKAGES = ("numpy", "scipy", "torch")
"""Packages whose versions are reported."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One figure, measured several times."""

    name: str
    """The measured quantity; equal names of two files are compared."""
    unit: str
    """`s`, `ms`, `MB`, `updates/s` and so on."""
    values: tuple[float, ...]
    """The measured values, in their order."""
    higher_is_better: bool = False
    """Whether it is a rate instead of a time or a size."""

    @property
    def best(self) -> float:
        """The least time or size, or the highest rate: the measurement with the least disturbance."""
        return max(self.values) if self.higher_is_better else min(self.values)

    @property
    def median(self) -> float:
        """The median of the values."""
        return statistics.median(self.values)


def add_json_option(parser: argparse.ArgumentParser) -> None:
    """The option that every script of this folder has."""
    parser.add_argument("--json", action="store_true", help="print the rows as JSON, for compare.py")


def other_version(folder: Path) -> Path:
    """The folder of another version of the package, for PYTHONPATH; without `ecsuite` in it, ours would be measured."""
    if not (folder / "ecsuite" / "__init__.py").is_file():
        raise SystemExit(f"--beside {folder}: expected a folder with the package `ecsuite` in it")
    return folder.resolve()


def publish(rows: Sequence[Row], *, as_json: bool) -> None:
    """Print rows as JSON, or as a table with the best value and the median of each."""
    if as_json:
        print(as_document(rows))
        return
    width = max((len(row.name) for row in rows), default=0)
    print(f"{machine()}, {datetime.now(UTC):%Y-%m-%d}, {versions()['ecsuite']}")
    print(f"{'':{width}} {'best':>10} {'median':>10}")
    for row in rows:
        print(f"{row.name:{width}} {row.best:10,.3f} {row.median:10,.3f} {row.unit}")


def as_document(rows: Sequence[Row]) -> str:
    """Rows as JSON, with where and when they were measured."""
    head = {"machine": machine(), "date": f"{datetime.now(UTC):%Y-%m-%d}", "versions": versions()}
    return json.dumps(head | {"rows": [asdict(row) for row in rows]}, indent=1)


def read_rows(path: Path) -> tuple[dict[str, Any], dict[str, Row]]:
    """The document of a file, and its rows by name."""
    document = json.loads(path.read_text())
    rows = [Row(**{**row, "values": tuple(row["values"])}) for row in document["rows"]]
    return document, {row.name: row for row in rows}


def machine() -> str:
    """The processor and the number of its cores that this process may use."""
    return f"{processor()}, {len(os.sched_getaffinity(0))} cores"


def versions() -> dict[str, str]:
    """The versions of Python, ecsuite and the packages that compute."""
    found = {"python": platform.python_version(), "ecsuite": __version__}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def cpu_seconds() -> float:
    """User and system time of this process, its threads and its ended children."""
    uses = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(use.ru_utime + use.ru_stime for use in uses)


def peak_megabytes() -> float:
    """The highest memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def timed(function: Callable[[], Any]) -> tuple[float, float, Any]:
    """Wall seconds and CPU seconds of a call, and its result."""
    began, used = time.perf_counter(), cpu_seconds()
    result = function()
    return time.perf_counter() - began, cpu_seconds() - used, result


def collect(figures: Iterable[tuple[str, str, float]]) -> list[Row]:
    """Rows from single measurements (name, unit, value), joined by name, in the order of the names."""
    values: dict[tuple[str, str], list[float]] = {}
    for name, unit, value in figures:
        values.setdefault((name, unit), []).append(value)
    return [Row(name=name, unit=unit, values=tuple(each)) for (name, unit), each in values.items()]
