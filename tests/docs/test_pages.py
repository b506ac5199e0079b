import importlib.util
import re

import pytest
import reference_pages
from doc_pages import MADE, PAGES, ROOT, anchors, blocks, links

LONGEST_PAGE = 160
"""Lines of a page, without rows of tables and printed outputs, which are looked up and not read."""
LONGEST_README = 150
LONGEST_LINE = 110
OTHER_LENGTHS = ("docs/cookbook.md",)
SETUP = "    python3 -m venv "
MOST_PAGES = 44
"""Of docs/, without those that a build makes: a further page takes the place of another."""
NAMES_OF_SITES = ("https://", "http://", "mailto:")


def test_links_lead_somewhere():
    for page in PAGES:
        for line, target in links(page):
            if target.startswith(NAMES_OF_SITES):
                continue
            path, _, anchor = target.partition("#")
            aim = (page.parent / path).resolve() if path else page
            place = f"{page.name}:{line}: {target}"
            assert aim.exists() or aim.parent in MADE, place
            assert aim.is_relative_to(ROOT), f"{place} is outside of the repository"
            if anchor and aim in PAGES:
                assert anchor in anchors(aim), place


def test_no_folder_of_a_machine_is_named():
    for page in PAGES:
        found = re.search(r"(?<![\w.~])/(home|root|tmp|work|Users|mnt)/", page.read_text())
        assert found is None, f"{page.name}: {found[0]}"


def test_pages_and_lines_are_short():
    long = []
    for page in PAGES:
        if str(page.relative_to(ROOT)) in OTHER_LENGTHS:
            continue
        lines = page.read_text().splitlines()
        uncounted = {
            block.line + row for block in blocks(page) for row in range(
                block.text.count("\n")
            ) if block.language == "text"
        } | {number for number, line in enumerate(lines, 1) if line.startswith("|")}  # fmt: skip
        for number, line in enumerate(lines, 1):
            is_long = len(line) > LONGEST_LINE and number not in uncounted
            if is_long and not line.startswith(("!", SETUP)):
                long.append(f"{page.name}:{number}")
        is_readme = page.name == "README.md"
        most = LONGEST_README if is_readme else LONGEST_PAGE
        num_lines = len(lines) if is_readme else len(lines) - len(uncounted)
        if num_lines > most:
            long.append(f"{page.name} has {num_lines} lines of text")
    assert not long


def test_every_page_is_in_the_contents():
    """Once: a reader finds every page from docs/index.md."""
    listed = re.findall(r"^([\w/]+)$", (ROOT / "docs" / "index.md").read_text(), re.MULTILINE)
    docs = ROOT / "docs"
    pages = {str(page.relative_to(docs).with_suffix("")) for page in PAGES if page.is_relative_to(docs)}
    made = {f"reference/{name}" for name in reference_pages.PAGES}
    assert sorted((pages | made) - {"index"}) == sorted(listed)
    assert len(pages) <= MOST_PAGES


def test_llms_txt_lists_the_pages_of_the_contents(tmp_path):
    application = pytest.importorskip("sphinx.application")
    spec = importlib.util.spec_from_file_location("conf_of_pages", ROOT / "docs" / "conf.py")
    conf = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(conf)
    (tmp_path / "conf.py").write_text('project = "ours"\nextensions = ["myst_parser"]\n')
    contents = "```{toctree}\n:hidden:\n:caption: Start\nfirst\nparts/second\n```\n"
    (tmp_path / "index.md").write_text(f"# Ours\n\nGames are\nplayed. More.\n\n{contents}")
    (tmp_path / "first.md").write_text(
        "# Begin *here*\n\n`ours run` plays 2.5 games (Ax et al. 2020). Then stop.\n"
    )
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "second.md").write_text("# Parts\n\n## One\n\nA list:\n\n- a part\n")
    out = tmp_path / "out"
    app = application.Sphinx(tmp_path, tmp_path, out, tmp_path / "trees", "html", status=None, warning=None)
    app.connect("build-finished", conf.write_llms)
    app.build()
    assert (out / "llms.txt").read_text() == (
        "# ours\n\n> Games are played.\n\n## Start\n\n"
        "- [Begin here](first.html): ours run plays 2.5 games (Ax et al. 2020).\n"
        "- [Parts](parts/second.html): A list\n"
    )
