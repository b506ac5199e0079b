"""Reading of whole JSON files: a value, or one line that names the file."""

import pytest

from ecsuite.formats.strict_json import read_json
from ecsuite.runtime.errors import ConfigError


def test_a_value_over_several_lines(tmp_path):
    file = tmp_path / "a.json"
    file.write_text('{\n "ä": [1, 2.5, null]\n}\n', encoding="utf-8")
    assert read_json(file) == {"ä": [1, 2.5, None]}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", ":1: not JSON: Expecting value at column 1"),
        (b"{}\n {}", ":2: not JSON: Extra data at column 2"),
        (b"[" * 100_000, ": not JSON: nesting that is too deep"),
        (b"1" * 401, ": not JSON: expected integers below"),
        (b"[NaN]", ": not JSON: got NaN"),
        (b'{"a": 1, "a": 2}', ': not JSON: got the duplicate key "a"'),
        (b'"\\ud800"', ": not JSON: a lone surrogate"),
        (b"{\n\xff", ":2: not UTF-8: byte 0xff"),
    ],
)
def test_what_is_not_json_is_one_line(tmp_path, content, reason):
    file = tmp_path / "a.json"
    file.write_bytes(content)
    with pytest.raises(ConfigError) as error:
        read_json(file)
    assert str(error.value).startswith(f"{file}{reason}")
    assert "\n" not in str(error.value)


def test_a_missing_file(tmp_path):
    with pytest.raises(ConfigError, match=r"none\.json: cannot be read: No such file or directory$"):
        read_json(tmp_path / "none.json")
