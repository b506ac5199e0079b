"""Studies with plays of rounds, in which a person takes the place of an agent.

Roles and objects of a person's rounds are a pure function of the game and the seed; the messages are not. Each
participant has a play, which runs in a thread and blocks while the person answers. An answer is stored in the database
first, then in the play's run folder, as answers of models are. After a restart of the server, a play is resumed and
gets the answers that its run folder lacks.
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
"""Kind of the step after the person's last round, until the play has ended."""
MOST_GAMES = 1024
EXEMPLARS = Part("exemplars", Exemplars.Options())
STOPPED = "The game is interrupted. Those who invited you see why; it goes on from here."
"""Feedback to a person when the play has failed."""
END_SECONDS = 2.0
"""Maximum time in seconds to wait for the end of a play's thread."""


@dataclass(frozen=True, kw_only=True)
class RoundsGame(ParticipantGame):
    """One participant's side of a play of rounds."""

    rounds: tuple[tuple[int, Shown], ...]
    """Number and content of the round of each step."""
    candidates: tuple[tuple[int, ...], ...]
    """Candidates of the listener by step; empty if any object or name may be answered."""
    meanings: tuple[str, ...]
    """Descriptions of the objects in words."""
    are_named: bool
    """Whether listeners answer with a name instead of an object."""
    has_pictures = False

    @cached_property
    def num_examples(self) -> int:
        """Number of the person's rounds."""
        return len(self.rounds)

    @cached_property
    def num_steps(self) -> int:
        """Number of the person's rounds, plus a last step until the end of the play."""
        return len(self.rounds) + 1

    def example_of(self, step: int) -> int:
        """Round of a step, from 0."""
        return min(step, len(self.rounds) - 1)

    def shown(self, step: int, num_available: int) -> Shown:
        """Content of a step."""
        return self.rounds[step][1] if step < len(self.rounds) else Shown(kind=OVER, meaning=-1)

    def name_of(self, meaning: int) -> str:
        """Description of an object in words."""
        return self.meanings[meaning]

    def right_answer(self, step: int, shown: Shown) -> str:
        """The target of a listener; empty for messages and names, which are judged later."""
        return self.meanings[shown.meaning] if shown.kind == LISTENS and not self.are_named else ""

    def chosen(self, step: int, typed: str) -> str:
        """Replace the label of a candidate by the object in words; other answers are returned unchanged."""
        labels = [label(n) for n in range(len(self.candidates[step]))]
        is_label = self.rounds[step][1].kind == LISTENS and typed in labels
        return self.meanings[self.candidates[step][labels.index(typed)]] if is_label else typed

    def is_right(self, step: int, shown: Shown, typed: str) -> bool:
        """False: rounds are judged when they are over."""
        return False

    def outcome(self, step: int, played: Round) -> str:
        """Feedback on a round in words, for the person."""
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
        """The columns of a response, with objects instead of labels."""
        target = self.right_answer(step, shown) or (message if shown.kind == LISTENS else None)
        return {"message": message, "response": self.chosen(step, typed), "target": target}


@lru_cache(maxsize=MOST_GAMES)
def make_game(name: str, seed: int) -> RoundsGame:
    """Make the person's game for a seed."""
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
        raise ConfigError(f"{name}: the person takes part in no round: increase training.num_examples")
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
    """Whether the play of a game is a subclass of `Rounds`."""
    return issubclass(PLAYS.load(experiment.play.kind), Rounds)


def with_person(name: str, seed: int) -> tuple[Experiment, int]:
    """Load a game with one person among its agents: the agent with backend `page`, or else an additional last agent.

    Returns:
        The game, and the person's agent index.

    Raises:
        ConfigError: If the game has no rounds, or more than one person.
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
        ).kind == "language_model":  # the person reads the same prompt
            settings += [f"play.other.{name}={getattr(model.options, name)}" for name in ("prompt", "memory")]
        experiment = load_experiment(name, settings)
    persons = [agent for agent, is_person in enumerate(_persons(experiment)) if is_person]
    if len(persons) > 1:
        raise ConfigError(f"{name}: play: expected at most 1 agent with backend page, got {len(persons)}")
    return experiment, persons[0]


def _persons(experiment: Experiment) -> Sequence[bool]:
    options = experiment.play.options
    first = options.agents - options.num_others
    parts = [options.participant] * first + [options.other] * options.num_others
    return [part.kind == "language_model" and part.options.backend.kind == "page" for part in parts]


class _EndedError(Exception):
    """Raised in a play's thread to end it."""


