"""Studies with plays of rounds, in which a person takes the place of an agent.

The rounds of a person are a pure function of the game and of the seed, whoever the other agents are; the messages in
them are not. Each participant has a play, which runs in a thread and waits where the person is asked. An answer is
stored in the database first, and then in the play's run folder as the answers of models are. So a play goes on after a
restart of the server: it is resumed, and gets the answers that its run folder does not have yet.
"""

import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, lru_cache, partial
from pathlib import Path
from threading import Condition, Thread
from typing import Any

import msgspec
import torch

from ecsuite.corpus import Corpus
from ecsuite.eval.run_metrics.language_metrics import LanguageMetrics
from ecsuite.eval.views.console import Report
from ecsuite.eval.views.figures.canvas import save
from ecsuite.eval.views.figures.curves import Curve, curves
from ecsuite.formats import read_corpus
from ecsuite.games.config.experiment import ignore, load_experiment
from ecsuite.games.config.registry import PLAYS
from ecsuite.games.config.sections import Experiment
from ecsuite.games.participants.exemplars import Exemplars
from ecsuite.games.participants.language_model import LanguageModelParticipant
from ecsuite.games.participants.participant import Round, label
from ecsuite.games.plays.play import make_play
from ecsuite.games.plays.rounds import Rounds
from ecsuite.games.runs.run_folder import RunFolder
from ecsuite.games.training.train import train
from ecsuite.language_models.asking import KeptAnswers
from ecsuite.language_models.backend import PERSON, Page, Person, Request
from ecsuite.parts.registry import Part
from ecsuite.people.database import Database, RefusedError, Row, play_folder
from ecsuite.people.kinds import (
    BLOCK,
    LISTENS,
    NAMES,
    SPEAKS,
    BadRequestError,
    LiveKind,
    ParticipantGame,
    Queue,
    Record,
    Shown,
)
from ecsuite.people.study import FINISHED, GAME, Study
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.printable import printable
from ecsuite.tables.cells import number
from ecsuite.tables.table import Table, name_column, number_column, row_of

OVER = "round_over"
"""The kind of the step after the last one, while the others have not done yet."""
MOST_GAMES = 1024
EXEMPLARS = Part("exemplars", Exemplars.Options())
STOPPED = "The game is interrupted. Those who invited you see why; it goes on from here."
"""Feedback to a person when others can't go on."""
END_SECONDS = 2.0
"""Seconds for which the server waits for the end of a play."""


@dataclass(frozen=True, kw_only=True)
class RoundsGame(ParticipantGame):
    """One participant's side of a play of rounds."""

    rounds: tuple[tuple[int, Shown], ...]
    """Number of the round, and its content, by step."""
    candidates: tuple[tuple[int, ...], ...]
    """Candidates of the listener by step; none where all objects can be answered, or names."""
    meanings: tuple[str, ...]
    """Objects of the rounds in words."""
    are_named: bool
    """Whether listeners answer by a name, and not by an object."""
    has_pictures = False

    @cached_property
    def num_examples(self) -> int:
        """Rounds of the person."""
        return len(self.rounds)

    @cached_property
    def num_steps(self) -> int:
        """Rounds, and a last step until the end of the play."""
        return len(self.rounds) + 1

    def example_of(self, step: int) -> int:
        """Round of a step, from 0."""
        return min(step, len(self.rounds) - 1)

    def shown(self, step: int, num_available: int) -> Shown:
        """Content of a step."""
        return self.rounds[step][1] if step < len(self.rounds) else Shown(kind=OVER, meaning=-1)

    def name_of(self, meaning: int) -> str:
        """An object in words."""
        return self.meanings[meaning]

    def right_answer(self, step: int, shown: Shown) -> str:
        """Object of a listener; empty for messages, and for names, which are judged later."""
        return self.meanings[shown.meaning] if shown.kind == LISTENS and not self.are_named else ""

    def chosen(self, step: int, typed: str) -> str:
        """Content of an answer: for a label, the object in words."""
        labels = [label(n) for n in range(len(self.candidates[step]))]
        is_label = self.rounds[step][1].kind == LISTENS and typed in labels
        return self.meanings[self.candidates[step][labels.index(typed)]] if is_label else typed

    def is_right(self, step: int, shown: Shown, typed: str) -> bool:
        """False: rounds are judged when they are over."""
        return False

    def outcome(self, step: int, played: Round) -> str:
        """Outcome of a round in words, for the person."""
        speaks = self.rounds[step][1].kind == SPEAKS
        if played.candidates or played.phase:
            if not speaks:
                return "Right." if played.success else f"Wrong: it was {self.meanings[played.thing]}."
            return "Understood." if played.success else f"Your partner took it for {played.answer}."
        if played.success:
            return "The same name." if played.answer else "Your partner knows this name."
        other = played.answer if speaks else played.message
        return f"Your partner said {other}." if other else "Your partner does not know this name."

    def response(self, step: int, shown: Shown, typed: str, message: str | None) -> dict[str, str | None]:
        """The columns of a response: objects in place of labels."""
        target = self.right_answer(step, shown) or (message if shown.kind == LISTENS else None)
        return {"message": message, "response": self.chosen(step, typed), "target": target}


