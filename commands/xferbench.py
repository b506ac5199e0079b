"""`ecsuite xferbench`: the sources of the XferBench paper, with its tables and figures."""

from pathlib import Path
from typing import Annotated

import typer

from ecsuite.commands.completion import names_of
from ecsuite.commands.options import Plot, Seeds, StudyOptions, read_seeds
from ecsuite.runtime.errors import ConfigError


def xferbench(
    study: Annotated[
        str,
        typer.Argument(help="A shipped study, paper/xferbench_main, or a YAML file."),
        names_of("studies"),
    ] = "paper/xferbench_main",
    targets: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Target texts, da.txt.gz, ...; default the preset's artificial texts."
        ),
    ] = None,
    texts: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Texts of sources, fr.txt.gz, ...; default the folder of --targets."
        ),
    ] = None,
    corpus: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=PATH", help="The corpus of a source, or an additional corpus; can be repeated."
        ),
    ] = None,
    source: Annotated[
        list[str] | None, typer.Option(help="Only this source of the study; can be repeated.")
    ] = None,
    preset: Annotated[
        str | None, typer.Option(help="A preset to use instead of the study's."), names_of("presets")
    ] = None,
    seeds: Seeds = None,
    translation: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="JSON of `ecsuite translate` instead of the paper's scores; can be repeated.",
        ),
    ] = None,
    figure: Annotated[int, typer.Option(min=2, max=3, help="Figure of the paper that --plot draws.")] = 2,
    plot: Plot = None,
    *,
    options: Annotated[StudyOptions, {"cache": Path("runs/xferbench_main")}],
) -> None:
    """Score the sources of the XferBench paper, and show the scores next to its tables."""
    from ecsuite.eval.experiments.study import FIRST_SEED
    from ecsuite.eval.experiments.xferbench import PaperFiles, load_paper
    from ecsuite.eval.experiments.xferbench_tables import PaperTables
    from ecsuite.eval.xferbench.correlation import read_translation

    corpora = {}
    for each in corpus or ():
        name, equals, path = each.partition("=")
        if not name or not equals or not path:
            raise ConfigError(f"--corpus {each}: expected NAME=PATH, such as Yao+=corpus.jsonl")
        corpora[name] = Path(path)
    asked = load_paper(
        study,
        PaperFiles(
            targets=targets,
            texts=texts,
            corpora=corpora,
            translation={
                title: read_translation(translation, key)
                for title, key in (("chrF", "chrf"), ("BLEU", "bleu"))
            }
            if translation
            else None,
        ),
        folder=options.cache / "runs",
        preset=preset,
        seeds=read_seeds(seeds, FIRST_SEED),
        names=source or (),
        device=options.device,
    )
    options.publish(PaperTables(folder=options.cache, figure=figure), asked, plot=plot)
