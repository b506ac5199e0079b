import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = """train-game disc_tiny --device cpu --quiet --set=training.num_examples=512 --set=training.num_epochs=4
--set=training.evaluate_every=8 --set=training.precision=fp32""".split()


def contents(folder):
    """The bytes of what a run says and learnt, and its log without the speed."""
    files = [*folder.glob("checkpoint-*"), folder / "corpus.jsonl", folder / "meanings.jsonl"]
    return {file.name: file.read_bytes() for file in files} | {"log": log(folder)}


def log(folder):
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    return [{key: value for key, value in line.items() if key != "examples_per_second"} for line in lines]


def losses(folder):
    return [line[part]["loss"] for line in log(folder) for part in ("train", "valid")]


def train(cwd, *options, **variables):
    """Trains in a process of its own, in a folder, with environment variables; returns the run folder."""
    cwd.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **variables}
    command = [sys.executable, "-m", "ecsuite.cli", *COMMAND, *options, "--out", "run"]
    subprocess.run(command, check=True, cwd=cwd, env=environment, capture_output=True)
    return cwd / "run"


@pytest.mark.slow
def test_a_copy_under_another_path_goes_on_to_the_same_bytes(ecsuite, tmp_path):
    assert ecsuite(*COMMAND, "--out", "whole")[0] == 0
    assert ecsuite(*COMMAND, "--epochs", "2", "--out", "first")[0] == 0
    copy = tmp_path / "a folder" / "cópia"
    shutil.copytree("first", copy)
    shutil.rmtree("first")
    assert ecsuite(*COMMAND, "--resume", "--out", str(copy))[0] == 0
    whole = contents(Path("whole"))
    assert {name: content for name, content in contents(copy).items() if name in whole} == whole


@pytest.mark.slow
def test_hash_seeds_folders_and_repetition(tmp_path):
    expected = contents(train(tmp_path / "a", PYTHONHASHSEED="1"))
    others = {"LC_ALL": "C", "TZ": "Asia/Tokyo"}
    for number, (seed, variables) in enumerate((("1", {}), ("2", {}), ("random", others))):
        folder = tmp_path / "deep" / f"b {number}"
        assert contents(train(folder, PYTHONHASHSEED=seed, **variables)) == expected


SWEEP = {"base": "disc_tiny", "vary": {"channel.vocab_size": [3, 5]}, "seeds": 1, "score": ["topsim"]}
SWEEP["set"] = {"training.num_examples": 64, "training.num_epochs": 2}
STUDIES = {
    "icy": ("icy --model fc1l --grammar perm --num-attributes 2 --num-values 2 --seeds 2 --cache study/jobs", ()),
    "sweep": ("sweep sweep.yaml --device cpu --out study", ("runs/*/corpus.jsonl", "runs/*/checkpoint-*")),
}  # fmt: skip
"""Commands whose kept results are in `study/jobs`, and further files in `study` that must be equal."""


@pytest.mark.slow
@pytest.mark.parametrize("name", STUDIES)
def test_executors(all_draws, succeeded, name):
    Path("sweep.yaml").write_text(json.dumps(SWEEP))
    command, files = STUDIES[name]
    found = []
    for place in ("local:1", "local:2"):
        succeeded(*command.split(), "--on", place)
        entries = [json.loads(file.read_text()) for file in sorted(Path("study/jobs/results").glob("*.json"))]
        kept = [(entry["key"], entry["value"]) for entry in entries]
        assert len(kept) > 1
        made = [file for each in files for file in sorted(Path("study").glob(each))]
        found.append((kept, [file.read_bytes() for file in made]))
        shutil.rmtree("study")
    assert found[0] == found[1]


OTHERS = {
    "2 threads": {"OMP_NUM_THREADS": "2"},
    "no vector instructions": {
        "ATEN_CPU_CAPABILITY": "default", "ONEDNN_MAX_CPU_ISA": "SSE41", "MKL_ENABLE_INSTRUCTIONS": "SSE4_2",
    },
    "AVX2": {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"},
}  # fmt: skip


@pytest.mark.slow
def test_between_threads_processors_and_precisions_the_difference_is_small(tmp_path):
    """docs/reliability.md states the differences that this prints (`pytest -s`)."""
    base = train(tmp_path / "base")
    found = {name: train(tmp_path / name, **variables) for name, variables in OTHERS.items()}
    found["bf16"] = train(tmp_path / "bf16", "--set", "training.precision=bf16")
    for name, run in found.items():
        most = max(abs(one - other) for one, other in zip(losses(base), losses(run), strict=True))
        equal = (base / "corpus.jsonl").read_bytes() == (run / "corpus.jsonl").read_bytes()
        print(f"{name}: losses differ by at most {most:.2g}, corpora are {'equal' if equal else 'not equal'}")
        assert most < (0.05 if name == "bf16" else 1e-4)
