"""Studies of codes: the game Secret Spy Codes, in which a participant learns a language of a grammar.

The protocol `published` reproduces the paper's program: objects are unlocked in fixed order, red circle first, and the
held-out objects are the next locked objects. Only the first of the three held-out objects of `synth` has a colour that
was shown before, so that at most one can be answered from the parts of other codes. `balanced` holds out three objects
with three different colours and shapes, and the first three unlocked objects show these colours and shapes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ecsuite.corpus import Corpus
from ecsuite.grammars.words import stream
from ecsuite.people.kinds import (
    ATTENTION,
    HELD_OUT,
    TRAINING,
    ParticipantGame,
    Question,
    Record,
    Shown,
    StudyKind,
    letter_ids,
    object_concepts,
)
from ecsuite.people.objects import COLOURS, DATASETS, SHAPES, Codes, Dataset, letters_of, make_codes
from ecsuite.people.pictures import example_picture, panel_picture
from ecsuite.runtime.errors import look_up
from ecsuite.runtime.ragged import Ragged

if TYPE_CHECKING:
    from ecsuite.eval.views.console import Report

NUM_EXAMPLES = 50
NUM_HELD_OUT = 3
FIRST_AVAILABLE = 2
"""Number of objects that are unlocked at the start, and the minimum in the panel."""
EXAMPLES_AN_OBJECT = 8
"""Number of examples after which one more object is unlocked."""
VERSION = 1
"""Incremented when the same seed gives a different schedule."""
BALANCED, PUBLISHED = "balanced", "published"
"""The protocols."""
ATTENTION_WORDS = ("lamp", "river", "stone", "cloud", "garden", "window")
QUIZ = {
    "what_matters": Question(
        text="What decides the code of a picture?",
        choices=("its colour and its shape", "its size", "its rotation"),
        right="its colour and its shape",
    ),
    "where_codes": Question(
        text="Where can you look up the codes of objects that you have unlocked?",
        choices=("under Training", "nowhere", "in the debriefing"),
        right="under Training",
    ),
    "points": Question(
        text="You have five objects. How many points does a right answer give?",
        choices=("one", "four", "ten"),
        right="four",
    ),
}
"""Questions before the game of `balanced`, by name."""
TRIAL_WORDS = {
    "participant": "The participant, P001 and so on.",
    "step": "Number of the step, from 0; the attention check is a step.",
    "example": "Number of the example, from 0; for the attention check, the number of the next example.",
    "kind": "training (an unlocked object), held_out (an object that is never unlocked) or attention.",
    "colour": "Colour of the object; empty in the attention check.",
    "shape": "Shape of the object.",
    "num_available": "Number of unlocked objects when the example was shown.",
    "num_looks": "Number of times that the training panel was opened during the example.",
    "typed": "The answer.",
    "code": "The right code.",
    "is_right": "Whether the answer is right.",
    "points": "Points given.",
    "shown_after": "Seconds from the participant's start to this step.",
    "answered_after": "Seconds from the participant's start to the answer, by the server's clock.",
    "response_ms": "Milliseconds from the picture to the answer, measured by the page; empty if not measured.",
}
"""Columns of `trials.csv` and keys of `trials.json`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ParticipantSchedule:
    """The schedule of one participant's game."""

    order: tuple[int, ...]
    """All objects in the order of unlocking, followed by the held-out objects."""
    held_out: Mapping[int, int]
    """Position of the held-out object by example, from 0: in `order` (`balanced`), or after the unlocked objects
    (`published`)."""
    attention: int | None
    """Index of the example after the attention check; None without a check."""


@lru_cache(maxsize=4096)
def make_schedule(protocol: str, dataset: str, seed: int) -> ParticipantSchedule:
    """Make the schedule of a game; a pure function of its arguments.

    Raises:
        ConfigError: If a name is unknown.
    """
    look_up("protocol", protocol, dict.fromkeys((BALANCED, PUBLISHED)))
    chosen = look_up("dataset", dataset, DATASETS)
    if protocol == PUBLISHED:
        held_out = {29: 0, 39: 1, 49: 2}
        return ParticipantSchedule(order=tuple(range(chosen.num_objects)), held_out=held_out, attention=None)
    rng, num_values = stream(seed, "schedule"), chosen.geometry.num_values
    colours, shapes = (rng.permutation(num_values)[:NUM_HELD_OUT] for _ in range(2))
    first = [int(colours[k] * num_values + shapes[k]) for k in range(NUM_HELD_OUT)]
    last = [int(colours[k] * num_values + shapes[(k + 1) % NUM_HELD_OUT]) for k in range(NUM_HELD_OUT)]
    others = [
        int(meaning) for meaning in rng.permutation(chosen.num_objects) if meaning not in {*first, *last}
    ]
    examples = [int(rng.integers(start, start + 10)) for start in (20, 30, 40)]
    positions = chosen.num_objects - NUM_HELD_OUT + rng.permutation(NUM_HELD_OUT)
    return ParticipantSchedule(
        order=(*first, *others, *last),
        held_out=dict(zip(examples, map(int, positions), strict=True)),
        attention=int(rng.choice([example for example in range(12, 45) if example not in examples])),
    )


