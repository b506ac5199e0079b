"""Scores of the XferBench paper's sources vs. its tables 2, 4 and 5 and figures 2 and 3, and correlations."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ecsuite.downloads.languages import XFERBENCH_TARGETS
from ecsuite.eval.experiments.benchmark import Benchmark
from ecsuite.eval.experiments.sweep import measured_seconds
from ecsuite.eval.experiments.xferbench import PaperSource, PaperStudy
from ecsuite.eval.metrics.score import Score, Signature
from ecsuite.eval.results.samples import Sample
from ecsuite.eval.results.sources import Source
from ecsuite.eval.statistics.estimates import NO_INTERVAL, average_ranks, mean_and_half_width
from ecsuite.eval.views.console import Report
from ecsuite.eval.views.figures.canvas import ends, save
from ecsuite.eval.views.figures.curves import Curve, curves
from ecsuite.eval.views.figures.intervals import Panel, Point, intervals
from ecsuite.eval.xferbench import metric
from ecsuite.eval.xferbench.comparison import (
    PAPER_CORRELATIONS,
    PAPER_CROSS_ENTROPIES,
    PAPER_SCORES,
)
from ecsuite.eval.xferbench.correlation import MIN_SOURCES, Correlation, correlate
from ecsuite.eval.xferbench.jobs import TOKENS_PER_UNIT
from ecsuite.eval.xferbench.normalising import normalised_scores
from ecsuite.eval.xferbench.presets import XFERBENCH as TRAITS
from ecsuite.eval.xferbench.texts import (
    TextFile,
    fingerprint,
)
from ecsuite.games.training.train import TrainingJob
from ecsuite.jobs.job import Job, Result
from ecsuite.runtime.errors import DivergedError
from ecsuite.runtime.provenance import own_commit, processor
from ecsuite.runtime.time_left import duration_text
from ecsuite.tables.cells import Cell, estimate, interval, nothing, number, text
from ecsuite.tables.table import Row, Table, name_column, number_column, row_of
from ecsuite.version import __version__

PUBLISHED_MINUTES = 330
"""Minutes per score at the paper's size on its GPU, an RTX 2080 Ti (section 3.3)."""
SMALL_TOKENS_A_SECOND = 40_000
"""Training tokens per second of a reduced preset's model on one core (docs/evidence/mini.md)."""
H100_MINUTES = 5.8
"""Minutes of training and tests per score at the paper's size on an H100 (docs/gpu.md)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PaperRow:
    """A source with its results."""

    source: PaperSource
    """The source."""
    by_seed: Mapping[int, Mapping[str, float]] = field(default_factory=dict)
    """Cross-entropy by seed and target, nats per token; empty without a score."""
    passes: float | None = None
    """Passes over the corpus per epoch of pretraining; None without pretraining or score."""
    accuracy: float | None = None
    """Accuracy of a game at the end of its training."""
    reason: str = ""
    """Reason for a missing score; empty: it has a score."""

    @property
    def name(self) -> str:
        """Name in the table."""
        return self.source.name

    @property
    def published(self) -> float | None:
        """Score of Table 5; None if the source is not in it."""
        return PAPER_SCORES.get(self.name)

    @property
    def scores(self) -> list[float]:
        """The score of each seed: means over the targets."""
        return [float(np.mean(list(values.values()))) for values in self.by_seed.values()]

    @property
    def score(self) -> float | None:
        """Mean over seeds and targets; None without a score."""
        return float(np.mean(self.scores)) if self.by_seed else None

    def of_target(self, target: str) -> float | None:
        """Mean over seeds for one target; None without a score."""
        return float(np.mean([each[target] for each in self.by_seed.values()])) if self.by_seed else None


@dataclass(frozen=True, kw_only=True, slots=True)
class PaperResult:
    """The rows of a study, with their computing time."""

    rows: tuple[PaperRow, ...]
    """The sources in the order of the study."""
    hours: float
    """Computing time of all jobs."""

    @property
    def scored(self) -> dict[str, float]:
        """Scores by source, without sources that have no score."""
        return {row.name: row.score for row in self.rows if row.score is not None}

    def ranks(self) -> dict[str, tuple[float, float]]:
        """Published rank and our rank of each source with both scores; 1 for the lowest score."""
        rows = [row for row in self.rows if row.score is not None and row.published is not None]
        if not rows:
            return {}
        published, here = (
            average_ranks(np.array([getattr(row, name) for row in rows])) for name in ("published", "score")
        )
        return {
            row.name: (float(one), float(other))
            for row, one, other in zip(rows, published, here, strict=True)
        }

    def agreement(self) -> Correlation | None:
        """Correlation of our scores with Table 5; None for fewer than three sources."""
        return _correlation(self.scored, PAPER_SCORES)


def _correlation(scores: Mapping[str, float], others: Mapping[str, float]) -> Correlation | None:
    return correlate(scores, others) if len(scores.keys() & others.keys()) >= MIN_SOURCES else None


@dataclass(frozen=True, kw_only=True, slots=True)
class PaperTables(Benchmark[PaperStudy, PaperResult]):
    """Tables 2, 4 and 5 and figures 2 and 3 of the paper, from the scores of its sources."""

    folder: Path
    """Folder of stored results; the runs of games are in it, too."""
    figure: int = 2
    """Figure of the paper to draw: 2 or 3."""

    @property
    def store(self) -> Path:
        """The folder of stored results."""
        return self.folder

    def plan_groups(self, study: PaperStudy) -> dict[Job, tuple[str, int]]:
        """The source and the seed of each job; the training of a game has the first seed of the study."""
        groups: dict[Job, tuple[str, int]] = {}
        for source in study.sources:
            if source.game is not None:
                groups[source.game.training] = (source.name, study.seeds[0])
            for seed, job in source.jobs:
                groups.setdefault(job, (source.name, seed))
        return groups

    def plan(self, study: PaperStudy) -> list[Job]:
        """The training of each game, and the scores of all sources."""
        return list(self.plan_groups(study))

    def notes_on_plan(self, study: PaperStudy) -> list[str]:
        """Missing sources, and the cost of scores of the paper's size."""
        lines = [f"{source.name}: missing: {source.missing}" for source in study.sources if source.missing]
        if study.preset.is_reduced:
            return lines
        number = sum(not source.missing for source in study.sources) * len(study.seeds)
        sizes = study.preset
        pretraining = sizes.pretrain_tokens * sizes.pretrain_epochs
        tuning = sizes.tune_tokens * sizes.tune_epochs
        part = (pretraining + len(study.texts) * tuning) / (pretraining + len(XFERBENCH_TARGETS) * tuning)
        h100, published = (
            duration_text(60 * number * part * minutes) for minutes in (H100_MINUTES, PUBLISHED_MINUTES)
        )
        lines.append(
            f"{number} scores of {len(study.texts)} targets need a GPU: about {h100} of an H100, or "
            f"{published} of the paper's RTX 2080 Ti, and the games' training"
        )
        return lines

    def seconds_of(self, study: PaperStudy, jobs: Sequence[Job]) -> Mapping[Job, float] | None:
        """Time of games, from a few short runs, and of scores of small models; other jobs are not estimated."""
        if study.device != "cpu" or not study.preset.is_reduced:
            return None
        scores = [job for job in jobs if not isinstance(job.inputs.get("game"), TrainingJob)]
        training = measured_seconds(jobs) if len(scores) < len(jobs) else {}
        if training is None:
            return None
        return {**training, **{job: job.work * TOKENS_PER_UNIT / SMALL_TOKENS_A_SECOND for job in scores}}

    def device(self, study: PaperStudy) -> str:
        """Type of the device on which models and games are trained."""
        return study.device

    def collect(self, study: PaperStudy, results: Mapping[Job, Result]) -> PaperResult:
        """The rows.

        Raises:
            DivergedError: If no source has a score.
        """
        rows = tuple(self._row(study, source, results) for source in study.sources)
        if not any(row.by_seed for row in rows):
            raise DivergedError(next(row.reason for row in rows))
        jobs = self.plan(study)
        return PaperResult(rows=rows, hours=sum(results[job].seconds for job in jobs) / 3600)

    def _row(self, study: PaperStudy, source: PaperSource, results: Mapping[Job, Result]) -> PaperRow:
        if source.missing:
            return PaperRow(source=source, reason=f"missing: {source.missing}")
        if source.transfer is not None:
            try:
                result = metric.collect(source.transfer, results)
            except DivergedError as error:
                return PaperRow(source=source, reason=str(error))
            has_corpus = source.transfer.corpora[study.seeds[0]] is not None
            passes = round(max(1.0, result.pretrained["repeats"]), 2) if has_corpus else None
            return PaperRow(source=source, by_seed=result.by_seed, passes=passes)
        training = None if source.game is None else results[source.game.training]
        scored = {seed: results[job] for seed, job in source.jobs}
        values = {seed: result.value for seed, result in scored.items() if result.failure is None}
        if not values:
            failed = [training, *scored.values()] if training is not None else [*scored.values()]
            return PaperRow(source=source, reason=str(next(filter(None, (each.failure for each in failed)))))
        return PaperRow(
            source=source,
            by_seed={seed: value["by_target"] for seed, value in values.items()},
            passes=next(iter(values.values()))["passes"],
            accuracy=None if training is None else training.value["measures"].get("accuracy"),
        )

    def record(self, study: PaperStudy, finding: PaperResult) -> list[Source]:
        """A source for each row and seed."""
        line = _signature(study)
        return [
            Source(
                name=f"{row.name}, seed {seed}",
                file=self.folder,
                game=row.name,
                group=row.name,
                seed=seed,
                records=(Score(name=TRAITS.name, value=score, signature=line),),
            )
            for row in finding.rows
            for seed, score in zip(row.by_seed, row.scores, strict=True)
        ]

    def report(self, study: PaperStudy, finding: PaperResult) -> Report:
        """The tables, and one of the figures."""
        draw = _draw_scores if self.figure == 2 else _draw_translation
        return Report(
            tables=[
                _score_table(study, finding),
                _target_table(study, finding),
                _translation_table(study, finding),
                _correlation_table(study, finding),
            ],
            notes=tuple(_notes(study, finding)),
            data=_to_json(study, finding),
            draw=lambda file: draw(study, finding, file),
        )


