"""A study: the games to train, their seeds, and the published figures to compare with."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from ecsuite.eval.concept_games.published import PUBLISHED, Figures
from ecsuite.eval.studies.files import CBM
from ecsuite.eval.sweeps.scorable import require_scorable
from ecsuite.games.experiment import load_experiment
from ecsuite.games.sections import SIGNALLING, Experiment
from ecsuite.parts.config import build
from ecsuite.runtime.devices import choose_device
from ecsuite.runtime.errors import ConfigError, look_up, shown, unknown_name

FIRST_SEED = 1
"""First seed if only the number of seeds is given."""
FOLDER = Path("runs/cbm")
"""Where runs and kept results are, unless another folder is given."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Header:
    """The keys of a study's YAML file except `rows`."""

    name: str
    about: str = ""
    """One-line description."""
    published: str | None = None
    """Table of the paper to compare with: table1, or table3 (Tables 3 and 4). Rows are joined by name."""
    seeds: tuple[int, ...] = (1, 2, 3)
    """Seeds of weights, examples and noise."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RowHeader:
    """The keys of a row in a YAML file."""

    name: str = ""
    base: str = ""
    """Name of a shipped game, or a YAML file."""
    set: Any = field(default_factory=dict)
    """Changes of settings of the base, by `section.key`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One game to train."""

    name: str
    experiment: Experiment
    """Settings of the game; the seed is replaced by each seed of the study."""
    published: Figures
    """The paper's figures; empty if it has no such row."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Study:
    """The games to train, with their seeds."""

    header: Header
    rows: tuple[Row, ...]
    device: torch.device
    """Where the games are trained."""
    folder: Path
    """Parent of the run folders."""


def load_study(
    study: str | Path | Mapping[str, Any],
    *,
    seeds: tuple[int, ...] | None = None,
    rows: Iterable[str] = (),
    assignments: Iterable[str] = (),
    device: str = "cpu",
    folder: Path = FOLDER,
) -> Study:
    """Read a shipped study (`paper/cbm_table1`, or `cbm_table1`), a YAML file or its content, and change it.

    Args:
        study: The study.
        seeds: Replace the seeds of the study; None keeps them.
        rows: Names of the rows to keep; all if empty.
        assignments: `section.key=value` for every game, applied after the settings of the study.
        device: auto, cpu, cuda or mps.
        folder: Parent of the run folders.

    Raises:
        ConfigError: If there is no such study, a key, a value or a row's name is wrong, or a game has no concepts.
    """
    tree, source = CBM.read(study)
    entries = tree.pop("rows", None)
    header: Header = build(Header, tree, source)
    header = header if seeds is None else replace(header, seeds=seeds)
    if not header.seeds or len(set(header.seeds)) < len(header.seeds):
        raise ConfigError(f"{source}: seeds: expected different numbers, at least one")
    if not isinstance(entries, list) or not entries:
        raise ConfigError(f"{source}: rows: expected a list of games, each with a name and a base")
    given = list(assignments)
    for assignment in given:
        if assignment.startswith("training.seed="):
            raise ConfigError(f"--set {assignment}: a study has several seeds; use --seeds")
    published_rows = {} if header.published is None else look_up("table", header.published, PUBLISHED)
    wanted = list(rows)
    read = [
        _read_row(entry, f"{source}: rows[{place}]", wanted, given, published_rows)
        for place, entry in enumerate(entries)
    ]
    names = [row.name for row in read]
    for each in names:
        if names.count(each) > 1:
            raise ConfigError(f"{source}: rows: expected unique names, found {each} twice")
    for each in wanted:
        if each not in names:
            raise unknown_name("row", each, names)
    chosen = tuple(row for row in read if not wanted or row.name in wanted)
    for row in chosen:
        if row.experiment.play != SIGNALLING:
            raise ConfigError(
                f"{source}: {row.name}: expected a game of a sender and a receiver, whose messages are matched with "
                f"concepts, got play {row.experiment.play.kind}"
            )
        require_scorable([row.experiment], ["cbm"], f"{source}: {row.name}")
    return Study(header=header, rows=chosen, device=choose_device(device), folder=folder)


def _read_row(
    entry: Any, place: str, wanted: list[str], assignments: list[str], published_rows: Mapping[str, Figures]
) -> Row:
    """Read a row of the file, and apply the user's settings if it is wanted: others may not have them."""
    if not isinstance(entry, dict):
        raise ConfigError(f"{place}: expected keys and values, got {shown(entry)}")
    header: RowHeader = build(RowHeader, entry, place)
    if not header.name or not header.base or not header.name.replace("_", "").replace("-", "").isalnum():
        raise ConfigError(f"{place}: expected a name of letters, digits, _ and -, and a base")
    if not isinstance(header.set, dict):
        raise ConfigError(
            f"{place}: set: expected keys such as channel.max_len with values, got {shown(header.set)}"
        )
    is_wanted = not wanted or header.name in wanted
    try:
        experiment = load_experiment(header.base, assignments if is_wanted else [], changes=header.set)
    except ConfigError as error:
        raise ConfigError(f"{place}: {error}") from None
    # Without the description of the base, which may not hold for the settings of the row.
    experiment = replace(experiment, name=header.name, about="")
    return Row(name=header.name, experiment=experiment, published=published_rows.get(header.name, {}))
