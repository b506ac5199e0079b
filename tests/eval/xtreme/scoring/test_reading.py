"""Each layout is found and read; labelled files have priority; missing data are an error."""

import json

import pytest

from ecsuite.eval.xtreme.scoring.labels import read_conllu
from ecsuite.eval.xtreme.scoring.tasks import TASKS
from ecsuite.runtime.errors import ConfigError


def file_of(task, folder, language, split):
    """The first file that is read; None if there is none."""
    stored = TASKS[task].find(folder, language, split)
    return None if stored is None else stored[1][0]


def conllu(form, tag):
    return f"1\t{form}\t_\t{tag}\t_\t_\t0\t_\t_\t_\n\n"


def squad(name, text="a"):
    answers = [{"text": text, "answer_start": 0}]
    entries = [{"id": name, "question": "Who?", "answers": answers}]
    return json.dumps({"data": [{"paragraphs": [{"context": "ab", "qas": entries}]}]})


PAIR = "a\tb\tneutral\n"
XNLI_HEADER = "language\tgold_label\tsentence1\tsentence2\n"
PAWSX_HEADER = "id\tsentence1\tsentence2\tlabel\n"


@pytest.mark.parametrize(
    ("task", "language", "split", "name", "text", "expected"),
    [
        ("udpos", "kk", "test", "udpos/test-kk.tsv.xz", "a\tNOUN\n", "a"),
        ("udpos", "da", "dev", "udpos/conllu/da_ddt-ud-dev.conllu.gz", conllu("b", "X"), "b"),
        ("udpos", "en", "train", "udpos/conllu/en_ewt-ud-train.from-sources.conllu", conllu("c", "X"), "c"),
        ("udpos", "da", "dev", "udpos/ud-treebanks-v2.5/UD_Danish-DDT/da_ddt-ud-dev.conllu", conllu("d", "X"), "d"),
        ("panx", "kk", "dev", "panx/dev-kk.tsv", "a\tB-LOC\n", "a"),
        ("panx", "kk", "test", "panx/kk/test.gz", "kk:b\tB-LOC\n", "b"),
        ("xnli", "sw", "dev", "xnli/dev-sw.tsv", PAIR, "a"),
        ("xnli", "sw", "dev", "xnli/xnli.dev.tsv", f"{XNLI_HEADER}sw\tneutral\tc\td\n", "c"),
        ("xnli", "sw", "test", "xnli/XNLI-1.0/xnli.test.tsv.xz", f"{XNLI_HEADER}sw\tneutral\tc\td\n", "c"),
        ("xnli", "en", "train", "xnli/multinli.train.en.tsv", "premise\thypo\tlabel\ne\tf\tneutral\n", "e"),
        ("xnli", "en", "train", "xnli/XNLI-MT-1.0/multinli/multinli.train.en.tsv",
         "premise\thypo\tlabel\ne\tf\tcontradictory\n", "e"),
        ("pawsx", "ja", "test", "pawsx/test-ja.tsv", "a\tb\t1\n", "a"),
        ("pawsx", "ja", "test", "pawsx/x-final/ja/test_2k.tsv", f"{PAWSX_HEADER}1\tc\td\t0\n", "c"),
        ("pawsx", "ja", "dev", "pawsx/x-final/ja/dev_2k.tsv", f"{PAWSX_HEADER}1\tc\td\t0\n", "c"),
        ("pawsx", "en", "train", "pawsx/x-final/en/train.tsv", f"{PAWSX_HEADER}1\tc\td\t0\n", "c"),
        ("pawsx", "ja", "train", "pawsx/x-final/ja/translated_train.tsv", f"{PAWSX_HEADER}1\tc\td\t0\n", "c"),
        ("xquad", "ro", "test", "xquad/xquad.ro.json", squad("1"), "1"),
        ("xquad", "en", "train", "squad/train-v1.1.json", squad("2"), "2"),
        ("xquad", "en", "dev", "squad/dev-v1.1.json", squad("3"), "3"),
        ("mlqa", "en", "train", "squad/train-v1.1.json.gz", squad("4"), "4"),
        ("mlqa", "de", "dev", "mlqa/MLQA_V1/dev/dev-context-de-question-de.json", squad("5"), "5"),
        ("tydiqa", "sw", "train", "tydiqa/tydiqa-goldp-v1.1-train/tydiqa.goldp.sw.train.json", squad("6"), "6"),
        ("tydiqa", "sw", "test", "tydiqa/tydiqa-goldp-v1.1-dev/tydiqa.goldp.sw.dev.json", squad("7"), "7"),
        ("tydiqa", "sw", "test", "tydiqa/tydiqa-goldp-v1.1-dev/tydiqa-goldp-dev-swahili.json", squad("8"), "8"),
        ("tydiqa", "sw", "train", "tydiqa/tydiqa-goldp-v1.1-train.json", squad("swahili-9"), "swahili-9"),
        ("tydiqa", "sw", "train", "tydiqa/tydiqa-goldp-v1.1-train/tydiqa-goldp-v1.1-train.json",
         squad("swahili-9"), "swahili-9"),
    ],
)  # fmt: skip
def test_every_layout_is_read(store, tmp_path, task, language, split, name, text, expected):
    path = store(name, text)
    assert file_of(task, tmp_path, language, split) == path
    (example,) = TASKS[task].read(tmp_path, language, split)
    first_texts = {
        "tagging": lambda: example.words[0],
        "pairs": lambda: example.first,
        "questions": lambda: example.id,
    }
    assert first_texts[TASKS[task].kind]() == expected
    assert language in TASKS[task].available(tmp_path, split)
    assert TASKS[task].scored_split(tmp_path, language) == (None if split == "train" else split)


