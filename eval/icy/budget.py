"""Protocol `budget`: accuracy on each grammar after as many updates as CONCAT needs (Perkins 2021, appendices G and J).

CONCAT is trained to a target, every other grammar for exactly as many updates with the same seed; then the accuracy is
measured: Tables 16, 17 and 20. Unlike the number of updates to a target, it is defined for every run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ecsuite.agents.spec import Role
from ecsuite.eval.icy.channels import SupervisedChannel
from ecsuite.eval.icy.jobs import Name
from ecsuite.eval.icy.parameter_counts import published_parameters
from ecsuite.eval.icy.protocol import VERSION as PROTOCOL_VERSION
from ecsuite.eval.icy.published import published_accuracies
from ecsuite.eval.icy.resolved import BASIS, Study
from ecsuite.eval.statistics.t_intervals import mean_and_half_width
from ecsuite.grammars.geometry import Geometry
from ecsuite.grammars.icy import VERSION as GRAMMARS_VERSION
from ecsuite.grammars.icy import language, majority_accuracy

VERSION = 1
"""Increased whenever the same runs would give different accuracies than before."""

RUN_KEYS = ("seed", "steps", "reached", "accuracy", "floor", "held_out")
"""What a row says of a run."""

RED_BELOW, GREEN_ABOVE = 0.5, 0.8
"""Limits of the colours in the paper's Table 20."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BudgetCell:
    """One model on one grammar."""

    grammar: str
    runs: tuple[Mapping[str, Any], ...]
    """One per seed: `RUN_KEYS`."""
    mean: float | None
    """Mean accuracy; None if CONCAT reached the target with no seed."""
    half_width: float | None
    """Half-width of the mean's 95 % interval; None for fewer than two runs."""
    floor: float
    """Mean accuracy without learning: of each position's most frequent symbol (sender), or chance level (receiver)."""
    held_out: float | None
    """Mean accuracy on held-out meanings, if any were held out."""

    @property
    def outcome(self) -> Literal["bad", "good", ""]:
        """Red below an accuracy of 0.5, green above 0.8."""
        if self.mean is None:
            return ""
        return "bad" if self.mean < RED_BELOW else "good" if self.mean > GREEN_ABOVE else ""


@dataclass(frozen=True, kw_only=True, slots=True)
class BudgetRow:
    """One model over one channel."""

    model: str
    role: Role
    channel: str
    parameters: int
    """Number of parameters as counted in the paper."""
    seeds: tuple[int, ...]
    steps: float | None
    """CONCAT's mean updates to the target, over the seeds that reached it; None if none did."""
    cells: tuple[BudgetCell, ...]
    """CONCAT first."""
    reason: str | None
    """Why accuracies are missing."""
    signature: str
    """Everything that can change the results."""
    published: Mapping[str, float]
    """The paper's accuracies, if it reports any."""


def collect_budget(study: Study, found: Mapping[Name, Mapping[str, Any]]) -> list[BudgetRow]:
    """A row for each channel and model, ordered by channel, then model, from the jobs that did not fail."""
    grammars = (BASIS, *study.grammars)
    floors = {grammar: floor_of(study, study.role, grammar) for grammar in grammars}
    rows = []
    for link in study.channels:
        for model in study.models:
            runs = {
                grammar: [
                    {key: run[key] for key in RUN_KEYS}
                    for seed in study.seeds
                    if (run := found.get((str(link), model, grammar, seed))) and run["is_trained"]
                ]
                for grammar in grammars
            }
            if runs[BASIS]:
                rows.append(_row(study, link, model, runs, floors))
    return rows


def floor_of(study: Study, role: Role, grammar: str) -> float:
    """Mean accuracy without learning over the seeds of a study: see `BudgetCell`."""
    if role == "receiver":
        return 1 / study.geometry.num_values
    made = (language(grammar, study.geometry, seed) for seed in study.seeds)
    return mean_and_half_width([majority_accuracy(each.messages) for each in made])[0]


def _row(
    study: Study,
    link: SupervisedChannel,
    model: str,
    runs: Mapping[str, Sequence[Mapping[str, Any]]],
    floors: Mapping[str, float],
) -> BudgetRow:
    basis = runs[BASIS]
    reached = [run for run in basis if run["reached"]]
    reason = None
    if len(reached) < len(basis):
        best = max(run["accuracy"] for run in basis if not run["reached"])
        reason = (
            f"CONCAT reached {study.training.target:g} with {len(reached)} of {len(basis)} seeds within "
            f"{study.basis_cap:,} updates (others at most {best:.3f}); only those are measured: raise --max-steps or "
            "lower --target"
        )
    seeds = tuple(run["seed"] for run in basis)
    return BudgetRow(
        model=model,
        role=study.role,
        channel=str(link),
        parameters=published_parameters(model, study.role, study.geometry, study.training.hidden_size),
        seeds=seeds,
        steps=sum(run["steps"] for run in reached) / len(reached) if reached else None,
        cells=tuple(_cell(grammar, each, floors[grammar]) for grammar, each in runs.items()),
        reason=reason,
        signature="|".join(
            [
                f"icy-budget|{study.role}:{model}|{link.signature}|{study.geometry}|grammars:{GRAMMARS_VERSION}",
                f"seeds:{','.join(map(str, seeds))}|max-steps:{study.basis_cap}",
                f"{study.training.signature(study.cap)}|budget:{VERSION}|teaching:{PROTOCOL_VERSION}",
            ]
        ),
        published=(
            published_accuracies(model, study.role, link.channel) if study.geometry == Geometry() else {}
        ),
    )


def _cell(grammar: str, runs: Sequence[Mapping[str, Any]], floor: float) -> BudgetCell:
    held_out = [run["held_out"] for run in runs if run["held_out"] is not None]
    mean = half_width = None
    if runs:
        mean, half_width = mean_and_half_width([run["accuracy"] for run in runs])
    return BudgetCell(
        grammar=grammar,
        runs=tuple(runs),
        mean=mean,
        half_width=half_width,
        floor=floor,
        held_out=sum(held_out) / len(held_out) if held_out else None,
    )
