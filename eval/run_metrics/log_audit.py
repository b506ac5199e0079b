"""Audit of a recorded log: the association of messages with what agents saw and did, of steps or rounds of any program.

Lowe et al. (2019, "On the pitfalls of measuring emergent communication", arXiv 1903.05168) distinguish positive
signalling (messages depend on the observation or the action of the speaker, sections 3.1 and 3.2) from positive
listening (messages change what the listener does, section 3.3). A log shows associations only: without the agents,
nobody can hear another message. The null keeps whole episodes: messages of an episode are those of another one.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.corpus import SPEAKER, Corpus
from ecsuite.eval.counts.counting import message_labels, row_labels
from ecsuite.eval.metrics.score import Score, Signature
from ecsuite.eval.statistics import resampling
from ecsuite.eval.statistics.chance import Chance
from ecsuite.eval.statistics.contingency import Ints, entropy_of_codes, joint_codes
from ecsuite.eval.statistics.estimates import ALPHA, holm
from ecsuite.eval.views.console import Report
from ecsuite.formats.cells import PADDING
from ecsuite.runtime.errors import CorpusError, joined
from ecsuite.tables.cells import nothing, number, p_value, text
from ecsuite.tables.table import Column, Table, name_column, number_column, row_of

NUM_BINS = 4
"""Bins of about equally many rows for each feature of an observation, whose numbers may all differ."""
VERSION = 1
"""Raised whenever the same log gives another score."""
NEEDS_AGENTS = "severed, constant, self-sent"
"""Conditions that no log has: somebody would have to hear other messages."""
Statistic = Callable[[Ints], float]
"""Maps the message of each row, (num_rows,), to a score."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Measure:
    name: str
    about: str
    statistic: Statistic | None
    most: float = 1.0
    reason: str = ""
    """Why there is no statistic."""
    is_of_strangers: bool = False
    """Whether the null has messages of agents that never met."""


class _Log:
    """Codes of the columns of a log, each (num_rows,); -1 where a row has none.

    Args:
        corpus: Rows are steps of an agent or, with a column of listeners or without agents, rounds.
        delay: Steps after which a message is heard; 0: at the same step.

    Raises:
        CorpusError: If no column has actions, or actions are lists of numbers.
    """

    def __init__(self, corpus: Corpus, delay: int) -> None:
        self.roles: Mapping[str, str] = corpus.metadata.get("roles", {})
        self.source, self.notes = corpus.metadata.get("source_path", "the log"), list[str]()
        number = len(corpus.messages)
        self.agent = (
            _codes(corpus.columns[SPEAKER]) if SPEAKER in corpus.columns else np.zeros(number, np.int64)
        )
        self.listener = _codes(corpus.columns["listener"]) if "listener" in corpus.columns else None
        self.are_rounds = self.listener is not None or SPEAKER not in corpus.columns
        if self.listener is None and self.are_rounds:
            self.listener = np.zeros(number, np.int64)
            self.notes.append("no column of agents: each row is a round, whose action answers its message")
        contexts = self._columns(corpus, "context")
        self.action = self._actions(corpus, contexts)
        self.attributes = _observed(corpus)
        self.seen = _joint(self.attributes.values(), number)
        self.hearer_sees = self.seen
        if self.are_rounds:
            self.hearer_sees = _joint(map(_codes, contexts), number)
        has_words = np.bincount(self.agent, corpus.content().lengths, self.agent.max() + 1) > 0
        self.speaks = has_words[self.agent]  # one who never speaks has no messages; silence of others is one
        self.messages = np.where(self.speaks, message_labels(corpus), -1)
        groups = self._columns(corpus, "group")
        episode = _joint(map(_codes, groups), number)
        if episode is None:
            self.notes.append("no column of episodes: each row is one, and rows are exchanged by themselves")
        self.episode = np.arange(number) if episode is None else episode
        moment = _joint(map(_ranks, self._columns(corpus, "time")), number)
        if moment is None or self.are_rounds:
            moment = np.arange(number)
            if not self.are_rounds:
                self.notes.append("no column of steps: rows follow each other")
        self.order = np.lexsort((np.arange(number), moment, self.episode))
        self.hearing, self.heard = self._heard(moment, delay)

    def _columns(self, corpus: Corpus, role: str) -> list[NDArray[Any]]:
        return [
            corpus.columns[name]
            for name, each in self.roles.items()
            if each == role and name in corpus.columns
        ]

    def _actions(self, corpus: Corpus, contexts: Sequence[NDArray[Any]]) -> Ints:
        found = self._columns(corpus, "action")
        if not found:
            expected = f"no column of actions among {joined(self.roles) or 'message'}"
            raise CorpusError(f"{self.source}: {expected}: name one with --column NAME=action")
        values = found[0].tolist()
        if contexts and all(map(_is_list, contexts[0].tolist())):  # as positions, which alone say nothing
            pairs = list(zip(values, contexts[0].tolist(), strict=True))
            if all(_is_list(value) and len(value) == len(options) for value, options in pairs):
                pairs = [(max(range(len(value)), key=value.__getitem__), options) for value, options in pairs]
            if all(type(value) is int and 0 <= value < len(options) for value, options in pairs):
                self.notes.append("an action is a position in the context: the item there is taken")
                values = [options[value] for value, options in pairs]
        actions = np.empty(len(values), object)
        actions[:] = values
        if any(_is_list(value) and any(type(each) is float for each in value) for value in values):
            raise CorpusError(
                f"{self.source}: expected actions that are values, got lists of numbers with decimals"
            )
        if (codes := _codes(actions)).max() < 0:
            raise CorpusError(f"{self.source}: no row has an action")
        return codes

    def _heard(self, moment: Ints, delay: int) -> tuple[Ints, Ints]:
        """Rows that hear a message, and the row of that message, both (num_heard,); the last of each other agent."""
        if self.are_rounds:
            rows = np.flatnonzero(self.action >= 0)
            return rows, rows
        size, hearing, heard = moment.max() + 2, list[Ints](), list[Ints]()
        place = self.episode * size + moment
        for speaker in np.unique(self.agent[self.speaks]):
            said = self.order[self.agent[self.order] == speaker]  # ascending places
            rows = np.flatnonzero((self.agent != speaker) & (self.action >= 0))
            last = np.searchsorted(place[said], place[rows] - delay, side="right") - 1
            is_heard = (last >= 0) & (self.episode[said[last]] == self.episode[rows])
            hearing.append(rows[is_heard])
            heard.append(said[last[is_heard]])
        return np.concatenate([np.zeros(0, np.int64), *hearing]), np.concatenate(
            [np.zeros(0, np.int64), *heard]
        )


