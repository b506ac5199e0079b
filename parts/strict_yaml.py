"""Strict YAML 1.2: `010` is 10, and `no` and `1:30` are texts.

Rejects duplicate keys, exponential aliases, deep nesting and very large files, with the line.
"""

import copy
import re
from functools import lru_cache
from typing import Any

import yaml
from yaml.composer import Composer
from yaml.constructor import SafeConstructor
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.resolver import Resolver
from yaml.scanner import Scanner

MAX_CHARACTERS = 1 << 18
"""Maximum number of characters; configs of the package have some thousand."""
MAX_VALUES = 100_000
"""Maximum number of values, with aliases expanded: nine lines of aliases may expand to 10^9 values."""
MAX_LEVELS = 60
"""Maximum nesting depth."""
_FORBIDDEN = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
"""Characters that are invalid in YAML (YAML 1.2.2, section 5.1); also a byte order mark inside the text."""
_MERGE = "tag:yaml.org,2002:merge"


class StrictYamlError(ValueError):
    """A reason and its line, from 1; None if unknown."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason)
        self.line = line


class PythonParser(Reader, Scanner, Parser):
    """PyYAML's own parser, slower than libyaml's."""

    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)


PARSER: Any = vars(yaml.cyaml)["CParser"] if yaml.__with_libyaml__ else PythonParser
"""The parser; PyYAML may be built without libyaml."""


class Loader(Composer, PARSER, SafeConstructor, Resolver):  # type: ignore[misc]
    """The core schema of YAML 1.2, and merge keys.

    Nodes are composed in Python, where deep nesting is an error; libyaml would crash the process.
    """

    def __init__(self, text: str) -> None:
        PARSER.__init__(self, text)
        Composer.__init__(self)
        SafeConstructor.__init__(self)
        Resolver.__init__(self)

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """Construct the value of a node; errors name its line."""
        try:
            return super().construct_object(node, deep)
        except (KeyError, AttributeError):  # these messages name PyYAML's own variables
            reason = "not YAML: a value that its tag does not allow"
        except yaml.YAMLError:
            raise
        except ValueError as error:
            reason = f"not YAML: {error}"
        raise StrictYamlError(reason, _line(node)) from None


class Dumper(yaml.SafeDumper):
    """PyYAML's safe dumper, which also quotes texts that YAML 1.2 would read as numbers, such as `089` and `1e3`."""


CORE = {
    "null": (r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    "bool": (r"true|True|TRUE|false|False|FALSE", "tTfF"),
    "int": (r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789"),
    "float": (
        r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
        "-+.0123456789",
    ),
}
"""Patterns of unquoted values that are not texts (YAML 1.2.2, section 10.3.2), by tag, and their first characters."""
Loader.yaml_implicit_resolvers = {"<": yaml.SafeLoader.yaml_implicit_resolvers["<"]}
for _name, (_pattern, _first) in CORE.items():
    for _kind in (Loader, Dumper):
        _kind.add_implicit_resolver(
            f"tag:yaml.org,2002:{_name}", re.compile(rf"(?:{_pattern})$"), list(_first)
        )


def _read_int(loader: Loader, node: yaml.ScalarNode) -> int:
    """Parse an integer in base 10, base 8 after `0o`, or base 16 after `0x`."""
    text = loader.construct_scalar(node)
    return int(text, {"0o": 8, "0x": 16}.get(text[:2], 10))


def _read_float(loader: Loader, node: yaml.ScalarNode) -> float:
    """Parse a number in base 10; `.inf` and `.nan` as in YAML."""
    return float(re.sub(r"\.(?=inf|nan)", "", loader.construct_scalar(node).lower()))


Loader.add_constructor("tag:yaml.org,2002:int", _read_int)
Loader.add_constructor("tag:yaml.org,2002:float", _read_float)


def as_yaml(value: Any, **options: Any) -> str:
    """Format plain values as YAML that `load_yaml` and YAML 1.1 parsers read equally.

    Args:
        value: Mappings, lists, texts, numbers, booleans and None.
        **options: Options of `yaml.dump`.
    """
    return str(yaml.dump(value, Dumper=Dumper, sort_keys=False, allow_unicode=True, **options))


def load_yaml(text: str) -> Any:
    """Parse a YAML text; None if it is empty.

    Raises:
        StrictYamlError: If the text is not safe YAML, or is rejected for the reasons above.
    """
    return copy.deepcopy(_value(text))


@lru_cache(maxsize=128)
def _value(text: str) -> Any:
    """Parse a text to a cached value, which must not be changed: a study reads few files for many runs."""
    if len(text) > MAX_CHARACTERS:
        raise StrictYamlError(f"expected at most {MAX_CHARACTERS:,} characters, got {len(text):,}")
    text = text.removeprefix("\ufeff")
    if found := _FORBIDDEN.search(text):
        line = text.count("\n", 0, found.start()) + 1
        raise StrictYamlError(f"not YAML: the character {found[0]!r} is not allowed", line)
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
        mark, num_lines = error.problem_mark or error.context_mark, len(text.splitlines())
        is_end = mark is not None and mark.line >= num_lines > 0
        place = "" if mark is None else " at the end" if is_end else f" at column {mark.column + 1}"
        reason = f"not YAML: {error.problem or error.context}{place}"
        raise StrictYamlError(reason, None if mark is None else min(mark.line + 1, num_lines)) from None
    except RecursionError:
        raise StrictYamlError(f"expected at most {MAX_LEVELS} levels, got more") from None


def _check(root: yaml.Node) -> None:
    """Reject duplicate keys and exponential aliases, before values are built."""
    sizes: dict[int, int] = {}
    above: set[int] = set()

    def size(node: yaml.Node) -> int:
        """Number of values of a node, with its aliases expanded."""
        if isinstance(node, yaml.ScalarNode):
            return 1
        if id(node) in above:
            raise StrictYamlError("expected no alias that holds itself", _line(node))
        if id(node) not in sizes:
            if len(above) == MAX_LEVELS:
                raise StrictYamlError(f"expected at most {MAX_LEVELS} levels, got more", _line(node))
            above.add(id(node))
            seen = set()  # otherwise one of two values of a key would be dropped silently
            for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
                if isinstance(key, yaml.ScalarNode) and key.tag != _MERGE:
                    if (key.tag, key.value) in seen:
                        raise StrictYamlError(
                            f"expected each key once, got '{key.value:.60}' again", _line(key)
                        )
                    seen.add((key.tag, key.value))
            parts = [part for each in node.value for part in (each if isinstance(each, tuple) else (each,))]
            sizes[id(node)] = 1 + sum(map(size, parts))
            above.remove(id(node))
        if sizes[id(node)] > MAX_VALUES:
            raise StrictYamlError(
                f"expected at most {MAX_VALUES:,} values, got more with its aliases", _line(node)
            )
        return sizes[id(node)]

    size(root)


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1
