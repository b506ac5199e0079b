import json
from pathlib import Path

import pytest

from ecsuite.eval.icy import acquisition

SMALL = ["--num-attributes", "2", "--num-values", "3", "--word-length", "2"]
QUICK = [*SMALL, "--hidden-size", "16", "--target", "0.5", "--workers", "1"]
ROW = ["icy", "--model", "fc1l", *QUICK, "--grammar", "perm", "--seeds"]


@pytest.fixture(autouse=True)
def wide(monkeypatch, ecsuite):
    monkeypatch.setenv("COLUMNS", "150")


def without_times(data):
    if isinstance(data, dict):
        return {key: without_times(value) for key, value in data.items() if key != "seconds"}
    return [without_times(each) for each in data] if isinstance(data, list) else data


def files(folder="."):
    return {str(path.relative_to(folder)) for path in Path(folder).rglob("*") if path.is_file()}


def results(folder):
    return {file for file in files(folder) if file.endswith(".json")}


@pytest.mark.slow
def test_json_is_pure_and_the_file_is_the_same(as_json):
    data = as_json(*ROW, "7-8", "--out", "deep/down/rows.json")
    assert data == json.loads(Path("deep/down/rows.json").read_text())
    assert data["study"]["seeds"] == [7, 8]
    assert data["study"]["target"] == 0.5
    (row,) = data["rows"]
    (cell,) = row["cells"]
    for runs in (cell["runs"], row["concat_steps"]["runs"]):
        assert [run["seed"] for run in runs] == [7, 8]
    for run, basis in zip(cell["runs"], row["concat_steps"]["runs"], strict=True):
        assert run["ratio"] == run["steps"] / basis["steps"]
        assert run["reached"] and run["accuracy"] >= 0.5 and 0 < run["floor"] < 1


@pytest.mark.slow
def test_after_an_interrupt_a_study_goes_on_where_it_was(ecsuite, monkeypatch, as_json):
    command = [*ROW, "1-3"]
    whole = without_times(as_json(*command, "--cache", "whole"))
    learn, calls = acquisition.learn, []

    def interrupted(*arguments, **options):
        calls.append(arguments)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return learn(*arguments, **options)

    monkeypatch.setattr(acquisition, "learn", interrupted)
    code, out, _ = ecsuite(*command, "--cache", "kept", "--json", "--out", "rows.json")
    assert code and out == ""
    kept = results("kept")
    assert 0 < len(kept) < len(results("whole")) and not Path("rows.json").exists()
    calls.clear()
    code, out, err = ecsuite(*command, "--cache", "kept", "--json")
    assert (code, err) == (0, f"{len(kept)} of 6 results stored in kept\n")
    assert without_times(json.loads(out)) == whole
    assert sum(len(runs) for _, _, _, runs, *_ in calls) == 6 - len(kept)


def test_a_plan_computes_nothing(succeeded, as_json):
    jobs = as_json(*ROW, "2", "--plan")["jobs"]
    lines = [line.split() for line in succeeded(*ROW, "2", "--plan").splitlines()]
    assert lines[0] == ["setting", "seeds", "jobs", "stored", "time"]
    assert [line[1:4] for line in lines[2:4]] == [["concat", "123-124", "2"], ["perm", "123-124", "2"]]
    names = [f"fc1l {grammar} {seed}" for seed in (123, 124) for grammar in ("concat", "perm")]
    assert [job["name"] for job in jobs] == names
    assert not any(job["is_kept"] for job in jobs) and files() == set()
    as_json(*ROW, "1")
    assert "8 jobs: 2 stored in runs/icy, 6 to compute" in succeeded(*ROW, "2", "--plan", "--save-corpora", "said")


@pytest.mark.slow
def test_a_study_of_one_s_own(as_json):
    Path("mine.yaml").write_text(
        "models: [fc1l]\ngrammars: [perm]\nseeds: [4]\ntarget: 0.5\nnum_attributes: 2\nnum_values: 3\nword_length: 2\n"
    )
    data = as_json("icy", "mine.yaml", "--workers", "1", "--cap", "9")
    assert (data["study"]["name"], data["study"]["seeds"], data["study"]["cap_ratio"]) == ("mine", [4], 9)
