"""What is left out of a result because a job failed.

Gains are paired by seed, so that all backbones need the same seeds. A seed in which the evaluated backbone or the
randomly initialised one failed is left out for all. Another control that failed in a remaining seed is left out
altogether, as its mean over the other seeds would be too favourable to it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from ecsuite.eval.xtreme.sources import RANDOM_INIT
from ecsuite.eval.xtreme.study import Study
from ecsuite.runtime.errors import DivergedError


@dataclass(frozen=True, kw_only=True, slots=True)
class CompletePart:
    """Backbones and seeds of which every job has a result."""

    bodies: tuple[str, ...]
    """The evaluated backbone, then its controls."""
    seeds: tuple[int, ...]
    """In the order of the study."""
    notes: tuple[str, ...]
    """What is left out, and why."""


def complete_part(study: Study, failures: Mapping[tuple[str, int, str, str], str | None]) -> CompletePart:
    """The part of a study that can be reported; `failures` says by the name of each job why it failed.

    Raises:
        DivergedError: If the evaluated backbone has no seed without a failure.
    """
    reasons: dict[tuple[str, int], str] = {}
    for (backbone, seed, _, _), reason in failures.items():
        if reason is not None:
            reasons.setdefault((backbone, seed), reason)
    evaluated, *controls = study.bodies
    seeds, notes = study.seeds, list[str]()
    for backbone in (evaluated, RANDOM_INIT):
        complete = tuple(seed for seed in seeds if (backbone, seed) not in reasons)
        if not complete and backbone == evaluated:
            raise DivergedError(f"{evaluated}, seed {seeds[0]}: {reasons[evaluated, seeds[0]]}")
        if complete:
            notes += [
                f"Seed {seed} is left out, as {backbone} failed in it: {reasons[backbone, seed]}."
                for seed in seeds
                if seed not in complete
            ]
            seeds = complete
    bodies = [evaluated]
    for backbone in controls:
        failed = next((seed for seed in seeds if (backbone, seed) in reasons), None)
        if failed is None:
            bodies.append(backbone)
        else:
            notes.append(
                f"{backbone} is left out, as it failed in seed {failed}: {reasons[backbone, failed]}."
            )
    return CompletePart(bodies=tuple(bodies), seeds=seeds, notes=tuple(notes))
