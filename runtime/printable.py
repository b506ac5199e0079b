"""Texts for people. Those of users, such as symbols and names of files, are made safe: they steer no terminal."""

import sys
import unicodedata
from html import escape

STEERING = ("Cc", "Cs", "Co", "Cn", "Zl", "Zp")
"""Categories of characters that are shown by their numbers: controls, halves of pairs, none, ends of lines."""
JOINERS = "\u200c\u200d\u00ad"
"""Format characters that words have: in Persian, in scripts of India, in emoji, between syllables."""


def printable(text: object) -> str:
    r"""A text whose controls, escape sequences and changes of direction are shown by numbers, as `\x1b`.

    Letters, marks, spaces and emoji of all scripts stay as they are.
    """
    text = str(text)
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        c if _is_safe(c) else c.encode("unicode_escape", "backslashreplace").decode() for c in text
    )


def _is_safe(character: str) -> bool:
    category = unicodedata.category(character)
    return category not in STEERING and (category != "Cf" or character in JOINERS)


def preformatted(text: str) -> str:
    """A text in a notebook, with its columns under each other whatever the style of the notebook."""
    return f'<pre style="font-family: monospace; line-height: 1.3">{escape(text)}</pre>'


def counted(number: int, word: str) -> str:
    """A number with its word: `1 seed`, `3,000 seeds`."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


class _Notes:
    """Whether notes for the user are shown."""

    are_shown = True


def show_notes(are_shown: bool) -> None:
    """Show notes from now on, or none, as with `--quiet`."""
    _Notes.are_shown = are_shown


def note(text: str) -> None:
    """Print a note for the user on standard error, unless none are to be shown."""
    if _Notes.are_shown:
        print(text, file=sys.stderr, flush=True)
