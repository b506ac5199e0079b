"""Experiments: the parts of a game with their options, and how it is trained and evaluated; read from layers of YAML.

The layers, from the bottom: the defaults here, a shipped experiment or a YAML file, `--set` assignments, and flags.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml

import ecsuite.foreign as foreign
from ecsuite.agents.registry import RECEIVERS, SENDERS
from ecsuite.components import (
    KIND,
    Part,
    Registry,
    all_options,
    merge_section,
    nested_registry,
    option_types,
    read_options,
    read_part,
    to_tree,
)
from ecsuite.config import (
    Accuracy,
    ConfigError,
    Count,
    Positive,
    Seed,
    checked,
    line_of_key,
    parse_value,
    read_yaml,
    shipped_configs,
    shown,
    unknown_name,
)
from ecsuite.games.code_files import lies_in_run_folder, with_sources
from ecsuite.games.former_settings import from_format_1, present_name
from ecsuite.games.registry import CHANNELS, LOSSES, OPTIMIZERS, SCHEDULES, TASKS, WORLDS
from ecsuite.games.worlds import own_data

Tree = dict[str, Any]
Role = Literal["sender", "receiver"]
ROLES: tuple[Role, Role] = ("sender", "receiver")
"""The agents of a game."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingOptions:
    """How the agents are trained."""

    seed: Seed = 1
    """Seed of the initial weights, the examples and the channel's noise."""
    num_examples: Count = 32768
    """Number of distinct training examples; each is used once per epoch, in a new order."""
    num_epochs: Count = 10
    """Passes over the training examples."""
    batch_size: Count = 1024
    """Examples per step."""
    precision: Literal["auto", "bf16", "fp32"] = "auto"
    """Precision of products and activations; weights and Adam are fp32. auto: bf16 where the hardware supports it."""
    evaluate_every: Count = 32
    """Steps between evaluations."""
    checkpoint_every: Count = 32
    """Steps between checkpoints; a killed run loses at most this many steps."""
    until_accuracy: Accuracy | None = None
    """Stop once an evaluation reaches this accuracy (0 to 1)."""
    max_minutes: Positive | None = None
    """Stop after this many minutes."""
    keep_best: str | None = None
    """Corpus and measures are of the evaluation with the best value of this figure, such as accuracy, loss or
    metrics.topsim; of a figure after a minus, lower values are better; null: of the last state."""
    patience: Count | None = None
    """Stop after this many evaluations without a better value of the figure of keep_best."""
    init_sender: str | None = None
    """Run folder whose sender's weights the sender begins with; in `--set` also sender.init_from."""
    init_receiver: str | None = None
    """Run folder whose receiver's weights the receiver begins with; in `--set` also receiver.init_from."""
    freeze_sender: bool = False
    """The sender's weights stay as they are; in `--set` also sender.freeze."""
    freeze_receiver: bool = False
    """The receiver's weights stay as they are; in `--set` also receiver.freeze."""

    def __post_init__(self) -> None:
        """Check that there is something to watch and something to train.

        Raises:
            ConfigError: If there is not.
        """
        if self.patience is not None and self.keep_best is None:
            raise ConfigError(
                "patience: needs training.keep_best, the figure that it watches, such as accuracy"
            )
        if self.freeze_sender and self.freeze_receiver:
            raise ConfigError("freeze_receiver: both agents are frozen, so there is nothing to train")

    def init_of(self, role: Role) -> str | None:
        """The run whose weights an agent begins with; None: drawn at random."""
        return self.init_sender if role == "sender" else self.init_receiver


