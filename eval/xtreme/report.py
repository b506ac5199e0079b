"""The tables of a transfer run: gains first, then tasks and languages, beside chance and a baseline without a model."""

from collections.abc import Iterable, Sequence

from rich.box import SIMPLE_HEAD
from rich.table import Table

from ecsuite.downloads.languages import LANGUAGES
from ecsuite.eval.reports.console import Report
from ecsuite.eval.xtreme.drawing import draw
from ecsuite.eval.xtreme.gains import Estimate, Gain, gains_over_controls, gains_over_reference
from ecsuite.eval.xtreme.result import REFERENCE, ByTask, Sides, TransferResult
from ecsuite.eval.xtreme.scoring.averaging import gap_metric, main_score, mean
from ecsuite.eval.xtreme.scoring.tasks import METRIC_TITLES, SHORT_TITLES, TASKS

MOST_WITH_GAINS = 3
"""Tasks beside whose scores there is room for gains; those of more tasks are a table of their own."""
MAX_NAME = 15
"""Characters of a body's name in the first column of tables; notes have all of it …"""
MAX_HEADING = 10
"""… and above other columns."""
RANDOM = "random\ninit"
"""The random body above narrow columns."""


def report(result: TransferResult) -> Report:
    """All that a run found."""
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
            "verdict": verdict_line(result, headline),
            "gains_over_random_init": [gain.to_json() for gain in over_reference],
            "gains_of_corpus_over_further_controls": [gain.to_json() for gain in over_controls],
        },
        draw=lambda path: draw(result, path),
    )


def verdict_line(result: TransferResult, headline: Gain | None) -> str:
    """The answer: what the corpus has over a body that has learnt nothing."""
    if headline is None:
        return f"{result.corpus}: no gain is told, since the body '{REFERENCE}' was not run."
    overall = headline.overall
    if overall.ci95 is None:
        why = "one seed has no interval, so nobody can tell this from noise"
        return f"{headline.body} over {REFERENCE}: {overall.mean:+.1f} points; {why}."
    why = ", the interval contains 0" if overall.verdict == "within noise" else ""
    told = f"{_told(overall)} points over {_seeds(result)}: {overall.verdict}{why}"
    return f"{headline.body} over {REFERENCE}: {told}."


def _tables_of_bodies(result: TransferResult, gains: Sequence[Gain]) -> list[Table]:
    """A row a body: its scores, and its gain."""
    if not gains:
        return [_bodies("Scores", result, gains, with_scores=True, with_gains=False)]
    if len(result.splits) <= MOST_WITH_GAINS:
        return [_bodies("Scores and gains", result, gains, with_scores=True, with_gains=True)]
    return [
        _bodies("Scores", result, gains, with_scores=True, with_gains=False),
        _bodies("Gains", result, gains, with_scores=False, with_gains=True),
    ]


def _bodies(
    title: str, result: TransferResult, gains: Sequence[Gain], *, with_scores: bool, with_gains: bool
) -> Table:
    gain_of = {gain.body: gain for gain in gains}
    headings = [_heading(task) for task in result.splits] if with_scores else []
    table = _table(title, "body", [*headings, "all"], is_dense=len(headings) >= MOST_WITH_GAINS)
    if with_gains:
        for heading in ("gain", "95 % interval"):
            table.add_column(heading, justify="right", no_wrap=True)
        table.add_column(f"over {REFERENCE}", no_wrap=True)
    for body in result.bodies:
        scores = result.scores(body)
        figures = [_short(score) for score in scores.mean(0)] if with_scores else []
        found = _cells_of(gain_of.get(body)) if with_gains else []
        table.add_row(body, *figures, _short(float(scores.mean())), *found)
    return table


def _controls(gains: Sequence[Gain]) -> Table:
    """A row a further control: what the corpus has over it."""
    table = _table(
        "Gains over further controls", f"{_cut(gains[0].body)} over", ["gain", "95 % interval", "p (Holm)"]
    )
    table.add_column("verdict", no_wrap=True)
    for gain in gains:
        difference, interval, verdict = _cells_of(gain)
        p = "" if gain.p_holm is None else "<0.001" if gain.p_holm < 0.001 else f"{gain.p_holm:.3f}"
        table.add_row(gain.over, difference, interval, p, verdict)
    return table


def _tasks(result: TransferResult, headline: Gain) -> Table:
    """A row a task: the scores of the corpus and of the random body."""
    headings = ["languages", _cut(result.corpus), RANDOM, "gain", "95 % interval"]
    table = _table("By task", "task", headings, is_dense=True)
    table.add_column("verdict", no_wrap=True)
    for place, (task, codes) in enumerate(result.languages.items()):
        found, whole = headline.by_task[task], TASKS[task].languages
        scores = [
            _short(float(result.scores(body)[:, place].mean())) for body in (headline.body, headline.over)
        ]
        table.add_row(
            TASKS[task].title,
            str(len(codes)) if set(codes) >= set(whole) else f"{len(codes)}/{len(whole)}",
            *scores,
            f"{found.mean:+.1f}",
            _interval(found),
            found.verdict,
        )
    return table


def _zero_shot(result: TransferResult) -> Table:
    """A row a task: the corpus in English and elsewhere, beside what needs no model."""
    guesses = ("chance\nEnglish", "chance\nothers", "baseline\nEnglish", "baseline\nothers")
    headings = ["metric", "English", "others", "gap", *guesses]
    table = _table(f"Transfer from English: {result.corpus}", "task", headings, is_dense=True)
    for task in result.splits:
        sides = result.sides(result.corpus, task)
        table.add_row(
            TASKS[task].title,
            METRIC_TITLES[gap_metric(task)],
            *_two(sides),
            _short(sides.gap),
            *_two(result.sides_of(result.chance, task)),
            *_two(result.sides_of(result.baselines, task)),
        )
    return table


