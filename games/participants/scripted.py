"""Participants that follow a rule, as baselines and for plays with a known outcome."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NoReturn

import numpy as np

from ecsuite.agents.options import PhrasebookRules
from ecsuite.agents.phrasebook import Phrasebook
from ecsuite.games.participants.participant import Ask, Participant, Round, Setting
from ecsuite.language_models.backend import Allowed
from ecsuite.parts.config import Positive, Share
from ecsuite.runtime.errors import ConfigError, shown

NEW_LENGTH = 12
"""Maximum length of an invented name, in symbols; long enough that two agents never invent the same name."""


def invented(allowed: Allowed, rng: np.random.Generator) -> str:
    """Draw a name from the pool, or invent one if names are open."""
    return allowed.drawn(rng, min(allowed.max_len, NEW_LENGTH))


def _reject(setting: Setting, option: str, allowed: Allowed, name: str) -> NoReturn:
    raise ConfigError(f"{setting.place}.{option}: expected {allowed.sentence():.100}, got {shown(name)}")


class Collapsing(Participant):
    """The minimal naming game (Baronchelli et al. 2006, arXiv physics/0509075, section 2).

    An agent has an inventory of names for each meaning. As speaker it draws one of them, or invents one. After a
    success both agents forget all other names; after a failure the listener adds the name.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of the inventories."""

        begins_with: str = ""
        """Initial name of every agent for each meaning; empty: none."""

    def __init__(self, options: Options, *, setting: Setting) -> None:
        super().__init__(options, setting=setting)
        self._known: dict[int, dict[int, list[str]]] = defaultdict(dict)
        self._first = [options.begins_with] if options.begins_with else []

    def _names(self, agent: int, thing: int) -> list[str]:
        known = self._known[agent]
        if thing not in known:
            known[thing] = list(self._first)
        return known[thing]

    def answer(self, ask: Ask, rng: np.random.Generator) -> str:
        """Draw a name from the inventory, or invent one if it is empty."""
        known = self._names(ask.agent, ask.thing)
        return known[int(rng.integers(len(known)))] if known else invented(ask.allowed, rng)

    def recognises(self, agent: int, thing: int, name: str) -> bool:
        """Whether the name is in the inventory."""
        return name in self._names(agent, thing)

    def learn(self, agent: int, played: Round) -> None:
        """After a success, keep only this name; after a failure, add the names of the round."""
        known = self._names(agent, played.thing)
        if played.success:
            known[:] = [played.message]
        else:
            known += [name for name in (played.message, played.answer) if name and name not in known]

    def begin(self, agent: int) -> None:
        """Forget all names."""
        self._known.pop(agent, None)

    def require(self, allowed: Allowed) -> None:
        """Raise `ConfigError` if the initial name is not an allowed message."""
        if self._first and not allowed.allows(self._first[0]):
            _reject(self.setting, "begins_with", allowed, self._first[0])

    def names(self, agent: int, thing: int) -> Sequence[str]:
        """Return the inventory."""
        return self._names(agent, thing)


class Committed(Participant):
    """Agent that always says the same name (Xie et al. 2011, arXiv 1102.3931)."""

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of committed agents."""

        name: str = ""
        """The name."""

    def __init__(self, options: Options, *, setting: Setting) -> None:
        super().__init__(options, setting=setting)
        if not options.name:
            raise ConfigError(f"{setting.place}.name: expected the name that committed agents say")

    def require(self, allowed: Allowed) -> None:
        """Raise `ConfigError` if the name is not an allowed message."""
        if not allowed.allows(self.options.name):
            _reject(self.setting, "name", allowed, self.options.name)

    def answer(self, ask: Ask, rng: np.random.Generator) -> str:
        """Return the name."""
        return str(self.options.name)

    def recognises(self, agent: int, thing: int, name: str) -> bool:
        """Whether it is the name."""
        return bool(name == self.options.name)

    def names(self, agent: int, thing: int) -> Sequence[str]:
        """Return the name."""
        return (self.options.name,)


