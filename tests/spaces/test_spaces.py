"""Semantic spaces: what makes one, how often meanings are needed, and files that are no space."""

import numpy as np
import pytest

from ecsuite.runtime.errors import ConfigError
from ecsuite.spaces.colour import _turned, to_rgb
from ecsuite.spaces.kinds import SpaceOptions, read_table
from ecsuite.spaces.need import capacity_achieving, power_law
from ecsuite.spaces.space import Space

PAIRS = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [1, 1]])


def test_attributes_are_alike_by_what_they_share():
    made = SpaceOptions(scale=1.0).make(PAIRS)
    assert len(made) == 4 and made.need == pytest.approx(0.25)
    expected = np.exp([0, -1, -1, -2])
    assert made.beliefs[0] == pytest.approx(expected / expected.sum())
    assert made.find(PAIRS).tolist() == [0, 1, 2, 3, 3]


def test_features_are_alike_by_distance():
    made = SpaceOptions(space="features", variance=2.0).make(np.array([[0.0], [2.0], [4.0]]))
    expected = np.exp([0, -1, -4])
    assert made.beliefs[0] == pytest.approx(expected / expected.sum())
    assert made.find(np.array([[4.0], [0.0]])).tolist() == [2, 0]


def test_need():
    counts = np.array([[2.0, 0], [2, 2], [0, 2]])
    options = SpaceOptions(need="corpus")
    toy = SpaceOptions().make(np.arange(3)[:, None])
    assert options.needed(toy, counts).need == pytest.approx([0.25, 0.5, 0.25])
    assert SpaceOptions(need="power_law").needed(toy, counts).need == pytest.approx(power_law(3))
    assert SpaceOptions(need="capacity").needed(toy, counts).need == pytest.approx([0.5, 0, 0.5], abs=1e-2)


def test_a_need_of_ones_own(tmp_path):
    toy, counts = SpaceOptions().make(np.arange(3)[:, None]), np.eye(3)
    file = tmp_path / "need.csv"
    file.write_text("value,note,need\n2,0,0.7\n0,0,0.1\n1,0,0.2\n")
    options = SpaceOptions(need=str(file))
    assert options.needed(toy, counts).need == pytest.approx([0.1, 0.2, 0.7])
    for text, expected in (
        ("value,need\n2,0.7\n0,0.3\n", "meaning 1 is missing, which is in space attributes"),
        ("value,need\n2,0.7\n0,0.1\n1,0.1\n3,0.1\n", "meaning 3 is not in space attributes"),
        ("value,need\n2,0.7\n0,0.1\n1,0.1\n", r"p\(m\) sums to 0.9"),
        ("value,other\n2,1\n", "expected a column need"),
        ("value,need\n2,often\n", "need.csv:2, column need: expected a probability, got 'often'"),
    ):
        file.write_text(text)
        with pytest.raises(ConfigError, match=expected):
            options.needed(toy, counts)
    with pytest.raises(ConfigError, match="unknown need 'often'"):
        SpaceOptions(need="often")


def test_the_need_for_which_a_language_tells_most():
    """Of the Z-channel with a half: 2/5 for the meaning that is said in two ways (capacity 0.3219 bits)."""
    assert capacity_achieving(np.array([[1.0, 0], [0.5, 0.5]])) == pytest.approx([0.6, 0.4], abs=1e-3)
    assert capacity_achieving(np.eye(4)) == pytest.approx(0.25)
    assert capacity_achieving(np.array([[0.0, 0], [1, 0], [0, 1]])) == pytest.approx([0, 0.5, 0.5])
    assert capacity_achieving(np.array([[1.0, 0, 0], [0, 0, 1]])) == pytest.approx(
        0.5
    )  # a word that nobody says


def test_a_table_of_ones_own(tmp_path):
    file = tmp_path / "space.csv"
    file.write_text("meaning,need,here,there\ncup,0.75,0.9,0.1\nbowl,0.25,0.2,0.8\n")
    made = read_table(file)
    assert made.need.tolist() == [0.75, 0.25] and made.word(1) == "bowl"
    assert made.find(np.array([["bowl"], ["cup"]])).tolist() == [1, 0]
    with pytest.raises(
        ConfigError, match=r"meaning plate is not in space space\.csv, which has 2 meanings, such as cup"
    ):
        made.find(np.array([["plate"]]))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("m,a,b\ncup,0.5,0.4\n", r"p\(u\|m\) of meaning cup sums to 0.9: expected 1"),
        ("m,need,a,b\ncup,0.9,0.5,0.5\n", r"p\(m\) sums to 0.9"),
        ("m,a,b\ncup,0.5,half\n", r":2, column b: expected a probability, got 'half'"),
        ("m,a,b\ncup,1.5,-0.5\n", "not a probability"),
        ("m,a,b\ncup,0.5\n", ":2: expected 3 cells, as in row 1, got 2"),
        ("m,a\ncup,1\ncup,1\n", "meaning cup occurs twice"),
        ("m,a\n", "expected a row per meaning"),
        ("", "not a text table"),
    ],
)
def test_tables_that_are_no_space(tmp_path, text, expected):
    (tmp_path / "space.csv").write_text(text)
    with pytest.raises(ConfigError, match=expected):
        read_table(tmp_path / "space.csv")


def test_what_options_do_not_fit():
    with pytest.raises(ConfigError, match="need a variance"):
        SpaceOptions(space="features")
    with pytest.raises(ConfigError, match="did you mean 'colour'"):
        SpaceOptions(space="color")
    with pytest.raises(ConfigError, match=r"expected at most 1,000 different meanings, .* got 10,000"):
        SpaceOptions().make(np.arange(10_000)[:, None])
    with pytest.raises(ConfigError, match="features are numbers"):
        SpaceOptions(space="features", variance=1.0).make(np.array([["a"], ["b"]]))
    with pytest.raises(ConfigError, match="no such file"):
        SpaceOptions(space="./nowhere.csv").make()


def test_equal_spaces_have_equal_digests():
    one, other = (
        Space(name=name, beliefs=np.eye(2), need=np.array([0.5, 0.5]), vectors=np.arange(2)[:, None])
        for name in "ab"
    )
    assert one.digest == other.digest != one.needed(np.array([0.4, 0.6])).digest


def test_hues_are_turned_and_greys_stay():
    chart = np.array([[4, column] for column in range(41)])
    turned = _turned(chart, 4)
    assert turned[0] == 0 and turned[1] == 5 and turned[40] == 4
    assert np.array_equal(np.sort(turned), np.arange(41))


def test_white_black_and_red():
    shown = to_rgb(np.array([[100.0, 0, 0], [0, 0, 0], [53.24, 80.09, 67.20]]))
    assert shown == pytest.approx(np.array([[1, 1, 1], [0, 0, 0], [1, 0, 0]]), abs=0.02)
