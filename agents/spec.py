"""Agent names: architecture, number of layers, cell and options in one line.

    lstm   lstm-2l   gru-z   gru-2l-z   husendz:dgsend   transformer-2l,init=copied   hier:gru,stop=first   cnn,blocks=3

`-2l` means two layers, `-z` an input of zeros at every step, `:dgsend` the cell. The published program's names
(`RNNAutoReg2L:LSTM`, `HierZero:dgsend`) are also accepted. Equal agents have equal canonical names.
An agent from a user's file is `./mine.py:MySender`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, get_args, get_origin

import ecsuite.parts.own_code as own_code
from ecsuite.agents.registry import CELLS, RECEIVERS, SENDERS, SHORT_OPTIONS
from ecsuite.parts.registry import KIND, SWITCHES, option_types, pieces_of, value_in_name
from ecsuite.runtime.errors import ConfigError, shown, unknown_name

Role = Literal["sender", "receiver"]

NAME_OPTIONS = ("blocks", "form", "hidden", "init", "reset", "stop")
"""Options that may follow a name after a comma, if the agent has them."""

LAYERED = ("recurrent", "transformer", "bidirectional")
"""Kinds with a number of layers."""

NOT_IN_GAMES: dict[Role, tuple[str, ...]] = {"sender": ("hashtable",), "receiver": ("hashtable", "knn")}
"""Agents of papers that store a given language; no game can train them."""

ALIASES: tuple[tuple[str, str], ...] = (
    (r"rnn(?:autoreg)?:(.+)", r"\1"),
    (r"rnn(?:autoreg)?(\d+)l:(.+)", r"\2-\1l"),
    (r"rnnzero:(.+)", r"\1-z"),
    (r"rnnzero(\d+)l:(.+)", r"\2-\1l-z"),
    (r"hierzero:(.+)", r"husendz:\1"),
    (r"hierautoreg:(.+)", r"husenda:\1"),
    (r"hu-?(?:receiver|recv):(.+)", r"hier:\1"),
    (r"meanembeddings", r"mean_embeddings"),
    (r"transdecsoft", r"transformer"),
    (r"transdecsoft(\d+)l", r"transformer-\1l"),
    (r"(.+)-1l(-z)?", r"\1\2"),
)
"""Other names of the same agents: lower-case patterns and their replacements, all applied in this order."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentName:
    """A parsed agent name; `str` gives the canonical text."""

    name: str
    """Canonical name without options: `husendz:dgsend`, `lstm-2l-z`."""
    family: str
    """See `families`."""
    options: tuple[tuple[str, str], ...] = ()
    """Options that differ from their default, sorted by name."""
    cell: str | None = None
    num_layers: int = 1
    zero_input: bool = False

    def __str__(self) -> str:
        return ",".join([self.name, *(f"{key}={value}" for key, value in self.options)])

    def section(self) -> dict[str, Any]:
        """Convert the name to a section of a config."""
        short = {} if own_code.is_foreign(self.family) else SHORT_OPTIONS
        options = {short.get(key, key): value_in_name(value, key) for key, value in self.options}
        kind = "recurrent" if self.family in CELLS.parts else self.family.removesuffix(":CELL")
        cell = {} if self.cell is None else {"cell": self.cell}
        layers = {"num_layers": self.num_layers} if kind in LAYERED else {}
        zero_input = {"zero_input": True} if self.zero_input else {}
        return {KIND: kind, **cell, **layers, **zero_input, **options}

    def number(self, key: str) -> int | None:
        """The value of an integer option; None if it is not set."""
        value = dict(self.options).get(key)
        return None if value is None else int(value)


def agent_section(role: Role, name: str) -> dict[str, Any]:
    """Parse an agent's name without options, such as `gru-2l`, `husendz:dgsend` or `hier:gru`, to a section."""
    return parse_agent(role, name).section()


def families(role: Role) -> dict[str, type]:
    """The `Options` of families of agents that differ only in cell, layers and input, by pattern.

    In a pattern, CELL stands for any name in `CELLS`; the names of recurrent agents begin with the name of a cell.
    """
    registry, found = SENDERS if role == "sender" else RECEIVERS, dict[str, type]()
    for kind in registry.parts:
        options = registry.load(kind).Options
        if kind == "recurrent":
            found |= dict.fromkeys(CELLS.parts, options)
        else:
            found[f"{kind}:CELL" if "cell" in option_types(options) else kind] = options
    return found


