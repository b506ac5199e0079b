"""Experiments of the CBM paper (Carmeli et al. 2024): its tables, its findings, and the measures that only it has."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import product
from operator import ge, gt
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.stats import spearmanr

from ecsuite.corpus import Corpus
from ecsuite.eval.experiments.benchmark import Benchmark
from ecsuite.eval.experiments.grids import CBM
from ecsuite.eval.experiments.study import require_scorable
from ecsuite.eval.experiments.sweep import measured_seconds
from ecsuite.eval.metrics import traits_of
from ecsuite.eval.metrics.ami import ami
from ecsuite.eval.metrics.cbm import cbm
from ecsuite.eval.metrics.cbm_sensitivity import sensitivity
from ecsuite.eval.metrics.distances import cosine_distance, edit_distance
from ecsuite.eval.metrics.score import Options, Score, unscored
from ecsuite.eval.metrics.topsim import topsim
from ecsuite.eval.metrics.traits import Traits
from ecsuite.eval.reports.console import Report
from ecsuite.eval.reports.corpus_plots import draw_sensitivity
from ecsuite.eval.results.sources import CAPPED, CONFIG, Record, Source
from ecsuite.eval.statistics.counting import concept_sets
from ecsuite.formats import read_corpus
from ecsuite.games.experiment import load_experiment
from ecsuite.games.sections import SIGNALLING, Experiment
from ecsuite.games.training_jobs import Game, train_in_job
from ecsuite.jobs.graph import require_results
from ecsuite.jobs.job import Context, Job, Location, Result, job_function
from ecsuite.parts.config import build, packaged_yaml
from ecsuite.runtime.devices import choose_device
from ecsuite.runtime.errors import ConfigError, look_up, shown, unknown_name
from ecsuite.tables.cells import Cell, estimate, nothing, text
from ecsuite.tables.table import Column, Table, name_column, number_column, row_of

Figures = Mapping[str, float]
"""Figures of a row, by measure."""

_CONTENT: Mapping[str, Any] = packaged_yaml(__package__, "published.yaml")

MISPRINTS: Mapping[str, str] = _CONTENT["misprints"]
"""Notes for readers of Table 3 on match scores that contradict Table 4, by row."""


def _published_rows(table: str) -> dict[str, dict[str, float]]:
    """Figures of a table, by row and column."""
    content = dict(_CONTENT[table])
    columns = content.pop("columns")
    return {row: dict(zip(columns, figures, strict=True)) for row, figures in content.items()}


_COUNTS = _published_rows("table4")

PUBLISHED: Mapping[str, Mapping[str, Figures]] = {
    "table1": _published_rows("table1"),
    "table3": {row: {**figures, **_COUNTS[row]} for row, figures in _published_rows("table3").items()},
}
"""Figures by table and row. The rows of Table 3 include those of Table 4."""


FIRST_SEED = 1
"""First seed if only the number of seeds is given."""
FOLDER = Path("runs/cbm")
"""Where runs and kept results are, unless another folder is given."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TableKeys:
    """The keys of a study's YAML file except `rows`."""

    name: str
    about: str = ""
    """One-line description."""
    published: str | None = None
    """Table of the paper to compare with: table1, or table3 (Tables 3 and 4). Rows are joined by name."""
    seeds: tuple[int, ...] = (1, 2, 3)
    """Seeds of weights, examples and noise."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RowKeys:
    """The keys of a row in a YAML file."""

    name: str = ""
    base: str = ""
    """Name of a shipped game, or a YAML file."""
    set: Any = field(default_factory=dict)
    """Changes of settings of the base, by `section.key`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TableRow:
    """One game to train."""

    name: str
    experiment: Experiment
    """RowSettings of the game; the seed is replaced by each seed of the study."""
    published: Figures
    """The paper's figures; empty if it has no such row."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TableStudy:
    """The games to train, with their seeds."""

    header: TableKeys
    rows: tuple[TableRow, ...]
    device: torch.device
    """Where the games are trained."""
    folder: Path
    """Parent of the run folders."""


def load_table(
    study: str | Path | Mapping[str, Any],
    *,
    seeds: tuple[int, ...] | None = None,
    rows: Iterable[str] = (),
    assignments: Iterable[str] = (),
    device: str = "cpu",
    folder: Path = FOLDER,
) -> TableStudy:
    """Read a shipped study (`paper/cbm_table1`, or `cbm_table1`), a YAML file or its content, and change it.

    Args:
        study: The study.
        seeds: Replace the seeds of the study; None keeps them.
        rows: Names of the rows to keep; all if empty.
        assignments: `section.key=value` for every game, applied after the settings of the study.
        device: auto, cpu, cuda or mps.
        folder: Parent of the run folders.

    Raises:
        ConfigError: If there is no such study, a key, a value or a row's name is wrong, or a game has no concepts.
    """
    tree, source = CBM.read(study)
    entries = tree.pop("rows", None)
    header: TableKeys = build(TableKeys, tree, source)
    header = header if seeds is None else replace(header, seeds=seeds)
    if not header.seeds or len(set(header.seeds)) < len(header.seeds):
        raise ConfigError(f"{source}: seeds: expected different numbers, at least one")
    if not isinstance(entries, list) or not entries:
        raise ConfigError(f"{source}: rows: expected a list of games, each with a name and a base")
    given = list(assignments)
    for assignment in given:
        if assignment.startswith("training.seed="):
            raise ConfigError(f"--set {assignment}: a study has several seeds; use --seeds")
    published_rows = {} if header.published is None else look_up("table", header.published, PUBLISHED)
    wanted = list(rows)
    read = [
        _read_row(entry, f"{source}: rows[{place}]", wanted, given, published_rows)
        for place, entry in enumerate(entries)
    ]
    names = [row.name for row in read]
    for each in names:
        if names.count(each) > 1:
            raise ConfigError(f"{source}: rows: expected unique names, found {each} twice")
    for each in wanted:
        if each not in names:
            raise unknown_name("row", each, names)
    chosen = tuple(row for row in read if not wanted or row.name in wanted)
    for row in chosen:
        if row.experiment.play != SIGNALLING:
            raise ConfigError(
                f"{source}: {row.name}: expected a game of a sender and a receiver, whose messages are matched with "
                f"concepts, got play {row.experiment.play.kind}"
            )
        require_scorable([row.experiment], ["cbm"], f"{source}: {row.name}")
    return TableStudy(header=header, rows=chosen, device=choose_device(device), folder=folder)


def _read_row(
    entry: Any, place: str, wanted: list[str], assignments: list[str], published_rows: Mapping[str, Figures]
) -> TableRow:
    """Read a row of the file, and apply the user's settings if it is wanted: others may not have them."""
    if not isinstance(entry, dict):
        raise ConfigError(f"{place}: expected keys and values, got {shown(entry)}")
    header: RowKeys = build(RowKeys, entry, place)
    if not header.name or not header.base or not header.name.replace("_", "").replace("-", "").isalnum():
        raise ConfigError(f"{place}: expected a name of letters, digits, _ and -, and a base")
    if not isinstance(header.set, dict):
        raise ConfigError(
            f"{place}: set: expected keys such as channel.max_len with values, got {shown(header.set)}"
        )
    is_wanted = not wanted or header.name in wanted
    try:
        experiment = load_experiment(header.base, assignments if is_wanted else [], changes=header.set)
    except ConfigError as error:
        raise ConfigError(f"{place}: {error}") from None
    # Without the description of the base, which may not hold for the settings of the row.
    experiment = replace(experiment, name=header.name, about="")
    return TableRow(name=header.name, experiment=experiment, published=published_rows.get(header.name, {}))


