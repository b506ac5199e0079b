"""Published XferBench scores, from `published_scores.yaml`, each with the data that it was measured on.

Two families, whose levels differ by 0.65 nats: never compare a number of one with a number of the other.

**OSCAR.** The tables of the paper, Boldt & Mortensen (2024, https://arxiv.org/abs/2407.03456). Its text says Wikipedia,
but the README of the authors' program says that the numbers are from data made of OSCAR.

**Wikipedia.** Means of three runs in the author's repository `brendon-boldt/elcc-analysis`, made by the program that
the protocol `published-2024` follows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ecsuite.config import packaged_yaml
from ecsuite.downloads.languages import XFERBENCH_TARGETS
from ecsuite.eval.comparison.results import Result

_CONTENT: Mapping[str, Any] = packaged_yaml("ecsuite.eval.xferbench", "published_scores.yaml")
_WIKIPEDIA, _OSCAR = _CONTENT["wikipedia"], _CONTENT["oscar"]
if tuple(_CONTENT["targets"]) != XFERBENCH_TARGETS:
    raise ValueError(
        f"published_scores.yaml: expected targets {XFERBENCH_TARGETS}, got {_CONTENT['targets']}"
    )


def _rows(table: Mapping[str, Any], columns: Sequence[str]) -> dict[str, dict[str, float]]:
    """Figures of a table, by row and column."""
    return {
        row: dict(zip(columns, figures, strict=True)) for row, figures in table.items() if row != "columns"
    }


@dataclass(frozen=True, slots=True)
class Anchor:
    """A published score."""

    name: str
    """Name of the source in figures."""
    score: float
    """Mean over the ten targets and three runs, nats per token, Wikipedia data."""


SOURCES: tuple[Anchor, ...] = tuple(Anchor(name, score) for name, score in _WIKIPEDIA["sources"].items())
"""The reference sources [elcc-analysis]."""

NO_PRETRAIN: Mapping[str, float] = dict(zip(XFERBENCH_TARGETS, _WIKIPEDIA["no_pretrain"], strict=True))
"""No pretraining by target, means of three runs [elcc-analysis]; their mean is the score of `no pretrain` above."""
PUBLISHED_NAME = "no pretrain (published)"
"""The name of these scores in tables."""

ELCC: Mapping[str, tuple[float, float]] = {
    system: (lowest, highest) for system, (lowest, highest) in _WIKIPEDIA["elcc"].items()
}
"""Lowest and highest score of the corpora of each system of ELCC, Boldt & Mortensen (2024,
https://arxiv.org/abs/2407.04158) [elcc-analysis]."""

SEARCHED: Mapping[str, float] = _WIKIPEDIA["searched"]
"""Signalling games whose hyperparameters were searched for the Danish score, or for entropy, and the games that they
are compared with: Boldt & Mortensen (2025, https://arxiv.org/abs/2510.03467). Means of three runs, Wikipedia data."""

RUN_DEVIATION: float = _WIKIPEDIA["run_deviation"]
"""Pooled (root mean square) standard deviation of a score between runs, 84 corpora of three runs each
[elcc-analysis]."""
RUN_DEGREES: int = _WIKIPEDIA["run_degrees"]
"""Its degrees of freedom: two for each corpus."""

_TABLE5 = _rows(_OSCAR["table5"], [*XFERBENCH_TARGETS, "score"])

PAPER_CROSS_ENTROPIES = {
    name: {target: row[target] for target in XFERBENCH_TARGETS} for name, row in _TABLE5.items()
}
"""The paper's Table 5, by source and target: one run each, OSCAR data, two decimals."""
PAPER_SCORES = {name: row["score"] for name, row in _TABLE5.items()}
"""The last column of Table 5, as printed: the score of each source."""

MT_SETTINGS: tuple[str, ...] = tuple(_OSCAR["mt_settings"])
"""The settings of the translation experiment."""
_TABLE2 = _rows(_OSCAR["table2"], MT_SETTINGS)
PAPER_CHRF = {setting: {name: row[setting] for name, row in _TABLE2.items()} for setting in MT_SETTINGS}
"""The paper's Table 2: chrF of English to French, by setting and source."""
PAPER_CORRELATIONS = dict(zip(MT_SETTINGS, _OSCAR["correlations"], strict=True))
"""The last row of Table 2: Pearson correlation of chrF with the XferBench score over the 17 sources."""

PAPER_SCRIPTS: Mapping[str, Mapping[str, float]] = _rows(_OSCAR["table7"], _OSCAR["table7"]["columns"])
"""The paper's Table 7: normalised scores by script of the source, then of the target."""
PAPER_KINDS: Mapping[str, Mapping[str, float]] = _rows(_OSCAR["table8"], _OSCAR["table8"]["columns"])
"""The paper's Table 8: normalised scores by type of writing system."""


def anchors_for(signature: str) -> Sequence[Anchor]:
    """Published scores comparable with results of a signature: empty except for the protocol `published-2024`.

    Args:
        signature: Signature of a score, with or without its seed.
    """
    return SOURCES if {"preset:full", "protocol:published-2024"} <= set(signature.split("|")) else ()


def published_baseline(signature: str) -> Result | None:
    """The published scores without pretraining as a result; None for a signature that they are not comparable with."""
    if not anchors_for(signature):
        return None
    return Result(
        name=PUBLISHED_NAME,
        by_target=(NO_PRETRAIN,),
        seeds=(0,),
        signature=signature,
        source="brendon-boldt/elcc-analysis, mean of three runs",
    )


def paper_results() -> list[Result]:
    """The sources of the paper's Table 5 as results, for `compare`."""
    return [
        Result(name=name, by_target=(row,), seeds=(0,), signature="paper, OSCAR data", source="Table 5")
        for name, row in PAPER_CROSS_ENTROPIES.items()
    ]
