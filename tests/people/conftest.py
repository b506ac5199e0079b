"""A study of simulated participants in temporary folders."""

import time

import pytest
from browser_participant import CHROMIUM

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
