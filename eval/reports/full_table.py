"""The full table of a scorecard: every score with its details, and the signatures."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ecsuite.eval.metrics import traits_of
from ecsuite.eval.metrics.by_speaker import REMARKS
from ecsuite.eval.metrics.conclusions import Conclusion
from ecsuite.eval.metrics.score import Score
from ecsuite.eval.reports.inventory_table import inventory_tables
from ecsuite.eval.reports.short_table import ARROWS, trained_text
from ecsuite.eval.statistics.chance import Basis
from ecsuite.runtime.printable import counted
from ecsuite.tables.cells import INTERVAL, Cell, Value, decimals, lines, nothing, number, text
from ecsuite.tables.table import Column, Row, Table, name_column, number_column, row_of

BASES: Mapping[Basis, str] = {
    "ranks": " by ranks",
    "tail": " by the tail",
    "error": " by the score's error",
    "theory": " by theory",
}
"""What a p-value is from, see `Chance.p_value`."""
COUNTS = ("segments",)
"""Details that are counts; means over shuffles of them have decimals."""
DIGITS = 4
"""Decimals of scores and details."""


def full_tables(
    corpus: Mapping[str, Any], scores: Sequence[Score], conclusions: Sequence[Conclusion]
) -> list[Table]:
    """The scorecard in full: a row a score, its details below in dim text, the signatures at the end.

    Args:
        corpus: Origin and sizes.
        scores: All scores.
        conclusions: The conclusion on each score.
    """
    columns = (
        Column("score", is_shown=False),
        name_column("figure", "metric"),
        number_column("value"),
        Column("better", heading=""),
        Column("interval", heading="95 %", parts=INTERVAL),
        Column("about", heading="what it means", wraps=True),
    )
    rows: list[Row] = []
    for score, conclusion in zip(scores, conclusions, strict=True):
        rows.append(
            row_of(
                score.name,
                score.name,
                nothing("none") if score.value is None else _number(score.value),
                text(conclusion.direction, shown=ARROWS[conclusion.direction]),
                _range(score.ci95),
                lines(_meaning(score), *([score.reason] if score.reason else [])),
            )
        )
        for name, value, *others in (*_high(score), *_figures(score), *_chance_level(score, conclusion)):
            rows.append(row_of(score.name, text(name.strip(), shown=name), value, None, *others, role="dim"))
    notes = [
        f"{score.name}: {score.details[key]}" for score in scores for key in REMARKS if key in score.details
    ]
    signatures = dict.fromkeys(score.signature for score in scores)
    if signatures:
        notes.append("Signatures (scores with equal signatures are comparable):")
    tables = [Table(columns=columns, rows=rows, title=_title(corpus))]
    tables += [table for score in scores for table in inventory_tables(score.details)]
    tables[-1] = replace(tables[-1], notes=[*tables[-1].notes, *notes, *(f"  {each}" for each in signatures)])
    return tables


def _title(corpus: Mapping[str, Any]) -> str:
    """Origin and sizes of the corpus."""
    origin = [str(corpus[key]) for key in ("source_path", "source_format") if key in corpus]
    if "num_messages" not in corpus:
        return "; ".join(origin)
    eos = "no EOS" if corpus["eos"] is None else f"EOS {corpus['eos']}"
    eos += {"detected": " (detected)", "given": " (as asked)"}.get(str(corpus.get("eos_source")), "")
    sizes = (
        f"{counted(corpus['num_messages'], 'message')}, {counted(corpus['num_symbols'], 'symbol')}, "
        f"{corpus['num_distinct_symbols']:,} distinct, {eos}"
    )
    if training := corpus.get("training"):
        origin.append(trained_text(training))
    return "; ".join([*origin, sizes])


def _meaning(score: Score) -> str:
    """What a score means, with its name spelt out."""
    title = traits_of(score).title
    return f"{title}: {score.about}" if title else score.about


def _high(score: Score) -> Iterator[tuple[str, Cell, Cell, Cell]]:
    """Table cells for what is a high value, if its traits say that."""
    if (high := traits_of(score).high) and score.value is not None:
        yield "  to be read as", nothing(), nothing(), text(high)


def _figures(score: Score) -> Iterator[tuple[str, Cell, Cell, Cell]]:
    """Table cells for the details of a score: name, number, empty, and a word of explanation.

    The chance level has its own row, see `_chance_level`.
    """
    words = traits_of(score).details
    for name, value in score.details.items():
        about = words.get(name, name.replace("_", " "))
        if isinstance(value, float):
            yield f"  {name}", _number(int(value) if name in COUNTS else value), nothing(), text(about)
        elif isinstance(value, str) and name in words:
            yield f"  {name}", nothing(), nothing(), text(f"{about}: {value}")
        elif isinstance(value, Mapping) and all(isinstance(figure, float) for figure in value.values()):
            for part, figure in value.items():
                shown = f"{part}, shuffled" if name == "shuffled" else part
                yield f"  {shown}", _number(figure), nothing(), text(about)


def _chance_level(score: Score, conclusion: Conclusion) -> Iterator[tuple[str, Cell, Cell, Cell]]:
    """Table cells for the chance level, if known: its mean and 95 %, p-value and what that is from, conclusion."""
    chance, value = score.chance, score.value
    if chance is None or value is None:
        return
    p_value, basis = chance.p_value(value)
    about = [] if p_value is None else [f"p {p_value:.3f}{BASES[basis]}"]
    if chance.draws:
        number, of_all = len(chance.defined), len(chance.draws)
        of = "" if number == of_all else f" of {of_all}"
        what = f"pairings{' (all)' * (number == of_all)}" if chance.is_exact else "shuffles"
        meanings = "" if chance.num_meanings is None else f" of {chance.num_meanings:,} meanings"
        rows = "" if chance.num_rows is None else f" of {chance.num_rows:,} messages"
        about.append(f"{number}{of} {what}{meanings}{rows}")
    if chance.compared is not None:
        about.append(f"unshuffled {decimals(chance.compared, DIGITS)}")
    corrected = "" if conclusion.p_holm is None else f" (Holm: p {conclusion.p_holm:.3f})"
    yield (
        "  chance level",
        _number(chance.level),
        _range((chance.low, chance.high)),
        text("; ".join([*about, conclusion.word + corrected])),
    )
    if conclusion.adjusted is not None:
        words = "(value - chance) / (best - chance): 0 as by chance, 1 at the best value"
        yield "  adjusted for chance", _number(conclusion.adjusted), nothing(), text(words)


def _range(bounds: tuple[float, float] | None) -> Cell:
    """A 95 % interval, of a score or of the null distribution."""
    if bounds is None:
        return nothing()
    low, high = (decimals(bound, DIGITS) for bound in bounds)
    parts: dict[str, Value] = dict(zip(INTERVAL, bounds, strict=True))
    return Cell(lines=(f"{low} … {high}",), parts=parts)


def _number(value: float | int | bool) -> Cell:
    """A number as shown in a table: 0.1269, 110,000, yes."""
    return number(value) if isinstance(value, int) else number(value, DIGITS)
