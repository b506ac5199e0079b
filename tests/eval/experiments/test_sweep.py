"""Sweeps end to end: each run is that of `train-game`, each score that of `score`, and only what is new is computed."""

import csv
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from safetensors.numpy import save_file

import ecsuite as ec
from ecsuite.eval.experiments import jobs
from ecsuite.eval.experiments.jobs import MetricInput, plan, unpack
from ecsuite.eval.experiments.result import MOST_ENDED, MOST_RUNNING, FollowedRun, ProgressText
from ecsuite.eval.experiments.study import load_study
from ecsuite.eval.experiments.sweep import Sweeps
from ecsuite.eval.metrics import find_metric
from ecsuite.eval.results.sources import STORE
from ecsuite.eval.statistics import resampling
from ecsuite.files.checksums import CHECKSUM, sealed_text
from ecsuite.jobs.graph import Runner
from ecsuite.jobs.job import Result
from ecsuite.runtime.errors import ConfigError, DamagedError, DivergedError
from model_server import ModelServer


@pytest.fixture
def swept(small, tmp_path):
    """Runs a sweep in a folder."""

    def swept(tree=small, workers=1, **options):
        runner = Runner(folder=tmp_path / STORE, num_workers=workers, **options)
        return Sweeps(folder=tmp_path).measure(load_study(tree, device="cpu"), runner)

    return swept


@pytest.mark.slow
def test_runs_and_scores_are_those_of_the_commands(swept, small, tmp_path):
    sweep = swept()
    assert [(tuple(run.settings.values()), run.seed) for run in sweep][:3] == [
        (("gumbel", 3), 1), (("gumbel", 3), 2), (("gumbel", 5), 1),
    ]  # fmt: skip
    run = sweep[5]
    changes = {**small["set"], **run.settings, "training.seed": run.seed}
    alone = ec.train("disc_tiny", out=tmp_path / "alone", overrides=changes, progress=lambda *_: None)
    for name in ("corpus.jsonl", "meanings.jsonl"):
        assert (run.folder / name).read_bytes() == (alone.folder / name).read_bytes()
    card = ec.score(alone, ["topsim", "elcc"])
    assert [(score["name"], score["value"]) for score in run.scores] == [(name, card[name].value) for name in card]
    saved = json.loads((run.folder / "scores.json").read_text())
    assert [score["signature"] for score in saved["scores"]] == [score["signature"] for score in run.scores]
    assert ec.load_run(run.folder).measures == run.training["measures"]


@pytest.mark.slow
def test_only_what_is_new_is_computed(swept, small, monkeypatch):
    small = {**small, "vary": {"channel.vocab_size": [3, 5]}}
    first = swept({**small, "score": "topsim"})
    monkeypatch.setattr(jobs, "train_in_job", None)
    told = []
    more = swept(small, note=told.append)  # another metric: the trainings are kept
    assert [run.training for run in more] == [run.training for run in first]
    assert told and "4 of 8 results stored" in told[0]
    assert swept({**small, "vary": {"channel.vocab_size": [5]}})[0].training == first[2].training


def test_a_deleted_run_folder_is_written_again_from_the_kept_result(swept, small, monkeypatch):
    small |= {"vary": {"channel.vocab_size": [3, 5]}, "seeds": 1, "score": "topsim"}
    run = swept(small)[0]
    before = {file.name: file.read_bytes() for file in run.folder.iterdir() if file.suffix != ".safetensors"}
    shutil.rmtree(run.folder)
    monkeypatch.setattr(jobs, "train_in_job", None)
    swept(small)
    after = {file.name: file.read_bytes() for file in run.folder.iterdir()}
    assert after.keys() == before.keys() and after["corpus.jsonl"] == before["corpus.jsonl"]