@pytest.mark.parametrize(
    ("task", "language", "split", "stem"),
    [
        ("tatoeba", "zh", "test", "tatoeba/tatoeba.cmn-eng"),
        ("tatoeba", "zh", "test", "tatoeba/zh-en"),
        ("bucc2018", "zh", "dev", "bucc2018/zh-en.dev"),
        ("bucc2018", "zh", "test", "bucc2018/zh-en.training"),
        ("bucc2018", "zh", "dev", "bucc2018/zh-en/zh-en.sample"),
    ],
)
def test_every_layout_of_two_languages_is_read(store, tmp_path, task, language, split, stem):
    endings = ("cmn", "eng") if "cmn" in stem else ("zh", "en")
    path, _ = (store(f"{stem}.{ending}.xz", f"{ending}-1\tx\n") for ending in endings)
    is_raw_tatoeba = "cmn" in stem
    assert file_of(task, tmp_path, language, split) == path
    assert TASKS[task].scored_split(tmp_path, language) == ("test" if is_raw_tatoeba else None)
    bitext = TASKS[task].read(tmp_path, language, split)
    assert (len(bitext.sources), len(bitext.targets)) == (1, 1)
    assert (bitext.gold is not None) == is_raw_tatoeba
    if task == "bucc2018":
        store(f"{stem}.gold", "zh-1\ten-1\n")
        assert TASKS[task].scored_split(tmp_path, language) == split
        assert TASKS[task].read(tmp_path, language, split).gold == {("zh-1", "en-1")}


def test_labelled_files_have_priority(store, tmp_path):
    stripped = store("xnli/test-fr.tsv", "a\tb\n")
    assert file_of("xnli", tmp_path, "fr", "test") == stripped
    assert TASKS["xnli"].scored_split(tmp_path, "fr") is None
    assert TASKS["xnli"].read(tmp_path, "fr", "test")[0].label is None
    store("xnli/dev-fr.tsv", PAIR)
    assert TASKS["xnli"].scored_split(tmp_path, "fr") == "dev"
    original = store("xnli/XNLI-1.0/xnli.test.tsv", f"{XNLI_HEADER}fr\tneutral\tc\td\n")
    assert file_of("xnli", tmp_path, "fr", "test") == original
    assert TASKS["xnli"].scored_split(tmp_path, "fr") == "test"


