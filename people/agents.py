"""Studies with trained agents: a participant is the receiver, who chooses an object, or the sender, who types.

Some objects are unlocked one by one; all other objects are held out, and show whether a participant generalises. A
participant learns from the training panel, and from feedback on each answer. So each held-out object is asked once,
among objects without a known message while there are enough; known messages would rule out candidates.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.corpus import Corpus
from ecsuite.eval.views.figures.canvas import ends, save
from ecsuite.eval.views.figures.curves import Curve, curves
from ecsuite.games.worlds.objects import split_names
from ecsuite.grammars.words import stream
from ecsuite.people.agents_language import AgentsLanguage, TrainedRun, load_run_of_study
from ecsuite.people.codes import NUM_EXAMPLES
from ecsuite.people.database import Database, Row
from ecsuite.people.kinds import (
    HELD_OUT,
    TRAINING,
    Mean,
    ParticipantGame,
    Record,
    Shown,
    StudyKind,
    block_names,
    mean_cell,
    mean_notes,
    mean_of,
)
from ecsuite.people.study import AGENTS, Study
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.ragged import Ragged
from ecsuite.tables.cells import INTERVAL, number
from ecsuite.tables.table import Table, name_column, number_column, row_of

if TYPE_CHECKING:
    from ecsuite.eval.views.console import Report

ROLES = {"receiver": "you choose what the sender means", "sender": "you type, and the receiver chooses"}
"""Roles of a participant, by name."""
FIRST_AVAILABLE, MAX_AVAILABLE = 4, 16
"""Number of objects that are unlocked at the start, and the maximum number."""
EXAMPLES_AN_OBJECT = 4
"""Number of examples after which one more object is unlocked."""
BLOCK, HELD_OUT_A_BLOCK = 10, 4
"""Number of examples per block, and maximum number of examples with held-out objects among them."""
NUM_BLOCKS = NUM_EXAMPLES // BLOCK
VERSION = 2
"""Incremented when the same seed gives a different game."""
Hears = Callable[[Sequence[int]], NDArray[Any]]
"""The receiver: its score of each object for the symbols of a message."""
EXAMPLE_KINDS = {TRAINING: "unlocked", HELD_OUT: "held out"}
"""Names of the kinds of examples in tables."""
AGENTS_TRIAL_WORDS = {
    "participant": "The participant, P001 and so on.",
    "step": "Number of the step, from 0.",
    "example": "Number of the example, from 0.",
    "kind": "training (an object that can be unlocked) or held_out (an object that is never unlocked).",
    "object": "The object in words.",
    "candidates": "The objects to choose from, in their order.",
    "num_available": "Number of unlocked objects when the example was shown.",
    "num_looks": "Number of times that the training panel was opened during the example.",
    "typed": "The answer: the number of an object, from 1 (receiver), or a message (sender).",
    "agents_answer": "The number of the right object (receiver), or the message of the agents' sender (sender).",
    "is_right": "Whether the right object was chosen.",
    "agents_right": "Whether the agents' receiver chooses the right object in the same round.",
    "chance": "Probability of a right guess; of a held-out object, among the candidates that known messages leave.",
    "points": "Points given.",
    "shown_after": "Seconds from the participant's start to this step.",
    "answered_after": "Seconds from the participant's start to the answer, by the server's clock.",
    "response_ms": "Milliseconds from the picture to the answer, measured by the page; empty if not measured.",
}
"""The columns of `trials.csv` and the keys of `trials.json`."""
LANGUAGE_SETTING = "language"
"""Name of the database setting that stores the agents' language."""


