"""Steps of optimizers without torch's compiler: the same weights, hooks as ever, and a second less to begin."""

import subprocess
import sys

import pytest
import torch

from ecsuite.runtime.compiler import take_step


def weights(kind, step):
    parameter = torch.nn.Parameter(torch.linspace(-1, 1, 20))
    optimizer = kind([parameter], lr=0.1)
    for _ in range(3):
        parameter.grad = parameter.detach() ** 3
        step(optimizer)
    return parameter.detach()


def test_hooks_of_an_optimizer_are_called():
    seen = []

    def step(optimizer):
        optimizer.register_step_post_hook(lambda *_: seen.append(True))
        take_step(optimizer)

    weights(torch.optim.SGD, step)
    assert seen


@pytest.mark.slow
def test_training_imports_no_compiler(tmp_path):
    code = (
        "import sys; from ecsuite.cli import main; "
        f"sys.argv = ['ecsuite', 'train-game', 'disc_tiny', '--set', 'training.num_epochs=1', '--out', r'{tmp_path}'];"
        "main_result = None\ntry: main()\nexcept SystemExit: pass\n"
        "assert 'torch' in sys.modules and 'torch._dynamo' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
