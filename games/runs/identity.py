"""Identity of a run: its settings and values that depend on machine and files (precision, horizon, checksums).

Two runs with equal identities are the same computation; `require_same_run` compares the run in a folder with a
requested one.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any, Self

from ecsuite.games.config.experiment import CANDIDATES, DISTRACTORS, NEAREST, SHARED, may_hold_out, worlds_of
from ecsuite.games.config.registry import SCHEDULES, WORLDS
from ecsuite.games.config.sections import LITERAL, OF_SOCIETIES, ROLES, SIGNALLING, Experiment, Tree
from ecsuite.games.config.society import without_places
from ecsuite.games.config.sources import content_digest
from ecsuite.games.players.schedule import FromFile
from ecsuite.parts.own_code import CODE, renamed
from ecsuite.parts.registry import KIND, Part, to_tree
from ecsuite.runtime.errors import ConfigError

AT_RANDOM = "nearest, at random among equally near ones"
"""Identity of `distractors: nearest`; earlier versions broke ties in the same way in all rounds."""

NUM_SHOWN = 3
"""Maximum number of differences in an error message."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunContext:
    """Experiment with the values that depend on the machine and on files."""

    experiment: Experiment
    precision: str
    """Precision of products and activations; `training.precision` may be auto."""
    schedule: Part
    """Schedule with an explicit horizon, so that additional epochs do not change it."""
    data: Mapping[str, str]
    """SHA-256 of each data file, by the option of the world that names it, or by a key such as
    `sender.perception.weights`."""
    weights: Mapping[str, str]
    """SHA-256 of initial weights from other runs, by role."""
    meets: Mapping[str, Tree]
    """Meetings from a file, as a list, by the section that names the file."""

    @classmethod
    def of(
        cls,
        experiment: Experiment,
        *,
        precision: str | None = None,
        schedule: Part | None = None,
        data: Mapping[str, str] | None = None,
        weights: Mapping[str, str] | None = None,
    ) -> Self:
        """Make the context of an experiment.

        Args:
            experiment: The experiment.
            precision: Precision; None: from the config.
            schedule: Schedule with its horizon; None: from the config, with its epochs as the horizon.
            data: Checksums of data files; None: from the config.
            weights: Checksums of initial weights; None: from the config.

        Raises:
            ConfigError: If the schedule has no such horizon, or a file of meetings can't be read.
        """
        if schedule is None:
            asked, num_epochs = experiment.schedule, max(experiment.training.num_epochs, 1)
            schedule = Part(asked.kind, SCHEDULES.load(asked.kind).horizon(asked.options, num_epochs))
        meets = {"play": getattr(experiment.play.options, "meets", None), "society": experiment.society.meets}
        return cls(
            experiment=experiment,
            precision=experiment.training.precision if precision is None else precision,
            schedule=schedule,
            data=experiment.data if data is None else data,
            weights=experiment.weights if weights is None else weights,
            meets={
                section: {KIND: "list", **to_tree(FromFile(part.options).listed())}
                for section, part in meets.items()
                if part is not None and part.kind == "file"
            },
        )

    def to_tree(self) -> Tree:
        """All settings of the run, as in a YAML file."""
        tree = self.experiment.to_tree()
        tree["training"]["precision"] = self.precision
        if "schedule" in tree:
            tree["schedule"] = to_tree(self.schedule)
        for section in self.meets.keys() & tree.keys():
            tree[section]["meets"] = self.meets[section]
        sums = {"data": self.data, CODE: self.experiment.code, "weights": self.weights}
        settings = {key: value for key, value in tree.items() if key not in sums}
        return settings | {key: dict(each) for key, each in sums.items() if each}

    def identity(self) -> Tree:
        """Settings that equal runs share: all but the description and `evaluation.keep`; files by content."""
        tree = self.to_tree()
        del tree["about"]
        tree["evaluation"].pop("keep", None)
        # Options without effect are dropped, so that runs of earlier versions without them keep their identity.
        for world in worlds_of(tree):
            if world.get(CANDIDATES) == "split" or not may_hold_out(world):
                world.pop(CANDIDATES, None)
            if world.get(SHARED, 0) is None and world[KIND] != "attributes":
                del world[SHARED]
            if world.get(DISTRACTORS) == NEAREST:
                world[DISTRACTORS] = AT_RANDOM
        for path, part in _parts_below(self.experiment.play, "play"):
            for option in getattr(type(part.options), "changeable", ()):
                _place(tree, path).pop(option, None)
        for key in self.data:
            path, _, option = key.rpartition(".")
            del _place(tree, path or "world")[option]
        for role in self.weights:
            del tree["training"][f"init_{role}"]
        if members := self.experiment.society.members:
            tree["society"]["members"] = without_places(members)
        return renamed(tree, self.experiment.code)


def check_data(experiment: Experiment) -> dict[str, str]:
    """Compute SHA-256 of each data file, by the setting that names it, and compare it with the config.

    Raises:
        ConfigError: If a file can't be read, or its checksum differs from the config.
    """
    data = {}
    for key, place, digest in _data_places(experiment):
        data[key] = digest()
        if experiment.data.get(key, data[key]) != data[key]:
            named = key if "." in key else f"world.{key}"
            raise ConfigError(
                f"{named}: {place} has other content than when this config was written (SHA-256 {data[key]}, "
                f"expected {experiment.data[key]}): restore the file, or remove the section `data` of the config"
            )
    return data


