"""Languages in contact: how alike communities speak, whose words survive, and how many there are.

Communities are a column of the corpus, and another one has what a speaker said before members of two communities met.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations, takewhile
from typing import Any

import numpy as np
from rapidfuzz.distance import Levenshtein

from ecsuite.corpus import SPEAKER, Corpus
from ecsuite.eval.metrics.by_speaker import speakers_of
from ecsuite.eval.metrics.language_similarity import MAX_MEANINGS, Message, most_used, whole_meanings
from ecsuite.eval.metrics.score import Options, Score, unscored
from ecsuite.eval.metrics.traits import Traits, metric
from ecsuite.eval.statistics.chance import of_guesses
from ecsuite.eval.statistics.contingency import Floats
from ecsuite.eval.statistics.estimates import clipped, mean_and_half_width
from ecsuite.runtime.errors import CorpusError

COMMUNITY, BEFORE = "community", "before"
"""The columns."""
Said = Mapping[int, Message]
"""The message of a speaker by the number of the meaning."""

SIMILARITY_WITHIN = Traits(
    name="similarity_within",
    about="speakers of one community say the same",
    high="1 if speakers of a community say the same; 0 also for the same words with other symbols",
    question="shared",
    direction="higher",
    version=2,
    bounds=(0.0, 1.0),
    draws=False,
    needs=("meanings", "speakers"),
    depends_on_size="the most used message of a meaning is surer the more there are",
    by_name_only=True,
)
SIMILARITY_BETWEEN = replace(
    SIMILARITY_WITHIN,
    name="similarity_between",
    about="speakers of two communities say the same",
    high="1 if communities say the same: one language; 0: nothing alike",
)
SURVIVAL = replace(
    SIMILARITY_WITHIN,
    name="survival",
    about="what is said is nearest to the largest community's",
    high="the words of the largest community survive; 1 / communities: of all alike; 0: those of others do",
    direction=None,
    chance="guesses",
)
DISTINCT_MESSAGES = replace(
    SIMILARITY_WITHIN,
    name="distinct_messages",
    about="different messages of a speaker, by meanings",
    high="1: each meaning has a message of its own; low: a simple language, with one message for many",
    direction=None,
)


@metric(SIMILARITY_WITHIN, SIMILARITY_BETWEEN, SURVIVAL, DISTINCT_MESSAGES)
def contact(corpus: Corpus, options: Options) -> list[Score]:
    """What becomes of the languages of communities that meet (Graesser et al. 2019).

    The similarity of two speakers is 1 minus the edit distance of their messages about a meaning, divided by the longer
    length, mean over meanings; `similarity_within` is that of pairs of one community, `similarity_between` of two.
    `survival`: of what all speakers say now, the share of messages that are nearer to what the largest community (of
    equal ones, the first) said of the meaning before contact than to what any other said; the distance to a community
    is the mean over its speakers, and messages as near to several are shared. Chance is 1 / communities.
    `distinct_messages`: different messages of a speaker, divided by the meanings, mean over speakers: less, where a
    language is simpler. Intervals are Student's over meanings.

    The details of `survival` have the share of each community, and what each says now (rows) by whose words it is
    (columns); those of `similarity_between` and `distinct_messages` the value before contact.

    Undefined without the column `community`, or of one community; `survival` before contact, `similarity_within` where
    every community has one speaker.
    """
    scores = [
        unscored(each, message="mode", meanings=MAX_MEANINGS, eos="strip")
        for each in (SIMILARITY_WITHIN, SIMILARITY_BETWEEN, SURVIVAL, DISTINCT_MESSAGES)
    ]
    whole, speakers = whole_meanings(corpus), speakers_of(corpus)
    reason = None
    if COMMUNITY not in corpus.columns or len(corpus.values_of(COMMUNITY)) < 2:
        reason = "fewer than two communities (the column `community` of the corpus)"
    elif whole is None:
        reason = "the corpus has neither meanings nor concepts"
    if reason is not None or whole is None:
        return [score(value=None, reason=reason) for score in scores]
    rows = {speaker: np.flatnonzero(corpus.has(SPEAKER, speaker)) for speaker in speakers}
    home = [corpus.columns[COMMUNITY][rows[speaker][0]] for speaker in speakers]
    now: list[Said] = [most_used(corpus, whole, corpus.has(SPEAKER, speaker)) for speaker in speakers]
    before = [_before(corpus, whole, rows[speaker]) for speaker in speakers]
    shared = sorted(set.intersection(*(set(said) for said in now)))[:MAX_MEANINGS]
    if not shared:
        return [score(value=None, reason="no meaning is said by all speakers") for score in scores]
    known = [meaning for meaning in shared if all(meaning in said for said in before)]
    within, between, survival, distinct = scores
    of_survival = _survival(now, before, home, known) if known else {}
    return [
        _mean(within, _similarity(now, home, shared, is_within=True), {}, "every community has one speaker"),
        _mean(
            between, _similarity(now, home, shared, is_within=False), _value_before(before, home, known), ""
        ),
        _mean(survival, of_survival.pop("by_meaning", None), of_survival, "communities have not met yet"),
        distinct(value=_distinct(now, shared), details={"before": _distinct(before, known)} if known else {}),
    ]


def _before(corpus: Corpus, whole: Any, rows: Any) -> Said:
    """What a speaker said before contact, by meaning; empty where the corpus does not say it."""
    if BEFORE not in corpus.columns:
        return {}
    texts = corpus.columns[BEFORE]
    numbers = {name: number for number, name in enumerate(corpus.symbol_names or ())}
    names = corpus.symbol_names
    end = None if corpus.eos is None else str(corpus.eos) if names is None else names[corpus.eos]

    def number_of(symbol: str) -> int:
        if names is not None:
            return numbers.setdefault(symbol, len(numbers))
        if not symbol.isdecimal():
            raise CorpusError(f"column {BEFORE}: expected symbols, as messages have them, got {symbol:.40}")
        return int(symbol)

    return {
        int(whole[row]): tuple(
            map(number_of, takewhile(lambda symbol: symbol != end, str(texts[row]).split()))
        )
        for row in rows
        if texts[row]
    }


def _distance(one: Message, other: Message) -> float:
    """Edit distance divided by the longer length."""
    return float(Levenshtein.normalized_distance(one, other))


def _similarity(
    said: Sequence[Said], home: Sequence[int], meanings: Sequence[int], *, is_within: bool
) -> Floats | None:
    """The similarity of pairs of speakers of one community or of two, by meaning; None if there are none."""
    pairs = [
        (said[one], said[other])
        for one, other in combinations(range(len(said)), 2)
        if (home[one] == home[other]) == is_within
    ]
    if not pairs:
        return None
    return np.array([
        np.mean([1 - _distance(one[meaning], other[meaning]) for one, other in pairs]) for meaning in meanings
    ])  # fmt: skip


def _value_before(before: Sequence[Said], home: Sequence[int], meanings: Sequence[int]) -> dict[str, Any]:
    found = _similarity(before, home, meanings, is_within=False) if meanings else None
    return {} if found is None else {"before": float(found.mean())}


def _survival(
    now: Sequence[Said], before: Sequence[Said], home: Sequence[int], meanings: Sequence[int]
) -> dict[str, Any]:
    """The share of what is said now that is nearest to each community's words: of the largest by meaning, and means."""
    communities = sorted(set(home))
    sizes = [home.count(each) for each in communities]
    shares = np.zeros((len(meanings), len(now), len(communities)))
    for place, meaning in enumerate(meanings):
        for speaker, said in enumerate(now):
            distances = np.array([
                np.mean([
                    _distance(said[meaning], words[meaning])
                    for words, own in zip(before, home, strict=True)
                    if own == each
                ])
                for each in communities
            ])  # fmt: skip
            nearest = np.isclose(distances, distances.min())
            shares[place, speaker] = nearest / nearest.sum()
    table = [shares[:, np.array(home) == each].mean((0, 1)).tolist() for each in communities]
    return {
        "by_meaning": shares[..., int(np.argmax(sizes))].mean(1),
        "by_community": dict(zip(map(str, communities), shares.mean((0, 1)).tolist(), strict=True)),
        "table": table,
        "sizes": sizes,
    }


def _distinct(said: Sequence[Said], meanings: Sequence[int]) -> float:
    """Different messages divided by meanings, mean over speakers."""
    return float(np.mean([len({each[meaning] for meaning in meanings}) / len(meanings) for each in said]))


def _mean(score: Any, by_meaning: Floats | None, details: dict[str, Any], reason: str) -> Score:
    """A score that is a mean over meanings."""
    if by_meaning is None:
        return score(value=None, reason=reason)  # type: ignore[no-any-return]
    values = by_meaning.tolist()
    value, half_width = mean_and_half_width(values)
    chance = of_guesses(1 / len(details["sizes"]), values) if "sizes" in details and len(values) > 1 else None
    return score(  # type: ignore[no-any-return]
        value=value, ci95=clipped(value, half_width, 0.0, 1.0), chance=chance, details=details
    )
