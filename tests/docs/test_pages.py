"""What holds of every page: links lead somewhere, lines are short, and no folder of one machine is named."""

import re

import pytest
from doc_pages import PAGES, ROOT, anchors, blocks, links

LONGEST_PAGE = 160
"""Lines of a page."""
LONGEST_README = 150
"""Lines of README.md."""
LONGEST_LINE = 110
"""Characters of a line."""
OTHER_LENGTHS = ("docs/api.md", "docs/commands.md", "docs/reference/games.md", "docs/reference/settings.md")
"""Pages that are made from the source."""
SETUP = "    python3 -m venv "
"""How the two lines of README begin that may be long."""
NAMES_OF_SITES = ("https://", "http://", "mailto:")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for line, target in links(page):
        if target.startswith(NAMES_OF_SITES):
            continue
        path, _, anchor = target.partition("#")
        aim = (page.parent / path).resolve() if path else page
        assert aim.exists(), f"{page.name}:{line}: {target}"
        assert aim.is_relative_to(ROOT), f"{page.name}:{line}: {target} is outside of the repository"
        if anchor and aim.suffix == ".md":
            assert anchor in anchors(aim), f"{page.name}:{line}: {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_folder_of_a_machine_is_named(page):
    assert not re.search(r"(?<![\w.~])/(home|root|tmp|work|Users|mnt)/", page.read_text())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_and_lines_are_short(page):
    """Rows of tables, and printed outputs, may be longer."""
    if str(page.relative_to(ROOT)) in OTHER_LENGTHS:
        return
    lines = page.read_text().splitlines()
    printed = {
        block.line + row
        for block in blocks(page)
        for row in range(block.text.count("\n"))
        if block.language == "text"
    }
    long = [
        number
        for number, line in enumerate(lines, 1)
        if len(line) > LONGEST_LINE
        and line[:1] not in "|!"
        and number not in printed
        and not line.startswith(SETUP)
    ]
    assert not long
    assert len(lines) - len(printed) <= (LONGEST_README if page.name == "README.md" else LONGEST_PAGE)


def test_every_page_is_in_the_contents():
    """Once: a reader finds every page from docs/index.md."""
    listed = re.findall(r"^([\w/]+)$", (ROOT / "docs" / "index.md").read_text(), re.MULTILINE)
    pages = {str(page.relative_to(ROOT / "docs").with_suffix("")) for page in (ROOT / "docs").rglob("*.md")}
    assert sorted(pages - {"index"}) == sorted(listed)
