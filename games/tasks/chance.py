"""Chance levels of games: the value of the best answer that ignores messages.

The family of answers: a guess, whose expected measures are computed; a constant answer; by position, the same index
among the candidates; by frequency, the candidates that were targets in most of their rounds, or whose values, in one
attribute or in all, were; by similarity, the candidate that is most or least similar to all others, in all attributes
or in one, and candidates with a value that occurs once per target. Similarity reveals answers if distractors depend
on the target: if each shares all but one value with it, the target is in the middle.

Answers are fitted on training rounds and played on the rounds of a split, where the best one is the chance level. The
guess is only replaced by an answer that is better by more than the error of these rounds. An answer must also be better
in training: a preference for a value that all held-out objects have, or for new objects, can't be learnt.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import comb, fsum
from statistics import NormalDist
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ecsuite.games.worlds.world import Batch, Integers, ObjectNumbers, World

NUM_ROUNDS = 2048
"""Maximum number of training rounds on which answers are fitted."""
LEVEL = 0.001
"""Probability that a guess is replaced by an answer that is not better."""
DECIMALS = 9
"""Decimals to which sums of logarithms are rounded: sums of equal candidates may differ by rounding errors."""
MOST_PIXELS = 16
"""Width and height to which images are reduced before comparison."""

Floats = NDArray[np.float64]
Seen = TypeVar("Seen")
"""View of a batch of rounds in addition to the message, and the right answers."""
Measures = Mapping[str, Floats]
"""Measures of each round of a batch, (batch,) each."""
Answer = Callable[[Seen], Measures]
"""A fitted answer, as a function from rounds to its measures."""
Family = Sequence[Callable[[Sequence[Seen]], Sequence[Answer[Seen]]]]
"""Functions that fit answers of each kind on training rounds; the first kind is the guess."""


def chance_levels(
    world: World,
    seen: Callable[[Batch], Seen],
    family: Family[Seen],
    split: str = "valid",
    fixed: Family[Seen] = (),
) -> dict[str, float]:
    """Compute the chance level of each measure: the best answer of a family, played on the rounds of a split.

    Args:
        world: Source of the rounds.
        seen: Function from a batch to the view of answers.
        family: The answers; all except the guess have to be better than the guess in training.
        split: Split of the rounds.
        fixed: Answers that use only the form of training rounds.
    """
    train_size, size = world.sizes.batch_size, world.sizes.evaluation_batch_size
    num_train = -(-min(world.num_train, NUM_ROUNDS) // train_size)
    train = [seen(world.batch("train", number).cut(NUM_ROUNDS)) for number in range(num_train)]
    played = [seen(world.batch(split, number)) for number in range(-(-world.num_valid // size))]
    guess, *learnt = [answer for find in family for answer in find(train)]
    others = [*learnt, *(answer for find in fixed for answer in find(train))]
    errors = NormalDist().inv_cdf(1 - LEVEL / max(1, len(others)))

    def better(rounds: Sequence[Seen], answers: Iterable[Answer[Seen]], name: str) -> list[Answer[Seen]]:
        """Select the answers that are better than a guess."""
        guessed = _measured(guess, rounds)[name]
        gains = ((answer, _measured(answer, rounds)[name] - guessed) for answer in answers)
        return [answer for answer, gain in gains if gain.mean() > errors * _error(gain)]

    levels = {}
    for name, guessed in _measured(guess, played).items():
        found = better(played, others, name)
        unlearnt = [answer for answer in found if answer not in learnt]
        found = [*unlearnt, *better(train, [answer for answer in found if answer in learnt], name)]
        levels[name] = max(
            (_mean(_measured(answer, played)[name]) for answer in found), default=_mean(guessed)
        )
    return levels


def _measured(answer: Answer[Seen], rounds: Sequence[Seen]) -> dict[str, Floats]:
    """Measures of an answer in each round."""
    measured = [answer(each) for each in rounds]
    return {name: np.concatenate([each[name] for each in measured]) for name in measured[0]}


def _mean(values: Floats) -> float:
    """Mean, which for equal values is exactly their value."""
    return fsum(values) / len(values)


def _error(gains: Floats) -> float:
    """Standard error of the mean of gains from -1 to 1, with one extra gain of each sign, so that it is never 0."""
    gains = np.concatenate([gains, [1.0, -1.0]])
    return float(gains.std() / len(gains) ** 0.5)


@dataclass(frozen=True)
class Candidates:
    """The candidates of a batch of rounds."""

    kinds: Integers
    """Kind of each candidate, (batch, num_candidates): candidates of one kind have equal values, or are one object."""
    labels: NDArray[np.bool_]
    """Mask of targets, (batch, num_candidates)."""
    present: NDArray[np.bool_]
    """Mask of candidates that are present, (batch, num_candidates)."""
    values: Integers | None = None
    """Attribute values of candidates, (batch, num_candidates, num_attributes); None: no values."""
    distances: Floats | None = None
    """Squared Euclidean distance of each candidate's input from the mean of its round, (batch, num_candidates);
    None if the input is attribute values, or rendered from them."""

    @cached_property
    def counts(self) -> Integers:
        """Number of candidates in the round with the same value, (batch, num_candidates, num_attributes)."""
        assert self.values is not None
        rounds, width = np.arange(len(self.values))[:, None], int(self.values.max()) + 1
        counts = np.empty_like(self.values)
        for attribute in range(self.values.shape[2]):
            codes = rounds * width + self.values[:, :, attribute]
            counts[:, :, attribute] = np.bincount(codes[self.present], minlength=codes.max() + 1)[codes]
        return counts


class CandidatesOf:
    """Extracts the candidates of batches of a world, with the same kind indices in all batches."""

    def __init__(self, world: World) -> None:
        self.numbers = ObjectNumbers()
        self.compares_objects = not world.shows_values and world.unrendered() is None

    def __call__(self, batch: Batch) -> Candidates:
        """Extract the candidates of a batch."""
        kinds = self.numbers.of(batch) if batch.values is None else self.numbers.of_rows(batch.values)
        present = np.ones_like(batch.labels) if batch.present is None else batch.present
        places = batch.candidate_indices()
        return Candidates(
            kinds[places],
            np.asarray(batch.labels),
            present,
            None if batch.values is None else batch.values[places],
            _distances(batch.objects, places, present) if self.compares_objects else None,
        )


def _distances(objects: NDArray[Any], places: Integers, present: NDArray[np.bool_]) -> Floats:
    """Squared distances from the mean of a round; see `Candidates`.

    Args:
        objects: Input of agents, (num_objects, ...).
        places: Indices of the candidates of each round, (batch, num_candidates).
        present: Mask of candidates, (batch, num_candidates).
    """
    if objects.ndim == 4:  # images are subsampled
        steps = [-(-side // MOST_PIXELS) for side in objects.shape[1:3]]
        objects = objects[:, :: steps[0], :: steps[1]]
    vectors = objects.reshape(len(objects), -1).astype(np.float64)
    numbers = present.sum(1)
    found = np.empty(places.shape)
    for row, (candidates, is_there) in enumerate(zip(places, present, strict=True)):
        chosen = vectors[candidates]
        found[row] = ((chosen - (chosen * is_there[:, None]).sum(0) / numbers[row]) ** 2).sum(1)
    return found


def one_of(rounds: Sequence[Candidates]) -> Sequence[Answer[Candidates]]:
    """Guess one candidate uniformly."""
    return [lambda seen: {"accuracy": 1 / seen.present.sum(1)}]


def place_of_one(rounds: Sequence[Candidates]) -> Sequence[Answer[Candidates]]:
    """Choose the most frequent position of the target."""
    place = _most_frequent([label for each in rounds for label in each.labels.argmax(1).tolist()])
    return [lambda seen: {"accuracy": (seen.labels.argmax(1) == place).astype(float)}]


def best_one(scores: Floats, seen: Candidates) -> Measures:
    """Choose the candidate with the highest score, (batch, num_candidates); ties are broken uniformly."""
    found = np.where(seen.present, scores, -np.inf)
    is_best = found == found.max(1, keepdims=True)
    return {"accuracy": (is_best & seen.labels).sum(1) / is_best.sum(1)}


def best_ones(scores: Floats, seen: Candidates) -> Measures:
    """Choose the candidates with the highest scores, one per target; ties are broken uniformly."""
    number, size = seen.labels.sum(1), seen.labels.shape[1]
    least = np.take_along_axis(-np.sort(-scores, axis=1), number[:, None] - 1, axis=1)
    is_above, is_least = scores > least, scores == least
    num_drawn, num_equal = number - is_above.sum(1), is_least.sum(1)
    num_right = (is_above & seen.labels).sum(1)
    targets = (is_least & seen.labels).sum(1)
    num_hits = num_right + num_drawn * targets / num_equal
    can_be_right = (num_right == is_above.sum(1)) & (targets == num_drawn)
    sets = np.array(
        [comb(n, k) for n, k in zip(num_equal.tolist(), num_drawn.tolist(), strict=True)], dtype=float
    )
    return {"accuracy": 1 - 2 * (number - num_hits) / size, "set_accuracy": can_be_right / sets}


Ranked = Callable[[Floats, Candidates], Measures]
"""Measures of the answer that ranks candidates by scores: `best_one` or `best_ones`."""
Scores = Callable[[Candidates], Floats]
"""Scores of the candidates of a batch, (batch, num_candidates)."""


def ranked(
    measure: Ranked, find_scores: Callable[[Sequence[Candidates]], Sequence[Scores]]
) -> Callable[[Sequence[Candidates]], Sequence[Answer[Candidates]]]:
    """Make answers that rank candidates by scores, fitted by `find_scores` on training rounds."""

    def answer(score: Scores, seen: Candidates) -> Measures:
        return measure(score(seen), seen)

    def find(rounds: Sequence[Candidates]) -> Sequence[Answer[Candidates]]:
        return [partial(answer, score) for score in find_scores(rounds)]

    return find


def by_frequency(rounds: Sequence[Candidates]) -> Sequence[Scores]:
    """Score candidates by the share of their rounds, or of rounds with their values, in which they were targets."""

    def shares(attribute: int | None) -> Scores:
        of_number = _target_shares([_numbers(each, attribute) for each in rounds], rounds)
        return lambda seen: of_number(_numbers(seen, attribute))

    of_attributes = [shares(each) for each in range(_num_attributes(rounds))]

    def together(seen: Candidates) -> Floats:
        """Product of the shares by each attribute, which also ranks new objects."""
        logs = np.log([share(seen) for share in of_attributes])
        return np.asarray(logs.sum(0).round(DECIMALS))

    return [shares(None), *of_attributes, *([together] if of_attributes[1:] else [])]


def by_likeness(rounds: Sequence[Candidates]) -> Sequence[Scores]:
    """Score candidates by their similarity to the others of their round, in all attributes or in one, most or least.

    Another score measures how near the number of candidates with a value is to the number of targets.
    """

    def like(sign: int, attribute: int | slice) -> Scores:
        def score(seen: Candidates) -> Floats:
            counts = seen.counts[:, :, attribute]
            return np.asarray(sign * (counts.sum(2) if counts.ndim == 3 else counts), np.float64)

        return score

    def near(sign: int) -> Scores:
        return lambda seen: -sign * _required(seen.distances)

    def as_many(seen: Candidates) -> Floats:
        differences: Integers = np.abs(seen.counts - seen.labels.sum(1)[:, None, None])
        return np.asarray(-differences.min(2), np.float64)

    number, scores = _num_attributes(rounds), list[Scores]()
    for sign in (1, -1):
        scores += [like(sign, each) for each in ((slice(None), *range(number)) if number else ())]
        scores += [near(sign)] if rounds[0].distances is not None else []
    return [*scores, *([as_many] if number else [])]


def _required(values: Floats | None) -> Floats:
    assert values is not None
    return values


def _num_attributes(rounds: Sequence[Candidates]) -> int:
    """Number of attributes of candidates; 0: no values."""
    values = rounds[0].values
    return 0 if values is None else values.shape[2]


def _numbers(seen: Candidates, attribute: int | None) -> Integers:
    """Values of an attribute or, for None, kinds of the candidates, (batch, num_candidates)."""
    if attribute is None:
        return seen.kinds
    assert seen.values is not None
    column: Integers = seen.values[:, :, attribute]
    return column


def some_of(
    num_targets: int, num_others: int
) -> Callable[[Sequence[Candidates]], Sequence[Answer[Candidates]]]:
    """Guess targets: the more frequent label for each candidate, or a random set of the right size.

    Args:
        num_targets: Number of targets per round that are different objects.
        num_others: Number of other candidates.
    """
    sets = comb(num_targets + num_others, num_targets)

    def answer(seen: Candidates) -> Measures:
        number = seen.labels.sum(1)
        most = np.maximum(number, seen.labels.shape[1] - number)
        return {"accuracy": most / seen.labels.shape[1], "set_accuracy": np.full(len(number), 1 / sets)}

    return lambda rounds: [answer]


def frequent_ones(rounds: Sequence[Candidates]) -> Sequence[Answer[Candidates]]:
    """Choose the candidates that were targets in more than half of their rounds."""
    shares = _target_shares([each.kinds for each in rounds], rounds)

    def answer(seen: Candidates) -> Measures:
        right = (shares(seen.kinds) > 0.5) == seen.labels
        return {"accuracy": right.mean(1), "set_accuracy": right.all(1).astype(float)}

    return [answer]


def _target_shares(numbers: Sequence[Integers], rounds: Sequence[Candidates]) -> Callable[[Integers], Floats]:
    """Share of rounds in which a candidate of each kind was a target, smoothed with the overall share.

    Args:
        numbers: Kinds or values of the candidates of each batch, (batch, num_candidates).
        rounds: The batches.
    """
    kinds = np.concatenate([of[each.present] for of, each in zip(numbers, rounds, strict=True)])
    labels = np.concatenate([each.labels[each.present] for each in rounds])
    of_all, size = labels.mean(), int(kinds.max()) + 1
    shares = (np.bincount(kinds, labels, size) + of_all) / (np.bincount(kinds, minlength=size) + 1)
    padded = np.append(shares, of_all)
    return lambda asked: padded[np.minimum(asked, size)]


@dataclass(frozen=True, slots=True)
class Asked:
    """Questions about the targets of a batch of rounds."""

    answers: Integers
    """Correct answers, (batch, num_answers)."""
    num_known: int = 0
    """Number of answers, the last ones, that are known without the message."""


def any_answers(rounds: Sequence[Asked]) -> Sequence[Answer[Asked]]:
    """Guess any of the distinct answers in training uniformly, or give the known answers."""
    number = rounds[0].answers.shape[1] - rounds[0].num_known
    columns = np.concatenate([each.answers for each in rounds]).T[:number]
    known = [np.bincount(column, minlength=int(column.max()) + 2) > 0 for column in columns]
    shares = [each / each.sum() for each in known]

    def answer(seen: Asked) -> Measures:
        asked = zip(seen.answers.T, shares, strict=False)
        right = np.stack([share[np.minimum(column, len(share) - 1)] for column, share in asked], 1)
        mean = (right.sum(1) + seen.num_known) / seen.answers.shape[1]
        return {"accuracy": right.prod(1), "attribute_accuracy": mean}

    return [answer]


def constant_answers(rounds: Sequence[Asked]) -> Sequence[Answer[Asked]]:
    """Give the most frequent answers, jointly and separately, given the known answers."""
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

    return [answer]


def another_object(rounds: Sequence[Tensor]) -> Sequence[Answer[Tensor]]:
    """Guess the features of a target of the batch, (batch, num_features), uniformly over distinct ones."""
    return [lambda targets: {"accuracy": np.full(len(targets), 1 / len(targets.unique(dim=0)))}]


def constant_features(is_right: Callable[[Tensor, Tensor], Tensor]) -> Family[Tensor]:
    """Make constant features: the mean of all targets, and the most frequent target.

    Args:
        is_right: Whether features, (1, batch, num_features), are correct for targets, (batch, num_features).
    """

    def played(features: Tensor) -> Sequence[Answer[Tensor]]:
        return [
            lambda targets: {
                "accuracy": is_right(features.expand(1, *targets.shape), targets)[0].double().numpy()
            }
        ]

    def mean(rounds: Sequence[Tensor]) -> Sequence[Answer[Tensor]]:
        return played(torch.cat(list(rounds)).mean(0))

    def mode(rounds: Sequence[Tensor]) -> Sequence[Answer[Tensor]]:
        features, counts = torch.cat(list(rounds)).unique(dim=0, return_counts=True)
        return played(features[counts.argmax()])

    return mean, mode


def _most_frequent(values: Sequence[Hashable]) -> Hashable:
    """Most frequent value; ties are broken by order."""
    counts: dict[Hashable, int] = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    most = max(counts.values())
    return min(value for value, count in counts.items() if count == most)  # type: ignore[type-var]