@dataclass(frozen=True, kw_only=True)
class CodesGame(ParticipantGame):
    """One participant's game of codes."""

    grammar: str
    dataset: str
    protocol: str
    seed: int
    first_available = FIRST_AVAILABLE
    num_examples = NUM_EXAMPLES
    has_pictures = True

    @cached_property
    def schedule(self) -> ParticipantSchedule:
        """The order of objects and examples."""
        return make_schedule(self.protocol, self.dataset, self.seed)

    @cached_property
    def codes(self) -> Codes:
        """The codes of all objects."""
        return make_codes(self.dataset, self.grammar, self.seed)

    @cached_property
    def order(self) -> tuple[int, ...]:
        """All objects in the order of unlocking, followed by the held-out objects."""
        return self.schedule.order

    @cached_property
    def objects(self) -> Dataset:
        """The objects."""
        return DATASETS[self.dataset]

    @property
    def signature(self) -> str:
        """Everything that determines the game, except the participant's actions."""
        return f"{self.codes.signature}|dataset:{self.dataset}|protocol:{self.protocol},v:{VERSION}"

    @cached_property
    def max_available(self) -> int:
        """Number of objects that can be unlocked."""
        return len(self.order) - NUM_HELD_OUT

    @cached_property
    def num_steps(self) -> int:
        """Number of examples, plus the attention check."""
        return NUM_EXAMPLES + (self.schedule.attention is not None)

    def example_of(self, step: int) -> int:
        """Index of a step's example, from 0; for the attention check, of the next example."""
        attention = self.schedule.attention
        return step - (attention is not None and step > attention)

    def shown(self, step: int, num_available: int) -> Shown:
        """Content of a step for a participant with this number of unlocked objects."""
        schedule, example = self.schedule, self.example_of(step)
        if step == schedule.attention:
            return Shown(kind=ATTENTION, meaning=-1)
        if example in schedule.held_out:
            position = schedule.held_out[example] + (num_available if self.protocol == PUBLISHED else 0)
            return Shown(kind=HELD_OUT, meaning=self.order[position])
        position = int(stream(self.seed, f"example{example}").integers(num_available))
        return Shown(kind=TRAINING, meaning=self.order[position])

    def available_after(self, step: int, shown: Shown, num_available: int) -> int:
        """Number of unlocked objects after a step.

        The published program counts started examples, so that it unlocks objects one example early.
        """
        num_begun = self.example_of(step) + 1 + (self.protocol == PUBLISHED)
        more = shown.kind != ATTENTION and num_begun % EXAMPLES_AN_OBJECT == 0
        return min(num_available + more, self.max_available)

    def name_of(self, meaning: int) -> str:
        """Description of an object in words."""
        return self.objects.description(meaning)

    def right_answer(self, step: int, shown: Shown) -> str:
        """The right code, or the word of the attention check."""
        if shown.kind == ATTENTION:
            return ATTENTION_WORDS[self.seed % len(ATTENTION_WORDS)]
        return self.codes.texts[shown.meaning]

    def is_right(self, step: int, shown: Shown, typed: str) -> bool:
        """Whether an answer is right, ignoring case and spaces."""
        return "".join(typed.split()).lower() == self.right_answer(step, shown)

    def feedback(self, step: int, shown: Shown, typed: str) -> str:
        """The right code after a wrong answer to an unlocked object in `balanced`; otherwise empty."""
        if self.protocol == PUBLISHED or shown.kind != TRAINING or self.is_right(step, shown, typed):
            return ""
        return f"The code is {self.right_answer(step, shown)}."

    def points(self, num_available: int) -> int:
        """Points for a right answer, given the number of unlocked objects when the example was shown (section K.2)."""
        return num_available - 1

    def view(self, step: int, shown: Shown, names_objects: bool) -> dict[str, Any]:
        """Content of a step for the page, without the answer and without whether the object is held out."""
        if shown.kind == ATTENTION:
            return {"kind": "attention", "word": self.right_answer(step, shown)}
        return {"kind": "code", "name": self.name_of(shown.meaning) if names_objects else None}

    def panel(self, num_available: int, names_objects: bool) -> list[dict[str, Any]]:
        """The unlocked objects with their codes."""
        return [
            {"code": self.codes.texts[meaning], "name": self.name_of(meaning) if names_objects else None}
            for meaning in self.order[:num_available]
        ]

    def step_picture(self, step: int, shown: Shown) -> bytes:
        """Picture of a step as PNG."""
        return example_picture(self.objects, shown.meaning, self.seed, step)

    def panel_picture(self, position: int) -> bytes:
        """Picture of the unlocked object at a position of the panel as PNG."""
        return panel_picture(self.objects, self.order[position])


