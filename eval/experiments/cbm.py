"""Experiments of the CBM paper (Carmeli et al. 2024): its tables, its findings, and its own measures."""

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import product
from operator import ge, gt
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import spearmanr

from ecsuite.corpus import Corpus
from ecsuite.eval.counts.counting import concept_sets
from ecsuite.eval.experiments.grids import CBM, StudySource
from ecsuite.eval.experiments.jobs import WORK, Label, PlannedRun, unpack
from ecsuite.eval.experiments.result import Sweep, SweptRun
from ecsuite.eval.experiments.study import SweepStudy, metrics_of, read_study, require_scorable
from ecsuite.eval.experiments.sweep import Sweeps
from ecsuite.eval.metrics import traits_of
from ecsuite.eval.metrics.cbm import sensitivity
from ecsuite.eval.metrics.score import Score, unscored
from ecsuite.eval.metrics.topsim import cosine_distance, edit_distance
from ecsuite.eval.metrics.traits import Traits
from ecsuite.eval.results.sources import CAPPED, INCOMPLETE, Source
from ecsuite.eval.statistics.estimates import Bound, difference_bound, joint_bound
from ecsuite.eval.views.console import Report
from ecsuite.eval.views.figures.corpora import draw_sensitivity
from ecsuite.formats import read_corpus
from ecsuite.games.config.sections import Experiment
from ecsuite.games.plays.play import play_class
from ecsuite.games.runs.run_folder import RunFolder
from ecsuite.games.tasks.directions import DIRECTIONS, measure_bound
from ecsuite.jobs.job import Context, Job, Result, job_function
from ecsuite.parts.config import packaged_yaml
from ecsuite.runtime.errors import ConfigError, look_up
from ecsuite.runtime.time_left import duration_text
from ecsuite.tables.cells import Cell, bounded, estimate, nothing, of_some, text
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
"""Figures by table and row. Table 3 includes the rows of Table 4."""


METRICS = ("cbm", "topsim", "ami")
"""Metrics of every corpus."""
SEEDS = (1, 2, 3)
"""Seeds of a table without the key `seeds`."""


def load_table(
    study: StudySource,
    *,
    seeds: tuple[int, ...] | None = None,
    rows: Iterable[str] = (),
    assignments: Iterable[str] = (),
    device: str = "cpu",
) -> SweepStudy:
    """Read a shipped table (`paper/cbm_table1`, or `cbm_table1`), a YAML file or its content, and change it.

    Args:
        study: A sweep with the key `rows`.
        seeds: Replacement of the study's seeds; None: the study's, by default 1, 2 and 3.
        rows: Names of the selected rows; empty: all.
        assignments: `section.key=value` for every game, applied after the settings of the study.
        device: auto, cpu, cuda or mps.

    Raises:
        ConfigError: If there is no such study, a key, a value or a row's name is invalid, or a game has no concepts.
    """
    content, source = CBM.read(study)
    tree: dict[str, Any] = {"seeds": list(SEEDS), "score": [], **content}
    if seeds is not None:
        tree["seeds"] = list(seeds)
    if isinstance(tree["seeds"], list) and (
        not tree["seeds"] or len(set(tree["seeds"])) < len(tree["seeds"])
    ):
        raise ConfigError(f"{source}: seeds: expected different numbers, at least one")
    if not isinstance(tree.get("rows"), list) or not tree["rows"]:
        raise ConfigError(f"{source}: rows: expected a list of games, each with a name and a base")
    given = list(assignments)
    for assignment in given:
        if assignment.startswith("training.seed="):
            raise ConfigError(f"--set {assignment}: a study has several seeds; use --seeds")
    tree["score"] = list(dict.fromkeys((*METRICS, *metrics_of(tree["score"], source))))
    table = read_study(tree, source, device=device, rows=list(rows), assignments=given, tries_metrics=False)
    if table.published is not None:
        look_up("table", table.published, PUBLISHED)
    for variant in table.variants:
        place = f"{source}: {variant.settings['row']}"
        if not play_class(variant.experiment).can_speak:
            raise ConfigError(
                f"{place}: expected a game of a sender and a receiver, whose messages are matched with concepts, got "
                f"play {variant.experiment.play.kind}"
            )
        require_scorable([variant.experiment], ["cbm"], place)
    return table


