"""What several tests of ICY need."""

import io

import pytest
from rich.console import Console


@pytest.fixture(scope="session")
def printed():
    """A table as text, in a terminal of a width."""

    def printed(table, width=200):
        console = Console(width=width, record=True, file=io.StringIO())
        console.print(table)
        return console.export_text()

    return printed
