"""Metrics: functions of a corpus or of a run, with the traits of their scores that are known before computing.

    @metric(Traits(about="messages that no other meaning has", question="compositional", direction="higher"))
    def unique(corpus, options): ...

Tables, checks, pages and the keys of cached results read the traits of a `Metric`, whether it is built in or from a
user's file.
"""

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import update_wrapper
from typing import Any, Literal

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

import ecsuite.parts.own_code as own_code
from ecsuite.corpus import Corpus
from ecsuite.eval.metrics.score import Options, Score
from ecsuite.jobs.graph import Runner
from ecsuite.parts.own_functions import called
from ecsuite.runtime.errors import PartError
from ecsuite.runtime.ragged import Ragged

Direction = Literal["higher", "lower"]
"""The better direction."""
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
"""The question that a score answers."""
Need = Literal["meanings", "attributes", "concepts", "speakers", "agents"]
"""Requirement on a corpus. `meanings`: attribute values, features or concepts; `concepts`: concepts or attribute
values; `speakers`: several speakers in one corpus, which is then scored as a whole; `agents`: the metric is called with
a run."""
Reference = Literal[
    "shuffled meanings", "shuffled symbols", "exchanged speakers", "theory", "training", "guesses"
]
"""Source of the chance level: messages exchanged between meanings (whole meanings, for questions of composition and
concepts); symbols shuffled over positions; speakers exchanged with all their messages; a known distribution; agents or
models that learn shuffled data; answers that read no message."""

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
"""Headings of scores by question, in the order of tables."""

FEW_MESSAGES = 200
"""Messages below which a score that does not differ from chance is no evidence for a language at chance level: weak
structure (a grammar with 80 % noise symbols) is detected in 80 % of corpora from this size on."""

SENDER = "sender"
"""Key in the signature of a score that is computed from a sender's probabilities instead of messages."""
CORRECTED = "with entropies less biased in small corpora (Chao and Shen 2003)"
"""Description of the detail `chao_shen` of any metric."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Traits:
    """Metadata of a score that are known before it is computed."""

    name: str = ""
    """Name of the score; empty: the name of the function."""
    about: str = ""
    """Meaning of the value, in about six words; empty: the first line of the function's documentation."""
    title: str = ""
    """Name in full, if it is an abbreviation."""
    high: str = ""
    """Interpretation of a high and of a low value."""
    question: Question = "other"
    """The question that the score answers."""
    direction: Direction | None = None
    """The better direction; None: neither."""
    version: int = 1
    """Raised whenever the same input gives another value; part of signatures and of the keys of cached results."""
    bounds: tuple[float, float] | None = None
    """Range of the values, which `ecsuite check` tests; None: not declared."""
    is_censored_at_bounds: bool = False
    """Whether a value at an end of its range is censored, such as an accuracy of 1: agents may be better than the
    rounds can show. For other scores the ends are ordinary values."""
    chance: Reference | None = None
    """Source of its chance level; None: it has none."""
    draws: bool = True
    """Whether it draws random numbers, so that `--seed` matters."""
    needs: tuple[Need, ...] = ()
    """Requirements on the corpus."""
    least_messages: int = FEW_MESSAGES
    """Messages below which a score that does not differ from chance proves nothing (benchmarks/corpus_size.py)."""
    depends_on_size: str | None = None
    """Reason why the value depends on the number of messages, which is then in the signature; None: it estimates the
    same value from any number."""
    most_messages: int | None = None
    """Messages that are drawn from a larger corpus; None: all are used."""
    has_reliable_interval: bool = True
    """Whether its 95 % interval over messages has its nominal coverage; otherwise two corpora are not compared. See
    docs/evidence/how_many_messages.md."""
    trains: bool = False
    """Whether it trains models."""
    asks_agents: bool = False
    """Whether a run is scored by its agents instead of its messages, through `Options.run`."""
    by_name_only: bool = False
    """Whether it is computed only if named, as are all metrics that train or need agents."""
    of_languages: bool = False
    """Whether a run is scored by its languages over training, `languages.jsonl`, instead of its last language."""
    shares: str = ""
    """Name of work shared with other metrics: one process computes all metrics that share it."""
    pools_speakers: bool = False
    """Whether messages of all speakers are scored as one language; otherwise the score is the mean over speakers."""
    keeps_work: bool = False
    """Whether it checks for stop requests and saves partial results; other metrics end at once."""
    options: type | None = None
    """Frozen dataclass of its own options, an instance of which is its third argument; None without options."""
    names_options: bool = True
    """Whether the names of its scores have the options that are not the defaults; the signature always has them."""
    details: Mapping[str, str] = field(default_factory=dict)
    """Description of each detail, or group of details, by key."""

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
        """The description of a score in `ecsuite list metric`, JSON-ready."""
        names = ("name", "about", "title", "high", "direction", "version", "bounds", "chance", "needs")
        more = ("least_messages", "depends_on_size", "trains", "details")
        known = {name: getattr(self, name) for name in (*names, *more)}
        return known | {
            "question": QUESTIONS[self.question],
            "needs": list(self.needs),
            "details": dict(self.details),
        }

    def size(self, num_messages: int) -> int:
        """Number of messages of a corpus that the value is computed from."""
        return min(num_messages, self.most_messages or num_messages)