def topsim_published(corpus: Corpus) -> Score:
    """Topographic similarity as defined in the CBM paper (section 2.3): Spearman correlation over all pairs.

    The distance of messages is the unnormalised Levenshtein distance on words, the distance of phrases the cosine
    distance of multi-hot vectors. The paper uses the cosine of object representations, which sets of objects lack.
    """
    num_rows = len(corpus.messages)
    names = {"message_distance": "edit", "meaning_distance": "cosine-of-concepts"}
    how = {**names, "eos": "strip", "pairs": "all", "n": num_rows}
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


VERSION = 4
"""Version of the job of `published_measures`; increased whenever the same inputs would give another result."""
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
    version=[VERSION, traits_of("cbm").version],
    work=lambda **_: WORK,
    label=lambda *, name, **_: f"published measures of {name.key}",
)
def published_measures(*, run: Result, name: Label, context: Context) -> dict[str, Any]:
    """Compute the paper's own measures.

    Args:
        run: The result of `train_game`.
        name: The name of the run, for progress.
        context: See `Context`.

    Returns:
        `topsim_published`, see `Score.to_json`, and the curves of `sensitivity`.
    """
    assert run.arrays is not None
    with tempfile.TemporaryDirectory() as folder:
        unpack(run.arrays, Path(folder))
        corpus = read_corpus(Path(folder))
        return {"topsim_published": topsim_published(corpus).to_json(), "sensitivity": sensitivity(corpus)}


@dataclass(frozen=True, kw_only=True, slots=True)
class TableRow:
    """A row of a table: a game with the results of all seeds."""

    name: str
    experiment: Experiment
    """Settings of the game, with the seed of the first run."""
    published: Figures = field(default_factory=dict)
    """The paper's figures; empty if it has no such row."""
    runs: tuple[Mapping[str, Any], ...] = ()
    """Results of the trained seeds, in the order of the seeds, JSON-ready; see `_run_json`."""
    failures: Mapping[int, str] = field(default_factory=dict)
    """Reason by seed without a result."""

    @property
    def counted(self) -> list[Mapping[str, Any]]:
        """The runs in the means: those that ended as their settings say, as in all tables (`Source.counts`)."""
        return [run for run in self.runs if run.get("stopped") not in INCOMPLETE]

    def values(self, measure: str) -> list[float | None]:
        """A measure for each seed, in ascending order; None if it is undefined, or the run is not in the means."""
        found = dict.fromkeys([*self.failures, *(run["seed"] for run in self.runs)])
        found |= {run["seed"]: run["values"].get(measure) for run in self.counted}
        return [found[seed] for seed in sorted(found)]

    def defined(self, measure: str) -> list[float]:
        """The values of a measure in the means, in the order of the seeds."""
        return [value for run in self.counted if (value := run["values"].get(measure)) is not None]

    def mean(self, measure: str) -> float | None:
        """Mean over the runs for which a measure is defined; None without any."""
        values = self.defined(measure)
        return float(np.mean(values)) if values else None

    def bounds(self, measure: str) -> list[Bound | None]:
        """Whether each run's measure is a bound of the true value, as an accuracy of 1 is."""
        return [
            measure_bound(measure, run["values"]) if measure in DIRECTIONS else None for run in self.counted
        ]

    def deviation(self, measure: str) -> float | None:
        """Standard deviation over the runs with a value (n - 1); None for fewer than two."""
        values = self.defined(measure)
        return float(np.std(values, ddof=1)) if len(values) > 1 else None

    def to_json(self) -> dict[str, Any]:
        """The row as JSON-ready data."""
        names = list(self.runs[0]["values"]) if self.runs else []
        return {
            "name": self.name,
            "config": self.experiment.to_tree(),
            "mean": {name: self.mean(name) for name in names},
            "sd": {name: self.deviation(name) for name in names},
            "published": dict(self.published),
            "runs": list(self.runs),
            "failures": {str(seed): reason for seed, reason in self.failures.items()},
        }


