"""Tables of a transfer run: gains, tasks and languages, beside chance level and a baseline without a model."""

from collections.abc import Iterable, Sequence

from rich.box import SIMPLE_HEAD
from rich.table import Table

from ecsuite.downloads.languages import LANGUAGES
from ecsuite.eval.reports.console import Report
from ecsuite.eval.xtreme.drawing import draw
from ecsuite.eval.xtreme.gains import Estimate, Gain, gains_over_controls, gains_over_reference
from ecsuite.eval.xtreme.result import REFERENCE, TransferResult
from ecsuite.eval.xtreme.scoring.tasks import METRIC_TITLES, TASKS, ByTask, Sides, main_score, mean, sides

MOST_WITH_GAINS = 3
"""Most tasks whose scores share a table with gains; with more tasks there are two tables."""
MAX_NAME = 15
"""Most characters of a backbone's name in the first column; notes show the full name."""
MAX_HEADING = 10
"""Most characters of a backbone's name in a heading."""
RANDOM = "random\ninit"
"""Heading of the randomly initialised backbone in narrow columns."""


def report(result: TransferResult) -> Report:
    """Tables, notes, JSON and picture of a transfer run."""
    over_reference, over_controls = gains_over_reference(result), gains_over_controls(result)
    headline = next((gain for gain in over_reference if gain.body == result.corpus), None)
    return Report(
        tables=[
            *_tables_of_bodies(result, over_reference),
            *([_controls(over_controls)] if over_controls else []),
            *([_tasks(result, headline)] if headline and len(result.splits) > 1 else []),
            *([_zero_shot(result)] if result.is_zero_shot else []),
            *(_languages(result, task) for task in result.splits),
        ],
        notes=tuple(_notes(result, headline, over_controls)),
        data={
            **result.to_json(),
            "conclusion": conclusion_line(result, headline),
            "gains_over_random_init": [gain.to_json() for gain in over_reference],
            "gains_of_corpus_over_further_controls": [gain.to_json() for gain in over_controls],
        },
        draw=lambda path: draw(result, path),
    )


def conclusion_line(result: TransferResult, headline: Gain | None) -> str:
    """One line with the main result: the gain of the corpus over the randomly initialised backbone."""
    if headline is None:
        return f"{result.corpus}: no gain reported: the backbone '{REFERENCE}' was not run."
    overall = headline.overall
    if overall.ci95 is None:
        why = "one seed gives no interval, so noise cannot be excluded"
        return f"{headline.body} over {REFERENCE}: {overall.mean:+.1f} points; {why}."
    why = ", the interval contains 0" if overall.conclusion == "within noise" else ""
    shown = f"{_with_interval(overall)} points over {_seeds(result)}: {overall.conclusion}{why}"
    return f"{headline.body} over {REFERENCE}: {shown}."


def _tables_of_bodies(result: TransferResult, gains: Sequence[Gain]) -> list[Table]:
    """Scores and gains, one row per backbone."""
    if gains and len(result.splits) <= MOST_WITH_GAINS:
        return [_bodies("Scores and gains", result, gains)]
    scores = _bodies("Scores", result, ())
    return [scores, _bodies("Gains", result, gains, with_scores=False)] if gains else [scores]


def _bodies(title: str, result: TransferResult, gains: Sequence[Gain], *, with_scores: bool = True) -> Table:
    gain_of = {gain.body: gain for gain in gains}
    headings = [_heading(task) for task in result.splits] if with_scores else []
    table = _table(title, "backbone", [*headings, "all"], is_dense=len(headings) >= MOST_WITH_GAINS)
    if gains:
        for heading in ("gain", "95 % interval"):
            table.add_column(heading, justify="right", no_wrap=True)
        table.add_column(f"over {REFERENCE}", no_wrap=True)
    for backbone in result.bodies:
        scores = result.scores(backbone)
        figures = [_short(score) for score in scores.mean(0)] if with_scores else []
        estimates = _cells_of(gain_of.get(backbone)) if gains else []
        table.add_row(backbone, *figures, _short(float(scores.mean())), *estimates)
    return table


def _controls(gains: Sequence[Gain]) -> Table:
    """Gains of the corpus over the other controls, one row per control."""
    table = _table(
        "Gains over further controls", f"{_cut(gains[0].body)} over", ["gain", "95 % interval", "p (Holm)"]
    )
    table.add_column("conclusion", no_wrap=True)
    for gain in gains:
        difference, interval, conclusion = _cells_of(gain)
        p = "" if gain.p_holm is None else "<0.001" if gain.p_holm < 0.001 else f"{gain.p_holm:.3f}"
        table.add_row(gain.over, difference, interval, p, conclusion)
    return table


