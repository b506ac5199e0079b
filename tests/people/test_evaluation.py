"""The report and the export of a study: who counts, what is said of whom, and what leaves no trace of a person."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest

from ecsuite.people.codes import TRIAL_WORDS
from ecsuite.people.codes_report import (
    PUBLISHED,
    SIMULATED,
    acceptance,
    evaluate_rule,
    permutation_p,
    report_tables,
)
from ecsuite.people.export import PARTICIPANT_WORDS, as_csv, export
from ecsuite.people.kinds import make_kind, read_records
from ecsuite.people.objects import ABBREVIATIONS, COLOURS, SHAPES
from ecsuite.people.simulated import Composer, Memorizer, RandomTypist, play
from ecsuite.people.study import Study
from ecsuite.tables.table import Column, Table, row_of

WORKER = "A1B2C3WORKER"


@pytest.fixture
def studied(sessions):
    """Two who see the composition, one who memorises, one random typist, one who stops; concat of synth."""
    study = sessions(grammars=("concat",), datasets=("synth",), simulated=True, worker_ids="plain")
    for number, participant in enumerate((Composer(), Composer(), Memorizer(), RandomTypist())):
        play(study, f"token{number}", participant, worker=f"{WORKER}{number}")
    play(study, "stops", Memorizer(), steps=5)
    return study


def test_the_report_tells_participants_apart(studied):
    records = read_records(studied.database)
    published, preregistered = (
        evaluate_rule(studied.study, records, rule) for rule in ("published", "preregistered")
    )
    for found in (published, preregistered):
        (condition,) = found.conditions
        accuracy = condition.means["held_out_accuracy"]
        assert condition.participants == 3
        assert accuracy.mean == pytest.approx(2 / 3)
        assert accuracy.half_width == pytest.approx(4.303 * np.std([1, 1, 0], ddof=1) / np.sqrt(3), rel=1e-3)
    assert published.conditions[0].left_out == {"low score": 1, "not finished": 1}
    assert preregistered.conditions[0].left_out == {"low accuracy": 1, "not finished": 1}


def test_participants_are_accepted_by_score_and_by_whether_their_answers_differ(studied):
    """Who stopped is not listed; between 0 and 100 points the same answer to all examples is rejected."""
    records = read_records(studied.database)
    decisions = acceptance(records)
    assert [row["participant"] for row in decisions] == ["P001", "P002", "P003", "P004"]
    assert all(row["decision"] == "accepted" for row in decisions[:3] if row["score"] >= 100)
    finished = records[0]
    for score, typed, decision in ((0, "", "rejected"), (41, "same", "rejected"), (41, "", "accepted"),
                                   (100, "same", "accepted")):  # fmt: skip
        answers = [{**each, "typed": typed or each["typed"]} for each in finished.answers]
        changed = replace(finished, row={**finished.row, "score": score}, answers=answers)
        assert acceptance([changed])[0]["decision"] == decision
    tables = studied.kind.report(records).tables
    assert "Participants to accept or reject" in str(tables[-1])


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


def test_what_participants_are_wanted_for(tmp_path):
    game = tmp_path / "game.yaml"
    game.write_text("play: {kind: naming, agents: 2}\n")
    titles = {
        "language of a dataset": Study(name="mine"),
        "role": Study(name="mine", run="runs/x"),
        "game": Study(name="mine", play=str(game)),
    }
    for what, study in titles.items():
        assert make_kind(study, None).status([], 0.0)[0].title.endswith(f"wanted for each {what}")


def test_status_counts(studied):
    _, (row,) = studied.kind.status(read_records(studied.database), studied.clock())
    assert {key: row[key] for key in ("finished", "at_work", "stopped", "missing")} == {
        "finished": 4,
        "at_work": 1,
        "stopped": 0,
        "missing": 96,
    }


def test_the_export_says_nothing_of_who_took_part(studied, tmp_path, ecsuite):
    out = tmp_path / "data"
    export(studied.kind, out, has_workers=False)
    assert not [file for file in out.rglob("*") if file.is_file() and WORKER.encode() in file.read_bytes()]
    trials = json.loads((out / "trials.json").read_text())
    with open(out / "trials.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(trials) == len(rows) == 4 * 51 + 5
    assert list(trials[0]) == list(rows[0]) == list(TRIAL_WORDS)
    assert all(trial["is_right"] == (trial["typed"] == trial["code"]) for trial in trials if trial["code"])
    dictionary = (out / "data_dictionary.md").read_text()
    assert all(f"`{name}`" in dictionary for name in (*TRIAL_WORDS, *PARTICIPANT_WORDS) if name != "worker")
    code, printed, err = ecsuite("score", str(out / "corpora" / "P001"), "--metrics", "topsim", "--json")
    assert code == 0, err
    assert json.loads(printed)["scores"][0]["value"] > 0.5
    export(studied.kind, out, has_workers=True)  # on top of an earlier export
    assert WORKER in (out / "participants.csv").read_text()


def test_an_export_that_was_killed_is_written_again(studied, tmp_path, monkeypatch):
    def kill(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as killed, pytest.raises(KeyboardInterrupt):
        killed.setattr("ecsuite.people.export.as_csv", kill)
        export(studied.kind, tmp_path / "data", has_workers=False)
    assert export(studied.kind, tmp_path / "data", has_workers=False)


def test_what_is_exported_of_an_object_is_that_object(sessions, tmp_path):
    """By the words of the codes, which are those of the colour and of the shape."""
    study = sessions(grammars=("concat",), datasets=("eng",))
    row = play(study, "token", Composer())
    export(study.kind, tmp_path / "data", has_workers=False)
    trials = json.loads((tmp_path / "data" / "trials.json").read_text())
    colours, shapes = (
        dict(zip(COLOURS, ABBREVIATIONS[0], strict=True)),
        dict(zip(SHAPES, ABBREVIATIONS[1], strict=True)),
    )
    of_codes = [trial for trial in trials if trial["code"]]
    assert [colours[trial["colour"]] + shapes[trial["shape"]] for trial in of_codes] == [
        trial["code"] for trial in of_codes
    ]
    kinds = [each["kind"] for each in study.database.answers(row["id"]) if each["kind"] != "attention"]
    (record,) = read_records(study.database)
    corpus = study.kind.corpus(record)
    assert list(corpus.columns["split"]) == ["held_out" if kind == "held_out" else "train" for kind in kinds]
    assert kinds.count("held_out") == 3


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", " =1", "\t@A1"])
def test_no_cell_of_a_table_is_a_formula(text):
    assert as_csv([{"a": text, "b": "x@y", "c": -1}], ["a", "b", "c"]) == f"a,b,c\n'{text},x@y,-1\n".encode()
    table = Table(columns=[Column("a")], rows=[row_of(text)])
    [_, [cell]] = csv.reader(table.csv().splitlines())
    assert cell.lstrip()[0] not in "=+-@"


def test_the_permutation_test_counts_permutations():
    assert permutation_p(np.ones(4), np.zeros(4)) == pytest.approx(2 / 70)
    assert permutation_p(np.zeros(3), np.zeros(3)) == 1.0


@pytest.mark.parametrize("settings", [{}, {"pairs": 2}, {"play": "naming"}])
def test_a_picture_of_a_study_without_answers_is_refused_in_a_line(sessions, ecsuite, tmp_path, settings):
    study = sessions(**settings)
    code, out, err = ecsuite("people", "report", str(study.database.file.parent), "--plot", "a.svg")
    assert (code, out) == (2, "") and err == "nothing to draw: expected at least one value\n"
    assert ecsuite("people", "report", str(study.database.file.parent))[0] == 0
