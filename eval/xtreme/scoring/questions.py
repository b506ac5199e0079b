"""Questions, answered by a span of a context: the JSON format of SQuAD 1.1 (Rajpurkar et al. 2016), exact match and F1.

XQuAD, MLQA and TyDiQA-GoldP use the format, too. Answers are compared by the rules of SQuAD 1.1 for XQuAD and TyDiQA,
by MLQA's rules by language for MLQA (Rajpurkar et al. 2016, section 6.1; Lewis et al. 2020, and their programs): in
lower case, without punctuation and articles; F1 is over bags of words. With several correct answers the best one
counts, separately for each metric. SQuAD applies its English rules to every language, so a Chinese or Thai answer is
mostly one word.
"""

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from ecsuite.eval.xtreme.scoring.task import (
    Answer,
    ExtractiveQuestion,
    Predict,
    XtremeTask,
    english_name,
    most_of,
)
from ecsuite.formats.stored_text import read_beginning, read_text
from ecsuite.formats.strict_json import parse_json
from ecsuite.runtime.errors import ConfigError, look_up, shown

Normalizer = Callable[[str], list[str]]
"""Normalises an answer to a list of words for comparison."""

_ASCII_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ENGLISH_ARTICLES = re.compile(r"\b(?:a|an|the)\b")

_NOTHING = re.compile(r"(?!)")
_ARTICLES: Mapping[str, re.Pattern[str]] = {
    "en": _ENGLISH_ARTICLES,
    "es": re.compile(r"\b(?:un|una|unos|unas|el|la|los|las)\b"),
    "vi": re.compile(r"\b(?:của|là|cái|chiếc|những)\b"),
    "de": re.compile(r"\b(?:ein|eine|einen|einem|eines|einer|der|die|das|den|dem|des)\b"),
    # MLQA's program also removes the letters of the Arabic article inside words.
    "ar": re.compile("ال"),
    "hi": _NOTHING,
    "zh": _NOTHING,
}
"""Articles that MLQA removes, by language; the keys are MLQA's languages."""

_IDEOGRAM = re.compile("([\u4e00-\u9fa5])")


def squad_words(answer: str) -> list[str]:
    """The words of an answer by the rules of SQuAD 1.1: ASCII punctuation and English articles are removed."""
    return _ENGLISH_ARTICLES.sub(" ", answer.lower().translate(_ASCII_PUNCTUATION)).split()


def mlqa_words(language: str) -> Normalizer:
    """MLQA's rules for a language: Unicode punctuation and articles are removed; each Chinese character is a word.

    Raises:
        ConfigError: If the language is not in MLQA.
    """
    articles = look_up("language of MLQA", language, _ARTICLES)

    def words(answer: str) -> list[str]:
        letters = [letter for letter in answer.lower() if letter not in string.punctuation]
        text = "".join(letter for letter in letters if not unicodedata.category(letter).startswith("P"))
        text = articles.sub(" ", text)
        return (_IDEOGRAM.sub(r" \1 ", text) if language == "zh" else text).split()

    return words


def answer_scores(
    predicted: Mapping[str, str], gold: Sequence[tuple[str, Sequence[str]]], words: Normalizer
) -> dict[str, float]:
    """Exact match and F1, means over questions.

    Args:
        predicted: Answers by question id; a question without an answer counts as wrong.
        gold: Id and correct answers of each question.
        words: Normalises an answer to words.

    Returns:
        `exact_match` and `f1`, 0 to 100.

    Raises:
        ValueError: If there is no question, or a question has no correct answer.
    """
    if not gold:
        raise ValueError("expected questions, found none")
    exact_match = f1 = 0.0
    for name, answers in gold:
        if not answers:
            raise ValueError(f"question {name}: expected a correct answer, found none")
        if name not in predicted:
            continue
        predicted_words = words(predicted[name])
        gold_words = [words(answer) for answer in answers]
        exact_match += any(predicted_words == answer for answer in gold_words)
        f1 += max(_f1(predicted_words, answer) for answer in gold_words)
    return {"exact_match": 100 * exact_match / len(gold), "f1": 100 * f1 / len(gold)}


