"""The efficiency plane: languages by complexity and accuracy, beside the bound that their meanings set."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ecsuite.eval.efficiency.kept_bounds import kept_bound
from ecsuite.eval.figures.curves import Curve, curves
from ecsuite.eval.records.source import Record, Source
from ecsuite.runtime.errors import ConfigError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ecsuite.eval.efficiency.bound import Bound

COMPLEXITY, ACCURACY = "complexity", "semantic_accuracy"
"""The scores of both axes, of metric efficiency."""
BOUND = "bound"
MARGIN = 1.15
"""The bound is drawn up to so many times the complexity of the most complex language."""


def draw_plane(sources: Sequence[Source]) -> "Figure":
    """Draw languages as points, with their intervals of accuracy, and the bound of their space as a line.

    Runs of one game, corpora of one system or folder, grammars and languages of people are told apart by colour.

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
    space = _setting(points[0][1], "space")
    return curves(
        lines,
        x="complexity I(M; W), bits",
        y="accuracy I(W; U), bits",
        notes=[f"space {space}, need {_setting(points[0][1], 'need')}; whiskers: 95 % intervals of accuracy"],
    )


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
    if "iso639_3" in metadata:
        return "languages of people"
    return "grammar" if "grammar" in metadata else "corpus"


def _line(bound: "Bound", most: float) -> Curve:
    """The bound up to a complexity, by rising complexity."""
    points = sorted(
        (rate, told)
        for rate, told in zip(bound.complexity.tolist(), bound.accuracy.tolist(), strict=True)
        if rate <= most
    )
    return Curve(name=BOUND, x=[rate for rate, _ in points], y=[told for _, told in points], has_marks=False)
