"""YAML 1.2's core schema: what is a number, a truth value, nothing or a text; what is written is read alike."""

import math
import re
import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

import ecsuite as package
from ecsuite.parts import strict_yaml
from ecsuite.parts.strict_yaml import StrictYamlError, as_yaml, load_yaml

VALUES = {
    "010": 10, "-07": -7, "+3": 3, "0": 0, "0o17": 15, "0x1F": 31, "12345678901234567890": 12345678901234567890,
    "1e3": 1000.0, "1e-3": 0.001, "5E+2": 500.0, ".5": 0.5, "1.": 1.0, "-0.25": -0.25, "010.5": 10.5,
    ".inf": math.inf, "-.INF": -math.inf,
    "true": True, "True": True, "FALSE": False, "~": None, "null": None, "NULL": None, "": None,
    "no": "no", "Yes": "Yes", "on": "on", "off": "off", "y": "y", "nan": "nan", "inf": "inf",
    "1:30": "1:30", "1:30.5": "1:30.5", "1_000": "1_000", "1_0.5": "1_0.5", "0b11": "0b11", "0xg": "0xg",
    "0o8": "0o8", "1e": "1e", "2024-01-31": "2024-01-31", "=": "=", "+": "+", ".": ".", "tRUE": "tRUE",
    "'010'": "010", '"no"': "no", "[010, no, 1:30]": [10, "no", "1:30"], "no: 010": {"no": 10},
}  # fmt: skip
"""Texts and what they are."""


@pytest.mark.parametrize("text", VALUES)
def test_the_core_schema(text):
    found = load_yaml(text)
    assert found == VALUES[text] and type(found) is type(VALUES[text])


def test_not_a_number():
    assert math.isnan(load_yaml(".nan")) and math.isnan(load_yaml(".NaN"))


@pytest.mark.parametrize(
    "value",
    [
        "010", "089", "0o17", "0x1F", "1e3", "1.", ".5", "+3", "true", "no", "1:30", "1_000", "~", "", "null", ".nan",
        "2024-01-31", "=", "<<", 10, -7, 1e3, 1e-5, 1e16, 1e300, math.inf, True, None, "a\nb", "ü",
        [1, "1", {"a": "1"}],
    ],
)  # fmt: skip
def test_what_is_written_is_read_by_readers_of_both_versions(value):
    for found in (load_yaml(as_yaml({"key": value})), yaml.safe_load(as_yaml({"key": value}))):
        assert found == {"key": value} and type(found["key"]) is type(value)


@pytest.mark.parametrize("text", ["!!int no", "!!int 0b1", "!!float a", "!!bool 3", "!!int " + "9" * 5000])
def test_a_tag_that_its_value_does_not_allow_is_refused(text):
    with pytest.raises(StrictYamlError, match="not YAML"):
        load_yaml(text)


class Yaml11(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    """YAML 1.1, with `1e-3` as a number."""


Yaml11.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?([0-9]+\.?[0-9]*)[eE][-+]?[0-9]+$"), list("-+0123456789")
)


def test_shipped_files_mean_the_same_in_yaml_1_1():
    root = Path(package.__file__).parent
    files = [*root.glob("configs/**/*.yaml"), *root.glob("eval/**/*.yaml"), *root.glob("downloads/*.yaml")]
    assert len(files) > 75
    for file in files:
        text = file.read_text("utf-8")
        assert repr(load_yaml(text)) == repr(Yaml11(text).get_single_data()), file


@pytest.fixture
def without_libyaml(monkeypatch):
    """The module where PyYAML was built without libyaml."""
    monkeypatch.setattr(yaml, "__with_libyaml__", False)
    return SimpleNamespace(**runpy.run_path(strict_yaml.__file__))


def test_without_libyaml_the_same_is_read(without_libyaml):
    assert without_libyaml.PARSER is without_libyaml.PythonParser
    for text, value in VALUES.items():
        assert without_libyaml.load_yaml(text) == value
    for file in sorted((Path(package.__file__).parent / "configs").glob("**/*.yaml"))[::10]:
        assert without_libyaml.load_yaml(file.read_text()) == load_yaml(file.read_text())


@pytest.mark.parametrize(
    ("text", "line"),
    [("a: 1\nb: [", 2), ("a: 1\n\tb: 2", 2), ("a: 1\na: 2\n", 2), ("[" * 500, None), ("a\n\0", 2)],
)
def test_both_parsers_name_the_line(without_libyaml, text, line):
    with pytest.raises(StrictYamlError) as here:
        load_yaml(text)
    with pytest.raises(without_libyaml.StrictYamlError) as there:
        without_libyaml.load_yaml(text)
    assert here.value.line == there.value.line == line


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("training.seed=1:30", "--set: training.seed: expected int, got '1:30'"),
        ("training.seed=1_000", "--set: training.seed: expected int, got '1_000'"),
        ("training.deterministic=no", "--set: training.deterministic: expected true or false, got 'no'"),
    ],
)
def test_what_is_no_number_is_refused_on_the_command_line(ecsuite, setting, message):
    code, out, err = ecsuite("config", "disc_tiny", "--set", setting)
    assert (code, out, err) == (2, "", f"{message}\n")


def test_a_number_with_zeros_before_it_is_decimal(ecsuite):
    assert "\n  seed: 10  #" in ecsuite("config", "disc_tiny", "--set", "training.seed=010")[1]


def test_truth_values_after_a_name_may_be_switches(ecsuite):
    for value in ("on", "true"):
        _, out, err = ecsuite("config", "disc_tiny", "--set", f"receiver=hier:gru,reset={value}")
        assert err == "" and "\n  reset: true" in out