def _f1(predicted_words: list[str], answer: list[str]) -> float:
    """F1 of two bags of words; 0 if either is empty, as in both programs."""
    num_common = (Counter(predicted_words) & Counter(answer)).total()
    if num_common == 0:
        return 0.0
    precision, recall = num_common / len(predicted_words), num_common / len(answer)
    return 2 * precision * recall / (precision + recall)


_NUM_HEADER_BYTES = 1 << 20
"""Enough for the contexts before the first answer."""
_FIRST_ANSWER = re.compile(r'"text"\s*:\s*"(.?)')
_END_OF_SENTENCE = re.compile("(?<=[.!?\u061f\u0964])\\s+|(?<=[\u3002\uff01\uff1f])")


class _SquadAnswer(msgspec.Struct):
    text: str
    answer_start: int = 0


class _Entry(msgspec.Struct):
    id: str | int
    question: str | None = None
    answers: list[_SquadAnswer] = []  # copied by msgspec


class _Paragraph(msgspec.Struct):
    qas: list[_Entry]
    context: str | None = None  # labels of submissions need none


class _Article(msgspec.Struct):
    paragraphs: list[_Paragraph]


class _SquadFile(msgspec.Struct):
    data: list[_Article]


def _entries(path: Path) -> list[tuple[_Paragraph, _Entry]]:
    """The questions of a file in their order, each with its paragraph."""
    try:
        stored = msgspec.convert(parse_json(read_text(path), path), _SquadFile | list[_Article], strict=False)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{path}: expected SQuAD 1.1: {error}") from None
    articles = stored.data if isinstance(stored, _SquadFile) else stored
    return [(one, entry) for article in articles for one in article.paragraphs for entry in one.qas]


def has_answers(path: Path) -> bool:
    """Whether the first answer has a text, as XTREME's test files have empty answers; fast."""
    match = _FIRST_ANSWER.search(read_beginning(path, _NUM_HEADER_BYTES))
    return match is not None and match[1] not in ('"', "")


def read_questions(path: Path, *, prefix: str = "", is_translated: bool = False) -> list[ExtractiveQuestion]:
    """Read the questions in the order of the file.

    An answer that is not at its stated position is replaced by its nearest occurrence. Repeated ids get a number as
    suffix (`0`, `0-2`), as XTREME's split of TyDiQA truncated the ids.

    Args:
        path: The file.
        prefix: Prefix of the ids to read, such as `finnish-`; empty for all.
        is_translated: Whether to skip questions whose answer is not in the context, as happens in machine translation,
        unless it is missing in most questions.

    Raises:
        ConfigError: If the file cannot be read, is not in this format, or an answer is not in its context.
    """
    num_seen: Counter[str] = Counter()

    def parse(stored: tuple[_Paragraph, _Entry]) -> ExtractiveQuestion:
        paragraph, entry = stored
        name, context = str(entry.id), paragraph.context
        location = f"{path}: question {name}"
        if context is None or entry.question is None:
            raise ConfigError(f"{location}: expected a question and its context, got only one of them")
        num_seen[name] += 1
        return ExtractiveQuestion(
            id=name if num_seen[name] == 1 else f"{name}-{num_seen[name]}",
            question=entry.question,
            context=context,
            answers=tuple(_located(answer, context, location) for answer in entry.answers if answer.text),
        )

    entries = [each for each in _entries(path) if str(each[1].id).startswith(prefix)]
    questions = most_of(entries, parse) if is_translated else [parse(each) for each in entries]
    if not questions:
        selection = f" with ids that begin with '{prefix}'" if prefix else ""
        raise ConfigError(f"{path}: expected questions{selection}, found none")
    return questions


