"""A study: which models, grammars and seeds, by which protocol; one call measures it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from typing import Any, Literal

from ecsuite.agents.spec import parse_agent
from ecsuite.config import ConfigError, build, look_up, read_yaml, shipped_configs
from ecsuite.eval.icy.channels import parse_channel
from ecsuite.eval.icy.published_acquisition import ACQUISITION
from ecsuite.grammars.geometry import Geometry
from ecsuite.grammars.icy import parse as parse_grammar

FIRST_SEED = 123
"""Where seeds begin if only their number is given, as in the paper."""

MAX_WIDTH = 16_384
"""Widest agents: they and their gradients are kept in memory."""

PROTOCOLS = {
    "exact": "updates to the target, from the accuracy of every training batch (Tables 3 to 6, 12 to 15, 19)",
    "paper": "the same as the published program looks at it: one batch every 50 updates, rounded ratios",
    "budget": "accuracy after as many updates as CONCAT took (Tables 16, 17, 20)",
    "end-to-end": "how much of a grammar is left when sender and receiver train each other (Table 18, figure 7)",
    "metrics": "what the metrics of compositionality say of the grammars themselves (figure 3, Tables 9, 10)",
}
"""Protocols by the names that users write."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StudyConfig:
    """Everything that a study depends on; the keys of its YAML file."""

    name: str = "icy"
    about: str = ""
    """One line for people."""
    protocol: Literal["exact", "paper", "budget", "end-to-end", "metrics"] = "exact"
    """See `PROTOCOLS`."""
    role: Literal["sender", "receiver"] = "sender"
    """What the models are."""
    models: tuple[str, ...] = ()
    """Names and options; in `end-to-end` the senders."""
    receivers: tuple[str, ...] = ()
    """The receivers of `end-to-end`, one for each sender or one for all."""
    channels: tuple[str, ...] = ()
    """How scores become symbols in training, in `budget` and `end-to-end`: soft (if none), gumbel, reinforce."""
    grammars: tuple[str, ...] = ()
    """What to learn besides CONCAT; none: those of the paper's tables."""
    seeds: tuple[int, ...] = ()
    """Of languages, weights and batches; none: as many as take about three minutes on two cores."""
    target: float | None = None
    """Accuracy that counts as acquired; none: 0.8, in `budget` and `end-to-end` 0.99."""
    cap_ratio: float = 20.0
    """A run is given up at so many times CONCAT's updates."""
    max_steps: int | None = None
    """Most updates of CONCAT in `budget` (20 000 if not given); updates of `end-to-end` (1000 if not given)."""
    supervised: Literal["soft", "same"] = "soft"
    """Over which channel `end-to-end` teaches its agents first: soft, or the same that they then go on over."""
    clip: float | None = None
    """Largest norm of a gradient. The paper says 5.0; its program never clipped."""
    held_out: float = 0.0
    """Share of meanings that are kept from training and asked for at the end."""
    precision: Literal["fp32", "bf16"] = "fp32"
    """bf16: factors of products are rounded where the processor multiplies those faster."""
    early_verdict: bool = False
    """Give a run up at a quarter of its cap if it is less than a quarter of the way from floor to target."""
    hidden_size: int = 128
    """Width of states and embeddings, unless a model says."""
    num_attributes: int = 5
    """Attributes of a meaning."""
    num_values: int = 10
    """Values of an attribute."""
    word_length: int = 4
    """Symbols of a word."""
    vocab_size: int = 4
    """Content symbols."""
    metrics: tuple[str, ...] = ()
    """What to measure in `metrics`; none: all of figure 3."""
    published: str | None = None
    """The paper's table to print beside, such as `table12`."""

    def __post_init__(self) -> None:
        """Refuse what can't be measured, before anything is.

        Raises:
            ConfigError: With the key and what to change.
        """
        is_of_grammars = self.protocol == "metrics"
        if not self.models and not is_of_grammars:
            raise ConfigError("models: expected at least one, such as husendz:dgsend (--model)")
        if self.models and is_of_grammars:
            raise ConfigError(
                "models: --protocol metrics measures the grammars themselves; leave out --model"
            )
        if self.metrics and not is_of_grammars:
            raise ConfigError(f"metrics: they belong to --protocol metrics, not to {self.protocol}")
        models = [parse_agent(self.role, model) for model in self.models]
        if self.protocol != "end-to-end":  # there, a sender may meet several receivers
            _refuse_repeats("models", self.models, models)
        agents = [*models, *(parse_agent("receiver", receiver) for receiver in self.receivers)]
        for width in (self.hidden_size, *(int(dict(agent.options).get("hidden", 1)) for agent in agents)):
            if not 1 <= width <= MAX_WIDTH:
                raise ConfigError(f"hidden_size: expected 1 to {MAX_WIDTH:,}, got {width:,}")
        if self.protocol == "end-to-end":
            if len(self.receivers) not in (1, len(self.models)):
                raise ConfigError("end-to-end: expected one receiver, or one for each model (--receiver)")
            if self.role != "sender":
                raise ConfigError("end-to-end: models are the senders; leave out --role receiver")
        elif self.receivers:
            raise ConfigError(f"--receiver belongs to --protocol end-to-end, not to {self.protocol}")
        for channel in self.channels:
            parse_channel(channel)
        if set(self.channels) - {"soft"} and self.protocol not in ("budget", "end-to-end"):
            raise ConfigError(
                f"--channel {self.channels[0]} belongs to --protocol budget or end-to-end; {self.protocol} is soft"
            )
        _refuse_repeats("grammars", self.grammars, [parse_grammar(grammar) for grammar in self.grammars])
        if self.target is not None and not 0 < self.target <= 1:
            raise ConfigError(f"target: expected an accuracy, more than 0 and at most 1, got {self.target:g}")
        if not 1 <= self.cap_ratio < math.inf:
            raise ConfigError(f"cap_ratio: expected 1 or more, got {self.cap_ratio:g}")
        if self.max_steps is not None:
            if self.protocol not in ("budget", "end-to-end"):
                raise ConfigError(
                    f"--max-steps belongs to --protocol budget or end-to-end, not to {self.protocol}"
                )
            if self.max_steps < 1:
                raise ConfigError(f"max_steps: expected 1 or more, got {self.max_steps}")
        if self.clip is not None and not 0 < self.clip < math.inf:
            raise ConfigError(f"clip: expected a number above 0, got {self.clip:g}")
        if not all(0 <= seed < 2**63 for seed in self.seeds) or len(set(self.seeds)) < len(self.seeds):
            raise ConfigError("seeds: expected different numbers from 0 to 2^63 - 1")
        if self.published is not None and self.protocol in ("exact", "paper"):
            look_up("table", self.published, ACQUISITION)
        if not 0 <= self.held_out <= 0.9:
            raise ConfigError(f"held_out: expected a share from 0 to 0.9, got {self.held_out:g}")
        num_meanings = self.geometry.num_meanings
        if self.held_out and not 0 < round(self.held_out * num_meanings) < num_meanings:
            raise ConfigError(
                f"held_out: {self.held_out:g} of {num_meanings} meanings is none or all of them: change --held-out "
                "or raise --num-values"
            )

    @property
    def has_picture(self) -> bool:
        """Whether its report can be drawn."""
        one_pair = self.protocol == "end-to-end" and len(self.models) == 1 and len(self.channels) <= 1
        return self.protocol == "metrics" or one_pair

    @property
    def speaks(self) -> bool:
        """Whether its trained agents have something to say: a hashtable keeps nothing that could be trained."""
        is_sender = self.role == "sender" and self.protocol in ("exact", "paper")
        return is_sender and all(parse_agent("sender", model).family != "hashtable" for model in self.models)

    @property
    def geometry(self) -> Geometry:
        """The size of the languages."""
        return Geometry(
            num_attributes=self.num_attributes,
            num_values=self.num_values,
            word_length=self.word_length,
            vocab_size=self.vocab_size,
        )


