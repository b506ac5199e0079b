"""`xtreme evaluate` as users type it."""

import json

import pytest
import typer
from typer.testing import CliRunner

from ecsuite.commands.xtreme_evaluate import xtreme_evaluate
from ecsuite.eval.xtreme.scoring.evaluation import evaluate
from ecsuite.runtime.errors import ConfigError


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Runs the command in a folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(xtreme_evaluate)

    def run(*arguments):
        folders = ("--predictions", "predictions", "--labels", "labels")
        done = CliRunner().invoke(app, [*folders, *map(str, arguments)])
        if done.exception and not isinstance(done.exception, SystemExit):
            raise done.exception
        assert done.exit_code == 0, done.output
        return done.stdout

    return run


def cells(out, first):
    """The cells of the row with this beginning."""
    return next(line.split() for line in out.splitlines() if line.startswith(first))


def assert_fits(out):
    """The tables fit a terminal, and nothing is cut."""
    tables = out[: out.index("\ngap: ")]
    assert max(map(len, tables.splitlines())) <= 80
    assert "…" not in tables


def test_the_table(run, write_submission, tmp_path):
    write_submission(tmp_path)
    out = run()
    assert cells(out, "XNLI") == ["XNLI", "15", "accuracy", "76.7", "100.0", "75.0", "25.0", "50.0"]
    assert cells(out, "POS") == ["POS", "33", "F1", "35.4", "100.0", "33.3", "66.7", "0.0"]
    assert cells(out, "MLQA") == ["MLQA", "7", "EM,", "F1", "48.6", "100.0", "0.0", "100.0", "0.0"]
    assert cells(out, "Tatoeba") == ["Tatoeba", "36", "accuracy", "50.0", "-", "50.0", "-", "25.0"]
    assert cells(out, "retrieval") == ["retrieval", "45.0"]
    assert "all nine tasks" in out and "question answering" in out
    assert "POS: F1 of tag spans (seqeval 0.0.12); tag accuracy 75.8 %." in out
    assert "Average gap of XNLI, PAWS-X and question answering: 55.0." in out
    assert "TyDiQA-GoldP: questions without an answer, which count as wrong: ar 1, bn 1, fi 1, id 1, " in out
    assert out.splitlines()[-1] == evaluate(tmp_path / "predictions", tmp_path / "labels").signature
    assert_fits(out)


def test_the_table_of_languages(run, write_submission, tmp_path):
    write_submission(tmp_path)
    out = run("--by-language")
    assert cells(out, "en ") == ["en", "English", "IE:", "Germanic", "Latin", *["100.0"] * 7, "-", "-"]
    assert cells(out, "he ")[4:] == ["-", "-", "33.3", "66.7", "-", "-", "-", "-", "50.0"]
    codes = [line[:2] for line in out.splitlines() if line[:3].strip().islower() and line[2:3] == " "]
    assert len(codes) == 40
    assert codes[:3] == ["ar", "he", "vi"]
    assert "…" not in out


def test_few_tasks_are_shown_with_names_of_languages(run, write_submission, tmp_path):
    write_submission(tmp_path, ("pawsx", "udpos"))
    out = run("--by-language")
    assert cells(out, "zh ") == ["zh", "Chinese", "Sino-Tibetan", "Chinese", "50.0", "33.3"]
    assert "average gap" not in out.lower() and "all nine" not in out


def test_available_notes_the_number_of_languages(run, write_submission, tmp_path):
    write_submission(tmp_path, ("pawsx",))
    (tmp_path / "labels" / "pawsx" / "test-ja.tsv").unlink()
    with pytest.raises(ConfigError, match=r"^labels/pawsx/test-ja.tsv: no such file"):
        run()
    out = run("--languages", "available")
    assert cells(out, "PAWS-X")[:2] == ["PAWS-X", "6/7"]
    assert "PAWS-X: 6/7 languages, so not comparable with published scores; missing: ja." in out
    assert "|languages:pawsx 6/7 without ja|" in out


def test_a_task_that_is_left_out_is_named(run, write_submission, tmp_path):
    write_submission(tmp_path, ("pawsx",))
    (tmp_path / "predictions" / "xnli").mkdir()
    assert "Left out, as predictions or labels are missing: xnli." in run()


def test_json_and_file(run, write_submission, tmp_path):
    write_submission(tmp_path, ("pawsx", "udpos"))
    data = json.loads(run("--json", "--out", "made/scores.json"))
    assert data == json.loads((tmp_path / "made" / "scores.json").read_text())
    assert data["pawsx"]["accuracy"]["en"] == 100
    assert data["ecsuite"]["signature"].startswith("xtreme|tasks:pawsx+udpos|languages:all|labels:")
