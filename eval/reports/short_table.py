"""The scorecard at a glance: at most 30 lines of 80 columns.

Three lines on the corpus, ten messages with their meanings, and by question a line a score: value, which way is
better, interval, chance level, and a conclusion in plain words.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from ecsuite.eval.metrics import table_order, traits_of
from ecsuite.eval.metrics.by_speaker import BY_SPEAKER
from ecsuite.eval.metrics.conclusions import Conclusion, anchors_of, are_read_alike, limits_of, passes_of
from ecsuite.eval.metrics.score import Score
from ecsuite.eval.metrics.traits import FEW_MESSAGES, QUESTIONS, Question
from ecsuite.eval.reports.samples import Sample
from ecsuite.runtime.printable import counted
from ecsuite.tables.cells import short

MOST_LINES = 12
"""Most lines of questions and scores; with the other parts they are at most 30."""
SHOWN: Mapping[Question, int] = {
    "compositional": 3,
    "concepts": 3,
    "learnable": 2,
    "natural": 2,
    "transfer": 1,
    "shared": 3,
    "other": 12,
}
"""Scores that are shown of each question before others have their turn."""
WIDTH = 80
"""Columns that the table takes at most."""
ARROWS = {"higher": "↑", "lower": "↓", None: " "}
"""Which way is better."""
_ASCII = str.maketrans({"↑": "^", "↓": "v", "→": ">", "…": "~"})
_NAME, _VALUE, _INTERVAL, _CHANCE = 22, 8, 16, 7  # columns
_SIZE_NAME = 28
_COLOURS = {"above chance": "green", "below chance (good)": "green"}


@dataclass(frozen=True, kw_only=True, slots=True)
class ShortTable:
    """What is printed of a scorecard; a terminal that has no arrows gets ASCII."""

    corpus: Mapping[str, Any]
    """Origin and sizes, see `describe`."""
    scores: Sequence[Score]
    """All scores."""
    conclusions: Sequence[Conclusion]
    """The conclusion on each score."""
    samples: Sequence[Sample]
    """Messages with their meanings."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = min(WIDTH, options.max_width)
        for line in self._lines(width):
            line.truncate(width, overflow="ellipsis")
            line.rstrip()
            yield line if _is_printable(line.plain, options.encoding) else _in_ascii(line, options.encoding)

    def _lines(self, width: int) -> list[Text]:
        lines = [*self._title(), *self._sample_lines(width), *self._table()]
        left = len(self.scores) - sum(len(rows) for rows in self._chosen().values())
        which = f"{left} more scores, " if left > 0 else ""
        if self.scores:
            lines.append(Text(f"{which}details, signatures: add --all (Python: print(card.full()))", "dim"))
        shares = [score for score in self.scores if "shares" in score.details]
        lines += [Text(f"{each.name.partition(',')[0]}: {each.details['shares']}", "dim") for each in shares]
        return [*lines, *(Text(line, "yellow") for line in self._warnings())]

    def _title(self) -> list[Text]:
        """Origin, sizes of messages, sizes of meanings."""
        corpus = self.corpus
        origin = str(corpus.get("source_path", "a corpus made in Python"))
        if training := corpus.get("training"):
            trained = f" ({trained_text(training)})"
            origin = _from_the_end(origin, WIDTH - len(trained)) + trained
        if "num_messages" not in corpus:
            return [Text(_from_the_end(origin, WIDTH), "bold")]
        shortest, longest = corpus["min_length"], corpus["max_length"]
        lengths = counted(longest, "symbol")
        if shortest != longest:
            lengths = f"{shortest:,} to {lengths}"
        eos = "no EOS" if corpus["eos"] is None else f"EOS {corpus['eos']}"
        how = {"detected": ", detected" if corpus["eos"] is not None else "", "given": ", as asked"}
        eos += how.get(str(corpus.get("eos_source")), "")
        number = counted(corpus["num_messages"], "message")
        messages = (
            f"{number} ({corpus['num_distinct_messages']:,} distinct) of {lengths}; "
            f"{counted(corpus['num_distinct_symbols'], 'distinct symbol')}; {eos}"
        )
        speakers = []
        if (num_speakers := corpus.get("num_speakers")) is not None:
            speakers = [Text(f"scores are means over {num_speakers:,} speakers, each scored alone")]
        return [
            Text(_from_the_end(origin, WIDTH), "bold"),
            Text(messages),
            Text(self._about_meanings()),
            *speakers,
        ]

    def _about_meanings(self) -> str:
        corpus = self.corpus
        attributes, concepts = corpus["num_attributes"], corpus["num_concepts"]
        kinds = [
            counted(number, name)
            for number, name in ((attributes, "attribute"), (concepts, "concept"))
            if number is not None
        ]
        if not kinds:
            return "no meanings (how to add them: docs/file_formats.md)"
        distinct = corpus["num_distinct_meanings"]
        return f"meanings of {', '.join(kinds)}" + ("" if distinct is None else f"; {distinct:,} distinct")

    def _sample_lines(self, width: int) -> list[Text]:
        """Who speaks, where there are several, meanings, and messages; without meanings messages alone."""
        widest = max((cell_len(each.meaning or "") for each in self.samples), default=0)
        column = min(widest, width // 2)
        lines = []
        for each in self.samples:
            message = each.message or "(empty)"
            meaning = "" if each.meaning is None else f"{_cut(each.meaning, column)} → "
            speaker = "" if each.speaker is None else f"speaker {each.speaker}: "
            lines.append(Text(_cut_end(f"  {speaker}{meaning}{message}", width)))
        return lines

    def _table(self) -> list[Text]:
        chosen = self._chosen()
        is_whole = sum(map(len, chosen.values())) < len(self.scores)
        asked = {conclusion.question for conclusion in self.conclusions}
        lines = [Text()]
        if any(chosen.values()):
            lines.append(_row("", "value", " ", "95 % interval", "chance", "conclusion", "dim"))
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
                lines.append(
                    Text.assemble((heading, "bold"), (f" not measured: {self._reason(question)}", "dim"))
                )
            elif question == "transfer" and is_whole:
                lines.append(Text.assemble((heading, "bold"), (" not asked: --metrics +xferbench", "dim")))
        return lines

    def _reason(self, question: Question) -> str:
        """Why no score of a question is defined."""
        pairs = zip(self.scores, self.conclusions, strict=True)
        return next(str(score.reason) for score, conclusion in pairs if conclusion.question == question)

    def _chosen(self) -> dict[Question, list[tuple[Score, Conclusion]]]:
        """The scores that are shown, by question: all if there is room, else the most asked that are defined.

        Those that are computed only if they are named come first.
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
        own = [(each.name, each.details["warning"]) for each in self.scores if "warning" in each.details]
        return [*(f"{name.partition(',')[0]}: {said}" for name, said in own), *self._of_the_corpus()]

    def _of_the_corpus(self) -> list[str]:
        number, empty = self.corpus.get("num_messages"), self.corpus.get("num_empty", 0)
        if number is None:
            return []
        if empty == number:
            return ["Every message is empty: there is nothing to measure."]
        few = (
            f"{counted(number, 'message')} {'is' if number == 1 else 'are'} few: intervals are wide, and real "
            "differences can be missed."
        )
        named = [
            f"Attribute {place} (from 0) names each object: no part of a message can stand for it."
            for place in self.corpus.get("naming_attributes", [])[:1]
        ]
        drawn = [
            f"{score.name} is of {most:,} messages, drawn at random."
            for score in self.scores
            if score.value is not None
            and traits_of(score).is_asked_for  # others say it in their signatures alone: the page is short
            and (most := traits_of(score).most_messages or number) < number
        ]
        partly = [
            f"{score.name} ({len(values) - values.count(None)} of {len(values)})"
            for score in self.scores
            if score.value is not None and None in (values := [*score.details.get(BY_SPEAKER, {}).values()])
        ]
        if partly:
            more = f" and {len(partly) - 2} more" if len(partly) > 2 else ""
            named.append(f"Means of some of the speakers: {', '.join(partly[:2])}{more}.")
        if self.corpus.get("num_episodes", number) < number:
            named.append("Intervals and chance assume that messages of an episode are independent.")
        seeds = "Intervals are over messages, not over seeds: for these, score several runs."
        lines = [*named, *drawn, *([few] if number < FEW_MESSAGES else [])]
        return [*lines, seeds] if "training" in self.corpus else lines


def trained_text(training: Mapping[str, float]) -> str:
    """How far training came, as `describe` has it, in words."""
    words = "trained {step:,} of {num_steps:,} steps".format(**training)
    return words + (f", accuracy {training['accuracy']:.1%}" if "accuracy" in training else "")


def _height(
    chosen: Mapping[Question, Sequence[Any]], groups: Mapping[Question, Sequence[tuple[Score, Conclusion]]]
) -> int:
    """Lines of the questions and their scores, with the warnings of benchmarks."""
    headings = sum(1 for question in QUESTIONS if chosen.get(question))
    mute = [question for question in groups if SHOWN.get(question) and not chosen.get(question)]
    unasked = "transfer" not in groups
    transfer = [score for score, _ in chosen.get("transfer", [])]
    more = any(map(anchors_of, transfer)) + any(limits_of(score.signature) for score in transfer)
    more += sum("warning" in score.details for score in transfer)
    return headings + len(mute) + unasked + more + sum(map(len, chosen.values()))


def _score_lines(score: Score, conclusion: Conclusion) -> list[Text]:
    """The line of a score, and one of its options; XferBench has others with references and its limits."""
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
    interval = "" if score.ci95 is None else " … ".join(map(short, score.ci95))
    chance = None if score.chance is None else score.chance.level
    style = "dim" if conclusion.relation == "equal" else ""
    cells = (interval, "" if chance is None else short(chance), conclusion.word)
    return [_row(f"  {name}", short(score.value), arrow, *cells, style), *below]


def _row(name: str, value: str, arrow: str, interval: str, chance: str, conclusion: str, style: str) -> Text:
    """Cells in columns."""
    line = Text(f"{set_cell_size(name, _NAME)}{value:>{_VALUE}} {arrow} ", style)
    # Of large numbers the columns may be wider, but never without a space between them.
    line.append(f"{interval} {chance:>{max(0, _INTERVAL + _CHANCE - 1 - len(interval))}} ")
    line.append(conclusion, _COLOURS.get(conclusion, ""))
    return line


def _cut(text: str, width: int) -> str:
    """A text in a column of this width."""
    return set_cell_size(_cut_end(text, width), width)


def _cut_end(text: str, width: int) -> str:
    """The beginning of a text that is longer than the width."""
    return text if cell_len(text) <= width else set_cell_size(text, width - 1).rstrip() + "…"


def _from_the_end(text: str, width: int) -> str:
    """The end of a text that is longer than the width, as that of a path says most."""
    return text if len(text) <= width else "…" + text[1 - width :]


def _is_printable(text: str, encoding: str) -> bool:
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def _in_ascii(line: Text, encoding: str) -> Text:
    """The same line, as wide, in characters that a terminal has; others become question marks."""
    plain = line.plain.translate(_ASCII).encode(encoding, "replace").decode(encoding)
    return Text(plain, style=line.style, spans=line.spans)
