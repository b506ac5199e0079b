"""Protocols `exact`, `paper` and `budget`: single agents learn grammars, compared with CONCAT.

`exact` and `paper` measure the updates to a target accuracy, relative to CONCAT (Perkins 2021, Tables 3 to 6, 12 to 15
and 19). In `budget`, CONCAT is trained to a target, every other grammar for the same number of updates with the same
seed; then the accuracy is measured (appendices G and J, Tables 16, 17 and 20). Unlike the number of updates to a
target, it is defined for every run.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ecsuite.agents import spec
from ecsuite.eval.icy.agents import parse_model
from ecsuite.eval.icy.channels import SupervisedChannel
from ecsuite.eval.icy.protocol import (
    PUBLISHED_CAP,
    TABLE_16,
    TABLE_17,
    TABLE_20,
    PublishedAccuracies,
    published_ratios,
)
from ecsuite.eval.icy.protocol import VERSION as PROTOCOL_VERSION
from ecsuite.eval.icy.rows import (
    HERE,
    IcyCell,
    IcyRow,
    JobResults,
    Learning,
    Runs,
    RunValues,
    accuracy_text,
    by_grammar,
    figure_of,
    floor_of,
    mean_of,
    parameters_of,
)
from ecsuite.eval.icy.study import BASIS, IcyStudy, JobName
from ecsuite.eval.statistics.estimates import seeds_text
from ecsuite.eval.views.figures.bars import Bar, bars
from ecsuite.eval.views.figures.canvas import ends, save
from ecsuite.grammars.geometry import Geometry
from ecsuite.grammars.icy import VERSION as GRAMMARS_VERSION
from ecsuite.runtime.errors import ConfigError
from ecsuite.tables.cells import INTERVAL, Cell, Role, estimate, nothing, number
from ecsuite.tables.table import Column, Row, number_column, row_of

RATIO_KEYS = ("grammar", "seed", "steps", "reached", "is_early", "accuracy", "floor", "held_out", "seconds")
"""Values of a run in a row of `exact` and `paper`."""
BUDGET_VERSION = 1
"""Increased whenever the same runs would give different accuracies than before."""
BUDGET_KEYS = ("seed", "steps", "reached", "accuracy", "floor", "held_out")
"""Values of a run in a row of `budget`."""
RED_BELOW, GREEN_ABOVE = 0.5, 0.8
"""Limits of the colours in the paper's Table 20."""


class SingleAgents(Learning):
    """Views of protocols in which single agents learn."""

    def draw(self, study: IcyStudy, rows: Sequence[IcyRow], file: Path) -> None:
        """Draw a group of bars for each grammar, a bar for each model, with the paper's figure next to it.

        Raises:
            ConfigError: If matplotlib is not installed, or the file has another suffix.
        """
        is_budget = study.config.protocol == "budget"
        first = rows[0]
        drawn = [
            _bar(
                row,
                cell,
                f"{row.model} over {row.channel}" if len(study.channels) > 1 else row.model,
                study.cap,
                (0, 1 if is_budget else math.inf),
            )
            for row in rows
            for cell in row.cells
        ]
        models = list(dict.fromkeys(row.model for row in rows))
        name = f"{models[0]} as {first.role}" if len(models) == 1 else f"{len(models)} {first.role}s"
        what = f"updates until accuracy {study.training.target:g}, relative to CONCAT"
        if is_budget:
            symbols = "symbols" if first.role == "sender" else "attributes"
            what = f"accuracy of {symbols} after the updates that CONCAT needed"
        spread = "; lines: 95 % interval of the mean" if len(study.seeds) > 1 else ""
        sizes = f"{study.geometry.num_attributes} attributes of {study.geometry.num_values} values"
        figure = bars(
            drawn,
            reference_name="the paper's",
            lines={} if is_budget else {"CONCAT": 1},
            limits=(0, 1.05) if is_budget else (0, None),
            title=f"ICY, {name}: {what}",
            notes=[f"{seeds_text(first.seeds)}, {sizes}{spread}"],
        )
        save(figure, file)


