"""`ecsuite baseline`: XferBench scores of reference sources."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from ecsuite.commands.options import (
    Cache,
    Device,
    Json,
    On,
    Out,
    Plan,
    Preset,
    Protocol,
    Quiet,
    Seed,
    Seeds,
    Slurm,
    Targets,
    Workers,
    require_read,
    xferbench_options,
)
from ecsuite.commands.running import print_plan, run_study
from ecsuite.config import look_up
from ecsuite.eval.reports.console import prepare_output_file

READS = {"human": ("text",), "paren_real": ("text",)}
"""By source, the options that it reads beside those of all sources."""


def baseline(
    ctx: typer.Context,
    name: Annotated[
        str, typer.Argument(help="paren_synth, paren_real, random, no_pretrain or human.", show_default=False)
    ],
    text: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="The text of human and paren_real: one document per line, .txt or .txt.gz."
        ),
    ] = None,
    preset: Preset = "mini",
    protocol: Protocol = "strict",
    targets: Targets = None,
    seed: Seed = 0,
    seeds: Seeds = None,
    cache: Cache = Path("runs/xferbench"),
    workers: Workers = None,
    on: On = None,
    slurm: Slurm = None,
    plan: Plan = False,
    out: Out = None,
    device: Device = "auto",
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Score reference sources with XferBench: parentheses, noise, a human language, or no pretraining."""
    from ecsuite.eval.reports.scorecard import Scorecard, describe
    from ecsuite.eval.xferbench.jobs import plan as plan_jobs
    from ecsuite.eval.xferbench.metric import score_source, study_of
    from ecsuite.eval.xferbench.presets import PRESETS
    from ecsuite.eval.xferbench.sources import SOURCES, Request

    make_source = look_up("baseline", name, SOURCES)
    require_read(ctx, name, [name], READS)
    options = xferbench_options(ctx)
    corpora = {
        each: make_source(Request(preset=PRESETS[preset], protocol=protocol, seed=each, text=text))
        for each in range(options.seed, options.seed + options.num_seeds)
    }
    study = study_of(corpora, options)
    if plan:
        print_plan(plan_jobs(study).values(), cache=cache, as_json=as_json)
        return
    if out is not None:
        prepare_output_file(out)
    score = run_study(
        lambda runner: score_source(corpora, replace(options, runner=runner)),
        cache=cache,
        workers=workers,
        on=on,
        slurm=slurm,
        quiet=quiet,
        announces=not as_json,
    )
    known = {"source_path": name if text is None else f"{name} {text.name}"}
    corpus = corpora[options.seed]
    sizes_of = {} if corpus is None else describe(corpus)
    scorecard = Scorecard(corpus=known | sizes_of, scores=(score,))
    scorecard.publish(out=out, as_json=as_json)
