import json
import os
import random
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path

import numpy as np
import pytest
from msgspec import structs

from counting_jobs import LOG, cube, square, total
from ecsuite.jobs.graph import Runner
from ecsuite.jobs.job import Job

KILLS = 40

SLOW = (pytest.mark.slow, pytest.mark.timeout(3600))


def in_process(work):
    """Start a process without waiting for imports; it ends with code 0 only if the work raises nothing."""
    number = os.fork()
    if number:
        return number
    code = 1
    try:
        work()
        code = 0
    except BaseException:
        traceback.print_exc()
        raise
    finally:
        os._exit(code)


def small_jobs(runner, *_):
    parts = [Job(square, number=number) for number in range(30)]
    found = runner.run([Job(total, parts=parts), *(Job(cube, number=number) for number in range(9))])
    return [result.value for result in found.values()]


def translation(runner, folder, _):
    from ecsuite.eval.translation.benchmark import TranslationBenchmark
    from ecsuite.eval.translation.jobs import make_study
    from ecsuite.grammars.baselines import zipf_parentheses

    words = np.random.default_rng(0).choice(list("abcdefgh"), (60, 4))
    pairs = folder / "pairs.tsv"
    pairs.write_text("".join(f"{' '.join(row)}\t{' '.join(row[::-1])}\n" for row in words))
    corpus = zipf_parentheses(1000, np.random.default_rng(0), num_types=20)
    study = make_study(corpus, pairs, preset="nano", device="cpu")
    return TranslationBenchmark().measure(study, runner).as_dict()


def concept_games(runner, folder, _):
    from ecsuite.eval.experiments.cbm import CbmTables, load_table, rows_of

    (folder / "small.yaml").write_text(
        "rows:\n- {name: thing_gs, base: thing_gs}\n- {name: thing_qt, base: thing_qt}\nname: small\nseeds: [1, 2]\n"
    )
    settings = [
        "training.num_examples=512", "training.num_epochs=2", "evaluation.num_valid=64", "evaluation.corpus_size=150",
        "world.num_values=4", "task.num_targets=4", "task.num_distractors=4", "training.checkpoint_every=4",
    ]  # fmt: skip
    study = load_table(folder / "small.yaml", assignments=settings)
    sweep = CbmTables(folder=runner.folder or folder).measure(study, runner)
    return [row.to_json() for row in rows_of(study, sweep)]


def xferbench(runner, folder, _):
    from ecsuite.eval.metrics.score import Options
    from ecsuite.eval.xferbench.metric import xferbench
    from ecsuite.eval.xferbench.presets import XferBenchOptions
    from ecsuite.grammars.baselines import zipf_parentheses

    corpus = zipf_parentheses(1000, np.random.default_rng(0), num_types=20)
    options, own = Options(device="cpu"), XferBenchOptions(preset="nano", num_seeds=2)
    return [structs.asdict(score) for score in xferbench(corpus, options, own, runner=runner)]


def icy(runner, folder, _):
    from ecsuite.eval.icy.benchmark import Icy
    from ecsuite.eval.icy.study import StudyConfig, resolve

    config = StudyConfig(
        models=("fc1l", "lstm"), grammars=("perm", "rot"), seeds=(1, 2), num_attributes=3, num_values=4,
        hidden_size=16,
    )  # fmt: skip
    return Icy().measure(resolve(config), runner).to_json()


def xtreme(runner, _, ask):
    from ecsuite.eval.xtreme.report import Xtreme

    return Xtreme().measure(ask(seeds=(0, 1)), runner).to_json()


STUDIES = (translation, concept_games, xferbench, icy, xtreme)


def without_times(value):
    if isinstance(value, dict):
        return {key: without_times(each) for key, each in value.items() if key not in ("seconds", "folder")}
    return [without_times(each) for each in value] if isinstance(value, list | tuple) else value


@pytest.mark.parametrize(
    ("study", "num_kills"), [(small_jobs, 3), *(pytest.param(study, KILLS, marks=SLOW) for study in STUDIES)]
)
def test_a_killed_study_goes_on_to_the_same_result(tmp_path, ask, monkeypatch, study, num_kills):
    monkeypatch.setenv(LOG, str(tmp_path / "log.txt"))

    def run(folder):
        result = study(Runner(folder=folder / "kept"), folder, ask)
        (folder / "result.json").write_text(json.dumps(without_times(result), sort_keys=True))

    whole = tmp_path / "whole"
    whole.mkdir()
    began = time.monotonic()
    assert os.waitpid(in_process(lambda: run(whole)), 0)[1] == 0
    seconds = time.monotonic() - began
    rng = random.Random(0)
    for number in range(num_kills):
        folder = tmp_path / f"killed {number}"
        folder.mkdir()
        process = in_process(lambda folder=folder: run(folder))
        time.sleep(rng.uniform(0, seconds))
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        kept = {file: file.stat().st_mtime_ns for file in folder.glob("kept/results/*.json")}
        assert os.waitpid(in_process(lambda folder=folder: run(folder)), 0)[1] == 0
        assert (folder / "result.json").read_text() == (whole / "result.json").read_text()
        assert {file: file.stat().st_mtime_ns for file in kept} == kept
        names = {file.name for file in Path(folder).glob("kept/results/*.json")}
        assert names == {file.name for file in whole.glob("kept/results/*.json")}
        assert not list(folder.glob("kept/groups/*.*")) and not list(folder.glob("kept/scratch/*"))


@pytest.mark.parametrize("num_starts", [3, pytest.param(1000, marks=SLOW)])
def test_of_two_processes_one_computes_and_both_have_the_result(tmp_path, monkeypatch, num_starts):
    monkeypatch.setenv(LOG, str(tmp_path / "log.txt"))
    for start in range(num_starts):

        def work(start=start):
            job = Job(square, number=start)
            assert Runner(folder=tmp_path / f"kept {start}").run([job])[job].value["square"] == start**2

        processes = [in_process(work) for _ in range(2)]
        assert [os.waitpid(process, 0)[1] for process in processes] == [0, 0]
    expected = sorted(f"square {start}" for start in range(num_starts))
    assert sorted((tmp_path / "log.txt").read_text().splitlines()) == expected


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("num_starts", [2])
def test_two_sweeps_on_one_folder_share_the_runs(tmp_path, num_starts):
    (tmp_path / "study.yaml").write_text(
        "base: disc_tiny\nvary: {channel.vocab_size: [5, 20]}\nseeds: 2\nscore: [topsim]\n"
        "set: {training.num_epochs: 2}\n"
    )

    def start(out, on):
        command = [sys.executable, "-m", "ecsuite.cli", "sweep", "study.yaml", "--on", on, "--out", out]
        return subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def content(out):
        return {file.parent.name: file.read_bytes() for file in tmp_path.glob(f"{out}/runs/*/corpus.jsonl")}

    start("alone", "here").communicate()
    for number in range(num_starts):
        both = [start(f"shared-{number}", on) for on in ("local:2", "here")]
        for process in both:
            out, err = process.communicate()
            assert process.returncode == 0 and "0.8" in out and "Traceback" not in err, err
        assert content(f"shared-{number}") == content("alone")
        assert len(list(tmp_path.glob(f"shared-{number}/jobs/results/*.json"))) == 8
        assert not list(tmp_path.glob(f"shared-{number}/jobs/scratch/*"))