def _tasks(result: TransferResult, headline: Gain) -> Table:
    """Scores of the corpus and of the randomly initialised backbone, one row per task."""
    headings = ["languages", _cut(result.corpus), RANDOM, "gain", "95 % interval"]
    table = _table("By task", "task", headings, is_dense=True)
    table.add_column("conclusion", no_wrap=True)
    for index, (task, codes) in enumerate(result.languages.items()):
        estimates, all_codes = headline.by_task[task], TASKS[task].languages
        scores = (result.scores(each)[:, index].mean() for each in (headline.body, headline.over))
        table.add_row(
            TASKS[task].title,
            str(len(codes)) if set(codes) >= set(all_codes) else f"{len(codes)}/{len(all_codes)}",
            *(_short(float(score)) for score in scores),
            f"{estimates.mean:+.1f}",
            _interval(estimates),
            estimates.conclusion,
        )
    return table


def _zero_shot(result: TransferResult) -> Table:
    """Scores in English and in other languages, beside chance level and baseline, one row per task."""
    references = ("chance\nEnglish", "chance\nothers", "baseline\nEnglish", "baseline\nothers")
    headings = ["metric", "English", "others", "gap", *references]
    table = _table(f"Transfer from English: {result.corpus}", "task", headings, is_dense=True)
    for task in result.splits:
        transfer = result.sides(result.corpus, task)
        table.add_row(
            TASKS[task].title,
            METRIC_TITLES[TASKS[task].main[0]],
            *_both_sides(transfer),
            _short(transfer.gap),
            *_reference_sides(result, result.chance, task),
            *_reference_sides(result, result.baselines, task),
        )
    return table


def _languages(result: TransferResult, task: str) -> Table:
    """Scores of one task, one row per language, grouped by family."""
    backbones = {result.corpus: _cut(result.corpus)} | (
        {REFERENCE: RANDOM} if REFERENCE in result.bodies else {}
    )
    scores = [result.language_scores(backbone, task).mean(0) for backbone in backbones]
    references = [_main_scores(result, by_task, task) for by_task in (result.baselines, result.chance)]
    table = _table(f"{TASKS[task].title} by language", "language", [], is_dense=True)
    for heading in ("family", "script"):
        table.add_column(heading, no_wrap=True)
    gain_heading = ["gain"] if len(backbones) > 1 else []
    for heading in (*backbones.values(), *gain_heading, "baseline", "chance"):
        table.add_column(heading, justify="right", no_wrap=True)
    codes = result.languages[task]
    for index in sorted(range(len(codes)), key=lambda index: (_language(codes[index])[1], codes[index])):
        estimates = [float(of_body[index]) for of_body in scores]
        table.add_row(
            *_language(codes[index]),
            *map(_short, estimates),
            *([f"{estimates[0] - estimates[1]:+.1f}"] if gain_heading else []),
            *(_short(reference[index] if reference else None) for reference in references),
        )
    return table


def _notes(result: TransferResult, headline: Gain | None, controls: Sequence[Gain]) -> list[str]:
    """Notes for readers of the tables; the last two are the main result and the signature."""
    lines = [f"{result.corpus}: protocol {result.protocol}, preset {result.preset}, {_seeds(result)}."]
    lines += _metrics(result)
    if headline is not None and headline.overall.ci95 is not None:
        lines.append("gain: paired by seed; intervals: Student's t, over seeds.")
    if result.baselines:
        lines.append("baseline: without a model, such as the most frequent tag of each English word.")
    if any(gain.p_holm is not None for gain in controls):
        lines.append(f"p (Holm): of the paired t test, corrected for {len(controls)} controls.")
    if result.is_zero_shot:
        lines.append("gap: English minus the mean of the others; it is also about 0 at chance level.")
    lines += [_which_split(result, task) for task in result.splits if "dev" in result.splits[task].values()]
    lines += result.notes
    if headline is not None and headline.english is not None and headline.others is not None:
        sides = f"English {_with_interval(headline.english)}, the other languages {_with_interval(headline.others)}"
        lines.append(f"Gain over {REFERENCE}: {sides}.")
    return [*lines, conclusion_line(result, headline), result.signature]