def topsim_published(corpus: Corpus) -> Score:
    """Topographic similarity as defined in the CBM paper (section 2.3): Spearman correlation over all pairs.

    The distance of messages is the unnormalised Levenshtein distance on words, that of phrases the cosine distance of
    multi-hot vectors. The paper uses the cosine of object representations, which sets of objects do not have.
    """
    num_rows = len(corpus.messages)
    how = {"dist": "lev", "mdist": "cosine-of-concepts", "eos": "strip", "pairs": "all", "n": num_rows}
    score = unscored(Traits(name="topsim_published", about="close phrases have close messages"), **how)
    phrases = concept_sets(corpus)
    if phrases is None or num_rows < 3:
        return score(value=None, reason="expected at least three messages with concepts")
    left, right = np.triu_indices(num_rows, 1)
    content = corpus.content()
    mean_lengths = (content.lengths[left] + content.lengths[right]) / 2
    message_distances = np.rint(edit_distance(content)(left, right) * np.maximum(0.5, mean_lengths))
    vectors = np.zeros((num_rows, int(phrases.values.max(initial=0)) + 1))
    vectors[np.repeat(np.arange(num_rows), phrases.lengths), phrases.values] = 1
    phrase_distances = cosine_distance(vectors)(left, right)
    for distances, what in ((message_distances, "messages"), (phrase_distances, "phrases")):
        if np.ptp(distances) == 0:
            return score(value=None, reason=f"all {what} are equally far apart")
    return score(value=float(spearmanr(message_distances, phrase_distances).statistic))


