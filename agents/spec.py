"""Agent names: architecture, number of layers, cell and options in one line.

    lstm   lstm-2l   gru-z   gru-2l-z   husendz:dgsend   transformer-2l,init=copied   hier:gru,stop=first   cnn,blocks=3

`-2l` means two layers, `-z` an input of zeros at every step, `:dgsend` the cell. The published program's names
(`RNNAutoReg2L:LSTM`, `HierZero:dgsend`) are accepted, too. Equal agents have equal canonical names.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from ecsuite.agents.registry import CELLS, SHORT_OPTIONS
from ecsuite.components import KIND
from ecsuite.config import ConfigError, look_up, parse_value, unknown_name

Role = Literal["sender", "receiver"]

OPTIONS: dict[str, tuple[str, ...]] = {
    "blocks": (),
    "form": ("flat", "sum"),
    "hidden": (),
    "init": ("independent", "copied"),
    "reset": ("off", "on"),
    "stop": ("each", "first"),
}
"""Options of agents and the values of each, the default first; () means any integer from 1."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Family:
    """Agents that differ only in cell, number of layers and input."""

    options: tuple[str, ...] = ()
    has_layers: bool = False
    """Whether the name may have the suffix `-2l`."""
    has_zero_input: bool = False
    """Whether the name may have the suffix `-z`."""


RECURRENT = {
    "sender": Family(options=("hidden",), has_layers=True, has_zero_input=True),
    "receiver": Family(options=("hidden",), has_layers=True),
}
"""The families whose name is only a cell, by role."""

FAMILIES: dict[Role, dict[str, Family]] = {
    "sender": {
        **dict.fromkeys(CELLS.parts, RECURRENT["sender"]),
        "husenda:CELL": Family(options=("hidden",)),
        "husendz:CELL": Family(options=("hidden",)),
        "fc1l": Family(),
        "fc2l": Family(options=("hidden",)),
        "transformer": Family(options=("hidden", "init"), has_layers=True),
    },
    "receiver": {
        **dict.fromkeys(CELLS.parts, RECURRENT["receiver"]),
        "hier:CELL": Family(options=("hidden", "reset", "stop")),
        "cnn": Family(options=("blocks", "hidden")),
        "fc1l": Family(),
        "fc2l": Family(options=("form", "hidden")),
    },
}
"""All families by role and pattern; CELL stands for any name in `CELLS`."""

NOT_IN_GAMES: dict[tuple[Role, str], str] = {
    ("sender", "hashtable"): "learns from a given language only; see `ecsuite icy`",
}
"""Agents of papers that no game can train, and why."""

ALIASES: tuple[tuple[str, str], ...] = (
    (r"rnn(?:autoreg)?:(.+)", r"\1"),
    (r"rnn(?:autoreg)?(\d+)l:(.+)", r"\2-\1l"),
    (r"rnnzero:(.+)", r"\1-z"),
    (r"rnnzero(\d+)l:(.+)", r"\2-\1l-z"),
    (r"hierzero:(.+)", r"husendz:\1"),
    (r"hierautoreg:(.+)", r"husenda:\1"),
    (r"hu-?(?:receiver|recv):(.+)", r"hier:\1"),
    (r"transdecsoft", r"transformer"),
    (r"transdecsoft(\d+)l", r"transformer-\1l"),
    (r"(.+)-1l(-z)?", r"\1\2"),
)
"""Other names of the same agents: lower-case patterns and their replacements, all applied in this order."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentSpec:
    """A parsed agent name; `str` gives the canonical text."""

    name: str
    """Canonical name without options: `husendz:dgsend`, `lstm-2l-z`."""
    family: str
    """Key in `FAMILIES`."""
    options: tuple[tuple[str, str], ...] = ()
    """Options that differ from their default, sorted by name."""
    cell: str | None = None
    num_layers: int = 1
    zero_input: bool = False

    def __str__(self) -> str:
        return ",".join([self.name, *(f"{key}={value}" for key, value in self.options)])

    def option(self, key: str) -> str | None:
        """The value of an option or its default; None for an integer option that is not set."""
        default = OPTIONS[key][0] if OPTIONS[key] else None
        return dict(self.options).get(key, default)

    def section(self) -> dict[str, Any]:
        """The section of a config with the same agent."""
        options = {SHORT_OPTIONS.get(key, key): parse_value(value, key) for key, value in self.options}
        if self.family in CELLS.parts:
            zero_input = {"zero_input": True} if self.zero_input else {}
            return {
                KIND: "recurrent",
                "cell": self.cell,
                "num_layers": self.num_layers,
                **zero_input,
                **options,
            }
        cell = {} if self.cell is None else {"cell": self.cell}
        layers = {"num_layers": self.num_layers} if self.family == "transformer" else {}
        return {KIND: self.family.removesuffix(":CELL"), **cell, **layers, **options}

    def number(self, key: str) -> int | None:
        """The value of an integer option; None if it is not set."""
        value = self.option(key)
        return None if value is None else int(value)


def sender_section(name: str) -> dict[str, Any]:
    """The section of a sender's name without options, such as `gru-2l` or `husendz:dgsend`."""
    return parse_agent("sender", name).section()


