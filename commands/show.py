"""`ecsuite show`: look at a language."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from ecsuite.commands.corpus_options import CorpusOptions, has_corpus_options
from ecsuite.commands.options import SET, As, Plot
from ecsuite.commands.preview import ROUNDS, show_rounds
from ecsuite.eval.figures.canvas import prepare_picture
from ecsuite.runtime.errors import ConfigError
from ecsuite.tables.forms import Form


@has_corpus_options()
def show(
    run: Annotated[str, typer.Argument(help="A run folder or a corpus; a game's name shows its rounds.")],
    plot: Plot = None,
    form: As = Form.TEXT,
    rounds: Annotated[int, typer.Option(help=ROUNDS, hidden=True)] = 2,
    assign: Annotated[list[str] | None, typer.Option("--set", help=SET, hidden=True)] = None,
    *,
    read_with: CorpusOptions,
) -> None:
    """Show a language: what is said of what, what the most used messages are about, and the learning curve."""
    path = Path(run)
    if path.suffix in (".yaml", ".yml") or not path.exists():
        split = "train" if read_with.split == "auto" else read_with.split
        show_rounds(run, plot, rounds, split, assign)
        return
    if (path / "config.yaml").is_file() and not (path / "corpus.jsonl").is_file():
        raise ConfigError(
            f"{path}: no corpus yet: wait until the training ends, or continue it with `ecsuite train-game "
            f"{path / 'config.yaml'} --out {path} --resume`"
        )
    if plot is not None:
        prepare_picture(plot)
    from ecsuite.eval.reports.language_page import draw_language
    from ecsuite.eval.reports.language_text import print_language
    from ecsuite.eval.reports.languages import Language, heading

    source = path if path.is_dir() else path.parent
    folder = source if (source / "log.jsonl").is_file() else None
    language = Language(read_with.read(path))
    title, lines = heading(language, (folder or path).resolve())
    print_language(language, title, lines, folder, form)
    if plot is not None:
        draw_language(language, title, lines, folder, plot)
        print(f"\nPicture: {plot}", file=sys.stdout if form is Form.TEXT else sys.stderr)