VERSION = 3
"""Increased whenever the same inputs would give another result."""
COUNTS = {
    "unique_messages": "unique_messages",
    "unique_words": "unique_words",
    "unique_phrases": "unique_phrases",
    "unique_concepts": "unique_concepts",
    "total_edges": "total_edges",
    "good_edges": "good",
    "ambiguous_edges": "ambiguous",
    "paraphrase_edges": "paraphrase",
    "total_concepts": "total_concepts",
    "unmatched_concepts": "unmatched_program",
}
"""Names of measures and of the counts in the details of `cbm`, which uses some names for a share and a count."""


@job_function(
    version=[VERSION, *(traits_of(name).version for name in ("cbm", "topsim", "ami"))],
    work=lambda *, game, **_: game.work,
    label=lambda *, game, **_: f"{game.name}, seed {game.seed}",
)
def play_and_score(*, game: Game, folder: Location, device: str, context: Context) -> dict[str, Any]:
    """Train a game, and score its corpus.

    Args:
        game: The experiment, with its seed.
        folder: Parent of the run folder; a run that was stopped there goes on.
        device: cpu, cuda or mps.
        context: See `Context`.

    Returns:
        `seed`, `stopped` (the reason), `step`, `values` by measure (None if not defined), `chance`, `signatures` by
        metric, `extra_evaluations`, and the curves of `sensitivity`.

    Raises:
        DivergedError: If the loss is not finite.
        Stopped: If the training was asked to stop.
    """
    run_folder = folder.path / game.folder_name
    result = train_in_job(game, run_folder, device, context)
    corpus = read_corpus(run_folder)
    scores = {
        "cbm": cbm(corpus, Options())[0],
        "topsim": topsim(corpus, Options())[0],
        "topsim_published": topsim_published(corpus),
        "ami": ami(corpus, Options())[0],
    }
    details = scores["cbm"].details
    values: dict[str, Any] = {key: value for key, value in result.measures.items() if key != "length"}
    values |= {key: score.value for key, score in scores.items()}
    values |= {key: details[key] for key in ("ambiguity", "paraphrase", "precision", "recall")}
    # The paper's figures are from its program, which also counts a concept with a word of weight 0 as matched.
    values |= {"unmatched": details["unmatched_program"], "without_word": details["unmatched"]}
    values |= {name: details["counts"][key] for name, key in COUNTS.items()}
    return {
        "seed": game.seed,
        "stopped": result.stopped,
        "step": result.step,
        "values": values,
        "chance": result.chance,
        "signatures": {key: score.signature for key, score in scores.items()},
        "extra_evaluations": result.extra_evaluations,
        "sensitivity": sensitivity(corpus),
    }


def plan(study: TableStudy) -> dict[tuple[str, int], Job]:
    """The jobs of a study, by row and seed."""
    return {
        (row.name, seed): Job(
            play_and_score,
            game=Game.of(row.experiment, seed, study.device),
            folder=Location(path=study.folder.resolve()),
            device=study.device.type,
        )
        for row in study.rows
        for seed in study.header.seeds
    }


@dataclass(frozen=True, kw_only=True, slots=True)
class MeasuredRow:
    """A game with the results of all seeds."""

    row: TableRow
    runs: tuple[dict[str, Any], ...]
    """One result per seed that has one, in the order of the seeds; see `play_and_score`."""
    failures: Mapping[int, str] = field(default_factory=dict)
    """Why a seed has no result, by seed."""

    def values(self, measure: str) -> list[float | None]:
        """A measure for each seed, in ascending order; None where it is not defined, or the run failed."""
        found = dict.fromkeys(self.failures) | {run["seed"]: run["values"].get(measure) for run in self.runs}
        return [found[seed] for seed in sorted(found)]

    def mean(self, measure: str) -> float | None:
        """Mean over the runs; None unless defined for all of them."""
        values = self._defined(measure)
        return None if values is None else float(np.mean(values))

    def deviation(self, measure: str) -> float | None:
        """Standard deviation over the runs (n - 1); None for one run or without a mean."""
        values = self._defined(measure)
        return None if values is None or len(values) == 1 else float(np.std(values, ddof=1))

    def _defined(self, measure: str) -> list[float] | None:
        """A measure for each run; None if there is no run, or it is not defined for one."""
        values = [run["values"].get(measure) for run in self.runs]
        return values if values and None not in values else None

    def to_json(self) -> dict[str, Any]:
        """The row as JSON-ready data."""
        names = list(self.runs[0]["values"]) if self.runs else []
        return {
            "name": self.row.name,
            "config": self.row.experiment.to_tree(),
            "mean": {name: self.mean(name) for name in names},
            "sd": {name: self.deviation(name) for name in names},
            "published": dict(self.row.published),
            "runs": list(self.runs),
            "failures": {str(seed): reason for seed, reason in self.failures.items()},
        }


