"""`ecsuite baseline`: XferBench scores of reference sources."""

from pathlib import Path
from typing import Annotated

import typer

from ecsuite.commands.options import (
    CACHE,
    Cache,
    Device,
    Json,
    Out,
    Preset,
    Protocol,
    Seeds,
    Targets,
    Workers,
    consecutive_seeds,
)
from ecsuite.config import look_up
from ecsuite.eval.reports.console import Reporter, prepare_output_file, print_json, write_json


def baseline(
    name: Annotated[
        str, typer.Argument(help="paren_synth, paren_real, random, no_pretrain or human.", show_default=False)
    ],
    text: Annotated[
        Path | None,
        typer.Option(help="The text of human and paren_real: one document per line, .txt or .txt.gz."),
    ] = None,
    preset: Preset = "mini",
    protocol: Protocol = "strict",
    targets: Targets = None,
    seed: Annotated[int, typer.Option(min=0, help="The first seed.")] = 0,
    seeds: Seeds = None,
    cache: Cache = CACHE,
    workers: Workers = None,
    out: Out = None,
    device: Device = "auto",
    as_json: Json = False,
) -> None:
    """Score reference sources with XferBench: parentheses, noise, a human language, or no pretraining."""
    from ecsuite.eval.metrics.score import Options
    from ecsuite.eval.reports.scorecard import Scorecard, describe
    from ecsuite.eval.xferbench.presets import PRESETS
    from ecsuite.eval.xferbench.protocols import PROTOCOLS
    from ecsuite.eval.xferbench.sources import Request, make_source
    from ecsuite.eval.xferbench.texts import preset_folder
    from ecsuite.eval.xferbench.transfer import score_source
    from ecsuite.jobs.runner import num_cores

    chosen = consecutive_seeds(seeds, seed)
    sizes = look_up("preset", preset, PRESETS)
    look_up("protocol", protocol, PROTOCOLS)
    if out is not None:
        prepare_output_file(out)
    with Reporter(cache_dir=cache) as reporter:
        options = Options(
            seed=chosen.start,
            num_seeds=len(chosen),
            preset=preset,
            protocol=protocol,
            targets=preset_folder(targets, sizes),
            cache=cache,
            num_workers=workers or num_cores(),
            device=device,
            progress=reporter.progress,
        )
        corpora = {
            each: make_source(name, Request(preset=sizes, protocol=protocol, seed=each, text=text))
            for each in chosen
        }
        score = score_source(corpora, options)
    known = {"source_path": name if text is None else f"{name} {text.name}"}
    corpus = corpora[chosen.start]
    sizes_of = {} if corpus is None else describe(corpus)
    scorecard = Scorecard(corpus=known | sizes_of, scores=(score,))
    if out is not None:
        write_json(out, scorecard.to_json())
    if as_json:
        print_json(scorecard.to_json())
    else:
        from rich.console import Console

        Console().print(scorecard.table())
