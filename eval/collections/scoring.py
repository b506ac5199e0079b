"""A collection scored: a scorecard for each corpus, from the results of jobs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ecsuite.corpus import Corpus
from ecsuite.eval.collections.jobs import is_job, plan_member
from ecsuite.eval.collections.members import Member
from ecsuite.eval.collections.selection import Selection
from ecsuite.eval.metrics.score import Options, Score
from ecsuite.eval.reports.samples import samples_of
from ecsuite.eval.reports.scorecard import Scorecard, describe, score_corpus
from ecsuite.eval.statistics.counting import row_labels
from ecsuite.jobs.job import Job
from ecsuite.runtime.errors import DivergedError

if TYPE_CHECKING:
    from ecsuite.games.runs import Run

Read = Callable[[Path], Corpus]
"""Reads the messages of a path that are scored."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoredMember:
    """A corpus of a collection with its scores."""

    member: Member
    """The corpus."""
    card: Scorecard
    """Its scores."""

    def to_json(self) -> dict[str, Any]:
        """The scorecard with what is known of the corpus, JSON-ready."""
        return self.card.to_json() | {"member": self.member.to_json()}


def plan(
    members: Sequence[Member], metrics: Sequence[str], read: Read, *, seed: int, selection: Selection
) -> dict[Member, dict[str, Job]]:
    """The jobs of each corpus by metric; one corpus at a time is in memory."""
    return {
        member: plan_member(member, read(member.path), metrics, seed=seed, selection=selection)
        for member in members
    }


def measure(
    members: Sequence[Member],
    metrics: Sequence[str],
    options: Options,
    read: Read,
    *,
    selection: Selection | None = None,
    runs: Sequence["Run | None"] = (),
) -> list[ScoredMember]:
    """Score the corpora of a collection: what is kept is not computed again.

    Args:
        members: The corpora.
        metrics: Names of metrics, in the order of the scores. Those that train models, ask agents or are the user's
            own are no jobs of their own, and computed one after the other.
        options: Of the metrics; its runner computes the jobs.
        read: Reads a corpus.
        selection: What `read` does, which is a part of the keys of jobs; None: the whole file as it is.
        runs: By member, the run of the corpus, for metrics that ask its agents; none if no metric does.

    Raises:
        DivergedError: If a metric fails.
    """
    jobs = plan(members, metrics, read, seed=options.seed, selection=selection or Selection())
    results = options.runner.run([job for of_member in jobs.values() for job in of_member.values()])
    others = [name for name in metrics if not is_job(name)]
    scored = []
    for index, member in enumerate(members):
        corpus = read(member.path)
        found: dict[str, list[Score]] = {}
        for name, job in jobs[member].items():
            try:
                found[name] = [Score.of_json(each) for each in results[job].checked()]
            except DivergedError as error:
                raise DivergedError(f"{member.name}: {name}: {error}") from None
        for name in others:
            card = score_corpus(corpus, [name], options, run=runs[index] if runs else None)
            found[name] = list(card.scores)
        content = corpus.content()
        card = Scorecard(
            corpus=describe(corpus),
            scores=tuple(score for name in metrics for score in found[name]),
            samples=samples_of(corpus, content, row_labels(content)),
        )
        scored.append(ScoredMember(member=member, card=card))
    return scored