def rows_of(study: SweepStudy, runs: Sequence[SweptRun] = ()) -> list[TableRow]:
    """The rows of a table with their runs."""
    published = PUBLISHED[study.published] if study.published else {}
    rows = []
    for variant in study.variants:
        name = str(variant.settings["row"])
        of_row = [run for run in runs if run.settings["row"] == name]
        rows.append(
            TableRow(
                name=name,
                experiment=variant.experiment,
                published=published.get(name, {}),
                runs=tuple(_run_json(run) for run in of_row if run.failure is None),
                failures={run.seed: run.failure for run in of_row if run.failure is not None},
            )
        )
    return rows


def _run_json(run: SweptRun) -> dict[str, Any]:
    """Seed, end of the training, values by measure (None if not defined), nulls and signatures of a run."""
    scores = {score["name"]: score for score in (*run.scores, run.further["topsim_published"])}
    scores = {name: scores[name] for name in ("cbm", "topsim", "topsim_published", "ami")}
    details = scores["cbm"]["details"]
    values = {key: value for key, value in run.training["measures"].items() if key != "length"}
    values |= {name: score["value"] for name, score in scores.items()}
    values |= {key: details[key] for key in ("ambiguity", "paraphrase", "precision", "recall")}
    # The paper's program, whose figures these are, also counts a concept with a word of weight 0 as matched.
    values |= {"unmatched": details["unmatched_program"], "without_word": details["unmatched"]}
    values |= {name: details["counts"][key] for name, key in COUNTS.items()}
    return {
        "seed": run.seed,
        "stopped": run.training["stopped"],
        "step": run.training["step"],
        "values": values,
        "chance": run.training["chance"],
        "signatures": {name: score["signature"] for name, score in scores.items()},
        "extra_evaluations": run.training["extra_evaluations"],
        "sensitivity": run.further["sensitivity"],
        "folder": str(run.folder) if run.folder.is_dir() else None,
        "seconds": run.seconds,
    }


def sensitivity_curves(rows: Sequence[TableRow]) -> dict[str, Any]:
    """Match scores by sample size, for the first seed of each row; input of `draw_sensitivity`."""
    return {measured.name: measured.counted[0]["sensitivity"] for measured in rows if measured.counted}


