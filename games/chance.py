"""Chance levels of games: what the best answer that reads no message is worth.

The answers are a family: a guess, whose expected measures are computed; a constant answer; by place, the same place
among the candidates; by frequency, the candidates that were targets in most of the rounds that had them. Each is found
on rounds of training and played on those of validation, where the best one is the chance level; the guess is only given
up for what is better by more than the error of these rounds.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import comb, fsum
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ecsuite.games.worlds.object_numbers import ObjectNumbers
from ecsuite.games.worlds.world import Batch, Integers, World

NUM_ROUNDS = 2048
"""Most rounds of training that answers are found on."""
ERRORS = 3.0
"""A guess is given up for an answer that is better by more than so many standard errors."""

Floats = NDArray[np.float64]
Seen = TypeVar("Seen")
"""What an answer sees of a batch of rounds beside the message, and what is right in them."""
Measures = Mapping[str, Floats]
"""Measures of each round of a batch, (batch,) each."""
Answer = Callable[[Seen], Measures]
"""An answer that was found, as its measures of rounds."""
Family = Sequence[Callable[[Sequence[Seen]], Answer[Seen]]]
"""Finds each kind of answer on rounds of training; the first kind is the guess."""


def chance_levels(world: World, seen: Callable[[Batch], Seen], family: Family[Seen]) -> dict[str, float]:
    """The chance level of each measure: of the best answer of a family, played on the validation rounds.

    Args:
        world: Gives the rounds.
        seen: What an answer sees of a batch.
        family: The answers.
    """
    train_size, size = world.sizes.batch_size, world.sizes.evaluation_batch_size
    num_train = -(-min(world.num_train, NUM_ROUNDS) // train_size)
    train = [seen(world.batch("train", number).cut(NUM_ROUNDS)) for number in range(num_train)]
    valid = [seen(world.batch("valid", number)) for number in range(-(-world.num_valid // size))]
    first, *others = [_measured(find(train), valid) for find in family]
    levels = {}
    for name, guess in first.items():
        gains = [(measured[name] - guess, _mean(measured[name])) for measured in others]
        better = [level for gain, level in gains if gain.mean() > ERRORS * _error(gain)]
        levels[name] = max(better, default=_mean(guess))
    return levels


def _measured(answer: Answer[Seen], rounds: Sequence[Seen]) -> dict[str, Floats]:
    """The measures of an answer in each of all rounds."""
    measured = [answer(each) for each in rounds]
    return {name: np.concatenate([each[name] for each in measured]) for name in measured[0]}


def _mean(values: Floats) -> float:
    """The mean, which of equal values is their value."""
    return fsum(values) / len(values)


def _error(gains: Floats) -> float:
    """The standard error of the mean of gains from -1 to 1, with one more of either sign, so that it is never 0."""
    gains = np.concatenate([gains, [1.0, -1.0]])
    return float(gains.std() / len(gains) ** 0.5)


@dataclass(frozen=True, slots=True)
class Candidates:
    """The candidates of a batch of rounds."""

    kinds: Integers
    """What each is: of one kind have equal attribute values, or are the same object, (batch, num_candidates)."""
    labels: NDArray[np.bool_]
    """Which are targets, (batch, num_candidates)."""
    present: NDArray[np.bool_]
    """Which are there, (batch, num_candidates)."""


class CandidatesOf:
    """Gives the candidates of batches, with the same numbers of kinds in all of them."""

    def __init__(self) -> None:
        self.numbers = ObjectNumbers()

    def __call__(self, batch: Batch) -> Candidates:
        """The candidates of a batch."""
        kinds = self.numbers.of(batch) if batch.values is None else self.numbers.of_rows(batch.values)
        present = np.ones_like(batch.labels) if batch.present is None else batch.present
        return Candidates(kinds[batch.candidate_indices()], np.asarray(batch.labels), present)


def one_of(rounds: Sequence[Candidates]) -> Answer[Candidates]:
    """A guess of one candidate: each that is there is equally likely."""
    return lambda seen: {"accuracy": 1 / seen.present.sum(1)}


def place_of_one(rounds: Sequence[Candidates]) -> Answer[Candidates]:
    """The place in which the target was most often."""
    place = _most_frequent([label for each in rounds for label in each.labels.argmax(1).tolist()])
    return lambda seen: {"accuracy": (seen.labels.argmax(1) == place).astype(float)}


def frequent_one(rounds: Sequence[Candidates]) -> Answer[Candidates]:
    """The candidate that was the target in most of the rounds in which it was a candidate."""
    shares = _target_shares(rounds)

    def answer(seen: Candidates) -> Measures:
        found = np.where(seen.present, shares(seen.kinds), -1.0)
        # Of equal candidates each is equally likely: the first one is a place.
        is_best = found == found.max(1, keepdims=True)
        return {"accuracy": (is_best & seen.labels).sum(1) / is_best.sum(1)}

    return answer


def some_of(num_targets: int, num_others: int) -> Callable[[Sequence[Candidates]], Answer[Candidates]]:
    """A guess of which candidates are targets: of one, what more of them are; of all, any set of as many.

    Args:
        num_targets: Targets of a round that are different objects.
        num_others: Other candidates.
    """
    sets = comb(num_targets + num_others, num_targets)

    def answer(seen: Candidates) -> Measures:
        number = seen.labels.sum(1)
        most = np.maximum(number, seen.labels.shape[1] - number)
        return {"accuracy": most / seen.labels.shape[1], "set_accuracy": np.full(len(number), 1 / sets)}

    return lambda rounds: answer


def frequent_ones(rounds: Sequence[Candidates]) -> Answer[Candidates]:
    """The candidates that were targets in more than half of the rounds in which they were candidates."""
    shares = _target_shares(rounds)

    def answer(seen: Candidates) -> Measures:
        right = (shares(seen.kinds) > 0.5) == seen.labels
        return {"accuracy": right.mean(1), "set_accuracy": right.all(1).astype(float)}

    return answer


def _target_shares(rounds: Sequence[Candidates]) -> Callable[[Integers], Floats]:
    """How often a candidate of each kind was a target, with what all have in common for a kind that is rare."""
    kinds = np.concatenate([each.kinds[each.present] for each in rounds])
    labels = np.concatenate([each.labels[each.present] for each in rounds])
    of_all, size = labels.mean(), int(kinds.max()) + 1
    shares = (np.bincount(kinds, labels, size) + of_all) / (np.bincount(kinds, minlength=size) + 1)
    padded = np.append(shares, of_all)
    return lambda asked: padded[np.minimum(asked, size)]


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked about the targets of a batch of rounds."""

    answers: Integers
    """What is right, (batch, num_answers)."""
    num_known: int = 0
    """The last so many answers are seen beside the message."""


