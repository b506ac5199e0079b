"""Games about sets: the sender sees examples of a rule, the receiver tells which of its candidates obey it.

Lazaridou et al. (2017) with one target; with many, Mu & Goodman (2021) and Carmeli et al. (2024, section 2.1).
"""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from ecsuite.agents.linear import Linear
from ecsuite.agents.message import Message
from ecsuite.agents.perception import make_object_perception
from ecsuite.config import Experiment
from ecsuite.games.channels import Mode
from ecsuite.games.game import PlayResult, SpeakingGame
from ecsuite.games.tasks import TaskOutput
from ecsuite.games.worlds.rounds import Integers, Rounds, SetWorld

MOST_SHARED = 16
"""With up to so many objects in play for each candidate of a round, every round is scored against all of them."""


class SetGame(SpeakingGame):
    """One game about sets, ready to be played.

    The sender means the mean of its targets' vectors, their prototype, beside that of the counter-examples where it
    sees some. The receiver scores a candidate by the product of the candidate's vector and of a linear map of what it
    understood. Each agent has a perception of its own.

    Args:
        experiment: Everything that the game is made of.
        world: Says what objects look like.
        dtype: Precision of products and activations.

    Raises:
        ConfigError: If a name in the experiment is not known, or a perception can't see the world's objects.
    """

    def __init__(self, experiment: Experiment, world: SetWorld, dtype: torch.dtype = torch.float32) -> None:
        sender, receiver, game = experiment.sender, experiment.receiver, experiment.game
        sees, size = make_object_perception(sender.perception, world.object_shape, sender.perception_size)
        sees_all = game.sender_sees == "all"
        super().__init__(experiment, 2 * size if sees_all else size, dtype)
        self.world, self.sees_all = world, sees_all
        self.sender_perception = sees
        self.receiver_perception, size = make_object_perception(
            receiver.perception, world.object_shape, receiver.perception_size
        )
        self.sender_dropout, self.receiver_dropout = sender.dropout, receiver.dropout
        self.question = Linear(self.receiver.state_size, size, bias=False)
        self.task = (
            OneSelection(1 + game.num_distractors)
            if game.task == "discrimination"
            else SetSelection(game.num_targets, game.num_distractors, repeats=game.variant == "ref")
        )

    def play(
        self, rounds: Rounds, mode: Mode, generator: torch.Generator | None = None, epoch: int = 0
    ) -> PlayResult:
        """See the base class."""
        message = self.speak(rounds, mode, generator, epoch)
        states, ends = self.receiver(message, self.dtype)
        vectors, places = self._see(self.receiver_perception, rounds, rounds.candidates)
        vectors = self._drop(vectors, self.receiver_dropout, generator)
        scores = score_candidates(self.question(states), vectors, places).float()
        output = self.task(scores, torch.from_numpy(np.array(rounds.labels)).to(scores.device))
        return self.compute_objective(output, ends, message)

    def speak(
        self, rounds: Rounds, mode: Mode, generator: torch.Generator | None = None, epoch: int = 0
    ) -> Message:
        """What the sender says of what it is shown; see `Game.speak`."""
        vectors, places = self._see(self.sender_perception, rounds, rounds.shown)
        prototype = vectors[places[:, : rounds.num_positive]].mean(1)  # (batch, size)
        if self.sees_all:
            others = vectors[places[:, rounds.num_positive :]].mean(1)
            prototype = torch.cat([prototype, others], dim=1)
        return self.say(self._drop(prototype, self.sender_dropout, generator), mode, generator, epoch)

    def _see(self, perception: nn.Module, rounds: Rounds, places: Integers) -> tuple[Tensor, Tensor]:
        """Encode each object that an agent sees once: vectors (num_seen, size), and the places among them."""
        used, among = np.unique(places, return_inverse=True)
        objects = rounds.objects if len(used) == len(rounds.objects) else rounds.objects[used]
        device = self.question.weight.device
        features = torch.from_numpy(self.world.features(objects)).to(device)
        scale = 255 if features.dtype == torch.uint8 else 1
        vectors: Tensor = perception(features.to(self.dtype) / scale)
        return vectors, torch.from_numpy(among.reshape(places.shape)).to(device)

    def _drop(self, vectors: Tensor, share: float, generator: torch.Generator | None) -> Tensor:
        """Leave a share of all values out, and raise the others to the same mean; in training only.

        The values are drawn from the step's own source of noise, so a resumed run leaves out the same.
        """
        if share == 0 or not self.training:
            return vectors
        kept = torch.rand(vectors.shape, generator=generator, device=vectors.device) >= share
        return vectors * (kept / (1 - share)).to(vectors.dtype)


