"""`ecsuite grammar`: write an artificial language as a corpus."""

from pathlib import Path
from typing import Annotated

import typer

from ecsuite.commands.options import Json
from ecsuite.eval.reports.console import print_json


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
