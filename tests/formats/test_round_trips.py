import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ecsuite.corpus import Corpus
from ecsuite.formats import read_corpus, write_corpus
from ecsuite.formats.converting import FORMS, convert
from ecsuite.runtime.ragged import Ragged

WORDS = st.sampled_from(
    [
        "a", "ba", "da bu", "", "3", "01", "1", "[3]", '"q"', "x,y", "x-y", "été", "true", "None", "a=b", "a:kept",
        " s", "4.7", "a_b", "a_c", "d_b", "d_c", "a=b;c=d", "a=b;c=e", "3;1", "NA",
    ]
)  # fmt: skip
NAMES = st.sampled_from(
    [
        "color", "size", "shape", "L", "a b", "round", "id", "Unnamed: 0", "meaning", "x:time", "color_red",
        "color_blue", "m1", "distractor", "RT_ms",
    ]
)  # fmt: skip
VALUES = {
    "texts": WORDS, "integers": st.integers(-5, 9), "bits": st.integers(0, 1),
    "decimals": st.sampled_from([0.5, -1.25, 3.0, 1e-7]),
    "truths": st.booleans(),
    "mixed": st.one_of(st.none(), WORDS, st.integers(-3, 3), st.lists(st.integers(0, 2), max_size=2)),
}  # fmt: skip


@st.composite
def corpora(draw):
    """Corpora of all kinds: ids or names, EOS or none, meanings with and without names, concepts, columns."""
    number = draw(st.integers(1, 6))

    def each(values):
        return st.lists(values, min_size=number, max_size=number)

    names = draw(st.none() | st.lists(WORDS, min_size=2, max_size=6, unique=True))
    highest = 7 if names is None else len(names) - 1
    rows = draw(each(st.lists(st.integers(0, highest), max_size=4)).filter(any))
    eos = draw(st.none() | st.sampled_from(sorted({symbol for row in rows for symbol in row})))
    given = {"symbol_names": None if names is None else tuple(names), "eos": eos}
    width = draw(st.integers(0, 3))
    kind = draw(st.sampled_from(["none", "texts", "integers", "bits", "decimals"]))
    if width and kind != "none":
        given["meanings"] = np.array(draw(each(st.lists(VALUES[kind], min_size=width, max_size=width))))
        if draw(st.booleans()):
            given["attribute_names"] = tuple(draw(st.lists(NAMES, min_size=width, max_size=width, unique=True)))
    if draw(st.booleans()):
        concepts = draw(each(st.lists(WORDS, max_size=2, unique=True)))
        known = sorted({name for row in concepts for name in row})
        given["concepts"] = [[known.index(name) for name in row] for row in concepts]
        given["concept_names"] = tuple(known)
    kinds = st.tuples(NAMES, st.sampled_from(sorted(VALUES)))
    columns = draw(st.lists(kinds, max_size=2, unique_by=lambda each: each[0]))
    used = given.get("attribute_names", ())
    given["columns"] = {name: draw(each(VALUES[kind])) for name, kind in columns if name not in used}
    return Corpus(Ragged.from_rows(rows), **given)


def content(corpus):
    names, concepts, meanings = corpus.symbol_names, corpus.concepts, corpus.meanings
    said = [[str(each) if names is None else names[each] for each in row] for row in corpus.messages]
    return {
        "messages": said, "names": names is None,
        "eos": None if corpus.eos is None else str(corpus.eos) if names is None else names[corpus.eos],
        "meanings": None if meanings is None else (meanings.dtype.kind, meanings.tolist()),
        "concepts": concepts and [sorted(corpus.concept_names[each] for each in row) for row in concepts],
        "columns": {name: values.tolist() for name, values in corpus.columns.items()},
    }  # fmt: skip


OUT = {"csv": "out.csv", "elcc": "out.jsonl", "egg": "out.safetensors", "hf": "out"}
LOST = {"meanings and concepts": ("meanings", "concepts"), "that there are no concepts": ("concepts",),
        "names of symbols": ("names", "messages", "eos"),
        "symbol names": ("names", "messages", "eos"),
        "that meanings are texts (now concepts)": ("meanings", "concepts"),
        "concept names": ("concepts",), "meanings that are texts": ("meanings",),
        "that meanings are whole numbers (now features)": ("meanings",)}  # fmt: skip


def check_folder(corpus, folder):
    """A folder of ours has all, and the same bytes each time."""
    write_corpus(corpus, folder / "run")
    read = read_corpus(folder / "run")
    write_corpus(read, folder / "again")
    assert content(read) == content(corpus) and read.attribute_names == corpus.attribute_names
    for file in (folder / "run").iterdir():
        assert file.name == "metadata.json" or file.read_bytes() == (folder / "again" / file.name).read_bytes()


def check(corpus, form, folder):
    if form == "folder":
        return check_folder(corpus, folder)
    lost = convert(corpus, form, folder / OUT[form])
    read = content(read_corpus(folder / OUT[form]))
    found = content(replace(corpus, messages=corpus.ended()))
    for said in lost:
        if said.startswith("the column "):
            name = said.removeprefix("the column ").removesuffix(", of several types")
            found["columns"].pop(name)
            read["columns"].pop(name, None)
        for key in LOST.get(said, ()):
            found.pop(key, None)
            read.pop(key, None)
        says_eos = "EOS" in said and said != "what stood after EOS"
        keys = (["eos"] if says_eos else []) + ["messages"] * (
            said.startswith("ids of symbols") or (says_eos and form == "egg")
        )
        for key in keys:
            found.pop(key, None)
            read.pop(key, None)
    assert read == found, lost


def check_drawn(form, number):
    if form == "hf":
        pytest.importorskip("datasets").disable_progress_bars()

    @settings(max_examples=number, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(corpus=corpora())
    def each(corpus):
        folder = Path(tempfile.mkdtemp())
        try:
            check(corpus, form, folder)
        finally:
            shutil.rmtree(folder)

    each()


@pytest.mark.parametrize("number", [20, pytest.param(1500, marks=pytest.mark.slow)])
@pytest.mark.parametrize("form", [*FORMS, "folder"])
def test_what_is_written_is_read_back(form, number):
    check_drawn(form, min(number, 300) if form == "hf" else number)
