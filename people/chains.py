"""Chains of participants: who counts, which place is free, and which language is taught there.

The place of a participant who leaves, or fails an attention check, is given again. Somebody who comes back after that
may go on, and does not count, unless nobody else has finished there.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ecsuite.grammars.words import stream
from ecsuite.people.database import Database, Row
from ecsuite.people.game import TEST
from ecsuite.people.objects import Codes, letters_of, make_codes
from ecsuite.people.study import Study


@dataclass(frozen=True, kw_only=True, slots=True)
class Chain:
    """One chain, and who counts in it."""

    dataset: str
    grammar: str
    number: int
    """From 1, among those of its dataset and grammar."""
    counted: Mapping[int, Row]
    """By generation, the participant who counts; one who has withdrawn is missing."""
    at_work: int
    """Participants whose generation nobody has finished, and who were seen lately."""

    @property
    def name(self) -> str:
        """What stands for it in tables."""
        return chain_name(self.dataset, self.grammar, self.number)

    @property
    def next_generation(self) -> int:
        """The generation whose place is to be given next."""
        return max(self.counted, default=0) + 1


def chain_name(dataset: str, grammar: str, number: int) -> str:
    """What stands for a chain in tables and names of files."""
    return f"{dataset}_{grammar}_{number}"


def read_chains(study: Study, database: Database, now: float) -> list[Chain]:
    """The chains of a study in their order; `now` is in seconds since 1970."""
    rows: dict[tuple[str, str, int], list[Row]] = {}
    for row in database.rows_of_chains():
        rows.setdefault((row["dataset"], row["grammar"], row["chain"]), []).append(row)
    chains = []
    for dataset, grammar in study.conditions:
        for number in range(1, study.chains + 1):
            those = rows.get((dataset, grammar, number), [])
            counted = _lineage(
                [row for row in those if row["ended_at"] is not None and not row["num_failed"]]
            )
            following = max(counted, default=0) + 1
            at_work = sum(
                row["generation"] == following and row["ended_at"] is None and study.keeps_place(row, now)
                for row in those
            )
            chains.append(
                Chain(dataset=dataset, grammar=grammar, number=number, counted=counted, at_work=at_work)
            )
    return chains


def _lineage(finished: Sequence[Row]) -> dict[int, Row]:
    """By generation, those from whom the last generation descends: the first who finished there, and teachers."""
    found: dict[int, Row] = {}
    row = _last(finished)
    while row is not None:
        generation, teacher = row["generation"], row["teacher"]
        found[generation] = row
        earlier = (other for other in finished if other["generation"] < generation)
        row = next((other for other in earlier if other["id"] == teacher), None)
        if row is None:  # who taught has withdrawn
            row = _last([other for other in finished if other["generation"] < generation - 1])
    return found


def _last(finished: Sequence[Row]) -> Row | None:
    """The first who finished the last generation."""
    return min(finished, key=lambda row: (-row["generation"], row["ended_at"]), default=None)


class Chains:
    """The places of a study's chains.

    Args:
        study: The study.
        database: Its answers.
    """

    def __init__(self, study: Study, database: Database) -> None:
        self.study, self.database = study, database

    def free(self, now: float) -> list[dict[str, Any]] | None:
        """The places at which nobody is, those of the shortest chains first, as columns of a participant.

        Args:
            now: Seconds since 1970.

        Returns:
            None if all chains have all generations.
        """
        chains = read_chains(self.study, self.database, now)
        going_on = [chain for chain in chains if chain.next_generation <= self.study.generations]
        if not going_on:
            return None
        free = sorted(
            (chain for chain in going_on if not chain.at_work), key=lambda chain: chain.next_generation
        )
        return [self._place(chain) for chain in free]

    def _place(self, chain: Chain) -> dict[str, Any]:
        generation = chain.next_generation
        teacher = chain.counted.get(generation - 1)
        language = first_codes(self.study, chain).texts if teacher is None else self._typed_by(teacher)
        return {
            "dataset": chain.dataset,
            "grammar": chain.grammar,
            "chain": chain.number,
            "generation": generation,
            "teacher": None if teacher is None else teacher["id"],
            "taught": json.dumps(language),
        }

    def _typed_by(self, teacher: Row) -> list[str]:
        codes = typed_codes(self.database.answers(teacher["id"]))
        return [codes[thing] for thing in sorted(codes)]


def typed_codes(answers: Sequence[Row]) -> dict[int, str]:
    """By object, the code that a participant typed in the test."""
    return {answer["thing"]: letters_of(answer["typed"]) for answer in answers if answer["kind"] == TEST}


def first_codes(study: Study, chain: Chain) -> Codes:
    """The codes of a chain's first language, from its grammar."""
    seed = int(stream(study.seed, f"chain {chain.name}").integers(2**31))
    return make_codes(chain.dataset, chain.grammar, seed)
