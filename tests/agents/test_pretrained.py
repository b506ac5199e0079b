"""Image models of timm as perceptions, with a small module in the place of the package."""

import sys
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from ecsuite.agents.perception import make_object_perception
from ecsuite.agents.registry import PERCEPTIONS
from ecsuite.games.config.experiment import load_experiment, with_changes
from ecsuite.games.runs.identity import RunContext, check_data
from ecsuite.parts.registry import read_part
from ecsuite.parts.strict_yaml import as_yaml
from ecsuite.runtime.errors import ConfigError

SHAPE = (16, 16, 3)


class Tiny(nn.Sequential):
    """A model of timm in small: convolution, normalisation, means of the maps."""

    pretrained_cfg = {"mean": (0.5, 0.5, 0.5), "std": (0.25, 0.25, 0.25)}  # noqa: RUF012
    num_features = 4

    def __init__(self):
        super().__init__(
            nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()
        )

    def forward(self, pixels):
        if pixels.shape[-1] == 13:
            raise AssertionError("no 13 pixels")
        return super().forward(pixels)


@pytest.fixture(autouse=True)
def timm(monkeypatch):
    known = SimpleNamespace(
        is_model=lambda name: name == "tiny",
        list_models=lambda: ["tiny"],
        create_model=lambda name, *, pretrained, num_classes: Tiny(),
    )
    monkeypatch.setitem(sys.modules, "timm", known)


def make(shape=SHAPE, **options):
    section = {"kind": "pretrained", "model": "tiny", **options}
    return make_object_perception(read_part(PERCEPTIONS, [("", section)], "perception"), shape)[0]


@pytest.fixture
def weights(tmp_path):
    """A folder with weights that also has those of a classifier."""
    torch.manual_seed(3)
    state = {**Tiny().state_dict(), "fc.weight": torch.zeros(2, 4)}
    save_file(state, tmp_path / "model.safetensors")
    return tmp_path


def test_weights_of_a_file_or_a_folder_are_taken_without_the_classifier(weights):
    images = torch.rand(5, *SHAPE)
    torch.manual_seed(3)
    expected = Tiny().eval()(((images - 0.5) / 0.25).permute(0, 3, 1, 2))
    for place in (weights, weights / "model.safetensors"):
        found = make(weights=str(place))
        assert torch.allclose(found(images), expected, atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_frozen_weights_stay_and_others_learn(dtype):
    for freeze in (True, False):
        perception = make(freeze=freeze, size=3)
        before = {name: value.clone() for name, value in perception.state_dict().items()}
        assert perception.training and perception.network.training != freeze  # before anybody says so
        perception.train()
        vectors = perception(torch.rand(5, *SHAPE).to(dtype))
        assert vectors.shape == (5, 3) and vectors.dtype == dtype
        vectors.float().sum().backward()
        of_network = [each.grad is not None for each in perception.network.parameters()]
        assert of_network == [not freeze] * 4 and perception.projection.weight.grad is not None
        same = [torch.equal(before[name], value) for name, value in perception.state_dict().items()]
        assert all(same) == freeze  # also the statistics of normalisation


def test_images_are_scaled():
    assert make(shape=(13, 13, 3), side=16)(torch.rand(2, 13, 13, 3)).shape == (2, 4)
    with pytest.raises(
        ConfigError, match=r"perception.side: tiny does not accept images of 13 pixels \(no 13"
    ):
        make(shape=(13, 13, 3))


def test_what_is_not_there_is_told_in_one_line(weights, tmp_path, monkeypatch):
    with pytest.raises(ConfigError, match=r"unknown perception.model 'tinny'; did you mean 'tiny'"):
        make(model="tinny")
    for place in ("nowhere", str(tmp_path / "x.pth")):
        with pytest.raises(ConfigError, match=f"perception.weights: {place}: expected a safetensors file"):
            make(weights=place)
    (tmp_path / "bad.safetensors").write_bytes(b"\x08\0\0\0\0\0\0\0abcdefgh")
    with pytest.raises(ConfigError, match="expected a safetensors file, got an error"):
        make(weights=str(tmp_path / "bad.safetensors"))
    save_file({"0.weight": torch.zeros(4, 3, 3, 3)}, tmp_path / "other.safetensors")
    with pytest.raises(ConfigError, match=r"not the weights of tiny: it has no 0.bias"):
        make(weights=str(tmp_path / "other.safetensors"))
    monkeypatch.setitem(sys.modules, "timm", None)
    with pytest.raises(ConfigError, match=r"pip install -e '\.\[vision\]'"):
        make()


def test_weights_belong_to_a_run_by_their_content(weights, tmp_path):
    """Moved weights are the same run; other weights are another, and a config refuses them."""
    moved = tmp_path / "moved"
    moved.mkdir()
    copied = moved / "model.safetensors"
    copied.write_bytes((weights / "model.safetensors").read_bytes())

    def experiment(place, **more):
        seen = {"kind": "pretrained", "model": "tiny", "weights": str(place)}
        return with_changes(load_experiment("image_factors"), {"sender.perception": seen, **more})

    def context(experiment):
        return RunContext.of(experiment, data=check_data(experiment))

    first, second = (context(experiment(place)) for place in (weights, copied))
    assert list(first.data) == ["sender.perception.weights"] and first.identity() == second.identity()
    assert "weights" not in first.identity()["sender"]["perception"]
    (tmp_path / "config.yaml").write_text(as_yaml(second.to_tree()))
    state = {name: tensor + 1 for name, tensor in Tiny().state_dict().items()}
    save_file(state, copied)
    assert context(experiment(copied)).identity() != first.identity()
    with pytest.raises(ConfigError, match=r"sender\.perception\.weights: .* has other content than when"):
        check_data(load_experiment(str(tmp_path / "config.yaml")))
    other = with_changes(
        load_experiment(str(tmp_path / "config.yaml")), {"sender.perception.weights": str(weights)}
    )
    assert context(other).identity() == first.identity()
