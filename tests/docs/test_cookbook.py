"""Each recipe of docs/cookbook.md, and the code of the start page, runs alone in an empty folder."""

import re

import pytest

import ecsuite.api
from doc_outputs import with_outputs
from doc_pages import ROOT, blocks
from doc_shell import TRAINING

RECIPES = {
    "start page": (ROOT / "docs/index.md", 0),
    **{
        title: (ROOT / "docs/cookbook.md", line)
        for line, text in enumerate((ROOT / "docs/cookbook.md").read_text().splitlines(), 1)
        for title in re.findall(r"^## \d+\. (.*)$", text)
    },
}


assert len(RECIPES) == 11


@pytest.mark.sample(6)
@pytest.mark.parametrize("title", RECIPES)
def test_a_recipe_runs(title, monkeypatch, tmp_path):
    page, line = RECIPES[title]
    ends = [below for other, below in RECIPES.values() if other == page and below > line]
    train = ecsuite.api.train
    monkeypatch.chdir(tmp_path)

    def small(game, **given):
        return train(game, **{**given, "overrides": TRAINING | (given.get("overrides") or {})})

    monkeypatch.setattr(ecsuite.api, "train", small)
    names = {"__name__": "__main__"}
    for block in blocks(page):
        if not line < block.line < min(ends, default=10**6) or not block.is_run:
            continue
        if block.file is not None:
            (tmp_path / block.file).write_text(block.text)
        else:
            exec(compile(block.text, f"{page.name}:{block.line}", "exec"), names)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_outputs_of_the_first_page_are_printed_today():
    """But for figures, and spaces, whose number depends on them."""
    page = ROOT / "docs/start.md"
    now, before = (re.sub(r"[\d.,%…-]+|\s+", "", text) for text in (with_outputs(page), page.read_text()))
    assert now == before
