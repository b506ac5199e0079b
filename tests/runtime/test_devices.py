import os

import pytest
import torch

from ecsuite.eval.icy.benchmark import precision_notes
from ecsuite.eval.icy.study import StudyConfig, resolve
from ecsuite.runtime import devices
from ecsuite.runtime.devices import (
    WORKSPACE,
    choose_device,
    choose_precision,
    deterministic_kernels,
    planned_elsewhere,
    routed_products,
)
from ecsuite.runtime.errors import ConfigError

CPU, CUDA, MPS = torch.device("cpu"), torch.device("cuda"), torch.device("mps")


def test_devices_and_precisions():
    cpu = choose_device("cpu")
    assert cpu.type == "cpu"
    assert choose_precision("fp32", cpu) == "fp32" and choose_precision("bf16", cpu) == "bf16"
    assert choose_precision("auto", cpu) in ("bf16", "fp32")
    with pytest.raises(ConfigError, match="unknown device 'gpu'; did you mean 'cpu'"):
        choose_device("gpu")
    for name in ("cuda", "mps"):
        if not torch.get_device_module(name).device_count():
            said = f"^device {name}: this machine has no {name.upper()} device that torch can use: try auto"
            with pytest.raises(ConfigError, match=said):
                choose_device(name)
    assert choose_precision("auto", MPS) == "fp32"
    with planned_elsewhere():
        assert choose_device("cuda") == CUDA and choose_precision("auto", CUDA) in ("bf16", "fp32")
    with pytest.raises(ConfigError, match="precision tf32: expected a CUDA device, got cpu: try fp32 or"):
        choose_precision("tf32", cpu)


def test_only_deterministic_kernels_are_chosen_on_cuda_and_only_while_asked(monkeypatch):
    monkeypatch.delenv(WORKSPACE, raising=False)
    with deterministic_kernels(CPU, is_asked=True), deterministic_kernels(CUDA, is_asked=False):
        assert not torch.are_deterministic_algorithms_enabled() and WORKSPACE not in os.environ
    with deterministic_kernels(CUDA, is_asked=True):
        assert torch.are_deterministic_algorithms_enabled() and os.environ[WORKSPACE] == ":4096:8"
    assert not torch.are_deterministic_algorithms_enabled()
    monkeypatch.delenv(WORKSPACE)
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    with pytest.raises(ConfigError, match="set CUBLAS_WORKSPACE_CONFIG=:4096:8 before this program first"):
        with deterministic_kernels(CUDA, is_asked=True):
            pass


def test_an_operation_that_mps_lacks_is_named():
    missing = NotImplementedError(
        "The operator 'aten::cumsum' is not currently implemented for the MPS device. If ..."
    )
    with pytest.raises(ConfigError, match=r"^device mps: torch has no aten::cumsum for MPS: set"):
        with routed_products(torch.device("mps")):
            raise missing
    with pytest.raises(NotImplementedError):
        with routed_products(CPU):
            raise missing


@pytest.mark.parametrize(("has_amx", "used"), [(False, "fp32"), (True, "bf16")])
def test_icy_signs_the_precision_that_was_used(monkeypatch, has_amx, used):
    monkeypatch.setattr(devices, "_cpu_has", lambda feature: has_amx)
    study = resolve(StudyConfig(models=("fc1l",), precision="bf16"))
    assert study.training.signature(20.0).split("|")[-2] == f"precision:{used}"
    note = "--precision bf16: this cpu device computed in fp32, as the signature shows."
    assert precision_notes(study) == ([] if has_amx else [note])