class Ratios(SingleAgents):
    """Ratios of updates; a stopped run counts with its ratio at the stop, so that the mean is a lower bound."""

    columns = (
        *SingleAgents.columns,
        number_column("params"),
        number_column("CONCAT", parts=INTERVAL),
    )

    def run(self, study: IcyStudy, results: JobResults, name: JobName) -> RunValues | None:
        """A run on a grammar."""
        run = results.get(name)
        return None if run is None else {key: run[key] for key in RATIO_KEYS}

    def row(self, study: IcyStudy, link: SupervisedChannel, system: Sequence[str], runs: Runs) -> IcyRow:
        """The row of a model.

        Raises:
            ConfigError: If it does not reach the target on CONCAT.
        """
        (model,) = system
        for run in runs[BASIS]:
            if not run["reached"]:
                raise ConfigError(
                    f"{model} does not reach accuracy {study.training.target:g} on CONCAT in {study.basis_cap:,} "
                    f"updates (seed {run['seed']}): lower --target or raise --hidden-size"
                )
        is_paper = study.training.name == "paper"
        steps = {run["seed"]: run["steps"] for run in runs[BASIS]}
        of_concat = figure_of(list(steps.values()), published=is_paper)
        # The paper's figures are shown only next to runs with the paper's settings.
        settings = (study.geometry, study.role, study.training.hidden_size, study.training.target)
        is_standard = settings == (Geometry(), "sender", 128, 0.8)
        return IcyRow(
            model=model,
            role=study.role,
            parameters=parameters_of(study, model, study.role),
            seeds=tuple(steps),
            basis=IcyCell(name=BASIS, runs=tuple(runs[BASIS]), figures={"steps": of_concat}),
            cells=tuple(
                _cell(grammar, runs[grammar], steps, is_paper=is_paper) for grammar in study.grammars
            ),
            signature=(
                f"icy|{study.role}:{model}|{study.geometry}|seeds:{','.join(map(str, steps))}|"
                f"{study.training.signature(study.cap)}"
            ),
            published=published_ratios(model, study.config.published) if is_standard else {},
        )

    def row_values(self, study: IcyStudy, row: IcyRow) -> dict[str, Any]:
        """The model, and the updates on CONCAT."""
        assert row.basis is not None
        steps = {"mean": row.basis.mean, "half_width": row.basis.half_width, "runs": row.basis.runs}
        return {"model": row.model, "role": row.role, "concat_steps": steps}

    def cell_values(self, row: IcyRow, cell: IcyCell) -> dict[str, Any]:
        """The mean ratio, and the number of runs that were stopped before the target."""
        return {"mean": cell.mean, "half_width": cell.half_width, "num_censored": cell.num_left_out}

    def heads(self, row: IcyRow) -> Sequence[Cell | str | int | None]:
        """Parameters, and updates on CONCAT."""
        assert row.basis is not None and row.basis.mean is not None and isinstance(row.parameters, int)
        return row.parameters, _ratio(row.basis.mean, row.basis.half_width)

    def text(self, study: IcyStudy, cell: IcyCell) -> Cell:
        """See `cell_text`."""
        return cell_text(cell, study.cap)

    def paper(self, figure: tuple[float, float] | None) -> Cell:
        """A mean of the paper with its interval, or `>` and the paper's cap."""
        if figure is None:
            return nothing()
        mean, half_width = figure
        if mean >= PUBLISHED_CAP:
            return nothing(f">{PUBLISHED_CAP:g}")
        return replace(estimate(mean, half_width), lines=(f"{mean:g}", f"±{half_width:g}"))

    def notes(self, study: IcyStudy, rows: Sequence[IcyRow]) -> list[str]:
        """Explanation of the ratios, stopped runs, and accuracies on held-out meanings."""
        spread = "; ± is the half-width of the 95 % interval of the mean" if len(rows[0].seeds) > 1 else ""
        lines = [
            f"{seeds_text(rows[0].seeds)}, protocol {study.training.name}: updates to accuracy "
            f"{study.training.target:g}, relative to CONCAT with the same seed{spread}."
        ]
        for row in rows:
            baseline = "always the most frequent symbol" if row.role == "sender" else "chance level"
            for cell in row.cells:
                if cell.num_left_out:
                    stopped = [run for run in cell.runs if not run["reached"]]
                    accuracy, floor = mean_of(stopped, "accuracy"), mean_of(stopped, "floor")
                    how = "early (early_stop)" if cell.is_early else f"at {study.cap:g} x CONCAT"
                    is_published = row.published.get(cell.name, (0.0, 0.0))[0] >= PUBLISHED_CAP
                    paper = f"; as expected: the paper's are >{PUBLISHED_CAP:g}" if is_published else ""
                    lines.append(
                        f"{row.model} {cell.name.upper()}: {cell.num_left_out} of {len(cell.runs)} runs stopped "
                        f"{how}, at accuracy {accuracy:.3f} ({baseline}: {floor:.3f}){paper}."
                    )
            if study.training.held_out:
                assert row.basis is not None
                means = [
                    (cell.name, mean_of(cell.runs, "held_out"))
                    for cell in (row.basis, *row.cells)
                    if cell.runs
                ]
                lines.append(f"{row.model}, accuracy on held-out meanings at the end: {by_grammar(means)}.")
        return [*lines, *(f"{row.model}: {row.signature}" for row in rows)]


