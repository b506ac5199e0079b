"""Reading of configs: strict YAML, types with bounds, and messages with source, line, key and choices."""

import os
import re
import sys
import typing
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from functools import lru_cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import yaml
from msgspec import Meta

from ecsuite.files.checksums import require_unchanged_text
from ecsuite.files.format_numbers import without_format
from ecsuite.parts.strict_yaml import MAX_CHARACTERS, Loader, StrictYamlError, load_yaml
from ecsuite.runtime.errors import LISTED, ConfigError, Entry, PartError, look_up, shown, unknown_name

RUN_CONFIG = "config.yaml"
"""Name of the config in a run folder."""


def unread(names: Iterable[str], chosen: Collection[str], reads: Mapping[str, Collection[str]]) -> list[str]:
    """List the options that are read by other choices, but not by the chosen ones.

    Args:
        names: Names of options; options missing in `reads` are read by every choice.
        chosen: Keys of `reads`, or choices without their own options.
        reads: Names of the options that not every choice reads, by choice (a protocol, a metric, a source).
    """
    shared = set().union(*reads.values())
    read = set().union(*(reads.get(choice, ()) for choice in chosen))
    return [name for name in names if name in shared and name not in read]


def require_defaults(options: Any, names: Iterable[str], why: str) -> None:
    """Raise `ConfigError` for options that are set but not read, because of other options of the class.

    Args:
        options: A frozen dataclass of options.
        names: Names of the unread options.
        why: Reason after `not read`, such as `with baseline=none`.

    Raises:
        ConfigError: If an option does not have its default value.
    """
    defaults = {each.name: each.default for each in fields(options)}
    for name in names:
        if getattr(options, name) != defaults[name]:
            raise ConfigError(f"{name}: not read {why}: expected {defaults[name] or 'none'}")


def refuse_unread(
    choice: str, chosen: Collection[str], given: Mapping[str, str], reads: Mapping[str, Collection[str]]
) -> None:
    """Raise `ConfigError` for a given option that has no effect with the user's choice; see `unread`.

    Args:
        choice: Text of the choice, such as `protocol metrics`.
        chosen: See `unread`.
        given: Text of each given option, such as `--cap`, by its name in `reads`.
        reads: See `unread`.

    Raises:
        ConfigError: With the option and the choices that read it.
    """
    for name in unread(given, chosen, reads):
        readers = ", ".join(other for other, names in reads.items() if name in names)
        raise ConfigError(f"{given[name]}: not read by {choice}; read by {readers}")


Count = Annotated[int, Meta(ge=1, le=2**63 - 1)]
Natural = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Levels = Annotated[int, Meta(ge=2, le=2**63 - 1)]
Seed = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Positive = Annotated[float, Meta(gt=0, le=sys.float_info.max)]
Share = Annotated[float, Meta(ge=0, lt=1)]
Weight = Annotated[float, Meta(ge=0, le=sys.float_info.max)]
Rate = Annotated[float, Meta(ge=0, le=1)]
Accuracy = Annotated[float, Meta(gt=0, le=1)]
"""Types of settings with bounds; NaN and infinity are never within bounds."""


def parse_yaml(text: str, place: str) -> Any:
    """Read YAML text; error messages begin with `place`.

    Raises:
        ConfigError: If the text is not safe YAML.
    """
    try:
        return load_yaml(text)
    except StrictYamlError as error:
        line = "" if error.line is None else f":{error.line}"
        raise ConfigError(f"{place}{line}: {' '.join(str(error).split())}") from None


def decoded(data: bytes, place: object, first: int = 1) -> str:
    """Decode the bytes of a file: UTF-8, with line ends as newlines and without a byte order mark.

    Args:
        data: Content of the file.
        place: File, for error messages.
        first: Number of the first line.

    Raises:
        ConfigError: If the bytes are not UTF-8; the message begins with `place` and the line.
        DamagedError: If the file is the config of a run, and was changed.
    """
    if (file := Path(str(place))).name == RUN_CONFIG:
        require_unchanged_text(data, file)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # The decoder does not count the byte order mark.
        start = error.start + 3 * data.startswith(b"\xef\xbb\xbf")
        line = first + data.count(b"\n", 0, start)
        raise ConfigError(f"{place}:{line}: not UTF-8: byte 0x{data[start]:02x}: save it as UTF-8") from None
    return text.replace("\r\n", "\n") if "\r\n" in text else text


