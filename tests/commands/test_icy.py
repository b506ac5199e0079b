"""`ecsuite icy` and `ecsuite grammar` as users type them: results, files, the cache, and one line for each mistake."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ecsuite.config import ConfigError
from ecsuite.eval.icy import acquisition
from ecsuite.eval.icy import result as icy_result
from ecsuite.formats import read_corpus
from ecsuite.grammars.geometry import Geometry
from ecsuite.grammars.icy import language

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
    assert done.stdout.count("Example: ecsuite ") == 2


def test_a_row_is_printed_with_its_seeds_and_signature(ecsuite):
    code, out, err = ecsuite(*ROW, "2", "--grammar", "hol")
    assert (code, err) == (0, "")
    lines = [line.split() for line in out.splitlines() if line.split()]
    assert lines[0] == ["model", "params", "CONCAT", "PERM", "HOL"]
    assert lines[2][:2] == ["fc1l", "140"]
    assert out.splitlines()[-2].startswith(
        "2 seeds (123 to 124), protocol exact: updates to accuracy 0.5, relative"
    )
    assert out.splitlines()[-1].startswith(
        "fc1l: icy|sender:fc1l|2x3|w2|V4|seeds:123,124|exact|target:0.5|cap:20|"
    )


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


def test_the_table_s_figures_are_those_of_the_json(ecsuite, as_json):
    command = [*ROW, "5,9,2", "--grammar", "rot", "--cap", "1.01"]
    _, out, _ = ecsuite(*command)
    (row,) = as_json(*command)["rows"]
    (line,) = [line.split() for line in out.splitlines() if line.split()[:2] == ["fc1l", "140"]]
    for text, cell in zip(line[3:], row["cells"], strict=True):
        given_up = cell["num_censored"]
        wanted = f"{cell['mean']:.2f}"
        assert text == (">1.01" if given_up == 3 else f"≥{wanted}" if given_up else wanted)
        assert (f"fc1l {cell['grammar'].upper()}: {given_up} of 3 runs stopped at 1.01 x CONCAT" in out) == (
            given_up > 0
        )
    assert "3 seeds (5, 9, 2)" in out


def test_without_seeds_a_row_says_how_many_there_were(ecsuite):
    code, out, _ = ecsuite("icy", "--model", "hashtable", *QUICK, "--grammar", "perm")
    assert code == 0
    assert "10 seeds (123 to 132), protocol exact" in out


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


def test_what_is_held_out_is_asked_for_at_the_end(ecsuite, as_json):
    command = [*ROW, "2", "--held-out", "0.3"]
    (row,) = as_json(*command)["rows"]
    runs = {"CONCAT": row["concat_steps"]["runs"], "PERM": row["cells"][0]["runs"]}
    means = ", ".join(f"{name} {sum(run['held_out'] for run in each) / 2:.3f}" for name, each in runs.items())
    _, out, _ = ecsuite(*command)
    assert f"fc1l, accuracy on held-out meanings at the end: {means}." in out


def test_early_verdict_stops_a_run_early(ecsuite):
    """An MLP of one layer on a holistic language of 81 meanings."""
    command = [
        "icy", "--model", "fc1l", "--num-attributes", "4", "--num-values", "3", "--word-length", "2", "--workers", "1",
        "--seeds", "1", "--grammar", "hol", "--target", "0.7", "--cap", "2",
    ]  # fmt: skip
    code, out, _ = ecsuite(*command)
    assert code == 0 and ">2" in out
    assert "fc1l HOL: 1 of 1 runs stopped at 2 x CONCAT, at accuracy 0." in out
    code, out, _ = ecsuite(*command, "--early-verdict")
    assert code == 0
    assert "stopped early" in out and "verdict:early" in out
    assert "fc1l HOL: 1 of 1 runs stopped early (early_verdict), at accuracy 0." in out


def test_a_second_call_computes_nothing_and_says_the_same(monkeypatch, as_json):
    command = [*ROW, "2", "--cache", "kept"]
    first = as_json(*command)
    kept = files("kept")
    monkeypatch.setattr(acquisition, "learn", lambda *_, **__: pytest.fail("this was done already"))
    assert as_json(*command) == first
    assert files("kept") == kept and files() == {f"kept/{file}" for file in kept}


def test_results_are_kept_below_the_working_directory(ecsuite, monkeypatch, tmp_path):
    for variable in ("HOME", "XDG_CACHE_HOME", "TMPDIR"):
        (tmp_path / variable).mkdir()
        monkeypatch.setenv(variable, str(tmp_path / variable))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert ecsuite(*ROW, "1")[0] == 0
    assert all(file.startswith("here/runs/icy/results/") for file in files(tmp_path))


def test_after_an_interrupt_a_study_goes_on_where_it_was(ecsuite, monkeypatch, as_json):
    command = [*ROW, "1-3", "--model", "fc2l", "--grammar", "rot"]
    whole = without_times(as_json(*command, "--cache", "whole"))
    learn, calls = acquisition.learn, []

    def interrupted(*arguments, **options):
        calls.append(arguments)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return learn(*arguments, **options)

    monkeypatch.setattr(acquisition, "learn", interrupted)
    code, out, _ = ecsuite(*command, "--cache", "kept", "--json", "--out", "rows.json")
    assert code and out == ""
    kept = results("kept")
    assert 0 < len(kept) < len(results("whole")) and not Path("rows.json").exists()
    calls.clear()
    code, out, err = ecsuite(*command, "--cache", "kept", "--json")
    assert (code, err) == (0, f"{len(kept)} of 18 results found in kept\n")
    assert without_times(json.loads(out)) == whole
    assert sum(len(runs) for _, _, _, runs, *_ in calls) == 18 - len(kept)


def test_a_damaged_result_is_computed_anew(ecsuite, as_json):
    first = as_json(*ROW, "1", "--cache", "kept")
    for file in Path("kept/results").glob("*.json"):
        file.write_text(file.read_text()[:100])
    code, out, err = ecsuite(*ROW, "1", "--cache", "kept", "--json")
    assert (code, err.count("not a valid result")) == (0, 2)
    assert without_times(json.loads(out)) == without_times(first)


def test_more_seeds_train_only_the_new_ones(ecsuite, as_json, monkeypatch):
    """Ten seeds after five cost half; so does another number of workers."""
    first = as_json(*ROW, "5")
    trained = []
    learn = acquisition.learn
    monkeypatch.setattr(
        acquisition,
        "learn",
        lambda *inputs, **options: trained.extend(inputs[3]) or learn(*inputs, **options),
    )
    code, out, err = ecsuite(*ROW, "10", "--json")
    assert (code, err) == (0, "10 of 20 results found in runs/icy\n")
    assert sorted({run.seed for run in trained}) == [128, 129, 130, 131, 132] and len(trained) == 10
    runs = [data["rows"][0]["cells"][0]["runs"] for data in (first, json.loads(out))]
    assert runs[1][:5] == runs[0]


def test_a_plan_computes_nothing(ecsuite, as_json):
    jobs = as_json(*ROW, "2", "--plan")["jobs"]
    assert [job["name"] for job in jobs] == [
        "fc1l concat 123",
        "fc1l perm 123",
        "fc1l concat 124",
        "fc1l perm 124",
    ]
    assert not any(job["is_kept"] for job in jobs) and files() == set()
    as_json(*ROW, "1")
    code, out, _ = ecsuite(*ROW, "2", "--plan", "--save-corpora", "said")
    assert code == 0 and "8 jobs: 2 found in runs/icy, 6 to compute" in out


def test_a_failure_leaves_an_older_file_as_it_was(ecsuite, monkeypatch):
    def fail(*_, **__):
        raise ConfigError("no way to learn this")

    monkeypatch.setattr(acquisition, "learn", fail)
    Path("rows.json").write_text("older")
    assert ecsuite(*ROW, "1", "--out", "rows.json") == (2, "", "no way to learn this\n")
    assert results(".") == {"rows.json"} and Path("rows.json").read_text() == "older"


def test_corpora_of_trained_senders_can_be_scored(as_json):
    data = as_json(*ROW, "1-2", "--save-corpora", "said")
    folders = {path.name for path in Path("said").iterdir()}
    names = {
        name.rpartition("_")[0]: name for name in folders
    }  # the end says: not the benchmark's own setting
    assert set(names) == {f"fc1l_{grammar}_{seed}" for grammar in ("concat", "perm") for seed in (1, 2)}
    for run in [*data["rows"][0]["concat_steps"]["runs"], *data["rows"][0]["cells"][0]["runs"]]:
        folder = Path("said", names[f"fc1l_{run['grammar']}_{run['seed']}"])
        said = read_corpus(folder)
        taught = language(
            run["grammar"], Geometry(num_attributes=2, num_values=3, word_length=2), run["seed"]
        )
        right = (said.messages.values.reshape(9, 4) == taught.messages).mean()
        assert said.metadata["symbol_accuracy"] == right
        # A batch before the last update, a mean of eleven of them, and 128 draws from nine meanings.
        assert right == pytest.approx(run["accuracy"], abs=0.15)
        assert said.metadata["updates"] == run["steps"]
    scores = as_json("score", folder, "--metrics", "topsim,posdis")["scores"]
    assert {score["name"].split("_")[0] for score in scores} == {"topsim", "posdis"}


def test_a_lost_corpus_is_written_again_without_training(ecsuite, monkeypatch):
    command = [*ROW, "1", "--save-corpora", "said"]
    assert ecsuite(*command)[0] == 0
    whole = files("said")
    shutil.rmtree("said")
    monkeypatch.setattr(acquisition, "learn", lambda *_, **__: pytest.fail("this was trained before"))
    assert ecsuite(*command)[0] == 0
    assert files("said") == whole


@pytest.mark.slow
def test_two_processes_give_what_one_gives(as_json):
    """Who learns beside whom changes no count of steps."""
    command = ["icy", "--model", "fc1l", *QUICK[:-2], "--grammar", "perm", "--seeds", "4"]
    one = as_json(*command, "--workers", "1", "--cache", "one")
    two = as_json(*command, "--workers", "2", "--cache", "two")
    counts = [
        [
            (run["seed"], run["steps"])
            for run in [*data["rows"][0]["concat_steps"]["runs"], *data["rows"][0]["cells"][0]["runs"]]
        ]
        for data in (one, two)
    ]
    assert counts[0] == counts[1]


def test_too_few_words_are_seen_before_any_process_starts(ecsuite):
    code, out, err = ecsuite("icy", "--model", "fc1l", "--word-length", "1", "--workers", "2", "--seeds", "2")
    assert (code, out) == (2, "")
    assert err == (
        "10 values need 10 different words, but words of 1 symbols over 4 make only 4: raise --word-length to 2 or "
        "--vocab-size to 10\n"
    )


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
        "2",
    ]
    data = as_json(*command, "--picture", "deep/bars.png")
    assert as_json(*command, "--picture", "bars.svg") == data
    assert Path("bars.svg").read_text().startswith("<?xml ")
    assert {row["grammar"] for row in data["rows"]} == {"concat", "hol"}
    assert Path("deep/bars.png").read_bytes().startswith(b"\x89PNG")
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
    monkeypatch.setattr(icy_result, "measure", lambda *_, **__: pytest.fail("it should be refused first"))
    code, out, err = ecsuite("icy", *command, *SMALL, "--picture", "a.svg")
    assert (code, out, files()) == (2, "", set())
    assert err == "a picture needs matplotlib: pip install 'ecsuite[plots]'\n"


def test_what_killed_runs_left_in_the_cache_is_removed(ecsuite):
    Path("kept").mkdir()
    leftover, young = Path("kept/.abc.json.99999.tmp"), Path("kept/.abc.json.7.tmp")
    for file in (leftover, young):
        file.write_text("half")
    os.utime(leftover, (0, 0))
    assert ecsuite(*ROW, "1", "--cache", "kept")[0] == 0
    assert young.exists() and not leftover.exists()


def test_a_study_of_one_s_own(as_json):
    Path("mine.yaml").write_text(
        "models: [fc1l]\ngrammars: [perm]\nseeds: [4]\ntarget: 0.5\nnum_attributes: 2\nnum_values: 3\nword_length: 2\n"
    )
    data = as_json("icy", "mine.yaml", "--workers", "1", "--cap", "9")
    assert (data["study"]["name"], data["study"]["seeds"], data["study"]["cap_ratio"]) == ("mine", [4], 9)
