"""The artificial languages are deterministic, differ, and have properties of natural languages."""

import hashlib
from collections import Counter
from itertools import chain, combinations

import numpy as np
import pytest

from ecsuite.eval.xferbench.languages import TYPOLOGIES, Endings, Lexeme, RandomStream, Ranked, Sounds, write

NUMBERS = range(1, len(TYPOLOGIES) + 1)


@pytest.fixture(scope="module")
def texts():
    """Fifty kilobytes of every language."""
    return {number: write(number, 50_000) for number in NUMBERS}


def words_of(lines):
    return "".join(letter for letter in " ".join(lines).lower() if letter not in ".,?").split()


def test_there_are_ten():
    assert len(TYPOLOGIES) == 10
    with pytest.raises(ValueError, match=r"artificial language 11: expected 1 to 10"):
        write(11, 10)


def test_a_language_is_always_the_same_and_continues_itself(texts):
    again = write(4, 20_000)
    assert again == texts[4][: len(again)]
    assert sum(len(line.encode()) for line in texts[4]) >= 50_000


def test_languages_never_change(texts):
    """Equal signatures mean comparable scores: a change here must raise the metric's version."""
    content = "\n".join("\n".join(lines) for lines in texts.values())
    assert hashlib.blake2b(content.encode(), digest_size=8).hexdigest() == "e3e5ed10cdd2b2c5"


def test_languages_differ(texts):
    common = [{word for word, _ in Counter(words_of(lines)).most_common(300)} for lines in texts.values()]
    assert all(len(one & other) < 60 for one, other in combinations(common, 2))


@pytest.mark.parametrize("number", NUMBERS)
def test_words_follow_zipf(texts, number):
    counts = np.sort([*Counter(words_of(texts[number])).values()])[::-1]
    ranks = np.arange(1, len(counts) + 1)
    middle = slice(4, 500)
    slope, _ = np.polyfit(np.log(ranks[middle]), np.log(counts[middle]), 1)
    assert -1.4 < slope < -0.6
    assert 0.02 < counts[0] / counts.sum() < 0.15


def test_synthesis_shows_in_the_number_of_forms(texts):
    forms = {True: [], False: []}
    for kind, words in zip(TYPOLOGIES, map(words_of, texts.values()), strict=True):
        forms[kind.endings == "none"].append(len(set(words)) / len(words))
    assert max(forms[True]) < min(forms[False])


def test_harmony_holds_in_every_word(texts):
    for word in words_of(texts[2]):
        assert not (set(word) & set("aou") and set(word) & set("äöü")), word


def test_lines_are_sentences(texts):
    for line in chain.from_iterable(texts.values()):
        assert line[0].isupper() and line[-1] in ".?" and "  " not in line


def test_endings_are_one_a_value_or_one_a_combination():
    noun = Lexeme("tan", False, 0, 0)
    sounds = Sounds(RandomStream(1), num_consonants=10, num_vowels=5, clusters=0, codas=0.2)
    separate = Endings(sounds, (2, 3), fused=False)
    assert separate.inflect(noun, 0, 0) == "tan"
    assert separate.inflect(noun, 1, 2) == separate.inflect(noun, 1, 0) + separate.inflect(noun, 0, 2)[3:]
    fused = Endings(sounds, (2, 3), fused=True)
    assert fused.inflect(noun, 0, 0) == "tan"
    assert len(fused.forms[False]) == 6


def test_ranked_items_fall_as_zipf_mandelbrot_says():
    ranked = Ranked(range(50), RandomStream(3))
    counts = Counter(ranked.draw() for _ in range(50_000))
    assert counts[0] / counts[9] == pytest.approx(12.7 / 3.7, rel=0.1)
