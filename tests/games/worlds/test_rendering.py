"""The renderer: areas and centres agree with geometry, and each picture depends on its own row alone."""

import numpy as np
import pytest

from ecsuite.games.worlds.rendering import CIRCLE, ELLIPSE, RECTANGLE, SHAPES, SQUARE, TRIANGLE, reach, render

AREAS = {
    CIRCLE: lambda width, height: np.pi * width**2 / 4,
    ELLIPSE: lambda width, height: np.pi * width * height / 4,
    SQUARE: lambda width, height: width**2,
    RECTANGLE: lambda width, height: width * height,
    TRIANGLE: lambda width, height: np.sqrt(3) / 4 * width**2,
}
WHITE = (1.0, 1.0, 1.0)


def draw(shape, *, colour=WHITE, x=31.5, y=31.5, width=12.0, height=7.0, rotation=0.0):
    """One picture for each entry of the longest argument."""
    values = [shape, x, y, width, height, rotation]
    shape, x, y, width, height, rotation = np.broadcast_arrays(*map(np.atleast_1d, values))
    colours = np.broadcast_to(np.asarray(colour, dtype=np.float64), (len(shape), 3))
    places = [value.astype(np.float64) for value in (x, y, width, height, rotation)]
    return render(shape.astype(np.int64), colours, *places)


def moments(pictures):
    """Area, centre (x, y) and second moments (long, short) of white objects."""
    ink = pictures[..., 0] / 255
    area = ink.sum((1, 2))
    x, y = (ink.sum(axis) @ np.arange(64) / area for axis in (1, 2))
    right, down = np.arange(64) - x[:, None], np.arange(64) - y[:, None]
    across = np.einsum("nij,nj,ni->n", ink, right, down)
    covariance = np.stack(
        [np.einsum("nij,nj->n", ink, right**2), across, across, np.einsum("nij,ni->n", ink, down**2)]
    )
    spread = np.linalg.eigvalsh((covariance / area).T.reshape(-1, 2, 2))
    return area, x, y, spread[:, 1], spread[:, 0]


def scattered(number, seed=0):
    rng = np.random.default_rng(seed)
    return {
        "x": rng.uniform(20, 44, number),
        "y": rng.uniform(20, 44, number),
        "width": rng.uniform(8, 17, number),
        "height": rng.uniform(5, 12, number),
        "rotation": rng.uniform(-7, 7, number),
    }


@pytest.mark.parametrize("shape", range(5), ids=SHAPES)
def test_area_is_that_of_the_formula(shape):
    places = scattered(300)
    area, *_ = moments(draw(shape, **places))
    assert area == pytest.approx(AREAS[shape](places["width"], places["height"]), rel=0.03)


@pytest.mark.parametrize("shape", range(5), ids=SHAPES)
def test_centre_of_gravity_is_where_it_was_put(shape):
    places = scattered(300)
    _, x, y, *_ = moments(draw(shape, **places))
    assert x == pytest.approx(places["x"], abs=0.1)
    assert y == pytest.approx(places["y"], abs=0.1)


def test_elongation_is_that_of_the_formula():
    """Second moments: a^2 / 4 along a half-axis of an ellipse, a^2 / 3 along that of a rectangle."""
    for shape, divisor in ((ELLIPSE, 4), (RECTANGLE, 3)):
        *_, long, short = moments(draw(shape, width=16.0, height=8.0, rotation=np.linspace(0, 3, 30)))
        assert long == pytest.approx(64 / divisor, rel=0.03)
        assert short == pytest.approx(16 / divisor, rel=0.05)


def test_a_square_on_the_pixel_grid_is_exact():
    pictures = draw(SQUARE, x=9.5, y=20.5, width=4.0)
    expected = np.zeros((64, 64, 3), dtype=np.uint8)
    expected[19:23, 8:12] = 255
    assert (pictures[0] == expected).all()


def test_half_covered_pixels_are_half_as_bright():
    picture = draw(RECTANGLE, x=10.0, y=20.0, width=4.0, height=2.0)[0, :, :, 0]
    assert picture[20, 7:14].tolist() == [0, 128, 255, 255, 255, 128, 0]
    assert picture[18:23, 10].tolist() == [0, 128, 255, 128, 0]
    assert picture[19, 8] == 64


