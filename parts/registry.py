"""Parts: registries of classes that are imported when used, the options of each class, and their sections in configs.

A registry maps a name to `module:Class` and a line for people; a new part is a class and a line. Every class has
`Options`, a frozen dataclass, and is built from them and from what only the run knows, such as sizes. A section of a
config is `kind:` and the options of that kind; `quantized,word_size=8` is short for such a section.
"""

import ast
import inspect
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from importlib import import_module
from itertools import pairwise
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import ecsuite.parts.misspelt_names as misspelt_names
import ecsuite.parts.own_code as own_code
from ecsuite.parts.config import checked, parse_value
from ecsuite.runtime.errors import ConfigError, PartError, look_up, shown, unknown_name

KIND = "kind"
"""The key of a section that names the part."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a config: its name in a registry, and the options of that kind."""

    kind: str
    options: Any
    """An instance of the `Options` of the kind's class."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Registry:
    """The parts of one section."""

    word: str
    """What a part is called in messages, such as `channel`."""
    parts: Mapping[str, tuple[str, str]]
    """`module:Class` and a line for people, by name."""
    read_name: str | None = None
    """`module:function` from other names, such as `gru-2l`, to their section; None: there are no other names."""
    short_options: Mapping[str, str] = field(default_factory=dict)
    """Options with a shorter name after a comma."""
    base: str | None = None
    """`module:Class` from which a user's own part must derive; None: any class."""
    needs: tuple[str, ...] = ()
    """Attributes that a user's own part must have."""
    options: str | None = None
    """`module:Class` from which the `Options` of a user's own part must derive; None: any class."""

    def load(self, kind: str) -> Any:
        """The class of a part, imported now; `ConfigError` if the name is unknown."""
        if own_code.is_foreign(kind):
            base, options = (None if path is None else _imported(path) for path in (self.base, self.options))
            made = own_code.load(kind, self.word, base, self.needs, options)
            if isinstance(made, type):
                misspelt_names.check_class(kind, self.word, made)
            return made
        return _imported(look_up(self.word, kind, self.parts)[0])

    def make(self, part: Part, **known: Any) -> Any:
        """Make a part from its options and from what only the run knows."""
        made = self.load(part.kind)(part.options, **known)
        if own_code.is_foreign(part.kind):
            misspelt_names.check_instance(part.kind, self.word, made)
        return made

    def lines(self) -> dict[str, str]:
        """A line about each part, by name."""
        return {name: line for name, (_, line) in self.parts.items()}

    def section(self, given: Any, path: str) -> dict[str, Any]:
        """A section as a mapping, where `given` may be short for it: `quantized,word_size=8`."""
        if isinstance(given, str):
            given = {KIND: given}
        if not isinstance(given, Mapping):
            raise ConfigError(f"{path}: expected a name or a section with keys, got {shown(given)}")
        kind = given.get(KIND)
        if not isinstance(kind, str | None):
            raise ConfigError(f"{path}.{KIND}: expected a name, got {shown(kind)}")
        if kind is None or kind in self.parts or (own_code.is_foreign(kind) and "," not in kind):
            return dict(given)
        return {**self._expanded(kind), **{key: value for key, value in given.items() if key != KIND}}

    def _expanded(self, text: str) -> dict[str, Any]:
        """The section that a name with options, or another name, is short for."""
        name, *assignments = pieces_of(text)
        section: dict[str, Any] = {KIND: name}
        short: Mapping[str, str] = {}
        if not own_code.is_foreign(name):
            short = self.short_options
            if name not in self.parts and self.read_name is not None:
                section = _imported(self.read_name)(name)
            else:
                look_up(self.word, name, self.parts)
        for assignment in assignments:
            key, equals, value = (piece.strip() for piece in assignment.partition("="))
            if not equals:
                raise ConfigError(
                    f"{self.word} {name}: expected key=value after the comma, got {shown(assignment)}"
                )
            section[short.get(key, key)] = parse_value(value, f"{self.word} {name}: {key}")
        return section


def pieces_of(text: str) -> list[str]:
    """A name and its options, which commas separate: `unequal_attributes,num_values=[4,4]` has two pieces.

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


def split_names(text: str) -> list[str]:
    """The names in a list separated by commas; a piece with `=` is an option of the name before it.

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


def own_function(
    registry: Registry, text: str, watch: Callable[[Any], Any] = lambda options: options
) -> tuple[Callable[..., Any], dict[str, Any]]:
    """A user's own function, or an instance of a user's own class that is called like one, with its options.

    Args:
        registry: What such parts are.
        text: Its name, with options after commas where it is a class: `./mine.py:Mine,base=2`.
        watch: Called with the options; what it returns is given to the class.

    Returns:
        The function, and every option of it.

    Raises:
        ConfigError: If it can't be imported or called, or an option is unknown or out of bounds.
    """
    section = registry.section(text, registry.word)
    kind = section.pop(KIND)
    made = registry.load(kind)
    declared: Any = made.Options if isinstance(made, type) else None  # type: ignore[attr-defined]
    types = {} if declared is None else option_types(declared)
    for key in section:
        if not types:
            raise ConfigError(f"{kind} has no options: leave out {key}")
        look_up(f"option of {kind}", key, types)
    if declared is None:
        return made, {}
    options = read_options(declared, section, kind)
    # A class without options needs no constructor.
    built = made() if declared is own_code.NoOptions else made(watch(options))
    if not callable(built):
        raise PartError(
            f"{own_code.place_of(kind)}: for a {registry.word}, expected a function or a class with __call__"
        )
    return built, to_tree(options)


