"""The naming game: agents that meet in pairs, and agree on names for things, or do not."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np

from ecsuite.games.config.registry import MEETINGS, PARTICIPANTS
from ecsuite.games.participants.participant import Ask, Round
from ecsuite.games.participants.scripted import Collapsing, Committed
from ecsuite.games.players.options import EVERYONE
from ecsuite.games.plays.rounds import Planned, Rounds
from ecsuite.games.plays.words import require_words_read, words_of
from ecsuite.language_models.backend import Allowed
from ecsuite.parts.config import Count, Levels, Natural
from ecsuite.parts.registry import Part

COLLAPSING = Part("collapsing", Collapsing.Options())
COMMITTED = Part("committed", Committed.Options())


class NamingGame(Rounds):
    """In a round one agent names a thing to another one, or both name it at once.

    Names are of a pool, or open: made of letters, syllables or words. The steps of `training` are so many rounds.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of the naming game."""

        agents: Levels = 20
        """Number of agents."""
        participant: Annotated[Part, PARTICIPANTS] = COLLAPSING
        """Who they are."""
        num_others: Natural = 0
        """How many of them are others, such as a committed minority."""
        other: Annotated[Part, PARTICIPANTS] = COMMITTED
        """Who the others are."""
        meets: Annotated[Part, MEETINGS] = EVERYONE
        """Who meets whom."""
        objects: Count = 1
        """Number of things that are named."""
        symbols: Literal["pool", "letters", "syllables", "words", "text"] = "pool"
        """pool: names are to choose from. Otherwise they are open, and made of these."""
        pool: Count = 10
        """Number of names of a pool, a, b, c, …, z, aa, ab, …"""
        names: tuple[str, ...] = ()
        """The names of the pool, or the letters, syllables or words of open names, in place of these."""
        max_symbols: Count = 12
        """Most symbols of an open name."""
        at_once: bool = False
        """Whether both agents of a round say a name at the same time; otherwise one speaks, and the other one hears."""
        window: Count = 100
        """The last rounds, over which success is averaged."""

        def __post_init__(self) -> None:
            """Check that what is set of words is read; `ConfigError` if not."""
            require_words_read(self)

    attribute_names = ("object",)

    def make_things(self) -> "tuple[tuple[str, ...], np.ndarray[Any, Any]]":
        """Numbered objects."""
        number = self.options.objects
        return tuple(f"object {each + 1}" for each in range(number)), np.arange(number)[:, None]

    def make_words(self) -> Allowed:
        """The names."""
        return words_of(self.options)

    def chance(self) -> Mapping[str, float]:
        """How often two names of a pool, drawn at random, are the same."""
        return {"accuracy": 1 / len(self.words.choices)} if self.words.choices else {}

    def start(self) -> None:
        """See the base class; nobody has a name."""
        super().start()
        self.held: list[Counter[str]] = [Counter() for _ in self.things]
        self._single: dict[tuple[int, int], str] = {}
        self._changes: dict[int, list[tuple[int, int, str]]] = {}
        self._agreed: set[int] = set()
        self.consensus_at: int | None = None
        for thing in range(len(self.things)):
            for agent in range(self.num_agents):
                known = self.participant_of(agent).names(agent, thing) or ()
                self._set(agent, thing, known[0] if len(known) == 1 else "")

    def planned(self, step: int) -> list[Planned]:
        """Pairs that meet, drawn by their weights, and things, all equally likely."""
        size, rng = self.experiment.training.batch_size, self.rng("pairs", step)
        speakers, listeners = self.pairs(rng, size, step // self.steps_per_epoch)
        things = rng.integers(len(self.things), size=size)
        drawn = zip(speakers, listeners, things.tolist(), strict=True)
        left = self.num_rounds * self.experiment.training.num_epochs - step * size
        return [Planned(step * size + n, *each) for n, each in enumerate(drawn) if n < left]

    def played(self, rounds: Sequence[Planned]) -> list[Round]:
        """One speaks, and the other one knows the name or not; or both speak."""
        spoken = [(plan, self._ask(plan, "speaker", plan.speaker)) for plan in rounds]
        # A hearer is asked for a name if both speak at once, or if it is not known which names it knows.
        waiting = [
            plan
            for plan in rounds
            if self.options.at_once
            or self.participant_of(plan.listener).recognises(plan.listener, plan.thing, "") is None
        ]
        heard = [(plan, self._ask(plan, "listener", plan.listener)) for plan in waiting]
        said = self.asked([*spoken, *heard])
        named = {plan.number: name for plan, name in zip(waiting, said[len(rounds) :], strict=True)}
        found = []
        for plan, message in zip(rounds, said[: len(rounds)], strict=True):
            answer, success = named.get(plan.number, ""), False
            if answer:
                success = answer == message
            else:
                hearer = self.participant_of(plan.listener)
                success = bool(hearer.recognises(plan.listener, plan.thing, message))
            found.append(Round(plan.speaker, plan.listener, plan.thing, message, answer, success))
        return found

    def _ask(self, plan: Planned, role: Literal["speaker", "listener"], agent: int) -> Ask:
        return Ask(agent, role, "naming", plan.thing, self.words, self.memory[agent])

    def learnt(self, played: Round) -> None:
        """Also count who has which name alone."""
        super().learnt(played)
        changes = []
        for agent, own in ((played.speaker, played.message), (played.listener, played.answer)):
            names = self.participant_of(agent).names(agent, played.thing)
            known = ((own,) if own else ()) if names is None else names
            changes.append((agent, played.thing, known[0] if len(known) == 1 else ""))
        self._changes[id(played)] = changes

    def _set(self, agent: int, thing: int, name: str) -> None:
        """An agent has one name alone for a thing, or none."""
        before = self._single.get((agent, thing), "")
        if before == name:
            return
        self._single[agent, thing] = name
        if before:
            self.held[thing][before] -= 1
            self._agreed.discard(thing)
        if name:
            self.held[thing][name] += 1
            if self.held[thing][name] == self.num_agents:
                self._agreed.add(thing)

    def noted(self, before: int) -> None:
        """Find the first round after which all agents have one name, in the order of the rounds."""
        for number in range(before, len(self.rounds)):
            for change in self._changes.pop(id(self.rounds[number]), ()):
                self._set(*change)
            if self.consensus_at is None and len(self._agreed) == len(self.things):
                self.consensus_at = number + 1

    def _share(self) -> float:
        """Share of the agents that have the most frequent name alone, over things."""
        most = [max(each.values(), default=0) for each in self.held]
        return sum(most) / (len(most) * self.num_agents)

    def evaluate(self) -> dict[str, float]:
        """Success, agreement and names.

        `consensus` is the share of agents that have the most frequent name and no other; `consensus_round` the rounds
        until all of them had it, and the rounds played as long as they have not. `others_share` is the share of the
        rest that has taken over the name which the others hold. `first_name` is the share of agents that have the first
        name of the pool and no other: over runs, whether the population prefers a name that no agent does.
        """
        figures = {
            **super().evaluate(),
            "consensus": self._share(),
            "has_consensus": float(self.consensus_at is not None),
            "consensus_round": float(self.consensus_at or len(self.rounds)),
            "num_names": sum(sum(n > 0 for n in each.values()) for each in self.held) / len(self.held),
        }
        if self.words.choices:
            first = [each[self.words.choices[0]] for each in self.held]
            figures["first_name"] = sum(first) / (len(first) * self.num_agents)
        if self.options.num_others:
            figures["others_share"] = self._taken_over()
        return figures

    def _taken_over(self) -> float:
        """Share of the agents of the first kind that have a name alone which one of the others has alone."""
        first = self.num_first
        shares = []
        for thing in range(len(self.things)):
            theirs = {self._single.get((agent, thing), "") for agent in range(first, self.num_agents)} - {""}
            shares.append(
                sum(self._single.get((agent, thing), "") in theirs for agent in range(first)) / first
            )
        return sum(shares) / len(shares)

    def messages(self, played: Round) -> Sequence[tuple[int, str]]:
        """See the base class; both say a name at once, or one of them."""
        said = (played.speaker, played.message), (played.listener, played.answer)
        return said if self.options.at_once else said[:1]

    @property
    def figures(self) -> Sequence[str]:
        """See the base class; agreement is defined before any round."""
        return tuple(dict.fromkeys((*super().figures, *self.evaluate())))

    def lines(self) -> list[str]:
        """Who plays, and with which names."""
        who = self.options.participant.kind
        if self.options.num_others:
            who += f", {self.options.num_others} of them {self.options.other.kind}"
        return [
            f"{self.experiment.name}: naming game of {self.num_agents} agents ({who}); names: {self.words.sentence()}"
        ]