def test_a_plan_has_a_row_for_each_setting_and_says_what_differs(ecsuite, small):
    tree = {**small, "vary": {"channel.vocab_size": [3, 5]}, "seeds": [1, 2, 3, 7], "score": "topsim"}
    Path("study.yaml").write_text(yaml.safe_dump(tree))
    code, out, _ = ecsuite("sweep", "study.yaml", "--plan", "--on", "here")
    rows = [line.split("  ") for line in out.splitlines()]
    assert code == 0 and [[cell.strip() for cell in row if cell][:4] for row in rows[2:4]] == [
        ["channel.vocab_size=3", "1-3, 7", "8", "0"], ["channel.vocab_size=5", "1-3, 7", "8", "0"],
    ]  # fmt: skip
    assert "16 jobs: 0 stored in runs/study/jobs, 16 to compute" in out and "0 of 16 stored" not in out
    assert not Path("runs").exists()
    short = {**tree, "vary": {"channel.vocab_size": [3]}, "seeds": 1}
    Path("study.yaml").write_text(yaml.safe_dump(short))
    assert ecsuite("sweep", "study.yaml", "--on", "here")[0] == 0
    before = states(Path("runs"))
    out = ecsuite("sweep", "study.yaml", "--plan", "--on", "here")[1]
    assert "2 jobs: 2 stored" in out and "would be replaced" not in out
    other = {**short, "set": {**short["set"], "training.num_epochs": 15, "sender.hidden_size": 5}}
    Path("study.yaml").write_text(yaml.safe_dump(other))
    code, out, _ = ecsuite("sweep", "study.yaml", "--plan", "--on", "here")
    lines = out.splitlines()
    assert code == 0
    [line] = [line for line in lines if line.startswith("0 of 2 stored: ")]
    told = ("training.num_epochs is 15 here, 1 in the folder", "sender.hidden_size is 5 here, 4 in the folder")
    assert sorted(line.removeprefix("0 of 2 stored: ").split("; ")) == sorted(told)
    assert "runs/study/sweep.json would be replaced: 0 of its 1 runs are in this study" in lines
    jobs = json.loads(ecsuite("sweep", "study.yaml", "--plan", "--on", "here", "--json")[1])["jobs"]
    assert [job["is_kept"] for job in jobs] == [False, False]
    assert states(Path("runs")) == before


def test_a_setting_and_a_measure_of_one_name_have_a_column_each(ecsuite, small, tmp_path):
    pytest.importorskip("pandas")
    del small["vary"]
    small |= {"vary": {"loss": ["task", "reward"]}, "seeds": 1, "score": "topsim"}
    small["set"] = {**small["set"], "channel.kind": "reinforce", "training": {"precision": "fp32", "num_epochs": 1}}
    sweep = ec.sweep(small, out=tmp_path / "loss", on="here", device="cpu", progress=lambda *_: None)
    frames = [sweep.to_frame(), *(ec.results(tmp_path / "loss").to_frame(rows) for rows in ("run", "value"))]
    for frame in frames:
        assert list(dict.fromkeys(frame["setting.loss"])) == ["task", "reward"]
    for frame in frames[:2]:
        assert frame["loss"].tolist() == [run.training["measures"]["loss"] for run in sweep]
    # Settings of all runs are constant columns; a file that does not have them is read, too.
    for frame in frames[:2]:
        assert set(frame["training.num_examples"]) == {64} and set(frame["training.precision"]) == {"fp32"}
        assert len(frame.columns) == len(set(frame.columns))
    assert len(ec.results(tmp_path / "loss").filter({"training.num_examples": 64, "loss": "task"})) == 1
    saved = tmp_path / "loss" / "sweep.json"
    data = json.loads(saved.read_text())
    saved.write_text(json.dumps({key: value for key, value in data.items() if key not in ("set", CHECKSUM)}))
    lost = set(frames[1].columns) - set(ec.results(tmp_path / "loss").to_frame().columns)
    assert "training.precision" in lost
    code, out, err = ecsuite("compare", "table", tmp_path / "loss", "--metrics", "loss,topsim", "--as", "csv")
    assert code == 0, err
    header, *rows = csv.reader(out.splitlines())
    assert header[0] == "setting.loss" and "loss" in header and len(header) == len(set(header))
    assert [row[0] for row in rows[:2]] == ["task", "reward"]


