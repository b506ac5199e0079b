"""`ecsuite grammar`: write an artificial language as a corpus, or show examples of all."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ecsuite.commands.completion import names_of
from ecsuite.commands.options import Json, OutFolder, Seed
from ecsuite.eval.views.console import print_json
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.printable import counted

if TYPE_CHECKING:
    from ecsuite.grammars.geometry import Geometry

EXAMPLES = ("concat", "perm", "rot", "proj", "shufdet", "shuf", "pairsum", "hol")
"""Grammars of the examples, in the order of the paper's Table 1, including the grammars of its appendices."""
EXAMPLE_SIZES = {"num_attributes": 3, "num_values": 10, "word_length": 3, "vocab_size": 5}
"""Sizes of Table 1, whose messages have five letters."""
NUM_LETTERS = 26


def grammar(
    name: Annotated[
        str | None,
        typer.Argument(help="A grammar (see `ecsuite list`), a chain (rot+perm), options after commas."),
        names_of("grammars"),
    ] = None,
    out: OutFolder = None,
    examples: Annotated[
        bool,
        typer.Option(
            "--examples",
            help="Show messages of all grammars side by side, in letters, or of one grammar and concat; write nothing.",
        ),
    ] = False,
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

    sizes = {
        "num_attributes": num_attributes,
        "num_values": num_values,
        "word_length": word_length,
        "vocab_size": vocab_size,
    }
    if examples:
        for option, value in {"--out": out, "--num-symbols": num_symbols, "--text": text}.items():
            if value is not None:
                raise ConfigError(f"{option}: not used with --examples, which writes nothing")
        _show_examples(name, {key: value for key, value in sizes.items() if value is not None}, seed, as_json)
        return
    if name is None:
        raise ConfigError(
            "ecsuite grammar: expected a grammar, such as shufdet (see `ecsuite list grammars`), or --examples"
        )
    trust([name])
    corpus = make_corpus(name, seed=seed, num_symbols=num_symbols, text=text, **sizes)
    folder = out or Path("runs") / corpus.metadata["grammar"]
    require_no_other(folder, "a run or a corpus")
    file = RunFolder(folder).metadata
    is_of_grammar = file.is_file() and "signature" in read_json(file)
    if kind_of_folder(folder) is not None and not is_of_grammar:
        raise ConfigError(
            f"{folder}: has a run, or a corpus of another source, which would be replaced; choose another folder with "
            "--out"
        )
    write_corpus(corpus, folder)
    if as_json:
        print_json({"folder": str(folder), "num_messages": len(corpus.messages), **corpus.metadata})
    else:
        print(f"{counted(len(corpus.messages), 'message')} in {folder} ({corpus.metadata['signature']})")
        print(f"Next: ecsuite score {shlex.quote(str(folder))}")


def _show_examples(name: str | None, sizes: dict[str, int], seed: int, as_json: bool) -> None:
    """Print messages for an object with all values 0, and for objects that differ in one attribute (Tables 1, 11)."""
    from ecsuite.grammars.geometry import Geometry
    from ecsuite.tables.forms import Form, publish
    from ecsuite.tables.table import Column, Table, name_column, row_of

    geometry = Geometry(**{**EXAMPLE_SIZES, **sizes})
    if geometry.vocab_size > NUM_LETTERS:
        raise ConfigError(f"--vocab-size: expected at most {NUM_LETTERS} letters, got {geometry.vocab_size}")
    if geometry.num_values < 2:
        raise ConfigError("--num-values: expected at least 2, since examples show two values, got 1")
    names = EXAMPLES if name is None else tuple(dict.fromkeys(("concat", name)))
    rows = _examples(names, geometry, seed)
    if as_json:
        print_json({"geometry": str(geometry), "seed": seed, "rows": rows})
        return
    table = Table(
        columns=(name_column("object"), *(Column(each, heading=each.upper()) for each in names)),
        rows=[
            row_of(f"({', '.join(map(str, row['object']))})", *(row[each] for each in names)) for row in rows
        ],
        notes=(f"{geometry}, seed {seed}: attributes x values, symbols of a word, letters",),
    )
    publish([table], Form.TEXT)


def _examples(names: tuple[str, ...], geometry: "Geometry", seed: int) -> list[dict[str, Any]]:
    """One row per object with its message of each grammar in letters, `a` for the first symbol."""
    from ecsuite.grammars.icy import language

    powers = [geometry.num_values**place for place in range(geometry.num_attributes)]
    rows: list[dict[str, Any]] = []
    for name in names:
        made = language(name, geometry, seed)
        for row, meaning in enumerate((0, *powers)):
            if row == len(rows):
                rows.append({"object": made.meanings[meaning].tolist()})
            rows[row][name] = "".join(chr(ord("a") + int(symbol) - 1) for symbol in made.messages[meaning])
    return rows