def parse_value(text: str, place: str) -> Any:
    """Parse one YAML value, such as in `--set key=value`; `ConfigError` if it is not YAML."""
    try:
        return load_yaml(text)
    except StrictYamlError:
        raise ConfigError(f"{place}: {shown(text)} is not a YAML value") from None


def read_yaml(name_or_file: str, kind: str, shipped: Mapping[str, Traversable]) -> dict[str, Any]:
    """Read a shipped config by name, or a YAML file; a missing key `name` is set to its name.

    Args:
        name_or_file: Name in `shipped`, or path that ends in `.yaml` or `.yml`.
        kind: Kind of config, for error messages.
        shipped: Shipped configs by name.

    Raises:
        ConfigError: If it does not exist, its top level is not a mapping, or its name is not a valid folder name.
        FormatError: If its optional key `format` has an unknown value.
    """
    if name_or_file.endswith((".yaml", ".yml")):
        name = Path(name_or_file).stem
        try:
            with open(name_or_file, "rb") as file:
                data = file.read(
                    4 * MAX_CHARACTERS + 1
                )  # longer files are not read: a character has at most 4 bytes
        except OSError as error:
            raise ConfigError(
                f"{name_or_file}: can't be read: {error.strerror}{_shipped(kind, shipped)}"
            ) from None
        if len(data) > 4 * MAX_CHARACTERS:
            raise ConfigError(
                f"{name_or_file}: expected a {kind} of at most {MAX_CHARACTERS:,} characters, got more"
            )
        text = decoded(data, name_or_file)
    else:
        name = name_or_file
        if name not in shipped and os.path.isfile(name):
            table = ", a table such as objects.csv or a folder of images" if kind == "game" else ""
            raise ConfigError(f"{name}: expected a file that ends in .yaml{table}{_shipped(kind, shipped)}")
        if kind == "game" and name not in shipped and os.sep in name and not os.path.exists(name):
            raise ConfigError(f"{name}: no such file or folder{_shipped(kind, shipped)}")
        text = look_up(kind, name, shipped).read_text(encoding="utf-8")
    tree = parse_yaml(text, name_or_file)
    if not isinstance(tree, dict):
        got = "an empty file" if tree is None else type(tree).__name__
        raise ConfigError(f"{name_or_file}: expected keys and values, got {got}")
    if isinstance(given := tree.get("name"), str):
        require_folder_name(given, f"{name_or_file}: name")
    return {"name": name, **without_format("config", tree, name_or_file)}


def require_folder_name(name: str, place: str) -> None:
    """Raise `ConfigError` if a name is not a valid folder name, as in `runs/`; messages begin with `place`."""
    if not name or set(name) & set("/\\") or not name.isprintable() or name in (".", ".."):
        raise ConfigError(f"{place}: expected the name of a folder, got {shown(name)}")


def line_of_key(file: str, path: Sequence[str]) -> int | None:
    """Line, from 1, of a key in a YAML file, or of its innermost parent key in the file.

    Args:
        file: Path of the file.
        path: Key and its parents, outermost first.

    Returns:
        None if the file does not exist or has none of the keys.
    """
    if not file.endswith((".yaml", ".yml")):
        return None
    try:
        node = _nodes(Path(file).read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError, RecursionError):
        return None
    line = None
    for key in path:
        found = [
            pair for pair in getattr(node, "value", ()) if isinstance(pair, tuple) and pair[0].value == key
        ]
        if not found:
            break
        line, node = found[-1][0].start_mark.line + 1, found[-1][1]
    return line


@lru_cache(maxsize=1)
def _nodes(text: str) -> Any:
    """Nodes of a YAML text, cached for look-ups of several keys."""
    return yaml.compose(text, Loader)


@contextmanager
def named_source(source: str) -> Iterator[None]:
    """Prefix the messages of `ConfigError` in the block with the source."""
    try:
        yield
    except PartError:  # it names its own file
        raise
    except ConfigError as error:
        raise ConfigError(with_source(source, str(error))) from None


