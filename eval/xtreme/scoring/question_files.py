"""Reads the JSON format of SQuAD 1.1, used by XQuAD, MLQA and TyDiQA-GoldP too (Rajpurkar et al. 2016)."""

import re
from collections import Counter
from pathlib import Path

import msgspec

from ecsuite.eval.xtreme.scoring.examples import Answer, Question
from ecsuite.formats.stored_text import read_beginning, read_text
from ecsuite.formats.strict_json import parse_json
from ecsuite.runtime.errors import ConfigError, shown

_NUM_HEADER_BYTES = 1 << 20
"""Enough for the contexts before the first answer."""
_FIRST_ANSWER = re.compile(r'"text"\s*:\s*"(.?)')


class _Answer(msgspec.Struct):
    text: str
    answer_start: int


class _Entry(msgspec.Struct):
    id: str | int
    question: str
    answers: list[_Answer] = []  # copied by msgspec


class _Paragraph(msgspec.Struct):
    context: str
    qas: list[_Entry]


class _Article(msgspec.Struct):
    paragraphs: list[_Paragraph]


class _File(msgspec.Struct):
    data: list[_Article]


def has_answers(path: Path) -> bool:
    """Whether the first answer has a text; in XTREME's test files answers are empty. Fast."""
    found = _FIRST_ANSWER.search(read_beginning(path, _NUM_HEADER_BYTES))
    return found is not None and found[1] not in ('"', "")


def read_questions(path: Path, *, prefix: str = "") -> list[Question]:
    """Read the questions in the order of the file.

    An answer that is not at its stated position is replaced by its nearest occurrence. Repeated ids get a number as
    suffix (`0`, `0-2`), as XTREME's split of TyDiQA truncated the ids.

    Args:
        path: The file.
        prefix: Prefix of the ids to read, such as `finnish-`; empty for all.

    Raises:
        ConfigError: If the file cannot be read, is not in this format, or an answer is not in its context.
    """
    try:
        stored = msgspec.convert(parse_json(read_text(path), path), _File, strict=False)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{path}: not as SQuAD 1.1: {error}") from None
    questions: list[Question] = []
    num_seen: Counter[str] = Counter()
    for paragraph in (each for article in stored.data for each in article.paragraphs):
        for entry in paragraph.qas:
            name = str(entry.id)
            if not name.startswith(prefix):
                continue
            num_seen[name] += 1
            answers = (
                _located(answer, paragraph.context, f"{path}: question {name}")
                for answer in entry.answers
                if answer.text
            )
            questions.append(
                Question(
                    id=name if num_seen[name] == 1 else f"{name}-{num_seen[name]}",
                    question=entry.question,
                    context=paragraph.context,
                    answers=tuple(answers),
                )
            )
    if not questions:
        wanted = f" with ids that begin with '{prefix}'" if prefix else ""
        raise ConfigError(f"{path}: expected questions{wanted}, found none")
    return questions


def _located(stored: _Answer, context: str, place: str) -> Answer:
    """An answer at the nearest of its positions in the context."""
    text, start = stored.text, stored.answer_start
    if start < 0 or not context.startswith(text, start):
        starts = [found.start() for found in re.finditer(re.escape(text), context)]
        if not starts:
            raise ConfigError(f"{place}: expected the answer {shown(text)} in the context, found none")
        start = min(starts, key=lambda other: abs(other - start))
    return Answer(text=text, start=start)
