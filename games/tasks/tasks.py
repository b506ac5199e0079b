"""Tasks: the receiver's answers to messages, with loss and measures.

A task is built from its options, the rounds and attribute values of the world, and the width of the receiver's states.
`rounds(options)` defines its requirements for the world. Its input is either scores of the candidates or the states.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, logsigmoid

import ecsuite.games.tasks.chance as answers
from ecsuite.agents.linear import Linear
from ecsuite.agents.scripted import require_pairs, sums_and_differences
from ecsuite.games.channels.noise import Noise, exponential
from ecsuite.games.worlds.world import Batch, RoundSpec, Variant, World, one_hot
from ecsuite.parts.config import Count, Natural, Positive
from ecsuite.runtime.errors import ConfigError

SenderInput = Literal["targets", "targets_and_distractors"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Truth:
    """Correct answers in the rounds of a batch."""

    labels: Tensor
    """Mask of targets among candidates, (batch, num_candidates)."""
    values: Tensor | None
    """Attribute values of the first target, (batch, num_attributes); None if the task does not use them."""
    features: Tensor | None = None
    """Features of the target, (batch, num_features); None if the task does not use them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SampledAnswers:
    """The receiver's sampled answers, one per example."""

    chosen: Tensor
    """Index of a candidate, (batch,), or of the option of each choice, (batch, num_choices)."""
    log_probability: Tensor
    """Log-probability of the answer, the sum over its choices, (batch,)."""
    entropy: Tensor
    """Entropy of the receiver's distributions in nats, the mean over the choices, (batch,)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskOutput:
    """Loss and measures of the receiver's output, for each possible end of the message and each example."""

    loss: Tensor
    """Loss in nats, (num_ends, batch)."""
    measures: Mapping[str, Tensor]
    """Measures to report, (num_ends, batch) each, always including `accuracy`."""
    answers: SampledAnswers | None = None
    """The receiver's answers; None unless the loss needs them."""
    truth: Truth | None = None
    """Correct answers; None unless the loss needs answers."""


class Task(nn.Module, ABC):
    """Base class of tasks, including user code.

    Args:
        options: Options of the class.
        world: Source of the rounds.
        state_size: Width of the receiver's states.
    """

    scores_candidates: ClassVar[bool] = True
    """Whether the input is scores of the candidates, (num_ends, batch, num_candidates); otherwise the
    receiver's states, (num_ends, batch, state_size)."""
    asks_features: ClassVar[bool] = False
    """Without candidates: whether the truth of a round is the target's features rather than its values."""
    scores_are_cosines = False
    """Whether a candidate's score is the cosine of its vector and the receiver's state, rather than the dot product."""

    def __init__(self, options: Any, *, world: World, state_size: int) -> None:
        super().__init__()
        self.options, self.world = options, world

    @staticmethod
    @abstractmethod
    def rounds(options: Any) -> RoundSpec:
        """Requirements of the task for a world's rounds."""

    @abstractmethod
    def forward(self, answer: Tensor, truth: Truth) -> TaskOutput:
        """Compute loss and measures from the scores or states."""

    def chance(self) -> Mapping[str, float]:
        """Chance level of each measure: the value of the best answer without messages on validation rounds."""
        return self.chance_of(self.world, "valid")

    def chance_of(self, world: World, split: str) -> Mapping[str, float]:
        """Chance levels of measures on the rounds of a split of a world; empty if unknown."""
        return {}

    @property
    def has_choices(self) -> bool:
        """Whether answers are discrete choices, which can be sampled, compared and voted on."""
        return type(self).choices is not Task.choices

    def choices(self, answer: Tensor) -> Tensor:
        """Logits of the choices at the last end, (batch, num_options) or (batch, num_choices, num_options)."""
        raise NotImplementedError(f"task {type(self).__name__} has no discrete answers")

    def asked_values(self, values: Tensor) -> Tensor:
        """Correct answers for attribute values, (batch, num_attributes): (batch, number of answers)."""
        return values

    def seen_values(self, values: Tensor) -> Tensor | None:
        """Attribute values that the receiver sees in addition to the message, (batch, width); None: none."""
        return None