def called(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function with as many of the arguments, from the first, as it takes by position."""
    kinds = [parameter.kind for parameter in inspect.signature(function).parameters.values()]
    if inspect.Parameter.VAR_POSITIONAL in kinds:
        return function(*arguments)
    by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return function(*arguments[: sum(kind in by_position for kind in kinds)])


def _imported(path: str) -> Any:
    """What `module:name` names."""
    module, name = path.split(":")
    return getattr(import_module(module), name)


@cache
def option_types(options: type) -> dict[str, Any]:
    """The type of each option of an `Options` class, by name; a nested part is `Annotated[Part, registry]`."""
    return get_type_hints(options, include_extras=True)


@cache
def option_docs(options: type) -> dict[str, str]:
    """The lines under each option of an `Options` class in its source, by name; those of its bases come first."""
    docs: dict[str, str] = {}
    for each in reversed(options.__mro__):
        try:
            body = ast.parse(textwrap.dedent(inspect.getsource(each))).body[0]
        except (OSError, TypeError, SyntaxError):  # not written in a file
            continue
        assert isinstance(body, ast.ClassDef)
        for entry, below in pairwise(body.body):
            is_text = isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
            if isinstance(entry, ast.AnnAssign) and isinstance(entry.target, ast.Name) and is_text:
                docs[entry.target.id] = " ".join(str(below.value.value).split())  # type: ignore[attr-defined]
    return docs


def nested_registry(hint: Any) -> Registry | None:
    """The registry of an option that is itself a part; None for other options."""
    if get_origin(hint) is Annotated and get_args(hint)[0] is Part:
        registry: Registry = get_args(hint)[1]
        return registry
    return None


def merge_section(
    registry: Registry,
    below: Mapping[str, Any],
    given: Any,
    path: str,
    *,
    drop: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """Lay a section of a config over the same section of the layers below.

    If the kind changes, inherited options that the new kind does not have are dropped, and those of the same name are
    kept. An option in `given` itself that the kind does not have is an error.

    Args:
        registry: The parts of the section.
        below: The section so far, with its kind unless `given` has one.
        given: A mapping or a name with options.
        path: Of the section, for messages: `sender.perception`.
        drop: Called with the path of each option that another kind reads and this one does not; None: that is an error.

    Raises:
        ConfigError: If the name or an option is unknown, or the kind does not read the option.
    """
    layer = registry.section(given, path)
    kind: Any = layer.setdefault(KIND, below.get(KIND))
    if kind is None:
        raise ConfigError(f"{path}.{KIND}: expected a name, got null")
    options = registry.load(kind).Options
    types = option_types(options)
    merged: dict[str, Any] = {KIND: kind} | {key: value for key, value in below.items() if key in types}
    for key, value in layer.items():
        if key == KIND:
            continue
        if key not in types:
            error = _unread(registry, kind, key, path)
            if drop is None or key not in all_options(registry):
                raise error
            drop(f"{path}.{key}")
        elif (inner := nested_registry(types[key])) is not None:
            lower = merged.get(key) or _default_section(options, key)
            merged[key] = merge_section(inner, lower, value, f"{path}.{key}", drop=drop)
        else:
            merged[key] = value
    return merged


def read_part(registry: Registry, section: Mapping[str, Any], path: str) -> Part:
    """Build the part of a merged section; `ConfigError` if an option has another type or is out of bounds."""
    kind = section[KIND]
    values = {key: value for key, value in section.items() if key != KIND}
    return Part(kind, read_options(registry.load(kind).Options, values, path))


def read_options(options: type, values: Mapping[str, Any], path: str) -> Any:
    """Build an options class, a frozen dataclass, from values by name; the others have their defaults.

    Raises:
        ConfigError: If an option is unknown, or a value has another type or is out of bounds; the message has the path.
    """
    types = option_types(options)
    built = {}
    for key, value in values.items():
        if key not in types:
            raise unknown_name("key", f"{path}.{key}", [f"{path}.{known}" for known in types])
        inner = nested_registry(types[key])
        place = f"{path}.{key}"
        if inner is None:
            built[key] = checked(value, types[key], place)
        else:
            section = merge_section(inner, _default_section(options, key), value, place)
            built[key] = read_part(inner, section, place)
    try:
        return options(**built)
    except ConfigError as error:
        raise ConfigError(f"{path}.{error}") from None


def to_tree(value: Any) -> Any:
    """Parts and options as the mappings of a YAML file, every option written out."""
    if isinstance(value, Part):
        return {KIND: value.kind, **to_tree(value.options)}
    if is_dataclass(value) and not isinstance(value, type):
        return {entry.name: to_tree(getattr(value, entry.name)) for entry in fields(value)}
    return list(value) if isinstance(value, tuple) else value


def all_options(registry: Registry) -> dict[str, list[str]]:
    """The kinds that read each option of a registry, by option; imports every class."""
    readers: dict[str, list[str]] = {}
    for kind in registry.parts:
        for option in option_types(registry.load(kind).Options):
            readers.setdefault(option, []).append(kind)
    return readers


def _default_section(options: type, key: str) -> dict[str, Any]:
    """The bottom layer of an option that is itself a part: its default, or nothing."""
    default = next(entry.default for entry in fields(options) if entry.name == key)
    return to_tree(default) if isinstance(default, Part) else {}


def _unread(registry: Registry, kind: str, key: str, path: str) -> ConfigError:
    """The error for an option that a kind does not have: it names the kinds that have it, or similar options."""
    if readers := all_options(registry).get(key):
        return ConfigError(
            f"{path}.{key}: {registry.word} {kind} does not read it; read by {', '.join(readers)}"
        )
    own = [KIND, *option_types(registry.load(kind).Options)]
    return unknown_name("key", f"{path}.{key}", [f"{path}.{known}" for known in own])
