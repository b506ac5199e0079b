"""Exceptions for users, and texts that their messages share."""

import difflib
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

Entry = TypeVar("Entry")

MAX_LISTED = 150
"""Maximum number of characters of a list of choices in an error message."""
NUM_CHOICES = 10
"""Maximum number of names listed in the error for an unknown name."""
LISTED = (
    "actor backend baseline cell channel claim distance environment frequencies game grammar layout "
    "learner logger loss meeting metric noise optimizer participant perception play preset prompt "
    "protocol reasoning receiver reward schedule sender study task world"
).split()
"""Kinds whose names are listed by `ecsuite list KIND`."""
RUN_AGAIN = "run this again (train-game: with --resume)"
"""Advice after a resumable command stopped."""


class ConfigError(ValueError):
    """A config that can't be used; the message names the key, the expected and the given value."""


class PartError(ConfigError):
    """An error in user code; the message names file and line."""


class LimitError(ConfigError):
    """A limit set by the user is reached; the message names it, and results so far are stored."""


class CorpusError(ValueError):
    """Input that is not valid; the message names the first error: file, line, expected, given."""

    def __init__(self, message: str, num_errors: int = 1) -> None:
        """Store the message and the number of all errors."""
        super().__init__(message)
        self.num_errors = num_errors


class ReadingQuestion(CorpusError):
    """Ambiguous input: observations, and the options that select each reading, most likely first.

    Args:
        source: Name of the file or frame.
        asked: The ambiguity, in one line.
        seen: Observations, one per line; at most two are shown.
        readings: Options of each reading, as fields of `Reading`, and their meaning; at most five are shown.
    """

    def __init__(
        self,
        source: str,
        asked: str,
        readings: Sequence[tuple[Mapping[str, Any], str]],
        seen: Sequence[str] = (),
    ) -> None:
        self.asked, self.seen, self.readings = f"{source}: {asked}", list(seen)[:2], list(readings)[:5]
        words = (", ".join(map(_python_argument, chosen.items())) for chosen, _ in self.readings)
        super().__init__(self.shown([f"read_corpus(..., {each})" for each in words]))

    def inside(self, folder: Path) -> "ReadingQuestion":
        """Copy of the question about a file in a folder."""
        source, colon, asked = self.asked.partition(": ")
        return ReadingQuestion(str(folder / source), asked, self.readings, self.seen) if colon else self

    def shown(self, commands: Sequence[str]) -> str:
        """Format the question in at most eight lines, with a command for each reading."""
        width = max(map(len, commands), default=0)
        lines = [f"  {each:{width}}  # {why}" for each, (_, why) in zip(commands, self.readings, strict=True)]
        return "\n".join([self.asked, *(f"  {each}" for each in self.seen), *lines])

    def options(self) -> list[list[str]]:
        """Command-line arguments for each reading."""
        return [
            [text for name, value in chosen.items() for text in _shell_arguments(name, value)]
            for chosen, _ in self.readings
        ]


def _python_argument(word: tuple[str, Any]) -> str:
    name, value = word
    return f"{name}={list(value) if isinstance(value, tuple) else value!r}"


def _shell_arguments(name: str, value: Any) -> list[str]:
    if isinstance(value, Mapping):
        return [text for column, role in value.items() for text in ("--column", f"{column}={role}")]
    if name == "where":
        return [text for each in value for text in ("--where", each)]
    return [f"--{name}", ",".join(value) if isinstance(value, tuple) else str(value)]


