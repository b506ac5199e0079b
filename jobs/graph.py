"""Run graphs of jobs: stored results are read, missing ones are computed and stored at once.

If two processes need the same job at the same time, one computes it and the other waits for the result.
"""

import os
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ecsuite.jobs.groups import Event, GroupFolder
from ecsuite.jobs.job import Job, Resources, Result, name_modules
from ecsuite.jobs.launchers import SECONDS_SILENT, Here, Launcher, Workers, num_cores, visible_gpus
from ecsuite.jobs.processes import Local
from ecsuite.jobs.signals import StopRequest, end_as_requested
from ecsuite.jobs.store import Store
from ecsuite.jobs.worker import SECONDS_TO_STOP, USERS_ERRORS
from ecsuite.runtime.errors import DamagedError, DivergedError
from ecsuite.runtime.time_left import duration_text

SECONDS_BETWEEN_LOOKS = 0.3
"""Seconds between checks for requests to stop and for results of other processes."""
NUM_TRIES = 2
"""Maximum attempts of a job whose process died or whose function raised an error that may be transient."""
NUM_LOSSES = 10
"""Maximum attempts of a job whose machine was lost."""
SECONDS_BETWEEN_DESCRIPTIONS = 0.2
"""Seconds between descriptions of the whole progress, whose cost is linear in the number of jobs."""
SECONDS_ASLEEP = 10.0
"""Seconds between two checks above which this process counts as suspended, so that silence of workers is ignored."""


def no_progress(label: str, done: float, total: float) -> None:
    """Show no progress."""


def require_results(results: Mapping[Job, Result]) -> None:
    """Check that at least one job succeeded; otherwise `DivergedError` with the reason of the first failure."""
    failures = [f"{job.label}: {result.failure}" for job, result in results.items() if result.failure]
    if results and len(failures) == len(results):
        raise DivergedError(failures[0])


More = Callable[[Mapping[Job, Result]], Sequence[Job]]
"""Chooses further jobs from the results so far; none while it waits for others, or at the end."""


