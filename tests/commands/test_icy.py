"""`ecsuite icy` and `ecsuite grammar` as users type them: results, files, the cache, and one line for each mistake."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ecsuite.eval.icy import acquisition
from ecsuite.eval.icy.benchmark import Icy

SMALL = ["--num-attributes", "2", "--num-values", "3", "--word-length", "2"]
QUICK = [*SMALL, "--hidden-size", "16", "--target", "0.5", "--workers", "1"]
ROW = ["icy", "--model", "fc1l", *QUICK, "--grammar", "perm", "--seeds"]
"""Of a fraction of a second a seed."""


@pytest.fixture(autouse=True)
def wide(monkeypatch, ecsuite):
    """A terminal in which a row of results fits."""
    monkeypatch.setenv("COLUMNS", "150")


def without_times(data):
    """All but how long runs took."""
    if isinstance(data, dict):
        return {key: without_times(value) for key, value in data.items() if key != "seconds"}
    return [without_times(each) for each in data] if isinstance(data, list) else data


def files(folder="."):
    return {str(path.relative_to(folder)) for path in Path(folder).rglob("*") if path.is_file()}


def results(folder):
    """The kept results in a cache."""
    return {file for file in files(folder) if file.endswith(".json")}


def test_help_shows_an_example_and_does_without_torch():
    script = """
import sys
from ecsuite.cli import main
for command in ("icy", "grammar"):
    sys.argv = ["ecsuite", command, "--help"]
    try:
        main()
    except SystemExit as end:
        assert end.code == 0
heavy = {"torch", "scipy", "numpy.random", "matplotlib", "sklearn"} & set(sys.modules)
assert not heavy, heavy
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Examples:\n") == 2


def test_a_row_is_printed_with_its_seeds_and_signature(ecsuite):
    code, out, err = ecsuite(*ROW, "2", "--grammar", "hol", "--plot", "bars.svg")
    assert code == 0 and err.count("\n") == 1
    assert err.startswith("1 model x 3 grammars x 2 seeds: 6 runs, all to train, about ")
    assert "expected not to be learnt" not in err  # nine meanings are learnt by heart
    drawn = Path("bars.svg").read_text()
    assert all(f"<!-- {text} -->" in drawn for text in ("PERM", "HOL", "CONCAT", "fc1l"))
    lines = [line.split() for line in out.splitlines() if line.split()]
    assert lines[0] == ["model", "params", "CONCAT", "PERM", "HOL"]
    assert lines[2][:2] == ["fc1l", "140"]
    assert out.splitlines()[-2].startswith(
        "2 seeds (123 to 124), protocol exact: updates to accuracy 0.5, relative"
    )
    assert out.splitlines()[-1].startswith(
        "fc1l: icy|sender:fc1l|2x3|w2|V4|seeds:123,124|exact|target:0.5|cap:20|"
    )


def test_quiet_runs_say_nothing_before_the_table(ecsuite):
    code, out, err = ecsuite(*ROW, "1", "--quiet")
    assert (code, err) == (0, "") and "fc1l" in out
    code, out, err = ecsuite(*ROW, "1")
    assert err == "1 model x 2 grammars x 1 seed: 2 runs, all stored in runs/icy\n"


@pytest.mark.slow
def test_json_is_pure_and_the_file_is_the_same(as_json):
    data = as_json(*ROW, "7-8", "--out", "deep/down/rows.json")
    assert data == json.loads(Path("deep/down/rows.json").read_text())
    assert data["study"]["seeds"] == [7, 8]
    assert data["study"]["target"] == 0.5
    (row,) = data["rows"]
    (cell,) = row["cells"]
    assert (
        [run["seed"] for run in cell["runs"]]
        == [run["seed"] for run in row["concat_steps"]["runs"]]
        == [7, 8]
    )
    for run, basis in zip(cell["runs"], row["concat_steps"]["runs"], strict=True):
        assert run["ratio"] == run["steps"] / basis["steps"]
        assert run["reached"] and run["accuracy"] >= 0.5 and 0 < run["floor"] < 1


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    "options",
    [
        ["--model", "gru", "--role", "receiver"],
        ["--model", "fc1l", "--protocol", "paper"],
        ["--model", "fc1l", "--clip", "5"],
        ["--model", "fc1l", "--precision", "bf16"],
        ["--model", "fc1l", "--vocab-size", "7", "--device", "auto"],
    ],
)
def test_options_reach_the_study(options, as_json):
    data = as_json("icy", *options, *QUICK, "--grammar", "perm", "--seeds", "1")
    given = dict(zip([option[2:].replace("-", "_") for option in options[2::2]], options[3::2], strict=True))
    given.pop("device", None)
    assert {key: str(data["study"][key]).removesuffix(".0") for key in given} == given
    assert data["rows"][0]["role"] == given.get("role", "sender")


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
    assert (code, err) == (0, f"{len(kept)} of 6 results found in kept\n")
    assert without_times(json.loads(out)) == whole
    assert sum(len(runs) for _, _, _, runs, *_ in calls) == 6 - len(kept)


