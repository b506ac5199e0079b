import json
import re

import pytest

pytest.importorskip("starlette", reason="the extra `people` is not installed")
from starlette.testclient import TestClient

from ecsuite.people.server import HEADERS, MAX_BODY, People
from ecsuite.people.simulated import Memorizer, play


@pytest.fixture
def visit(sessions):
    """A study, a client that has opened its page, and a function that acts as the page does."""
    study = sessions(grammars=("concat",), datasets=("synth",))
    client = TestClient(People(study).app(), raise_server_exceptions=False)
    assert client.get("/").status_code == 200
    csrf = client.get("/api/state").json()["csrf"]

    def act(action, headers=None, **sent):
        told = {"X-CSRF-Token": csrf, **(headers or {})}
        return client.post(f"/api/{action}", content=json.dumps(sent), headers=told)

    client.act = act
    client.token = client.cookies.get(People(study).cookie)
    client.study = study
    return client


def test_the_page_needs_nothing_from_elsewhere(visit):
    page = visit.get("/")
    for place in re.findall(r'(?:src|href)="([^"]+)"', page.text):
        assert "//" not in place
        assert visit.get(f"/{place}").status_code == 200
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
    assert page.headers["x-content-type-options"] == "nosniff"


def test_no_code_of_a_locked_object_is_ever_sent(visit):
    visit.act("begin", worker="")
    play(visit.study, visit.token, Memorizer(), steps=9)
    row = visit.study.required(visit.token)
    game = visit.study.kind.game(row)
    locked = {game.codes.texts[meaning] for meaning in game.schedule.order[row["num_available"] :]}
    sent = visit.get("/api/state").text + visit.act("answer", step=row["step"], typed="zzzz").text
    assert not [code for code in locked if code in sent]
    assert "held_out" not in sent
    assert visit.get(f"/picture/panel/{row['num_available']}").status_code == 404
    assert visit.get(f"/picture/step/{row['step'] + 2}").status_code == 404
    assert visit.get("/picture/panel/0").headers["content-type"] == "image/png"


@pytest.mark.parametrize(
    ("action", "sent"),
    [
        ("answer", {"step": 0, "typed": "a" * 65}),
        ("answer", {"step": 0, "typed": ""}),
        ("answer", {"step": 0, "typed": "a\x00b"}),
        ("answer", {"step": "0", "typed": "abcd"}),
        ("answer", {"step": -1, "typed": "abcd"}),
        ("answer", {"step": True, "typed": "abcd"}),
        ("panel", {"before": 2, "after": None}),
        ("reply", {"replies": {"strategy": 1}}),
        ("reply", {"replies": ["strategy"]}),
        ("reply", {"replies": {"strategy": "a" * MAX_BODY}}),
        ("choose", {"has_sound": 1, "names_objects": True}),
        ("begin", {"worker": "w" * 201}), ("begin", {"worker": "\ud800"}),
        ("reply", {"replies": {"strategy": "half a pair: \udc00"}}),
        ("answer", {"step": 0, "typed": "\ud800"}),
    ],
)  # fmt: skip
def test_what_the_page_does_not_send_is_refused(visit, action, sent):
    visit.act("begin", worker="")
    play(visit.study, visit.token, Memorizer(), steps=0)
    response = visit.act(action, **sent)
    assert response.status_code == 400 and response.json().keys() == {"error"}
    assert visit.study.database.answers() == []


def test_an_action_needs_the_token_of_the_page(visit):
    for token in ("0" * 64, "é".encode("latin-1")):
        assert visit.act("begin", headers={"X-CSRF-Token": token}).status_code == 403
    assert visit.study.database.participants() == []


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_no_script_and_no_other_site_has_the_cookie(visit, scheme):
    client = TestClient(People(visit.study).app(), base_url=f"{scheme}://study.example")
    cookie = client.get("/").headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=lax" in cookie and ("Secure" in cookie) == (scheme == "https")


@pytest.mark.parametrize("chosen", ["A" * 32, "A" * 64, "", "é" * 64])
def test_a_token_that_a_visitor_chose_is_none(visit, chosen):
    """Else who gives others a cookie could go on as them; a page that is opened has one of ours instead."""
    cookie, client = People(visit.study).cookie, TestClient(People(visit.study).app())
    chosen = {"Cookie": f"{cookie}={chosen}".encode()}
    assert client.get("/api/state", headers=chosen).status_code == 409
    told = {"X-CSRF-Token": visit.study.code("A" * 64), **chosen}
    assert client.post("/api/begin", json={}, headers=told).status_code == 403
    assert cookie in client.get("/", headers=chosen).headers["set-cookie"]
    assert visit.study.database.participants() == []


PLACES = [("GET", "/nothing", 404), ("GET", "/static/nothing", 404), ("GET", "/picture/panel/²", 404),
          ("GET", "/api/begin", 405), ("PUT", "/", 405), ("POST", "/api/begin", 403)]  # fmt: skip


def test_every_answer_has_the_headers_whatever_the_error(visit):
    visit.act("begin", worker="")
    for method, path, status in PLACES:
        response = visit.request(method, path, follow_redirects=False)
        assert response.status_code == status and response.json().keys() == {"error"}
        assert not HEADERS.items() - {(name, response.headers.get(name)) for name in HEADERS}


def test_who_tries_the_game_can_go_straight_to_the_first_picture(sessions):
    study = sessions(grammars=("concat",), datasets=("synth",))
    for is_trial, status in ((False, 404), (True, 200)):
        client = TestClient(People(study, is_trial=is_trial).app())
        client.get("/")
        csrf = client.get("/api/state").json()["csrf"]
        response = client.post("/api/skip", json={}, headers={"X-CSRF-Token": csrf})
        assert response.status_code == status
    state = response.json()["state"]
    assert state["stage"] == "game" and state["game"]["example"] == 1
    assert client.get("/picture/step/0").headers["content-type"] == "image/png"
    wrong = client.post("/api/answer", json={"step": 0, "typed": "zz"}, headers={"X-CSRF-Token": csrf}).json()
    again = client.post("/api/skip", json={}, headers={"X-CSRF-Token": csrf}).json()
    assert wrong["told"].startswith("The code is ") and again["state"]["game"]["example"] == 2


def test_an_error_of_the_server_says_nothing_of_its_inside(visit, monkeypatch, capsys):
    monkeypatch.setattr(visit.study, "begin", lambda *_: 1 / 0)
    response = visit.act("begin", worker="")
    assert response.status_code == 500 and response.json() == {"error": "The server made a mistake."}
    assert response.headers["x-frame-options"] == "DENY"
    assert capsys.readouterr().err == "POST /api/begin: ZeroDivisionError: division by zero\n"


def test_nobody_takes_part_without_a_cookie(visit):
    visit.cookies.clear()
    assert visit.get("/api/state").status_code == 409
    assert visit.get("/picture/step/0").status_code == 409
    assert visit.act("begin").status_code == 403
