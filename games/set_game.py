"""Games on sets: the sender sees examples of a rule, the receiver classifies its candidates by that rule.

Lazaridou et al. (2017) with one target; with several, Mu & Goodman (2021) and Carmeli et al. (2024, section 2.1).
"""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from ecsuite.agents.autocast import call_receiver
from ecsuite.agents.linear import Linear
from ecsuite.agents.message import Message
from ecsuite.agents.perception import make_object_perception
from ecsuite.agents.receivers import state_size
from ecsuite.config import Experiment
from ecsuite.games.channels import Mode
from ecsuite.games.game import PlayResult, SenderReceiverGame
from ecsuite.games.tasks import TaskOutput
from ecsuite.games.worlds.rounds import Integers, Rounds, SetWorld

MAX_OBJECTS_PER_CANDIDATE = 16
"""Up to this ratio of objects in a batch to candidates in a round, every round is scored against all objects."""


class SetGame(SenderReceiverGame):
    """One game on sets.

    The sender's meaning is the mean of its targets' vectors (their prototype), concatenated with the mean of the
    counter-examples where it sees some. The receiver's score of a candidate is the dot product of the candidate's
    vector and a linear projection of the hidden state. Each agent has its own perception network.

    Args:
        experiment: Everything that the game is made of.
        world: Defines the representation of the objects.
        dtype: Precision of products and activations.

    Raises:
        ConfigError: If a name in the experiment is unknown, or a perception network does not fit the world's objects.
    """

    def __init__(self, experiment: Experiment, world: SetWorld, dtype: torch.dtype = torch.float32) -> None:
        sender, receiver, game = experiment.sender, experiment.receiver, experiment.game
        sender_perception, size = make_object_perception(
            sender.perception, world.object_shape, sender.perception_size
        )
        has_counterexamples = game.sender_sees == "all"
        super().__init__(experiment, 2 * size if has_counterexamples else size, dtype)
        self.world, self.has_counterexamples = world, has_counterexamples
        self.sender_perception = sender_perception
        self.receiver_perception, size = make_object_perception(
            receiver.perception, world.object_shape, receiver.perception_size
        )
        self.sender_dropout, self.receiver_dropout = sender.dropout, receiver.dropout
        self.question = Linear(state_size(self.receiver), size, bias=False)
        self.task = (
            OneSelection(1 + game.num_distractors)
            if game.task == "discrimination"
            else SetSelection(game.num_targets, game.num_distractors, repeats=game.variant == "ref")
        )

    def play(
        self, rounds: Rounds, mode: Mode, generator: torch.Generator | None = None, epoch: int = 0
    ) -> PlayResult:
        """See the base class."""
        message = self.generate_message(rounds, mode, generator, epoch)
        states, ends = call_receiver(self.receiver, message, self.dtype)
        vectors, indices = self._encode(self.receiver_perception, rounds, rounds.candidates)
        vectors = self._dropout(vectors, self.receiver_dropout, generator)
        scores = score_candidates(self.question(states), vectors, indices).float()
        output = self.task(scores, torch.from_numpy(np.array(rounds.labels)).to(scores.device))
        return self.compute_objective(output, ends, message)

    def generate_message(
        self, rounds: Rounds, mode: Mode, generator: torch.Generator | None = None, epoch: int = 0
    ) -> Message:
        """The sender's messages for the objects that it sees; see `Game.generate_message`."""
        vectors, indices = self._encode(self.sender_perception, rounds, rounds.shown)
        prototype = vectors[indices[:, : rounds.num_positive]].mean(1)  # (batch, size)
        if self.has_counterexamples:
            others = vectors[indices[:, rounds.num_positive :]].mean(1)
            prototype = torch.cat([prototype, others], dim=1)
        return self.generate_from_features(
            self._dropout(prototype, self.sender_dropout, generator), mode, generator, epoch
        )

    def _encode(self, perception: nn.Module, rounds: Rounds, indices: Integers) -> tuple[Tensor, Tensor]:
        """Encode each object that an agent sees once: vectors (num_seen, size), and the indices into them."""
        used, inverse = np.unique(indices, return_inverse=True)
        objects = rounds.objects if len(used) == len(rounds.objects) else rounds.objects[used]
        device = self.question.weight.device
        features = torch.from_numpy(self.world.features(objects)).to(device)
        scale = 255 if features.dtype == torch.uint8 else 1
        vectors: Tensor = perception(features.to(self.dtype) / scale)
        return vectors, torch.from_numpy(inverse.reshape(indices.shape)).to(device)

    def _dropout(self, vectors: Tensor, share: float, generator: torch.Generator | None) -> Tensor:
        """Inverted dropout: zero a share of the values and rescale the others; in training only.

        The values are drawn with the generator of the step, so a resumed run drops the same ones.
        """
        if share == 0 or not self.training:
            return vectors
        kept = torch.rand(vectors.shape, generator=generator, device=vectors.device) >= share
        return vectors * (kept / (1 - share)).to(vectors.dtype)


