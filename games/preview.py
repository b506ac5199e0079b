"""Draw rounds of a game as a picture, so that the user can see what the agents see."""

from pathlib import Path

from ecsuite.config import ConfigError, unknown_name
from ecsuite.corpus import write_atomically
from ecsuite.games.contact_sheet import FORMATS, ShownRound, draw_rounds
from ecsuite.games.experiment import Experiment, with_training
from ecsuite.games.game import make_world
from ecsuite.games.worlds.world import Description

MAX_ROUNDS = 50
"""Most rounds in one picture."""


def show_rounds(
    experiment: Experiment, path: Path, *, num_rounds: int = 2, split: str = "train"
) -> list[str]:
    """Draw the receiver's candidates in the first rounds of a split, targets above distractors, to a .png or .svg file.

    Returns:
        The title of each round: its rule.

    Raises:
        ConfigError: If the objects can't be drawn, or an argument is not valid.
    """
    if path.suffix.removeprefix(".") not in FORMATS:
        raise ConfigError(f"{path}: expected the name of a picture, ending in .png or .svg")
    if not 1 <= num_rounds <= MAX_ROUNDS:
        raise ConfigError(f"--rounds {num_rounds}: expected 1 to {MAX_ROUNDS}")
    # The rounds of a batch may share their objects, so the batch size is that of training unless more are needed.
    size = max(num_rounds, experiment.training.batch_size)
    world = make_world(with_training(experiment, batch_size=size))
    if split not in world.splits:
        raise unknown_name("split", split, world.splits)
    batch = world.draw(split, 0, size).cut(num_rounds)
    titles = round_titles(world.describe(batch))
    shown = [
        ShownRound(objects=batch.objects[candidates], labels=labels, title=text)
        for candidates, labels, text in zip(batch.candidate_indices(), batch.labels, titles, strict=True)
    ]
    heading = f"{experiment.name}, {split}, seed {experiment.training.seed}"
    drawn = draw_rounds(shown, title=heading, format="svg" if path.suffix == ".svg" else "png")
    write_atomically(path, drawn)
    return titles


def round_titles(description: Description) -> list[str]:
    """What each round is about as text, such as `targets: color=red and shape=circle`."""
    if description.concepts is None:
        return [f"targets: round {number}" for number in range(len(description.meanings))]
    titles = []
    for row in range(len(description.concepts)):
        names = [description.concept_names[concept] for concept in description.concepts[row].tolist()]
        # ShapeWorld's rules have their connective among the concepts.
        connective = " or " if "or" in names else " and "
        titles.append("targets: " + connective.join(name for name in names if name not in ("and", "or")))
    return titles
