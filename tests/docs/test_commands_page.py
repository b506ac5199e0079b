"""The page of the commands is that of today's commands."""

from commands_page import FILE, page


def test_the_page_of_the_commands_is_current():
    assert FILE.read_text() == page(), "run: python tests/commands_page.py"