def with_source(source: str, message: str) -> str:
    """Prefix a message with its source: a file and the line of the message's key, or a flag that names the key.

    Args:
        source: A file, a flag, or any name; empty: no prefix.
        message: Message that begins with the key.
    """
    if not source:
        return message
    found = re.match(r"([\w.]+): |unknown key '([\w.]+)'", message)
    key = (found[1] or found[2]) if found else ""
    if source.startswith("--") and source != "--set" and found and found[1] and not _is_within(key, source):
        said = message.removeprefix(found[0])
        for sign, words in (
            (">= ", "at least "),
            ("<= ", "at most "),
            ("> ", "more than "),
            ("< ", "less than "),
        ):
            said = re.sub(f"^expected (int|float) {sign}", f"expected {words}", said)
        return f"{source}: {said}"
    line = line_of_key(source, key.split(".")) if key else None
    return f"{source}: {message}" if line is None else f"{source}:{line}: {message}"


def _is_within(key: str, flag: str) -> bool:
    """Whether a key is an option of the part that a flag names: `--world` does not name `world.num_values`."""
    section, _, option = key.partition(".")
    return option not in ("", "kind") and section.startswith(flag.removeprefix("--"))


def _shipped(kind: str, shipped: Mapping[str, Traversable]) -> str:
    """Hint about shipped configs of a kind, if any."""
    return f"; shipped ones: ecsuite list {kind}" if kind in LISTED and shipped else ""


def shipped_configs(folder: str = "") -> dict[str, Traversable]:
    """Shipped configs in a subfolder of `configs/`, by name; configs of games are in `configs/` itself."""
    files = resources.files("ecsuite").joinpath("configs", folder).iterdir()
    named = {file.name.removesuffix(".yaml"): file for file in files if file.name.endswith(".yaml")}
    return dict(sorted(named.items()))


def packaged_yaml(package: str, name: str) -> Any:
    """Load a YAML file from the folder of a package."""
    file = resources.files(package).joinpath(name)
    return parse_yaml(file.read_text("utf-8"), name)


def read_presets(kind: type[Entry], package: str, file: str = "presets.yaml") -> dict[str, Entry]:
    """Read the presets in `presets.yaml` of a package, by name: dataclasses with a field `name` and other keys."""
    presets = packaged_yaml(package, file)
    return {name: msgspec.convert({"name": name, **values}, kind) for name, values in presets.items()}


def dotted_values(tree: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    """Values of a tree by dotted path, such as `channel.kind`."""
    values: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, Mapping):
            values |= dotted_values(value, f"{path}{key}.")
        else:
            values[f"{path}{key}"] = value
    return values


def build(kind: Any, tree: Mapping[str, Any], source: str) -> Any:
    """Build the dataclass `kind` from a mapping, and check every key, type and bound; messages begin with `source`.

    Raises:
        ConfigError: If a key is unknown, or a value has another type or is out of bounds.
    """
    hints = typing.get_type_hints(kind, include_extras=True)
    for key in tree:
        if key not in hints:
            raise ConfigError(f"{source}: {unknown_name('key', str(key), hints)}")
    values = {key: checked(value, hints[key], f"{source}: {key}") for key, value in tree.items()}
    try:
        return kind(**values)
    except PartError:  # it names its own file
        raise
    except ConfigError as error:
        raise ConfigError(f"{source}: {error}") from None


def checked(value: Any, hint: Any, place: str) -> Any:
    """Check and convert a value to the type `hint` with its bounds; integers are valid floats, lists valid tuples.

    Raises:
        ConfigError: If the value has another type or is out of bounds; the message begins with `place`.
    """
    if typing.get_origin(hint) is Literal:
        choices = [str(choice) for choice in typing.get_args(hint)]
        if value not in choices:
            raise ConfigError(f"{place}: {unknown_name('value', shown(value).strip(chr(39)), choices)}")
        return value
    try:
        return msgspec.convert(value, hint)
    except msgspec.ValidationError as error:
        # msgspec says: Expected `int` >= 1, or: Expected `int | null`, got `str` - at `$[2]`
        said, _, item = str(error).partition(" - at `$")
        expected = said.split(", got")[0].replace("`", "").replace(" | ", " or ")
        expected = (
            expected.replace("array", "list").replace("Expected", "expected").replace("bool", "true or false")
        )
        if re.fullmatch(r"\[\d+\]`", item):
            value = value[int(item[1:-2])]
        raise ConfigError(f"{place}: {expected}, got {shown(value)}") from None
