"""The command `xtreme`: does a body that has learnt a corpus help with tasks in human languages?"""

from pathlib import Path
from typing import Annotated

import typer

from ecsuite.commands.options import Device, Json, Out, Seeds, Workers
from ecsuite.config import ConfigError, look_up
from ecsuite.eval.reports.console import Reporter, make_room, require_matplotlib

ALL = "all"


def xtreme(
    corpus: Annotated[
        Path | None,
        typer.Argument(help="A run folder, a corpus.jsonl, or a file of another tool."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(help="Instead of a corpus: a Hugging Face encoder, a folder or a name on the hub."),
    ] = None,
    tasks: Annotated[
        str, typer.Option(help="Names separated by commas, or all that the data have.")
    ] = "udpos,panx",
    data: Annotated[
        Path | None,
        typer.Option(help="Folder of the tasks' data; what `ecsuite data xtreme` got if not given."),
    ] = None,
    languages: Annotated[
        str | None,
        typer.Option(
            help="Codes separated by commas, to be tested in beside English; the preset's if not given."
        ),
    ] = None,
    protocol: Annotated[
        str, typer.Option(help="adapt, monotrans, direct or in-language: how bodies meet languages.")
    ] = "adapt",
    preset: Annotated[str, typer.Option(help="mini, or full: the benchmark's own settings.")] = "mini",
    body: Annotated[str, typer.Option(help="decoder or encoder.")] = "decoder",
    texts: Annotated[
        Path | None,
        typer.Option(help="Folder of texts (en.txt.gz …) to learn languages from."),
    ] = None,
    human: Annotated[
        Path | None,
        typer.Option(help="A text of a human language, for one more control: .txt or .txt.gz."),
    ] = None,
    seeds: Seeds = None,
    folder: Annotated[
        Path, typer.Option(help="Folder of finished stages, which are not computed again.")
    ] = Path("runs/xtreme"),
    picture: Annotated[
        Path | None, typer.Option(help="Draw scores by family and by script: .svg or .png.")
    ] = None,
    baselines: Annotated[
        bool, typer.Option("--baselines", help="Only what needs no model, such as a lexicon of English tags.")
    ] = False,
    workers: Workers = None,
    out: Out = None,
    device: Device = "auto",
    as_json: Json = False,
) -> None:
    """Learn a corpus, meet human languages, and do XTREME's tasks in them, beside bodies that learnt other things."""
    if (corpus is not None) + (model is not None) + baselines != 1:
        raise ConfigError("give a corpus, --model for a published encoder, or --baselines")
    from ecsuite.commands.options import read_seeds
    from ecsuite.downloads.downloads import data_folder
    from ecsuite.eval.xtreme.presets import PRESETS
    from ecsuite.eval.xtreme.protocols import PROTOCOLS
    from ecsuite.eval.xtreme.scoring.tasks import TASKS
    from ecsuite.jobs.runner import num_cores

    look_up("preset", preset, PRESETS)
    look_up("protocol", protocol, PROTOCOLS)
    names = tuple(TASKS) if tasks == ALL else _names(tasks)
    for name in names:
        look_up("task", name, TASKS)
    for file in (out, picture):
        if file is not None:
            make_room(file)
    if picture is not None:
        require_matplotlib()
    folder_of_tasks = data or data_folder("xtreme")
    spoken = () if languages is None else _names(languages)
    if baselines:
        from ecsuite.eval.xtreme.scoring.baseline_report import baseline_report

        with Reporter() as reporter:
            found = baseline_report(folder_of_tasks, names, spoken, reporter.progress)
        found.publish(out=out, picture=None, as_json=as_json)
        return
    from ecsuite.eval.xtreme.experiment import xtreme_transfer
    from ecsuite.eval.xtreme.report import report
    from ecsuite.eval.xtreme.study import Request
    from ecsuite.formats import read_corpus

    with Reporter(kept=folder) as reporter:
        result = xtreme_transfer(
            Request(
                corpus=None if corpus is None else read_corpus(corpus),
                model=model,
                data=folder_of_tasks,
                tasks=names,
                skips_missing_tasks=tasks == ALL,
                languages=spoken,
                protocol=protocol,
                preset=preset,
                body=body,
                texts=texts,
                human=human,
                seeds=read_seeds(seeds, 0) or (),
                device=device,
                folder=folder,
                num_workers=workers or num_cores(),
                progress=reporter.progress,
            )
        )
    report(result).publish(out=out, picture=picture, as_json=as_json)


def _names(told: str) -> tuple[str, ...]:
    """What stands between commas."""
    return tuple(name.strip() for name in told.split(","))
