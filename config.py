"""Experiment configs: one frozen dataclass tree, strict YAML, `key=value` overrides.

Every field has a line of documentation under it. A key that does not exist, a value of another type and a
name that is not known are errors that name the place and the remedy.
"""

import difflib
import types
import typing
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, is_dataclass, replace
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Literal, TypeVar

import yaml

Entry = TypeVar("Entry")

WORDS_OF_VALUES = ("quantized", "continuous")
"""Channels whose words are vectors of values, not entries of a vocabulary."""


class ConfigError(ValueError):
    """A config that can't be used: which key, what was expected, what was found."""


class DamagedError(RuntimeError):
    """Files of a run that can't be trusted any more."""


def unknown_name(kind: str, name: str, choices: Iterable[str]) -> ConfigError:
    """The error for a name that is not registered, with the nearest one and all choices.

    Args:
        kind: What the name stands for, such as `game`.
        name: What the user wrote.
        choices: The names that exist.
    """
    choices = list(choices)
    near = difflib.get_close_matches(name, choices, n=1, cutoff=0.5)
    hint = f"; did you mean '{near[0]}'?" if near else ";"
    return ConfigError(f"unknown {kind} '{name}'{hint} choices: {', '.join(choices)}")


def look_up(kind: str, name: str, registry: Mapping[str, Entry]) -> Entry:
    """What is registered under a name.

    Raises:
        ConfigError: If nothing is, with the nearest name and all choices.
    """
    if name not in registry:
        raise unknown_name(kind, name, registry)
    return registry[name]


