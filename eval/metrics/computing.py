"""Compute the metrics of a corpus: per speaker, and in several processes with the same scores as in one.

Threads gain nothing here: most metrics call numpy a thousand times with small arrays, and Python's lock serialises
these calls.
"""

import gc
import math
import multiprocessing
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import lru_cache
from multiprocessing import connection
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from msgspec import structs
from threadpoolctl import ThreadpoolController

from ecsuite.corpus import SPEAKER, Corpus
from ecsuite.eval.counts.counting import (
    concept_labels,
    dense_content,
    meaning_labels,
    message_labels,
    narrow_attributes,
)
from ecsuite.eval.metrics.score import Options, Score
from ecsuite.eval.metrics.traits import Metric
from ecsuite.eval.statistics.cache import corpus_cache
from ecsuite.eval.statistics.chance import Chance
from ecsuite.eval.statistics.contingency import num_labels
from ecsuite.eval.statistics.estimates import clipped, mean_and_half_width, standard_error
from ecsuite.jobs.graph import Runner
from ecsuite.jobs.launchers import num_cores
from ecsuite.jobs.processes import WORKER_ENVIRONMENT, depend_on_parent, environment
from ecsuite.jobs.signals import end_as_requested, ending_at_once

if TYPE_CHECKING:
    from ecsuite.games.runs.run import Run

BY_SPEAKER = "by_speaker"
"""Key in the details of the value of each speaker."""
BY_TARGET = "by_target"
"""Key in the details of parts of the value, such as per target language, which are averaged over speakers too."""
REMARKS = ("warning", "note", "limits")
"""Keys of the details with a sentence on how to read a score."""
NUM_NAMED = 5
"""Maximum number of speakers that a remark names."""
_SHARED = (dense_content, narrow_attributes, message_labels, meaning_labels, concept_labels)
"""Cached results that most metrics need, computed before other processes start, which then inherit them."""
MAX_SYMBOLS = 2_000_000
"""Symbols of a corpus up to which each process may have its own copy; a larger corpus is shared by two at most."""
MAX_PROCESSES = 4
"""Maximum useful number of processes: one metric takes a quarter of the total time."""
SECONDS = 0.2
"""Interval in seconds between checks for a stop request, while other processes compute."""


def compute_parallel(
    metrics: Mapping[str, Metric],
    corpus: Corpus,
    options: Options,
    *,
    run: "Run | None" = None,
    runner: Runner | None = None,
    num_processes: int = 1,
    load: Callable[[str], Metric] | None = None,
    alone: frozenset[str] = frozenset(),
) -> Iterator[list[Score]]:
    """Compute the scores of each metric, in order; progress is reported between metrics.

    Args:
        metrics: By name, the fastest first.
        corpus: The corpus to score.
        options: Options of scoring.
        run: The run whose corpus it is, for metrics that need its agents, which must be in `alone`.
        runner: Runs jobs of metrics, reports progress, and passes on stop requests.
        num_processes: Maximum number of processes, including this one.
        load: A module-level function that returns a metric by name in another process; None: use one process.
        alone: Metrics that only this process computes: metrics that start processes, and users' metrics, which only
            this process may import.

    Raises:
        KeyboardInterrupt, SystemExit: If the runner is asked to stop.
    """
    found: dict[str, list[Score]] = {}
    runner = runner or Runner()

    def look_at_requests(now: str) -> None:
        request = runner.should_stop()
        if request is not None:
            end_as_requested(request)
        runner.progress(now, len(found), len(metrics))

    def compute(name: str) -> list[Score]:
        look_at_requests(name)
        metric, traits = metrics[name], metrics[name].shared
        with ExitStack() as around:
            if not traits.keeps_work:
                around.enter_context(ending_at_once())
                if name not in alone:  # the last bits of sums depend on the number of threads
                    around.enter_context(one_thread.limit(limits=1, user_api="blas"))
            if traits.needs_agents:
                return metric(run, options, runner=runner)
            own = replace(options, run=run) if traits.asks_agents else options
            scored = languages_of(corpus) if traits.of_languages else corpus
            return by_speaker(metric, scored, own, runner=runner)

    one_thread = _libraries(len(sys.modules))
    width, groups = 1, list[tuple[str, ...]]()
    if load is not None and num_processes > 1:
        groups = _groups({name: metric for name, metric in metrics.items() if name not in alone})
        width = min(num_processes, MAX_PROCESSES, len(groups))
        if len(corpus.messages.values) > MAX_SYMBOLS:  # intermediate results take much memory
            width = min(width, 2 if _start_method() == "fork" else 1)
    with corpus_cache(corpus):
        if load is not None and width > 1:
            if len(corpus.messages.values) > MAX_SYMBOLS:  # otherwise each process would compute them
                for make in _SHARED:
                    make(corpus)
            gc.freeze()  # spares every process the garbage collection of imported objects
            helpers = _Helpers(width - 1, load, groups, corpus, options)
            try:
                for name in helpers.work.from_first():
                    found[name] = compute(name)
                    found |= helpers.finished(seconds=0)
                while helpers.connections:
                    look_at_requests("metrics")
                    found |= helpers.finished(seconds=SECONDS)
            finally:
                helpers.close()
                gc.unfreeze()
        for name in metrics:
            if name not in found:  # including metrics of a failed process, which then fail here
                found[name] = compute(name)
            yield found[name]