def _signature(study: PaperStudy) -> str:
    is_embedded = not any(isinstance(each, TextFile) for each in study.texts)
    return Signature.of(
        TRAITS.name,
        TRAITS.version,
        preset=study.preset.name,
        protocol=study.protocol,
        targets="embedded" if is_embedded else fingerprint(study.texts),
        seeds=",".join(map(str, study.seeds)),
    )


def _published_intervals() -> dict[str, tuple[float, float] | None]:
    """Intervals of figure 2 by source, computed from Table 5 as the authors' program does."""
    samples = [
        Sample(name=name, by_target=(values,), seeds=(0,), signature="")
        for name, values in PAPER_CROSS_ENTROPIES.items()
    ]
    normalised = normalised_scores(samples)
    assert not isinstance(normalised, str)
    return {each.name: each.program for each in normalised}


def _score_table(study: PaperStudy, finding: PaperResult) -> Table:
    ranks, published = finding.ranks(), _published_intervals()
    columns = [
        name_column("source"),
        number_column("published", ("published", "[95 % CI]"), parts=("low", "high")),
        number_column("published_rank", "rank"),
        number_column("score", ("here", "± 95 % CI")),
        number_column("rank", "rank"),
        number_column("passes"),
        number_column("accuracy", ("game's", "accuracy")),
    ]
    rows = []
    for row in finding.rows:
        one, other = ranks.get(row.name, (None, None))
        score: Cell = nothing("missing" if row.source.missing else "failed")
        if row.by_seed:
            score = estimate(*mean_and_half_width(row.scores), 3)
        rows.append(
            row_of(
                row.name,
                interval(row.published, published.get(row.name), 2),
                number(one, 1),
                score,
                number(other, 1),
                number(row.passes, 1),
                number(row.accuracy, 3),
            )
        )
    return Table(
        columns=columns,
        rows=rows,
        title="Table 5 and figure 2: XferBench, nats per token, lower is better; ranks of the sources with both",
        notes=[_signature(study)],
    )