def test_drift_is_of_the_languages_over_training(ecsuite, small, tmp_path):
    del small["vary"]
    small |= {"seeds": 1, "score": "drift"}
    with pytest.raises(ConfigError, match=r"score: drift is of the languages over training: add set: {evaluation.keep"):
        ec.sweep(small, out=tmp_path / "without", on="here", device="cpu", progress=lambda *_: None)
    small["set"] |= {"evaluation.keep": ["languages"], "training.num_epochs": 2, "training.evaluate_every": 1}
    [run] = ec.sweep(small, out=tmp_path / "with", on="here", device="cpu", progress=lambda *_: None)
    value = ec.score(run.folder / "languages.jsonl", ["drift"])["drift"].value
    assert value is not None and value == run.scores[0]["value"] == ec.score(run.folder, ["drift"])["drift"].value


def states(folder):
    """Content and modification time of all files but locks."""
    files = [file for file in folder.rglob("*") if file.is_file() and file.suffix != ".lock"]
    return {file: (file.read_bytes(), file.stat().st_mtime_ns) for file in files}


@pytest.mark.slow
def test_processes_give_the_same_bytes(small, tmp_path):
    small = {**small, "vary": {"channel.vocab_size": [3, 5]}, "seeds": 1}
    found = [
        ec.sweep(small, out=tmp_path / on.replace(":", ""), on=on, device="cpu", progress=lambda *_: None)
        for on in ("here", "local:2")
    ]
    for one, other in zip(*found, strict=True):
        assert one.scores == other.scores and one.training == other.training
        assert (one.folder / "corpus.jsonl").read_bytes() == (other.folder / "corpus.jsonl").read_bytes()


def test_a_run_that_fails_is_told_and_the_others_go_on(swept, small, monkeypatch):
    small["vary"] = {"optimizer.lr": [0.01, 1e30]}
    told = []
    sweep = swept(small, note=told.append)
    assert [run.failure is None for run in sweep] == [True, True, False, False]
    assert any("not finite" in line or "loss is" in line for line in told)
    assert "2 failed" in repr(sweep) and sweep[2].scores == ()
    with pytest.raises(DivergedError):
        swept({**small, "vary": {"optimizer.lr": [1e30]}})
    calls, train = [], jobs.train_in_job
    monkeypatch.setattr(jobs, "train_in_job", lambda *given: calls.append(1) or train(*given))
    assert swept(small)[2].failure is not None and calls == []  # it is computed again only if asked
    assert swept(small, retries=True)[2].failure is not None and calls == [1, 1]


def test_a_finished_sweep_reads_no_corpus_and_writes_no_file(ecsuite, small, monkeypatch):
    tree = {**small, "vary": {"channel.vocab_size": [3, 5]}, "seeds": 1, "score": "topsim,elcc"}
    Path("study.yaml").write_text(yaml.safe_dump(tree))
    command = ("sweep", "study.yaml", "--on", "here")
    first = ecsuite(*command)
    before = states(Path("runs/study"))
    for name in ("read_corpus", "unpack", "score_corpus"):
        monkeypatch.setattr(jobs, name, None)
    assert first[0] == 0 and ecsuite(*command)[:2] == first[:2] and states(Path("runs/study")) == before
    corpus = next(Path("runs/study/runs").glob("*/corpus.jsonl"))
    corpus.write_text(corpus.read_text()[:-5] + "\n")
    code, _, err = ecsuite(*command)
    assert code == 3 and "corpus.jsonl: damaged or edited since it was written" in err


@pytest.mark.parametrize("name", ["../out.json", "/out.json", "code/mine.json", "mine.py", "config.pth"])
def test_a_kept_result_writes_no_file_but_those_of_a_run(tmp_path, name):
    """One of a store that others filled could write code where the next import finds it."""
    save_file({name: np.frombuffer(b"text", dtype=np.uint8)}, tmp_path / "arrays.safetensors")
    with pytest.raises(DamagedError, match="expected files of a run, got"):
        unpack(tmp_path / "arrays.safetensors", tmp_path / "in" / "here")
    assert {file.name for file in tmp_path.rglob("*")} == {"arrays.safetensors", "in", "here"}


