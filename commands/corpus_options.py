"""The options of every command that reads a corpus: what its columns are, how messages are split, where they end."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ecsuite.commands.given_together import Command, given_together
from ecsuite.commands.options import advanced
from ecsuite.runtime.errors import ConfigError, CorpusError
from ecsuite.runtime.printable import note

if TYPE_CHECKING:
    from ecsuite.corpus import Corpus
    from ecsuite.formats.corpora import Reading

READING = "Reading a file"
"""The group of these options."""
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="NAME=ROLE",
        help="What a column is: message, attribute, feature, speaker, group, kept ...; can be repeated.",
    ),
]


@dataclass(frozen=True, kw_only=True, slots=True)
class CorpusOptions:
    """The values of the options, by their names."""

    column: Columns = None
    split: Annotated[
        str,
        advanced(
            group=READING, help="Between symbols of a text: auto, spaces, letters, or a sign, such as -."
        ),
    ] = "auto"
    eos: Annotated[
        str, advanced(group=READING, help="The symbol at which messages end, or none; auto: found.")
    ] = "auto"
    numeric: Annotated[
        str, advanced(group=READING, help="Numbers that were meant are values of attributes, or features.")
    ] = "values"
    missing: Annotated[
        str,
        advanced(
            group=READING, help="Rows that lack a value: keep, leave (out), or take missing as a value."
        ),
    ] = "keep"
    meanings: Annotated[
        Path | None,
        advanced(group=READING, metavar="FILE", help="A second file: what each message meant, row by row."),
    ] = None

    def require_unset(self, reader: str, *, but: Sequence[str] = ()) -> None:
        """Refuse an option that is given where no file of a corpus is read.

        Args:
            reader: What does not read it, for the message.
            but: The names of those that are read.

        Raises:
            ConfigError: If one has another value than its default.
        """
        for option in fields(self):
            if option.name not in but and getattr(self, option.name) != option.default:
                raise ConfigError(f"--{option.name}: not read by {reader}; read where a corpus is read")

    def reading(self) -> "Reading":
        """How files are read.

        Raises:
            ConfigError: If a role is not written as `NAME=ROLE`.
        """
        from ecsuite.formats.corpora import Reading

        return Reading(
            columns=roles_in(self.column or ()),
            split=self.split,
            eos=self.eos,
            numeric=self.numeric,  # type: ignore[arg-type]
            missing=self.missing,  # type: ignore[arg-type]
            meanings=None if self.meanings is None else str(self.meanings),
        )

    def read(self, path: Path) -> "Corpus":
        """The corpus of a path; what was taken for what goes to standard error.

        Raises:
            CorpusError: If it cannot be read, or its only message is empty, as in a file of an empty list.
        """
        from ecsuite.formats.reading import read_as

        corpus = read_as(path, self.reading())
        for each in corpus.metadata.get("notes", ()):
            note(f"note: {each}")
        if len(corpus.messages) == 1 and not len(corpus.messages.values):
            raise CorpusError(
                f"{path}: its only message is empty: expected a message a line, such as [3, 1, 4]"
            )
        return corpus


def has_corpus_options() -> Callable[[Command], Command]:
    """Give a command the options of `CorpusOptions`, which it gets together as its argument `read_with`."""
    return given_together(CorpusOptions, "read_with", {})


def roles_in(given: Sequence[str]) -> dict[str, str]:
    """Roles by name of column, of `NAME=ROLE` each; a name may have `=` in it.

    Raises:
        ConfigError: If one is not written so, or a name is given twice.
    """
    roles: dict[str, str] = {}
    for each in given:
        name, equals, role = each.rpartition("=")
        if not equals or not name or not role:
            raise ConfigError(f"--column {each}: expected NAME=ROLE, such as --column code=message")
        if name in roles:
            raise ConfigError(f"--column {name}: given twice")
        roles[name] = role
    return roles
