"""Word order and case marking: roles of agent, patient and action, read from messages."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.corpus import Corpus
from ecsuite.eval.counts.counting import flat, has_attributes, numbered_by_use, row_of
from ecsuite.eval.counts.exchange import of_meanings
from ecsuite.eval.metrics.score import Options, Score, unscored
from ecsuite.eval.metrics.traits import Traits, metric
from ecsuite.eval.statistics.contingency import Floats, Ints, entropy
from ecsuite.eval.statistics.matching import best_match
from ecsuite.eval.statistics.resampling import resample
from ecsuite.runtime.ragged import Ragged

NONE = -1
"""No symbol: after the end of a message, or for a value without a word."""
ROLES = ("agent", "patient", "action")
WEIGHT = 1_000_000
"""Factor that turns associations of words and values into integers for the matching."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WordOrderOptions:
    """Attributes for agent, patient and action, by name or by number from 0."""

    agent: str = "agent"
    """Attribute of the agent; without names, the first."""
    patient: str = "patient"
    """Attribute of the patient; without names, the second."""
    action: str = "action"
    """Attribute of the action; without names, the third, if there is one."""


AGENT_FIRST = Traits(
    name="agent_first",
    about="clauses with the agent before the patient",
    title="share of messages with the agent's word before the patient's",
    high="1 if the agent always comes first, 0 if the patient does",
    question="consistent",
    version=3,
    bounds=(0.0, 1.0),
    chance="shuffled meanings",
    needs=("attributes",),
    depends_on_size="words are identified by co-occurrence, and entropies of few messages are too low",
    by_name_only=True,
    options=WordOrderOptions,
    details={
        "readable": "share of messages with a word for the agent and a word for the patient",
        "orders": "share of each order among these",
        "uncertainty_of_order": "bits of uncertainty about the agent, given the order",
    },
)
ORDER_ENTROPY = replace(
    AGENT_FIRST,
    name="order_entropy",
    about="bits of the order of agent, patient, action",
    title="entropy of word order",
    high="0 if the order is fixed, 1 if two orders are used equally often",
    bounds=(0.0, 3.0),
    details={},
)
CASE_MARKING = replace(
    AGENT_FIRST,
    name="case_marking",
    about="clauses with a case marker",
    title="share of messages with a case marker",
    high="1 if a word without own meaning is always next to the noun of one role, 0 if never",
    details={"markers": "share of the messages with a marker at each role"},
)
MARKING_ENTROPY = replace(
    AGENT_FIRST,
    name="marking_entropy",
    about="entropy of the presence of a marker",
    title="entropy of case marking",
    high="0 if markers are always or never present, 1 if in half of the messages",
    details={},
)
ROLE_UNCERTAINTY = replace(
    AGENT_FIRST,
    name="role_uncertainty",
    about="bits of uncertainty about the agent",
    title="uncertainty of roles, given order and marking",
    high="0 if order and markers determine who does it to whom, 1 if they say nothing about it",
    direction="lower",
    details={},
)
SCORES = (AGENT_FIRST, ORDER_ENTROPY, CASE_MARKING, MARKING_ENTROPY, ROLE_UNCERTAINTY)


@metric(*SCORES)
def word_order_marking(
    corpus: Corpus, options: Options, own: WordOrderOptions = WordOrderOptions()
) -> list[Score]:
    """Word order, case marking and their entropies, as in Lian et al. 2023 (arXiv 2301.13083) over training.

    Words are identified first: each value gets the symbol that occurs most with it, relative to its occurrences without
    it, one to one (an entity, which may be agent or patient, has one word for both). A message is readable if it has
    the words of its agent and of its patient; only readable messages count. `agent_first` is the share with the agent's
    word first, `order_entropy` the entropy in bits of the order of agent, patient and action. A marker is a symbol that
    is no value's word and directly follows a noun (or precedes it, in languages where that is more frequent); its role
    is the role that it marks more often. `case_marking` is the share of messages with a marker at its role, minus the
    share with a marker at the other role; `marking_entropy` is the entropy in bits of its presence. `role_uncertainty`
    is H(first noun is the agent | position of the action, markers).

    Known values: for the grammar `clauses,sov=1,osv=1,marker=p`, 0.5, 1, p, H(p), 1 - p. Plug-in estimates. Interval
    and chance: whole meanings are exchanged, see docs/reading_a_score.md; words are identified again in each draw.
    Messages about an entity that acts on itself are left out. Undefined without two attributes, and if no message is
    readable.
    """
    settings: dict[str, Any] = {role: getattr(own, role) for role in ROLES if getattr(own, role) != role}
    scores = [unscored(traits, **settings, eos="strip") for traits in SCORES]
    events, exchange = _events(corpus, own), of_meanings(corpus)
    if isinstance(events, str) or exchange is None:
        return [score(value=None, reason=str(events)) for score in scores]
    kept = np.flatnonzero(events[:, 0] != events[:, 1])
    reading = _Reading(corpus.content().take(kept), events[kept])
    every = np.arange(len(kept))
    values, details = reading.read(every, every)
    if np.isnan(values).any():
        reason = "no message has a word for its agent and a word for its patient"
        return [score(value=None, reason=reason) for score in scores]
    uncertain = resample(
        lambda rows, partners: reading.read(rows, partners)[0],
        values.tolist(),
        num_rows=len(kept),
        exchange=exchange.take(kept),
        seed=options.seed,
        work=8 * reading.table.size,
        bounds=(0.0, 3.0),
    )
    return [
        score(
            value=float(value),
            ci95=None if found.ci95 is None else (found.ci95[0], min(found.ci95[1], _most(traits))),
            chance=found.chance,
            details={name: details[name] for name in traits.details} | found.details,
        )
        for score, traits, value, found in zip(scores, SCORES, values, uncertain, strict=True)
    ]