Describe = Callable[[Mapping[Job, Result], Mapping[Job, str]], str]
"""Describes the progress in a few lines, from the results so far and the reports of running jobs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """Stored results and missing jobs of a graph."""

    kept: Mapping[Job, Result]
    """Jobs whose results are stored and needed."""
    missing: tuple[Job, ...]
    """Jobs to compute, in topological order."""


def make_plan(
    jobs: Iterable[Job], store: Store, *, needs_arrays: bool = False, retries: bool = False
) -> Plan:
    """Find the jobs that must be computed for the results of `jobs`, and their arrays if needed.

    A job whose result is stored needs none of its inputs. With `retries`, failed jobs count as missing.
    """
    kept: dict[Job, Result] = {}
    missing: dict[Job, None] = {}
    has_arrays: set[Job] = set()

    def visit(job: Job, *, needs_arrays: bool) -> None:
        if job in missing or (job in kept and (job in has_arrays or not needs_arrays)):
            return
        result = store.read(job, needs_arrays=needs_arrays)
        if result is not None and not (retries and result.failure is not None):
            kept[job] = result
            if needs_arrays:
                has_arrays.add(job)
            return
        kept.pop(job, None)
        for each in job.after:
            visit(each, needs_arrays=True)
        missing[job] = None

    for job in jobs:
        visit(job, needs_arrays=needs_arrays)
    return Plan(kept=kept, missing=tuple(missing))


def expected_seconds(plan: Plan) -> dict[Job, float] | None:
    """Time of each missing job, from stored results of the same functions; None without such results."""
    work: defaultdict[str, float] = defaultdict(float)
    seconds: defaultdict[str, float] = defaultdict(float)
    for job, result in plan.kept.items():
        work[job.function.path] += job.work
        seconds[job.function.path] += result.seconds
    if not all(work[job.function.path] for job in plan.missing):
        return None
    return {job: job.work * seconds[job.function.path] / work[job.function.path] for job in plan.missing}


def time_left(plan: Plan, num_processes: int) -> str:
    """Expected time of the missing jobs, as text for a note; empty if it is unknown."""
    expected = expected_seconds(plan)
    return "" if expected is None else f", about {duration_text(sum(expected.values()) / num_processes)}"


@dataclass(frozen=True, kw_only=True)
class Runner:
    """Settings of a computation: engine, number of processes, progress and messages."""

    folder: Path | None = None
    """Folder of stored results; None: results are kept only until the end of the run."""
    num_workers: int = 1
    """Maximum number of processes; with 1, and for a single job, this process computes."""
    launcher: Callable[[GroupFolder], Launcher] | None = None
    """Makes the launcher of workers on other machines, such as in Slurm; None: processes of this machine."""
    progress: Callable[[str, float, float], None] = no_progress
    """Called as `progress(label, done, total)`."""
    describe: "Describe | None" = None
    """Makes the label of the progress; None: the labels of the running groups."""
    note: Callable[[str], None] = lambda text: None
    """Receives messages about failed jobs, damaged files, and stored results."""
    should_stop: Callable[[], StopRequest | None] = lambda: None
    """Returns the request to stop, if there is one."""
    retries: bool = False
    """Whether jobs with a stored failure are computed again."""
    seconds_silent: float = SECONDS_SILENT
    """Seconds without a sign of life after which a job in another process counts as hanging, and is ended."""
    announces: bool = False
    """Whether a note before the first job gives the number of jobs and their expected time."""

    def plan(self, jobs: Iterable[Job]) -> Plan:
        """Find the jobs that must be computed; computes none."""
        nowhere = Path(tempfile.gettempdir()) / "ecsuite-without-a-store"
        return make_plan(jobs, Store(self.folder or nowhere), retries=self.retries)

    def run(
        self, jobs: Sequence[Job], *, needs_arrays: bool = False, more: "More | None" = None
    ) -> dict[Job, Result]:
        """Compute jobs and their dependencies.

        Args:
            jobs: The requested jobs.
            needs_arrays: Whether their arrays are requested, too; they stay in the folder, which is then required.
            more: Called repeatedly with all results so far; returns further jobs that depend on them.

        Returns:
            The result of each job, also of the jobs of `more`; the result of a failed job, and of its dependents, has
            the reason.

        Raises:
            ConfigError: If a function rejects its inputs; other errors of inputs are raised, too.
            KeyboardInterrupt: If Ctrl-C stopped the work.
            SystemExit: With code 75, if a scheduler stopped it.
        """
        with ExitStack() as stack:
            folder = self.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
            store = Store(folder, self.note)
            stack.callback(
                store.remove_if_empty, [each for each in (folder, *folder.parents) if not each.exists()]
            )
            plan = make_plan(jobs, store, needs_arrays=needs_arrays, retries=self.retries)
            running = _Running(self, store, plan, more)
            store.remove_leftovers(plan.kept, running.executor.folder.at_work())
            stack.callback(running.close)
            total = len(plan.kept) + len(plan.missing)
            if plan.missing and self.announces:
                processes = min(self.num_workers, len(plan.missing))
                all_jobs = "1 job" if total == 1 else f"{total} jobs"
                workers = "1 process" if processes == 1 else f"{processes} processes"
                what = f"to compute with {workers}{time_left(plan, processes)}"
                if self.launcher is not None:
                    what = "to submit"
                self.note(f"{all_jobs}: {len(plan.kept)} stored in {folder}, {len(plan.missing)} {what}")
            elif plan.kept and plan.missing:
                self.note(f"{len(plan.kept)} of {total} results stored in {folder}")
            running.run()
            results = {job: running.results[job] for job in (*jobs, *running.added)}
            if needs_arrays:
                results |= {job: found for job in jobs if (found := store.read(job, needs_arrays=True))}
            return results


class _Running:
    """The state of a graph that is being computed."""

    def __init__(self, runner: Runner, store: Store, plan: Plan, more: More | None = None) -> None:
        self.runner, self.store = runner, store
        self.more = more
        self.added: dict[Job, None] = {}  # jobs that `more` wanted
        self.results = dict(plan.kept)  # results of finished and failed jobs
        self.waiting = dict.fromkeys(plan.missing)  # jobs that are not started, in the order of the plan
        self.groups: dict[int, list[Job]] = {}  # by number, the jobs of a group that have no result yet
        self.latest: dict[int, Event] = {}  # the last progress of each group
        self.tries: Counter[Job] = Counter()
        self.losses: Counter[Job] = Counter()
        self.alone: set[Job] = set()  # jobs that may have failed for lack of memory
        self.last_signs: dict[int, float] = {}  # by number, when a group that has started gave a sign of life
        self.last_look = time.monotonic()
        self.last_shown = 0.0
        self.opened_folder: int | None = None  # descriptor; None: it is not made yet
        self.num_groups = 0
        self.done, self.total = (
            0.0,
            _work(self.waiting),
        )  # cost of the jobs that were, and are to be, computed
        self.extend()
        uses_gpus = any(job.resources.num_gpus for job in self.waiting)
        self.gpus = visible_gpus() if uses_gpus and runner.launcher is None else ()
        workers = runner.num_workers if more is not None else min(runner.num_workers, len(self.waiting))
        name_modules(self.waiting)
        self.executor: Workers
        if runner.launcher is not None and self.waiting:
            self.executor = Workers(store, self.handle, runner.launcher)
        elif workers > 1:
            self.executor = Workers(store, self.handle, partial(Local, num_workers=workers, gpus=self.gpus))
        else:
            self.executor = Here(store, self.handle, runner.should_stop)

    def run(self) -> None:
        """Compute all jobs."""
        while self.waiting or self.groups:
            request = self.runner.should_stop()
            if request is not None:
                self.stop()
                end_as_requested(request)
            self.start()
            self.require_store()
            if self.waiting or self.groups:
                self.executor.poll(SECONDS_BETWEEN_LOOKS)
                self.end_silent_groups()
            self.extend()

    def extend(self) -> None:
        """Add the further jobs that depend on the results so far."""
        while self.more is not None and (wanted := self.more(self.results)):
            self.added |= dict.fromkeys(wanted)
            plan = make_plan(wanted, self.store, retries=self.runner.retries)
            self.results = {**plan.kept, **self.results}
            running = {job for group in self.groups.values() for job in group}
            for job in plan.missing:
                if job not in self.results and job not in running and job not in self.waiting:
                    self.waiting[job] = None
                    self.total += job.work

    def require_store(self) -> None:
        """Check that the folder of the store was not replaced; otherwise `DamagedError`."""
        folder = self.store.folder
        with suppress(OSError):
            if self.opened_folder is None:
                self.opened_folder = os.open(folder, os.O_RDONLY)
            if os.path.samestat(os.stat(folder), os.fstat(self.opened_folder)):
                return
        if self.opened_folder is not None:  # some systems cannot open folders
            raise DamagedError(
                f"{folder}: this folder of stored results was removed or replaced while jobs ran; the same command "
                "computes the missing results"
            )

    def start(self) -> None:
        """Start groups until all workers are busy."""
        for job in list(self.waiting):  # in topological order
            for each in job.after:
                if each in self.results and self.results[each].failure is not None:
                    del self.waiting[job]
                    self.results[job] = Result(value=None, failure=self.results[each].failure)
                    break
        num_free = self.executor.launcher.num_slots - len(self.groups)
        ready = [job for job in self.waiting if all(each in self.results for each in job.after)]
        beside_others = [job for job in ready if job not in self.alone]
        is_alone = any(job in self.alone for group in self.groups.values() for job in group)
        if is_alone or num_free <= 0 or not ready or (self.groups and not beside_others):
            return
        with self.executor.folder.putting([job.digest for job in ready]) as elsewhere:
            for holder in {elsewhere[job.digest] for job in ready if job.digest in elsewhere}:
                self.store.note(
                    f"{self.store.folder}: {holder}, also computes jobs of this folder; each job is computed only once"
                )
            free = [job for job in beside_others or ready[:1] if job.digest not in elsewhere]
            groups = self.divide(free, num_free)
            while groups and len(self.groups) < self.executor.launcher.num_slots:
                chosen = self.choose(groups)
                groups.remove(chosen)
                if self.fits(chosen[0]):
                    self.submit(chosen)

    def submit(self, jobs: Sequence[Job]) -> None:
        """Submit a group, without jobs whose results another process has stored since planning."""
        group = []
        for job in jobs:
            del self.waiting[job]
            result = self.store.read(job, needs_arrays=True)
            if result is None or (self.runner.retries and result.failure is not None):
                group.append(job)
            else:
                self.results[job] = result
        if group:
            self.num_groups += 1
            self.groups[self.num_groups] = group
            sent = [self.store.send(job) for job in group]
            needed = [job.resources for job in group]
            resources = Resources(
                num_threads=max(each.num_threads for each in needed),
                memory=max(each.memory for each in needed),
                num_gpus=max(each.num_gpus for each in needed),
            )
            self.executor.submit(self.num_groups, sent, resources)

    def fits(self, job: Job) -> bool:
        """Whether a job fits on this machine in addition to the running ones; alone, every job may run."""
        used = [jobs[0].resources for jobs in self.groups.values() if jobs]
        num_threads = job.resources.num_threads + sum(each.num_threads for each in used)
        num_gpus = job.resources.num_gpus + sum(each.num_gpus for each in used)
        if self.runner.launcher is not None:
            return True
        return not used or (
            num_threads <= max(num_cores(), self.executor.launcher.num_slots)
            and num_gpus <= max(1, len(self.gpus))
        )

    def divide(self, jobs: Sequence[Job], num_free: int) -> list[Sequence[Job]]:
        """Divide jobs into groups, each for one worker; jobs that failed before are alone."""
        groups: list[Sequence[Job]] = []
        by_function: dict[str, list[Job]] = {}
        for job in jobs:
            if job.function.grouping is None or self.tries[job]:
                groups.append([job])
            else:
                by_function.setdefault(job.function.path, []).append(job)
        for alike in by_function.values():
            grouping = alike[0].function.grouping
            assert grouping is not None
            groups += grouping(alike, num_free)
        return groups

    def choose(self, groups: Sequence[Sequence[Job]]) -> Sequence[Job]:
        """The group to start next: the shortest, or the longest as soon as all would have to wait for it.

        Groups of functions with `comes_first` precede all others.
        """
        groups = [group for group in groups if group[0].function.comes_first] or groups
        left = _work(self.waiting)
        longest = max(groups, key=_work)
        return (
            longest if _work(longest) * self.executor.launcher.num_slots >= left else min(groups, key=_work)
        )

    def handle(self, event: Event) -> None:
        """Process an event of a group."""
        group = self.groups[event.group]
        self.last_signs[event.group] = time.monotonic()
        if event.kind in ("started", "alive"):
            return
        if event.kind == "queued":
            self.last_signs.pop(event.group, None)
            return
        if event.kind == "progress":
            self.latest[event.group] = event
        elif event.kind == "kept":
            job = next((job for job in group if job.digest == event.text), None)
            result = None if job is None else self.store.read(job)
            if job is None or result is None:
                return  # the store has reported it; the job counts as failed when its group ends
            group.remove(job)
            self.done += job.work
            if result.failure is not None:
                self.runner.note(f"{job.label}: {result.failure}")
            self.results[job] = result
        else:
            del self.groups[event.group]
            self.last_signs.pop(event.group, None)
            self.latest.pop(event.group, None)
            if event.kind == "failed" and event.error in USERS_ERRORS:
                raise USERS_ERRORS[event.error](event.text)
            for job in group:
                self.try_again(job, event)
        self.show()

    def try_again(self, job: Job, event: Event) -> None:
        """Queue a job without a result again, or record its failure."""
        if event.kind == "stopped":
            self.waiting[job] = None
            return
        reason = event.text or "it gave no result"
        if event.kind == "lost" and self.losses[job] < NUM_LOSSES:
            self.losses[job] += 1
            self.runner.note(f"{job.label}: {reason}; computed elsewhere")
            self.waiting[job] = None
            return
        self.tries[job] += 1
        if self.tries[job] < NUM_TRIES:
            is_alone = self.runner.launcher is None and (event.kind == "died" or _lacks_memory(event))
            if is_alone:
                self.alone.add(job)
            self.runner.note(f"{job.label}: {reason}; tried once more{', alone' if is_alone else ''}")
            self.waiting[job] = None
        else:
            self.runner.note(f"{job.label}: {reason}; given up")
            self.results[job] = Result(value=None, failure=reason)

    def end_silent_groups(self) -> None:
        """End groups without a sign of life for too long."""
        now = time.monotonic()
        asleep, self.last_look = now - self.last_look, now
        for number, sign in list(self.last_signs.items()):
            if asleep > SECONDS_ASLEEP:
                self.last_signs[number] = sign + asleep
            elif now - sign > self.runner.seconds_silent:
                duration = duration_text(self.runner.seconds_silent)
                self.executor.cancel(
                    number, f"it hung: no progress and no use of the processor for {duration}"
                )

    def show(self) -> None:
        """Report progress."""
        partial = sum(event.share * _work(self.groups[number]) for number, event in self.latest.items())
        if self.runner.describe is None:
            label = "  ".join(event.text for event in self.latest.values())
        elif time.monotonic() - self.last_shown < SECONDS_BETWEEN_DESCRIPTIONS:
            return
        else:
            self.last_shown = time.monotonic()
            running = [(number, job) for number in self.latest for job in self.groups[number]]
            latest = {job: self.latest[number].text for number, job in running}
            label = self.runner.describe(self.results, latest)
        self.runner.progress(label, min(self.done + partial, self.total), self.total)

    def stop(self) -> None:
        """Ask running groups to stop, and wait for their checkpoints."""
        self.executor.stop()
        end = time.monotonic() + SECONDS_TO_STOP
        while self.groups and time.monotonic() < end:
            self.executor.poll(SECONDS_BETWEEN_LOOKS)

    def close(self) -> None:
        """End the remaining workers."""
        self.executor.close()
        if self.opened_folder is not None:
            os.close(self.opened_folder)


def _work(jobs: Iterable[Job]) -> float:
    return sum(job.work for job in jobs)


def _lacks_memory(event: Event) -> bool:
    # torch raises a RuntimeError if the machine's memory is exhausted, and its own error for a GPU.
    return event.error in ("MemoryError", "OutOfMemoryError") or "can't allocate memory" in event.text
