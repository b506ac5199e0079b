"""Searches: what is asked depends on results alone, what is known is not computed again, and bad runs end early."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

import ecsuite as ec
from ecsuite.eval.experiments import jobs, search
from ecsuite.eval.experiments.grids import Range
from ecsuite.eval.experiments.search import MedianPruning, Rule, medians, search_lines, trials_table
from ecsuite.eval.experiments.study import load_study
from ecsuite.eval.experiments.sweep import Sweeps
from ecsuite.eval.results.results import Results
from ecsuite.eval.results.sources import STORE
from ecsuite.jobs.graph import Runner
from ecsuite.runtime.errors import ConfigError

OVER = {"optimizer.lr": [1e-4, 1e-1, "log"], "sender.hidden_size": [4, 8, "int"], "channel.vocab_size": [3, 5]}


@pytest.fixture
def searched(small, tmp_path):
    """Runs a search in a folder."""
    pytest.importorskip("optuna")
    del small["vary"]
    small |= {"score": [], "seeds": 1}

    def searched(folder="sweep", on_note=lambda _: None, **changes):
        search = {"over": OVER, "trials": 5, "maximise": "topsim", "at_once": 2, **changes}
        study = load_study({**small, "search": search}, device="cpu")
        place = tmp_path / folder
        return Sweeps(folder=place).measure(study, Runner(folder=place / STORE, note=on_note))

    return searched


def settings(sweep):
    return [trial["settings"] for trial in sweep.search["trials"]]


def test_the_best_trial_is_measured_with_other_seeds(small):
    trials = [{"number": n, "settings": {"a.b": n}, "value": n / 10, "state": "done", "reason": None} for n in (0, 1)]
    found = {"trials": trials, "best": 1, "objective": "topsim", "direction": "higher", "importance": None}
    lines = search_lines(found, load_study(small).base, [4, 7])
    assert "topsim 0.1000, too high if others were near, as the best of 2; to measure it" in lines[1]
    assert lines[4] == "  seeds: [8, 9, 10]"


@pytest.mark.slow
def test_a_search_asks_the_same_again_and_computes_nothing_twice(searched, small, tmp_path, monkeypatch):
    sweep = searched()
    trials = sweep.search["trials"]
    assert len(trials) == 5 and len(sweep) == len({str(each) for each in settings(sweep)})
    assert all(trial["state"] == "done" for trial in trials if trial["value"] is not None)
    values = {run.folder.name: score["value"] for run in sweep for score in run.scores}
    best = trials[sweep.search["best"]]
    assert best["value"] == max(value for value in values.values() if value is not None)
    train = jobs.train_in_job
    monkeypatch.setattr(jobs, "train_in_job", None)
    assert searched().search == sweep.search  # all is kept
    line = next(line for line in search_lines(sweep.search, load_study(small).base, [1]) if "train-game" in line)
    for key, value in best["settings"].items():
        assert f"--set {key}={value}" in line
    saved = json.loads((tmp_path / "sweep" / "sweep.json").read_text())
    assert saved["search"] == sweep.search and len(Results.read([tmp_path / "sweep"]).runs()) == len(sweep)
    # A wider search goes on from the narrower one, and a killed one from what it had.
    calls = []
    monkeypatch.setattr(jobs, "train_in_job", lambda *given: calls.append(1) or train(*given))
    assert settings(searched(trials=6))[:5] == settings(sweep) and len(calls) <= 1


def test_the_plan_of_a_search_has_what_is_known_of_it(ecsuite, small):
    pytest.importorskip("optuna")
    del small["vary"]
    search = {"over": {"channel.vocab_size": [3, 20, "int"]}, "trials": 3, "maximise": "accuracy", "at_once": 2}
    small |= {"search": search, "seeds": 1, "score": []}
    Path("study.yaml").write_text(yaml.safe_dump(small))
    code, out, err = ecsuite("sweep", "study.yaml", "--plan", "--on", "here")
    told = ("2 jobs: 0 stored in", "by a short measurement of training", "the jobs of 2 of 3 trials")
    assert (code, err) == (0, "") and all(text in out for text in told)
    assert ecsuite("sweep", "study.yaml", "--on", "here")[0] == 0
    Path("study.yaml").write_text(yaml.safe_dump({**small, "search": {**search, "trials": 5}}))
    out = ecsuite("sweep", "study.yaml", "--plan", "--on", "local:2")[1]
    assert "3 stored in" in out and "with 2 places, by the time of the stored jobs" in out


def test_a_run_worse_than_earlier_ones_is_ended_and_no_whole_one(searched, small, monkeypatch):
    monkeypatch.setattr(search, "LEAST_RUNS", 2)
    small["set"] |= {"training.num_examples": 256, "training.evaluate_every": 2}
    over = {"optimizer.lr": [0.03, 1e-9], "channel.vocab_size": [3, 4, 5, 6]}
    changes = {"over": over, "maximise": "accuracy", "prune": "median", "method": "random", "trials": 8}
    sweep = searched(**changes)
    trials = sweep.search["trials"]
    states = [trial["state"] for trial in trials]
    assert "pruned" in states and states[:2] == ["done", "done"]
    pruned = [run for run in sweep if run.training["stopped"] == "pruned"]
    assert pruned and all(run.training["step"] < run.training["num_steps"] for run in pruned)
    assert all(run.scores == () for run in pruned)
    frame = sweep.table().to_frame()
    incomplete = frame[frame["runs_incomplete"] > 0]
    assert len(incomplete) and (incomplete["runs"] == 0).all() and incomplete["accuracy"].isna().all()
    again = searched(**changes)
    assert again.search == sweep.search and again.runs == sweep.runs
    # Without search, the run goes on to what it would have been.
    whole = searched(**{**changes, "prune": "none"})
    assert all(trial["state"] == "done" for trial in whole.search["trials"])
    assert settings(whole)[:2] == settings(sweep)[:2]


def test_medians_are_of_steps_that_enough_runs_have(tmp_path):
    def log(*values):
        lines = [{"step": 10 * step, "valid": {"loss": value}} for step, value in enumerate(values, 1)]
        return b"".join(json.dumps(line).encode() + b"\n" for line in lines)

    logs = [log(4, 3, 2, 1, 1), log(5, 5, 5, 5), log(4, 4, 4, 4), log(9, 9, 9, 9), log(1, 2)[:-4]]
    assert medians(logs, "valid.loss") == [(20, 4.5), (30, 4.5), (40, 4.5)]
    rule = Rule(figure="valid.loss", is_maximised=False, limits=[(20, 4.5)])
    assert rule.is_worse(5, 20) and not rule.is_worse(4, 20) and not rule.is_worse(99, 30)
    entry = {"step": 2, "train": {}, "valid": {"accuracy": 0.9}}
    (tmp_path / "log.jsonl").write_text(json.dumps(entry) + "\n" + '{"step": 4')
    pruned = MedianPruning(Rule(figure="valid.accuracy", is_maximised=True, limits=[(4, 0.5)]))
    pruned.start({}, tmp_path, step=3)
    pruned.log(4, {"valid.accuracy": 0.1})
    assert pruned.best == 0.9 and not pruned.is_pruned


def test_settings_that_cannot_be_combined_are_failed_trials(searched, small):
    notes = []
    sweep = searched(over={"optimizer.lr": [0.01, 1e30]}, method="random", trials=4, maximise="accuracy",
                     on_note=notes.append)  # fmt: skip
    states = {trial["settings"]["optimizer.lr"]: trial["state"] for trial in sweep.search["trials"]}
    assert states == {0.01: "done", 1e30: "failed"}
    failed = next(trial for trial in sweep.search["trials"] if trial["state"] == "failed")
    assert failed["value"] is None and "loss is" in failed["reason"]


def test_a_run_that_the_clock_ended_is_in_no_value(searched, small):
    """As in `compare table`, which counts no such run."""
    small["set"] |= {"training.num_examples": 128, "training.max_minutes": 1e-9}
    found = searched(over={"channel.vocab_size": [3, 4]}, trials=2, maximise="accuracy").search
    assert [trial["state"] for trial in found["trials"]] == ["incomplete"] * 2 and found["best"] is None
    assert "was ended by minutes" in search_lines(found, load_study(small).base, [1])[1]
    assert trials_table(found).rows[0].cells[-1].text == "incomplete"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"over": {"optimizer.lr": [1e-2, 1e-4, "log"]}}, "sweep: search.over: optimizer.lr: expected a range from"),
        ({"over": {"optimizer.lr": [0, 1, "log"]}}, "optimizer.lr: expected a lower bound above 0 for log, got 0"),
        ({"over": {"optimizer.lr": [1, "log"]}}, "expected a range such as [1e-4, 1e-2, log] or [64, 512, int]"),
        ({"over": {"optimizer.lr": [1, 2, 3, "log"]}}, "expected a range such as"),
        ({"over": {"sender.hidden_size": [1.5, 8, "int"]}}, "expected whole numbers for int"),
        ({"over": {"sender.hidden_size": [4, 8, "log"]}}, "sender.hidden_size"),
        ({"over": {"channel.vocab_size": [5]}}, "expected a range or several values, got one"),
        ({"over": {"channel.vocab_siz": [5, 6]}}, "unknown key 'channel.vocab_siz'"),
        ({"over": {"channel.vocab_size": [3, -1]}}, "sweep: search.over: 2 of 2 combinations (channel.vocab_size=-1)"),
        ({"over": {}}, "search.over: expected at least one setting"),
        ({"over": {"training.seed": [1, 2]}}, "use the key `seeds` of the study"),
        ({"trials": 0}, "sweep: search: trials: "),
        ({"method": "grid"}, "sweep: search.method: for a grid, use `vary` instead of search"),
        ({"minimise": "loss"}, "expected one of maximise and minimise"),
        ({"maximise": "topsym"}, "unknown figure in sweep: search.maximise 'topsym'; did you mean 'topsim'?"),
        ({"prune": "median"}, "topsim is not measured during training; add set: {evaluation.metrics: [topsim]}"),
    ],
)  # fmt: skip
def test_mistakes_are_told_before_anything_runs(small, change, message):
    del small["vary"]
    search = {"over": OVER, "trials": 5, "maximise": "topsim", **change}
    with pytest.raises(ConfigError, match=re.escape(message)):
        load_study({**small, "search": search}, device="cpu")


def test_a_search_is_instead_of_a_grid(small, tmp_path):
    search = {"over": OVER, "trials": 5, "maximise": "topsim"}
    with pytest.raises(ConfigError, match="sweep: vary: not allowed together with search"):
        load_study({**small, "search": search}, device="cpu")
    file = tmp_path / "mine.yaml"
    search = "search:\n  trials: 3\n  maximise: loss\n  over: {optimizer.lr: [1, 0, log]}\n"
    file.write_text(f"base: disc_tiny\n{search}")
    with pytest.raises(ConfigError, match=r"mine\.yaml:5: search\.over: optimizer\.lr: expected a range"):
        ec.sweep(file, out=tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_ranges_are_drawn_within_their_bounds_and_the_first_draws_stay(small):
    small["vary"] = {
        "optimizer.lr": [1e-4, 1e-2, "log"],
        "sender.hidden_size": [4, 6, "int"],
        "channel.max_len": [2, 3],
    }
    drawn = [load_study({**small, "random": number}, device="cpu").variants for number in (3, 30)]
    assert [each.settings for each in drawn[0]] == [each.settings for each in drawn[1][:3]]
    sizes = {each.settings["sender.hidden_size"] for each in drawn[1]}
    rates = [each.settings["optimizer.lr"] for each in drawn[1]]
    assert sizes == {4, 5, 6} and 1e-4 <= min(rates) < 1e-3 < max(rates) <= 1e-2
    assert float(f"{rates[0]:.6g}") == rates[0]
    assert Range(low=1, high=9, is_int=True, is_log=True).ends() == [1, 9]
    message = r"sweep: vary: optimizer.lr: a range needs the number of draws.*random: 20"
    with pytest.raises(ConfigError, match=message):
        load_study(small, device="cpu")


STUDY = """
base: disc_tiny
seeds: 2
set: {training.num_examples: 512, training.num_epochs: 2, evaluation.num_valid: 64}
search:
  trials: 8
  maximise: topsim
  at_once: 2
  over: {optimizer.lr: [1e-4, 1e-1, log], channel.vocab_size: [3, 20, int]}