def score_candidates(queries: Tensor, vectors: Tensor, indices: Tensor) -> Tensor:
    """Dot products of each query and its candidates' vectors, (num_ends, batch, num_candidates).

    Where rounds share their objects, these are few: then one product with all objects takes less time than a copy of
    each candidate's vector, a tenth with 256 candidates per round.

    Args:
        queries: (num_ends, batch, size).
        vectors: Of all objects that the receiver sees, (num_seen, size).
        indices: Indices of the candidates in `vectors`, (batch, num_candidates).
    """
    if len(vectors) <= MAX_OBJECTS_PER_CANDIDATE * indices.shape[1]:
        rounds = torch.arange(len(indices), device=indices.device)[:, None]
        return (queries @ vectors.t())[:, rounds, indices]
    return torch.einsum("ebf,bcf->ebc", queries, vectors[indices])


class SetSelection:
    """Classify every candidate as target or distractor.

    Loss: binary cross-entropy, mean over candidates. `accuracy` is the share of correctly classified candidates,
    `set_accuracy` the share of rounds in which all candidates are classified correctly.

    Args:
        num_targets: Number of targets among the candidates.
        num_distractors: Number of distractors among them.
        repeats: Whether all targets are the same object, so that chance level counts them as one guess.
    """

    def __init__(self, num_targets: int, num_distractors: int, *, repeats: bool = False) -> None:
        self.num_targets, self.num_distractors, self.repeats = num_targets, num_distractors, repeats

    def __call__(self, scores: Tensor, labels: Tensor) -> TaskOutput:
        """Compare scores (num_ends, batch, num_candidates) with labels (batch, num_candidates)."""
        expected = labels.float().expand_as(scores)
        loss = binary_cross_entropy_with_logits(scores, expected, reduction="none").mean(-1)
        correct = ((scores > 0) == labels).float()
        return TaskOutput(
            loss=loss, measures={"accuracy": correct.mean(-1), "set_accuracy": correct.amin(-1)}
        )

    def chance(self) -> Mapping[str, float]:
        """accuracy: always the more frequent label. set_accuracy: one coin flip per distinct candidate."""
        majority = max(self.num_targets, self.num_distractors)
        num_guesses = (1 if self.repeats else self.num_targets) + self.num_distractors
        return {
            "accuracy": majority / (self.num_targets + self.num_distractors),
            "set_accuracy": 0.5**num_guesses,
        }


class OneSelection:
    """Choose the one target. Loss: cross-entropy of the softmax over candidates.

    Args:
        num_candidates: Number of objects to choose from.
    """

    def __init__(self, num_candidates: int) -> None:
        self.num_candidates = num_candidates

    def __call__(self, scores: Tensor, labels: Tensor) -> TaskOutput:
        """Compare scores (num_ends, batch, num_candidates) with labels (batch, num_candidates), one of them true."""
        expected = labels.int().argmax(-1).expand(len(scores), -1)
        loss = cross_entropy(scores.flatten(0, 1), expected.flatten(), reduction="none").view_as(expected)
        return TaskOutput(loss=loss, measures={"accuracy": (scores.argmax(-1) == expected).float()})

    def chance(self) -> Mapping[str, float]:
        """accuracy: one over the number of candidates."""
        return {"accuracy": 1 / self.num_candidates}
