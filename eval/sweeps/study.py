"""A sweep: a base game, the settings that vary, the seeds, and the metrics of every corpus; read from YAML.

    base: disc_small
    vary: {channel.kind: [gumbel, reinforce], channel.vocab_size: [5, 20, 80]}
    seeds: 3
    score: [topsim, cbm]

or with a search instead of `vary`:

    search: {trials: 60, maximise: topsim, over: {optimizer.lr: [1e-4, 1e-2, log]}}

Every run is checked before the first one starts.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from ecsuite.eval.metrics import find_metric, require_files
from ecsuite.eval.studies.files import SWEEP, Source
from ecsuite.eval.sweeps.grids import Settings, at, combinations, mapping
from ecsuite.eval.sweeps.scorable import require_scorable
from ecsuite.eval.sweeps.search_settings import SearchSettings, read_search
from ecsuite.games.experiment import load_experiment
from ecsuite.games.sections import Experiment
from ecsuite.parts.config import Count, Seed, build
from ecsuite.parts.own_code import trust
from ecsuite.parts.registry import split_names
from ecsuite.runtime.devices import choose_device
from ecsuite.runtime.errors import ConfigError, shown
from ecsuite.tables.cells import value_text

FIRST_SEED = 1
"""First seed if only the number of seeds is given."""
MAX_RUNS = 100_000
"""Most runs of a sweep."""
COLLECTION_KEY = "corpora"
"""The key that a study of a collection has, which is no sweep; see `ecsuite.eval.collections.study`."""


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
    """So many combinations, drawn at random, also from ranges; None: all."""
    random_seed: Seed = 0
    """Seed of that draw."""
    search: Any = None
    """A search instead of `vary`; its keys are those of `search_settings.Header`."""
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
        return (
            ", ".join(f"{key}={value_text(value)}" for key, value in self.settings.items())
            or self.experiment.name
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Base:
    """The game that a sweep begins from."""

    name: str
    """Name of a shipped game, a YAML file, or a table of objects."""
    set: Settings
    """Values for every run."""

    def variant(self, settings: Settings, place: str) -> Variant:
        """The game with some settings; messages begin with the place.

        Raises:
            ConfigError: If there is no such game, or a setting is not valid.
        """
        try:
            experiment = load_experiment(self.name, changes={**self.set, **settings}, trust_code=False)
        except ConfigError as error:
            where = ", ".join(f"{key}={shown(value)}" for key, value in settings.items())
            raise ConfigError(f"{place} ({where or 'the base'}): {error}") from None
        return Variant(settings=settings, experiment=experiment)


@dataclass(frozen=True, kw_only=True, slots=True)
class Study:
    """What is trained and scored."""

    name: str
    """Name of the sweep."""
    base: Base
    """The game, and what is set in every run."""
    variants: tuple[Variant, ...]
    """The combinations of settings; none if they are searched."""
    search: SearchSettings | None
    """How settings are searched; None: they are known."""
    seeds: tuple[int, ...]
    """Seeds of each."""
    metrics: tuple[str, ...]
    """Names of the metrics."""
    device: torch.device
    """Where the games are trained."""


def load_study(study: Source, *, device: str = "auto") -> Study:
    """Read a sweep, and check each of its runs and metrics.

    Args:
        study: A shipped study such as `paper/xferbench_search`, a YAML file, or its content.
        device: auto, cpu, cuda or mps.

    Raises:
        ConfigError: If a key, a value or a combination is not valid; the message names the run.
    """
    tree, source = SWEEP.read(study)
    if COLLECTION_KEY in tree:
        raise ConfigError(f"{source}: a study of corpora, not a sweep of a game: `ecsuite sweep` scores them")
    header: Header = build(Header, {"base": "", **tree}, source)
    if not header.base:
        raise ConfigError(f"{source}: base: expected the name of a game or a YAML file")
    game = Base(name=header.base, set=mapping(header.set, at(source, "set")))
    seeds = _seeds(header.seeds, source)
    metrics = metrics_of(header.score, source)
    variants: list[Variant] = []
    checked: list[Experiment] = []
    search = None
    if header.search is not None:
        if header.vary or header.zip or header.random:
            given = next(key for key in ("vary", "zip", "random") if getattr(header, key))
            raise ConfigError(f"{at(source, given)}: not read beside search; the settings are in search.over")
        search = read_search(header.search, source)
        metrics = search.with_objective(metrics, source)
        num_runs = search.trials * len(seeds)
        for number, settings in enumerate(corners := search.corners(), 1):
            made = game.variant(settings, f"{source}: search.over: {number} of {len(corners)} combinations")
            search.require_intermediate(made.experiment, source)
            checked.append(made.experiment)
    else:
        found = combinations(
            _grids(header.vary, source),
            (at(source, "zip"), header.zip),
            number=header.random,
            seed=header.random_seed,
        )
        num_runs = len(found) * len(seeds)
        for number, settings in enumerate(found if num_runs <= MAX_RUNS else (), 1):
            variants.append(game.variant(settings, f"{source}: setting {number} of {len(found)}"))
        _require_different(variants, source)
        checked += [variant.experiment for variant in variants]
    if num_runs > MAX_RUNS:
        raise ConfigError(f"{source}: {num_runs:,} runs; at most {MAX_RUNS:,}")
    require_scorable(checked, metrics, source)
    return Study(
        name=header.name,
        base=game,
        variants=tuple(variants),
        search=search,
        seeds=seeds,
        metrics=metrics,
        device=choose_device(device),
    )


def _grids(vary: Any, source: str) -> list[tuple[str, Any]]:
    """Each grid of `vary` with its place."""
    place = at(source, "vary")
    if isinstance(vary, list):
        return [(f"{place}[{number}]", grid) for number, grid in enumerate(vary)]
    return [(place, vary)]


def _seeds(seeds: Any, source: str) -> tuple[int, ...]:
    listed = list(range(FIRST_SEED, FIRST_SEED + min(seeds, MAX_RUNS + 1))) if type(seeds) is int else seeds
    is_list = isinstance(listed, list) and all(type(seed) is int and 0 <= seed < 2**31 for seed in listed)
    if not is_list or not listed or len(set(listed)) < len(listed):
        raise ConfigError(
            f"{source}: seeds: expected a number of seeds, or a list of different seeds, got {shown(seeds)}"
        )
    return tuple(listed)


def metrics_of(names: Any, source: str) -> tuple[str, ...]:
    """The metrics that a study names, each once; `ConfigError` if there is no such metric."""
    listed = split_names(names) if isinstance(names, str) else names
    if not isinstance(listed, list | tuple) or not all(isinstance(name, str) for name in listed):
        raise ConfigError(f"{source}: score: expected names of metrics, got {shown(names)}")
    trust(listed)
    for name in listed:
        try:
            find_metric(name)
            require_files(name)
        except ConfigError as error:
            raise ConfigError(f"{source}: score: {error}") from None
    return tuple(dict.fromkeys(listed))


def _require_different(variants: Sequence[Variant], source: str) -> None:
    """Check that no two combinations are the same game, as when an alias and a setting name the same value."""
    seen: dict[str, Variant] = {}
    for variant in variants:
        text = repr(variant.experiment.to_tree())
        if text in seen:
            raise ConfigError(f"{source}: {seen[text].name} and {variant.name} are the same game")
        seen[text] = variant