def audit_log(corpus: Corpus, *, seed: int = 0, delay: int = 1) -> "LogAudit":
    """Measure what the messages of a log have to do with observations and actions, each with its null.

    Mutual information is the plug-in estimate in bits, given who speaks and hears. Its chance level is the mean over
    logs in which whole episodes have exchanged their messages, among episodes with the same agents in the same order,
    or where there are none, with others in their places: what repeats within an episode is no evidence.

    Args:
        corpus: A log, read with `Reading(is_log=True)`: messages, and what speakers saw as meanings.
        seed: Seed of the exchanges, and of the episodes from which an outsider learns.
        delay: Steps after which a message is heard; 0: at the same step.

    Raises:
        CorpusError: If a column is missing, or nobody speaks.
    """
    log = _Log(corpus, delay)
    if not log.speaks.any():
        raise CorpusError(f"{log.source}: no row has a message: nobody speaks")
    rng = np.random.default_rng([seed, len(log.messages)])
    measures, episodes = list(_measures(log, rng)), _Episodes(log)
    number_of_draws = resampling.num_draws(resampling.NUM_PERMUTATIONS, 20 * len(log.messages))
    exchanged = [log.messages[partners] for partners in episodes.exchanged(rng, number_of_draws)]
    scores = []
    for each in measures:
        draws, compared, reason = exchanged, None, each.reason
        if each.statistic is not None and each.is_of_strangers:
            strangers = list(episodes.strangers(rng, number_of_draws))
            draws = [np.where(partners < 0, -1, log.messages[partners]) for partners in strangers]
            if not draws:
                reason = "all agents met, or nobody else is in their place"
            elif (strangers[0] < 0).any():
                compared = each.statistic(np.where(strangers[0] < 0, -1, log.messages))
        scores.append(_score(each, log, draws, reason, compared, seed, delay))
    return LogAudit(scores=scores, log=log, num_episodes=episodes.number, exchange=episodes.about)


