"""Correlation of XferBench with translation scores (chrF or BLEU) over sources, from files or from the paper's tables.

Boldt & Mortensen (2024), Table 2, report Pearson's coefficient; their program also computes Kendall's. A low XferBench
score is good and a high chrF is good, so agreement gives a negative correlation.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ecsuite.eval.metrics.score import Signature
from ecsuite.eval.results.comparison import differing_parts, require_comparable
from ecsuite.eval.results.files import XFERBENCH
from ecsuite.eval.results.results import Results
from ecsuite.eval.results.samples import UNSIGNED, samples_of
from ecsuite.eval.statistics.bootstrap import FEWEST, statistic_interval
from ecsuite.eval.statistics.correlation import STATISTICS
from ecsuite.eval.statistics.estimates import Interval
from ecsuite.eval.views.console import Report
from ecsuite.eval.xferbench.comparison import PAPER_CHRF, PAPER_CORRELATIONS, PAPER_SCORES
from ecsuite.files.format_numbers import without_format
from ecsuite.formats.strict_json import read_json
from ecsuite.runtime.errors import ConfigError, joined, shown, unknown_name
from ecsuite.tables.cells import INTERVAL, interval
from ecsuite.tables.table import Table, name_column, number_column, row_of

MIN_SOURCES = 3
"""Minimum number of sources: two points always lie on a line."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Coefficient:
    """A correlation coefficient of two lists of numbers, -1 to 1."""

    name: str
    """Name of the coefficient."""
    value: float
    """Value over all sources."""
    ci95: Interval | None
    """Bootstrap interval over sources; None for few sources."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Correlation:
    """Correlation of XferBench with translation."""

    sources: tuple[str, ...]
    """The sources with both scores, in alphabetical order."""
    left_out: tuple[str, ...]
    """The sources with only one of the scores."""
    coefficients: tuple[Coefficient, ...]
    """Pearson's, Kendall's (tau-b) and Spearman's."""
    ci_reason: str | None
    """Reason for missing intervals."""


def correlate(scores: Mapping[str, float], translation: Mapping[str, float]) -> Correlation:
    """Correlate XferBench scores with translation scores.

    Args:
        scores: XferBench score by source, nats per token.
        translation: chrF or BLEU by source.

    Raises:
        ConfigError: If fewer than three sources have both scores, or all sources have the same score.
    """
    names = sorted(scores.keys() & translation.keys())
    left_out = tuple(sorted(scores.keys() ^ translation.keys()))
    if len(names) < MIN_SOURCES:
        others = f" (in one list only: {joined(left_out)})" if left_out else ""
        raise ConfigError(
            f"a correlation needs at least {MIN_SOURCES} sources in both lists, got {len(names)}{others}"
        )
    first, second = (np.array([values[name] for name in names]) for values in (scores, translation))
    for what, values in (("XferBench", first), ("translation", second)):
        if np.ptp(values) == 0:
            raise ConfigError(f"all sources have the same {what} score: the correlation is undefined")
    return Correlation(
        sources=tuple(names),
        left_out=left_out,
        coefficients=tuple(
            Coefficient(
                name=name,
                value=float(statistic(first, second)),
                ci95=statistic_interval(statistic, first, second),
            )
            for name, statistic in STATISTICS.items()
        ),
        ci_reason=None if len(names) >= FEWEST else f"an interval needs at least {FEWEST} sources",
    )


METRICS = ("chrf", "bleu")
"""Metrics of translation; higher is better."""


def correlate_paper() -> Report:
    """Correlations of the paper's Table 2, computed from its printed scores and chrF."""
    by_setting = {setting: correlate(PAPER_SCORES, chrf) for setting, chrf in PAPER_CHRF.items()}
    printed = ", ".join(f"{setting} {value:.2f}" for setting, value in PAPER_CORRELATIONS.items())
    return _report(
        by_setting,
        title="XferBench and chrF, the paper's Table 2 (OSCAR data)",
        signature="paper: Tables 2 and 5, OSCAR data",
        notes=[f"Pearson correlations as printed in Table 2: {printed}."],
    )


