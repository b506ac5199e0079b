"""Baselines as a table and as JSON."""

import json
from pathlib import Path

import pytest

from ecsuite.eval.xtreme.scoring.evaluation import baseline_report
from ecsuite.jobs.graph import no_progress
from ecsuite.runtime.errors import ConfigError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """English training data; German shares half of its words, and the tag of one of them."""
    (tmp_path / "udpos").mkdir()
    files = {
        "train-en": "the\tDET\ndog\tNOUN\nruns\tVERB\n\ncat\tNOUN\n",
        "test-en": "the\tDET\ncat\tNOUN\n",
        "test-de": "the\tDET\nhund\tVERB\n\ndog\tVERB\nthe\tDET\n",
    }
    for name, text in files.items():
        (tmp_path / f"udpos/{name}.tsv").write_text(text)
    return tmp_path


def test_scores_by_language_and_their_mean(folder, capsys):
    report = baseline_report(folder, ("udpos", "tatoeba"), (), no_progress)
    found = report.data["tasks"]["udpos"]
    assert found["en"]["metrics"]["f1"] == 100 and found["en"]["split"] == "test"
    # Two of four spans: unknown German words get the most frequent tag.
    assert found["de"]["metrics"] == {"f1": 50.0, "precision": 50.0, "recall": 50.0, "accuracy": 50.0}
    assert report.data["baselines"] == {"udpos": "lexicon"}
    assert report.notes == (
        "Tatoeba: no labels in any language.",
        "xtreme-baselines|udpos:lexicon|v:1",
    )
    report.publish(out=None, picture=None, as_json=False)
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["de", "German", "IE:", "Germanic", "Latin", "test", "50.0", "50.0", "0.0"] in rows
    assert ["mean", "75.0"] in rows
    json.dumps(report.data, allow_nan=False)


def test_languages_can_be_chosen(folder):
    assert list(baseline_report(folder, ("udpos",), ("de",), no_progress).data["tasks"]["udpos"]) == ["de"]
    with pytest.raises(ConfigError, match="unknown language 'zz'"):
        baseline_report(folder, ("udpos",), ("zz",), no_progress)
