"""A sweep of 18 runs whose folders are written by hand, and pages of it."""

import json
import random
import re

import pytest
import yaml

from ecsuite.eval.views.html import page
from ecsuite.eval.views.html.page import write_report

KINDS, SIZES, SEEDS = ("gumbel", "reinforce"), (5, 20, 80), (1, 2, 3)


def written_run(folder, kind, size, seed, *, concepts=("color=red", "shape=star")):
    """A run folder with a corpus of four messages."""
    folder.mkdir(parents=True)
    config = {
        "name": "disc_tiny",
        "world": {"kind": "attributes"},
        "channel": {"kind": kind, "vocab_size": size},
        "training": {"seed": seed, "num_epochs": 3, "precision": "fp32"},
    }
    (folder / "config.yaml").write_text(yaml.safe_dump({"format": 1, **config}))
    draw = random.Random(f"{kind} {size} {seed}")
    log = [
        {"step": step, "train": {"loss": 1 / step}, "valid": {"loss": 1.0, "accuracy": accuracy}}
        for step in (1, 2, 3)
        for accuracy in [0.9 - 0.5 / step + draw.random() / 10]
    ]
    (folder / "log.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in log))
    (folder / "corpus.jsonl").write_text("[1,2,0]\n[1,3,0]\n[1,2,0]\n[2,0]\n")
    rows = [[concepts[0]], [concepts[1]], [concepts[0]], list(concepts)]
    (folder / "meanings.jsonl").write_text("".join(json.dumps({"concepts": row}) + "\n" for row in rows))
    metadata = {
        "vocab_size": size, "eos": 0, "config": config,
        "versions": {"ecsuite": "0.1.0", "torch": "2.13.0", "device": "cpu", "num_threads": 1},
        "training": {"stopped": "epochs", "step": 3, "accuracy": log[-1]["valid"]["accuracy"], "loss": 1.0},
    }  # fmt: skip
    (folder / "metadata.json").write_text(json.dumps(metadata))
    value = draw.random() / 5 + (0.5 if kind == "reinforce" else 0.1)
    score = {
        "name": "topsim", "value": value, "ci95": [value - 0.1, value + 0.1], "about": "topographic similarity",
        "reason": None, "details": {}, "signature": "topsim|eos:strip|v:1",
    }  # fmt: skip
    (folder / "scores.json").write_text(json.dumps({"format": 1, "corpus": {}, "scores": [score]}))


@pytest.fixture(scope="session")
def study(tmp_path_factory):
    """A folder of 18 runs: two channels, three sizes of vocabulary, three seeds."""
    folder = tmp_path_factory.mktemp("study")
    for kind in KINDS:
        for size in SIZES:
            for seed in SEEDS:
                written_run(folder / "runs" / f"{kind}-{size}-{seed}", kind, size, seed)
    return folder


@pytest.fixture
def page_of(tmp_path):
    """The text of a page about paths, and its data."""

    def page_of(*paths, **options):
        file = write_report(paths, tmp_path / "report.html", **options).path
        text = file.read_text("utf-8")
        data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text)[1])
        return text, data

    return page_of


@pytest.fixture
def no_galleries(monkeypatch):
    """Pages of runs have no pictures, which take nearly all of the time."""
    monkeypatch.setattr(page, "galleries", lambda *_: [])


@pytest.fixture(scope="session")
def write_run():
    """Writes a run folder: `write_run(folder, kind, size, seed)`."""
    return written_run
