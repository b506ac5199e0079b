"""`ecsuite grammar`: write an artificial language as a corpus."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from ecsuite.commands.completion import names_of
from ecsuite.commands.options import Json, OutFolder, Seed
from ecsuite.eval.views.console import print_json
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.printable import counted


def grammar(
    name: Annotated[
        str,
        typer.Argument(help="A grammar (see `ecsuite list`), a chain (rot+perm), options after commas."),
        names_of("grammars"),
    ],
    out: OutFolder = None,
    seed: Seed = 0,
    num_attributes: Annotated[int | None, typer.Option(help="Attributes of a meaning; default 5.")] = None,
    num_values: Annotated[int | None, typer.Option(help="Values of an attribute; default 10.")] = None,
    word_length: Annotated[int | None, typer.Option(help="Symbols of a word; default 4.")] = None,
    vocab_size: Annotated[
        int | None, typer.Option(help="Content symbols; default 4, or 30000 for a grammar without meanings.")
    ] = None,
    num_symbols: Annotated[
        int | None,
        typer.Option(help="Total number of symbols of a grammar without meanings; default 1000000."),
    ] = None,
    text: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Text or corpus that gives text_parentheses its symbol frequencies."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Write an artificial language as a corpus, with meanings if the grammar has them."""
    from ecsuite.eval.results.files import kind_of_folder, require_no_other
    from ecsuite.formats import write_corpus
    from ecsuite.formats.strict_json import read_json
    from ecsuite.games.runs.run_folder import RunFolder
    from ecsuite.grammars.making import make_corpus
    from ecsuite.parts.own_code import trust

    trust([name])
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
    require_no_other(folder, "a run or a corpus")
    file = RunFolder(folder).metadata
    is_of_grammar = file.is_file() and "signature" in read_json(file)
    if kind_of_folder(folder) is not None and not is_of_grammar:
        raise ConfigError(
            f"{folder}: has a run, or a corpus of no grammar, which would be replaced; choose another folder with --out"
        )
    write_corpus(corpus, folder)
    if as_json:
        print_json({"folder": str(folder), "num_messages": len(corpus.messages), **corpus.metadata})
    else:
        print(f"{counted(len(corpus.messages), 'message')} in {folder} ({corpus.metadata['signature']})")
        print(f"Next: ecsuite score {shlex.quote(str(folder))}")