class _Episodes:
    """Rows of a log by episode, and the exchanges of messages between episodes."""

    def __init__(self, log: _Log) -> None:
        starts = np.flatnonzero(np.diff(log.episode[log.order], prepend=-1))
        self.rows = np.split(log.order, starts[1:])
        self.number = len(self.rows)
        agents = np.stack([log.agent, log.agent if log.listener is None else log.listener], 1)
        self.agents = [agents[rows] for rows in self.rows]
        self.are_rounds = log.listener is not None
        self.places: dict[bytes, list[int]] = {}
        same: dict[bytes, list[int]] = {}
        for episode, own in enumerate(self.agents):
            same.setdefault(own.tobytes(), []).append(episode)
            names, first = np.unique(own, return_index=True)
            rank = np.empty(len(names), np.int64)
            rank[np.argsort(first)] = np.arange(len(names))
            self.places.setdefault(rank[np.searchsorted(names, own)].tobytes(), []).append(episode)
        are_same = any(len(each) > 1 for each in same.values())
        self.strata = [np.array(each) for each in (same if are_same else self.places).values()]
        self.about = "episodes with the same agents" if are_same else "episodes, whose agents are others"
        self.num_pairings: int | None = None
        if sum(math.lgamma(len(each) + 1) for each in self.strata) < 36:
            self.num_pairings = math.prod(math.factorial(len(each)) for each in self.strata)

    def exchanged(self, rng: np.random.Generator, number: int) -> Iterator[Ints]:
        """For each draw and row the row whose message it gets, (num_rows,); nothing where there is no exchange."""
        blocks = [np.stack([self.rows[each] for each in own]) for own in self.strata]
        partners = np.empty(sum(block.size for block in blocks), np.int64)
        for _ in range(0 if self.num_pairings == 1 else number):
            for block in blocks:
                partners[block] = block[rng.permutation(len(block))]
            yield partners.copy()

    def strangers(self, rng: np.random.Generator, number: int) -> Iterator[Ints]:
        """As `exchanged`, with messages of agents that never met those of the row; -1 without any."""
        size = 1 + max(int(own.max()) for own in self.agents)
        met = np.eye(size, dtype=bool)
        for own in self.agents:
            met[np.ix_(*2 * [np.unique(own)])] = True
        donors: dict[int, Ints] = {}
        for group in map(np.array, self.places.values()):
            are_in = np.zeros((len(group), size), bool)  # agents of each episode
            for place, each in enumerate(group):
                are_in[place, self.agents[each]] = True
            for place, each in enumerate(group):
                others = ~(are_in & met[are_in[place]].any(0)).any(1)
                donors[int(each)] = group[others]
        if not any(map(len, donors.values())):
            return
        for _ in range(number):
            partners = np.full(sum(map(len, self.rows)), -1)
            for each, own in donors.items():
                if len(own):
                    partners[self.rows[each]] = self.rows[own[rng.integers(len(own))]]
            yield partners


