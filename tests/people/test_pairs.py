import csv
import json

import numpy as np
import pytest

pytest.importorskip("starlette", reason="the extra `people` is not installed")
from starlette.testclient import TestClient

from ecsuite.people import pairs as pair_study
from ecsuite.people.database import RefusedError
from ecsuite.people.export import export
from ecsuite.people.kinds import read_records
from ecsuite.people.server import People
from ecsuite.people.simulated import arrive, simulate

PAIRS = {"datasets": ("synth",), "pairs": 1, "rounds": 6, "simulated": True}


@pytest.fixture
def pairs(sessions, clock):
    """Makes the sessions of a study with one pair of six rounds, with a clock that stands."""
    return lambda **settings: sessions(**{"clock": clock, **PAIRS, **settings})


def meet(study, *tokens):
    """Begin the game of two participants; returns their tokens, who speaks first first."""
    for token in tokens:
        arrive(study, token)
        study.wait(token)
    return sorted(tokens, key=lambda token: study.required(token)["seat"])


def stages(study, *tokens):
    return [study.required(token)["stage"] for token in tokens]


def browsers(study):
    """Two who have opened the page, by their tokens."""
    app, found = People(study).app(), {}
    for client in (TestClient(app), TestClient(app)):
        client.get("/")
        found[str(client.cookies.get(People(study).cookie))] = client
    return found


def test_nothing_that_a_listener_gets_tells_the_object(pairs):
    study = pairs()
    clients = browsers(study)
    first, second = meet(study, *clients)
    speaker, listener = clients[first], clients[second]
    assert listener.get("/api/state").json()["game"]["view"] == {"kind": "partner"}
    assert listener.get("/picture/step/0").status_code == 404
    study.answer(first, 0, "abc")
    game = listener.get("/api/state").json()["game"]
    assert game["view"] == {"kind": "choice", "choices": [None] * 4, "message": "abc"}
    assert listener.get("/picture/step/0").status_code == 404
    assert [listener.get(f"/picture/choice/{place}").status_code for place in range(5)] == [200] * 4 + [404]
    assert speaker.get("/api/state").json()["game"]["told"] == "Sent."


@pytest.mark.parametrize(("dataset", "choices"), [("synth", 4), ("synth", 9), ("eng", 2)])
def test_who_remembers_the_targets_but_reads_no_message_is_at_chance(dataset, choices):
    """When each object came once in nine rounds, such a listener was right in 0.48 of them, of four candidates."""
    shares, times = [], np.zeros(pair_study.DATASETS[dataset].num_objects)
    for seed in range(100):
        game = pair_study.PairGame(dataset=dataset, num_rounds=40, num_choices=choices, seat=0, seed=seed)
        past = []
        for step in range(40):
            target, candidates = game.target(step), game.candidates(step)
            fewest = min(past.count(each) for each in candidates)
            left = [each for each in candidates if past.count(each) == fewest]
            shares.append((target in left) / len(left))
            past.append(target)
            assert len(set(candidates)) == choices and target in candidates
        times += np.bincount(past, minlength=len(times))
    assert np.mean(shares) == pytest.approx(1 / choices, abs=4 * 0.5 / len(shares) ** 0.5)
    assert np.ptp(times / times.mean()) < 0.3


def test_the_corpus_has_what_the_partner_saw(pairs):
    study = pairs()
    clients = browsers(study)
    speaker, listener = (clients[token] for token in meet(study, *clients))

    def answer(client, typed):
        headers = {"X-CSRF-Token": client.get("/api/state").json()["csrf"]}
        return client.post("/api/answer", json={"step": 0, "typed": typed}, headers=headers)

    for typed in ("ñu", "a b", "ab7", "7"):
        found = answer(speaker, typed)
        told = "Type letters from a to z, and nothing else."
        assert (found.status_code, found.json()["error"]) == (400, told)
    kept = answer(speaker, " AbC ").json()["kept"]
    assert kept == listener.get("/api/state").json()["game"]["view"]["message"] == "abc"
    for _ in range(2):  # sent again, since the answer of the server was lost: now the next step asks for letters
        found = answer(listener, "1")
        assert (found.status_code, found.json().get("kept")) == (200, "1")


@pytest.mark.parametrize("is_idle", [False, True], ids=["connection lost", "page open"])
def test_who_is_left_behind_is_told_and_who_was_away_too(pairs, is_idle):
    study = pairs(partner_seconds=60, turn_seconds=120, left_code="HALF", return_url="https://x.example/?cc={code}")
    first, second = meet(study, "one", "two")
    study.answer(first, 0, "abc")  # now it is the turn of the second, who does nothing
    for _ in range(7 if is_idle else 3):
        study.clock.now += 19
        study.wait(first)
        if is_idle:
            study.wait(second)
    assert stages(study, first, second) == ["game", "game"] if not is_idle else ["left", "away"]
    study.clock.now += 19
    study.wait(first)
    study.wait(second)
    assert stages(study, first, second) == ["left", "away"]
    with pytest.raises(RefusedError):
        study.answer(second, 0, "1")
    assert len(study.database.answers()) == 1
    arrive(study, "new"), arrive(study, "newer")  # the places are given again


def test_a_rehearsal_goes_on_when_it_was_stopped_or_more_are_wanted(pairs):
    assert simulate(pairs(pairs=1)) == 2 and simulate(pairs(pairs=2)) == 2


def test_a_partner_who_withdraws_ends_the_game(pairs):
    study = pairs()
    first, second = meet(study, "one", "two")
    study.answer(first, 0, "abc")
    study.withdraw(first)
    study.wait(second)
    assert stages(study, second) == ["left"] and study.database.answers() == []


def test_simulated_pairs_come_to_agree(pairs, tmp_path, ecsuite, monkeypatch):
    study = pairs(pairs=2, rounds=20)
    assert simulate(study) == 4
    report = study.kind.report(read_records(study.database))
    drawn = []
    monkeypatch.setattr(pair_study, "curves", lambda lines, **_: drawn.extend(lines))
    monkeypatch.setattr(pair_study, "save", lambda *_: None)
    report.draw(tmp_path / "pairs.svg")
    assert [line.x for line in drawn] == [[10, 20]] and drawn[0].y[1] == 1
    data = report.data
    assert [pair["num_rounds"] for pair in data["pairs"]] == [20] * 2
    assert all(pair["curve"][0] < 1 and pair["curve"][-1] == 1 for pair in data["pairs"])
    _, (status,) = study.kind.status(read_records(study.database), study.clock())
    assert (status["finished"], status["missing"]) == (4, 0)
    export(study.kind, tmp_path / "data", has_workers=False)
    with open(tmp_path / "data" / "responses.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 4 * 20 and {row["pair"] for row in rows} == {"pair_001", "pair_002"}
    listened = [row for row in rows if row["phase"] == "listening"]
    assert len(listened) == 40 and all(row["message"] for row in rows)
    assert all((row["response"] == row["target"]) == (row["correct"] == "1") for row in listened)
    code, printed, err = ecsuite("score", tmp_path / "data/corpora/pair_001", "--metrics", "topsim", "--json")
    assert code == 0 and len(json.loads(printed)["scores"][0]["details"]["by_speaker"]) == 2, err
