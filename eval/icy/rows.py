"""Rows: updates of each model to learn each grammar, relative to CONCAT (Perkins 2021, Tables 3-6, 12-15, 19)."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from ecsuite.agents.spec import Role
from ecsuite.config import ConfigError
from ecsuite.eval.icy.batches import Run
from ecsuite.eval.icy.models import parse_model
from ecsuite.eval.icy.parameter_counts import published_parameters
from ecsuite.eval.icy.protocol import Protocol
from ecsuite.eval.icy.published_acquisition import CAP as PUBLISHED_CAP
from ecsuite.eval.icy.published_acquisition import published
from ecsuite.eval.statistics.t_intervals import mean_and_half_width, seeds_text
from ecsuite.grammars.geometry import Geometry
from ecsuite.grammars.icy import VERSION as GRAMMARS_VERSION
from ecsuite.grammars.icy import canonical
from ecsuite.jobs.runner import Job, JobRunner, ProgressCallback

BASIS = "concat"
"""The reference grammar of all ratios."""

EXPECTED_RATIO = {"hol": 20.0, "rot": 7.0, "shuf": 20.0, "pairsum": 10.0, "shufdet": 2.0, "proj": 2.3}
"""Estimated ratios of updates to CONCAT; affect only the order of jobs and the ETA."""

MOST_STEPS = 100_000
"""Maximum number of updates on CONCAT; if it is reached, the study stops with an error."""

EXPECTED_STEPS = 350
"""Estimated number of updates for CONCAT; affects only the order of jobs and the ETA."""

UNBATCHED_FAMILIES = ("hashtable", "transformer", "sru", "sru-tanh")
"""Families whose runs are trained one at a time."""

SMALL_FAMILIES = ("fc1l", "fc2l")
"""Families so small that many runs are trained in parallel."""

NUM_SHOWN = 2
"""Number of runs of a job whose accuracy the progress line shows."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """One model on one grammar."""

    grammar: str
    runs: tuple[Mapping[str, Any], ...]
    """One per seed: seed, steps, ratio, reached, is_early, accuracy, floor, held_out."""
    mean: float
    """Mean ratio; stopped runs count with their ratio when stopped, so that the mean is a lower bound."""
    half_width: float | None
    """Half-width of the mean's 95 % interval; None for one seed, or if any run was stopped."""
    num_censored: int
    """Number of runs that were stopped before reaching the target."""

    @property
    def is_early(self) -> bool:
        """Whether any run was stopped before the cap."""
        return any(run["is_early"] for run in self.runs)

    def text(self, cap: float) -> str:
        """The formatted mean, with the half-width of its interval below."""
        if self.num_censored == len(self.runs):
            return "stopped early" if self.is_early else f">{cap:g}"
        if self.num_censored:
            how = "stopped" if self.is_early else "capped"
            return f"≥{_with_interval(self.mean, None)}\n{self.num_censored}/{len(self.runs)} {how}"
        return _with_interval(self.mean, self.half_width)

    def style(self, cap: float) -> str:
        """Red if no run reached the target, green if the mean is below a third of the cap (section 4.4)."""
        if self.num_censored == len(self.runs):
            return "red"
        return "green" if not self.num_censored and self.mean < cap / 3 else ""


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

    def to_json(self) -> dict[str, Any]:
        """Return the row as JSON-serialisable data."""
        return asdict(self)


def measure_rows(
    models: Sequence[str],
    *,
    role: Role,
    geometry: Geometry,
    grammars: Sequence[str],
    seeds: Sequence[int],
    protocol: Protocol,
    runner: JobRunner,
    device: str = "cpu",
    save_corpora: Path | None = None,
    table: str | None = None,
) -> list[Row]:
    """Train every model on CONCAT and on every grammar with every seed.

    Args:
        models: Names and options of the models.
        role: Role of the models.
        geometry: Sizes of the languages.
        grammars: Grammars to compare with CONCAT.
        seeds: Seeds of languages, weights and batches.
        protocol: Protocol of training and measurement.
        runner: Runs the jobs.
        device: cpu or cuda.
        save_corpora: Folder for the messages of each trained sender for all meanings.
        table: The paper's table to show for comparison, `table12` to `table15`; the one with most seeds if not given.
    """
    specs = [parse_model(role, model) for model in models]
    names = [str(spec) for spec in specs]
    grammars = [canonical(grammar) for grammar in grammars]

    def jobs(groups: Sequence[tuple[str, list[Run]]]) -> list[Job]:
        return [_job(name, runs, role, geometry, protocol, device, save_corpora) for name, runs in groups]

    def groups(runs: Mapping[str, list[Run]]) -> list[tuple[str, list[Run]]]:
        return [
            (name, group)
            for name in names
            for group in _groups(name, runs[name], role, protocol, device, runner.num_workers)
        ]

    first = groups(
        {name: [Run(grammar=BASIS, seed=seed, cap=MOST_STEPS) for seed in seeds] for name in names}
    )
    basis = {name: dict[int, Mapping[str, Any]]() for name in names}
    for (name, _), outcomes in zip(first, runner.run(jobs(first)), strict=True):
        basis[name].update({outcome["seed"]: outcome for outcome in outcomes})

    for name in names:
        for outcome in basis[name].values():
            if not outcome["reached"]:
                raise ConfigError(
                    f"{name} does not reach accuracy {protocol.target:g} on CONCAT in {MOST_STEPS:,} updates (seed "
                    f"{outcome['seed']}): lower --target or raise --hidden-size"
                )

    def cap(name: str, seed: int) -> int:
        return int(protocol.cap_ratio * basis[name][seed]["steps"])

    second = groups(
        {
            name: [
                Run(grammar=grammar, seed=seed, cap=cap(name, seed)) for grammar in grammars for seed in seeds
            ]
            for name in names
        }
    )
    rest = {name: {grammar: dict[int, Any]() for grammar in grammars} for name in names}
    for (name, _), outcomes in zip(second, runner.run(jobs(second)), strict=True):
        for outcome in outcomes:
            rest[name][outcome["grammar"]][outcome["seed"]] = outcome
    return [
        _row(name, role, geometry, protocol, [basis[name][seed] for seed in seeds], rest[name], table)
        for name in names
    ]