def test_a_plan_computes_nothing(ecsuite, as_json):
    jobs = as_json(*ROW, "2", "--plan")["jobs"]
    names = [f"fc1l {grammar} {seed}" for seed in (123, 124) for grammar in ("concat", "perm")]
    assert [job["name"] for job in jobs] == names
    assert not any(job["is_kept"] for job in jobs) and files() == set()
    as_json(*ROW, "1")
    code, out, _ = ecsuite(*ROW, "2", "--plan", "--save-corpora", "said")
    assert code == 0 and "8 jobs: 2 found in runs/icy, 6 to compute" in out


def test_lost_corpora_of_senders_are_written_again_without_training(as_json, monkeypatch):
    command = [*ROW, "1-2", "--save-corpora", "said"]
    first = as_json(*command)
    whole = files("said")
    folders = {path.name.rpartition("_")[0]: path for path in Path("said").iterdir()}
    assert set(folders) == {f"fc1l_{grammar}_{seed}" for grammar in ("concat", "perm") for seed in (1, 2)}
    scores = as_json("score", folders["fc1l_perm_2"], "--metrics", "posdis")["scores"]
    assert scores[0]["name"] == "posdis"
    shutil.rmtree("said")
    monkeypatch.setattr(acquisition, "learn", lambda *_, **__: pytest.fail("this was trained before"))
    assert as_json(*command)["rows"] == first["rows"]
    assert files("said") == whole


@pytest.mark.slow
def test_two_processes_give_what_one_gives(as_json):
    """Who learns beside whom changes nothing but the time."""
    command = ["icy", "--model", "fc1l", *QUICK[:-2], "--grammar", "perm", "--seeds", "4"]
    one, two = (as_json(*command, "--workers", number, "--cache", number) for number in ("1", "2"))
    assert without_times(one) == without_times(two)


def test_metrics_of_grammars_as_table_json_and_picture(ecsuite, as_json):
    pytest.importorskip("matplotlib")
    command = [
        "icy",
        "--protocol",
        "metrics",
        *SMALL,
        "--grammar",
        "concat",
        "--grammar",
        "hol",
        "--seeds",
        "1",
        "--workers",
        "1",
    ]
    data = as_json(*command, "--plot", "deep/bars.svg")
    assert {row["grammar"] for row in data["rows"]} == {"concat", "hol"}
    assert Path("deep/bars.svg").read_text().startswith("<?xml ")
    assert all(
        row["mean"] == 1 for row in data["rows"] if (row["grammar"], row["measure"]) == ("concat", "posdis")
    )
    code, out, err = ecsuite(*command)
    assert (code, err) == (0, "") and "hol" in out


@pytest.mark.parametrize(
    "command",
    [
        ["--protocol", "metrics", "--grammar", "concat"],
        ["--protocol", "end-to-end", "--model", "fc1l", "--receiver", "fc1l"],
    ],
)
def test_without_matplotlib_a_picture_is_refused_before_the_work(ecsuite, monkeypatch, command):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.setattr(Icy, "measure", lambda *_, **__: pytest.fail("it should be refused first"))
    code, out, err = ecsuite("icy", *command, *SMALL, "--plot", "a.svg")
    assert (code, out, files()) == (2, "", set())
    assert err == "a picture needs matplotlib: pip install -e '.[plots]' in the clone of ecsuite\n"


@pytest.mark.slow
def test_a_study_of_one_s_own(as_json):
    Path("mine.yaml").write_text(
        "models: [fc1l]\ngrammars: [perm]\nseeds: [4]\ntarget: 0.5\nnum_attributes: 2\nnum_values: 3\nword_length: 2\n"
    )
    data = as_json("icy", "mine.yaml", "--workers", "1", "--cap", "9")
    assert (data["study"]["name"], data["study"]["seeds"], data["study"]["cap_ratio"]) == ("mine", [4], 9)
