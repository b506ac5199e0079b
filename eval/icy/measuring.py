"""Runs a study: one function for each protocol, which returns the report."""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from ecsuite.eval.icy.models import parse_model
from ecsuite.eval.icy.protocol import Protocol
from ecsuite.eval.icy.study import FIRST_SEED, StudyConfig
from ecsuite.eval.reports.console import Report
from ecsuite.jobs.runner import JobRunner

GRAMMARS = ("perm", "proj", "rot", "shufdet", "hol")
"""The columns of the paper's tables."""

UPDATES_END_TO_END = 1000
"""Default number of end-to-end updates; the paper's 10,000 take too long for a first run."""

FAST_FAMILIES = ("fc1l", "fc2l", "hashtable")
"""Families for which ten seeds take less time than two seeds of others."""


def measure(
    config: StudyConfig,
    *,
    num_workers: int,
    device: str,
    folder: Path | None,
    save_corpora: Path | None = None,
    progress: Callable[[str, float, float], None],
) -> Report:
    """Run a study.

    Args:
        config: The study.
        num_workers: Number of processes.
        device: cpu or cuda.
        folder: Folder of cached results; None: no cache.
        save_corpora: Folder for the messages of trained senders for all meanings (exact and paper only).
        progress: Called as `progress(label, done, total)`.
    """
    if config.protocol == "metrics":
        return _metrics(config, progress)
    with JobRunner(num_workers=num_workers, folder=folder, progress=progress) as runner:
        if config.protocol == "budget":
            return _budget(config, runner, device)
        if config.protocol == "end-to-end":
            return _end_to_end(config, runner, device)
        return _acquisition(config, runner, device, save_corpora)


def _acquisition(config: StudyConfig, runner: JobRunner, device: str, save_corpora: Path | None) -> Report:
    from ecsuite.eval.icy.rows import make_table, measure_rows, notes

    protocol = _protocol(config, default_target=0.8)
    seeds = config.seeds or _default_seeds(config)
    rows = measure_rows(
        config.models,
        role=config.role,
        geometry=config.geometry,
        grammars=config.grammars or GRAMMARS,
        seeds=seeds,
        protocol=protocol,
        runner=runner,
        device=device,
        save_corpora=save_corpora,
        table=config.published,
    )
    return Report(
        tables=(make_table(rows, protocol),),
        notes=tuple(notes(rows, protocol)),
        data={"study": asdict(config) | {"seeds": seeds}, "rows": [row.to_json() for row in rows]},
    )


def _budget(config: StudyConfig, runner: JobRunner, device: str) -> Report:
    from ecsuite.eval.icy.budget import budget_rows, make_table, notes

    protocol = _protocol(config, default_target=0.99)
    assert protocol.target is not None
    rows = budget_rows(
        config.models,
        role=config.role,
        geometry=config.geometry,
        grammars=config.grammars or None,
        seeds=config.seeds or _default_seeds(config),
        protocol=protocol,
        channels=config.channels or ("soft",),
        target=protocol.target,
        max_steps=config.max_steps or 20_000,
        device=device,
        runner=runner,
    )
    return Report(
        tables=(make_table(rows),),
        notes=tuple(notes(rows)),
        data={"study": asdict(config) | {"seeds": rows[0].seeds}, "rows": [row.to_json() for row in rows]},
    )


def _end_to_end(config: StudyConfig, runner: JobRunner, device: str) -> Report:
    from ecsuite.eval.icy.curves import write_curves
    from ecsuite.eval.icy.end_to_end import GRAMMARS as DRIFT_GRAMMARS
    from ecsuite.eval.icy.end_to_end import end_to_end_rows, make_table, notes

    protocol = _protocol(config, default_target=0.99)
    assert protocol.target is not None
    receivers = config.receivers * (len(config.models) if len(config.receivers) == 1 else 1)
    rows = end_to_end_rows(
        list(zip(config.models, receivers, strict=True)),
        geometry=config.geometry,
        grammars=config.grammars or DRIFT_GRAMMARS,
        seeds=config.seeds or (FIRST_SEED,),
        protocol=protocol,
        channels=config.channels or ("soft",),
        max_steps=config.max_steps or UPDATES_END_TO_END,
        target=protocol.target,
        supervised=config.supervised,
        device=device,
        runner=runner,
    )
    return Report(
        tables=(make_table(rows),),
        notes=tuple(notes(rows)),
        data={"study": asdict(config) | {"seeds": rows[0].seeds}, "rows": [row.to_json() for row in rows]},
        draw=(lambda path: write_curves(rows[0], path)) if len(rows) == 1 else None,
    )


def _metrics(config: StudyConfig, progress: Callable[[str, float, float], None]) -> Report:
    from ecsuite.eval.icy.drawing import draw_bars
    from ecsuite.eval.icy.grammar_metrics import run_study

    given = {
        "about": config.about,
        "grammars": config.grammars or None,
        "metrics": config.metrics or None,
        "seeds": config.seeds or None,
        "published": config.published,
        "geometry": asdict(config.geometry),
    }
    study = run_study({key: value for key, value in given.items() if value is not None}, progress)
    return Report(
        tables=(study.table(),), notes=(), data=study.to_json(), draw=lambda file: draw_bars(study, file)
    )


def _protocol(config: StudyConfig, *, default_target: float) -> Protocol:
    """The protocol of training and measurement of a study."""
    return Protocol(
        name="paper" if config.protocol == "paper" else "exact",
        target=default_target if config.target is None else config.target,
        cap_ratio=config.cap_ratio,
        clip=config.clip,
        held_out=config.held_out,
        precision=config.precision,
        early_verdict=config.early_verdict,
        hidden_size=config.hidden_size,
    )


def _default_seeds(config: StudyConfig) -> tuple[int, ...]:
    """As many seeds as take about three minutes per model on two cores; one if even that takes longer."""
    families = {parse_model(config.role, model).family for model in config.models}
    if families <= set(FAST_FAMILIES) and config.role == "sender":
        count = 10
    else:
        count = 1 if "transformer" in families or config.role == "receiver" else 2
    return tuple(range(FIRST_SEED, FIRST_SEED + count))
