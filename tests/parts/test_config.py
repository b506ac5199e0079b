"""Reading configs: strict in keys, values and types, with messages that name the place and the remedy."""

import copy
import pickle
import re
from dataclasses import dataclass
from typing import Literal

import pytest

from ecsuite.parts.config import (
    Accuracy,
    Count,
    Levels,
    Positive,
    Seed,
    Share,
    Weight,
    build,
    checked,
    parse_value,
    parse_yaml,
    read_yaml,
    refuse_unread,
    shipped_configs,
    unread,
)
from ecsuite.runtime.errors import ConfigError, DivergedError, look_up, shown, unknown_name


@dataclass(frozen=True, kw_only=True)
class Settings:
    """A setting of each type."""

    number: Count = 3
    levels: Levels = 2
    seed: Seed = 0
    share: Share = 0.0
    weight: Weight = 0.0
    rate: Positive = 1.0
    accuracy: Accuracy | None = None
    is_on: bool = False
    mode: Literal["greedy", "sample"] = "greedy"
    name: str = ""
    file: str | None = None
    names: tuple[str, ...] = ()

    def __post_init__(self):
        if self.name == "none":
            raise ConfigError("name: expected another one")


MISTAKES = {
    "numbr: 2": "unknown key 'numbr'; did you mean 'number'? choices: number, ",
    "1: 2": "unknown key '1'; choices: ",
    "rate: hot": "rate: expected float, got 'hot'",
    "rate: true": "rate: expected float, got True",
    "rate:": "rate: expected float, got None",
    "rate: 0": "rate: expected float > 0.0, got 0",
    "rate: .nan": "rate: expected float > 0.0, got nan",
    "rate: .inf": "rate: expected float <= 1.7976931348623157e+308, got inf",
    "weight: .nan": "weight: expected float >= 0.0, got nan",
    "weight: -1": "weight: expected float >= 0.0, got -1",
    "mode: sampl": "mode: unknown value 'sampl'; did you mean 'sample'? choices: greedy, sample",
    "mode: 3": "mode: unknown value '3'; choices: greedy, sample",
    "number: 2.5": "number: expected int, got 2.5",
    "number: 0": "number: expected int >= 1, got 0",
    "levels: 1": "levels: expected int >= 2, got 1",
    "is_on: 1": "is_on: expected true or false, got 1",
    "seed: -1": "seed: expected int >= 0, got -1",
    f"seed: {2**63}": f"seed: expected int <= {2**63 - 1}, got {2**63}",
    "accuracy: 95": "accuracy: expected float <= 1.0, got 95",
    "accuracy: high": "accuracy: expected float or null, got 'high'",
    "share: 1": "share: expected float < 1.0, got 1",
    "share: .nan": "share: expected float >= 0.0, got nan",
    "name: none": "name: expected another one",
    "file: 3": "file: expected str or null, got 3",
    "names: a": "names: expected list, got 'a'",
    "names: [a, 3]": "names: expected str, got 3",
}


@pytest.mark.parametrize("text", MISTAKES)
def test_mistakes_are_named_with_key_and_value(text):
    with pytest.raises(ConfigError, match="^" + re.escape(f"mine.yaml: {MISTAKES[text]}")):
        build(Settings, parse_yaml(text, "mine.yaml"), "mine.yaml")


def test_values_are_taken_as_they_are_and_lists_as_tuples():
    tree = {"number": 2, "rate": 3, "accuracy": None, "names": ["a", "b"], "file": None}
    settings = build(Settings, tree, "mine.yaml")
    assert settings == Settings(number=2, rate=3.0, names=("a", "b"))
    assert type(settings.rate) is float
    assert checked(2**63 - 1, Seed, "seed") == 2**63 - 1


@pytest.mark.parametrize(
    ("text", "number"),
    [("1e-3", 1e-3), ("1.5e3", 1500.0), (".5e3", 500.0), ("-2E+1", -20.0), ("1e3", 1000.0)],
)
def test_numbers_in_scientific_notation_are_numbers(text, number):
    assert parse_value(text, "rate") == number and parse_yaml(f"rate: {text}", "a.yaml") == {"rate": number}


@pytest.mark.parametrize("text", ["1e", "e3", "1.5e3a", "v1e3", "'1e3'"])
def test_other_texts_with_an_e_are_texts(text):
    assert parse_value(text, "name") == text.strip("'")


@pytest.mark.parametrize("text", ["[", "!!python/name:os.system", "{a: ", "'"])
def test_what_is_not_yaml_is_shown(text):
    with pytest.raises(ConfigError, match="^" + re.escape(f"--set rate: {shown(text)} is not a YAML value")):
        parse_value(text, "--set rate")