class PlayThread(Person):
    """A play in a thread, and the open question to its person.

    Args:
        experiment: The experiment with the play.
        game: The person's side of the play.
        folder: The run folder of the play.
        given: Answers of the person by step.
    """

    def __init__(
        self, experiment: Experiment, game: RoundsGame, folder: Path, given: Mapping[int, str]
    ) -> None:
        super().__init__()
        self.game, self.folder = game, folder
        replies = KeptAnswers(folder, is_read_only=True).replies.values()
        self.step = sum(reply.model == PERSON for reply in replies)
        self.request: Request | None = None
        self.outcomes: dict[int, tuple[str, bool]] = {}
        """Feedback on each step's round in words, and whether the round succeeded."""
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
        except Exception as error:  # reported in the server's terminal; the person sees `STOPPED`
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
        """Parse an answer to the open question: the number of a choice, or a message; None if it is not valid."""
        with self._changed:
            request = self.request if self.step == step else None
        if request is None:
            return None
        if not request.choices:
            return request.allowed.read(typed)
        is_number = typed.isascii() and typed.isdigit() and 0 < int(typed) <= len(request.choices)
        return request.choices[int(typed) - 1] if is_number else None

    def give(self, step: int, answer: str) -> None:
        """Pass the person's answer of a step to the play."""
        with self._changed:
            self._given[step] = answer
            self._changed.notify()

    def end(self, *, is_removed: bool) -> None:
        """End the play at the next question, and remove its folder if `is_removed`."""
        with self._changed:
            self._is_removed = is_removed
            self.is_over.set()
            self._changed.notify()
        self._thread.join(END_SECONDS)
        if self._thread.is_alive():
            sys.stderr.write(f"{self.folder}: waiting for pending replies of models, which are stored\n")

    def view(self, step: int) -> dict[str, Any]:
        """Content of a step for the page: the prompt with the allowed answers, or a note to wait for the others."""
        with self._changed:
            request = self.request if self.step == step else None
        if request is None:
            return {"kind": "partner"}
        text = "\n\n".join(part for part in (request.system, request.user) if part)
        return {
            "kind": "round", "name": text, "choices": list(request.choices), "rule": request.allowed.sentence(),
        }  # fmt: skip


def rounds_of(game: RoundsGame, folder: Path) -> dict[int, dict[str, Any]]:
    """Read the rounds of a person by step from the folder of an ended play; empty while the play runs."""
    file = RunFolder(folder).rounds
    rows = [msgspec.json.decode(line) for line in file.read_bytes().splitlines()] if file.is_file() else []
    return {step: rows[number] for step, (number, _) in enumerate(game.rounds) if number < len(rows)}


def successes(game: RoundsGame, folder: Path) -> dict[int, bool]:
    """Success of a person's rounds by step, without naming tests; empty while the play runs."""
    played = rounds_of(game, folder)
    return {step: bool(row["success"]) for step, row in played.items() if row["listener"] >= 0}


