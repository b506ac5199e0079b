"""`ecsuite score` and `ecsuite compare correlations` of a collection as users type them."""

import csv
import json
from pathlib import Path

import pytest

from ecsuite.eval.experiments import corpora
from ecsuite.formats import reading


@pytest.fixture
def paths(collection):
    return [str(path) for path in collection]


def test_one_table_that_resumes_and_is_correlated(ecsuite, paths):
    code, out, err = ecsuite("score", *paths, "--metrics", "has", "--on", "here", "--out", "scores.csv")
    assert code == 0, err
    assert [row["system"] for row in csv.DictReader(Path("scores.csv").read_text().splitlines())][::3] == [
        "egg-disc",
        "rlupus",
        "nav",
    ]
    code, out, err = ecsuite("score", *paths, "--on", "here", "--out", "scores.json")
    assert code == 0, err
    assert "7 corpora of 3 systems; next: ecsuite compare correlations FILE.json" in out
    assert "egg-disc/4-attr" in out and "rlupus/9-player.run-3" in out
    assert all(len(line) <= 100 for line in out.splitlines())
    _, out, _ = ecsuite("score", *paths, "--plan")
    number = out.splitlines()[-1].split()[0]
    assert number == "7" and f"{number} jobs: {number} found in runs/xferbench, 0 to compute" in out
    assert (Path(paths[0]).parent / "scores.json").is_file()
    code, out, err = ecsuite(
        "compare", "correlations", "scores.json", "--plot", "map.svg", "--out", "found.json"
    )
    assert code == 0, err
    assert "7 sources of 7 corpora." in out and "Clusters (mean |rho| of at least 0.7):" in out
    assert Path("map.svg").is_file()
    found = json.loads(Path("found.json").read_text())
    assert found["given"] == ["num_messages"] and found["method"]["interval"] == "bootstrap over systems"
    code, out, err = ecsuite(
        "compare", "correlations", Path(paths[0]).parents[4], "--json", "--given", "none"
    )
    assert code == 0, err
    assert len(json.loads(out)["sources"]) == 7 and json.loads(out)["given"] == []


def test_a_finished_collection_reads_no_corpus_and_writes_no_file(ecsuite, paths, tmp_path, monkeypatch):
    for name in paths:
        folder = Path(name).parent
        with (folder / "metadata.json").open("w") as file:
            file.write("{}")
    options = ("--on", "here", "--metrics", "elcc,has,topsim", "--out", "scores.json")
    first = ecsuite("score", *paths, *options)

    def states():
        return {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*") if file.is_file()}

    before = states()
    assert first[0] == 0 and sum(file.name == "scores.json" for file in before) == len(paths) + 1
    monkeypatch.setattr(reading, "read_as", None)
    monkeypatch.setattr(corpora, "read_as", None)
    assert ecsuite("score", *paths, *options)[:2] == first[:2]
    assert states() == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--plot", "folder"],
            "--plot folder: expected a file that ends with .svg, .pdf or .png for a collection, got a folder\n",
        ),
        (["--plot", "a.gif"], "a.gif: expected the name of a picture, ending in .svg, .pdf, .png"),
        (["--on", "there"], "--on there: expected here, local"),
        (["--metrics", "tosim"], "unknown metric 'tosim'; did you mean 'topsim'"),
    ],
)
def test_mistakes_of_score(ecsuite, paths, options, message):
    code, out, err = ecsuite("score", *paths, *options)
    assert (code, out) == (2, "") and err.startswith(message), err


def test_a_corpus_that_is_no_corpus_is_named(ecsuite, paths):
    Path(paths[3]).write_text("{}\n")
    code, _, err = ecsuite("score", *paths, "--on", "here")
    assert code == 2 and err.startswith(paths[3].rpartition("/")[0]), err


def test_where_jobs_run_is_no_option_of_few_corpora(ecsuite, paths):
    code, _, err = ecsuite("score", *paths[:3], "--on", "here", "--metrics", "has")
    assert code == 2 and err.startswith("--on: not read by --metrics has"), err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.json"], "none.json: no such file or folder of results"),
        (["few.json"], "correlations: expected at least 5 corpora of different games, got 1"),
        (
            ["few.json", "--plot", "a.gif"],
            "a.gif: expected the name of a picture, ending in .svg, .pdf, .png",
        ),
        (["few.json", "--metric", "bleu"], "--metric: not read by a collection; read by --translation"),
        (["few.json", "--paper", "--given", "none"], "results: not read by --paper"),
    ],
)
def test_mistakes_of_correlate(ecsuite, arguments, message):
    Path("few.json").write_text('{"format": 1, "corpora": [{"corpus": {}, "scores": []}]}')
    code, out, err = ecsuite("compare", "correlations", *arguments)
    assert (code, out) == (2, "") and err.startswith(message), err
