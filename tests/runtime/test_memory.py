import gzip
import json
import lzma
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.training import trainer as train_state
from ecsuite.games.training.train import train
from ecsuite.runtime import provenance
from ecsuite.runtime.ahead import Prefetcher
from ecsuite.runtime.compiler import take_step
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.memory import max_memory, set_max_memory
from ecsuite.runtime.provenance import checkout_commit


def test_the_variable_is_read_as_well(monkeypatch):
    monkeypatch.setenv("ECSUITE_MAX_MEMORY", "1G")
    set_max_memory("3G")
    assert max_memory() == 3 << 30
    monkeypatch.setenv("ECSUITE_MAX_MEMORY", "much")
    with pytest.raises(ConfigError, match=r"^ECSUITE_MAX_MEMORY: expected a size"):
        max_memory()


@pytest.mark.parametrize(("name", "pack"), [("a.gz", gzip.compress), ("a.xz", lzma.compress)])
def test_packed_zeros(refused, monkeypatch, name, pack):
    """Ten thousand bytes that hold ten million."""
    monkeypatch.setenv("ECSUITE_MAX_MEMORY", "1M")
    Path(name).write_bytes(pack(bytes(10**7)))
    Path("run").mkdir()
    Path("run", "corpus.jsonl").write_text("[1, 2]\n")
    err = refused("translate", "run", "--pairs", name, "--plan")
    assert err.startswith(f"{name}: needs ") and "are allowed; --max-memory" in err


def test_values_ahead_are_those_of_the_arguments_in_any_order_of_calls():
    ahead = Prefetcher(lambda number, size: (number, size))
    asked = [(0, 2), (1, 2), (2, 3), (3, 3), (9, 3), (4, 3), (4, 3), (5, 2)]
    assert [ahead(*each) for each in asked] == asked


def weights(kind, step):
    parameter = torch.nn.Parameter(torch.linspace(-1, 1, 20))
    optimizer = kind([parameter], lr=0.1)
    for _ in range(3):
        parameter.grad = parameter.detach() ** 3
        step(optimizer)
    return parameter.detach()


@pytest.mark.parametrize("kind", [torch.optim.Adam, torch.optim.AdamW, torch.optim.SGD])
def test_weights_are_those_of_an_ordinary_step_and_hooks_are_called(kind):
    seen = []

    def step(optimizer):
        optimizer.register_step_post_hook(lambda *_: seen.append(True))
        take_step(optimizer)

    assert torch.equal(weights(kind, step), weights(kind, lambda optimizer: optimizer.step())) and seen


@pytest.mark.slow
def test_training_imports_no_compiler(tmp_path):
    code = (
        "import sys; from ecsuite.cli import main; "
        f"sys.argv = ['ecsuite', 'train-game', 'disc_tiny', '--set', 'training.num_epochs=1', '--out', r'{tmp_path}'];"
        "main_result = None\ntry: main()\nexcept SystemExit: pass\n"
        "assert 'torch' in sys.modules and 'torch._dynamo' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize("head", ["", "ref: refs/heads/none", "ref: refs/heads/.invalid", "1234", "\0"])
def test_a_commit_that_is_not_known_is_absent(tmp_path, head):
    assert checkout_commit(tmp_path) is None
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text(f"{head}\n")
    assert checkout_commit(tmp_path) is None


@pytest.mark.parametrize(
    ("noted", "commit"),
    [
        (json.dumps({"vcs_info": {"vcs": "git", "commit_id": COMMIT}}), COMMIT),
        (json.dumps({"vcs_info": {"vcs": "git", "commit_id": 3}}), None),
        (json.dumps({"dir_info": {}}), None),
        ("[", None), (None, None),
    ],
)  # fmt: skip
def test_the_commit_of_an_installation(tmp_path, monkeypatch, noted, commit):
    class Installed:
        def locate_file(self, name):
            return tmp_path / name

        def read_text(self, name):
            return noted

    monkeypatch.setattr(provenance, "distribution", lambda name: Installed())
    assert provenance._installed_commit(tmp_path / "ecsuite") == commit
    assert provenance._installed_commit(tmp_path / "elsewhere") is None


def test_how_to_end_a_long_training_is_said_once_its_time_is_known(tmp_path, monkeypatch):
    clock, notes = iter(range(0, 10**9, 500)), []
    monkeypatch.setattr(train_state.time, "monotonic", lambda: next(clock))
    settings = ["training.num_examples=1280", "training.num_epochs=1", "training.precision=fp32"]
    experiment = load_experiment("disc_tiny", settings)
    train(experiment, tmp_path / "run", device="cpu", progress=lambda *_: None, note=notes.append)
    found = [note for note in notes if "left at this speed" in note]
    assert len(found) == 1 and found[0].startswith("about ")
