"""Parts: registries of classes that are imported on use, their options, and their sections in configs.

A registry maps a name to `module:Class` and a description; a new part is a class and a line. Every class has
`Options`, a frozen dataclass, and is built from them and from values of the run, such as sizes. A section of a
config is `kind:` and the options of that kind; `quantized,word_size=8` is short for such a section.
"""

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from importlib import import_module
from itertools import pairwise
from typing import Annotated, Any, ClassVar, get_args, get_origin, get_type_hints

import ecsuite.parts.own_code as own_code
from ecsuite.parts.config import checked, named_source, parse_value, with_source
from ecsuite.runtime.errors import LISTED, ConfigError, PartError, look_up, shown, unknown_name

KIND = "kind"
"""Key of a section that names the part."""
SWITCHES = {"off": False, "on": True}
"""Booleans in options after a name: `hier:gru,reset=on`."""
Layer = tuple[str, Any]
"""Source of settings for messages, such as a file or a flag (may be empty), and the settings."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a config: its name in a registry, and the options of that kind."""

    kind: str
    options: Any
    """Instance of the `Options` of the kind's class."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Registry:
    """Registry of the parts of a section."""

    word: str
    """Noun of a part in messages, such as `channel`."""
    parts: Mapping[str, tuple[str, str]]
    """`module:Class` and description of each part, by name."""
    read_name: str | None = None
    """`module:function` from `word` and another name, such as `gru-2l`, to its section; None: no other names."""
    short_options: Mapping[str, str] = field(default_factory=dict)
    """Short names of options after a comma."""
    base: str | None = None
    """Required base class, `module:Class`, of user code; None: any class."""
    needs: tuple[str, ...] = ()
    """Required attributes of user code."""
    options: str | None = None
    """Required base class, `module:Class`, of the `Options` of user code; None: any class."""
    of_lists: str | None = None
    """Kind that a list is short for, with the list as its option `of`; None: lists are not accepted."""

    def load(self, kind: str) -> Any:
        """Import the class of a part; `ConfigError` if the name is unknown."""
        if own_code.is_foreign(kind):
            base, options = (None if path is None else _imported(path) for path in (self.base, self.options))
            return own_code.load(kind, self.word, base, self.needs, options)
        return _imported(look_up(self.word, kind, self.parts)[0])

    def make(self, part: Part, **known: Any) -> Any:
        """Make a part from its options and values of the run."""
        made = self.load(part.kind)(part.options, **known)
        if own_code.is_foreign(part.kind):
            own_code.require_spelling(part.kind, self.word, type(made), vars(made))
        return made

    def lines(self) -> dict[str, str]:
        """Description of each part, by name."""
        return {name: line for name, (_, line) in self.parts.items()}

    def section(self, given: Any, path: str) -> dict[str, Any]:
        """Expand a short form of a section, such as `quantized,word_size=8`, to a mapping."""
        if isinstance(given, str):
            given = {KIND: given}
        if isinstance(given, list | tuple) and self.of_lists is not None:
            given = {KIND: self.of_lists, "of": list(given)}
        if not isinstance(given, Mapping):
            raise ConfigError(f"{path}: expected a name or a section with keys, got {shown(given)}")
        kind = given.get(KIND)
        if not isinstance(kind, str | None):
            raise ConfigError(f"{path}.{KIND}: expected a name, got {shown(kind)}")
        if kind is None or kind in self.parts or (own_code.is_foreign(kind) and "," not in kind):
            return dict(given)
        return {**self._expanded(kind), **{key: value for key, value in given.items() if key != KIND}}

    def _expanded(self, text: str) -> dict[str, Any]:
        """Expand a name with options, or another name, to a section."""
        name, *assignments = pieces_of(text)
        section: dict[str, Any] = {KIND: name}
        short: Mapping[str, str] = {}
        if not own_code.is_foreign(name):
            short = self.short_options
            if name not in self.parts and self.read_name is not None:
                section = _imported(self.read_name)(self.word, name)
            else:
                look_up(self.word, name, self.parts)
        for assignment in assignments:
            key, equals, value = (piece.strip() for piece in assignment.partition("="))
            if not equals:
                raise ConfigError(
                    f"{self.word} {name}: expected key=value after the comma, got {shown(assignment)}"
                )
            section[short.get(key, key)] = value_in_name(value, f"{self.word} {name}: {key}")
        return section


def value_in_name(text: str, place: str) -> Any:
    """Parse an option's value after a name, such as `hier:gru,reset=on`: YAML, but `on` and `off` are booleans."""
    return SWITCHES[text] if text in SWITCHES else parse_value(text, place)


