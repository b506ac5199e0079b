"""Pictures of SHAPE and ShapeWorld: they show what their labels say, and are pure functions of their place."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ecsuite.games.worlds.objects import Product
from ecsuite.games.worlds.rendering import (
    COLORS,
    COLUMNS,
    ELLIPSE,
    RECTANGLE,
    ROWS,
    SHAPE_CONCEPTS,
    SHAPES,
    Scenes,
    render,
    render_table,
    shades,
    shape_scenes,
    shapeworld_scenes,
    shapeworld_sizes,
)
from ecsuite.games.worlds.rules import NUM_VALUES

NUM_PICTURES = 1350
LABELS = Product(NUM_VALUES).all_values()
"""All labels of SHAPE, (270, 4)."""


def shape_images(*arguments):
    """Pictures of SHAPE."""
    return render(*shape_scenes(*arguments))


def shapeworld_images(*arguments):
    """Pictures of ShapeWorld."""
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


def colours_of(pictures):
    """Colour of each object: that of its fully covered pixels, the brightest, (num_pictures, 3)."""
    return pictures.max((1, 2)).astype(float)


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


def test_labels_are_all_combinations_in_order():
    labels = LABELS
    assert labels.shape == (270, 4) and labels.dtype == np.int64
    assert len(np.unique(labels, axis=0)) == 270
    assert (labels[[1, 3, 9, 54]] == np.eye(4)[::-1]).all() and labels[269].tolist() == [4, 5, 2, 2]


def test_concepts_are_named_in_the_order_of_the_values():
    assert len(SHAPE_CONCEPTS) == len(set(SHAPE_CONCEPTS)) == 17
    assert SHAPE_CONCEPTS[:6] == (*(f"shape={name}" for name in SHAPES), "color=red")
    places = (*(f"horizontal={name}" for name in COLUMNS), *(f"vertical={name}" for name in ROWS))
    assert (
        SHAPE_CONCEPTS[11:] == places and places[0] == "horizontal=left" and places[-1] == "vertical=bottom"
    )
    assert len(COLORS) == 6 and len(COLUMNS) == len(ROWS) == 3


def test_any_split_into_batches_gives_the_same_pictures(shape_world, shapeworld):
    labels, pictures = shape_world
    colours, shapes, small = shapeworld
    for rows in (np.arange(40, 60), np.arange(1300)[::-37], np.array([99]), np.array([3, 3])):
        assert (shape_images(3, "train", rows, labels[rows]) == pictures[rows]).all()
        assert (shapeworld_images(3, "train", rows, colours[rows], shapes[rows]) == small[rows]).all()
    none = np.zeros(0, dtype=np.int64)
    assert shape_images(3, "train", none, np.zeros((0, 4), dtype=np.int64)).shape == (0, 64, 64, 3)
    assert shapeworld_images(3, "train", none, none, none).shape == (0, 64, 64, 3)


def test_seeds_splits_and_indices_differ():
    indices, label = np.arange(100), np.tile([2, 3, 1, 1], (100, 1))
    colours, shapes = label[:, 1], label[:, 0]
    for draw in (
        lambda seed, split, indices: shape_images(seed, split, indices, label),
        lambda seed, split, indices: shapeworld_images(seed, split, indices, colours, shapes),
    ):
        pictures = draw(1, "train", indices)
        for others in (draw(2, "train", indices), draw(1, "valid", indices), draw(1, "train", indices + 1)):
            assert (pictures != others).any((1, 2, 3)).all()
        assert len(np.unique(pictures.reshape(100, -1), axis=0)) == 100


def test_pictures_of_a_seed_never_change():
    """Saved runs depend on these very pictures."""
    labels = LABELS[[0, 100, 269]]
    pictures = shape_images(1, "train", np.array([0, 1, 8191]), labels)
    # Other machines may round otherwise.
    assert pictures.sum((1, 2, 3)) == pytest.approx([23357, 27465, 22944], abs=3)
    pictures = shapeworld_images(1, "train", np.array([0, 1, 8191]), labels[:, 1], labels[:, 0])
    assert pictures.sum((1, 2, 3)) == pytest.approx([8114, 8078, 12135], abs=3)


def test_colours_are_told_apart_by_colour(shape_world, shapeworld):
    labels, pictures = shape_world
    colours, _, small = shapeworld
    for wanted, images in ((labels[:, 1], pictures), (colours, small)):
        features = colours_of(images)
        model = NearestCentroid().fit(features[:675], wanted[:675])
        assert (model.predict(features) == wanted).all()


def test_cells_are_told_apart_by_centre(shape_world):
    labels, pictures = shape_world
    assert ((centres(pictures) + 0.5) // (64 / 3) == labels[:, 2:]).all()


def test_centres_vary_within_a_cell_and_stay_away_from_its_border(shape_world):
    labels, pictures = shape_world
    place = centres(pictures) - ((labels[:, 2:] + 0.5) * 64 / 3 - 0.5)
    assert np.abs(place).max() < 6.2
    middle = place[(labels[:, 2:] == 1).all(1)]
    assert (middle.std(0) > 3).all() and (np.abs(middle.mean(0)) < 0.6).all()


@pytest.mark.slow
def test_shapes_are_told_apart_by_moments(shape_world, shapeworld):
    labels, pictures = shape_world
    _, shapes, small = shapeworld
    for wanted, images, least in ((labels[:, 0], pictures, 0.98), (shapes, small, 0.9)):
        features = form(images)
        model = make_pipeline(StandardScaler(), LogisticRegression(C=100))
        assert model.fit(features[:675], wanted[:675]).score(features[675:], wanted[675:]) > least


def test_no_shape_object_is_cut_off(shape_world):
    """What touches the border is the soft edge alone."""
    _, pictures = shape_world
    ink = pictures.max(3) / pictures.max((1, 2, 3)).astype(np.float32)[:, None, None]
    border = np.stack([ink[:, 0].max(1), ink[:, -1].max(1), ink[:, :, 0].max(1), ink[:, :, -1].max(1)])
    assert border.max() < 0.6
    assert (ink.sum((1, 2)) > 45).all()  # large enough for a network that pools
    assert (ink.sum((1, 2)) < 260).all()


def test_shapeworld_objects_are_anywhere_from_8_to_47(shapeworld):
    *_, pictures = shapeworld
    place = centres(pictures)
    assert np.abs(place - np.rint(place)).max() < 0.2
    assert np.rint(place).min(0).tolist() == [8, 8] and np.rint(place).max(0).tolist() == [47, 47]
    counts = np.apply_along_axis(np.bincount, 0, np.rint(place).astype(int) - 8, minlength=40)
    assert counts.shape == (40, 2) and counts.min() > 12 and counts.max() < 60  # 33.75 expected


def test_shapeworld_sizes_are_the_generators():
    draws = np.linspace(0, 1, 5000, endpoint=False)
    sizes = [np.stack(shapeworld_sizes(np.full(5000, shape), draws)) for shape in range(5)]
    assert np.unique(sizes[0][0]).tolist() == [4, 6, 8, 10, 12, 14]
    assert np.unique(sizes[2][0]).tolist() == [5, 6, 7, 8, 9, 10]
    assert np.unique(sizes[4][0]) == pytest.approx(np.arange(4, 10) + np.sqrt(3))
    for shape, least, greatest in ((ELLIPSE, 4, 14), (RECTANGLE, 3, 10)):
        assert sizes[shape].min() == least and sizes[shape].max() == greatest
        assert sizes[shape][0].mean() == pytest.approx(sizes[shape][1].mean(), rel=0.01)  # either way round
    ratio = sizes[ELLIPSE].max(0) / sizes[ELLIPSE].min(0)
    assert ratio.min() == 1.5 and ratio.max() == 3.5


def test_shades_without_noise_and_at_its_ends():
    colours, none = np.arange(6), np.full((3, 6), 0.5)
    expected = [[9, 0.9, 0.9], [0.9, 0.9, 9], [0.9, 9, 0.9], [9, 9, 0.9], [10, 10, 10], [4.4, 4.4, 4.4]]
    assert shades(colours, none) * 10 == pytest.approx(np.array(expected))
    # The reference generator's pictures: white 202..255 / 200..255 / 167..255, gray 61..163 / 54..163 / 49..163.
    darkest, brightest = none.copy(), none.copy()
    darkest[1:], brightest[2] = [[1.0] * 6, [0.0] * 6], 1.0
    assert (shades(colours, darkest)[4:] * 255).round().tolist() == [[204, 163, 163], [61, 49, 49]]
    assert (shades(colours, brightest)[4:] * 255).round().tolist() == [[255, 255, 255], [163, 163, 163]]
    rgb = shades(np.repeat(colours, 1000), np.random.default_rng(0).random((3, 6000)))
    assert rgb.min() >= 0 and rgb.max() <= 1


def test_shades_agree_with_the_standard_library():
    from colorsys import hsv_to_rgb

    for hue_noise in (0.0, 0.3, 0.5, 1.0):
        draws = np.stack([np.full(4, hue_noise), np.full(4, 0.25), np.full(4, 0.25)])
        hues = np.array([0, 2 / 3, 1 / 3, 1 / 6]) + 0.02 * (2 * hue_noise - 1)
        expected = [hsv_to_rgb(hue % 1, 0.8, 0.8) for hue in hues]
        assert shades(np.arange(4), draws) == pytest.approx(np.array(expected))


@pytest.mark.parametrize("shape", range(5), ids=SHAPES)
@pytest.mark.parametrize("world", ["shape", "shapeworld"])
@pytest.mark.parametrize("number", [150, pytest.param(NUM_PICTURES, marks=pytest.mark.slow)])
def test_pictures_of_a_table_are_those_of_the_processor(world, shape, number):
    """Of 491 million bytes 20 were otherwise, by 1: distances are rounded otherwise in windows."""
    rng = np.random.default_rng(shape)
    colours, columns, rows = rng.integers([[6], [3], [3]], size=(3, number))
    shapes = np.full(number, shape)
    if world == "shape":
        labels = np.stack([shapes, colours, columns, rows], axis=1)
        scenes = shape_scenes(5, "train", np.arange(number), labels)
    else:
        scenes = shapeworld_scenes(5, "train", np.arange(number), colours, shapes)
    pictures = render(*scenes)
    found = render_table(torch.from_numpy(scenes.table()))
    assert found.dtype == torch.uint8 and found.shape == pictures.shape
    difference = np.abs(found.numpy().astype(int) - pictures)
    assert difference.max() <= 1 and (difference > 0).mean() < 1e-6


def test_a_table_has_what_is_out_of_the_picture_cut_off():
    rng = np.random.default_rng(0)
    x, y, width = rng.uniform([[-5], [-5], [2]], [[70], [70], [200]], size=(3, 500))
    colour, height, rotation = rng.random((500, 3)), rng.uniform(2, 60, 500), rng.uniform(-7, 7, 500)
    scenes = Scenes(rng.integers(5, size=500), colour, x, y, width, height, rotation)
    difference = np.abs(render_table(torch.from_numpy(scenes.table())).numpy().astype(int) - render(*scenes))
    assert difference.max() <= 1 and (difference > 0).mean() < 1e-6
