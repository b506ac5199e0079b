"""Texts for output. Users' texts, such as symbols and file names, are escaped so that they can't control a terminal."""

import sys
import unicodedata
from html import escape

STEERING = ("Cc", "Cs", "Co", "Cn", "Zl", "Zp")
"""Categories of escaped characters: controls, surrogates, private use, unassigned, line and paragraph separators."""
JOINERS = "\u200c\u200d\u00ad"
"""Format characters that occur in words: in Persian, in scripts of India, in emoji, between syllables."""


def printable(text: object) -> str:
    r"""Escape control characters, escape sequences and changes of direction in a text, as `\x1b`.

    Letters, marks, spaces and emoji of all scripts are unchanged.
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
    """Format a text for notebooks, with aligned columns in any style."""
    return f'<pre style="font-family: monospace; line-height: 1.3">{escape(text)}</pre>'


def counted(number: int, word: str) -> str:
    """Format a number with its noun: `1 seed`, `3,000 seeds`."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


class _Notes:
    """State of notes for the user: shown or not."""

    are_shown = True


def show_notes(are_shown: bool) -> None:
    """Switch notes on or off, as with `--quiet`."""
    _Notes.are_shown = are_shown


def note(text: str) -> None:
    """Print a note for the user on standard error, unless notes are off."""
    if _Notes.are_shown:
        print(text, file=sys.stderr, flush=True)
