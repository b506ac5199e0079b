"""Protocol `budget`: accuracy on each grammar after as many updates as CONCAT needs (Perkins 2021, appendices G and J).

CONCAT is trained to a target, every other grammar for exactly as many updates with the same seed; then the accuracy is
measured: Tables 16, 17 and 20. Unlike the number of updates to a target, it is defined for every run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from ecsuite.agents.spec import Role
from ecsuite.config import ConfigError
from ecsuite.eval.icy.batches import Run
from ecsuite.eval.icy.channels import SupervisedChannel, parse_channel
from ecsuite.eval.icy.models import parse_model
from ecsuite.eval.icy.parameter_counts import published_parameters
from ecsuite.eval.icy.protocol import Protocol
from ecsuite.eval.icy.published_budget import published_budget
from ecsuite.eval.icy.supervised import VERSION as SUPERVISED_VERSION
from ecsuite.eval.icy.supervised import training_job
from ecsuite.eval.statistics.t_intervals import mean_and_half_width, seeds_text
from ecsuite.grammars.geometry import Geometry
from ecsuite.grammars.icy import VERSION as GRAMMARS_VERSION
from ecsuite.grammars.icy import language, majority_accuracy, parse
from ecsuite.jobs.runner import Job, JobRunner

VERSION = 1
"""Increased whenever the same inputs would give different accuracies than before."""

BASIS = "concat"
"""The grammar that sets the budget."""

GRAMMARS: Mapping[Role, tuple[str, ...]] = {
    "sender": ("perm", "proj", "rot", "shufdet", "hol", "pairsum"),
    "receiver": ("perm", "proj", "rot", "shufdet", "shuf", "hol", "pairsum"),
}
"""Grammars that are compared with CONCAT. A sender cannot predict the word orders that SHUF draws (appendix H)."""

RED_BELOW, GREEN_ABOVE = 0.5, 0.8
"""Limits of the colours in the paper's Table 20."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BudgetCell:
    """One model on one grammar."""

    grammar: str
    runs: tuple[Mapping[str, Any], ...]
    """One per seed: seed, steps, reached, accuracy, floor, held_out."""
    mean: float | None
    """Mean accuracy; None if CONCAT reached the target with no seed."""
    half_width: float | None
    """Half-width of the mean's 95 % interval; None for fewer than two runs."""
    floor: float
    """Mean accuracy without learning: of each position's most frequent symbol (sender), or chance level (receiver)."""
    held_out: float | None
    """Mean accuracy on held-out meanings, if any were held out."""

    @property
    def style(self) -> str:
        """Red below an accuracy of 0.5, green above 0.8."""
        if self.mean is None:
            return "dim"
        return "red" if self.mean < RED_BELOW else "green" if self.mean > GREEN_ABOVE else ""


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

    def to_json(self) -> dict[str, Any]:
        """Return the row as JSON-serialisable data."""
        return asdict(self)