class Budget(SingleAgents):
    """Accuracies after the updates of CONCAT; missing if CONCAT reached the target with no seed."""

    columns = (
        *SingleAgents.columns,
        Column("channel", heading="over"),
        number_column("params"),
        number_column("steps"),
    )

    def run(self, study: IcyStudy, results: JobResults, name: JobName) -> RunValues | None:
        """A run on a grammar."""
        run = results.get(name)
        return {key: run[key] for key in BUDGET_KEYS} if run and run["is_trained"] else None

    def row(self, study: IcyStudy, link: SupervisedChannel, system: Sequence[str], runs: Runs) -> IcyRow:
        """The row of a model over a channel; CONCAT is its first cell."""
        (model,), basis = system, runs[BASIS]
        reached = [run for run in basis if run["reached"]]
        reason = None
        if len(reached) < len(basis):
            best = max(run["accuracy"] for run in basis if not run["reached"])
            reason = (
                f"CONCAT reached {study.training.target:g} with {len(reached)} of {len(basis)} seeds within "
                f"{study.basis_cap:,} updates (others at most {best:.3f}); only these seeds are measured: raise "
                "--max-steps or lower --target"
            )
        seeds = tuple(run["seed"] for run in basis)
        steps = (mean_of(reached, "steps"), None) if reached else None
        return IcyRow(
            model=model,
            role=study.role,
            channel=str(link),
            parameters=parameters_of(study, model, study.role),
            seeds=seeds,
            basis=IcyCell(name=BASIS, runs=tuple(basis), figures={"steps": steps}),
            cells=tuple(
                IcyCell(
                    name=grammar,
                    runs=tuple(each),
                    figures={"accuracy": figure_of([run["accuracy"] for run in each], are_shares=True)},
                    floors={study.role: floor_of(study, study.role, grammar)},
                )
                for grammar, each in runs.items()
            ),
            reason=reason,
            signature="|".join(
                [
                    f"icy-budget|{study.role}:{model}|{link.signature}|{study.geometry}|grammars:{GRAMMARS_VERSION}",
                    f"seeds:{','.join(map(str, seeds))}|max-steps:{study.basis_cap}",
                    f"{study.training.signature(study.cap)}|budget:{BUDGET_VERSION}|teaching:{PROTOCOL_VERSION}",
                ]
            ),
            published=(
                published_accuracies(model, study.role, link.channel) if study.geometry == Geometry() else {}
            ),
        )

    def row_values(self, study: IcyStudy, row: IcyRow) -> dict[str, Any]:
        """The model, its channel, and the updates."""
        assert row.basis is not None
        names = {"model": row.model, "role": row.role, "channel": row.channel}
        return {**names, "steps": row.basis.mean, "reason": row.reason}

    def cell_values(self, row: IcyRow, cell: IcyCell) -> dict[str, Any]:
        """The mean accuracy, the accuracy without learning, and the accuracy on held-out meanings."""
        floor, held_out = cell.floors[row.role], held_out_of(cell)
        return {"mean": cell.mean, "half_width": cell.half_width, "floor": floor, "held_out": held_out}

    def heads(self, row: IcyRow) -> Sequence[Cell | str | int | None]:
        """The channel, parameters, and updates."""
        assert row.basis is not None and isinstance(row.parameters, int)
        steps = row.basis.mean
        shown = nothing("never", role="bad") if steps is None else number(steps, 0)
        return row.channel, row.parameters, shown

    def text(self, study: IcyStudy, cell: IcyCell) -> Cell:
        """An accuracy in the colours of the paper's Table 20."""
        return accuracy_text(cell, "accuracy", "none", role=colour(cell))

    def below(self, rows: Sequence[IcyRow]) -> list[Row]:
        """Accuracies without learning."""
        role = rows[0].role
        what = "most frequent" if role == "sender" else "chance level"
        floors = (number(cell.floors[role], 3) for cell in rows[0].cells)
        return [row_of(what, HERE, None, None, None, *floors, role="dim")]

    def notes(self, study: IcyStudy, rows: Sequence[IcyRow]) -> list[str]:
        """Explanation of the accuracies, reasons for missing accuracies, and accuracies on held-out meanings."""
        unit = "symbols" if rows[0].role == "sender" else "attributes"
        lines = [
            f"{seeds_text(rows[0].seeds)}: accuracy of {unit} after the updates that CONCAT needed with the same seed; "
            f"red below {RED_BELOW:g}, green above {GREEN_ABOVE:g}."
        ]
        lines += [f"{row.model} over {row.channel}: {row.reason}." for row in rows if row.reason]
        for row in rows:
            held_out = [(cell.name, mean) for cell in row.cells if (mean := held_out_of(cell)) is not None]
            if held_out:
                about = f"{row.model} over {row.channel}"
                lines.append(f"{about}, accuracy on held-out meanings: {by_grammar(held_out)}.")
        return [*lines, *(row.signature for row in rows)]


