"""Studies of sweeps: a base game or rows, settings that vary or are searched, seeds, and metrics; read from YAML.

    base: disc_small
    vary: {channel.kind: [gumbel, reinforce], channel.vocab_size: [5, 20, 80]}
    seeds: 3
    score: [topsim, cbm]

or with a search instead of `vary`:

    search: {trials: 60, maximise: topsim, over: {optimizer.lr: [1e-4, 1e-2, log]}}

Every run is checked before the first one starts.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, Literal

import numpy as np
import torch

from ecsuite.corpus import Corpus
from ecsuite.eval.experiments.grids import (
    SWEEP,
    Range,
    Settings,
    StudySource,
    Values,
    at,
    combinations,
    mapping,
    read_values,
)
from ecsuite.eval.metrics import METRIC_OF, find_metric, require_files
from ecsuite.eval.metrics.score import Options, Score
from ecsuite.eval.results.sources import MEASURES
from ecsuite.formats.directory import LANGUAGES_KEY
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.config.sections import METRICS, Experiment, with_training
from ecsuite.games.plays.evaluation import joined
from ecsuite.games.plays.play import play_class
from ecsuite.games.runs.identity import check_data
from ecsuite.games.worlds.world import describe, make_world
from ecsuite.parts.config import Count, Seed, build
from ecsuite.parts.own_code import trust
from ecsuite.parts.registry import split_names
from ecsuite.runtime.devices import choose_device
from ecsuite.runtime.errors import ConfigError, shown, unknown_name
from ecsuite.runtime.ragged import Ragged
from ecsuite.tables.cells import value_text

MAX_CORNERS = 2_000
"""Maximum number of combinations of choices and bounds that are checked before the first trial."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchKeys:
    """The keys of `search`."""

    over: Any
    """Ranges and choices by `section.key`."""
    trials: Count
    """Number of combinations of settings to try, each with every seed."""
    maximise: str = ""
    """A score or a training measure whose mean over seeds is maximised."""
    minimise: str = ""
    """A score or a training measure whose mean over seeds is minimised."""
    method: Literal["tpe", "random"] = "tpe"
    """tpe: Optuna's tree-structured Parzen estimator; random: draws that ignore results."""
    prune: Literal["none", "median"] = "none"
    """median: end a run that is worse than the median of the runs of earlier trials."""
    at_once: Count = 4
    """Number of concurrent trials, on one or several machines."""
    seed: Seed = 0
    """Seed of the method."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchSettings:
    """A search in validated form."""

    over: Mapping[str, Values]
    """Ranges and choices by `section.key`."""
    objective: str
    """The score or measure to optimise."""
    is_maximised: bool
    """Whether higher is better."""
    header: SearchKeys
    """The keys as written."""

    @property
    def trials(self) -> int:
        """Number of trials."""
        return self.header.trials

    @property
    def is_measure(self) -> bool:
        """Whether the objective is a training measure, not a score."""
        return self.objective in MEASURES

    @property
    def intermediate(self) -> str:
        """The name of the objective in a training log."""
        return f"valid.{self.objective}" if self.is_measure else f"metrics.{self.objective}"

    def corners(self) -> list[Settings]:
        """All choices combined with all lower bounds, and with all upper bounds; the first `MAX_CORNERS` of them."""
        choices = {key: values for key, values in self.over.items() if isinstance(values, list)}
        ranges = {key: values.ends() for key, values in self.over.items() if isinstance(values, Range)}
        ends = [{key: pair[which] for key, pair in ranges.items()} for which in ((0, 1) if ranges else (0,))]
        found: list[Settings] = []
        for chosen in product(*choices.values()):
            found += [{**dict(zip(choices, chosen, strict=True)), **end} for end in ends]
            if len(found) >= MAX_CORNERS:
                break
        return found

    def with_objective(self, metrics: Sequence[str], source: str) -> tuple[str, ...]:
        """The metrics of the study, with the metric of the objective.

        Raises:
            ConfigError: If no metric has such a score.
        """
        names = [name.partition(",")[0].rpartition(":")[2] for name in metrics]
        if self.is_measure or self.objective in names:
            return tuple(metrics)
        try:
            find_metric(self.objective)
        except ConfigError:
            if self.objective in METRIC_OF:
                return tuple(metrics)  # the objective is one of the scores of a metric in `score`
            location = at(source, "search", "maximise" if self.is_maximised else "minimise")
            raise unknown_name(f"figure in {location}", self.objective, [*MEASURES, *METRIC_OF]) from None
        return (*metrics, self.objective)

    def require_intermediate(self, experiment: Experiment, source: str) -> None:
        """Check that the objective is measured during training, if runs are pruned.

        Raises:
            ConfigError: If it is measured only after training.
        """
        measured = experiment.evaluation.metrics
        if self.header.prune != "none" and not self.is_measure and self.objective not in measured:
            raise ConfigError(
                f"{at(source, 'search', 'prune')}: {self.objective} is not measured during training; "
                f"add set: {{{METRICS}: [{self.objective}]}}"
            )


def read_search(tree: Any, source: str) -> SearchSettings:
    """Read the key `search` of a study.

    Raises:
        ConfigError: If a key or a value is not valid.
    """
    location = at(source, "search")
    if not isinstance(tree, Mapping):
        raise ConfigError(f"{location}: expected keys such as over, trials and maximise, got {shown(tree)}")
    if tree.get("method") == "grid":
        raise ConfigError(f"{at(source, 'search', 'method')}: for a grid, use `vary` instead of search")
    missing = [key for key in ("over", "trials") if key not in tree]
    if missing:
        raise ConfigError(
            f"{location}: expected the key {missing[0]}, for example over: {{optimizer.lr: [1e-4, 1e-2, log]}}"
        )
    header: SearchKeys = build(SearchKeys, tree, location)
    if bool(header.maximise) == bool(header.minimise):
        raise ConfigError(f"{location}: expected one of maximise and minimise, such as maximise: topsim")
    where = at(source, "search", "over")
    over = read_values(header.over, where)
    if not over:
        raise ConfigError(f"{where}: expected at least one setting, such as optimizer.lr: [1e-4, 1e-2, log]")
    for key, values in over.items():
        if isinstance(values, list) and len(values) < 2:
            raise ConfigError(
                f"{where}: {key}: expected a range or several values, got one; a fixed value belongs in set"
            )
    return SearchSettings(
        over=over,
        objective=header.maximise or header.minimise,
        is_maximised=bool(header.maximise),
        header=header,
    )


NUM_MESSAGES = 24
"""Number of messages of the artificial language."""
NUM_ATTRIBUTES = 3
"""Maximum number of attributes of its meanings: the time of some metrics grows fast with their number."""


def require_scorable(experiments: Iterable[Experiment], metrics: Sequence[str], source: str) -> None:
    """Check that each metric can score the corpora of games.

    A metric cannot score a game if it is defined for messages about attributes, but undefined for the same messages
    about the objects of the game.

    Args:
        experiments: The games; only the first game with a given world and task is tried.
        metrics: Names of the metrics.
        source: Start of the error message.

    Raises:
        ConfigError: If a metric cannot score a game; the message has the reason.
    """
    experiments = list(experiments)
    for experiment in experiments:
        if not play_class(experiment).can_speak:
            of_agents = [name for name in metrics if find_metric(name).shared.needs_agents]
            if of_agents:
                raise ConfigError(
                    f"{source}: score: {of_agents[0]} asks senders and receivers, and play {experiment.play.kind} has "
                    "none"
                )
    experiments = [experiment for experiment in experiments if play_class(experiment).can_speak]
    if not experiments:
        return
    if "generalisation" in metrics and not any(
        getattr(each.world.options, "held_out", 1)
        or getattr(each.world.options, "held_out_value", None)
        or getattr(each.world.options, "objects", None)  # a table may have a column of the splits
        for each in experiments
    ):
        raise ConfigError(
            f"{source}: score: generalisation needs objects held out from training: set "
            "world.held_out=0.3 or similar"
        )
    if not all(LANGUAGES_KEY in each.evaluation.keep for each in experiments):
        for name in metrics:
            if find_metric(name).shared.of_languages:
                raise ConfigError(
                    f"{source}: score: {name} is of the languages over training: add set: "
                    f"{{evaluation.keep: [{LANGUAGES_KEY}]}}"
                )
    tried = [name for name in metrics if not find_metric(name).shared.is_asked_for]
    kinds = {(repr(each.world), repr(each.task)): each for each in reversed(experiments)}
    for experiment in kinds.values() if tried else ():
        about_objects, about_attributes = made_up(experiment)
        if _has_values_of_all_attributes(about_objects):
            continue
        for name in tried:
            scores = find_metric(name)(about_objects, Options())
            if _has_no_value(scores) and not _has_no_value(find_metric(name)(about_attributes, Options())):
                game = f"{experiment.name} (world {experiment.world.kind})"
                raise ConfigError(f"{source}: score: {name} has no value for {game}: {scores[0].reason}")


def made_up(experiment: Experiment) -> tuple[Corpus, Corpus]:
    """Generate messages about some objects of a game, and the same messages about combinations of attribute values."""
    check_data(experiment)
    world = make_world(with_training(experiment, batch_size=NUM_MESSAGES))
    batches = itertools.islice(world.corpus_batches(NUM_MESSAGES), 1)
    about = joined([world.describe(batch) for batch in batches])
    # Some metrics read as many symbols as there are attributes.
    meanings = about.meanings[:, :NUM_ATTRIBUTES]
    values = np.stack([np.unique(column, return_inverse=True)[1] for column in meanings.T], 1)
    first = 1 + np.cumsum([0, *values.max(0)[:-1] + 1])
    names = [[f"attribute{a}={v}" for v in range(count + 1)] for a, count in enumerate(values.max(0))]
    attributes = describe(values, names)
    of_attributes = Corpus(
        messages=Ragged.from_rows((values + first).tolist()),
        eos=None,
        meanings=attributes.meanings,
        concepts=attributes.concepts,
        concept_names=attributes.concept_names,
    )
    of_objects = replace(
        of_attributes,
        meanings=meanings,
        concepts=about.concepts,
        concept_names=about.concept_names,
        columns=about.columns,
    )
    return of_objects, of_attributes


def _has_values_of_all_attributes(corpus: Corpus) -> bool:
    """Whether meanings are values and each value is a concept, so that objects look like artificial attributes."""
    meanings, concepts = corpus.meanings, corpus.concepts
    if meanings is None or concepts is None or meanings.dtype.kind not in "iu":
        return False
    lengths = concepts.lengths
    return bool((meanings >= 0).all() and (lengths == lengths[0]).all() and lengths[0] >= meanings.shape[1])


def _has_no_value(scores: Sequence[Score]) -> bool:
    return bool(scores) and all(score.value is None for score in scores)


FIRST_SEED = 1
"""First seed if only the number of seeds is given."""
MAX_RUNS = 100_000
"""Maximum number of runs of a sweep."""
COLLECTION_KEY = "corpora"
"""Key of a study of existing corpora; see `ecsuite.eval.experiments.collection`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SweepKeys:
    """The keys of a sweep's YAML file."""

    name: str
    """Name of the sweep; by default its file name."""
    base: str = ""
    """Name of a shipped game, a YAML file, or a table of objects."""
    about: str = ""
    """One-line description."""
    set: Any = field(default_factory=dict)
    """Values by `section.key` for every run."""
    vary: Any = field(default_factory=dict)
    """Lists of values by `section.key`, in all combinations; or a list of such grids."""
    rows: Any = None
    """Games with a name, a base and settings, instead of `base` and `vary`."""
    published: str | None = None
    """Table of a paper with figures of the rows, matched by name: `table1` or `table3` of CBM."""
    zip: Any = field(default_factory=dict)
    """Lists of equal lengths by `section.key`, combined item by item; each row is combined with every grid."""
    random: Count | None = None
    """Number of combinations to draw at random, also from ranges; None: all combinations."""
    random_seed: Seed = 0
    """Seed of the random combinations."""
    search: Any = None
    """A search instead of `vary`, with the keys of `SearchKeys`."""
    seeds: Any = 1
    """Number of seeds (1, 2, …), or a list of seeds."""
    score: Any = ()
    """Metrics of every corpus: a list, or names separated by commas."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RowKeys:
    """The keys of an item of `rows`."""

    name: str = ""
    base: str = ""
    """Name of a shipped game, or a YAML file."""
    set: Any = field(default_factory=dict)
    """Settings that differ from the base, by `section.key`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Variant:
    """One combination of settings, which is trained with every seed."""

    settings: Settings
    """Values of the varied settings."""
    experiment: Experiment
    """The game; its seed is replaced by each seed of the sweep."""

    @property
    def name(self) -> str:
        """The settings in a line; the name of the game if no setting varies."""
        return (
            ", ".join(f"{key}={value_text(value)}" for key, value in self.settings.items())
            or self.experiment.name
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Base:
    """The base game of a sweep."""

    name: str
    """Name of a shipped game, a YAML file, or a table of objects."""
    set: Settings
    """Values for every run."""

    def variant(self, settings: Settings, location: str) -> Variant:
        """The game with some settings; `location` starts error messages.

        Raises:
            ConfigError: If there is no such game, or a setting is not valid.
        """
        try:
            experiment = load_experiment(self.name, changes={**self.set, **settings}, trust_code=False)
        except ConfigError as error:
            where = ", ".join(f"{key}={shown(value)}" for key, value in settings.items())
            raise ConfigError(f"{location} ({where or 'the base'}): {error}") from None
        return Variant(settings=settings, experiment=experiment)


@dataclass(frozen=True, kw_only=True, slots=True)
class SweepStudy:
    """Games that are trained, with their seeds and metrics."""

    name: str
    """Name of the sweep."""
    base: Base
    """The game, and the settings of every run."""
    variants: tuple[Variant, ...]
    """The combinations of settings; empty in a search."""
    search: SearchSettings | None
    """The search; None: `variants` are run."""
    seeds: tuple[int, ...]
    """Seeds of every combination."""
    metrics: tuple[str, ...]
    """Names of the metrics."""
    device: torch.device
    """Device on which the games are trained."""
    about: str = ""
    """One-line description."""
    published: str | None = None
    """Table of a paper with figures of the rows."""


def load_study(study: StudySource, *, device: str = "auto") -> SweepStudy:
    """Read a sweep, and validate each of its runs and metrics.

    Args:
        study: A shipped study such as `paper/xferbench_search`, a YAML file, or its content.
        device: auto, cpu, cuda or mps.

    Raises:
        ConfigError: If a key, a value or a combination is not valid; the message names the run.
    """
    tree, source = SWEEP.read(study)
    if tree.get("published") is not None:
        raise ConfigError(f"{at(source, 'published')}: not read by `ecsuite sweep`; read by `ecsuite cbm`")
    return read_study(tree, source, device=device)


def read_study(
    tree: Mapping[str, Any],
    source: str,
    *,
    device: str,
    rows: Sequence[str] = (),
    assignments: Sequence[str] = (),
    tries_metrics: bool = True,
) -> SweepStudy:
    """Validate the content of a study, each of its runs and its metrics.

    Args:
        tree: The content.
        source: Start of error messages.
        device: auto, cpu, cuda or mps.
        rows: Names of the selected rows; empty: all.
        assignments: `section.key=value` for the games of rows, applied after the settings of the study.
        tries_metrics: Whether metrics are tried on artificial messages about the objects of each game.

    Raises:
        ConfigError: If a key, a value or a combination is not valid; the message names the run.
    """
    if COLLECTION_KEY in tree:
        raise ConfigError(f"{source}: a study of corpora, not a sweep of a game: `ecsuite sweep` scores them")
    header: SweepKeys = build(SweepKeys, tree, source)
    if not header.base and header.rows is None:
        raise ConfigError(f"{source}: base: expected the name of a game or a YAML file")
    base = Base(name=header.base, set=mapping(header.set, at(source, "set")))
    seeds = study_seeds(header.seeds, source)
    metrics = metrics_of(header.score, source)
    instead = "search" if header.search is not None else "rows" if header.rows is not None else ""
    unread = ("vary", "zip", "random", *(("search", "base") if instead == "rows" else ()))
    if instead and (given := next((key for key in unread if getattr(header, key)), None)):
        others = (
            "the settings are in search.over" if instead == "search" else "each row has its own base and set"
        )
        raise ConfigError(f"{at(source, given)}: not allowed together with {instead}; {others}")
    variants: list[Variant] = []
    checked: list[Experiment] = []
    search = None
    if header.search is not None:
        search = read_search(header.search, source)
        metrics = search.with_objective(metrics, source)
        num_runs = search.trials * len(seeds)
        for number, settings in enumerate(corners := search.corners(), 1):
            made = base.variant(settings, f"{source}: search.over: {number} of {len(corners)} combinations")
            search.require_intermediate(made.experiment, source)
            checked.append(made.experiment)
    elif header.rows is not None:
        variants = _rows(header.rows, source, base.set, rows, assignments)
        num_runs = len(variants) * len(seeds)
    else:
        variants, num_runs = _grid_variants(header, base, source, len(seeds))
    if num_runs > MAX_RUNS:
        raise ConfigError(f"{source}: expected at most {MAX_RUNS:,} runs, got {num_runs:,}")
    if tries_metrics:
        require_scorable(checked + [variant.experiment for variant in variants], metrics, source)
    return SweepStudy(
        name=header.name,
        base=base,
        variants=tuple(variants),
        search=search,
        seeds=seeds,
        metrics=metrics,
        device=choose_device(device),
        about=header.about,
        published=header.published,
    )


def _grid_variants(header: SweepKeys, base: Base, source: str, num_seeds: int) -> tuple[list[Variant], int]:
    """Variants of `vary`, `zip` and `random`, and the number of runs; no variants if there are too many runs."""
    location, vary = at(source, "vary"), header.vary
    grids = (
        [(f"{location}[{n}]", grid) for n, grid in enumerate(vary)]
        if isinstance(vary, list)
        else [(location, vary)]
    )
    zipped = (at(source, "zip"), header.zip)
    chosen = combinations(grids, zipped, number=header.random, seed=header.random_seed)
    num_runs = len(chosen) * num_seeds
    variants = [
        base.variant(settings, f"{source}: setting {number} of {len(chosen)}")
        for number, settings in enumerate(chosen if num_runs <= MAX_RUNS else (), 1)
    ]
    seen: dict[str, Variant] = {}
    for variant in variants:
        # An alias and a setting may name the same value.
        same = seen.setdefault(repr(variant.experiment.to_tree()), variant)
        if same is not variant:
            raise ConfigError(f"{source}: {same.name} and {variant.name} are the same game")
    return variants, num_runs


def _rows(
    entries: Any, source: str, fixed: Settings, wanted: Sequence[str], assignments: Sequence[str]
) -> list[Variant]:
    """The selected rows of a study, named by the setting `row`; all rows are validated."""
    if not isinstance(entries, list) or not entries:
        raise ConfigError(f"{source}: rows: expected a list of games, each with a name and a base")
    variants: dict[str, Variant] = {}
    for number, entry in enumerate(entries):
        location = f"{source}: rows[{number}]"
        if not isinstance(entry, dict):
            raise ConfigError(f"{location}: expected keys and values, got {shown(entry)}")
        row: RowKeys = build(RowKeys, entry, location)
        if not row.name or not row.base or not row.name.replace("_", "").replace("-", "").isalnum():
            raise ConfigError(f"{location}: expected a name of letters, digits, _ and -, and a base")
        if not isinstance(row.set, dict):
            raise ConfigError(
                f"{location}: set: expected keys such as channel.max_len with values, got {shown(row.set)}"
            )
        if row.name in variants:
            raise ConfigError(f"{source}: rows: expected unique names, found {row.name} twice")
        is_wanted = not wanted or row.name in wanted  # the user's settings may be invalid for other rows
        changes = {**fixed, **row.set}
        try:
            experiment = load_experiment(row.base, assignments if is_wanted else [], changes=changes)
        except ConfigError as error:
            raise ConfigError(f"{location}: {error}") from None
        # The description of the base may be wrong for the settings of the row.
        experiment = replace(experiment, name=row.name, about="")
        variants[row.name] = Variant(settings={"row": row.name}, experiment=experiment)
    for name in wanted:
        if name not in variants:
            raise unknown_name("row", name, variants)
    return [variant for name, variant in variants.items() if not wanted or name in wanted]


def study_seeds(seeds: Any, source: str) -> tuple[int, ...]:
    """The seeds of a study, from their number or a list of different seeds; raises `ConfigError` otherwise."""
    listed = list(range(FIRST_SEED, FIRST_SEED + min(seeds, MAX_RUNS + 1))) if type(seeds) is int else seeds
    is_list = isinstance(listed, list) and all(type(seed) is int and 0 <= seed < 2**31 for seed in listed)
    if not is_list or not listed or len(set(listed)) < len(listed):
        raise ConfigError(
            f"{source}: seeds: expected a number of seeds, or a list of different seeds, got {shown(seeds)}"
        )
    return tuple(listed)


def metrics_of(names: Any, source: str) -> tuple[str, ...]:
    """The metrics that a study names, without repeats; raises `ConfigError` if one is unknown."""
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
