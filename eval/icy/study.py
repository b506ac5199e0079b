"""Config of a study: models, grammars, seeds and protocol; `resolved.resolve` gives it its defaults."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

from ecsuite.eval.experiments.grids import ICY, StudySource
from ecsuite.eval.icy.channels import parse_channel
from ecsuite.eval.icy.models import parse_model
from ecsuite.eval.icy.published import ACQUISITION
from ecsuite.grammars.geometry import Geometry
from ecsuite.grammars.icy import parse as parse_grammar
from ecsuite.parts.config import build, checked, refuse_unread, unread
from ecsuite.runtime.errors import ConfigError, look_up

ProtocolName = Literal["exact", "paper", "budget", "end-to-end", "metrics"]

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
"""By protocol, the settings that it reads and not every protocol does."""


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
    """Grammars to learn besides CONCAT; none: those of the paper's tables."""
    seeds: tuple[int, ...] = ()
    """Seeds of languages, weights and batches; none: as many as take about three minutes on two cores."""
    target: float | None = None
    """Accuracy that counts as acquired; none: 0.8, in `budget` and `end-to-end` 0.99."""
    cap_ratio: float = 20.0
    """Maximum number of updates of a run, as a multiple of CONCAT's updates."""
    max_steps: int | None = None
    """Maximum updates of CONCAT in `budget` (none: 20,000); end-to-end updates in `end-to-end` (none: 1000)."""
    supervised: Literal["soft", "same"] = "soft"
    """Pretraining channel of `end-to-end`: soft, or the same as in end-to-end training."""
    clip: float | None = None
    """Maximum norm of a gradient; none: no clipping. The paper says 5.0; its program does not clip."""
    held_out: float = 0.0
    """Fraction of meanings that are held out from training and evaluated at the end."""
    precision: Literal["fp32", "tf32", "bf16"] = "fp32"
    """bf16: factors of matrix products may be rounded; to what, depends on the device. tf32: on CUDA only."""
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
        names = [field.name for field in fields(self) if getattr(self, field.name) != field.default]
        refuse_unread(f"protocol {self.protocol}", [self.protocol], {name: name for name in names}, READS)
        if not self.models and self.protocol != "metrics":
            raise ConfigError("models: expected at least one, such as husendz:dgsend (--model)")
        models = [parse_model(self.role, model) for model in self.models]
        if self.protocol != "end-to-end":  # there, a sender may be paired with several receivers
            _refuse_repeats("models", self.models, models)
        agents = [*models, *(parse_model("receiver", receiver) for receiver in self.receivers)]
        for width in (self.hidden_size, *(int(dict(agent.options).get("hidden", 1)) for agent in agents)):
            if not 1 <= width <= MAX_WIDTH:
                raise ConfigError(f"hidden_size: expected 1 to {MAX_WIDTH:,}, got {width:,}")
        if self.protocol == "end-to-end" and len(self.receivers) not in (1, len(self.models)):
            raise ConfigError("end-to-end: expected one receiver, or one for each model (--receiver)")
        _refuse_repeats("channels", self.channels, [parse_channel(channel) for channel in self.channels])
        if self.protocol == "end-to-end":
            receivers = self.receivers * (len(self.models) if len(self.receivers) == 1 else 1)
            pairs = [
                f"{sender} with {receiver}" for sender, receiver in zip(self.models, receivers, strict=True)
            ]
            listening = [parse_model("receiver", receiver) for receiver in receivers]
            _refuse_repeats("models, receivers", pairs, list(zip(models, listening, strict=True)))
        _refuse_repeats("grammars", self.grammars, [parse_grammar(grammar) for grammar in self.grammars])
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


def load_study(
    study: StudySource, changes: Mapping[str, Any], options: Mapping[str, str] | None = None
) -> StudyConfig:
    """Read a shipped study (`paper/icy_table3`, or `icy_table3`) or a YAML file, and override some of its settings.

    If the changes have another protocol than the file, settings of the file that this one does not read are left out.

    Args:
        study: Name of a shipped study, YAML file, or content; None: all settings have their defaults.
        changes: Values by key; None leaves a setting unchanged.
        options: How users write the keys of `changes`, such as `--cap`; None: as the keys.

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


def _refuse_repeats(key: str, names: Sequence[str], parsed: Sequence[object]) -> None:
    """Raise an error if two names have the same meaning."""
    for name, value in zip(names, parsed, strict=True):
        if parsed.count(value) > 1:
            raise ConfigError(f"{key}: expected different names, got {name} twice")