def test_files_of_metrics_are_known_by_their_content(small, tmp_path, monkeypatch):
    """A metric of the user's own, downloaded texts, and files that options name."""
    monkeypatch.setenv("ECSUITE_DATA", str(tmp_path))
    for name, file, text in (
        (f"{tmp_path}/mine.py:mine", "mine.py", "def mine(corpus):\n    '''Mine.'''\n    return {}\n"),
        ("xferbench,preset=danish", "wikipedia/da.jsonl", '"en {}"\n'),
        (f"efficiency,need={tmp_path}/need.csv", "need.csv", "meaning,need\n0,{}\n"),
    ):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        keys = []
        for value in (1, 2, 1):
            (tmp_path / file).write_text(text.format(value))
            keys.append(MetricInput(name=name).job_key())
        assert keys[0] == keys[2] != keys[1]
    assert "data" not in MetricInput(name="xferbench").job_key()


@pytest.mark.parametrize("name", ["csar", "morphemes", "xferbench", "topsim", "transfer"])
def test_a_raised_version_of_a_metric_or_of_draws_is_another_key(name, monkeypatch):
    before = MetricInput(name=name).job_key()
    monkeypatch.setattr(resampling, "VERSION", resampling.VERSION + 1)
    draws = MetricInput(name=name).job_key()
    [first, *further] = find_metric(name).traits
    raised = replace(first, version=first.version + 1)
    monkeypatch.setitem(vars(find_metric(name)), "traits", (raised, *further))
    monkeypatch.setitem(vars(find_metric(name)), "shared", raised)
    assert len({repr(each) for each in (before, draws, MetricInput(name=name).job_key())}) == 3


def test_nothing_is_written_where_the_place_is_unknown(tmp_path, small):
    with pytest.raises(ConfigError, match="--on cluster: expected here, local"):
        ec.sweep(small, out=tmp_path / "x", on="cluster")
    assert not (tmp_path / "x").exists()


def test_parts_together_are_the_whole(ecsuite, small, monkeypatch):
    small |= {"seeds": 1, "score": "topsim"}
    Path("study.yaml").write_text(yaml.safe_dump(small))
    for part in ("1/3", "2/3", "3/3"):
        code, out, _ = ecsuite("sweep", "study.yaml", "--on", "here", "--part", part)
        assert code == 0 and f"part {part}: " in out and not Path("runs/study/sweep.json").exists()
        assert out.endswith("when all parts are done there: ecsuite sweep study.yaml\n")
    monkeypatch.setattr(jobs, "train_in_job", None)
    code, out, err = ecsuite("sweep", "study.yaml", "--on", "here")
    assert code == 0 and "next: ecsuite compare table runs/study --as latex" in out
    script = ["sweep", "study.yaml", "--print-sbatch"]
    lines = ecsuite(*script, "--slurm", "partition=low", "--out", "my runs")[1].splitlines()
    srun = "srun ecsuite sweep study.yaml --on here --quiet --out 'my runs' --part $SLURM_ARRAY_TASK_ID/4"
    assert {"#SBATCH --array=1-4", "#SBATCH --partition=low", "#SBATCH --time=60", srun} <= set(lines)
    code, out, _ = ecsuite(*script, "--on", "slurm,partition=gpu,time=2:00:00", "--device", "cuda")
    assert code == 0 and "#SBATCH --partition=gpu" in out and "#SBATCH --time=2:00:00" in out
    assert "--quiet --device cuda --part" in out
    code, _, err = ecsuite(*script, "--on", "local:2")
    assert (code, err) == (2, "--print-sbatch: not with --on local:2; options of sbatch are in --slurm\n")
    for part in ("0/3", "4/3", "x", "1/"):
        code, out, err = ecsuite("sweep", "study.yaml", "--part", part)
        assert code == 2 and err == f"--part {part}: expected K/N with K from 1 to N, such as 2/10\n"


