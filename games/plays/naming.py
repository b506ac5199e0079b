"""The naming game: agents meet in pairs and may come to agree on names for objects."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np

from ecsuite.games.config.registry import MEETINGS, PARTICIPANTS
from ecsuite.games.config.society import EVERYONE
from ecsuite.games.participants.participant import Ask, Round
from ecsuite.games.participants.scripted import Collapsing, Committed
from ecsuite.games.plays.rounds import Planned, Rounds
from ecsuite.games.plays.words import require_words_read, words_of
from ecsuite.language_models.backend import Allowed
from ecsuite.parts.config import Count, Levels, Natural
from ecsuite.parts.registry import Part

NUM_SIMULATED, LEAST_SIMULATED, MOST_DRAWN = 1000, 100, 2**23
"""Number of simulated plays for the chance levels of agreement, the lowest number, and most names drawn (about)."""
LEAST_PROBABILITY = 1e-6
"""Probability below which random agreement counts as impossible."""
NO_NAME = -1
COLLAPSING = Part("collapsing", Collapsing.Options())
COMMITTED = Part("committed", Committed.Options())


class NamingGame(Rounds):
    """Naming game: in a round one agent names an object to another agent, or both name it at the same time.

    Names come from a pool, or are open: made of letters, syllables or words. A step plays
    `training.batch_size` rounds.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of the naming game."""

        agents: Levels = 20
        """Number of agents."""
        participant: Annotated[Part, PARTICIPANTS] = COLLAPSING
        """The participant that plays each agent."""
        num_others: Natural = 0
        """Number of agents of the other kind, such as a committed minority."""
        other: Annotated[Part, PARTICIPANTS] = COMMITTED
        """The participant that plays agents of the other kind."""
        meets: Annotated[Part, MEETINGS] = EVERYONE
        """Pairs of agents that meet."""
        objects: Count = 1
        """Number of objects to name."""
        symbols: Literal["pool", "letters", "syllables", "words", "text"] = "pool"
        """pool: names are chosen from a pool. Otherwise names are open, and made of these units."""
        pool: Count = 10
        """Size of the pool of names: a, b, c, …, z, aa, ab, …"""
        names: tuple[str, ...] = ()
        """Names of the pool, or letters, syllables or words of open names, instead of the defaults."""
        max_symbols: Count = 12
        """Maximum number of symbols of an open name."""
        at_once: bool = False
        """Whether both agents of a round name the object at the same time; otherwise one speaks, the other listens."""
        window: Count = 100
        """Number of last rounds over which success is averaged."""

        def __post_init__(self) -> None:
            """Validate that the given options of words are read; `ConfigError` if not."""
            require_words_read(self)

    attribute_names = ("object",)

    def make_things(self) -> "tuple[tuple[str, ...], np.ndarray[Any, Any]]":
        """Numbered objects."""
        number = self.options.objects
        return tuple(f"object {each + 1}" for each in range(number)), np.arange(number)[:, None]

    def make_words(self) -> Allowed:
        """Allowed names."""
        return words_of(self.options)

    def chance(self) -> Mapping[str, float]:
        """Success and agreement of agents that choose a name of the pool uniformly in each of their rounds.

        Two random names are equal with probability `accuracy`, names of two committed agents always; `accuracy`
        uses the meetings of the last `window` rounds. Agreement is the mean of the measures of `evaluate` over up to
        `NUM_SIMULATED` plays with the meetings and the committed agents of this play: the names of few agents are
        soon equal at random.
        """
        names = self.words.choices
        if not names:
            return {}
        held, agreed_at, meetings = self._random_plays()
        num_rounds, last = len(meetings), meetings[-self.options.window :]
        asked = self.num_first if self._has_committed else self.num_agents
        fixed = sum(min(plan.speaker, plan.listener) >= asked for plan in last) / len(last)
        counts, others = (
            _counts_of(held[..., first:], len(names)) for first in (0, self.num_first)
        )  # (plays, things, names)
        figures = {
            "accuracy": fixed + (1 - fixed) / len(names),
            "consensus": float(counts.max(2).mean()) / self.num_agents,
            "has_consensus": float((agreed_at <= num_rounds).mean()),
            "consensus_round": float(np.minimum(agreed_at, num_rounds).mean()),
            "num_names": float((counts > 0).sum(2).mean()),
            "first_name": float(counts[..., 0].mean()) / self.num_agents,
        }
        if self.options.num_others:
            taken = (counts - others) * (others > 0)
            figures["others_share"] = float(taken.sum(2).mean()) / self.num_first
        return figures

    @property
    def _has_committed(self) -> bool:
        return bool(self.options.num_others) and isinstance(self.participants[1], Committed)

    def _random_plays(self) -> "tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], list[Planned]]":
        """Simulate plays with random names; large plays are simulated fewer times.

        Returns:
            Last names by number, below 0 for none, (plays, things, agents); the first round in which all agreed,
            (plays,), or the number of rounds plus 1; and the meetings.
        """
        rng, names, asked = self.rng("chance", 0), self.words.choices, self.num_agents
        steps = range(self.steps_per_epoch * self.experiment.training.num_epochs)
        meetings = [plan for step in steps for plan in self.planned(step)]
        each = max(len(self.things) * self.num_agents, 2 * len(meetings))
        num_plays = min(max(MOST_DRAWN // each, LEAST_SIMULATED), NUM_SIMULATED)
        begin = np.full((num_plays, len(self.things), self.num_agents), NO_NAME, np.int32)
        if self._has_committed:
            asked = self.num_first
            begin[..., asked:] = names.index(self.participants[1].options.name)
        held = begin.copy()
        # Names are drawn independently, so the last names need no simulation of the rounds before.
        for thing, agent in sorted({(p.thing, who) for p in meetings for who in (p.speaker, p.listener)}):
            if agent < asked:
                held[:, thing, agent] = rng.integers(len(names), size=num_plays)
        agreed_at = np.full(num_plays, len(meetings) + 1)
        if len(meetings) * float(len(names)) ** (1 - asked) < LEAST_PROBABILITY:
            return held, agreed_at, meetings  # many agents do not agree at random
        agrees = np.zeros(begin.shape[:2], dtype=bool)
        for number, plan in enumerate(meetings):
            said = begin[:, plan.thing]
            for agent in (plan.speaker, plan.listener):
                if agent < asked:
                    said[:, agent] = rng.integers(len(names), size=num_plays)
            agrees[:, plan.thing] = (said == said[:, :1]).all(1) & (said[:, 0] != NO_NAME)
            agreed_at[agrees.all(1)] = np.minimum(agreed_at[agrees.all(1)], number + 1)
            if agreed_at.max() <= number + 1:
                break
        return held, agreed_at, meetings

    def start(self) -> None:
        """See the base class; no agent has a name yet."""
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
        """Draw pairs by their weights, and objects uniformly."""
        size, rng = self.experiment.training.batch_size, self.rng("pairs", step)
        speakers, listeners = self.pairs(rng, size, step // self.steps_per_epoch)
        things = rng.integers(len(self.things), size=size)
        drawn = zip(speakers, listeners, things.tolist(), strict=True)
        left = self.num_rounds * self.experiment.training.num_epochs - step * size
        return [Planned(step * size + n, *each) for n, each in enumerate(drawn) if n < left]

    def played(self, rounds: Sequence[Planned]) -> list[Round]:
        """Let the speaker name the object, and check whether the listener knows the name; or let both name it."""
        spoken = [(plan, self._ask(plan, "speaker", plan.speaker)) for plan in rounds]
        # A listener is asked for a name if both speak at once, or if its participant does not expose its names.
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
        """Update both memories, and record whose only name for the object has changed."""
        super().learnt(played)
        changes = []
        for agent, own in ((played.speaker, played.message), (played.listener, played.answer)):
            names = self.participant_of(agent).names(agent, played.thing)
            known = ((own,) if own else ()) if names is None else names
            changes.append((agent, played.thing, known[0] if len(known) == 1 else ""))
        self._changes[id(played)] = changes

    def _set(self, agent: int, thing: int, name: str) -> None:
        """Set the only name of an agent for an object; empty: no name, or several."""
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
        """Compute the first round after which all agents have one name."""
        for number in range(before, len(self.rounds)):
            for change in self._changes.pop(id(self.rounds[number]), ()):
                self._set(*change)
            if self.consensus_at is None and len(self._agreed) == len(self.things):
                self.consensus_at = number + 1

    def _share(self) -> float:
        """Share of agents whose only name is the most frequent one, averaged over objects."""
        most = [max(each.values(), default=0) for each in self.held]
        return sum(most) / (len(most) * self.num_agents)

    def evaluate(self) -> dict[str, float]:
        """Success, agreement and number of names.

        `consensus` is the share of agents whose only name is the most frequent one; `consensus_round` is the number
        of rounds until this holds for all agents, or the number of rounds played if it does not hold yet. `num_names`
        is the number of names that are the only name of an agent, averaged over objects. `others_share` is the share
        of agents of the first kind whose only name is the only name of an agent of the other kind. `first_name` is
        the share of agents whose only name is the first of the pool: over runs, it shows a bias of the population
        that no single agent has. `first_name_probability` is the probability of that name in the first rounds of
        agents of the first kind, if a backend gives the probabilities of all choices; it is computed at the end of a
        play.
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
            is_over = len(self.rounds) == self.num_rounds * self.experiment.training.num_epochs
            if is_over and (named := self.participants[0].first_choices()):
                figures["first_name_probability"] = named[self.words.choices[0]]
        if self.options.num_others:
            figures["others_share"] = self._taken_over()
        return figures

    def _taken_over(self) -> float:
        """Share of agents of the first kind whose only name is the only name of an agent of the other kind."""
        first = self.num_first
        shares = []
        for thing in range(len(self.things)):
            theirs = {self._single.get((agent, thing), "") for agent in range(first, self.num_agents)} - {""}
            shares.append(
                sum(self._single.get((agent, thing), "") in theirs for agent in range(first)) / first
            )
        return sum(shares) / len(shares)

    def messages(self, played: Round) -> Sequence[tuple[int, str]]:
        """See the base class; both agents send a message, or only the speaker."""
        said = (played.speaker, played.message), (played.listener, played.answer)
        return said if self.options.at_once else said[:1]

    @property
    def figures(self) -> Sequence[str]:
        """See the base class; agreement is defined before any round."""
        has_choices = self.words.choices and self.participants[0].first_choices() is not None
        more = ("first_name_probability",) if has_choices else ()
        return tuple(dict.fromkeys((*super().figures, *self.evaluate(), *more)))

    def lines(self) -> list[str]:
        """Describe the participants and the names, for the user."""
        who = self.options.participant.kind
        if self.options.num_others:
            who += f", {self.options.num_others} of them {self.options.other.kind}"
        return [
            f"{self.experiment.name}: naming game of {self.num_agents} agents ({who}); names: {self.words.sentence()}"
        ]


def _counts_of(held: "np.ndarray[Any, Any]", number: int) -> "np.ndarray[Any, Any]":
    """Number of agents with each name, (plays, things, names), from names by number, (plays, things, agents)."""
    shape = held.shape[:2]
    cell = np.arange(shape[0] * shape[1]).reshape(*shape, 1) * number + held
    counts = np.bincount(cell[held != NO_NAME], minlength=shape[0] * shape[1] * number)
    return counts.reshape(*shape, number)
