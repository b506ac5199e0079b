import json
from collections import Counter
from pathlib import Path

import pytest

import ecsuite as ec
from ecsuite.runtime.errors import ReadingQuestion
from table_files import GRID, IDS, WORDS, answered, said, scores

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


def test_the_target_is_an_index_of_candidates(tmp_path):
    for kind in (dict, list):
        values = [kind(zip(("color", "shape"), row, strict=True)) if kind is dict else list(row) for row in GRID]
        other = values[4]
        rows = [
            {"message": message, "objects": [other, each] if place % 2 else [each, other], "target": place % 2}
            for place, (message, each) in enumerate(zip(IDS, values, strict=True))
        ]
        (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        with pytest.raises(ReadingQuestion, match="target has indices of items of objects: what is meant") as caught:
            ec.read_corpus(tmp_path / "a.jsonl")
        assert caught.value.readings[0][0] == {"columns": {"objects.target": "meaning"}}
        corpus = ec.read_corpus(tmp_path / "a.jsonl", columns={"objects.target": "meaning"})
        assert scores(corpus) == pytest.approx(dict.fromkeys(PERFECT, 1))


def test_items_with_spaces_are_no_symbols(tmp_path):
    texts = [" ".join(words) for words in WORDS]
    (tmp_path / "a.json").write_text(json.dumps([[*row, text] for row, text in zip(GRID, texts, strict=True)]))
    with pytest.raises(ReadingQuestion, match="lists with texts such as ne po: expected symbols, or objects"):
        ec.read_corpus(tmp_path / "a.json")
    assert len(said(ec.read_corpus(tmp_path / "a.json", split="spaces"))[0]) == 3
    (tmp_path / "b.json").write_text(json.dumps({"messages": texts, "meanings": GRID, "acc": [0.5, 0.6]}))
    with pytest.raises(ReadingQuestion, match="messages, meanings have the same number of items"):
        ec.read_corpus(tmp_path / "b.json")


def test_lists_of_rows_that_are_no_splits_are_groups(tmp_path):
    rows = [{"message": row, "color": c, "shape": s} for row, (c, s) in zip(IDS, GRID, strict=True)]
    (tmp_path / "a.json").write_text(json.dumps({"seed 0": rows, "seed 1": rows}))
    notes = ec.read_corpus(tmp_path / "a.json").metadata["notes"]
    assert "group: group (pooled: --by group scores each)" in notes[0]