def _data_places(experiment: Experiment) -> Iterator[tuple[str, str, Callable[[], str]]]:
    """Iterate over the data files of an experiment: key of the setting, path, and function that computes the checksum.

    Keys of world options have no prefix `world`; other keys are, for example, `sender.perception.weights` and
    `sender.taught.language`. Missing files are skipped: their readers raise an error.
    """
    for option in WORLDS.load(experiment.world.kind).data_files:
        if (file := getattr(experiment.world.options, option)) is not None:
            yield option, file, partial(content_digest, file)
    for role in ROLES:
        perception = getattr(getattr(experiment, role).options, "perception", None)
        weights = getattr(getattr(perception, "options", None), "weights", None)
        if isinstance(weights, str):
            from ecsuite.agents.pretrained import weights_file  # imports torch

            if (place := weights_file(Path(weights))).is_file():
                yield f"{role}.perception.weights", str(place), partial(content_digest, str(place))
        if os.path.isfile(inventory := getattr(getattr(experiment, role).options, "inventory", "")):
            yield f"{role}.inventory", inventory, partial(content_digest, inventory)
        languages = getattr(getattr(experiment, role).options.taught.options, "languages", ())
        if languages:
            from ecsuite.games.players.teaching import content_of, is_grammar  # imports torch

            if any(Path(each).exists() and not is_grammar(each) for each in languages):  # else an error later
                yield f"{role}.taught.language", " and ".join(languages), partial(content_of, languages)
    for path, part in _parts_below(experiment.play, "play"):
        reader = WORLDS.load(part.kind) if path.endswith(".world") else type(part.options)
        for option in getattr(reader, "data_files", ()):
            if (file := getattr(part.options, option)) is not None and os.path.isfile(file):
                yield f"{path}.{option}", file, partial(content_digest, file)


def _parts_below(part: Part, path: str) -> Iterator[tuple[str, Part]]:
    """Iterate over a part and the parts in its options, each with its dotted path."""
    yield path, part
    for each in fields(part.options):
        if isinstance(below := getattr(part.options, each.name), Part):
            yield from _parts_below(below, f"{path}.{each.name}")


def _place(tree: Tree, path: str) -> Tree:
    """Section of a tree at a dotted path; empty if there is none."""
    for section in path.split("."):
        tree = tree.get(section, {})
    return tree


def require_same_run(
    folder: Path, existing: RunContext, requested: RunContext, diverged_at: int | None
) -> None:
    """Raise `ConfigError` if two runs differ in more than their stopping criteria and schedules."""
    before, now = existing.identity(), requested.identity()
    for key in ("num_epochs", "until_accuracy", "max_minutes", "patience"):
        before["training"][key] = now["training"][key]
    if existing.schedule.kind == requested.schedule.kind and "schedule" in now:
        before["schedule"] = now["schedule"]
    omitted = {key: to_tree(made()) for key, made in OF_SOCIETIES.items()}
    omitted |= {"play": to_tree(SIGNALLING), "reasoning": to_tree(LITERAL)}
    if difference := _difference({**omitted, **before}, {**omitted, **now}):
        # User code is identified by checksums.
        for source, digest in {**existing.experiment.code, **requested.experiment.code}.items():
            difference = difference.replace(digest, source)
        other = f"{folder} holds another run ({difference})"
        if diverged_at is not None:
            raise ConfigError(
                f"{other}, which diverged at step {diverged_at}: without --resume it is replaced"
            )
        raise ConfigError(f"{other}: choose another folder with --out")


def require_same_schedule(folder: Path, existing: RunContext, requested: RunContext) -> None:
    """Raise `ConfigError` if the requested epochs would change the learning rate of the run in the folder."""
    if difference := _difference(
        {"schedule": to_tree(existing.schedule)}, {"schedule": to_tree(requested.schedule)}
    ):
        raise ConfigError(
            f"the learning rate of the run in {folder} would differ at every step ({difference}): choose "
            "another folder with --out, and set schedule.num_epochs if epochs are to be added later"
        )


def _difference(before: Tree, now: Tree) -> str:
    """Describe the settings in which two runs differ, at most three; empty if there are none."""
    found = list(_differences(before, now))
    more = f"; and {len(found) - NUM_SHOWN} more" if len(found) > NUM_SHOWN else ""
    return "; ".join(found[:NUM_SHOWN]) + more


def _differences(before: Mapping[str, Any], now: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """Describe each setting in which two runs differ; of different parts, only their kinds."""
    for key in {**before, **now}:
        unset = "split" if key == CANDIDATES else None  # see `identity`
        old, new, name = before.get(key, unset), now.get(key, unset), f"{path}{key}"
        if isinstance(old, dict) and isinstance(new, dict):
            yield from _differences(old, new, f"{name}.")
        elif old == new:
            continue
        elif isinstance(section := old or new, dict) and None in (old, new):
            none: Tree = dict.fromkeys(section)
            yield from list(_differences(old or none, new or none, f"{name}.")) or [f"{name} differs"]
        elif path == "data.":  # checksums mean nothing to a reader
            yield f"the content of {key if '.' in key else f'world.{key}'} differs"
        else:
            yield f"{name} is {_shown(old)} in the folder, {_shown(new)} requested"
        if key == KIND:
            return  # the options of other kinds differ too


def _shown(value: Any) -> str:
    return "none" if value is None else str(value)
