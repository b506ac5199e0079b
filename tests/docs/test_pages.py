import ast
import functools
import importlib.util
import re

import pytest
import reference_pages

import ecsuite as ec
from doc_pages import MADE, PAGES, ROOT, anchors, blocks, links
from ecsuite.commands.catalogue import COMMANDS
from ecsuite.eval.metrics import METRIC_OF, METRICS, find_metric
from ecsuite.games.config.experiment import named_configs

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
        uncounted = {number for number, line in enumerate(lines, 1) if line.startswith("|")}
        for block in blocks(page):
            if block.language == "text":
                uncounted |= {block.line + row for row in range(block.text.count("\n"))}
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
    (tmp_path / "first.md").write_text("# Begin *here*\n\n`ours run` plays 2.5 games (Ax et al. 2020). Then stop.\n")
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


LINES = (ROOT / "docs/reliability.md").read_text().partition("## What a kill")[0].splitlines()
PROMISES = [[cell.strip() for cell in line.strip("|").split("|")] for line in LINES if line.startswith("|")][2:]
assert len(PROMISES) >= 11


@functools.cache
def functions(file):
    return {node.name for node in ast.walk(ast.parse((ROOT / file).read_text())) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("number", range(len(PROMISES)))
def test_every_promise_has_a_test(number):
    promise, tests, _ = PROMISES[number]
    assert promise and tests
    for test in tests.split(", "):
        file, *_, name = test.strip("`").split("::")
        assert name.startswith("test_") and name in functions(file), test


def test_pages_name_everything_once(tmp_path):
    reference_pages.write_pages(tmp_path)
    text = {name: (tmp_path / f"{name}.md").read_text() for name in reference_pages.PAGES}
    assert [name for name in COMMANDS if text["commands"].count(f"\n### `{name}`\n") != 1] == []
    assert [name for name in METRIC_OF if text["scores"].count(f"\n| `{name}`") < 1] == []
    assert all(f"`ec.{name}`" in text["api"] for name in ec.__all__ if name.islower() and name[0] != "_")
    rows = text["settings"].splitlines()
    assert any(row.startswith("| `temperature` | `1.0` | number, above 0 | Softmax") for row in rows)
    assert any(row.startswith("| `distractors` | `random` | `random`, `hard` |") for row in rows)
    games = [section.split("`")[1] for section in text["games"].split("\n## ")[1:]]
    assert games == list(named_configs())


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", named_configs())
def test_a_game_has_about_twenty_lines(name):
    assert 6 <= len(reference_pages.game_text(name).splitlines()) <= 30


def test_the_table_of_the_readme_counts_games_and_metrics():
    of_runs = sum(find_metric(name).shared.needs_agents for name in METRICS.parts)
    lines = (ROOT / "README.md").read_text().splitlines()
    (row,) = (line for line in lines if line.startswith("| **ecsuite**"))
    assert f"| {len(named_configs())}, in YAML |" in row
    assert f"| {len(METRICS.parts) - of_runs} of a corpus, {of_runs} of its" in row
