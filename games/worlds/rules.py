"""Conjunctive rules over attribute values: `color=red and shape=circle` (Carmeli et al. 2024, section 2.1).

A rule of length l fixes the values of l attributes: a row with these values, and `FREE` for all other attributes.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, product
from typing import Any

import numpy as np

from ecsuite.games.worlds.splits import (
    NOT_TESTED,
    CandidatePool,
    Subsets,
    have_values,
    random_share,
    require_held_out,
)
from ecsuite.games.worlds.world import (
    FREE,
    SEEN_RULES,
    Description,
    Integers,
    RoundSpec,
    RunSizes,
    World,
    describe,
)
from ecsuite.runtime.errors import ConfigError

MAX_RULES = 1_000_000
"""Most rules of a world: their table is held in memory."""


class RuleWorld(World):
    """Base class of worlds whose rounds may be about rules, some of which are held out from training."""

    has_rules = True
    splits = ("train", "valid", "test", "seen", "all")
    rules: Description
    rules_of_split: dict[str, Integers]
    """The rules of each split, as indices into `rules`."""

    def take_rules(self, rules: Description, subsets: Subsets) -> None:
        """Rounds are about these rules, in these splits."""
        numbers = np.arange(len(rules.meanings))
        self.rules = replace(rules, columns=subsets.column(numbers))
        self.rules_of_split = {name: np.asarray(members) for name, members in subsets.members.items()}
        self.rules_of_split["all"] = numbers


class ConjunctionWorld(RuleWorld):
    """Base class of worlds whose rounds are about conjunctive rules over the named values of their attributes."""

    has_targets_first = True

    def __init__(
        self, options: Any, rounds: RoundSpec, sizes: RunSizes, value_names: Sequence[Sequence[str]]
    ) -> None:
        super().__init__(rounds, sizes)
        if options.distractors != "random" and not self.num_distractors:
            raise ConfigError("world.distractors: the task draws no distractors, expected random")
        self.value_names, self.is_hard = value_names, options.distractors == "hard"
        self.num_values = tuple(map(len, value_names))
        self.table = conjunctions(self.num_values, options.rule_length)
        if options.held_out_value is not None:
            is_held_out = have_values(options.held_out_value, self.table, value_names, "rule")
            self.subsets = Subsets.without(is_held_out)
        else:
            self.subsets = split_rules(len(self.table), options.rule_length, options.held_out, self.seed)
        candidates: CandidatePool = getattr(options, "candidates", "all")
        require_held_out(candidates, options.held_out or options.held_out_value)
        self.subsets = replace(self.subsets, candidates=candidates)
        self.take_rules(describe(self.table, value_names), self.subsets)
        if self.subsets.evaluates_others:
            held_out = len(self.subsets.members["valid"])
            self.notes = (*self.notes, f"{held_out} of {len(self.table)} rules are held out from training")

    def trained_note(self, trained: World) -> str | None:
        """See `World`."""
        if not isinstance(trained, ConjunctionWorld) or not np.array_equal(trained.table, self.table):
            return None
        return self.subsets.trained_note(trained.subsets, "rules")

    def untested_note(self) -> str | None:
        """See `World`."""
        is_split = self.subsets.evaluates_others and self.subsets.candidates == "split"
        return NOT_TESTED if is_split and self.num_distractors else None

    def extra_evaluations(self) -> dict[str, tuple[World, str]]:
        """Training rules on new objects, if evaluations use held-out rules. See `World`."""
        return {SEEN_RULES: (self, "seen")} if self.subsets.evaluates_others else {}


def number_of_conjunctions(num_values: Sequence[int], length: int) -> int:
    """Number of rules of a length: the elementary symmetric polynomial of the numbers of values."""
    numbers = [1] + [0] * length  # by number of attributes that are fixed so far
    for number in num_values:
        for fixed in range(length, 0, -1):
            numbers[fixed] += numbers[fixed - 1] * number
    return numbers[length]


def conjunctions(num_values: Sequence[int], length: int) -> Integers:
    """All rules that fix `length` attributes, (num_rules, num_attributes).

    Raises:
        ConfigError: If there are fewer attributes, or more than `MAX_RULES` rules.
    """
    if length > len(num_values):
        raise ConfigError(f"world.rule_length: expected at most {len(num_values)} attributes, got {length}")
    if (number := number_of_conjunctions(num_values, length)) > MAX_RULES:
        raise ConfigError(
            f"world.rule_length: expected at most {MAX_RULES:,} rules, but {length} of {len(num_values)} attributes "
            f"make {number:,}: lower world.rule_length, world.num_attributes or world.num_values"
        )
    rules = []
    for chosen in combinations(range(len(num_values)), length):
        values = np.array(list(product(*(range(num_values[attribute]) for attribute in chosen))))
        block = np.full((len(values), len(num_values)), FREE)
        block[:, chosen] = values
        rules.append(block)
    return np.concatenate(rules)


def pairs_broken(labels: Integers, rules: Integers) -> Integers:
    """Number of pairs of each rule that each object violates, (num_rules, num_objects); 0: it satisfies the rule."""
    fixed = rules[:, None] != FREE
    return np.asarray(((rules[:, None] != labels[None]) & fixed).sum(-1))


def split_rules(num_rules: int, length: int, held_out: float, seed: int) -> Subsets:
    """The rules of each split.

    Rules of one pair are never held out: an agent cannot know the symbol of a value that never occurred in training.
    Held-out rules are those of `valid` and `test`; if none are held out, all splits use all rules.

    Raises:
        ConfigError: If no rule is left for training.
    """
    num_held_out = round(held_out * num_rules) if length > 1 else 0
    if num_held_out == num_rules:
        raise ConfigError(
            f"world.held_out: {held_out} of {num_rules} rules leave none for training: lower it"
        )
    held_out_rules, train_rules = random_share(
        np.arange(num_rules), held_out if length > 1 else 0.0, seed, "rules"
    )
    return Subsets.of(train_rules, held_out_rules if num_held_out else None)