class Discrimination(Task):
    """Identify the target among the candidates. Loss: cross-entropy of the softmax over their scores."""

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of the task."""

        num_distractors: Count | None = 5
        """Number of candidates that are not the target; null: as in the world's files."""
        sender_input: SenderInput = "targets"
        """targets: the sender sees only the target. targets_and_distractors: it also sees the distractors."""
        fewest_distractors: Count | None = None
        """Lower bound of the number of distractors of a round, drawn uniformly up to num_distractors; null: always
        num_distractors."""

        def __post_init__(self) -> None:
            """Check the lower bound of the number of distractors; `ConfigError` if it is impossible."""
            fewest, most = self.fewest_distractors, self.num_distractors
            if fewest is None:
                return
            if most is None or fewest >= most:
                raise ConfigError(
                    f"fewest_distractors: expected less than num_distractors, {most}, got {fewest}"
                )
            if self.sender_input != "targets":
                raise ConfigError("fewest_distractors: expected null if the sender sees the distractors")

    @staticmethod
    def rounds(options: Options) -> RoundSpec:
        """Requirements of the task for a world's rounds."""
        return RoundSpec(
            num_distractors=options.num_distractors,
            sender_sees_all=options.sender_input == "targets_and_distractors",
            fewest_distractors=options.fewest_distractors,
        )

    def forward(self, answer: Tensor, truth: Truth) -> TaskOutput:
        """Compare scores with the target's position. See `Task`."""
        labels = truth.labels.int().argmax(-1)  # (batch,)
        # Two dimensions, since CUDA has no deterministic kernel for three.
        at_ends = labels.expand(len(answer), -1)
        loss = cross_entropy(answer.flatten(0, 1), at_ends.flatten(), reduction="none").view_as(at_ends)
        return TaskOutput(loss=loss, measures={"accuracy": (answer.argmax(-1) == labels).float()})

    def choices(self, answer: Tensor) -> Tensor:
        """Logits of the candidates, (batch, num_candidates), at the last end; see `choose`."""
        return answer[-1]

    def chance_of(self, world: World, split: str) -> Mapping[str, float]:
        """Any candidate, or one by position, frequency or similarity; see `ecsuite.games.tasks.chance`."""
        family = (
            answers.one_of,
            answers.place_of_one,
            answers.ranked(answers.best_one, answers.by_frequency),
        )
        alike, seen = (answers.ranked(answers.best_one, answers.by_likeness),), answers.CandidatesOf(world)
        return answers.chance_levels(world.unrendered() or world, seen, family, split, alike)


class InBatch(Discrimination):
    """Identify the target among the targets of all rounds of the batch, each object once.

    Loss: NT-Xent, the cross-entropy of the softmax over cosines divided by a temperature (Chen et al. 2020,
    arXiv 2002.05709, equation 1; in games, Dessì et al. 2021, arXiv 2106.04258), here between messages and candidates,
    without the terms between two messages or two candidates.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of the task."""

        loss_temperature: Positive = 0.1
        """Divisor of scores."""
        similarity: Literal["cosine", "dot"] = "cosine"
        """Score of a candidate: cosine of its vector and the receiver's state, or their dot product."""

    def __init__(self, options: Options, *, world: World, state_size: int) -> None:
        super().__init__(options, world=world, state_size=state_size)
        self.temperature = options.loss_temperature
        self.scores_are_cosines = options.similarity == "cosine"

    @staticmethod
    def rounds(options: Options) -> RoundSpec:  # type: ignore[override]
        """Requirements of the task for a world's rounds."""
        return RoundSpec(num_distractors=0, in_batch=True)

    def forward(self, answer: Tensor, truth: Truth) -> TaskOutput:
        """Compare scores with the target's position. See `Task`."""
        return super().forward(answer / self.temperature, truth)

    def choices(self, answer: Tensor) -> Tensor:
        """Logits of the candidates, (batch, num_candidates), at the last end; see `choose`."""
        return super().choices(answer) / self.temperature


