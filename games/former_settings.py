"""Former names of settings: aliases in YAML, `--set` and flags, and experiments written in format 1.

In format 1 every setting stood in one tree, whether a kind read it or not, and the task's settings in the section
`game`.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from ecsuite.runtime.errors import ConfigError, shown, unknown_name

NAMES: Mapping[str, str] = {
    "game.task": "task.kind",
    "game.num_distractors": "task.num_distractors",
    "game.num_targets": "task.num_targets",
    "game.variant": "task.variant",
    "game.sender_sees": "task.sender_input",
    "world.pool": "world.images_per_batch",
    "world.images_per_world": "world.images_per_label",
    "channel.length_cost": "loss.length_cost",
    "sender.architecture": "sender.kind",
    "sender.perception_size": "sender.perception.size",
    "sender.dropout": "sender.perception.dropout",
    "receiver.architecture": "receiver.kind",
    "receiver.perception_size": "receiver.perception.size",
    "receiver.dropout": "receiver.perception.dropout",
    "sender.init_from": "training.init_sender",
    "sender.freeze": "training.freeze_sender",
    "receiver.init_from": "training.init_receiver",
    "receiver.freeze": "training.freeze_receiver",
    "training.lr": "optimizer.lr",
    "training.lr_decay": "schedule.kind",
}
"""Present names of settings by their former ones, and by those that stand with the agent that they are about."""
VALUES: Mapping[str, Mapping[str, str]] = {
    "game.variant": {"setref": "set_reference", "ref": "reference"},
    "game.sender_sees": {"all": "targets_and_distractors"},
    "training.lr_decay": {"none": "constant"},
}
"""Present names of values, by the former name of the setting."""
UNCHANGED: Mapping[str, tuple[str, ...]] = {
    "world": (
        "kind", "num_attributes", "num_values", "train_data", "valid_data", "features", "rule_length", "distractors",
        "held_out",
    ),
    "channel": (
        "kind", "vocab_size", "max_len", "length", "temperature", "temperature_decay", "temperature_min",
        "straight_through", "entropy_coefficient", "word_size", "num_levels", "normalize",
    ),
    "sender": ("hidden_size", "embedding_size", "perception"),
    "receiver": ("hidden_size", "embedding_size", "perception"),
    "training": (
        "seed", "num_examples", "num_epochs", "batch_size", "precision", "evaluate_every", "checkpoint_every",
        "until_accuracy", "max_minutes",
    ),
    "evaluation": ("num_valid", "corpus_size", "mode"),
}  # fmt: skip
"""The other settings of format 1, by section."""
NOT_READ = ("held_out", "sender_sees", "perception", "perception_size", "dropout")
"""Settings that world attributes reads now and did not read in format 1."""


def present_name(key: str, value: Any) -> tuple[str, Any]:
    """The present name of a setting `section.key`, in its present or a former form, and its value."""
    if isinstance(value, str):
        value = VALUES.get(key, {}).get(value, value)
    return NAMES.get(key, key), value


def from_format_1(tree: Mapping[str, Any], source: str) -> Iterator[tuple[str, Any]]:
    """The settings of an experiment of format 1 by their present names, in order, without those that had no effect.

    Raises:
        ConfigError: If a section or key is not one of format 1; the message begins with `source`.
    """
    known = [*NAMES, *(f"{section}.{key}" for section, keys in UNCHANGED.items() for key in keys)]
    sections = {key.partition(".")[0] for key in known}
    world = tree.get("world", {})
    kind = world.get("kind", "attributes") if isinstance(world, Mapping) else "attributes"
    reads_files = kind == "attributes" and isinstance(world, Mapping) and world.get("train_data") is not None
    if reads_files:
        yield "world.kind", "text"
    for section, values in tree.items():
        if section in ("name", "about"):
            yield section, values
            continue
        if section not in sections:
            raise ConfigError(f"{source}: {unknown_name('key', str(section), sorted(sections))}")
        if not isinstance(values, Mapping):
            raise ConfigError(f"{source}: {section}: expected a section with keys, got {shown(values)}")
        for key, value in values.items():
            name = f"{section}.{key}"
            if name not in known:
                raise ConfigError(f"{source}: {unknown_name('key', name, known)}")
            is_kind_of_files = reads_files and name == "world.kind"
            if is_kind_of_files or (kind == "attributes" and key in NOT_READ):
                continue
            if value is None and section == "world":
                continue
            yield present_name(name, value)