def score_candidates(questions: Tensor, vectors: Tensor, places: Tensor) -> Tensor:
    """The product of each question and each of its candidates' vectors, (num_ends, batch, num_candidates).

    Rounds that share their objects have few of them: then all products at once cost less than a copy of each
    candidate's vector, a tenth with 256 candidates a round.

    Args:
        questions: (num_ends, batch, size).
        vectors: Of all objects in play, (num_seen, size).
        places: Which of these are the candidates, (batch, num_candidates).
    """
    if len(vectors) <= MOST_SHARED * places.shape[1]:
        rounds = torch.arange(len(places), device=places.device)[:, None]
        return (questions @ vectors.t())[:, rounds, places]
    return torch.einsum("ebf,bcf->ebc", questions, vectors[places])


class SetSelection:
    """Say of every candidate whether it is a target.

    Loss: binary cross-entropy, mean over candidates. `accuracy` is the share of candidates that are told right,
    `set_accuracy` the share of rounds in which all are.

    Args:
        num_targets: Targets among the candidates.
        num_distractors: Candidates that are not.
        repeats: Whether one object stands in all places of targets, so that they are one guess.
    """

    def __init__(self, num_targets: int, num_distractors: int, *, repeats: bool = False) -> None:
        self.num_targets, self.num_distractors, self.repeats = num_targets, num_distractors, repeats

    def __call__(self, scores: Tensor, labels: Tensor) -> TaskOutput:
        """Judge scores (num_ends, batch, num_candidates) by labels (batch, num_candidates)."""
        wanted = labels.float().expand_as(scores)
        loss = binary_cross_entropy_with_logits(scores, wanted, reduction="none").mean(-1)
        right = ((scores > 0) == labels).float()
        return TaskOutput(loss=loss, measures={"accuracy": right.mean(-1), "set_accuracy": right.amin(-1)})

    def chance(self) -> Mapping[str, float]:
        """Of a candidate, always the commoner answer; of all, as many guesses as there are different candidates."""
        commoner = max(self.num_targets, self.num_distractors)
        num_guesses = (1 if self.repeats else self.num_targets) + self.num_distractors
        return {
            "accuracy": commoner / (self.num_targets + self.num_distractors),
            "set_accuracy": 0.5**num_guesses,
        }


class OneSelection:
    """Find the one target. Loss: cross-entropy of the softmax over candidates.

    Args:
        num_candidates: Objects to choose from.
    """

    def __init__(self, num_candidates: int) -> None:
        self.num_candidates = num_candidates

    def __call__(self, scores: Tensor, labels: Tensor) -> TaskOutput:
        """Judge scores (num_ends, batch, num_candidates) by labels (batch, num_candidates), one of them true."""
        wanted = labels.int().argmax(-1).expand(len(scores), -1)
        loss = cross_entropy(scores.flatten(0, 1), wanted.flatten(), reduction="none").view_as(wanted)
        return TaskOutput(loss=loss, measures={"accuracy": (scores.argmax(-1) == wanted).float()})

    def chance(self) -> Mapping[str, float]:
        """One in the number of candidates."""
        return {"accuracy": 1 / self.num_candidates}
