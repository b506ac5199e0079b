import pytest

pytest.importorskip("starlette", reason="the extra `people` is not installed")
from starlette.testclient import TestClient

from ecsuite.people.database import RefusedError
from ecsuite.people.kinds import read_records
from ecsuite.people.server import People
from ecsuite.people.simulated import Memorizer, play
from ecsuite.people.study import Study
from ecsuite.runtime.errors import ConfigError

CHAIN = {"grammars": ("hol",), "datasets": ("synth",), "chains": 1, "generations": 3, "simulated": True}


@pytest.fixture
def chains(sessions, clock):
    """Makes the sessions of a study with one chain of three generations, with a clock that stands."""
    return lambda **settings: sessions(**{"clock": clock, **CHAIN, **settings})


def places(sessions):
    return [(row["chain"], row["generation"], row["teacher"]) for row in sessions.database.participants()]


def test_who_remembers_all_hands_the_language_on_unchanged(chains):
    study = chains(seen=9, generations=5)
    for number in range(5):
        play(study, f"token{number}", Memorizer())
    assert places(study) == [(1, 1, None), (1, 2, 1), (1, 3, 2), (1, 4, 3), (1, 5, 4)]
    rows = study.kind.report(read_records(study.database)).data["generations"]
    assert [row["error"] for row in rows] == [None, 0, 0, 0, 0, 0]
    assert len({row["topsim"] for row in rows}) == 1 and rows[0]["topsim"] is not None
    with pytest.raises(RefusedError, match="all the participants"):
        study.begin("late")


def test_a_visitor_waits_on_a_page_and_is_told_when_it_was_too_long(chains):
    study = chains(wait_minutes=2, waited_code="WAIT", return_url="https://x.example/?cc={code}")
    study.begin("somebody")
    client = TestClient(People(study).app())
    client.get("/")
    headers = {"X-CSRF-Token": client.get("/api/state").json()["csrf"]}
    stages = []
    for action, seconds in (("begin", 0), ("wait", 100), ("wait", 30), ("begin", 0)):
        study.clock.now += seconds
        state = client.post(f"/api/{action}", json={}, headers=headers).json()["state"]
        stages.append((state["stage"], state.get("seconds"), state.get("return_url")))
    assert stages == [
        ("waiting", 0, None), ("waiting", 100, None),
        ("waited", None, "https://x.example/?cc=WAIT"),
        ("waiting", 0, None),
    ]  # fmt: skip


def test_nothing_is_told_of_answers_to_the_test(chains):
    study = chains(seen=2, passes=1)
    client = TestClient(People(study).app())
    client.get("/")
    headers = {"X-CSRF-Token": client.get("/api/state").json()["csrf"]}
    token = client.cookies.get(People(study).cookie)
    row = play(study, token, Memorizer(), steps=3)
    assert row["kind"] == "test"
    refused = client.post("/api/answer", json={"step": 3, "typed": "12"}, headers=headers)
    assert refused.status_code == 400 and "letters" in refused.json()["error"]
    code = study.kind.game(row).language[row["thing"]]
    told = client.post("/api/answer", json={"step": 3, "typed": code}, headers=headers).json()
    assert (told["is_right"], told["points"], told["told"]) == (None, 0, "")
    assert told["state"]["game"]["panel"] == []


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"participants": 3}, "participants: not read by a study with chains"),
        ({"run": "x"}, "at most one of run, play, chains and pairs"),
        ({"chains": 0}, "generations: not read by a study of codes; read by a study with chains"),
        ({"seen": 10}, "seen: expected at most the 9 objects of synth"),
    ],
)
def test_settings_that_do_not_fit_are_refused(settings, message):
    with pytest.raises(ConfigError, match=message):
        Study(name="x", **{**CHAIN, **settings})