@dataclass(frozen=True, kw_only=True, slots=True)
class EvaluationOptions:
    """Settings of the evaluation and of the corpus."""

    num_valid: Count = 1024
    """Number of validation examples."""
    batch_size: Count | None = None
    """Examples per batch of evaluations and of the corpus; null: as in training."""
    corpus_size: Count = 10000
    """Messages in the corpus: one per distinct meaning, at most as many as there are meanings."""
    mode: Literal["greedy", "sample"] = "greedy"
    """greedy: the most likely symbols. sample: symbols sampled from the sender's distribution."""
    metrics: tuple[str, ...] = ()
    """Metrics of the language at each evaluation, such as [topsim], without intervals and chance levels."""
    metrics_corpus_size: Count = 500
    """Messages that these metrics are of, at most; their time grows with it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Experiment:
    """A complete, named experiment: the same config, seed, version and thread count give the same bytes."""

    name: str
    """Name of the experiment; part of the run folder's name."""
    about: str = ""
    """One-line description for `ecsuite list`."""
    world: Annotated[Part, WORLDS]
    """The source of meanings."""
    task: Annotated[Part, TASKS]
    """What the receiver must do, and how that is scored."""
    channel: Annotated[Part, CHANNELS]
    """How the sender's logits become symbols."""
    sender: Annotated[Part, SENDERS]
    """The agent that gives messages."""
    receiver: Annotated[Part, RECEIVERS]
    """The agent that gets messages."""
    optimizer: Annotated[Part, OPTIMIZERS]
    """How gradients change the weights."""
    schedule: Annotated[Part, SCHEDULES]
    """How the learning rate changes over the steps."""
    loss: Annotated[Part, LOSSES]
    """What training minimises."""
    training: TrainingOptions
    """How the agents are trained."""
    evaluation: EvaluationOptions
    """Settings of the evaluation and of the corpus."""
    data: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of each data file, by the option of the world that names it; empty until a run has read them."""
    code: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of each file of foreign parts, by its path or module."""
    weights: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of the weights that agents begin with, by agent; empty until a run has read them."""

    def to_tree(self) -> Tree:
        """Every setting as in a YAML file."""
        tree: Tree = to_tree(self)
        return {key: value for key, value in tree.items() if value or key not in CHECKSUMS}

    def to_yaml(self) -> str:
        """The complete config with every key, in the order of this module."""
        return yaml.safe_dump(self.to_tree(), sort_keys=False, allow_unicode=True)


PARTS: Mapping[str, Registry] = {
    name: registry for name, hint in option_types(Experiment).items() if (registry := nested_registry(hint))
}
"""The sections that name a part."""
PLAIN: Mapping[str, type] = {"training": TrainingOptions, "evaluation": EvaluationOptions}
"""The sections of options without a part."""
TEXTS = ("name", "about")
"""The settings that are no sections."""
DATA = "data"
"""The section that a run adds to its config: checksums of its data files."""
WEIGHTS = "weights"
"""The section that a run adds to its config: checksums of the weights that agents begin with."""
CHECKSUMS = (DATA, foreign.CODE, WEIGHTS)
METRICS = "evaluation.metrics"
"""The setting that names metrics."""
DEFAULTS: Tree = {
    "world": {KIND: "attributes"},
    "task": {KIND: "discrimination"},
    "channel": {KIND: "gumbel"},
    "sender": {KIND: "recurrent"},
    "receiver": {KIND: "recurrent"},
    "optimizer": {KIND: "adam"},
    "schedule": {KIND: "constant"},
    "loss": {KIND: "task"},
}
"""The bottom layer; the world adds the perceptions."""


def named_configs() -> dict[str, str]:
    """The descriptions of the shipped experiments by their names."""
    shipped = shipped_configs()
    return {name: read_yaml(name, "game", shipped).get("about", "") for name in shipped}


def ignore(_: str) -> None:
    """Take no note."""


def load_experiment(
    name_or_file: str,
    overrides: Iterable[str] = (),
    flags: Mapping[str, Any] | None = None,
    note: Callable[[str], None] = ignore,
    *,
    changes: Mapping[str, Any] | None = None,
    trust_code: bool = False,
    is_of_run: bool = False,
    flags_by_key: Mapping[str, str] | None = None,
) -> Experiment:
    """Read a shipped experiment by its name, or any YAML file; the foreign parts that it names are imported.

    Args:
        name_or_file: `disc_small`, a path that ends in `.yaml` or `.yml`, or own data: a table of objects
            (`objects.csv`, `objects.npz`), a folder of images, or a data set of Hugging Face (`hf:NAME`).
        overrides: `section.key=value` each; the value is read as YAML. Later ones take precedence.
        flags: Values by `section.key`, a layer above the overrides; None: not given.
        note: Called with a line about each setting of an older file that nothing reads now.
        changes: Values by `section.key`, a layer below the overrides.
        trust_code: Whether the foreign parts of a config that a run wrote are imported, too.
        is_of_run: Whether the file was not named by the user, but found in a run folder.
        flags_by_key: How the user wrote a flag, such as `--epochs`, by its `section.key`, for messages.

    Raises:
        ConfigError: If there is no such experiment or file, or a key or value is not valid.
        UntrustedError: If a run wrote the config, and it names foreign parts that nobody else named.
    """
    given = {key: value for key, value in (flags or {}).items() if value is not None}
    above = [
        ("set", settings_tree((changes or {}).items())),
        ("--set", assignments_tree(overrides)),
        *_flag_layers(given, flags_by_key or {}),
    ]
    foreign.trust(foreign.foreign_kinds(above))
    if name_or_file not in shipped_configs() and own_data.is_own_data(name_or_file):
        given["world.objects"] = name_or_file
        kind = own_data.kind_of(name_or_file)
        tree = {**read_yaml(kind, "game", shipped_configs()), "name": own_data.name_of(name_or_file)}
    else:
        tree = read_yaml(name_or_file, "game", shipped_configs())
    if is_of_run or foreign.CODE in tree or lies_in_run_folder(name_or_file):
        tree = with_sources(tree, Path(name_or_file).parent, note, trust_code=trust_code)
    else:
        foreign.trust(foreign.foreign_kinds(tree))
    file = _current(tree, name_or_file, note)
    if "world.train_data" in given:
        # The files have their own number of distractors, unless the user gives one.
        own_number = {"task": {"num_distractors": None}}
        file = _merged([DEFAULTS, file, own_number], name_or_file, drop=ignore)
        given = {"world.kind": "text", **given}
    if "world.objects" in given:
        given = {**_reader([file, *(tree for _, tree in above)], given["world.objects"]), **given}
    above[2:] = _flag_layers(given, flags_by_key or {})
    return _read([(name_or_file, file), *above])


def _reader(trees: list[Tree], source: str) -> dict[str, str]:
    """The setting of a world that reads a source of objects; empty if the trees name one that may."""
    kind = own_data.kind_of(source)
    worlds = [WORLDS.section(tree["world"], "world").get(KIND) for tree in trees if "world" in tree]
    named = next((world for world in reversed(worlds) if world), "")
    may_read = named in own_data.READERS[kind] or foreign.is_foreign(named)
    return {} if may_read else {"world.kind": kind}


def _flag_layers(given: Mapping[str, Any], flags_by_key: Mapping[str, str]) -> list[tuple[str, Tree]]:
    """A layer of each flag, named as the user wrote it."""
    return [
        (flags_by_key.get(key, "command line"), settings_tree([(key, value)])) for key, value in given.items()
    ]


def from_tree(tree: Mapping[str, Any], source: str) -> Experiment:
    """The experiment of a mapping, such as the config in the metadata of a corpus, in the present or a former form.

    Raises:
        ConfigError: If a key or value is not valid; the message begins with `source`.
    """
    return _read([(source, _current(tree, source, ignore))])


def override(experiment: Experiment, assignments: Iterable[str]) -> Experiment:
    """Apply `section.key=value` assignments; later ones take precedence.

    Raises:
        ConfigError: If an assignment has no `=`, an unknown key, or a value of another type.
    """
    return _with_layer(experiment, "--set", assignments_tree(assignments))


def with_changes(experiment: Experiment, changes: Mapping[str, Any]) -> Experiment:
    """Set values by `section.key`; an error is a `ConfigError`."""
    return _with_layer(experiment, "changes", settings_tree(changes.items()))


def _with_layer(experiment: Experiment, source: str, changes: Tree) -> Experiment:
    foreign.trust(foreign.foreign_kinds(changes))
    return _read([("experiment", experiment.to_tree()), (source, changes)])


def with_training(experiment: Experiment, **changes: object) -> Experiment:
    """The experiment with some of its training settings replaced."""
    return replace(experiment, training=replace(experiment.training, **changes))  # type: ignore[arg-type]


def assignments_tree(assignments: Iterable[str]) -> Tree:
    """The layer of `section.key=value` assignments; `ConfigError` if one has no `=`, or its value is not YAML."""
    settings: list[tuple[str, Any]] = []
    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        if not equals:
            raise ConfigError(f"--set {assignment}: expected key=value, such as channel.temperature=2")
        if key == METRICS and text[:1] != "[":
            settings.append((key, metric_names(text)))
            continue
        is_part = key in PARTS or key.rpartition(".")[2] in (KIND, "architecture", "perception")
        # A name may be followed by options, whose commas are not YAML's.
        settings.append((key, text if is_part and text[:1] != "{" else parse_value(text, f"--set {key}")))
    return settings_tree(settings)


def metric_names(text: str) -> list[str]:
    """The names in a list of metrics that are separated by commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def settings_tree(settings: Iterable[tuple[str, Any]]) -> Tree:
    """The layer of settings, each with its `section.key`; later ones take precedence."""
    tree: Tree = {}
    for key, value in settings:
        _set(tree, *present_name(key, value))
    return tree


