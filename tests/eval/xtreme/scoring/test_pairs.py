"""Pairs: XTREME's columns with and without labels, quoting by csv, and files with named columns."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecsuite.eval.xtreme.scoring.labels import has_labels, read_named_pairs, read_pairs
from ecsuite.eval.xtreme.scoring.tasks import TASKS
from ecsuite.runtime.errors import ConfigError

XNLI = TASKS["xnli"].choices
HEADER = "language\tgold_label\tsentence1_binary_parse\tsentence1\tsentence2\n"
SENTENCES = st.text(st.sampled_from('ab "'), max_size=12).map(str.strip)


@pytest.fixture
def stored(tmp_path):
    def store(text):
        path = tmp_path / "dev-xx.tsv"
        path.write_text(text, encoding="utf-8", newline="")
        return path

    return store


def plain(pairs):
    return [(pair.first, pair.second, pair.label) for pair in pairs]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_labels_are_present_or_withheld(stored, end):
    path = stored(f"A.\tB!\tneutral{end}C\tD\tcontradictory{end}")
    assert plain(read_pairs(path, XNLI)) == [("A.", "B!", "neutral"), ("C", "D", "contradiction")]
    assert has_labels(path)
    path = stored(f"A.\tB!{end}C\tD{end}")
    assert plain(read_pairs(path, XNLI)) == [("A.", "B!", None), ("C", "D", None)]
    assert not has_labels(path)


@given(rows=st.lists(st.tuples(SENTENCES, SENTENCES, st.sampled_from("01")), min_size=1, max_size=4))
def test_csv_quoting_is_undone(tmp_path_factory, rows):
    file = io.StringIO(newline="")
    csv.writer(file, delimiter="\t").writerows(rows)
    path = tmp_path_factory.mktemp("pairs") / "dev.tsv"
    path.write_text(file.getvalue(), encoding="utf-8", newline="")
    assert plain(read_pairs(path, TASKS["pawsx"].choices)) == rows


@pytest.mark.parametrize("field", ['"a" is not "b"', '"', 'a "b" c', '"a', '5"'])
def test_marks_without_csv_quoting_are_text(stored, field):
    assert plain(read_pairs(stored(f"{field}\tx\t1\n"), "01")) == [(field, "x", "1")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\tb\t1\nc d\t0\n", ":2: expected two sentences and a label, found 2 columns"),
        (
            "a\tb\nc\td\t0\n",
            ":2: expected two sentences without label, as in the first line, found 3 columns",
        ),
        ("a\n", ":1: expected two sentences and a label, found 1 column"),
        ("a\tb\t1\n\n", ":2: expected two sentences and a label, found 1 column"),
        ("a\tb\t2\n", ":1: label '2'; expected one of 0, 1"),
        ("", ": expected `first<TAB>second<TAB>label`, found no pair"),
    ],
)
def test_bad_lines_are_named(stored, text, message):
    path = stored(text)
    with pytest.raises(ConfigError) as error:
        read_pairs(path, TASKS["pawsx"].choices)
    assert str(error.value) == f"{path}{message}"


def test_named_columns_of_one_language(stored):
    path = stored(f'{HEADER}fr\tneutral\tx\t"Un" \tDeux\nde\tentailment\tx\tEins\tZwei\n')
    assert plain(read_named_pairs(path, XNLI, "fr")) == [('"Un"', "Deux", "neutral")]
    assert has_labels(path)


@pytest.mark.parametrize("header", ["premise\thypo\tlabel", "sentence1\tsentence2\tlabel"])
def test_columns_have_other_names_elsewhere(stored, header):
    path = stored(f'{header}\n"A."\tB\tcontradictory\n')
    assert plain(read_named_pairs(path, XNLI, "en")) == [('"A."', "B", "contradiction")]
    assert has_labels(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ":1: expected a column named sentence1 or premise, found "),
        ("premise\ttext\tlabel\n",
         ":1: expected a column named sentence2 or hypo or hypothesis, found premise, text, label"),
        (f"{HEADER}fr\tneutral\tUn\tDeux\n", ":2: expected 5 columns, found 4 columns"),
        (f"{HEADER}de\tneutral\tx\tUn\tDeux\n", ": expected rows in 'fr', found no pair"),
        (f"{HEADER}fr\t-\tx\tUn\tDeux\n",
         ":2: label '-'; expected one of contradiction, entailment, neutral"),
    ],
)  # fmt: skip
def test_missing_columns_are_named(stored, text, message):
    path = stored(text)
    with pytest.raises(ConfigError) as error:
        read_named_pairs(path, XNLI, "fr")
    assert str(error.value) == f"{path}{message}"