@lru_cache(maxsize=MOST_GAMES)
def make_game(name: str, seed: int) -> RoundsGame:
    """The rounds of the person in a game of this seed."""
    experiment, agent = with_person(name, seed)
    options = replace(experiment.play.options, participant=EXEMPLARS, other=EXEMPLARS)
    others = replace(experiment, play=Part(experiment.play.kind, options))
    play = make_play(others, torch.device("cpu"))
    assert isinstance(play, Rounds)
    steps = play.steps_per_epoch * experiment.training.num_epochs
    plans = [
        plan for step in range(steps) for plan in play.planned(step) if agent in (plan.speaker, plan.listener)
    ]
    if not plans:
        raise ConfigError(f"{name}: the person is in no round: expected more training.num_examples")
    rounds = []
    for plan in plans:
        kind = NAMES if plan.listener < 0 else SPEAKS if plan.speaker == agent else LISTENS
        rounds.append((plan.number, Shown(kind=kind, meaning=plan.thing)))
    return RoundsGame(
        rounds=tuple(rounds),
        candidates=tuple(plan.candidates for plan in plans),
        meanings=play.things,
        are_named=play.task == "naming",
    )


def is_of_rounds(experiment: Experiment) -> bool:
    """Whether a game is a play of rounds."""
    return issubclass(PLAYS.load(experiment.play.kind), Rounds)


def with_person(name: str, seed: int) -> tuple[Experiment, int]:
    """A game in which a person takes the place of an agent: the one that is asked at a page, or else the last one.

    Returns:
        The game, and the number of the person.

    Raises:
        ConfigError: If it is no play of rounds, or several agents would be persons.
    """
    settings = [f"training.seed={seed}"]
    experiment = load_experiment(name, settings)
    if not is_of_rounds(experiment):
        raise ConfigError(
            f"{name}: expected the run folder of a signalling game, or a game of rounds (naming, talk), got play "
            f"{experiment.play.kind}"
        )
    if not any(_persons(experiment)):
        if experiment.play.options.num_others:
            raise ConfigError(
                f"{name}: play.other: expected {{kind: language_model, backend: page}} for the person, or "
                "play.num_others: 0"
            )
        settings += ["play.num_others=1", "play.other=language_model,backend=page"]
        if (
            model := experiment.play.options.participant
        ).kind == "language_model":  # whose prompt is then read
            settings += [f"play.other.{name}={getattr(model.options, name)}" for name in ("prompt", "memory")]
        experiment = load_experiment(name, settings)
    persons = [agent for agent, is_person in enumerate(_persons(experiment)) if is_person]
    if len(persons) > 1:
        raise ConfigError(f"{name}: play: one agent may be a person at a page, got {len(persons)}")
    return experiment, persons[0]


def _persons(experiment: Experiment) -> Sequence[bool]:
    """Whether each agent is a person at a page."""
    options = experiment.play.options
    first = options.agents - options.num_others
    parts = [options.participant] * first + [options.other] * options.num_others
    return [part.kind == "language_model" and part.options.backend.kind == "page" for part in parts]