class Reconstruction(Task):
    """Reconstruct the target: one softmax over values per attribute.

    The loss is the cross-entropy, averaged over attributes. `accuracy` is the share of objects with all attributes
    correct. Attributes that the receiver sees count, too (Kharitonov et al. 2020, arXiv 1905.13687). The
    question may also be a function of the values, whose results then replace the attributes.

    Raises:
        ConfigError: If the world's objects have no attribute values, or the receiver sees all of them.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of the task."""

        num_known: Natural = 0
        """Number of attributes of the target, the last ones, that the receiver sees in addition to the message."""
        asked: Literal["values", "sums", "equality"] = "values"
        """Question. values: the attribute values. sums: for the two values a and b, a + b and a - b, modulo the
        number of values (Kharitonov & Baroni 2020, arXiv 2004.03420). equality: whether all values are equal
        (1) or not (0)."""

        def __post_init__(self) -> None:
            """Check that known values are part of the question; `ConfigError` if not."""
            if self.num_known and self.asked != "values":
                raise ConfigError(f"num_known: expected 0 with asked={self.asked}")

    scores_candidates: ClassVar[bool] = False

    def __init__(self, options: Options, *, world: World, state_size: int) -> None:
        super().__init__(options, world=world, state_size=state_size)
        if world.num_values is None:
            raise ConfigError(
                "task: reconstruction needs objects with attribute values, but this world's objects have none"
            )
        if options.num_known >= len(world.num_values):
            raise ConfigError(
                f"task.num_known: expected fewer than the {len(world.num_values)} attributes of an object, "
                f"got {options.num_known}"
            )
        self.num_known, self.asked = options.num_known, options.asked
        if self.asked == "sums":
            require_pairs("task.asked", len(world.num_values), max(world.num_values))
            if min(world.num_values) < max(world.num_values):
                raise ConfigError("task.asked: sums need attributes with equal numbers of values")
        self.num_values = world.num_values
        if self.asked == "equality":
            self.num_values = (2,)
        self.num_attributes, self.most = len(self.num_values), (most := max(self.num_values))
        self.decode = Linear(state_size + self.num_known * most, self.num_attributes * most)
        # Attributes may have different numbers of values: mask values that an attribute does not have.
        missing = torch.arange(most) >= torch.tensor(self.num_values)[:, None]
        is_ragged = min(self.num_values) < most
        self.register_buffer("missing", missing if is_ragged else None, persistent=False)

    def read_off(self) -> None:
        """Use states that are scores of the attribute values, in order, as logits; else `ConfigError`."""
        if self.asked != "values" or self.num_known:
            raise ConfigError("task: the receiver scores values: expected asked=values and num_known=0")
        rows = [a * self.most + value for a, number in enumerate(self.num_values) for value in range(number)]
        self.decode.requires_grad_(False)
        self.decode.bias.zero_()
        self.decode.weight.zero_()[rows, range(len(rows))] = 1.0

    @staticmethod
    def rounds(options: Options) -> RoundSpec:
        """Requirements of the task for a world's rounds."""
        return RoundSpec(needs_values=True)

    def forward(self, answer: Tensor, truth: Truth) -> TaskOutput:
        """Compare the decoded states with the attribute values. See `Task`."""
        assert truth.values is not None
        logits = self.logits(answer)
        labels = truth.values.expand(len(answer), -1, -1)  # (num_ends, batch, num_attributes)
        loss = (
            cross_entropy(logits.flatten(0, 2), labels.flatten(), reduction="none").view_as(labels).mean(-1)
        )
        correct = (logits.argmax(-1) == labels).float()
        return TaskOutput(
            loss=loss, measures={"accuracy": correct.amin(-1), "attribute_accuracy": correct.mean(-1)}
        )

    def asked_values(self, values: Tensor) -> Tensor:
        """Correct answers for attribute values, (batch, num_attributes): (batch, number of answers)."""
        if self.asked == "equality":
            return (values == values[:, :1]).all(1, keepdim=True).long()
        return values if self.asked == "values" else sums_and_differences(values, self.most)

    def seen_values(self, values: Tensor) -> Tensor | None:
        """Known part of attribute values, (batch, num_attributes), for the receiver, (batch, width)."""
        if not self.num_known:
            return None
        return one_hot(values[:, -self.num_known :], self.most, torch.float32)

    def logits(self, states: Tensor) -> Tensor:
        """Logits of the values, (num_ends, batch, num_attributes, maximum num_values)."""
        logits: Tensor = self.decode(states).float().unflatten(-1, (self.num_attributes, -1))
        if isinstance(self.missing, Tensor):
            logits = logits.masked_fill(self.missing, -torch.inf)
        return logits

    def choices(self, answer: Tensor) -> Tensor:
        """Logits of the values of each attribute at the last end, (batch, num_attributes, maximum num_values)."""
        return self.logits(answer)[-1]

    def values(self, states: Tensor) -> Tensor:
        """Most likely attribute values, (num_ends, batch, num_attributes)."""
        return self.logits(states).argmax(-1)

    def chance_of(self, world: World, split: str) -> Mapping[str, float]:
        """Any answers, or the most frequent ones given the known values; see `ecsuite.games.tasks.chance`."""
        family = (answers.any_answers, answers.constant_answers)
        return answers.chance_levels(world, self._asked, family, split)

    def _asked(self, batch: Batch) -> answers.Asked:
        """Questions about the targets of a batch."""
        assert batch.values is not None
        values = torch.from_numpy(batch.values[batch.shown[:, 0]])
        return answers.Asked(self.asked_values(values).numpy(), self.num_known)