@dataclass(frozen=True, kw_only=True)
class AgentsGame(ParticipantGame):
    """One participant's game with trained agents."""

    language: AgentsLanguage
    """Language of the agents."""
    role: str
    """One of `ROLES`."""
    seed: int
    hears: Hears | None = None
    """The receiver; None if no new answers are judged."""
    pictures: Callable[[int], bytes] | None = None
    """The picture of an object as PNG."""

    first_available = FIRST_AVAILABLE
    num_examples = num_steps = NUM_EXAMPLES

    @cached_property
    def has_pictures(self) -> bool:
        """Whether the page shows pictures of objects; otherwise it shows their names."""
        return self.pictures is not None

    @cached_property
    def order(self) -> list[int]:
        """All objects in the order of unlocking, followed by the held-out objects."""
        return [int(meaning) for meaning in stream(self.seed, "order").permutation(len(self.language.names))]

    @cached_property
    def max_available(self) -> int:
        """Number of objects that can be unlocked: at most half of all."""
        return min(MAX_AVAILABLE, len(self.language.names) // 2)

    @property
    def signature(self) -> str:
        """Everything that determines the game, except the participant's actions."""
        return f"{self.language.signature}|role:{self.role}|protocol:{AGENTS},v:{VERSION}"

    @cached_property
    def held_out(self) -> dict[int, int]:
        """The held-out object of each example about one; each is asked once, as feedback teaches its message."""
        never = self.order[self.max_available :]
        number = min(len(never), NUM_BLOCKS * HELD_OUT_A_BLOCK)
        steps = [
            BLOCK * block + int(position)
            for block in range(NUM_BLOCKS)
            for position in np.sort(
                stream(self.seed, f"block{block}").choice(
                    BLOCK, number // NUM_BLOCKS + (block < number % NUM_BLOCKS), replace=False
                )
            )
        ]
        return dict(zip(steps, never, strict=False))

    def shown(self, step: int, num_available: int) -> Shown:
        """Content of a step for a participant with this number of unlocked objects."""
        if step in self.held_out:
            return Shown(kind=HELD_OUT, meaning=self.held_out[step])
        position = int(stream(self.seed, f"example{step}").integers(num_available))
        return Shown(kind=TRAINING, meaning=self.order[position])

    def available_after(self, step: int, shown: Shown, num_available: int) -> int:
        """Number of unlocked objects after a step."""
        return min(num_available + ((step + 1) % EXAMPLES_AN_OBJECT == 0), self.max_available)

    def candidates(self, step: int, shown: Shown) -> list[int]:
        """The objects to choose from, including the target.

        Of a held-out target, the others are held-out objects that no earlier example was about, while there are enough.
        """
        rng, number = stream(self.seed, f"candidates{step}"), self.language.num_candidates - 1
        others = [meaning for meaning in range(len(self.language.names)) if meaning != shown.meaning]
        if shown.kind == HELD_OUT:
            known = {*self.order[: self.max_available], *self._asked_before(step)}
            others = sorted(rng.permutation(others).tolist(), key=lambda meaning: meaning in known)[:number]
        chosen = rng.choice(others, number, replace=False)
        return [int(meaning) for meaning in rng.permutation([shown.meaning, *chosen])]

    def _asked_before(self, step: int) -> set[int]:
        """Held-out objects of earlier examples."""
        return {meaning for at, meaning in self.held_out.items() if at < step}

    def chance(self, step: int, shown: Shown, num_available: int) -> float:
        """Probability of a right guess.

        A receiver who can't read a message about a held-out object guesses among the candidates that are left: unlocked
        objects, and held-out objects of earlier examples, are known to have other messages.
        """
        candidates, symbols = self.candidates(step, shown), self.language.symbols
        if self.role != "receiver" or shown.kind != HELD_OUT:
            return 1 / len(candidates)
        known = {*self.order[:num_available], *self._asked_before(step)}
        left = [each for each in candidates if each not in known or symbols[each] == symbols[shown.meaning]]
        return 1 / len(left)

    def chosen(self, step: int, shown: Shown, typed: str) -> int | None:
        """Object chosen by the receiver: the participant, or the agent if the participant is the sender.

        None if the answer is neither a valid candidate number nor a valid message.
        """
        candidates = self.candidates(step, shown)
        if self.role == "receiver":
            is_number = typed.isascii() and typed.isdigit() and 0 < int(typed) <= len(candidates)
            return candidates[int(typed) - 1] if is_number else None
        symbols = self.language.parse(typed)
        if symbols is None:
            return None
        assert self.hears is not None
        return candidates[int(np.argmax(self.hears(symbols)[candidates]))]

    def agents_chosen(self, step: int, shown: Shown) -> int:
        """Object that the agents' receiver chooses for their sender's message in the same round."""
        candidates = self.candidates(step, shown)
        return candidates[int(np.argmax(np.array(self.language.scores[shown.meaning])[candidates]))]

    def is_right(self, step: int, shown: Shown, typed: str) -> bool:
        """Whether the receiver chose the target."""
        return self.chosen(step, shown, typed) == shown.meaning

    def name_of(self, meaning: int) -> str:
        """Description of an object in words."""
        return self.language.names[meaning]

    def right_answer(self, step: int, shown: Shown) -> str:
        """The agents' answer: the candidate number of the target, or their sender's message."""
        if self.role == "receiver":
            return str(self.candidates(step, shown).index(shown.meaning) + 1)
        return self.language.text(self.language.symbols[shown.meaning])

    def feedback(self, step: int, shown: Shown, typed: str) -> str:
        """Correction after a wrong answer; empty after a right one."""
        chosen, names = self.chosen(step, shown, typed), self.language.names
        if chosen == shown.meaning:
            return ""
        if self.role == "receiver":
            return f"It was number {self.right_answer(step, shown)}: {names[shown.meaning]}."
        understood = "nothing" if chosen is None else names[chosen]
        return f"The receiver understood: {understood}. It was: {names[shown.meaning]}."

    def view(self, step: int, shown: Shown, names_objects: bool) -> dict[str, Any]:
        """Content of a step for the page, without the answer and without whether the object is held out."""
        if self.role == "receiver":
            message = self.language.text(self.language.symbols[shown.meaning])
            choices = [self._name(meaning, names_objects) for meaning in self.candidates(step, shown)]
            return {"kind": "choice", "message": message, "choices": choices}
        language = self.language
        kind = "letters" if language.width == 1 else "syllables"
        count = f"{language.max_len}" if language.min_len else f"1 to {language.max_len}"
        nothing = "" if language.min_len else "; - says nothing"
        letters = f"{language.letter(1)} to {language.letter(language.vocab_size)}"
        return {
            "kind": "message",
            "name": self._name(shown.meaning, names_objects),
            "max_length": language.max_len * language.width,
            "rule": f"{count} of the {kind} {letters}{nothing}",
        }

    def _name(self, meaning: int, names_objects: bool) -> str | None:
        """Name of an object if names are requested or there are no pictures; otherwise None."""
        return self.language.names[meaning] if names_objects or not self.language.drawn_by else None

    def panel(self, num_available: int, names_objects: bool) -> list[dict[str, Any]]:
        """The unlocked objects with the agents' messages."""
        return [
            {
                "code": self.language.text(self.language.symbols[meaning]),
                "name": self._name(meaning, names_objects),
            }
            for meaning in self.order[:num_available]
        ]

    def step_picture(self, step: int, shown: Shown) -> bytes | None:
        """Picture of the sender's object as PNG."""
        return self._picture(shown.meaning) if self.role == "sender" else None

    def choice_picture(self, step: int, shown: Shown, position: int) -> bytes | None:
        """Picture of the receiver's candidate at a position as PNG; None if there is none."""
        candidates = self.candidates(step, shown) if self.role == "receiver" else []
        return self._picture(candidates[position]) if position < len(candidates) else None

    def panel_picture(self, position: int) -> bytes | None:
        """Picture of the unlocked object at a position of the panel as PNG."""
        return self._picture(self.order[position])

    def _picture(self, meaning: int) -> bytes | None:
        return None if self.pictures is None else self.pictures(meaning)

    def response(self, step: int, shown: Shown, typed: str, message: str | None) -> dict[str, str | None]:
        """The columns of a response, with objects instead of candidate numbers."""
        if self.role != "receiver":
            return super().response(step, shown, typed, message)
        chosen = self.chosen(step, shown, typed)
        return {
            "message": self.language.text(self.language.symbols[shown.meaning]),
            "response": typed if chosen is None else self.name_of(chosen),
            "target": self.name_of(shown.meaning),
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class RoleResult:
    """Learning of the participants of a role."""

    role: str
    participants: int
    """Number of participants who finished."""
    not_finished: int
    """Number of participants who did not finish, and are excluded."""
    accuracy: Mapping[str, Sequence[Mean | None]]
    """Share of right answers by kind of example and block of ten, mean over participants; None without examples."""
    agents: Mapping[str, Sequence[float | None]]
    """The agents' share of right answers to the same examples."""
    chance: Mapping[str, Sequence[float | None]]
    """Chance level of the same examples, see `AgentsGame.chance`."""
    as_agents: float | None
    """Share of messages that are identical to the agents' messages; None for receivers."""


def learning_of(role: str, records: Sequence[Record], make_game: Callable[[Row], AgentsGame]) -> RoleResult:
    """Compute the learning curves of the participants of a role.

    Args:
        role: One of `ROLES`.
        records: All participants of the study.
        make_game: Factory of a participant's game.
    """
    of_role = [record for record in records if record.row["grammar"] == role]
    finished = [(record, make_game(record.row)) for record in of_role if record.has_finished]
    shares: dict[str, list[Mean | None]] = {kind: [] for kind in EXAMPLE_KINDS}
    agents, chance = ({kind: list[float | None]() for kind in EXAMPLE_KINDS} for _ in range(2))
    for block in range(NUM_BLOCKS if finished else 0):
        for kind in EXAMPLE_KINDS:
            of_kind = (
                (game, [each for each in _of_block(record.answers, block) if each["kind"] == kind])
                for record, game in finished
            )
            found = [_accuracy(game, answers) for game, answers in of_kind if answers]
            shares[kind].append(mean_of([own for own, *_ in found], are_shares=True) if found else None)
            for place, means in enumerate((agents, chance), 1):
                means[kind].append(float(np.mean([each[place] for each in found])) if found else None)
    is_same = [
        game.language.parse(answer["typed"]) == list(game.language.symbols[answer["thing"]])
        for record, game in finished
        for answer in record.answers
    ]
    return RoleResult(
        role=role,
        participants=len(finished),
        not_finished=len(of_role) - len(finished),
        accuracy=shares,
        agents=agents,
        chance=chance,
        as_agents=float(np.mean(is_same)) if is_same and role == "sender" else None,
    )


def _of_block(answers: Sequence[Row], block: int) -> list[Row]:
    return [answer for answer in answers if answer["example"] // BLOCK == block]


def _accuracy(game: AgentsGame, answers: Sequence[Row]) -> tuple[float, float, float]:
    """Shares of right answers of a participant, the agents and random guesses in the same examples."""
    agents, chance = [], []
    for answer in answers:
        shown = Shown(kind=answer["kind"], meaning=answer["thing"])
        agents.append(game.agents_chosen(answer["step"], shown) == shown.meaning)
        chance.append(game.chance(answer["step"], shown, answer["num_available"]))
    own = [answer["is_right"] for answer in answers]
    return float(np.mean(own)), float(np.mean(agents)), float(np.mean(chance))


def result_table(game: AgentsGame, answers: Sequence[Row]) -> dict[str, Any]:
    """Table for a participant's last page: shares of right answers by block, vs. the agents and chance."""
    rows = [["Examples", "You", "The agents", "Guessing"]]
    for block in range(NUM_BLOCKS):
        shares = (f"{each:.0%}" for each in _accuracy(game, _of_block(answers, block)))
        rows.append([f"{BLOCK * block + 1} to {BLOCK * (block + 1)}", *shares])
    return {"caption": "Right answers", "rows": rows}


class AgentsStudy(StudyKind):
    """A study with trained agents.

    Raises:
        ConfigError: If the stored answers belong to other weights of the agents.
    """

    absent_columns = (
        *("chain", "generation", "counted", "pair", "left_out_published", "left_out_preregistered"),
        *("passed_attention", "strategy", "rule", "notes"),
    )
    trial_words = AGENTS_TRIAL_WORDS

    def __init__(
        self, study: Study, database: Database, agents: TrainedRun | None, clock: Callable[[], float]
    ) -> None:
        super().__init__(study, database, agents, clock)
        self._live: dict[str, Any] = {}
        if agents is None:
            return
        language, stored = agents.language, database.setting(LANGUAGE_SETTING, "")
        if stored and self.language.signature != language.signature:
            raise ConfigError(
                f"{database.file}: its answers belong to other weights of {language.run}, which was trained again; "
                "choose another name for the study"
            )
        if not stored:
            database.store_setting(LANGUAGE_SETTING, json.dumps(language.as_json()))
        self._live = {"hears": agents.hears, "pictures": agents.pictures()}
        self.language = language

    @staticmethod
    def load(study: Study) -> TrainedRun:
        """Load the agents and their language.

        Raises:
            ConfigError: If the run does not exist, or people can't play its game.
        """
        return load_run_of_study(study)

    @cached_property
    def language(self) -> AgentsLanguage:
        """The language that participants learn.

        Raises:
            ConfigError: If no participant has begun.
        """
        stored = self.database.setting(LANGUAGE_SETTING, "")
        if not stored:
            raise ConfigError(
                f"{self.database.file}: no participant has begun yet: start it with `ecsuite people serve`"
            )
        return AgentsLanguage.from_json(json.loads(stored))

    def game(self, row: Mapping[str, Any]) -> AgentsGame:
        """Game of a participant, given the participant's database row."""
        return AgentsGame(language=self.language, role=row["grammar"], seed=row["seed"], **self._live)

    def result_table(self, row: Row) -> dict[str, Any]:
        """Shares of right answers by block, vs. the agents and chance."""
        return result_table(self.game(row), self.database.answers(row["id"]))

    def trials(self, record: Record) -> list[dict[str, Any]]:
        """The answers of a participant as rows of `trials.csv`."""
        game, rows = self.game(record.row), []
        start, names = record.row["started_at"], game.language.names
        for answer in record.answers:
            shown = Shown(kind=answer["kind"], meaning=answer["thing"])
            entry = {
                **answer,
                "participant": record.name,
                "object": names[shown.meaning],
                "candidates": "; ".join(names[meaning] for meaning in game.candidates(answer["step"], shown)),
                "agents_answer": game.right_answer(answer["step"], shown),
                "is_right": bool(answer["is_right"]),
                "agents_right": game.agents_chosen(answer["step"], shown) == shown.meaning,
                "chance": round(game.chance(answer["step"], shown, answer["num_available"]), 4),
                "shown_after": round(answer["shown_at"] - start, 3),
                "answered_after": round(answer["answered_at"] - start, 3),
            }
            rows.append({name: entry[name] for name in AGENTS_TRIAL_WORDS})
        return rows

    def corpora(self, records: Sequence[Record]) -> dict[str, Corpus]:
        """Corpora of the senders' messages, by participant."""
        language = self.language
        corpora = {record.name: self.corpus(record, language) for record in records}
        return {name: corpus for name, corpus in corpora.items() if corpus is not None}

    def corpus(self, record: Record, language: AgentsLanguage) -> Corpus | None:
        """Corpus of a sender's messages in the agents' symbols, without answers that are not valid messages.

        Returns:
            None without messages. Meanings are attribute values, or object numbers if the objects have no attributes;
            the columns are `split` (`train` or `held_out`) and `is_right`.
        """
        game = self.game(record.row)
        if game.role != "sender":
            return None
        parsed = [(answer, language.parse(answer["typed"])) for answer in record.answers]
        rows = [(answer, symbols) for answer, symbols in parsed if symbols is not None]
        if not rows:
            return None
        values = language.values
        return Corpus(
            Ragged.from_rows([symbols for _, symbols in rows]),
            meanings=np.array(
                [values[answer["thing"]] if values else [answer["thing"]] for answer, _ in rows]
            ),
            columns={
                "split": split_names(np.array([answer["kind"] == HELD_OUT for answer, _ in rows])),
                "is_right": np.array([answer["is_right"] for answer, _ in rows]),
            },
            metadata={
                "speaker": self.study.speakers[0],
                "participant": record.name,
                "learned_from": language.run,
                "game": game.signature,
                "seed": record.row["seed"],
                "vocab_size": language.vocab_size,
            },
        )

    def report(self, records: Sequence[Record]) -> "Report":
        """Report the shares of right answers of participants and agents by role and block."""
        from ecsuite.eval.views.console import Report

        study, language = self.study, self.language
        results = [learning_of(role, records, self.game) for role in study.roles]
        about = f"Study {study.name}: the language of {language.run} ({len(language.names)} objects)"
        content = {"language": language.signature, "roles": [asdict(each) for each in results]}
        return Report(
            tables=[_table(each, about, self.simulated_note) for each in results],
            notes=(),
            data=self.result(content),
            draw=partial(_draw, study, results),
        )


def _table(result: RoleResult, about: str, simulated_note: Sequence[str]) -> Table:
    num_blocks = len(result.accuracy["training"]) if result.participants else 0
    columns = [name_column("examples", merges=True), name_column("who")]
    columns += [number_column(name, parts=INTERVAL) for name in block_names(num_blocks, BLOCK)]
    rows = []
    for kind, name in EXAMPLE_KINDS.items() if num_blocks else ():
        rows.append(
            row_of(name, "participants", *(mean_cell(mean, 2, (0.0, 1.0)) for mean in result.accuracy[kind]))
        )
        for who, shares in (("the agents", result.agents), ("chance", result.chance)):
            rows.append(row_of(name, who, *(number(share, 2) for share in shares[kind])))
    left_out = f"; left out: {result.not_finished} not finished" if result.not_finished else ""
    notes = [f"N = {result.participants} finished{left_out}"]
    if num_blocks:
        means = [mean for kind in EXAMPLE_KINDS for mean in result.accuracy[kind]]
        left = ", if held out among the candidates that known messages do not rule out"
        notes += mean_notes("mean", f"chance: a guess{left * (result.role == 'receiver')}", means)
    if result.as_agents is not None:
        notes.append(f"messages identical to the agents' messages: {result.as_agents:.0%}")
    title = f"{about}; participants as {result.role}: {ROLES[result.role]}"
    return Table(columns=columns, rows=rows, title=title, notes=[*notes, *simulated_note])


def _draw(study: Study, results: Sequence[RoleResult], file: Path) -> None:
    """Plot the share of right answers per block, one panel per role; dashed lines show the agents."""
    lines = []
    for each in results:
        panel = f"as {each.role} (N={each.participants}{', simulated' if study.simulated else ''})"
        blocks = [BLOCK * (block + 1) for block in range(len(each.accuracy["training"]))]
        for kind, name in EXAMPLE_KINDS.items() if blocks else ():
            means = [(None, None) if of is None else (of.mean, of.half_width) for of in each.accuracy[kind]]
            low, high = zip(*(ends(mean, width, (0, 1)) for mean, width in means), strict=True)
            y = [mean for mean, _ in means]
            lines.append(Curve(x=blocks, y=y, low=low, high=high, name=name, kind="people", panel=panel))
            for who, shares in (("agents", each.agents), ("chance", each.chance)):
                lines.append(Curve(x=blocks, y=shares[kind], name=name, kind=who, panel=panel))
    save(curves(lines, x="examples", y="share of right answers", limits=(0, 1.03)), file)
