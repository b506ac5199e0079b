"""A study of a collection as users run it: scored, kept, tabulated and correlated."""

import json
from pathlib import Path

import pytest
import yaml


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

    code, out, err = ecsuite(
        "compare", "table", "runs/elcc", "--by", "system", "--metrics", "Line Count", "--json"
    )
    assert code == 0, err
    rows = {
        row["settings"]["system"]: row["figures"]["Line Count"]["mean"] for row in json.loads(out)["rows"]
    }
    assert rows == {"egg-disc": pytest.approx(50 / 3), "rlupus": 21, "nav": 18}
    code, out, err = ecsuite(
        "compare", "table", "runs/elcc/scores.json", "--metrics", "Line Count", "--as", "csv"
    )
    assert code == 0, err
    assert [line.split(",")[:2] for line in out.splitlines()[:2]] == [
        ["system", "corpus"],
        ["egg-disc", "egg-disc/2-attr"],
    ]
    code, out, err = ecsuite("compare", "correlations", "runs/elcc")
    assert code == 0, err
    assert "7 sources of 7 corpora." in out


def test_corpora_of_patterns_are_scored_once_each(ecsuite, collection):
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
def test_mistakes(ecsuite, content, options, message):
    Path("mine.yaml").write_text(content)
    code, out, err = ecsuite("sweep", "mine.yaml", *options)
    assert (code, out) == (2, "") and err.startswith(message), err
    assert err.count("\n") == 1