class DivergedError(ArithmeticError):
    """Training whose loss, weights or evaluation is not finite.

    Args:
        message: Value that is not finite, and its step.
        outcome: Progress of the training, JSON-ready; None if nothing is stored.
    """

    def __init__(self, message: str, outcome: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.outcome = outcome


class FrozenError(RuntimeError):
    """An optimiser's weights were frozen and have no gradient any more."""


class DamagedError(RuntimeError):
    """Damaged files of a run."""


class FormatError(ValueError):
    """A file in an unsupported format; the message names the file, its format and the supported formats."""


def joined(names: Iterable[str]) -> str:
    """Join names with commas; all are quoted if one contains a comma or a semicolon."""
    names = list(names)
    quote = repr if any("," in name or ";" in name for name in names) else str
    return ", ".join(map(quote, names))


def unknown_name(
    kind: str,
    name: str,
    choices: Iterable[str],
    *,
    command: str | None = None,
    shows_all: bool = False,
    like: str | None = None,
) -> ConfigError:
    """Make the error for an unknown name of a `kind` such as `game`, with the most similar names and the choices.

    If there are many choices, only the most similar ones are listed, and the command that lists all of them.

    Args:
        kind: Noun for the name.
        name: Name given by the user.
        choices: All valid names.
        command: Command that lists all choices; None: `ecsuite list KIND`, if it does.
        shows_all: Whether to list all choices in order, even if there are many.
        like: Form of the name for the comparison with the choices; None: the name.
    """
    choices = list(choices)
    if not isinstance(name, str):
        more = ", ..." if len(choices) > NUM_CHOICES else ""
        return ConfigError(
            f"{kind}: expected one of {joined(choices[:NUM_CHOICES])}{more}, got {shown(name)}"
        )
    similar = _similar(like or name, choices)
    hint = f"; did you mean {' or '.join(map(repr, similar))}?" if similar else ";"
    name = name if len(name) <= 60 else name[:59] + "…"
    if shows_all or (len(choices) <= NUM_CHOICES and len(joined(choices)) <= MAX_LISTED):
        return ConfigError(f"unknown {kind} '{name}'{hint} choices: {joined(choices) or 'none'}")
    nearest = difflib.get_close_matches(name, choices, n=NUM_CHOICES, cutoff=0)
    while len(joined(nearest)) > MAX_LISTED and len(nearest) > 1:
        nearest.pop()
    command = command or (f"ecsuite list {kind}" if kind in LISTED else None)
    rest = f"all {len(choices)}: {command}" if command else f"and {len(choices) - len(nearest)} more"
    return ConfigError(f"unknown {kind} '{name}'{hint} choices: {joined(nearest)}; {rest}")


def _similar(name: str, choices: Sequence[str]) -> list[str]:
    """Find the most similar choices; for keys, those with equal endings, within the section of the name."""
    section, _, last = name.rpartition(".")
    by_end: dict[str, list[str]] = {}
    for choice in choices:
        if not section or choice.startswith(f"{section}."):
            by_end.setdefault(choice.rpartition(".")[2], []).append(choice)
    if section and by_end:
        with_word = [end for end in by_end if last in end.split("_")][:3]  # `price` of `prompt_price`
        nearest = with_word or difflib.get_close_matches(last, by_end, n=1, cutoff=0.6)
        return [by_end[end][0] for end in nearest or [end for end in by_end if last and last in end][:1]]
    for end in difflib.get_close_matches(name.lower(), by_end, n=1, cutoff=0.7):
        return by_end[end][:3]
    return difflib.get_close_matches(name, choices, n=1, cutoff=0.5)


def look_up(kind: str, name: str, registry: Mapping[str, Entry]) -> Entry:
    """Look up the registry entry of a name; `ConfigError` with the most similar name and choices if unknown."""
    if not isinstance(name, str) or name not in registry:
        raise unknown_name(kind, name, registry)
    return registry[name]


def missing_extra(needs: str, extra: str) -> ConfigError:
    """Make the error for packages of an optional extra that are not installed, such as `a picture needs matplotlib`."""
    return ConfigError(f"{needs}: pip install -e '.[{extra}]' in the clone of ecsuite")


def shown(value: object) -> str:
    """Format a value for a message; long values are cut."""
    try:
        text = _REPR.repr(value)
    except ValueError:  # Python does not format integers of more than 4,300 digits
        text = "a value with an integer that is too long"
    return text if len(text) <= 200 else text[:199] + "…"


_REPR = reprlib.Repr()
_REPR.maxstring = _REPR.maxother = _REPR.maxlong = 60
_REPR.maxlevel = 3
