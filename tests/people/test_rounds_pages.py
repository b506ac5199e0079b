import pytest

from browser_participant import CHROMIUM, accessible
from ecsuite.formats import read_corpus

pytest.importorskip("starlette", reason="the extra `people` is not installed")
pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = [
    pytest.mark.slow, pytest.mark.timeout(300),
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium in /usr/bin"),
]  # fmt: skip
GAME = """
play: {kind: talk, agents: 2, candidates: 3, symbols: letters, max_symbols: 3, blocks: 1}
world: {kind: attributes, num_attributes: 2, num_values: 2}
training: {num_epochs: 1, batch_size: 4, evaluate_every: 1, checkpoint_every: 2}
"""


def test_a_person_talks_with_an_agent_and_the_server_is_killed(serve, visit, tmp_path):
    (tmp_path / "game.yaml").write_text(GAME)
    server = serve("play", "game.yaml")
    page = visit(server.url, begins=False).page
    page.get_by_role("button", name="Straight to the first picture").click()
    for number in range(1, 9):
        page.locator("h1", has_text=f"Example {number} of 8").wait_for(state="attached")
        page.locator(".named").wait_for()
        if number in (1, 5):
            accessible(page)
        if number == 3:
            server.kill()
            server.start()
            page.reload()
            page.locator(".named").wait_for()
        if page.get_by_label("Your answer").count():
            page.get_by_label("Your answer").fill("toolong" if number == 8 else "ab")
            page.get_by_role("button", name="Answer").click()
            if number == 8:
                page.get_by_text("Expected 1 to 3 of these symbols").wait_for()
                page.wait_for_function("() => document.getElementById('typed').value === ''")
                page.get_by_label("Your answer").fill("ab")
                page.get_by_role("button", name="Answer").click()
        else:
            page.locator("ol.choices button").first.click()
    page.get_by_text("Your score").wait_for()
    assert server.stop() == 0
    assert len(read_corpus(tmp_path / "runs" / "people_game" / "P001").messages) == 8
