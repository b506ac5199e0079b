"""The languages of a chain, generation by generation, as corpora, and how they change."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from rapidfuzz.distance import Levenshtein

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics import find_metric
from ecsuite.eval.metrics.score import Options
from ecsuite.eval.results.sources import GRAMMAR
from ecsuite.people.chains import Chain, first_codes, typed_codes
from ecsuite.people.database import Database
from ecsuite.people.objects import COLOURS, DATASETS, SHAPES
from ecsuite.people.study import Study
from ecsuite.runtime.ragged import Ragged

NUM_LETTERS = 26
LETTERS = ("", *(chr(ord("a") + number) for number in range(NUM_LETTERS)))
"""Symbols of what people type, and their names; no message has the first, 0."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Generation:
    """The language of a generation."""

    chain: Chain
    number: int
    """0: the first language, of a grammar."""
    participant: int | None
    """Who typed it; None for the first language."""
    codes: tuple[str, ...]
    """By object."""

    @property
    def name(self) -> str:
        """What stands for it in names of files."""
        return f"{self.chain.name}_g{self.number:02}"

    def corpus(self, study: Study) -> Corpus:
        """The codes of all objects: letters as ids from 1 (`a`); meanings are colour and shape."""
        objects = DATASETS[self.chain.dataset]
        return Corpus(
            Ragged.from_rows([letter_ids(code) for code in self.codes]),
            meanings=np.array([objects.values(thing) for thing in range(objects.num_objects)]),
            attribute_names=("colour", "shape"),
            symbol_names=LETTERS,
            **object_concepts(self.chain.dataset, range(objects.num_objects)),
            metadata={
                "speaker": GRAMMAR if self.participant is None else study.speakers[0],
                "participant": None if self.participant is None else f"P{self.participant:03}",
                "chain": self.chain.name,
                "generation": self.number,
                "grammar": self.chain.grammar,
                "dataset": self.chain.dataset,
                "vocab_size": NUM_LETTERS,
            },
        )


def letter_ids(letters: str) -> list[int]:
    """Letters from a to z as ids from 1."""
    return [ord(letter) - ord("a") + 1 for letter in letters]


def object_concepts(dataset: str, things: Any) -> dict[str, Any]:
    """The concepts of objects, such as `colour=red`, as fields of a corpus."""
    values = [DATASETS[dataset].values(thing) for thing in things]
    names = [f"colour={colour}" for colour in COLOURS] + [f"shape={shape}" for shape in SHAPES]
    rows = [[colour, len(COLOURS) + shape] for colour, shape in values]
    return {"concepts": Ragged.from_rows(rows), "concept_names": tuple(names)}


def generations(study: Study, database: Database, chain: Chain) -> Iterator[Generation]:
    """The languages of a chain from the first on; that of a participant who has withdrawn is missing."""
    yield Generation(chain=chain, number=0, participant=None, codes=first_codes(study, chain).texts)
    for number, row in sorted(chain.counted.items()):
        codes = typed_codes(database.answers(row["id"]))
        typed = tuple(codes[thing] for thing in sorted(codes))
        yield Generation(chain=chain, number=number, participant=row["id"], codes=typed)


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """One generation of a chain in numbers."""

    dataset: str
    grammar: str
    chain: str
    generation: int
    topsim: float | None
    """Topographic similarity; None where it is undefined, as where all codes are equal."""
    topsim_by_chance: float | None
    """Its mean over shuffled meanings."""
    error: float | None
    """Transmission error: edit distance from what was taught, divided by the longer length, mean over all objects
    (Kirby et al. 2008); None of the first language, and after a participant who has withdrawn."""
    num_codes: int
    """Different codes."""

    def as_json(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self)


def measured(study: Study, languages: list[Generation]) -> list[Measured]:
    """The generations of one chain in numbers."""
    topsim, found = find_metric("topsim"), []
    before: Generation | None = None
    for each in languages:
        (score,) = topsim(each.corpus(study), Options())
        error = None
        if before is not None and before.number == each.number - 1:
            pairs = zip(before.codes, each.codes, strict=True)
            error = float(np.mean([Levenshtein.normalized_distance(*pair) for pair in pairs]))
        found.append(
            Measured(
                dataset=each.chain.dataset,
                grammar=each.chain.grammar,
                chain=each.chain.name,
                generation=each.number,
                topsim=score.value,
                topsim_by_chance=None if score.chance is None else score.chance.level,
                error=error,
                num_codes=len(set(each.codes)),
            )
        )
        before = each
    return found
