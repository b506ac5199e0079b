"""A sweep: a base game, the settings that vary, the seeds, and the metrics of every corpus; read from YAML.

    base: disc_small
    vary: {channel.kind: [gumbel, reinforce], channel.vocab_size: [5, 20, 80]}
    seeds: 3
    score: [topsim, cbm]

Every run is checked before the first one starts.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, product
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ecsuite.config import ConfigError, Count, Seed, build, read_yaml, shown
from ecsuite.devices import choose_device
from ecsuite.eval.metrics import load_metric
from ecsuite.foreign import trust
from ecsuite.games.experiment import load_experiment
from ecsuite.games.sections import Experiment

FIRST_SEED = 1
"""First seed if only the number of seeds is given."""
MAX_RUNS = 100_000
"""Most runs of a sweep."""
MAX_COMBINATIONS = 1_000_000
"""Most combinations of settings, of which `random` may draw some."""

Settings = Mapping[str, Any]
"""Values by `section.key`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Header:
    """The keys of a sweep's YAML file."""

    name: str
    """Name of the sweep; by default that of its file."""
    base: str
    """Name of a shipped game, a YAML file, or a table of objects."""
    about: str = ""
    """One-line description."""
    set: Any = field(default_factory=dict)
    """Values by `section.key` for every run."""
    vary: Any = field(default_factory=dict)
    """Lists of values by `section.key`: all their combinations; or a list of such grids, one after the other."""
    zip: Any = field(default_factory=dict)
    """Lists of values of equal lengths by `section.key`: first with first, and so on; combined with every grid."""
    random: Count | None = None
    """So many of all combinations, drawn at random; None: all."""
    random_seed: Seed = 0
    """Seed of that draw."""
    seeds: Any = 1
    """Number of seeds (1, 2, …), or a list of seeds."""
    score: Any = ()
    """Metrics of every corpus: a list, or names separated by commas."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Variant:
    """One combination of settings, which is trained with every seed."""

    settings: Settings
    """The settings that vary, with their values here."""
    experiment: Experiment
    """The game; its seed is replaced by each seed of the sweep."""

    @property
    def name(self) -> str:
        """The settings in a line; the name of the game if none vary."""
        return ", ".join(f"{key}={value}" for key, value in self.settings.items()) or self.experiment.name


@dataclass(frozen=True, kw_only=True, slots=True)
class Study:
    """What is trained and scored."""

    name: str
    """Name of the sweep."""
    variants: tuple[Variant, ...]
    """The combinations of settings."""
    seeds: tuple[int, ...]
    """Seeds of each."""
    metrics: tuple[str, ...]
    """Names of the metrics."""
    device: torch.device
    """Where the games are trained."""


def load_study(file: str | Path | Mapping[str, Any], *, device: str = "auto") -> Study:
    """Read a sweep, and check each of its runs and metrics.

    Args:
        file: A YAML file, or its content.
        device: auto, cpu, cuda or mps.

    Raises:
        ConfigError: If a key, a value or a combination is not valid; the message names the run.
    """
    if isinstance(file, Mapping):
        source, tree = "sweep", {"name": "sweep", **file}
    else:
        source = str(file)
        if not source.endswith((".yaml", ".yml")):
            raise ConfigError(
                f"{source}: expected a file that ends in .yaml, with base, vary, seeds and score"
            )
        tree = read_yaml(source, "sweep", {})
    header: Header = build(Header, {"base": "", **tree}, source)
    if not header.base:
        raise ConfigError(f"{source}: base: expected the name of a game or a YAML file")
    seeds = _seeds(header.seeds, source)
    metrics = _metrics(header.score, source)
    common = _mapping(header.set, f"{source}: set")
    # Lists of a hundred values each soon have more combinations than there is memory: no more of them are made.
    combinations = list(islice(_combinations(header, source), MAX_COMBINATIONS + 1))
    if len(combinations) > MAX_COMBINATIONS:
        raise ConfigError(
            f"{source}: more than {MAX_COMBINATIONS:,} combinations; expected shorter lists in vary"
        )
    combinations = _drawn(combinations, header)
    if len(combinations) * len(seeds) > MAX_RUNS:
        raise ConfigError(f"{source}: {len(combinations) * len(seeds):,} runs; at most {MAX_RUNS:,}")
    variants = []
    for number, settings in enumerate(combinations, 1):
        try:
            experiment = load_experiment(header.base, changes={**common, **settings}, trust_code=False)
        except ConfigError as error:
            where = ", ".join(f"{key}={value}" for key, value in settings.items())
            raise ConfigError(
                f"{source}: setting {number} of {len(combinations)} ({where or 'the base'}): {error}"
            ) from None
        variants.append(Variant(settings=settings, experiment=experiment))
    _require_different(variants, source)
    return Study(
        name=header.name,
        variants=tuple(variants),
        seeds=seeds,
        metrics=metrics,
        device=choose_device(device),
    )


def _combinations(header: Header, source: str) -> Iterator[Settings]:
    """The combinations of every grid with every row of `zip`, in the order of the file."""
    rows = _rows(_lists(header.zip, f"{source}: zip"), f"{source}: zip")
    grids = header.vary if isinstance(header.vary, list) else [header.vary]
    for place, grid in enumerate(grids):
        lists = _lists(
            grid, f"{source}: vary[{place}]" if isinstance(header.vary, list) else f"{source}: vary"
        )
        for row in rows:
            for values in product(*lists.values()):
                yield {**dict(zip(lists, values, strict=True)), **row}


def _rows(lists: Mapping[str, Sequence[Any]], place: str) -> list[Settings]:
    lengths = {len(values) for values in lists.values()}
    if len(lengths) > 1:
        raise ConfigError(f"{place}: expected lists of equal lengths, got {sorted(lengths)}")
    return [dict(zip(lists, values, strict=True)) for values in zip(*lists.values(), strict=True)] or [{}]


def _lists(grid: Any, place: str) -> dict[str, list[Any]]:
    """The lists of values of a grid; numbers such as 1e-4 are numbers."""
    found = {}
    for key, values in _mapping(grid, place).items():
        if key in ("training.seed", "seed"):
            raise ConfigError(f"{place}: {key}: seeds have a key of their own, `seeds`")
        if not isinstance(values, list) or not values:
            raise ConfigError(f"{place}: {key}: expected a list of values, got {shown(values)}")
        found[key] = values
    return found


def _mapping(tree: Any, place: str) -> dict[str, Any]:
    if not isinstance(tree, Mapping) or not all(isinstance(key, str) for key in tree):
        raise ConfigError(f"{place}: expected keys such as channel.kind with values, got {shown(tree)}")
    return dict(tree)


def _drawn(combinations: list[Settings], header: Header) -> list[Settings]:
    """The combinations, or as many as `random` says, in their order."""
    if header.random is None or header.random >= len(combinations):
        return combinations
    chosen = np.random.default_rng(header.random_seed).choice(len(combinations), header.random, replace=False)
    return [combinations[index] for index in sorted(chosen)]


def _seeds(seeds: Any, source: str) -> tuple[int, ...]:
    listed = list(range(FIRST_SEED, FIRST_SEED + min(seeds, MAX_RUNS + 1))) if type(seeds) is int else seeds
    is_list = isinstance(listed, list) and all(type(seed) is int and 0 <= seed < 2**31 for seed in listed)
    if not is_list or not listed or len(set(listed)) < len(listed):
        raise ConfigError(
            f"{source}: seeds: expected a number of seeds, or a list of different seeds, got {shown(seeds)}"
        )
    return tuple(listed)


def _metrics(names: Any, source: str) -> tuple[str, ...]:
    listed = [name.strip() for name in names.split(",")] if isinstance(names, str) else names
    if not isinstance(listed, list | tuple) or not all(isinstance(name, str) for name in listed):
        raise ConfigError(f"{source}: score: expected names of metrics, got {shown(names)}")
    trust(listed)
    for name in listed:
        try:
            load_metric(name)
        except ConfigError as error:
            raise ConfigError(f"{source}: score: {error}") from None
    return tuple(dict.fromkeys(listed))


def _require_different(variants: Sequence[Variant], source: str) -> None:
    """Check that no two combinations are the same game, as when an alias and a setting name the same value."""
    seen: dict[str, Variant] = {}
    for variant in variants:
        text = variant.experiment.to_yaml()
        if text in seen:
            raise ConfigError(f"{source}: {seen[text].name} and {variant.name} are the same game")
        seen[text] = variant
