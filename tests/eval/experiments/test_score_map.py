"""The heat map of a scored collection."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from ecsuite.eval.experiments.collection import draw_map, map_of


def scored(columns):
    """A collection with the values of some scores."""
    number = len(next(iter(columns.values())))
    return [
        SimpleNamespace(
            member=SimpleNamespace(name=f"system/{place}"),
            card={name: SimpleNamespace(value=values[place]) for name, values in columns.items()},
        )
        for place in range(number)
    ]


def test_ranks_are_within_a_score_and_equal_scores_share_theirs():
    columns = {"topsim": [0.5, 0.1, 0.5, -3.0], "has": [None, 7, 9, 8], "Token Count": [1, 2, 3, 4]}
    found = map_of(scored(columns), list(columns))
    assert found.scores == ("topsim", "has") and found.num_left_out == 0
    assert found.ranks[:, 0].tolist() == pytest.approx([5 / 6, 1 / 3, 5 / 6, 0])
    assert np.isnan(found.ranks[0, 1]) and found.ranks[1:, 1].tolist() == [0, 1, 0.5]
    assert found.values[3, 0] == -3.0


def test_scores_without_differences_or_values_are_counted():
    columns = {"topsim": [1, 1, 1, 1], "has": [None, None, None, 1], "hce": [None, None, 1, 2]}
    found = map_of(scored(columns), list(columns))
    assert found.scores == ("hce",) and found.num_left_out == 2


def test_numbers_are_drawn_for_few_corpora_only(tmp_path):
    few = map_of(scored({"topsim": [0.12, 0.34, 98765.0]}), ["topsim"])
    many = map_of(scored({"topsim": [place / 1000 for place in range(60)]}), ["topsim"])
    for name, found in (("few", few), ("many", many)):
        draw_map(found, tmp_path / f"{name}.svg", tmp_path / f"{name}.png")
    text = (tmp_path / "few.svg").read_text()
    assert all(f"<!-- {word} -->" in text for word in ("0.12", "9.88e+04", "system/2", "topsim ↑", "highest"))
    text = (tmp_path / "many.svg").read_text()
    assert "<!-- system/59 -->" in text and "<!-- 0.05 -->" not in text


def test_the_command_draws_it(ecsuite, collection):
    options = ("--metrics", "elcc", "--on", "here", "--plot", "map.svg", "--out", "scores.csv")
    code, _, err = ecsuite("score", *map(str, collection), *options)
    assert code == 0, err
    assert "<!-- rlupus/9-player.run-3 -->" in Path("map.svg").read_text() and Path("scores.csv").is_file()


def test_a_collection_of_one_language_has_no_picture(ecsuite, collection):
    for path in collection:
        path.write_text("[1, 2]\n[2, 1]\n")
    code, _, err = ecsuite(
        "score", *map(str, collection), "--metrics", "has", "--on", "here", "--plot", "map.svg"
    )
    assert code == 0 and "map.svg: not drawn: no score differs between the corpora" in err
    assert not Path("map.svg").exists()
