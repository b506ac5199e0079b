"""Layers of settings: trees of assignments and flags, how they are laid over one another, and where a fault is.

A tree is a mapping as in a YAML file; the source of a layer, such as a file or a flag, begins the messages about it.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ecsuite.games.sections import CHECKSUMS, LISTS, PARTS, PLAIN, TEXTS, Tree, all_keys
from ecsuite.parts.config import line_of_key, parse_value
from ecsuite.parts.registry import KIND, merge_section, option_types
from ecsuite.runtime.errors import ConfigError, PartError, shown, unknown_name


def assignments_tree(assignments: Iterable[str]) -> Tree:
    """The layer of `section.key=value` assignments; `ConfigError` if one has no `=`, or its value is not YAML."""
    settings: list[tuple[str, Any]] = []
    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        if not equals:
            raise ConfigError(f"--set {assignment}: expected key=value, such as channel.temperature=2")
        if key in LISTS and text[:1] != "[":
            settings.append((key, listed(text)))
            continue
        is_part = key in PARTS or key.rpartition(".")[2] in (KIND, "perception")
        # A name may be followed by options, whose commas are not YAML's.
        settings.append((key, text if is_part and text[:1] != "{" else parse_value(text, f"--set {key}")))
    return settings_tree(settings)


def listed(text: str) -> list[str]:
    """The names in a list that are separated by commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def settings_tree(settings: Iterable[tuple[str, Any]]) -> Tree:
    """The layer of settings, each with its `section.key`; later ones take precedence.

    Raises:
        ConfigError: If a key is no text.
    """
    tree: Tree = {}
    for key, value in settings:
        if not isinstance(key, str):  # as in YAML of users
            raise ConfigError(f"expected keys such as channel.max_len, got {shown(key)}")
        set_value(tree, key, value)
    return tree


def set_value(tree: Tree, path: str, value: Any) -> None:
    """Set a value of a tree by its dotted path; a section that is given by its name becomes a mapping."""
    section, _, rest = path.partition(".")
    below = tree.get(section)
    if rest:
        if isinstance(below, Mapping):
            tree[section] = dict(below)
        else:
            tree[section] = {KIND: below} if section in tree else {}
        set_value(tree[section], rest, value)
    elif isinstance(below, dict) and isinstance(value, str):
        tree[section] = {**below, KIND: value}
    else:
        tree[section] = value


def merged_trees(trees: list[Tree], source: str, drop: Callable[[str], None] | None = None) -> Tree:
    """Lay trees over one another, section by section; see `merge_section`."""
    merged: Tree = {}
    with named_source(source):
        for key, value in (entry for tree in trees for entry in tree.items()):
            if key in PARTS:
                merged[key] = merge_section(PARTS[key], merged.get(key, {}), value, key, drop=drop)
            elif key in PLAIN:
                if not isinstance(value, Mapping):
                    raise ConfigError(f"{key}: expected a section with keys, got {shown(value)}")
                for inner in value:
                    if inner not in option_types(PLAIN[key]):
                        raise unknown_name("key", f"{key}.{inner}", all_keys(), command="ecsuite config GAME")
                merged[key] = {**merged.get(key, {}), **value}
            elif key in (*TEXTS, *CHECKSUMS):
                merged[key] = value
            else:
                raise unknown_name("key", str(key), all_keys(), command="ecsuite config GAME")
    return merged


@contextmanager
def named_source(source: str) -> Iterator[None]:
    """Put the source before the message of a `ConfigError`."""
    try:
        yield
    except PartError:  # which names its own file
        raise
    except ConfigError as error:
        raise ConfigError(_with_source(source, str(error))) from None


@contextmanager
def located(layers: Sequence[tuple[str, Tree]]) -> Iterator[None]:
    """Put before the message of a `ConfigError` the highest layer that has the key with which it begins."""
    try:
        yield
    except ConfigError as error:
        key = str(error).partition(":")[0]
        given = [source for source, tree in layers if tree]
        having = [source for source, tree in layers if _has(tree, key.split("."))]
        raise ConfigError(_with_source([layers[0][0], *given, *having][-1], str(error))) from None


def _has(tree: Any, path: Sequence[str]) -> bool:
    """Whether a layer sets a value, by itself or after the comma of a name."""
    if not isinstance(tree, Mapping):
        return not path or isinstance(tree, str)
    if not path or path[0] in tree:
        return not path or _has(tree[path[0]], path[1:])
    return "," in str(tree.get(KIND, ""))


def _with_source(source: str, message: str) -> str:
    """A message with its source: a file with the line of the key that it is about, or a flag, which says the key."""
    found = re.match(r"([\w.]+): |unknown key '([\w.]+)'", message)
    key = (found[1] or found[2]) if found else ""
    if source.startswith("--") and source != "--set" and found and found[1]:
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
