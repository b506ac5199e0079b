"""The logical concepts of ShapeWorld: formulas over a colour and a shape (Mu & Goodman 2021, section 4).

A literal is one of 11 primitives or its negation. A formula is a literal, or two different literals joined by `and` or
`or` if some world satisfies it, some world does not, and it is not equivalent to either literal alone. There are 312
formulas, no two of them equivalent. A world (in the sense of logic) is a colour with a shape; there are 30.
"""

from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ecsuite.games.worlds.rendering import SHAPES
from ecsuite.games.worlds.scenes import COLORS
from ecsuite.games.worlds.splits import Subsets, divided
from ecsuite.games.worlds.world import Description, Integers
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
"""The kinds of formulas, by their primitives and connective; a negated literal counts as its primitive."""
HELD_OUT = 0.2
"""Share of the formulas that are held out from training: half of them for validation, half for test."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Formula:
    """One literal, or two joined by a connective."""

    literals: tuple[str, ...]
    """Such as `not red`; colours come before shapes."""
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
        """Its concepts: the literals and the connective. Different formulas have different sets."""
        return (*self.literals, self.connective) if self.connective else self.literals

    @property
    def truth(self) -> Bools:
        """Whether each world satisfies it, (30,)."""
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
    """The 312 formulas, in the order of `KINDS`."""
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
    """The formulas as rules: a meaning is the truth value, 0 or 1, in each of the 30 worlds."""
    formulas = all_formulas()
    names = tuple(dict.fromkeys(name for formula in formulas for name in formula.phrase))
    ids = {name: number for number, name in enumerate(names)}
    return Description(
        meanings=np.stack([formula.truth for formula in formulas]).astype(np.int64),
        concepts=Ragged.from_rows([[ids[name] for name in formula.phrase] for formula in formulas]),
        concept_names=names,
    )


def split_formulas(seed: int) -> Subsets:
    """The formulas of each split, as indices into `all_formulas`: 80 % train, 10 % valid, 10 % test, drawn at random.

    Each kind is split separately, and so are the 30 formulas of the reference game. So every kind is in every split,
    and a formula that is held out in one game is held out in all. (In Mu & Goodman, valid and test share formulas.)
    """
    rng = np.random.default_rng([seed, *b"formulas"])
    strata: dict[tuple[str, bool], list[int]] = {}
    for place, formula in enumerate(all_formulas()):
        strata.setdefault((formula.kind, formula.is_reference), []).append(place)
    parts: dict[str, list[Integers]] = {"valid": [], "test": [], "train": []}
    odd_to_valid = False  # where the number is odd, validation and test alternate
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
    """Probability of each of these formulas if all their kinds are equally likely, (num_formulas,)."""
    kinds = [all_formulas()[place].kind for place in formulas]
    _, of_formula, sizes = np.unique(kinds, return_inverse=True, return_counts=True)
    weights: Floats = 1 / (len(sizes) * sizes[of_formula])
    return weights


def _mixture(*groups: Bools) -> Floats:
    """Probability of each world, (30,): non-empty groups are equally likely, and so are the worlds in a group."""
    weights: Floats = np.mean([group / group.sum() for group in groups if group.any()], axis=0)
    return weights