def learn_and_report(
    *,
    model: str,
    role: Role,
    geometry: Geometry,
    runs: Sequence[Run],
    protocol: Protocol,
    device: str,
    folder: Path | None,
    report_progress: ProgressCallback,
) -> list[dict[str, Any]]:
    """The job of a row: runs `learn` and returns JSON; saves the senders' corpora if a folder is given."""
    import torch

    from ecsuite.eval.icy.acquisition import learn
    from ecsuite.eval.icy.corpus_generation import write_sender_corpus

    accuracies: dict[int, float] = {}

    def report_run(index: int, updates: int, accuracy: float) -> None:
        accuracies[index] = accuracy
        places = sorted(accuracies)
        shown = [f"{runs[at].grammar} {runs[at].seed}: {accuracies[at]:.2f}" for at in places[:NUM_SHOWN]]
        label = (
            f"{model} {' '.join(shown)}{f' +{len(places) - NUM_SHOWN}' if len(places) > NUM_SHOWN else ''}"
        )
        report_progress(label, min(1.0, updates / _expected(runs[index])))

    outcomes = learn(
        model, role, geometry, runs, protocol, device=torch.device(device), report_progress=report_run
    )
    if folder is not None and role == "sender":
        for outcome in outcomes:
            write_sender_corpus(outcome, model, geometry, protocol, folder)
    return [
        {key: getattr(outcome, key) for key in outcome.__dataclass_fields__ if key != "weights"}
        for outcome in outcomes
    ]