class Concept(Task):
    """Classify every candidate as target or distractor (Mu & Goodman 2021; Carmeli et al. 2024, section 2.1).

    Loss: binary cross-entropy, mean over candidates. `accuracy` is the share of correctly classified candidates,
    `set_accuracy` the share of rounds in which all candidates are classified correctly.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of the task."""

        num_targets: Count = 1
        """Number of candidates that satisfy the rule."""
        num_distractors: Count | None = 5
        """Number of candidates that do not satisfy the rule; null: as in the world's files."""
        variant: Variant = "set_reference"
        """The receiver's targets. set_reference: the sender's targets. concept: others of the same rule. reference:
        one object, repeated, for both agents."""
        sender_input: SenderInput = "targets"
        """targets: the sender sees only the targets. targets_and_distractors: it also sees counter-examples."""

    @staticmethod
    def rounds(options: Options) -> RoundSpec:
        """Requirements of the task for a world's rounds."""
        return RoundSpec(
            num_targets=options.num_targets,
            num_distractors=options.num_distractors,
            sender_sees_all=options.sender_input == "targets_and_distractors",
            variant=options.variant,
            needs_rule=True,
        )

    def forward(self, answer: Tensor, truth: Truth) -> TaskOutput:
        """Compare scores with labels. See `Task`."""
        expected = truth.labels.float().expand_as(answer)
        loss = binary_cross_entropy_with_logits(answer, expected, reduction="none").mean(-1)
        correct = ((answer > 0) == truth.labels).float()
        return TaskOutput(
            loss=loss, measures={"accuracy": correct.mean(-1), "set_accuracy": correct.amin(-1)}
        )

    def choices(self, answer: Tensor) -> Tensor:
        """Logits of rejecting and accepting each candidate at the last end, (batch, num_candidates, 2)."""
        return torch.stack([logsigmoid(-answer[-1]), logsigmoid(answer[-1])], dim=-1)

    def chance_of(self, world: World, split: str) -> Mapping[str, float]:
        """Best value without messages, from set sizes, frequencies or similarity; see `ecsuite.games.tasks.chance`."""
        num_targets = 1 if world.rounds.variant == "reference" else world.num_targets  # distinct targets
        guess = answers.some_of(num_targets, world.num_distractors)
        family = (guess, answers.frequent_ones, answers.ranked(answers.best_ones, answers.by_frequency))
        alike, seen = (answers.ranked(answers.best_ones, answers.by_likeness),), answers.CandidatesOf(world)
        return answers.chance_levels(world.unrendered() or world, seen, family, split, alike)


def right_parts(chosen: Tensor, truth: Truth) -> Tensor:
    """Whether each part of an answer is correct, (batch, num_parts).

    Args:
        chosen: Index of the candidate, (batch,); attribute values, (batch, num_attributes); or, for concepts, 1
            for accepted candidates, (batch, num_candidates).
        truth: Correct answers.
    """
    if truth.values is not None:
        return chosen == truth.values
    if chosen.dim() == 1:
        return chosen[:, None] == truth.labels.int().argmax(-1, keepdim=True)
    return chosen == truth.labels


