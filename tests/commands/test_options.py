"""Options that several commands share."""

import pytest

from ecsuite.commands.options import MAX_SEEDS, read_seeds
from ecsuite.config import ConfigError


@pytest.mark.parametrize(
    ("text", "seeds"),
    [
        ("1", (123,)),
        ("3", (123, 124, 125)),
        ("123-125", (123, 124, 125)),
        ("7-7", (7,)),
        ("5,9,2", (5, 9, 2)),
        ("5,", (5,)),
        (" 4 , 6 ", (4, 6)),
        (None, None),
    ],
)
def test_seeds_as_users_write_them(text, seeds):
    assert read_seeds(text, 123) == seeds


@pytest.mark.parametrize(
    "text",
    [
        "0",
        "-3",
        "5-3",
        "abc",
        "",
        ",",
        "1.5",
        "1-2-3",
        "1,x",
        "1-",
        str(10**30),
        f"1-{10**30}",
        str(MAX_SEEDS + 1),
    ],
)
def test_what_is_no_seeds(text):
    with pytest.raises(
        ConfigError, match=r"--seeds .*: expected how many \(10\), a range .* or a list"
    ) as error:
        read_seeds(text, 123)
    assert str(error.value).startswith(f"--seeds {text}: ")