def sensitivity_curves(rows: Sequence[MeasuredRow]) -> dict[str, Any]:
    """Match scores by sample size, for the first seed of each row; input of `draw_sensitivity`."""
    return {measured.row.name: measured.runs[0]["sensitivity"] for measured in rows if measured.runs}


RowSettings = tuple[str, str, int]
"""World, channel (gumbel or quantized) and length of the rules of a row."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """A claim of the paper, and whether it holds for a pair of measured rows."""

    claim: str
    holds: bool | None
    """Whether it holds for the means over seeds; None if a mean is not known."""
    num_holding: int
    """Number of seeds for which it holds."""
    num_seeds: int
    num_unknown: int = 0
    """Number of seeds for which the measure is undefined, or a run failed."""
    figures: str

    def __str__(self) -> str:
        """The finding as one line."""
        outcome = {True: "holds", False: "DOES NOT HOLD", None: "NOT KNOWN"}[self.holds]
        where = f" in {self.num_holding} of {self.num_seeds} seeds"
        where += f", {self.num_unknown} not known" if self.num_unknown else ""
        seeds = "" if self.num_seeds == 1 else f",{where}" if self.holds else f" (it does{where})"
        return f"{outcome}{seeds}: {self.claim} ({self.figures})"


class _Claim(NamedTuple):
    """A claim about a measure of two rows, and whether it holds for their values."""

    text: str
    measure: str
    first: RowSettings
    second: RowSettings
    is_true: Callable[[float, float], bool]


def check_findings(rows: Sequence[MeasuredRow]) -> list[Finding]:
    """Check those findings of Table 1 whose rows were measured.

    Several rows may have equal worlds, channels and lengths of the rules, and differ in something else: a claim is then
    checked for every pair of them, and names its rows.
    """
    by_settings: dict[RowSettings, list[MeasuredRow]] = {}
    for measured in rows:
        experiment = measured.row.experiment
        world, channel = experiment.world, experiment.channel
        by_settings.setdefault((world.kind, channel.kind, world.options.rule_length), []).append(measured)
    findings = []
    for claim in _claims(by_settings):
        pairs = list(product(by_settings.get(claim.first, []), by_settings.get(claim.second, [])))
        findings += [_check(claim, *pair, is_named=len(pairs) > 1) for pair in pairs]
    return findings


def _claims(measured: Iterable[RowSettings]) -> Iterator[_Claim]:
    """The claims of the paper about these settings; they may lack the other row of a claim."""
    for world, channel, length in measured:
        if channel != "gumbel":
            continue
        gumbel, quantized = (world, "gumbel", length), (world, "quantized", length)
        where = f"{world.upper()}, l={length}"
        yield _Claim(f"{where}: QT is at least as accurate as GS", "accuracy", quantized, gumbel, ge)
        if length == 1:
            text = f"{where}: GS leaves concepts without a word, QT does not"
            yield _Claim(text, "unmatched", gumbel, quantized, lambda gs, qt: gs > 0 and not qt)
        if (world, length) == ("thing", 1):
            yield _Claim(f"{where}: QT has a better match than GS", "cbm", quantized, gumbel, gt)
    for channel, name in (("gumbel", "GS"), ("quantized", "QT")):
        text = f"THING, {name}: the match falls from rules of one pair to rules of four"
        yield _Claim(text, "cbm", ("thing", channel, 1), ("thing", channel, 4), gt)


def _check(claim: _Claim, first: MeasuredRow, second: MeasuredRow, *, is_named: bool) -> Finding:
    """Check a claim on the means of two rows, and on each seed."""

    def holds(one: float | None, other: float | None) -> bool | None:
        return None if one is None or other is None else claim.is_true(one, other)

    values = first.values(claim.measure), second.values(claim.measure)
    by_seed = [holds(*pair) for pair in zip(*values, strict=True)]
    means = first.mean(claim.measure), second.mean(claim.measure)
    names = f", {first.row.name} and {second.row.name}" if is_named else ""
    one, other = ("none" if mean is None else f"{mean:.3f}" for mean in means)
    return Finding(
        claim=claim.text + names,
        holds=holds(*means),
        num_holding=by_seed.count(True),
        num_seeds=len(by_seed),
        num_unknown=by_seed.count(None),
        figures=f"{claim.measure} {one} {'and' if claim.measure == 'unmatched' else 'against'} {other}",
    )


TABLE1: Mapping[str, str] = {
    "accuracy": "acc",
    "set_accuracy": "set",
    "unique_concepts": "con",
    "unique_phrases": "phrs",
    "unique_words": "#w",
    "unique_messages": "#m",
    "topsim_published": "TopS",
    "topsim": "ours",
    "ami": "AMI",
    "cbm": "CBM",
    "ambiguity": "amb",
    "paraphrase": "para",
    "unmatched": "unm",
}
"""Column headings by measure: those of the paper's Table 1, and further ones."""

