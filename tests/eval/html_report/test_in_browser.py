"""The page in a real Chromium: no error, no request, search, phone, dark mode, print."""

import re

import pytest
from headless import CHROMIUM, chromium

from ecsuite.eval.html_report.page import write_report

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")

HOSTILE = "<script>window.attacked = 1</script><img src=x onerror='window.attacked = 1'>"
CONTRAST = """
(() => {
  const light = (colour) => {
    const parts = colour.match(/[0-9.]+/g).slice(0, 3).map((part) => part / 255);
    const [r, g, b] = parts.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (each) => {
    for (let place = each; place; place = place.parentElement) {
      const colour = getComputedStyle(place).backgroundColor;
      if (!/rgba?\\(0, 0, 0, 0\\)/.test(colour)) return light(colour);
    }
    return light(getComputedStyle(document.documentElement).getPropertyValue("background-color"));
  };
  let least = 21;
  for (const each of document.querySelectorAll("p, h2, td, th, dt, dd, summary, a, select, button, b, .tile span")) {
    const [one, other] = [light(getComputedStyle(each).color), behind(each)];
    least = Math.min(least, (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05));
  }
  return least;
})()
"""  # fmt: skip

OVERLAPS = """
[...document.querySelectorAll("#pictures svg[role=img]")].flatMap((svg) => {
  const texts = [...svg.querySelectorAll("text")].map((each) => [each.textContent, each.getBoundingClientRect()]);
  const onAnother = ([, one], place) => texts.slice(place + 1).some(([, other]) =>
    Math.min(one.right, other.right) - Math.max(one.left, other.left) > 1 &&
    Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top) > 3);
  return texts.filter(onAnother).map(([text]) => text);
}).join()
"""


@pytest.fixture(scope="module")
def study36(tmp_path_factory, write_run):
    """The page of 36 runs, one of whose concepts is markup."""
    folder = tmp_path_factory.mktemp("study36")
    for kind in ("gumbel", "reinforce"):
        for size in (5, 78, 80):  # of which two lie on one another in a narrow picture
            for seed in range(6):
                concepts = (f"color={HOSTILE}", "shape=star") if seed == 5 else ("color=red", "shape=star")
                write_run(folder / "runs" / f"{kind}-{size}-{seed}", kind, size, seed, concepts=concepts)
    return write_report([folder], folder / "report.html").path


def test_the_page_of_36_runs(study36):
    with chromium() as page:
        page.resize(1200)
        page.open(study36.as_uri())
        assert page.ask("document.querySelectorAll('#pictures svg[role=img]').length") >= 5
        # Of each gallery one figure is seen, the chosen one.
        seen = "[...document.querySelectorAll('#curves figure')].map((each) => each.hidden).join()"
        assert page.ask(seen) == "false,true"
        page.ask("(() => { const select = document.querySelector('#curves select'); select.selectedIndex = 1; select.dispatchEvent(new Event('input')); })()")  # fmt: skip  # noqa: E501
        assert page.ask(seen) == "true,false"
        assert page.ask(OVERLAPS) == ""
        # Every picture has a title and a description.
        assert page.ask(
            "[...document.querySelectorAll('#pictures svg[role=img]')].every((each) => "
            "each.querySelector('title').textContent && each.querySelector('desc').textContent)"
        )
        # Search by meaning and by symbol.
        assert search(page, "color=red") == (2, 3)
        assert search(page, "3") == (1, 3) and search(page, "color=red 2") == (2, 3)
        assert search(page, "nothing like it") == (0, 3)
        assert "star" in page.ask("(search.value = '', search.dispatchEvent(new Event('input')), document.querySelector('#messages-table svg').ariaLabel)")  # fmt: skip  # noqa: E501
        # What data say does nothing, in any part of the page.
        page.ask("(corpus.value = 5, corpus.dispatchEvent(new Event('input')))")
        assert page.ask("document.querySelector('#messages-table').textContent.includes('onerror')")
        assert page.ask("[typeof window.attacked, document.images.length].join()") == "undefined,0"
        # A table is sorted by its headings.
        page.ask("document.querySelector('#scores thead th:last-child button').click()")
        values = page.ask("[...document.querySelectorAll('#scores tbody tr')].map((row) => Number(row.lastElementChild.dataset.value))")  # fmt: skip  # noqa: E501
        assert values == sorted(values) and len(values) == 6
        for scheme in ("light", "dark"):
            page.prefer(scheme)
            assert page.ask(CONTRAST) >= 4.5
        page.resize(360, 780)
        assert page.ask("document.documentElement.scrollWidth") == 360
        assert page.ask(OVERLAPS) == ""
        assert page.pdf().startswith(b"%PDF")
        assert (page.errors, page.requests) == ([], [study36.as_uri()])


def search(page, words):
    """How many messages are found, and of how many."""
    page.ask(f"(search.value = {words!r}, search.dispatchEvent(new Event('input')))")
    found, everything = re.match(
        r"(\d+) of (\d+)", page.ask("document.querySelector('#found').textContent")
    ).groups()
    return int(found), int(everything)