def pieces_of(text: str) -> list[str]:
    """Split a name and its options at commas: `unequal_attributes,num_values=[4,4]` has two pieces.

    Commas within brackets belong to a list.
    """
    pieces, depth = [""], 0
    for sign in text:
        depth += (sign in "[{(") - (sign in ")}]")
        if sign == "," and depth <= 0:
            pieces.append("")
        else:
            pieces[-1] += sign
    return [piece.strip() for piece in pieces]


def parts_in_list(registry: Registry, names: Iterable[str], place: str) -> list[Part]:
    """Parse a list of names with options; `ConfigError` if it is empty, or a part is not a shipped one."""
    parts = []
    for name in names:
        if own_code.is_foreign(name):
            raise ConfigError(f"{place}: a list has only shipped parts, not {name}: use it without a list")
        try:
            section = registry.section(name, place)
        except ConfigError as error:
            raise ConfigError(f"{place}: {error}") from None
        kind = section.pop(KIND)
        parts.append(Part(kind, read_options(registry.load(kind).Options, section, f"{place}: {kind}")))
    if not parts:
        raise ConfigError(f"{place}: expected at least one name")
    return parts


def split_names(text: str) -> list[str]:
    """Split a comma-separated list of names; a piece with `=` is an option of the previous name.

    `topsim,./mine.py:Mine,base=2` has two names: `topsim` and `./mine.py:Mine,base=2`.

    Raises:
        ConfigError: If the list begins with an option.
    """
    names: list[str] = []
    for piece in pieces_of(text):
        if not piece and names:
            continue  # the list ends with a comma
        if "=" not in piece:
            names.append(piece)
        elif names:
            names[-1] += f",{piece}"
        else:
            raise ConfigError(f"{text}: expected a name before the option {piece}")
    return names


def _imported(path: str) -> Any:
    """Import `module:name`."""
    module, name = path.split(":")
    return getattr(import_module(module), name)


@cache
def option_types(options: type) -> dict[str, Any]:
    """Type of each option of an `Options` class, by name; a nested part is `Annotated[Part, registry]`."""
    hints = get_type_hints(options, include_extras=True)
    return {name: hint for name, hint in hints.items() if get_origin(hint) is not ClassVar}


@cache
def option_docs(options: type) -> dict[str, str]:
    """Docstring of each option of an `Options` class, by name; options of base classes come first."""
    docs: dict[str, str] = {}
    for each in reversed(options.__mro__):
        try:
            body = ast.parse(textwrap.dedent(inspect.getsource(each))).body[0]
        except (OSError, TypeError, SyntaxError):  # without a source file
            continue
        assert isinstance(body, ast.ClassDef)
        for entry, below in pairwise(body.body):
            is_text = isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
            if isinstance(entry, ast.AnnAssign) and isinstance(entry.target, ast.Name) and is_text:
                docs[entry.target.id] = " ".join(str(below.value.value).split())  # type: ignore[attr-defined]
    return docs


def nested_registry(hint: Any) -> Registry | None:
    """Registry of an option that is itself a part; None for other options."""
    if get_origin(hint) is Annotated and get_args(hint)[0] is Part:
        registry: Registry = get_args(hint)[1]
        return registry
    return None


def read_options(options: type, values: Mapping[str, Any], path: str) -> Any:
    """Build an options class, a frozen dataclass, from values by name; see `read_part`."""
    return read_part(options, [("", values)], path)


