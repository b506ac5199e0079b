"""Reference games with memory, in blocks and generations: one agent describes a meaning, another agent identifies it.

Repeated reference has several blocks of talk; learn-then-talk begins with a taught language; a chain has generations
of new agents, which are taught the test messages of one agent of the previous generation (iterated learning).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
import torch

from ecsuite.games.config.registry import MEETINGS, PARTICIPANTS
from ecsuite.games.config.sections import Experiment
from ecsuite.games.config.society import EVERYONE
from ecsuite.games.participants.exemplars import Exemplars
from ecsuite.games.participants.participant import Ask, Round, label
from ecsuite.games.plays.evaluation import joined
from ecsuite.games.plays.rounds import Planned, Rounds
from ecsuite.games.plays.words import require_words_read, words_of
from ecsuite.games.tasks.tasks import Reconstruction
from ecsuite.games.worlds.world import make_world
from ecsuite.language_models.backend import Allowed
from ecsuite.parts.config import Count, Levels, Natural
from ecsuite.parts.registry import Part
from ecsuite.runtime.errors import ConfigError

EXEMPLARS = Part("exemplars", Exemplars.Options())
MOST_THINGS = 10_000
TALK, TEST = "talk", "test"


class Talk(Rounds):
    """Reference game with memory: one agent describes a meaning, another identifies it among candidates or all.

    In each of the `blocks` of a generation every meaning is described once; in the test that follows, every agent
    names every meaning without a listener. An epoch of `training` is a generation, with the rounds of its blocks and
    its test.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of talk."""

        agents: Levels = 2
        """Number of agents."""
        participant: Annotated[Part, PARTICIPANTS] = EXEMPLARS
        """The participant that plays each agent."""
        num_others: Natural = 0
        """Number of agents of the other kind, such as trained networks next to a language model."""
        other: Annotated[Part, PARTICIPANTS] = EXEMPLARS
        """The participant that plays agents of the other kind."""
        meets: Annotated[Part, MEETINGS] = EVERYONE
        """Pairs of speakers and listeners."""
        task: Literal["discrimination", "reconstruction"] = "discrimination"
        """discrimination: the listener chooses among candidates. reconstruction: among all meanings."""
        candidates: Levels = 4
        """Number of candidates that a listener chooses among."""
        symbols: Literal["letters", "syllables", "words", "text", "pool"] = "syllables"
        """Units of messages; text: free text, split into words; pool: a message is one name."""
        pool: Count = 10
        """Size of the pool of names."""
        names: tuple[str, ...] = ()
        """Letters, syllables, words or names, instead of the defaults."""
        max_symbols: Count = 6
        """Maximum number of symbols per message."""
        language: Literal["none", "random", "compositional"] = "none"
        """Language taught to the first generation. random: a message per meaning, independent of its values.
        compositional: a symbol per value, in the order of the attributes."""
        num_taught: Count | None = None
        """Number of meanings whose messages are taught; the others are held out. null: all of them."""
        blocks: Natural = 4
        """Number of times that every meaning is described in a generation."""
        test: bool = True
        """Whether every agent names every meaning after the blocks."""
        window: Count = 100
        """Number of last rounds of talk over which success is averaged."""

        def __post_init__(self) -> None:
            """Validate that there are blocks or a test, and that the given options are read; `ConfigError` if not."""
            if not self.blocks and not self.test:
                raise ConfigError("blocks: expected blocks of talk, or test: true")
            require_words_read(self)

    sections = ("world",)

    def __init__(self, options: Options, *, experiment: Experiment, device: torch.device) -> None:
        super().__init__(options, experiment=experiment, device=device)
        number = len(self.things)
        if self.num_generations > 1 and not options.test:
            raise ConfigError("play.test: new agents are taught the messages of the test: expected true")
        if options.task == "discrimination" and options.candidates > number:
            raise ConfigError(
                f"play.candidates: expected at most the {number} meanings of the world, got {options.candidates}"
            )
        if options.num_taught is not None and options.num_taught > number:
            raise ConfigError(
                f"play.num_taught: expected at most the {number} meanings of the world, got {options.num_taught}"
            )
        self._first_language()  # may raise `ConfigError`: before anything is written

    def make_things(self) -> "tuple[tuple[str, ...], np.ndarray[Any, Any]]":
        """Make the meanings: all objects of the world, described by the names of their values."""
        # The play, not the task, sets the number of candidates.
        alone = Part("reconstruction", Reconstruction.Options())
        world = make_world(replace(self.experiment, task=alone))
        if world.num_values is None or world.has_rules:
            raise ConfigError(
                "world: for play talk, expected a world of single objects with attribute values"
            )
        values = joined([world.describe(each) for each in world.corpus_batches(MOST_THINGS)]).meanings
        self.value_names = names = world.value_names
        self.attribute_names = world.names_of_attributes
        self.num_values = tuple(map(len, names))
        texts = (
            ", ".join(names[a][value].replace("=", " ") for a, value in enumerate(row)) for row in values
        )
        return tuple(texts), values

    def make_words(self) -> Allowed:
        """Make the set of allowed messages."""
        return words_of(self.options)

    def answers(self) -> Iterable[Allowed]:
        """Sets of allowed answers: labels of candidates, or all meanings."""
        return (self._answers(),)

    def _answers(self) -> Allowed:
        if self.options.task == "reconstruction":
            return Allowed(choices=self.things)
        return Allowed(choices=tuple(label(n) for n in range(self.options.candidates)))

    def chance(self) -> Mapping[str, float]:
        """Accuracy of a uniform guess, if there are blocks of talk."""
        return {"accuracy": 1 / len(self._answers().choices)} if self.options.blocks else {}

    @property
    def num_generations(self) -> int:
        """Number of generations: one per epoch."""
        return self.experiment.training.num_epochs

    @property
    def num_rounds(self) -> int:
        """Number of rounds per generation."""
        return sum(self._sizes)

    @property
    def _sizes(self) -> tuple[int, int]:
        """Numbers of rounds of talk and of the test in a generation."""
        number = len(self.things)
        return self.options.blocks * number, self.num_agents * number * self.options.test

    @cached_property
    def batches_per_epoch(self) -> int:
        """Number of steps per generation; no step contains rounds of both phases."""
        return sum(-(-size // self.experiment.training.batch_size) for size in self._sizes)

    def start(self) -> None:
        """See the base class; also draw the meanings that are taught."""
        super().start()
        self.generation = -1
        self.taught: list[tuple[int, str]] = []
        self.is_taught = np.zeros(len(self.things), dtype=bool)
        known = self.rng("taught", 0).permutation(len(self.things))[: self.options.num_taught]
        self.is_taught[known] = self.options.language != "none" or self.num_generations > 1

    def _enter(self, generation: int) -> None:
        """Replace all agents by a new generation, and choose what it is taught."""
        if generation == self.generation:
            return
        self.generation = generation
        self.memory = [[] for _ in range(self.num_agents)]
        for agent in range(self.num_agents):
            self.participant_of(agent).begin(agent)
        self.taught = self._taught_in(generation)

    def _taught_in(self, generation: int) -> list[tuple[int, str]]:
        """Meanings that a generation is taught, with their messages, in the order of teaching."""
        said = self._first_language()
        if generation > 0:
            teacher = int(self.rng("teacher", generation).integers(self.num_agents))
            said = {
                each.thing: each.message
                for each in self.rounds
                if each.phase == TEST and each.generation == generation - 1 and each.speaker == teacher
            }
        order = self.rng("order of what is taught", generation).permutation(len(self.things)).tolist()
        return [(thing, said[thing]) for thing in order if self.is_taught[thing] and thing in said]

    def _first_language(self) -> dict[int, str]:
        """Messages taught to the first generation, by meaning."""
        if self.options.language == "none":
            return {}
        rng, number = self.rng("language", 0), len(self.things)
        if self.options.language == "random":
            said: list[str] = []
            for _ in range(100 * number):  # draw until all differ, if there are enough
                message = self.words.drawn(rng)
                if message not in said:
                    said.append(message)
                if len(said) == number:
                    return dict(enumerate(said))
            option = "pool" if self.words.choices else "max_symbols"
            raise ConfigError(
                f"play.{option}: expected messages for {number} meanings, got {len(said)} different ones"
            )
        symbols, num_attributes = self.words.symbols, len(self.num_values)
        if len(symbols) < sum(self.num_values) or self.words.max_len < num_attributes:
            raise ConfigError(
                f"play.language: a compositional language needs a symbol for each of {sum(self.num_values)} values and "
                f"{num_attributes} symbols per message: expected more play.names or a larger play.max_symbols"
            )
        named, first = rng.permutation(len(symbols)), np.cumsum([0, *self.num_values[:-1]])
        return {
            thing: self.words.separator.join(symbols[named[each]] for each in row)
            for thing, row in enumerate((self.values + first).tolist())
        }

    def planned(self, step: int) -> list[Planned]:
        """Plan a part of one phase of a generation."""
        size = self.experiment.training.batch_size
        talk = -(-self._sizes[0] // size)
        generation, within = divmod(step, self.batches_per_epoch)
        before = generation * self.num_rounds
        if within < talk:
            numbers = range(within * size, min((within + 1) * size, self._sizes[0]))
            return [self._talk(before + n, n, generation) for n in numbers]
        numbers = range((within - talk) * size, min((within - talk + 1) * size, self._sizes[1]))
        number = len(self.things)
        return [
            Planned(before + self._sizes[0] + n, n // number, -1, n % number, (), TEST, generation)
            for n in numbers
        ]

    def _talk(self, number: int, place: int, generation: int) -> Planned:
        """Plan a round of talk; each block has the meanings in a new order."""
        block, within = divmod(place, len(self.things))
        order = self.rng(f"order {generation}", block)
        thing = int(order.permutation(len(self.things))[within])
        rng = self.rng("round", number)
        speakers, listeners = self.pairs(rng, 1, generation)
        candidates: tuple[int, ...] = ()
        if self.options.task == "discrimination":
            others = rng.permutation(len(self.things) - 1)[: self.options.candidates - 1]
            row = [thing, *(others + (others >= thing)).tolist()]
            candidates = tuple(row[n] for n in rng.permutation(len(row)).tolist())
        return Planned(number, speakers[0], listeners[0], thing, candidates, TALK, generation)

    def played(self, rounds: Sequence[Planned]) -> list[Round]:
        """Query all speakers, then all listeners."""
        self._enter(rounds[0].generation)
        said = self.asked([(plan, self._ask(plan, "speaker", plan.speaker, plan.thing)) for plan in rounds])
        listening = [
            (plan, message) for plan, message in zip(rounds, said, strict=True) if plan.listener >= 0
        ]
        given = self.asked(
            [(plan, self._ask(plan, "listener", plan.listener, -1, message)) for plan, message in listening]
        )
        answers = {plan.number: answer for (plan, _), answer in zip(listening, given, strict=True)}
        found = []
        for plan, message in zip(rounds, said, strict=True):
            answer = answers.get(plan.number, "")
            if answer and plan.candidates:
                answer = self.things[plan.candidates[self._answers().choices.index(answer)]]
            success = answer == self.things[plan.thing]
            found.append(
                Round(
                    plan.speaker, plan.listener, plan.thing, message, answer, success, plan.candidates, plan.phase,
                    plan.generation,
                )
            )  # fmt: skip
        return found

    def _ask(
        self, plan: Planned, role: Literal["speaker", "listener"], agent: int, thing: int, message: str = ""
    ) -> Ask:
        is_speaker = role == "speaker"
        return Ask(
            agent, role, self.options.task, thing, self.words if is_speaker else self._answers(),
            self.memory[agent], message, () if is_speaker else plan.candidates, self.taught,
        )  # fmt: skip

    def learnt(self, played: Round) -> None:
        """Update memories, but not in a test."""
        self._enter(played.generation)
        if played.phase == TALK:
            super().learnt(played)

    def evaluate(self) -> dict[str, float]:
        """Success and length in the last rounds of talk, and measures of the messages.

        `shortening` is the relative decrease in length from the first block to the last, defined after two blocks;
        `recall` is the share of taught meanings for which the last generation repeats the taught message in its test so
        far: the learnability of the language. Figures without rounds are left out.
        """
        talk = [each for each in self.rounds if each.phase == TALK]
        figures = self.means_of(talk[-self.options.window :])
        last, number = [each for each in talk if each.generation == self.generation], len(self.things)
        if len(last) >= 2 * number:
            first, now = (self.means_of(part)["length"] for part in (last[:number], last[-number:]))
            figures["shortening"] = 1 - now / first
        said = self._said_as_taught()
        if said:
            figures["recall"] = sum(said) / len(said)
        return figures

    @property
    def figures(self) -> Sequence[str]:
        """Names of the figures: figures of talk, if there are blocks, and recall, if messages are taught and tested."""
        options = self.options
        named = (*super().figures, *(("shortening",) if options.blocks > 1 else ())) if options.blocks else ()
        return (*named, *(("recall",) if options.test and self.is_taught.any() else ()))

    def _said_as_taught(self) -> list[bool]:
        """For each taught meaning named in the last generation's test so far, whether the message is the one taught."""
        taught = dict(self.taught)
        return [
            each.message == taught[each.thing]
            for each in self.rounds
            if each.phase == TEST and each.generation == self.generation and each.thing in taught
        ]

    def _held_out(self) -> list[tuple[Round, float]]:
        """Rounds of talk about a meaning that the listener was not taught, and that it has no earlier round about.

        Each has the probability of a right guess, among the meanings that the listener can't rule out, as it knows
        other messages of them.
        """
        found, generation, known = list[tuple[Round, float]](), -1, list[dict[int, set[str]]]()
        for each in self.rounds:
            if each.generation != generation:
                generation, taught = each.generation, self._taught_in(each.generation)
                known = [{thing: {message} for thing, message in taught} for _ in range(self.num_agents)]
            if each.phase != TALK:
                continue
            own = known[each.listener]
            if taught and each.thing not in own:
                things = each.candidates or range(len(self.things))
                left = [thing for thing in things if thing not in own or each.message in own[thing]]
                found.append((each, 1 / len(left)))
            for agent in (each.speaker, each.listener):
                known[agent].setdefault(each.thing, set()).add(each.message)
        return found

    def other_evaluations(self) -> dict[str, dict[str, float]]:
        """Success and length in the listeners' first rounds about held-out meanings, and in each generation."""
        talk = [each for each in self.rounds if each.phase == TALK]
        parts = {"held out": [each for each, _ in self._held_out()]}
        if self.num_generations > 1:
            for number in range(self.generation + 1):
                parts[f"generation {number + 1}"] = [each for each in talk if each.generation == number]
        return {name: self.means_of(rounds) for name, rounds in parts.items() if rounds}

    def other_chance(self) -> Mapping[str, Mapping[str, float]]:
        """Chance level of the rounds about held-out meanings, and of the generations; see `_held_out`."""
        levels = [level for _, level in self._held_out()]
        of_held_out = {"accuracy": sum(levels) / len(levels)} if levels else {}
        return {
            name: of_held_out if name == "held out" else self.chance() for name in self.other_evaluations()
        }

    def columns(self, things: "np.ndarray[Any, Any]") -> dict[str, Any]:
        """Corpus column `split`: train if a meaning was taught, else held_out."""
        return {"split": np.where(self.is_taught[things], "train", "held_out")} if self.taught else {}

    def lines(self) -> list[str]:
        """Describe the task, the agents, and the messages, for the user."""
        options = self.options
        who = options.participant.kind + (f" and {options.other.kind}" if options.num_others else "")
        generations = f", {self.num_generations} generations" if self.num_generations > 1 else ""
        return [
            f"{self.experiment.name}: {options.task} of {len(self.things)} meanings by {self.num_agents} agents ({who})"
            f"{generations}; messages: {self.words.sentence():.80}"
        ]
