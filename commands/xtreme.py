"""The command `xtreme`: does pretraining on a corpus help with tasks in human languages?"""

from pathlib import Path
from typing import Annotated

import typer

from ecsuite.commands.completion import OneOf, names_of
from ecsuite.commands.options import (
    CorpusOptions,
    Plot,
    Seeds,
    StudyOptions,
    advanced,
    given_options,
    names_in,
    read_seeds,
)
from ecsuite.eval.views.console import Reporter
from ecsuite.eval.views.figures.canvas import prepare_picture
from ecsuite.parts.config import refuse_unread
from ecsuite.runtime.errors import ConfigError

ALL = "all"
BACKBONES = OneOf("decoder", "encoder")
_TUNING = ("preset", "predictions", "seeds", "cache", "plot", "plan", "workers", "on", "slurm", "device")
READS = {
    "CORPUS": (*_TUNING, "protocol", "backbone", "texts", "human"),
    "--model": (*_TUNING, "protocol"),
    "--baselines": (),
}
"""Additional options that each kind of evaluation uses."""


def xtreme(
    ctx: typer.Context,
    corpus: Annotated[
        Path | None, typer.Argument(help="A run folder, a corpus.jsonl, or a file of another tool.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="ENCODER",
            help="Instead of a corpus: a Hugging Face encoder, as a folder or a name on the hub.",
        ),
    ] = None,
    tasks: Annotated[
        str,
        typer.Option(metavar="NAMES", help="Names separated by commas, or all: all tasks with data."),
        names_of("xtreme tasks"),
    ] = "udpos,panx",
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Folder of the tasks' data; default the folder of `ecsuite data xtreme`."
        ),
    ] = None,
    languages: Annotated[
        str | None,
        advanced(
            metavar="CODES",
            help="Codes of test languages in addition to English, separated by commas; default the preset's.",
        ),
    ] = None,
    protocol: Annotated[
        str | None,
        typer.Option(
            help="Training before and in a task, such as adapt (default) or translate-train; see "
            "`ecsuite list xtreme-protocols`."
        ),
        names_of("xtreme protocols"),
    ] = None,
    preset: Annotated[
        str, typer.Option(help="mini, or full: the benchmark's own settings."), names_of("xtreme presets")
    ] = "mini",
    backbone: Annotated[str, advanced(help=f"Model to pretrain: {BACKBONES}."), BACKBONES] = "decoder",
    texts: Annotated[
        Path | None,
        advanced(metavar="FOLDER", help="Folder of training texts of the languages (en.txt.gz …)."),
    ] = None,
    human: Annotated[
        Path | None,
        advanced(
            metavar="FILE", help="A text in a human language, for an additional control: .txt or .txt.gz."
        ),
    ] = None,
    seeds: Seeds = None,
    plot: Plot = None,
    predictions: Annotated[
        Path | None,
        advanced(
            metavar="FOLDER",
            help="Write predictions and labels of the first seed to this folder, for `ecsuite xtreme evaluate`.",
        ),
    ] = None,
    baselines: Annotated[
        bool,
        typer.Option("--baselines", help="Only score baselines without a model, such as a lexicon of tags."),
    ] = False,
    *,
    read_with: CorpusOptions,
    options: Annotated[StudyOptions, {"cache": Path("runs/xtreme")}],
) -> None:
    """Pretrain on a corpus, train on human languages, and evaluate on XTREME's tasks, with controls."""
    if (corpus is not None) + (model is not None) + baselines != 1:
        raise ConfigError("give a corpus, --model for a published encoder, or --baselines")
    source = "--baselines" if baselines else "CORPUS" if model is None else "--model"
    refuse_unread(source, [source], given_options(ctx), READS)
    if corpus is None:
        read_with.require_unset(source)
    from ecsuite.eval.xtreme.scoring.tasks import TASKS
    from ecsuite.files.data_folder import data_folder

    names = tuple(TASKS) if tasks == ALL else names_in(tasks)
    if plot is not None:
        prepare_picture(plot)
    options.prepare_output()
    folder_of_tasks = data or data_folder("xtreme")
    test_languages = () if languages is None else names_in(languages)
    from ecsuite.eval.xtreme.study import make_study, require_names

    require_names(
        names,
        test_languages,
        protocol=protocol,
        preset=preset,
        body=backbone,
        has_model=model is not None,
    )
    if baselines:
        from ecsuite.eval.xtreme.scoring.evaluation import baseline_report

        with Reporter(quiet=options.quiet) as reporter:
            baseline = baseline_report(folder_of_tasks, names, test_languages, reporter.progress)
        baseline.publish(out=options.out, picture=None, as_json=options.as_json, form=options.form)
        return
    from ecsuite.eval.xtreme.report import Xtreme

    study = make_study(
        None if corpus is None else read_with.read(corpus),
        folder_of_tasks,
        names,
        skips_missing_tasks=tasks == ALL,
        model=model,
        languages=test_languages,
        protocol=protocol,
        preset=preset,
        body=backbone,
        texts=texts,
        human=human,
        seeds=read_seeds(seeds, 0) or (),
        device=options.device,
        predictions=predictions,
    )
    options.publish(Xtreme(), study, plot=plot)
