"""ShapeWorld (Mu & Goodman 2021, section 4): images of one object each, in sets that satisfy or violate a formula."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from ecsuite.games.worlds.candidates import each_once
from ecsuite.games.worlds.formulas import (
    NUM_WORLDS,
    Floats,
    all_formulas,
    balanced_weights,
    formula_rules,
    split_formulas,
)
from ecsuite.games.worlds.rendered import RenderedWorld
from ecsuite.games.worlds.rendering import SHAPES
from ecsuite.games.worlds.rules import RuleWorld
from ecsuite.games.worlds.scenes import COLORS, shapeworld_scenes
from ecsuite.games.worlds.world import Batch, Integers, RoundSpec, RunSizes, Variant, World
from ecsuite.parts.config import Count

VARIANTS: dict[Variant, str] = {"reference": "ref", "set_reference": "setref", "concept": "concept"}
"""The reference, set-reference and concept games of Mu & Goodman, and their names there."""


class ShapeWorld(RenderedWorld, RuleWorld):
    """The three games of Mu & Goodman on images of ShapeWorld.

    A round has `num_targets` images that satisfy a formula and `num_distractors` that violate it; their worlds (colour
    and shape) are drawn with replacement, see `Formula.positive_weights` and `negative_weights`.

    - concept: the receiver sees different images of the same formula.
    - set_reference: the receiver sees the sender's images.
    - reference: as set_reference, but the formula names one colour and shape, and one image is repeated as all
      targets (at no cost: an image is encoded once). So all three games have the same number of candidates and the same
      chance level.

    In concept and set_reference all kinds of formulas are equally likely; in reference all colours and shapes are.

    Images are expensive to encode, so the rounds of a batch share `images_per_label` images of each world, and
    the same number of others for the receiver of the concept game. Each round takes the images of a world from these
    in its own random order; images are repeated only where a round needs more of one world than there are.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of the world."""

        images_per_label: Count = 10
        """Images of each colour and shape that a batch shares, separate for each agent in variant concept."""

    has_targets_first = True
    variants = tuple(VARIANTS)
    corpus_split = "all"  # Mu & Goodman evaluate messages for training and test formulas together
    num_values = (len(COLORS), len(SHAPES))
    value_names = (COLORS, SHAPES)
    default_perceptions = ("conv_max", "conv_max")

    variant: Variant

    def __init__(self, options: Options, *, rounds: RoundSpec, sizes: RunSizes) -> None:
        super().__init__(rounds, sizes)
        self.options, self.variant = options, rounds.variant
        self.images_per_label = options.images_per_label
        formulas = all_formulas()
        self.take_rules(formula_rules(), split_formulas(self.seed))
        self.weights: dict[str, Floats] = {}
        for split, places in self.rules_of_split.items():
            if self.variant == "reference":
                chosen = np.array([place for place in places if formulas[place].is_reference])
                self.rules_of_split[split] = chosen
                self.weights[split] = np.full(len(chosen), 1 / len(chosen))
            else:
                self.weights[split] = balanced_weights(places)
        self.positive = _cumulative(np.stack([formula.positive_weights() for formula in formulas]))
        self.negative = _cumulative(np.stack([formula.negative_weights() for formula in formulas]))

    def draw(self, split: str, number: int, size: int) -> Batch:
        """See `World`."""
        rng = np.random.default_rng([self.seed, *b"shapeworld", *split.encode(), number])
        rules = rng.choice(self.rules_of_split[split], size=size, p=self.weights[split])
        num_images = NUM_WORLDS * self.images_per_label
        num_views = 2 if self.variant == "concept" else 1
        both = np.concatenate(
            [view * num_images + self._draw(rules, rng) for view in range(num_views)], axis=1
        )
        used, (places,) = each_once(both)
        num_both = self.num_targets + self.num_distractors
        # Each batch has its own range of indices, so that batches of a split share no image.
        colors, shapes = np.divmod(used % num_images // self.images_per_label, len(SHAPES))
        indices = number * num_views * num_images + used
        return Batch(
            objects=self.objects_of(shapeworld_scenes(self.seed, split, indices, colors, shapes)),
            shown=places[:, : num_both if self.rounds.sender_sees_all else self.num_targets],
            num_positive=self.num_targets,
            candidates=places[:, -num_both:],
            labels=self.targets_first(size),
            values=np.stack([colors, shapes], axis=1),
            rules=rules,
        )

    def extra_evaluations(self) -> dict[str, tuple[World, str]]:
        """Each variant on training and test formulas: from `seen ref` to `unseen concept`. See `World`."""
        if not self.rounds.needs_rule:
            return {}
        worlds = {
            variant: ShapeWorld(self.options, rounds=replace(self.rounds, variant=variant), sizes=self.sizes)
            for variant in VARIANTS
        }
        return evaluation_matrix(worlds)

    def _draw(self, rules: Integers, rng: np.random.Generator) -> Integers:
        """Indices of the images that one agent sees, targets first, (batch, num_targets + num_distractors)."""
        draws = rng.random((len(rules), self.num_targets + self.num_distractors))
        ends = self.positive[rules][:, None], self.negative[rules][:, None]  # (batch, 1, num_worlds)
        parts = np.split(draws[..., None], [self.num_targets], axis=1)
        # The first world whose end is above the draw.
        chosen = [(part >= end).argmin(-1) for part, end in zip(parts, ends, strict=True)]
        worlds = np.concatenate(chosen, axis=1)
        is_same = worlds[:, :, None] == worlds[:, None, :]
        occurrence = np.tril(is_same, -1).sum(-1) % self.images_per_label  # earlier ones of this world
        order = rng.random((len(rules), NUM_WORLDS, self.images_per_label)).argsort(-1)
        of_world = order[np.arange(len(rules))[:, None], worlds, occurrence]
        drawn: Integers = worlds * self.images_per_label + of_world
        if self.variant == "reference":
            drawn[:, : self.num_targets] = drawn[:, :1]
        return drawn


def evaluation_matrix(worlds: Mapping[Variant, World]) -> dict[str, tuple[World, str]]:
    """Each variant of a game on training rules (`seen`) and on test rules (`unseen`): a world and its split."""
    return {
        f"{name} {VARIANTS[variant]}": (world, split)
        for name, split in (("seen", "seen"), ("unseen", "test"))
        for variant, world in worlds.items()
    }


def _cumulative(weights: Floats) -> Floats:
    """Cumulative distributions, (num_formulas, num_worlds), whose last value is exactly 1."""
    sums = weights.cumsum(1)
    cumulative: Floats = sums / sums[:, -1:]
    return cumulative
