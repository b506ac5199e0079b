"""Settings in sentences: parts with their options, of one config or of several that differ."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ecsuite.eval.methods.prose import Cite, Sentence, listed
from ecsuite.games.run_identity import CANDIDATES, may_hold_out
from ecsuite.parts.own_code import is_foreign
from ecsuite.parts.registry import KIND, Registry

Tree = Mapping[str, Any]
"""A section of a config."""
ASIDE = re.compile(r" ?\([^()]*(\b(19|20)\d\d\b|of a run|asked for by name)[^()]*\)")
"""What a line says in brackets of works, which are cited, and of commands."""
NAMED = re.compile(r", \w+:CELL")
"""How a line says that a cell follows a name."""
AGENTS = ("sender", "receiver")
"""Kinds of parts whose lines go on with how they are named on the command line."""
OFF = ("none", "uniform")
"""Kinds of parts within a part that change nothing."""


def line_of(registry: Registry, kind: str) -> str:
    """The line about a part of ours, without works; that it is somebody's own, of others."""
    if is_foreign(kind):
        return "a part of our own"
    line = NAMED.sub("", ASIDE.sub("", registry.lines().get(kind, "")))
    return line.partition("; ")[0] if registry.word in AGENTS else line


def part_text(registry: Registry, kind: str) -> Sentence:
    """A part by its name, with what it is and the works that it rests on: `gumbel (Gumbel-softmax)`."""
    line = line_of(registry, kind)
    return [f"{kind} ({line})" if line and line.lower() != kind else kind, Cite.of(kind)]


def values_of(trees: Sequence[Tree], key: str) -> list[Any]:
    """The different values of an option, in their order."""
    values: list[Any] = []
    for tree in trees:
        if key in tree and tree[key] not in values:
            values.append(tree[key])
    return values


def value_text(values: Iterable[Any]) -> str:
    """Values as in the YAML: `2 or 4`."""
    return listed([_one(value) for value in values], "or")


def _one(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "none"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_one, value))}]"
    if isinstance(value, Mapping):
        rest = options_text([value], without=(KIND,))
        return f"{value.get(KIND, '')}{f' ({rest})' if rest else ''}".strip()
    return str(value)


def options_text(trees: Sequence[Tree], *, without: Sequence[str] = ()) -> str:
    """The options of a part that are on: `hidden size 64, temperature 1.0 or 2.0`.

    Options that are null, false, empty or 0 in all of them are left out, but for numbers of things.

    Args:
        trees: The section in each config.
        without: Options that are told elsewhere.
    """
    texts = []
    for key in dict.fromkeys(key for tree in trees for key in tree):
        values = values_of(trees, key)
        if key in without or not any(_is_on(key, value) for value in values):
            continue
        if key == CANDIDATES and not any(map(may_hold_out, trees)):
            continue
        words = key.replace("num_", "number of ").replace("_", " ")
        is_switch = all(isinstance(value, bool) for value in values)
        texts.append(words if is_switch and values == [True] else f"{words} {value_text(values)}")
    return ", ".join(texts)


def _is_on(key: str, value: Any) -> bool:
    if isinstance(value, Mapping):
        return bool(value) and value.get(KIND) not in OFF
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return bool(value) or (is_number and key.startswith(("num_", "seed")))


def section_sentences(
    trees: Sequence[Tree], registry: Registry, begins: str, *, without: Sequence[str] = ()
) -> Sentence:
    """A sentence about a part, such as `The channel is gumbel (…): vocab size 5, max len 3`.

    Args:
        trees: The section in each config.
        registry: Of its kind.
        begins: `The channel is`.
        without: Options that are told elsewhere.
    """
    pieces: list[Any] = [begins]
    kinds = values_of(trees, KIND)
    for place, kind in enumerate(kinds):
        same = [tree for tree in trees if tree.get(KIND) == kind]
        pieces.append(" " if place == 0 else "; or ")
        pieces += part_text(registry, str(kind))
        options = options_text(same, without=(KIND, *without))
        pieces += [f": {options}"] if options else []
    return [*pieces, "."]