def _target_table(study: PaperStudy, finding: PaperResult) -> Table:
    targets = [text.name for text in study.texts]
    rows: list[Row] = []
    for row in finding.rows:
        if not row.by_seed:
            continue
        paper = PAPER_CROSS_ENTROPIES.get(row.name, {})
        has_published = any(target in paper for target in targets)
        values = (number(row.of_target(target), 3) for target in targets)
        rows.append(row_of(row.name, *values))
        if has_published:
            printed = (number(paper[target], 2) if target in paper else nothing() for target in targets)
            label = text(row.name, shown="  the paper")
            rows.append(row_of(label, *printed, role="dim", ends_section=True))
    columns = [name_column("source"), *(number_column(target, target) for target in targets)]
    return Table(columns=columns, rows=rows, title="Table 5 by target, means over seeds")


def _translation_table(study: PaperStudy, finding: PaperResult) -> Table:
    settings = [(name, setting) for name, by_setting in study.translation.items() for setting in by_setting]
    columns = [name_column("source"), number_column("score", "XferBench")]
    columns += [number_column(f"{name}_{setting}", (name, setting)) for name, setting in settings]
    rows = [
        row_of(
            row.name,
            number(row.score, 3),
            *(number(study.translation[name][setting].get(row.name), 2) for name, setting in settings),
        )
        for row in finding.rows
        if row.by_seed
    ]
    whose = "translations of --translation" if study.is_translated else "the paper's translations"
    return Table(columns=columns, rows=rows, title=f"Tables 2 and 4, figure 3: XferBench here and {whose}")


