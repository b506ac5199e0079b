"""Studies: models, grammars, seeds and protocol as users give them, and with all defaults (`resolve`)."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from ecsuite.agents.spec import Role
from ecsuite.eval.experiments.grids import ICY, StudySource
from ecsuite.eval.icy.agents import BASELINES, parse_model, try_agent
from ecsuite.eval.icy.channels import SupervisedChannel, parse_channel
from ecsuite.eval.icy.protocol import ACQUISITION, ACQUISITION_GRAMMARS, GRAMMAR_METRICS, TARGETS, Protocol
from ecsuite.eval.results.files import require_no_other
from ecsuite.files.atomic_files import check_output_file
from ecsuite.games.runs.run_folder import RunFolder
from ecsuite.grammars.geometry import Geometry
from ecsuite.grammars.icy import canonical, parse
from ecsuite.grammars.words import draw_words
from ecsuite.parts.config import build, checked, refuse_unread, unread
from ecsuite.parts.own_code import is_foreign
from ecsuite.runtime.devices import products_precision
from ecsuite.runtime.errors import ConfigError, look_up

ProtocolName = Literal["exact", "paper", "budget", "end-to-end", "metrics"]

JobName = tuple[str | int, ...]
"""Name of a job in the plan of a study."""

FIRST_SEED = 123
"""First seed if only a number of seeds is given, as in the paper."""

MAX_WIDTH = 16_384
"""Maximum hidden size: agents and their gradients are held in memory."""

_TRAINING = ("models", "target", "clip", "held_out", "precision", "hidden_size")
_ACQUISITION = (*_TRAINING, "role", "cap_ratio", "early_stop", "published")
READS = {
    "exact": _ACQUISITION,
    "paper": _ACQUISITION,
    "budget": (*_TRAINING, "role", "channels", "max_steps"),
    "end-to-end": (*_TRAINING, "receivers", "channels", "cap_ratio", "max_steps", "supervised"),
    "metrics": ("metrics", "published"),
}
"""Settings that a protocol reads, in addition to the settings that all protocols read."""
BASIS = "concat"
"""The grammar with which the others are compared."""

GRAMMARS: dict[ProtocolName, tuple[str, ...]] = {
    "exact": ACQUISITION_GRAMMARS,
    "paper": ACQUISITION_GRAMMARS,
    "budget": (*ACQUISITION_GRAMMARS, "pairsum"),
    "end-to-end": ("concat", "perm", "rot", "shufdet", "pairsum"),
    "metrics": ("concat", *ACQUISITION_GRAMMARS),
}
"""Default grammars by protocol: the columns of the paper's tables 12 to 15, 16, 18 and 9."""
RECEIVER_BUDGET_GRAMMARS = ("perm", "proj", "rot", "shufdet", "shuf", "hol", "pairsum")
"""Grammars of Table 17. A sender cannot predict the word orders that SHUF draws (appendix H)."""
METRICS = ("topsim_hamming", "posdis", "bosdis", "hce", "residual_entropy", "tre7")
"""Default metrics: the metrics of figure 3."""

MOST_STEPS = 100_000
"""Maximum updates on CONCAT in `exact` and `paper`; if they are not enough, the study ends with an error."""
MOST_BUDGET_STEPS = MOST_PRETRAINING_STEPS = 20_000
"""Maximum updates on CONCAT in `budget`, unless it is set, and in pretraining."""
STEPS_END_TO_END = 1000
"""Default number of end-to-end updates; the paper's 10,000 take too long for a first run."""

