"""Each layout is found and read; labelled files have priority; missing data are an error."""

import pytest

from ecsuite.eval.xtreme.scoring.labels import read_conllu
from ecsuite.eval.xtreme.scoring.tasks import TASKS
from ecsuite.runtime.errors import ConfigError


def conllu(form, tag):
    return f"1\t{form}\t_\t{tag}\t_\t_\t0\t_\t_\t_\n\n"


def test_treebanks_are_in_the_order_of_file_names(store, tmp_path):
    store("udpos/ud-treebanks-v2.5/UD_A/fi_tdt-ud-dev.conllu", conllu("third", "X"))
    store("udpos/ud-treebanks-v2.5/UD_B/fi_ftb-ud-dev.conllu.xz", conllu("first", "X"))
    store("udpos/ud-treebanks-v2.5/UD_C/fi_pud-ud-dev.conllu.gz", conllu("second", "X"))
    store("udpos/ud-treebanks-v2.5/UD_C/fi_pud-ud-dev.txt", "no treebank")
    store("udpos/ud-treebanks-v2.5/UD_C/fi_tdt-ud-dev.conllu.xz", conllu("once more, packed", "X"))
    store("udpos/ud-treebanks-v2.5/UD_C/fi_pud-ud-test.conllu", conllu("another split", "X"))
    words = [sentence.words[0] for sentence in TASKS["udpos"].read(tmp_path, "fi", "dev")]
    assert words == ["first", "second", "third"]


def test_languages_are_in_the_order_of_the_task_then_others(store, tmp_path):
    for language in ("da", "af", "en", "ar", "xx"):
        store(f"panx/dev-{language}.tsv", "a\tO\n")
    assert TASKS["panx"].available(tmp_path, "dev") == ("ar", "af", "en", "da")
    assert TASKS["panx"].available(tmp_path, "test") == ()


@pytest.mark.parametrize("function", ["find", "read"])
def test_unknown_splits(tmp_path, function):
    with pytest.raises(ConfigError, match="unknown split 'valid'; choices: train, dev, test"):
        getattr(TASKS["udpos"], function)(tmp_path, "eu", "valid")


SIZES = [
    ("udpos", "kk", "test", 1_047),
    ("xquad", "th", "test", 1_190),
    ("pawsx", "zh", "test", 2_000),
    ("udpos", "en", "train", 21_253),
    ("udpos", "en", "dev", 3_974),
    ("udpos", "da", "test", 565),
    ("panx", "en", "train", 20_000),
    ("panx", "en", "dev", 10_000),
    ("panx", "yo", "dev", 100),
    ("xnli", "ur", "dev", 2_490),
    ("xnli", "ur", "test", 5_010),
    ("mlqa", "en", "dev", 1_148),
    ("tydiqa", "en", "train", 3_696),
]


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
def test_ids_of_tydiqa_are_unique(data):
    questions = TASKS["tydiqa"].read(data, "en", "train")
    assert len({question.id for question in questions}) == len(questions)


@pytest.mark.slow
def test_a_treebank_in_both_forms_has_the_same_words(data):
    """Finnish dev is two treebanks; XTREME's file is version 2.5, the treebanks are later versions."""
    both = [
        TASKS["udpos"].read(data, "fi", "dev"),
        read_conllu(sorted((data / "udpos" / "conllu").glob("fi_*-ud-dev.conllu.xz")), "fi"),
    ]
    one, other = ([sentence.words for sentence in sentences] for sentences in both)
    assert one == other