def correlate_files(results: Sequence[Path], translation: Sequence[Path], metric: str) -> Report:
    """Correlate XferBench results with translation scores; sources are matched by name.

    Args:
        results: Files or folders of XferBench results.
        translation: Files or folders of translation results.
        metric: `chrf` or `bleu`.

    Raises:
        ConfigError: If a file is invalid, settings of results differ, or too few sources are in both lists.
    """
    if metric not in METRICS:
        raise unknown_name("metric", metric, METRICS)
    sources = samples_of([each for each in Results.read(results) if each.counts()], XFERBENCH)
    require_comparable(sources)
    scores = {result.name: result.score for result in sources}
    by_setting = read_translation(translation, metric)
    return _report(
        {setting: correlate(scores, values) for setting, values in by_setting.items()},
        title=f"XferBench and {metric}",
        signature=sources[0].signature,
        notes=[],
    )


def read_translation(paths: Sequence[Path], metric: str) -> dict[str, dict[str, float]]:
    """Read translation scores by setting ("" without a setting) and source, means over seeds.

    Args:
        paths: JSON files, each an object with `name` and the metric or a list of such objects; or their folders.
        metric: The key of the score.

    Raises:
        ConfigError: If a file is invalid, or the results of a setting have different signatures.
    """
    scores: dict[str, dict[str, list[float]]] = {}
    signatures: dict[str, tuple[str, str]] = {}
    for path in paths:
        files = sorted(path.rglob("*.json")) if path.is_dir() else [path]
        entries = [entry for file in files for entry in _entries(file, metric, lenient=path.is_dir())]
        if not entries:
            raise ConfigError(
                f"{path}: expected a translation result, a JSON object with `name` and `{metric}`; found none"
            )
        for name, setting, value, line in entries:
            expected, other = signatures.setdefault(setting, (line, name))
            if line != expected:
                raise ConfigError(
                    f"{name} cannot be compared with {other}: {differing_parts(expected, line)}"
                )
            scores.setdefault(setting, {}).setdefault(name, []).append(value)
    return {
        setting: {name: sum(values) / len(values) for name, values in of_setting.items()}
        for setting, of_setting in scores.items()
    }


def _entries(file: Path, metric: str, *, lenient: bool) -> Iterator[tuple[str, str, float, str]]:
    """Name, setting, score and signature (without seed) of each result; with `lenient`, other JSON is skipped."""
    if not file.is_file():
        raise ConfigError(f"{file}: no such file or folder of translation results")
    data = read_json(file)
    for entry in data if isinstance(data, list) else [data]:
        is_result = isinstance(entry, dict) and isinstance(entry.get("name"), str) and metric in entry
        if not is_result and lenient:
            continue
        if not is_result:
            raise ConfigError(
                f"{file}: expected an object with `name` and `{metric}`, or a list of such objects"
            )
        entry = without_format("result", entry, file)
        value = entry[metric]
        if type(value) not in (int, float) or not math.isfinite(value):
            raise ConfigError(f"{file}: {metric} of {entry['name']}: expected a number, got {shown(value)}")
        line = Signature(entry.get("signature", UNSIGNED)).without("seed")
        yield entry["name"], str(entry.get("setting", "")), float(value), line


def _report(
    by_setting: Mapping[str, Correlation], *, title: str, signature: str, notes: Sequence[str]
) -> Report:
    """A table with a row per setting and a column per coefficient, and notes."""
    columns = [name_column("setting"), number_column("sources")]
    columns += [number_column(name, (name, "95 % CI"), parts=INTERVAL) for name in STATISTICS]
    rows = []
    for setting, correlation in by_setting.items():
        cells = (interval(each.value, each.ci95, 2, is_stacked=True) for each in correlation.coefficients)
        rows.append(row_of(setting or "all", len(correlation.sources), *cells))
    table = Table(columns=columns, rows=rows, title=title, notes=[signature])
    lines = [
        "A negative correlation means agreement: lower XferBench is better. 95 % CI: BCa bootstrap over sources.",
        *notes,
        *(
            f"{setting or 'all'}: left out, because in one list only: {joined(correlation.left_out)}."
            for setting, correlation in by_setting.items()
            if correlation.left_out
        ),
        *dict.fromkeys(f"No intervals: {each.ci_reason}." for each in by_setting.values() if each.ci_reason),
    ]
    data: dict[str, Any] = {
        "signature": signature,
        "settings": {setting: asdict(correlation) for setting, correlation in by_setting.items()},
        "notes": lines,
    }
    return Report(tables=[table], notes=tuple(lines), data=data)