def _metrics(result: TransferResult) -> list[str]:
    """The metrics of the scores; for tagging also the accuracy of tags."""
    titles: dict[tuple[str, ...], list[str]] = {}
    for task in result.splits:
        titles.setdefault(TASKS[task].main, []).append(TASKS[task].title)
    each = (
        f"{' and '.join(METRIC_TITLES[metric] for metric in main)} ({', '.join(of_tasks)})"
        for main, of_tasks in titles.items()
    )
    lines = [
        f"Scores: {'; '.join(each)}.",
        "A task's score is the mean over languages; all is the mean over tasks.",
    ]
    if result.is_zero_shot and any(TASKS[task].kind == "questions" for task in result.splits):
        lines.append("EM and F1: the score is their mean; English, others and gap are EM only.")
    for task in result.splits:
        if TASKS[task].kind == "tagging":
            shares = ((backbone, _tag_accuracy(result, backbone, task)) for backbone in result.bodies)
            shown = ", ".join(f"{backbone} {share:.1f}" for backbone, share in shares if share is not None)
            lines += [f"{TASKS[task].title}: F1 of tag spans; tag accuracy in %: {shown}."] if shown else []
    return lines


def _tag_accuracy(result: TransferResult, backbone: str, task: str) -> float | None:
    """Tag accuracy in per cent, mean over seeds and languages; None if it is unknown."""
    shares = [
        metrics.get("accuracy")
        for by_task in result.by_body[backbone].values()
        for metrics in by_task[task].values()
    ]
    return None if None in shares else mean(share for share in shares if share is not None)


def _which_split(result: TransferResult, task: str) -> str:
    """Note on languages scored on dev instead of test."""
    of_dev = [code for code, split in result.splits[task].items() if split == "dev"]
    where = "" if len(of_dev) == len(result.splits[task]) else f" in {' '.join(of_dev)}"
    return f"{TASKS[task].title}: scored on dev, not on test{where}."


def _with_interval(estimates: Estimate) -> str:
    """A difference with its interval, on one line."""
    return f"{estimates.mean:+.1f}" + (f" [{_interval(estimates)}]" if estimates.ci95 else "")


def _seeds(result: TransferResult) -> str:
    seeds = result.seeds
    numbers = ", ".join(map(str, seeds))
    return f"seed {numbers}" if len(seeds) == 1 else f"{len(seeds)} seeds ({numbers})"


def _cells_of(gain: Gain | None) -> list[str]:
    """Gain, interval and conclusion as table cells."""
    if gain is None:
        return ["", "", ""]
    return [f"{gain.overall.mean:+.1f}", _interval(gain.overall), gain.conclusion]


def _interval(estimates: Estimate) -> str:
    return "" if estimates.ci95 is None else f"{estimates.ci95[0]:+.1f} to {estimates.ci95[1]:+.1f}"


def _main_scores(result: TransferResult, by_task: ByTask, task: str) -> list[float] | None:
    """Scores of the baseline or of chance level in the test languages, in their order."""
    metrics = result.tested(by_task, task)
    return None if metrics is None else [main_score(task, of_one) for of_one in metrics.values()]


def _language(code: str) -> tuple[str, str, str]:
    """Name, family and script; the code and empty strings if unknown."""
    known = LANGUAGES.get(code)
    return (known.name, known.family, known.script) if known else (code, "", "")


def _both_sides(both: Sides) -> tuple[str, str]:
    return _short(both.english), _short(both.others)


def _reference_sides(result: TransferResult, by_task: ByTask, task: str) -> tuple[str, str]:
    """Scores of the baseline or of chance level in English and the other languages; empty if one is missing."""
    metrics = result.tested(by_task, task)
    return ("", "") if metrics is None else _both_sides(sides(task, metrics))


def _heading(task: str) -> str:
    return TASKS[task].short_title or TASKS[task].title


def _short(value: float | None) -> str:
    """Format a score in at most four characters."""
    text = "" if value is None else f"{value:.1f}"
    return "100" if text == "100.0" else text


def _cut(name: str) -> str:
    return name if len(name) <= MAX_HEADING else name[: MAX_HEADING - 1] + "…"


def _table(title: str, first: str, figures: Iterable[str], *, is_dense: bool = False) -> Table:
    """A table with one column of names and columns of figures."""
    table = Table(
        title=f"\n{title}",
        title_justify="left",
        title_style="bold",
        box=SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, 0 if is_dense else 1, 0, 0),
    )
    table.add_column(first, no_wrap=True, overflow="ellipsis", max_width=MAX_NAME)
    for heading in figures:
        table.add_column(heading, justify="right", no_wrap=True, min_width=4)
    return table