def any_answers(rounds: Sequence[Asked]) -> Answer[Asked]:
    """A guess: any of the answers that were right in training, different ones being equally likely, or what is seen."""
    number = rounds[0].answers.shape[1] - rounds[0].num_known
    columns = np.concatenate([each.answers for each in rounds]).T[:number]
    known = [np.bincount(column, minlength=int(column.max()) + 2) > 0 for column in columns]
    shares = [each / each.sum() for each in known]

    def answer(seen: Asked) -> Measures:
        asked = zip(seen.answers.T, shares, strict=False)
        right = np.stack([share[np.minimum(column, len(share) - 1)] for column, share in asked], 1)
        mean = (right.sum(1) + seen.num_known) / seen.answers.shape[1]
        return {"accuracy": right.prod(1), "attribute_accuracy": mean}

    return answer


def constant_answers(rounds: Sequence[Asked]) -> Answer[Asked]:
    """The most frequent answers: all of them together, and each alone, given what is seen."""
    number = rounds[0].answers.shape[1] - rounds[0].num_known
    rows = np.concatenate([each.answers for each in rounds])
    given: dict[Hashable, list[Integers]] = {(): [rows]}
    for row in rows:
        given.setdefault((*row[number:].tolist(),), []).append(row[None])
    best = {}
    for known, parts in given.items():
        asked = np.concatenate(parts)[:, :number]
        together = _most_frequent([tuple(row) for row in asked.tolist()])
        best[known] = together, [_most_frequent(column) for column in asked.T.tolist()]

    def answer(seen: Asked) -> Measures:
        found = [best.get((*row[number:].tolist(),), best[()]) for row in seen.answers]
        together, single = (np.array([each[place] for each in found]) for place in (0, 1))
        right = single == seen.answers[:, :number]
        shares = (right.sum(1) + seen.num_known) / seen.answers.shape[1]
        whole = (together == seen.answers[:, :number]).all(1)
        return {"accuracy": whole.astype(float), "attribute_accuracy": shares}

    return answer


def another_object(rounds: Sequence[Tensor]) -> Answer[Tensor]:
    """A guess of features: some target of the batch, (batch, num_features), different ones being equally likely."""
    return lambda targets: {"accuracy": np.full(len(targets), 1 / len(targets.unique(dim=0)))}


def constant_features(is_right: Callable[[Tensor, Tensor], Tensor]) -> Family[Tensor]:
    """Constant features: the mean of all targets, and the most frequent target.

    Args:
        is_right: Whether features, (1, batch, num_features), are answers to targets, (batch, num_features): (1, batch).
    """

    def played(features: Tensor) -> Answer[Tensor]:
        return lambda targets: {
            "accuracy": is_right(features.expand(1, *targets.shape), targets)[0].double().numpy()
        }

    def mean(rounds: Sequence[Tensor]) -> Answer[Tensor]:
        return played(torch.cat(list(rounds)).mean(0))

    def mode(rounds: Sequence[Tensor]) -> Answer[Tensor]:
        features, counts = torch.cat(list(rounds)).unique(dim=0, return_counts=True)
        return played(features[counts.argmax()])

    return mean, mode


def _most_frequent(values: Sequence[Hashable]) -> Hashable:
    """The most frequent value, of several the first one in their order."""
    counts: dict[Hashable, int] = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    most = max(counts.values())
    return min(value for value, count in counts.items() if count == most)  # type: ignore[type-var]