"""


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("place", ["here", "local:2"])
def test_a_killed_search_goes_on_with_the_same_trials_and_computes_no_job_twice(tmp_path, place):
    pytest.importorskip("optuna")
    (tmp_path / "study.yaml").write_text(STUDY)

    def start(folder):
        command = [sys.executable, "-m", "ecsuite.cli", "sweep", "study.yaml", "--on", place, "--out", folder]
        silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return subprocess.Popen(command, cwd=tmp_path, **silent, start_new_session=True)

    assert start("whole").wait() == 0
    kept = tmp_path / "killed" / "jobs" / "results"
    for number in (1, 6, 12):
        process = start("killed")
        while process.poll() is None and len(list(kept.glob("*.json"))) < number:
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    before = {file.name: file.stat().st_mtime_ns for file in kept.glob("*.json")}
    assert len(before) >= 12
    assert start("killed").wait() == 0
    assert {name: (kept / name).stat().st_mtime_ns for name in before} == before
    files = [tmp_path / name / "sweep.json" for name in ("whole", "killed")]
    whole, killed = (json.loads(file.read_bytes()) for file in files)
    assert killed["search"] == whole["search"] and len(whole["search"]["trials"]) == 8
    assert [run["scores"] for run in killed["runs"]] == [run["scores"] for run in whole["runs"]]
