"""The command line: parse, call one function, print. Nothing heavy is imported before a command needs it."""

import json
import signal
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from ecsuite.config import ConfigError, DamagedError, load_experiment, look_up
from ecsuite.corpus import CorpusError
from ecsuite.eval.reporting import Reporter, make_room, print_json, require_matplotlib, write_json
from ecsuite.eval.xferbench.baseline_command import baseline
from ecsuite.eval.xferbench.compare_command import compare, correlate
from ecsuite.eval.xferbench.data_command import data
from ecsuite.formats import read_corpus

app = typer.Typer(
    name="ecsuite",
    help="Train agents that invent languages, and measure the languages they invent.",
    epilog="Example: ecsuite train-game disc_small && ecsuite score runs/disc_small",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

Json = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else, on standard output.")]
Device = Annotated[str, typer.Option(help="auto, cpu or cuda.")]
Seeds = Annotated[str | None, typer.Option(help="How many (10), a range (123-132) or a list (123,125).")]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change any setting; can be repeated."),
]
Out = Annotated[Path | None, typer.Option(help="Write the JSON to this file.")]
Workers = Annotated[int | None, typer.Option(min=1, help="Processes; one a core if not given.")]


@app.command(
    "train-game",
    epilog="Example: ecsuite train-game disc_small --set channel.temperature=2 --out runs/warm",
)
def train_game(
    game: Annotated[str, typer.Argument(help="A shipped experiment (see `ecsuite list`) or a YAML file.")],
    out: Annotated[Path | None, typer.Option(help="The run folder; runs/NAME if not given.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of weights, examples and noise.")] = None,
    sender: Annotated[str | None, typer.Option(help="Architecture of the sender.")] = None,
    receiver: Annotated[str | None, typer.Option(help="Architecture of the receiver.")] = None,
    epochs: Annotated[int | None, typer.Option(help="Passes over the training examples.")] = None,
    batch_size: Annotated[int | None, typer.Option(help="Examples a step.")] = None,
    until_accuracy: Annotated[
        float | None, typer.Option(help="Stop at this validation accuracy, 0 to 1.")
    ] = None,
    max_minutes: Annotated[float | None, typer.Option(help="Stop after so many minutes.")] = None,
    train_data: Annotated[str | None, typer.Option(help="Text file of training examples.")] = None,
    valid_data: Annotated[str | None, typer.Option(help="Text file of validation examples.")] = None,
    features: Annotated[
        str | None, typer.Option(help="The npz file of world features; `ecsuite features` makes one up.")
    ] = None,
    assign: Set = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the run folder's newest checkpoint.")
    ] = False,
    device: Device = "auto",
    as_json: Json = False,
) -> None:
    """Train a sender and a receiver on a game, and write what the sender says as a corpus."""
    options = {
        "training.seed": seed,
        "sender.architecture": sender,
        "receiver.architecture": receiver,
        "training.num_epochs": epochs,
        "training.batch_size": batch_size,
        "training.until_accuracy": until_accuracy,
        "training.max_minutes": max_minutes,
        "world.train_data": train_data,
        "world.valid_data": valid_data,
        "world.features": features,
    }
    given = [f"{key}={json.dumps(value)}" for key, value in options.items() if value is not None]
    experiment = load_experiment(game, [*(assign or []), *given])
    from ecsuite.games.text_files import fit_to_files
    from ecsuite.games.training import train

    folder = out or Path("runs") / experiment.name
    with Reporter() as reporter:
        result = train(
            fit_to_files(experiment),
            folder,
            resume=resume,
            device=device,
            progress=reporter.progress,
            note=reporter.note,
        )
    if as_json:
        print_json({"folder": str(folder), **asdict(result)})
    else:
        print(result.summary())
        if result.stopped != "preempted":
            print(f"Corpus in {folder}; next: ecsuite score {folder / 'corpus.jsonl'}")
    if result.stopped == "preempted":
        raise typer.Exit(75)