def _measures(log: _Log, rng: np.random.Generator) -> Iterator[_Measure]:
    def of_message(name: str, about: str, other: Ints | None, *given: Ints, reason: str) -> _Measure:
        if other is None or not (other >= 0).any():
            return _Measure(name=name, about=about, statistic=None, reason=reason)
        fixed = _joint(given, len(other))
        said = log.messages if len(other) == len(log.messages) else np.zeros(len(other), np.int64)
        counts = (other >= 0) & (fixed >= 0) & (said >= 0)
        most = _bits(other[counts], fixed[counts]) - _bits(fixed[counts]) if counts.any() else 0.0
        return _Measure(name=name, about=about, statistic=partial(_information, other, fixed), most=most)

    no_view = "no column of observations or targets (--column NAME=attribute)"
    yield of_message("signalling", "message and what its speaker saw", log.seen, log.agent, reason=no_view)
    for name, values in log.attributes.items() if len(log.attributes) > 1 else ():
        yield of_message(f"signalling of {name}", f"message and {name}", values, log.agent, reason="")
    own = None if log.are_rounds else log.action
    in_rounds = "rows are rounds, whose action is the listener's"
    yield of_message("consistency", "message and action of its speaker", own, log.agent, reason=in_rounds)
    rows, heard = log.hearing, log.heard
    hearer = log.agent if log.listener is None else log.listener
    pairs = (hearer[rows], log.agent[heard])
    nobody = "nobody acts after a message of another agent"

    def of_heard(name: str, about: str, *given: Ints, **how: bool) -> _Measure:
        found = of_message(name, about, log.action[rows], *pairs, *given, reason=nobody)
        if found.statistic is None:
            return found
        return replace(found, statistic=partial(_as_heard, found.statistic, heard), **how)

    yield of_heard("coordination", "message and next action of who hears it")
    about = "the same, given what the hearer saw"
    if log.hearer_sees is None:
        no_view = "no column of what listeners saw (--column NAME=context)" if log.are_rounds else no_view
        yield _Measure(name="listening", about=about, statistic=None, reason=no_view)
    else:
        yield of_heard("listening", about, log.hearer_sees[rows])
    yield of_heard(
        "partners", "coordination; chance: messages of agents that never met", is_of_strangers=True
    )
    is_learnt = np.isin(log.episode, rng.permutation(log.episode.max() + 1)[: (log.episode.max() + 1) // 2])
    about = "share of what speakers saw that a reader of messages guesses"
    if log.seen is None or not (is_learnt.any() and (~is_learnt).any()):
        reason = no_view if log.seen is None else "one episode: nothing to learn from"
        yield _Measure(name="outsider", about=about, statistic=None, reason=reason)
    else:
        yield _Measure(name="outsider", about=about, statistic=partial(_guessed, log, is_learnt))


def _as_heard(statistic: Statistic, heard: Ints, messages: Ints) -> float:
    return statistic(messages[heard])


def _information(other: Ints, given: Ints, messages: Ints) -> float:
    """I(message; other | given) in bits, of rows that have all, given codes from 0; 0 without such rows."""
    counts = (messages >= 0) & (other >= 0) & (given >= 0)
    codes = [messages[counts], other[counts], given[counts]]
    if not counts.any():
        return 0.0
    both = (_bits(*codes[::2]) + _bits(*codes[1:])) - (_bits(*codes) + _bits(codes[2]))
    return both if both > 1e-9 else 0.0


def _bits(*columns: Ints) -> float:
    return entropy_of_codes(*joint_codes(columns, [int(each.max()) + 1 for each in columns], len(columns[0])))


def _guessed(log: _Log, is_learnt: NDArray[np.bool_], messages: Ints) -> float:
    """Share of attributes that the most frequent value of a speaker's message in some episodes gives in the others."""
    shares, codes = [], log.agent * (messages.max() + 2) + messages + 1
    for values in log.attributes.values():
        learnt, tested = is_learnt & (messages >= 0), ~is_learnt & (messages >= 0)
        size = int(values.max()) + 1
        pairs, counts = np.unique(codes[learnt] * size + values[learnt], return_counts=True)
        order = np.lexsort((-pairs, counts))  # of equally frequent values the first
        usual = np.bincount(values[learnt], minlength=1).argmax()
        guesses = np.full(int(codes.max()) + 1, usual)
        guesses[pairs[order] // size] = pairs[order] % size  # the last of a code stays
        if tested.any():
            shares.append(float((guesses[codes[tested]] == values[tested]).mean()))
    return float(np.mean(shares)) if shares else 0.0


def _observed(corpus: Corpus) -> dict[str, Ints]:
    """Codes of what was seen, by attribute; features in bins of about equally many rows."""
    table = corpus.meanings
    if table is None:
        return {} if corpus.concepts is None else {"concepts": row_labels(corpus.concepts).astype(np.int64)}
    found = {}
    for place, values in enumerate(table.T):
        if values.dtype.kind == "f" and len(np.unique(values)) > NUM_BINS:
            edges = np.quantile(values, np.arange(1, NUM_BINS) / NUM_BINS)
            values = np.searchsorted(edges, values, side="right")
        found[corpus.name_of_attribute(place)] = _ranks(values)
    return found


def _ranks(values: NDArray[Any]) -> Ints:
    plain = values if values.dtype.kind != "O" else np.array([str(each) for each in values.tolist()])
    return np.unique(plain, return_inverse=True)[1].ravel().astype(np.int64)


def _codes(values: NDArray[Any]) -> Ints:
    """A number for each different value, -1 for none: nothing, an empty text, or -1 as arrays have it."""
    return np.where([each is None or each in ("", PADDING) for each in values.tolist()], -1, _ranks(values))


def _joint(columns: Any, number: int) -> Any:
    """One code for the values of all columns; None without columns."""
    own = list(columns)
    if not own:
        return None
    found = joint_codes([each + 1 for each in own], [int(each.max()) + 2 for each in own], number)[0]
    return np.unique(found, return_inverse=True)[1].ravel().astype(np.int64)


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _score(
    measure: _Measure,
    log: _Log,
    draws: Sequence[Ints],
    reason: str,
    compared: float | None,
    seed: int,
    delay: int,
) -> Score:
    """The score of a measure, with the null of exchanged messages where there are any."""
    settings = {"rows": "rounds"} if log.are_rounds else {"rows": "steps", "delay": delay}
    settings |= {"null": "strangers" if measure.is_of_strangers else "episodes", "seed": seed}
    signature = Signature.of(f"audit-{measure.name.replace(' ', '-')}", VERSION, **settings)
    value = (
        None
        if measure.statistic is None or (measure.is_of_strangers and not draws)
        else measure.statistic(log.messages)
    )
    chance = None
    if value is not None and measure.statistic is not None and draws:
        figures = [measure.statistic(messages) for messages in draws]
        chance = Chance.from_permutations(
            figures, seed=seed, bounds=(0.0, max(measure.most, value)), compared=compared
        )
    return Score(
        name=measure.name, value=value, about=measure.about, signature=signature, chance=chance,
        reason=reason if value is None else None, details={} if value is None else {"most": measure.most},
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class LogAudit:
    """Scores of a log."""

    scores: Sequence[Score]
    log: Any
    num_episodes: int
    exchange: str
    """What is exchanged."""

    @property
    def p_holm(self) -> list[float | None]:
        """P-value of each score, corrected for all of them (Holm); None without a null."""
        values = [
            None if each.chance is None else each.chance.p_value(each.value or 0)[0] for each in self.scores
        ]
        return holm(values)

    @property
    def conclusion(self) -> str:
        """The conclusion in a sentence."""
        above = {
            score.name.partition(" ")[0]
            for score, p in zip(self.scores, self.p_holm, strict=True)
            if p is not None and p <= ALPHA and score.chance.distance(score.value) > 0
        }
        says, does = above & {"signalling", "consistency"}, above & {"coordination", "listening"}
        if says and does:
            return (
                "Messages depend on what speakers see or do, and actions go with the messages that are heard."
            )
        if says:
            return "Messages depend on what speakers see or do; nothing shows that anybody acts on them."
        if does:
            return "Actions go with the messages that are heard; nothing shows what these depend on."
        return "Nothing shows that messages depend on what speakers see or do, or that anybody acts on them."

    def to_json(self) -> dict[str, Any]:
        """The audit as JSON-ready data."""
        scores = [each.to_json() | {"p_holm": p} for each, p in zip(self.scores, self.p_holm, strict=True)]
        return {
            "source": self.log.source,
            "num_rows": len(self.log.messages),
            "num_episodes": self.num_episodes,
            "roles": dict(self.log.roles),
            "exchange": self.exchange,
            "scores": scores,
            "needs_agents": NEEDS_AGENTS.split(", "),
            "notes": self.log.notes,
            "conclusion": self.conclusion,
        }


def report_log(found: LogAudit) -> Report:
    """A table of the scores, and what follows."""
    rows = []
    for each, p in zip(found.scores, found.p_holm, strict=True):
        chance = each.chance
        no_null = "" if each.value is None else "no two episodes can exchange messages"
        rows.append(
            row_of(
                each.name,
                nothing() if each.value is None else number(float(each.value)),
                nothing() if each.value is None else number(each.details["most"]),
                nothing() if chance is None else number(chance.level),
                nothing() if p is None else p_value(p),
                text(each.about + (f": {each.reason or no_null}" if chance is None else "")),
            )
        )
    columns = (
        name_column("measure"),
        number_column("value"),
        number_column("most", heading="at most"),
        number_column("chance"),
        number_column("p", heading="p (Holm)"),
        Column("of", wraps=True),
    )
    size = f"{len(found.log.messages):,} rows, {found.num_episodes:,} episodes"
    notes = (
        found.conclusion,
        f"{size}; mutual information in bits, outsider: a share; chance: messages exchanged between {found.exchange}",
        f"{NEEDS_AGENTS} messages: not measured, they need the agents; a log shows associations, not causes",
        *found.log.notes,
    )
    return Report(tables=[Table(columns=columns, rows=rows, title="log")], notes=notes, data=found.to_json())
