"""Protocol `metrics`: compositionality metrics of the artificial grammars (ICY's figure 3, Tables 9 and 10)."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from ecsuite.config import ConfigError, look_up
from ecsuite.corpus import write_atomically
from ecsuite.eval.icy.measures import MEASURES
from ecsuite.eval.icy.published import GRAMMAR_METRICS
from ecsuite.eval.metrics.score import Options, no_progress
from ecsuite.eval.statistics.t_intervals import mean_and_half_width
from ecsuite.grammars.geometry import Geometry
from ecsuite.grammars.icy import language

GRAMMARS = ("concat", "perm", "proj", "rot", "shufdet", "hol")
SEEDS = (123, 124, 125, 126, 127)
METRICS = ("topsim_hamming", "posdis", "bosdis", "hce", "residual_entropy", "tre7")


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One metric of one grammar, over the seeds."""

    grammar: str
    measure: str
    mean: float | None
    """Mean over the seeds for which it is defined; None if there are none."""
    ci95: float | None
    """Half-width of the 95 % confidence interval, Student's t over the seeds; None for fewer than two values."""
    values: tuple[float | None, ...]
    """One per seed."""
    reason: str | None
    """Why the first undefined value is undefined."""
    published: float | None
    """The paper's figure, if it reports one."""
    signatures: tuple[str, ...]
    """One per seed: signatures of language and metric."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Study:
    """Settings and results of a study."""

    grammars: tuple[str, ...]
    geometry: Geometry
    seeds: tuple[int, ...]
    metrics: tuple[str, ...]
    rows: tuple[Row, ...]
    about: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the study as data for `json.dumps(…, allow_nan=False)`."""
        return asdict(self)

    def table(self) -> Table:
        """A row per grammar, a column per metric: mean ± 95 % CI, and the paper's figure in faint type below it."""
        table = Table(
            title=self.about or None, title_justify="left", title_style="", box=SIMPLE_HEAD, pad_edge=False
        )
        table.add_column("grammar", no_wrap=True)
        for name in self.metrics:
            sign = "↓" if MEASURES[name].low_is_compositional else "↑"
            table.add_column(f"{name.replace('_', ' ')} {sign}", justify="right")
        cells = {(row.grammar, row.measure): _cell(row) for row in self.rows}
        for grammar in self.grammars:
            table.add_row(grammar, *(cells[grammar, name] for name in self.metrics))
        arrows = "↑ high is compositional, ↓ low is compositional"
        printed = ", faint: the paper's" if any(row.published is not None for row in self.rows) else ""
        table.caption = Text(
            f"{self.geometry}, {len(self.seeds)} seeds, mean ± 95 % CI{printed}; {arrows}", "dim"
        )
        table.caption_justify = "left"
        return table


def run_study(
    config: Mapping[str, Any], progress: Callable[[str, float, float], None] = no_progress
) -> Study:
    """Run a study from its config.

    Args:
        config: Any of `about` (a line), `grammars`, `geometry` (`num_attributes`, `num_values`, `word_length`,
            `vocab_size`), `seeds`, `metrics`, `published` (`table9` or `table10`: figures to show for
            comparison). The defaults are those of the paper's figure 3.
        progress: Called as `progress(label, done, total)`.

    Raises:
        ConfigError: If a key, a name or a number is invalid; raised before any computation.
    """
    known = dict.fromkeys(("about", "grammars", "geometry", "seeds", "metrics", "published"))
    for key in config:
        look_up("key", str(key), known)
    grammars = _names(config, "grammars", GRAMMARS)
    metrics = _names(config, "metrics", METRICS)
    for name in metrics:
        look_up("metric", name, MEASURES)
    geometry = _geometry(config.get("geometry", {}))
    seeds = config.get("seeds", SEEDS)
    if not _is_list(seeds) or not seeds or not all(type(seed) is int and seed >= 0 for seed in seeds):
        raise ConfigError(f"seeds: expected a list of integers from 0, got {seeds!r}")
    published = config.get("published")
    if published is not None:
        look_up("table", str(published), GRAMMAR_METRICS)
    rows = grammar_metrics(grammars, geometry, seeds, metrics, published=published, progress=progress)
    return Study(
        grammars=grammars,
        geometry=geometry,
        seeds=tuple(seeds),
        metrics=metrics,
        rows=tuple(rows),
        about=str(config.get("about", "")),
    )


