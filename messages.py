"""Messages for people in one line, however long or odd the values are that they show."""

MAX_LENGTH = 300
"""Most characters of a message."""
_BEGINNING = 170
"""Characters of its beginning that are kept of a longer one: they have the place; the end says what to type."""


def one_line(message: object) -> str:
    """A message without control characters, which a file may hold to change a terminal, and cut in its middle."""
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(message))
    if len(text) <= MAX_LENGTH:
        return text
    return f"{text[:_BEGINNING]} … {text[_BEGINNING + 3 - MAX_LENGTH :]}"