@lru_cache(maxsize=1)
def _libraries(num_modules: int) -> ThreadpoolController:
    """Controller of the loaded libraries with threads; cached, as the search takes as long as some metrics."""
    return ThreadpoolController()


def _groups(metrics: Mapping[str, Metric]) -> list[tuple[str, ...]]:
    groups: dict[str, tuple[str, ...]] = {}
    for name, metric in metrics.items():
        shares = next((each.shares for each in metric.traits if each.shares), name)
        groups[shares] = (*groups.get(shares, ()), name)
    return list(groups.values())


def num_threads() -> int:
    """Number of threads: the number of cores, or less if `OMP_NUM_THREADS` says so."""
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return min(num_cores(), int(asked)) if asked.isdecimal() and int(asked) else num_cores()


class _Work:
    """Queue of groups of names, shared by processes: one takes from the front (fastest first), others from the end."""

    def __init__(self, context: Any, groups: Sequence[tuple[str, ...]]) -> None:
        self.groups = groups
        self.bounds = context.Array("i", [0, len(groups)])  # range of the groups that are not taken

    def from_first(self) -> Iterator[str]:
        """Take groups from the front, and yield their names."""
        while (place := self._taken(0)) is not None:
            yield from self.groups[place]

    def from_last(self) -> Iterator[str]:
        """Take groups from the end, and yield their names."""
        while (place := self._taken(1)) is not None:
            yield from self.groups[place]

    def _taken(self, end: int) -> int | None:
        """Index of a group taken from an end (0 or 1); None if none is left."""
        with self.bounds:
            first, last = map(int, self.bounds)
            if first == last:
                return None
            self.bounds[end] += -1 if end else 1
            return last - 1 if end else first


class _Helpers:
    """Processes that compute metrics until no name is left."""

    def __init__(
        self,
        number: int,
        load: Callable[[str], Metric],
        groups: Sequence[tuple[str, ...]],
        corpus: Corpus,
        options: Options,
    ) -> None:
        context: Any = multiprocessing.get_context(_start_method())
        self.work = _Work(context, groups)
        self.connections: list[Connection] = []
        self.processes = []
        for _ in range(number):
            ours, theirs = context.Pipe()
            process = context.Process(
                target=_serve, args=(theirs, self.work, load, corpus, options), daemon=True
            )
            with environment(WORKER_ENVIRONMENT):
                process.start()
            theirs.close()  # so that the end of the process closes the connection
            self.connections.append(ours)
            self.processes.append(process)

    def finished(self, seconds: float) -> dict[str, list[Score]]:
        """Scores received so far, by metric; waits up to some seconds for the first."""
        found = {}
        for ready in connection.wait(self.connections, seconds):
            assert isinstance(ready, Connection)
            try:
                name, scores = ready.recv()
                found[name] = scores
            except (EOFError, OSError):  # the process has finished or failed
                self.connections.remove(ready)
        return found

    def close(self) -> None:
        """End the processes."""
        for process in self.processes:
            process.kill()
            process.join()


