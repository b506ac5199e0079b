"""XTREME: nine tasks in forty languages, trained in English and tested in the others (Hu et al. 2020).

A task is one object (`task.py`), which finds and reads its files and scores predictions; the kinds of tasks
are in `labels.py`, `questions.py` and `bitexts.py`. `tasks.py` has the nine tasks and the benchmark's averages,
`evaluation.py` scores submissions, and predictions without a model. Models are in `ecsuite.eval.xtreme`.

This file has no slow imports, as shell completion reads the names of tasks.
"""

from collections.abc import Mapping
from typing import Any

from ecsuite.parts.config import packaged_yaml

ENTRIES: Mapping[str, Mapping[str, Any]] = packaged_yaml("ecsuite.eval.xtreme.scoring", "tasks.yaml")
"""Fields of an `XtremeTask` and its kind, by name, in the order of the paper's tables."""
TRANSLATED: Mapping[str, str] = {
    "translated_train": "translate-train",
    "translated_test": "translate-test",
    "pseudo_test": "pseudo test",
}
"""Titles of the benchmark's machine-translated splits."""
