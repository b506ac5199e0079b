"""Strict YAML 1.2: `010` is 10, and `no` and `1:30` are texts.

Refuses duplicate keys, aliases that multiply, deep nesting and very large files; names the line.
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
"""Longest text; a config of the package has some thousand characters."""
MAX_VALUES = 100_000
"""Most values, where each alias counts as what it stands for: nine lines of aliases may stand for 10^9 values."""
MAX_LEVELS = 60
"""Deepest nesting."""
_FORBIDDEN = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
"""A character that no YAML has (YAML 1.2.2, section 5.1); a byte order mark, too, where the text has begun."""
_MERGE = "tag:yaml.org,2002:merge"


class StrictYamlError(ValueError):
    """A reason and its line, from 1; None where that is not known."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason)
        self.line = line


class PythonParser(Reader, Scanner, Parser):
    """PyYAML's own parser, which takes longer than libyaml's."""

    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)


PARSER: Any = vars(yaml.cyaml)["CParser"] if yaml.__with_libyaml__ else PythonParser
"""The parser; PyYAML can be built without libyaml."""


class Loader(Composer, PARSER, SafeConstructor, Resolver):  # type: ignore[misc]
    """The core schema of YAML 1.2, and merge keys.

    Nodes are put together in Python, where deep nesting is an error; libyaml would end the process.
    """

    def __init__(self, text: str) -> None:
        PARSER.__init__(self, text)
        Composer.__init__(self)
        SafeConstructor.__init__(self)
        Resolver.__init__(self)

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


class Dumper(yaml.SafeDumper):
    """PyYAML's safe dumper, which also quotes texts that are no texts in YAML 1.2, such as `089` and `1e3`."""


CORE = {
    "null": (r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    "bool": (r"true|True|TRUE|false|False|FALSE", "tTfF"),
    "int": (r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789"),
    "float": (
        r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
        "-+.0123456789",
    ),
}
"""Patterns of values that are no text without quotes (YAML 1.2.2, section 10.3.2), by tag, and their first signs."""
Loader.yaml_implicit_resolvers = {"<": yaml.SafeLoader.yaml_implicit_resolvers["<"]}
for _name, (_pattern, _first) in CORE.items():
    for _kind in (Loader, Dumper):
        _kind.add_implicit_resolver(
            f"tag:yaml.org,2002:{_name}", re.compile(rf"(?:{_pattern})$"), list(_first)
        )


def _read_int(loader: Loader, node: yaml.ScalarNode) -> int:
    """An integer in base 10, or 8 after `0o`, or 16 after `0x`."""
    text = loader.construct_scalar(node)
    return int(text, {"0o": 8, "0x": 16}.get(text[:2], 10))


def _read_float(loader: Loader, node: yaml.ScalarNode) -> float:
    """A number in base 10; `.inf` and `.nan` as in YAML."""
    return float(re.sub(r"\.(?=inf|nan)", "", loader.construct_scalar(node).lower()))


Loader.add_constructor("tag:yaml.org,2002:int", _read_int)
Loader.add_constructor("tag:yaml.org,2002:float", _read_float)


def as_yaml(value: Any, **options: Any) -> str:
    """YAML of plain values, which `load_yaml` and readers of YAML 1.1 read alike.

    Args:
        value: Mappings, lists, texts, numbers, booleans and None.
        **options: Those of `yaml.dump`.
    """
    return str(yaml.dump(value, Dumper=Dumper, sort_keys=False, allow_unicode=True, **options))


def load_yaml(text: str) -> Any:
    """The value of a YAML text; None if it is empty.

    Raises:
        StrictYamlError: If it is not YAML, holds what safe YAML does not have, or is refused as above.
    """
    return copy.deepcopy(_value(text))


@lru_cache(maxsize=128)
def _value(text: str) -> Any:
    """The value of a text, which nobody changes: a study reads the same few files for each of its runs."""
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
    """Refuse keys that are there twice, and what is larger than it looks, before it is built."""
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
            seen = set()  # of two values of one key, one would be dropped without a word
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
