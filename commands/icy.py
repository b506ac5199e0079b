"""`ecsuite icy`: how fast agents learn artificial grammars."""

from pathlib import Path
from typing import Annotated

import typer

from ecsuite.commands.options import Device, Json, Out, Seeds, Workers
from ecsuite.config import ConfigError
from ecsuite.eval.reports.console import Reporter, prepare_output_file


def icy(
    study: Annotated[
        str | None, typer.Argument(help="A shipped study such as paper/icy_table3, or a YAML file.")
    ] = None,
    model: Annotated[
        list[str] | None, typer.Option(help="An agent (see `ecsuite list`), with options; can be repeated.")
    ] = None,
    role: Annotated[str | None, typer.Option(help="Role of the models: sender or receiver.")] = None,
    receiver: Annotated[
        list[str] | None, typer.Option(help="Receivers of protocol end-to-end; can be repeated.")
    ] = None,
    protocol: Annotated[str | None, typer.Option(help="exact, paper, budget, end-to-end or metrics.")] = None,
    channel: Annotated[
        list[str] | None,
        typer.Option(help="soft, gumbel or reinforce, for budget and end-to-end; can be repeated."),
    ] = None,
    grammar: Annotated[
        list[str] | None,
        typer.Option(help="Grammars to learn; default perm, proj, rot, shufdet, hol; can be repeated."),
    ] = None,
    seeds: Seeds = None,
    target: Annotated[float | None, typer.Option(help="Accuracy that counts as acquired.")] = None,
    cap: Annotated[
        float | None, typer.Option(help="Stop a run after this multiple of the updates that CONCAT took.")
    ] = None,
    max_steps: Annotated[
        int | None, typer.Option(help="Maximum number of updates, for budget and end-to-end.")
    ] = None,
    clip: Annotated[float | None, typer.Option(help="Clip gradients to this norm.")] = None,
    held_out: Annotated[
        float | None, typer.Option(help="Hold out this share of the meanings, and test on them.")
    ] = None,
    precision: Annotated[str | None, typer.Option(help="fp32 or bf16.")] = None,
    early_stop: Annotated[
        bool | None,
        typer.Option("--early-stop", help="Stop runs without progress at a quarter of the cap."),
    ] = None,
    hidden_size: Annotated[int | None, typer.Option(help="Width of states and embeddings.")] = None,
    num_attributes: Annotated[int | None, typer.Option(help="Attributes of a meaning.")] = None,
    num_values: Annotated[int | None, typer.Option(help="Values of an attribute.")] = None,
    word_length: Annotated[int | None, typer.Option(help="Symbols of a word.")] = None,
    vocab_size: Annotated[int | None, typer.Option(help="Content symbols.")] = None,
    out: Out = None,
    picture: Annotated[
        Path | None, typer.Option(help="Draw a PNG; protocols metrics and end-to-end only.")
    ] = None,
    save_corpora: Annotated[
        Path | None,
        typer.Option(help="Write each trained sender's messages for all meanings into this folder."),
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(help="Folder of finished runs, which are not computed again; default runs/icy."),
    ] = None,
    workers: Workers = None,
    device: Device = "cpu",
    as_json: Json = False,
) -> None:
    """Measure how fast agents learn artificial grammars: the ICY benchmark of compositional bias."""
    from ecsuite.commands.options import read_seeds
    from ecsuite.eval.icy.study import FIRST_SEED, load_study
    from ecsuite.jobs.runner import num_cores

    config = load_study(
        study,
        {
            "models": model or None,
            "role": role,
            "receivers": receiver or None,
            "protocol": protocol,
            "channels": channel or None,
            "grammars": grammar or None,
            "seeds": read_seeds(seeds, FIRST_SEED),
            "target": target,
            "cap_ratio": cap,
            "max_steps": max_steps,
            "clip": clip,
            "held_out": held_out,
            "precision": precision,
            "early_verdict": early_stop,
            "hidden_size": hidden_size,
            "num_attributes": num_attributes,
            "num_values": num_values,
            "word_length": word_length,
            "vocab_size": vocab_size,
        },
    )
    for file in (out, picture):
        if file is not None:
            prepare_output_file(file)
    if picture is not None and not config.has_picture:
        raise ConfigError(
            "--picture: expected --protocol metrics, or end-to-end with one model and one channel"
        )
    if save_corpora is not None:
        if not config.can_save_corpora:
            raise ConfigError("--save-corpora: expected senders and --protocol exact or paper")
        if cache is not None:
            raise ConfigError(
                "--save-corpora: cannot be combined with --cache, results are saved beside the corpora"
            )
    from ecsuite.devices import choose_device
    from ecsuite.eval.icy.measuring import measure

    chosen = choose_device(device).type
    kept = save_corpora / "results" if save_corpora is not None else cache or Path("runs") / "icy"
    with Reporter(cache_dir=kept) as reporter:
        report = measure(
            config,
            num_workers=workers or (num_cores() if chosen == "cpu" else 1),
            device=chosen,
            folder=kept,
            save_corpora=save_corpora,
            progress=reporter.progress,
        )
    report.publish(out=out, picture=picture, as_json=as_json)
