"""A collection as a benchmark: a sweep whose corpora are given, so that they are only scored."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ecsuite.eval.collections.jobs import is_job, plan_member
from ecsuite.eval.collections.members import Member
from ecsuite.eval.collections.report import FILES, report, table_of
from ecsuite.eval.collections.scoring import Read, ScoredMember
from ecsuite.eval.collections.selection import Selection
from ecsuite.eval.collections.study import CollectionStudy
from ecsuite.eval.metrics.score import Options, Score
from ecsuite.eval.results.files import sources_of
from ecsuite.eval.results.sources import STORE, Source
from ecsuite.eval.studies.benchmark import Benchmark
from ecsuite.eval.views.console import Report
from ecsuite.eval.views.language import examples_of
from ecsuite.eval.views.scorecard import Scorecard, describe, score_corpus
from ecsuite.files.atomic_files import write_atomically
from ecsuite.files.format_numbers import with_format
from ecsuite.jobs.graph import Runner
from ecsuite.jobs.job import Job, Result
from ecsuite.runtime.errors import DivergedError

if TYPE_CHECKING:
    from ecsuite.games.runs import Run


@dataclass(frozen=True, kw_only=True, slots=True)
class Collections(Benchmark[CollectionStudy, list[ScoredMember]]):
    """Corpora by metrics; what is kept is not computed again."""

    read: Read
    """Reads the messages of a path that are scored."""
    selection: Selection = field(default_factory=Selection)
    """What `read` does, which is a part of the keys of jobs."""
    options: Options = field(default_factory=Options)
    """Of XferBench, and of the metrics that are no jobs of their own."""
    runs: Sequence["Run | None"] = ()
    """By corpus, its run, for metrics that ask the agents; none if no metric does."""
    folder: Path | None = None
    """Of the kept results and of `FILES`; None: the command's."""

    @property
    def store(self) -> Path | None:
        """In the folder of the study, if it has one."""
        return None if self.folder is None else self.folder / STORE

    def plan(self, study: CollectionStudy) -> list[Job]:
        """A job for each corpus and metric, and those of XferBench."""
        jobs = [job for of_member in self._jobs(study).values() for job in of_member.values()]
        for name in (name for name in study.metrics if name.partition(",")[0] == "xferbench"):
            from ecsuite.eval.xferbench.metric import jobs_of, own_options

            own = own_options(name)
            for member in study.members:
                jobs += jobs_of(self.read(member.path), self.options, own)
        return jobs

    def _jobs(self, study: CollectionStudy) -> dict[Member, dict[str, Job]]:
        """The jobs of each corpus by metric; one corpus at a time is in memory."""
        return {
            member: plan_member(
                member,
                self.read(member.path),
                [name for name in study.metrics if is_job(name, is_of_run=self._run(index) is not None)],
                seed=study.seed,
                selection=self.selection,
            )
            for index, member in enumerate(study.members)
        }

    def _run(self, index: int) -> "Run | None":
        """The run of a corpus, if its agents are asked."""
        return self.runs[index] if self.runs else None

    def measure(self, study: CollectionStudy, runner: Runner) -> list[ScoredMember]:
        """Score what is not kept; metrics that train models, ask agents or are the user's own one after the other."""
        jobs = self._jobs(study)
        results = runner.run([job for of_member in jobs.values() for job in of_member.values()])
        return self._cards(study, jobs, results, runner)

    def collect(self, study: CollectionStudy, results: Mapping[Job, Result]) -> list[ScoredMember]:
        """A scorecard for each corpus, with the scores in the order of the metrics.

        Raises:
            DivergedError: If a metric fails.
        """
        return self._cards(study, self._jobs(study), results)

    def _cards(
        self,
        study: CollectionStudy,
        jobs: Mapping[Member, Mapping[str, Job]],
        results: Mapping[Job, Result],
        runner: Runner | None = None,
    ) -> list[ScoredMember]:
        scored = []
        for index, member in enumerate(study.members):
            corpus = self.read(member.path)
            found: dict[str, list[Score]] = {}
            for name, job in jobs[member].items():
                try:
                    found[name] = [Score.of_json(each) for each in results[job].checked()]
                except DivergedError as error:
                    raise DivergedError(f"{member.name}: {name}: {error}") from None
            run = self._run(index)
            for name in (name for name in study.metrics if name not in found):
                found[name] = list(score_corpus(corpus, [name], self.options, run=run, runner=runner).scores)
            card = Scorecard(
                corpus=describe(corpus),
                scores=tuple(score for name in study.metrics for score in found[name]),
                samples=examples_of(corpus),
            )
            scored.append(ScoredMember(member=member, card=card))
        return scored

    def record(self, study: CollectionStudy, finding: list[ScoredMember]) -> list[Source]:
        """The corpora with their scores."""
        data = with_format("result", {"corpora": [scored.to_json() for scored in finding]})
        return sources_of((self.folder or Path()) / FILES[0], data)

    def report(self, study: CollectionStudy, finding: list[ScoredMember]) -> Report:
        """A row a corpus; all scores are in `FILES` of the folder, if there is one, which are written."""
        if self.folder is not None:
            write_atomically(self.folder / FILES[1], table_of(finding).csv().encode())
        return report(finding, folder=self.folder)