class _EndedError(Exception):
    """End of a play."""


class PlayThread(Person):
    """A play in a thread, and the open question to its person.

    Args:
        experiment: The play.
        game: The person's side of it.
        folder: Its run folder.
        given: Answers of the person by step.
    """

    def __init__(
        self, experiment: Experiment, game: RoundsGame, folder: Path, given: Mapping[int, str]
    ) -> None:
        super().__init__()
        self.game, self.folder = game, folder
        kept = KeptAnswers(folder, is_read_only=True).replies.values()
        self.step = sum(reply.model == PERSON for reply in kept)
        self.request: Request | None = None
        self.outcomes: dict[int, tuple[str, bool]] = {}
        """Outcome of the round of each step in words, and whether it succeeded."""
        self.judged: set[int] = set()
        """Steps whose outcome is stored in the database."""
        self.is_done = self.has_failed = self._is_removed = False
        self._given, self._changed = dict(given), Condition()
        self._thread = Thread(target=self._play, args=(experiment,), daemon=True)
        self._thread.start()

    def _play(self, experiment: Experiment) -> None:
        try:
            train(
                experiment,
                self.folder,
                resume=True,
                person=self,
                scorer=LanguageMetrics,
                progress=lambda *_: None,
                note=ignore,
            )
            self.is_done = True
        except Exception as error:  # reported at the server's terminal, and by `STOPPED`
            if not self.is_over.is_set():
                self.has_failed = True
                sys.stderr.write(f"{self.folder}: {printable(str(error))}\n")
        finally:
            if self._is_removed:
                shutil.rmtree(self.folder, ignore_errors=True)

    def answer(self, request: Request) -> str:
        """Wait for the answer to a question."""
        with self._changed:
            before = self.step - 1
            if before >= 0 and request.past and self.game.rounds[before][1].kind != NAMES:
                last = request.past[-1]
                self.outcomes[before] = self.game.outcome(before, last), last.success
            self.request = request
            self._changed.wait_for(lambda: self.step in self._given or self.is_over.is_set())
            if self.is_over.is_set():
                raise _EndedError
            self.request = None
            self.step += 1
            return self._given.pop(self.step - 1)

    def read(self, step: int, typed: str) -> str | None:
        """Content of an answer to the open question: a choice by its number, or a message; None if it is neither."""
        with self._changed:
            request = self.request if self.step == step else None
        if request is None:
            return None
        if not request.choices:
            return request.allowed.read(typed)
        is_number = typed.isascii() and typed.isdigit() and 0 < int(typed) <= len(request.choices)
        return request.choices[int(typed) - 1] if is_number else None

    def give(self, step: int, answer: str) -> None:
        """Answer the question of a step."""
        with self._changed:
            self._given[step] = answer
            self._changed.notify()

    def end(self, *, is_removed: bool) -> None:
        """End the play at the next question; its folder may then be removed."""
        with self._changed:
            self._is_removed = is_removed
            self.is_over.set()
            self._changed.notify()
        self._thread.join(END_SECONDS)
        if self._thread.is_alive():
            sys.stderr.write(f"{self.folder}: waiting for models that were asked, whose answers are kept\n")

    def view(self, step: int) -> dict[str, Any]:
        """Content of a step for the page: the prompt with the allowed answers, or that others are at work."""
        with self._changed:
            request = self.request if self.step == step else None
        if request is None:
            return {"kind": "partner"}
        text = "\n\n".join(part for part in (request.system, request.user) if part)
        return {
            "kind": "round", "name": text, "choices": list(request.choices), "rule": request.allowed.sentence(),
        }  # fmt: skip


def rounds_of(game: RoundsGame, folder: Path) -> dict[int, dict[str, Any]]:
    """Rounds of a person by step, as stored by a play that is over or ended early; none of one that goes on."""
    file = RunFolder(folder).rounds
    rows = [msgspec.json.decode(line) for line in file.read_bytes().splitlines()] if file.is_file() else []
    return {step: rows[number] for step, (number, _) in enumerate(game.rounds) if number < len(rows)}