def parse_agent(role: Role, text: str, more: Mapping[str, type] = MappingProxyType({})) -> AgentName:
    """Parse the name and options of a sender or receiver; case is ignored.

    Args:
        role: sender or receiver.
        text: `name[,key=value]*`.
        more: Further families.

    Raises:
        ConfigError: If the name, the cell, an option or its value is unknown; the message lists the choices.
    """
    given_name, *assignments = pieces_of(text)
    if own_code.is_foreign(given_name.partition("@")[0]):
        return _foreign_agent(*given_name.partition("@")[::2], assignments)
    name = given_name.lower()
    for pattern, canonical in ALIASES:
        name = re.sub(rf"^{pattern}$", canonical, name)
    known = {**families(role), **more}
    prefix, colon, suffix = name.partition(":")
    cell: str | None = None
    num_layers, zero_input = 1, False
    if colon:
        pattern = f"{prefix}:CELL"
        if pattern in known and suffix not in CELLS.parts:
            raise unknown_name("cell", given_name.partition(":")[2], sorted(CELLS.parts))
        cell = suffix
    else:
        match = re.fullmatch(r"(.+?)(?:-([1-9])l)?(-z)?", name)
        pattern, layers, zero = match.groups() if match else (name, None, None)
        has = option_types(known[pattern]) if pattern in known else {}
        if (layers and "num_layers" not in has) or (zero and "zero_input" not in has):
            pattern = name  # an unknown name
        num_layers, zero_input = int(layers or 1), zero is not None
        cell = pattern if pattern in CELLS.parts else None
    if pattern not in known:
        if name in NOT_IN_GAMES[role]:
            raise ConfigError(f"{role} {given_name} learns from a given language only; see `ecsuite icy`")
        like = f"{given_name.lower().partition(':')[0]}:CELL" if colon else None
        raise unknown_name(role, given_name, sorted(known), shows_all=True, like=like)
    options = _read_options(given_name, known[pattern], assignments) if assignments else ()
    return AgentName(
        name=name, family=pattern, options=options, cell=cell, num_layers=num_layers, zero_input=zero_input
    )


def _foreign_agent(kind: str, digest: str, assignments: list[str]) -> AgentName:
    """An agent of a user's file; the canonical name contains the first digits of the file's SHA-256."""
    found = own_code.checksum(own_code.source_of(kind))[:12]
    if digest not in ("", found):
        raise ConfigError(
            f"{kind}: its file has changed: expected a SHA-256 that begins with {digest}, got {found}"
        )
    options = (assignment.partition("=")[::2] for assignment in assignments)
    return AgentName(name=f"{kind}@{found}", family=kind, options=tuple(sorted(options)))


def _read_options(name: str, options: type, assignments: list[str]) -> tuple[tuple[str, str], ...]:
    """Parse options that differ from their default, sorted."""
    choices, given = _choices(options), dict[str, str]()
    for assignment in assignments:
        typed_key, equals, typed_value = (part.strip() for part in assignment.partition("="))
        key, value = typed_key.lower(), typed_value.lower()
        if not equals:
            raise ConfigError(f"{name}: expected key=value after the comma, got {shown(assignment)}")
        if not choices:
            raise ConfigError(f"{name} has no options; leave out {shown(',' + assignment)}")
        if key not in choices:
            raise unknown_name(f"option of {name}", typed_key, choices)
        if choices[key]:
            if value not in choices[key]:
                raise unknown_name(f"value of {key}", typed_value, choices[key])
        elif not re.fullmatch("[1-9][0-9]{0,5}", value):
            raise ConfigError(f"{name}: {key}: expected a number from 1 to 999999, got {shown(typed_value)}")
        given[key] = value
    return tuple(sorted((key, value) for key, value in given.items() if choices[key][:1] != (value,)))


def _choices(options: type) -> dict[str, tuple[str, ...]]:
    """Values of each option that a name may have, the default first; () means any integer from 1."""
    found = {}
    for name in NAME_OPTIONS:
        hint = option_types(options).get(SHORT_OPTIONS.get(name, name))
        if hint is not None:
            found[name] = (
                tuple(SWITCHES) if hint is bool else get_args(hint) if get_origin(hint) is Literal else ()
            )
    return found
