"""Correlations over a collection, of tables with known ones."""

import json

import numpy as np
import pytest
from scipy import stats

from ecsuite.eval.experiments.correlations import correlate, correlation_report, read_table
from ecsuite.runtime.errors import ConfigError

NUMBER = 40


def scores(values):
    """The JSON of scores, some of them undefined."""
    return [
        {
            "name": name,
            "value": None if value is None else float(value),
            "reason": "no meanings" if value is None else None,
            "signature": f"{name}|seed:{index}|v:1",
        }
        for index, (name, value) in enumerate(values.items())
    ]


def corpus(values, *, messages=10, meanings=5, **member):
    known = {
        "num_messages": messages,
        "num_distinct_meanings": meanings,
        "eos": 0,
        "training": {"accuracy": 0.5},
    }
    found = {"corpus": known, "scores": scores(values)}
    return found | ({"member": {"settings": None, "system": None} | member} if member else {})


@pytest.fixture
def collection(tmp_path):
    """Writes the JSON of a collection, and reads it."""

    def write(corpora, name="scores.json"):
        (tmp_path / name).write_text(json.dumps({"format": 1, "corpora": corpora}))
        return read_table([tmp_path / name])

    return write


def known_columns():
    """`b` is a in other units, `c` falls with a, `size` is a size, `d` and `e` follow from it and noise."""
    rng = np.random.default_rng(3)
    a, other, size = rng.normal(size=(3, NUMBER))
    noise = rng.normal(size=(2, NUMBER))
    return {
        "size": np.argsort(np.argsort(size)) + 10.0,
        "a": a,
        "b": np.exp(a),
        "c": -a + 0.2 * other,
        "d": size + 0.2 * noise[0],
        "e": size + 0.2 * noise[1],
    }


def known_corpora(**more):
    columns = known_columns() | more
    names = [name for name in columns if name != "size"]
    return [
        corpus(
            {name: columns[name][row] for name in names},
            messages=int(columns["size"][row]),
            name=f"corpus {row}",
        )
        for row in range(NUMBER)
    ]


def pair(found, *names):
    [each] = [each for each in found.pairs if {each.first, each.second} == set(names)]
    return each


def test_known_correlations_and_what_is_left_given_the_size(collection):
    found = correlate(collection(known_corpora()))
    assert found.given == ("num_messages",)  # the number of meanings is the same for all
    assert pair(found, "a", "b").plain.value == pytest.approx(1)
    assert pair(found, "a", "c").plain.value == pytest.approx(
        stats.spearmanr(known_columns()["a"], known_columns()["c"]).statistic
    )
    sizes = pair(found, "d", "e")
    assert sizes.plain.value > 0.9 and sizes.plain.is_clear and sizes.p_holm < 0.05
    assert not sizes.partial.is_clear and sizes.partial_p_holm > 0.05
    assert found.sizes["d"].share > 0.8 and found.sizes["a"].share < 0.2
    assert {frozenset(names) for names in found.clusters} == {frozenset("abc"), frozenset("de")}
    rows = [[cell.value for cell in row.cells] for row in correlation_report(found).tables[0].rows]
    assert {"a": "b", "b": "a"}.items() <= {row[0]: row[3] for row in rows}.items()
    shares = dict(zip(map(frozenset, found.clusters), found.stability, strict=True))
    assert shares[frozenset("abc")] > 0.95
    assert {frozenset(names) for names in found.clusters_given} == {
        frozenset("abc"),
        frozenset("d"),
        frozenset("e"),
    }


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            {"corpora": [{"corpus": {}}]},
            "corpora[0]: expected a `corpus` and its `scores`",
        ),
        ([], "expected the JSON of `ecsuite score CORPORA --out FILE.json`, with `scores`"),
        ({"corpora": [{"corpus": 3, "scores": []}]}, "expected a `corpus` and its `scores`"),
        ({"corpora": [corpus({"a": 1.0})] * 4}, "expected at least 5"),
    ],
)
def test_other_files_are_refused(tmp_path, content, message):
    file = tmp_path / "other.json"
    file.write_text(json.dumps(content if isinstance(content, list) else {"format": 1} | content))
    with pytest.raises(ConfigError) as error:
        read_table([file])
    assert message in str(error.value).replace("correlations need", "expected") or "got 4" in str(error.value)


def test_the_picture_has_a_cell_for_each_pair(collection, tmp_path):
    found = correlate(collection(known_corpora()))
    correlation_report(found).draw(tmp_path / "picture.svg")
    text = (tmp_path / "picture.svg").read_text()
    assert text.count("<text") + text.count("<use") > 0
    correlation_report(found).draw(tmp_path / "again.svg")
    assert (tmp_path / "again.svg").read_text() == text
