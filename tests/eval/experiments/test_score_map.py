"""The heat map of a scored collection."""

from pathlib import Path
from types import SimpleNamespace


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


def test_the_command_draws_it(ecsuite, collection):
    options = ("--metrics", "elcc", "--on", "here", "--plot", "map.svg", "--out", "scores.csv")
    code, _, err = ecsuite("score", *map(str, collection), *options)
    assert code == 0, err
    assert "<!-- rlupus/9-player.run-3 -->" in Path("map.svg").read_text() and Path("scores.csv").is_file()
