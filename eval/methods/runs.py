"""Which runs there are: seeds, settings that vary, how each ended, and what became of those that failed."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ecsuite.eval.methods.prose import Paragraph, Sentence, listed
from ecsuite.eval.methods.settings import value_text
from ecsuite.eval.methods.training import seeds_text
from ecsuite.eval.results.sources import UNENDED, Source
from ecsuite.runtime.printable import counted

ENDS = {
    "epochs": "after all epochs",
    "accuracy": "when the accuracy was reached",
    "patience": "when there was no better value any more",
    "minutes": "by the clock",
    "limit": "at a limit of calls or tokens",
    "interrupt": "by a person",
    "preempted": "by a signal",
    "pruned": "by the search, which pruned them",
}
"""How a training ended, in words."""


def runs_paragraph(runs: Sequence[Source], *, done: str = "trained") -> Paragraph:
    """The seeds, the settings that vary, and the ends of runs, which were trained or played."""
    sentences: list[Sentence] = []
    keys = [
        key
        for key in dict.fromkeys(key for run in runs for key in run.settings)
        if len(_values(runs, key)) > 1
    ]
    combinations = list(dict.fromkeys(repr(list(run.settings.items())) for run in runs))
    seeds = sorted({run.seed for run in runs if run.seed is not None})
    if keys:
        varied = [f"{key} ({value_text(_values(runs, key))})" for key in keys]
        text = f"What varies is {listed(varied)}: {counted(len(combinations), 'combination')}"
        sentences.append([f"{text}, {counted(len(runs), 'run')} in all."])
    if seeds:
        is_each = bool(keys) and len(runs) == len(combinations) * len(seeds)
        who = (
            f"It was {done} once,"
            if len(runs) == 1
            else f"Each was {done}"
            if is_each
            else f"Runs were {done}"
        )
        verb = "sets" if len(seeds) == 1 else "set"
        sentences.append([f"{who} with {seeds_text(seeds)}, which {verb} all that is drawn at random."])
    sentences += _ends(runs, {"trained": ("Training", "Trainings")}.get(done, ("The run", "Runs")))
    sentences += _failed(runs)
    return Paragraph(about="runs", sentences=tuple(sentences))


def _values(runs: Sequence[Source], key: str) -> list[Any]:
    values: list[Any] = []
    for run in runs:
        if key in run.settings and run.settings[key] not in values:
            values.append(run.settings[key])
    return values


def _ends(runs: Sequence[Source], words: tuple[str, str]) -> Iterator[Sentence]:
    """How it ended, of runs that did not fail."""
    ended = [run for run in runs if run.failure is None and run.stopped not in (None, UNENDED)]
    counts: dict[str, int] = {}
    for run in ended:
        counts[str(run.stopped)] = counts.get(str(run.stopped), 0) + 1
    parts = [
        f"{ENDS.get(why, why)}{'' if len(counts) == 1 else f' ({number})'}" for why, number in counts.items()
    ]
    if parts:
        yield [f"{words[len(runs) > 1]} ended {listed(parts)}{_steps(ended)}."]


def _steps(runs: Sequence[Source]) -> str:
    steps = [
        end["step"]
        for run in runs
        if isinstance(end := ending(run), Mapping) and isinstance(end.get("step"), int)
    ]
    if not steps:
        return ""
    few, many = min(steps), max(steps)
    return f", at step {few}" if few == many else f", at steps {few} to {many}"


def ending(run: Source) -> Mapping[str, Any]:
    """What the metadata say of the end of a training; empty where they say nothing."""
    found = run.metadata.get("training")
    return found if isinstance(found, Mapping) else {}


def _failed(runs: Sequence[Source]) -> Iterator[Sentence]:
    """Each run that failed, diverged or was capped, by its seed, and how ecsuite treats them."""
    others = [run for run in runs if run.status != "done"]
    if not others:
        if len(runs) > 1:
            yield [f"All {len(runs)} runs ended as set; none failed, and none is left out."]
        return
    whole = len(runs) - len(others)
    yield [f"Of {counted(len(runs), 'run')}, {whole} ended as set."]
    for run in others:
        settings = "".join(f", {key} {value_text([value])}" for key, value in run.settings.items())
        why = run.failure or (f"ended {ENDS.get(str(run.stopped), run.stopped)}" if run.stopped else "")
        why = f": {why}" if why and run.stopped != UNENDED else ""
        yield [f"The run with seed {run.seed}{settings} {_word(run)}{why}."]
    yield ["They are in none of the means over seeds that ecsuite prints, and are told beside these."]


def _word(run: Source) -> str:
    words = {"failed": "failed", "diverged": "diverged", "capped": "was stopped early"}
    return "has not ended" if run.stopped == UNENDED else words[run.status]
