"""Experiment configs: a tree of frozen dataclasses, strict YAML, `key=value` overrides.

Every field is documented below it. An unknown key, a value of another type and an unknown name are errors; the
message names the key and the valid choices.
"""

import difflib
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

import yaml

from ecsuite.file_formats import without_format

Entry = TypeVar("Entry")

WORDS_OF_VALUES = ("quantized", "continuous")
"""Channels whose symbols (words) are vectors of values, not entries of a vocabulary."""


class ConfigError(ValueError):
    """A config that can't be used; the message names the key, the expected and the found value."""


class DamagedError(RuntimeError):
    """Damaged files of a run."""


class DivergedError(ArithmeticError):
    """Training whose loss, weights or evaluation is not finite.

    Args:
        message: What is not finite, and where.
        outcome: How far the training came, JSON-ready; None if nothing of it is kept.
    """

    def __init__(self, message: str, outcome: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.outcome = outcome


def unknown_name(kind: str, name: str, choices: Iterable[str]) -> ConfigError:
    """The error for an unknown name, with the most similar name and all choices.

    Args:
        kind: The kind of thing that is named, such as `game`.
        name: What the user wrote.
        choices: The names that exist.
    """
    choices = list(choices)
    similar = difflib.get_close_matches(name, choices, n=1, cutoff=0.5)
    hint = f"; did you mean '{similar[0]}'?" if similar else ";"
    return ConfigError(f"unknown {kind} '{name}'{hint} choices: {', '.join(choices)}")


def look_up(kind: str, name: str, registry: Mapping[str, Entry]) -> Entry:
    """The registry entry of a name.

    Raises:
        ConfigError: If the name is unknown; the message has the most similar name and all choices.
    """
    if name not in registry:
        raise unknown_name(kind, name, registry)
    return registry[name]


class Bound(NamedTuple):
    """A constraint on a number: its description and a predicate, which is False for NaN."""

    expected: str
    holds: Callable[[float], bool]


ABOVE_0 = Bound("a number above 0", lambda number: 0 < number < float("inf"))
AT_LEAST_0 = Bound("at least 0", lambda number: number >= 0)
AT_LEAST_1 = Bound("at least 1", lambda number: number >= 1)
BELOW_2_63 = Bound("less than 2^63", lambda number: number < 2**63)

Count = Annotated[int, AT_LEAST_1, BELOW_2_63]
Levels = Annotated[int, Bound("at least 2", lambda number: number >= 2), BELOW_2_63]
Positive = Annotated[float, ABOVE_0]
Share = Annotated[float, Bound("a share from 0 to below 1", lambda number: 0 <= number < 1)]
Weight = Annotated[float, AT_LEAST_0, BELOW_2_63]


@dataclass(frozen=True, kw_only=True, slots=True)
class WorldConfig:
    """The source of meanings."""

    kind: str = "attributes"
    """attributes, thing, shape, shapeworld or features; see `ecsuite list`."""
    num_attributes: Count = 4
    """Number of attributes of an object."""
    num_values: Levels = 4
    """Number of values of each attribute."""
    train_data: str | None = None
    """Text file of training examples, in EGG's formats; null: examples are drawn at random."""
    valid_data: str | None = None
    """Text file of validation examples; required with train_data."""
    features: str | None = None
    """features: the npz file, with `features` (rows, width) and, for the task concept, `class_id`; see the README."""
    rule_length: Count = 1
    """thing, shape: number of feature-value pairs that a rule joins by `and`."""
    distractors: Literal["random", "hard"] = "random"
    """thing, shape: hard distractors violate exactly one pair of the rule, where such objects exist."""
    held_out: Share = 0.1
    """thing, shape: share of the rules that are held out from training; rules of one pair are never held out."""
    pool: Count = 320
    """shape: number of images that the rounds of a batch share; each image is encoded once per batch."""
    images_per_world: Count = 10
    """shapeworld: images of each colour and shape that a batch shares, separate for each agent in variant concept."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GameConfig:
    """The receiver's task and how it is scored."""

    task: str = "discrimination"
    """discrimination: find the target. reconstruction: predict its attributes. concept: find all that fit a rule."""
    num_distractors: Count = 5
    """Number of candidates that are not targets (not in reconstruction)."""
    num_targets: Count = 1
    """Number of candidates that satisfy the rule (concept)."""
    variant: Literal["setref", "concept", "ref"] = "setref"
    """The receiver's targets. setref: the sender's. concept: others of the same rule. ref: one, repeated, for both."""
    sender_sees: Literal["targets", "all"] = "targets"
    """targets: the sender sees only the targets. all: it also sees counter-examples."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ChannelConfig:
    """How the sender's logits become symbols."""

    kind: str = "gumbel"
    """soft, gumbel, reinforce, quantized or continuous."""
    vocab_size: Count = 5
    """Number of content symbols. EOS is not counted."""
    max_len: Count = 10
    """Maximum number of content symbols per message. EOS is not counted."""
    length: Literal["variable", "fixed"] = "variable"
    """variable: the sender may end a message early with EOS. fixed: max_len symbols and no EOS."""
    temperature: Positive = 1.0
    """soft, gumbel: softmax temperature of the first epoch."""
    temperature_decay: Positive = 1.0
    """Factor on the temperature after each epoch."""
    temperature_min: Positive = 0.1
    """Lower bound of the temperature."""
    straight_through: bool = False
    """gumbel: one-hot symbols forward, relaxed gradient backward."""
    entropy_coefficient: Weight = 0.1
    """reinforce: weight of the entropy bonus."""
    word_size: Count = 6
    """quantized, continuous: values per word; there are num_levels to the power word_size different words."""
    num_levels: Levels = 2
    """quantized, continuous: number of levels of each value."""
    normalize: Literal["sigmoid", "minmax"] = "sigmoid"
    """quantized, continuous: how logits become values from 0 to 1; minmax: scaled within each word."""
    length_cost: Weight = 0.0
    """Cost added to the loss per symbol of the message, incl. EOS."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentConfig:
    """A sender or a receiver."""

    architecture: str = "gru"
    """Name of the architecture, see `ecsuite list`."""
    hidden_size: Count = 256
    """Width of the hidden state."""
    embedding_size: Count = 32
    """Width of a symbol's embedding."""
    perception: str = "linear"
    """Sets of objects: network that encodes an object: linear, mlp or, for images, conv*; see `ecsuite list`."""
    perception_size: Count = 60
    """Sets of objects: width of the encoded object (not conv4)."""
    dropout: Share = 0.0
    """Sets of objects: dropout rate in training, of the sender's prototype or of the receiver's encoded objects."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingConfig:
    """How the agents are trained."""

    seed: Annotated[int, AT_LEAST_0, BELOW_2_63] = 1
    """Seed of the initial weights, the examples and the channel's noise."""
    num_examples: Count = 32768
    """Number of distinct training examples; each is used once per epoch, in a new order."""
    num_epochs: Count = 10
    """Passes over the training examples."""
    batch_size: Count = 1024
    """Examples per step."""
    lr: Positive = 0.001
    """Learning rate of Adam."""
    lr_decay: Literal["none", "linear"] = "none"
    """linear: the learning rate decreases to 0 over the steps of lr_decay_epochs."""
    lr_decay_epochs: Annotated[int | None, AT_LEAST_1, BELOW_2_63] = None
    """linear: epochs until the learning rate reaches 0; null: num_epochs, which then cannot change on resuming."""
    precision: Literal["auto", "bf16", "fp32"] = "auto"
    """Precision of products and activations; weights and Adam are fp32. auto: bf16 where the hardware supports it."""
    evaluate_every: Count = 32
    """Steps between evaluations."""
    checkpoint_every: Count = 32
    """Steps between checkpoints; a killed run loses at most this many steps."""
    until_accuracy: Annotated[float | None, ABOVE_0, Bound("at most 1", lambda share: share <= 1)] = None
    """Stop once an evaluation reaches this accuracy (0 to 1)."""
    max_minutes: Annotated[float | None, ABOVE_0] = None
    """Stop after this many minutes."""

    def __post_init__(self) -> None:
        """Check the horizon of the learning rate.

        Raises:
            ConfigError: If nothing reads it, or it ends before the training does.
        """
        horizon = self.lr_decay_epochs
        if horizon is not None and self.lr_decay != "linear":
            raise ConfigError("training.lr_decay_epochs: read by training.lr_decay=linear only")
        if horizon is not None and horizon < self.num_epochs:
            raise ConfigError(
                f"training.lr_decay_epochs: expected at least training.num_epochs ({self.num_epochs}), got {horizon}: "
                "the learning rate is 0 from then on"
            )

    @property
    def num_decay_epochs(self) -> int | None:
        """Epochs until the learning rate reaches 0; None if it is constant."""
        return (self.lr_decay_epochs or self.num_epochs) if self.lr_decay == "linear" else None


@dataclass(frozen=True, kw_only=True, slots=True)
class EvaluationConfig:
    """Settings of the evaluation and of the corpus."""

    num_valid: Count = 1024
    """Number of validation examples."""
    corpus_size: Count = 10000
    """Messages in the corpus: one per distinct meaning, at most as many as there are meanings."""
    mode: Literal["greedy", "sample"] = "greedy"
    """greedy: the most likely symbols. sample: symbols sampled from the sender's distribution."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Experiment:
    """A complete, named experiment: the same config, seed, version and thread count give the same bytes."""

    name: str
    """Name of the experiment; part of the run folder's name."""
    about: str = ""
    """One-line description for `ecsuite list`."""
    world: WorldConfig = field(default_factory=WorldConfig)
    game: GameConfig = field(default_factory=GameConfig)
    channel: ChannelConfig = field(default_factory=ChannelConfig)
    sender: AgentConfig = field(default_factory=AgentConfig)
    receiver: AgentConfig = field(default_factory=lambda: AgentConfig(hidden_size=512))
    training: TrainingConfig = field(default_factory=TrainingConfig)
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)

    def __post_init__(self) -> None:
        """Check the values.

        Raises:
            ConfigError: If a value is not valid; the message has the key, the expected and the found value.
        """
        for entry in fields(self):
            if is_dataclass(section := getattr(self, entry.name)):
                _check_bounds(entry.name, section)
        if self.channel.kind in WORDS_OF_VALUES and self.channel.length != "fixed":
            raise ConfigError(
                f"channel.length: {self.channel.kind} words have no EOS; set channel.length=fixed"
            )
        if (self.world.train_data is None) != (self.world.valid_data is None):
            raise ConfigError("world.train_data and world.valid_data: give both files or none")

    def to_yaml(self) -> str:
        """The complete config with every key, in the order of this module."""
        return yaml.safe_dump(asdict(self), sort_keys=False, allow_unicode=True)