def test_inside_is_the_colour_and_outside_is_black():
    colour = (0.2, 0.4, 1.0)
    pictures = draw(np.arange(5), colour=colour, x=30.0, y=30.0, width=16.0, height=10.0)
    assert (pictures[:, 30, 30] == [51, 102, 255]).all()
    rows, columns = np.indices((64, 64))
    outside = (
        np.hypot(columns - 30, rows - 30) > reach(np.arange(5), np.full(5, 16.0), np.full(5, 10.0)).max() + 1
    )
    assert (pictures[:, outside] == 0).all()
    assert pictures.dtype == np.uint8 and pictures.shape == (5, 64, 64, 3)


@pytest.mark.parametrize("shape", range(5), ids=SHAPES)
def test_objects_stay_within_their_reach(shape):
    places = scattered(200)
    pictures = draw(shape, **places)
    rows, columns = np.indices((64, 64))
    distance = np.hypot(columns - places["x"][:, None, None], rows - places["y"][:, None, None])
    radius = reach(np.full(200, shape), places["width"], places["height"])
    furthest = np.where(pictures[..., 0] > 0, distance, 0).max((1, 2))
    assert (furthest <= radius + 1).all()
    assert (furthest >= radius - 1).all()


@pytest.mark.parametrize(
    ("shape", "turn"),
    [(CIRCLE, 0.7), (ELLIPSE, np.pi), (SQUARE, np.pi / 2), (RECTANGLE, np.pi), (TRIANGLE, 2 * np.pi / 3)],
)
def test_turns_that_leave_a_shape_as_it_is(shape, turn):
    places = scattered(100)
    places["height"] = places["width"] / 1.8
    pictures = draw(shape, **places).astype(int)
    turned = draw(shape, **places | {"rotation": places["rotation"] + turn}).astype(int)
    assert np.abs(pictures - turned).max() <= 1
    if shape != CIRCLE:
        halfway = draw(shape, **places | {"rotation": places["rotation"] + turn / 2}).astype(int)
        assert (np.abs(pictures - halfway).max((1, 2, 3)) > 50).all()


def test_triangle_points_up_and_turns_clockwise():
    picture = draw(TRIANGLE, width=16.0, rotation=[0.0, np.pi / 2])[..., 0] > 127
    widths, heights = picture[0].sum(1), picture[1].sum(0)
    assert (np.diff(widths[widths > 0]) >= 0).all()  # the base is below
    assert (np.diff(heights[heights > 0]) <= 0).all()  # the tip is on the right


def test_each_picture_depends_on_its_own_row_alone():
    shape = np.arange(200) % 5
    places = scattered(200)
    places["width"][::7] = 2.5  # small and large windows
    places["width"][::11] = 60
    whole = draw(shape, **places)
    for rows in (np.arange(37, 60), np.arange(200)[::-3], np.array([11]), np.array([5, 5])):
        part = draw(shape[rows], **{name: value[rows] for name, value in places.items()})
        assert (part == whole[rows]).all()
    assert (draw(shape, **places) == whole).all()


def test_no_pictures():
    nothing = np.zeros(0)
    pictures = render(np.zeros(0, dtype=np.int64), np.zeros((0, 3)), *[nothing] * 5)
    assert pictures.shape == (0, 64, 64, 3)


@pytest.mark.parametrize("shape", range(5), ids=SHAPES)
def test_what_is_outside_the_picture_is_cut_off(shape):
    """The visible part is the same wherever the border runs."""
    inside = draw(shape, x=30.0, y=30.0, width=14.0, rotation=0.4)[0]
    cut = draw(shape, x=2.0, y=61.0, width=14.0, rotation=0.4)[0]
    assert np.abs(cut[31:, :36].astype(int) - inside[:33, 28:]).max() <= 1
    assert (draw(shape, x=-40.0, y=200.0)[0] == 0).all()


def test_an_object_larger_than_the_picture():
    assert (draw(SQUARE, width=200.0) == 255).all()
    area, *_ = moments(draw(CIRCLE, width=62.0))
    assert area == pytest.approx(np.pi * 31**2, rel=0.01)
