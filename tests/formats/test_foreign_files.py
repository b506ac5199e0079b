"""Files of other programs: each is read right, or asked about, and the first command that is offered reads it right."""

from collections import Counter
from pathlib import Path

import pytest
from table_files import answered, said, scores

import ecsuite as ec

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
ONE = {
    "array_open_line.json": PERFECT,
    "mongo_array.json": PERFECT,
    "language_lines.json": PERFECT,
    "mongoexport.json": PERFECT,
    "psychopy.csv": PERFECT,
    "jspsych.csv": PERFECT,
    "otree.csv": PERFECT,
    "qualtrics.csv": PERFECT,
    "all_empty_column.csv": PERFECT,
    "constant_column.csv": PERFECT,
    "e2e_slots.csv": PERFECT,
    "act_slots.csv": PERFECT,
    "lexicon_beside.json": PERFECT,
    "int_meaning.jsonl": ["topsim", "cbm"],
    "egg_int.npz": ["topsim", "cbm"],
    "outcome_name.csv": ["topsim"],
    "scan.txt": PERFECT,
    "equals_pairs.txt": PERFECT,
    "egg_channel_dump.txt": [],
    "egg_objects_dump.txt": [],
    "egg_dump_label.txt": ["topsim", "cbm"],
    "prompt_completion.jsonl": PERFECT,
    "translation.jsonl": PERFECT,
    "parallel_lists.jsonl": PERFECT,
    "topsim_2x2.csv": ["topsim"],
    "otree_6.0/naming.csv": PERFECT,
    "otree_6.0/all_apps_wide.csv": PERFECT,
    "psychopy_2026/wide.csv": ["topsim", "cbm"],
    "jspsych_8.3/out.csv": PERFECT,
    "jspsych_8.3/out.json": PERFECT,
}
"""The scores that are 1 of each file."""


@pytest.mark.parametrize("name", ONE)
def test_scores_of_a_perfect_language(name):
    corpus, _ = answered(case(name))
    found = scores(corpus, ONE[name]) if ONE[name] else {}
    assert found == pytest.approx(dict.fromkeys(ONE[name], 1)), (corpus.metadata["notes"], corpus.meanings)


RIGHT = {
    "otree_6.0/naming.csv": "otree_6.0/right.csv",
    "otree_6.0/all_apps_wide.csv": "otree_6.0/right.csv",
    "psychopy_2026/wide.csv": "psychopy_2026/right.csv",
    "jspsych_8.3/out.csv": "jspsych_8.3/right.csv",
    "jspsych_8.3/out.json": "jspsych_8.3/right.csv",
}


@pytest.mark.parametrize("name", RIGHT)
def test_messages_and_meanings_of_exports(name):
    corpus, _ = answered(case(name))
    assert meant_and_said(corpus) == rows_of(case(RIGHT[name]))


def test_numbers_of_messages():
    for name, number in (
        ("psychopy.csv", 6),
        ("otree.csv", 12),
        ("qualtrics.csv", 12),
        ("mongoexport.json", 12),
    ):
        corpus, _ = answered(case(name))
        assert len(corpus.messages) == number and len(corpus.attribute_names) == 2
    corpus, _ = answered(case("parallel_lists.jsonl"))
    assert len(corpus.messages) == 8 and corpus.values_of("speaker") == ["A", "B"]


def test_dumps_of_egg():
    for name, first in (
        ("egg_channel_dump.txt", [3, 4, 0]),
        ("egg_objects_dump.txt", [1, 2, 0]),
        ("egg_dump_label.txt", [1, 2, 0]),
    ):
        corpus, questions = answered(case(name))
        assert not questions and said(corpus)[0] == first and corpus.eos == 0
        assert len(corpus.messages) == 4 and corpus.meanings is not None and "output" in corpus.columns


def test_brackets_are_text():
    for name in ("dyck.txt", "dyck2.txt", "dyck_nested.txt"):
        path = case(name)
        expected = [len(line.split()) for line in path.read_text().splitlines()]
        assert ec.read_corpus(path).messages.lengths.tolist() == expected


def test_a_chosen_column_of_a_table_without_header():
    corpus, _ = answered(case("headerless_ints.tsv"), columns={"3": "message"})
    assert said(corpus) == [[7], [8], [7], [8], [7], [9]]


