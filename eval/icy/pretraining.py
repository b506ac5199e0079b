"""Pretraining: senders and receivers are trained separately on a language, before end-to-end training."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from ecsuite.agents.spec import Role
from ecsuite.eval.icy.batches import Run
from ecsuite.eval.icy.budget import BASIS
from ecsuite.eval.icy.channels import SupervisedChannel
from ecsuite.eval.icy.protocol import Protocol
from ecsuite.eval.icy.supervised import training_job
from ecsuite.grammars.geometry import Geometry
from ecsuite.jobs.runner import JobRunner


@dataclass(frozen=True, kw_only=True, slots=True)
class SenderReceiverPair:
    """A sender and a receiver that are trained together end to end."""

    sender: str
    receiver: str
    link: SupervisedChannel
    """Channel between them in end-to-end training."""
    pretraining_channel: SupervisedChannel
    """Channel over which each is pretrained."""

    def by_role(self) -> dict[Role, str]:
        """Return the models by role."""
        return {"sender": self.sender, "receiver": self.receiver}


@dataclass(frozen=True, kw_only=True, slots=True)
class PretrainedAgents:
    """Result of pretraining a pair on one language with one seed."""

    cap: int | None = None
    """Maximum number of updates of each agent; None if neither was pretrained."""
    outcomes: Mapping[Role, Mapping[str, Any]]
    """Result of `train_supervised` for each role, weights included."""
    reason: str | None
    """Why the pair is not trained end to end; None if it is."""

    def to_json(self) -> dict[str, Any]:
        """Return steps, reached and accuracy by role."""
        kept = ("steps", "reached", "accuracy")
        return {role: {key: outcome[key] for key in kept} for role, outcome in self.outcomes.items()}


_Request = tuple[Role, str, SupervisedChannel, str, int, int]
"""Role, model, channel, grammar, seed, cap."""


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
    """Pretrain all pairs on all languages: first on CONCAT, whose updates determine the caps of the other grammars.

    Args:
        pairs: Senders and receivers; an agent of several pairs is trained once, unless their caps differ.
        grammars: Grammars to train on.
        seeds: Seeds of languages, weights, batches and noise.
        geometry: Sizes of the languages.
        protocol: Training protocol with the target. The cap of all grammars but CONCAT is `cap_ratio` times the updates
            that the slower agent of a pair needed for CONCAT.
        max_steps: Maximum number of updates on CONCAT.
        device: cpu or cuda.
        runner: Runs the jobs.
    """
    outcomes: dict[_Request, Mapping[str, Any]] = {}

    def request(pair: SenderReceiverPair, role: Role, grammar: str, seed: int, cap: int) -> _Request:
        return (role, pair.by_role()[role], pair.pretraining_channel, grammar, seed, cap)

    def run_jobs(requests: Sequence[_Request]) -> None:
        new = list(dict.fromkeys(requests))
        jobs = [
            training_job(
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
    run_jobs(
        [
            request(pair, role, BASIS, seed, max_steps)
            for pair, seed in product(pairs, seeds)
            for role in pair.by_role()
        ]
    )
    for pair, seed in product(pairs, seeds):
        both = [outcomes[request(pair, role, BASIS, seed, max_steps)] for role in pair.by_role()]
        caps[pair, BASIS, seed] = max_steps
        if all(outcome["reached"] for outcome in both):
            cap = int(protocol.cap_ratio * max(outcome["steps"] for outcome in both))
            caps |= {(pair, grammar, seed): cap for grammar in grammars if grammar != BASIS}
    run_jobs(
        [
            request(pair, role, grammar, seed, cap)
            for (pair, grammar, seed), cap in caps.items()
            if grammar != BASIS
            for role in pair.by_role()
        ]
    )

    found: dict[tuple[SenderReceiverPair, str, int], PretrainedAgents] = {}
    for pair, grammar, seed in product(pairs, grammars, seeds):
        limit = caps.get((pair, grammar, seed))
        if limit is None:
            reason: str | None = (
                f"{BASIS} did not reach accuracy {protocol.target:g} within {max_steps} updates"
            )
            found[pair, grammar, seed] = PretrainedAgents(outcomes={}, reason=reason)
            continue
        trained = {role: outcomes[request(pair, role, grammar, seed, limit)] for role in pair.by_role()}
        failed = [
            f"{role}: accuracy {outcome['accuracy']:.3f} of {protocol.target:g} in {outcome['steps']} updates"
            for role, outcome in trained.items()
            if not outcome["reached"]
        ]
        found[pair, grammar, seed] = PretrainedAgents(
            cap=limit, outcomes=trained, reason=" and ".join(failed) or None
        )
    return found
