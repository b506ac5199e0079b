"""Perception: equal to plain PyTorch on the same weights, in either precision and memory layout."""

import pytest
import torch
from torch import nn

from ecsuite.agents.perception import (
    LAYOUTS,
    PERCEPTIONS,
    Convolution,
    ConvolutionalPerception,
    FeedForwardPerception,
    make_object_perception,
    outlines,
)
from ecsuite.config import ConfigError

IMAGES = (64, 64, 3)
OF_IMAGES = tuple(LAYOUTS)


def make(name, object_shape=IMAGES, size=12):
    torch.manual_seed(0)
    return make_object_perception(name, object_shape, size)


def images(number, seed=1):
    return torch.rand(number, *IMAGES, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("name", PERCEPTIONS)
def test_vectors_are_as_wide_as_it_says(name):
    shape = IMAGES if name in OF_IMAGES else (7,)
    perception, size = make(name, shape)
    assert perception(torch.rand(4, *shape)).shape == (4, size)
    assert size == (1024 if name == "conv4" else 12)  # 4 x 4 x 64, as Mu & Goodman have it


def test_linear_and_mlp_equal_products_by_hand():
    linear, mlp = (make(name, (3,), 2)[0] for name in ("linear", "mlp"))
    objects = torch.tensor([[1.0, 0.0, 0.0], [0.0, 2.0, -1.0]])
    (weight, bias) = linear.parameters()
    torch.testing.assert_close(linear(objects)[0], weight[:, 0] + bias)
    torch.testing.assert_close(linear(objects)[1], 2 * weight[:, 1] - weight[:, 2] + bias)
    first, first_bias, second, second_bias = mlp.parameters()
    hidden = (objects @ first.T + first_bias).clamp(min=0)
    torch.testing.assert_close(mlp(objects), hidden @ second.T + second_bias)


def test_there_is_no_relu_after_the_last_layer():
    perception = FeedForwardPerception([5, 4, 3, 2])
    assert [type(layer).__name__ for layer in perception] == ["Linear", "ReLU", "Linear", "ReLU", "Linear"]


def test_conv4_is_four_blocks_of_plain_layers():
    """On weights of its own, in the usual layout and without anything of ours."""
    ours, _ = make("conv4")
    blocks, channels = [], 3
    for _ in range(4):
        blocks += [
            nn.Conv2d(channels, 64, 3, padding=1, bias=False),
            nn.BatchNorm2d(64),
            nn.ReLU(),
            nn.MaxPool2d(2),
        ]
        channels = 64
    plain = nn.Sequential(*blocks)
    for place in range(4):
        plain[4 * place].weight.data = (
            ours.convolutions[place].weight.detach().clone(memory_format=torch.contiguous_format)
        )
    seen = images(4)
    expected = plain(seen.permute(0, 3, 1, 2).contiguous()).flatten(1)
    torch.testing.assert_close(ours(seen), expected, rtol=1e-4, atol=1e-4)
    for place in range(4):  # statistics for evaluation are those of the plain layers, too
        mean = plain[4 * place + 1].running_mean
        torch.testing.assert_close(ours.norms[place].running_mean, mean, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", OF_IMAGES)
@pytest.mark.parametrize("is_training", [True, False])
def test_the_layout_of_images_in_memory_does_not_matter(name, is_training):
    perception, _ = make(name)
    perception.train(is_training)
    seen = images(5)
    strided = seen.permute(0, 3, 1, 2).contiguous().permute(0, 2, 3, 1)
    assert not strided.is_contiguous()
    torch.testing.assert_close(perception(strided), perception(seen), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", OF_IMAGES)
def test_bf16_sees_nearly_as_fp32_with_weights_and_gradients_in_fp32(name):
    perception, _ = make(name)
    seen = images(8)
    exact, rough = perception(seen), perception(seen.bfloat16())
    assert rough.dtype == torch.bfloat16
    assert (rough.float() - exact).abs().mean() < 0.03 * exact.abs().mean()
    rough.float().square().sum().backward()
    for parameter in perception.parameters():
        assert parameter.dtype == parameter.grad.dtype == torch.float32 and parameter.grad.isfinite().all()


@pytest.mark.parametrize("name", OF_IMAGES)
def test_every_weight_learns(name):
    perception, size = make(name)
    weights = torch.randn(6, size, generator=torch.Generator().manual_seed(2))
    (perception(images(6)) * weights).sum().backward()
    for parameter_name, parameter in perception.named_parameters():
        # Batch normalisation takes a constant away again, so a bias before it has no gradient but rounding. Of maps
        # of noise the greatest values are all above 0, so that the last bias before them is such a constant.
        if parameter_name != "summary.0.bias" and (
            not LAYOUTS[name].grids or parameter_name != "norms.1.bias"
        ):
            assert parameter.grad.abs().max() > 1e-4, parameter_name


@pytest.mark.parametrize("name", OF_IMAGES)
def test_in_evaluation_an_image_is_seen_alone_and_in_training_among_others(name):
    perception, _ = make(name)
    seen = images(6)
    perception(seen)
    perception.eval()
    before = {key: value.clone() for key, value in perception.state_dict().items()}
    whole = perception(seen)
    torch.testing.assert_close(perception(seen[2:3]), whole[2:3], rtol=1e-4, atol=1e-5)
    assert all(value.equal(before[key]) for key, value in perception.state_dict().items())
    perception.train()
    assert (perception(seen[2:4]) - perception(seen)[2:4]).abs().max() > 0.01
    assert not perception.norms[0].running_mean.equal(before["norms.0.running_mean"])


@pytest.mark.parametrize("stride", [1, 2])
def test_a_convolution_is_that_of_torch(stride):
    ours = Convolution(3, 4, 3, stride=stride, padding=1)
    maps = torch.randn(2, 3, 9, 9)
    expected = nn.functional.conv2d(maps, ours.weight, ours.bias, stride=stride, padding=1)
    torch.testing.assert_close(ours(maps), expected)
    assert ours(maps.bfloat16()).dtype == torch.bfloat16 and ours.weight.dtype == torch.float32


@pytest.mark.parametrize("size", [16, 32, 48])
def test_images_of_other_sizes(size):
    torch.manual_seed(0)
    for blocks in OF_IMAGES:
        perception = ConvolutionalPerception(LAYOUTS[blocks], size, None)
        assert perception(torch.rand(2, size, size, 3)).shape == (2, perception.out_features)
        cells = {"conv_max": 2, "conv_grid": 1 + 4 * 4}.get(blocks, (size // 16) ** 2)
        assert perception.out_features == 64 * cells


def test_conv_max_sees_what_but_not_where_and_conv_sees_both():
    """An object moved by whole strides, away from the border, where maps are padded."""
    seen = torch.zeros(2, *IMAGES)
    thing = torch.rand(7, 7, 3, generator=torch.Generator().manual_seed(3))
    seen[0, 21:28, 13:20], seen[1, 33:40, 41:48] = thing, thing
    for name in OF_IMAGES:
        perception, _ = make(name)
        here, there = perception.eval()(seen)
        assert torch.allclose(here, there, rtol=1e-4, atol=1e-5) == (name == "conv_max")


def test_outlines_are_what_colours_leave():
    shown = torch.zeros(3, 2, 2, 3)
    shown[0, 0, 0] = torch.tensor([0.2, 0.8, 0.1])
    shown[0, 1, 0] = torch.tensor([0.4, 0.0, 0.1])
    shown[1] = shown[0].flip(-1) / 2
    expected = torch.tensor([[1.0, 0.0], [0.5, 0.0]])
    seen = outlines(shown)
    assert seen.shape == shown.shape
    for channel in range(3):
        torch.testing.assert_close(seen[0, ..., channel], expected)
        torch.testing.assert_close(seen[1, ..., channel], expected)
    assert not seen[2].any()  # a black image has none


def test_half_of_the_maps_of_conv_max_see_no_colour():
    perception = ConvolutionalPerception(LAYOUTS["conv_max"], 64, None).eval()
    seen = images(2)
    colored, otherwise = perception(seen), perception(seen.flip(-1) / 2)
    same = torch.isclose(colored, otherwise, rtol=1e-4, atol=1e-5).all(0)
    assert same.tolist() == ([False] * 32 + [True] * 32) * 2  # greatest values, then sums


MISTAKES = {
    ("convv", IMAGES): (
        r"unknown perception 'convv'; did you mean 'conv'\? choices: linear, mlp, conv, conv_max, conv_grid, conv4"
    ),
    ("linear", IMAGES): r"perception linear: not for images; choices: conv, conv_max, conv_grid, conv4",
    ("mlp", IMAGES): r"perception mlp: not for images; choices: conv, conv_max, conv_grid, conv4",
    ("conv", (50,)): r"perception conv: not for vectors of 50 features; choices: linear, mlp",
    ("conv_max", (50,)): r"perception conv_max: not for vectors of 50 features; choices: linear, mlp",
    ("conv4", (50,)): r"perception conv4: not for vectors of 50 features; choices: linear, mlp",
}


@pytest.mark.parametrize(("name", "object_shape"), MISTAKES)
def test_perceptions_that_do_not_fit(name, object_shape):
    with pytest.raises(ConfigError, match=f"^{MISTAKES[name, object_shape]}$"):
        make(name, object_shape)
