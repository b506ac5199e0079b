"""The page in a real Chromium: no error, no request, search, phone, dark mode, print."""

import json
import re
from pathlib import Path

import pytest

from ecsuite.eval.views.html.page import write_report
from headless import CHROMIUM, chromium

pytestmark = [pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed"), pytest.mark.slow]
AXE = (Path(__file__).parents[3] / "people" / "axe" / "axe.min.js").read_text()

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


FIRST_PAINT = """
new Promise((tell) => new PerformanceObserver((seen) => tell(seen.getEntries()[0].startTime)).observe(
  { type: "paint", buffered: true }))
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
    found, everything = re.match(r"(\d+) of (\d+)", page.ask("document.querySelector('#found').textContent")).groups()
    return int(found), int(everything)


@pytest.fixture(scope="module")
def systems100(tmp_path_factory, write_run):
    """The page of 100 systems: ten runs, and files of scores with their chance levels."""
    folder = tmp_path_factory.mktemp("systems100")
    for seed in range(10):
        write_run(folder / "runs" / f"gumbel-{seed}", "gumbel", 5, seed)
    for number in range(90):
        score = {
            "name": "topsim", "value": number / 90, "ci95": [number / 90, 1], "signature": "topsim", "details": {},
            "chance": {"level": 0.1, "low": 0.0, "high": 0.2}, "reason": None,
        }  # fmt: skip
        content = {"format": 1, "corpus": {}, "scores": [score]}
        (folder / f"grammar{number}.json").write_text(json.dumps(content))
    sources = [folder / "runs", *sorted(folder.glob("*.json"))]
    return write_report(sources, folder / "report.html").path


def test_the_page_of_100_systems(systems100):
    seen = "[...document.querySelectorAll('#systems-table tbody tr:not([hidden])')]"
    with chromium() as page:
        page.resize(1200)
        page.open(systems100.as_uri())
        assert page.ask(FIRST_PAINT) < 5000  # milliseconds; about 400 on two cores
        assert page.ask(f"{seen}.length") == 100
        page.ask("(filter.value = 'Grammar8', filter.dispatchEvent(new Event('input')))")
        assert page.ask(f"{seen}.length") == 11
        assert page.ask("document.querySelector('#filtered').textContent") == "11 of 100"
        page.ask("(filter.value = '', kind.value = 'disc_tiny', kind.dispatchEvent(new Event('input')))")
        assert page.ask(f"{seen}.length") == 10
        page.ask(f"{seen}[3].querySelector('a').click()")
        assert page.ask("corpus.value") == "3" and page.ask("location.hash") == "#messages"
        page.ask("(kind.value = '', kind.dispatchEvent(new Event('input')))")
        page.ask("document.querySelector('#systems-table thead th:nth-child(4) button').click()")
        values = page.ask(f"{seen}.map((row) => Number(row.cells[3].dataset.value))")
        assert values == sorted(values) and len(values) == 100
        page.ask(AXE)
        for scheme, width in (("light", 1200), ("dark", 360)):
            page.prefer(scheme)
            page.resize(width)
            assert page.ask("document.documentElement.scrollWidth") <= width
            assert page.ask("axe.run().then((found) => found.violations.map((each) => each.id).join())") == ""
        assert page.errors == []
