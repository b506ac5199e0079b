"""`ecsuite score reference`: XferBench scores of reference sources."""

from pathlib import Path
from typing import Annotated

import typer

from ecsuite.commands.completion import OneOf
from ecsuite.commands.options import Seed, StudyOptions, given_options
from ecsuite.parts.config import refuse_unread

SOURCES = OneOf("paren_synth", "paren_real", "random", "no_pretrain", "human")
READS = {"human": ("text",), "paren_real": ("text",)}
"""Additional options that each source uses."""


def reference(
    ctx: typer.Context,
    name: Annotated[
        str,
        typer.Argument(
            help=f"{SOURCES}; after commas options of `xferbench`: random,preset=danish,num_seeds=3.",
            show_default=False,
        ),
        SOURCES,
    ],
    text: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="The text of human and paren_real: one document per line, .txt or .txt.gz."
        ),
    ] = None,
    seed: Seed = 0,
    *,
    options: Annotated[StudyOptions, {"cache": Path("runs/xferbench")}],
) -> None:
    """Score reference sources with XferBench: parentheses, noise, a human language, or no pretraining."""
    from ecsuite.eval.metrics.score import Options
    from ecsuite.eval.views.scorecard import Scorecard, describe
    from ecsuite.eval.xferbench.jobs import plan as plan_jobs
    from ecsuite.eval.xferbench.metric import own_options, score_source, study_of
    from ecsuite.eval.xferbench.presets import PRESETS, SOURCES
    from ecsuite.eval.xferbench.texts import BaselineSettings

    source, comma, after = name.partition(",")
    make_source = SOURCES.load(source)
    refuse_unread(source, [source], given_options(ctx), READS)
    own = own_options(f"xferbench{comma}{after}")
    of_metrics = Options(seed=seed, device=options.device)
    corpora = {
        each: make_source(
            BaselineSettings(preset=PRESETS[own.preset], protocol=own.protocol, seed=each, text=text)
        )
        for each in range(seed, seed + own.num_seeds)
    }
    study = study_of(corpora, of_metrics, own)
    if options.plan:
        options.print_plan(plan_jobs(study).values())
        return
    options.prepare_output()
    score = options.run(lambda runner: score_source(corpora, of_metrics, own, runner))
    known = {"source_path": source if text is None else f"{source} {text.name}"}
    corpus = corpora[seed]
    sizes_of = {} if corpus is None else describe(corpus)
    scorecard = Scorecard(corpus=known | sizes_of, scores=(score,))
    scorecard.publish(out=options.out, as_json=options.as_json, form=options.form)