FILES = {
    "3": "expected keys and values, got int",
    "": "expected keys and values, got NoneType",
    "- world": "expected keys and values, got list",
    "world: {": "not YAML: did not find expected node content at the end",
    "about: !!timestamp foo": "not YAML: a value that its tag does not allow",
    "world: !!python/object/apply:os.system [echo]": "not YAML: could not determine a constructor for the tag",
    "!!python/object:ecsuite.corpus.Corpus {}": "not YAML: could not determine a constructor for the tag",
}


@pytest.mark.parametrize("text", FILES)
def test_mistakes_in_files_are_named(tmp_path, text):
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError, match=f"^{re.escape(str(file))}(:1)?: {re.escape(FILES[text])}"):
        read_yaml(str(file), "game", {})


def test_a_file_is_named_by_itself_unless_it_says_so(tmp_path):
    (tmp_path / "mine.yaml").write_text("number: 2\n")
    (tmp_path / "yours.yml").write_text("name: ours\nformat: 1\n")
    assert read_yaml(str(tmp_path / "mine.yaml"), "game", {}) == {"name": "mine", "number": 2}
    assert read_yaml(str(tmp_path / "yours.yml"), "game", {}) == {"name": "ours"}


def test_shipped_configs_are_read_by_name_in_order():
    shipped = shipped_configs()
    assert list(shipped) == sorted(shipped) and {"disc_tiny", "mu_cub"} <= set(shipped)
    assert read_yaml("disc_tiny", "game", shipped)["name"] == "disc_tiny"
    assert "icy_table3" in shipped_configs("paper")


def test_files_and_names_that_are_not_there(tmp_path):
    with pytest.raises(
        ConfigError, match=r"^unknown game 'disk_small'; did you mean 'disc_small'\? choices: disc_small, "
    ):
        read_yaml("disk_small", "game", shipped_configs())
    with pytest.raises(ConfigError, match=r"nowhere.yaml: can't be read: .*No such file"):
        read_yaml(str(tmp_path / "nowhere.yaml"), "game", {})
    (tmp_path / "binary.yml").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match=r"binary.yml:1: not UTF-8: byte 0xff"):
        read_yaml(str(tmp_path / "binary.yml"), "game", {})


def test_unknown_names_far_from_any_get_no_suggestion():
    assert str(unknown_name("colour", "xyz", ["red", "blue"])) == "unknown colour 'xyz'; choices: red, blue"
    assert look_up("colour", "red", {"red": 1}) == 1


def test_names_with_a_comma_are_told_apart():
    names = ["Rec, large", "Random"]
    told = "unknown source 'rec'; choices: 'Rec, large', 'Random'"
    assert str(unknown_name("source", "rec", names)) == told
    assert str(unknown_name("source", 3, names)) == "source: expected one of 'Rec, large', 'Random', got 3"


def test_long_values_are_cut_in_messages():
    with pytest.raises(ConfigError) as error:
        checked("x" * 10_000, Count, "number")
    assert len(str(error.value)) < 120


def test_the_error_of_divergence_is_copied_with_its_outcome():
    error = DivergedError("step 3: the loss is nan", {"step": 3})
    for same in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(same) is DivergedError and (str(same), same.outcome) == (str(error), {"step": 3})
    assert isinstance(error, ArithmeticError)


READS = {"lamp": ("oil",), "lantern": ("oil", "battery"), "sun": ()}


def test_options_that_a_choice_does_not_read_are_refused():
    refuse_unread("light lantern", ["lantern"], {"battery": "--battery", "colour": "--colour"}, READS)
    refuse_unread("light lamp,lantern", ["lamp", "lantern"], {"battery": "--battery"}, READS)
    with pytest.raises(ConfigError, match=r"^--battery: not read by light lamp; read by lantern$"):
        refuse_unread("light lamp", ["lamp"], {"oil": "--oil", "battery": "--battery"}, READS)
    with pytest.raises(ConfigError, match=r"^--oil: not read by light sun; read by lamp, lantern$"):
        refuse_unread("light sun", ["sun"], {"oil": "--oil"}, READS)


def test_options_that_no_choice_names_are_read_by_all():
    assert unread(["colour", "oil", "battery"], ["moon"], READS) == ["oil", "battery"]
    assert unread(["colour", "oil"], ["lamp"], {}) == []


@pytest.mark.parametrize("name", ["../../elsewhere", "/elsewhere", "a/b", ".."])
@pytest.mark.parametrize("kind", ["game", "study"])
def test_a_config_can_not_choose_where_runs_are_written(name, kind, tmp_path):
    file = tmp_path / "config.yaml"
    file.write_text(f"name: {name}\n")
    with pytest.raises(ConfigError, match="name: expected the name of a folder"):
        read_yaml(str(file), kind, {})
