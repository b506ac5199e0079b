"""A study of simulated participants in temporary folders."""

import pytest
from browser_participant import CHROMIUM

from ecsuite.people.opening import make_database
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
def sessions(tmp_path):
    """Makes the sessions of a study with the given settings."""
    made = []

    def make(folder="study", clock=None, **settings):
        study = with_texts(Study(**{"name": "study", "participants": 100, **settings}))
        found = Sessions(
            study, make_database(study, tmp_path / folder), **({"clock": clock} if clock else {})
        )
        found.database._connection.execute("PRAGMA synchronous = OFF")  # a test needs no waiting for the disk
        made.append(found)
        return found

    yield make
    for each in made:
        each.database.close()