def _located(stored: _SquadAnswer, context: str, location: str) -> Answer:
    """An answer at the nearest of its positions in the context."""
    text, start = stored.text, stored.answer_start
    if start < 0 or not context.startswith(text, start):
        starts = [match.start() for match in re.finditer(re.escape(text), context)]
        if not starts:
            raise ConfigError(f"{location}: expected the answer {shown(text)} in the context, found none")
        start = min(starts, key=lambda other: abs(other - start))
    return Answer(text=text, start=start)


def _words(text: str) -> set[str]:
    """Words in lower case, without punctuation."""
    return set(re.findall(r"\w+", text.lower()))


def _overlap(task: XtremeTask, folder: Path) -> Predict:
    """The sentence of the context that shares most words with the question; in a tie the first."""

    def answer(question: ExtractiveQuestion) -> str:
        question_words = _words(question.question)
        sentences = _END_OF_SENTENCE.split(question.context)
        return max(sentences, key=lambda sentence: len(question_words & _words(sentence))).strip()

    return lambda questions: {question.id: answer(question) for question in questions}


def _first_sentence(task: XtremeTask, folder: Path) -> Predict:
    return lambda questions: {
        question.id: _END_OF_SENTENCE.split(question.context)[0].strip() for question in questions
    }


@dataclass(frozen=True, kw_only=True)
class Questions(XtremeTask):
    """A span of a context; a question without an answer counts as wrong."""

    kind = "questions"
    group = "qa"
    metrics = ("exact_match", "f1")
    main = ("exact_match", "f1")
    baselines = {"overlap": _overlap, "first sentence": _first_sentence}  # noqa: RUF012
    is_aligned = False
    ending = "json"

    rules: Literal["squad", "mlqa"] = "squad"
    """Rules for the comparison of answers, see `answer_scores`."""

    def _read(self, form: str, paths: Sequence[Path], language: str) -> list[ExtractiveQuestion]:
        self._words(language)  # raises on an unknown language before the work
        prefix = f"{english_name(language)}-" if form == "questions_of_all" else ""
        return read_questions(paths[0], prefix=prefix, is_translated=form == "translated_questions")

    def _is_labelled(self, form: str, path: Path) -> bool:
        return has_answers(path)

    def labels(self, examples: Sequence[ExtractiveQuestion]) -> Any:
        """Id and correct answers of each question."""
        return [(question.id, [answer.text for answer in question.answers]) for question in examples]

    def constant(self, labels: Any) -> Any:
        """None: there is no constant answer."""
        return None

    def _metrics(self, language: str, predictions: Any, labels: Any) -> dict[str, float]:
        return answer_scores(predictions, labels, self._words(language))

    def _words(self, language: str) -> Normalizer:
        return mlqa_words(language) if self.rules == "mlqa" else squad_words

    def read_submission(self, predictions: Path, labels: Path) -> tuple[Any, Any]:
        """Read predictions, a JSON object of answers by question id, and labels, SQuAD's JSON."""
        gold = _read_answers(labels)
        predicted = parse_json(read_text(predictions), predictions)
        if not isinstance(predicted, dict):
            raise ConfigError(f"{predictions}: expected a JSON object of answers by question id")
        for name, answer in predicted.items():
            if not isinstance(answer, str):
                raise ConfigError(
                    f"{predictions}: question {name}: expected a string as answer, got {shown(answer)}"
                )
        unknown = predicted.keys() - {name for name, _ in gold}
        if unknown:
            raise ConfigError(
                f"{predictions}: {len(unknown):,} of {len(predicted):,} questions are not in {labels}, "
                f"such as {min(unknown)}"
            )
        return predicted, gold


def _read_answers(path: Path) -> list[tuple[str, list[str]]]:
    """Id and correct answers of each question."""
    questions = [(str(entry.id), [answer.text for answer in entry.answers]) for _, entry in _entries(path)]
    if not questions:
        raise ConfigError(f"{path}: expected questions, the file has none")
    for name, answers in questions:
        if not answers:
            raise ConfigError(f"{path}: question {name}: expected at least one answer with a text")
    return questions
