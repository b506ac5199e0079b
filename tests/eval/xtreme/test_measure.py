"""A transfer study on tasks of a few sentences: results and notes."""

import json

import pytest

from ecsuite.eval.xtreme.report import Xtreme, report
from ecsuite.eval.xtreme.scoring.tasks import TASKS
from ecsuite.jobs.graph import Runner


def as_json(result):
    return json.dumps(result.to_json(), allow_nan=False)


def assert_all_nine(result, bodies):
    """The result has all tasks in all their languages for all backbones."""
    assert result.bodies == bodies and tuple(result.splits) == tuple(TASKS)
    languages_by_task = {task: set(codes) for task, codes in result.languages.items()}
    assert languages_by_task == {
        "xnli": {"en", "de", "ru"},
        "pawsx": {"en", "de"},
        "udpos": {"en", "de", "ru"},
        "panx": {"en", "de", "ru"},
        "xquad": {"en", "de", "ru"},
        "mlqa": {"en", "de"},
        "tydiqa": {"en", "ru"},
        "bucc2018": {"de", "ru"},
        "tatoeba": {"de", "ru"},
    }
    for title, language in (("PAWS-X", "ru"), ("MLQA", "ru"), ("TyDiQA-GoldP", "de")):
        assert f"{title}: no labels in {language}." in result.notes
    assert json.loads(as_json(result))["signature"] == result.signature
    report(result)


@pytest.mark.slow
def test_all_nine_tasks_with_a_published_encoder(ask, write_data, tiny_bert):
    model = str(tiny_bert)
    study = ask(corpus=None, model=model, data=write_data(), languages=(), tasks=tuple(TASKS))
    result = Xtreme().measure(study, Runner())
    assert_all_nine(result, (model,))
    assert "|protocol:published|model:bert|" in result.signature
    assert not any(note.startswith("Training text") for note in result.notes)