def _correlation_table(study: PaperStudy, finding: PaperResult) -> Table:
    columns = [name_column("with"), number_column("sources")]
    columns += [
        number_column(name, (name, "95 % CI"), parts=("low", "high"))
        for name in ("pearson", "kendall", "spearman")
    ]
    columns.append(number_column("printed", ("Pearson,", "the paper")))
    rows = []
    for name, found in _correlations(study, finding).items():
        if found is None:
            continue
        by_name = {each.name.lower().partition(" ")[0]: each for each in found.coefficients}
        cells = [
            interval(by_name[key].value, by_name[key].ci95, 2) for key in ("pearson", "kendall", "spearman")
        ]
        printed = PAPER_CORRELATIONS.get(name.removeprefix("chrF, ")) if name.startswith("chrF") else None
        rows.append(row_of(name, len(found.sources), *cells, number(printed, 2)))
    title = (
        "Correlation of the scores here with Table 5 (agreement: positive) and with translation (negative)"
    )
    return Table(columns=columns, rows=rows, title=title)


def _correlations(study: PaperStudy, finding: PaperResult) -> dict[str, Correlation | None]:
    found = {"Table 5": finding.agreement()}
    for name, by_setting in study.translation.items():
        for setting, scores in by_setting.items():
            found[f"{name}, {setting}"] = _correlation(finding.scored, scores)
    return found


