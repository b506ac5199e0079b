"""The renderer and its scenes: geometry, labels and colours of pictures, which are pure functions of their place."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ecsuite.games.worlds.objects import Product
from ecsuite.games.worlds.rendering import (
    CIRCLE,
    ELLIPSE,
    RECTANGLE,
    SQUARE,
    TRIANGLE,
    Scenes,
    render,
    render_table,
    shades,
    shape_scenes,
    shapeworld_scenes,
)
from ecsuite.games.worlds.rules import NUM_VALUES

NUM_PICTURES = 1350
LABELS = Product(NUM_VALUES).all_values()

"""All labels of SHAPE, (270, 4)."""


def shape_images(*arguments):
    return render(*shape_scenes(*arguments))


def shapeworld_images(*arguments):
    return render(*shapeworld_scenes(*arguments))


@pytest.fixture(scope="module")
def shape_world():
    """Each label five times."""
    labels = np.tile(LABELS, (5, 1))
    return labels, shape_images(3, "train", np.arange(NUM_PICTURES), labels)


@pytest.fixture(scope="module")
def shapeworld():
    """Each colour with each shape 45 times: colours, shapes, pictures."""
    labels = np.tile(np.arange(30), 45)
    colours, shapes = labels // 5, labels % 5
    return colours, shapes, shapeworld_images(3, "train", np.arange(NUM_PICTURES), colours, shapes)


def centres(pictures):
    """Centres of gravity, (num_pictures, 2): x, y."""
    ink = pictures.max(3).astype(np.float32)
    return np.stack([ink.sum(axis) @ np.arange(64) / ink.sum((1, 2)) for axis in (1, 2)], axis=1)


def form(pictures):
    """Area and moments about the centre that no rotation changes, (num_pictures, 4)."""
    ink = pictures.max(3) / pictures.max((1, 2, 3)).astype(np.float32)[:, None, None]
    x, y = centres(pictures).T
    offset = (np.arange(64) - x[:, None])[:, None, :] + 1j * (np.arange(64) - y[:, None])[:, :, None]
    power, statistics = np.ones_like(offset, dtype=np.complex64), []
    for fold in range(1, 5):
        power *= offset
        size = (ink * np.abs(power)).sum((1, 2))
        if fold == 2:
            statistics.append(size / ink.sum((1, 2)) ** 2)  # 0.159 for a circle
        if fold > 1:
            statistics.append(np.abs((ink * power).sum((1, 2))) / size)
    return np.stack(statistics, axis=1)


@pytest.mark.slow
def test_shapes_are_told_apart_by_moments(shape_world, shapeworld):
    labels, pictures = shape_world
    _, shapes, small = shapeworld
    for wanted, images, least in ((labels[:, 0], pictures, 0.98), (shapes, small, 0.9)):
        features = form(images)
        model = make_pipeline(StandardScaler(), LogisticRegression(C=100))
        assert model.fit(features[:675], wanted[:675]).score(features[675:], wanted[675:]) > least


def test_shades_agree_with_the_standard_library():
    from colorsys import hsv_to_rgb

    for hue_noise in (0.0, 0.3, 0.5, 1.0):
        draws = np.stack([np.full(4, hue_noise), np.full(4, 0.25), np.full(4, 0.25)])
        hues = np.array([0, 2 / 3, 1 / 3, 1 / 6]) + 0.02 * (2 * hue_noise - 1)
        expected = [hsv_to_rgb(hue % 1, 0.8, 0.8) for hue in hues]
        assert shades(np.arange(4), draws) == pytest.approx(np.array(expected))


def test_a_table_has_what_is_out_of_the_picture_cut_off():
    rng = np.random.default_rng(0)
    x, y, width = rng.uniform([[-5], [-5], [2]], [[70], [70], [200]], size=(3, 200))
    colour, height, rotation = rng.random((200, 3)), rng.uniform(2, 60, 200), rng.uniform(-7, 7, 200)
    scenes = Scenes(rng.integers(5, size=200), colour, x, y, width, height, rotation)
    difference = np.abs(render_table(torch.from_numpy(scenes.table())).numpy().astype(int) - render(*scenes))
    assert difference.max() <= 1 and (difference > 0).mean() < 1e-6


AREAS = {
    CIRCLE: lambda width, height: np.pi * width**2 / 4,
    ELLIPSE: lambda width, height: np.pi * width * height / 4,
    SQUARE: lambda width, height: width**2,
    RECTANGLE: lambda width, height: width * height,
    TRIANGLE: lambda width, height: np.sqrt(3) / 4 * width**2,
}


def draw(shape, *, x, y, width=12.0, height=7.0, rotation=0.0):
    """A white object for each entry of the longest argument."""
    shape, *places = np.broadcast_arrays(*map(np.atleast_1d, (shape, x, y, width, height, rotation)))
    return render(shape.astype(np.int64), np.ones((len(shape), 3)), *(each.astype(float) for each in places))


@pytest.mark.parametrize("shape", AREAS)
def test_area_and_centre_are_those_of_geometry(shape):
    rng = np.random.default_rng(0)
    bounds = [[20], [20], [8], [5], [-7]], [[44], [44], [17], [12], [7]]
    x, y, width, height, turn = rng.uniform(*bounds, (5, 300))
    pictures = draw(shape, x=x, y=y, width=width, height=height, rotation=turn)
    assert pictures[..., 0].sum((1, 2)) / 255 == pytest.approx(AREAS[shape](width, height), rel=0.03)
    assert centres(pictures) == pytest.approx(np.stack([x, y], axis=1), abs=0.1)


def test_squares_on_the_grid_and_half_covered_pixels():
    expected = np.zeros((64, 64, 3), dtype=np.uint8)
    expected[19:23, 8:12] = 255
    assert (draw(SQUARE, x=9.5, y=20.5, width=4.0)[0] == expected).all()
    picture = draw(RECTANGLE, x=10.0, y=20.0, width=4.0, height=2.0)[0, :, :, 0]
    assert picture[20, 7:14].tolist() == [0, 128, 255, 255, 255, 128, 0]
    assert picture[18:23, 10].tolist() == [0, 128, 255, 128, 0] and picture[19, 8] == 64


def test_pictures_of_a_seed_never_change():
    """Saved runs depend on these very pictures; other machines may round otherwise."""
    labels, indices = LABELS[[0, 100, 269]], np.array([0, 1, 8191])
    sums = shape_images(1, "train", indices, labels).sum((1, 2, 3))
    assert sums == pytest.approx([23357, 27465, 22944], abs=3)
    sums = shapeworld_images(1, "train", indices, labels[:, 1], labels[:, 0]).sum((1, 2, 3))
    assert sums == pytest.approx([8114, 8078, 12135], abs=3)


def test_cells_are_told_apart_by_centre(shape_world):
    labels, pictures = shape_world
    assert ((centres(pictures) + 0.5) // (64 / 3) == labels[:, 2:]).all()
