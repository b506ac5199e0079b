"""Protocols `exact` and `paper`: updates to learn each grammar, relative to CONCAT.

Perkins (2021), Tables 3 to 6, 12 to 15, and 19.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ecsuite.eval.icy.channels import SupervisedChannel
from ecsuite.eval.icy.drawing import draw_rows
from ecsuite.eval.icy.jobs import Name
from ecsuite.eval.icy.published import CAP as PUBLISHED_CAP
from ecsuite.eval.icy.published import published_ratios
from ecsuite.eval.icy.resolved import BASIS, Study
from ecsuite.eval.icy.rows import (
    Cell,
    Figure,
    Found,
    Learning,
    Row,
    Run,
    Runs,
    by_grammar,
    figure_of,
    mean_of,
    parameters_of,
)
from ecsuite.eval.statistics.estimates import seeds_text
from ecsuite.grammars.geometry import Geometry
from ecsuite.runtime.errors import ConfigError
from ecsuite.tables.cells import INTERVAL, Role, estimate, nothing
from ecsuite.tables.cells import Cell as TableCell
from ecsuite.tables.table import number_column

RUN_KEYS = ("grammar", "seed", "steps", "reached", "is_early", "accuracy", "floor", "held_out", "seconds")
"""What a row says of a run."""


class Ratios(Learning):
    """Ratios of updates: stopped runs count with their ratio when stopped, so that a mean is then a lower bound."""

    columns = (
        *Learning.columns,
        number_column("params"),
        number_column("CONCAT", parts=INTERVAL),
    )

    def run(self, study: Study, found: Found, name: Name) -> Run | None:
        """A run on a grammar."""
        run = found.get(name)
        return None if run is None else {key: run[key] for key in RUN_KEYS}

    def row(self, study: Study, link: SupervisedChannel, system: Sequence[str], runs: Runs) -> Row:
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
        # The paper's figures are shown only if both measure the same.
        settings = (study.geometry, study.role, study.training.hidden_size, study.training.target)
        is_standard = settings == (Geometry(), "sender", 128, 0.8)
        return Row(
            model=model,
            role=study.role,
            parameters=parameters_of(study, model, study.role),
            seeds=tuple(steps),
            basis=Cell(name=BASIS, runs=tuple(runs[BASIS]), figures={"steps": of_concat}),
            cells=tuple(
                _cell(grammar, runs[grammar], steps, is_paper=is_paper) for grammar in study.grammars
            ),
            signature=(
                f"icy|{study.role}:{model}|{study.geometry}|seeds:{','.join(map(str, steps))}|"
                f"{study.training.signature(study.cap)}"
            ),
            published=published_ratios(model, study.config.published) if is_standard else {},
        )

    def about(self, study: Study, row: Row) -> dict[str, Any]:
        """The model, and the updates on CONCAT."""
        assert row.basis is not None
        steps = {"mean": row.basis.mean, "half_width": row.basis.half_width, "runs": row.basis.runs}
        return {"model": row.model, "role": row.role, "concat_steps": steps}

    def of_cell(self, row: Row, cell: Cell) -> dict[str, Any]:
        """The mean ratio, and how many runs were stopped before the target."""
        return {"mean": cell.mean, "half_width": cell.half_width, "num_censored": cell.num_left_out}

    def heads(self, row: Row) -> Sequence[TableCell | str | int | None]:
        """Parameters, and updates on CONCAT."""
        assert row.basis is not None and isinstance(row.parameters, int)
        return row.parameters, _shown(row.basis)

    def text(self, study: Study, cell: Cell) -> TableCell:
        """See `cell_text`."""
        return cell_text(cell, study.cap)

    def paper(self, figure: tuple[float, float] | None) -> TableCell:
        """A mean of the paper with its interval, or that it is above the paper's cap."""
        if figure is None:
            return nothing()
        mean, half_width = figure
        if mean >= PUBLISHED_CAP:
            return nothing(f">{PUBLISHED_CAP:g}")
        return replace(estimate(mean, half_width), lines=(f"{mean:g}", f"±{half_width:g}"))

    def notes(self, study: Study, rows: Sequence[Row]) -> list[str]:
        """How much is measured, and which runs were stopped."""
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
                    lines.append(
                        f"{row.model} {cell.name.upper()}: {cell.num_left_out} of {len(cell.runs)} runs stopped "
                        f"{how}, at accuracy {accuracy:.3f} ({baseline}: {floor:.3f}){_as_published(row, cell)}."
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

    def draw(self, study: Study, rows: Sequence[Row], file: Path) -> None:
        """Bars by grammar and model."""
        draw_rows(study, rows, file)


def _cell(
    grammar: str, outcomes: Sequence[Mapping[str, Any]], steps: Mapping[int, int], *, is_paper: bool
) -> Cell:
    runs = []
    for outcome in outcomes:
        # The published program rounds each ratio before averaging, and may divide by 0 steps (a check at update 0).
        ratio = outcome["steps"] / max(1, steps[outcome["seed"]])
        runs.append({**outcome, "ratio": round(ratio, 1) if is_paper else ratio})
    num_stopped = sum(not run["reached"] for run in runs)
    figure = figure_of([run["ratio"] for run in runs], published=is_paper)
    if figure is not None and num_stopped and not is_paper:
        figure = figure[0], None
    return Cell(name=grammar, runs=tuple(runs), figures={"ratio": figure}, num_left_out=num_stopped)


def cell_text(cell: Cell, cap: float) -> TableCell:
    """Red if no run reached the target, green if the mean is below a third of the cap (section 4.4)."""
    if cell.mean is None:
        return nothing("none")
    if cell.num_left_out == len(cell.runs):
        return nothing("stopped early" if cell.is_early else f">{cap:g}", role="bad")
    if cell.num_left_out:
        how = "stopped" if cell.is_early else "capped"
        lower = _ratio((cell.mean, None)).text
        return TableCell(
            value=cell.mean, lines=(f"≥{lower}", f"({cell.num_left_out}/{len(cell.runs)} {how})")
        )
    return _shown(cell, role="good" if cell.mean < cap / 3 else "")


def _shown(cell: Cell, *, role: Role = "") -> TableCell:
    assert cell.mean is not None
    return _ratio((cell.mean, cell.half_width), role=role)


def _ratio(figure: Figure, *, role: Role = "") -> TableCell:
    digits = 0 if figure[0] >= 100 else 1 if figure[0] >= 10 else 2
    return estimate(*figure, digits, role=role, is_stacked=True)


def _as_published(row: Row, cell: Cell) -> str:
    """Whether the paper's runs were stopped as well."""
    mean, _ = row.published.get(cell.name, (0.0, 0.0))
    return f"; as expected: the paper's are >{PUBLISHED_CAP:g}" if mean >= PUBLISHED_CAP else ""
