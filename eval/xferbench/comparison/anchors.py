"""Published XferBench scores, from `published_scores.yaml`, each with the data that it was measured on.

Two families, whose levels differ by 0.65 nats: never compare a number of one with a number of the other.

**OSCAR.** The tables of the paper, Boldt & Mortensen (2024, https://arxiv.org/abs/2407.03456). Its text says Wikipedia,
but the README of the authors' program says that the numbers are from data made of OSCAR.

**Wikipedia.** Means of three runs in the author's repository `brendon-boldt/elcc-analysis`, made by the program that
the protocol `published-2024` follows.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ecsuite.eval.results.samples import Sample
from ecsuite.parts.config import packaged_yaml

CONTENT: Mapping[str, Any] = packaged_yaml("ecsuite.eval.xferbench", "published_scores.yaml")
"""The file as it is, which also has scores that no command shows."""
_WIKIPEDIA, _OSCAR, _TARGETS = CONTENT["wikipedia"], CONTENT["oscar"], CONTENT["targets"]


def _rows(table: Mapping[str, Sequence[float]], columns: Sequence[str]) -> dict[str, dict[str, float]]:
    """Figures of a table, by row and column."""
    return {row: dict(zip(columns, figures, strict=True)) for row, figures in table.items()}


SOURCES: Mapping[str, float] = _WIKIPEDIA["sources"]
"""Scores of the reference sources: means over the ten targets and three runs, nats per token [elcc-analysis]."""
NO_PRETRAIN: Mapping[str, float] = dict(zip(_TARGETS, _WIKIPEDIA["no_pretrain"], strict=True))
"""No pretraining by target, means of three runs [elcc-analysis]; their mean is the score of `no pretrain` above."""
PUBLISHED_NAME = "no pretrain (published)"
"""The name of these scores in tables."""
RUN_DEVIATION: float = _WIKIPEDIA["run_deviation"]
"""Pooled (root mean square) standard deviation of a score between runs, 84 corpora of three runs each
[elcc-analysis]."""
RUN_DEGREES: int = _WIKIPEDIA["run_degrees"]
"""Its degrees of freedom: two for each corpus."""

_TABLE5 = _rows(_OSCAR["table5"], [*_TARGETS, "score"])
PAPER_SCORES = {name: row.pop("score") for name, row in _TABLE5.items()}
"""The last column of Table 5, as printed: the score of each source."""
PAPER_CROSS_ENTROPIES: Mapping[str, Mapping[str, float]] = _TABLE5
"""The paper's Table 5, by source and target: one run each, OSCAR data, two decimals."""
PAPER_CHRF = {
    setting: {name: figures[column] for name, figures in _OSCAR["table2"].items()}
    for column, setting in enumerate(_OSCAR["mt_settings"])
}
"""The paper's Table 2: chrF of English to French, by setting and source."""
PAPER_CORRELATIONS = dict(zip(_OSCAR["mt_settings"], _OSCAR["correlations"], strict=True))
"""The last row of Table 2: Pearson correlation of chrF with the XferBench score over the 17 sources."""


def anchors_for(signature: str) -> Mapping[str, float]:
    """Published scores by source, comparable with a signature: empty except for preset full with `published-2024`.

    Args:
        signature: Signature of a score, with or without its seed.
    """
    return SOURCES if {"preset:full", "protocol:published-2024"} <= set(signature.split("|")) else {}


def published_baseline(signature: str) -> Sample | None:
    """The published scores without pretraining as a result; None for a signature that they are not comparable with."""
    if not anchors_for(signature):
        return None
    return Sample(
        name=PUBLISHED_NAME,
        by_target=(NO_PRETRAIN,),
        seeds=(0,),
        signature=signature,
        source="brendon-boldt/elcc-analysis, mean of three runs",
        passes=1.0,
    )
