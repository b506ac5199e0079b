"""The command line: parse, call one function, print. Nothing heavy is imported before a command needs it."""

import inspect
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ecsuite.config import ConfigError, DamagedError, load_experiment, look_up, named_configs
from ecsuite.corpus import CorpusError, write_atomically
from ecsuite.formats import read_corpus

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

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
    until_accuracy: Annotated[
        float | None, typer.Option(help="Stop at this validation accuracy, 0 to 1.")
    ] = None,
    max_minutes: Annotated[float | None, typer.Option(help="Stop after so many minutes.")] = None,
    train_data: Annotated[str | None, typer.Option(help="Text file of training examples.")] = None,
    valid_data: Annotated[str | None, typer.Option(help="Text file of validation examples.")] = None,
    assign: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change any setting; can be repeated."),
    ] = None,
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
        "training.until_accuracy": until_accuracy,
        "training.max_minutes": max_minutes,
        "world.train_data": train_data,
        "world.valid_data": valid_data,
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
    preset: Annotated[str, typer.Option(help="How much compute XferBench spends.")] = "mini",
    targets: Annotated[
        Path | None,
        typer.Option(help="Folder of texts (da.txt.gz …) for XferBench instead of embedded languages."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of every random draw.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Write the JSON to this file.")] = None,
    device: Device = "auto",
    as_json: Json = False,
) -> None:
    """Measure a corpus: sizes, entropies, compositionality, XferBench."""
    from ecsuite.eval import METRICS, load_metric
    from ecsuite.eval.score import Options
    from ecsuite.eval.scorecard import score_corpus
    from ecsuite.eval.xferbench.presets import PRESETS

    names = list(METRICS) if metrics is None else [name.strip() for name in metrics.split(",")]
    for name in names:
        load_metric(name)
    look_up("preset", preset, PRESETS)
    if targets is not None and not targets.is_dir():
        raise ConfigError(f"--targets {targets}: no such folder")
    if out is not None:
        make_room(out)
    with Reporter() as reporter:
        options = Options(
            seed=seed, preset=preset, targets=targets, device=device, progress=reporter.progress
        )
        scorecard = score_corpus(read_corpus(corpus), names, options)
    data = scorecard.to_json()
    if out is not None:
        write_json(out, data)
    if as_json:
        print_json(data)
    else:
        from rich.console import Console

        Console().print(scorecard.table())


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
    seeds: Annotated[
        str | None, typer.Option(help="How many (10), a range (123-132) or a list (123,125).")
    ] = None,
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
    out: Annotated[Path | None, typer.Option(help="Write the JSON to this file.")] = None,
    picture: Annotated[Path | None, typer.Option(help="Draw a PNG, where there is one to draw.")] = None,
    save_corpora: Annotated[
        Path | None, typer.Option(help="Folder for what each trained sender says of all meanings.")
    ] = None,
    cache: Annotated[
        Path | None, typer.Option(help="Folder of finished runs, which are not computed again.")
    ] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes; one a core if not given.")] = None,
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
    if out is not None:
        write_json(out, report.data)
    if picture is not None:
        assert report.draw is not None
        report.draw(picture)
    if as_json:
        print_json(report.data)
        return
    from rich.console import Console

    Console().print(report.table)
    for line in report.notes:
        print(line)


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


@app.command("list", epilog="Example: ecsuite list --json")
def list_names(as_json: Json = False) -> None:
    """List every game, grammar, sender, receiver, channel, metric and preset, a line each."""
    names = {"games": named_configs(), **registered_names()}
    if as_json:
        print_json(names)
        return
    for kind, entries in names.items():
        print(kind)
        for name, about in entries.items():
            print(f"  {name:18}{about}")


def registered_names() -> dict[str, dict[str, str]]:
    """What can be named on the command line and in a YAML file, by kind, with a line each."""
    from ecsuite import agents
    from ecsuite.eval import DESCRIPTIONS as METRIC_DESCRIPTIONS
    from ecsuite.eval.icy.study import PROTOCOLS, named_studies
    from ecsuite.eval.xferbench.presets import PRESETS
    from ecsuite.games.channels import CHANNELS
    from ecsuite.games.tasks import TASKS
    from ecsuite.grammars import GRAMMARS

    return {
        "tasks": TASKS,
        "channels": {name: first_line(channel) for name, channel in CHANNELS.items()},
        "senders": {name: agents.DESCRIPTIONS[name] for name in agents.SENDERS},
        "receivers": {name: agents.DESCRIPTIONS[name] for name in agents.RECEIVERS},
        "grammars": {name: first_line(grammar) for name, grammar in GRAMMARS.items()},
        "metrics": METRIC_DESCRIPTIONS,
        "protocols": PROTOCOLS,
        "studies": named_studies(),
        "presets": {
            name: f"{preset.num_layers} layers of {preset.width}, "
            f"{preset.pretrain_tokens * preset.pretrain_epochs:,} tokens to pretrain on"
            for name, preset in PRESETS.items()
        },
    }


def first_line(entry: object) -> str:
    """The first line of a thing's documentation."""
    return (inspect.getdoc(entry) or "").split("\n")[0]


class Reporter:
    """Progress and notes on standard error: a live line with an ETA on a terminal, now and then a line elsewhere."""

    SECONDS_BETWEEN_LINES = 15.0

    def __init__(self) -> None:
        self.live: Progress | None = None
        self.task: TaskID | None = None
        self.total = self.first = 0.0
        self.began = self.last = time.monotonic()

    def __enter__(self) -> "Reporter":
        """Nothing is shown before there is something to show."""
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the terminal as it was."""
        if self.live is not None:
            self.live.stop()

    def progress(self, label: str, done: float, total: float) -> None:
        """Show how far the work has come, `done` of `total` in any unit; another total is another piece of work."""
        now = time.monotonic()
        is_new = total != self.total
        if is_new:
            self.total, self.began, self.first = total, now, done  # a resumed run begins in the middle
        if sys.stderr.isatty():
            self._show_live(label, done, is_new=is_new)
        elif now - self.last >= self.SECONDS_BETWEEN_LINES and done > self.first:
            self.last = now
            left = (now - self.began) * (total - done) / (done - self.first)
            minutes, seconds = divmod(round(left), 60)
            clock = (
                f"{minutes}:{seconds:02d}" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"
            )
            self.note(f"{done / total:4.0%}  {clock} left  {label}")

    def note(self, text: str) -> None:
        """Say something that the user should know."""
        if self.live is not None:
            self.live.console.print(text, markup=False, highlight=False)
        else:
            print(text, file=sys.stderr, flush=True)

    def _show_live(self, label: str, done: float, *, is_new: bool) -> None:
        if self.live is None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

            columns = (
                BarColumn(),
                TaskProgressColumn(),
                TimeRemainingColumn(),
                TextColumn("{task.description}"),
            )
            self.live = Progress(
                *columns, console=Console(stderr=True), transient=True, speed_estimate_period=60
            )
            self.live.start()
        if is_new:
            for task in self.live.task_ids:
                self.live.remove_task(task)
            self.task = self.live.add_task(label, total=self.total)
        assert self.task is not None
        self.live.update(self.task, description=label, completed=done)


def make_room(file: Path) -> None:
    """Make a file's folder, and refuse a file that is none: now, not after minutes of work."""
    if file.is_dir():
        raise ConfigError(f"{file} is a folder: name a file")
    file.parent.mkdir(parents=True, exist_ok=True)


def print_json(data: Any) -> None:
    """JSON on standard output, and nothing else."""
    sys.stdout.write(as_text(data))


def write_json(path: Path, data: Any) -> None:
    """JSON in a file, all of it or nothing."""
    write_atomically(path, as_text(data).encode())


def as_text(data: Any) -> str:
    """JSON for people and programs."""
    return json.dumps(data, indent=2, allow_nan=False, ensure_ascii=False) + "\n"


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