class _Reading:
    """Messages and events, with word order and marking read from them.

    Args:
        content: Messages without EOS.
        events: Agent, patient and, if any, action of each message, (num_messages, 2 or 3).
    """

    def __init__(self, content: Ragged, events: Ints) -> None:
        _, whole = np.unique(events, axis=0, return_inverse=True)
        symbols = numbered_by_use(content, whole.ravel())
        self.num_symbols = int(symbols.max(initial=-1)) + 1
        self.table = np.full((len(content), int(content.lengths.max(initial=0)) + 1), NONE, dtype=np.int64)
        self.table[np.arange(self.table.shape[1]) < content.lengths[:, None]] = symbols
        pairs = np.unique(row_of(content) * max(self.num_symbols, 1) + symbols)
        self.of_row, self.symbol = np.divmod(pairs, max(self.num_symbols, 1))
        entities, nouns = np.unique(events[:, :2], return_inverse=True)
        self.num_entities, self.nouns = len(entities), nouns.reshape(-1, 2)
        """Entity numbers of agent and patient, (num_messages, 2)."""
        self.actions: Ints | None = None
        self.num_actions = 0
        if events.shape[1] > 2:
            actions, self.actions = np.unique(events[:, 2], return_inverse=True)
            self.num_actions = len(actions)

    def read(self, rows: Ints, partners: Ints) -> tuple[Floats, dict[str, Any]]:
        """Scores and details of messages paired with the events of `partners`; NaN if nothing is readable."""
        nothing = np.full(len(SCORES), np.nan)
        nouns = self.nouns[partners]
        actions = None if self.actions is None else self.actions[partners]
        if not len(rows) or not self.num_symbols:
            return nothing, {}
        words = self._words(rows, nouns, actions)
        table = self.table[rows]
        places = [_place(table, words[nouns[:, role]]) for role in range(2)]
        readable = (places[0] >= 0) & (places[1] >= 0)
        if not readable.any():
            return nothing, {}
        table, agent, patient = table[readable], places[0][readable], places[1][readable]
        verb = np.full(len(table), 3)
        if actions is not None:
            place = _place(table, words[self.num_entities + actions[readable]])
            verb = np.where(place < 0, 3, (agent < place).astype(int) + (patient < place))
        is_first = agent < patient
        orders = np.bincount(4 * is_first + verb, minlength=8)
        marks = self._marks(table, np.stack([agent, patient], axis=1), words)
        right = ((marks == [[0, 1]]).any(1)).mean()
        wrong = ((marks == [[1, 0]]).any(1)).mean()
        marked = max(float(right - wrong), 0.0)
        in_order = np.where(is_first[:, None], marks, marks[:, ::-1]) + 1  # by position of the noun
        cues = (verb * 3 + in_order[:, 0]) * 3 + in_order[:, 1]
        uncertainty = _conditional(is_first, cues, 36)
        values = np.array([
            is_first.mean(), entropy(orders), marked,
            entropy(np.bincount((marks == [[0, 1]]).any(1), minlength=2)), uncertainty,
        ])  # fmt: skip
        details = {
            "readable": float(readable.mean()),
            "orders": {
                _order_name(code): float(count / len(table)) for code, count in enumerate(orders) if count
            },
            "uncertainty_of_order": _conditional(is_first, verb, 4),
            "markers": {role: float((marks[:, each] == each).mean()) for each, role in enumerate(ROLES[:2])},
        }
        return values, details

    def _words(self, rows: Ints, nouns: Ints, actions: Ints | None) -> Ints:
        """Word of each entity, then of each action: a symbol or NONE, (num_entities + num_actions,)."""
        place = np.full(len(self.table), NONE)
        place[rows] = np.arange(len(rows))
        of_row, symbol = place[self.of_row], self.symbol
        symbol, of_row = symbol[of_row >= 0], of_row[of_row >= 0]
        with_symbol = np.bincount(symbol, minlength=self.num_symbols)
        weights = []
        kinds = [(nouns.T, self.num_entities)]
        if actions is not None:
            kinds.append((actions[None], self.num_actions))
        for columns, number in kinds:
            both = sum(
                np.bincount(column[of_row] * self.num_symbols + symbol, minlength=number * self.num_symbols)
                for column in columns
            ).reshape(number, self.num_symbols)  # type: ignore[union-attr]
            having = sum(np.bincount(column, minlength=number) for column in columns)
            having = np.asarray(having)[:, None]
            share = both / np.maximum(having, 1)
            weights.append(share - (with_symbol - both) / np.maximum(len(rows) - having, 1))
        table = (np.concatenate(weights).clip(min=0) * WEIGHT).round().astype(np.int64)
        words = np.full(len(table), NONE)
        symbols, values = best_match(table.T)
        words[values] = symbols
        return words

    def _marks(self, table: Ints, places: Ints, words: Ints) -> Ints:
        """Role of the marker next to each noun: 0 agent, 1 patient, or NONE, (num_messages, 2)."""
        is_word = np.zeros(self.num_symbols + 1, dtype=bool)
        is_word[words] = True
        is_word[NONE] = True  # the end of a message
        found = []
        for step in (1, -1):
            beside = places + step
            symbols = np.take_along_axis(table, beside.clip(min=0), axis=1)
            found.append(np.where((beside < 0) | is_word[symbols], NONE, symbols))
        after, before = found
        symbols = after if (after >= 0).sum() >= (before >= 0).sum() else before
        counts = np.stack([
            np.bincount(column[column >= 0], minlength=self.num_symbols) for column in symbols.T
        ])  # fmt: skip
        role = np.append(counts.argmax(0), NONE)  # of each symbol, and of NONE
        roles: NDArray[np.int64] = role[symbols]
        return roles


