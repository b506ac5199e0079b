"""Transitive clauses: events of agent, patient and action, in word orders and with given shares of case markers.

Such languages test the trade-off between word order and case marking in experiments with people (Fedzechkina et al.
2017) and with neural agents (Lian et al. 2023, arXiv 2301.13083, NeLLCom), in which the verb is last and a marker
follows the patient. Agents and patients have the same nouns.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from itertools import product

import msgspec
import numpy as np
from numpy.typing import NDArray

from ecsuite.corpus import Corpus
from ecsuite.grammars.geometry import Geometry
from ecsuite.grammars.icy import ChainStep, corrupted, parse
from ecsuite.grammars.nesting import check_probability
from ecsuite.grammars.words import stream
from ecsuite.runtime.errors import ConfigError, look_up, shown
from ecsuite.runtime.ragged import Ragged

NAME = "clauses"
ORDERS = ("sov", "osv", "svo", "ovs", "vso", "vos")
"""Orders of subject (the agent), object (the patient) and verb (the action)."""
ATTRIBUTES = ("agent", "patient", "action")
"""Attributes of an event."""
WEIGHT = "weight"
"""Column with the relative frequency of each variant of a message."""
VERSION = 1
"""Increased whenever the same name and seed would give another corpus than before."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ClauseOptions:
    """Options of the grammar: the weights of orders, the probabilities of markers, and sizes."""

    sov: float = 0.0
    osv: float = 0.0
    svo: float = 0.0
    ovs: float = 0.0
    vso: float = 0.0
    vos: float = 0.0
    marker: float = 0.0
    """Probability that the marker of patients follows the patient."""
    agent_marker: float = 0.0
    """Probability that the marker of agents follows the agent."""
    entities: int = 10
    """Number of entities, which are agents and patients; none acts on itself."""
    actions: int = 8
    """Number of actions."""
    chain: tuple[ChainStep, ...] = field(default=())
    """Corruptions of the messages."""

    def __post_init__(self) -> None:
        """Validate probabilities and sizes; raises `ConfigError`."""
        for name in ("marker", "agent_marker"):
            check_probability(name, getattr(self, name))
        for name, least in (("entities", 2), ("actions", 1)):
            if not least <= getattr(self, name) <= 1000:
                raise ConfigError(f"{NAME}: {name}: expected {least} to 1,000, got {getattr(self, name)}")
        weights = [getattr(self, order) for order in ORDERS]
        if not all(0 <= weight < np.inf for weight in weights):
            raise ConfigError(f"{NAME}: expected weights of orders of at least 0, got {min(weights)}")

    @property
    def shares(self) -> NDArray[np.float64]:
        """The share of each order, (6,); without weights, all clauses have the first order."""
        weights = np.array([float(getattr(self, order)) for order in ORDERS])
        weights[0] += not weights.any()
        shares: NDArray[np.float64] = weights / weights.sum()
        return shares

    def __str__(self) -> str:
        """Text for signatures."""
        chain = "".join(
            f"+{step.name}{''.join(f',{key}:{value}' for key, value in step.options.items())}"
            for step in self.chain
        )
        given = (f"{each.name}:{getattr(self, each.name):g}" for each in fields(self) if each.name != "chain")
        return ",".join(given) + chain


def is_clauses(name: str) -> bool:
    """Whether a name, with or without options and corruptions, refers to this grammar."""
    return name.replace("+", ",").partition(",")[0].strip().lower() == NAME


def read_options(name: str, **sizes: int) -> ClauseOptions:
    """The options in a name, such as `clauses,sov=1,osv=1,marker=0.67+rot`.

    Args:
        name: The grammar, its options after commas, and corruptions after plus signs.
        **sizes: `entities` and `actions`, if the name does not give them.

    Raises:
        ConfigError: If an option is unknown or not valid.
    """
    own, _, rest = name.partition("+")
    chain = tuple(step for step in parse(rest) if step.name != "concat") if rest else ()
    given: dict[str, str | int] = dict(sizes)
    known = {each.name: None for each in fields(ClauseOptions) if each.name != "chain"}
    for assignment in own.split(",")[1:]:
        key, equals, value = (text.strip() for text in assignment.partition("="))
        if not equals:
            raise ConfigError(f"{NAME}: expected an option such as marker=0.5, got {shown(assignment)}")
        look_up(f"option of {NAME}", key, known)
        given[key] = value
    try:
        numbers = msgspec.convert(given, dict[str, float], strict=False)
    except msgspec.ValidationError:
        raise ConfigError(f"{NAME}: expected numbers after =, got {shown(name)}") from None
    for key in ("entities", "actions"):
        if key in numbers and numbers[key] != int(numbers[key]):
            raise ConfigError(f"{NAME}: {key}: expected a whole number, got {numbers[key]}")
    return ClauseOptions(
        **{key: int(value) if key in ("entities", "actions") else value for key, value in numbers.items()},  # type: ignore[arg-type]
        chain=chain,
    )