TABLE4: Mapping[str, str] = {
    "unique_messages": "#m",
    "unique_words": "#w",
    "unique_phrases": "phrs",
    "unique_concepts": "con",
    "total_edges": "edges",
    "good_edges": "good",
    "ambiguous_edges": "amb",
    "paraphrase_edges": "para",
    "total_concepts": "tot",
    "unmatched_concepts": "unm",
    "precision": "prec",
    "recall": "recall",
}
"""Column headings of the paper's Table 4 by measure; all but the last two are counts."""


def report(study: TableStudy, rows: Sequence[MeasuredRow]) -> Report:
    """The output of a study: tables, notes, JSON data and figure."""
    tables = [make_table(rows, TABLE1)]
    if study.header.published == "table3":
        tables.append(make_table(rows, TABLE4))
    findings = check_findings(rows) if study.header.published == "table1" else []
    return Report(
        tables=tables,
        notes=(*notes(study, rows), *map(str, findings)),
        data={
            "study": asdict(study.header),
            "rows": [measured.to_json() for measured in rows],
            "findings": [asdict(finding) for finding in findings],
        },
        draw=lambda path: draw_sensitivity(sensitivity_curves(rows), path),
    )


def make_table(rows: Sequence[MeasuredRow], columns: Mapping[str, str]) -> Table:
    """A table with means over seeds, standard deviations below them, and the paper's values in dim type."""
    shown = []
    for measured in rows:
        name, published = measured.row.name, measured.row.published
        cells = (_cell(measure, measured.mean(measure), measured.deviation(measure)) for measure in columns)
        shown.append(row_of(name, "here", *cells, ends_section=not published))
        if published:
            values = (
                _cell(measure, published[measure]) if measure in published else nothing()
                for measure in columns
            )
            paper = text(name, shown="  the paper")
            shown.append(row_of(paper, "the paper", *values, role="dim", ends_section=True))
    figures = [number_column(measure, heading, parts=("sd",)) for measure, heading in columns.items()]
    return Table(columns=(name_column("game"), Column("origin", is_shown=False), *figures), rows=shown)


def notes(study: TableStudy, rows: Sequence[MeasuredRow]) -> list[str]:
    """Notes on seeds, columns, stopped runs, misprints and signatures."""
    seeds = ", ".join(map(str, study.header.seeds))
    runs = [run for measured in rows for run in measured.runs]
    levels = [run["chance"]["accuracy"] for run in runs if "accuracy" in run["chance"]]
    chance = f"; chance level of acc: {levels[0]:.2f}" if levels else ""
    spread = "means, ± standard deviation; " if len(study.header.seeds) > 1 else ""
    lines = [
        f"{spread}seed{'s' if len(study.header.seeds) > 1 else ''} {seeds}{chance}. "
        "acc: candidates classified correctly; set: rounds without an "
        "error; TopS: topographic similarity as in the paper; ours: as in `ecsuite score`; unm: unmatched concepts, as "
        "in the paper's program; other columns as in the paper."
    ]
    lines += [
        f"{measured.row.name}, seed {seed}: left out: {reason}."
        for measured in rows
        for seed, reason in measured.failures.items()
    ]
    removed = sum(run["folder"] is None for run in runs)
    if removed:
        lines.append(
            f"{removed} of {len(runs)} run folders are not there; their figures are kept in {study.folder}."
        )
    stopped = {
        measured.row.name: [run["seed"] for run in measured.runs if run["stopped"] == "minutes"]
        for measured in rows
    }
    lines += [
        f"{name}: time limit reached before the last epoch, seed {', '.join(map(str, seeds))}."
        for name, seeds in stopped.items()
        if seeds
    ]
    lines += [
        f"{measured.row.name}: {MISPRINTS[measured.row.name]}."
        for measured in rows
        if measured.row.published and measured.row.name in MISPRINTS
    ]
    signatures = sorted(
        {signature for measured in rows for run in measured.runs for signature in run["signatures"].values()}
    )
    seconds = sum(run["seconds"] for measured in rows for run in measured.runs)
    return [*lines, f"{seconds / 60:.1f} minutes of training in total; {'  '.join(signatures)}"]


