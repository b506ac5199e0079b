"""The device and the precision are what they are called."""

import pytest
import torch

from ecsuite import devices
from ecsuite.config import ConfigError
from ecsuite.devices import choose_device, choose_precision, products_precision, routed_products
from ecsuite.eval.icy.report import precision_notes
from ecsuite.eval.icy.resolved import resolve
from ecsuite.eval.icy.study import StudyConfig

CPU, CUDA = torch.device("cpu"), torch.device("cuda")


def test_devices_and_precisions():
    cpu = choose_device("cpu")
    assert cpu.type == "cpu"
    assert choose_precision("fp32", cpu) == "fp32" and choose_precision("bf16", cpu) == "bf16"
    assert choose_precision("auto", cpu) in ("bf16", "fp32")
    with pytest.raises(ConfigError, match="unknown device 'gpu'; did you mean 'cpu'"):
        choose_device("gpu")
    if not torch.cuda.is_available():
        with pytest.raises(ConfigError, match="no CUDA device that torch can use; try --device auto"):
            choose_device("cuda")


@pytest.mark.parametrize(
    ("device", "has_amx", "precision", "used", "setting", "convolutions_in_tf32"),
    [
        (CUDA, False, "fp32", "fp32", "highest", False),
        (CUDA, False, "bf16", "tf32", "high", True),
        (CPU, True, "fp32", "fp32", "highest", True),
        (CPU, True, "bf16", "bf16", "medium", True),
        # Without AMX `medium` is only faster: it rounds nothing.
        (CPU, False, "fp32", "fp32", "medium", True),
        (CPU, False, "bf16", "fp32", "medium", True),
    ],
)
def test_products_have_the_precision_they_are_signed_with(
    monkeypatch, device, has_amx, precision, used, setting, convolutions_in_tf32
):
    monkeypatch.setattr(devices, "_cpu_has", lambda feature: has_amx and feature == "amx_tile")
    before = torch.get_float32_matmul_precision()
    assert products_precision(precision, device) == used
    with routed_products(device, precision):
        assert torch.get_float32_matmul_precision() == setting
        assert torch.backends.cudnn.allow_tf32 == convolutions_in_tf32
    assert torch.get_float32_matmul_precision() == before
    assert torch.backends.cudnn.allow_tf32


@pytest.mark.skipif(devices._cpu_has("amx_tile"), reason="this processor rounds products to bf16")
def test_medium_rounds_nothing_without_amx():
    """What `products_precision` says of such processors is so: the products are those of fp32 to its last digits."""
    first, second = torch.randn(2, 256, 256, dtype=torch.float64)
    exact = first.float().double() @ second.float().double()
    with routed_products(CPU, "bf16"):
        error = (first.float() @ second.float() - exact).abs().max()
    assert error < 1e-3 < 2**-9 * exact.abs().max(), (
        "factors of bf16 would be wrong by about 2^-9 of the values"
    )


@pytest.mark.parametrize(("has_amx", "used"), [(False, "fp32"), (True, "bf16")])
def test_icy_signs_the_precision_that_was_used(monkeypatch, has_amx, used):
    monkeypatch.setattr(devices, "_cpu_has", lambda feature: has_amx)
    study = resolve(StudyConfig(models=("fc1l",), precision="bf16"))
    assert study.training.signature(20.0).split("|")[-2] == f"precision:{used}"
    note = "--precision bf16: this cpu device computed in fp32, which the signature says."
    assert precision_notes(study) == ([] if has_amx else [note])
