"""The THING world (Carmeli et al. 2024, appendix B): objects of attribute values, in sets defined by a rule."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.config import ConfigError, Experiment
from ecsuite.games.worlds.attributes import one_hot_array
from ecsuite.games.worlds.rounds import Integers, Rounds, SetWorld
from ecsuite.games.worlds.rules import FREE, conjunctions, describe, split_rules
from ecsuite.randomness import distinct_draws, random_words


class ThingWorld(SetWorld):
    """All combinations of `num_attributes` attributes of `num_values` values: 100 000 objects in the paper.

    Targets are drawn without replacement from the objects that satisfy the rule. Where these are fewer than targets
    (in the paper's size, a rule of four pairs has ten objects, one of five has one), all of them are repeated as
    equally often as possible. Distractors are drawn with replacement from all objects that violate the rule or, if
    they are hard, from those that violate exactly one of its pairs.

    Args:
        experiment: Sets sizes and seed.

    Raises:
        ConfigError: If a rule fixes more attributes than there are, or 63-bit indices can't number all objects.
    """

    corpus_split = "valid"

    def __init__(self, experiment: Experiment) -> None:
        world, game = experiment.world, experiment.game
        self.num_values, self.length = world.num_values, world.rule_length
        self.num_targets, self.num_distractors = game.num_targets, game.num_distractors
        self.is_hard, self.sender_sees_all = world.distractors == "hard", game.sender_sees == "all"
        self.seed, self.batch_size = experiment.training.seed, experiment.training.batch_size
        self.num_train, self.num_valid = experiment.training.num_examples, experiment.evaluation.num_valid
        self.num_attributes = world.num_attributes
        if self.num_values**self.num_attributes >= 2**63:
            raise ConfigError(
                f"{self.num_attributes} attributes of {self.num_values} values make more than 2^63 objects: "
                "lower world.num_attributes or world.num_values"
            )
        self.object_shape = (world.num_attributes * world.num_values,)
        table = conjunctions([self.num_values] * world.num_attributes, self.length)
        names = [[f"attribute{a}={v}" for v in range(self.num_values)] for a in range(world.num_attributes)]
        self.rules = describe(table, names)
        self.table: Integers = table
        self.splits = split_rules(len(table), self.length, world.held_out, self.seed)

    def batch(self, split: str, number: int) -> Rounds:
        """See `SetWorld`."""
        size = self.batch_size
        indices = np.arange(number * size, (number + 1) * size)
        num_free = self.num_attributes - self.length
        words = random_words(self.seed, split, indices, 1 + 2 * self.num_targets + 4 * self.num_distractors)
        allowed = self.splits[split]
        rules = allowed[(words[:, 0] % np.uint64(len(allowed))).astype(np.int64)]
        fixed = (
            np.flatnonzero(self.table[rules].ravel() != FREE).reshape(size, self.length) % self.num_attributes
        )
        free = np.flatnonzero(self.table[rules].ravel() == FREE).reshape(size, num_free) % self.num_attributes
        wanted = np.take_along_axis(self.table[rules], fixed, axis=1)  # (batch, length)

        targets = self._targets(words[:, 1 : 1 + 2 * self.num_targets])
        broken, rest = self._distractors(words[:, 1 + 2 * self.num_targets :], wanted)
        num_shown, num_both = self.num_targets, self.num_targets + self.num_distractors
        objects = np.empty((size, num_both, self.num_attributes), dtype=np.int64)
        values = np.broadcast_to(wanted[:, None], (size, num_shown, self.length))
        _place(objects[:, :num_shown], fixed, values)
        _place(objects[:, :num_shown], free, self._digits(targets, num_free))
        _place(objects[:, num_shown:], fixed, broken)
        _place(objects[:, num_shown:], free, self._digits(rest, num_free))
        places = np.arange(size * num_both).reshape(size, num_both)
        return Rounds(
            objects=objects.reshape(size * num_both, self.num_attributes),
            shown=places if self.sender_sees_all else places[:, :num_shown],
            num_positive=num_shown,
            candidates=places,
            labels=np.broadcast_to(np.arange(num_both) < num_shown, (size, num_both)),
            rules=rules,
        )

    def features(self, objects: NDArray[Any]) -> NDArray[np.float32]:
        """One-hot attribute values, concatenated. See `SetWorld`."""
        return one_hot_array(objects, self.num_values)

    def probes(self) -> dict[str, tuple[SetWorld, str]]:
        """Training rules on new objects, if validation uses held-out rules. See `SetWorld`."""
        return {"seen rules": (self, "seen")} if len(self.splits["valid"]) < len(self.table) else {}

    def _targets(self, words: NDArray[np.uint64]) -> Integers:
        """Integer codes of the free attributes of each target, (batch, num_targets)."""
        num_matching = self.num_values ** (self.num_attributes - self.length)
        if num_matching >= self.num_targets:
            return distinct_draws(words[:, : self.num_targets], num_matching)
        first = (words[:, :1] % np.uint64(num_matching)).astype(np.int64)
        repeated: Integers = (first + np.arange(self.num_targets)) % num_matching
        return repeated

    def _distractors(self, words: NDArray[np.uint64], wanted: Integers) -> tuple[Integers, Integers]:
        """Values of the fixed attributes, (batch, num_distractors, length), and codes of the free ones."""
        first, second, third, fourth = np.split(words, 4, axis=1)
        rest = (fourth % np.uint64(self.num_values ** (self.num_attributes - self.length))).astype(np.int64)
        if self.is_hard:
            place = (first % np.uint64(self.length)).astype(np.int64)[..., None]
            shift = 1 + (second % np.uint64(self.num_values - 1)).astype(np.int64)[..., None]
            values = np.repeat(wanted[:, None], self.num_distractors, axis=1)
            moved = (np.take_along_axis(values, place, axis=2) + shift) % self.num_values
            np.put_along_axis(values, place, moved, axis=2)
            return values, rest
        # Shifting the rule's code by 1 to n - 1 gives every other code with equal probability, never the rule's own.
        num_codes = self.num_values**self.length
        powers = self.num_values ** np.arange(self.length - 1, -1, -1)
        shift = 1 + (third % np.uint64(num_codes - 1)).astype(np.int64)
        codes = ((wanted @ powers)[:, None] + shift) % num_codes
        return codes[..., None] // powers % self.num_values, rest

    def _digits(self, codes: Integers, number: int) -> Integers:
        """Decode integer codes (batch, n) to the values of `number` attributes, (batch, n, number)."""
        return codes[..., None] // self.num_values ** np.arange(number - 1, -1, -1) % self.num_values


def _place(objects: Integers, attributes: Integers, values: Integers) -> None:
    """Write values (batch, n, k) into attributes (batch, k) of objects (batch, n, num_attributes)."""
    np.put_along_axis(objects, np.broadcast_to(attributes[:, None], values.shape), values, axis=2)