def choose(logits: Tensor, generator: Noise | None) -> SampledAnswers:
    """Choose options by logits, (batch, num_options) or (batch, num_choices, num_options).

    Args:
        logits: Unnormalised log-probabilities of the options.
        generator: Source of the samples; None: the most likely options.
    """
    log_probabilities = logits.float().log_softmax(-1)
    if generator is None:
        chosen = log_probabilities.argmax(-1)
    else:
        noise = exponential(log_probabilities.shape, generator, log_probabilities.device)
        chosen = (log_probabilities.detach() - noise.log()).argmax(-1)
    own = log_probabilities.gather(-1, chosen[..., None])[..., 0]
    # An option with log-probability -inf contributes 0: 0 log 0 = 0.
    entropy = -(log_probabilities.exp() * log_probabilities.clamp(min=-1e9)).sum(-1)
    if logits.dim() == 3:
        own, entropy = own.sum(-1), entropy.mean(-1)
    return SampledAnswers(chosen=chosen, log_probability=own, entropy=entropy)


class Autoencoding(Task):
    """Reconstruct the features of the sender's object: pixels from 0 to 1, numbers, or one-hot values.

    The loss is the squared error, the mean over features. `accuracy` is the share of rounds in which no other object of
    the batch is nearer to the reconstruction than the target.

    Raises:
        ConfigError: If there are too many features for a layer of the receiver.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of the task."""

        hidden_size: Natural = 0
        """Width of a hidden layer with ReLU between the receiver's state and the features; 0: no hidden layer."""

    scores_candidates: ClassVar[bool] = False
    asks_features: ClassVar[bool] = True

    def __init__(self, options: Options, *, world: World, state_size: int) -> None:
        super().__init__(options, world=world, state_size=state_size)
        num_features, width = prod(world.object_shape), options.hidden_size
        if num_features > MAX_FEATURES:
            raise ConfigError(
                f"task autoencoding: expected objects of at most {MAX_FEATURES:,} features or pixel values, got "
                f"{num_features:,}: expected smaller images, as in world digits"
            )
        hidden = (Linear(state_size, width), nn.ReLU()) if width else ()
        self.rebuild = nn.Sequential(*hidden, Linear(width or state_size, num_features))

    @staticmethod
    def rounds(options: Options) -> RoundSpec:
        """Requirements of the task for a world's rounds."""
        return RoundSpec()

    def forward(self, answer: Tensor, truth: Truth) -> TaskOutput:
        """Compare the reconstructed features with the target's. See `Task`."""
        assert truth.features is not None
        rebuilt = self.rebuild(answer).float()  # (num_ends, batch, num_features)
        targets = truth.features.float()  # (batch, num_features)
        loss = (rebuilt - targets).square().mean(-1)
        return TaskOutput(loss=loss, measures={"accuracy": _is_nearest(rebuilt.detach(), targets).float()})

    def chance_of(self, world: World, split: str) -> Mapping[str, float]:
        """Some object of the batch, the mean of all, or the most frequent one; see `ecsuite.games.tasks.chance`."""
        family = (answers.another_object, *answers.constant_features(_is_nearest))
        return answers.chance_levels(world, self._targets, family, split)

    def _targets(self, batch: Batch) -> Tensor:
        """Features of the targets of a batch, (batch, num_features)."""
        objects = torch.from_numpy(batch.objects[batch.shown[:, 0]])
        return self.world.features(objects, torch.float32).flatten(1)


def _is_nearest(rebuilt: Tensor, targets: Tensor) -> Tensor:
    """Whether no other target is nearer to the reconstruction than its own target, (num_ends, batch).

    Args:
        rebuilt: Reconstructed features, (num_ends, batch, num_features).
        targets: Target features, (batch, num_features).
    """
    # The squared distance to each object of the batch, up to a constant.
    distances = targets.square().sum(-1) - 2 * rebuilt @ targets.t()
    own = distances.diagonal(dim1=1, dim2=2)
    return own <= distances.amin(-1) + TOLERANCE


MAX_FEATURES = 2**14
"""Maximum number of features of an object: the last layer has a row of weights for each feature."""
TOLERANCE = 1e-4
"""Tolerance for equal squared distances: equal objects may be in one batch."""