def budget_rows(
    models: Sequence[str],
    *,
    role: Role,
    geometry: Geometry,
    seeds: Sequence[int],
    protocol: Protocol,
    runner: JobRunner,
    grammars: Sequence[str] | None = None,
    channels: Sequence[str] = ("soft",),
    target: float = 0.99,
    max_steps: int = 20_000,
    device: str = "cpu",
) -> list[BudgetRow]:
    """Train every model over every channel: on CONCAT to the target, then on each grammar for as many updates.

    Args:
        models: Names and options of the models.
        role: Role of the models.
        geometry: Sizes of the languages.
        seeds: Seeds of languages, weights, batches and noise.
        protocol: Protocol of measurement; `exact`: mean of a window around the last update, `paper`: one batch.
        runner: Runs the jobs.
        grammars: Grammars to compare with CONCAT; those of the paper's tables if not given.
        channels: Channels of the models' logits, see `ecsuite.eval.icy.channels`.
        target: Accuracy at which training on CONCAT ends, 0 to 1.
        max_steps: Maximum number of updates on CONCAT.
        device: cpu or cuda.

    Returns:
        A row for each channel and model, ordered by channel, then model.

    Raises:
        ConfigError: If a name or number is invalid; raised before any training.
    """
    if not 0 < target <= 1:
        raise ConfigError(f"target: expected an accuracy above 0 and at most 1, got {target:g}")
    if max_steps < 1:
        raise ConfigError(f"max-steps: expected at least 1, got {max_steps}")
    if not seeds:
        raise ConfigError("seeds: expected at least one")
    names = [str(parse_model(role, model)) for model in models]
    links = [parse_channel(channel) for channel in channels]
    if "hashtable" in names and any(link.channel != "soft" for link in links):
        raise ConfigError("hashtable has no logits for a channel; use --channel soft")
    for grammar in grammars or ():
        parse(grammar)
    chosen = [grammar for grammar in grammars or GRAMMARS[role] if grammar != BASIS]
    basis_protocol = replace(protocol, target=target, cap_ratio=1.0, early_verdict=False)
    kinds = [(link, name) for link in links for name in names]

    def job(link: SupervisedChannel, name: str, runs: list[Run], how: Protocol) -> Job:
        return training_job(
            model=name, role=role, geometry=geometry, runs=runs, protocol=how, link=link, device=device
        )

    first = [
        (kind, [Run(grammar=BASIS, seed=seed, cap=max_steps) for seed in group])
        for kind in kinds
        for group in _groups(seeds, *kind, role)
    ]
    basis: dict[tuple[SupervisedChannel, str], dict[int, Any]] = {kind: {} for kind in kinds}
    outcomes = runner.run([job(*kind, runs, basis_protocol) for kind, runs in first])
    for (kind, _), group in zip(first, outcomes, strict=True):
        basis[kind].update({outcome["seed"]: outcome for outcome in group})

    rest_protocol = replace(basis_protocol, target=None)
    second = []
    for kind in kinds:
        steps = {seed: basis[kind][seed]["steps"] for seed in seeds if basis[kind][seed]["reached"]}
        second += [
            (kind, [Run(grammar=grammar, seed=seed, cap=steps[seed]) for seed in group])
            for grammar in chosen
            for group in _groups(list(steps), *kind, role)
        ]
    rest: dict[tuple[SupervisedChannel, str], dict[str, list[Any]]] = {
        kind: {grammar: [] for grammar in chosen} for kind in kinds
    }
    outcomes = runner.run([job(*kind, runs, rest_protocol) for kind, runs in second])
    for (kind, runs), group in zip(second, outcomes, strict=True):
        rest[kind][runs[0].grammar] += group

    floors = _floors(chosen, role, geometry, seeds)
    about = f"{geometry}|grammars:{GRAMMARS_VERSION}|seeds:{','.join(map(str, seeds))}|max-steps:{max_steps}"
    return [
        _row(
            link=link,
            model=name,
            role=role,
            geometry=geometry,
            protocol=basis_protocol,
            max_steps=max_steps,
            about=about,
            basis=[basis[link, name][seed] for seed in seeds],
            rest=rest[link, name],
            floors=floors,
        )
        for link, name in kinds
    ]


