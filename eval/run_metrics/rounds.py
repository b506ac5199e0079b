"""Rounds of evaluation as a run metric needs them: what each was about, and whether it was understood."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from ecsuite.games.evaluation import SpokenRounds, spoken_rounds
from ecsuite.games.noise import noise_generator
from ecsuite.games.players.players import Players
from ecsuite.games.runs import Run
from ecsuite.games.sections import Experiment
from ecsuite.games.worlds.world import Batch, Description, World

TRAINED, HELD_OUT = "train", "held_out"
"""Values of the column `split`: of what was in training, and of what was kept out of it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rounds:
    """Rounds of the evaluations of a run, one after the other."""

    meanings: NDArray[np.generic]
    """What each was about, (num_rounds, num_attributes)."""
    split: NDArray[np.str_]
    """`train`, or why that was not in training, (num_rounds,); `train` where the world does not say."""
    accuracy: NDArray[np.float64]
    """The share of pairs of agents that understood each other, (num_rounds,)."""


@torch.inference_mode()
def played(run: Run, evaluations: Iterable[tuple[World, str]] | None = None) -> Rounds:
    """Play rounds of evaluation of a run, each with every pair of its agents that meets.

    Args:
        run: Its agents play.
        evaluations: Worlds and splits of them; None: all evaluations of the run.
    """
    world = run.pair.world
    described: list[Description] = []
    accuracy: list[NDArray[np.float64]] = []
    if evaluations is None:
        evaluations = [(world, "valid"), *world.extra_evaluations().values()]
    for place, split in evaluations:
        for batch, found in each_batch(run.players, place, split, run.experiment):
            described.append(place.describe(batch))
            accuracy.append(found)
    return Rounds(
        meanings=np.concatenate([each.meanings.reshape(len(each.meanings), -1) for each in described]),
        split=np.concatenate(
            [each.columns.get("split", np.full(len(each.meanings), TRAINED)) for each in described]
        ),
        accuracy=np.concatenate(accuracy),
    )


def each_batch(
    players: Players, world: World, split: str, experiment: Experiment
) -> Iterator[tuple[Batch, NDArray[np.float64]]]:
    """Play the batches of a split with every pair that meets: and the share that understood, (batch,)."""
    for spoken in spoken_rounds(players.eval(), world, split, experiment.evaluation.mode):
        yield spoken.batch, understood(players, spoken, split, experiment)


def understood(
    players: Players, spoken: SpokenRounds, split: str, experiment: Experiment
) -> NDArray[np.float64]:
    """The share of pairs that meet that understood each other in each round of a batch, (batch,)."""
    mode, rounds = experiment.evaluation.mode, spoken.rounds
    noise = noise_generator(experiment.training.seed, split, spoken.first, players.device)
    # In the order in which an evaluation draws.
    accuracy = {
        numbers: outputs.measures["accuracy"].double().cpu().numpy()
        for numbers, _, outputs in players.understood(rounds, mode, noise, messages=spoken.messages)
    }
    found = [accuracy[meeting.sender, meeting.receiver] for meeting, _ in players.pairs()]
    return np.asarray(np.mean(found, axis=0))
