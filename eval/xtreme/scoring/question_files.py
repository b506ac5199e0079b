"""Questions about contexts: the JSON of SQuAD 1.1, which XQuAD, MLQA and TyDiQA-GoldP share (Rajpurkar et al. 2016)."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

from ecsuite.config import ConfigError
from ecsuite.eval.xtreme.scoring.examples import Answer, Question
from ecsuite.eval.xtreme.scoring.stored_text import read_beginning, read_text

_NUM_BYTES_OF_BEGINNING = 1 << 20
"""Enough for the contexts before the first answer."""
_FIRST_ANSWER = re.compile(r'"text"\s*:\s*"(.?)')


def has_answers(path: Path) -> bool:
    """Whether the first answer has a text; XTREME's test files have empty ones. Quick."""
    found = _FIRST_ANSWER.search(read_beginning(path, _NUM_BYTES_OF_BEGINNING))
    return found is not None and found[1] not in ('"', "")


def read_questions(path: Path, *, prefix: str = "") -> list[Question]:
    """Read the questions in the file's order.

    An answer that does not stand where it should is looked for near by; a later question whose id was there already
    gets a number behind it (`0`, `0-2`), as XTREME's split of TyDiQA cut the ids short.

    Args:
        path: The file.
        prefix: How the ids to take begin, such as `finnish-`; all if empty.

    Raises:
        ConfigError: If the file cannot be read, is no such JSON, or an answer is not in its context.
    """
    try:
        stored = json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise ConfigError(f"{path}:{error.lineno}: not JSON: {error.msg}") from error
    except RecursionError as error:
        raise ConfigError(f"{path}: not questions: nested too deeply") from error
    questions: list[Question] = []
    times: Counter[str] = Counter()
    try:
        for article in stored["data"]:
            for paragraph in article["paragraphs"]:
                context = _text(paragraph, "context")
                for asked in paragraph["qas"]:
                    name = str(asked["id"])
                    if not name.startswith(prefix):
                        continue
                    times[name] += 1
                    answers = [
                        _answer(answer, context, f"{path}: question {name}")
                        for answer in asked.get("answers", ())
                        if _text(answer, "text")
                    ]
                    questions.append(
                        Question(
                            id=name if times[name] == 1 else f"{name}-{times[name]}",
                            question=_text(asked, "question"),
                            context=context,
                            answers=tuple(answers),
                        )
                    )
    except (KeyError, TypeError, AttributeError) as error:
        after = f"after question {questions[-1].id}" if questions else "at its beginning"
        raise ConfigError(
            f"{path}: not as SQuAD 1.1 {after} ({type(error).__name__}: {error}); expected data, paragraphs, context, "
            "qas, id, question, answers, text, answer_start"
        ) from error
    if not questions:
        wanted = f" whose id begins with '{prefix}'" if prefix else ""
        raise ConfigError(f"{path}: no question{wanted} in it")
    return questions


def _text(stored: Any, key: str) -> str:
    found = stored[key]
    if not isinstance(found, str):
        raise TypeError(f"{key} is no text")
    return found


def _answer(stored: Any, context: str, place: str) -> Answer:
    text, start = _text(stored, "text"), int(stored["answer_start"])
    if start < 0 or not context.startswith(text, start):
        starts = [found.start() for found in re.finditer(re.escape(text), context)]
        if not starts:
            raise ConfigError(f"{place}: its context does not hold the answer '{text}'")
        start = min(starts, key=lambda other: abs(other - start))
    return Answer(text=text, start=start)