def clauses(name: str, seed: int, **sizes: int) -> Corpus:
    """Transitive clauses in word orders and with case markers of given shares (Lian et al. 2023).

    Each event has one clause; the shares of orders and of markers are exact, up to rounding.

    Args:
        name: See `read_options`.
        seed: Seed of the assignment of orders and markers to events.
        **sizes: See `read_options`.
    """
    options = read_options(name, **sizes)
    events = all_events(options.entities, options.actions)
    places = [
        (stream(seed, each).permutation(len(events)) + 0.5) / len(events)
        for each in ("order", "marker", "agent")
    ]
    order = np.searchsorted(np.cumsum(options.shares), places[0], side="right").clip(max=len(ORDERS) - 1)
    marked, agent_marked = places[1] < options.marker, places[2] < options.agent_marker
    return _corpus(name, options, seed, events, _words(options, events, order, marked, agent_marked), {})


def clause_variants(name: str, seed: int, **sizes: int) -> Corpus:
    """All clauses of the grammar for each event, with the column `weight`; see `clauses`."""
    options = read_options(name, **sizes)
    events, messages, weights = all_events(options.entities, options.actions), [], []
    for order, marked, agent_marked in product(range(len(ORDERS)), (False, True), (False, True)):
        weight = options.shares[order] * (options.marker if marked else 1 - options.marker)
        weight *= options.agent_marker if agent_marked else 1 - options.agent_marker
        if weight > 0:
            every = np.ones(len(events), dtype=bool)
            messages.append(_words(options, events, order * every, marked & every, agent_marked & every))
            weights.append(np.full(len(events), weight))
    rows = np.concatenate(messages)
    return _corpus(
        name, options, seed, np.tile(events, (len(messages), 1)), rows, {WEIGHT: np.concatenate(weights)}
    )


def all_events(entities: int, actions: int) -> NDArray[np.int64]:
    """Agent, patient and action of all events in order, (num_events, 3); no entity acts on itself."""
    every = np.stack(
        np.unravel_index(np.arange(entities**2 * actions), (entities, entities, actions)), axis=1
    )
    events: NDArray[np.int64] = every[every[:, 0] != every[:, 1]]
    return events


def _words(
    options: ClauseOptions,
    events: NDArray[np.int64],
    order: NDArray[np.int64],
    marked: NDArray[np.bool_],
    agent_marked: NDArray[np.bool_],
) -> NDArray[np.int64]:
    """Clauses as content symbols from 0, (num_events, 5), padded at the end with -1."""
    verbs, marker = events[:, 2] + options.entities, options.entities + options.actions
    phrases = {
        "s": np.stack([events[:, 0], np.where(agent_marked, marker + 1, -1)], axis=1),
        "o": np.stack([events[:, 1], np.where(marked, marker, -1)], axis=1),
        "v": verbs[:, None],
    }
    every = np.stack([np.concatenate([phrases[role] for role in each], axis=1) for each in ORDERS])
    table: NDArray[np.int64] = every[order, np.arange(len(events))]
    first = np.argsort(table < 0, axis=1, kind="stable")  # words move into the positions of absent markers
    return np.take_along_axis(table, first, axis=1)


def _corpus(
    name: str,
    options: ClauseOptions,
    seed: int,
    events: NDArray[np.int64],
    table: NDArray[np.int64],
    columns: Mapping[str, NDArray[np.float64]],
) -> Corpus:
    """The corpus of clauses, with symbols from 1."""
    num_markers = 2 if options.agent_marker else 1 if options.marker else 0
    vocab_size = options.entities + options.actions + num_markers
    lengths = (table >= 0).sum(1)
    for length in np.unique(lengths).tolist() if options.chain else ():
        rows = lengths == length
        sizes = Geometry(
            num_attributes=length, num_values=options.actions, word_length=1, vocab_size=vocab_size
        )
        table[rows, :length] = corrupted(
            table[rows, :length], events[rows], sizes, options.chain, seed, f" of {length}"
        )
    names = [
        f"{attribute}={value}"
        for attribute, number in zip(ATTRIBUTES, _sizes(options), strict=True)
        for value in range(number)
    ]
    first = np.cumsum([0, *_sizes(options)[:-1]])
    return Corpus(
        messages=Ragged.from_lengths((table[table >= 0] + 1).astype(np.int32), lengths),
        meanings=events,
        attribute_names=ATTRIBUTES,
        concepts=Ragged.from_lengths(
            (events + first).astype(np.int32).ravel(), np.full(len(events), len(ATTRIBUTES))
        ),
        concept_names=tuple(names),
        columns=columns,
        metadata={
            "grammar": name,
            "signature": "|".join([NAME, str(options), f"seed:{seed}", f"v:{VERSION}"]),
            "seed": seed,
            "vocab_size": vocab_size,
        },
    )


def _sizes(options: ClauseOptions) -> tuple[int, int, int]:
    return options.entities, options.entities, options.actions
