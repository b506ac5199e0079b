from collections import Counter
from pathlib import Path

import pytest

import ecsuite as ec
from table_files import answered, said, scores

CASES = Path(__file__).parents[3] / "shared" / "cases"
"""Files that were made after public reports; they are not part of the package."""


def case(name):
    if not (CASES / name).exists():
        pytest.skip(f"{name} is not here")
    return CASES / name


def words_of(corpus):
    return [" ".join(map(str, row)) for row in said(corpus)]


def rows_of(file):
    lines = [line.split(",") for line in file.read_text().splitlines()[1:]]
    return Counter(map(tuple, lines))


def meant_and_said(corpus):
    return Counter(zip(words_of(corpus), *corpus.meanings.T.tolist(), strict=True))


PERFECT = ["topsim", "posdis", "cbm"]


RIGHT = {
    "otree_6.0/naming.csv": "otree_6.0/right.csv", "otree_6.0/all_apps_wide.csv": "otree_6.0/right.csv",
    "psychopy_2026/wide.csv": "psychopy_2026/right.csv", "jspsych_8.3/out.csv": "jspsych_8.3/right.csv",
    "jspsych_8.3/out.json": "jspsych_8.3/right.csv",
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_messages_and_meanings_of_exports(name):
    corpus, _ = answered(case(name))
    assert meant_and_said(corpus) == rows_of(case(RIGHT[name]))


def test_languages_of_generations():
    for name in ("lexicon_per_generation.jsonl", "gens_list.json"):
        corpus, _ = answered(case(name))
        assert len(corpus.messages) == 8 and corpus.values_of("generation") == [0, 1]
        assert scores(corpus.where("generation", 0)) == pytest.approx(dict.fromkeys(PERFECT, 1))


def test_na_of_r_is_asked_about():
    corpus, questions = answered(case("r_table_na.txt"))
    assert len(corpus.messages) == 3 and "NA without quotes" in questions[0].asked
    assert [dict(words) for words, _ in questions[0].readings][1] == {"missing": "value"}


def test_comments_are_left_out():
    corpus = ec.read_corpus(case("comments.txt"))
    assert words_of(corpus) == ["ne po", "ne ki", "wa po", "wa ki"]
    assert "2 lines that begin with # left out" in corpus.metadata["notes"][0]
