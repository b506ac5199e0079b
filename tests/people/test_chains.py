"""Chains of participants: who learns from whom, whose place is given again, and what is measured of the languages."""

import csv
import json
import runpy
from dataclasses import replace
from pathlib import Path

import pandas
import pytest

pytest.importorskip("starlette", reason="the extra `people` is not installed")
from starlette.testclient import TestClient

from ecsuite.people.chains import MeasuredGeneration, _lineage, chains_table, read_chains
from ecsuite.people.database import RefusedError
from ecsuite.people.export import RESPONSE_WORDS, as_csv, export
from ecsuite.people.kinds import read_records
from ecsuite.people.server import People
from ecsuite.people.simulated import Composer, Memorizer, play
from ecsuite.people.study import Study
from ecsuite.runtime.errors import ConfigError

CHAIN = {"grammars": ("hol",), "datasets": ("synth",), "chains": 1, "generations": 3, "simulated": True}
MINUTE, ROOT = 60.0, Path(__file__).parents[2]


@pytest.fixture
def chains(sessions, clock):
    """Makes the sessions of a study with one chain of three generations, with a clock that stands."""
    return lambda **settings: sessions(**{"clock": clock, **CHAIN, **settings})


def test_a_lineage_goes_on_before_a_teacher_who_has_withdrawn():
    """Nobody learnt from another participant of that generation."""
    names = ("id", "generation", "teacher", "ended_at")
    rows = [("a", 1, None, 1.0), ("b", 2, "a", 2.0), ("d", 3, "gone", 4.0), ("e", 3, "b", 5.0)]
    lineage = _lineage([dict(zip(names, row, strict=True)) for row in rows])
    assert {generation: row["id"] for generation, row in lineage.items()} == {3: "d", 1: "a"}


def places(sessions):
    return [(row["chain"], row["generation"], row["teacher"]) for row in sessions.database.participants()]


def fail(sessions, token):
    """Play to the end as somebody who does not read."""
    row = play(sessions, token, Memorizer(), steps=0)
    while row["stage"] == "game":
        sessions.answer(token, row["step"], "zz")
        row = sessions.required(token)


def test_who_remembers_all_hands_the_language_on_unchanged(chains):
    """Known answer: no error in any generation, and the topsim of the first language in all."""
    study = chains(seen=9, generations=5)
    for number in range(5):
        play(study, f"token{number}", Memorizer())
    assert places(study) == [(1, 1, None), (1, 2, 1), (1, 3, 2), (1, 4, 3), (1, 5, 4)]
    rows = study.kind.report(read_records(study.database)).data["generations"]
    assert [row["error"] for row in rows] == [None, 0, 0, 0, 0, 0]
    assert len({row["topsim"] for row in rows}) == 1 and rows[0]["topsim"] is not None
    with pytest.raises(RefusedError, match="all the participants"):
        study.begin("late")


def test_structure_grows_where_learners_compose(chains):
    """Known answer: who makes new codes of the halves of others leaves a language of two halves."""
    study = chains(datasets=("eng",), generations=4, seen=12, passes=1, drops_homonyms=True)
    for number in range(4):
        play(study, f"token{number}", Composer(number))
    rows = study.kind.report(read_records(study.database)).data["generations"]
    assert rows[-1]["topsim"] > 0.7 > 0.2 > rows[0]["topsim"]
    assert rows[-1]["error"] < rows[1]["error"] / 2


def test_each_learns_what_the_one_before_typed_and_all_objects_are_tested(chains):
    study = chains(seen=4, passes=2)
    first = play(study, "one", Composer())
    second = play(study, "two", Composer())
    typed = {
        each["thing"]: each["typed"] for each in study.database.answers(first["id"]) if each["kind"] == "test"
    }
    assert sorted(typed) == list(range(9))
    assert json.loads(second["taught"]) == [typed[meaning] for meaning in range(9)]
    kinds = [each["kind"] for each in study.database.answers(second["id"])]
    assert [kinds.count(kind) for kind in ("training", "attention", "test")] == [8, 2, 9]
    game = study.kind.game(second)
    assert {each["thing"] for each in study.database.answers(second["id"]) if each["kind"] == "training"} == {
        *game.order
    }


def test_codes_can_be_looked_up_in_the_first_pass_alone(chains):
    study = chains(seen=4)
    row = play(study, "token", Memorizer(), steps=3)
    assert len(study.kind.game(row).panel(row["num_available"], False)) == 4
    row = play(study, "token", Memorizer(), steps=1)
    assert study.kind.game(row).panel(row["num_available"], False) == []
    study.change_panel("token", 0, 1)
    assert study.required("token")["num_available"] == 0


def test_of_objects_with_the_same_code_one_is_taught(chains):
    game = chains().kind.game({"dataset": "synth", "taught": json.dumps(["a", "b", "a"] * 3), "seed": 1})
    assert len(game.order) == 5
    distinct = replace(game, drops_homonyms=True)
    assert sorted(distinct.language[meaning] for meaning in distinct.order) == ["a", "b"]


def test_a_mean_over_some_of_the_chains_says_of_how_many():
    """Where a language has one code for all, it has no topographic similarity."""
    study = Study(name="s", chains=3, generations=1)
    [(dataset, grammar), *_] = study.conditions
    rows = [
        MeasuredGeneration(
            dataset=dataset, grammar=grammar, chain=f"C{number}", generation=0, topsim=topsim, topsim_by_chance=None,
            error=None, num_codes=2,
        )
        for number, topsim in enumerate((0.2, 0.4, None))
    ]  # fmt: skip
    table = str(chains_table(study, rows))
    assert "0.30 ± 1.27 (n = 2)" in table and table.count("(n =") == 1