def named_configs() -> dict[str, str]:
    """Names of the shipped experiments and their descriptions."""
    return {name: load_experiment(name).about for name in shipped_configs()}


def load_experiment(name_or_file: str, overrides: Iterable[str] = ()) -> Experiment:
    """Read a shipped experiment by its name, or any YAML file.

    Args:
        name_or_file: `disc_small`, or a path that ends in `.yaml` or `.yml`.
        overrides: `section.key=value` each; the value is read as YAML.

    Raises:
        ConfigError: If there is no such experiment or file, or a key or value is not valid.
    """
    tree = read_yaml(name_or_file, "game", shipped_configs())
    experiment: Experiment = build(Experiment, tree, name_or_file)
    return override(experiment, overrides)


def read_yaml(name_or_file: str, kind: str, shipped: Mapping[str, Traversable]) -> dict[str, Any]:
    """Read a shipped config by its name, or any YAML file; its name becomes the key `name` if it has none.

    Args:
        name_or_file: A name in `shipped`, or a path that ends in `.yaml` or `.yml`.
        kind: The kind of config, for messages.
        shipped: The shipped configs by name.

    Raises:
        ConfigError: If there is no such config or file, or its top level is not a mapping.
        FormatError: If its optional key `format` has an unknown value.
    """
    if name_or_file.endswith((".yaml", ".yml")):
        name = Path(name_or_file).stem
        try:
            text = Path(name_or_file).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{name_or_file}: can't be read: {error}") from None
    else:
        name = name_or_file
        text = look_up(kind, name, shipped).read_text(encoding="utf-8")
    try:
        tree = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigError(f"{name_or_file}: not YAML: {' '.join(str(error).split())}") from None
    if not isinstance(tree, dict):
        raise ConfigError(f"{name_or_file}: expected keys and values, got {type(tree).__name__}")
    return {"name": name, **without_format("config", tree, name_or_file)}