def grammar_metrics(
    names: Sequence[str],
    geometry: Geometry,
    seeds: Sequence[int],
    metrics: Sequence[str],
    *,
    published: str | None = None,
    progress: Callable[[str, float, float], None] = no_progress,
) -> list[Row]:
    """Measure languages of each grammar, one per seed.

    Args:
        names: Names of the grammars, see `ecsuite.grammars.icy.language`.
        geometry: Sizes of all languages.
        seeds: Seeds of the languages, and of the metrics' random draws.
        metrics: Names in `MEASURES`.
        published: The paper's table for comparison, a key of `GRAMMAR_METRICS`.
        progress: Called as `progress(label, done, total)`, in languages.

    Returns:
        A row for each grammar and metric, ordered by grammar, then metric.

    Raises:
        ConfigError: If a grammar, metric or table is unknown, or the geometry invalid.
    """
    measures = {name: look_up("metric", name, MEASURES) for name in metrics}
    figures = {} if published is None else look_up("table", published, GRAMMAR_METRICS)
    rows = []
    for index, name in enumerate(names):
        found: dict[str, list[tuple[float | None, str | None, str]]] = {metric: [] for metric in metrics}
        for turn, seed in enumerate(seeds):
            progress(name, index * len(seeds) + turn, len(names) * len(seeds))
            made = language(name, geometry, seed)
            corpus = made.corpus()
            for metric, measure in measures.items():
                score = measure.score(corpus, Options(seed=seed))
                value = None if score.value is None else float(score.value)
                found[metric].append((value, score.reason, f"{made.signature} {score.signature}"))
        for metric, outcomes in found.items():
            values, reasons, signatures = zip(*outcomes, strict=True)
            defined = [value for value in values if value is not None]
            mean, half_width = mean_and_half_width(defined) if defined else (None, None)
            rows.append(
                Row(
                    grammar=name,
                    measure=metric,
                    mean=mean,
                    ci95=half_width,
                    values=values,
                    reason=next((reason for reason in reasons if reason), None),
                    published=figures.get(metric, {}).get(made.name),
                    signatures=signatures,
                )
            )
    return rows


def write_rows(rows: Iterable[Row], path: Path | str) -> None:
    """Write rows as a JSON array."""
    text = json.dumps([asdict(row) for row in rows], indent=2, allow_nan=False)
    write_atomically(path, text.encode() + b"\n")


def _cell(row: Row) -> Text:
    """A table cell: mean ± half-width, number of defined seeds if not all, the paper's figure in faint type."""
    if row.mean is None:
        return Text("none", "dim")
    digits = 4 if row.mean < 10 else 2
    spread = "" if row.ci95 is None else f"\n±{row.ci95:.{digits}f}"
    num_defined = sum(value is not None for value in row.values)
    partly = "" if num_defined == len(row.values) else f"\n{num_defined} of {len(row.values)}"
    paper = "" if row.published is None else f"\n{row.published:.4f}"
    return Text.assemble(f"{row.mean:.{digits}f}{spread}{partly}", (paper, "dim"))


def _is_list(value: object) -> bool:
    return isinstance(value, list | tuple)


def _names(config: Mapping[str, Any], key: str, default: tuple[str, ...]) -> tuple[str, ...]:
    """Read a list of different names from a config."""
    names = config.get(key, default)
    if not _is_list(names) or not names or not all(isinstance(name, str) for name in names):
        raise ConfigError(f"{key}: expected a list of names, got {names!r}")
    if len(set(names)) < len(names):
        raise ConfigError(f"{key}: expected different names, got {', '.join(names)}")
    return tuple(names)


def _geometry(tree: object) -> Geometry:
    """Read the geometry from a section of a config."""
    if not isinstance(tree, Mapping):
        raise ConfigError(f"geometry: expected a section with keys, got {tree!r}")
    for key, value in tree.items():
        look_up("key of geometry", str(key), dict.fromkeys(field.name for field in fields(Geometry)))
        if type(value) is not int:
            raise ConfigError(f"geometry.{key}: expected an integer, got {value!r}")
    return Geometry(**tree)
