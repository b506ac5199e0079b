"""Schooling: senders and receivers are taught languages apart, before they go on end to end."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from ecsuite.agents.spec import Role
from ecsuite.eval.icy.batches import Run
from ecsuite.eval.icy.budget import BASIS
from ecsuite.eval.icy.channels import SupervisedChannel
from ecsuite.eval.icy.protocol import Protocol
from ecsuite.eval.icy.supervised import teaching
from ecsuite.grammars.geometry import Geometry
from ecsuite.jobs.runner import JobRunner


@dataclass(frozen=True, kw_only=True, slots=True)
class SenderReceiverPair:
    """A sender and a receiver that are to go on together."""

    sender: str
    receiver: str
    link: SupervisedChannel
    """Between them."""
    taught_over: SupervisedChannel
    """Over which each is taught before."""

    def by_role(self) -> dict[Role, str]:
        """The models by role."""
        return {"sender": self.sender, "receiver": self.receiver}


@dataclass(frozen=True, kw_only=True, slots=True)
class PretrainedAgents:
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


_Ask = tuple[Role, str, SupervisedChannel, str, int, int]
"""Who, what model, over which channel, what grammar, with which seed, and with which cap."""


def pretrain(
    pairs: Sequence[SenderReceiverPair],
    grammars: Sequence[str],
    seeds: Sequence[int],
    *,
    geometry: Geometry,
    protocol: Protocol,
    max_steps: int,
    device: str,
    runner: JobRunner,
) -> dict[tuple[SenderReceiverPair, str, int], PretrainedAgents]:
    """Teach all couples all languages: first CONCAT, and then the others as long as that lets them.

    Args:
        pairs: Who; an agent that is in several is taught once, unless their caps differ.
        grammars: Languages.
        seeds: Of languages, weights, batches and noise.
        geometry: Of the languages.
        protocol: With the target. `cap_ratio` times the updates that the slower of a couple took for CONCAT are the cap
            of all other grammars.
        max_steps: Updates after which CONCAT is given up.
        device: cpu or cuda.
        runner: Where it is done.
    """
    outcomes: dict[_Ask, Mapping[str, Any]] = {}

    def ask(pair: SenderReceiverPair, role: Role, grammar: str, seed: int, cap: int) -> _Ask:
        return (role, pair.by_role()[role], pair.taught_over, grammar, seed, cap)

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
        outcomes.update({key: result[0] for key, result in zip(new, runner.run(jobs), strict=True)})

    caps: dict[tuple[SenderReceiverPair, str, int], int] = {}
    teach_all(
        [
            ask(pair, role, BASIS, seed, max_steps)
            for pair, seed in product(pairs, seeds)
            for role in pair.by_role()
        ]
    )
    for pair, seed in product(pairs, seeds):
        both = [outcomes[ask(pair, role, BASIS, seed, max_steps)] for role in pair.by_role()]
        caps[pair, BASIS, seed] = max_steps
        if all(outcome["reached"] for outcome in both):
            cap = int(protocol.cap_ratio * max(outcome["steps"] for outcome in both))
            caps |= {(pair, grammar, seed): cap for grammar in grammars if grammar != BASIS}
    teach_all(
        [
            ask(pair, role, grammar, seed, cap)
            for (pair, grammar, seed), cap in caps.items()
            if grammar != BASIS
            for role in pair.by_role()
        ]
    )

    found: dict[tuple[SenderReceiverPair, str, int], PretrainedAgents] = {}
    for pair, grammar, seed in product(pairs, grammars, seeds):
        most = caps.get((pair, grammar, seed))
        if most is None:
            reason: str | None = f"{BASIS} was not learnt to {protocol.target:g} within {max_steps} updates"
            found[pair, grammar, seed] = PretrainedAgents(outcomes={}, reason=reason)
            continue
        taught = {role: outcomes[ask(pair, role, grammar, seed, most)] for role in pair.by_role()}
        failed = [
            f"the {role} came to {outcome['accuracy']:.3f} of {protocol.target:g} in {outcome['steps']} updates"
            for role, outcome in taught.items()
            if not outcome["reached"]
        ]
        found[pair, grammar, seed] = PretrainedAgents(
            cap=most, outcomes=taught, reason=" and ".join(failed) or None
        )
    return found
