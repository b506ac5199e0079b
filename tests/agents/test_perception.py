"""Perceptions: equal to plain PyTorch with equal weights; image models of timm, with a small module in its place."""

import sys
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from ecsuite.agents.options import PerceptionOptions
from ecsuite.agents.perception import RecurrentPerception, make_object_perception, outlines
from ecsuite.agents.registry import PERCEPTIONS
from ecsuite.games.config.experiment import load_experiment, with_changes
from ecsuite.games.runs.identity import RunContext, check_data
from ecsuite.parts.registry import option_types, read_part
from ecsuite.parts.strict_yaml import as_yaml
from ecsuite.runtime.errors import ConfigError

IMAGES = (64, 64, 3)
OF_IMAGES = tuple(name for name in PERCEPTIONS.parts if name.startswith("conv"))
WIDTHS = {"identity": 7, "conv4": 1024}  # 4 x 4 x 64, as in Mu & Goodman
"""Widths of the vectors of perceptions without a size."""


def make(name, object_shape=IMAGES, size=12, state_size=None):
    """A perception of this size, if it has one, and the width of its vectors."""
    has_size = name in PERCEPTIONS.parts and "size" in option_types(PERCEPTIONS.load(name).Options)
    section = {"kind": name, **({"size": size} if has_size else {})}
    torch.manual_seed(0)
    part = read_part(PERCEPTIONS, [("", section)], "perception")
    return make_object_perception(part, object_shape, state_size=state_size)


