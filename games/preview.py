"""Rounds of a game as a picture and as text, so that the user can see what the agents see."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ecsuite.files.atomic_files import write_atomically
from ecsuite.games.contact_sheet import FORMATS, ShownRound, draw_rounds
from ecsuite.games.sections import SIGNALLING, Experiment, with_training
from ecsuite.games.world_making import make_world
from ecsuite.games.worlds.world import Batch, World
from ecsuite.runtime.errors import ConfigError, unknown_name

MAX_ROUNDS = 50
"""Most rounds at once."""
MAX_LISTED = 6
"""Most targets, and most distractors, of a round in text."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Preview:
    """The first rounds of a split of a game."""

    heading: str
    """Names the game, the split and the seed."""
    rounds: tuple[ShownRound, ...]

    @property
    def has_images(self) -> bool:
        """Whether the objects are images."""
        return self.rounds[0].objects.ndim == 4

    def draw(self, path: Path) -> None:
        """Draw the rounds to a .png or .svg file, targets above distractors.

        Raises:
            ConfigError: If the file has another suffix, matplotlib is missing, or the objects can't be drawn.
        """
        if path.suffix.removeprefix(".") not in FORMATS:
            raise ConfigError(f"{path}: expected the name of a picture, ending in .png or .svg")
        kind = "svg" if path.suffix == ".svg" else "png"
        write_atomically(path, draw_rounds(self.rounds, title=self.heading, format=kind))  # type: ignore[arg-type]

    def lines(self) -> list[str]:
        """The rounds as text: what each is about, and its objects, a line each, unless they are images."""
        lines = [self.heading]
        for shown in self.rounds:
            lines += ["", shown.title]
            if self.has_images:
                continue
            for word, members in (
                ("target", np.flatnonzero(shown.labels)),
                ("distractor", np.flatnonzero(~shown.labels)),
            ):
                lines += [f"  {word:<10}  {shown.text(index)}" for index in members[:MAX_LISTED].tolist()]
                if len(members) > MAX_LISTED:
                    lines.append(f"  {'':<10}  and {len(members) - MAX_LISTED} more {word}s")
        return lines


def make_preview(experiment: Experiment, *, num_rounds: int = 2, split: str = "train") -> Preview:
    """The receiver's candidates in the first rounds of a split.

    Raises:
        ConfigError: If the game can't be made, or an argument is not valid.
    """
    if experiment.play != SIGNALLING:
        raise ConfigError(
            f"{experiment.name}: play {experiment.play.kind} has no rounds of a sender and a receiver to show: train it"
        )
    if not 1 <= num_rounds <= MAX_ROUNDS:
        raise ConfigError(f"--rounds {num_rounds}: expected 1 to {MAX_ROUNDS}")
    # The rounds of a batch may share their objects, so the batch size is that of training unless more are needed.
    size = max(num_rounds, experiment.training.batch_size)
    world = make_world(with_training(experiment, batch_size=size))
    if split not in world.splits:
        raise unknown_name("split", split, world.splits)
    batch = world.as_asked(world.draw(split, 0, size).cut(num_rounds), split, 0)
    present = np.ones_like(batch.labels) if batch.present is None else batch.present
    rounds = zip(batch.candidate_indices(), batch.labels, present, round_titles(world, batch), strict=True)
    return Preview(
        heading=f"{experiment.name}, {split}, seed {experiment.training.seed}",
        rounds=tuple(
            ShownRound(
                objects=batch.objects[candidates[is_there]],
                labels=labels[is_there],
                title=title,
                names=world.value_names if world.num_values is not None else (),
            )
            for candidates, labels, is_there, title in rounds
        ),
    )


def round_titles(world: World, batch: Batch) -> list[str]:
    """What each round is about: its rule, such as `round 1: color=red and shape=circle`, its file, or its number."""
    numbers = range(1, len(batch) + 1)
    if batch.rules is not None and world.rules is not None and "file" in world.rules.columns:
        files = world.rules.columns["file"][batch.rules]
        return [f"round {number}: {file}" for number, file in zip(numbers, files, strict=True)]
    if (
        batch.rules is None
        or world.rules is None
        or world.rules.concepts is None
        or world.rules_are_objects  # whose values are among those of the objects
    ):
        return [f"round {number}" for number in numbers]
    rules = [world.rules.concepts[rule].tolist() for rule in batch.rules.tolist()]
    names = [[world.rules.concept_names[concept] for concept in rule] for rule in rules]
    return [f"round {number}: {rule_text(each)}" for number, each in zip(numbers, names, strict=True)]


def rule_text(names: Sequence[str]) -> str:
    """The concepts of a rule as one text, such as `red or circle`."""
    connective = " or " if "or" in names else " and "  # ShapeWorld's rules have theirs among the concepts
    return connective.join(name for name in names if name not in ("and", "or"))
