"""Protocol `end-to-end`: accuracy in the original language of a pretrained pair after end-to-end training.

A sender and a receiver are pretrained on the same language, each to the target. Then both are trained end to end over a
channel, and their accuracy in the original language is measured: at the end (Perkins 2021, Table 18) and during
training (figure 7).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ecsuite.agents.spec import Role
from ecsuite.eval.icy.budget import floor_of
from ecsuite.eval.icy.channels import SupervisedChannel
from ecsuite.eval.icy.jobs import PAIRS_VERSION, ROLES, Name
from ecsuite.eval.icy.parameter_counts import published_parameters
from ecsuite.eval.icy.protocol import VERSION as PROTOCOL_VERSION
from ecsuite.eval.icy.published import published_pair
from ecsuite.eval.icy.resolved import BASIS, Study
from ecsuite.eval.statistics.t_intervals import mean_and_half_width
from ecsuite.grammars.geometry import Geometry
from ecsuite.grammars.icy import VERSION as GRAMMARS_VERSION

MEASURES = {
    "sender": "the sender's symbols, compared with the original language",
    "receiver": "the receiver's attribute values for messages of the original language",
    "end_to_end": "the receiver's attribute values for the sender's messages, mean of the last updates",
    "greedy": "the receiver's attribute values for the sender's argmax symbols",
}
"""Accuracies at the end, 0 to 1."""

PUBLISHED_STEPS = 10_000
"""Updates end to end in Table 18."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PairCell:
    """One pair on one grammar."""

    grammar: str
    runs: tuple[Mapping[str, Any], ...]
    """Per seed: seed, taught (steps, reached, accuracy by role), reason; if it is None, the values of
    `train_end_to_end`."""
    figures: Mapping[str, tuple[float, float | None] | None]
    """Each of `MEASURES`: mean and half-width of its 95 % interval, over the completed runs; None if there are none."""
    num_masked: int
    """Number of runs left out because an agent did not reach the target in pretraining."""
    floors: Mapping[str, float]
    """Accuracy without learning, of sender and receiver."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PairRow:
    """One pair over one channel."""

    sender: str
    receiver: str
    channel: str
    parameters: Mapping[Role, int]
    """As the paper counts them."""
    seeds: tuple[int, ...]
    max_steps: int
    """Number of end-to-end updates."""
    cells: tuple[PairCell, ...]
    signature: str
    """Everything that can change the results."""
    published: Mapping[str, float]
    """The paper's accuracies after 10,000 updates, of sender or receiver, if it reports any."""


def collect_pairs(study: Study, found: Mapping[Name, Mapping[str, Any]]) -> list[PairRow]:
    """A row for each channel and pair, ordered by channel, then pair, from the jobs that did not fail."""
    floors = {
        grammar: {str(role): floor_of(study, role, grammar) for role in ROLES} for grammar in study.grammars
    }
    rows = []
    for link in study.channels:
        for pair in zip(study.models, study.receivers, strict=True):
            runs = {
                grammar: [
                    _run(study, {kind: found[*name, kind] for kind in (*ROLES, "pair")}, grammar, seed)
                    for seed in study.seeds
                    if (*(name := (str(link), *pair, grammar, seed)), "pair") in found
                ]
                for grammar in study.grammars
            }
            if any(runs.values()):
                rows.append(_row(study, link, *pair, runs, floors))
    return rows


def _run(study: Study, values: Mapping[str, Mapping[str, Any]], grammar: str, seed: int) -> dict[str, Any]:
    """What a row says of a run; a pair is trained end to end only if both agents were pretrained to the target."""
    if not all(values[role]["is_trained"] for role in ROLES):
        reason = f"{BASIS} did not reach accuracy {study.training.target:g} within {study.basis_cap} updates"
        return {"seed": seed, "taught": {}, "reason": reason}
    taught = {role: {key: values[role][key] for key in ("steps", "reached", "accuracy")} for role in ROLES}
    failed = [
        f"{role}: accuracy {run['accuracy']:.3f} of {study.training.target:g} in {run['steps']} updates"
        for role, run in taught.items()
        if not run["reached"]
    ]
    trained = {key: value for key, value in values["pair"].items() if key not in ("is_trained", "seconds")}
    return {"seed": seed, "taught": taught, "reason": " and ".join(failed) or None, **trained}


def _row(
    study: Study,
    link: SupervisedChannel,
    sender: str,
    receiver: str,
    runs: Mapping[str, Sequence[Mapping[str, Any]]],
    floors: Mapping[str, Mapping[str, float]],
) -> PairRow:
    models: dict[Role, str] = {"sender": sender, "receiver": receiver}
    return PairRow(
        sender=sender,
        receiver=receiver,
        channel=str(link),
        parameters={
            role: published_parameters(model, role, study.geometry, study.training.hidden_size)
            for role, model in models.items()
        },
        seeds=study.seeds,
        max_steps=study.max_steps,
        cells=tuple(_cell(grammar, each, floors[grammar]) for grammar, each in runs.items()),
        signature="|".join(
            [
                f"icy-end-to-end|sender:{sender}|receiver:{receiver}|{link.signature}|{study.geometry}",
                f"grammars:{GRAMMARS_VERSION}|seeds:{','.join(map(str, study.seeds))}",
                f"supervised:{study.config.supervised}|max-supervised-steps:{study.basis_cap}",
                f"max-steps:{study.max_steps}|{study.training.signature(study.cap)}",
                f"end-to-end:{PAIRS_VERSION}|teaching:{PROTOCOL_VERSION}",
            ]
        ),
        published=published_pair(sender, receiver, link.channel) if study.geometry == Geometry() else {},
    )


def _cell(grammar: str, runs: Sequence[Mapping[str, Any]], floors: Mapping[str, float]) -> PairCell:
    completed = [run for run in runs if run["reason"] is None]
    return PairCell(
        grammar=grammar,
        runs=tuple(runs),
        figures={
            name: mean_and_half_width([run[name] for run in completed]) if completed else None
            for name in MEASURES
        },
        num_masked=len(runs) - len(completed),
        floors=floors,
    )
