"""A collection as users study it: scored, kept, tabulated, mapped, and correlated with known correlations."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from scipy import stats

import ecsuite as ec
from compared_sources import run
from ecsuite.eval.experiments.corpora import CorpusContent, members_of
from ecsuite.eval.experiments.correlations import correlate, correlation_report, read_table
from ecsuite.eval.results.results import Results
from ecsuite.runtime.errors import ConfigError


@pytest.fixture
def downloaded(collection, tmp_path, monkeypatch):
    """The collection where `ecsuite data elcc` would have put it."""
    monkeypatch.setenv("ECSUITE_DATA", str(tmp_path / "data"))
    (tmp_path / "data" / "elcc").mkdir(parents=True)
    (tmp_path / "systems").rename(tmp_path / "data" / "elcc" / "systems")


def test_the_shipped_study_scores_tabulates_and_correlates(ecsuite, downloaded):
    _, out, _ = ecsuite("sweep", "paper/elcc", "--plan")
    assert "7 jobs: 0 stored in runs/elcc/jobs, 7 to compute" in out
    code, out, err = ecsuite("sweep", "paper/elcc", "--on", "here")
    assert code == 0, err
    assert out.endswith("7 corpora of 3 systems; next: ecsuite compare correlations runs/elcc\n")
    assert " more scores: runs/elcc/scores.csv (one row per corpus)" in out
    assert all(len(line) <= 100 for line in out.splitlines())
    _, out, _ = ecsuite("sweep", "paper/elcc", "--plan")
    assert "7 jobs: 7 stored in runs/elcc/jobs, 0 to compute" in out

    table = ("compare", "table", "runs/elcc", "--metrics", "Line Count")
    rows = json.loads(ecsuite(*table, "--by", "system", "--json")[1])["rows"]
    means = {row["settings"]["system"]: row["figures"]["Line Count"]["mean"] for row in rows}
    assert means == {"egg-disc": pytest.approx(50 / 3), "rlupus": 21, "nav": 18}
    lines = ecsuite(*table, "--as", "csv")[1].splitlines()
    assert lines[0].startswith("system,corpus,") and lines[1].startswith("egg-disc,egg-disc/2-attr,")
    code, out, err = ecsuite("compare", "correlations", "runs/elcc")
    assert code == 0, err
    assert "7 sources of 7 corpora." in out


def test_corpora_of_patterns_are_scored_once_each(ecsuite, collection, tmp_path):
    folder = Path(collection[0]).parents[3]
    study = {"corpora": [f"{folder}/egg-disc/data/*/corpus.jsonl", f"{folder}/*/data/2*/*.jsonl"]}
    Path("mine.yaml").write_text(yaml.safe_dump(study | {"score": "has"}))
    code, out, err = ecsuite("sweep", "mine.yaml", "--on", "here", "--json")
    assert code == 0, err
    assert [each["member"]["name"] for each in json.loads(out)["corpora"]] == [
        "egg-disc/2-attr", "egg-disc/4-attr", "egg-disc/8-attr",
    ]  # fmt: skip
    assert sorted(path.name for path in Path("runs/mine").iterdir()) == ["jobs", "scores.csv", "scores.json"]
    assert not list(folder.rglob("scores.json"))  # the collection itself is not changed
    for folder in ("a/run", "b/run", "c"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "corpus.jsonl").write_text("[1]\n")
    paths = [tmp_path / folder / "corpus.jsonl" for folder in ("a/run", "b/run", "c")]
    assert [member.name for member in members_of(paths)] == ["a/run", "b/run", "c"]
    with pytest.raises(ConfigError, match=r": given 2 times$"):
        members_of([paths[0], paths[0].parent])


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("{corpora: none/*.jsonl, score: has}", [], "mine.yaml:1: corpora: no corpus at 'none/*.jsonl'; expected "),
        ("{corpora: 3, score: has}", [], "mine.yaml:1: corpora: expected elcc, wcs, or patterns such as "),
        ("{corpora: elcc}", [], "mine.yaml: score: expected names of metrics, got none"),
        ("{corpora: elcc, score: hass}", [], "mine.yaml: score: unknown metric 'hass'; did you mean 'has'"),
        ("{corpora: elcc, score: has, base: disc_tiny}", [], "mine.yaml: unknown key 'base'"),
        ("{corpora: elcc, score: has}", ["--part", "1/2"], "--part: not read by mine.yaml, which trains no"),
        ("{corpora: elcc, score: has}", ["--device", "cpu"], "--device: not read by mine.yaml"),
    ],
)  # fmt: skip
def test_mistakes_in_a_study(ecsuite, content, options, message):
    Path("mine.yaml").write_text(content)
    code, out, err = ecsuite("sweep", "mine.yaml", *options)
    assert (code, out) == (2, "") and err.startswith(message), err
    assert err.count("\n") == 1


def test_the_command_draws_a_map(ecsuite, collection):
    options = ("--metrics", "elcc", "--on", "here", "--plot", "map.svg", "--out", "scores.csv")
    code, _, err = ecsuite("score", *map(str, collection), *options)
    assert code == 0, err
    assert "<!-- rlupus/9-player.run-3 -->" in Path("map.svg").read_text() and Path("scores.csv").is_file()


CORPUS = ec.Corpus([[1, 2, 0], [2, 0]], meanings=[[0, 1], [1, 1]], eos=0, columns={"split": ["train", "held_out"]})


@pytest.mark.parametrize(
    "change",
    [
        {"eos": None}, {"meanings": CORPUS.meanings[::-1]}, {"columns": {"split": ["train", "train"]}},
        {"symbol_names": ("end", "a", "b")}, {"attribute_names": ("agent", "patient")},
        {"messages": ec.Corpus([[1, 2, 0], [1, 0]]).messages},
    ],
)  # fmt: skip
def test_what_a_metric_may_read_is_in_the_key(change):
    key = CorpusContent.of(CORPUS).digest
    assert CorpusContent.of(replace(CORPUS, **change)).digest != key
    assert CorpusContent.of(replace(CORPUS, metadata={"source_path": "x"})).digest == key


NUMBER = 40


def scores(values):
    """The JSON of scores, some of them undefined."""
    return [
        {"name": name, "value": value if value is None else float(value), "signature": f"{name}|seed:{index}|v:1",
         "reason": "no meanings" if value is None else None}
        for index, (name, value) in enumerate(values.items())
    ]  # fmt: skip


def corpus(values, *, messages=10, meanings=5, **member):
    known = {"num_messages": messages, "num_distinct_meanings": meanings, "eos": 0, "training": {"accuracy": 0.5}}
    found = {"corpus": known, "scores": scores(values)}
    return found | ({"member": {"settings": None, "system": None} | member} if member else {})


@pytest.fixture
def table_of(tmp_path):
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


def known_corpora():
    columns = known_columns()
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return [corpus(row, messages=int(row.pop("size")), name=f"corpus {at}") for at, row in enumerate(rows)]


def pair(found, *names):
    [each] = [each for each in found.pairs if {each.first, each.second} == set(names)]
    return each


def test_known_correlations_and_what_is_left_given_the_size(table_of):
    found = correlate(table_of(known_corpora()))
    assert found.given == ("num_messages",)  # the number of meanings is the same for all
    assert pair(found, "a", "b").plain.value == pytest.approx(1)
    expected = stats.spearmanr(known_columns()["a"], known_columns()["c"]).statistic
    assert pair(found, "a", "c").plain.value == pytest.approx(expected)
    sizes = pair(found, "d", "e")
    assert sizes.plain.value > 0.9 and sizes.plain.is_clear and sizes.p_holm < 0.05
    assert not sizes.partial.is_clear and sizes.partial_p_holm > 0.05
    assert found.sizes["d"].share > 0.8 and found.sizes["a"].share < 0.2
    assert {frozenset(names) for names in found.clusters} == {frozenset("abc"), frozenset("de")}
    rows = [[cell.value for cell in row.cells] for row in correlation_report(found).tables[0].rows]
    assert {"a": "b", "b": "a"}.items() <= {row[0]: row[3] for row in rows}.items()
    shares = dict(zip(map(frozenset, found.clusters), found.stability, strict=True))
    assert shares[frozenset("abc")] > 0.95
    assert {frozenset(names) for names in found.clusters_given} == {*map(frozenset, ("abc", "d", "e"))}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"corpora": [{"corpus": {}}]}, "corpora[0]: expected a `corpus` and its `scores`"),
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


def test_the_picture_has_a_cell_for_each_pair(table_of, tmp_path):
    found = correlate(table_of(known_corpora()))
    correlation_report(found).draw(tmp_path / "picture.svg")
    assert "<use" in (tmp_path / "picture.svg").read_text()


def test_folders_of_scored_corpora_are_read_too(tmp_path):
    known = {"num_messages": 10, "num_distinct_meanings": 5, "eos": 0, "training": {"accuracy": 0.5}}
    for row in range(6):
        folder = tmp_path / "systems" / f"s{row % 3}" / "data" / f"v{row}"
        folder.mkdir(parents=True)
        score = {"name": "a", "value": float(row), "reason": None, "signature": "a|v:1"}
        (folder / "scores.json").write_text(json.dumps({"format": 1, "corpus": known, "scores": [score]}))
    table = read_table([tmp_path])
    assert [source.name for source in table.sources][:2] == ["s0/v0", "s0/v3"]
    assert table.groups().tolist() == [0, 0, 1, 1, 2, 2]


def test_runs_that_were_ended_early_do_not_count(tmp_path, monkeypatch):
    runs = [run(f"{place}", {"a": place}, 1, {}, {"topsim": place / 10}, group=str(place)) for place in range(6)]
    runs.append(run("6", {"a": 6}, 1, {}, {"topsim": 0.9}, group="6", stopped="minutes"))
    monkeypatch.setattr(Results, "read", lambda paths: Results(runs))
    assert [source.name for source in read_table([tmp_path]).sources] == ["0", "1", "2", "3", "4", "5"]
