"""The command `baseline`: XferBench of the sources that corpora are held against."""

from pathlib import Path
from typing import Annotated

import typer

from ecsuite.config import look_up
from ecsuite.eval.reporting import Reporter, make_room, print_json, write_json


def baseline(
    name: Annotated[
        str, typer.Argument(help="paren_synth, paren_real, random, no_pretrain or human.", show_default=False)
    ],
    text: Annotated[
        Path | None,
        typer.Option(help="The text of human and paren_real: a document a line, .txt or .txt.gz."),
    ] = None,
    preset: Annotated[str, typer.Option(help="How much compute: mini, danish or full.")] = "mini",
    protocol: Annotated[str, typer.Option(help="strict, published-2024 or head-2024-12.")] = "strict",
    targets: Annotated[
        Path | None, typer.Option(help="Folder of texts (da.txt.gz …) instead of what the preset has.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="The first seed.")] = 0,
    num_seeds: Annotated[int, typer.Option("--seeds", min=1, help="How many seeds.")] = 1,
    cache: Annotated[
        Path, typer.Option(help="Folder of finished stages, which are not computed again.")
    ] = Path("runs/xferbench"),
    workers: Annotated[int | None, typer.Option(min=1, help="Processes; one a core if not given.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write the JSON to this file.")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON, and nothing else, on standard output.")
    ] = False,
) -> None:
    """Measure by XferBench what corpora are held against: parentheses, noise, a human language, or nothing."""
    from ecsuite.eval.icy.study import num_cores
    from ecsuite.eval.score import Options
    from ecsuite.eval.scorecard import Scorecard
    from ecsuite.eval.xferbench.presets import PRESETS
    from ecsuite.eval.xferbench.protocols import PROTOCOLS
    from ecsuite.eval.xferbench.sources import Request, make_source
    from ecsuite.eval.xferbench.texts import preset_folder
    from ecsuite.eval.xferbench.transfer import score_source

    sizes = look_up("preset", preset, PRESETS)
    look_up("protocol", protocol, PROTOCOLS)
    if out is not None:
        make_room(out)
    request = Request(preset=sizes, protocol=protocol, seed=seed, text=text)
    with Reporter() as reporter:
        options = Options(
            seed=seed,
            num_seeds=num_seeds,
            preset=preset,
            protocol=protocol,
            targets=preset_folder(targets, sizes),
            cache=cache,
            num_workers=workers or num_cores(),
            device=device,
            progress=reporter.progress,
        )
        score = score_source(make_source(name, request), options)
    known = {"source_path": name} if text is None else {"source_path": f"{name} {text.name}"}
    scorecard = Scorecard(corpus=known, scores=(score,))
    if out is not None:
        write_json(out, scorecard.to_json())
    if as_json:
        print_json(scorecard.to_json())
    else:
        from rich.console import Console

        Console().print(scorecard.table())
