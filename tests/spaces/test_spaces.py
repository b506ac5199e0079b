import numpy as np
import pytest

from ecsuite.runtime.errors import ConfigError
from ecsuite.spaces.kinds import SpaceOptions, read_table


def test_features_are_alike_by_distance():
    made = SpaceOptions(space="features", variance=2.0).make(np.array([[0.0], [2.0], [4.0]]))
    expected = np.exp([0, -1, -4])
    assert made.beliefs[0] == pytest.approx(expected / expected.sum())
    assert made.find(np.array([[4.0], [0.0]])).tolist() == [2, 0]


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


def test_meanings_of_a_table_are_found_by_their_words(tmp_path):
    (tmp_path / "space.csv").write_text("meaning,need,here,there\ncup,0.75,0.9,0.1\nbowl,0.25,0.2,0.8\n")
    made = read_table(tmp_path / "space.csv")
    assert made.need.tolist() == [0.75, 0.25] and made.find(np.array([["bowl"], ["cup"]])).tolist() == [1, 0]
    with pytest.raises(ConfigError, match=r"plate is not in space space\.csv, which has 2 meanings, such as cup"):
        made.find(np.array([["plate"]]))
