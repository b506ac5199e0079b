"""Sizes follow from the geometry, and errors of invalid sizes name the remedy."""

import pytest

from ecsuite.grammars.geometry import Geometry
from ecsuite.runtime.errors import ConfigError


def test_the_default_is_the_papers() -> None:
    geometry = Geometry()
    assert (geometry.message_length, geometry.num_meanings) == (20, 100_000)
    assert str(geometry) == "5x10|w4|V4"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_values": 0}, "--num-values: expected 1 to 1,073,741,824, got 0"),
        ({"word_length": -1}, "--word-length: expected 1 to 10,000, got -1"),
        ({"num_attributes": 10**9}, "--num-attributes: expected 1 to 30, got 1,000,000,000"),
        ({"vocab_size": 2**31}, "--vocab-size: expected 1 to 2,147,483,647, got 2,147,483,648"),
        (
            {"num_attributes": 10},
            "10^10 meanings in messages of 40 symbols do not fit in memory (at most 1,073,741,824 symbols "
            "in total): lower --num-attributes or --num-values",
        ),
    ],
)
def test_invalid_sizes_are_rejected(changes: dict[str, int], message: str) -> None:
    with pytest.raises(ConfigError) as error:
        Geometry(**changes)
    assert str(error.value) == message
