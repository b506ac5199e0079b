"""The scores of a corpus as a table: a row a score with its interval, chance level and conclusion, for any form."""

from collections.abc import Mapping, Sequence

from ecsuite.eval.metrics.conclusions import Conclusion
from ecsuite.eval.metrics.score import Score
from ecsuite.eval.reports.short_table import ARROWS
from ecsuite.tables.cells import INTERVAL, Cell, Role, interval, nothing, p_value, text
from ecsuite.tables.table import Column, Table, name_column, number_column, row_of

HIDDEN = ("question", "reason", "about", "signature")
"""What CSV and frames have beside what is printed."""
ROLES: Mapping[str, Role] = {"above chance": "good", "below chance (good)": "good"}
"""What conclusions stand for."""


def score_table(scores: Sequence[Score], conclusions: Sequence[Conclusion]) -> Table:
    """The table of the scores, with 95 % intervals, and p-values corrected for the number of scores."""
    columns = [
        name_column("score"),
        Column("better", heading=""),
        number_column("value", "value [95 %]", parts=INTERVAL),
        number_column("chance", "chance [95 %]", parts=INTERVAL),
        number_column("p"),
        Column("conclusion", wraps=True),
        *(Column(name, is_shown=False) for name in HIDDEN),
    ]
    rows = []
    for score, conclusion in zip(scores, conclusions, strict=True):
        value = interval(score.value, score.ci95)
        said = text(conclusion.word, role=ROLES.get(conclusion.word, ""))
        rows.append(
            row_of(
                score.name,
                text(conclusion.direction, shown=ARROWS[conclusion.direction]),
                value if score.value is not None else nothing("none"),
                _chance(score),
                p_value(conclusion.p_holm),
                said if conclusion.word else text(score.reason, shown=score.reason or "", role="dim"),
                *map(text, (conclusion.question, score.reason, score.about, score.signature)),
            )
        )
    return Table(columns=columns, rows=rows)


def _chance(score: Score) -> Cell:
    """The chance level, with the range of a further shuffle where it has a spread."""
    chance = score.chance
    if chance is None or score.value is None:
        return nothing()
    bounds = (chance.low, chance.high) if chance.low < chance.high else None
    return interval(chance.level, bounds)
