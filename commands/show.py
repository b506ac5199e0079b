"""`ecsuite show`: show a language, or rounds of a game."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from ecsuite.commands.completion import OneOf, names_of
from ecsuite.commands.game_options import GameOptions
from ecsuite.commands.options import As, CorpusOptions, Measure, Plot, Set, TrustCode, roles_in
from ecsuite.commands.setting_options import flags_of
from ecsuite.eval.views.figures.canvas import check_picture, prepare_picture
from ecsuite.runtime.errors import ConfigError, ReadingQuestion
from ecsuite.runtime.printable import counted
from ecsuite.tables.forms import Form

ROUNDS, SPLIT = 2, "train"
"""Default number of rounds and split of a game."""
SPLITS = OneOf("train", "valid", "test", "seen")
GAME = "Rounds of a game"


def show(
    what: Annotated[
        list[Path],
        typer.Argument(
            help="A run folder or a corpus, or run folders for --plot; or a game: its name, a YAML file, or with "
            "--rounds a table of objects.",
            show_default=False,
        ),
        names_of("games", or_files=True),
    ],
    write_layout: Annotated[
        bool,
        typer.Option("--write-layout", help="Write the file's layout to corpus.yaml next to it, to edit."),
    ] = False,
    plot: Plot = None,
    measure: Measure = None,
    form: As = Form.TEXT,
    rounds: Annotated[
        int | None, typer.Option(rich_help_panel=GAME, help=f"Number of rounds; default {ROUNDS}.")
    ] = None,
    rounds_from: Annotated[
        str | None, typer.Option("--from", rich_help_panel=GAME, help=f"{SPLITS}; default {SPLIT}."), SPLITS
    ] = None,
    assign: Set = None,
    trust_code: TrustCode = False,
    *,
    read_with: CorpusOptions,
) -> None:
    """Show a language, learning curves of several runs, or rounds of a game."""
    of_rounds: dict[str, object] = {"--rounds": rounds, "--from": rounds_from, "--set": assign}
    of_text: dict[str, object] = {"--as": None if form is Form.TEXT else form}
    if len(what) > 1 or measure is not None:
        _refuse_given(of_rounds | of_text, "learning curves")
        read_with.require_unset("learning curves")
        _draw_learning_curves(what, plot, measure or "accuracy")
        return
    [path] = what
    if write_layout:
        _write_layout(path, read_with)
        return
    asks_for_rounds = any(each is not None for each in of_rounds.values())
    if asks_for_rounds or path.suffix in (".yaml", ".yml") or not path.exists():
        _refuse_given(of_text, "rounds of a game")
        read_with.require_unset("rounds of a game", but=["column"])
        number, split = ROUNDS if rounds is None else rounds, rounds_from or SPLIT
        _show_rounds(str(path), plot, number, split, assign, read_with, trust_code=trust_code)
    else:
        _show_language(path, plot, form, read_with)


def _write_layout(path: Path, read_with: CorpusOptions) -> None:
    """Write a file's layout next to it; questions are answered by the first option, with a comment."""
    from ecsuite.formats.layouts import BESIDE, proposal
    from ecsuite.formats.reading import read_as

    file = path.with_name(BESIDE)
    if file.exists():
        raise ConfigError(f"{file}: exists already: edit it, or remove it first")
    reading, asked = read_with.reading(), list[ReadingQuestion]()
    while True:
        try:
            corpus = read_as(path, reading)
            break
        except ReadingQuestion as question:
            asked.append(question)
            words = dict(question.readings[0][0])
            words["columns"] = {**reading.columns, **words.get("columns", {})}
            if replace(reading, **words) == reading:
                raise
            reading = replace(reading, **words)
    file.write_text(proposal(corpus, reading, path.name, asked), encoding="utf-8")
    guessed = f" ({counted(len(asked), 'question')} answered by the first choice)" if asked else ""
    print(f"{file} says how {path.name} is read{guessed}; edit it to change that")
    print(f"use it: ecsuite show {path}")


def _refuse_given(values: Mapping[str, object], reader: str) -> None:
    """Raise ConfigError if an option that is not used is given (not None)."""
    for option, value in values.items():
        if value is not None:
            raise ConfigError(f"{option}: not read by {reader}")


def _draw_learning_curves(runs: Sequence[Path], plot: Path | None, measure: str) -> None:
    if plot is None:
        raise ConfigError(
            "expected --plot FILE, for learning curves, or one language; `ecsuite compare table` has figures of runs"
        )
    for run in runs:
        if not run.exists():
            raise ConfigError(f"{run}: expected a run folder; there is no such folder")
    check_picture(plot)
    from ecsuite.eval.views.figures.curves import draw_learning_curves

    draw_learning_curves(runs, plot, measure=measure)
    print(f"{measure} of {len(runs)} {'run' if len(runs) == 1 else 'runs'} in {plot}")


def _show_language(path: Path, plot: Path | None, form: Form, read_with: CorpusOptions) -> None:
    from ecsuite.games.runs.run_folder import RunFolder

    run = RunFolder(path)
    if run.is_run and not run.corpus.is_file():
        raise ConfigError(
            f"{path}: no corpus yet: wait until the training ends, or continue it with `ecsuite train-game "
            f"{run.config} --out {path} --resume`"
        )
    if plot is not None:
        prepare_picture(plot)
    from ecsuite.eval.views.figures.language_page import draw_language
    from ecsuite.eval.views.language import LanguageView, heading, print_language

    source = path if path.is_dir() else path.parent
    from ecsuite.games.runs.run_folder import RunFolder

    folder = source if RunFolder(source).log.is_file() else None
    language = LanguageView(read_with.read(path))
    title, lines = heading(language, (folder or path).resolve())
    print_language(language, title, lines, folder, form)
    if plot is not None:
        draw_language(language, title, lines, folder, plot)
        print(f"\nPicture: {plot}", file=sys.stdout if form is Form.TEXT else sys.stderr)


def _show_rounds(
    game: str,
    plot: Path | None,
    rounds: int,
    split: str,
    assign: list[str] | None,
    read_with: CorpusOptions,
    *,
    trust_code: bool,
) -> None:
    """Print rounds of a game, and draw them; images go to GAME.png by default."""
    if plot is not None:
        prepare_picture(plot)
    from ecsuite.games.config.experiment import load_experiment

    columns = roles_in(read_with.column) if read_with.column else None
    experiment = load_experiment(
        game,
        assign or [],
        {"world.columns": columns},
        flags_by_key=flags_of(GameOptions),
        trust_code=trust_code,
    )
    from ecsuite.games.pictures.rounds import (
        make_preview,  # imports torch, only after the game is known to exist
    )

    preview = make_preview(experiment, num_rounds=rounds, split=split)
    if plot is None and preview.has_images:
        plot = Path(f"{experiment.name}.png")
        prepare_picture(plot)
    if plot is not None:
        preview.draw(plot)
    for line in preview.lines():
        print(line)
    if plot is not None:
        print(f"\nPicture: {plot}")