@dataclass(frozen=True, kw_only=True, slots=True)
class WorldConfig:
    """Where meanings come from."""

    kind: str = "attributes"
    """attributes, thing, shape, shapeworld or features; see `ecsuite list`."""
    num_attributes: int = 4
    """Attributes of an object."""
    num_values: int = 4
    """Values of each attribute."""
    train_data: str | None = None
    """Text file of training examples instead of drawn ones (EGG's formats)."""
    valid_data: str | None = None
    """Text file of validation examples; goes with train_data."""
    features: str | None = None
    """features: the npz file, with `features` (rows, width) and, for the task concept, `class_id`; see the README."""
    rule_length: int = 1
    """thing, shape: feature-value pairs that a rule joins by `and`."""
    distractors: Literal["random", "hard"] = "random"
    """thing, shape: hard ones break exactly one pair of the rule, where there are such objects."""
    held_out: float = 0.1
    """thing, shape: share of the rules that training never uses; rules of one pair are never held out."""
    pool: int = 320
    """shape: images that the rounds of a batch share, because each image is encoded once."""
    images_per_world: int = 10
    """shapeworld: images of each colour and shape that a batch shares; in variant concept each agent has its own."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GameConfig:
    """What the receiver must do and how it is scored."""

    task: str = "discrimination"
    """discrimination: find the target. reconstruction: rebuild the object. concept: find all that obey a rule."""
    num_distractors: int = 5
    """Candidates that are no targets (not in reconstruction)."""
    num_targets: int = 1
    """Candidates that obey the rule (concept)."""
    variant: Literal["setref", "concept", "ref"] = "setref"
    """The receiver's targets. setref: the sender's. concept: others of the rule. ref: one alone, repeated, for both."""
    sender_sees: Literal["targets", "all"] = "targets"
    """Whether the sender sees counter-examples, too."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ChannelConfig:
    """How a sender's scores become symbols."""

    kind: str = "gumbel"
    """soft, gumbel, reinforce, quantized or continuous."""
    vocab_size: int = 5
    """Content symbols. EOS is not counted."""
    max_len: int = 10
    """Most content symbols in a message. EOS is not counted."""
    length: Literal["variable", "fixed"] = "variable"
    """variable: the sender may end a message early with EOS. fixed: max_len symbols and no EOS."""
    temperature: float = 1.0
    """Softmax temperature of the first epoch (soft, gumbel)."""
    temperature_decay: float = 1.0
    """Factor on the temperature after each epoch."""
    temperature_min: float = 0.1
    """The temperature never falls below this."""
    straight_through: bool = False
    """gumbel: one-hot symbols forward, relaxed gradient backward."""
    entropy_coefficient: float = 0.1
    """reinforce: weight of the entropy bonus."""
    word_size: int = 6
    """quantized, continuous: values in a word; it is a symbol of num_levels to the power word_size."""
    num_levels: int = 2
    """quantized, continuous: levels of a value."""
    normalize: Literal["sigmoid", "minmax"] = "sigmoid"
    """quantized, continuous: how scores become values from 0 to 1; minmax: within each word."""
    length_cost: float = 0.0
    """Cost of each symbol said, EOS included."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentConfig:
    """A sender or a receiver."""

    architecture: str = "gru"
    """Name of the architecture, see `ecsuite list`."""
    hidden_size: int = 256
    """Width of the recurrent state."""
    embedding_size: int = 32
    """Width of a symbol's embedding."""
    perception: str = "linear"
    """Sets of objects: how an object becomes a vector: linear, mlp, or, for images, conv…; see `ecsuite list`."""
    perception_size: int = 60
    """Sets of objects: width of that vector (not conv4)."""
    dropout: float = 0.0
    """Sets of objects: share of that vector's values that are left out in training."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingConfig:
    """How the agents learn."""

    seed: int = 1
    """Seed of the initial weights, the examples and the channel's noise."""
    num_examples: int = 32768
    """Distinct training examples; all are seen once an epoch, in a new order."""
    num_epochs: int = 10
    """Passes over the training examples."""
    batch_size: int = 1024
    """Examples a step."""
    lr: float = 0.001
    """Adam's learning rate."""
    lr_decay: Literal["none", "linear"] = "none"
    """linear: the rate falls to 0 over the steps of all epochs."""
    precision: Literal["auto", "bf16", "fp32"] = "auto"
    """Precision of products and activations; weights and Adam are fp32. auto: bf16 where the hardware has it."""
    evaluate_every: int = 32
    """Steps between evaluations."""
    checkpoint_every: int = 32
    """Steps between checkpoints: the most that a killed run loses."""
    until_accuracy: float | None = None
    """Stop once an evaluation reaches this accuracy (0 to 1)."""
    max_minutes: float | None = None
    """Stop after this many minutes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EvaluationConfig:
    """What is evaluated and written."""

    num_valid: int = 1024
    """Validation examples."""
    corpus_size: int = 10000
    """Messages in the corpus: one for each of so many distinct meanings, at most the whole space."""
    mode: Literal["greedy", "sample"] = "greedy"
    """greedy: the sender's likeliest symbols. sample: symbols drawn from its distribution."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Experiment:
    """One named experiment, complete: the same config, seed, version and thread count give the same bytes."""

    name: str
    """Names the run folder."""
    about: str = ""
    """One line for `ecsuite list`."""
    world: WorldConfig = field(default_factory=WorldConfig)
    game: GameConfig = field(default_factory=GameConfig)
    channel: ChannelConfig = field(default_factory=ChannelConfig)
    sender: AgentConfig = field(default_factory=AgentConfig)
    receiver: AgentConfig = field(default_factory=lambda: AgentConfig(hidden_size=512))
    training: TrainingConfig = field(default_factory=TrainingConfig)
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)

    def __post_init__(self) -> None:
        """Refuse values that no run can use.

        Raises:
            ConfigError: With the key, the value and what it must be.
        """
        for key, value, at_least in (
            ("world.num_attributes", self.world.num_attributes, 1),
            ("world.num_values", self.world.num_values, 2),
            ("world.rule_length", self.world.rule_length, 1),
            ("world.pool", self.world.pool, 1),
            ("world.images_per_world", self.world.images_per_world, 1),
            ("game.num_distractors", self.game.num_distractors, 1),
            ("game.num_targets", self.game.num_targets, 1),
            ("channel.vocab_size", self.channel.vocab_size, 1),
            ("channel.max_len", self.channel.max_len, 1),
            ("channel.word_size", self.channel.word_size, 1),
            ("channel.num_levels", self.channel.num_levels, 2),
            ("sender.hidden_size", self.sender.hidden_size, 1),
            ("sender.embedding_size", self.sender.embedding_size, 1),
            ("receiver.hidden_size", self.receiver.hidden_size, 1),
            ("receiver.embedding_size", self.receiver.embedding_size, 1),
            ("sender.perception_size", self.sender.perception_size, 1),
            ("receiver.perception_size", self.receiver.perception_size, 1),
            ("training.seed", self.training.seed, 0),
            ("training.num_examples", self.training.num_examples, 1),
            ("training.num_epochs", self.training.num_epochs, 1),
            ("training.batch_size", self.training.batch_size, 1),
            ("training.evaluate_every", self.training.evaluate_every, 1),
            ("training.checkpoint_every", self.training.checkpoint_every, 1),
            ("evaluation.num_valid", self.evaluation.num_valid, 1),
            ("evaluation.corpus_size", self.evaluation.corpus_size, 1),
            ("channel.entropy_coefficient", self.channel.entropy_coefficient, 0),
            ("channel.length_cost", self.channel.length_cost, 0),
        ):
            if not value >= at_least:  # false for NaN, too
                raise ConfigError(f"{key}: expected at least {at_least}, got {value}")
            if value >= 2**63:
                raise ConfigError(f"{key}: expected less than 2^63, got {value}")
        for key, number in (
            ("channel.temperature", self.channel.temperature),
            ("channel.temperature_decay", self.channel.temperature_decay),
            ("channel.temperature_min", self.channel.temperature_min),
            ("training.lr", self.training.lr),
            ("training.until_accuracy", self.training.until_accuracy),
            ("training.max_minutes", self.training.max_minutes),
        ):
            if number is not None and not 0 < number < float("inf"):
                raise ConfigError(f"{key}: expected a number above 0, got {number}")
        if self.training.until_accuracy is not None and self.training.until_accuracy > 1:
            raise ConfigError(
                f"training.until_accuracy: expected at most 1, got {self.training.until_accuracy}"
            )
        for key, share in (
            ("world.held_out", self.world.held_out),
            ("sender.dropout", self.sender.dropout),
            ("receiver.dropout", self.receiver.dropout),
        ):
            if not 0 <= share < 1:
                raise ConfigError(f"{key}: expected a share from 0 to below 1, got {share}")
        if self.channel.kind in WORDS_OF_VALUES and self.channel.length != "fixed":
            raise ConfigError(
                f"channel.length: {self.channel.kind} words have no EOS; set channel.length=fixed"
            )
        if (self.world.train_data is None) != (self.world.valid_data is None):
            raise ConfigError("world.train_data and world.valid_data: give both files or none")

    def to_yaml(self) -> str:
        """The whole config, every key, in the order of this file."""
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
        ConfigError: If there is no such experiment or file, or a key or value is wrong.
    """
    tree = read_yaml(name_or_file, "game", shipped_configs())
    experiment: Experiment = build(Experiment, tree, name_or_file)
    return override(experiment, overrides)


def read_yaml(name_or_file: str, kind: str, shipped: Mapping[str, Traversable]) -> dict[str, Any]:
    """Read a shipped config by its name, or any YAML file; its name becomes the key `name` if it has none.

    Args:
        name_or_file: A name in `shipped`, or a path that ends in `.yaml` or `.yml`.
        kind: What the config is of, for messages.
        shipped: Where shipped ones are.

    Raises:
        ConfigError: If there is no such config or file, or it is not keys and values.
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
    return {"name": name, **tree}


