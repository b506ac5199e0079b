"""ShapeWorld (Mu & Goodman 2021, section 4): images of one object each, in sets that satisfy or violate a formula."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ecsuite.config import Experiment
from ecsuite.games.worlds.formulas import (
    NUM_WORLDS,
    Floats,
    all_formulas,
    balanced_weights,
    formula_rules,
    split_formulas,
)
from ecsuite.games.worlds.rendering import SHAPES
from ecsuite.games.worlds.rounds import Integers, Rounds, SetWorld
from ecsuite.games.worlds.scenes import shapeworld_images

Variant = Literal["ref", "setref", "concept"]
VARIANTS: tuple[Variant, ...] = ("ref", "setref", "concept")
"""The reference, set-reference and concept games of Mu & Goodman."""


class ShapeWorld(SetWorld):
    """The three games of Mu & Goodman on images of ShapeWorld.

    A round has `num_targets` images that satisfy a formula and `num_distractors` that violate it; their worlds (colour
    and shape) are drawn with replacement, see `Formula.positive_weights` and `negative_weights`.

    - concept: the receiver sees different images of the same formula.
    - setref: the receiver sees the sender's images.
    - ref: as setref, but the formula names one colour and shape, and one image is repeated as all targets (at no cost:
      an image is encoded once). So all three games have the same number of candidates and the same chance level.

    In concept and setref all kinds of formulas are equally likely; in ref all colours and shapes are.

    Images are expensive to encode, so the rounds of a batch share a pool: `images_per_world` images of each world, and
    the same number of others for the receiver of the concept game. Each round takes the images of a world from the pool
    in its own random order; images are repeated only where a round needs more of one world than the pool has.

    Args:
        experiment: Sets sizes and seed.
    """

    corpus_split = "all"  # Mu & Goodman evaluate messages for training and test formulas together

    def __init__(self, experiment: Experiment) -> None:
        game = experiment.game
        self.experiment, self.variant = experiment, game.variant
        self.num_targets, self.num_distractors = game.num_targets, game.num_distractors
        self.sender_sees_all = game.sender_sees == "all"
        self.images_per_world = experiment.world.images_per_world
        self.seed, self.batch_size = experiment.training.seed, experiment.training.batch_size
        self.num_train, self.num_valid = experiment.training.num_examples, experiment.evaluation.num_valid
        self.object_shape = (64, 64, 3)
        self.rules = formula_rules()
        formulas = all_formulas()
        self.splits, self.weights = split_formulas(self.seed), {}
        for split, places in self.splits.items():
            if self.variant == "ref":
                chosen = np.array([place for place in places if formulas[place].is_reference])
                self.splits[split], self.weights[split] = chosen, np.full(len(chosen), 1 / len(chosen))
            else:
                self.weights[split] = balanced_weights(places)
        self.positive = _cumulative(np.stack([formula.positive_weights() for formula in formulas]))
        self.negative = _cumulative(np.stack([formula.negative_weights() for formula in formulas]))

    def batch(self, split: str, number: int) -> Rounds:
        """See `SetWorld`."""
        rng = np.random.default_rng([self.seed, *b"shapeworld", *split.encode(), number])
        rules = rng.choice(self.splits[split], size=self.batch_size, p=self.weights[split])
        pool_size = NUM_WORLDS * self.images_per_world
        seen_by_sender = self._draw(rules, rng)
        if self.variant == "concept":
            seen = np.concatenate([seen_by_sender, pool_size + self._draw(rules, rng)], axis=1)
            num_pools = 2
        else:
            seen, num_pools = seen_by_sender, 1
        used, places = np.unique(seen, return_inverse=True)
        places = places.reshape(seen.shape)
        num_both = self.num_targets + self.num_distractors
        # Each batch has its own range of indices, as long as its pools, so that batches of a split share no image.
        colors, shapes = np.divmod(used % pool_size // self.images_per_world, len(SHAPES))
        indices = number * num_pools * pool_size + used
        return Rounds(
            objects=shapeworld_images(self.seed, split, indices, colors, shapes),
            shown=places[:, : num_both if self.sender_sees_all else self.num_targets],
            num_positive=self.num_targets,
            candidates=places[:, -num_both:],
            labels=np.broadcast_to(np.arange(num_both) < self.num_targets, (self.batch_size, num_both)),
            rules=rules,
        )

    def features(self, objects: NDArray[Any]) -> NDArray[Any]:
        """The images as they are. See `SetWorld`."""
        return objects

    def probes(self) -> dict[str, tuple[SetWorld, str]]:
        """Each variant on training and test formulas: from `seen ref` to `unseen concept`. See `SetWorld`."""
        game = self.experiment.game
        return evaluation_matrix(
            {
                variant: ShapeWorld(replace(self.experiment, game=replace(game, variant=variant)))
                for variant in VARIANTS
            }
        )

    def _draw(self, rules: Integers, rng: np.random.Generator) -> Integers:
        """Pool indices of the images that one agent sees, targets first, (batch, num_targets + num_distractors)."""
        cumulative = np.repeat(
            np.stack([self.positive[rules], self.negative[rules]], axis=1),
            [self.num_targets, self.num_distractors],
            axis=1,
        )  # (batch, num_both, num_worlds)
        num_both = cumulative.shape[1]
        draws = rng.random((len(rules), num_both))
        worlds = (draws[..., None] >= cumulative).sum(-1)
        is_same = worlds[:, :, None] == worlds[:, None, :]
        occurrence = np.tril(is_same, -1).sum(-1) % self.images_per_world  # earlier ones of this world
        order = rng.random((len(rules), NUM_WORLDS, self.images_per_world)).argsort(-1)
        drawn: Integers = (
            worlds * self.images_per_world + order[np.arange(len(rules))[:, None], worlds, occurrence]
        )
        if self.variant == "ref":
            drawn[:, : self.num_targets] = drawn[:, :1]
        return drawn


def evaluation_matrix(variants: Mapping[str, SetWorld]) -> dict[str, tuple[SetWorld, str]]:
    """Each variant of a game on training rules (`seen`) and on test rules (`unseen`): a world and its split."""
    return {
        f"{name} {variant}": (world, split)
        for name, split in (("seen", "seen"), ("unseen", "test"))
        for variant, world in variants.items()
    }


def _cumulative(weights: Floats) -> Floats:
    """Cumulative distributions, (num_formulas, num_worlds), whose last value is exactly 1."""
    sums = weights.cumsum(1)
    cumulative: Floats = sums / sums[:, -1:]
    return cumulative
