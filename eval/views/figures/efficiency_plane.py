"""Efficiency plane: complexity and accuracy of languages, and the bound of their space of meanings."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ecsuite.eval.metrics.information_bound import kept_bound
from ecsuite.eval.metrics.score import Score, Signature
from ecsuite.eval.results.logs import read_log
from ecsuite.eval.results.sources import Source, kind_of
from ecsuite.eval.views.figures.curves import Curve, curves
from ecsuite.runtime.errors import ConfigError, DamagedError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ecsuite.eval.metrics.information_bound import InformationBound

COMPLEXITY, ACCURACY = "complexity", "semantic_accuracy"
"""Scores of the metric efficiency on the two axes."""
BOUND = "bound"
LANGUAGE = "metrics"
"""Section of a log with scores of the language."""
MAX_ARROWS = 12
"""Maximum number of arrows of a run."""
MARGIN = 1.15
"""End of the drawn bound, relative to the complexity of the most complex language."""


def draw_plane(sources: Sequence[Source]) -> "Figure":
    """Draw languages as points with intervals of accuracy, and the bound of their space as a line.

    Runs of a game, corpora of a system or folder, grammars and languages of people have one colour each. A run whose
    log has both scores (`evaluation.metrics`) has arrows from evaluation to evaluation, or from the end of each
    generation to the end of the next.

    Args:
        sources: Sources with scores of the metric efficiency.

    Raises:
        ConfigError: If a source has no such scores, their spaces differ, the bound is not stored on this machine, or
            matplotlib is missing.
    """
    points = [(source, *_records(source)) for source in sources]
    names = {_setting(complexity, "digest"): source.name for source, complexity, _ in points}
    if len(names) > 1:
        raise ConfigError(
            f"--kind plane: {' and '.join(list(names.values())[:2])} have different spaces of meanings: "
            "score them with the same space and need"
        )
    bound = kept_bound(next(iter(names)))
    if bound is None:
        raise ConfigError(
            "--kind plane: the bound is not stored on this machine: score one of the corpora here"
        )
    most = MARGIN * max(float(complexity.value or 0) for _, complexity, _ in points)
    lines = [_bound_curve(bound, most)]
    for name in dict.fromkeys(_kind(source) for source in sources):
        of_kind = sorted(
            ((complexity, accuracy) for source, complexity, accuracy in points if _kind(source) == name),
            key=lambda pair: float(pair[0].value or 0),
        )
        ends = [accuracy.ci95 or (None, None) for _, accuracy in of_kind]
        lines.append(
            Curve(
                name=name,
                x=[float(complexity.value or 0) for complexity, _ in of_kind],
                y=[accuracy.value for _, accuracy in of_kind],
                low=[low for low, _ in ends],
                high=[high for _, high in ends],
                is_points=True,
            )
        )
    arrows = [path for point in points if (path := _path(*point))]
    lines += arrows
    space = _setting(points[0][1], "space")
    arrow_notes = ["arrows: training, or generations where a run has them"] if arrows else []
    return curves(
        lines,
        x="complexity I(M; W), bits",
        y="accuracy I(W; U), bits",
        notes=[
            f"space {space}, need {_setting(points[0][1], 'need')}; whiskers: 95 % intervals of accuracy",
            *arrow_notes,
        ],
    )


def planes(sources: Sequence[Source]) -> dict[str, list[Source]]:
    """Group the sources with both scores by their space of meanings and its need."""
    groups: dict[str, list[Source]] = {}
    for source in sources:
        try:
            complexity, _ = _records(source)
        except ConfigError:
            continue
        name = f"{_setting(complexity, 'space')}, need {_setting(complexity, 'need')}, {_setting(complexity, 'digest')}"
        groups.setdefault(name, []).append(source)
    return groups


def _records(source: Source) -> tuple[Score, Score]:
    """Find the last records of complexity and of accuracy."""
    records = []
    for score in (COMPLEXITY, ACCURACY):
        candidates = [
            record
            for record in source.records
            if record.name.partition(",")[0] == score and record.value is not None
        ]
        if not candidates:
            raise ConfigError(
                f"--kind plane: {source.name} has no {score}: score it with --metrics efficiency,space=…"
            )
        records.append(candidates[-1])
    return records[0], records[1]


def _path(source: Source, complexity: Score, accuracy: Score) -> Curve | None:
    """Read the path of a run over the plane; None if its log has fewer than two points."""
    try:
        log = (
            [read_log(source.folder, record.figure) for record in (complexity, accuracy)]
            if source.folder
            else []
        )
    except (ConfigError, DamagedError):
        return None
    if not log:
        return None
    every = source.config.get("generations.every")
    points = [
        (x, y)
        for step, x, y in zip(log[0].steps, *(each.values[LANGUAGE] for each in log), strict=True)
        if math.isfinite(x + y) and (not every or step % every == 0)
    ]
    if len(points) < 2:
        return None
    chosen = np.unique(np.linspace(0, len(points) - 1, min(len(points), MAX_ARROWS + 1)).round().astype(int))
    return Curve(
        name=_kind(source),
        x=[points[index][0] for index in chosen],
        y=[points[index][1] for index in chosen],
        has_arrows=True,
    )


def _setting(record: Score, key: str) -> str:
    return Signature(record.signature).options.get(key, "")


def _kind(source: Source) -> str:
    """Return the kind of a language: agents of a game, a system, people, a grammar."""
    if source.game:
        return f"agents of {source.game}"
    if source.system:
        return source.system
    path = source.folder or source.corpus
    folder = path if path is None or path.is_dir() else path.parent
    metadata = replace(source, folder=folder).metadata
    return "languages of people" if "iso639_3" in metadata else kind_of(metadata)


def _bound_curve(bound: "InformationBound", most: float) -> Curve:
    points = sorted(
        (rate, accuracy)
        for rate, accuracy in zip(bound.complexity.tolist(), bound.accuracy.tolist(), strict=True)
        if rate <= most
    )
    return Curve(
        name=BOUND, x=[rate for rate, _ in points], y=[accuracy for _, accuracy in points], has_marks=False
    )
