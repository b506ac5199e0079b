"""Audit of a recorded log of steps or rounds of any program: association of messages with observations and actions.

Lowe et al. (2019, "On the pitfalls of measuring emergent communication", arXiv 1903.05168) distinguish positive
signalling (messages depend on the observation or the action of the speaker, sections 3.1 and 3.2) from positive
listening (messages change the listener's action, section 3.3). A log shows associations only: without the agents,
messages can't be changed. The null exchanges the messages of whole episodes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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
"""Number of bins with about equally many rows, for observations with decimals, which may all differ."""
VERSION = 1
"""Raised whenever the same log gives another score."""
NEEDS_AGENTS = ("severed", "constant", "self-sent")
"""Conditions that a log can't measure, as agents would have to hear other messages."""
Statistic = Callable[[Ints], float]
"""Function from the message of each row, (num_rows,), -1: none, to a score."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LogAudit:
    """Scores of a log."""

    source: str
    scores: Sequence[Score]
    num_rows: int
    num_episodes: int
    roles: Mapping[str, str]
    exchange: str
    """Description of the episodes that exchange their messages."""
    notes: Sequence[str]

    @property
    def p_holm(self) -> list[float | None]:
        """P-value of each score, corrected for all of them (Holm); None without a null."""
        pairs = [(each.chance, each.value or 0) for each in self.scores]
        return holm([None if chance is None else chance.p_value(value)[0] for chance, value in pairs])

    @property
    def conclusion(self) -> str:
        """The conclusion in a sentence."""
        pairs = zip(self.scores, self.p_holm, strict=True)
        is_low = {score.name.partition(" ")[0] for score, p in pairs if p is not None and p <= ALPHA}
        says, does = is_low & {"signalling", "consistency"}, is_low & {"coordination", "listening"}
        depend, act = "depend on what speakers see or do", "actions depend on the messages that are heard"
        if says:
            return f"Messages {depend}" + (
                f", and {act}." if does else "; no evidence that agents act on them."
            )
        if does:
            return f"{act.capitalize()}; no evidence what the messages depend on."
        return f"No evidence that messages {depend}, or that {act}."

    def report(self) -> Report:
        """Table of the scores, conclusion and JSON data."""
        rows, scores = [], []
        for each, p in zip(self.scores, self.p_holm, strict=True):
            chance, is_defined = each.chance, each.value is not None
            reason = "no two episodes can exchange messages" if is_defined and not chance else each.reason
            cells = (each.value, each.details.get("most"), None if chance is None else chance.level)
            shown = (nothing() if value is None else number(value) for value in cells)
            about = text(each.about + (f": {reason}" if reason else ""))
            rows.append(row_of(each.name, *shown, nothing() if p is None else p_value(p), about))
            scores.append(each.to_json() | {"p_holm": p})
        numbers = {"value": "value", "most": "at most", "chance": "chance", "p": "p (Holm)"}
        columns = [number_column(name, heading=heading) for name, heading in numbers.items()]
        table = Table(
            columns=(name_column("measure"), *columns, Column("of", wraps=True)), rows=rows, title="log"
        )
        notes = (
            self.conclusion,
            f"{self.num_rows:,} rows, {self.num_episodes:,} episodes; mutual information in bits, outsider: a share; "
            f"chance: messages exchanged between {self.exchange}",
            f"{', '.join(NEEDS_AGENTS)} messages: not measured, as they need the agents; a log shows no causes",
            *self.notes,
        )
        data = {
            name: getattr(self, name)
            for name in ("source", "num_rows", "num_episodes", "exchange", "conclusion")
        }
        data |= {"roles": dict(self.roles), "notes": list(self.notes)}
        data |= {"scores": scores, "needs_agents": list(NEEDS_AGENTS)}
        return Report(tables=[table], notes=notes, data=data)


def audit_log(corpus: Corpus, *, seed: int = 0, delay: int = 1) -> LogAudit:
    """Measure the association of the messages of a log with observations and actions, with null distributions.

    Mutual information is the plug-in estimate in bits, given speaker and hearer. Its chance level is the mean over logs
    in which whole episodes exchange their messages, among episodes with the same agents in the same order or, if there
    are none, with other agents in the same roles: repetitions within an episode are no evidence.

    Args:
        corpus: A log, read with `Reading(is_log=True)`. Its rows are steps of an agent or, with a column of listeners
            or without agents, rounds with the listener's action.
        seed: Seed of the exchanges, and of the episodes from which an outsider learns.
        delay: Number of steps after which a message is heard; 0: at the same step.

    Raises:
        CorpusError: If no row has an action or no row a message, or if actions are lists of numbers.
    """
    log, scores = _Log(corpus, delay), list[Score]()
    rng = np.random.default_rng([seed, len(log.messages)])
    num_draws = resampling.num_draws(resampling.NUM_PERMUTATIONS, 20 * len(log.messages))
    exchanged, strangers = log.exchanged(rng, num_draws), log.strangers(rng, num_draws)
    how = {"rows": "rounds"} if log.are_rounds else {"rows": "steps", "delay": delay}

    def add(name: str, about: str, statistic: Statistic | str, most: float = 1.0) -> None:
        is_partners = name == "partners"
        if is_partners and not strangers:
            statistic = "all agents met, or no other agent has their role"
        signature = Signature.of(f"audit-{name.replace(' ', '-')}", VERSION, **how, seed=seed)
        if isinstance(statistic, str):
            scores.append(Score(name=name, value=None, about=about, signature=signature, reason=statistic))
            return
        value, draws = statistic(log.messages), strangers if is_partners else exchanged
        compared = statistic(np.where(draws[0] < 0, -1, log.messages)) if is_partners else None
        ends = (0.0, max(most, value))
        figures = [statistic(each) for each in draws]
        chance = (
            Chance.from_permutations(figures, seed=seed, bounds=ends, compared=compared) if draws else None
        )
        details = {"most": most}
        scores.append(
            Score(name=name, value=value, about=about, signature=signature, chance=chance, details=details)
        )

    def add_information(
        name: str, about: str, other: Ints | None, given: Ints, reason: str, heard: Ints | None = None
    ) -> None:
        said = log.messages if heard is None else log.messages[heard]
        counts = np.zeros(0, bool) if other is None else (other >= 0) & (said >= 0)
        if other is None or not counts.any():
            add(name, about, reason)
        else:
            most = _bits(other[counts], given[counts]) - _bits(given[counts])
            add(name, about, partial(_information, other, given, heard), most)

    no_view = "no column of observations: name one with --column NAME=observation"
    add_information("signalling", "message and observation of its speaker", log.seen, log.agent, no_view)
    for name, values in log.attributes.items() if len(log.attributes) > 1 else ():
        add_information(
            f"signalling of {name}", f"message and {name}", values, log.agent, "not seen by speakers"
        )
    reason = "rounds have the listener's action" if log.are_rounds else "speakers do not act"
    own = None if log.are_rounds else log.action
    add_information("consistency", "message and action of its speaker", own, log.agent, reason)
    rows, heard, nobody = log.hearing, log.heard, "no agent acts after a message of another agent"
    pairs = _joint([log.hearer[rows], log.agent[heard]])
    about = "message and next action of its hearer"
    add_information("coordination", about, log.action[rows], pairs, nobody, heard)
    if log.hearer_sees is None:
        no_view = "no column of contexts: name one with --column NAME=context" if log.are_rounds else no_view
        add("listening", "coordination, given the hearer's observation", no_view)
    else:
        given = _joint([pairs, log.hearer_sees[rows]])
        add_information(
            "listening",
            "coordination, given the hearer's observation",
            log.action[rows],
            given,
            nobody,
            heard,
        )
    about = "coordination; chance: messages of agents that never met"
    add_information("partners", about, log.action[rows], pairs, nobody, heard)
    is_learnt = np.isin(log.episode, rng.permutation(len(log.rows))[: len(log.rows) // 2])
    can_learn = bool(log.attributes) and is_learnt.any()
    reason = "a single episode: expected at least two, to learn from one" if log.attributes else no_view
    about = "accuracy of a reader of messages on the speaker's observation"
    add("outsider", about, partial(_reader_accuracy, log, is_learnt) if can_learn else reason)
    return LogAudit(
        source=log.source, scores=scores, num_rows=len(log.messages), num_episodes=len(log.rows), roles=log.roles,
        exchange=log.exchange, notes=log.notes,
    )  # fmt: skip


class _Log:
    """Codes of the columns of a log, each (num_rows,); -1 for a row without a value."""

    def __init__(self, corpus: Corpus, delay: int) -> None:
        self.roles: Mapping[str, str] = corpus.metadata.get("roles", {})
        self.source, self.notes = str(corpus.metadata.get("source_path", "the log")), list[str]()
        columns, size = corpus.columns, len(corpus.messages)
        by_role = {
            role: {
                name: columns[name] for name, each in self.roles.items() if each == role and name in columns
            }
            for role in ("action", "observation", "context", "group", "time")
        }
        self.are_rounds = "listener" in columns or SPEAKER not in columns
        sides = [columns[side].tolist() for side in (SPEAKER, "listener") if side in columns] or [[""] * size]
        agents = 1 + _codes([name for side in sides for name in side]).reshape(-1, size)
        self.agent, self.hearer = agents[0], agents[-1]
        if SPEAKER not in columns:
            self.notes.append("no column of agents: each row is a round, and its action answers its message")
        has_words = np.bincount(self.agent, corpus.content().lengths) > 0
        # An agent that never speaks has no messages; silence of another agent is a message.
        self.messages = np.where(has_words[self.agent], message_labels(corpus), -1)
        self.action = self._actions([*by_role["action"].values()], [*by_role["context"].values()])
        if (self.messages < 0).all():
            raise CorpusError(f"{self.source}: no row has a message: nobody speaks")
        self.attributes = _attributes(by_role["observation"]) or _meaning_codes(corpus)
        self.seen = _joint([*self.attributes.values()]) if self.attributes else None
        contexts = _attributes(by_role["context"])
        self.hearer_sees = (
            _joint([*contexts.values()]) if contexts else None if self.are_rounds else self.seen
        )
        self.episode = np.arange(size)
        if by_role["group"]:
            self.episode = _joint([*map(_codes, by_role["group"].values())])
        else:
            self.notes.append("no column of episodes: each row is an episode of its own")
        moment = np.arange(size)
        if by_role["time"] and not self.are_rounds:
            moment = _joint([*map(_codes, by_role["time"].values())])
        elif not self.are_rounds:
            self.notes.append("no column of steps: rows follow each other")
        order = np.lexsort((moment, self.episode))
        self.rows = np.split(order, np.flatnonzero(np.diff(self.episode[order])) + 1)
        self.hearing = self.heard = np.flatnonzero(self.action >= 0)
        if not self.are_rounds:
            self._hear(order, moment, delay)
        self._agents = [np.stack([self.agent[rows], self.hearer[rows]], 1) for rows in self.rows]
        same, self.places = dict[bytes, list[int]](), dict[bytes, list[int]]()
        for episode, own in enumerate(self._agents):
            _, first, inverse = np.unique(own, return_index=True, return_inverse=True)
            same.setdefault(own.tobytes(), []).append(episode)
            self.places.setdefault(np.argsort(np.argsort(first))[inverse].tobytes(), []).append(episode)
        are_same = max(map(len, same.values())) > 1
        self.strata = same if are_same else self.places
        self.exchange = "episodes with the same agents" if are_same else "episodes, whose agents are others"

    def _actions(self, found: Sequence[NDArray[Any]], contexts: Sequence[NDArray[Any]]) -> Ints:
        if not found:
            expected = f"no column of actions among {joined(self.roles) or 'message'}"
            raise CorpusError(f"{self.source}: {expected}: name one with --column NAME=action")
        actions: list[Any] = found[0].tolist()
        options = contexts[0].tolist() if contexts else []
        are_vectors = any(isinstance(each, list) and any(map(_is_float, each)) for each in actions)
        if options and all(isinstance(own, list) and not any(map(_is_float, own)) for own in options):
            pairs = list(zip(actions, options, strict=True))
            if all(isinstance(action, list) and len(action) == len(own) for action, own in pairs):
                pairs = [(int(np.argmax(action)), own) for action, own in pairs]
            if all(type(action) is int and 0 <= action < len(own) for action, own in pairs):
                self.notes.append("an action is a position in the context, and replaced by the item there")
                actions, are_vectors = [own[action] for action, own in pairs], False
        if are_vectors:
            raise CorpusError(
                f"{self.source}: expected actions with single values, got lists of numbers with decimals"
            )
        if (codes := _codes(actions)).max() < 0:
            raise CorpusError(f"{self.source}: no row has an action")
        return codes

    def _hear(self, order: Ints, moment: Ints, delay: int) -> None:
        """Find the rows that hear a message, and the row of that message: the last one of each other agent."""
        hearing, heard = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        place = self.episode * (int(moment.max()) + 2 + delay) + moment + delay
        for speaker in np.unique(self.agent[self.messages >= 0]):
            said = order[self.agent[order] == speaker]  # in ascending order
            rows = np.flatnonzero((self.agent != speaker) & (self.action >= 0))
            last = np.searchsorted(place[said], place[rows] - delay, side="right") - 1
            is_heard = (last >= 0) & (self.episode[said[last]] == self.episode[rows])
            hearing.append(rows[is_heard])
            heard.append(said[last[is_heard]])
        self.hearing, self.heard = np.concatenate(hearing), np.concatenate(heard)

    def exchanged(self, rng: np.random.Generator, number_of_draws: int) -> list[Ints]:
        """Messages of the log with episodes exchanged; empty if no episode can be exchanged."""
        blocks = [np.stack([self.rows[each] for each in own]) for own in self.strata.values()]
        found = []
        for _ in range(number_of_draws if max(map(len, blocks)) > 1 else 0):
            messages = np.empty_like(self.messages)
            for block in blocks:
                messages[block] = self.messages[block[rng.permutation(len(block))]]
            found.append(messages)
        return found

    def strangers(self, rng: np.random.Generator, number_of_draws: int) -> list[Ints]:
        """Messages by agents that never met the agents of an episode (pseudo-dyads); -1 in episodes without any."""
        size = 1 + max(int(own.max()) for own in self._agents)
        met, donors = np.eye(size, dtype=bool), dict[int, Ints]()
        for own in self._agents:
            met[np.ix_(*2 * [np.unique(own)])] = True
        for group in map(np.array, self.places.values()):
            are_in = np.zeros((len(group), size), bool)  # which agents are in each episode
            for place, each in enumerate(group):
                are_in[place, self._agents[each]] = True
            kinds, of_kind = np.unique(are_in, axis=0, return_inverse=True)
            for kind, agents in enumerate(kinds):
                others = group[~(are_in & met[agents].any(0)).any(1)]
                donors |= (
                    dict.fromkeys(group[of_kind.ravel() == kind].tolist(), others) if len(others) else {}
                )
        found = []
        for _ in range(number_of_draws if donors else 0):
            messages = np.full(len(self.messages), -1)
            for each, own in donors.items():
                messages[self.rows[each]] = self.messages[self.rows[rng.choice(own)]]
            found.append(messages)
        return found


def _information(other: Ints, given: Ints, heard: Ints | None, messages: Ints) -> float:
    """I(message; other | given) in bits, over rows with all of them (codes from 0); 0 without such rows."""
    said = messages if heard is None else messages[heard]
    counts = (said >= 0) & (other >= 0)
    one, two, three = said[counts], other[counts], given[counts]
    if not counts.any():
        return 0.0
    bits = (_bits(one, three) + _bits(two, three)) - (_bits(one, two, three) + _bits(three))
    return bits if bits > 1e-9 else 0.0


def _bits(*columns: Ints) -> float:
    return entropy_of_codes(*joint_codes(columns, [int(each.max()) + 1 for each in columns], len(columns[0])))


def _reader_accuracy(log: _Log, is_learnt: NDArray[np.bool_], messages: Ints) -> float:
    """Accuracy on attributes of the most frequent value of a message in some episodes, tested in the others."""
    shares, codes = [], log.agent * (messages.max() + 2) + messages + 1
    for values in log.attributes.values():
        counts = (messages >= 0) & (values >= 0)
        learnt, tested, size = counts & is_learnt, counts & ~is_learnt, int(values.max()) + 1
        pairs, numbers = np.unique(codes[learnt] * size + values[learnt], return_counts=True)
        order = np.lexsort((-pairs, numbers))  # ties go to the first value
        guesses = np.full(int(codes.max()) + 1, np.bincount(values[learnt], minlength=1).argmax())
        guesses[pairs[order] // size] = pairs[order] % size  # the last entry of a code stays
        shares += [(guesses[codes[tested]] == values[tested]).mean()] if tested.any() else []
    return float(np.mean(shares)) if shares else 0.0


def _meaning_codes(corpus: Corpus) -> dict[str, Ints]:
    table = corpus.meanings
    if table is None:
        return {} if corpus.concepts is None else {"concepts": row_labels(corpus.concepts).astype(np.int64)}
    return _attributes({corpus.name_of_attribute(place): column for place, column in enumerate(table.T)})


def _attributes(columns: Mapping[str, NDArray[Any]]) -> dict[str, Ints]:
    """Codes of observations, by attribute or position in a list; numbers with decimals in `NUM_BINS` bins."""
    parts: dict[str, list[Any]] = {}
    for name, column in columns.items():
        for row, cell in enumerate(column.tolist()):
            items = (
                dict(enumerate(cell))
                if isinstance(cell, list)
                else cell
                if isinstance(cell, dict)
                else {"": cell}
            )
            for key, value in items.items():
                part = f"{name}.{key}" if key != "" else name
                parts.setdefault(part, [None] * len(column))[row] = value
    found = {}
    for part, values in parts.items():
        filled = [value for value in values if type(value) is float]
        if any(not value.is_integer() for value in filled) and len({*filled}) > NUM_BINS:
            edges = np.quantile(filled, np.arange(1, NUM_BINS) / NUM_BINS)
            values = [
                None if each is None else int(np.searchsorted(edges, each, side="right")) for each in values
            ]
        if (codes := _codes(values)).max() >= 0:
            found[part] = codes
    return found


def _is_float(value: object) -> bool:
    return type(value) is float


def _codes(values: Any) -> Ints:
    """Code of each distinct value, in order; -1 for None, an empty text, or padding."""
    cells = values.tolist() if isinstance(values, np.ndarray) else values
    are_numbers = all(type(cell) in (int, float) for cell in cells)
    codes = np.unique(cells if are_numbers else list(map(str, cells)), return_inverse=True)[1].ravel()
    return np.where([cell is None or cell == "" or cell == PADDING for cell in cells], -1, codes).astype(
        np.int64
    )


def _joint(columns: Sequence[Ints]) -> Ints:
    """One code for the values of all columns, from 0."""
    sizes = [int(each.max(initial=-1)) + 2 for each in columns]
    codes = joint_codes([each + 1 for each in columns], sizes, len(columns[0]))[0]
    return np.unique(codes, return_inverse=True)[1].ravel().astype(np.int64)