def _set(tree: Tree, path: str, value: Any) -> None:
    """Set a value of a tree by its dotted path; a section that is given by its name becomes a mapping."""
    section, _, rest = path.partition(".")
    below = tree.get(section)
    if rest:
        if isinstance(below, Mapping):
            tree[section] = dict(below)
        else:
            tree[section] = {KIND: below} if section in tree else {}
        _set(tree[section], rest, value)
    elif isinstance(below, dict) and isinstance(value, str):
        tree[section] = {**below, KIND: value}
    else:
        tree[section] = value


def _current(tree: Mapping[str, Any], source: str, note: Callable[[str], None]) -> Tree:
    """A tree in the present form: settings by their present names, and without those of older files that nothing reads.

    A file with the section `game` is of format 1, whose settings belonged to all worlds, tasks and channels.
    """
    current: Tree = {}
    if "game" not in tree:
        for key, value in tree.items():
            if isinstance(value, Mapping) and key in {**PARTS, **PLAIN}:
                current.setdefault(key, {})
                for inner, each in value.items():
                    _set(current, *present_name(f"{key}.{inner}", each))
            else:
                current[key] = value
        return current
    for path, value in from_format_1(tree, source):
        _set(current, path, value)
    dropped: list[str] = []
    has_rows = current.get("world", {}).get(KIND, "attributes") in ("attributes", "text")
    bottom = DEFAULTS if has_rows else _with_perceptions("linear", "linear")
    merged = _merged([bottom, current], source, drop=dropped.append)
    if dropped:
        number = "a setting" if len(dropped) == 1 else f"{len(dropped)} settings"
        note(
            f"{source}: {number} of format 1 that this experiment does not read left out, such as {dropped[0]}"
        )
    return merged


