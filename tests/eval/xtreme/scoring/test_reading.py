"""Each layout is found and read as XTREME converts it; labelled files have priority; missing data are an error."""

import json

import pytest

from ecsuite.eval.xtreme.scoring.bitexts import read_bucc, read_tatoeba
from ecsuite.eval.xtreme.scoring.labels import has_tags, read_conllu, read_tagged
from ecsuite.eval.xtreme.scoring.questions import read_questions
from ecsuite.eval.xtreme.scoring.task import Answer
from ecsuite.eval.xtreme.scoring.tasks import TASKS
from ecsuite.runtime.errors import ConfigError


@pytest.fixture
def questions(store):
    """Reads questions about Ada, given as ids and answers `(text, start)`."""

    def questions(*given, **options):
        entries = [
            {"id": name, "question": f"{name}?",
             "answers": [{"text": text, "answer_start": start} for text, start in answers]}
            for name, answers in given
        ]  # fmt: skip
        data = {"data": [{"paragraphs": [{"context": "Ada met Ada in Oslo.", "qas": entries}]}]}
        return read_questions(store("xx.json", json.dumps(data)), **options)

    return questions


def test_questions_by_the_prefix_of_their_ids_which_are_unique(questions, tmp_path):
    given = [("finnish-1", []), ("korean-1", []), ("finnish-2", [])]
    assert [question.question for question in questions(*given, prefix="korean-")] == ["korean-1?"]
    with pytest.raises(ConfigError) as error:
        questions(*given, prefix="thai-")
    place = tmp_path / "xx.json"
    assert str(error.value) == f"{place}: expected questions with ids that begin with 'thai-', found none"
    again = questions(("0", []), ("1", []), ("0", []), ("0", []))
    assert [question.id for question in again] == ["0", "1", "0-2", "0-3"]


@pytest.mark.parametrize(("start", "found"), [(1, 0), (5, 8), (100, 8), (-3, 0), (8, 8)])
def test_an_answer_at_a_wrong_position_is_moved_to_the_nearest_occurrence(questions, start, found):
    (question,) = questions(("a", [("Ada", start)]))
    assert question.answers == (Answer(text="Ada", start=found),)


def test_english_is_sorted_and_gold_is_the_original_row(store):
    store("xx-en.en", "go\nYes\n No\nYes\n")
    bitext = read_tatoeba(store("xx-en.xx", "ro\nja\nno \nja\n"), "en", is_sorted=False)
    assert bitext.sources == ("No", "Yes", "Yes", "go") and bitext.targets == ("ro", "ja", "no", "ja")
    assert bitext.gold == {("0", "2"), ("1", "1"), ("2", "3"), ("3", "0")}  # equal ones keep their order


def row(number, form, tag, head=0):
    return f"{number}\t{form}\t_\t{tag}\t_\t_\t{head}\t_\t_\t_\n"


@pytest.mark.parametrize(
    ("text", "language", "words", "tags"),
    [
        # A fused word has the tag nearest to the root, of equally near ones the first in the list of the language.
        (row("1-2", "della", "_") + row(1, "di", "ADP", 3) + row(2, "la", "DET", 1) + row(3, "casa", "NOUN"),
         "xx", "della casa", "ADP NOUN"),
        *((row("1-2", "ab", "_") + row(1, "a", "PRON", 3) + row(2, "b", "NOUN", 3) + row(3, "c", "VERB"),
           language, "ab c", f"{tag} VERB") for language, tag in (("xx", "NOUN"), ("fr", "PRON"), ("it", "PRON"))),
        (row("1-2", "ab", "_") + row(1, "a", "X", 2) + row(2, "b", "NOUN", 1), "xx", "ab", "NOUN"),  # a cycle
        (row(1, "a b\u200cc", "NOUN") + row("1.1", "unsaid", "VERB") + row(2, "d", "SYM"), "xx", "abc d", "NOUN SYM"),
        (row(1, "_", "X") + row(2, ".", "X") + "\n" + row(1, "kept", "VERB"), "xx", "kept", "VERB"),  # withheld text
    ],
)  # fmt: skip
def test_words_and_tags_of_treebanks(store, text, language, words, tags):
    [sentence] = read_conllu([store("a.conllu", text)], language)
    assert (" ".join(sentence.words), " ".join(sentence.tags)) == (words, tags)


