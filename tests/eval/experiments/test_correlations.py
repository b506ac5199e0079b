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


def test_metrics_without_correlations_say_why(collection):
    nothing = [None] * NUMBER
    few = [1.0, 2.0, 3.0, *nothing[3:]]
    found = correlate(collection(known_corpora(same=np.ones(NUMBER), never=nothing, few=few)))
    assert found.left_out == {
        "same": "the same for all sources",
        "few": "defined for 3 of 40 sources, expected at least 5",
    }
    assert "same" not in found.metrics
    lines = correlation_report(found).notes
    assert "same: left out, the same for all sources." in lines
    json.dumps(correlation_report(found).data, allow_nan=False)


def test_pairs_that_are_never_defined_together_say_so(collection):
    first = [float(row % 7) if row < 20 else None for row in range(NUMBER)]
    second = [float(row % 5) if row >= 20 else None for row in range(NUMBER)]
    found = correlate(collection(known_corpora(first=first, second=second)))
    each = pair(found, "first", "second").plain
    assert (each.num_sources, each.value) == (0, None)
    assert each.reason == "expected at least 5 sources with all variables, got 0"
    assert pair(found, "first", "a").plain.num_sources == 20


def test_runs_that_differ_in_their_seeds_are_one_source(collection):
    corpora = [
        corpus({"a": row + shift, "b": -row}, messages=row + 5, name=f"{row} {seed}", settings=f"game {row}")
        for row in range(8)
        for seed, shift in ((1, -0.25), (2, 0.25))
    ]
    table = collection(corpora)
    assert [len(source.corpora) for source in table.sources] == [2] * 8
    assert table.column("a").tolist() == list(range(8))
    assert (
        "8 sources of 16 corpora; runs that differ only in their seeds"
        in correlation_report(correlate(table)).notes[0]
    )


def test_runs_of_a_sweep_that_failed_have_no_scores_and_hinder_nothing(tmp_path):
    runs = [
        {"settings": {"size": size}, "seed": 1, "folder": f"runs/{size}", "training": {"measures": {"accuracy": 0.5}},
         "scores": [{"name": name, "value": float(size % 4), "details": {}} for name in ("topsim", "posdis")]}
        for size in range(6)
    ]  # fmt: skip
    failed = {
        "settings": {"size": 9},
        "seed": 1,
        "folder": "runs/9",
        "training": {},
        "scores": [],
        "failure": "no room",
    }
    (tmp_path / "sweep.json").write_text(json.dumps({"format": 1, "name": "s", "runs": [*runs, failed]}))
    assert len(read_table([tmp_path]).sources) == 6
    lacking = {**failed, "failure": None}
    (tmp_path / "sweep.json").write_text(json.dumps({"format": 1, "name": "s", "runs": [*runs, lacking]}))
    with pytest.raises(ConfigError, match="expected the JSON of `ecsuite score"):
        read_table([tmp_path])


def test_between_seeds_a_metric_of_the_size_alone_says_nothing(collection):
    rng = np.random.default_rng(5)
    corpora = []
    for row in range(30):
        game = rng.normal()
        for seed in range(2):
            values = {"of_size": row + 3 * rng.normal(), "of_game": game + 0.1 * rng.normal()}
            corpora.append(corpus(values, messages=row + 5, name=f"{row} {seed}", settings=str(row)))
    found = correlate(collection(corpora))
    assert found.between_seeds["of_game"].value > 0.9
    assert not found.between_seeds["of_size"].is_clear
    assert correlate(collection(corpora), given=[]).between_seeds["of_size"].value > 0.8
    assert correlate(collection(known_corpora())).between_seeds == {}


def test_the_order_of_corpora_does_not_count(collection):
    forwards, backwards = correlate(collection(known_corpora())), correlate(collection(known_corpora()[::-1]))
    for each in forwards.pairs:
        other = pair(backwards, each.first, each.second)
        assert other.plain.value == pytest.approx(each.plain.value)
        assert other.plain.ci95 == pytest.approx(each.plain.ci95)
    assert {frozenset(names) for names in backwards.clusters} == {
        frozenset(names) for names in forwards.clusters
    }


def test_corpora_of_systems_are_drawn_together(collection):
    corpora = known_corpora()
    for row, each in enumerate(corpora):
        each["member"]["system"] = f"system {row % 8}"
    found = correlate(collection(corpora))
    assert found.num_groups == 8 and pair(found, "a", "c").plain.p_value is None
    assert pair(found, "a", "c").plain.is_clear
    notes = correlation_report(found).notes
    assert any("bootstrap that draws whole systems (8)" in line for line in notes)
    assert "With fewer than 10 systems, these intervals are too narrow." in notes


def test_what_is_correlated_and_given_can_be_chosen(collection):
    table = collection(known_corpora())
    found = correlate(table, ["d", "num_messages", "a"], [])
    assert set(found.metrics) == {"d", "num_messages", "a"}
    assert found.given == () and found.sizes == {} and pair(found, "a", "d").partial is None
    assert "explained" not in str(correlation_report(found).tables[0])
    assert correlate(table, given=["a"]).given == ("a",)
    for metrics, given, message in (
        (["a", "z"], None, "unknown score or size 'z'"),
        (["a", "b"], ["a"], "--metrics, --given: a is named twice"),
        (["a", "b"], ["num_distinct_meanings"], "--given num_distinct_meanings: the same for all sources"),
        (["a", "accuracy"], [], "expected two metrics that differ between corpora, got 1"),
    ):
        with pytest.raises(ConfigError, match=message):
            correlate(table, metrics, given)


def test_folders_of_scored_corpora_are_read_too(tmp_path):
    for row in range(6):
        folder = tmp_path / "systems" / f"s{row % 3}" / "data" / f"v{row}"
        folder.mkdir(parents=True)
        (folder / "scores.json").write_text(json.dumps({"format": 1} | corpus({"a": row, "b": row % 4})))
    table = read_table([tmp_path])
    assert [source.name for source in table.sources][:2] == ["s0/v0", "s0/v3"]
    assert table.groups().tolist() == [0, 0, 1, 1, 2, 2]


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


def test_scores_of_different_sizes_are_named(collection):
    """A size in the signature is no other setting."""
    corpora = [
        corpus({"a": float(row), "b": float(-row)}, messages=row + 5, name=str(row)) for row in range(8)
    ]
    for row, content in enumerate(corpora):
        content["scores"][0]["signature"] = f"a|n:{row + 5}|v:1"
    found = correlate(collection(corpora))
    assert found.table.sized == ("a",) and found.table.differing == ()
    assert any(
        line == "Depend on the sizes of corpora, which differ: a." for line in correlation_report(found).notes
    )
    lines = correlation_report(correlate(collection(corpora), given=[])).notes
    assert any("--given num_messages controls for them: a." in line for line in lines)


def test_the_picture_has_a_cell_for_each_pair(collection, tmp_path):
    found = correlate(collection(known_corpora()))
    correlation_report(found).draw(tmp_path / "picture.svg")
    text = (tmp_path / "picture.svg").read_text()
    assert text.count("<text") + text.count("<use") > 0
    correlation_report(found).draw(tmp_path / "again.svg")
    assert (tmp_path / "again.svg").read_text() == text
