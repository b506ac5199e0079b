"""The report and the export of a study: who counts, what is said of whom, and what leaves no trace of a person."""

import pytest

from ecsuite.people.codes_report import PUBLISHED, SIMULATED, evaluate_rule, report_tables
from ecsuite.people.export import export
from ecsuite.people.kinds import read_records
from ecsuite.people.simulated import Composer, Memorizer, RandomTypist, play

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
def test_a_picture_of_a_study_without_answers_is_refused_in_a_line(
    sessions, ecsuite, refused, tmp_path, settings
):
    study = sessions(**settings)
    assert (
        refused("people", "report", str(study.database.file.parent), "--plot", "a.svg")
        == "nothing to draw: expected at least one value\n"
    )
    assert ecsuite("people", "report", str(study.database.file.parent))[0] == 0
