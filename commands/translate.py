"""`ecsuite translate`: does pretraining on a corpus help a model to translate?"""

from pathlib import Path
from typing import Annotated

import typer

from ecsuite.commands.options import Cache, Device, Json, On, Out, Plan, Quiet, Seed, Slurm, Workers
from ecsuite.commands.running import print_plan, run_study
from ecsuite.config import look_up
from ecsuite.eval.reports.console import prepare_output_file, print_json, write_json
from ecsuite.eval.translation.presets import PRESETS


def translate(
    pairs: Annotated[
        Path,
        typer.Option(
            metavar="FILE", help="Sentence pairs, one per line: source, tab, target; also .gz and .xz."
        ),
    ],
    corpus: Annotated[
        Path | None,
        typer.Argument(help="A run folder, a corpus.jsonl, or a file of another tool; none: no pretraining."),
    ] = None,
    setting: Annotated[str, typer.Option(help="What is fine-tuned: full, frozen or reduced.")] = "full",
    preset: Annotated[str, typer.Option(help="mini, or full: the paper's size.")] = "mini",
    seed: Seed = 0,
    out: Out = None,
    cache: Cache = Path("runs/translate"),
    plan: Plan = False,
    workers: Workers = None,
    on: On = None,
    slurm: Slurm = None,
    device: Device = "auto",
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Pretrain on a corpus, fine-tune on translation, and score the translations by chrF and BLEU."""
    from ecsuite.eval.translation.jobs import plan as plan_jobs
    from ecsuite.eval.translation.report import summary
    from ecsuite.eval.translation.result import measure
    from ecsuite.eval.translation.study import make_study
    from ecsuite.formats import read_corpus

    look_up("setting", setting, look_up("preset", preset, PRESETS).settings)  # before the corpus is read
    study = make_study(
        None if corpus is None else read_corpus(corpus),
        pairs,
        setting=setting,
        preset=preset,
        seed=seed,
        device=device,
    )
    if plan:
        print_plan(plan_jobs(study).values(), cache=cache, as_json=as_json)
        return
    if out is not None:
        prepare_output_file(out)
    result = run_study(
        lambda runner: measure(study, runner),
        cache=cache,
        workers=workers,
        on=on,
        slurm=slurm,
        device=study.machine.device,
        quiet=quiet,
        announces=not as_json,
    )
    if out is not None:
        write_json(out, result.as_dict())
    if as_json:
        print_json(result.as_dict())
    else:
        print(summary(result))
