"""Several XferBench results side by side: a table of scores, one of differences by language, JSON, and a picture."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from ecsuite.config import ConfigError
from ecsuite.eval.comparison.differences import (
    Difference,
    SeedNoise,
    choose_baseline,
    difference,
    require_comparable,
    seed_noise,
)
from ecsuite.eval.comparison.normalising import Normalised, normalised_scores
from ecsuite.eval.comparison.results import UNSIGNED, Result
from ecsuite.eval.reports.console import Report
from ecsuite.eval.statistics.intervals import FEWEST, NUM_RESAMPLES, SEED, Interval, expanded_level
from ecsuite.eval.xferbench.comparison.anchors import (
    PUBLISHED_NAME,
    RUN_DEGREES,
    RUN_DEVIATION,
    anchors_for,
    published_baseline,
)
from ecsuite.eval.xferbench.comparison.writing_systems import WritingMatrix, by_kind, by_script

PUBLISHED = "published"
"""As a baseline: the published scores without pretraining."""
WIDTH = 80
"""Columns of a terminal that tables fit."""
NAME_WIDTH = 24
"""Of the names of sources in tables."""
NARROW_NAME_WIDTH = 19
"""In tables of ten languages."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """What comparing sources found."""

    results: tuple[Result, ...]
    """The sources, the best first."""
    baseline: Result | None
    """The one that the others are compared with; None if each is compared with each."""
    differences: tuple[Difference, ...]
    """In the order of `results`, or of their pairs."""
    noise: SeedNoise | None
    """Seed noise; None where it is unknown."""
    normalised: tuple[Normalised, ...]
    """The paper's procedure, in the order of `results`; empty where it has no values."""
    normalised_reason: str | None
    """Why it has none."""
    scripts: WritingMatrix | None
    """The paper's Table 7, where human sources tell something."""
    kinds: WritingMatrix | None
    """Its Table 8."""

    @property
    def signature(self) -> str:
        """Of all scores, without seeds."""
        return self.results[0].signature

    @property
    def targets(self) -> tuple[str, ...]:
        """The target languages."""
        return self.results[0].targets

    @property
    def _is_published(self) -> bool:
        """Whether the baseline is the published one."""
        return self.baseline is not None and self.baseline.name == PUBLISHED_NAME

    def table(self) -> Table:
        """Scores, and differences to the baseline with their verdicts."""
        table = _new_table()
        table.add_column("source", max_width=NAME_WIDTH, overflow="fold")
        table.add_column("score", justify="right", no_wrap=True)
        table.add_column("seeds", justify="right", no_wrap=True)
        if self.baseline is not None:
            _add_difference_columns(table)
        of_source = {each.source: each for each in self.differences}
        for result in self.results:
            spread = _standard_deviation(result)
            cells: list[str | Text] = [
                f"{result.score:.3f}" + ("" if spread is None else f" ±{_short(spread)}"),
                str(len(result.seeds)),
            ]
            if result is self.baseline:
                cells += [Text("baseline", "dim"), "", ""]
            elif self.baseline is not None:
                cells += _difference_cells(of_source[result.name])
            table.add_row(Text(result.name), *cells)
        return _titled(f"XferBench, nats per token, lower is better\n{self.signature}", table)

    def tables(self) -> list[Table]:
        """All tables: scores, pairs (without a baseline), differences by language, writing systems."""
        tables = [self.table()]
        if self.baseline is None and self.differences:
            tables.append(self._pair_table())
        if self.differences:
            tables += self.language_tables()
        for matrix, what in ((self.scripts, "script"), (self.kinds, "type of writing system")):
            if matrix is not None:
                tables.append(_writing_table(matrix, what))
        return tables

    def language_tables(self) -> list[Table]:
        """Differences by language; several tables where a terminal is too narrow for all languages."""
        against = "the second source" if self.baseline is None else self.baseline.name
        rows = {
            target: [_short(each.by_target[target]) for each in self.differences] for target in self.targets
        }
        width = 1 + max(len(text) for target, cells in rows.items() for text in (target, *cells))
        at_once = max(1, (WIDTH - NARROW_NAME_WIDTH) // width)
        tables = []
        for start in range(0, len(self.targets), at_once):
            targets = self.targets[start : start + at_once]
            table = _new_table(tight=True)
            table.add_column("source", max_width=NARROW_NAME_WIDTH, overflow="fold")
            for target in targets:
                table.add_column(target, justify="right", no_wrap=True)
            for number, each in enumerate(self.differences):
                table.add_row(self._label(each), *(rows[target][number] for target in targets))
            tables.append(_titled(f"Difference to {against} by language, nats per token", table))
        return tables

    def _pair_table(self) -> Table:
        """Each source against each."""
        table = _new_table()
        table.add_column("sources", max_width=NAME_WIDTH + 12, overflow="fold")
        _add_difference_columns(table)
        for each in self.differences:
            table.add_row(self._label(each), *_difference_cells(each))
        return _titled("Each pair: the first less the second; better means that the first is", table)

    def _label(self, each: Difference) -> Text:
        return Text(each.source if self.baseline is not None else f"{each.source} - {each.baseline}")

    def notes(self) -> list[str]:
        """What a reader of the tables has to know."""
        return [
            *(_interval_notes(self)),
            _noise_note(self),
            f"{PUBLISHED_NAME}: the mean of three runs, counted as one." if self._is_published else "",
            "" if anchors_for(self.signature) else f"No published scores: {_no_anchors(self.signature)}.",
        ]

    def to_json(self) -> dict[str, Any]:
        """All of it, JSON-ready."""
        normalised = {each.name: asdict(each) for each in self.normalised}
        return {
            "signature": self.signature,
            "targets": list(self.targets),
            "baseline": None if self.baseline is None else self.baseline.name,
            "sources": [
                {
                    "name": result.name,
                    "score": result.score,
                    "seeds": list(result.seeds),
                    "seed_scores": result.values().mean(1).tolist(),
                    "seed_sd": _standard_deviation(result),
                    "by_target": dict(
                        zip(self.targets, result.values(self.targets).mean(0).tolist(), strict=True)
                    ),
                    "normalised": normalised.get(result.name),
                    "source": result.source,
                }
                for result in self.results
            ],
            "differences": [asdict(each) for each in self.differences],
            "seed_noise": None if self.noise is None else asdict(self.noise),
            "normalised_reason": self.normalised_reason,
            "writing_systems": {
                "scripts": None if self.scripts is None else asdict(self.scripts),
                "types": None if self.kinds is None else asdict(self.kinds),
            },
            "anchors": {anchor.name: anchor.score for anchor in anchors_for(self.signature)},
            "bootstrap": {"method": "BCa", "resamples": NUM_RESAMPLES, "seed": SEED},
            "notes": [note for note in self.notes() if note],
        }

    def draw(self, file: Path) -> None:
        """Draw scores and differences into a PNG or SVG file.

        Raises:
            ConfigError: If matplotlib is missing, or the file has another suffix.
        """
        from ecsuite.eval.xferbench.comparison.drawing import draw_comparison

        draw_comparison(self, file)

    def report(self) -> Report:
        """What a command prints and writes."""
        notes = tuple(note for note in self.notes() if note)
        return Report(tables=self.tables(), notes=notes, data=self.to_json(), draw=self.draw)


def compare(results: Sequence[Result], baseline: str | None = None) -> Comparison:
    """Compare sources that were measured alike.

    Args:
        results: The sources.
        baseline: The name of the one that the others are compared with, or `published` for the published scores without
            pretraining. None means the source without pretraining if there is one (`nothing`, `no_pretrain`), and each
            with each otherwise.

    Raises:
        ConfigError: If there is none, they were not measured alike, or no source has the baseline's name.
    """
    if not results:
        raise ConfigError("nothing to compare: no XferBench result was given")
    require_comparable(results)
    sources = list(results)
    if baseline == PUBLISHED:
        chosen = published_baseline(results[0].signature)
        if chosen is None:
            raise ConfigError(f"--baseline {PUBLISHED}: {_no_anchors(results[0].signature)}")
        require_comparable([*results, chosen])
        sources.append(chosen)
    else:
        chosen = choose_baseline(sources, baseline)
    sources.sort(key=lambda result: (result.score, result.name))
    noise = seed_noise(sources)
    if noise is None and "preset:full" in results[0].signature.split("|"):
        noise = SeedNoise(
            sd=RUN_DEVIATION, degrees=RUN_DEGREES, origin="published, 84 corpora of three runs each"
        )
    pairs = (
        combinations(sources, 2)
        if chosen is None
        else ((each, chosen) for each in sources if each is not chosen)
    )
    normalised = normalised_scores(sources)
    return Comparison(
        results=tuple(sources),
        baseline=chosen,
        differences=tuple(difference(first, second, noise) for first, second in pairs),
        noise=noise,
        normalised=() if isinstance(normalised, str) else tuple(normalised),
        normalised_reason=normalised if isinstance(normalised, str) else None,
        scripts=by_script(sources),
        kinds=by_kind(sources),
    )


def _interval_notes(comparison: Comparison) -> list[str]:
    """What the intervals are, or why there are none."""
    if not comparison.differences:
        return ["One source: there is nothing to compare it with."]
    number = len(comparison.targets)
    if number < FEWEST:
        return [f"No intervals: {comparison.differences[0].ci_reason}."]
    level = expanded_level(number)
    return [
        f"95 % CI: paired BCa bootstrap over {number} languages, taken at {level:.1%} since they are few."
    ]


def _noise_note(comparison: Comparison) -> str:
    """How much seeds change a score."""
    noise = comparison.noise
    if noise is None:
        return "One seed each: the noise of training is unknown, and verdicts are about these runs only."
    return (
        f"Seeds: standard deviation {noise.sd:.4f} of a score ({noise.origin}); a verdict takes more than "
        f"{noise.factor:.1f} standard errors."
    )


def _no_anchors(signature: str) -> str:
    """Why no published score is shown."""
    if signature == UNSIGNED:
        return "unsigned results may be of any protocol"
    return "they are of preset full with protocol published-2024, and levels differ"


def _standard_deviation(result: Result) -> float | None:
    """Of a source's score over its seeds."""
    return float(result.values().mean(1).std(ddof=1)) if len(result.seeds) > 1 else None


def _new_table(*, tight: bool = False) -> Table:
    """An empty table; a tight one has a space between columns instead of two."""
    return Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 0 if tight else 1, 0, 0))


