"""What scores are held against: a baseline without a model, and chance level, on the examples of a study."""

from ecsuite.eval.xtreme.cells import ByTask, Metrics
from ecsuite.eval.xtreme.scoring.baselines import fit_baseline
from ecsuite.eval.xtreme.scoring.scoring import chance, labels_of, score_predictions
from ecsuite.eval.xtreme.scoring.tasks import TASKS
from ecsuite.eval.xtreme.study import Study


def reference_scores(study: Study) -> tuple[ByTask, ByTask]:
    """Scores of the baseline, and of chance level, by task and language.

    Raises:
        ConfigError: If the data have changed since the study was made.
    """
    baselines: dict[str, dict[str, Metrics]] = {}
    chances: dict[str, dict[str, Metrics]] = {}
    for task, languages in study.tested.items():
        predict = fit_baseline(study.data, task)
        for language in languages:
            _, examples = study.tests[task, language].read()
            if TASKS[task].kind != "retrieval":
                examples = examples[: study.preset.max_test]
            metrics = score_predictions(task, language, predict(examples), examples)
            baselines.setdefault(task, {})[language] = metrics
            chances.setdefault(task, {})[language] = chance(task, language, labels_of(task, examples))
    return baselines, chances