_cached_game = lru_cache(maxsize=4096)(CodesGame)


class CodesStudy(StudyKind):
    """A study of codes, as in the ICY paper."""

    absent_columns = ("chain", "generation", "counted", "pair")
    trial_words = TRIAL_WORDS

    @property
    def quiz(self) -> Mapping[str, Question]:
        """Questions of the quiz before the game; empty for `published`, since the paper's program has no quiz."""
        return QUIZ if self.study.protocol == BALANCED else {}

    def game(self, row: Mapping[str, Any]) -> CodesGame:
        """Game of a participant, given the participant's database row."""
        return _cached_game(
            grammar=row["grammar"], dataset=row["dataset"], protocol=row["protocol"], seed=row["seed"]
        )

    def extra_columns(self, record: Record) -> dict[str, Any]:
        """The reason of each rule for excluding a participant; None: included."""
        from ecsuite.people.codes_report import RULES

        return {f"left_out_{name}": reason(record, self.study) for name, (_, reason) in RULES.items()}

    def trials(self, record: Record) -> list[dict[str, Any]]:
        """The answers of a participant as rows of `trials.csv`."""
        start, game, rows = record.row["started_at"], self.game(record.row), []
        for answer in record.answers:
            is_attention = answer["kind"] == ATTENTION
            colour, shape = (None, None) if is_attention else game.objects.values(answer["thing"])
            entry = {
                **answer,
                "participant": record.name,
                "colour": None if colour is None else tuple(COLOURS)[colour],
                "shape": None if shape is None else SHAPES[shape],
                "code": None if is_attention else game.codes.texts[answer["thing"]],
                "is_right": bool(answer["is_right"]),
                "shown_after": round(answer["shown_at"] - start, 3),
                "answered_after": round(answer["answered_at"] - start, 3),
            }
            rows.append({name: entry[name] for name in TRIAL_WORDS})
        return rows

    def corpora(self, records: Sequence[Record]) -> dict[str, Corpus]:
        """Corpora of the typed codes, by participant."""
        corpora = {record.name: self.corpus(record) for record in records}
        return {name: corpus for name, corpus in corpora.items() if corpus is not None}

    def corpus(self, record: Record) -> Corpus | None:
        """Corpus of the codes that a participant typed: one message per example, letters as ids from 1 (`a`).

        Other characters than letters are removed, and answers without letters are left out.

        Returns:
            None if nothing was typed. Meanings are colour and shape; the column `split` is `train` or `held_out`, and
            `is_right` 1 for a right answer.
        """
        rows = [
            (answer, letter_ids(letters_of(answer["typed"])))
            for answer in record.answers
            if answer["kind"] != ATTENTION
        ]
        rows = [(answer, message) for answer, message in rows if message]
        if not rows:
            return None
        objects = DATASETS[record.row["dataset"]]
        splits = ["held_out" if answer["kind"] == HELD_OUT else "train" for answer, _ in rows]
        return Corpus(
            Ragged.from_rows([message for _, message in rows]),
            meanings=np.array([objects.values(answer["thing"]) for answer, _ in rows]),
            **object_concepts(objects.name, [answer["thing"] for answer, _ in rows]),
            columns={
                "split": np.array(splits),
                "is_right": np.array([answer["is_right"] for answer, _ in rows]),
            },
            metadata={
                "speaker": self.study.speakers[0],
                "participant": record.name,
                "grammar": record.grammar,
                "dataset": objects.name,
                "protocol": record.row["protocol"],
                "seed": record.row["seed"],
                "vocab_size": objects.geometry.vocab_size,
            },
        )

    def report(self, records: Sequence[Record]) -> "Report":
        """Means, learning curves and tests between languages by each inclusion rule, with the paper's figures."""
        from ecsuite.people.codes_report import codes_report

        return codes_report(self, records)
