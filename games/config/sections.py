"""Sections of an experiment: the parts of a game with their options, training and evaluation."""

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Annotated, Any, Literal

from msgspec import Meta

import ecsuite.parts.own_code as own_code
from ecsuite.agents.options import NOTHING
from ecsuite.agents.registry import RECEIVERS, SENDERS
from ecsuite.games.config.registry import (
    CHANNELS,
    LOSSES,
    OPTIMIZERS,
    PLAYS,
    REASONINGS,
    SCHEDULES,
    TASKS,
    WORLDS,
)
from ecsuite.games.config.society import GenerationOptions, SocietyOptions
from ecsuite.parts.config import Accuracy, Count, Natural, Positive, Seed, require_folder_name
from ecsuite.parts.registry import (
    KIND,
    Part,
    Registry,
    all_options,
    keys_of,
    nested_registry,
    option_types,
    to_tree,
)
from ecsuite.parts.strict_yaml import as_yaml
from ecsuite.runtime.errors import ConfigError, unknown_name

Tree = dict[str, Any]
Role = Literal["sender", "receiver"]
ROLES: tuple[Role, Role] = ("sender", "receiver")
"""The agents of a game."""
NUM_KEPT = 2
"""Number of stored checkpoints: the newest, and the previous one in case the newest is damaged."""
KEPT = ("interactions", "probabilities", "languages")
"""Names of data that a run may store of its evaluations."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingOptions:
    """Options of training."""

    seed: Seed = 1
    """Seed of the initial weights, the examples and the channel's noise."""
    num_examples: Annotated[int, Meta(ge=1, le=2**48)] = 32768
    """Training examples per epoch, equal in all epochs, in a new order. In worlds thing, shape and
    shapeworld, rounds are drawn without end, and none is repeated."""
    num_epochs: Natural = 10
    """Passes over the training examples; 0: agents are taught a language (sender.taught) and do not play."""
    batch_size: Count = 1024
    """Examples per batch."""
    accumulate: Count = 1
    """Number of batches per step: weights change by the mean gradient."""
    precision: Literal["auto", "bf16", "tf32", "fp32"] = "auto"
    """Precision of products and activations; weights and Adam are fp32. auto: bf16 if the hardware supports it, but
    fp32 for small games on the CPU and in plays without bf16; tf32: fp32 products whose factors CUDA
    rounds to 10 bits of mantissa."""
    deterministic: bool = False
    """On CUDA, use only deterministic kernels, which may be slower; the CPU is always deterministic."""
    evaluate_every: Count = 32
    """Steps between evaluations."""
    checkpoint_every: Count = 32
    """Steps between checkpoints; a killed run loses at most this many steps."""
    until_accuracy: Accuracy | None = None
    """Stop once an evaluation reaches this accuracy (0 to 1)."""
    max_minutes: Positive | None = None
    """Stop after this many minutes."""
    keep_best: str | None = None
    """Corpus and measures are from the evaluation with the best value of this figure, such as accuracy, loss or
    metrics.topsim; with a minus, lower values are better; null: from the last state."""
    patience: Count | None = None
    """Stop after this number of evaluations without a better value of keep_best."""
    init_sender: str | None = None
    """Run folder with initial weights of senders; sender i gets the weights of sender i mod n of that run."""
    init_receiver: str | None = None
    """Run folder with initial weights of receivers; receiver i gets the weights of receiver i mod n of that run."""
    freeze_sender: bool = False
    """Senders are not trained, and not replaced at the end of a generation."""
    freeze_receiver: bool = False
    """Receivers are not trained, and not replaced at the end of a generation."""
    noise: bool = True
    """Whether the noise of the channel applies in training."""
    after_step: str | None = None
    """A user function, `./FILE.py:NAME`, that is called as `NAME(play, step, measures)` after each step, and may
    change the play; null: none."""

    def __post_init__(self) -> None:
        """Check that `patience` has a figure, an agent is trained, and `after_step` is a function.

        Raises:
            ConfigError: If not.
        """
        if self.patience is not None and self.keep_best is None:
            raise ConfigError(
                "patience: needs training.keep_best, the figure that it watches, such as accuracy"
            )
        if self.freeze_sender and self.freeze_receiver:
            raise ConfigError("freeze_receiver: both agents are frozen, so there is nothing to train")
        if self.after_step is not None and not own_code.is_foreign(self.after_step):
            raise ConfigError(
                f"after_step: expected a function of a file, such as ./mine.py:after_step, got {self.after_step}"
            )

    def init_of(self, role: Role) -> str | None:
        """Run with the initial weights of a role; None: random weights."""
        return self.init_sender if role == "sender" else self.init_receiver

    def is_frozen(self, role: Role) -> bool:
        """Whether the agents of a role are frozen."""
        return self.freeze_sender if role == "sender" else self.freeze_receiver


