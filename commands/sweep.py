"""`ecsuite sweep`: a game with many settings and seeds, trained and scored."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from ecsuite.commands.options import MORE, Device, Json, On, OutFolder, Plan, Quiet, Slurm
from ecsuite.commands.plans import print_plan
from ecsuite.eval.reports.console import print_json
from ecsuite.files.format_numbers import with_format
from ecsuite.runtime.errors import ConfigError


def sweep(
    ctx: typer.Context,
    study: Annotated[
        str,
        typer.Argument(
            help="A shipped study such as paper/xferbench_search, or a YAML file with base, vary or search, seeds "
            "and score (docs/sweeps.md), or with corpora and score (docs/collection_studies.md)."
        ),
    ],
    on: On = None,
    slurm: Slurm = None,
    out: OutFolder = None,
    plan: Plan = False,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Compute again what failed.")] = False,
    part: Annotated[
        str | None,
        typer.Option(help="Only a part of the runs, such as 2/10.", metavar="K/N", rich_help_panel=MORE),
    ] = None,
    print_sbatch: Annotated[
        bool,
        typer.Option(
            "--print-sbatch",
            help="Print a script of Slurm that computes the runs in parts, and do nothing.",
            rich_help_panel=MORE,
        ),
    ] = False,
    device: Device = "auto",
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Train a game with many settings and seeds, score every corpus, and show the means over seeds."""
    from ecsuite.eval.records.reading import STORE, SWEEP
    from ecsuite.eval.studies.files import SWEEP as SWEEP_FILES
    from ecsuite.eval.studies.running import run
    from ecsuite.eval.sweeps.estimate import measured_seconds
    from ecsuite.eval.sweeps.jobs import plan as plan_jobs
    from ecsuite.eval.sweeps.result import measure
    from ecsuite.eval.sweeps.search import Search
    from ecsuite.eval.sweeps.search_report import search_lines, trials_table
    from ecsuite.eval.sweeps.study import COLLECTION_KEY, load_study
    from ecsuite.jobs.engines import place_of
    from ecsuite.jobs.store import Store

    share = None if part is None else read_part(part)
    place = place_of(on or ("slurm" if print_sbatch else "local"), slurm)
    if print_sbatch and place.slurm is None:
        raise ConfigError(f"--print-sbatch: not with --on {on}; options of sbatch are in --slurm")
    ctx.with_resource(place.planning())
    tree, _ = SWEEP_FILES.read(study)
    if COLLECTION_KEY in tree:
        from ecsuite.commands.collection_sweep import sweep_collection

        sweep_collection(
            tree,
            study,
            place=place,
            out=out,
            plan=plan,
            retries=retry_failed,
            quiet=quiet,
            as_json=as_json,
            unread={
                "--part": share is not None,
                "--print-sbatch": print_sbatch,
                "--device": device != "auto",
            },
        )
        return
    chosen = load_study(study, device=device)
    if chosen.search is not None and (share or print_sbatch):
        option = "--part" if share else "--print-sbatch"
        raise ConfigError(f"{option}: a search has no parts, for each trial follows from others; --on slurm")
    if print_sbatch:
        assert place.slurm is not None
        print(
            sbatch_script(study, len(chosen.variants) * len(chosen.seeds), out, device, place.slurm), end=""
        )
        return
    folder = out or Path("runs") / chosen.name
    store = folder / STORE
    if plan:
        notes = []
        if chosen.search is None:
            jobs = [
                job for each in plan_jobs(chosen, folder) for job in (each.training, *each.scores.values())
            ]
        else:
            search = Search(chosen, folder, Store(store))
            jobs = search.known_jobs()
            notes = [
                f"these are the jobs of {len(search.trials)} of {chosen.search.trials} trials; the others follow "
                "from what comes out"
            ]
        places = 1 if place.engine is not None else place.workers_for(chosen.device.type)
        print_plan(
            jobs, cache=store, as_json=as_json, num_places=places, notes=notes, measure=measured_seconds
        )
        return
    found = run(
        lambda runner: measure(chosen, folder, runner, share),
        folder=store,
        place=place,
        retries=retry_failed,
        device=chosen.device.type,
        quiet=quiet,
        announces=not as_json,
    )
    if as_json:
        print_json(with_format("result", found.to_json()))
        return
    if share is None:
        from rich.console import Console

        if found.search is None:
            Console().print(found.table().rich())
        else:
            Console().print(trials_table(found.search))
            for line in search_lines(found.search, chosen.base):
                print(line)
    for each in found:
        if each.failure is not None:
            print(f"failed: {each.folder.name}: {each.failure}")
        elif each.training["stopped"] == "minutes":
            print(f"not complete, and not in the means: {each.folder.name} was ended by training.max_minutes")
    if share is not None:
        print(
            f"part {part}: {len(found)} runs in {folder / 'runs'}; when all parts are done: ecsuite sweep {study}"
        )
        return
    print(f"Runs in {folder / 'runs'}, all figures in {folder / SWEEP}; next: ecsuite table {folder} --latex")


def read_part(text: str) -> tuple[int, int]:
    """A part as users write it, such as `2/10`; `ConfigError` if it is not one."""
    first, slash, number = text.partition("/")
    if not (slash and first.isdecimal() and number.isdecimal() and 1 <= int(first) <= int(number) <= 10_000):
        raise ConfigError(f"--part {text}: expected K/N with K from 1 to N, such as 2/10")
    return int(first), int(number)


def sbatch_script(
    study: str, num_runs: int, out: Path | None, device: str, options: Mapping[str, str]
) -> str:
    """A job array of Slurm with a task for each run, for clusters where nothing but ecsuite is installed."""
    words = ["ecsuite", "sweep", study, "--on", "here", "--quiet", *(["--out", str(out)] if out else [])]
    words += [] if device == "auto" else ["--device", device]
    flags = {"job-name": "ecsuite", "array": f"1-{num_runs}", "signal": "USR1@120"}
    flags |= {key.replace("_", "-"): value for key, value in options.items()}
    return "\n".join(
        [
            "#!/bin/bash",
            *(f"#SBATCH --{key}={value}" for key, value in flags.items()),
            "#SBATCH --requeue",
            "export OMP_NUM_THREADS=1",
            f"srun {shlex.join(words)} --part $SLURM_ARRAY_TASK_ID/{num_runs}",
            "# 75: stopped before the time limit, with a checkpoint",
            'if [ $? -eq 75 ]; then scontrol requeue "${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}"; fi',
            "",
        ]
    )