def _languages(result: TransferResult, task: str) -> Table:
    """A row a language, related ones beside each other."""
    bodies = {result.corpus: _cut(result.corpus)} | (
        {REFERENCE: RANDOM} if REFERENCE in result.bodies else {}
    )
    scores = [result.language_scores(body, task).mean(0) for body in bodies]
    guesses = [_main_scores(result, by_task, task) for by_task in (result.baselines, result.chance)]
    table = _table(f"{TASKS[task].title} by language", "language", [], is_dense=True)
    for heading in ("family", "script"):
        table.add_column(heading, no_wrap=True)
    gained = ["gain"] if len(bodies) > 1 else []
    for heading in (*bodies.values(), *gained, "baseline", "chance"):
        table.add_column(heading, justify="right", no_wrap=True)
    codes = result.languages[task]
    for place in sorted(range(len(codes)), key=lambda place: (_language(codes[place])[1], codes[place])):
        found = [float(of_body[place]) for of_body in scores]
        table.add_row(
            *_language(codes[place]),
            *map(_short, found),
            *([f"{found[0] - found[1]:+.1f}"] if gained else []),
            *(_short(guess[place] if guess else None) for guess in guesses),
        )
    return table


def _notes(result: TransferResult, headline: Gain | None, controls: Sequence[Gain]) -> list[str]:
    """What a reader of the tables has to know; the answer and the signature last."""
    lines = [f"{result.corpus}: protocol {result.protocol}, preset {result.preset}, {_seeds(result)}."]
    lines += _metrics(result)
    if headline is not None and headline.overall.ci95 is not None:
        lines.append("gain: the same seed of both compared; intervals: Student's, over seeds.")
    if result.baselines:
        lines.append("baseline: no model, such as the most frequent tag of each English word.")
    if any(gain.p_holm is not None for gain in controls):
        lines.append(f"p (Holm): of the paired t test, corrected for {len(controls)} controls.")
    if result.is_zero_shot:
        lines.append("gap: English less the mean of the others. It is about 0 at chance, too.")
    lines += [_which_split(result, task) for task in result.splits if "dev" in result.splits[task].values()]
    lines += result.notes
    if headline is not None and headline.english is not None and headline.others is not None:
        sides = f"English {_told(headline.english)}, the other languages {_told(headline.others)}"
        lines.append(f"Of the gain over {REFERENCE}: {sides}.")
    return [*lines, verdict_line(result, headline), result.signature]


def _metrics(result: TransferResult) -> list[str]:
    """What scores are; for tagging also how many tags are right."""
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
        lines.append("EM and F1: their mean is the score; English, others and gap are EM alone.")
    for task in result.splits:
        if TASKS[task].kind == "tagging":
            shares = ((body, _tag_accuracy(result, body, task)) for body in result.bodies)
            told = ", ".join(f"{body} {share:.1f}" for body, share in shares if share is not None)
            lines += [f"{TASKS[task].title}: F1 of spans of tags; % of tags right: {told}."] if told else []
    return lines


def _tag_accuracy(result: TransferResult, body: str, task: str) -> float | None:
    """The share of right tags in per cent, the mean over seeds and languages; None where it is not known."""
    shares = [
        metrics.get("accuracy")
        for by_task in result.by_body[body].values()
        for metrics in by_task[task].values()
    ]
    return None if None in shares else mean(share for share in shares if share is not None)


def _which_split(result: TransferResult, task: str) -> str:
    """Says where dev stands for test."""
    of_dev = [code for code, split in result.splits[task].items() if split == "dev"]
    where = "" if len(of_dev) == len(result.splits[task]) else f" in {' '.join(of_dev)}"
    return f"{TASKS[task].title}: scored on dev, not on test{where}."


def _told(found: Estimate) -> str:
    """A difference with its interval, on one line."""
    return f"{found.mean:+.1f}" + (f" [{_interval(found)}]" if found.ci95 else "")


def _seeds(result: TransferResult) -> str:
    seeds = result.seeds
    numbers = ", ".join(map(str, seeds))
    return f"seed {numbers}" if len(seeds) == 1 else f"{len(seeds)} seeds ({numbers})"


def _cells_of(gain: Gain | None) -> list[str]:
    """Gain, interval and verdict."""
    if gain is None:
        return ["", "", ""]
    return [f"{gain.overall.mean:+.1f}", _interval(gain.overall), gain.verdict]


def _interval(found: Estimate) -> str:
    return "" if found.ci95 is None else f"{found.ci95[0]:+.1f} to {found.ci95[1]:+.1f}"


def _main_scores(result: TransferResult, by_task: ByTask, task: str) -> list[float] | None:
    """Scores of a guess in the tested languages, in their order."""
    metrics = result.tested(by_task, task)
    return None if metrics is None else [main_score(task, of_one) for of_one in metrics.values()]


def _language(code: str) -> tuple[str, str, str]:
    """Name, family and script, as far as they are known."""
    known = LANGUAGES.get(code)
    return (known.name, known.family, known.script) if known else (code, "", "")


def _two(sides: Sides | None) -> tuple[str, str]:
    return ("", "") if sides is None else (_short(sides.english), _short(sides.others))


def _heading(task: str) -> str:
    return SHORT_TITLES.get(task, TASKS[task].title)


def _short(value: float | None) -> str:
    """At most four characters wide."""
    text = "" if value is None else f"{value:.1f}"
    return "100" if text == "100.0" else text


def _cut(name: str) -> str:
    return name if len(name) <= MAX_HEADING else name[: MAX_HEADING - 1] + "…"


def _table(title: str, first: str, figures: Iterable[str], *, is_dense: bool = False) -> Table:
    """Columns of figures behind one of names."""
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
