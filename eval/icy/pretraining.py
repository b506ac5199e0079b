"""Schooling: senders and receivers are taught languages apart, before they go on end to end."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from ecsuite.agents.spec import Role
from ecsuite.eval.icy.batches import Run
from ecsuite.eval.icy.budget import BASIS
from ecsuite.eval.icy.channels import Link
from ecsuite.eval.icy.protocol import Protocol
from ecsuite.eval.icy.supervised import teaching
from ecsuite.grammars.geometry import Geometry
from ecsuite.jobs.runner import Workshop


@dataclass(frozen=True, kw_only=True, slots=True)
class Couple:
    """A sender and a receiver that are to go on together."""

    sender: str
    receiver: str
    link: Link
    """Between them."""
    taught_over: Link
    """Over which each is taught before."""

    def by_role(self) -> dict[Role, str]:
        """The models by role."""
        return {"sender": self.sender, "receiver": self.receiver}


@dataclass(frozen=True, kw_only=True, slots=True)
class Schooled:
    """What came of teaching a couple one language with one seed."""

    cap: int | None = None
    """Updates after which each would have been given up; None if neither was taught."""
    outcomes: Mapping[Role, Mapping[str, Any]]
    """What `teach` says of each, weights included."""
    reason: str | None
    """Why they cannot go on; None if they can."""

    def to_json(self) -> dict[str, Any]:
        """Steps, reached and accuracy by role."""
        kept = ("steps", "reached", "accuracy")
        return {role: {key: outcome[key] for key in kept} for role, outcome in self.outcomes.items()}


_Ask = tuple[Role, str, Link, str, int, int]
"""Who, what model, over which channel, what grammar, with which seed, and with which cap."""


def school(
    couples: Sequence[Couple],
    grammars: Sequence[str],
    seeds: Sequence[int],
    *,
    geometry: Geometry,
    protocol: Protocol,
    max_steps: int,
    device: str,
    workshop: Workshop,
) -> dict[tuple[Couple, str, int], Schooled]:
    """Teach all couples all languages: first CONCAT, and then the others as long as that lets them.

    Args:
        couples: Who; an agent that is in several is taught once, unless their caps differ.
        grammars: Languages.
        seeds: Of languages, weights, batches and noise.
        geometry: Of the languages.
        protocol: With the target. `cap_ratio` times the updates that the slower of a couple took for CONCAT are the cap
            of all other grammars.
        max_steps: Updates after which CONCAT is given up.
        device: cpu or cuda.
        workshop: Where it is done.
    """
    outcomes: dict[_Ask, Mapping[str, Any]] = {}

    def ask(couple: Couple, role: Role, grammar: str, seed: int, cap: int) -> _Ask:
        return (role, couple.by_role()[role], couple.taught_over, grammar, seed, cap)

    def teach_all(asked: Sequence[_Ask]) -> None:
        new = list(dict.fromkeys(asked))
        jobs = [
            teaching(
                model=model,
                role=role,
                geometry=geometry,
                runs=[Run(grammar=grammar, seed=seed, cap=cap)],
                protocol=protocol,
                link=link,
                device=device,
                keeps_weights=True,
            )
            for role, model, link, grammar, seed, cap in new
        ]
        outcomes.update({key: result[0] for key, result in zip(new, workshop.run(jobs), strict=True)})

    caps: dict[tuple[Couple, str, int], int] = {}
    teach_all(
        [
            ask(couple, role, BASIS, seed, max_steps)
            for couple, seed in product(couples, seeds)
            for role in couple.by_role()
        ]
    )
    for couple, seed in product(couples, seeds):
        both = [outcomes[ask(couple, role, BASIS, seed, max_steps)] for role in couple.by_role()]
        caps[couple, BASIS, seed] = max_steps
        if all(outcome["reached"] for outcome in both):
            cap = int(protocol.cap_ratio * max(outcome["steps"] for outcome in both))
            caps |= {(couple, grammar, seed): cap for grammar in grammars if grammar != BASIS}
    teach_all(
        [
            ask(couple, role, grammar, seed, cap)
            for (couple, grammar, seed), cap in caps.items()
            if grammar != BASIS
            for role in couple.by_role()
        ]
    )

    found: dict[tuple[Couple, str, int], Schooled] = {}
    for couple, grammar, seed in product(couples, grammars, seeds):
        most = caps.get((couple, grammar, seed))
        if most is None:
            reason: str | None = f"{BASIS} was not learnt to {protocol.target:g} within {max_steps} updates"
            found[couple, grammar, seed] = Schooled(outcomes={}, reason=reason)
            continue
        taught = {role: outcomes[ask(couple, role, grammar, seed, most)] for role in couple.by_role()}
        failed = [
            f"the {role} came to {outcome['accuracy']:.3f} of {protocol.target:g} in {outcome['steps']} updates"
            for role, outcome in taught.items()
            if not outcome["reached"]
        ]
        found[couple, grammar, seed] = Schooled(
            cap=most, outcomes=taught, reason=" and ".join(failed) or None
        )
    return found