def _with_perceptions(of_sender: str, of_receiver: str) -> Tree:
    """The bottom layer with the perceptions of a world."""
    kinds = {"sender": of_sender, "receiver": of_receiver}
    agents = {role: {**DEFAULTS[role], "perception": {KIND: kind}} for role, kind in kinds.items()}
    return {**DEFAULTS, **agents}


def _read(layers: list[tuple[str, Tree]]) -> Experiment:
    """Build the experiment of these layers, each with its source for messages, the lowest first."""
    world = DEFAULTS["world"]
    for source, tree in layers:
        if "world" in tree:
            with _named(source):
                world = merge_section(WORLDS, world, tree["world"], "world")
    merged = _with_perceptions(*WORLDS.load(world[KIND]).default_perceptions)
    for source, tree in layers:
        merged = _merged([merged, tree], source)
    with _located(layers):
        values: Tree = {key: read_part(registry, merged[key], key) for key, registry in PARTS.items()}
        values |= {key: read_options(kind, merged.get(key, {}), key) for key, kind in PLAIN.items()}
        values |= {key: checked(merged[key], str, key) for key in TEXTS if key in merged}
        data = checked(merged.get(DATA, {}), dict[str, str], DATA)
        weights = checked(merged.get(WEIGHTS, {}), dict[str, str], WEIGHTS)
    # A file that a later layer names has its own checksum.
    above = {option for _, tree in layers[1:] for option in tree.get("world", {})}
    values[DATA] = {option: data[option] for option in data if option not in above}
    newly_named = {option for _, tree in layers[1:] for option in tree.get("training", {})}
    values[WEIGHTS] = {role: weights[role] for role in weights if f"init_{role}" not in newly_named}
    kinds = {kind for key in PARTS for kind in foreign_parts(values[key])}
    kinds |= foreign.foreign_kinds(values["evaluation"].metrics)
    values[foreign.CODE] = {
        source: foreign.checksum(source) for source in sorted(map(foreign.source_of, kinds))
    }
    return Experiment(**values)


