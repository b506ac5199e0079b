"""Sources with scores, for tests of comparisons."""

from pathlib import Path

import numpy as np

from ecsuite.eval.metrics.score import Score
from ecsuite.eval.results.samples import Sample
from ecsuite.eval.results.sources import Source
from ecsuite.eval.xferbench.comparison import PAPER_CROSS_ENTROPIES

TARGETS = tuple("abcdefgh")
LEVELS = np.array([5.9, 6.8, 5.4, 6.4, 6.6, 6.2, 6.3, 6.1])
"""A score for each of the targets."""
MINI = "xferbench|preset:mini|targets:embedded|precision:fp32|v:1"
FULL = "xferbench|preset:full|protocol:published-2024|targets:wikipedia|precision:fp32|v:2"


def source(name, *rows, targets=TARGETS, signature=MINI, seeds=None, ci95=None, passes=None):
    """A source with a row of scores, one for each target, for each seed."""
    return Sample(
        name=name,
        by_target=tuple(dict(zip(targets, map(float, row), strict=False)) for row in rows),
        seeds=tuple(range(len(rows)) if seeds is None else seeds),
        signature=signature, ci95=ci95, passes=passes,
    )  # fmt: skip


def run(name, settings, seed, measures, scores, **more):
    records = [
        Score(name=key, value=value, reason="" if value is None else None, is_measure=True)
        for key, value in measures.items()
    ]
    records += [Score(name=key, value=value, reason="" if value is None else None) for key, value in scores.items()]
    folder = Path(name)
    return Source(name=folder.name, file=folder / "config.yaml", folder=folder, is_run=True, settings=settings,
                  seed=seed, records=tuple(records), **more)  # fmt: skip


def paper_results():
    """The sources of the paper's Table 5 as results."""
    return [
        Sample(name=name, by_target=(row,), seeds=(0,), signature="paper, OSCAR data", source="Table 5")
        for name, row in PAPER_CROSS_ENTROPIES.items()
    ]