def _start_method() -> str:
    """Start method of other processes: fork, which copies all that was imported and read, if that is safe.

    It is safe on Linux without torch, whose threads would deadlock the copy.
    """
    return "fork" if sys.platform == "linux" and "torch" not in sys.modules else "spawn"


def _serve(
    connection: Connection,
    work: _Work,
    load: Callable[[str], Metric],
    corpus: Corpus,
    options: Options,
) -> None:
    """Compute metrics and send their scores until no name is left."""
    depend_on_parent()
    one_thread = _libraries(len(sys.modules)).limit(limits=1, user_api="blas")
    with one_thread, corpus_cache(corpus):
        for name in work.from_last():
            try:
                scores = by_speaker(load(name), corpus, options)
            except Exception:
                break  # the parent process computes it again, and fails in the same way
            connection.send((name, scores))
    connection.close()


def languages_of(corpus: Corpus) -> Corpus:
    """Languages over training in the folder of a run's language; the corpus itself without them, or if it is a part.

    Raises:
        DamagedError: If the file was changed.
    """
    from ecsuite.formats import read_corpus
    from ecsuite.formats.directory import BESIDE, CORPUS, LANGUAGES_KEY

    source = Path(str(corpus.metadata.get("source_path", "")))
    source = source / CORPUS if source.is_dir() else source
    file = source.with_name(BESIDE[LANGUAGES_KEY]) if source.name == CORPUS else source
    is_of_run = LANGUAGES_KEY in corpus.metadata and not corpus.metadata.get("where")
    return read_corpus(file) if is_of_run and file != source and file.is_file() else corpus


def speakers_of(corpus: Corpus) -> list[Any]:
    """Speakers of a corpus, sorted by name; empty without the column `speaker`.

    Messages of an unknown speaker belong to none.
    """
    return corpus.values_of(SPEAKER) if SPEAKER in corpus.columns else []


def by_speaker(
    metric: Metric, corpus: Corpus, options: Options, *, runner: Runner | None = None
) -> list[Score]:
    """Scores of a corpus: the mean over its speakers if it has several, unless the metric pools them.

    Each speaker is scored alone. A score is the mean over the speakers for whom it is defined, with Student's 95 %
    interval over speakers. Its chance level is averaged per permutation, see `Chance.average`.
    """
    parts = [corpus] if metric.shared.is_of_all_speakers else parts_of(corpus)
    each = [metric(part, options, runner=runner) for part in parts]
    if len(each) == 1:
        return each[0]
    bounds = {traits.name: traits.bounds for traits in metric.traits}
    labels = meaning_labels(corpus)
    number = None if labels is None else num_labels(labels)
    return [mean_score(speakers_of(corpus), scores, bounds, number) for scores in zip(*each, strict=True)]


def parts_of(corpus: Corpus) -> list[Corpus]:
    """Messages of each speaker if there are several; otherwise the corpus."""
    speakers = speakers_of(corpus)
    return [corpus] if len(speakers) < 2 else [corpus.where(SPEAKER, speaker) for speaker in speakers]