def make_table(rows: Sequence[BudgetRow]) -> Table:
    """A table of mean, half-width of the 95 % interval and, in faint type, the paper's figure; the last row: floors."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("model")
    for heading in ("steps", *(cell.grammar.upper() for cell in rows[0].cells)):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        steps = Text("never", "red") if row.steps is None else Text(f"{row.steps:.0f}")
        cells = [_cell_text(cell, row.published.get(cell.grammar)) for cell in row.cells]
        about = f"\n{row.parameters:,} params\nover {row.channel}"
        table.add_row(Text.assemble(row.model, (about, "dim")), steps, *cells, end_section=True)
    what = "most frequent" if rows[0].role == "sender" else "chance level"
    table.add_row(Text(what), "", *(f"{cell.floor:.3f}" for cell in rows[0].cells), style="dim")
    return table


def notes(rows: Sequence[BudgetRow]) -> list[str]:
    """Explanations below the table."""
    unit = "symbols" if rows[0].role == "sender" else "attributes"
    lines = [
        f"{seeds_text(rows[0].seeds)}: accuracy of {unit} after the updates that CONCAT needed with the same seed; "
        f"red below {RED_BELOW:g}, green above {GREEN_ABOVE:g}."
    ]
    lines += [f"{row.model} over {row.channel}: {row.reason}." for row in rows if row.reason]
    for row in rows:
        held_out = [
            f"{cell.grammar.upper()} {cell.held_out:.3f}" for cell in row.cells if cell.held_out is not None
        ]
        if held_out:
            lines.append(
                f"{row.model} over {row.channel}, accuracy on held-out meanings: {', '.join(held_out)}."
            )
    return [*lines, *(row.signature for row in rows)]


def _cell_text(cell: BudgetCell, published: float | None) -> Text:
    if cell.mean is None:
        return Text("none", "dim")
    lines = [(f"{cell.mean:.3f}", cell.style)]
    if cell.half_width is not None:
        lines.append((f"\n±{cell.half_width:.3f}", ""))
    if published is not None:
        lines.append((f"\n{published:.3f}", "dim"))
    return Text.assemble(*lines)


def _groups(seeds: Sequence[int], link: SupervisedChannel, model: str, role: Role) -> list[Sequence[int]]:
    """Group the seeds that are trained in parallel: only those of small senders over a channel without noise."""
    is_small = role == "sender" and parse_model(role, model).family in ("fc1l", "fc2l")
    size = 16 if is_small and link.channel == "soft" else 1
    return [seeds[start : start + size] for start in range(0, len(seeds), size)]


def _floors(
    grammars: Sequence[str], role: Role, geometry: Geometry, seeds: Sequence[int]
) -> dict[str, float]:
    """The floor of each grammar, also of grammars without any run."""
    if role == "receiver":
        return dict.fromkeys(grammars, 1 / geometry.num_values)
    return {
        grammar: mean_and_half_width(
            [majority_accuracy(language(grammar, geometry, seed).messages) for seed in seeds]
        )[0]
        for grammar in grammars
    }


def _row(
    *,
    link: SupervisedChannel,
    model: str,
    role: Role,
    geometry: Geometry,
    protocol: Protocol,
    max_steps: int,
    about: str,
    basis: Sequence[Mapping[str, Any]],
    rest: Mapping[str, Sequence[Mapping[str, Any]]],
    floors: Mapping[str, float],
) -> BudgetRow:
    is_paper = protocol.name == "paper"
    reached = [run for run in basis if run["reached"]]
    reason = None
    if len(reached) < len(basis):
        best = max(run["accuracy"] for run in basis if not run["reached"])
        reason = (
            f"CONCAT reached {protocol.target:g} with {len(reached)} of {len(basis)} seeds within {max_steps:,} "
            f"updates (others at most {best:.3f}); only those are measured: raise --max-steps or lower --target"
        )
    cells = []
    for grammar, runs in {BASIS: basis, **rest}.items():
        held_out = [run["held_out"] for run in runs if run["held_out"] is not None]
        mean, half_width = (
            mean_and_half_width([run["accuracy"] for run in runs], published=is_paper)
            if runs
            else (None, None)
        )
        floor = floors[grammar] if grammar in floors else sum(run["floor"] for run in runs) / len(runs)
        cells.append(
            BudgetCell(
                grammar=grammar,
                runs=tuple(runs),
                mean=mean,
                half_width=half_width,
                floor=floor,
                held_out=sum(held_out) / len(held_out) if held_out else None,
            )
        )
    return BudgetRow(
        model=model,
        role=role,
        channel=str(link),
        parameters=published_parameters(model, role, geometry, protocol.hidden_size),
        seeds=tuple(run["seed"] for run in basis),
        steps=sum(run["steps"] for run in reached) / len(reached) if reached else None,
        cells=tuple(cells),
        reason=reason,
        signature=f"icy-budget|{role}:{model}|{link.signature}|{about}|{protocol.signature()}|budget:{VERSION}|teaching:{SUPERVISED_VERSION}",
        published=published_budget(model, role, link.channel) if geometry == Geometry() else {},
    )
