"""The benchmark, and its result as tables, JSON and a figure, with chance level and a baseline without a model."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ecsuite.eval.experiments.benchmark import Benchmark
from ecsuite.eval.metrics.score import Score
from ecsuite.eval.results.sources import Source
from ecsuite.eval.statistics.contingency import Floats
from ecsuite.eval.statistics.estimates import Difference
from ecsuite.eval.views.console import Report
from ecsuite.eval.views.figures.canvas import save
from ecsuite.eval.views.figures.heat_map import heat_map
from ecsuite.eval.views.figures.intervals import Panel, Point, intervals
from ecsuite.eval.xtreme.data import RANDOM_INIT
from ecsuite.eval.xtreme.jobs import plan
from ecsuite.eval.xtreme.presets import PRESETS
from ecsuite.eval.xtreme.result import (
    Gain,
    TransferResult,
    collect,
    gains_over_controls,
    gains_over_reference,
)
from ecsuite.eval.xtreme.scoring.analyses import PUBLISHED
from ecsuite.eval.xtreme.scoring.evaluation import write_submission
from ecsuite.eval.xtreme.scoring.tasks import (
    LANGUAGE_COLUMNS,
    METRIC_TITLES,
    TASKS,
    EnglishVsOthers,
    by_family,
    language_cells,
    mean,
    metric_titles,
    num_languages,
    points,
    sides,
)
from ecsuite.eval.xtreme.study import XtremeStudy
from ecsuite.jobs.job import Job, Result
from ecsuite.tables.cells import INTERVAL, Cell, interval, p_value, text
from ecsuite.tables.table import Column, Table, name_column, number_column, row_of


class Xtreme(Benchmark[XtremeStudy, TransferResult]):
    """Does pretraining on a corpus help with tasks in human languages?"""

    def plan(self, study: XtremeStudy) -> list[Job]:
        """The jobs of the tasks, which depend on all other jobs."""
        return list(plan(study).values())

    def device(self, study: XtremeStudy) -> str:
        """Type of the device of the models."""
        return study.machine.device

    def collect(self, study: XtremeStudy, results: Mapping[Job, Result]) -> TransferResult:
        """The metrics of every backbone, see `result.collect`."""
        return collect(study, results)

    def record(self, study: XtremeStudy, finding: TransferResult) -> list[Source]:
        """A source for each backbone and seed, with a record for each metric of each task and language."""
        return [
            Source(
                name=body,
                file=study.data,
                settings={"preset": finding.preset, "protocol": finding.protocol},
                seed=seed,
                group=body,
                records=tuple(
                    Score(
                        name=metric,
                        value=value,
                        unit={"task": task, "language": language},
                        signature=finding.signature,
                    )
                    for task, by_language in by_task.items()
                    for language, metrics in by_language.items()
                    for metric, value in metrics.items()
                ),
            )
            for body, by_seed in finding.by_body.items()
            for seed, by_task in by_seed.items()
        ]

    def report(self, study: XtremeStudy, finding: TransferResult) -> Report:
        """Gains, tasks and languages, see `report.report`; writes the stored predictions."""
        for task, by_language in finding.predictions.items():
            assert study.predictions is not None
            for language, predicted in by_language.items():
                _, examples = study.examples["test", task, language].read()
                if TASKS[task].kind != "retrieval":
                    examples = examples[: study.preset.max_test]
                labels = TASKS[task].labels(examples)
                write_submission(study.predictions, TASKS[task], language, predicted, labels)
        return report(finding)


GAIN_COLUMNS = (number_column("gain", parts=INTERVAL), Column("conclusion"))
"""The columns of `_gain_cells`."""


def report(result: TransferResult) -> Report:
    """Tables, notes, JSON and picture of a transfer run."""
    over_reference, over_controls = gains_over_reference(result), gains_over_controls(result)
    headline = next((gain for gain in over_reference if gain.overall.source == result.corpus), None)
    return Report(
        tables=[
            _bodies(result, over_reference),
            *([_controls(result, over_controls)] if over_controls else []),
            *([_tasks(result, headline)] if headline and len(result.splits) > 1 else []),
            *([_zero_shot(result)] if result.compares_english else []),
            *(_languages(result, task) for task in result.splits),
        ],
        notes=tuple(_notes(result, headline, over_controls)),
        data={
            **result.to_json(),
            "conclusion": conclusion_line(result, headline),
            "gains_over_random_init": [gain.to_json() for gain in over_reference],
            "gains_of_corpus_over_further_controls": [gain.to_json() for gain in over_controls],
            "published": published_entry(result),
        },
        draw=lambda path: draw(result, path),
    )


def published_entry(result: TransferResult) -> Mapping[str, Any]:
    """The paper's scores and gaps of the model with the protocol, of the tasks that are tested in all their languages.

    Empty for other models, and for reduced presets.
    """
    complete = [task for task, codes in result.languages.items() if set(codes) >= set(TASKS[task].languages)]
    for name, entry in PUBLISHED.items():
        is_model = (
            Path(result.corpus).name in entry.get("models", ()) and result.protocol == entry["protocol"]
        )
        if is_model and complete and not PRESETS[result.preset].is_reduced:
            figures = {
                key: {task: entry[key][task] for task in complete if task in entry[key]}
                for key in ("scores", "gap")
                if key in entry
            }
            average = entry.get("average") if len(complete) == len(TASKS) else None
            return {"name": name, **figures, "average": average}
    return {}


def conclusion_line(result: TransferResult, headline: Gain | None) -> str:
    """One line with the main result: the gain of the corpus over the randomly initialised backbone."""
    if headline is None:
        return f"{result.corpus}: no gain reported: the backbone '{RANDOM_INIT}' was not run."
    overall = headline.overall
    if overall.ci95 is None:
        why = "one seed gives no interval, so noise cannot be excluded"
        return f"{result.corpus} over {RANDOM_INIT}: {overall.mean:+.1f} points; {why}."
    why = ", the interval contains 0" if overall.conclusion == "not significant" else ""
    shown = f"{_with_interval(overall)} points over {_seeds(result)}: {overall.conclusion}{why}"
    return f"{result.corpus} over {RANDOM_INIT}: {shown}."


def _bodies(result: TransferResult, gains: Sequence[Gain]) -> Table:
    """Scores, and gains over the reference, one row per backbone."""
    gain_of = {gain.overall.source: _gain_cells(gain.overall) for gain in gains}
    rows = []
    for backbone in result.bodies:
        scores = result.scores(backbone)
        figures = (*scores.mean(0).tolist(), float(scores.mean()))
        rows.append(
            row_of(backbone, *map(points, figures), *(gain_of.get(backbone, (None, None)) if gains else ()))
        )
    if published := published_entry(result):  # of a published model, which has no controls and so no gains
        known = (published["scores"].get(task) for task in result.splits)
        cells = [points(mean(each) if isinstance(each, list) else each) for each in known]
        label = text(result.corpus, shown="  the paper")
        rows.append(row_of(label, *cells, points(published["average"]), role="dim"))
    columns = [number_column(task, TASKS[task].short_title or TASKS[task].title) for task in result.splits]
    more = (
        (number_column("gain", ("gain over", RANDOM_INIT), parts=INTERVAL), GAIN_COLUMNS[1]) if gains else ()
    )
    title = "Scores and gains" if gains else "Scores"
    return Table(
        columns=(name_column("backbone"), *columns, number_column("all"), *more), rows=rows, title=title
    )


def _controls(result: TransferResult, gains: Sequence[Gain]) -> Table:
    """Gains of the corpus over the other controls, one row per control."""
    rows = []
    for gain in gains:
        difference, conclusion = _gain_cells(gain.overall)
        rows.append(row_of(gain.overall.baseline, difference, p_value(gain.overall.p_holm), conclusion))
    columns = (name_column("control"), GAIN_COLUMNS[0], number_column("p_holm", "p (Holm)"), GAIN_COLUMNS[1])
    return Table(columns=columns, rows=rows, title=f"Gains over further controls: {result.corpus}")


def _tasks(result: TransferResult, headline: Gain) -> Table:
    """Scores of the corpus and of the randomly initialised backbone, one row per task."""
    both = [result.scores(backbone).mean(0) for backbone in (result.corpus, RANDOM_INIT)]
    rows = []
    for index, (task, codes) in enumerate(result.languages.items()):
        gain = headline.by_task[task]
        scores = (points(float(scores[index])) for scores in both)
        languages = num_languages(TASKS[task], codes)
        rows.append(row_of(TASKS[task].title, languages, *scores, *_gain_cells(gain)))
    columns = (
        name_column("task"),
        Column("languages", align="right"),
        number_column(result.corpus),
        number_column(RANDOM_INIT),
    )
    return Table(columns=(*columns, *GAIN_COLUMNS), rows=rows, title="By task")


def _zero_shot(result: TransferResult) -> Table:
    """Scores in English and in other languages, next to chance level and baseline, one row per task."""
    rows, published = [], published_entry(result).get("gap")
    for task in result.splits:
        transfer = result.sides(result.corpus, task)
        figures = [transfer.english, transfer.others, transfer.gap]
        figures += [] if published is None else [published.get(task)]
        for reference in (result.chance, result.baselines):
            tested = result.tested(reference, task)
            level = EnglishVsOthers() if tested is None else sides(task, tested)
            figures += [level.english, level.others]
        rows.append(row_of(TASKS[task].title, METRIC_TITLES[TASKS[task].main[0]], *map(points, figures)))
    references = [(name, side) for name in ("chance", "baseline") for side in ("English", "others")]
    columns = (
        name_column("task"),
        Column("metric"),
        *map(number_column, ("English", "others", "gap")),
        *([] if published is None else [number_column("published_gap", ("gap of", "the paper"))]),
        *(number_column(f"{name}_{side.lower()}", (name, side)) for name, side in references),
    )
    return Table(columns=columns, rows=rows, title=f"Transfer from English: {result.corpus}")


def _languages(result: TransferResult, task: str) -> Table:
    """Scores of one task, one row per language, grouped by family."""
    backbones = [result.corpus, *([RANDOM_INIT] if RANDOM_INIT in result.bodies else [])]
    scores = [result.language_scores(backbone, task).mean(0).tolist() for backbone in backbones]
    gains = [[one - other for one, other in zip(*scores, strict=True)]] if len(scores) > 1 else []
    codes = result.languages[task]
    nothing = [None] * len(codes)
    levels = [result.levels(each, task) or nothing for each in (result.baselines, result.chance)]
    rows = [
        row_of(
            *language_cells(code),
            *(points(figures[codes.index(code)]) for figures in (*scores, *gains, *levels)),
        )
        for code in by_family(codes)
    ]
    names = (*backbones, *(["gain"] if gains else []), "baseline", "chance")
    return Table(
        columns=(*LANGUAGE_COLUMNS, *map(number_column, names)),
        rows=rows,
        title=f"{TASKS[task].title} by language",
    )


def _notes(result: TransferResult, headline: Gain | None, controls: Sequence[Gain]) -> list[str]:
    """Notes for readers of the tables; the last two are the main result and the signature."""
    lines = [f"{result.corpus}: protocol {result.protocol}, preset {result.preset}, {_seeds(result)}."]
    lines += _metrics(result)
    if headline is not None and headline.overall.ci95 is not None:
        lines.append("gain: paired by seed; intervals: Student's t, over seeds.")
    if result.baselines:
        lines.append("baseline: without a model, such as the most frequent tag of each English word.")
    if any(gain.overall.p_holm is not None for gain in controls):
        lines.append(f"p (Holm): of the paired t test, corrected for {len(controls)} controls.")
    if published := published_entry(result):
        lines.append(f"the paper: {published['name']} (Hu et al. 2020, tables 2 and 3).")
    if result.compares_english:
        lines.append("gap: English minus the mean of the others; it is also about 0 at chance level.")
    for task, splits in result.splits.items():
        of_dev = [code for code, split in splits.items() if split == "dev"]
        where = "" if len(of_dev) == len(splits) else f" in {' '.join(of_dev)}"
        lines += [f"{TASKS[task].title}: scored on dev, not on test{where}."] if of_dev else []
    lines += result.notes
    if headline is not None and headline.english is not None and headline.others is not None:
        gains = f"English {_with_interval(headline.english)}, the other languages {_with_interval(headline.others)}"
        lines.append(f"Gain over {RANDOM_INIT}: {gains}.")
    return [*lines, conclusion_line(result, headline), result.signature]


def _metrics(result: TransferResult) -> list[str]:
    """The metrics of the scores; for tagging also the accuracy of tags."""
    titles: dict[str, list[str]] = {}
    for task in result.splits:
        titles.setdefault(metric_titles(task), []).append(TASKS[task].title)
    scores = (f"{metrics} ({', '.join(of_tasks)})" for metrics, of_tasks in titles.items())
    lines = [
        f"Scores: {'; '.join(scores)}.",
        "A task's score is the mean over languages; all is the mean over tasks.",
    ]
    if result.compares_english and any(TASKS[task].kind == "questions" for task in result.splits):
        lines.append("EM and F1: the score is their mean; English, others and gap are EM only.")
    for task in result.splits:
        if TASKS[task].kind == "tagging":
            shares = ((backbone, _tag_accuracy(result, backbone, task)) for backbone in result.bodies)
            shown = ", ".join(f"{backbone} {share:.1f}" for backbone, share in shares if share is not None)
            lines += [f"{TASKS[task].title}: F1 of tag spans; tag accuracy in %: {shown}."] if shown else []
    return lines


def _tag_accuracy(result: TransferResult, backbone: str, task: str) -> float | None:
    """Tag accuracy in per cent, mean over seeds and languages; None if a value is missing."""
    by_task = result.by_body[backbone].values()
    shares = [metrics.get("accuracy") for each in by_task for metrics in each[task].values()]
    return None if None in shares else mean(share for share in shares if share is not None)


def _with_interval(difference: Difference) -> str:
    """A difference with its interval, on one line."""
    bounds = "" if difference.ci95 is None else " [{:+.1f} to {:+.1f}]".format(*difference.ci95)
    return f"{difference.mean:+.1f}{bounds}"


def _seeds(result: TransferResult) -> str:
    numbers = ", ".join(map(str, result.seeds))
    return f"seed {numbers}" if len(result.seeds) == 1 else f"{len(result.seeds)} seeds ({numbers})"


def _gain_cells(difference: Difference) -> tuple[Cell, str]:
    """Gain with its interval, and conclusion."""
    return interval(difference.mean, difference.ci95, 1), difference.conclusion


MOST_ROWS = 12
"""Maximum number of languages in panels with seeds; more languages are drawn as a heat map, which fits a page."""


def draw(result: TransferResult, *paths: Path) -> None:
    """Draw scores: for few languages a panel per task with means and seeds, for many a heat map of means.

    Raises:
        ConfigError: If matplotlib is missing, or a file is not .svg, .pdf or .png.
    """
    title = f"{result.corpus}: XTREME scores by language"
    codes = by_family({code for of_task in result.languages.values() for code in of_task})
    scores = {task: _scores(result, task) for task in result.languages}
    if len(codes) <= MOST_ROWS:
        panels = [
            Panel(points=_points(codes, by_code), axis=f"{TASKS[task].title}, {metric_titles(task)}")
            for task, by_code in scores.items()
        ]
        save(intervals(*panels, title=title), *paths)
        return
    names = {
        (task, name): None for task, by_code in scores.items() for each in by_code.values() for name in each
    }
    means = [
        [float(scores[task][code][name].mean()) if code in scores[task] else None for task, name in names]
        for code in codes
    ]
    rows = [
        ": ".join(filter(None, (language_cells(code)[2], language_cells(code)[1] or code))) for code in codes
    ]
    columns = [f"{TASKS[task].title}: {name}" for task, name in names]
    save(heat_map(means, rows, columns, form=".0f", scale="score", title=title), *paths)


def _scores(result: TransferResult, task: str) -> dict[str, dict[str, Floats]]:
    """Scores of all seeds by language and backbone, then the scores without a model."""
    scores = {backbone: result.language_scores(backbone, task) for backbone in result.bodies}
    for name, reference in (("baseline", result.baselines), ("chance", result.chance)):
        if (levels := result.levels(reference, task)) is not None:
            scores[name] = np.array([levels])
    codes = result.languages[task]
    return {code: {name: each[:, index] for name, each in scores.items()} for index, code in enumerate(codes)}


def _points(codes: list[str], scores: Mapping[str, Mapping[str, Floats]]) -> list[Point]:
    """The points of a task; a row is a language with its script."""
    points = []
    for code in filter(scores.__contains__, codes):
        _, language, family, script = language_cells(code)
        row, group = f"{language}, {script}" if language else code, family or "unknown"
        for name, seeds in scores[code].items():
            mean, is_faint = float(seeds.mean()), name == "chance"
            point = Point(
                row=row, value=mean, single=seeds.tolist(), series=name, group=group, is_faint=is_faint
            )
            points.append(point)
    return points