def read_part(
    what: "Registry | type",
    layers: Iterable[Layer],
    path: str,
    unknown: Callable[[str], ConfigError] | None = None,
    complete: Callable[[dict[str, Any]], Mapping[str, Any]] | None = None,
    around: Sequence[str] = (),
) -> Any:
    """Build a part, or an options class, from the layers of its section, lowest first.

    An option may itself be a part or an options class; options that no layer sets have defaults. If the kind of a part
    changes, options of lower layers that the new kind does not have are dropped, and options of the same name are
    kept. An option in the same layer that the kind does not have is an error.

    Args:
        what: Registry of the section, or the class, a frozen dataclass.
        layers: Sections: mappings or, for parts, names with options; the lowest layer of a part has the kind.
        path: Path of the section, for error messages: `sender.perception`; empty: a whole config.
        unknown: Error for the path of an unknown key of a class; None: error with the keys of the class.
        complete: Function from the options read to added or replaced options.
        around: Keys of the enclosing parts, for error messages.

    Raises:
        ConfigError: If the name or an option is unknown, the kind does not read the option, or a value has another type
            or is out of bounds; the message begins with the source of the layer, if any, and the path.
    """
    registry, options = (what, object) if isinstance(what, Registry) else (None, what)
    prefix = f"{path}." if path else ""
    kind: Any = None
    source, given = "", dict[str, list[Layer]]()  # by option, the lowest layer first
    for source, layer in layers:
        with named_source(source):
            if registry is not None:
                layer, before = registry.section(layer, path), kind
                if (kind := layer.pop(KIND, kind)) is None:
                    raise ConfigError(f"{path}.{KIND}: expected a name, got null")
                options = registry.load(kind).Options
                if kind != before:  # errors about values of lower layers name this layer, which sets the kind
                    kept = [key for key in given if key in option_types(options)]
                    given = {key: [*given[key], (source, given[key][-1][1])] for key in kept}
            elif not isinstance(layer, Mapping):
                raise ConfigError(f"{path}: expected a section with keys, got {shown(layer)}")
            for key, value in layer.items():
                if key not in option_types(options):
                    if registry is not None:
                        raise _unread(registry, kind, key, path, around)
                    known = [f"{prefix}{name}" for name in option_types(options)]
                    raise (
                        unknown(f"{prefix}{key}") if unknown else unknown_name("key", f"{prefix}{key}", known)
                    )
                if key not in given:  # the lowest layer of a part is its default
                    default = options.__dataclass_fields__[key].default  # type: ignore[attr-defined]
                    given[key] = [("", to_tree(default))] if isinstance(default, Part) else []
                given[key].append((source, value))
    built = {}
    for key, above in given.items():
        hint, place = option_types(options)[key], f"{prefix}{key}"
        inner = nested_registry(hint) or hint
        if isinstance(inner, Registry) or (isinstance(inner, type) and is_dataclass(inner)):
            known = [f"{prefix}{name}" for name in option_types(options)] if registry else []
            built[key] = read_part(
                inner, above, place, None if registry else unknown, around=(*around, *known)
            )
        else:
            with named_source(above[-1][0]):
                built[key] = checked(above[-1][1], hint, place)
    try:
        made = options(**{**built, **(complete(built) if complete else {})})
    except PartError:  # it names its own file
        raise
    except ConfigError as error:
        above = given.get(str(error).partition(":")[0], [(source, None)])
        raise ConfigError(with_source(above[-1][0], f"{prefix}{error}")) from None
    return made if registry is None else Part(kind, made)


def to_tree(value: Any) -> Any:
    """Convert parts and options to mappings of a YAML file, with every option."""
    if isinstance(value, Part):
        return {KIND: value.kind, **to_tree(value.options)}
    if is_dataclass(value) and not isinstance(value, type):
        return {entry.name: to_tree(getattr(value, entry.name)) for entry in fields(value)}
    return list(value) if isinstance(value, tuple) else value


def all_options(registry: Registry) -> dict[str, list[str]]:
    """Kinds that read each option of a registry, by option; imports every class."""
    readers: dict[str, list[str]] = {}
    for kind in registry.parts:
        for option in option_types(registry.load(kind).Options):
            readers.setdefault(option, []).append(kind)
    return readers


def keys_of(registry: Registry, path: str, kinds: Iterable[str] | None = None) -> list[str]:
    """All keys of a part and of parts in its options, for some kinds or all; imports their classes."""

    def found(registry: Registry, path: str, kinds: Iterable[str], around: tuple[Registry, ...]) -> list[str]:
        keys, inner = [path, f"{path}.{KIND}"], list[str]()
        for kind in kinds:
            for option, hint in option_types(registry.load(kind).Options).items():
                keys.append(f"{path}.{option}")
                if (nested := nested_registry(hint)) is not None and nested not in around:
                    inner += found(nested, keys[-1], nested.parts, (*around, nested))
        return list(dict.fromkeys([*keys, *inner]))

    return found(registry, path, registry.parts if kinds is None else kinds, (registry,))


def _unread(registry: Registry, kind: str, key: str, path: str, around: Sequence[str]) -> ConfigError:
    """Make the error for an option that a kind does not have: it names kinds that have it, or similar options."""
    if readers := all_options(registry).get(key):
        return ConfigError(
            f"{path}.{key}: {registry.word} {kind} does not read it; read by {', '.join(readers)}"
        )
    elsewhere = [*around, *keys_of(registry, path, [kind])]
    if alike := [known for known in elsewhere if known.rpartition(".")[2] == key]:
        return ConfigError(f"{path}.{key}: unknown key; did you mean {' or '.join(map(repr, alike))}?")
    own = [KIND, *option_types(registry.load(kind).Options)]
    command = f"ecsuite list {registry.word} {kind}" if registry.word in LISTED else None
    return unknown_name("key", f"{path}.{key}", [f"{path}.{known}" for known in own], command=command)
