from dataclasses import dataclass
from typing import Annotated, Literal

import pytest

from ecsuite.parts.config import Count, Share
from ecsuite.parts.registry import Part, Registry, read_part
from ecsuite.runtime.errors import ConfigError, look_up, unknown_name


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
    parts={"glass": (f"{__name__}:Glass", "lets light pass"), "mirror": (f"{__name__}:Mirror", "sends it back")},
)  # fmt: skip


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
    word="light", parts={"lamp": (f"{__name__}:Lamp", "stands"), "lantern": (f"{__name__}:Lantern", "is carried")},
)  # fmt: skip


def test_a_message_begins_with_the_source_of_the_layer():
    layers = [("a.yaml", "lamp,power=0"), ("--set", {"surface": {"tint": "red"}})]
    with pytest.raises(ConfigError, match=r"^a.yaml: light.power: expected int >= 1, got 0$"):
        read_part(LIGHTS, layers, "light")
    with pytest.raises(ConfigError, match=r"^--set: light.surface.tint: unknown value 'red'"):
        read_part(LIGHTS, [*layers, ("flag", {"power": 1})], "light")


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
        read_part(LIGHTS, [("", given)], "light")
    assert str(error.value).startswith(message)


def test_unknown_names_far_from_any_get_no_suggestion():
    assert str(unknown_name("colour", "xyz", ["red", "blue"])) == "unknown colour 'xyz'; choices: red, blue"
    assert look_up("colour", "red", {"red": 1}) == 1
