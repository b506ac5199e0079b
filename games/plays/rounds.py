"""Plays of rounds among participants that have memories and are not trained.

The state of such a play is the list of its rounds, from which memories, figures and corpus are computed. So a resumed
play continues as if it had not stopped, and participants are queried only in `train_step`.
"""

import hashlib
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import torch
from torch import Tensor

from ecsuite.corpus import Corpus
from ecsuite.files.atomic_files import write_atomically
from ecsuite.formats.directory import BESIDE, ROUNDS_KEY
from ecsuite.games.config.registry import PARTICIPANTS, PLAYS
from ecsuite.games.config.sections import EvaluationOptions, Experiment
from ecsuite.games.participants.participant import Ask, Participant, Round, Setting
from ecsuite.games.players.schedule import drawn_pairs, meetings_of_agents
from ecsuite.games.plays.play import Measures, Play
from ecsuite.jobs.signals import ending_at_once
from ecsuite.language_models.asking import FILE as ANSWERS
from ecsuite.language_models.asking import KEY as ANSWERS_KEY
from ecsuite.language_models.backend import Allowed, Person
from ecsuite.parts.registry import Part
from ecsuite.runtime.errors import RUN_AGAIN, ConfigError, shown
from ecsuite.runtime.ragged import Ragged

SUCCEEDED, HEARD = "succeeded", "heard"
"""Names of the measures of a step: number of successful rounds, and number of rounds with a listener."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A planned round."""

    number: int
    speaker: int
    listener: int
    thing: int
    candidates: tuple[int, ...] = ()
    phase: str = ""
    generation: int = 0