FAST_FAMILIES: dict[Role, tuple[str, ...]] = {
    "sender": ("fc1l", "fc2l", "hashtable"),
    "receiver": ("hashtable",),
}
"""Families for which ten seeds take less time than two seeds of other families."""
NUM_METRIC_SEEDS = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class StudyConfig:
    """All settings of a study; the keys of its YAML file."""

    name: str = "icy"
    about: str = ""
    """Description, one line."""
    protocol: ProtocolName = "exact"
    """See `PROTOCOLS`."""
    role: Literal["sender", "receiver"] = "sender"
    """Role of the models."""
    models: tuple[str, ...] = ()
    """Names and options of the models; in `end-to-end` the senders."""
    receivers: tuple[str, ...] = ()
    """The receivers of `end-to-end`, one for each sender or one for all."""
    channels: tuple[str, ...] = ()
    """Training channels of `budget` and `end-to-end`: soft, gumbel, reinforce; none: soft."""
    grammars: tuple[str, ...] = ()
    """Grammars to learn in addition to CONCAT; none: the grammars of the paper's tables."""
    seeds: tuple[int, ...] = ()
    """Seeds of languages, weights and batches; none: the number that takes about three minutes on two cores."""
    target: float | None = None
    """Accuracy that counts as acquired; none: 0.8, in `budget` and `end-to-end` 0.99."""
    cap_ratio: float = 20.0
    """Maximum number of updates of a run, as a multiple of CONCAT's updates."""
    max_steps: int | None = None
    """Maximum updates of CONCAT in `budget` (none: 20,000); end-to-end updates in `end-to-end` (none: 1000)."""
    supervised: Literal["soft", "same", "none"] = "soft"
    """Pretraining channel of `end-to-end`: soft, or the same as in end-to-end training; none: from scratch."""
    clip: float | None = None
    """Maximum norm of a gradient; none: no clipping. The paper says 5.0; its program does not clip."""
    held_out: float = 0.0
    """Fraction of meanings that are held out from training and evaluated at the end."""
    precision: Literal["fp32", "tf32", "bf16"] = "fp32"
    """bf16: factors of matrix products may be rounded; the rounding depends on the device. tf32: on CUDA only."""
    early_stop: bool = False
    """Stop a run after a quarter of its cap if it is less than a quarter of the way from floor to target."""
    hidden_size: int = 128
    """Size of hidden states and embeddings, unless a model sets its own."""
    num_attributes: int = 5
    """Number of attributes of a meaning."""
    num_values: int = 10
    """Number of values of an attribute."""
    word_length: int = 4
    """Number of symbols of a word."""
    vocab_size: int = 4
    """Number of content symbols."""
    metrics: tuple[str, ...] = ()
    """Metrics of protocol `metrics`; none: all of figure 3."""
    published: str | None = None
    """The paper's table to show for comparison, such as `table12`."""

    def __post_init__(self) -> None:
        """Reject invalid settings before any training.

        Raises:
            ConfigError: If a setting is invalid, or not read by the protocol.
        """
        is_pair = self.protocol == "end-to-end"
        names = [field.name for field in fields(self) if getattr(self, field.name) != field.default]
        refuse_unread(f"protocol {self.protocol}", [self.protocol], {name: name for name in names}, READS)
        if not self.models and self.protocol != "metrics":
            raise ConfigError("models: expected at least one, such as husendz:dgsend (--model)")
        models = [parse_model(self.role, model) for model in self.models]
        receivers = [parse_model("receiver", receiver) for receiver in self.receivers]
        if not is_pair:  # otherwise a sender may be paired with several receivers
            _refuse_repeats("models", self.models, models)
        widths = [int(dict(agent.options).get("hidden", 1)) for agent in (*models, *receivers)]
        for width in (self.hidden_size, *widths):
            if not 1 <= width <= MAX_WIDTH:
                raise ConfigError(f"hidden_size: expected 1 to {MAX_WIDTH:,}, got {width:,}")
        if is_pair and len(receivers) not in (1, len(models)):
            raise ConfigError("end-to-end: expected one receiver, or one for each model (--receiver)")
        _refuse_repeats("channels", self.channels, [parse_channel(channel) for channel in self.channels])
        if is_pair:
            repeats = len(models) if len(receivers) == 1 else 1
            names = [
                f"{sender} with {receiver}"
                for sender, receiver in zip(self.models, self.receivers * repeats, strict=True)
            ]
            pairs = list(zip(models, receivers * repeats, strict=True))
            _refuse_repeats("models, receivers", names, pairs)
        _refuse_repeats("grammars", self.grammars, [parse(grammar) for grammar in self.grammars])
        if self.target is not None and not 0 < self.target <= 1:
            raise ConfigError(f"target: expected an accuracy, more than 0 and at most 1, got {self.target:g}")
        if not 1 <= self.cap_ratio < math.inf:
            raise ConfigError(f"cap_ratio: expected 1 or more, got {self.cap_ratio:g}")
        if self.max_steps is not None and self.max_steps < 1:
            raise ConfigError(f"max_steps: expected 1 or more, got {self.max_steps}")
        if self.clip is not None and not 0 < self.clip < math.inf:
            raise ConfigError(f"clip: expected a number above 0, got {self.clip:g}")
        if not all(0 <= seed < 2**63 for seed in self.seeds) or len(set(self.seeds)) < len(self.seeds):
            raise ConfigError("seeds: expected different numbers from 0 to 2^63 - 1")
        if self.published is not None and self.protocol != "metrics":
            look_up("table", self.published, ACQUISITION)
        if not 0 <= self.held_out <= 0.9:
            raise ConfigError(f"held_out: expected a fraction from 0 to 0.9, got {self.held_out:g}")
        num_meanings = self.geometry.num_meanings
        if self.held_out and not 0 < round(self.held_out * num_meanings) < num_meanings:
            raise ConfigError(
                f"held_out: {self.held_out:g} of {num_meanings} meanings is none or all of them: change --held-out "
                "or raise --num-values"
            )

    @property
    def has_picture(self) -> bool:
        """Whether its report can be plotted."""
        return self.protocol != "end-to-end" or (len(self.models) == 1 and len(self.channels) <= 1)

    @property
    def can_save_corpora(self) -> bool:
        """Whether corpora of its trained senders can be saved: not of a hashtable, which has no parameters."""
        is_sender = self.role == "sender" and self.protocol in ("exact", "paper")
        return is_sender and all(parse_model("sender", model).family != "hashtable" for model in self.models)

    @property
    def geometry(self) -> Geometry:
        """Sizes of the languages."""
        return Geometry(
            num_attributes=self.num_attributes,
            num_values=self.num_values,
            word_length=self.word_length,
            vocab_size=self.vocab_size,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class IcyStudy:
    """A resolved study."""

    config: StudyConfig
    """Settings as the user gave them."""
    device: str
    """cpu, cuda or mps."""
    models: tuple[str, ...]
    """Canonical names; in `end-to-end` the senders."""
    receivers: tuple[str, ...]
    """In `end-to-end` the receiver of each sender."""
    channels: tuple[SupervisedChannel, ...]
    grammars: tuple[str, ...]
    """Canonical names of the columns, in `budget` without CONCAT."""
    seeds: tuple[int, ...]
    metrics: tuple[str, ...]
    """Names in `MEASURES`."""
    training: Protocol
    """Settings of the training and measurement of runs."""
    basis_cap: int
    """Maximum updates on CONCAT."""
    cap: float
    """Maximum updates on other grammars, as a multiple of the updates on CONCAT with the same seed."""
    max_steps: int
    """End-to-end updates."""
    corpora: Path | None = None
    """Folder for the messages of the trained senders for all meanings; None: they are not written."""

    @property
    def geometry(self) -> Geometry:
        """Sizes of the languages."""
        return self.config.geometry

    @property
    def role(self) -> Role:
        """Role of the models."""
        return self.config.role

    def pretraining_channel(self, link: SupervisedChannel) -> SupervisedChannel:
        """Pretraining channel of agents that are then trained end to end over `link`."""
        return link if self.config.supervised == "same" else SupervisedChannel()

    @property
    def pretraining(self) -> Protocol:
        """Pretraining of the agents of `end-to-end`; from scratch it ends before the first update."""
        if self.config.supervised != "none":
            return self.training
        return replace(self.training, target=0.0, window=1)


def load_study(
    study: StudySource, changes: Mapping[str, Any], options: Mapping[str, str] | None = None
) -> StudyConfig:
    """Read a shipped study (`paper/icy_table3`, or `icy_table3`) or a YAML file, and override some of its settings.

    If the changes select another protocol than the file, settings of the file that it does not read are left out.

    Args:
        study: Name of a shipped study, YAML file, or content; None: all settings have their defaults.
        changes: Values by key; None leaves a setting unchanged.
        options: Option by key of `changes`, such as `--cap`, for error messages; None: the keys themselves.

    Raises:
        ConfigError: If there is no such study, a key or value is wrong, or the protocol does not read a key.
    """
    tree, source = ICY.read(study)
    given = {key: value for key, value in changes.items() if value is not None}
    former, protocol = ((tree | layer).get("protocol", "exact") for layer in ({}, given))
    checked(protocol, ProtocolName, f"{source}: protocol")
    if protocol != former:
        left_out = unread(tree, [protocol], READS)
        tree = {key: value for key, value in tree.items() if key not in left_out}
    written = {key: f"{source}: {key}" for key in tree} | {
        key: (options or {}).get(key, key) for key in given
    }
    choice = f"{(options or {}).get('protocol', 'protocol')} {protocol}"
    refuse_unread(choice, [protocol], written, READS)
    return build(StudyConfig, tree | given, source)  # type: ignore[no-any-return]


def resolve(config: StudyConfig, *, device: str = "cpu", corpora: Path | None = None) -> IcyStudy:
    """Resolve the defaults of a study.

    Args:
        config: Settings as the user gave them.
        device: cpu, cuda or mps.
        corpora: See `IcyStudy`; only for senders that are not hashtables.

    Raises:
        ConfigError: If a metric or table is unknown, there are too few words for the values of an attribute, a
            lookup table cannot be trained in this protocol or channel, or corpora cannot be written.
    """
    protocol = config.protocol
    if corpora is not None:
        if not config.can_save_corpora:
            raise ConfigError("--save-corpora: expected protocol exact or paper, senders except hashtable")
        if corpora.is_file():
            raise ConfigError(f"--save-corpora {corpora}: expected a folder, got a file")
        check_output_file(RunFolder(corpora).metadata)
        require_no_other(corpora, "corpora", "--save-corpora")
    is_pair = protocol == "end-to-end"
    models = tuple(str(parse_model(config.role, model)) for model in config.models)
    receivers = tuple(str(parse_model("receiver", receiver)) for receiver in config.receivers)
    for role, names in ((config.role, models), ("receiver", receivers)):
        for spec in (parse_model(role, name) for name in names):
            if is_foreign(spec.family):  # a mistake in a user's file is reported before training
                try_agent(spec, role, config.geometry, config.hidden_size)
    channels = tuple(parse_channel(channel) for channel in config.channels or ("soft",))
    for role, names in ((config.role, models), ("receiver", receivers)):
        for table in (name for name in names if name in BASELINES[role]):
            if is_pair:
                raise ConfigError(f"{table} has no weights to train end to end; name another {role}")
            if any(channel.channel != "soft" for channel in channels):
                raise ConfigError(f"{table} has no logits for a channel; use --channel soft")
    if protocol == "metrics":
        from ecsuite.eval.icy.measures import MEASURES  # which imports scipy

        for name in config.metrics:
            look_up("metric", name, MEASURES)
        if len(set(config.metrics)) < len(config.metrics):
            raise ConfigError(f"metrics: expected different names, got {', '.join(config.metrics)}")
        if config.published is not None:
            look_up("table", config.published, GRAMMAR_METRICS)
    is_receiver_budget = protocol == "budget" and config.role == "receiver"
    default_grammars = RECEIVER_BUDGET_GRAMMARS if is_receiver_budget else GRAMMARS[protocol]
    grammars = tuple(canonical(grammar) for grammar in config.grammars or default_grammars)
    if protocol == "budget":
        grammars = tuple(grammar for grammar in grammars if grammar != BASIS)
    if protocol != "metrics" or any(parse(grammar)[0].name == BASIS for grammar in grammars):
        draw_words(config.geometry, np.random.default_rng(0))  # raises an error if there are too few
    basis_caps = {"budget": config.max_steps or MOST_BUDGET_STEPS, "end-to-end": MOST_PRETRAINING_STEPS}
    return IcyStudy(
        config=config,
        device=device,
        models=models,
        receivers=receivers * (len(models) if len(receivers) == 1 else 1),
        channels=channels,
        grammars=grammars,
        seeds=config.seeds or _default_seeds(config),
        metrics=config.metrics or METRICS,
        training=Protocol(
            name="paper" if protocol == "paper" else "exact",
            target=TARGETS[protocol] if config.target is None else config.target,
            clip=config.clip,
            held_out=config.held_out,
            precision=products_precision(config.precision, torch.device(device)),  # type: ignore[arg-type]
            early_stop=config.early_stop,
            hidden_size=config.hidden_size,
        ),
        basis_cap=basis_caps.get(protocol, MOST_STEPS),
        cap=1.0 if protocol == "budget" else float(config.cap_ratio),
        max_steps=config.max_steps or STEPS_END_TO_END,
        corpora=corpora,
    )


def _default_seeds(config: StudyConfig) -> tuple[int, ...]:
    """Seeds for about three minutes per model on two cores, at least one."""
    families = {parse_model(config.role, model).family for model in config.models}
    if config.protocol == "metrics":
        count = NUM_METRIC_SEEDS
    elif config.protocol == "end-to-end":
        count = 1
    elif families <= set(FAST_FAMILIES[config.role]):
        count = 10
    else:
        count = 1 if "transformer" in families or config.role == "receiver" else 2
    return tuple(range(FIRST_SEED, FIRST_SEED + count))


def _refuse_repeats(key: str, names: Sequence[str], parsed: Sequence[object]) -> None:
    """Raise an error if two names have the same meaning."""
    for name, value in zip(names, parsed, strict=True):
        if parsed.count(value) > 1:
            raise ConfigError(f"{key}: expected different names, got {name} twice")
