"""Reads the JSON format of SQuAD 1.1, used by XQuAD, MLQA and TyDiQA-GoldP too (Rajpurkar et al. 2016)."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

from ecsuite.config import ConfigError
from ecsuite.eval.xtreme.scoring.examples import Answer, Question
from ecsuite.formats.stored_text import read_beginning, read_text

_NUM_HEADER_BYTES = 1 << 20
"""Enough for the contexts before the first answer."""
_FIRST_ANSWER = re.compile(r'"text"\s*:\s*"(.?)')


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
        stored = json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise ConfigError(f"{path}:{error.lineno}: not JSON: {error.msg}") from error
    except RecursionError as error:
        raise ConfigError(f"{path}: expected questions, found JSON nested too deeply") from error
    questions: list[Question] = []
    num_seen: Counter[str] = Counter()
    try:
        for article in stored["data"]:
            for paragraph in article["paragraphs"]:
                context = _text(paragraph, "context")
                for entry in paragraph["qas"]:
                    name = str(entry["id"])
                    if not name.startswith(prefix):
                        continue
                    num_seen[name] += 1
                    answers = [
                        _answer(answer, context, f"{path}: question {name}")
                        for answer in entry.get("answers", ())
                        if _text(answer, "text")
                    ]
                    questions.append(
                        Question(
                            id=name if num_seen[name] == 1 else f"{name}-{num_seen[name]}",
                            question=_text(entry, "question"),
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
        wanted = f" with ids that begin with '{prefix}'" if prefix else ""
        raise ConfigError(f"{path}: expected questions{wanted}, found none")
    return questions


def _text(stored: Any, key: str) -> str:
    found = stored[key]
    if not isinstance(found, str):
        raise TypeError(f"{key} is not a string")
    return found


def _answer(stored: Any, context: str, place: str) -> Answer:
    text, start = _text(stored, "text"), int(stored["answer_start"])
    if start < 0 or not context.startswith(text, start):
        starts = [found.start() for found in re.finditer(re.escape(text), context)]
        if not starts:
            raise ConfigError(f"{place}: expected the answer '{text}' in the context, found none")
        start = min(starts, key=lambda other: abs(other - start))
    return Answer(text=text, start=start)
