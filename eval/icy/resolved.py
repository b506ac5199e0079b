"""A study with all its defaults: everything that can change its results, checked before anything runs."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from ecsuite.agents.spec import Role
from ecsuite.eval.icy.channels import SupervisedChannel, parse_channel
from ecsuite.eval.icy.learners import try_agent
from ecsuite.eval.icy.models import parse_model
from ecsuite.eval.icy.protocol import Protocol
from ecsuite.eval.icy.published import GRAMMAR_METRICS
from ecsuite.eval.icy.study import FIRST_SEED, ProtocolName, StudyConfig
from ecsuite.eval.results.files import require_no_other
from ecsuite.files.atomic_files import check_output_file
from ecsuite.grammars.geometry import Geometry
from ecsuite.grammars.icy import canonical, parse
from ecsuite.grammars.words import draw_words
from ecsuite.parts.own_code import is_foreign
from ecsuite.runtime.devices import products_precision
from ecsuite.runtime.errors import ConfigError, look_up

BASIS = "concat"
"""The grammar to which the others are compared."""

ACQUISITION_GRAMMARS = ("perm", "proj", "rot", "shufdet", "hol")
GRAMMARS: dict[ProtocolName, tuple[str, ...]] = {
    "exact": ACQUISITION_GRAMMARS,
    "paper": ACQUISITION_GRAMMARS,
    "budget": (*ACQUISITION_GRAMMARS, "pairsum"),
    "end-to-end": ("concat", "perm", "rot", "shufdet", "pairsum"),
    "metrics": ("concat", *ACQUISITION_GRAMMARS),
}
"""By protocol, the columns of the paper's tables: 12 to 15, 16, 18 and 9."""
RECEIVER_BUDGET_GRAMMARS = ("perm", "proj", "rot", "shufdet", "shuf", "hol", "pairsum")
"""Those of Table 17. A sender cannot predict the word orders that SHUF draws (appendix H)."""
METRICS = ("topsim_hamming", "posdis", "bosdis", "hce", "residual_entropy", "tre7")
"""Those of figure 3."""

MOST_STEPS = 100_000
"""Most updates on CONCAT of `exact` and `paper`; where they are not enough, the study is given up."""
MOST_BUDGET_STEPS = MOST_PRETRAINING_STEPS = 20_000
"""Most updates on CONCAT of `budget`, unless it is set, and of pretraining."""
STEPS_END_TO_END = 1000
"""Default number of end-to-end updates; the paper's 10,000 take too long for a first run."""

FAST_FAMILIES = ("fc1l", "fc2l", "hashtable")
"""Families for which ten seeds take less time than two seeds of others."""
NUM_METRIC_SEEDS = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class Study:
    """A resolved study."""

    config: StudyConfig
    """What was asked."""
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
    """How runs are trained and measured; to the target."""
    basis_cap: int
    """Most updates on CONCAT."""
    cap: float
    """Most updates on others, as a multiple of those on CONCAT with the same seed."""
    max_steps: int
    """End-to-end updates."""
    corpora: Path | None = None
    """Folder for the messages of the trained senders for all meanings; None: they are not wanted."""

    @property
    def geometry(self) -> Geometry:
        """Sizes of the languages."""
        return self.config.geometry

    @property
    def role(self) -> Role:
        """Role of the models."""
        return self.config.role

    def pretraining_channel(self, link: SupervisedChannel) -> SupervisedChannel:
        """The channel over which agents are pretrained that are trained end to end over another, or the same."""
        return link if self.config.supervised == "same" else SupervisedChannel()


def resolve(config: StudyConfig, *, device: str = "cpu", corpora: Path | None = None) -> Study:
    """Resolve the defaults of a study.

    Args:
        config: What is asked.
        device: cpu, cuda or mps.
        corpora: See `Study`; only of senders, none of them a hashtable.

    Raises:
        ConfigError: If a metric or table is unknown, there are too few words for the values of an attribute, a
            hashtable is asked for what it cannot do, or corpora cannot be written.
    """
    protocol = config.protocol
    if corpora is not None and not config.can_save_corpora:
        raise ConfigError("--save-corpora: expected senders, and none of them a hashtable")
    if corpora is not None and corpora.is_file():
        raise ConfigError(f"--save-corpora {corpora}: expected a folder, got a file")
    if corpora is not None:
        check_output_file(corpora / "metadata.json")
        require_no_other(corpora, "corpora", "--save-corpora")
    is_pair = protocol == "end-to-end"
    models = tuple(str(parse_model(config.role, model)) for model in config.models)
    receivers = tuple(str(parse_model("receiver", receiver)) for receiver in config.receivers)
    for role, names in ((config.role, models), ("receiver", receivers)):
        for spec in (parse_model(role, name) for name in names):
            if is_foreign(spec.family):  # so that a mistake in it is told before the work
                try_agent(spec, role, config.geometry, config.hidden_size)
    channels = tuple(parse_channel(channel) for channel in config.channels or ("soft",))
    if "hashtable" in models and is_pair:
        raise ConfigError("hashtable has no weights to train end to end; name another sender")
    if "hashtable" in models and any(channel.channel != "soft" for channel in channels):
        raise ConfigError("hashtable has no logits for a channel; use --channel soft")
    if protocol == "metrics":
        _check_metrics(config)
    is_receiver_budget = protocol == "budget" and config.role == "receiver"
    default_grammars = RECEIVER_BUDGET_GRAMMARS if is_receiver_budget else GRAMMARS[protocol]
    grammars = tuple(canonical(grammar) for grammar in config.grammars or default_grammars)
    if protocol == "budget":
        grammars = tuple(grammar for grammar in grammars if grammar != BASIS)
    if protocol != "metrics" or any(parse(grammar)[0].name == BASIS for grammar in grammars):
        draw_words(config.geometry, np.random.default_rng(0))  # which checks that there are enough
    default_target = 0.8 if protocol in ("exact", "paper") else 0.99
    basis_caps = {"budget": config.max_steps or MOST_BUDGET_STEPS, "end-to-end": MOST_PRETRAINING_STEPS}
    return Study(
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
            target=default_target if config.target is None else config.target,
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
    """As many seeds as take about three minutes per model on two cores; one if even that takes longer."""
    families = {parse_model(config.role, model).family for model in config.models}
    if config.protocol == "metrics":
        count = NUM_METRIC_SEEDS
    elif config.protocol == "end-to-end":
        count = 1
    elif families <= set(FAST_FAMILIES) and config.role == "sender":
        count = 10
    else:
        count = 1 if "transformer" in families or config.role == "receiver" else 2
    return tuple(range(FIRST_SEED, FIRST_SEED + count))


def _check_metrics(config: StudyConfig) -> None:
    from ecsuite.eval.icy.measures import MEASURES

    for name in config.metrics:
        look_up("metric", name, MEASURES)
    if len(set(config.metrics)) < len(config.metrics):
        raise ConfigError(f"metrics: expected different names, got {', '.join(config.metrics)}")
    if config.published is not None:
        look_up("table", config.published, GRAMMAR_METRICS)