def make_table(rows: Sequence[Row], protocol: Protocol) -> Table:
    """A table of means and half-widths of the 95 % interval, with the paper's figures in faint type."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("model")
    for heading in ("params", "CONCAT", *(cell.grammar.upper() for cell in rows[0].cells)):
        table.add_column(heading, justify="right")
    for row in rows:
        texts = [Text(row.model), Text(f"{row.parameters:,}")]
        texts.append(Text(_with_interval(row.concat_steps["mean"], row.concat_steps["half_width"])))
        for cell in row.cells:
            texts.append(Text(cell.text(protocol.cap_ratio), style=cell.style(protocol.cap_ratio)))
        table.add_row(*texts, end_section=not row.published)
        if row.published:
            published_texts = (_published_text(row.published.get(cell.grammar)) for cell in row.cells)
            table.add_row("  the paper", "", "", *published_texts, style="dim", end_section=True)
    return table


def notes(rows: Sequence[Row], protocol: Protocol) -> list[str]:
    """Explanations below the table."""
    spread = "; ± is the half-width of the 95 % interval of the mean" if len(rows[0].seeds) > 1 else ""
    lines = [
        f"{seeds_text(rows[0].seeds)}, protocol {protocol.name}: updates to accuracy {protocol.target:g}, "
        f"relative to CONCAT with the same seed{spread}."
    ]
    for row in rows:
        baseline = "always the most frequent symbol" if row.role == "sender" else "chance level"
        for cell in row.cells:
            if cell.num_censored:
                stopped = [run for run in cell.runs if not run["reached"]]
                accuracy = sum(run["accuracy"] for run in stopped) / len(stopped)
                floor = sum(run["floor"] for run in stopped) / len(stopped)
                how = "early (early_verdict)" if cell.is_early else f"at {protocol.cap_ratio:g} x CONCAT"
                lines.append(
                    f"{row.model} {cell.grammar.upper()}: {cell.num_censored} of {len(cell.runs)} runs stopped {how}, "
                    f"at accuracy {accuracy:.3f} ({baseline}: {floor:.3f})."
                )
        runs_by_grammar = {BASIS: row.concat_steps["runs"]} | {cell.grammar: cell.runs for cell in row.cells}
        held_out = [
            f"{grammar.upper()} {sum(run['held_out'] for run in runs) / len(runs):.3f}"
            for grammar, runs in runs_by_grammar.items()
            if runs[0]["held_out"] is not None
        ]
        if held_out:
            lines.append(f"{row.model}, accuracy on held-out meanings at the end: {', '.join(held_out)}.")
    return [*lines, *(f"{row.model}: {row.signature}" for row in rows)]


def _expected(run: Run) -> int:
    return EXPECTED_STEPS if run.cap is None or run.cap == MOST_STEPS else run.cap


def _job(
    model: str,
    runs: list[Run],
    role: Role,
    geometry: Geometry,
    protocol: Protocol,
    device: str,
    folder: Path | None,
) -> Job:
    inputs = {
        "model": model,
        "role": role,
        "geometry": geometry,
        "runs": runs,
        "protocol": protocol,
        "device": device,
        "folder": folder,
    }
    key = {
        "what": "acquisition",
        "model": model,
        "role": role,
        "geometry": str(geometry),
        "grammars": GRAMMARS_VERSION,
        "runs": [[run.grammar, run.seed, run.cap] for run in runs],
        "protocol": protocol.signature(),
        "device": device,
        "speaks": folder is not None,
    }
    ratios = [EXPECTED_RATIO.get(run.grammar.partition(",")[0], 1.5) for run in runs]
    steps = [
        EXPECTED_STEPS
        if run.cap in (None, MOST_STEPS)
        else run.cap / protocol.cap_ratio * min(ratio, protocol.cap_ratio)
        for run, ratio in zip(runs, ratios, strict=True)
    ]
    return Job(function=learn_and_report, inputs=inputs, key=key, work=sum(steps))


def _groups(
    model: str, runs: Sequence[Run], role: Role, protocol: Protocol, device: str, num_workers: int
) -> list[list[Run]]:
    """The runs that are trained in parallel: as many as is efficient, but no fewer groups than workers."""
    family = parse_model(role, model).family
    if role == "receiver" or family in UNBATCHED_FAMILIES:
        most = 1
    elif device != "cpu":
        most = len(runs)
    elif family in SMALL_FAMILIES:
        # The cost depends on the number of operations rather than on their size, for all grammars.
        most = min(16, max(1, len(runs) // num_workers))
    else:
        num_seeds = len({run.seed for run in runs})
        fitting = 4 if protocol.precision == "bf16" else 2  # more do not fit a core's cache
        most = max(1, min(fitting, num_seeds // num_workers))
        by_grammar = {run.grammar: [other for other in runs if other.grammar == run.grammar] for run in runs}
        return [list(group) for same in by_grammar.values() for group in _batched(same, most)]
    return [list(group) for group in _batched(runs, most)]


def _batched(runs: Sequence[Run], size: int) -> list[Sequence[Run]]:
    """Split runs into groups of a size; the last may be smaller."""
    return [runs[start : start + size] for start in range(0, len(runs), size)]


def _row(
    model: str,
    role: Role,
    geometry: Geometry,
    protocol: Protocol,
    basis: Sequence[Mapping[str, Any]],
    rest: Mapping[str, Mapping[int, Mapping[str, Any]]],
    table: str | None,
) -> Row:
    is_paper = protocol.name == "paper"
    steps = {run["seed"]: run["steps"] for run in basis}
    cells = []
    for grammar, outcomes in rest.items():
        runs = []
        for seed, outcome in outcomes.items():
            # The published program rounds each ratio before averaging, and may divide by 0 steps (a check at update 0).
            ratio = outcome["steps"] / max(1, steps[seed])
            runs.append({**outcome, "ratio": round(ratio, 1) if is_paper else ratio})
        mean, half_width = mean_and_half_width([run["ratio"] for run in runs], published=is_paper)
        num_censored = sum(not run["reached"] for run in runs)
        cells.append(
            Cell(
                grammar=grammar,
                runs=tuple(runs),
                mean=mean,
                half_width=half_width if is_paper or not num_censored else None,
                num_censored=num_censored,
            )
        )
    mean, half_width = mean_and_half_width([run["steps"] for run in basis], published=is_paper)
    seeds = tuple(run["seed"] for run in basis)
    # The paper's figures are shown only if both measure the same.
    is_standard = (geometry, role, protocol.hidden_size, protocol.target) == (Geometry(), "sender", 128, 0.8)
    return Row(
        model=model,
        role=role,
        parameters=published_parameters(model, role, geometry, protocol.hidden_size),
        seeds=seeds,
        concat_steps={"mean": mean, "half_width": half_width, "runs": list(basis)},
        cells=tuple(cells),
        signature=f"icy|{role}:{model}|{geometry}|seeds:{','.join(map(str, seeds))}|{protocol.signature()}",
        published=published(model, table) if is_standard else {},
    )


def _with_interval(mean: float, half_width: float | None) -> str:
    digits = 0 if mean >= 100 else 1 if mean >= 10 else 2
    text = f"{mean:.{digits}f}"
    return text if half_width is None else f"{text}\n±{half_width:.{digits}f}"


def _published_text(figures: tuple[float, float] | None) -> str:
    if figures is None:
        return ""
    mean, half_width = figures
    return f">{PUBLISHED_CAP:g}" if mean >= PUBLISHED_CAP else f"{mean:g}\n±{half_width:g}"
