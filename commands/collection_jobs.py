"""The jobs of scoring a collection for a command: which there are, and the scores from their results."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ecsuite.commands.scoring import Scored, asked_run

if TYPE_CHECKING:
    from ecsuite.eval.collections.members import Member
    from ecsuite.eval.collections.scoring import ScoredMember
    from ecsuite.eval.metrics.score import Options
    from ecsuite.jobs.job import Job


def jobs_of(
    members: "Sequence[Member]", names: Sequence[str], options: "Options", scored: Scored
) -> "list[Job]":
    """The jobs of some metrics, and of XferBench if it is among them.

    Raises:
        CorpusError: If a corpus cannot be read.
    """
    from ecsuite.eval.collections.scoring import plan

    planned = plan(members, names, scored.read, seed=options.seed, selection=scored.selection)
    jobs = [job for of_member in planned.values() for job in of_member.values()]
    if "xferbench" in names:
        from ecsuite.eval.xferbench.jobs import plan as plan_jobs
        from ecsuite.eval.xferbench.metric import study_of

        studies = (study_of(scored.read(member.path), options) for member in members)
        jobs += [job for study in studies for job in plan_jobs(study).values()]
    return jobs


def scores_of(
    members: "Sequence[Member]",
    names: Sequence[str],
    options: "Options",
    scored: Scored,
    *,
    trust_code: bool = False,
) -> "list[ScoredMember]":
    """Score a collection; see `ecsuite.eval.collections.scoring.measure`."""
    from ecsuite.eval.collections.scoring import measure

    runs = [asked_run(member.path, names, trust_code=trust_code) for member in members]
    return measure(members, names, options, scored.read, selection=scored.selection, runs=runs)
