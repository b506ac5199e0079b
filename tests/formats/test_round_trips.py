"""What `convert` writes is read back as an equal corpus, apart from what it says that the form does not hold."""

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ecsuite.corpus import Corpus
from ecsuite.formats import read_corpus
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
    names = draw(st.none() | st.lists(WORDS, min_size=2, max_size=6, unique=True))
    highest = 7 if names is None else len(names) - 1
    rows = draw(
        st.lists(st.lists(st.integers(0, highest), max_size=4), min_size=number, max_size=number).filter(any)
    )
    eos = draw(st.none() | st.sampled_from(sorted({symbol for row in rows for symbol in row})))
    given = {"symbol_names": None if names is None else tuple(names), "eos": eos}
    width = draw(st.integers(0, 3))
    kind = draw(st.sampled_from(["none", "texts", "integers", "bits", "decimals"]))
    if width and kind != "none":
        table = draw(
            st.lists(st.lists(VALUES[kind], min_size=width, max_size=width), min_size=number, max_size=number)
        )
        given["meanings"] = np.array(table)
        if draw(st.booleans()):
            given["attribute_names"] = tuple(
                draw(st.lists(NAMES, min_size=width, max_size=width, unique=True))
            )
    if draw(st.booleans()):
        concepts = draw(st.lists(st.lists(WORDS, max_size=2, unique=True), min_size=number, max_size=number))
        known = sorted({name for row in concepts for name in row})
        given |= {
            "concepts": Ragged.from_rows([[known.index(name) for name in row] for row in concepts]),
            "concept_names": tuple(known),
        }
    columns = draw(
        st.lists(st.tuples(NAMES, st.sampled_from(sorted(VALUES))), max_size=2, unique_by=lambda each: each[0])
    )  # fmt: skip
    used = given.get("attribute_names", ())
    given["columns"] = {
        name: draw(st.lists(VALUES[each], min_size=number, max_size=number))
        for name, each in columns
        if name not in used
    }
    return Corpus(Ragged.from_rows(rows), **given)


def content(corpus):
    names, concepts = corpus.symbol_names, corpus.concepts
    return {
        "messages": [
            [str(symbol) if names is None else names[symbol] for symbol in corpus.messages[row]]
            for row in range(len(corpus.messages))
        ],
        "names": names is None,
        "eos": None if corpus.eos is None else str(corpus.eos) if names is None else names[corpus.eos],
        "meanings": None
        if corpus.meanings is None
        else (corpus.meanings.dtype.kind, corpus.meanings.tolist()),
        "concepts": None
        if concepts is None
        else [sorted(corpus.concept_names[each] for each in concepts[row]) for row in range(len(concepts))],
        "columns": {name: values.tolist() for name, values in corpus.columns.items()},
    }


OUT = {"csv": "out.csv", "elcc": "out.jsonl", "egg": "out.safetensors", "hf": "out"}
LOST = {"meanings and concepts": ("meanings", "concepts"), "that there are no concepts": ("concepts",),
        "names of symbols": ("names", "messages", "eos"),
        "symbol names": ("names", "messages", "eos"),
        "that meanings are texts (now concepts)": ("meanings", "concepts"),
        "concept names": ("concepts",), "meanings that are texts": ("meanings",),
        "that meanings are whole numbers (now features)": ("meanings",)}  # fmt: skip
"""By what `convert` says, what of the content may differ."""


def check(corpus, form, folder):
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
        if "EOS" in said and said != "what stood after EOS":
            found.pop("eos", None)
            read.pop("eos", None)
            if form == "egg":
                found.pop("messages", None)
                read.pop("messages", None)
        if said.startswith("ids of symbols"):
            found.pop("messages", None)
            read.pop("messages", None)
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


@pytest.mark.parametrize("form", FORMS)
def test_what_is_written_is_read_back(form):
    check_drawn(form, 20)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_what_is_written_is_read_back_of_many(form):
    check_drawn(form, 300 if form == "hf" else 1500)
