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
    products_precision,
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
    told = "The operator 'aten::cumsum' is not currently implemented for the MPS device. If ..."
    for device, error in ((MPS, ConfigError), (CPU, NotImplementedError)):
        with pytest.raises(error, match=r"^device mps: torch has no aten::cumsum for MPS|^The op"):
            with routed_products(device):
                raise NotImplementedError(told)


PRODUCTS = [
    (CUDA, False, "fp32", "fp32", "highest", False), (CUDA, False, "bf16", "tf32", "high", True),
    (CUDA, False, "tf32", "tf32", "high", True), (CPU, True, "fp32", "fp32", "highest", True),
    (CPU, True, "bf16", "bf16", "medium", True),
    (CPU, False, "fp32", "fp32", "medium", True),  # without AMX `medium` is only faster: it rounds nothing
    (CPU, False, "bf16", "fp32", "medium", True), (MPS, True, "bf16", "fp32", "medium", True),
]  # fmt: skip


@pytest.mark.parametrize(("device", "has_amx", "precision", "used", "setting", "tf32"), PRODUCTS)
def test_products_have_the_precision_they_sign(monkeypatch, device, has_amx, precision, used, setting, tf32):
    monkeypatch.setattr(devices, "_cpu_has", lambda feature: has_amx and feature == "amx_tile")
    before = torch.get_float32_matmul_precision()
    assert products_precision(precision, device) == used
    with routed_products(device, precision):
        assert (torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32) == (setting, tf32)
    assert torch.get_float32_matmul_precision() == before and torch.backends.cudnn.allow_tf32


@pytest.mark.parametrize(("has_amx", "used"), [(False, "fp32"), (True, "bf16")])
def test_icy_signs_the_precision_that_was_used(monkeypatch, has_amx, used):
    monkeypatch.setattr(devices, "_cpu_has", lambda feature: has_amx)
    study = resolve(StudyConfig(models=("fc1l",), precision="bf16"))
    assert study.training.signature(20.0).split("|")[-2] == f"precision:{used}"
    note = "--precision bf16: this cpu device computed in fp32, as the signature shows."
    assert precision_notes(study) == ([] if has_amx else [note])