def _events(corpus: Corpus, own: WordOrderOptions) -> Ints | str:
    """Agent, patient and, if any, action of each message, or the reason why there are none."""
    if corpus.meanings is None:
        return corpus.why_no_meanings
    meanings = flat(corpus.meanings)
    if not has_attributes(meanings):
        return "features are not attribute values"
    if meanings.shape[1] < 2:
        return "fewer than two attributes"
    names, columns = corpus.attribute_names, []
    for place, role in enumerate(ROLES):
        named = getattr(own, role)
        if named in names:
            columns.append(names.index(named))
        elif named.isdigit() and int(named) < meanings.shape[1]:
            columns.append(int(named))
        elif named == role and (not names or role == "action"):
            columns += [place] if not names and place < meanings.shape[1] else []
        else:
            return f"no attribute {named}"
    chosen = meanings[:, columns]
    if chosen.dtype.kind in "US":  # one number per entity, in both roles
        chosen = np.unique(chosen, return_inverse=True)[1].reshape(chosen.shape)
    return chosen.astype(np.int64)


def _place(table: Ints, words: Ints) -> Ints:
    """First position of a word in each message, or NONE, (num_messages,)."""
    is_there = (table == words[:, None]) & (words[:, None] != NONE)
    return np.where(is_there.any(1), is_there.argmax(1), NONE)


def _conditional(first: NDArray[np.bool_], cues: Ints, bound: int) -> float:
    """Conditional entropy H(first | cues) in bits."""
    joint = entropy(np.bincount(2 * cues + first, minlength=2 * bound))
    return float(np.clip(joint - entropy(np.bincount(cues, minlength=bound)), 0.0, 1.0))


def _order_name(code: int) -> str:
    """Name of an order, such as `sov`, from its code in `_Reading.read`."""
    is_first, verb = divmod(code, 4)
    nouns = "so" if is_first else "os"
    return nouns if verb == 3 else nouns[:verb] + "v" + nouns[verb:]


def _most(traits: Traits) -> float:
    assert traits.bounds is not None
    return traits.bounds[1]
