"""Exact match and F1 of answers: the rules of SQuAD 1.1 for XQuAD and TyDiQA, MLQA's rules by language for MLQA.

Rajpurkar et al. (2016), section 6.1; Lewis et al. (2020), and their programs. Answers are compared in lower case,
without punctuation and articles; F1 is over bags of words. With several correct answers the best one counts,
separately for each metric. SQuAD's rules are those of English for every language, so a Chinese or Thai answer is mostly
one word.
"""

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from ecsuite.runtime.errors import look_up

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
        kept = "".join(letter for letter in answer.lower() if not _is_punctuation(letter))
        text = articles.sub(" ", kept)
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
        ValueError: If there is no question, or one has no correct answer.
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


def _is_punctuation(letter: str) -> bool:
    return letter in string.punctuation or unicodedata.category(letter).startswith("P")