def images(number, seed=1):
    return torch.rand(number, *IMAGES, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("name", [name for name in PERCEPTIONS.parts if name != "pretrained"])
def test_width_of_vectors(name):
    shape = IMAGES if name in OF_IMAGES else (7,)
    perception, size = make(name, shape)
    assert perception(torch.rand(4, *shape)).shape == (4, size) and size == WIDTHS.get(name, 12)


def test_tanh_is_as_wide_as_the_receivers_states_unless_it_has_a_size():
    objects = torch.randn(4, 3)
    for given, states, width in ((None, 9, 9), (2, 9, 2), (2, None, 2)):
        perception, size = make("tanh", (3,), size=given, state_size=states)
        weight, bias = perception.parameters()
        torch.testing.assert_close(perception(objects), (objects @ weight.T + bias).tanh())
        assert size == width and perception.fits_states == (given is None)
    with pytest.raises(ConfigError, match=r"^perception.size: expected a number for the sender, got null$"):
        make("tanh", (3,), size=None)


def test_conv4_is_four_blocks_of_plain_layers():
    """Plain PyTorch layers with copied weights, in the default memory layout."""
    ours, _ = make("conv4")
    blocks, channels = [], 3
    for _ in range(4):
        blocks += [
            nn.Conv2d(channels, 64, 3, padding=1, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2),
        ]  # fmt: skip
        channels = 64
    plain = nn.Sequential(*blocks)
    for place in range(4):
        weight = ours.convolutions[place].weight.detach()
        plain[4 * place].weight.data = weight.clone(memory_format=torch.contiguous_format)
    image_batch = images(4)
    expected = plain(image_batch.permute(0, 3, 1, 2).contiguous()).flatten(1)
    torch.testing.assert_close(ours(image_batch), expected, rtol=1e-4, atol=1e-4)
    for place in range(4):  # running statistics are equal, too
        mean = plain[4 * place + 1].running_mean
        torch.testing.assert_close(ours.norms[place].running_mean, mean, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", OF_IMAGES)
@pytest.mark.parametrize("is_training", [True, False])
def test_the_layout_of_images_in_memory_does_not_matter(name, is_training):
    perception, image_batch = make(name)[0].train(is_training), images(5)
    strided = image_batch.permute(0, 3, 1, 2).contiguous().permute(0, 2, 3, 1)
    assert not strided.is_contiguous()
    torch.testing.assert_close(perception(strided), perception(image_batch), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", OF_IMAGES)
def test_bf16_is_close_to_fp32_with_weights_and_gradients_in_fp32(name):
    """Also a batch of one image, as the last of an epoch may be, whose vector has no variance, is trained on."""
    perception, size = make(name)
    exact, rounded = perception(images(8)), perception(images(8).bfloat16())
    assert rounded.dtype == torch.bfloat16
    assert (rounded.float() - exact).abs().mean() < 0.03 * exact.abs().mean()
    for vectors in (rounded.float().square(), perception(images(1))):
        perception.zero_grad()
        vectors.sum().backward()
        for each in perception.parameters():
            assert each.dtype == each.grad.dtype == torch.float32 and each.grad.isfinite().all()
    assert perception.train()(images(1)).shape == (1, size)


@pytest.mark.parametrize("name", OF_IMAGES)
def test_images_are_independent_in_evaluation_but_not_in_training(name):
    perception, _ = make(name)
    image_batch = images(6)
    perception(image_batch)
    perception.eval()
    before = {key: value.clone() for key, value in perception.state_dict().items()}
    whole = perception(image_batch)
    torch.testing.assert_close(perception(image_batch[2:3]), whole[2:3], rtol=1e-4, atol=1e-5)
    assert all(value.equal(before[key]) for key, value in perception.state_dict().items())
    perception.train()
    assert (perception(image_batch[2:4]) - perception(image_batch)[2:4]).abs().max() > 0.01
    assert not perception.norms[0].running_mean.equal(before["norms.0.running_mean"])


def test_conv_max_does_not_depend_on_positions_but_others_do():
    """An object moved by whole strides, away from the border, where feature maps are padded."""
    image_batch = torch.zeros(2, *IMAGES)
    object_pixels = torch.rand(7, 7, 3, generator=torch.Generator().manual_seed(3))
    image_batch[0, 21:28, 13:20], image_batch[1, 33:40, 41:48] = object_pixels, object_pixels
    for name in OF_IMAGES:
        perception, _ = make(name)
        here, there = perception.eval()(image_batch)
        assert torch.allclose(here, there, rtol=1e-4, atol=1e-5) == (name == "conv_max")


def test_outlines_and_half_of_the_maps_of_conv_max_have_no_colours():
    image_batch = torch.zeros(3, 2, 2, 3)
    image_batch[0, 0, 0] = torch.tensor([0.2, 0.8, 0.1])
    image_batch[0, 1, 0] = torch.tensor([0.4, 0.0, 0.1])
    image_batch[1] = image_batch[0].flip(-1) / 2
    expected = torch.tensor([[1.0, 0.0], [0.5, 0.0]])
    outlined = outlines(image_batch)
    assert outlined.shape == image_batch.shape
    for channel in range(3):
        torch.testing.assert_close(outlined[0, ..., channel], expected)
        torch.testing.assert_close(outlined[1, ..., channel], expected)
    assert not outlined[2].any()  # a black image has no outlines
    perception, image_batch = (PERCEPTIONS.load("conv_max")(PerceptionOptions(), object_shape=IMAGES).eval(), images(2))
    colored, otherwise = perception(image_batch), perception(image_batch.flip(-1) / 2)
    same = torch.isclose(colored, otherwise, rtol=1e-4, atol=1e-5).all(0)
    assert same.tolist() == ([False] * 32 + [True] * 32) * 2  # maxima, then sums


@pytest.mark.parametrize(
    ("name", "object_shape", "message"),
    [
        ("convv", IMAGES, r"unknown perception 'convv'; did you mean 'conv'\? choices: "
         "identity, linear, tanh, mlp, recurrent, conv, conv_max, conv_grid, conv4, pretrained"),
        ("mlp", IMAGES, "perception: mlp does not take images: set one of "
         "conv, conv_max, conv_grid, conv4, pretrained"),
        ("conv", (50,), "perception: conv does not take vectors of 50 features: set one of identity, .*, recurrent"),
    ],
)  # fmt: skip
def test_errors_of_unsuitable_perceptions(name, object_shape, message):
    with pytest.raises(ConfigError, match=f"^{message}$"):
        make(name, object_shape)


@pytest.mark.parametrize("cell", ["rnn", "gru", "lstm"])
def test_the_vector_is_torchs_last_state_of_the_pieces_before_the_zeros(torch_layers, cell):
    torch.manual_seed(0)
    options = RecurrentPerception.Options(cell=cell, size=5, width=3)
    perception = RecurrentPerception(options, object_shape=(12,))
    theirs, objects, lengths = torch_layers(cell, [perception.cell]), torch.randn(4, 4, 3), [4, 2, 1, 3]
    for row, length in enumerate(lengths):
        objects[row, length:] = 0
    expected = torch.stack([theirs(objects[row, :length])[0][-1] for row, length in enumerate(lengths)])
    torch.testing.assert_close(perception(objects.flatten(1)), expected)
    assert perception.out_features == 5


SHAPE = (16, 16, 3)


class Tiny(nn.Sequential):
    """A model of timm in small: convolution, normalisation, means of the maps."""

    pretrained_cfg = {"mean": (0.5, 0.5, 0.5), "std": (0.25, 0.25, 0.25)}  # noqa: RUF012
    num_features = 4

    def __init__(self):
        super().__init__(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())

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


def make_pretrained(shape=SHAPE, **options):
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
        found = make_pretrained(weights=str(place))
        assert torch.allclose(found(images), expected, atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_frozen_weights_stay_and_others_learn(dtype):
    for freeze in (True, False):
        perception = make_pretrained(freeze=freeze, size=3)
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


def test_what_is_not_there_is_told_in_one_line(tmp_path, monkeypatch):
    (tmp_path / "bad.safetensors").write_bytes(b"\x08\0\0\0\0\0\0\0abcdefgh")
    save_file({"0.weight": torch.zeros(4, 3, 3, 3)}, tmp_path / "other.safetensors")
    for options, message in (
        ({"model": "tinny"}, "unknown perception.model 'tinny'; did you mean 'tiny'"),
        ({"weights": "nowhere"}, "perception.weights: nowhere: expected a safetensors file"),
        ({"weights": f"{tmp_path}/x.pth"}, f"perception.weights: {tmp_path}/x.pth: expected a safetensors file"),
        ({"weights": f"{tmp_path}/bad.safetensors"}, "expected a safetensors file, got an error"),
        ({"weights": f"{tmp_path}/other.safetensors"}, "not the weights of tiny: it has no 0.bias"),
        ({"shape": (13, 13, 3)}, r"perception.side: tiny does not accept images of 13 pixels \(no 13"),
    ):
        with pytest.raises(ConfigError, match=message):
            make_pretrained(**options)
    assert make_pretrained(shape=(13, 13, 3), side=16)(torch.rand(2, 13, 13, 3)).shape == (2, 4)  # images are scaled
    monkeypatch.setitem(sys.modules, "timm", None)
    with pytest.raises(ConfigError, match=r"pip install -e '\.\[vision\]'"):
        make_pretrained()


def test_weights_belong_to_a_run_by_their_content(weights, tmp_path):
    """Moved weights are the same run; other weights are another, and a config refuses them."""
    copied, config = tmp_path / "moved" / "model.safetensors", str(tmp_path / "config.yaml")
    copied.parent.mkdir()
    copied.write_bytes((weights / "model.safetensors").read_bytes())

    def context(place, given="image_factors"):
        seen = {"kind": "pretrained", "model": "tiny", "weights": str(place)}
        experiment = with_changes(load_experiment(given), {"sender.perception": seen})
        return RunContext.of(experiment, data=check_data(experiment))

    first, second = context(weights), context(copied)
    assert list(first.data) == ["sender.perception.weights"] and first.identity() == second.identity()
    assert "weights" not in first.identity()["sender"]["perception"]
    (tmp_path / "config.yaml").write_text(as_yaml(second.to_tree()))
    save_file({name: tensor + 1 for name, tensor in Tiny().state_dict().items()}, copied)
    assert context(copied).identity() != first.identity()
    with pytest.raises(ConfigError, match=r"sender\.perception\.weights: .* has other content than when"):
        check_data(load_experiment(config))
    assert context(weights, config).identity() == first.identity()
