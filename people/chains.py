"""Studies with transmission chains: each participant learns some of the codes that the previous one typed in the test.

Kirby, Cornish & Smith (2008, https://doi.org/10.1073/pnas.0707835105). The position of a participant who leaves, or
fails an attention check, is assigned again. A participant who returns later may continue, and is included only if
nobody else has finished at this position.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rapidfuzz.distance import Levenshtein

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics import find_metric
from ecsuite.eval.metrics.score import Options
from ecsuite.eval.results.sources import GRAMMAR
from ecsuite.grammars.words import stream
from ecsuite.people.codes import ATTENTION_WORDS, QUIZ
from ecsuite.people.database import Database, RefusedError, Row
from ecsuite.people.kinds import (
    ATTENTION,
    FULL,
    LANGUAGE,
    LETTERS,
    TEST,
    TRAINING,
    Mean,
    ParticipantGame,
    Question,
    Queue,
    Record,
    Shown,
    StudyKind,
    letter_ids,
    mean_cell,
    mean_notes,
    mean_of,
    object_concepts,
)
from ecsuite.people.objects import DATASETS, Codes, Dataset, letters_of, make_codes
from ecsuite.people.pictures import example_picture, panel_picture
from ecsuite.people.study import CHAIN, Study
from ecsuite.runtime.ragged import Ragged
from ecsuite.tables.cells import INTERVAL, of_some
from ecsuite.tables.table import Table, number_column, row_of

if TYPE_CHECKING:
    from ecsuite.eval.views.console import Report

VERSION = 1
"""Incremented when the same seed gives a different game."""
MAX_CODE = 20
"""Maximum length of a typed code in letters."""
MEASURES = {"topsim": ("topsim", 2), "error": ("error", 2), "num_codes": ("codes", 1)}
"""Heading and number of digits of each measure."""
LIMITS = {"topsim": (-1.0, 1.0), "error": (0.0, 1.0)}
"""Least and greatest possible value of measures."""
CHAIN_QUIZ = {
    "what_matters": QUIZ["what_matters"],
    "where_codes": Question(
        text="Where can you look up codes at the beginning?",
        choices=("under Training", "nowhere", "in the debriefing"),
        right="under Training",
    ),
    "test": Question(
        text="What will you do in the test?",
        choices=(
            "choose pictures",
            "type a code for every picture, also for new ones",
            "type only codes I have seen",
        ),
        right="type a code for every picture, also for new ones",
    ),
}
"""Questions before the game, by name."""


@dataclass(frozen=True, kw_only=True)
class ChainGame(ParticipantGame):
    """One participant's game in a chain."""

    dataset: str
    """One of `DATASETS`."""
    language: tuple[str, ...]
    """The codes of all objects."""
    num_seen: int
    """Maximum number of objects that are taught."""
    num_passes: int
    """Number of times that each taught object is asked before the test."""
    drops_homonyms: bool
    """Whether only one of the objects with the same code is taught."""
    seed: int

    @property
    def objects(self) -> Dataset:
        """The objects."""
        return DATASETS[self.dataset]

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The objects that are taught, in the order of the training panel."""
        order, chosen = stream(self.seed, "seen").permutation(self.objects.num_objects), dict[str, int]()
        for meaning in map(int, order):
            chosen.setdefault(self.language[meaning] if self.drops_homonyms else str(meaning), meaning)
        return tuple(chosen.values())[: self.num_seen]

    @cached_property
    def steps(self) -> tuple[Shown, ...]:
        """All steps: passes over the taught objects, all objects, and an attention check in the middle of each part."""
        passes = [
            stream(self.seed, f"pass{number}").permutation(self.order) for number in range(self.num_passes)
        ]
        taught = [Shown(kind=TRAINING, meaning=int(meaning)) for order in passes for meaning in order]
        all_objects = stream(self.seed, "test").permutation(self.objects.num_objects)
        tested = [Shown(kind=TEST, meaning=int(meaning)) for meaning in all_objects]
        for part in (taught, tested):
            part.insert(len(part) // 2, Shown(kind=ATTENTION, meaning=-1))
        return (*taught, *tested)

    @property
    def signature(self) -> str:
        """Everything that determines the game, except the language and the participant's actions."""
        sizes = f"seen:{self.num_seen},passes:{self.num_passes},homonyms:{'dropped' if self.drops_homonyms else 'kept'}"
        return f"dataset:{self.dataset}|protocol:{CHAIN},{sizes},v:{VERSION}|seed:{self.seed}"

    @property
    def first_available(self) -> int:
        """Number of objects in the training panel during the first pass."""
        return len(self.order)

    @property
    def max_available(self) -> int:
        """Number of objects in the training panel; none are unlocked later."""
        return len(self.order)

    @property
    def num_examples(self) -> int:
        """Number of examples, without attention checks."""
        return self.num_passes * len(self.order) + self.objects.num_objects

    @property
    def num_steps(self) -> int:
        """Number of examples and attention checks."""
        return len(self.steps)

    def example_of(self, step: int) -> int:
        """Index of a step's example, from 0; for an attention check, of the next example."""
        return sum(shown.kind != ATTENTION for shown in self.steps[:step])

    def shown(self, step: int, num_available: int) -> Shown:
        """Content of a step."""
        return self.steps[step]

    def available_after(self, step: int, shown: Shown, num_available: int) -> int:
        """Number of objects in the panel: all taught objects in the first pass, none after it."""
        return len(self.order) if self.example_of(step + 1) < len(self.order) else 0

    def name_of(self, meaning: int) -> str:
        """Description of an object in words."""
        return self.objects.description(meaning)

    def right_answer(self, step: int, shown: Shown) -> str:
        """The right code; in the test, the code that the previous participant typed."""
        if shown.kind == ATTENTION:
            return ATTENTION_WORDS[(self.seed + step) % len(ATTENTION_WORDS)]
        return self.language[shown.meaning]

    def is_right(self, step: int, shown: Shown, typed: str) -> bool:
        """Whether an answer is right, ignoring case and characters other than letters."""
        return letters_of(typed) == self.right_answer(step, shown)

    def feedback(self, step: int, shown: Shown, typed: str) -> str:
        """The right code after a wrong answer to a taught object; empty in the test."""
        is_wrong = shown.kind == TRAINING and not self.is_right(step, shown, typed)
        return f"The code is {self.right_answer(step, shown)}." if is_wrong else ""

    def view(self, step: int, shown: Shown, names_objects: bool) -> dict[str, Any]:
        """Content of a step for the page."""
        if shown.kind == ATTENTION:
            return {"kind": "attention", "word": self.right_answer(step, shown)}
        kind = "test" if shown.kind == TEST else "code"
        name = self.name_of(shown.meaning) if names_objects else None
        return {"kind": kind, "name": name, "max_length": MAX_CODE}

    def panel(self, num_available: int, names_objects: bool) -> list[dict[str, Any]]:
        """The taught objects with their codes, in the first pass."""
        return [
            {"code": self.language[meaning], "name": self.name_of(meaning) if names_objects else None}
            for meaning in self.order[:num_available]
        ]

    def step_picture(self, step: int, shown: Shown) -> bytes:
        """Picture of a step as PNG."""
        return example_picture(self.objects, shown.meaning, self.seed, step)

    def panel_picture(self, position: int) -> bytes:
        """Picture of the taught object at a position of the panel as PNG."""
        return panel_picture(self.objects, self.order[position])