@app.command(epilog="Example: ecsuite score runs/disc_small/corpus.jsonl --metrics cbm,topsim")
def score(
    corpus: Annotated[Path, typer.Argument(help="A run folder, a corpus.jsonl, or a file of another tool.")],
    metrics: Annotated[str | None, typer.Option(help="Names separated by commas; all if not given.")] = None,
    preset: Annotated[
        str, typer.Option(help="How much compute XferBench spends: mini, danish or full.")
    ] = "mini",
    protocol: Annotated[
        str, typer.Option(help="XferBench's: strict, published-2024 or head-2024-12.")
    ] = "strict",
    targets: Annotated[
        Path | None,
        typer.Option(help="Folder of texts (da.txt.gz …) for XferBench instead of embedded languages."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of every random draw.")] = 0,
    num_seeds: Annotated[int, typer.Option("--seeds", min=1, help="How many seeds for XferBench.")] = 1,
    cache: Annotated[
        Path, typer.Option(help="Folder of XferBench's finished stages, which are not computed again.")
    ] = Path("runs/xferbench"),
    workers: Workers = None,
    plot: Annotated[
        bool, typer.Option("--plot", help="Draw it, too: into the folder `pictures` beside the corpus.")
    ] = False,
    plot_folder: Annotated[Path | None, typer.Option(help="Draw it, too, into this folder.")] = None,
    out: Out = None,
    device: Device = "auto",
    as_json: Json = False,
) -> None:
    """Measure a corpus: sizes, entropies, compositionality, XferBench."""
    from ecsuite.eval import METRICS, load_metric
    from ecsuite.eval.icy.study import num_cores
    from ecsuite.eval.score import Options
    from ecsuite.eval.scorecard import score_corpus
    from ecsuite.eval.xferbench.presets import PRESETS
    from ecsuite.eval.xferbench.protocols import PROTOCOLS
    from ecsuite.eval.xferbench.texts import preset_folder

    names = list(METRICS) if metrics is None else [name.strip() for name in metrics.split(",")]
    for name in names:
        load_metric(name)
    sizes = look_up("preset", preset, PRESETS)
    look_up("protocol", protocol, PROTOCOLS)
    if targets is not None and not targets.is_dir():
        raise ConfigError(f"--targets {targets}: no such folder")
    if out is not None:
        make_room(out)
    draws = plot or plot_folder is not None
    if draws:
        require_matplotlib()
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
        said = read_corpus(corpus)
        scorecard = score_corpus(said, names, options)
    data = scorecard.to_json()
    if out is not None:
        write_json(out, data)
    if as_json:
        print_json(data)
    else:
        from rich.console import Console

        Console().print(scorecard.table())
    if draws:
        from ecsuite.eval.drawing import draw_score

        beside = corpus if corpus.is_dir() else corpus.parent
        drawn = draw_score(said, plot_folder or beside / "pictures")
        nothing = "nothing to draw: the corpus names no concepts, and is not in the folder of a run"
        told = f"Pictures: {', '.join(map(str, drawn))}" if drawn else nothing
        print(told, file=sys.stderr if as_json else sys.stdout)


@app.command(epilog="Example: ecsuite icy --model lstm --model husendz:dgsend --seeds 10 --out rows.json")
def icy(
    study: Annotated[
        str | None, typer.Argument(help="A shipped study such as paper/icy_table3, or a YAML file.")
    ] = None,
    model: Annotated[
        list[str] | None, typer.Option(help="An agent (see `ecsuite list`), with options; can be repeated.")
    ] = None,
    role: Annotated[str | None, typer.Option(help="What the models are: sender or receiver.")] = None,
    receiver: Annotated[
        list[str] | None, typer.Option(help="The receiver of end-to-end; can be repeated.")
    ] = None,
    protocol: Annotated[str | None, typer.Option(help="exact, paper, budget, end-to-end or metrics.")] = None,
    channel: Annotated[
        list[str] | None,
        typer.Option(help="soft, gumbel or reinforce, for budget and end-to-end; can be repeated."),
    ] = None,
    grammar: Annotated[
        list[str] | None, typer.Option(help="Instead of perm, proj, rot, shufdet, hol; can be repeated.")
    ] = None,
    seeds: Seeds = None,
    target: Annotated[float | None, typer.Option(help="Accuracy that counts as acquired.")] = None,
    cap: Annotated[float | None, typer.Option(help="Give up at so many times CONCAT's updates.")] = None,
    max_steps: Annotated[int | None, typer.Option(help="Most updates, for budget and end-to-end.")] = None,
    clip: Annotated[float | None, typer.Option(help="Clip gradients to this norm.")] = None,
    held_out: Annotated[
        float | None, typer.Option(help="Keep this share of meanings from training, and ask for them.")
    ] = None,
    precision: Annotated[str | None, typer.Option(help="fp32 or bf16.")] = None,
    early_verdict: Annotated[
        bool | None, typer.Option("--early-verdict", help="Give up hopeless runs at a quarter of the cap.")
    ] = None,
    hidden_size: Annotated[int | None, typer.Option(help="Width of states and embeddings.")] = None,
    num_attributes: Annotated[int | None, typer.Option(help="Attributes of a meaning.")] = None,
    num_values: Annotated[int | None, typer.Option(help="Values of an attribute.")] = None,
    word_length: Annotated[int | None, typer.Option(help="Symbols of a word.")] = None,
    vocab_size: Annotated[int | None, typer.Option(help="Content symbols.")] = None,
    out: Out = None,
    picture: Annotated[Path | None, typer.Option(help="Draw a PNG, where there is one to draw.")] = None,
    save_corpora: Annotated[
        Path | None, typer.Option(help="Folder for what each trained sender says of all meanings.")
    ] = None,
    cache: Annotated[
        Path | None, typer.Option(help="Folder of finished runs, which are not computed again.")
    ] = None,
    workers: Workers = None,
    device: Device = "cpu",
    as_json: Json = False,
) -> None:
    """Measure how fast agents learn artificial grammars: the ICY benchmark of compositional bias."""
    from ecsuite.eval.icy.study import load_study, num_cores, read_seeds

    config = load_study(
        study,
        {
            "models": model or None,
            "role": role,
            "receivers": receiver or None,
            "protocol": protocol,
            "channels": channel or None,
            "grammars": grammar or None,
            "seeds": read_seeds(seeds),
            "target": target,
            "cap_ratio": cap,
            "max_steps": max_steps,
            "clip": clip,
            "held_out": held_out,
            "precision": precision,
            "early_verdict": early_verdict,
            "hidden_size": hidden_size,
            "num_attributes": num_attributes,
            "num_values": num_values,
            "word_length": word_length,
            "vocab_size": vocab_size,
        },
    )
    for file in (out, picture):
        if file is not None:
            make_room(file)
    if picture is not None and not config.has_picture:
        raise ConfigError(
            "--picture: only --protocol metrics, and end-to-end with one model and one channel, have one"
        )
    if save_corpora is not None:
        if not config.speaks:
            raise ConfigError(
                "--save-corpora: only trained senders of --protocol exact or paper say something; leave it out"
            )
        if cache is not None:
            raise ConfigError("--save-corpora keeps its results beside the corpora; leave out --cache")
    from ecsuite.agents.precision import choose_device
    from ecsuite.eval.icy.measuring import measure

    chosen = choose_device(device).type
    kept = save_corpora / "results" if save_corpora is not None else cache or Path("runs") / "icy"
    with Reporter() as reporter:
        try:
            report = measure(
                config,
                num_workers=workers or (num_cores() if chosen == "cpu" else 1),
                device=chosen,
                folder=kept,
                save_corpora=save_corpora,
                progress=reporter.progress,
            )
        except KeyboardInterrupt:
            reporter.note(
                f"stopped; finished runs are kept in {kept}, and the same command goes on from there"
            )
            raise
    report.publish(out=out, picture=picture, as_json=as_json)


@app.command(epilog="Example: ecsuite cbm paper/cbm_table1 --row thing_gs --row thing_qt --seeds 1")
def cbm(
    study: Annotated[str, typer.Argument(help="A shipped study such as paper/cbm_table1, or a YAML file.")],
    seeds: Seeds = None,
    row: Annotated[
        list[str] | None, typer.Option(help="Only this row of the study; can be repeated.")
    ] = None,
    assign: Set = None,
    out: Out = None,
    picture: Annotated[
        Path | None, typer.Option(help="Draw the match against the number of samples: .svg or .png.")
    ] = None,
    folder: Annotated[
        Path, typer.Option(help="Folder of runs; those that are finished are not trained again.")
    ] = Path("runs/cbm"),
    workers: Workers = None,
    device: Device = "auto",
    as_json: Json = False,
) -> None:
    """Train the games of the CBM paper and measure their languages, beside the published tables."""
    from ecsuite.eval.cbm_study.study import FIRST_SEED, load_study
    from ecsuite.eval.icy.study import num_cores, read_seeds

    chosen = load_study(study, seeds=read_seeds(seeds, FIRST_SEED), rows=row or (), assignments=assign or ())
    if picture is not None and picture.suffix not in (".svg", ".png"):
        raise ConfigError(f"{picture}: expected the name of a picture, ending in .svg or .png")
    for file in (out, picture):
        if file is not None:
            make_room(file)
    if picture is not None:
        require_matplotlib()
    from ecsuite.agents.precision import choose_device
    from ecsuite.eval.cbm_study.measuring import measure_rows
    from ecsuite.eval.cbm_study.report import report
    from ecsuite.eval.workshop import Workshop

    place = choose_device(device).type
    processes = workers or (num_cores() if place == "cpu" else 1)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(75))  # runs in training leave a checkpoint behind
    with Reporter() as reporter:
        try:
            with Workshop(
                num_workers=processes, folder=folder / "results", progress=reporter.progress
            ) as workshop:
                rows = measure_rows(chosen, workshop=workshop, folder=folder, device=place)
        except (KeyboardInterrupt, SystemExit):
            reporter.note(
                f"stopped; what is done is kept in {folder}, and the same command goes on from there"
            )
            raise
    report(chosen, rows).publish(out=out, picture=picture, as_json=as_json)


@app.command(epilog="Example: ecsuite show shape_qt --out sheet.png --set world.rule_length=2")
def show(
    game: Annotated[str, typer.Argument(help="A shipped experiment (see `ecsuite list`) or a YAML file.")],
    out: Annotated[
        Path | None, typer.Option(help="The picture, .png or .svg; GAME.png if not given.")
    ] = None,
    rounds: Annotated[int, typer.Option(help="Rounds to draw.")] = 2,
    split: Annotated[str, typer.Option(help="train, valid, test or seen.")] = "train",
    assign: Set = None,
) -> None:
    """Draw a few rounds of a game about sets of objects: targets above distractors, and the rule."""
    experiment = load_experiment(game, assign or [])
    file = out or Path(f"{experiment.name}.png")
    make_room(file)
    from ecsuite.games.showing import show_rounds

    for line in show_rounds(experiment, file, num_rounds=rounds, split=split):
        print(line)
    print(f"Picture: {file}")


@app.command(epilog="Example: ecsuite features cub.npz && ecsuite train-game mu_cub --features cub.npz")
def features(
    out: Annotated[Path, typer.Argument(help="The npz file to write.")],
    seed: Annotated[int, typer.Option(min=0, help="Seed of every random draw.")] = 0,
    num_classes: Annotated[int, typer.Option(help="Classes.")] = 40,
    images_per_class: Annotated[int, typer.Option(help="Rows a class.")] = 40,
    num_features: Annotated[int, typer.Option(help="Width of a feature vector.")] = 64,
    num_attributes: Annotated[int, typer.Option(help="Attributes that a row has or has not.")] = 16,
) -> None:
    """Write a feature file made from nothing, to try the games on feature files without data."""
    if out.suffix != ".npz":
        raise ConfigError(f"{out}: expected the name of a feature file, ending in .npz")
    make_room(out)
    from ecsuite.games.feature_files import synthetic_features, write_features

    arrays = synthetic_features(seed, num_classes, images_per_class, num_features, num_attributes)
    write_features(out, arrays)
    print(f"{len(arrays['features']):,} rows of {num_classes} classes in {out}")


@app.command(epilog="Example: ecsuite grammar shufdet --out runs/shufdet && ecsuite score runs/shufdet")
def grammar(
    name: Annotated[
        str, typer.Argument(help="A grammar (see `ecsuite list`), a chain (rot+perm), options after commas.")
    ],
    out: Annotated[Path | None, typer.Option(help="The corpus's folder; runs/NAME if not given.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of every random draw.")] = 0,
    num_attributes: Annotated[
        int | None, typer.Option(help="Attributes of a meaning; 5 if not given.")
    ] = None,
    num_values: Annotated[int | None, typer.Option(help="Values of an attribute; 10 if not given.")] = None,
    word_length: Annotated[int | None, typer.Option(help="Symbols of a word; 4 if not given.")] = None,
    vocab_size: Annotated[
        int | None, typer.Option(help="Content symbols; 4 if not given, 30000 without meanings.")
    ] = None,
    num_symbols: Annotated[
        int | None, typer.Option(help="Symbols said in all, without meanings; a million if not given.")
    ] = None,
    text: Annotated[
        Path | None, typer.Option(help="Text or corpus whose frequencies text_parentheses takes.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Write an artificial language as a corpus, with meanings where it has them."""
    from ecsuite.formats import write_corpus
    from ecsuite.grammars import make_corpus

    corpus = make_corpus(
        name,
        seed=seed,
        num_attributes=num_attributes,
        num_values=num_values,
        word_length=word_length,
        vocab_size=vocab_size,
        num_symbols=num_symbols,
        text=text,
    )
    folder = out or Path("runs") / corpus.metadata["grammar"]
    write_corpus(corpus, folder)
    if as_json:
        print_json({"folder": str(folder), "num_messages": len(corpus.messages), **corpus.metadata})
    else:
        print(f"{len(corpus.messages):,} messages in {folder} ({corpus.metadata['signature']})")
        print(f"Next: ecsuite score {folder}")


app.command(epilog="Example: ecsuite baseline human --text fr.txt.gz --out french.json")(baseline)
app.command(epilog="Example: ecsuite compare a.json b.json french.json --picture scores.svg")(compare)
app.command(
    epilog="Example: ecsuite correlate a.json b.json --translation a_mt.json --translation b_mt.json"
)(correlate)
app.command(epilog="Example: ecsuite data wikipedia --languages da")(data)


@app.command("list", epilog="Example: ecsuite list --json")
def list_names(as_json: Json = False) -> None:
    """List every game, world, grammar, sender, receiver, channel, metric, study and preset, a line each."""
    from ecsuite.eval.names import registered_names

    names = registered_names()
    if as_json:
        print_json(names)
        return
    for kind, entries in names.items():
        print(kind)
        for name, about in entries.items():
            print(f"  {name:23}{about}")


def main() -> None:
    """Run the command line. Exit codes: 0 done, 1 bug, 2 user input, 3 damaged state, 75 preempted."""
    try:
        app()
    except (ConfigError, CorpusError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(2)
    except DamagedError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(3)


if __name__ == "__main__":
    main()