def test_a_sweep_of_the_earlier_rule_of_candidates_is_not_mixed(ecsuite, tmp_path):
    study = (
        "base: disc_tiny\nset: {training.num_epochs: 1, training.num_examples: 32, world.held_out: 0.25, "
        "task.num_distractors: 2CANDIDATES}\nseeds: 1\n"
    )
    (tmp_path / "st.yaml").write_text(study.replace("CANDIDATES", ""))
    assert ecsuite("sweep", "st.yaml", "--on", "here", "-q")[0] == 0
    for config in (tmp_path / "runs" / "st" / "runs").glob("*/config.yaml"):
        written = re.sub(r"(?m)^ *candidates: \w+\n|candidates: \w+,? ?", "", config.read_text())
        config.write_bytes(sealed_text(written.encode()))
    code, _, err = ecsuite("sweep", "st.yaml", "--on", "here", "-q")
    assert code == 2 and err.count("\n") == 1 and "begun when the candidates of held-out rounds were" in err
    (tmp_path / "st.yaml").write_text(study.replace("CANDIDATES", ", world.candidates: split"))
    assert ecsuite("sweep", "st.yaml", "--on", "here", "-q")[0] == 0


def trained(accuracy, stopped="epochs"):
    return Result(value={"stopped": stopped, "measures": {"accuracy": accuracy}})


def test_runs_are_counted_and_named(small, tmp_path):
    small["score"] = ["elcc"]
    runs = [FollowedRun.of(run) for run in plan(load_study(small), tmp_path)]
    standing = ProgressText(lambda: runs)
    first, second, third, fourth = runs[:4]
    assert standing.text({}, {}) == "0 of 8 runs done, 0 running"
    results = {
        first.training: trained(0.5),
        first.scores[0]: Result(value=[]),
        second.training: trained(0.75),
        third.training: Result(value=None, failure="the loss is not finite"),
    }
    latest = {second.scores[0]: "elcc of a", fourth.training: "disc_tiny 1: epoch 2/8  accuracy 83.2%"}
    assert standing.text(results, latest).splitlines() == [
        "1 of 8 runs done, 2 running, 1 failed, mean accuracy 50.0%",
        "  kind=gumbel, vocab_size=3, seed 2: elcc of a",
        "  kind=gumbel, vocab_size=5, seed 2: epoch 2/8  accuracy 83.2%",
        "  kind=gumbel, vocab_size=5, seed 1: failed: the loss is not finite",
        "  kind=gumbel, vocab_size=3, seed 1: done, accuracy 50.0%",
    ]


def test_a_plan_with_language_models_asks_nobody_and_tells_the_calls(ecsuite):
    with ModelServer() as server:
        model = {"kind": "server", "url": server.url, "model": "m"}
        participant = {"kind": "language_model", "backend": model, "prompt_price": 2}
        settings = {"play": {"agents": 4, "participant": participant}}
        settings["training"] = {"num_examples": 20, "batch_size": 5}
        study = {"base": "naming", "set": settings, "vary": {"play.pool": [2, 5]}, "seeds": 3, "score": []}
        Path("study.yaml").write_text(yaml.safe_dump(study))
        code, out, _ = ecsuite("sweep", "study.yaml", "--plan", "--on", "local:2")
        assert code == 0 and server.asked == 0 and "about 240 calls, " in out and "by their prices" in out


def test_of_many_runs_some_lines_are_shown(small, tmp_path):
    small["score"] = ["elcc"]
    runs = [FollowedRun.of(run) for run in plan(load_study(small), tmp_path)]
    trained = Result(value={"stopped": "epochs", "measures": {"accuracy": 1.0}})
    ended = {job: trained if job is run.training else Result(value=[]) for run in runs for job in run.jobs}
    text = ProgressText(lambda: runs).text(ended, {})
    assert text.startswith("8 of 8 runs done, 0 running, mean accuracy 100.0%\n") and text.count("\n") == MOST_ENDED
    text = ProgressText(lambda: runs).text({}, {run.training: "a: b" for run in runs})
    assert text.endswith("\n  and 2 more running") and text.count("\n") == MOST_RUNNING + 1