def successes(game: RoundsGame, folder: Path) -> dict[int, bool]:
    """Success of the rounds of a person by step, without tests; none of a play that goes on."""
    played = rounds_of(game, folder)
    return {step: bool(row["success"]) for step, row in played.items() if row["listener"] >= 0}


@dataclass(frozen=True, kw_only=True, slots=True)
class PlayedRounds:
    """Rounds of a participant whose play is over."""

    participant: str
    run: str
    """The run folder of the play, with all rounds and its corpus."""
    rounds: int
    success: float
    """Share of successful rounds, without tests, in which nobody listens."""
    last: float
    """Share of success in the last rounds, at most `BLOCK`."""
    curve: tuple[float, ...]
    """Share of success in each block of `BLOCK` rounds."""


class RoundsStudy(LiveKind):
    """A study with plays of rounds, one for each participant."""

    absent_columns = (
        *("chain", "generation", "counted", "pair", "left_out_published", "left_out_preregistered"),
        *("passed_attention", "strategy", "rule", "notes", "accuracy_training", "accuracy_held_out"),
    )

    def __init__(self, study: Study, database: Database, agents: Any, clock: Callable[[], float]) -> None:
        super().__init__(study, database, agents, clock)
        self._threads: dict[int, PlayThread] = {}

    @staticmethod
    def load(study: Study) -> None:
        """Check that the play can begin, for instance that the key of a server is there.

        Raises:
            ConfigError: If it can't.
        """
        experiment, _ = with_person(study.play, study.seed)
        play = make_play(experiment, torch.device("cpu"))
        assert isinstance(play, Rounds)
        for each in play.participants:
            # A person comes to the page later.
            if isinstance(each, LanguageModelParticipant) and not isinstance(each.backend, Page):
                each.check()
        make_game(study.play, study.seed)

    def game(self, row: Mapping[str, Any]) -> RoundsGame:
        """The game of a participant, who is given as stored."""
        return make_game(self.study.play, row["seed"])

    def folder(self, row: Row) -> Path:
        """The run folder of a participant's play."""
        return play_folder(self.database.file, row["id"])

    def thread(self, row: Row) -> PlayThread:
        """The play of a participant, which begins or goes on if it does not run."""
        if row["id"] not in self._threads:
            experiment, _ = with_person(self.study.play, row["seed"])
            given = {answer["step"]: answer["typed"] for answer in self.database.answers(row["id"])}
            self._threads[row["id"]] = PlayThread(experiment, self.game(row), self.folder(row), given)
        return self._threads[row["id"]]

    def signed(self, queue: Queue, token: str, row: Row) -> None:
        """Store the outcomes of the rounds that are over, and finish when all are."""
        if row["stage"] != GAME:
            return
        thread = self.thread(row)
        is_done = thread.is_done
        outcomes = {
            step: success for step, (_, success) in thread.outcomes.items() if step not in thread.judged
        }
        if is_done:
            outcomes = successes(thread.game, thread.folder)
        if outcomes:  # there are none at most of the signs, which pages give every second
            for step, success in outcomes.items():
                self.database.judge(row["id"], step, success, int(success))
            thread.judged |= outcomes.keys()
            row["score"] = sum(answer["points"] for answer in self.database.answers(row["id"]))
        if is_done:
            row |= {"stage": FINISHED, "finished_at": self.clock()}

    def read(self, row: Row, typed: str) -> str:
        """An answer to the open question as its play gets it.

        Raises:
            BadRequestError: If the answer is not allowed.
            RefusedError: If there is no question now.
        """
        thread, step = self.thread(row), row["step"]
        if (answer := thread.read(step, typed)) is not None:
            return answer
        if rule := thread.view(step).get("rule"):
            raise BadRequestError(f"Expected {rule}.")
        raise RefusedError("This can't be answered now.")

    def stored(self, row: Row, entry: Row) -> None:
        """Let the play go on with a stored answer."""
        self.thread(row).give(entry["step"], entry["typed"])

    def step_view(self, row: Row, names_objects: bool) -> dict[str, Any]:
        """The open question, or that others are at work."""
        return self.thread(row).view(row["step"])

    def last_feedback(self, row: Row) -> tuple[str, str]:
        """Feedback on the round before, and `right`, `wrong` or an empty text."""
        thread, before = self.thread(row), row["step"] - 1
        if thread.has_failed:
            return STOPPED, "wrong"
        if (outcome := thread.outcomes.get(before)) is None:
            return "Sent." if before >= 0 else "", ""
        return outcome[0], "right" if outcome[1] else "wrong"

    def withdrawn(self, row: Row) -> None:
        """End the play of a participant who withdraws."""
        if row["id"] in self._threads:
            self._threads.pop(row["id"]).end(is_removed=True)

    def close(self) -> None:
        """End all plays, which go on when the study is served again."""
        for thread in self._threads.values():
            thread.end(is_removed=False)
        self._threads.clear()

    def messages(self, records: Sequence[Record]) -> Mapping[tuple[str | None, int], str]:
        """Messages of plays that are over, by participant and step."""
        return {
            (record.name, step): row["said"]
            for record in records
            for step, row in rounds_of(self.game(record.row), self.folder(record.row)).items()
        }

    def unjudged(self, records: Sequence[Record]) -> set[tuple[str | None, int]]:
        """Participant and step of tests, and of the last round of plays that go on unless it succeeded.

        The outcome of a round is stored when the next one begins, or the play is over.
        """
        tests = {
            (record.name, answer["step"])
            for record in records
            for answer in record.answers
            if answer["kind"] == NAMES
        }
        last = {
            (record.name, answer["step"])
            for record in records
            for answer in record.answers[-1:]
            if answer["kind"] in (SPEAKS, LISTENS) and not answer["is_right"]
        }
        return tests | (last - self.messages(records).keys())

    def corpora(self, records: Sequence[Record]) -> dict[str, Corpus]:
        """The corpus of each play that has one, by participant."""
        folders = {record.name: self.folder(record.row) for record in records}
        return {
            name: read_corpus(folder)
            for name, folder in folders.items()
            if RunFolder(folder).corpus.is_file()
        }

    def report(self, records: Sequence[Record]) -> Report:
        """Share of successful rounds of each participant whose play is over."""
        study, played = self.study, []
        for record in records:
            folder = self.folder(record.row)
            successful = (
                [*successes(self.game(record.row), folder).values()]
                if RunFolder(folder).rounds.is_file()
                else []
            )
            if (
                not successful
            ):  # a play that goes on, that a limit ended before the first round, or of tests alone
                continue
            blocks = [successful[start : start + BLOCK] for start in range(0, len(successful), BLOCK)]
            last = successful[-BLOCK:]
            played.append(
                PlayedRounds(
                    participant=record.name,
                    run=str(folder),
                    rounds=len(successful),
                    success=sum(successful) / len(successful),
                    last=sum(last) / len(last),
                    curve=tuple(sum(block) / len(block) for block in blocks),
                )
            )
        names = ("rounds", "success", f"last {BLOCK}")
        rows = [
            row_of(each.participant, each.rounds, number(each.success, 2), number(each.last, 2), each.run)
            for each in played
        ]
        unfinished = f"{len(records) - len(played)} of {len(records)} participants did not finish"
        table = Table(
            columns=[name_column("participant"), *map(number_column, names), name_column("run")],
            rows=rows,
            title=f"Study {study.name}: rounds of {study.play} that succeeded",
            notes=[unfinished, *self.simulated_note],
        )
        content = {"play": study.play, "participants": [asdict(each) for each in played]}
        return Report(tables=[table], notes=(), data=self.result(content), draw=partial(_draw, played))


def _draw(played: Sequence[PlayedRounds], file: Path) -> None:
    """Draw the share of rounds that succeeded by block, a line a participant."""
    lines = [
        Curve(
            x=[min(BLOCK * (block + 1), each.rounds) for block in range(len(each.curve))], y=each.curve,
            name=each.participant,
        )
        for each in played
    ]  # fmt: skip
    save(curves(lines, x="rounds of the participant", y="share that succeeded", limits=(0, 1.03)), file)