def mean_score(
    speakers: Sequence[Any],
    scores: Sequence[Score],
    bounds: Mapping[str, tuple[float, float] | None],
    num_meanings: int | None,
) -> Score:
    """Average the scores of speakers, of `num_meanings` meanings; the interval is clipped to the range of the score.

    The range is in `bounds` by name or, if it depends on the corpus as for `word_entropy`, in the chance level.
    """
    first = scores[0]
    values = [score.value for score in scores]
    defined = [score for score in scores if score.value is not None]
    details: dict[str, Any] = {BY_SPEAKER: dict(zip(map(str, speakers), values, strict=True))}
    details |= _remarks(speakers, scores)
    signature = f"{_common_signature([score.signature for score in scores])}|speakers:{len(speakers)}"
    if not defined:
        reasons: dict[str, list[Any]] = {}
        for speaker, score in zip(speakers, scores, strict=True):
            reasons.setdefault(str(score.reason), []).append(speaker)
        reason = _joined_remarks(reasons, len(speakers))
        return structs.replace(first, signature=signature, chance=None, reason=reason, details=details)
    if all(BY_TARGET in score.details for score in defined):
        targets = [score.details[BY_TARGET] for score in defined]
        details[BY_TARGET] = {name: fmean(each[name] for each in targets) for name in targets[0]}
    known = [float(score.value) for score in defined if score.value is not None]
    value, half_width = mean_and_half_width(known)
    levels = [score.chance for score in defined]
    chance = Chance.average(levels, known, standard_error(known), len(known) - 1, num_meanings)
    declared = bounds.get(first.name.partition(",")[0]) or (chance.bounds if chance else None)
    low, high = declared or (-math.inf, math.inf)
    return structs.replace(
        first,
        value=value,
        ci95=clipped(value, half_width, low, high),
        chance=chance,
        reason=None,
        signature=signature,
        details=details,
    )


def _remarks(speakers: Sequence[Any], scores: Sequence[Score]) -> dict[str, str]:
    """Merge the remarks on the scores of speakers: once if all have it, otherwise with the speakers' names."""
    remarks: dict[str, str] = {}
    is_defined = any(score.value is not None for score in scores)
    for key in REMARKS:
        said: dict[str, list[Any]] = {}
        for speaker, score in zip(speakers, scores, strict=True):
            if key in score.details:
                said.setdefault(str(score.details[key]), []).append(speaker)
            if key == "warning" and is_defined and score.value is None:
                said.setdefault(f"has no score and is not in the mean: {score.reason}", []).append(speaker)
        if said:
            remarks[key] = _joined_remarks(said, len(speakers))
    return remarks


def _joined_remarks(said: Mapping[str, Sequence[Any]], num_speakers: int) -> str:
    """Join sentences, each with the names of its speakers."""
    return "; ".join(_with_names(sentence, who, num_speakers) for sentence, who in said.items())


def _with_names(sentence: str, who: Sequence[Any], num_speakers: int) -> str:
    """Sentence with the names of its speakers, unless it holds for all."""
    if len(who) == num_speakers:
        return sentence
    named = ", ".join(map(str, who[:NUM_NAMED])) + (
        f" and {len(who) - NUM_NAMED} more" if len(who) > NUM_NAMED else ""
    )
    return f"speaker{'s' if len(who) > 1 else ''} {named}: {sentence}"


def _common_signature(signatures: Sequence[str]) -> str:
    """Merge signatures of speakers: settings that differ, such as numbers of messages, are listed: `n:2x60+300`."""
    if len(set(signatures)) == 1:
        return signatures[0]
    rows = [[part.partition(":") for part in signature.split("|")] for signature in signatures]
    values: dict[str, Counter[str]] = {}
    for row in rows:
        for key, _, value in row:
            values.setdefault(key, Counter())[value] += 1
    return "|".join(f"{key}:{_listed(counts)}" if any(counts) else key for key, counts in values.items())


def _listed(counts: Counter[str]) -> str:
    """List values with the number of speakers of each: `2x60+300`; the value alone if all have the same."""
    if len(counts) == 1:
        return next(iter(counts))
    order = sorted(counts, key=lambda value: (len(value), value))  # numbers in numeric order
    return "+".join(f"{counts[value]}x{value}" if counts[value] > 1 else value for value in order)