RowSettings = tuple[str, str, int]
"""World, channel (gumbel or quantized) and length of the rules of a row."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """A claim of the paper, and whether it holds for a pair of measured rows."""

    claim: str
    holds: bool | None
    """Whether it holds for the means over seeds; None if a mean is undefined."""
    num_holding: int
    """Number of seeds for which it holds."""
    num_seeds: int
    num_unknown: int = 0
    """Number of seeds for which the measure is undefined, or a run failed."""
    figures: str

    def __str__(self) -> str:
        """The finding as one line."""
        outcome = {True: "holds", False: "DOES NOT HOLD", None: "UNKNOWN"}[self.holds]
        where = f" in {self.num_holding} of {self.num_seeds} seeds"
        where += f", {self.num_unknown} unknown" if self.num_unknown else ""
        seeds = "" if self.num_seeds == 1 else f",{where}" if self.holds else f" (it does{where})"
        return f"{outcome}{seeds}: {self.claim} ({self.figures})"


class _Claim(NamedTuple):
    """A claim about a measure of two rows, and whether it holds for their values."""

    text: str
    measure: str
    first: RowSettings
    second: RowSettings
    is_true: Callable[[float, float], bool]


def check_findings(rows: Sequence[TableRow]) -> list[Finding]:
    """Check the findings of Table 1 whose rows were measured.

    If several rows have equal worlds, channels and lengths of the rules but differ in other settings, a claim is
    checked for every pair of them, and names its rows.
    """
    by_settings: dict[RowSettings, list[TableRow]] = {}
    for measured in rows:
        experiment = measured.experiment
        world, channel = experiment.world, experiment.channel
        by_settings.setdefault((world.kind, channel.kind, world.options.rule_length), []).append(measured)
    findings = []
    for claim in _claims(by_settings):
        pairs = list(product(by_settings.get(claim.first, []), by_settings.get(claim.second, [])))
        findings += [_check(claim, *pair, is_named=len(pairs) > 1) for pair in pairs]
    return findings


def _claims(measured: Iterable[RowSettings]) -> Iterator[_Claim]:
    """The claims of the paper about these settings; the second row of a claim may be missing."""
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


def _check(claim: _Claim, first: TableRow, second: TableRow, *, is_named: bool) -> Finding:
    """Check a claim on the means of two rows and on each seed."""

    def holds(one: float | None, other: float | None, bound: Bound | None) -> bool | None:
        """Whether the relation holds; None if a value is missing, or is censored so that the true one may decide."""
        if one is None or other is None:
            return None
        found = claim.is_true(one, other)
        return found if bound in (None, "lower" if found else "upper") else None

    values = first.values(claim.measure), second.values(claim.measure)
    by_seed = [
        holds(
            one,
            other,
            difference_bound(*(measure_bound(claim.measure, {claim.measure: each}) for each in (one, other))),
        )
        for one, other in zip(*values, strict=True)
    ]
    means = first.mean(claim.measure), second.mean(claim.measure)
    sides = joint_bound(first.bounds(claim.measure)), joint_bound(second.bounds(claim.measure))
    names = f", {first.name} and {second.name}" if is_named else ""
    one, other = ("none" if mean is None else f"{mean:.3f}" for mean in means)
    return Finding(
        claim=claim.text + names,
        holds=holds(*means, difference_bound(*sides)),
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
"""Column headings by measure, as in the paper's Table 1, and of further measures."""

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


def report(study: SweepStudy, rows: Sequence[TableRow], folder: Path = Path()) -> Report:
    """The output of a study: tables, notes, JSON data and figure."""
    tables = [make_table(rows, TABLE1)]
    if study.published == "table3":
        tables.append(make_table(rows, TABLE4))
    findings = check_findings(rows) if study.published == "table1" else []
    return Report(
        tables=tables,
        notes=(*notes(study, rows, folder), *map(str, findings)),
        data={
            "study": {
                "name": study.name,
                "about": study.about,
                "published": study.published,
                "seeds": list(study.seeds),
            },
            "rows": [measured.to_json() for measured in rows],
            "findings": [asdict(finding) for finding in findings],
        },
        draw=lambda path: draw_sensitivity(sensitivity_curves(rows), path),
    )


def make_table(rows: Sequence[TableRow], columns: Mapping[str, str]) -> Table:
    """A table with means over seeds, standard deviations below the means, and the paper's values in dim type."""
    shown = []
    for measured in rows:
        name, published = measured.name, measured.published
        cells = (
            of_some(
                bounded(
                    _cell(measure, measured.mean(measure), measured.deviation(measure)),
                    joint_bound(measured.bounds(measure)),
                ),
                len(measured.defined(measure)),
                len(measured.counted),
            )
            for measure in columns
        )
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