@pytest.mark.parametrize(
    ("task", "language", "name", "stripped", "labelled"),
    [
        ("udpos", "eu", "udpos/test-eu.tsv", "a\n", "a\tNOUN\n"),
        ("panx", "eu", "panx/test-eu.tsv", "a\n", "a\tO\n"),
        ("pawsx", "fr", "pawsx/test-fr.tsv", "a\tb\n", "a\tb\t0\n"),
        ("xquad", "el", "xquad/xquad.el.json", squad("1", ""), squad("1", "b")),
    ],
)
def test_unlabelled_files_are_not_scored(store, tmp_path, task, language, name, stripped, labelled):
    store(name, stripped)
    assert TASKS[task].available(tmp_path, "test") == (language,)
    assert TASKS[task].scored_split(tmp_path, language) is None
    store(name, labelled)
    assert TASKS[task].scored_split(tmp_path, language) == "test"


def test_plain_files_have_priority(store, tmp_path):
    store("panx/dev-eu.tsv.gz", "c\tO\n")
    store("panx/dev-eu.tsv.xz", "b\tO\n")
    assert TASKS["panx"].read(tmp_path, "eu", "dev")[0].words == ("b",)
    store("panx/dev-eu.tsv", "a\tO\n")
    assert TASKS["panx"].read(tmp_path, "eu", "dev")[0].words == ("a",)


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


def test_one_file_of_all_languages_serves_each_language(store, tmp_path):
    store("xnli/xnli.dev.tsv", f"{XNLI_HEADER}sw\tneutral\tc\td\n")
    assert TASKS["xnli"].available(tmp_path, "dev") == TASKS["xnli"].languages
    assert file_of("xnli", tmp_path, "da", "dev") is None


def test_missing_data_are_named_with_available_languages(store, tmp_path):
    with pytest.raises(ConfigError) as error:
        TASKS["udpos"].read(tmp_path, "eu", "test")
    assert str(error.value) == (
        f"{tmp_path}: expected test of udpos in 'eu', such as udpos/test-eu.tsv, found none; available languages: none"
    )
    store("udpos/test-kk.tsv", "a\tX\n")
    store("udpos/test-en.tsv", "a\tX\n")
    with pytest.raises(ConfigError) as error:
        TASKS["udpos"].read(tmp_path, "eu", "test")
    assert str(error.value).endswith("; available languages: en, kk")
    with pytest.raises(ConfigError) as error:
        TASKS["xquad"].read(tmp_path, "en", "train")
    assert str(error.value) == (
        f"{tmp_path}: expected train of xquad in 'en', such as squad/train-v1.1.json, found none; "
        "available languages: none"
    )


def test_not_every_task_has_every_split(tmp_path):
    with pytest.raises(ConfigError) as error:
        TASKS["tatoeba"].read(tmp_path, "eu", "train")
    assert str(error.value) == "tatoeba has no train"


@pytest.mark.parametrize("function", ["find", "read"])
def test_unknown_splits(tmp_path, function):
    with pytest.raises(ConfigError, match="unknown split 'valid'; choices: train, dev, test"):
        getattr(TASKS["udpos"], function)(tmp_path, "eu", "valid")


def test_every_task_has_a_layout():
    assert all(task.layouts for task in TASKS.values())


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


def test_scored_splits(data):
    assert TASKS["udpos"].scored_split(data, "kk") == "test"
    assert TASKS["udpos"].scored_split(data, "de") == "dev"
    assert TASKS["panx"].scored_split(data, "kk") == "dev"
    assert TASKS["panx"].scored_split(data, "th") is None
