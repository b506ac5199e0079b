"""`ecsuite score`: compute the metrics of a corpus."""

import sys
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
from ecsuite.config import ConfigError, look_up
from ecsuite.eval.reports.console import (
    Reporter,
    prepare_output_file,
    print_json,
    require_matplotlib,
    write_json,
)
from ecsuite.formats import read_corpus


def score(
    corpus: Annotated[Path, typer.Argument(help="A run folder, a corpus.jsonl, or a file of another tool.")],
    metrics: Annotated[str | None, typer.Option(help="Names separated by commas; default all.")] = None,
    preset: Preset = "mini",
    protocol: Protocol = "strict",
    targets: Targets = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of every random draw.")] = 0,
    seeds: Seeds = None,
    cache: Cache = CACHE,
    workers: Workers = None,
    pictures: Annotated[
        bool, typer.Option("--pictures", help="Draw pictures into the folder `pictures` beside the corpus.")
    ] = False,
    picture_folder: Annotated[Path | None, typer.Option(help="Draw pictures into this folder.")] = None,
    out: Out = None,
    device: Device = "auto",
    as_json: Json = False,
) -> None:
    """Score a corpus: sizes, entropies, compositionality, XferBench; a run folder keeps them in scores.json."""
    from ecsuite.eval.metrics import METRICS, load_metric
    from ecsuite.eval.metrics.score import Options
    from ecsuite.eval.reports.scorecard import read_scores, save_scores, score_corpus
    from ecsuite.eval.xferbench.presets import PRESETS
    from ecsuite.eval.xferbench.protocols import PROTOCOLS
    from ecsuite.eval.xferbench.texts import preset_folder
    from ecsuite.jobs.runner import num_cores

    names = list(METRICS.parts) if metrics is None else [name.strip() for name in metrics.split(",")]
    for name in names:
        load_metric(name)
    chosen = consecutive_seeds(seeds, seed)
    sizes = look_up("preset", preset, PRESETS)
    look_up("protocol", protocol, PROTOCOLS)
    if targets is not None and not targets.is_dir():
        raise ConfigError(f"--targets {targets}: no such folder")
    if out is not None:
        prepare_output_file(out)
    has_scores = corpus.is_dir() and (corpus / "metadata.json").is_file()
    if has_scores:
        read_scores(corpus / "scores.json")  # so that a newer format is refused before the computation
    draws = pictures or picture_folder is not None
    if draws:
        require_matplotlib()
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
        messages = read_corpus(corpus)
        scorecard = score_corpus(messages, names, options)
    data = scorecard.to_json()
    if out is not None:
        write_json(out, data)
    if has_scores:
        save_scores(corpus / "scores.json", data)
    if as_json:
        print_json(data)
    else:
        from rich.console import Console

        Console().print(scorecard.table())
    if draws:
        from ecsuite.eval.reports.corpus_plots import draw_score

        beside = corpus if corpus.is_dir() else corpus.parent
        drawn = draw_score(messages, picture_folder or beside / "pictures")
        nothing = "nothing to draw: the corpus has no concepts and is not in a run folder"
        line = f"Pictures: {', '.join(map(str, drawn))}" if drawn else nothing
        print(line, file=sys.stderr if as_json else sys.stdout)