def override(experiment: Experiment, assignments: Iterable[str]) -> Experiment:
    """Apply `section.key=value` assignments; later ones take precedence.

    Raises:
        ConfigError: If an assignment has no `=`, an unknown key, or a value of another type.
    """
    tree: dict[str, Any] = asdict(experiment)
    keys = [
        f"{section}.{key}" if key else section
        for section, value in tree.items()
        for key in (value if isinstance(value, dict) else [""])
    ]
    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        if not equals:
            raise ConfigError(f"--set {assignment}: expected key=value, such as channel.temperature=2")
        if key not in keys:
            raise unknown_name("key", key, keys)
        try:
            value = yaml.safe_load(text)
        except yaml.YAMLError:
            raise ConfigError(f"--set {key}: {text!r} is not a YAML value") from None
        section, _, leaf = key.partition(".")
        if leaf:
            tree[section][leaf] = value
        else:
            tree[section] = value
    built: Experiment = build(Experiment, tree, "--set", "")
    return built


def with_training(experiment: Experiment, **changes: object) -> Experiment:
    """The experiment with some of its training settings replaced."""
    return replace(experiment, training=replace(experiment.training, **changes))  # type: ignore[arg-type]


def shipped_configs(folder: str = "") -> dict[str, Traversable]:
    """The shipped configs in a subfolder of `configs/`, by name; those of games are in `configs/` itself."""
    files = resources.files("ecsuite").joinpath("configs", folder).iterdir()
    named = {file.name.removesuffix(".yaml"): file for file in files if file.name.endswith(".yaml")}
    return dict(sorted(named.items()))


