import math
import runpy
from types import SimpleNamespace

import pytest
import yaml

from ecsuite.parts import strict_yaml
from ecsuite.parts.strict_yaml import StrictYamlError, as_yaml, load_yaml


@pytest.mark.parametrize("text", ["!!int no", "!!int 0b1", "!!float a", "!!bool 3", "!!int " + "9" * 5000])
def test_a_tag_that_its_value_does_not_allow_is_refused(text):
    with pytest.raises(StrictYamlError, match="not YAML"):
        load_yaml(text)


VALUES = {
    "010": 10, "-07": -7, "+3": 3, "0": 0, "0o17": 15, "0x1F": 31, "12345678901234567890": 12345678901234567890,
    "1e3": 1000.0, "1e-3": 0.001, "5E+2": 500.0, ".5": 0.5, "1.": 1.0, "-0.25": -0.25, "010.5": 10.5,
    ".inf": math.inf, "-.INF": -math.inf, "True": True, "FALSE": False, "~": None, "NULL": None, "": None,
    "no": "no", "Yes": "Yes", "on": "on", "y": "y", "nan": "nan", "1:30": "1:30", "1:30.5": "1:30.5",
    "1_000": "1_000", "0b11": "0b11", "0xg": "0xg", "0o8": "0o8", "1e": "1e", "2024-01-31": "2024-01-31", "=": "=",
    ".": ".", "tRUE": "tRUE", "'010'": "010", '"no"': "no", "[010, no, 1:30]": [10, "no", "1:30"],
}  # fmt: skip


@pytest.mark.parametrize("text", VALUES)
def test_the_core_schema(text):
    found = load_yaml(text)
    assert found == VALUES[text] and type(found) is type(VALUES[text])


PRINTED = [
    "010", "089", "0o17", "0x1F", "1e3", "1.", ".5", "+3", "true", "no", "1:30", "1_000", "~", "", "null", ".nan",
    "2024-01-31", "=", "<<", 10, -7, 1e3, 1e-5, 1e16, 1e300, math.inf, True, None, "a\nb", "ü", [1, "1", {"a": "1"}],
]  # fmt: skip


@pytest.mark.parametrize("value", PRINTED)
def test_what_is_written_is_read_by_readers_of_both_versions(value):
    for found in (load_yaml(as_yaml({"key": value})), yaml.safe_load(as_yaml({"key": value}))):
        assert found == {"key": value} and type(found["key"]) is type(value)


@pytest.fixture
def without_libyaml(monkeypatch):
    monkeypatch.setattr(yaml, "__with_libyaml__", False)
    return SimpleNamespace(**runpy.run_path(strict_yaml.__file__))


@pytest.mark.parametrize(
    ("text", "line"), [("a: 1\nb: [", 2), ("a: 1\n\tb: 2", 2), ("a: 1\na: 2\n", 2), ("[" * 500, None), ("a\n\0", 2)],
)  # fmt: skip
def test_both_parsers_name_the_line(without_libyaml, text, line):
    with pytest.raises(StrictYamlError) as here:
        load_yaml(text)
    with pytest.raises(without_libyaml.StrictYamlError) as there:
        without_libyaml.load_yaml(text)
    assert here.value.line == there.value.line == line


def test_a_number_with_zeros_before_it_is_decimal(ecsuite):
    assert "\n  seed: 10  #" in ecsuite("config", "disc_tiny", "--set", "training.seed=010")[1]
