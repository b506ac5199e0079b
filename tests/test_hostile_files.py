import json
import shutil
from pathlib import Path

import pytest
import yaml

import ecsuite as ec
from ecsuite.files.checksums import CHECKSUM
from ecsuite.parts import own_code
from ecsuite.parts.own_code import UntrustedError
from test_packaging import SOURCES

EVIL = "./evil.py:Evil"
FINISHED = Path(__file__).parent / "fixtures" / "small" / "finished"
QUICK = [
    f"--set={setting}" for setting in ("training.num_examples=64", "training.batch_size=32", "training.num_epochs=1")
]


@pytest.fixture
def trained(ecsuite, monkeypatch):
    """A trained run with scores in `run`, and a file that leaves a mark when it is imported."""
    monkeypatch.setattr(own_code, "_trusted", set())
    Path("evil.py").write_text("open('mark', 'w').close()\nclass Evil: pass\ndef metric(corpus): return 1\n")
    return Path(shutil.copytree(FINISHED, "run"))


def with_evil(value):
    """JSON values in which every text is the name of a part of the file."""
    if isinstance(value, dict):
        return {key: with_evil(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [with_evil(inner) for inner in value]
    return EVIL if isinstance(value, str) else value


def corrupt(run, *, has_code):
    """Name the file in every section of the config, and wherever there is a text in the other files."""
    config = yaml.safe_load((run / "config.yaml").read_text())
    for section in config.values():
        if isinstance(section, dict) and "kind" in section:
            section["kind"] = EVIL
    if has_code:
        config["code"] = {"./evil.py": own_code.checksum("./evil.py")}
    (run / "config.yaml").write_text(yaml.safe_dump(config))
    metadata = json.loads((run / "metadata.json").read_text())
    del metadata[CHECKSUM]  # as a file that was made to harm has no checksum, or a right one
    for key in ("config", "versions", "training", "chance"):
        metadata[key] = with_evil(metadata[key])
    (run / "metadata.json").write_text(json.dumps({**metadata, "metrics": [EVIL], "kind": EVIL}))
    scores = json.loads((run / "scores.json").read_text())
    del scores[CHECKSUM]
    named = {**scores["scores"][0], "name": "topsim", "signature": EVIL, "details": {"metric": EVIL}}
    (run / "scores.json").write_text(json.dumps({**scores, "scores": [named], "corpus": {"name": EVIL}}))


COMMANDS = [
    "score run --metrics topsim", "score run/corpus.jsonl --metrics topsim",
    "compare run run/scores.json --metric topsim", "compare correlations run run --translation run",
    "convert run out.csv --to csv", "convert run out.safetensors --to egg", "show run run --plot curves.svg",
    "evaluate run", "show run", "show run --rounds 2", "config run/config.yaml",
    "train-game run/config.yaml --out again", "train-game disc_tiny --out run",
    "train-game disc_tiny --out run --resume", "translate run --pairs pairs.tsv --plan", "list",
]  # fmt: skip


@pytest.mark.sample(1)
@pytest.mark.parametrize("has_code", [True, False], ids=["code_section", "no_code_section"])
def test_nothing_is_imported(ecsuite, refused, trained, has_code):
    corrupt(trained, has_code=has_code)
    Path("pairs.tsv").write_text("a\tb\n")
    for command in COMMANDS:
        ecsuite(*command.split())
        assert not Path("mark").exists(), command
    err = refused("evaluate", "run")
    assert "evil.py" in err and "add --trust-code" in err
    for read in (ec.load_run, ec.train):
        with pytest.raises(UntrustedError):
            read("run" if read is ec.load_run else "run/config.yaml")
    ec.score("run", "topsim")
    assert ec.read_corpus("run").metadata["kind"] == EVIL
    assert not Path("mark").exists()


def test_with_trust_it_is_imported(ecsuite, trained):
    corrupt(trained, has_code=False)
    assert ecsuite("evaluate", "run", "--trust-code")[0] == 2  # it is no world
    assert Path("mark").exists()


def test_a_corpus_of_names_is_data(ecsuite, trained):
    Path("lines.jsonl").write_text(f"{json.dumps(f'{EVIL} evil:Evil')}\n" * 3)
    Path("objects.csv").write_text(f"shape,color\n{EVIL},red\n./evil.py:metric,blue\nstar,red\nbox,blue\n")
    assert ecsuite("score", "lines.jsonl", "--metrics", "elcc")[0] == 0
    line = ("objects.csv", "--column", "shape=attribute", *QUICK, "--set", "task.num_distractors=1")
    assert ecsuite("train-game", *line)[0] == 0
    assert not Path("mark").exists()


def test_kept_results_of_a_study_are_data(ecsuite, trained):
    line = "icy --model fc1l --grammar perm --num-attributes 2 --num-values 2 --seeds 1 --workers 1".split()
    line += ["--cache", "kept"]
    assert ecsuite(*line)[0] == 0
    for file in Path("kept").rglob("*.json"):
        file.write_text(json.dumps(with_evil(json.loads(file.read_text()))))
    ecsuite(*line)
    assert not Path("mark").exists()


def test_no_download_brings_code():
    for file in SOURCES:
        assert "trust_remote_code" not in file.read_text().replace('"trust_remote_code": False', "")
