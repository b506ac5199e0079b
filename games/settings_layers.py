"""Settings as trees: those of assignments, such as `--set channel.max_len=5`, and of values by their keys.

A tree is a mapping as in a YAML file.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ecsuite.games.sections import LISTS, PARTS, Tree
from ecsuite.parts.config import parse_value
from ecsuite.parts.registry import KIND
from ecsuite.runtime.errors import ConfigError, shown


def assignments_tree(assignments: Iterable[str], given_by: str = "--set") -> Tree:
    """The layer of `section.key=value` assignments.

    Args:
        assignments: The assignments; later ones take precedence.
        given_by: What messages call what gave them.

    Raises:
        ConfigError: If one has no `=`, or its value is not YAML.
    """
    settings: list[tuple[str, Any]] = []
    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        if not equals:
            raise ConfigError(f"{given_by} {assignment}: expected key=value, such as channel.temperature=2")
        if key in LISTS and text[:1] != "[":
            settings.append((key, listed(text)))
            continue
        is_part = key in PARTS or key.rpartition(".")[2] in (KIND, "perception", "taught")
        # A name may be followed by options, whose commas are not YAML's.
        settings.append(
            (key, text if is_part and text[:1] not in "{[" else parse_value(text, f"{given_by} {key}"))
        )
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


def paths_of(tree: Tree) -> Iterator[str]:
    """The dotted path of each setting of a tree, also of those that follow a name after a comma."""
    for key, value in tree.items():
        section = PARTS[key].section(value, key) if key in PARTS else value
        yield key
        if isinstance(section, Mapping):
            yield from (f"{key}.{path}" for path in paths_of(dict(section)))