class WinStay(Participant):
    """Win-stay, lose-shift (Nowak & Sigmund 1993): the same name after a success, another name after a failure.

    The other name is drawn from the pool or, if names are open, from the names that the agent has heard.
    """

    def __init__(self, options: Any, *, setting: Setting) -> None:
        super().__init__(options, setting=setting)
        self._last: dict[int, dict[int, tuple[str, bool]]] = defaultdict(dict)
        self._heard: dict[int, dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))

    def answer(self, ask: Ask, rng: np.random.Generator) -> str:
        """Return the last name after a success, else another name."""
        last, won = self._last[ask.agent].get(ask.thing, ("", False))
        if won:
            return last
        others = [n for n in ask.allowed.choices or self._heard[ask.agent][ask.thing] if n != last]
        return others[int(rng.integers(len(others)))] if others else last or invented(ask.allowed, rng)

    def learn(self, agent: int, played: Round) -> None:
        """Store the agent's last name, and whether it was understood."""
        own, heard = played.message, played.answer
        if agent == played.listener:
            own, heard = heard or own, own
        self._last[agent][played.thing] = (own, played.success)
        if heard and heard not in self._heard[agent][played.thing]:
            self._heard[agent][played.thing].append(heard)

    def begin(self, agent: int) -> None:
        """Forget all rounds."""
        self._last.pop(agent, None)
        self._heard.pop(agent, None)

    def names(self, agent: int, thing: int) -> Sequence[str]:
        """Return the last name after a success."""
        last, won = self._last[agent].get(thing, ("", False))
        return (last,) if won else ()


class Bayesian(Participant):
    """Agent that infers the frequency of each name, with a Dirichlet prior (Reali & Griffiths 2009).

    If names are open, the prior is a Chinese restaurant process, which gives new names a probability.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of the inference."""

        prior: Positive = 1.0
        """Weight of the prior, in rounds."""
        chooses: Literal["sample", "most"] = "sample"
        """sample: draw a name with its posterior probability. most: the most probable name."""

    def __init__(self, options: Options, *, setting: Setting) -> None:
        super().__init__(options, setting=setting)
        self._counts: dict[int, dict[int, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))

    def answer(self, ask: Ask, rng: np.random.Generator) -> str:
        """Choose a name by its posterior probability."""
        counts = self._counts[ask.agent][ask.thing]
        pool = ask.allowed.choices
        names = list(pool or counts)
        weights = np.array([counts[name] + (self.options.prior / len(pool) if pool else 0) for name in names])
        if not pool:
            names, weights = [*names, ""], np.append(weights, self.options.prior)
        if self.options.chooses == "most":
            best = np.flatnonzero(weights == weights.max())
            chosen = names[int(best[rng.integers(len(best))])]
        else:
            chosen = names[
                int(np.searchsorted(np.cumsum(weights), rng.random() * weights.sum(), side="right"))
            ]
        return chosen or invented(ask.allowed, rng)

    def learn(self, agent: int, played: Round) -> None:
        """Count the name that the other agent said."""
        heard = played.answer if agent == played.speaker else played.message
        if heard:
            self._counts[agent][played.thing][heard] += 1

    def begin(self, agent: int) -> None:
        """Forget all names."""
        self._counts.pop(agent, None)

    def names(self, agent: int, thing: int) -> Sequence[str]:
        """Return the name heard most often."""
        return [name for name, _ in self._counts[agent][thing].most_common(1)]


class PhrasebookParticipant(Participant):
    """Agent that speaks and listens by an inventory of forms with meanings (after Boldt & Mortensen 2026).

    Forms consist of the play's symbols, given by name or by number from 1, as in the corpus of a run.

    Raises:
        ConfigError: If the inventory can't be read, or does not fit the play.
    """

    Options = PhrasebookRules
    tasks = ("discrimination", "reconstruction")

    def __init__(self, options: PhrasebookRules, *, setting: Setting) -> None:
        super().__init__(options, setting=setting)
        self._names = setting.words.symbols or setting.words.choices
        if not self._names or not setting.value_names:
            raise ConfigError("expected a world of attribute values, and messages of given symbols, not text")
        self._ids = {name: number for number, name in enumerate(self._names)}
        symbols = {str(number + 1): number for number in self._ids.values()} | self._ids
        concepts = {name: n for n, name in enumerate(name for of in setting.value_names for name in of)}
        place = f"{setting.place}.inventory"
        self._book = Phrasebook(options.inventory, symbols, concepts, place, options.size)
        self._concepts = setting.values + np.cumsum([0, *map(len, setting.value_names[:-1])])

    def answer(self, ask: Ask, rng: np.random.Generator) -> str:
        """Return phrases that cover the meaning, or the candidate with the most evidence from the phrases heard."""
        words = self.setting.words
        if ask.role == "speaker":
            room = words.max_len if words.symbols else 1
            said = self._book.say(self._concepts[ask.thing].tolist(), room, rng, self.options)
            return words.separator.join(self._names[symbol] for symbol in said) or words.drawn(rng)
        heard = [self._ids.get(symbol, -1) for symbol in words.split(ask.message)]
        evidence = self._book.read(heard, self.options.unknown)
        things = self._concepts[list(ask.candidates) or slice(None)].tolist()
        fits = np.array([sum(evidence.get(concept, 0.0) for concept in thing) for thing in things])
        best = np.flatnonzero(fits >= fits.max() - 1e-9)  # bits that differ by rounding alone are equal
        return ask.allowed.choices[int(best[rng.integers(len(best))])]