def _cell(
    grammar: str, outcomes: Sequence[Mapping[str, Any]], steps: Mapping[int, int], *, is_paper: bool
) -> IcyCell:
    runs = []
    for outcome in outcomes:
        # The published program rounds each ratio before averaging, and may divide by 0 steps (a check at update 0).
        ratio = outcome["steps"] / max(1, steps[outcome["seed"]])
        runs.append({**outcome, "ratio": round(ratio, 1) if is_paper else ratio})
    num_stopped = sum(not run["reached"] for run in runs)
    figure = figure_of([run["ratio"] for run in runs], published=is_paper)
    if figure is not None and num_stopped and not is_paper:
        figure = figure[0], None
    return IcyCell(name=grammar, runs=tuple(runs), figures={"ratio": figure}, num_left_out=num_stopped)


def cell_text(cell: IcyCell, cap: float) -> Cell:
    """Red if no run reached the target, green if the mean is below a third of the cap (section 4.4)."""
    if cell.mean is None:
        return nothing("none")
    if cell.num_left_out == len(cell.runs):
        return nothing("stopped early" if cell.is_early else f">{cap:g}", role="bad")
    if cell.num_left_out:
        how = "stopped" if cell.is_early else "capped"
        lower = _ratio(cell.mean, None).text
        return Cell(value=cell.mean, lines=(f"≥{lower}", f"({cell.num_left_out}/{len(cell.runs)} {how})"))
    return _ratio(cell.mean, cell.half_width, role="good" if cell.mean < cap / 3 else "")


def _ratio(mean: float, half_width: float | None, *, role: Role = "") -> Cell:
    digits = 0 if mean >= 100 else 1 if mean >= 10 else 2
    return estimate(mean, half_width, digits, role=role, is_stacked=True)


def held_out_of(cell: IcyCell) -> float | None:
    """Mean accuracy on held-out meanings, if any were held out."""
    held_out = [run["held_out"] for run in cell.runs if run["held_out"] is not None]
    return sum(held_out) / len(held_out) if held_out else None


def colour(cell: IcyCell) -> Role:
    """Red below an accuracy of 0.5, green above 0.8."""
    if cell.mean is None:
        return ""
    return "bad" if cell.mean < RED_BELOW else "good" if cell.mean > GREEN_ABOVE else ""


def _bar(row: IcyRow, cell: IcyCell, series: str, cap: float, limits: tuple[float, float]) -> Bar:
    """A model on a grammar: `>20` if no run learnt it, `≥` if some did."""
    text = ""
    if num_censored := cell.num_left_out:
        text = "≥" if num_censored < len(cell.runs) else "stopped early" if cell.is_early else f">{cap:g}"
    published = row.published.get(cell.name)
    mean, half_width = published if isinstance(published, tuple) else (published, None)
    is_beyond = half_width is not None and mean >= PUBLISHED_CAP
    low, high = ends(cell.mean, cell.half_width, limits)
    reference_low, reference_high = ends(mean, None if is_beyond else half_width)
    return Bar(
        group=cell.name.upper(),
        series=series,
        value=cell.mean,
        low=low,
        high=high,
        text=text,
        reference=mean,
        reference_low=reference_low,
        reference_high=reference_high,
        is_lower_bound=is_beyond,
    )


def published_accuracies(model: str, role: spec.Role, channel: str) -> PublishedAccuracies:
    """The paper's accuracies of a model after CONCAT's updates; Table 20 has priority; empty if in no table."""
    agent = parse_model(role, model)
    if "hidden" in dict(agent.options):
        return {}
    table = (TABLE_16 if role == "sender" else TABLE_17).get(channel, {})
    extra = TABLE_20.get(agent.name, {}) if role == "sender" and channel == "soft" else {}
    return {**table.get(agent.name, {}), **extra}
