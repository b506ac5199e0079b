"""The scorecard at a glance: at most 30 lines of 80 columns.

Three lines on the corpus, ten messages with their meanings, and one line per score, by question: value, better
direction, interval, chance level, and a conclusion in words.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from textwrap import wrap
from typing import Any, Literal

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from ecsuite.eval.metrics import table_order, traits_of
from ecsuite.eval.metrics.computing import BY_SPEAKER, REMARKS
from ecsuite.eval.metrics.conclusions import Conclusion, anchors_of, are_read_alike, limits_of, passes_of
from ecsuite.eval.metrics.score import Score
from ecsuite.eval.metrics.traits import FEW_MESSAGES, QUESTIONS, Question
from ecsuite.eval.statistics.chance import Basis
from ecsuite.eval.views.language import EMPTY, Example
from ecsuite.games.tasks.directions import measure_title
from ecsuite.runtime.printable import counted
from ecsuite.tables.cells import (
    INTERVAL,
    Cell,
    Role,
    count,
    decimals,
    interval,
    lines,
    nothing,
    number,
    p_value,
    p_words,
    short,
    text,
)
from ecsuite.tables.table import Column, Row, Table, name_column, number_column, row_of

ALL_LINES = 30
"""Maximum number of lines; there are fewer messages if the others leave less room."""
MOST_LINES = 12
"""Maximum number of lines of questions and scores."""
SHOWN: Mapping[Question, int] = {
    "compositional": 3,
    "concepts": 3,
    "learnable": 2,
    "natural": 2,
    "transfer": 1,
    "shared": 3,
    "other": 12,
}
"""Number of scores shown for each question before other questions get more."""
WIDTH = 80
"""Maximum width of the table in columns."""
LEAST_WORDS = 16
"""Minimum width of a conclusion in characters, for any width of the table."""
ARROWS = {"higher": "↑", "lower": "↓", None: " "}
"""Arrow of the better direction."""
BASES: Mapping[Basis, str] = {
    "ranks": " by ranks",
    "tail": " by the tail",
    "error": " by the score's error",
    "theory": " by theory",
}
"""Bases of p-values in words, see `Chance.p_value`."""
COUNTS = ("segments",)
"""Details that are counts; their means over permutations have decimals."""
DIGITS = 4
"""Decimals of scores and details."""
MAX_ROWS = 30
"""Maximum number of morphemes in a table."""
ROLES: Mapping[str, Role] = {"above chance": "good", "below chance (good)": "good"}
"""Roles of conclusions."""
_ASCII = str.maketrans({"↑": "^", "↓": "v", "→": ">", "…": "~"})
_NAME, _VALUE, _INTERVAL, _CHANCE = 22, 8, 16, 7  # widths
_SIZE_NAME = 28
_COLOURS = {"above chance": "green", "below chance (good)": "green"}


@dataclass(frozen=True, slots=True)
class ScoreColumn:
    """Column of the tables of scores."""

    name: str
    """Name in CSV, in frames and in `score_fields`."""
    heading: str
    """Heading in all tables."""
    kind: Literal["name", "number", "p", "text"] = "text"
    """Format of the cells."""
    has_interval: bool = False
    """Whether `NAME_low` and `NAME_high` are the bounds of a 95 % interval."""
    is_shown: bool = True
    """Whether printed tables have the column; CSV and frames have all columns."""


SCORE_COLUMNS: Mapping[str, ScoreColumn] = {
    column.name: column
    for column in (
        ScoreColumn("score", "score", "name"),
        ScoreColumn("better", ""),
        ScoreColumn("value", "value", "number", has_interval=True),
        ScoreColumn("chance", "chance", "number", has_interval=True),
        ScoreColumn("p", "p", "p"),
        ScoreColumn("conclusion", "conclusion"),
        ScoreColumn("question", "question", is_shown=False),
        ScoreColumn("reason", "reason", is_shown=False),
        ScoreColumn("about", "what it means", is_shown=False),
        ScoreColumn("signature", "signature", is_shown=False),
    )
}
"""The columns of scores: the plain table and CSV have all, the other tables, frames and the HTML page some."""
INTERVAL_HEADING = "95 %"
"""Heading of the interval of a value in a separate column."""


def score_fields(score: Score, conclusion: Conclusion | None = None) -> dict[str, Any]:
    """Fields of a score in full precision, by the names of `SCORE_COLUMNS`, with the bounds of intervals.

    Args:
        score: The score, as computed or as read from a file.
        conclusion: The conclusion on the score; None without one.
    """
    chance, (value_low, value_high) = score.chance, score.ci95 or (None, None)
    fields = {
        "score": score.name,
        "value": score.value,
        "value_low": value_low,
        "value_high": value_high,
        **dict.fromkeys(("chance", "chance_low", "chance_high")),
        **dict.fromkeys(("better", "p", "conclusion", "question")),
        "reason": score.reason,
        "about": score.about,
        "signature": score.signature,
    }
    if chance is not None and score.value is not None:
        low, high = chance.interval
        fields |= {"chance": chance.level, "chance_low": low, "chance_high": high}
    if conclusion is not None:
        fields |= {"better": conclusion.direction, "p": conclusion.p_holm}
        fields |= {"conclusion": conclusion.word, "question": conclusion.question}
    return fields


def score_table(scores: Sequence[Score], conclusions: Sequence[Conclusion]) -> Table:
    """Table of the scores, with 95 % intervals, and p-values corrected for the number of scores."""
    rows = []
    for score, conclusion in zip(scores, conclusions, strict=True):
        fields = score_fields(score, conclusion)
        rows.append(row_of(*(_cell(column, fields) for column in SCORE_COLUMNS.values())))
    return Table(columns=[_column(column) for column in SCORE_COLUMNS.values()], rows=rows)


def _column(column: ScoreColumn) -> Column:
    heading = f"{column.heading} [{INTERVAL_HEADING}]" if column.has_interval else column.heading
    return Column(
        column.name,
        heading=heading,
        align="right" if column.kind in ("number", "p") else "left",
        parts=INTERVAL if column.has_interval else (),
        is_key=column.kind == "name",
        is_shown=column.is_shown,
        wraps=column.name == "conclusion",
    )


def _cell(column: ScoreColumn, fields: Mapping[str, Any]) -> Cell:
    value = fields[column.name]
    if column.kind == "number":
        low, high = (fields[f"{column.name}_{end}"] for end in INTERVAL)
        if value is None:
            return nothing("none" if column.name == "value" else "")
        return interval(
            value, None if low is None or (column.name == "chance" and low >= high) else (low, high)
        )
    if column.kind == "p":
        return p_value(value)
    if column.name == "better":
        return text(value, shown=ARROWS[value])
    if column.name == "conclusion" and not value:
        return text(fields["reason"], shown=fields["reason"] or "", role="dim")
    return text(value, role=ROLES.get(value, "") if column.name == "conclusion" else "")


@dataclass(frozen=True, kw_only=True, slots=True)
class ShortTable:
    """Short view of a scorecard, in ASCII if the terminal has no arrows."""

    corpus: Mapping[str, Any]
    """Origin and sizes, see `describe`."""
    scores: Sequence[Score]
    """All scores."""
    conclusions: Sequence[Conclusion]
    """The conclusion on each score."""
    samples: Sequence[Example]
    """Messages with their meanings."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width, chosen = min(WIDTH, options.max_width), self._chosen()
        lines = [*self._title(), *self._table(chosen)]
        left = len(self.scores) - sum(map(len, chosen.values()))
        which = f"{left} more scores, " if left > 0 else ""
        if self.scores:
            lines.append(Text(f"{which}details, signatures: add --all (Python: print(card.full()))", "dim"))
        if (number := sum(each.p_holm is not None for each in self.conclusions)) > 1:
            rest = ", also those of --all" if left > 0 else ""
            lines.append(Text(f"Conclusions are corrected (Holm) for {number} scores{rest}.", "dim"))
        shares = [score for score in self.scores if "shares" in score.details]
        lines += [Text(f"{each.name.partition(',')[0]}: {each.details['shares']}", "dim") for each in shares]
        lines += [Text(line, "yellow") for line in self._warnings()]
        samples, place = self._sample_lines(width), len(self._title())
        for line in [*lines[:place], *samples[: max(5, ALL_LINES - len(lines))], *lines[place:]]:
            line.truncate(width, overflow="ellipsis")
            line.rstrip()
            try:
                line.plain.encode(options.encoding)
            except UnicodeEncodeError:  # ASCII of the same width
                plain = (
                    line.plain.translate(_ASCII).encode(options.encoding, "replace").decode(options.encoding)
                )
                line = Text(plain, style=line.style, spans=line.spans)
            yield line

    def _title(self) -> list[Text]:
        """Lines on the origin, the messages and the meanings of the corpus."""
        corpus = self.corpus
        origin = str(corpus.get("source_path", "a corpus made in Python"))
        if "training" in corpus:
            trained = f" ({trained_text(corpus)})"
            origin = _from_the_end(origin, WIDTH - len(trained)) + trained
        if "num_messages" not in corpus:
            return [Text(_from_the_end(origin, WIDTH), "bold")]
        shortest, longest = corpus["min_length"], corpus["max_length"]
        lengths = counted(longest, "symbol")
        if shortest != longest:
            lengths = f"{shortest:,} to {lengths}"
        eos = "no EOS" if corpus["eos"] is None else f"EOS {corpus['eos']}"
        how = {"detected": ", detected" if corpus["eos"] is not None else "", "given": ", as given"}
        eos += how.get(str(corpus.get("eos_source")), "")
        number = counted(corpus["num_messages"], "message")
        messages = (
            f"{number} ({corpus['num_distinct_messages']:,} distinct) of {lengths}; "
            f"{counted(corpus['num_distinct_symbols'], 'distinct symbol')}; {eos}"
        )
        kinds = [
            counted(number, name)
            for number, name in ((corpus["num_attributes"], "attribute"), (corpus["num_concepts"], "concept"))
            if number is not None
        ]
        meanings = (
            f"meanings of {', '.join(kinds)}"
            if kinds
            else "no meanings (how to add them: docs/file_formats.md)"
        )
        if kinds and corpus["num_distinct_meanings"] is not None:
            meanings += f"; {corpus['num_distinct_meanings']:,} distinct"
        speakers = []
        if (num_speakers := corpus.get("num_speakers")) is not None:
            speakers = [Text(f"scores are means over {num_speakers:,} speakers, each scored alone")]
        return [
            Text(_from_the_end(origin, WIDTH), "bold"),
            Text(messages),
            Text(meanings),
            *speakers,
        ]

    def _sample_lines(self, width: int) -> list[Text]:
        """Lines with speaker (if several), meaning and message; without meanings only messages."""
        widest = max((cell_len(each.meaning or "") for each in self.samples), default=0)
        messages = max((cell_len(each.message or EMPTY) for each in self.samples), default=0)
        column = min(widest, max(width // 2, width - messages - len("   → ")))
        lines = []
        for each in self.samples:
            message = each.message or EMPTY
            meaning = (
                "" if each.meaning is None else f"{set_cell_size(_cut_end(each.meaning, column), column)} → "
            )
            speaker = "" if each.speaker is None else f"speaker {each.speaker}: "
            lines.append(Text(_cut_end(f"  {speaker}{meaning}{message}", width)))
        return lines

    def _table(self, chosen: Mapping[Question, Sequence[tuple[Score, Conclusion]]]) -> list[Text]:
        is_whole = sum(map(len, chosen.values())) < len(self.scores)
        asked = {conclusion.question for conclusion in self.conclusions}
        lines = [Text()]
        if any(chosen.values()):
            value, chance, word = (SCORE_COLUMNS[name].heading for name in ("value", "chance", "conclusion"))
            lines.append(_row("", value, " ", f"{INTERVAL_HEADING} interval", chance, word, "dim"))
        for question, heading in QUESTIONS.items():
            rows = chosen.get(question, [])
            if rows:
                is_reduced = any("note" in score.details for score, _ in rows if question == "transfer")
                lines.append(
                    Text(heading + (" (not comparable with published scores)" if is_reduced else ""), "bold")
                )
                for score, conclusion in rows:
                    lines += _score_lines(score, conclusion)
            elif question in asked and SHOWN.get(question):
                pairs = zip(self.scores, self.conclusions, strict=True)
                reason = next(score.reason for score, conclusion in pairs if conclusion.question == question)
                lines.append(Text.assemble((heading, "bold"), (f" not measured: {reason}", "dim")))
            elif question == "transfer" and is_whole:
                lines.append(
                    Text.assemble((heading, "bold"), (" not computed: add --metrics +xferbench", "dim"))
                )
        return lines

    def _chosen(self) -> dict[Question, list[tuple[Score, Conclusion]]]:
        """Scores to show, by question: all if they fit, otherwise the most important ones with a value.

        Scores that are computed only if they are named come first.
        """
        pairs = sorted(
            zip(self.scores, self.conclusions, strict=True),
            key=lambda pair: (
                not traits_of(pair[0]).is_asked_for,
                table_order(pair[0].name),
            ),
        )
        groups: dict[Question, list[tuple[Score, Conclusion]]] = {}
        for score, conclusion in pairs:
            groups.setdefault(conclusion.question, []).append((score, conclusion))
        if len(pairs) + len(groups) <= MOST_LINES + 2:
            return groups
        defined = {
            question: [pair for pair in groups.get(question, []) if pair[0].value is not None]
            for question in QUESTIONS
        }
        chosen = {question: found[: SHOWN.get(question, 0)] for question, found in defined.items()}
        for question in ("natural", "consistent", "compositional", "concepts", "sizes"):
            for pair in defined[question][len(chosen[question]) :]:
                if _height(chosen, groups) + (1 if chosen[question] else 2) <= MOST_LINES:
                    chosen[question].append(pair)
        while _height(chosen, groups) > MOST_LINES:
            longest = max(chosen, key=lambda question: len(chosen[question]))
            if len(chosen[longest]) < 2:
                break
            chosen[longest].pop()
        return chosen

    def _warnings(self) -> list[str]:
        named = [
            f"{score.name.partition(',')[0]}: {score.details['warning']}"
            for score in self.scores
            if "warning" in score.details
        ]
        number, empty = self.corpus.get("num_messages"), self.corpus.get("num_empty", 0)
        if number is None:
            return named
        if empty == number:
            return [*named, "Every message is empty, so no score is defined."]
        count, meanings = counted(number, "message"), self.corpus.get("num_distinct_meanings")
        few = f"{count} {'is' if number == 1 else 'are'} few: intervals are wide, and real differences can be missed."
        if not any(score.ci95 for score in self.scores):
            about = "" if meanings is None else f", {counted(meanings, 'meaning')}"
            few = f"{count}{about}: too few for intervals; real differences can be missed."
        named += [
            f"Attribute {place} (from 0) names each object, so no message part can express it."
            for place in self.corpus.get("naming_attributes", [])[:1]
        ]
        drawn = [
            f"{score.name} uses {most:,} messages, drawn at random."
            for score in self.scores
            if score.value is not None
            and traits_of(score).is_asked_for  # for others it is only in the signature
            and (most := traits_of(score).most_messages or number) < number
        ]
        partly = [
            f"{score.name} ({len(values) - values.count(None)} of {len(values)})"
            for score in self.scores
            if score.value is not None and None in (values := [*score.details.get(BY_SPEAKER, {}).values()])
        ]
        if partly:
            more = f" and {len(partly) - 2} more" if len(partly) > 2 else ""
            named.append(f"Means over some of the speakers: {', '.join(partly[:2])}{more}.")
        if self.corpus.get("num_episodes", number) < number:
            named.append("Intervals and chance assume that messages of an episode are independent.")
        seeds = "Intervals are over messages, not over seeds: score several runs for these."
        lines = [*named, *drawn, *([few] if number < FEW_MESSAGES else [])]
        return [*lines, seeds] if "training" in self.corpus else lines


def trained_text(corpus: Mapping[str, Any]) -> str:
    """Progress of the training in words: `trained 20 of 20 steps, accuracy 80.0%`.

    Args:
        corpus: Description of a corpus whose agents were trained, see `describe`.
    """
    training = corpus["training"]
    words = "trained {step:,} of {num_steps:,} steps".format(**training)
    if "accuracy" not in training:
        return words
    if about := corpus.get("accuracy_of"):
        return f"{words}; {measure_title('accuracy', about)}: {training['accuracy']:.1%}"
    return f"{words}, accuracy {training['accuracy']:.1%}"


def _height(
    chosen: Mapping[Question, Sequence[Any]], groups: Mapping[Question, Sequence[tuple[Score, Conclusion]]]
) -> int:
    """Number of lines of the questions and their scores, with warnings of benchmarks."""
    headings = sum(1 for question in QUESTIONS if chosen.get(question))
    mute = [question for question in groups if SHOWN.get(question) and not chosen.get(question)]
    unasked = "transfer" not in groups
    transfer = [score for score, _ in chosen.get("transfer", [])]
    more = any(map(anchors_of, transfer)) + any(limits_of(score.signature) for score in transfer)
    more += sum("warning" in score.details for score in transfer)
    return headings + len(mute) + unasked + more + sum(map(len, chosen.values()))


def _score_lines(score: Score, conclusion: Conclusion) -> list[Text]:
    """Line of a score, and one for its options; XferBench has lines for references and limits."""
    arrow = ARROWS[conclusion.direction]
    if conclusion.question == "transfer":
        value = "" if score.value is None else short(score.value)
        about = conclusion.word or str(score.reason or "")
        line = Text(f"{set_cell_size(f'  {score.name}', _NAME)}{value:>{_VALUE}} {arrow} {about}")
        anchors, limits = anchors_of(score), limits_of(score.signature)
        if score.value is None:
            return [line]
        lines = [line]
        if anchors and are_read_alike(passes_of(score.signature), 1.0):
            (best, low), (worst, high) = anchors[0], anchors[-1]
            lines.append(Text(f"    for comparison: {best} {low:.3f} … {worst} {high:.3f}", "dim"))
        return [*lines, *([Text(f"    {limits}", "dim")] if limits else [])]
    name, comma, options = score.name.partition(",")
    below = [Text(f"    {options}", "dim")] if comma else []
    if score.value is None:
        return [Text(f"  {set_cell_size(name, _NAME - 2)}    none  {score.reason}", "dim"), *below]
    if conclusion.question == "sizes":
        return [Text(f"{set_cell_size(f'  {score.name}', _SIZE_NAME)}{short(score.value):>{_VALUE}}")]
    fields = score_fields(score, conclusion)
    bounds = "" if score.ci95 is None else " … ".join(map(short, score.ci95))
    style = "dim" if conclusion.relation == "equal" else ""
    cells = (bounds, "" if fields["chance"] is None else short(fields["chance"]))
    line = _row(f"  {name}", short(score.value), arrow, *cells, "", style)
    indent = cell_len(line.plain)
    first, *more = wrap(conclusion.word, max(WIDTH - indent, LEAST_WORDS)) or [""]
    colour = _COLOURS.get(conclusion.word, "")
    line.append(first, colour)
    return [line, *(Text(" " * indent + each, colour) for each in more), *below]


def _row(name: str, value: str, arrow: str, interval: str, chance: str, conclusion: str, style: str) -> Text:
    line = Text(f"{set_cell_size(name, _NAME)}{value:>{_VALUE}} {arrow} ", style)
    # Large numbers may widen the columns, but leave a space between them.
    line.append(f"{interval} {chance:>{max(0, _INTERVAL + _CHANCE - 1 - len(interval))}} ")
    line.append(conclusion, _COLOURS.get(conclusion, ""))
    return line


def _cut_end(text: str, width: int) -> str:
    return text if cell_len(text) <= width else set_cell_size(text, width - 1).rstrip() + "…"


def _from_the_end(text: str, width: int) -> str:
    """Cut the beginning of a text that is longer than the width, as for a path."""
    return text if len(text) <= width else "…" + text[1 - width :]


def full_tables(
    corpus: Mapping[str, Any], scores: Sequence[Score], conclusions: Sequence[Conclusion]
) -> list[Table]:
    """The scorecard in full: one row per score, its details below in dim text, the signatures at the end.

    Args:
        corpus: Origin and sizes.
        scores: All scores.
        conclusions: The conclusion on each score.
    """
    better, of_value, about = (SCORE_COLUMNS[name] for name in ("better", "value", "about"))
    columns = (
        Column("score", is_shown=False),
        name_column("figure", "metric"),
        number_column(of_value.name, of_value.heading),
        Column(better.name, heading=better.heading),
        Column("interval", heading=INTERVAL_HEADING, parts=INTERVAL),
        Column(about.name, heading=about.heading, wraps=True),
    )
    rows: list[Row] = []
    for score, conclusion in zip(scores, conclusions, strict=True):
        title, high = traits_of(score).title, traits_of(score).high
        rows.append(
            row_of(
                score.name,
                score.name,
                nothing("none") if score.value is None else _number(score.value),
                _cell(better, score_fields(score, conclusion)),
                _bounds(score.ci95),
                lines(
                    f"{title}: {score.about}" if title else score.about,
                    *([score.reason] if score.reason else []),
                ),
            )
        )
        if high and score.value is not None:
            heading = text("interpretation", shown="  interpretation")
            rows.append(row_of(score.name, heading, None, None, None, text(high), role="dim"))
        for name, value, *others in (*_details(score), *_chance_level(score, conclusion)):
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
    eos += {"detected": " (detected)", "given": " (as given)"}.get(str(corpus.get("eos_source")), "")
    sizes = (
        f"{counted(corpus['num_messages'], 'message')}, {counted(corpus['num_symbols'], 'symbol')}, "
        f"{corpus['num_distinct_symbols']:,} distinct, {eos}"
    )
    if "training" in corpus:
        origin.append(trained_text(corpus))
    return "; ".join([*origin, sizes])


def _details(score: Score) -> Iterator[tuple[str, Cell, Cell, Cell]]:
    """Cells for the details of a score: name, number, empty, and an explanation.

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
    """Cells for the chance level, if known: its mean and 95 % range, p-value and basis, conclusion."""
    chance, value = score.chance, score.value
    if chance is None or value is None:
        return
    p_value, basis = chance.p_value(value)
    about = [] if p_value is None else [f"{p_words(p_value)}{BASES[basis]}"]
    if chance.draws:
        number, of_all = len(chance.defined), len(chance.draws)
        of = "" if number == of_all else f" of {of_all}"
        what = f"pairings{' (all)' * (number == of_all)}" if chance.is_exact else "shuffles"
        meanings = "" if chance.num_meanings is None else f" of {chance.num_meanings:,} meanings"
        rows = "" if chance.num_rows is None else f" of {chance.num_rows:,} messages"
        about.append(f"{number}{of} {what}{meanings}{rows}")
    if chance.compared is not None:
        about.append(f"unshuffled {decimals(chance.compared, DIGITS)}")
    corrected = "" if conclusion.p_holm is None else f" (Holm: {p_words(conclusion.p_holm)})"
    yield (
        "  chance level",
        _number(chance.level),
        _bounds(chance.interval),
        text("; ".join([*about, conclusion.word + corrected])),
    )
    if conclusion.adjusted is not None:
        words = "(value - chance) / (best - chance): 0 at chance level, 1 at the best value"
        yield "  adjusted for chance", _number(conclusion.adjusted), nothing(), text(words)


def _bounds(bounds: tuple[float, float] | None) -> Cell:
    """Cell of a 95 % interval, of a score or of the null distribution."""
    if bounds is None:
        return nothing()
    low, high = (decimals(bound, DIGITS) for bound in bounds)
    return Cell(lines=(f"{low} … {high}",), parts=dict(zip(INTERVAL, bounds, strict=True)))


def _number(value: float | int | bool) -> Cell:
    return number(value) if isinstance(value, int) else number(value, DIGITS)


def inventory_tables(details: Mapping[str, Any]) -> Iterator[Table]:
    """Tables in the details of `morphemes`; none for other scores.

    Args:
        details: The details of a score.
    """
    if "inventory" not in details:
        return
    inventory = details["inventory"]
    if inventory:
        cut = f" (the first {MAX_ROWS} of {len(inventory)})" if len(inventory) > MAX_ROWS else ""
        columns = (name_column("form"), Column("meaning"), number_column("bits"), number_column("messages"))
        rows = [
            row_of(
                " ".join(each["form"]),
                " ".join(each["meaning"]),
                number(each["weight"], 3),
                count(each["num_messages"]),
            )
            for each in inventory[:MAX_ROWS]
        ]
        yield Table(columns=columns, rows=rows, title=f"Morphemes by weight{cut}:")
    if details["segmented"]:
        rows = [row_of(each["message"], text(each["meaning"], role="dim")) for each in details["segmented"]]
        yield Table(
            columns=(Column("message"), Column("meaning")),
            rows=rows,
            title="Messages cut into morphemes [form: meaning], and their meanings:",
        )