def _titled(title: str, table: Table) -> Table:
    """A table under a title that may be wider than it, and an empty line."""
    whole = Table.grid()
    whole.add_row(Text(title, overflow="fold"))
    whole.add_row(table)
    whole.add_row("")
    return whole


def _add_difference_columns(table: Table) -> None:
    table.add_column("difference", justify="right", no_wrap=True)
    table.add_column("95 % CI", no_wrap=True)
    table.add_column("verdict", no_wrap=True)


def _difference_cells(each: Difference) -> list[str | Text]:
    style = {"better": "green", "worse": "red"}.get(each.verdict, "dim")
    return [_short(each.mean), _interval(each.ci95), Text(each.verdict, style)]


def _writing_table(matrix: WritingMatrix, what: str) -> Table:
    """Mean normalised scores of human sources by how source and target are written."""
    table = _new_table()
    table.add_column("source", no_wrap=True)
    for target in matrix.targets:
        table.add_column(target, justify="right", no_wrap=True)
    for source, row in zip(matrix.sources, matrix.values, strict=True):
        table.add_row(source, *(f"{value:.2f}" for value in row))
    return _titled(f"Human sources by {what}, targets across: normalised scores, lower is better", table)


def _interval(interval: Interval | None) -> str:
    return "" if interval is None else f"{_short(interval[0])} … {_short(interval[1])}"


def _short(value: float) -> str:
    """Three decimals without a leading zero: -.035."""
    text = f"{value:.3f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.3f}"
    return ".000" if text == "-.000" else text
