"""`ecsuite sweep`: a game with many settings and seeds, trained and scored; or given corpora, scored."""

import shlex
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ecsuite.commands.options import MORE, OutFolder, RunOptions
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.printable import note

if TYPE_CHECKING:
    from ecsuite.jobs.engines import Place


@dataclass(frozen=True, kw_only=True, slots=True)
class SweepOptions(RunOptions):
    """Options of the command."""

    out: OutFolder = None
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Compute failed jobs again.")] = False
    part: Annotated[
        str | None,
        typer.Option(help="Only a part of the runs, such as 2/10.", metavar="K/N", rich_help_panel=MORE),
    ] = None
    print_sbatch: Annotated[
        bool,
        typer.Option(
            "--print-sbatch",
            help="Print a script of Slurm that computes the runs in parts, and do nothing.",
            rich_help_panel=MORE,
        ),
    ] = False

    def place(self) -> "Place":
        """Execution backend of the jobs; Slurm if a script is printed."""
        from ecsuite.jobs.engines import place_of

        place = place_of(self.on or ("slurm" if self.print_sbatch else "local"), self.slurm)
        if self.print_sbatch and place.slurm is None:
            raise ConfigError(f"--print-sbatch: not with --on {self.on}; options of sbatch are in --slurm")
        return place

    def planning(self) -> AbstractContextManager[None]:
        """Context in which jobs are planned for the execution backend."""
        return self.place().planning()


def sweep(
    study: Annotated[
        str,
        typer.Argument(
            help="A shipped study such as paper/xferbench_search, or a YAML file with base, vary or search, seeds "
            "and score (docs/sweeps.md), or with corpora and score (docs/collections.md)."
        ),
    ],
    *,
    options: SweepOptions,
) -> None:
    """Train a game with many settings and seeds, score every corpus, and show the means over seeds."""
    from ecsuite.eval.experiments.grids import SWEEP
    from ecsuite.eval.experiments.study import COLLECTION_KEY, load_study
    from ecsuite.eval.experiments.sweep import Sweeps

    part = None if options.part is None else read_part(options.part)
    tree, _ = SWEEP.read(study)
    if COLLECTION_KEY in tree:
        _score_corpora(study, options)
        return
    asked = load_study(study, device=options.device)
    if asked.search is not None and (part or options.print_sbatch):
        option = "--part" if part else "--print-sbatch"
        raise ConfigError(
            f"{option}: a search has no parts, since trials depend on earlier trials; use --on slurm"
        )
    if options.print_sbatch:
        slurm = options.place().slurm
        assert slurm is not None
        number = len(asked.variants) * len(asked.seeds)
        print(sbatch_script(study, number, options.out, options.device, slurm), end="")
        return
    folder = options.out or Path("runs") / asked.name
    options.show(Sweeps(folder=folder, part=part, source=study), asked, retries=options.retry_failed)


def _score_corpora(source: str, options: SweepOptions) -> None:
    """Score the corpora of a collection, or plan it; no game is trained."""
    from ecsuite.commands.options import CorpusOptions
    from ecsuite.eval.experiments.collection import FILES, Collections, load_collection
    from ecsuite.eval.metrics.score import Options
    from ecsuite.eval.run_metrics import load_run_if_needed

    unread = {
        "--part": options.part,
        "--print-sbatch": options.print_sbatch,
        "--device": options.device != "auto",
    }
    for option, is_given in unread.items():
        if is_given:
            raise ConfigError(f"{option}: not read by {source}, which trains no games")
    study = load_collection(source)
    folder = options.out or Path("runs") / study.name
    benchmark = Collections(
        read=CorpusOptions().read,
        options=Options(seed=study.seed),
        runs=[load_run_if_needed(member.path, study.metrics, trust_code=False) for member in study.members],
        folder=folder,
        note=note,
    )
    options.show(benchmark, study, out=folder / FILES[0], retries=options.retry_failed)


def read_part(text: str) -> tuple[int, int]:
    """Parse a part such as `2/10`; `ConfigError` if it is not valid."""
    first, slash, number = text.partition("/")
    if not (slash and first.isdecimal() and number.isdecimal() and 1 <= int(first) <= int(number) <= 10_000):
        raise ConfigError(f"--part {text}: expected K/N with K from 1 to N, such as 2/10")
    return int(first), int(number)


def sbatch_script(
    study: str, num_runs: int, out: Path | None, device: str, options: Mapping[str, str]
) -> str:
    """Script of a Slurm job array with one task per run, for clusters with only ecsuite installed."""
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