@dataclass(frozen=True, kw_only=True, slots=True)
class Chain:
    """A chain and its included participants."""

    dataset: str
    grammar: str
    number: int
    """Number from 1 among the chains with the same dataset and grammar."""
    counted: Mapping[int, Row]
    """The included participant of each generation, without withdrawn participants."""
    at_work: int
    """Number of active participants in the next generation."""

    @property
    def name(self) -> str:
        """Name in tables and of files."""
        return f"{self.dataset}_{self.grammar}_{self.number}"

    @property
    def next_generation(self) -> int:
        """The first generation without an included participant."""
        return max(self.counted, default=0) + 1


def read_chains(study: Study, database: Database, now: float) -> list[Chain]:
    """Read the chains of a study; `now` is in seconds since 1970."""
    rows: dict[tuple[str, str, int], list[Row]] = {}
    for row in database.rows_of_chains():
        rows.setdefault((row["dataset"], row["grammar"], row["chain"]), []).append(row)
    chains = []
    for dataset, grammar in study.conditions:
        for number in range(1, study.chains + 1):
            rows_of = rows.get((dataset, grammar, number), [])
            counted = _lineage(
                [row for row in rows_of if row["ended_at"] is not None and not row["num_failed"]]
            )
            following = max(counted, default=0) + 1
            at_work = sum(
                row["generation"] == following and row["ended_at"] is None and study.keeps_place(row, now)
                for row in rows_of
            )
            chains.append(
                Chain(dataset=dataset, grammar=grammar, number=number, counted=counted, at_work=at_work)
            )
    return chains