def test_no_sentence_is_an_error(store):
    for text in ("", "\n\n"):
        path = store("dev-xx.tsv", text)
        with pytest.raises(ConfigError) as error:
            read_tagged(path, TASKS["panx"].tags)
        expected = "expected lines `word<TAB>tag` and a blank line after each sentence, found no sentence"
        assert str(error.value) == f"{path}: {expected}" and not has_tags(path)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ({"xx": "1\ta\n"}, "xx-en.xx: expected a file .en of the same name in its folder, found none"),
        ({"xx": "1\ta\n2 b\n"}, "xx-en.xx:2: expected a name, a tab and a sentence, found 1 column"),
        ({"xx": "1\ta\n1\tb\n"}, "xx-en.xx:2: expected unique names, found '1' again"),
        ({"xx": "1\ta\n", "en": ""}, "xx-en.en: expected sentences, found none"),
        ({"xx": "1\ta\n", "en": "7\tb\n", "gold": "1\t8\n"}, "xx-en.gold:1: expected a sentence name, found '8'"),
        ({"xx": "1\ta\n", "en": "7\tb\n", "gold": "1\t7\n2\t7\n"}, "xx-en.gold:2: expected a sentence name, found '2'"),
        ({"xx": "1\ta\n", "en": "7\tb\n", "gold": "1 7\n"},
         "xx-en.gold:1: expected the names of two sentences, found 1 column"),
    ],
)  # fmt: skip
def test_errors_in_bucc_files(store, tmp_path, texts, message):
    for name, text in texts.items():
        store(f"xx-en.{name}", text)
    with pytest.raises(ConfigError) as error:
        read_bucc(tmp_path / "xx-en.xx")
    assert str(error.value) == f"{tmp_path}/{message}"


def test_treebanks_and_languages_are_in_order(store, tmp_path):
    store("udpos/ud-treebanks-v2.5/UD_A/fi_tdt-ud-dev.conllu", row(1, "third", "X"))
    store("udpos/ud-treebanks-v2.5/UD_B/fi_ftb-ud-dev.conllu.xz", row(1, "first", "X"))
    store("udpos/ud-treebanks-v2.5/UD_C/fi_pud-ud-dev.conllu.gz", row(1, "second", "X"))
    store("udpos/ud-treebanks-v2.5/UD_C/fi_pud-ud-dev.txt", "no treebank")
    store("udpos/ud-treebanks-v2.5/UD_C/fi_tdt-ud-dev.conllu.xz", row(1, "once more, packed", "X"))
    store("udpos/ud-treebanks-v2.5/UD_C/fi_pud-ud-test.conllu", row(1, "another split", "X"))
    words = [sentence.words[0] for sentence in TASKS["udpos"].read(tmp_path, "fi", "dev")]
    assert words == ["first", "second", "third"]
    for language in ("da", "af", "en", "ar", "xx"):
        store(f"panx/dev-{language}.tsv", "a\tO\n")
    assert TASKS["panx"].available(tmp_path, "dev") == ("ar", "af", "en", "da")
    assert TASKS["panx"].available(tmp_path, "test") == ()


@pytest.mark.parametrize("function", ["find", "read"])
def test_unknown_splits(tmp_path, function):
    with pytest.raises(ConfigError, match="unknown split 'valid'; choices: train, dev, test"):
        getattr(TASKS["udpos"], function)(tmp_path, "eu", "valid")


SIZES = [
    ("udpos", "kk", "test", 1_047), ("xquad", "th", "test", 1_190), ("pawsx", "zh", "test", 2_000),
    ("udpos", "en", "train", 21_253), ("udpos", "en", "dev", 3_974), ("udpos", "da", "test", 565),
    ("panx", "en", "train", 20_000), ("panx", "en", "dev", 10_000), ("panx", "yo", "dev", 100),
    ("xnli", "ur", "dev", 2_490), ("xnli", "ur", "test", 5_010), ("mlqa", "en", "dev", 1_148),
    ("tydiqa", "en", "train", 3_696),
]  # fmt: skip


@pytest.mark.parametrize(
    ("task", "language", "split", "number"),
    [*SIZES[:3], *(pytest.param(*size, marks=pytest.mark.slow) for size in SIZES[3:])],
)
def test_published_sizes(data, task, language, split, number):
    """Hu et al. (2020), table 1, and the tables of the data sets' own papers."""
    assert len(TASKS[task].read(data, language, split)) == number


def test_published_sizes_of_tatoeba(data):
    for language, size in (("fi", 1_000), ("kk", 575)):
        assert len(TASKS["tatoeba"].read(data, language, "test").sources) == size


@pytest.mark.slow
def test_ids_are_unique_and_a_treebank_in_both_forms_has_the_same_words(data):
    questions = TASKS["tydiqa"].read(data, "en", "train")
    assert len({question.id for question in questions}) == len(questions)
    # Finnish dev is two treebanks; XTREME's file is version 2.5, the treebanks are later versions.
    both = [
        TASKS["udpos"].read(data, "fi", "dev"),
        read_conllu(sorted((data / "udpos" / "conllu").glob("fi_*-ud-dev.conllu.xz")), "fi"),
    ]
    one, other = ([sentence.words for sentence in sentences] for sentences in both)
    assert one == other
