"""Rows: updates of each model to learn each grammar, relative to CONCAT (Perkins 2021, Tables 3-6, 12-15, 19)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ecsuite.agents.spec import Role
from ecsuite.eval.icy.jobs import Name
from ecsuite.eval.icy.parameter_counts import published_parameters
from ecsuite.eval.icy.published import published_ratios
from ecsuite.eval.icy.resolved import BASIS, Study
from ecsuite.eval.statistics.t_intervals import mean_and_half_width
from ecsuite.grammars.geometry import Geometry
from ecsuite.runtime.errors import ConfigError

RUN_KEYS = ("grammar", "seed", "steps", "reached", "is_early", "accuracy", "floor", "held_out", "seconds")
"""What a row says of a run."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """One model on one grammar."""

    grammar: str
    runs: tuple[Mapping[str, Any], ...]
    """One per seed: `RUN_KEYS` and ratio."""
    mean: float | None
    """Mean ratio; stopped runs count with their ratio when stopped, so that the mean is a lower bound. None if there
    is no run."""
    half_width: float | None
    """Half-width of the mean's 95 % interval; None for one seed, or if any run was stopped."""
    num_censored: int
    """Number of runs that were stopped before reaching the target."""

    @property
    def is_early(self) -> bool:
        """Whether any run was stopped before the cap."""
        return any(run["is_early"] for run in self.runs)


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One model."""

    model: str
    role: Role
    parameters: int
    """Number of parameters as counted in the paper."""
    seeds: tuple[int, ...]
    concat_steps: Mapping[str, Any]
    """mean, half_width, runs."""
    cells: tuple[Cell, ...]
    signature: str
    """Everything that can change the results."""
    published: Mapping[str, tuple[float, float]]
    """The paper's means and half-widths, if it reports any."""


def collect_rows(study: Study, found: Mapping[Name, Mapping[str, Any]]) -> list[Row]:
    """A row for each model of which CONCAT was learnt with some seed, from the jobs that did not fail.

    Raises:
        ConfigError: If a model does not reach the target on CONCAT.
    """
    (link,) = map(str, study.channels)
    rows = []
    for model in study.models:
        runs = {
            grammar: [found[name] for seed in study.seeds if (name := (link, model, grammar, seed)) in found]
            for grammar in (BASIS, *study.grammars)
        }
        for run in runs[BASIS]:
            if not run["reached"]:
                raise ConfigError(
                    f"{model} does not reach accuracy {study.training.target:g} on CONCAT in {study.basis_cap:,} "
                    f"updates (seed {run['seed']}): lower --target or raise --hidden-size"
                )
        if runs[BASIS]:
            rows.append(_row(study, model, runs))
    return rows


def _row(study: Study, model: str, runs: Mapping[str, Sequence[Mapping[str, Any]]]) -> Row:
    is_paper = study.training.name == "paper"
    basis = [{key: run[key] for key in RUN_KEYS} for run in runs[BASIS]]
    steps = {run["seed"]: run["steps"] for run in basis}
    mean, half_width = mean_and_half_width(list(steps.values()), published=is_paper)
    # The paper's figures are shown only if both measure the same.
    settings = (study.geometry, study.role, study.training.hidden_size, study.training.target)
    is_standard = settings == (Geometry(), "sender", 128, 0.8)
    return Row(
        model=model,
        role=study.role,
        parameters=published_parameters(model, study.role, study.geometry, study.training.hidden_size),
        seeds=tuple(steps),
        concat_steps={"mean": mean, "half_width": half_width, "runs": basis},
        cells=tuple(_cell(grammar, runs[grammar], steps, is_paper=is_paper) for grammar in study.grammars),
        signature=(
            f"icy|{study.role}:{model}|{study.geometry}|seeds:{','.join(map(str, steps))}|"
            f"{study.training.signature(study.cap)}"
        ),
        published=published_ratios(model, study.config.published) if is_standard else {},
    )


def _cell(
    grammar: str, outcomes: Sequence[Mapping[str, Any]], steps: Mapping[int, int], *, is_paper: bool
) -> Cell:
    runs = []
    for outcome in outcomes:
        # The published program rounds each ratio before averaging, and may divide by 0 steps (a check at update 0).
        ratio = outcome["steps"] / max(1, steps[outcome["seed"]])
        kept = {key: outcome[key] for key in RUN_KEYS}
        runs.append({**kept, "ratio": round(ratio, 1) if is_paper else ratio})
    mean = half_width = None
    if runs:
        mean, half_width = mean_and_half_width([run["ratio"] for run in runs], published=is_paper)
    num_censored = sum(not run["reached"] for run in runs)
    return Cell(
        grammar=grammar,
        runs=tuple(runs),
        mean=mean,
        half_width=half_width if is_paper or not num_censored else None,
        num_censored=num_censored,
    )