def _lineage(finished: Sequence[Row]) -> dict[int, Row]:
    """Lineage by generation: the first participant who finished the last generation, the teacher, and so on."""
    lineage: dict[int, Row] = {}
    row = _last(finished)
    while row is not None:
        generation, teacher = row["generation"], row["teacher"]
        lineage[generation] = row
        earlier = (other for other in finished if other["generation"] < generation)
        row = next((other for other in earlier if other["id"] == teacher), None)
        if row is None:  # the teacher has withdrawn
            row = _last([other for other in finished if other["generation"] < generation - 1])
    return lineage


def _last(finished: Sequence[Row]) -> Row | None:
    return min(finished, key=lambda row: (-row["generation"], row["ended_at"]), default=None)


def typed_codes(answers: Sequence[Row]) -> tuple[str, ...]:
    """Codes that a participant typed in the test, by object."""
    codes = {answer["thing"]: letters_of(answer["typed"]) for answer in answers if answer["kind"] == TEST}
    return tuple(codes[meaning] for meaning in sorted(codes))


def first_codes(study: Study, chain: Chain) -> Codes:
    """Codes of a chain's first language, generated by its grammar."""
    seed = int(stream(study.seed, f"chain {chain.name}").integers(2**31))
    return make_codes(chain.dataset, chain.grammar, seed)


@dataclass(frozen=True, kw_only=True, slots=True)
class Generation:
    """The language of a generation."""

    chain: Chain
    number: int
    """Number of the generation; 0: the first language, generated by a grammar."""
    participant: int | None
    """Number of the participant who typed the codes; None for the first language."""
    codes: tuple[str, ...]
    """Codes by object."""

    @property
    def name(self) -> str:
        """Name of files."""
        return f"{self.chain.name}_g{self.number:02}"

    def corpus(self, study: Study) -> Corpus:
        """Corpus of the codes of all objects: letters as ids from 1 (`a`); meanings are colour and shape."""
        objects = DATASETS[self.chain.dataset]
        return Corpus(
            Ragged.from_rows([letter_ids(code) for code in self.codes]),
            meanings=np.array([objects.values(meaning) for meaning in range(objects.num_objects)]),
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
                "vocab_size": len(LETTERS) - 1,
            },
        )


def generations(study: Study, database: Database, chain: Chain) -> Iterator[Generation]:
    """Yield the languages of a chain in order, without the languages of withdrawn participants."""
    yield Generation(chain=chain, number=0, participant=None, codes=first_codes(study, chain).texts)
    for number, row in sorted(chain.counted.items()):
        typed = typed_codes(database.answers(row["id"]))
        yield Generation(chain=chain, number=number, participant=row["id"], codes=typed)


