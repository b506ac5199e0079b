import csv
import json

import numpy as np
import pytest

from ecsuite.eval.statistics.estimates import NO_INTERVAL
from ecsuite.grammars.icy import canonical
from ecsuite.people.chains import MeasuredGeneration, chains_table
from ecsuite.people.codes import make_schedule
from ecsuite.people.codes_report import PUBLISHED, SIMULATED, evaluate_rule, permutation_p, report_tables
from ecsuite.people.export import as_csv, export
from ecsuite.people.kinds import Record, mean_cell, mean_notes, mean_of, read_records
from ecsuite.people.simulated import Composer, Memorizer, RandomTypist, play
from ecsuite.people.study import Study

WORKER = "A1B2C3WORKER"


@pytest.fixture
def studied(sessions):
    """Two who see the composition, one who memorises, one random typist, one who stops; concat of synth."""
    study = sessions(grammars=("concat",), datasets=("synth",), simulated=True, worker_ids="plain")
    for number, participant in enumerate((Composer(), Composer(), Memorizer(), RandomTypist())):
        play(study, f"token{number}", participant, worker=f"{WORKER}{number}")
    play(study, "stops", Memorizer(), steps=5)
    return study


def test_nothing_simulated_stands_beside_the_papers_figures(studied):
    records = read_records(studied.database)
    text = str(report_tables(studied.study, [evaluate_rule(studied.study, records, "published")]))
    assert SIMULATED in text and "Perkins" not in text and "17 ± 4" not in text


def test_the_papers_figures_are_beside_those_of_people(sessions):
    study = sessions(grammars=("concat", "shuf"), datasets=("eng",))
    for number in range(2):
        play(study, f"token{number}", Composer())
    found = evaluate_rule(study.study, read_records(study.database), "published")
    lines = "".join(map(str, report_tables(study.study, [found]))).splitlines()
    assert sum("14 ± 3" in line and "200 ± 100" in line for line in lines) == 1
    assert SIMULATED not in lines and len(PUBLISHED) == 10


def test_an_export_that_was_killed_is_written_again(studied, tmp_path, monkeypatch):
    def kill(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as killed, pytest.raises(KeyboardInterrupt):
        killed.setattr("ecsuite.people.export.as_csv", kill)
        export(studied.kind, tmp_path / "data", has_workers=False)
    assert export(studied.kind, tmp_path / "data", has_workers=False)


@pytest.mark.parametrize("settings", [{}, {"pairs": 2}, {"play": "naming"}])
def test_a_picture_without_answers_is_refused(sessions, ecsuite, refused, tmp_path, settings):
    study = sessions(**settings)
    assert (
        refused("people", "report", str(study.database.file.parent), "--plot", "a.svg")
        == "nothing to draw: expected at least one value\n"
    )
    assert ecsuite("people", "report", str(study.database.file.parent))[0] == 0


def test_the_export_says_nothing_of_who_took_part(studied, tmp_path, succeeded):
    out = tmp_path / "data"
    export(studied.kind, out, has_workers=False)
    assert not [file for file in out.rglob("*") if file.is_file() and WORKER.encode() in file.read_bytes()]
    trials = json.loads((out / "trials.json").read_text())
    with open(out / "trials.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(trials) == len(rows) == 4 * 51 + 5 and list(trials[0]) == list(rows[0])
    assert all(trial["is_right"] == (trial["typed"] == trial["code"]) for trial in trials if trial["code"])
    printed = succeeded("score", str(out / "corpora" / "P001"), "--metrics", "topsim", "--json")
    assert json.loads(printed)["scores"][0]["value"] > 0.5
    export(studied.kind, out, has_workers=True)  # on top of an earlier export
    assert WORKER in (out / "participants.csv").read_text()


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", " =1", "\t@A1"])
def test_no_cell_of_a_table_is_a_formula(text):
    assert as_csv([{"a": text, "b": "x@y", "c": -1}], ["a", "b", "c"]) == f"a,b,c\n'{text},x@y,-1\n".encode()


def test_the_permutation_test_counts_permutations():
    assert permutation_p(np.ones(4), np.zeros(4)) == pytest.approx(2 / 70)
    assert permutation_p(np.zeros(3), np.zeros(3)) == 1.0


def test_published_holds_out_the_next_locked_objects():
    schedule = make_schedule("published", "synth", 0)
    assert schedule.order == tuple(range(9)) and schedule.held_out == {29: 0, 39: 1, 49: 2}


def record(number, dataset, grammar, held_out):
    """A participant whose answers take a minute each: two of training, right, and held-out ones, 1 if right."""
    kinds = ["training"] * 2 + ["held_out"] * len(held_out)
    answers = [
        {"kind": kind, "example": n, "is_right": int(is_right), "shown_at": 60.0 * n, "answered_at": 60.0 * (n + 1)}
        for n, (kind, is_right) in enumerate(zip(kinds, "11" + held_out, strict=True))
    ]  # fmt: skip
    row = {"id": number, "dataset": dataset, "grammar": grammar, "score": 50, "stage": "finished"}
    return Record(row=row, answers=answers)


def test_languages_are_compared_within_a_dataset():
    kinds = 2 * [("synth", "concat", "111"), ("synth", "perm", "100"), ("eng", "concat", "111")]
    study = Study(name="made", min_score=50, min_accuracy=0.5)
    records = [record(number, *each) for number, each in enumerate(kinds)]
    (difference,) = evaluate_rule(study, records, "published").differences
    assert (difference.source, difference.baseline) == (canonical("concat"), canonical("perm"))
    assert difference.details == {"dataset": "synth"}
    assert difference.mean == pytest.approx(2 / 3)


def test_equal_shares_have_the_exact_interval_and_other_equal_values_none():
    rows = [
        MeasuredGeneration(
            dataset="synth", grammar="concat", chain=f"chain {chain}", generation=1, topsim=1.0,
            topsim_by_chance=0.0, error=0.0, num_codes=9,
        )
        for chain in range(3)
    ]  # fmt: skip
    table = chains_table(Study(name="s", protocol="chain", grammars=("concat",)), rows)
    assert NO_INTERVAL in table.notes and "±" not in str(table).partition("mean over chains")[0]
    assert "0.00 [0.00, 0.71]" in str(table)  # of 0 of 3: 1 - 0.025^(1/3)
    mean = mean_of([1.0, 1.0, 1.0], are_shares=True)
    assert mean_cell(mean, 2, (0.0, 1.0)).text == "1.00 [0.29, 1.00]"
    assert mean_notes("mean", "", [mean, None]) == mean_notes("mean", "", [])
    assert mean_cell(mean_of([7.0, 7.0]), 1).text == "7.0"
