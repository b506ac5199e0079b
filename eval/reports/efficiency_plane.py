"""The efficiency plane: languages by complexity and accuracy, beside the bound that their meanings set."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ecsuite.eval.figures.curves import Curve, curves
from ecsuite.eval.metrics.information_bound import kept_bound
from ecsuite.eval.results.logs import read_log
from ecsuite.eval.results.sources import Record, Source, kind_of
from ecsuite.runtime.errors import ConfigError, DamagedError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ecsuite.eval.metrics.information_bound import InformationBound

COMPLEXITY, ACCURACY = "complexity", "semantic_accuracy"
"""The scores of both axes, of metric efficiency."""
BOUND = "bound"
LANGUAGE = "metrics"
"""The section of a log with scores of the language."""
MOST_ARROWS = 12
"""Of one run."""
MARGIN = 1.15
"""The bound is drawn up to so many times the complexity of the most complex language."""


def draw_plane(sources: Sequence[Source]) -> "Figure":
    """Draw languages as points, with their intervals of accuracy, and the bound of their space as a line.

    Runs of one game, corpora of one system or folder, grammars and languages of people are told apart by colour. A run
    whose log has both scores (`evaluation.metrics`) has arrows from evaluation to evaluation, or from the end of each
    generation to that of the next one.

    Args:
        sources: With scores of metric efficiency.

    Raises:
        ConfigError: If a source has no such scores, they are of several spaces, the bound was not kept on this
            machine, or matplotlib is missing.
    """
    points = [(source, *_records(source)) for source in sources]
    digests = {_setting(across, "digest"): source.name for source, across, _ in points}
    if len(digests) > 1:
        raise ConfigError(
            f"--kind plane: {' and '.join(list(digests.values())[:2])} are of different spaces of meanings: "
            "score them with the same space and need"
        )
    bound = kept_bound(next(iter(digests)))
    if bound is None:
        raise ConfigError(
            "--kind plane: the bound is not kept on this machine: score one of the corpora here"
        )
    most = MARGIN * max(float(across.value or 0) for _, across, _ in points)
    lines = [_line(bound, most)]
    for name in dict.fromkeys(_kind(source) for source in sources):
        of_kind = sorted(
            ((across, upward) for source, across, upward in points if _kind(source) == name),
            key=lambda pair: float(pair[0].value or 0),
        )
        ends = [upward.ci95 or (None, None) for _, upward in of_kind]
        lines.append(
            Curve(
                name=name,
                x=[float(across.value or 0) for across, _ in of_kind],
                y=[upward.value for _, upward in of_kind],
                low=[low for low, _ in ends],
                high=[high for _, high in ends],
                is_points=True,
            )
        )
    arrows = [path for source, across, upward in points if (path := _path(source, across, upward))]
    lines += arrows
    space = _setting(points[0][1], "space")
    told = ["arrows: training, or generations where a run has them"] if arrows else []
    return curves(
        lines,
        x="complexity I(M; W), bits",
        y="accuracy I(W; U), bits",
        notes=[
            f"space {space}, need {_setting(points[0][1], 'need')}; whiskers: 95 % intervals of accuracy",
            *told,
        ],
    )


def planes(sources: Sequence[Source]) -> dict[str, list[Source]]:
    """The sources with a place on a plane, by their space of meanings and its need."""
    found: dict[str, list[Source]] = {}
    for source in sources:
        try:
            across, _ = _records(source)
        except ConfigError:
            continue
        name = f"{_setting(across, 'space')}, need {_setting(across, 'need')}, {_setting(across, 'digest')}"
        found.setdefault(name, []).append(source)
    return found


def _records(source: Source) -> tuple[Record, Record]:
    """The records of complexity and of accuracy."""
    found = []
    for score in (COMPLEXITY, ACCURACY):
        of_score = [
            record
            for record in source.records
            if record.score.partition(",")[0] == score and record.value is not None
        ]
        if not of_score:
            raise ConfigError(
                f"--kind plane: {source.name} has no {score}: score it with --metrics efficiency,space=…"
            )
        found.append(of_score[-1])
    return found[0], found[1]


def _path(source: Source, across: Record, upward: Record) -> Curve | None:
    """The way of a run over the plane; None if its log has fewer than two places of it."""
    try:
        log = [read_log(source.folder, record.name) for record in (across, upward)] if source.folder else []
    except (ConfigError, DamagedError):
        return None
    if not log:
        return None
    every = source.config.get("generations.every")
    places = [
        (x, y)
        for step, x, y in zip(log[0]["step"], log[0][LANGUAGE], log[1][LANGUAGE], strict=True)
        if math.isfinite(x + y) and (not every or step % every == 0)
    ]
    if len(places) < 2:
        return None
    chosen = np.unique(np.linspace(0, len(places) - 1, min(len(places), MOST_ARROWS + 1)).round().astype(int))
    return Curve(
        name=_kind(source),
        x=[places[each][0] for each in chosen],
        y=[places[each][1] for each in chosen],
        has_arrows=True,
    )


def _setting(record: Record, key: str) -> str:
    """A setting in the signature of a record."""
    parts = (part.partition(":") for part in (record.signature or "").split("|"))
    return next((value for name, _, value in parts if name == key), "")


def _kind(source: Source) -> str:
    """What a language is of: a game, a system, people, a grammar."""
    if source.game:
        return f"agents of {source.game}"
    if source.system:
        return source.system
    place = source.folder or source.corpus
    folder = place if place is None or place.is_dir() else place.parent
    metadata = replace(source, folder=folder).metadata
    return "languages of people" if "iso639_3" in metadata else kind_of(metadata)


def _line(bound: "InformationBound", most: float) -> Curve:
    """The bound up to a complexity, by rising complexity."""
    points = sorted(
        (rate, told)
        for rate, told in zip(bound.complexity.tolist(), bound.accuracy.tolist(), strict=True)
        if rate <= most
    )
    return Curve(name=BOUND, x=[rate for rate, _ in points], y=[told for _, told in points], has_marks=False)
