"""World of ShapeWorld's images (Kuhnle & Copestake 2017), with rules that are formulas over shapes and colours."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ecsuite.games.worlds.candidates import each_once
from ecsuite.games.worlds.objects import Subsets, divided
from ecsuite.games.worlds.rendering import COLORS, SHAPES, RenderedWorld, shapeworld_scenes
from ecsuite.games.worlds.rules import RuleWorld
from ecsuite.games.worlds.world import Batch, Description, Integers, RoundSpec, RunSizes, Variant, World
from ecsuite.parts.config import Count
from ecsuite.runtime.ragged import Ragged

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

NUM_WORLDS = len(COLORS) * len(SHAPES)
"""Combinations of a colour and a shape; world `w` has colour `w // 5` and shape `w % 5`."""
KINDS = (
    "color",
    "shape",
    "color and color",
    "color and shape",
    "shape and shape",
    "color or color",
    "color or shape",
    "shape or shape",
)
"""Kinds of formulas, by primitives and connective; a negated literal counts as its primitive."""
HELD_OUT = 0.2
"""Share of the formulas held out from training: half for validation, half for test."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Formula:
    """One literal, or two joined by a connective."""

    literals: tuple[str, ...]
    """Literals, such as `not red`; colours come before shapes."""
    connective: str
    """`and`, `or`, or empty for one literal."""
    kind: str
    """One of `KINDS`."""
    sides: Bools
    """Whether each world satisfies each literal, (num_literals, 30)."""

    @property
    def text(self) -> str:
        """The formula as text: `not red or circle`."""
        return f" {self.connective} ".join(self.literals)

    @property
    def phrase(self) -> tuple[str, ...]:
        """Concepts of the formula: its literals and the connective. Different formulas have different sets."""
        return (*self.literals, self.connective) if self.connective else self.literals

    @property
    def truth(self) -> Bools:
        """Whether each world satisfies the formula, (30,)."""
        truth: Bools = np.any(self.sides, axis=0) if self.connective == "or" else np.all(self.sides, axis=0)
        return truth

    @property
    def is_reference(self) -> bool:
        """Whether exactly one colour and shape satisfies it: the targets of the reference game."""
        return self.kind == "color and shape" and not any(name.startswith("not ") for name in self.literals)

    def positive_weights(self) -> Floats:
        """Probability of each world as a positive example, (30,).

        Worlds that satisfy the formula are equally likely, except for `or`: there, the non-empty groups of worlds that
        satisfy only the left side, only the right side, or both are equally likely.
        """
        if self.connective != "or":
            return _mixture(self.truth)
        left, right = self.sides
        return _mixture(left & ~right, ~left & right, left & right)

    def negative_weights(self) -> Floats:
        """Probability of each world as a counter-example, (30,).

        Worlds that violate the formula are equally likely, except for `and`: there, the groups of worlds that satisfy
        only the left side, only the right side, or neither are equally likely. So most counter-examples are hard.
        """
        if self.connective != "and":
            return _mixture(~self.truth)
        left, right = self.sides
        return _mixture(left & ~right, ~left & right, ~left & ~right)


@cache
def all_formulas() -> tuple[Formula, ...]:
    """All 312 formulas, in the order of `KINDS`."""
    colors, shapes = np.divmod(np.arange(NUM_WORLDS), len(SHAPES))
    primitives = [("color", name, colors == color) for color, name in enumerate(COLORS)]
    primitives += [("shape", name, shapes == shape) for shape, name in enumerate(SHAPES)]
    literals = [
        (kind, prefix + name, worlds ^ is_negated)
        for kind, name, worlds in primitives
        for prefix, is_negated in (("", False), ("not ", True))
    ]
    formulas = [
        Formula(literals=(name,), connective="", kind=kind, sides=worlds[None])
        for kind, name, worlds in literals
    ]
    for (left_kind, left, left_worlds), (right_kind, right, right_worlds) in combinations(literals, 2):
        for connective in ("and", "or"):
            formula = Formula(
                literals=(left, right),
                connective=connective,
                kind=f"{left_kind} {connective} {right_kind}",
                sides=np.stack([left_worlds, right_worlds]),
            )
            truth = formula.truth
            if truth.any() and not truth.all() and not (truth == formula.sides).all(1).any():
                formulas.append(formula)
    return tuple(sorted(formulas, key=lambda formula: KINDS.index(formula.kind)))


def formula_rules() -> Description:
    """Formulas as rules: a meaning is the truth value, 0 or 1, in each of the 30 worlds."""
    formulas = all_formulas()
    names = tuple(dict.fromkeys(name for formula in formulas for name in formula.phrase))
    ids = {name: number for number, name in enumerate(names)}
    return Description(
        meanings=np.stack([formula.truth for formula in formulas]).astype(np.int64),
        concepts=Ragged.from_rows([[ids[name] for name in formula.phrase] for formula in formulas]),
        concept_names=names,
    )


def split_formulas(seed: int) -> Subsets:
    """Split the formulas at random, as indices into `all_formulas`: 80 % train, 10 % valid, 10 % test.

    Each kind is split separately, and so are the 30 formulas of the reference game. So every kind is in every split,
    and a formula that is held out in one game is held out in all. (In Mu & Goodman, valid and test share formulas.)
    """
    rng = np.random.default_rng([seed, *b"formulas"])
    strata: dict[tuple[str, bool], list[int]] = {}
    for place, formula in enumerate(all_formulas()):
        strata.setdefault((formula.kind, formula.is_reference), []).append(place)
    parts: dict[str, list[Integers]] = {"valid": [], "test": [], "train": []}
    odd_to_valid = False  # for odd numbers, validation and test alternate
    for places in strata.values():
        num_held_out = round(HELD_OUT * len(places))
        num_valid = (num_held_out + odd_to_valid) // 2
        odd_to_valid ^= num_held_out % 2 == 1
        sizes = (num_valid, num_held_out - num_valid)
        for split, drawn in zip(parts, divided(np.array(places), sizes, rng), strict=True):
            parts[split].append(drawn)
    splits = {split: np.sort(np.concatenate(chosen)) for split, chosen in parts.items()}
    return Subsets(members={**splits, "seen": splits["train"]})


def balanced_weights(formulas: Integers) -> Floats:
    """Probability of each formula if all kinds are equally likely, (num_formulas,)."""
    kinds = [all_formulas()[place].kind for place in formulas]
    _, of_formula, sizes = np.unique(kinds, return_inverse=True, return_counts=True)
    weights: Floats = 1 / (len(sizes) * sizes[of_formula])
    return weights


def _mixture(*groups: Bools) -> Floats:
    """Probability of each world, (30,): non-empty groups are equally likely, and so are the worlds in a group."""
    weights: Floats = np.mean([group / group.sum() for group in groups if group.any()], axis=0)
    return weights


VARIANTS: dict[Variant, str] = {"reference": "ref", "set_reference": "setref", "concept": "concept"}
"""Reference, set-reference and concept games of Mu & Goodman, and their names there."""


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
        """Number of images per colour and shape that a batch shares, separate for each agent in variant concept."""

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
        occurrence = np.tril(is_same, -1).sum(-1) % self.images_per_label  # earlier images of this world
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