SHARED_TRAITS = (
    "version",
    "trains",
    "by_name_only",
    "of_languages",
    "pools_speakers",
    "keeps_work",
    "options",
    "names_options",
    "needs",
)
"""Traits that all scores of one metric share."""
_NO_VALUE = "the function returned None"


class Metric:
    """A metric, which is called with a corpus, or with a run if its traits say that it needs agents.

    function: Called as `function(corpus, options)`, with its own options as third argument if it has some, and with
    `runner` by keyword if it has this parameter. traits: The traits of each score that it returns. name: The name as
    given by the user, with options after commas; empty: the name of the function. own: Its own options; None: the
    defaults.

    Example:
        >>> from ecsuite.eval.metrics import find_metric
        >>> find_metric("topsim,message_distance=jaccard").traits[0].direction
        'higher'
    """

    def __init__(
        self, function: Callable[..., Any], traits: tuple[Traits, ...], name: str = "", own: Any = None
    ) -> None:
        update_wrapper(self, function, updated=())
        self.function, self.traits, self.own = function, traits, own
        self.shared = traits[0]
        """Traits of the first score; `SHARED_TRAITS` are the same for all scores."""
        self.name = name or function.__name__
        self._traits_of = {each.name.partition(",")[0]: each for each in traits}
        parameters = inspect.signature(function).parameters.values()
        self._takes_runner = any(each.name == "runner" for each in parameters)

    @property
    def version(self) -> int:
        """The version of its scores."""
        return self.shared.version

    def with_options(self, own: Any, name: str) -> "Metric":
        """Make a metric with own options; the names of its scores have the options that are not the defaults.

        Raises:
            ConfigError: If an option names something that its file does not have, or a file that is not trusted.
        """
        for kind in own_code.foreign_kinds(name):
            own_code.named(kind)
        ending = non_default_options(own) if self.shared.names_options else ""
        traits = tuple(replace(each, name=f"{each.name}{ending}") for each in self.traits)
        return Metric(self.function, traits, name, own)

    def __call__(
        self,
        corpus: Any,
        options: Options | None = None,
        own: Any = None,
        *,
        runner: Runner | None = None,
        **settings: Any,
    ) -> list[Score]:
        """Compute the scores of a corpus, or of a run.

        Args:
            corpus: The corpus, or the run.
            options: Options of scoring; None: `settings`.
            own: Options instead of its own.
            runner: Runs its jobs and reports progress; None: one without a cache or reports.
            **settings: Fields of `Options`.
        """
        arguments = [corpus, options or Options(**settings)]
        if (own := self.own if own is None else own) is not None:
            arguments.append(own)
        scores = self.function(*arguments, **({"runner": runner or Runner()} if self._takes_runner else {}))
        ending = "" if self.own is None or not self.shared.names_options else non_default_options(self.own)
        return [
            structs.replace(
                _with_size(score, self._traits_of[score.name.partition(",")[0]], corpus),
                name=score.name if "," in score.name else f"{score.name}{ending}",
            )
            for score in scores
        ]