def notes(study: SweepStudy, rows: Sequence[TableRow], folder: Path) -> list[str]:
    """Notes on seeds, columns, stopped runs, misprints and signatures."""
    seeds = ", ".join(map(str, study.seeds))
    runs = [run for measured in rows for run in measured.runs]
    levels = sorted(f"{run['chance']['accuracy']:.2f}" for run in runs if "accuracy" in run["chance"])
    chance = f"; chance level of acc: {' to '.join(dict.fromkeys((levels[0], levels[-1])))}" if levels else ""
    spread = "means, ± standard deviation; " if len(study.seeds) > 1 else ""
    lines = [
        f"{spread}seed{'s' if len(study.seeds) > 1 else ''} {seeds}{chance}. "
        "acc: candidates classified correctly; set: rounds without an "
        "error; TopS: topographic similarity as in the paper; ours: as in `ecsuite score`; unm: unmatched concepts, as "
        "in the paper's program; other columns as in the paper."
    ]
    lines += [
        f"{measured.name}, seed {seed}: left out: {reason}."
        for measured in rows
        for seed, reason in measured.failures.items()
    ]
    removed = sum(run["folder"] is None for run in runs)
    if removed:
        lines.append(
            f"{removed} of {len(runs)} run folders are missing; their figures are stored in {folder}."
        )
    lines += [
        f"{measured.name}, seed {run['seed']}: not complete, and not in the means: ended by {run['stopped']}."
        for measured in rows
        for run in measured.runs
        if run not in measured.counted
    ]
    if any(0 < len(each.defined(name)) < len(each.counted) for each in rows for name in (*TABLE1, *TABLE4)):
        lines.append("n: seeds in the mean, as the measure is undefined for others.")
    lines += [
        f"{measured.name}: {MISPRINTS[measured.name]}."
        for measured in rows
        if measured.published and measured.name in MISPRINTS
    ]
    signatures = sorted(
        {signature for measured in rows for run in measured.runs for signature in run["signatures"].values()}
    )
    seconds = sum(run["seconds"] for measured in rows for run in measured.runs)
    return [*lines, f"{duration_text(seconds)} of training in total; {'  '.join(signatures)}"]


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


@dataclass(frozen=True, kw_only=True, slots=True)
class CbmTables(Sweeps):
    """The tables of the CBM paper as sweeps whose runs and stored results are in one folder."""

    is_flat = True

    def runs(self, study: SweepStudy) -> list[PlannedRun]:
        """The runs, with the paper's own measures."""
        return [
            replace(run, further=Job(published_measures, run=run.training, name=Label(key=run.folder.name)))
            for run in Sweeps.runs(self, study)
        ]

    def record(self, study: SweepStudy, finding: Sweep) -> list[Source]:
        """A source for each run and each failed seed; scores have signatures, measures do not."""
        sources = []
        for row in rows_of(study, finding):
            for run in row.runs:
                folder = None if run["folder"] is None else Path(run["folder"])
                records = [
                    Score(
                        name=name,
                        value=value,
                        reason="" if value is None else None,
                        signature=line or "",
                        is_measure=line is None,
                    )
                    for name, value in run["values"].items()
                    for line in [run["signatures"].get(name)]
                ]
                sources.append(
                    Source(
                        name=f"{row.name}, seed {run['seed']}" if folder is None else folder.name,
                        file=self.folder if folder is None else RunFolder(folder).config,
                        folder=folder,
                        is_run=True,
                        game=row.name,
                        group=row.name,
                        seed=run["seed"],
                        stopped=run["stopped"],
                        status="capped" if run["stopped"] in CAPPED else "done",
                        records=tuple(records),
                    )
                )
            sources += [
                Source(
                    name=f"{row.name}, seed {seed}",
                    file=self.folder,
                    game=row.name,
                    group=row.name,
                    seed=seed,
                    status="failed",
                    failure=reason,
                )
                for seed, reason in row.failures.items()
            ]
        return sources

    def report(self, study: SweepStudy, finding: Sweep) -> Report:
        """The tables of the paper, the findings, and the curves of figure 4."""
        return report(study, rows_of(study, finding), self.folder)