def load_study(name_or_file: str | None, changes: Mapping[str, Any]) -> StudyConfig:
    """Read a shipped study (`paper/icy_table3`, or `icy_table3`) or a YAML file, and change it.

    Args:
        name_or_file: None begins from the defaults.
        changes: Values by key; those that are None change nothing.

    Raises:
        ConfigError: If there is no such study, or a key or value is wrong.
    """
    tree: dict[str, Any] = {}
    if name_or_file is not None:
        name = (
            name_or_file if name_or_file.endswith((".yaml", ".yml")) else name_or_file.removeprefix("paper/")
        )
        tree = read_yaml(name, "study", _shipped())
    given = {key: value for key, value in changes.items() if value is not None}
    return build(StudyConfig, tree | given, name_or_file or "ecsuite icy")  # type: ignore[no-any-return]


def named_studies() -> dict[str, str]:
    """The shipped studies, each with its line."""
    return {f"paper/{name}": load_study(name, {}).about for name in _shipped()}


def _shipped() -> dict[str, Traversable]:
    """The files of the shipped studies, by name; `configs/paper/` has other papers' studies, too."""
    return {name: file for name, file in shipped_configs("paper").items() if name.startswith("icy_")}


def _refuse_repeats(key: str, names: Sequence[str], meant: Sequence[object]) -> None:
    """Refuse two names that mean the same."""
    for name, meaning in zip(names, meant, strict=True):
        if meant.count(meaning) > 1:
            raise ConfigError(f"{key}: {name} stands there twice")
