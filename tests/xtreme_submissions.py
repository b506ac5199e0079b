"""A hand-made submission: nine tasks in all languages; English is correct, others have the scores in comments."""

import json

import pytest

from ecsuite.eval.xtreme.scoring.tasks import TASKS

LABELS = {
    "xnli": "entailment\nneutral\ncontradiction\nneutral\n", "pawsx": "0\n1\n", "udpos": "DET\nNOUN\nNOUN\nVERB\n\n",
    "panx": "B-PER\nI-PER\nO\nB-LOC\n\nO\n",
    "xquad": {"1": "the Blue House", "2": "red car"},
    "mlqa": {"1": "red car"},
    "tydiqa": {"1": "red car", "2": "1066"},
    "bucc2018": "a\tx\nb\ty\n", "tatoeba": "2\n0\n1\n3\n",
}  # fmt: skip
PREDICTIONS = {
    "xnli": "entailment\nneutral\nneutral\nneutral\n",  # 75
    "pawsx": "0\n0\n",  # 50
    "udpos": "DET\nNOUN\nVERB\nVERB\n\n",  # one of three spans is correct: F1 100/3; tag accuracy 75
    "panx": "B-PER\nI-PER\nO\nO\n\nO\n",  # precision 100, recall 50, F1 200/3; tag accuracy 80
    "xquad": {"1": "blue  house!", "2": "big red car"},  # EM 50, F1 (100 + 80)/2
    "mlqa": {"1": "big red car"},  # EM 0, F1 80
    "tydiqa": {"1": "Red car"},  # EM 50, F1 50, one without an answer
    "bucc2018": "a\tx\nb\tz\nc\tq\n",  # precision 100/3, recall 50, F1 40
    "tatoeba": "2\n0\n0\n0\n",  # 50
}


def squad(answers):
    questions = [
        {"id": name, "question": "?", "answers": [{"text": text, "answer_start": 0}]} for name, text in answers.items()
    ]
    return {"version": "1.1", "data": [{"paragraphs": [{"context": "", "qas": questions}]}]}


@pytest.fixture
def write_submission():
    def write(folder, tasks=tuple(TASKS)):
        for name in tasks:
            for side in ("labels", "predictions"):
                (folder / side / name).mkdir(parents=True)
            ending = "json" if TASKS[name].kind == "questions" else "tsv"
            for language in TASKS[name].languages:
                predicted = (LABELS if language == "en" else PREDICTIONS)[name]
                right = LABELS[name]
                if ending == "json":
                    predicted, right = json.dumps(predicted), json.dumps(squad(right))
                (folder / "predictions" / name / f"test-{language}.{ending}").write_text(predicted)
                (folder / "labels" / name / f"test-{language}.{ending}").write_text(right)
        return folder / "predictions", folder / "labels"

    return write
