"""The command line: parse, call one function, print. Nothing heavy is imported before a command needs it."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from ecsuite.commands.baseline import baseline
from ecsuite.commands.cbm import cbm
from ecsuite.commands.compare import compare, correlate
from ecsuite.commands.data import data
from ecsuite.commands.icy import icy
from ecsuite.commands.options import Device, Json, Set
from ecsuite.commands.score import score
from ecsuite.commands.translate import translate
from ecsuite.commands.xtreme import xtreme
from ecsuite.commands.xtreme_evaluate import xtreme_evaluate
from ecsuite.config import ConfigError, DamagedError, load_experiment
from ecsuite.corpus import CorpusError
from ecsuite.eval.reports.console import Reporter, make_room, print_json
from ecsuite.file_formats import FormatError

app = typer.Typer(
    name="ecsuite",
    help="Train agents that invent languages, and measure the languages they invent.",
    epilog="Example: ecsuite train-game disc_small && ecsuite score runs/disc_small",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


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
    from ecsuite.games.training import train
    from ecsuite.games.worlds.text_files import fit_to_files

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
    from ecsuite.games.preview import show_rounds

    for line in show_rounds(experiment, file, num_rounds=rounds, split=split):
        print(line)
    print(f"Picture: {file}")


@app.command(
    epilog="Example: ecsuite features birds.npz --images photos && ecsuite train-game mu_cub --features birds.npz"
)
def features(
    out: Annotated[Path, typer.Argument(help="The npz file to write.")],
    images: Annotated[
        Path | None, typer.Option(help="Folder of images, or of a folder of images for each class.")
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option(
            help="What sees the images: a folder, or a name on Hugging Face's hub; a ResNet if not given."
        ),
    ] = None,
    device: Device = "auto",
    seed: Annotated[int, typer.Option(min=0, help="Seed of made-up features.")] = 0,
    num_classes: Annotated[int, typer.Option(help="Made-up classes.")] = 40,
    images_per_class: Annotated[int, typer.Option(help="Made-up rows a class.")] = 40,
    num_features: Annotated[int, typer.Option(help="Width of a made-up feature vector.")] = 64,
    num_attributes: Annotated[int, typer.Option(help="Attributes that a made-up row has or has not.")] = 16,
) -> None:
    """Write a feature file: what an encoder sees in your images or, to try games without data, one made up."""
    if out.suffix != ".npz":
        raise ConfigError(f"{out}: expected the name of a feature file, ending in .npz")
    if encoder is not None and images is None:
        raise ConfigError("--encoder goes with --images")
    make_room(out)
    from ecsuite.games.worlds.feature_files import synthetic_features, write_features

    if images is None:
        arrays = synthetic_features(seed, num_classes, images_per_class, num_features, num_attributes)
    else:
        from ecsuite.games.worlds.image_encoding import DEFAULT_ENCODER, encode_folder

        with Reporter() as reporter:
            arrays = encode_folder(
                images, encoder or DEFAULT_ENCODER, device=device, progress=reporter.progress
            )
    write_features(out, arrays)
    num_rows, width = arrays["features"].shape
    classes = f" of {arrays['class_id'].max() + 1:,} classes" if "class_id" in arrays else ""
    print(f"{num_rows:,} rows{classes}, {width:,} features each, in {out}")


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


app.command(epilog="Example: ecsuite score runs/disc_small/corpus.jsonl --metrics cbm,topsim")(score)
app.command(epilog="Example: ecsuite icy --model lstm --model husendz:dgsend --seeds 10 --out rows.json")(icy)
app.command(epilog="Example: ecsuite cbm paper/cbm_table1 --row thing_gs --row thing_qt --seeds 1")(cbm)
app.command(epilog="Example: ecsuite baseline human --text fr.txt.gz --out french.json")(baseline)
app.command(epilog="Example: ecsuite compare a.json b.json french.json --picture scores.svg")(compare)
app.command(
    epilog="Example: ecsuite correlate a.json b.json --translation a_mt.json --translation b_mt.json"
)(correlate)
app.command(epilog="Example: ecsuite translate runs/disc_small --pairs en-fr.tsv --setting full")(translate)
app.command(epilog="Example: ecsuite data wikipedia --languages da")(data)
app.command(epilog="Example: ecsuite xtreme runs/disc_small --tasks udpos,panx --data DIR")(xtreme)
app.command("xtreme-evaluate", epilog="Example: ecsuite xtreme-evaluate --predictions mine --labels labels")(
    xtreme_evaluate
)


@app.command("list", epilog="Example: ecsuite list --json")
def list_names(as_json: Json = False) -> None:
    """List every game, world, grammar, sender, receiver, channel, metric, study and preset, a line each."""
    from ecsuite.commands.list import registered_names

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
    except (ConfigError, CorpusError, FormatError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(2)
    except ArithmeticError as error:  # training that went astray, which is nobody's mistake in the input
        sys.stderr.write(f"{error}\n")
        sys.exit(1)
    except DamagedError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(3)


if __name__ == "__main__":
    main()