@dataclass(frozen=True, kw_only=True, slots=True)
class EvaluationOptions:
    """Settings of the evaluation and of the corpus."""

    num_valid: Count = 1024
    """Number of validation examples."""
    batch_size: Count | None = None
    """Examples per batch of evaluations and of the corpus; null: as in training."""
    corpus_size: Count = 10000
    """Number of messages in the corpus: one per distinct meaning, and at most the number of meanings."""
    mode: Literal["greedy", "sample"] = "greedy"
    """greedy: the most likely symbols. sample: symbols sampled from the sender's distribution."""
    metrics: tuple[str, ...] = ()
    """Metrics of the language at each evaluation, such as [topsim], without intervals and null."""
    metrics_corpus_size: Count = 500
    """Maximum number of messages for these metrics; their time grows with it."""
    noise: bool = False
    """Whether the noise of the channel applies in evaluations."""
    noise_objects: bool = False
    """Whether the final agents also play rounds about noise objects, images or vectors: a control."""
    keep: tuple[str, ...] = ()
    """interactions: observations, messages and answers of the last evaluation, in interactions.parquet;
    probabilities: also with the probabilities of the answers. languages: for each evaluation, the most likely messages
    of all speakers about the first metrics_corpus_size meanings, in languages.jsonl, for the metric drift."""

    def __post_init__(self) -> None:
        """Check the names in `keep`; `ConfigError` if one is unknown."""
        for name in self.keep:
            try:
                require_kept(name)
            except ConfigError as error:
                raise ConfigError(f"keep: {error}") from None

    @property
    def keeps_interactions(self) -> bool:
        """Whether the rounds of the last evaluation are stored."""
        return bool({*self.keep} - {"languages"})


def require_kept(name: str) -> None:
    """Raise `ConfigError` if a run can't store data of this name of its evaluation."""
    if name not in KEPT:
        raise unknown_name("name", name, KEPT)