def test_the_world_color_survey():
    corpus, _ = answered(case("wcs_term.txt"))
    assert words_of(corpus) == ["LB", "LB", "LE", "WK", "LF", "LE"] and corpus.attribute_names == ("chip",)
    assert corpus.column("speaker").tolist() == [1, 1, 1, 2, 2, 2]


def test_columns_without_information_are_left_out_with_a_note():
    for name, left in (("all_empty_column.csv", "notes"), ("constant_column.csv", "site")):
        corpus, _ = answered(case(name))
        assert corpus.attribute_names == ("color", "shape") and left in " ".join(corpus.metadata["notes"])


def test_sets_of_unequal_number():
    corpus, _ = answered(case("sets_unequal.csv"))
    assert scores(corpus, ["cbm"])["cbm"] == pytest.approx(0.727, abs=5e-4)


def test_languages_of_generations():
    for name in ("lexicon_per_generation.jsonl", "gens_list.json"):
        corpus, _ = answered(case(name))
        assert len(corpus.messages) == 8 and corpus.values_of("generation") == [0, 1]
        assert scores(corpus.where("generation", 0)) == pytest.approx(dict.fromkeys(PERFECT, 1))


def test_integers_are_concepts_whatever_the_file(tmp_path):
    path = case("int_meaning.jsonl")
    (tmp_path / "a.csv").write_text("message,a,b\n1 2,0,0\n1 3,0,1\n4 2,1,0\n4 3,1,1\n")
    for source in (path, case("egg_int.npz"), tmp_path / "a.csv"):
        corpus, _ = answered(source)
        assert scores(corpus, ["cbm"]) == {"cbm": 1} and len(corpus.concept_names) == 4


def test_na_of_r_is_asked_about():
    corpus, questions = answered(case("r_table_na.txt"))
    assert len(corpus.messages) == 3 and "NA without quotes" in questions[0].asked
    assert [dict(words) for words, _ in questions[0].readings][1] == {"missing": "value"}


def test_comments_are_left_out():
    corpus = ec.read_corpus(case("comments.txt"))
    assert words_of(corpus) == ["ne po", "ne ki", "wa po", "wa ki"]
    assert "2 lines that begin with # left out" in corpus.metadata["notes"][0]


def test_comments_of_a_second_file_are_said(tmp_path):
    (tmp_path / "meant.csv").write_text("# by hand\ncolor,shape\nred,star\nred,dot\nblue,star\nblue,dot\n")
    notes = ec.read_corpus(case("comments.txt"), meanings=tmp_path / "meant.csv").metadata["notes"]
    comments = [note for note in notes if "left out" in note]
    assert comments == [
        "comments.txt: 2 lines that begin with # left out",
        "meant.csv: 1 line that begins with # left out",
    ]


def test_one_number_is_a_measure():
    corpus, _ = answered(case("one_feature.csv"), numeric="features")
    assert corpus.meanings.dtype == float
    assert ec.score(corpus, ["topsim,meaning_distance=euclidean"]).scores[0].value > 0.8
    assert "meaning_distance=euclidean" in ec.score(corpus, ["topsim"]).scores[0].reason


def test_dialogues_have_speakers_and_turns():
    corpus, _ = answered(case("chat.jsonl"))
    assert words_of(corpus)[:2] == ["red star", "ne po"] and corpus.values_of("speaker") == [
        "assistant",
        "user",
    ]
    assert corpus.column("turn").tolist() == [0, 1] * 4
    by_one, _ = answered(case("chat.jsonl"), where=["role=assistant"])
    assert words_of(by_one) == ["ne po", "ne ki", "wa po", "wa ki"]


def test_rows_are_chosen_though_another_cell_is_empty(ecsuite):
    corpus, _ = answered(case("where_missing.csv"), where=["color=red"])
    assert words_of(corpus) == ["a x", "a y"]
    code, _, _ = ecsuite("score", str(case("where_missing.csv")), "--where", "color=red", "--metrics", "elcc")
    assert code == 0


def test_word_lists_of_cldf():
    corpus, _ = answered(case("cldf/forms.csv"))
    assert words_of(corpus) == ["n e p o", "k a"] and corpus.column("speaker").tolist() == ["a", "a"]
    assert corpus.attribute_names == ("Parameter_ID",)
    assert words_of(answered(case("cldf"))[0]) == ["n e p o", "k a"]


def test_one_row_a_signal():
    corpus, _ = answered(case("otree_6.0/naming.csv"))
    assert len(corpus.messages) == 8