def _is_count(measure: str) -> bool:
    """Whether a measure is a count."""
    return measure.startswith(("unique_", "total_")) or measure.endswith(("_edges", "_concepts"))


def _cell(measure: str, mean: float | None, deviation: float | None = None) -> Cell:
    """The mean with the standard deviation below; counts as integers, others with two decimals and no leading zero."""
    if mean is None:
        return nothing("none")
    digits = 0 if _is_count(measure) else 2
    cell = estimate(mean, deviation, digits, is_bare=True, is_stacked=True)
    return replace(cell, parts={"sd": deviation})


class ConceptGames(Benchmark[TableStudy, list[MeasuredRow]]):
    """The games of the CBM paper, and its tables."""

    def plan(self, study: TableStudy) -> list[Job]:
        """A job for each game and seed."""
        return list(plan(study).values())

    def device(self, study: TableStudy) -> str:
        """Where the games are trained."""
        return study.device.type

    def seconds_of(self, study: TableStudy, jobs: Sequence[Job]) -> float | None:
        """From a few games that are begun and given up."""
        return measured_seconds(jobs)

    def collect(self, study: TableStudy, results: Mapping[Job, Result]) -> list[MeasuredRow]:
        """A row for each game.

        Raises:
            DivergedError: If no run of any row ended.
        """
        jobs = plan(study)
        require_results(results)
        rows = []
        for row in study.rows:
            runs, failures = [], {}
            for seed in study.header.seeds:
                job = jobs[row.name, seed]
                result = results[job]
                if result.failure is not None:
                    failures[seed] = result.failure
                    continue
                folder = study.folder / job.inputs["game"].folder_name
                place = str(folder) if folder.is_dir() else None  # results are kept without it, too
                runs.append({**result.value, "folder": place, "seconds": result.seconds})
            rows.append(MeasuredRow(row=row, runs=tuple(runs), failures=failures))
        return rows

    def record(self, study: TableStudy, finding: list[MeasuredRow]) -> list[Source]:
        """A source for each run and for each seed that failed; its scores have signatures, its measures have none."""
        return [
            source for row in finding for source in (*_ended(row, study.folder), *_failed(row, study.folder))
        ]

    def report(self, study: TableStudy, finding: list[MeasuredRow]) -> Report:
        """The tables of the paper, the findings, and the curves of figure 4."""
        return report(study, finding)


def _ended(row: MeasuredRow, study_folder: Path) -> list[Source]:
    sources = []
    for run in row.runs:
        folder = None if run["folder"] is None else Path(run["folder"])
        sources.append(
            Source(
                name=f"{row.row.name}, seed {run['seed']}" if folder is None else folder.name,
                file=study_folder if folder is None else folder / CONFIG,
                folder=folder,
                is_run=True,
                game=row.row.name,
                group=row.row.name,
                seed=run["seed"],
                stopped=run["stopped"],
                status="capped" if run["stopped"] in CAPPED else "done",
                records=tuple(
                    Record(score=name, value=value, signature=line, is_measure=line is None)
                    for name, value in run["values"].items()
                    for line in [run["signatures"].get(name)]
                ),
            )
        )
    return sources


def _failed(row: MeasuredRow, folder: Path) -> list[Source]:
    return [
        Source(
            name=f"{row.row.name}, seed {seed}",
            file=folder,
            game=row.row.name,
            group=row.row.name,
            seed=seed,
            status="failed",
            failure=reason,
        )
        for seed, reason in row.failures.items()
    ]
