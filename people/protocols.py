"""The protocols of the game: in which order objects are unlocked, and which ones are held out when.

`published` does what the paper's program does: objects are unlocked in their order, red circle first, and a held-out
object is the next locked one. Of the three held-out objects of `synth`, only the first has a colour that was ever
shown, so at most one can be answered from the parts of other codes. `balanced` holds out three objects of three
colours and three shapes, all six of which the first three unlocked objects show.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from ecsuite.grammars.words import stream
from ecsuite.people.objects import DATASETS
from ecsuite.people.questions import CHAIN_QUIZ, PAIR_QUIZ, QUIZ, Question
from ecsuite.runtime.errors import look_up

NUM_EXAMPLES = 50
NUM_HELD_OUT = 3
FIRST_AVAILABLE = 2
"""Objects that are unlocked at the start; nobody can have fewer."""
EXAMPLES_AN_OBJECT = 8
"""After so many examples one more object is unlocked."""
VERSION = 1
"""Increased whenever the same seed would give another schedule of the game than before."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Protocol:
    """What a protocol has beside the game."""

    line: str
    """What it is, for people."""
    quiz: Mapping[str, Question]
    """The quiz before the game; empty: there is none, and neither are attention checks and questions after the game."""
    tells_codes: bool
    """Whether a wrong answer to an unlocked object is followed by its code; that of a held-out object is never told."""


AGENTS = "agents"
"""The protocol of games with trained agents."""
CHAIN = "chain"
"""The protocol of chains of participants."""
PAIR = "pair"
"""The protocol of two people who play with each other."""
ROUNDS = "rounds"
"""The protocol of plays of rounds in which a person takes the place of an agent."""
PROTOCOLS = {
    "balanced": Protocol(
        line="held-out objects whose parts were shown, in random order; a quiz, an attention check, questions",
        quiz=QUIZ,
        tells_codes=True,
    ),
    "published": Protocol(
        line="as the paper's program: held-out objects are the next locked ones",
        quiz={},
        tells_codes=False,
    ),
    AGENTS: Protocol(line="with trained agents: four in ten objects are held out", quiz={}, tells_codes=True),
    CHAIN: Protocol(
        line="each learns what the one before typed: some codes are taught, all objects are tested",
        quiz=CHAIN_QUIZ,
        tells_codes=True,
    ),
    PAIR: Protocol(line="two people speak and choose in turns", quiz=PAIR_QUIZ, tells_codes=True),
    ROUNDS: Protocol(line="in the place of an agent in a play of rounds", quiz={}, tells_codes=True),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Schedule:
    """The schedule of one participant's game."""

    order: tuple[int, ...]
    """The objects in the order in which they are unlocked; those that never are come last."""
    held_out: Mapping[int, int]
    """By example, from 0: the place in `order` of a held-out object (`balanced`), or how many places after the
    unlocked objects it stands (`published`)."""
    attention: int | None
    """The example before which the attention check comes."""

    @property
    def max_available(self) -> int:
        """Objects that can be unlocked."""
        return len(self.order) - NUM_HELD_OUT


@lru_cache(maxsize=4096)
def make_schedule(protocol: str, dataset: str, seed: int) -> Schedule:
    """The schedule of a game: a pure function of its arguments.

    Raises:
        ConfigError: If a name is unknown.
    """
    look_up("protocol", protocol, PROTOCOLS)
    chosen = look_up("dataset", dataset, DATASETS)
    if protocol == "published":
        held_out = {29: 0, 39: 1, 49: 2}
        return Schedule(order=tuple(range(chosen.num_objects)), held_out=held_out, attention=None)
    rng, num_values = stream(seed, "schedule"), chosen.geometry.num_values
    colours, shapes = (rng.permutation(num_values)[:NUM_HELD_OUT] for _ in range(2))
    first = [int(colours[k] * num_values + shapes[k]) for k in range(NUM_HELD_OUT)]
    last = [int(colours[k] * num_values + shapes[(k + 1) % NUM_HELD_OUT]) for k in range(NUM_HELD_OUT)]
    others = [int(thing) for thing in rng.permutation(chosen.num_objects) if thing not in {*first, *last}]
    examples = [int(rng.integers(start, start + 10)) for start in (20, 30, 40)]
    places = chosen.num_objects - NUM_HELD_OUT + rng.permutation(NUM_HELD_OUT)
    return Schedule(
        order=(*first, *others, *last),
        held_out=dict(zip(examples, map(int, places), strict=True)),
        attention=int(rng.choice([example for example in range(12, 45) if example not in examples])),
    )


def unlocked_after(protocol: str, example: int) -> bool:
    """Whether one more object is unlocked after an example, from 0.

    The published program counts the examples that were begun, so that it is one example early.
    """
    return (example + 1 + (protocol == "published")) % EXAMPLES_AN_OBJECT == 0
