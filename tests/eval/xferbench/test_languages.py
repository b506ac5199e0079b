"""The artificial languages are deterministic, differ, and have properties of natural languages."""

import pytest

from ecsuite.eval.xferbench.languages import TYPOLOGIES, write

NUMBERS = range(1, len(TYPOLOGIES) + 1)


@pytest.fixture(scope="module")
def texts():
    """Fifty kilobytes of every language."""
    return {number: write(number, 50_000) for number in NUMBERS}


def words_of(lines):
    return "".join(letter for letter in " ".join(lines).lower() if letter not in ".,?").split()