def foreign_parts(part: Part) -> Iterator[str]:
    """The names of the foreign parts in a part: its own, and those of its options."""
    if foreign.is_foreign(part.kind):
        yield part.kind
    for option in fields(part.options):
        if isinstance(inner := getattr(part.options, option.name), Part):
            yield from foreign_parts(inner)


def _merged(trees: list[Tree], source: str, drop: Callable[[str], None] | None = None) -> Tree:
    """Lay trees over one another, section by section; see `merge_section`."""
    merged: Tree = {}
    with _named(source):
        for key, value in (entry for tree in trees for entry in tree.items()):
            if key in PARTS:
                merged[key] = merge_section(PARTS[key], merged.get(key, {}), value, key, drop=drop)
            elif key in PLAIN:
                if not isinstance(value, Mapping):
                    raise ConfigError(f"{key}: expected a section with keys, got {shown(value)}")
                for inner in value:
                    if inner not in option_types(PLAIN[key]):
                        raise unknown_name("key", f"{key}.{inner}", all_keys(), command="ecsuite config GAME")
                merged[key] = {**merged.get(key, {}), **value}
            elif key in (*TEXTS, *CHECKSUMS):
                merged[key] = value
            else:
                raise unknown_name("key", str(key), all_keys(), command="ecsuite config GAME")
    return merged


@contextmanager
def _named(source: str) -> Iterator[None]:
    """Put the source before the message of a `ConfigError`."""
    try:
        yield
    except foreign.PartError:  # which names its own file
        raise
    except ConfigError as error:
        raise ConfigError(_with_source(source, str(error))) from None


@contextmanager
def _located(layers: Sequence[tuple[str, Tree]]) -> Iterator[None]:
    """Put before the message of a `ConfigError` the highest layer that has the key with which it begins."""
    try:
        yield
    except ConfigError as error:
        key = str(error).partition(":")[0]
        given = [source for source, tree in layers if tree]
        having = [source for source, tree in layers if _has(tree, key.split("."))]
        raise ConfigError(_with_source([layers[0][0], *given, *having][-1], str(error))) from None


def _has(tree: Any, path: Sequence[str]) -> bool:
    """Whether a layer sets a value, by itself or after the comma of a name."""
    if not isinstance(tree, Mapping):
        return not path or isinstance(tree, str)
    if not path or path[0] in tree:
        return not path or _has(tree[path[0]], path[1:])
    return "," in str(tree.get(KIND, ""))


def _with_source(source: str, message: str) -> str:
    """A message with its source: a file with the line of the key that it is about, or a flag, which says the key."""
    found = re.match(r"([\w.]+): |unknown key '([\w.]+)'", message)
    key = (found[1] or found[2]) if found else ""
    if source.startswith("--") and source != "--set" and found and found[1]:
        said = message.removeprefix(found[0])
        for sign, words in (
            (">= ", "at least "),
            ("<= ", "at most "),
            ("> ", "more than "),
            ("< ", "less than "),
        ):
            said = re.sub(f"^expected (int|float) {sign}", f"expected {words}", said)
        return f"{source}: {said}"
    line = line_of_key(source, key.split(".")) if key else None
    return f"{source}: {message}" if line is None else f"{source}:{line}: {message}"


def all_keys() -> list[str]:
    """Every key of a config: the sections, and the options of every kind; imports every class."""
    keys = list(TEXTS)
    for section, registry in PARTS.items():
        keys += [section, f"{section}.{KIND}", *(f"{section}.{option}" for option in all_options(registry))]
    for section, options in PLAIN.items():
        keys += [f"{section}.{option}" for option in option_types(options)]
    return keys
