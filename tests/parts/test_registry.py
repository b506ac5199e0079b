"""Parts: sections and their short forms, layers, checked options, and that every registered class is one."""

import ast
import inspect
from dataclasses import dataclass, fields
from itertools import pairwise
from textwrap import dedent
from typing import Annotated, Literal

import pytest

from ecsuite.agents.registry import CELLS, PERCEPTIONS
from ecsuite.games.config.registry import PARTICIPANTS
from ecsuite.games.config.sections import PARTS, PLAIN
from ecsuite.language_models.backend import BACKENDS
from ecsuite.parts.config import Count, Share
from ecsuite.parts.registry import (
    KIND,
    Part,
    Registry,
    all_options,
    option_types,
    read_options,
    read_part,
    to_tree,
)
from ecsuite.runtime.errors import ConfigError


class Glass:
    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        tint: Literal["clear", "grey"] = "clear"
        """Its colour."""


class Mirror:
    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        loss: Share = 0.0
        """What it does not reflect."""


SURFACES = Registry(
    word="surface",
    parts={
        "glass": (f"{__name__}:Glass", "lets light pass"),
        "mirror": (f"{__name__}:Mirror", "sends it back"),
    },
)


CLEAR = Part("glass", Glass.Options())


class Lamp:
    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        power: Count = 40
        """In watts."""
        surface: Annotated[Part, SURFACES] = CLEAR
        """What it shines through."""


class Lantern:
    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        power: Count = 5
        """In watts."""
        battery: str = "AA"
        """Its size."""

        def __post_init__(self):
            if self.battery == "":
                raise ConfigError("battery: expected a size")


LIGHTS = Registry(
    word="light",
    parts={"lamp": (f"{__name__}:Lamp", "stands"), "lantern": (f"{__name__}:Lantern", "is carried")},
)


def read(*layers, registry=LIGHTS):
    """The part of these layers, the lowest first."""
    return read_part(registry, [("", layer) for layer in layers], registry.word)


def test_a_class_is_imported_by_its_name():
    assert LIGHTS.load("lamp") is Lamp and LIGHTS.lines() == {"lamp": "stands", "lantern": "is carried"}
    with pytest.raises(
        ConfigError, match=r"^unknown light 'lmp'; did you mean 'lamp'\? choices: lamp, lantern$"
    ):
        LIGHTS.load("lmp")


@pytest.mark.parametrize(
    "given",
    [
        "lantern,power=7,battery=AAA",
        "lantern, power = 7 , battery=AAA",
        {"kind": "lantern", "power": 7, "battery": "AAA"},
        {"kind": "lantern,power=7", "battery": "AAA"},
        {"kind": "lantern,power=9,battery=C", "power": 7, "battery": "AAA"},
    ],
)
def test_a_name_with_options_is_short_for_a_section(given):
    assert read(given) == Part("lantern", Lantern.Options(power=7, battery="AAA"))


def test_the_long_form_has_every_option_and_is_read_again():
    part = read("lamp")
    tree = {"kind": "lamp", "power": 40, "surface": {"kind": "glass", "tint": "clear"}}
    assert to_tree(part) == tree and read(tree) == part


def test_a_later_layer_has_precedence():
    assert read("lamp", {"power": 60}, {"power": 75}).options.power == 75


def test_a_changed_kind_keeps_options_of_the_same_name_and_drops_others():
    small = {"kind": "lantern", "power": 7, "battery": "C"}
    assert read(small, {"kind": "lamp"}) == Part("lamp", Lamp.Options(power=7))
    assert read(small, {"kind": "lamp"}, {"kind": "lantern"}).options.battery == "AA"


def test_an_option_that_the_kind_of_its_layer_does_not_read_is_an_error():
    message = r"^light.battery: light lamp does not read it; read by lantern$"
    with pytest.raises(ConfigError, match=message):
        read({"kind": "lamp", "battery": "C"})
    with pytest.raises(ConfigError, match=message):
        read("lamp", {"battery": "C"})


def test_a_message_begins_with_the_source_of_the_layer():
    layers = [("a.yaml", "lamp,power=0"), ("--set", {"surface": {"tint": "red"}})]
    with pytest.raises(ConfigError, match=r"^a.yaml: light.power: expected int >= 1, got 0$"):
        read_part(LIGHTS, layers, "light")
    with pytest.raises(ConfigError, match=r"^--set: light.surface.tint: unknown value 'red'"):
        read_part(LIGHTS, [*layers, ("flag", {"power": 1})], "light")


@pytest.mark.parametrize(
    ("surface", "expected"),
    [
        ("mirror", Part("mirror", Mirror.Options())),
        ("mirror,loss=0.25", Part("mirror", Mirror.Options(loss=0.25))),
        ({"kind": "mirror", "loss": 0.25}, Part("mirror", Mirror.Options(loss=0.25))),
        ({"tint": "grey"}, Part("glass", Glass.Options(tint="grey"))),
    ],
)
def test_an_option_may_be_a_part(surface, expected):
    assert read({"kind": "lamp", "surface": surface}).options.surface == expected
    assert read("lamp", {"surface": surface}).options.surface == expected


