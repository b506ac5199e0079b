"""Complete submissions: a hand-made one, and the benchmark's own if it is available."""

import os
from pathlib import Path

import pytest

from ecsuite.eval.xtreme.scoring.evaluation import evaluate
from ecsuite.runtime.errors import ConfigError

MOCK = "ECSUITE_XTREME_MOCK"
"""Names the folder mock_test_data of github.com/google-research/xtreme."""


@pytest.mark.parametrize(
    ("predictions", "languages", "message"),
    [
        ("absent", "all", "absent: expected a folder with one subfolder per task, such as udpos"),
        ("empty", "all", "expected the folder of at least one task in both; tasks: xnli, pawsx"),
        ("bare", "available", "labels/pawsx: expected predictions and labels of one language"),
        ("bare", "some", "unknown choice of languages 'some'; choices: all, available"),
    ],
)
def test_refused_folders(write_submission, tmp_path, predictions, languages, message):
    _, labels = write_submission(tmp_path, ("pawsx",))
    (tmp_path / "empty").mkdir()
    (tmp_path / "bare" / "pawsx").mkdir(parents=True)
    with pytest.raises(ConfigError, match=message):
        evaluate(tmp_path / predictions, labels, languages)


@pytest.mark.skipif(MOCK not in os.environ, reason=f"{MOCK} does not name XTREME's mock_test_data")
def test_the_benchmarks_own_mock_data():
    """What XTREME's `evaluate_test.py` expects."""
    folder = Path(os.environ[MOCK])
    data = evaluate(folder / "predictions", folder / "labels").to_json()
    expected = {"pawsx": 51.4286, "xnli": 30.6667, "panx": 57.5079, "bucc2018": 55.0, "tatoeba": 53.6111}
    assert {task: round(data[task]["avg_metric"], 4) for task in expected} == expected
    assert data["udpos"]["avg_f1"] == 70.21746048354693
    answers = {"xquad": (77.2727, 79.9587), "mlqa": (57.1429, 81.7687), "tydiqa": (88.8889, 97.2222)}
    found = {task: (data[task]["avg_exact_match"], data[task]["avg_f1"]) for task in answers}
    assert {task: (round(em, 4), round(f1, 4)) for task, (em, f1) in found.items()} == answers
    assert round(data["all_task"], 4) == 62.1732