SIGNALLING = Part("signalling", own_code.NoOptions())
"""Default play of an experiment."""
LITERAL = Part("literal", own_code.NoOptions())
"""Default reasoning: none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Experiment:
    """A complete, named experiment: the same config, seed, version and thread count give the same bytes."""

    name: str
    """Name of the experiment; part of the run folder's name."""
    about: str = ""
    """One-line description for `ecsuite list`."""
    play: Annotated[Part, PLAYS] = SIGNALLING
    """Kind of interaction between agents in a world."""
    world: Annotated[Part, WORLDS]
    """The source of meanings."""
    task: Annotated[Part, TASKS]
    """Task of the receiver, and its scoring."""
    channel: Annotated[Part, CHANNELS]
    """Conversion of the sender's logits to symbols."""
    sender: Annotated[Part, SENDERS]
    """Agent that sends messages."""
    receiver: Annotated[Part, RECEIVERS]
    """Agent that receives messages."""
    optimizer: Annotated[Part, OPTIMIZERS]
    """Update rule of the weights."""
    schedule: Annotated[Part, SCHEDULES]
    """Change of the learning rate over the steps."""
    loss: Annotated[Part, LOSSES]
    """Objective that training minimises."""
    reasoning: Annotated[Part, REASONINGS] = LITERAL
    """Interpretation of messages by receivers: directly by their networks, or by reasoning about alternatives."""
    society: SocietyOptions = field(default_factory=SocietyOptions)
    """Agents of the game, and their meetings."""
    generations: GenerationOptions = field(default_factory=GenerationOptions)
    """Replacement of agents, and learning of new agents before they play."""
    training: TrainingOptions = field(default_factory=TrainingOptions)
    """Options of training."""
    evaluation: EvaluationOptions = field(default_factory=EvaluationOptions)
    """Settings of the evaluation and of the corpus."""
    data: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of each data file, by the option of the world that names it, or `sender.perception.weights`; empty until
    a run has read them."""
    code: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of each file of foreign parts, by its path or module."""
    weights: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of initial weights from other runs, by role; empty until a run has read them."""

    def __post_init__(self) -> None:
        """Check that the name is valid in folder names; `ConfigError` if not."""
        require_folder_name(self.name, "name")

    def to_tree(self) -> Tree:
        """All settings, as in a YAML file."""
        tree: Tree = to_tree(self)
        for key in OF_SOCIETIES:
            if getattr(self, key) == OF_SOCIETIES[key]():
                del tree[key]
        if self.play == SIGNALLING:
            del tree["play"]
        if self.reasoning == LITERAL:
            del tree["reasoning"]
        if self.training.after_step is None:
            del tree["training"]["after_step"]
        for role in ROLES:
            if getattr(getattr(self, role).options, "taught", None) == NOTHING:
                del tree[role]["taught"]
        for key in unread_settings(self.play.kind):
            section, _, name = key.partition(".")
            (tree[section] if name else tree).pop(name or section, None)
        return {key: value for key, value in tree.items() if value or key not in CHECKSUMS}

    @property
    def is_society(self) -> bool:
        """Whether a role has several agents, or agents are replaced; otherwise two agents meet."""
        return any(getattr(self, key) != made() for key, made in OF_SOCIETIES.items())

    def to_yaml(self) -> str:
        """Complete config with every key, in the order of this module."""
        return as_yaml(self.to_tree())


PARTS: Mapping[str, Registry] = {
    name: registry for name, hint in option_types(Experiment).items() if (registry := nested_registry(hint))
}
"""Sections that name a part."""
OF_SOCIETIES: Mapping[str, type] = {"society": SocietyOptions, "generations": GenerationOptions}
"""Sections that the config of a single pair omits."""
OF_AGENTS = (
    ("training", "init_sender"),
    ("training", "init_receiver"),
    ("training", "freeze_sender"),
    ("training", "freeze_receiver"),
    ("training", "noise"),
    ("evaluation", "noise_objects"),
    ("evaluation", "keep"),
    ("evaluation", "noise"),
)
"""Options that are read only by plays of senders and receivers in a world."""
PLAIN: Mapping[str, type] = {**OF_SOCIETIES, "training": TrainingOptions, "evaluation": EvaluationOptions}
"""Sections of options without a part."""
TEXTS = ("name", "about")
"""Settings that are not sections."""
CHECKSUMS = ("data", own_code.CODE, "weights")
"""Sections that a run adds to its config: checksums of its data files, of user code, and of initial weights. """
METRICS = "evaluation.metrics"
"""Setting that names metrics."""
LISTS = (METRICS, "evaluation.keep")
"""Settings that are lists of names."""
DEFAULTS: Tree = {
    "play": {KIND: SIGNALLING.kind},
    "world": {KIND: "attributes"},
    "task": {KIND: "discrimination"},
    "channel": {KIND: "gumbel"},
    "sender": {KIND: "recurrent"},
    "receiver": {KIND: "recurrent"},
    "optimizer": {KIND: "adam"},
    "schedule": {KIND: "constant"},
    "loss": {KIND: "task"},
    "reasoning": {KIND: LITERAL.kind},
}
"""Bottom layer; the world adds the perceptions."""


def with_training(experiment: Experiment, **changes: object) -> Experiment:
    """Replace training settings of an experiment."""
    return replace(experiment, training=replace(experiment.training, **changes))  # type: ignore[arg-type]


def unread_settings(play: str) -> list[str]:
    """Sections of a config, and options of training and evaluation, that a kind of play does not read."""
    if play == SIGNALLING.kind:
        return []
    kind = PLAYS.load(play)
    read = {"play", "training", "evaluation", *kind.sections, *kind.options_read}
    options = (f"{section}.{name}" for section, name in OF_AGENTS)
    return [key for key in (*PARTS, *PLAIN, *options) if key not in read]


def foreign_parts(value: Any) -> Iterator[str]:
    """Iterate over the names of the foreign parts in a part, in options, or in an experiment."""
    if isinstance(value, Part):
        if own_code.is_foreign(value.kind):
            yield value.kind
        value = value.options
    if is_dataclass(value):
        for option in fields(value):
            yield from foreign_parts(getattr(value, option.name))


def all_keys() -> list[str]:
    """List all keys of a config: sections, and options of every kind; imports every class."""
    keys = list(TEXTS)
    for section, registry in PARTS.items():
        keys += [section, f"{section}.{KIND}", *(f"{section}.{option}" for option in all_options(registry))]
    for section, options in PLAIN.items():
        keys += [f"{section}.{option}" for option in option_types(options)]
    return keys


def unknown_key(key: str) -> ConfigError:
    """Make the error for an unknown key of a config."""
    keys = all_keys()
    if not difflib.get_close_matches(key, [each.rpartition(".")[2] for each in keys], n=1, cutoff=0.7):
        inner = [each for section, registry in PARTS.items() for each in keys_of(registry, section)]
        keys = [each for each in inner if each.endswith(f".{key}")] + keys
    return unknown_name("key", key, keys, command="ecsuite config GAME")