def override(experiment: Experiment, assignments: Iterable[str]) -> Experiment:
    """Apply `section.key=value` assignments; later ones win.

    Raises:
        ConfigError: If an assignment has no `=`, or names a key that does not exist, or a value of another type.
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
    """The shipped configs in a folder of `configs/`, by name; the games are in none."""
    files = resources.files("ecsuite").joinpath("configs", folder).iterdir()
    named = {file.name.removesuffix(".yaml"): file for file in files if file.name.endswith(".yaml")}
    return dict(sorted(named.items()))


def build(kind: Any, tree: Mapping[str, Any], place: str, path: str = "") -> Any:
    """Make the dataclass `kind` from a mapping, checking every key and type on the way.

    Args:
        kind: The dataclass.
        tree: Its values by key; a section is a mapping, for a field that is a dataclass.
        place: Where the mapping is from, for messages.
        path: What leads to the mapping's keys, for messages.

    Raises:
        ConfigError: If a key is not known or a value is not of its type.
    """
    hints = typing.get_type_hints(kind)
    for key in tree:
        if key not in hints:
            raise ConfigError(
                f"{place}: {unknown_name('key', path + str(key), [path + known for known in hints])}"
            )
    values = {}
    for key, value in tree.items():
        hint = hints[key]
        if is_dataclass(hint):
            if not isinstance(value, Mapping):
                raise ConfigError(f"{place}: {path}{key}: expected a section with keys, got {value!r}")
            values[key] = build(hint, value, place, f"{path}{key}.")
        else:
            values[key] = _checked(value, hint, f"{place}: {path}{key}")
    try:
        return kind(**values)
    except ConfigError as error:
        raise ConfigError(f"{place}: {error}") from None


def _checked(value: Any, hint: Any, where: str) -> Any:
    """The value if it is of the type `hint`; where a float is meant, 3 and 1e-3 (to YAML a string) are welcome."""
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