class OwnMetric(Metric):
    """Metric from a user's file: a function, or an instance of a class, that returns a number, None, or scores.

    Its signature has its options and the SHA-256 of its files, so that scores of different versions are not compared.

    Args:
        function: Called as `function(corpus)` or `function(corpus, options)`; with a run if its first parameter is
            `run`.
        kind: Name with the options given by the user: `./mine.py:my_metric`, `./mine.py:MyMetric,base=2`.
        options: All its own options.
    """

    def __init__(self, function: Callable[..., Any], kind: str, options: Mapping[str, Any]) -> None:
        source, _, named = kind.partition(":")
        about = (inspect.getdoc(function) or named).split("\n")[0].rstrip(".")
        asks_agents = next(iter(inspect.signature(function).parameters), "") == "run"
        declared = [
            replace(
                each,
                about=each.about or about,
                needs=("agents", *each.needs) if asks_agents and not each.needs_agents else each.needs,
            )
            for each in getattr(function, "traits", None) or (Traits(),)
        ]
        plain = inspect.unwrap(function)  # __call__ sets the traits of its scores
        super().__init__(plain, (replace(declared[0], name=named), *declared[1:]), kind)
        settings = [f"{key}:{value}" for key, value in options.items()]
        self._ending = "|" + "|".join([*settings, f"code:{own_code.checksum(source)[:12]}"])

    def __call__(
        self,
        corpus: Any,
        options: Options | None = None,
        own: Any = None,
        *,
        runner: Runner | None = None,
        **settings: Any,
    ) -> list[Score]:
        """Compute the scores of a corpus, or of a run; see `Metric`."""
        read_only = _read_only(corpus) if isinstance(corpus, Corpus) else corpus
        found = called(self.function, read_only, options or Options(**settings))
        scores = [found] if isinstance(found, Score) else found
        if not isinstance(scores, list | tuple) or not all(isinstance(score, Score) for score in scores):
            scores = [self._score_of(found)]
        own_traits = {
            score.name: next((each for each in self.traits[1:] if each.name == score.name), self.shared)
            for score in scores
        }
        return [
            structs.replace(
                _with_size(score, own_traits[score.name], corpus, self._ending),
                about=score.about or own_traits[score.name].about or self.shared.about,
                traits=replace(own_traits[score.name], name=score.name),
            )
            for score in scores
        ]

    def _score_of(self, found: Any) -> Score:
        """Make a score from a number or None.

        Raises:
            PartError: If it is neither.
        """
        value = found.item() if isinstance(found, np.generic) or getattr(found, "ndim", None) == 0 else found
        name = self.shared.name
        if value is not None and not (isinstance(value, int | float) and _is_finite(value)):
            place = own_code.place_of(self.name.partition(",")[0], "__call__")
            expected = "a finite number, None if it is undefined, or scores"
            raise PartError(f"{place}: {name}: expected {expected}; got {value!r:.80}")
        reason = _NO_VALUE if value is None else None
        return Score(
            name=name, value=value, about=self.shared.about, reason=reason, signature=name.partition(",")[0]
        )


def metric(*traits: Traits) -> Callable[[Callable[..., Any]], Metric]:
    """Decorator that makes a metric of a function, or gives traits to a class.

    If a score depends on size, its signature has the number of messages before the version: `n:200`.

    Args:
        traits: The traits of each score that it returns; an empty name stands for the function's name.
    """
    assert all(len({repr(getattr(each, key)) for each in traits}) == 1 for key in SHARED_TRAITS)

    def decorated(function: Any) -> Any:
        named = {
            name: replace(each, name=name) for each in traits if (name := each.name or function.__name__)
        }
        if isinstance(function, type):
            function.traits = tuple(named.values())  # type: ignore[attr-defined]
            return function
        return Metric(function, tuple(named.values()))

    return decorated


def non_default_options(own: Any) -> str:
    """Options that are not the defaults, as after the name of a metric: `,correlation=pearson`."""
    defaults = type(own)()
    pairs = [(each.name, getattr(own, each.name)) for each in fields(own)]
    return "".join(f",{key}={value}" for key, value in pairs if value != getattr(defaults, key))


def _with_size(score: Score, traits: Traits, corpus: Any, ending: str = "") -> Score:
    """Score with its ending and, if its value depends on it, the number of messages in the signature."""
    before, mark, version = (score.signature or score.name).rpartition("|v:")
    if not mark:
        before, version = version, ""
    is_of_sender = traits.asks_agents and f"|{SENDER}:" in before
    if traits.depends_on_size is not None and not traits.needs_agents and not is_of_sender:
        before += f"|n:{traits.size(len(corpus.messages))}"
    return structs.replace(score, signature=f"{before}{mark}{version}{ending}")


def _read_only(corpus: Corpus) -> Corpus:
    """Corpus with read-only views of its arrays, as other metrics use them too."""

    def ragged(rows: Ragged) -> Ragged:
        return Ragged(_view(rows.values), _view(rows.offsets))

    return replace(
        corpus,
        messages=ragged(corpus.messages),
        meanings=None if corpus.meanings is None else _view(corpus.meanings),
        concepts=None if corpus.concepts is None else ragged(corpus.concepts),
        columns={name: _view(values) for name, values in corpus.columns.items()},
    )


def _view(array: NDArray[Any]) -> NDArray[Any]:
    view = array.view()
    view.flags.writeable = False
    return view


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond the range of floats
        return False