@dataclass(frozen=True, kw_only=True, slots=True)
class MeasuredGeneration:
    """Scores of a generation of a chain."""

    dataset: str
    grammar: str
    chain: str
    generation: int
    topsim: float | None
    """Topographic similarity; None if undefined, for example if all codes are equal."""
    topsim_by_chance: float | None
    """Mean topographic similarity over permutations of the meanings."""
    error: float | None
    """Transmission error: edit distance to the previous generation's code, divided by the longer length, mean over all
    objects (Kirby et al. 2008); None for the first language, and if the previous participant has withdrawn."""
    num_codes: int
    """Number of distinct codes."""


def measure(study: Study, languages: list[Generation]) -> list[MeasuredGeneration]:
    """Compute the scores of the generations of one chain."""
    topsim, measured = find_metric("topsim"), []
    before: Generation | None = None
    for each in languages:
        (score,) = topsim(each.corpus(study), Options())
        error = None
        if before is not None and before.number == each.number - 1:
            pairs = zip(before.codes, each.codes, strict=True)
            error = float(np.mean([Levenshtein.normalized_distance(*pair) for pair in pairs]))
        measured.append(
            MeasuredGeneration(
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
    return measured


class ChainsStudy(StudyKind):
    """A study with chains of participants."""

    quiz = CHAIN_QUIZ
    absent_columns = ("pair", "left_out_published", "left_out_preregistered", "accuracy_held_out")

    def game(self, row: Mapping[str, Any]) -> ChainGame:
        """Game of a participant, given the participant's database row."""
        return ChainGame(
            dataset=row["dataset"],
            language=tuple(json.loads(row["taught"])),
            num_seen=self.study.seen,
            num_passes=self.study.passes,
            drops_homonyms=self.study.drops_homonyms,
            seed=row["seed"],
        )

    def place(self, queue: Queue, token: str, number: int, now: float) -> dict[str, Any] | None:
        """Assign the next participant to the shortest free chain, as database columns; None: the visitor has to wait.

        Args:
            queue: Waiting visitors.
            token: Token of the visitor.
            number: Number of the participant.
            now: Seconds since 1970.

        Raises:
            RefusedError: If all chains are complete.
        """
        chains = read_chains(self.study, self.database, now)
        unfinished = [chain for chain in chains if chain.next_generation <= self.study.generations]
        if not unfinished:
            queue.leave(token)
            raise RefusedError(FULL)
        free = sorted(
            (chain for chain in unfinished if not chain.at_work), key=lambda chain: chain.next_generation
        )
        queue.join(token)
        if len(queue.before(token)) >= len(free):
            return None
        queue.leave(token)
        chain, generation = free[0], free[0].next_generation
        teacher = chain.counted.get(generation - 1)
        if teacher is None:
            language = first_codes(self.study, chain).texts
        else:
            language = typed_codes(self.database.answers(teacher["id"]))
        return {
            "dataset": chain.dataset,
            "grammar": chain.grammar,
            "chain": chain.number,
            "generation": generation,
            "teacher": None if teacher is None else teacher["id"],
            "taught": json.dumps(language),
        }

    def counted(self, records: Sequence[Record]) -> set[int]:
        """Numbers of the participants in the lineage of a chain's last generation."""
        chains = read_chains(self.study, self.database, now=0.0)
        return {row["id"] for chain in chains for row in chain.counted.values()}

    def extra_columns(self, record: Record) -> dict[str, Any]:
        """Columns with the chain and the generation."""
        return {"chain": record.chain, "generation": record.row["generation"]}

    def corpora(self, records: Sequence[Record]) -> dict[str, Corpus]:
        """Corpora of all generations of all chains, by name."""
        chains = read_chains(self.study, self.database, now=0.0)
        languages = [each for chain in chains for each in generations(self.study, self.database, chain)]
        return {each.name: each.corpus(self.study) for each in languages}

    def report(self, records: Sequence[Record]) -> "Report":
        """Report topographic similarity and transmission error by generation."""
        from ecsuite.eval.views.console import Report

        study, rows = self.study, []
        for chain in read_chains(study, self.database, now=0.0):
            rows += measure(study, list(generations(study, self.database, chain)))
        return Report(
            tables=[chains_table(study, rows, self.simulated_note)],
            notes=(),
            data=self.result({"generations": [asdict(row) for row in rows]}),
            draw=partial(_draw, study, rows),
        )

    def status(self, records: Sequence[Record], now: float) -> tuple[Table, list[dict[str, Any]]]:
        """Progress of each chain: finished and missing generations, and active participants."""
        rows = [
            {
                "dataset": chain.dataset,
                "grammar": chain.grammar,
                "chain": chain.number,
                "finished": chain.next_generation - 1,
                "at_work": chain.at_work,
                "missing": max(0, self.study.generations - chain.next_generation + 1),
            }
            for chain in read_chains(self.study, self.database, now)
        ]
        return self.status_table(rows, f"chains of {self.study.generations} generations"), rows


def chains_table(study: Study, rows: Sequence[MeasuredGeneration], notes: Sequence[str] = ()) -> Table:
    """Table of means over chains by language and generation."""
    columns = [*LANGUAGE, number_column("generation"), number_column("chains")]
    columns += [number_column(name, heading, parts=INTERVAL) for name, (heading, _) in MEASURES.items()]
    by_generation: dict[tuple[str, str, int], list[MeasuredGeneration]] = {}
    for row in rows:
        by_generation.setdefault((row.dataset, row.grammar, row.generation), []).append(row)
    order = {condition: position for position, condition in enumerate(study.conditions)}
    lines, means = [], list[Mean | None]()
    for key, chains in sorted(by_generation.items(), key=lambda each: (order[each[0][:2]], each[0][2])):
        cells = []
        for name, (_, digits) in MEASURES.items():
            values = [float(value) for row in chains if (value := getattr(row, name)) is not None]
            are_shares = LIMITS.get(name) == (0.0, 1.0)
            mean = mean_of(values, are_shares=are_shares) if values else None
            means.append(mean if len(chains) > 1 else None)
            cells.append(of_some(mean_cell(mean, digits, LIMITS.get(name)), len(values), len(chains)))
        lines.append(row_of(*key, len(chains), *cells))
    notes = [
        *mean_notes("mean over chains", "generation 0: the first language", means),
        "n: number of chains in which a figure is defined, if it is undefined in some",
        "error: edit distance to the taught code, divided by the longer length (Kirby et al. 2008); codes: number of "
        "distinct codes",
        *notes,
    ]
    title = f"Study {study.name}: languages of chains, {study.seen} objects taught, all tested"
    return Table(columns=columns, rows=lines, title=title, notes=notes)


def _draw(study: Study, rows: Sequence[MeasuredGeneration], file: Path) -> None:
    """Plot topographic similarity and transmission error over generations, one line per chain."""
    from ecsuite.eval.views.figures.canvas import save
    from ecsuite.eval.views.figures.curves import Curve, curves

    panels = {"topsim": "topographic similarity", "error": "transmission error"}
    simulated = " (simulated)" if study.simulated else ""
    lines = []
    for name, panel in panels.items():
        for chain in dict.fromkeys(row.chain for row in rows):
            numbers = [row.generation for row in rows if row.chain == chain]
            values = [getattr(row, name) for row in rows if row.chain == chain]
            lines.append(Curve(x=numbers, y=values, name=chain, panel=f"{panel}{simulated}"))
    labels = {f"{panel}{simulated}": name for name, panel in panels.items()}
    save(curves(lines, x="generation", y=labels), file)
