"""Exact match and F1 of answers: SQuAD 1.1's for XQuAD and TyDiQA, MLQA's own, which knows languages, for MLQA.

Rajpurkar et al. (2016), section 6.1; Lewis et al. (2020), and their programs. Answers are compared in lower case,
without punctuation and articles; F1 is that of the words that both have, a word as often as it is there. Of several
right answers the nearest counts, for either metric on its own. SQuAD's rules are those of English in every language,
so that a Chinese or Thai answer is mostly one word.
"""

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from ecsuite.config import look_up

Normalizer = Callable[[str], list[str]]
"""Splits an answer into the words that are compared."""

_ASCII_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ENGLISH_ARTICLES = re.compile(r"\b(?:a|an|the)\b")

_NOTHING = re.compile(r"(?!)")
_ARTICLES: Mapping[str, re.Pattern[str]] = {
    "en": _ENGLISH_ARTICLES,
    "es": re.compile(r"\b(?:un|una|unos|unas|el|la|los|las)\b"),
    "vi": re.compile(r"\b(?:của|là|cái|chiếc|những)\b"),
    "de": re.compile(r"\b(?:ein|eine|einen|einem|eines|einer|der|die|das|den|dem|des)\b"),
    # MLQA's program takes the letters of the Arabic article away inside words, too.
    "ar": re.compile("ال"),
    "hi": _NOTHING,
    "zh": _NOTHING,
}
"""What MLQA leaves out, by language: its languages."""

_IDEOGRAM = re.compile("([\u4e00-\u9fa5])")


def squad_words(answer: str) -> list[str]:
    """The words of an answer by the rules of SQuAD 1.1: punctuation is ASCII's, articles are English."""
    return _ENGLISH_ARTICLES.sub(" ", answer.lower().translate(_ASCII_PUNCTUATION)).split()


def mlqa_words(language: str) -> Normalizer:
    """MLQA's rules for the answers of a language: punctuation is Unicode's, each Chinese character is a word.

    Raises:
        ConfigError: If MLQA does not have the language.
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
        predicted: Answers by the name of their question; a question without one counts as wrong.
        gold: The name and the right answers of each question.
        words: The rules by which answers are compared.

    Returns:
        `exact_match` and `f1`, 0 to 100.

    Raises:
        ValueError: If there is no question, or one has no right answer.
    """
    if not gold:
        raise ValueError("there is no question to score")
    exact_match = f1 = 0.0
    for name, answers in gold:
        if not answers:
            raise ValueError(f"question {name} has no right answer to compare with")
        if name not in predicted:
            continue
        said = words(predicted[name])
        right = [words(answer) for answer in answers]
        exact_match += any(said == answer for answer in right)
        f1 += max(_f1(said, answer) for answer in right)
    return {"exact_match": 100 * exact_match / len(gold), "f1": 100 * f1 / len(gold)}


def _f1(said: list[str], answer: list[str]) -> float:
    """F1 of two bags of words; 0 where either is empty, as in both programs."""
    num_common = (Counter(said) & Counter(answer)).total()
    if num_common == 0:
        return 0.0
    precision, recall = num_common / len(said), num_common / len(answer)
    return 2 * precision * recall / (precision + recall)


def _is_punctuation(letter: str) -> bool:
    return letter in string.punctuation or unicodedata.category(letter).startswith("P")