@dataclass(frozen=True, kw_only=True, slots=True)
class PlayedRounds:
    """Success of a participant whose play has ended."""

    participant: str
    run: str
    """The run folder of the play, with all rounds and its corpus."""
    rounds: int
    success: float
    """Share of successful rounds, without naming tests, which have no listener."""
    last: float
    """Share of successful rounds among the last `BLOCK` rounds."""
    curve: tuple[float, ...]
    """Share of successful rounds in each block of `BLOCK` rounds."""


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
        """Check that the play can begin, for instance that the API key of a server is set.

        Raises:
            ConfigError: If the play can't begin.
        """
        experiment, _ = with_person(study.play, study.seed)
        play = make_play(experiment, torch.device("cpu"))
        assert isinstance(play, Rounds)
        for each in play.participants:
            # The person's backend can't be checked before a person has opened the page.
            if isinstance(each, LanguageModelParticipant) and not isinstance(each.backend, Page):
                each.check()
        make_game(study.play, study.seed)

    def game(self, row: Mapping[str, Any]) -> RoundsGame:
        """Game of a participant, given the participant's database row."""
        return make_game(self.study.play, row["seed"])

    def folder(self, row: Row) -> Path:
        """The run folder of a participant's play."""
        return play_folder(self.database.file, row["id"])

    def thread(self, row: Row) -> PlayThread:
        """The play of a participant, started or resumed if necessary."""
        if row["id"] not in self._threads:
            experiment, _ = with_person(self.study.play, row["seed"])
            given = {answer["step"]: answer["typed"] for answer in self.database.answers(row["id"])}
            self._threads[row["id"]] = PlayThread(experiment, self.game(row), self.folder(row), given)
        return self._threads[row["id"]]

    def signed(self, queue: Queue, token: str, row: Row) -> None:
        """Store the outcomes of completed rounds, and finish after the last round."""
        if row["stage"] != GAME:
            return
        thread = self.thread(row)
        is_done = thread.is_done
        outcomes = {
            step: success for step, (_, success) in thread.outcomes.items() if step not in thread.judged
        }
        if is_done:
            outcomes = successes(thread.game, thread.folder)
        if outcomes:  # most heartbeats, one per second, have none
            for step, success in outcomes.items():
                self.database.judge(row["id"], step, success, int(success))
            thread.judged |= outcomes.keys()
            row["score"] = sum(answer["points"] for answer in self.database.answers(row["id"]))
        if is_done:
            row |= {"stage": FINISHED, "finished_at": self.clock()}

    def read(self, row: Row, typed: str) -> str:
        """Parse an answer to the open question.

        Raises:
            BadRequestError: If the answer is not allowed.
            RefusedError: If no question is open.
        """
        thread, step = self.thread(row), row["step"]
        if (answer := thread.read(step, typed)) is not None:
            return answer
        if rule := thread.view(step).get("rule"):
            raise BadRequestError(f"Expected {rule}.")
        raise RefusedError("This can't be answered now.")

    def stored(self, row: Row, entry: Row) -> None:
        """Pass a stored answer to the play."""
        self.thread(row).give(entry["step"], entry["typed"])

    def step_view(self, row: Row, names_objects: bool) -> dict[str, Any]:
        """The open question, or a note to wait for the others."""
        return self.thread(row).view(row["step"])

    def last_feedback(self, row: Row) -> tuple[str, str]:
        """Feedback on the previous round, and `right`, `wrong` or an empty string."""
        thread, before = self.thread(row), row["step"] - 1
        if thread.has_failed:
            return STOPPED, "wrong"
        if (outcome := thread.outcomes.get(before)) is None:
            return "Sent." if before >= 0 else "", ""
        return outcome[0], "right" if outcome[1] else "wrong"

    def withdrawn(self, row: Row) -> None:
        """End the play of a withdrawing participant."""
        if row["id"] in self._threads:
            self._threads.pop(row["id"]).end(is_removed=True)

    def close(self) -> None:
        """Interrupt all plays; they resume when the study is served again."""
        for thread in self._threads.values():
            thread.end(is_removed=False)
        self._threads.clear()

    def messages(self, records: Sequence[Record]) -> Mapping[tuple[str | None, int], str]:
        """Messages of ended plays, by participant and step."""
        return {
            (record.name, step): row["said"]
            for record in records
            for step, row in rounds_of(self.game(record.row), self.folder(record.row)).items()
        }

    def unjudged(self, records: Sequence[Record]) -> set[tuple[str | None, int]]:
        """Participant and step of naming tests, and of the last round of a running play unless it succeeded.

        The outcome of a round is stored when the next round begins or the play ends.
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
            ):  # the play still runs, was stopped before its first round, or has naming tests only
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
    """Plot the share of successful rounds per block, one line per participant."""
    lines = [
        Curve(
            x=[min(BLOCK * (block + 1), each.rounds) for block in range(len(each.curve))], y=each.curve,
            name=each.participant,
        )
        for each in played
    ]  # fmt: skip
    save(curves(lines, x="rounds of the participant", y="share that succeeded", limits=(0, 1.03)), file)
