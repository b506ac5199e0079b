"""Results made by hand, of any bodies, seeds, tasks and languages."""

import pytest

from ecsuite.eval.xtreme.tasks import TASKS
from ecsuite.eval.xtreme_transfer.result import CONTROLS, Cell, TransferResult

BODIES = ("corpus", *CONTROLS)
SIGNATURE = "xtreme-transfer|protocol:adapt|preset:nano|v:1"


@pytest.fixture
def make_cells():
    """Cells whose metrics are all `level(body, seed, task, language)`."""

    def make_cells(
        level, *, bodies=BODIES, seeds=(0, 1, 2), tasks=("udpos", "panx"), languages=("en", "fr", "ja", "kk")
    ):
        return [
            Cell(
                body=body,
                seed=seed,
                task=task,
                language=language,
                split="dev" if task == "panx" else "test",
                metrics=dict.fromkeys(TASKS[task].metrics, float(level(body, seed, task, language))),
            )
            for body in bodies
            for seed in seeds
            for task in tasks
            for language in languages or TASKS[task].languages
        ]

    return make_cells


@pytest.fixture
def gather():
    """Puts cells together, with a baseline of 20 and chance of 4, and in English of 70 and 5."""

    def gather(cells, **options):
        languages = sorted({(cell.task, cell.language) for cell in cells if cell.task in TASKS})
        baselines, chance = {}, {}
        for task, language in languages:
            metrics = TASKS[task].metrics
            is_english = language == "en"
            baselines.setdefault(task, {})[language] = dict.fromkeys(metrics, 70.0 if is_english else 20.0)
            chance.setdefault(task, {})[language] = dict.fromkeys(metrics, 5.0 if is_english else 4.0)
        usual = {
            "protocol": "adapt",
            "preset": "nano",
            "corpus": "corpus",
            "baselines": baselines,
            "chance": chance,
            "notes": ("nano: 30 sentences a language.",),
            "signature": SIGNATURE,
        }
        return TransferResult.from_cells(cells, **usual | options)

    return gather
