"""Traits: what is known of a score before it is computed, and the decorator that gives them to a metric.

    @metric(Traits(about="messages that no other meaning has", question="compositional", direction="higher"))
    def unique(corpus, options): ...

Tables, checks, pages and the keys of kept results read them from the function, ours and users' alike.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Any, Literal, TypeVar

Direction = Literal["higher", "lower"]
"""Which way is better."""
Question = Literal[
    "compositional",
    "concepts",
    "consistent",
    "learnable",
    "natural",
    "transfer",
    "shared",
    "agents",
    "other",
    "sizes",
]
"""What a score answers."""
Need = Literal["meanings", "attributes", "concepts", "speakers", "agents"]
"""What a corpus must have. `meanings` are attribute values, features or concepts; `concepts` are those or attribute
values; `speakers` are several in one corpus, which is then scored as a whole; of `agents` is a metric that is called
with a run."""
Reference = Literal["shuffled meanings", "shuffled symbols", "theory", "training", "guesses"]
"""Source of the chance level: messages exchanged between meanings, which are exchanged as wholes under questions
of composition and concepts; symbols shuffled over positions, a known distribution, agents or models that learn shuffled
data, answers that read no message."""

QUESTIONS: Mapping[Question, str] = {
    "compositional": "Is it compositional?",
    "concepts": "Are words names of concepts?",
    "consistent": "Does a whole message tell its meaning?",
    "learnable": "Is it learnt fast?",
    "natural": "Is it natural-like (lengths, segments)?",
    "transfer": "Does it help learn human languages?",
    "shared": "Do its speakers share it?",
    "agents": "What do its agents know?",
    "other": "Further scores",
    "sizes": "Sizes and entropies",
}
"""What scores are grouped by, in the order of tables."""

FEW_MESSAGES = 200
"""With fewer messages, a score that does not differ from chance is no evidence that the language is as by chance: weak
structure (a grammar of which 80 % of the symbols are noise) is found in 80 % of corpora from this size on."""

SENDER = "sender"
"""The key of a signature whose score is of a sender's own probabilities, and not of messages."""
CORRECTED = "with entropies less biased in small corpora (Chao and Shen 2003)"
"""The words of the detail `chao_shen`, of any metric that has it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Traits:
    """What is known of a score before it is computed."""

    name: str = ""
    """The name of the score; empty: that of the function."""
    about: str = ""
    """Meaning of the value, in about six words; empty: the first line of the function's documentation."""
    title: str = ""
    """The name spelt out, where it is short for something."""
    high: str = ""
    """What is a high value, and what a low one, in words."""
    question: Question = "other"
    """What it answers."""
    direction: Direction | None = None
    """Which way is better; None: neither."""
    version: int = 1
    """Raised whenever the same input gives another value; it is in signatures and in the keys of kept results."""
    bounds: tuple[float, float] | None = None
    """The range of the values, which `ecsuite check` tries; None: none is declared."""
    chance: Reference | None = None
    """What its chance level is that of; None: it has none."""
    draws: bool = True
    """Whether something is drawn at random, so that `--seed` is read."""
    needs: tuple[Need, ...] = ()
    """What a corpus must have for a value."""
    least_messages: int = FEW_MESSAGES
    """With fewer messages, no difference from chance says nothing (benchmarks/corpus_size.py)."""
    depends_on_size: str | None = None
    """Why corpora of another number of messages have another value, in words: the number is then in the signature.
    None: it estimates the same value from any number."""
    most_messages: int | None = None
    """Of a larger corpus so many messages are drawn; None: all are read."""
    trains: bool = False
    """Whether it trains models."""
    asks_agents: bool = False
    """Whether of a run the agents are asked instead of the messages: it then has `Options.run`."""
    by_name_only: bool = False
    """Whether it is computed only if it is named. So are all that train and all that ask agents."""
    shares: str = ""
    """What it computes that others do too: one process computes all that share it, once."""
    pools_speakers: bool = False
    """Whether the messages of all speakers are one language; otherwise each speaker's is scored, and the mean taken."""
    keeps_work: bool = False
    """Whether it looks at requests to stop, and keeps what it has done; others end at once."""
    options: type | None = None
    """A frozen dataclass of its own options, an instance of which is its third argument; None: it has none."""
    names_options: bool = True
    """Whether the names of its scores have those options that are not the defaults; its signature has them anyway."""
    details: Mapping[str, str] = field(default_factory=dict)
    """A word of explanation by the key of a detail, or of a group of details."""

    @property
    def needs_agents(self) -> bool:
        """Whether the metric is called with a run instead of a corpus."""
        return "agents" in self.needs

    @property
    def is_of_all_speakers(self) -> bool:
        """Whether a corpus with several speakers is scored as a whole."""
        return self.pools_speakers or "speakers" in self.needs

    @property
    def is_asked_for(self) -> bool:
        """Whether the metric is computed only if it is named."""
        return self.trains or self.by_name_only or self.needs_agents

    def described(self) -> dict[str, Any]:
        """What `ecsuite list metric` says of a score, JSON-ready."""
        names = ("name", "about", "title", "high", "direction", "version", "bounds", "chance", "needs")
        more = ("least_messages", "depends_on_size", "trains", "details")
        known = {name: getattr(self, name) for name in (*names, *more)}
        return known | {
            "question": QUESTIONS[self.question],
            "needs": list(self.needs),
            "details": dict(self.details),
        }

    def size(self, num_messages: int) -> int:
        """How many of the messages of a corpus the value is of."""
        return min(num_messages, self.most_messages or num_messages)


OF_METRIC = (
    "version",
    "trains",
    "by_name_only",
    "pools_speakers",
    "keeps_work",
    "options",
    "names_options",
    "needs",
)
"""Traits that all scores of one metric share."""

Function = TypeVar("Function", bound=Callable[..., Any])


def metric(*traits: Traits) -> Callable[[Function], Function]:
    """Give the function of a metric its traits, or a class that is called like one.

    Of a score that depends on size, the number of messages comes into the signature, before the version: `n:200`.

    Args:
        traits: Of each score that it returns; one without a name is that of the function's name.
    """
    assert all(len({repr(getattr(each, key)) for each in traits}) == 1 for key in OF_METRIC)

    def decorated(function: Function) -> Function:
        named = {
            each.name: each
            for each in (replace(each, name=each.name or function.__name__) for each in traits)
        }
        scored: Any = function
        if not isinstance(function, type):

            @wraps(function)
            def scored(corpus: Any, *arguments: Any) -> Any:
                return [
                    with_size(score, named[score.name.partition(",")[0]], corpus)
                    for score in function(corpus, *arguments)
                ]

        scored.traits = tuple(named.values())
        return scored  # type: ignore[no-any-return]

    return decorated


def traits_in(function: Any) -> tuple[Traits, ...]:
    """The traits of the scores of a metric; empty for a function that declares none."""
    found: tuple[Traits, ...] = getattr(function, "traits", ())
    return found


def with_size(score: Any, traits: Traits, corpus: Any, more: str = "") -> Any:
    """A score with the number of messages in its signature, if its value depends on that, and with more at its end."""
    before, mark, version = score.signature.rpartition("|v:")
    if not mark:
        before, version = version, ""
    is_of_sender = traits.asks_agents and f"|{SENDER}:" in before
    if traits.depends_on_size is not None and not traits.needs_agents and not is_of_sender:
        before += f"|n:{traits.size(len(corpus.messages))}"
    return replace(score, signature=f"{before}{mark}{version}{more}")
