"""Perceptions: equal to plain PyTorch with equal weights, in both precisions and memory layouts."""

import pytest
import torch
from torch import nn

from ecsuite.agents.options import PerceptionOptions
from ecsuite.agents.perception import RecurrentPerception, make_object_perception, outlines
from ecsuite.agents.registry import PERCEPTIONS
from ecsuite.parts.registry import option_types, read_part
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
    return make_object_perception(
        read_part(PERCEPTIONS, [("", section)], "perception"), object_shape, state_size=state_size
    )


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
        plain[4 * place].weight.data = (
            ours.convolutions[place].weight.detach().clone(memory_format=torch.contiguous_format)
        )
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


def test_outlines_have_no_colours():
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


def test_half_of_the_maps_of_conv_max_have_no_colour():
    perception, image_batch = (
        PERCEPTIONS.load("conv_max")(PerceptionOptions(), object_shape=IMAGES).eval(),
        images(2),
    )
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