class RothErev(Participant):
    """Reinforcement with urns: probabilities are proportional to weights, and a success adds 1 (Roth & Erev 1995).

    An agent has an urn of messages for each meaning, and an urn of meanings for each message. If names are open, an urn
    begins with a ball that invents a name (Skyrms 2010, Signals, chapter 10).
    """

    tasks = ("naming", "discrimination", "reconstruction")

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of the urns."""

        initial: Positive = 1.0
        """Weight of each choice at the beginning."""

    initial = property(lambda self: self.options.initial)

    def __init__(self, options: Any, *, setting: Setting) -> None:
        super().__init__(options, setting=setting)
        self._urns: dict[int, dict[int | str, dict[int | str, float]]] = defaultdict(dict)

    def _urn(self, agent: int, cue: int | str) -> dict[int | str, float]:
        """Return the weights of the messages of a meaning, by its index, or of the meanings of a message."""
        urns = self._urns[agent]
        if cue not in urns:
            choices = range(len(self.setting.things)) if isinstance(cue, str) else self.setting.words.choices
            urns[cue] = dict.fromkeys(choices or ("",), self.initial)
        return urns[cue]

    def answer(self, ask: Ask, rng: np.random.Generator) -> str:
        """Draw a choice in proportion to its weight; the empty choice is a new name."""
        speaks = ask.role == "speaker" or ask.task == "naming"
        urn = self._urn(ask.agent, ask.thing if speaks else ask.message)
        choices = list(urn) if speaks else list(ask.candidates or urn)
        total = np.cumsum([urn[choice] for choice in choices])
        place = min(int(np.searchsorted(total, rng.random() * total[-1], side="right")), len(choices) - 1)
        return str(choices[place] or invented(ask.allowed, rng)) if speaks else ask.allowed.choices[place]

    def learn(self, agent: int, played: Round) -> None:
        """After a success, reinforce the message that the agent said, or its interpretation of a message."""
        if not played.success:
            return
        takes = agent == played.listener and (
            played.phase or played.candidates
        )  # in a naming game the listener answers with a name, too
        cue, choice = (played.message, played.thing) if takes else (played.thing, played.message)
        self.reinforce(self._urn(agent, cue), choice)

    def reinforce(self, urn: dict[int | str, float], choice: int | str) -> None:
        """Add 1 to the weight of a choice."""
        urn[choice] = urn.get(choice, 0.0) + 1

    def begin(self, agent: int) -> None:
        """Forget all urns."""
        self._urns.pop(agent, None)

    def names(self, agent: int, thing: int) -> Sequence[str]:
        """Return the name with the largest weight, if any name was reinforced."""
        urn = self._urns[agent].get(thing, {})
        best = max(urn, key=urn.__getitem__, default="")
        return (str(best),) if best and len(set(urn.values())) > 1 else ()


class Replicator(RothErev):
    """Learner that moves its probabilities towards each successful choice by a share of the distance (Cross 1973).

    The expected change follows the replicator dynamics (Börgers & Sarin 1997): p' - p = step p (u - mean u).
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of the learner."""

        step: Share = 0.1
        """Share of the distance to 1 by which the probability of a successful choice grows."""

    initial = 1.0

    def reinforce(self, urn: dict[int | str, float], choice: int | str) -> None:
        """Move the probabilities towards a choice; the sum of the weights is constant."""
        total = sum(urn.values())
        for each in urn:
            urn[each] *= 1 - self.options.step
        urn[choice] = urn.get(choice, 0.0) + self.options.step * total
