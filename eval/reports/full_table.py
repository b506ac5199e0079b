"""The full table of a scorecard: every score with its details, and the signatures."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.table import Table
from rich.text import Text

from ecsuite.eval.metrics import traits_of
from ecsuite.eval.metrics.conclusions import Conclusion
from ecsuite.eval.metrics.score import Score
from ecsuite.eval.reports.inventory_table import inventory_tables
from ecsuite.eval.reports.short_table import ARROWS
from ecsuite.eval.statistics.chance import Basis

BASES: Mapping[Basis, str] = {
    "ranks": " by ranks",
    "tail": " by the tail",
    "error": " by the score's error",
    "theory": " by theory",
}
"""What a p-value is from, see `Chance.p_value`."""
COUNTS = ("segments",)
"""Details that are counts; means over shuffles of them have decimals."""


def full_table(
    corpus: Mapping[str, Any], scores: Sequence[Score], conclusions: Sequence[Conclusion]
) -> Group:
    """The scorecard in full: a row a score, its details below in dim text, the signatures at the end.

    Args:
        corpus: Origin and sizes.
        scores: All scores.
        conclusions: The conclusion on each score.
    """
    rows = [
        (score, ARROWS[conclusion.direction], [*_figures(score), *_chance_level(score, conclusion)])
        for score, conclusion in zip(scores, conclusions, strict=True)
    ]
    names = [name for score, _, figures in rows for name in (score.name, *(row[0] for row in figures))]
    longest = max((len(word) for name in names for word in name.split()), default=0)
    table = Table(box=None, padding=(0, 1, 0, 0))
    table.add_column("metric", min_width=max(16, longest))
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("95 %", no_wrap=True)
    table.add_column("what it means", min_width=18)
    for score, arrow, figures in rows:
        table.add_row(
            score.name,
            Text("none", "dim") if score.value is None else _format(score.value),
            arrow,
            "" if score.ci95 is None else _range(*score.ci95),
            Text.assemble(score.about, ("\n" + score.reason if score.reason else "", "dim")),
        )
        for name, value, *others in figures:
            table.add_row(*(Text(cell, "dim") for cell in (name, value, "", *others)))
    notes = [
        Text(f"\n{score.name}: {score.details[key]}", "bold" if key == "warning" else "")
        for score in scores
        for key in ("warning", "note", "limits")
        if key in score.details
    ]
    signatures = dict.fromkeys(score.signature for score in scores)
    heading = [Text("\nSignatures (scores with equal signatures are comparable):")] if signatures else []
    inventories = [part for score in scores for part in inventory_tables(score.details)]
    return Group(Text(_title(corpus)), table, *inventories, *notes, *heading, *map(_Folded, signatures))


def _title(corpus: Mapping[str, Any]) -> str:
    """Origin and sizes of the corpus."""
    origin = [str(corpus[key]) for key in ("source_path", "source_format") if key in corpus]
    if "num_messages" not in corpus:
        return "\n".join([*origin, ""])
    eos = "no EOS" if corpus["eos"] is None else f"EOS {corpus['eos']}"
    eos += {"detected": " (detected)", "given": " (as asked)"}.get(corpus.get("eos_source", ""), "")
    sizes = (
        f"{corpus['num_messages']:,} messages, {corpus['num_symbols']:,} symbols, "
        f"{corpus['num_distinct_symbols']:,} distinct, {eos}"
    )
    if training := corpus.get("training"):
        text = "trained {step:,} of {num_steps:,} steps, accuracy {accuracy:.1%}"
        origin.append(text.format(**training))
    return "\n".join([*origin, sizes, ""])


@dataclass(frozen=True, slots=True)
class _Folded:
    """A signature that is wrapped between its parts on a narrow terminal."""

    signature: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        line = "  "
        for part in self.signature.replace("|", "|\n").splitlines():
            if line.strip() and len(line) + len(part) > options.max_width:
                yield Text(line, "dim", overflow="fold")
                line = "    "
            line += part
        yield Text(line, "dim", overflow="fold")


def _figures(score: Score) -> Iterator[tuple[str, str, str, str]]:
    """Table cells for the details of a score: name, number, empty, and a word of explanation.

    The chance level has its own row, see `_chance_level`.
    """
    words = traits_of(score).details
    for key, value in score.details.items():
        about = words.get(key, key.replace("_", " "))
        if isinstance(value, float):
            yield f"  {key}", _format(int(value) if key in COUNTS else value), "", about
        elif isinstance(value, Mapping) and all(isinstance(number, float) for number in value.values()):
            for name, number in value.items():
                yield f"  {f'{name}, shuffled' if key == 'shuffled' else name}", _format(number), "", about


def _chance_level(score: Score, conclusion: Conclusion) -> Iterator[tuple[str, str, str, str]]:
    """Table cells for the chance level, if known: its mean and 95 %, p-value and what that is from, conclusion."""
    chance, value = score.chance, score.value
    if chance is None or value is None:
        return
    p_value, basis = chance.p_value(value)
    about = [] if p_value is None else [f"p {p_value:.3f}{BASES[basis]}"]
    if chance.draws:
        number, of_all = len(chance.defined), len(chance.draws)
        of = "" if number == of_all else f" of {of_all}"
        rows = "" if chance.num_rows is None else f" of {chance.num_rows:,} messages"
        about.append(f"{number}{of} shuffles{rows}")
    if chance.compared is not None:
        about.append(f"unshuffled {_format(chance.compared)}")
    corrected = "" if conclusion.p_holm is None else f" (Holm: p {conclusion.p_holm:.3f})"
    yield (
        "  chance level",
        _format(chance.level),
        _range(chance.low, chance.high),
        "; ".join([*about, conclusion.word + corrected]),
    )


def _range(low: float, high: float) -> str:
    """A 95 % interval, of a score or of the null distribution."""
    return f"{_format(low)} … {_format(high)}"


def _format(value: float | int | bool) -> str:
    """A number as shown in a table: 0.1269, 110,000, yes."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else f"{value:.4f}"