def _notes(study: PaperStudy, finding: PaperResult) -> Iterator[str]:
    seeds = ", ".join(map(str, study.seeds))
    yield (
        f"seeds {seeds} of models and of random sources; ±: Student's interval over seeds, for one corpus per game, "
        "as in the paper; published intervals: over languages, by the authors' program from Table 5"
    )
    if any(len(set(row.scores)) == 1 < len(row.scores) for row in finding.rows):
        yield NO_INTERVAL
    if study.preset.is_reduced:
        yield f"preset {study.preset.name}: {metric.REDUCED}"
    agreement = finding.agreement()
    if agreement is not None and agreement.ci_reason:
        yield f"no intervals of correlations: {agreement.ci_reason}"
    for row in finding.rows:
        if row.reason:
            yield f"{row.name}: {row.reason}"
        elif row.passes is not None and row.passes > 1.02:
            yield f"{row.name}: its corpus is repeated {row.passes:.1f} times per epoch; this alone changes a score"
    yield f"{duration_text(3600 * finding.hours)} of computing"


def _to_json(study: PaperStudy, finding: PaperResult) -> dict[str, Any]:
    ranks = finding.ranks()
    rows = []
    for row in finding.rows:
        one, other = ranks.get(row.name, (None, None))
        rows.append(
            {
                "name": row.name,
                "origin": row.source.origin,
                "published": row.published,
                "published_rank": one,
                "score": row.score,
                "rank": other,
                "passes": row.passes,
                "accuracy": row.accuracy,
                "reason": row.reason or None,
                "by_seed": [
                    {"seed": seed, "value": score, "by_target": dict(values)}
                    for (seed, values), score in zip(row.by_seed.items(), row.scores, strict=True)
                ],
            }
        )
    return {
        "study": {
            "name": study.name,
            "about": study.about,
            "preset": study.preset.name,
            "protocol": study.protocol,
            "seeds": list(study.seeds),
            "targets": [text.name for text in study.texts],
        },
        "signature": _signature(study),
        "rows": rows,
        "correlations": {
            name: None if found is None else asdict(found)
            for name, found in _correlations(study, finding).items()
        },
        "translation": {
            "is_published": not study.is_translated,
            **{
                name: {setting: dict(scores) for setting, scores in by_setting.items()}
                for name, by_setting in study.translation.items()
            },
        },
        "version": __version__,
        "commit": own_commit(),
        "processor": processor(),
        "hours": round(finding.hours, 3),
    }


def _draw_scores(study: PaperStudy, finding: PaperResult, file: Path) -> None:
    """Draw figure 2: published scores in one panel, ours in the other, in the published order."""
    published = _published_intervals()
    rows = sorted(
        (row for row in finding.rows if row.by_seed or row.published is not None),
        key=lambda row: (row.published is None, row.published or 0.0),
    )
    left, right = [], []
    for row in rows:
        low, high = published.get(row.name) or (None, None)
        left.append(Point(row=row.name, value=row.published, low=low, high=high))
        bounds = ends(*mean_and_half_width(row.scores)) if row.by_seed else (None, None)
        right.append(Point(row=row.name, value=row.score, low=bounds[0], high=bounds[1], single=row.scores))
    panels = (
        Panel(points=left, axis="Boldt & Mortensen (2024), nats per token"),
        Panel(points=right, axis=f"here, preset {study.preset.name}, nats per token"),
    )
    title = "XferBench of the paper's sources, published and here; lower is better"
    save(intervals(*panels, title=title), file)


def _draw_translation(study: PaperStudy, finding: PaperResult, file: Path) -> None:
    """Draw figure 3: chrF over XferBench, a panel for each setting, and a mark for each kind of source."""
    kinds = {source.name: source.kind for source in study.sources}
    lines = []
    for setting, scores in study.translation["chrF"].items():
        for kind in dict.fromkeys(kinds.values()):
            names = [name for name in finding.scored if name in scores and kinds[name] == kind]
            lines.append(
                Curve(
                    x=[finding.scored[name] for name in names],
                    y=[scores[name] for name in names],
                    name=kind,
                    panel=setting or "all",
                    is_points=True,
                )
            )
    title = f"chrF of translation and XferBench here, preset {study.preset.name}"
    drawn = curves([line for line in lines if line.x], x="XferBench, nats per token", y="chrF", title=title)
    save(drawn, file)
