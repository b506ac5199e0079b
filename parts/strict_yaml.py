"""Strict YAML: refuses duplicate keys, aliases that multiply, deep nesting and very large files; names the line."""

import re
from typing import Any

import yaml

MAX_CHARACTERS = 1 << 18
"""Longest text; a config of the package has some thousand characters, and PyYAML reads 50,000 in a second."""
MAX_VALUES = 100_000
"""Most values, where each alias counts as what it stands for: nine lines of aliases may stand for 10^9 values."""
MAX_LEVELS = 60
"""Deepest nesting."""
_MERGE = "tag:yaml.org,2002:merge"


class StrictYamlError(ValueError):
    """What is wrong, and in which line, from 1; None where that is not known."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason)
        self.line = line


class Loader(yaml.SafeLoader):
    """YAML's safe loader, for which `1e-3` is a number, as in YAML 1.2 and in Python."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """The value of a node; an error names its line."""
        try:
            return super().construct_object(node, deep)
        except (KeyError, AttributeError):  # these speak of PyYAML's own variables
            reason = "not YAML: a value that its tag does not allow"
        except yaml.YAMLError:
            raise
        except ValueError as error:
            reason = f"not YAML: {error}"
        raise StrictYamlError(reason, _line(node)) from None


Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"[-+]?(\.[0-9]+|[0-9][0-9_]*(\.[0-9_]*)?)[eE][-+]?[0-9]+$"),
    list("-+.0123456789"),
)


def load_yaml(text: str) -> Any:
    """The value of a YAML text; None if it is empty.

    Raises:
        StrictYamlError: If it is not YAML, holds what safe YAML does not have, or is refused as above.
    """
    if len(text) > MAX_CHARACTERS:
        raise StrictYamlError(f"expected at most {MAX_CHARACTERS:,} characters, got {len(text):,}")
    try:
        loader = Loader(text)
        try:
            node = loader.get_single_node()
            if node is None:
                return None
            _check(node)
            return loader.construct_document(node)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = "" if mark is None else f" at column {mark.column + 1}"
        reason = f"not YAML: {error.problem or error.context}{place}"
        raise StrictYamlError(reason, None if mark is None else mark.line + 1) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise StrictYamlError(f"not YAML: the character {error.character!r} is not allowed", line) from None
    except RecursionError:
        raise StrictYamlError(f"expected at most {MAX_LEVELS} levels, got more") from None


def _check(root: yaml.Node) -> None:
    """Refuse what is larger than it looks, before it is built."""
    sizes: dict[int, int] = {}
    above: set[int] = set()

    def size(node: yaml.Node) -> int:
        """The number of values of a node, with those of its aliases."""
        if isinstance(node, yaml.ScalarNode):
            return 1
        if id(node) in above:
            raise StrictYamlError("expected no alias that holds itself", _line(node))
        if id(node) not in sizes:
            if len(above) == MAX_LEVELS:
                raise StrictYamlError(f"expected at most {MAX_LEVELS} levels, got more", _line(node))
            above.add(id(node))
            if isinstance(node, yaml.MappingNode):
                _require_different(node)
            parts = [part for each in node.value for part in (each if isinstance(each, tuple) else (each,))]
            sizes[id(node)] = 1 + sum(map(size, parts))
            above.remove(id(node))
        if sizes[id(node)] > MAX_VALUES:
            raise StrictYamlError(
                f"expected at most {MAX_VALUES:,} values, got more with its aliases", _line(node)
            )
        return sizes[id(node)]

    size(root)


def _require_different(mapping: yaml.MappingNode) -> None:
    """Refuse a mapping that has a key twice: of two values, one would be dropped without a word."""
    seen = set()
    for key, _ in mapping.value:
        if isinstance(key, yaml.ScalarNode) and key.tag != _MERGE:
            if (key.tag, key.value) in seen:
                raise StrictYamlError(f"expected each key once, got '{key.value:.60}' again", _line(key))
            seen.add((key.tag, key.value))


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1
