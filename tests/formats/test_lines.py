from pathlib import Path

import pytest
from languages import rows_of

from ecsuite.corpus import Corpus
from ecsuite.formats import read_corpus
from ecsuite.formats.json_tables import is_tokens

CBM_SAMPLE = Path(__file__).parents[2].parent / "shared" / "data" / "cbm" / "comm_results.jsonl"


def read_text(tmp_path: Path, text: str) -> Corpus:
    (tmp_path / "file.jsonl").write_bytes(text.encode())
    return read_corpus(tmp_path / "file.jsonl")


@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize(
    "text", ["[1, 2]\n[]\n[30]", "[1,2]\n[]\n[30]", " [1 ,2]\n[ ]\n[30 ]\t", "[1, 2]\r\n[]\r\n[30]"]
)
def test_integer_arrays(tmp_path, text, end):
    corpus = read_text(tmp_path, text + end)
    assert rows_of(corpus.messages) == [[1, 2], [], [30]]
    assert corpus.metadata["source_format"] == "jsonl of integer arrays"
    assert corpus.metadata["source_path"] == str(tmp_path / "file.jsonl")


def test_a_byte_order_mark_is_skipped(tmp_path):
    assert rows_of(read_text(tmp_path, "\ufeff[1, 2]\n").messages) == [[1, 2]]


def test_strings(tmp_path):
    corpus = read_text(tmp_path, '"da  bu da"\n""\n"\\u00e9 bu"\n')
    assert rows_of(corpus.messages) == [[0, 1, 0], [], [2, 1]]
    assert corpus.symbol_names == ("da", "bu", "é")
    assert corpus.metadata["source_format"] == "jsonl of strings"


def test_cbm_pairs(tmp_path):
    corpus = read_text(tmp_path, '["4.7.0", "19.2"]\n["7.0", ""]\n["", "2"]\n')
    assert rows_of(corpus.messages) == [[0, 1, 2], [1, 2], []]
    assert corpus.symbol_names == ("4", "7", "0")
    assert corpus.concepts is not None
    assert rows_of(corpus.concepts) == [[0, 1], [], [1]]
    assert corpus.concept_names == ("19", "2")
    assert corpus.metadata["source_format"] == "jsonl of CBM pairs"


def test_the_cbm_sample():
    if not CBM_SAMPLE.is_file():
        pytest.skip(f"{CBM_SAMPLE} is not there")
    corpus = read_corpus(CBM_SAMPLE)
    assert corpus.symbol_names is not None
    assert corpus.eos is not None
    assert len(corpus.messages) == 1000
    assert len(corpus.concept_names) == 50
    assert corpus.symbol_names[corpus.eos] == "0"
    assert corpus.content().lengths.tolist() == [10] * 1000
    assert len(corpus.reindexed()[1]) == 15


@pytest.mark.parametrize("gap", ["\t", ", ", ",", " ", " , "])
def test_csar_pairs(tmp_path, gap):
    lines = [f'[4, 7, 9]{gap}["red", "disc"]', '[[4], ["red"]]', f"[]{gap}[]"]
    corpus = read_text(tmp_path, "\n".join(lines))
    assert rows_of(corpus.messages) == [[4, 7, 9], [4], []]
    assert corpus.symbol_names is None
    assert corpus.concepts is not None
    assert rows_of(corpus.concepts) == [[0, 1], [0], []]
    assert corpus.concept_names == ("red", "disc")
    assert corpus.metadata["source_format"] == "jsonl of CSAR pairs"


def test_csar_pairs_of_integers(tmp_path):
    assert read_text(tmp_path, "[4, 7], [1, 2]\n").concept_names == ("1", "2")


def test_lists_of_texts_are_messages_if_they_are_read_as_such():
    """Empty ones say nothing of it; two texts of which one has dots are a pair of CBM."""
    assert is_tokens([["da"], [], ["bu", "ki"]]) and is_tokens([["da", "bu"], ["ki"]])
    assert not is_tokens([[], []]) and not is_tokens([["4.7", "red"], ["4.9", "blue"]])
