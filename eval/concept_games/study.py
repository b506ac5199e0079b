"""A study: which games are trained, with which seeds, and the published figures to print beside."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from importlib.resources.abc import Traversable
from typing import Any

from ecsuite.config import (
    ConfigError,
    Experiment,
    build,
    load_experiment,
    look_up,
    override,
    read_yaml,
    shipped_configs,
    unknown_name,
)
from ecsuite.eval.concept_games.published import PUBLISHED, Figures

FIRST_SEED = 1
"""Where seeds begin if only their number is given."""

ROW_KEYS = ("name", "base", "set")
"""Of a row in a YAML file; `set` has settings of the base by `section.key`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Header:
    """The keys of a study's YAML file but `rows`."""

    name: str
    about: str = ""
    """One line for people."""
    published: str | None = None
    """The paper's table to print beside: table1, or table3, which is of Tables 3 and 4. Its rows have our names."""
    seeds: tuple[int, ...] = (1, 2, 3)
    """Of weights, examples and noise."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RowHeader:
    """The keys of a row but `set`."""

    name: str
    base: str
    """A shipped game, or a YAML file of one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One game to train."""

    name: str
    experiment: Experiment
    """Of the seeds, each has its own."""
    published: Figures
    """What the paper has; empty if it has no such row."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Study:
    """All that is to be trained."""

    header: Header
    rows: tuple[Row, ...]


def load_study(
    name_or_file: str,
    *,
    seeds: tuple[int, ...] | None = None,
    rows: Iterable[str] = (),
    assignments: Iterable[str] = (),
) -> Study:
    """Read a shipped study (`paper/cbm_table1`, or `cbm_table1`) or a YAML file, and change it.

    Args:
        name_or_file: The study.
        seeds: Instead of its own.
        rows: Names of the rows to keep; all if there are none.
        assignments: `section.key=value` for every game, after what the study sets.

    Raises:
        ConfigError: If there is no such study, or a key, a value or a row's name is wrong.
    """
    is_file = name_or_file.endswith((".yaml", ".yml"))
    name = name_or_file if is_file else name_or_file.removeprefix("paper/")
    tree = read_yaml(name, "study", _shipped())
    entries = tree.pop("rows", None)
    header: Header = build(Header, tree, name_or_file)
    header = header if seeds is None else replace(header, seeds=seeds)
    if not header.seeds or len(set(header.seeds)) < len(header.seeds):
        raise ConfigError(f"{name_or_file}: seeds: expected different numbers, at least one")
    if not isinstance(entries, list) or not entries:
        raise ConfigError(f"{name_or_file}: rows: expected a list of games, each with a name and a base")
    given = list(assignments)
    for assignment in given:
        if assignment.startswith("training.seed="):
            raise ConfigError(f"--set {assignment}: a study has several; use --seeds")
    theirs = {} if header.published is None else look_up("table", header.published, PUBLISHED)
    read = [
        _read_row(entry, f"{name_or_file}: rows[{place}]", given, theirs)
        for place, entry in enumerate(entries)
    ]
    names = [row.name for row in read]
    for each in names:
        if names.count(each) > 1:
            raise ConfigError(f"{name_or_file}: rows: the name {each} stands there twice")
    wanted = list(rows)
    for each in wanted:
        if each not in names:
            raise unknown_name("row", each, names)
    return Study(header=header, rows=tuple(row for row in read if not wanted or row.name in wanted))


def named_studies() -> dict[str, str]:
    """The shipped studies, each with its line."""
    return {f"paper/{name}": load_study(name).header.about for name in _shipped()}


def _shipped() -> dict[str, Traversable]:
    """The files of the shipped studies, by name; `configs/paper/` has other papers' studies, too."""
    return {name: file for name, file in shipped_configs("paper").items() if name.startswith("cbm_")}


def _read_row(entry: Any, place: str, assignments: list[str], theirs: Mapping[str, Figures]) -> Row:
    """A row of the file, with what the user sets."""
    if not isinstance(entry, dict):
        raise ConfigError(f"{place}: expected keys and values, got {entry!r}")
    for key in entry:
        if key not in ROW_KEYS:
            raise ConfigError(f"{place}: {unknown_name('key', str(key), ROW_KEYS)}")
    told = {key: value for key, value in entry.items() if key != "set"}
    header: RowHeader = build(RowHeader, {"name": "", "base": ""} | told, place)
    if not header.name or not header.base or not header.name.replace("_", "").replace("-", "").isalnum():
        raise ConfigError(f"{place}: expected a name of letters, digits, _ and -, and a base")
    changes = entry.get("set", {})
    if not isinstance(changes, dict):
        raise ConfigError(f"{place}: set: expected keys such as channel.max_len with values, got {changes!r}")
    own = [f"{key}={json.dumps(value)}" for key, value in changes.items()]
    try:
        experiment = override(load_experiment(header.base), own)
    except ConfigError as error:
        raise ConfigError(f"{place}: {error}") from None
    # Not what the base says of itself, which the row's settings may have made untrue.
    experiment = replace(override(experiment, assignments), name=header.name, about="")
    return Row(name=header.name, experiment=experiment, published=theirs.get(header.name, {}))