def receiver_section(name: str) -> dict[str, Any]:
    """The section of a receiver's name without options, such as `gru-2l` or `hier:gru`."""
    return parse_agent("receiver", name).section()


def parse_agent(role: Role, text: str, more: Mapping[str, Family] = MappingProxyType({})) -> AgentSpec:
    """Parse the name and options of a sender or receiver; case is ignored.

    Args:
        role: sender or receiver.
        text: `name[,key=value]*`.
        more: Families beside those of `FAMILIES`.

    Raises:
        ConfigError: If the name, the cell, an option or its value is unknown; the message lists the choices.
    """
    given_name, *assignments = (part.strip() for part in text.split(","))
    name = given_name.lower()
    for pattern, canonical in ALIASES:
        name = re.sub(rf"^{pattern}$", canonical, name)
    families = {**FAMILIES[role], **more}
    cell: str | None = None
    prefix, colon, suffix = name.partition(":")
    num_layers, zero_input = 1, False
    if colon:
        cell_families = {
            family.removesuffix(":CELL"): family for family in families if family.endswith(":CELL")
        }
        pattern = look_up(f"{role} with a cell", prefix, cell_families)
        cell = suffix
        look_up("cell", cell, CELLS.parts)
    else:
        match = re.fullmatch(r"(.+?)(?:-([1-9])l)?(-z)?", name)
        pattern, layers, zero = match.groups() if match else (name, None, None)
        family = families.get(pattern)
        if family is None or (layers and not family.has_layers) or (zero and not family.has_zero_input):
            if (role, name) in NOT_IN_GAMES:
                raise ConfigError(f"{role} {name} {NOT_IN_GAMES[role, name]}")
            raise unknown_name(role, given_name, families)
        num_layers, zero_input = int(layers or 1), zero is not None
        cell = pattern if pattern in CELLS.parts else None
    options = _read_options(name, families[pattern], assignments)
    return AgentSpec(
        name=name, family=pattern, options=options, cell=cell, num_layers=num_layers, zero_input=zero_input
    )


def _read_options(name: str, family: Family, assignments: list[str]) -> tuple[tuple[str, str], ...]:
    """The options that differ from their default, sorted."""
    options: dict[str, str] = {}
    for assignment in assignments:
        key, equals, value = (part.strip() for part in assignment.lower().partition("="))
        if not equals:
            raise ConfigError(f"{name}: expected key=value after the comma, got '{assignment}'")
        if not family.options:
            raise ConfigError(f"{name} has no options; leave out ',{assignment}'")
        look_up(f"option of {name}", key, dict.fromkeys(family.options))
        if not OPTIONS[key]:
            if not re.fullmatch("[1-9][0-9]{0,5}", value):
                raise ConfigError(f"{name}: {key}: expected a number from 1 to 999999, got '{value}'")
        else:
            look_up(f"value of {key}", value, dict.fromkeys(OPTIONS[key]))
        options[key] = value
    kept = ((key, value) for key, value in options.items() if OPTIONS[key][:1] != (value,))
    return tuple(sorted(kept))