class Rounds(Play):
    """Base class of rounds among agents of one kind, or of two.

    A subclass plans rounds (`planned`), plays them (`played`), and defines meanings (`make_things`) and messages
    (`make_words`).
    """

    precisions = ("fp32",)
    plays_validation = False
    attribute_names: tuple[str, ...] = ()
    """Names of the attributes of meanings."""
    value_names: Sequence[Sequence[str]] = ()
    """Names of the values of each attribute, such as `shape=cup`, if the play has a world."""

    def __init__(self, options: Any, *, experiment: Experiment, device: torch.device) -> None:
        super().__init__(options, experiment=experiment, device=device)
        self.num_agents: int = options.agents
        self.num_first: int = options.agents - options.num_others
        if options.num_others >= options.agents:
            raise ConfigError(
                f"play.num_others: expected fewer than the {options.agents} agents, got {options.num_others}"
            )
        self.things, self.values = self.make_things()
        self.meetings = meetings_of_agents(options.meets, options.agents, experiment.training.seed)
        self.words = self.make_words()
        self.kinds: list[tuple[Part, str]] = [(options.participant, "play.participant")]
        if options.num_others:
            self.kinds.append((options.other, "play.other"))
        for part, place in self.kinds:
            if self.task not in (tasks := PARTICIPANTS.load(part.kind).tasks):
                raise ConfigError(f"{place}: {part.kind} supports {', '.join(tasks)}, not {self.task}")
        self.participants = [self._participant(part, place) for part, place in self.kinds]
        self._is_slow = any(each.is_slow for each in self.participants)
        for each in self.participants:
            for allowed in (self.words, *self.answers()):
                each.require(allowed)
        self._note: Callable[[str], None] = lambda _: None
        self.start()

    @property
    def task(self) -> str:
        """Task of the participants: naming, discrimination or reconstruction."""
        return str(getattr(self.options, "task", "naming"))

    @abstractmethod
    def make_things(self) -> "tuple[tuple[str, ...], np.ndarray[Any, Any]]":
        """Make the meanings of rounds: texts, and attribute values, (num_things, num_attributes)."""

    @abstractmethod
    def make_words(self) -> Allowed:
        """Make the set of allowed messages."""

    @abstractmethod
    def planned(self, step: int) -> list[Planned]:
        """Plan the rounds of a step: a pure function of the seed."""

    @abstractmethod
    def played(self, rounds: Sequence[Planned]) -> list[Round]:
        """Play rounds that have no agents in common."""

    def pairs(self, rng: np.random.Generator, size: int, epoch: int) -> tuple[list[int], list[int]]:
        """Draw speakers and listeners of `size` rounds; see `drawn_pairs`."""
        return drawn_pairs(self.meetings, self.num_agents, rng, size, epoch)

    def start(self) -> None:
        """Reset all participants, memories and rounds."""
        self.rounds: list[Round] = []
        self.memory: list[list[Round]] = [[] for _ in range(self.num_agents)]
        for agent in range(self.num_agents):
            self.participant_of(agent).begin(agent)

    def _participant(self, part: Part, place: str) -> Participant:
        setting = Setting(
            things=self.things, values=self.values, value_names=self.value_names, num_agents=self.num_agents,
            words=self.words, seed=self.experiment.training.seed, place=place, device=self.device,
        )  # fmt: skip
        try:
            made: Participant = PARTICIPANTS.make(part, setting=setting)
        except ConfigError as error:
            told = str(error)
            raise ConfigError(told if told.startswith(place) else f"{place}: {told}") from None
        return made

    def answers(self) -> Iterable[Allowed]:
        """Sets of allowed answers of listeners."""
        return ()

    def participant_of(self, agent: int) -> Participant:
        """Get the participant of an agent; agents of the other kind have the highest indices."""
        return self.participants[agent >= self.num_first]

    def asked(self, asks: Sequence[tuple[Planned, Ask]]) -> list[str]:
        """Query participants about rounds, with one call per participant; returns the answers."""
        found: list[str] = [""] * len(asks)
        for participant in self.participants:
            mine = [n for n, (_, ask) in enumerate(asks) if self.participant_of(ask.agent) is participant]
            if mine:
                given = participant.answers([asks[n][1] for n in mine], self._answering)
                for n, answer in zip(mine, given, strict=True):
                    ask = asks[n][1]
                    if not isinstance(answer, str) or not ask.allowed.allows(answer):
                        part, place = self.kinds[ask.agent >= self.num_first]
                        raise ConfigError(
                            f"{place}: {part.kind}: expected {ask.allowed.sentence():.200}, got {shown(answer)}"
                        )
                    found[n] = answer
        return found

    def train_step(self, step: int) -> Measures:
        """Play the rounds of a step. If one fails, the whole step is undone."""
        before = len(self.rounds)
        self._answering = self.rng("answers", step)
        planned = self.planned(step)
        if not planned:
            return {}
        try:
            done: dict[int, Round] = {}
            # A model may take long to answer, and its answers are stored: so the first Ctrl-C ends the run at once.
            with ending_at_once() if self._is_slow else nullcontext():
                for wave in self._waves(planned):
                    for plan, result in zip(wave, self.played(wave), strict=True):
                        done[plan.number] = result
                        self.learnt(result)
        except BaseException as error:
            self._play_again(self.rounds[:before])
            if isinstance(error, KeyboardInterrupt | SystemExit):
                self._note(f"stopped within step {step + 1}, and every answer is stored: {RUN_AGAIN}")
            raise
        self.rounds += [done[plan.number] for plan in planned]
        self.noted(before)
        heard = [each for each in self.rounds[before:] if each.listener >= 0]
        return {SUCCEEDED: float(sum(each.success for each in heard)), HEARD: float(len(heard))}

    def calls(self, num_steps: int) -> Sequence[int] | None:
        """See the base class; each agent of a round answers once."""
        if not self._is_slow:
            return None
        is_slow = [self.participant_of(agent).is_slow for agent in range(self.num_agents)]
        return [
            sum(
                is_slow[agent]
                for plan in self.planned(step)
                for agent in (plan.speaker, plan.listener)
                if agent >= 0
            )
            for step in range(num_steps)
        ]

    def means(self, sums: Mapping[str, float], number: int) -> dict[str, float]:
        """Success rate over the rounds that had a listener."""
        heard = sums.get(HEARD)
        return {"accuracy": sums[SUCCEEDED] / heard} if heard else {}

    def _waves(self, planned: Sequence[Planned]) -> Iterable[list[Planned]]:
        """Group rounds in their order: with slow participants, rounds without common agents are played together."""
        if not self._is_slow:
            yield from ([plan] for plan in planned)
            return
        waves: list[list[Planned]] = []
        last: dict[int, int] = {}
        for plan in planned:
            number = max(last.get(plan.speaker, 0), last.get(plan.listener, 0))
            if number == len(waves):
                waves.append([])
            waves[number].append(plan)
            last[plan.speaker] = number + 1
            if plan.listener >= 0:
                last[plan.listener] = number + 1
        yield from waves

    def learnt(self, played: Round) -> None:
        """Add a round to the memories of both agents."""
        for agent in (played.speaker, played.listener):
            if agent >= 0:
                self.memory[agent].append(played)
                self.participant_of(agent).learn(agent, played)

    def noted(self, before: int) -> None:
        """Update figures after rounds from index `before` on were played."""
        return

    def _play_again(self, rounds: Sequence[Round]) -> None:
        """Reset, and rebuild all memories from played rounds."""
        self.start()
        for each in rounds:
            self.rounds.append(each)
            self.learnt(each)
            self.noted(len(self.rounds) - 1)

    def state(self) -> dict[str, Tensor]:
        """Encode the rounds as bytes of JSON."""
        return {"rounds": torch.frombuffer(bytearray(msgspec.json.encode(self.rounds)), dtype=torch.uint8)}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Restore rounds and memories from a state."""
        try:
            rounds = msgspec.json.decode(state["rounds"].numpy().tobytes(), type=list[Round])
            self._play_again(rounds)
        except (msgspec.MsgspecError, IndexError) as error:
            raise RuntimeError("the state has no rounds of this play") from error

    def cost(self) -> dict[str, Any]:
        """Count calls by playing all rounds with random answers; the play can't be used afterwards."""
        costs = {
            place: each.planned() for (_, place), each in zip(self.kinds, self.participants, strict=True)
        }
        found = super().cost()
        for step in range(found["steps"]):
            self.train_step(step)
        return found | {
            "participants": {place: cost.to_json() for place, cost in costs.items() if cost is not None}
        }

    def recall(self, folder: Path) -> None:
        """See the base class."""
        for each in self.participants:
            each.recall(folder)

    def replay(self, folder: Path) -> None:
        """Let participants answer from the answers stored in a folder."""
        if not any([each.replay(folder) for each in self.participants]):  # a list: call all of them
            raise ConfigError(
                f"--replay: no language model or person takes part in {self.experiment.name}: run it without --replay"
            )

    def seat(self, person: Person) -> None:
        """Connect a person to the participants that query people on a page."""
        for each in self.participants:
            each.seat(person)

    def check(self, folder: Path, note: Callable[[str], None]) -> None:
        """Open the stored answers of participants in the run folder."""
        self._note = note
        for number, each in enumerate(self.participants):
            each.open(folder, self.participants[:number], note)

    def keep(self, folder: Path) -> dict[str, Any]:
        """Write all rounds, one per line; returns file hashes and participants for the metadata."""
        content = b"".join(self.row(number) for number in range(len(self.rounds)))
        write_atomically(folder / BESIDE[ROUNDS_KEY], content)
        for each in self.participants:
            each.close()
        known = {
            place: dict(each.provenance())
            for (_, place), each in zip(self.kinds, self.participants, strict=True)
        }
        kept = {ROUNDS_KEY: {"sha256": hashlib.sha256(content).hexdigest()}}
        if (answers := folder / ANSWERS).is_file():
            kept[ANSWERS_KEY] = {"sha256": hashlib.sha256(answers.read_bytes()).hexdigest()}
        return kept | ({"participants": known} if any(known.values()) else {})

    def row(self, number: int) -> bytes:
        """Encode a round as a line of JSON, which `ecsuite score` reads."""
        each = self.rounds[number]
        known = self.participant_of(each.speaker).provenance()
        row = {
            "round": number, "speaker": each.speaker, "listener": each.listener,
            "message": list(self.words.split(each.message)), "meaning": self.meaning(each.thing),
            "said": each.message, "answer": each.answer, "success": each.success,
            "candidates": [self.things[thing] for thing in each.candidates], "phase": each.phase,
            "generation": each.generation, "participant_kind": self._kind_of(each.speaker),
            **{name: known.get(name, "") for name in ("backend", "prompt_sha256")},
        }  # fmt: skip
        return msgspec.json.encode(row) + b"\n"

    def _kind_of(self, agent: int) -> str:
        """Kind of an agent, with its model if it has one."""
        part, _ = self.kinds[agent >= self.num_first]
        return " ".join([part.kind, *self.participant_of(agent).provenance().get("models", ())])

    def meaning(self, thing: int) -> list[Any]:
        """Attribute values of a meaning."""
        found: list[Any] = self.values[thing].tolist()
        return found

    def evaluate(self) -> dict[str, float]:
        """Success in the last `window` rounds, and mean length of the messages."""
        return self.means_of(self.rounds[-self.options.window :])

    def means_of(self, rounds: Sequence[Round]) -> dict[str, float]:
        """Success and mean message length of rounds; empty without rounds."""
        number = len(rounds)
        if not number:
            return {}
        return {
            "accuracy": sum(each.success for each in rounds) / number,
            "length": sum(len(self.words.split(each.message)) for each in rounds) / number,
        }

    @property
    def figures(self) -> Sequence[str]:
        """Names of the figures of an evaluation; some are undefined before the first round."""
        return ("accuracy", "length")

    def said(self) -> "dict[tuple[int, int], tuple[int, str]]":
        """Last message of each speaker for each meaning: (speaker, meaning) to (round number, message)."""
        found: dict[tuple[int, int], tuple[int, str]] = {}
        for number, each in enumerate(self.rounds):
            for speaker, message in self.messages(each):
                found[speaker, each.thing] = (number, message)
        return dict(sorted(found.items()))

    def messages(self, played: Round) -> Iterable[tuple[int, str]]:
        """Speakers and messages of a round."""
        return ((played.speaker, played.message),)

    def corpus(self, evaluation: EvaluationOptions) -> Corpus:
        """Corpus of the last message of each speaker for each meaning."""
        taken: dict[int, int] = {}
        rows: list[tuple[int, int, int, str]] = []
        for (speaker, thing), (number, message) in self.said().items():
            if taken.setdefault(speaker, 0) < evaluation.corpus_size:
                taken[speaker] += 1
                rows.append((speaker, thing, number, message))
        symbols = [self.words.split(message) for *_, message in rows]
        names = {
            name: number for number, name in enumerate(sorted({each for row in symbols for each in row}))
        }
        things = np.array([thing for _, thing, *_ in rows], dtype=np.int64)
        return Corpus(
            messages=Ragged.from_rows([[names[each] for each in row] for row in symbols]),
            symbol_names=tuple(names),
            meanings=self.values[things],
            attribute_names=self.attribute_names,
            columns={
                "speaker": np.array([speaker for speaker, *_ in rows], dtype=np.int64),
                "round": np.array([number for _, _, number, _ in rows], dtype=np.int64),
                "participant_kind": np.array([self._kind_of(speaker) for speaker, *_ in rows], dtype=np.str_),
                **self.columns(things),
            },
        )

    def columns(self, things: "np.ndarray[Any, Any]") -> dict[str, Any]:
        """Further columns of the corpus for these meanings."""
        return {}


def is_asked(experiment: Experiment) -> bool:
    """Whether a game is a play of rounds with slow participants, so that a step may cost time or money."""
    if not issubclass(PLAYS.load(experiment.play.kind), Rounds):
        return False
    options = experiment.play.options
    parts = [options.participant, *([options.other] if options.num_others else [])]
    return any(PARTICIPANTS.load(part.kind).is_slow for part in parts)
