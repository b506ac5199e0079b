import time

import pytest

from browser_participant import CHROMIUM, Player, Server
from ecsuite.people.database import make_database
from ecsuite.people.kinds import make_kind
from ecsuite.people.session import Sessions
from ecsuite.people.study import Study, with_texts


@pytest.fixture(scope="module")
def chromium():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def serve(tmp_path):
    """Starts `ecsuite people` with arguments, and ends it with the test; a text is the study `study.yaml`."""
    started = []

    def serve(*arguments, study=None):
        if study is not None:
            (tmp_path / "study.yaml").write_text(study)
        started.append(Server(tmp_path, *(arguments or ("serve", "study.yaml"))))
        return started[-1]

    yield serve
    for server in started:
        if server.process.poll() is None:
            server.kill()


@pytest.fixture
def visit(chromium):
    """Opens a page in a browser of its own, and begins if it is that of a study; returns who is there."""
    contexts = []

    def visit(url=None, width=1000, height=740, *, begins=True):
        contexts.append(chromium.new_context(viewport={"width": width, "height": height}))
        player = Player(contexts[-1].new_page())
        if url is not None:
            player.page.goto(url)
        if url is not None and begins:
            player.page.get_by_role("button", name="I agree: begin").click()
        return player

    yield visit
    for context in contexts:
        context.close()


class Clock:
    """A clock that stands, but for what a test adds to `now`."""

    now = 1e9

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def sessions(tmp_path):
    made = []

    def make(folder="study", clock=time.time, **settings):
        number = {} if {"chains", "pairs"} & settings.keys() else {"participants": 100}
        study = with_texts(Study(**{"name": "study", **number, **settings}))
        database = make_database(study, tmp_path / folder)
        found = Sessions(make_kind(study, database, clock=clock))
        made.append(found)
        return found

    yield make
    for each in made:
        each.database.close()
