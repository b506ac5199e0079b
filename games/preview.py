"""Draw rounds of a game as a picture, so that the user can see what the agents see."""

from pathlib import Path

from ecsuite.config import ConfigError, Experiment, unknown_name, with_training
from ecsuite.corpus import write_atomically
from ecsuite.games.contact_sheet import FORMATS, ShownRound, draw_rounds
from ecsuite.games.factory import make_world
from ecsuite.games.worlds.rounds import Rules, SetWorld

SPLITS = ("train", "valid", "test", "seen")
"""Splits of a world that can be drawn."""

MAX_ROUNDS = 50
"""Most rounds in one picture."""


def show_rounds(
    experiment: Experiment, path: Path, *, num_rounds: int = 2, split: str = "train"
) -> list[str]:
    """Draw the receiver's candidates in the first rounds of a split, targets above distractors.

    Args:
        experiment: The game.
        path: A .png or .svg file, made or replaced.
        num_rounds: Rounds to draw.
        split: Of `SPLITS`.

    Returns:
        The title of each round: its rule.

    Raises:
        ConfigError: If the game has no rounds about sets, its objects can't be drawn, or an argument is not valid.
    """
    if path.suffix.removeprefix(".") not in FORMATS:
        raise ConfigError(f"{path}: expected the name of a picture, ending in .png or .svg")
    if not 1 <= num_rounds <= MAX_ROUNDS:
        raise ConfigError(f"--rounds {num_rounds}: expected 1 to {MAX_ROUNDS}")
    if split not in SPLITS:
        raise unknown_name("split", split, SPLITS)
    # The rounds of a batch share their images, so the batch size is that of training unless more rounds are needed.
    size = max(num_rounds, experiment.training.batch_size)
    world = make_world(with_training(experiment, batch_size=size))
    if not isinstance(world, SetWorld):
        raise ConfigError(
            f"{experiment.name}: world {experiment.world.kind} has no sets of objects to show; choose a game of "
            "world thing, shape or shapeworld"
        )
    rounds = world.batch(split, 0)
    titles = [title(world.rules, rule) for rule in rounds.rules[:num_rounds].tolist()]
    shown = [
        ShownRound(objects=rounds.objects[candidates], labels=labels, title=text)
        for candidates, labels, text in zip(
            rounds.candidates[:num_rounds], rounds.labels[:num_rounds], titles, strict=True
        )
    ]
    heading = f"{experiment.name}, {split}, seed {experiment.training.seed}"
    drawn = draw_rounds(shown, title=heading, format="svg" if path.suffix == ".svg" else "png")
    write_atomically(path, drawn)
    return titles


def title(rules: Rules, rule: int) -> str:
    """A rule as text, such as `targets: color=red and shape=circle`."""
    if rules.concepts is None:
        return f"targets: rule {rule}"
    names = [rules.concept_names[concept] for concept in rules.concepts[rule].tolist()]
    # ShapeWorld's rules have their connective among the concepts.
    joined_by = "or" if "or" in names else "and"
    return "targets: " + f" {joined_by} ".join(name for name in names if name not in ("and", "or"))