def test_a_part_in_a_part_is_merged_and_a_changed_kind_drops_its_options():
    grey = {"kind": "lamp", "surface": {"kind": "glass", "tint": "grey"}}
    assert read(grey, {"power": 3}).options.surface.options.tint == "grey"
    assert read(grey, {"surface": "mirror"}).options.surface == Part("mirror", Mirror.Options())


MISTAKES = [
    ("lmp", "unknown light 'lmp'; did you mean 'lamp'? choices: lamp, lantern"),
    ("lamp,power", "light lamp: expected key=value after the comma, got 'power'"),
    ("lamp,power=[", "light lamp: power: '[' is not a YAML value"),
    ("lamp,power=0", "light.power: expected int >= 1, got 0"),
    ("lamp,pwer=3", "unknown key 'light.pwer'; did you mean 'light.power'? choices: light.kind, light.power, light."),
    ("lamp,battery=C", "light.battery: light lamp does not read it; read by lantern"),
    ("lantern,battery=''", "light.battery: expected a size"),
    ("lamp,surface=steel", "unknown surface 'steel'; choices: glass, mirror"),
    ({"kind": ["lamp"]}, "light.kind: expected a name, got ['lamp']"),
    ({"kind": "lamp", "surface": {"kind": "glass", "loss": 0.5}}, "light.surface.loss: surface glass does not"),
    ({"kind": "lamp", "surface": {"kind": "mirror", "loss": 1}}, "light.surface.loss: expected float < 1.0, got 1"),
    ({"kind": "lamp", "surface": 3}, "light.surface: expected a name or a section with keys, got 3"),
    ({"kind": None}, "light.kind: expected a name, got null"),
    ({"power": 3}, "light.kind: expected a name, got null"),
    (["lamp"], "light: expected a name or a section with keys, got ['lamp']"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "message"), MISTAKES)
def test_mistakes_name_the_place_and_the_choices(given, message):
    with pytest.raises(ConfigError) as error:
        read(given)
    assert str(error.value).startswith(message)


def test_options_by_name_are_checked():
    assert read_options(Lantern.Options, {"power": 3}, "light") == Lantern.Options(power=3)
    assert read_options(Lamp.Options, {"surface": "mirror"}, "light").surface.kind == "mirror"
    with pytest.raises(ConfigError, match=r"^unknown key 'light.pwr'; did you mean 'light.power'\?"):
        read_options(Lantern.Options, {"pwr": 3}, "light")


def test_the_readers_of_each_option():
    assert all_options(LIGHTS) == {"power": ["lamp", "lantern"], "surface": ["lamp"], "battery": ["lantern"]}


EVERY = {**PARTS, "perception": PERCEPTIONS}
CLASSES = [(section, kind) for section, registry in EVERY.items() for kind in registry.parts]


@pytest.mark.parametrize(("section", "kind"), CLASSES)
def test_every_registered_class_has_options_with_defaults_that_are_read_again(section, kind):
    registry = EVERY[section]
    options = registry.load(kind).Options
    assert registry.lines()[kind]
    required = {"text": {"train_data": "a.txt", "valid_data": "b.txt"}, "features": {"features": "a.npz"}}
    part = read({KIND: kind, **(required.get(kind, {}) if section == "world" else {})}, registry=registry)
    assert isinstance(part.options, options)
    tree = to_tree(part)
    assert list(tree) == [KIND, *(entry.name for entry in fields(options))]
    assert read(tree, registry=registry) == part


def test_only_fields_are_options():
    """Class variables of options are none: they are neither suggested nor read."""
    for registry in (*EVERY.values(), BACKENDS, PARTICIPANTS):
        for kind in registry.parts:
            options = registry.load(kind).Options
            assert set(option_types(options)) == {each.name for each in fields(options)}
    with pytest.raises(
        ConfigError, match=r"unknown key 'participant.data_files'; .*choices: (?!.*data_files)"
    ):
        read_part(PARTICIPANTS, [("", {KIND: "language_model", "data_files": ["a"]})], "participant")


def test_every_cell_is_a_class():
    for name in CELLS.parts:
        assert inspect.isclass(CELLS.load(name))


def option_classes():
    """Every class of options, with its base classes."""
    found = {registry.load(kind).Options for registry in EVERY.values() for kind in registry.parts}
    return sorted(
        {base for kind in {*found, *PLAIN.values()} for base in kind.__mro__[:-1]},
        key=lambda kind: kind.__qualname__,
    )


@pytest.mark.parametrize("options", option_classes(), ids=lambda options: options.__qualname__)
def test_every_option_is_documented(options):
    """A line of documentation stands under each option."""
    (tree,) = ast.parse(dedent(inspect.getsource(options))).body
    assert ast.get_docstring(tree)
    for entry, following in pairwise([*tree.body, None]):
        if isinstance(entry, ast.AnnAssign):
            is_documented = isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant)
            assert is_documented, ast.unparse(entry)
            assert entry.value is not None, f"{ast.unparse(entry)}: expected a default"