def test_where_all_codes_are_the_same_one_is_taught_and_none_can_be_looked_up_in_the_test(chains):
    class SameCode(Memorizer):
        def answer(self, game, row, seen):
            return "zz"

    study = chains(drops_homonyms=True, passes=1)
    play(study, "one", SameCode())
    row = play(study, "two", Memorizer(), steps=2)
    assert len(study.kind.game(row).order) == 1 and row["kind"] == "test"
    study.change_panel("two", 0, 1)
    assert study.required("two")["num_available"] == 0


def test_the_place_of_who_leaves_or_does_not_read_is_given_again(chains):
    study = chains(idle_minutes=10)
    play(study, "leaves", Memorizer(), steps=5)
    assert study.begin("waits") is None
    study.clock.now += 11 * MINUTE
    fail(study, "fails")
    play(study, "counts", Memorizer())
    play(study, "next", Memorizer())
    assert places(study) == [(1, 1, None), (1, 1, None), (1, 1, None), (1, 2, 3)]
    play(study, "leaves", Memorizer())  # comes back, and may finish
    (chain,) = read_chains(study.study, study.database, study.clock())
    assert {number: row["id"] for number, row in chain.counted.items()} == {1: 3, 2: 4}


def test_the_first_who_finishes_a_generation_teaches_the_next(chains):
    study = chains(idle_minutes=10)
    play(study, "leaves", Memorizer(), steps=5)
    study.clock.now += 11 * MINUTE
    play(study, "counts", Memorizer())
    study.clock.now += MINUTE
    play(study, "leaves", Memorizer())
    play(study, "next", Memorizer())
    assert places(study) == [(1, 1, None), (1, 1, None), (1, 2, 2)]


def test_who_withdraws_leaves_the_place_unless_somebody_has_learned_there(chains):
    study = chains()
    play(study, "one", Memorizer())
    study.withdraw("one")
    play(study, "other", Memorizer())
    play(study, "two", Memorizer())
    study.withdraw("other")
    play(study, "three", Memorizer())
    assert places(study) == [(1, 2, 2), (1, 3, 3)]


def test_who_waits_longest_gets_the_place_and_nobody_who_has_gone(chains):
    study = chains(wait_minutes=10)
    play(study, "one", Memorizer(), steps=2)
    for token in ("gone", "first", "second"):
        assert study.begin(token) is None
    study.clock.now += 20
    study.wait("first"), study.wait("second")
    play(study, "one", Memorizer())
    study.wait("second")
    assert study.database.participant("second") is None
    study.wait("first")
    assert study.required("first")["generation"] == 2


def test_chains_grow_evenly(chains):
    study = chains(chains=3, generations=2)
    for number in range(6):
        play(study, f"token{number}", Memorizer())
    assert [place[:2] for place in places(study)] == [(1, 1), (2, 1), (3, 1), (1, 2), (2, 2), (3, 2)]
    table, rows = study.kind.status([], study.clock())
    assert [row["finished"] for row in rows] == [2, 2, 2] and "chains of 2 generations" in table.title


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
        ("waiting", 0, None),
        ("waiting", 100, None),
        ("waited", None, "https://x.example/?cc=WAIT"),
        ("waiting", 0, None),
    ]


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


def test_the_export_has_a_row_a_response_and_a_corpus_a_generation(chains, tmp_path, ecsuite):
    study = chains(generations=2)
    play(study, "one", Composer())
    fail(study, "fails")
    play(study, "two", Composer())
    export(study.kind, tmp_path / "data", has_workers=False)
    with open(tmp_path / "data" / "responses.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 3 * (5 * 3 + 9 + 2)
    assert {(row["participant"], row["chain"], row["generation"], row["counted"]) for row in rows} == {
        ("P001", "synth_hol_1", "1", "1"),
        ("P002", "synth_hol_1", "2", "0"),
        ("P003", "synth_hol_1", "2", "1"),
    }
    assert all(row["correct"] == str(int(row["response"] == row["target"])) for row in rows)
    table = pandas.read_csv(tmp_path / "data" / "responses.csv", keep_default_na=False, na_values=[""])
    assert list(table.columns) == list(RESPONSE_WORDS)
    assert {str(table[name].dtype) for name in ("correct", "generation", "counted")} == {"int64"}
    assert table.rt.mean() == 1000 and not table.response.isna().any()
    names = sorted(path.name for path in (tmp_path / "data" / "corpora").iterdir())
    assert names == ["synth_hol_1_g00", "synth_hol_1_g01", "synth_hol_1_g02"]
    code, printed, err = ecsuite(
        "score", tmp_path / "data/corpora/synth_hol_1_g02", "--metrics", "topsim", "--json"
    )
    report = study.kind.report(read_records(study.database)).data["generations"]
    assert code == 0 and json.loads(printed)["scores"][0]["value"] == pytest.approx(report[2]["topsim"]), err


def test_the_example_reads_what_is_exported_and_tests_the_trend(tmp_path, capsys):
    """Known answer: three chains that all get better, one of whose codes pandas would take for a missing value."""
    rows = [
        {
            "chain": chain,
            "generation": g,
            "phase": "test",
            "counted": 1,
            "response": "nan",
            "correct": int(item < g),
        }
        for chain in "abc"
        for g in (1, 2, 3)
        for item in range(4)
    ]
    (tmp_path / "responses.csv").write_bytes(as_csv(rows, list(RESPONSE_WORDS)))
    runpy.run_path(str(ROOT / "examples" / "responses.py"))["main"](str(tmp_path / "responses.csv"))
    printed = capsys.readouterr().out
    assert "0.25  0.5  0.75" in printed and "L = 42, p = 0.0046" in printed


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