def build(kind: Any, tree: Mapping[str, Any], source: str, path: str = "") -> Any:
    """Build the dataclass `kind` from a mapping and check every key and type.

    Args:
        kind: The dataclass.
        tree: Its values by key; a section is a mapping, for a field that is a dataclass.
        source: Source of the mapping, for messages.
        path: Prefix of the mapping's keys, for messages.

    Raises:
        ConfigError: If a key is unknown or a value has another type.
    """
    hints = typing.get_type_hints(kind)
    for key in tree:
        if key not in hints:
            raise ConfigError(
                f"{source}: {unknown_name('key', path + str(key), [path + known for known in hints])}"
            )
    values = {}
    for key, value in tree.items():
        hint = hints[key]
        if is_dataclass(hint):
            if not isinstance(value, Mapping):
                raise ConfigError(f"{source}: {path}{key}: expected a section with keys, got {value!r}")
            values[key] = build(hint, value, source, f"{path}{key}.")
        else:
            values[key] = _checked(value, hint, f"{source}: {path}{key}")
    try:
        return kind(**values)
    except ConfigError as error:
        raise ConfigError(f"{source}: {error}") from None


def _check_bounds(section: str, settings: Any) -> None:
    """Raise `ConfigError` for a number outside the bounds of its field; None is always valid."""
    for entry in fields(settings):
        value = getattr(settings, entry.name)
        for bound in getattr(entry.type, "__metadata__", ()):
            if value is not None and not bound.holds(value):
                raise ConfigError(f"{section}.{entry.name}: expected {bound.expected}, got {value}")


def _checked(value: Any, hint: Any, where: str) -> Any:
    """Check that a value has the type `hint`; floats may be written as 3 or 1e-3, which YAML reads as a string."""
    if typing.get_origin(hint) is Literal:
        choices = [str(choice) for choice in typing.get_args(hint)]
        if value not in choices:
            raise ConfigError(f"{where}: {unknown_name('value', str(value), choices)}")
        return value
    if typing.get_origin(hint) is tuple:
        if not isinstance(value, list | tuple):
            raise ConfigError(f"{where}: expected a list, got {value!r}")
        return tuple(_checked(entry, typing.get_args(hint)[0], where) for entry in value)
    allowed = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    if float in allowed and isinstance(value, int | str) and not isinstance(value, bool):
        with suppress(ValueError, OverflowError):
            return float(value)
    if type(value) in allowed:
        return value
    names = " or ".join("null" if kind is type(None) else kind.__name__ for kind in allowed)
    raise ConfigError(f"{where}: expected {names}, got {value!r}")
