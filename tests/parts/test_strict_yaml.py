import re
import runpy
from types import SimpleNamespace

import pytest
import yaml

from ecsuite.parts import strict_yaml
from ecsuite.parts.strict_yaml import StrictYamlError, load_yaml


@pytest.mark.parametrize("text", ["!!int no", "!!int 0b1", "!!float a", "!!bool 3", "!!int " + "9" * 5000])
def test_a_tag_that_its_value_does_not_allow_is_refused(text):
    with pytest.raises(StrictYamlError, match="not YAML"):
        load_yaml(text)


class Yaml11(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    """YAML 1.1, with `1e-3` as a number."""


Yaml11.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?([0-9]+\.?[0-9]*)[eE][-+]?[0-9]+$"), list("-+0123456789")
)


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
