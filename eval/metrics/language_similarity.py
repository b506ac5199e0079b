"""Similarity of languages in a society: between speakers, between communities in contact, and over time."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import combinations, pairwise, permutations, takewhile
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from ecsuite.corpus import SPEAKER, Corpus
from ecsuite.eval.counts.counting import flat, numbered_by_use, row_labels
from ecsuite.eval.metrics.associations import adjusted_information, expected_information
from ecsuite.eval.metrics.computing import speakers_of
from ecsuite.eval.metrics.score import Options, Score, unscored
from ecsuite.eval.metrics.traits import Traits, metric
from ecsuite.eval.statistics.chance import Chance
from ecsuite.eval.statistics.contingency import Floats, Ints
from ecsuite.eval.statistics.estimates import average_ranks, clipped, mean_and_half_width, mean_of_shares
from ecsuite.runtime.errors import ConfigError, CorpusError
from ecsuite.runtime.ragged import Ragged

Message = tuple[int, ...]
MAX_MEANINGS = 500
"""Maximum number of shared meanings that are compared; above this, a random sample."""
MAX_PAIRS = 66
"""Maximum number of pairs of speakers that are compared (all pairs of 12); above this, a random sample."""
NUM_PERMUTATIONS = 100
"""Permutations of the meanings of one speaker of a pair."""


LANGUAGE_SIMILARITY = Traits(
    name="language_similarity",
    about="speakers have similar messages for a meaning",
    title="similarity of the speakers' messages",
    high="1 if speakers use the same messages; 0 also if they only rename the symbols",
    question="shared",
    direction="higher",
    chance="shuffled meanings",
    needs=("meanings", "speakers"),
    depends_on_size="the most frequent message of a meaning is known better from more messages",
    by_name_only=True,
)
LANGUAGE_AMI = replace(
    LANGUAGE_SIMILARITY,
    name="language_ami",
    about="speakers group meanings in the same way",
    title="adjusted mutual information of the speakers' messages",
    high="1 if speakers group the meanings alike, whatever the messages; needs messages that recur",
)
LANGUAGE_TOPSIM = replace(
    LANGUAGE_SIMILARITY,
    name="language_topsim",
    about="speakers' message distances correlate",
    title="topographic similarity of the speakers' messages",
    high="1 if message distances agree; high also if both languages are compositional with different words",
)


@metric(LANGUAGE_SIMILARITY, LANGUAGE_AMI, LANGUAGE_TOPSIM)
def language_similarity(corpus: Corpus, options: Options) -> list[Score]:
    """Similarity of the speakers of a corpus about the same meanings: means over pairs of speakers.

    Each pair is compared on the meanings that both speakers express, by each speaker's most frequent message for a
    meaning. `language_similarity`: 1 minus the edit distance of the two messages, divided by the longer length
    (Levenshtein 1966; between agents as in Chaabouni et al. 2022), mean over meanings; 1: the same messages.
    `language_ami`: adjusted mutual information of the messages of the two (Vinh et al. 2009, by the larger entropy); 1:
    the same meanings share a message, whatever the message is. `language_topsim`: Spearman's correlation, over pairs of
    meanings, between the edit distances of one speaker's messages and the edit distances of the other's; 1: the same
    meanings have similar messages, with whatever symbols.

    Chance: the meanings of one speaker are permuted. Symbols are without EOS. Renaming symbols for all speakers, or
    for a single one in `language_ami` and `language_topsim`, changes nothing, nor does the order of messages.
    Undefined for one speaker, without meanings, and if no pair of speakers shares three meanings; `language_ami` also
    if no message of a speaker recurs, and `language_topsim` if all distances of a speaker are equal.
    """
    kinds = (LANGUAGE_SIMILARITY, LANGUAGE_AMI, LANGUAGE_TOPSIM)
    settings: dict[str, Any] = {
        "message": "mode",
        "meanings": MAX_MEANINGS,
        "seed": options.seed,
        "eos": "strip",
    }
    scores = [unscored(traits, **settings) for traits in kinds]
    speakers = speakers_of(corpus)
    whole = whole_meanings(corpus)
    reason = None
    if len(speakers) < 2:
        reason = "fewer than two speakers (the column `speaker` of the corpus)"
    elif whole is None:
        reason = "the corpus has neither meanings nor concepts"
    if reason is not None or whole is None:
        return [score(value=None, reason=reason) for score in scores]
    rng = np.random.default_rng(options.seed)
    pairs = list(combinations(range(len(speakers)), 2))
    if len(pairs) > MAX_PAIRS:
        pairs = [pairs[place] for place in np.sort(rng.choice(len(pairs), MAX_PAIRS, replace=False))]
    messages = [most_used(corpus, whole, corpus.has(SPEAKER, speaker)) for speaker in speakers]
    names = [f"{speakers[first]}-{speakers[second]}" for first, second in pairs]
    found = [_compared(messages[first], messages[second], rng) for first, second in pairs]
    return [
        _mean(score, dict(zip(names, [each[kind] for each in found], strict=True)), options.seed)
        for kind, score in enumerate(scores)
    ]


def joined(first: Corpus, second: Corpus) -> Corpus:
    """Two corpora as one with the column `speaker`: `first` and `second`.

    Symbols are matched by name; symbols without names, by number.

    Raises:
        CorpusError: If only one corpus has symbol names, or one has neither meanings nor concepts.
    """
    if (first.symbol_names is None) != (second.symbol_names is None):
        raise CorpusError("only one corpus has names of symbols: expected both or neither")
    contents = [each.content() for each in (first, second)]
    names = tuple(dict.fromkeys([*(first.symbol_names or ()), *(second.symbol_names or ())]))
    number = {name: place for place, name in enumerate(names)}
    values = [
        content.values
        if each.symbol_names is None
        else np.array([number[name] for name in each.symbol_names], np.int32)[content.values]
        for each, content in zip((first, second), contents, strict=True)
    ]
    keys = [_keys(each) for each in (first, second)]
    if None in keys:
        raise CorpusError(
            "a corpus has neither meanings nor concepts: expected meanings, to compare messages about them"
        )
    ids: dict[Any, int] = {}
    meanings = np.array([[ids.setdefault(key, len(ids))] for each in keys for key in each or ()])
    if first.meanings is not None and second.meanings is not None:
        vectors = flat(first.meanings), flat(second.meanings)
        if vectors[0].shape[1] == vectors[1].shape[1]:
            meanings = np.concatenate(vectors)
    return Corpus(
        Ragged.from_lengths(np.concatenate(values), np.concatenate([each.lengths for each in contents])),
        symbol_names=names or None,
        meanings=meanings,
        columns={SPEAKER: np.repeat(["first", "second"], [len(each) for each in contents])},
    )


def _keys(corpus: Corpus) -> list[Any] | None:
    """The meaning of each message as a key that is equal across corpora: attribute values, or names of concepts."""
    if corpus.meanings is not None:
        return [tuple(row) for row in flat(corpus.meanings).tolist()]
    if corpus.concepts is None:
        return None
    return [frozenset(corpus.concepts_of(row)) for row in range(len(corpus.concepts))]


def whole_meanings(corpus: Corpus) -> Ints | None:
    """The id of each message's meaning, independent of the order of messages, (num_messages,)."""
    if corpus.meanings is not None:
        return np.asarray(np.unique(flat(corpus.meanings), axis=0, return_inverse=True)[1].ravel())
    if corpus.concepts is None:
        return None
    sets = [tuple(sorted(set(corpus.concepts[row].tolist()))) for row in range(len(corpus.concepts))]
    number = {each: place for place, each in enumerate(sorted(set(sets)))}
    return np.array([number[each] for each in sets])


def most_used(corpus: Corpus, whole: Ints, is_spoken: NDArray[np.bool_]) -> dict[int, Message]:
    """The most frequent message of each meaning; ties go to the first by order of symbol use."""
    rows = np.flatnonzero(is_spoken)
    content = corpus.content().take(rows)
    numbers = Ragged(numbered_by_use(content, whole[rows]).astype(np.int32), content.offsets)
    uses: dict[int, Counter[tuple[Message, Message]]] = {}
    for place, row in enumerate(rows.tolist()):
        message = tuple(content[place].tolist())
        uses.setdefault(int(whole[row]), Counter())[tuple(numbers[place].tolist()), message] += 1
    return {
        meaning: min(counts, key=lambda each: (-counts[each], each[0]))[1] for meaning, counts in uses.items()
    }


def _compared(
    first: dict[int, Message], second: dict[int, Message], rng: np.random.Generator
) -> list[tuple[float | None, Floats]]:
    """Similarity, AMI and topsim of two languages, each with its values after permutations (num_permutations,)."""
    nothing: tuple[float | None, Floats] = (None, np.zeros(0))
    shared = sorted(first.keys() & second.keys())
    if len(shared) < 3:
        return [nothing] * 3
    if len(shared) > MAX_MEANINGS:
        shared = [shared[place] for place in np.sort(rng.choice(len(shared), MAX_MEANINGS, replace=False))]
    one, other = [first[meaning] for meaning in shared], [second[meaning] for meaning in shared]
    orders = [rng.permutation(len(shared)) for _ in range(NUM_PERMUTATIONS)]
    here = np.arange(len(shared))
    between = 1 - _distances(one, other)
    similarity = (
        float(between[here, here].mean()),
        np.array([between[here, order].mean() for order in orders]),
    )
    within = [_standard_ranks(_distances(each, each)) for each in (one, other)]
    topsim = nothing
    if within[0] is not None and within[1] is not None:
        left, right = within
        assert left is not None and right is not None
        value = float(np.clip(np.vdot(left, right), -1, 1))
        topsim = value, np.array([np.vdot(left, right[np.ix_(order, order)]) for order in orders])
    return [similarity, _ami(one, other, orders, nothing), topsim]


def _distances(one: list[Message], other: list[Message]) -> Floats:
    """Matrix of edit distances between messages, divided by the longer length, (num_messages, num_messages)."""
    return np.asarray(process.cdist(one, other, scorer=Levenshtein.normalized_distance, dtype=np.float64))


def _standard_ranks(distances: Floats) -> Floats | None:
    """Table of ranks of the distances above the diagonal, with mean 0 and length 1; None if all are equal."""
    above = np.triu_indices(len(distances), 1)
    ranks = average_ranks(distances[above].round(9))
    ranks -= ranks.mean()
    if not (length := np.sqrt(2 * ranks @ ranks)):
        return None
    table = np.zeros_like(distances)
    table[above] = ranks / length
    return table + table.T


def _ami(
    one: list[Message], other: list[Message], orders: list[Ints], nothing: tuple[float | None, Floats]
) -> tuple[float | None, Floats]:
    """Adjusted mutual information of two speakers' messages, and its values for permuted meanings."""
    left, right = (row_labels(Ragged.from_rows(messages)) for messages in (one, other))
    expected = expected_information(np.bincount(left), np.bincount(right))
    value = float(adjusted_information(left, right, expected)[0])
    if np.isnan(value):
        return nothing
    return value, np.array([adjusted_information(left, right[order], expected)[0] for order in orders])


def _mean(score: Any, by_pair: dict[str, tuple[float | None, Floats]], seed: int) -> Score:
    """Mean over the pairs with a defined score, with its chance level."""
    values = {name: value for name, (value, _) in by_pair.items()}
    known = [(value, draws) for value, draws in by_pair.values() if value is not None]
    if not known:
        reason = "no two speakers share three meanings, or their messages are all equal or all different"
        return score(value=None, reason=reason)  # type: ignore[no-any-return]
    value = float(np.mean([each for each, _ in known]))
    null = np.mean([draws for _, draws in known], axis=0)
    chance = Chance.from_permutations(null, seed=seed, bounds=(-1.0, 1.0))
    return score(value=value, chance=chance, details={"by_pair": values})  # type: ignore[no-any-return]


COMMUNITY, BEFORE = "community", "before"
"""Names of the columns."""
Said = Mapping[int, Message]
"""A speaker's message by meaning id."""

SIMILARITY_WITHIN = Traits(
    name="similarity_within",
    about="similarity of speakers within a community",
    high="1 if speakers of a community use the same messages; 0 also if they only rename the symbols",
    question="shared",
    direction="higher",
    version=2,
    bounds=(0.0, 1.0),
    draws=False,
    needs=("meanings", "speakers"),
    depends_on_size="the most frequent message of a meaning is known better from more messages",
    by_name_only=True,
)
SIMILARITY_BETWEEN = replace(
    SIMILARITY_WITHIN,
    name="similarity_between",
    about="similarity of speakers of two communities",
    high="1 if communities share one language, 0 if they have nothing in common",
)
SURVIVAL = replace(
    SIMILARITY_WITHIN,
    name="survival",
    about="messages nearest to the largest community's",
    high="1 if the largest community's words survive, 1 / communities if all survive equally, 0 if only others' do",
    direction=None,
    chance="guesses",
)
DISTINCT_MESSAGES = replace(
    SIMILARITY_WITHIN,
    name="distinct_messages",
    about="distinct messages of a speaker per meaning",
    high="1 if each meaning has its own message; low if one message stands for many meanings",
    direction=None,
)


@metric(SIMILARITY_WITHIN, SIMILARITY_BETWEEN, SURVIVAL, DISTINCT_MESSAGES)
def contact(corpus: Corpus, options: Options) -> list[Score]:
    """Languages of communities in contact (Graesser et al. 2019).

    The similarity of two speakers is 1 minus the edit distance of their messages about a meaning, divided by the longer
    length, mean over meanings; `similarity_within` averages it over pairs within a community, `similarity_between` over
    pairs from two communities. `survival`: the share of the speakers' messages that are nearer to the messages of the
    largest community (the first, if tied) before contact than to any other community's; the distance to a community is
    the mean over its speakers, and a tied message counts in equal parts. Chance is 1 / communities.
    `distinct_messages`: number of distinct messages of a speaker divided by the number of meanings, mean over speakers:
    lower for a simpler language. Intervals are Student's over meanings.

    The details of `survival` have the share of each community, and a table of each community's messages now (rows) by
    the community whose words they are (columns); `similarity_between` and `distinct_messages` have their value before
    contact.

    Undefined without the column `community` or with one community; `survival` before contact; `similarity_within` if
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
        return [score(value=None, reason="no meaning has messages of all speakers") for score in scores]
    known = [meaning for meaning in shared if all(meaning in said for said in before)]
    within, between, survival, distinct = scores
    of_survival = _survival(now, before, home, known) if known else {}
    return [
        _mean_over_pairs(
            within, _similarity(now, home, shared, is_within=True), {}, "every community has one speaker"
        ),
        _mean_over_pairs(
            between, _similarity(now, home, shared, is_within=False), _value_before(before, home, known), ""
        ),
        _mean_over_pairs(
            survival, of_survival.pop("by_meaning", None), of_survival, "communities have not met yet"
        ),
        distinct(value=_distinct(now, shared), details={"before": _distinct(before, known)} if known else {}),
    ]


def _before(corpus: Corpus, whole: Any, rows: Any) -> Said:
    """Messages of a speaker before contact, by meaning; empty if the corpus does not have them."""
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
            raise CorpusError(f"column {BEFORE}: expected symbols as in the messages, got {symbol:.40}")
        return int(symbol)

    return {
        int(whole[row]): tuple(
            map(number_of, takewhile(lambda symbol: symbol != end, str(texts[row]).split()))
        )
        for row in rows
        if texts[row]
    }


def _distance(one: Message, other: Message) -> float:
    return float(Levenshtein.normalized_distance(one, other))


def _similarity(
    said: Sequence[Said], home: Sequence[int], meanings: Sequence[int], *, is_within: bool
) -> Floats | None:
    """Similarity of pairs of speakers within a community or across communities, by meaning; None without pairs."""
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
    """Share of current messages nearest to each community's words: by meaning for the largest community, and means."""
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
    """Number of distinct messages divided by the number of meanings, mean over speakers."""
    return float(np.mean([len({each[meaning] for meaning in meanings}) / len(meanings) for each in said]))


def _mean_over_pairs(score: Any, by_meaning: Floats | None, details: dict[str, Any], reason: str) -> Score:
    if by_meaning is None:
        return score(value=None, reason=reason)  # type: ignore[no-any-return]
    values = by_meaning.tolist()
    value, ci95 = mean_of_shares(values)
    chance = (
        Chance.from_guesses(1 / len(details["sizes"]), values)
        if "sizes" in details and len(values) > 1
        else None
    )
    return score(value=value, ci95=ci95, chance=chance, details=details)  # type: ignore[no-any-return]


AGREEMENT = Traits(
    name="agreement",
    about="rounds that succeed at the end",
    title="success in the last quarter of the rounds",
    high="1 if all rounds succeed; at chance level, answers do not depend on messages",
    question="shared",
    direction="higher",
    bounds=(0.0, 1.0),
    chance="guesses",
    has_reliable_interval=False,
    pools_speakers=True,
    by_name_only=True,
)
EARLY_AGREEMENT = replace(
    AGREEMENT,
    name="early_agreement",
    about="rounds that succeed at the beginning",
    title="success in the first quarter of the rounds",
)
NUM_QUARTERS = 4


@metric(AGREEMENT, EARLY_AGREEMENT)
def agreement(corpus: Corpus, options: Options) -> list[Score]:
    """Share of rounds that succeed, in the last and in the first quarter of a play.

    If a round succeeds when both say the same, the chance level comes from exchanging answers between the rounds of the
    quarter: agents that prefer one name without having agreed on it reach it. Otherwise there is no chance level.

    The details have the share of each quarter. Undefined without the column `success`, as in `rounds.jsonl`.
    """
    scores = [unscored(each) for each in (AGREEMENT, EARLY_AGREEMENT)]
    success, said, answers = (corpus.columns.get(name) for name in ("success", "said", "answer"))
    rows = np.arange(0 if success is None else len(success))
    if "listener" in corpus.columns:
        rows = np.flatnonzero(corpus.columns["listener"] != -1)
    if success is None or len(rows) < NUM_QUARTERS:
        reason = "fewer than four rounds with the column `success`"
        return [score(value=None, reason=reason) for score in scores]
    is_same = said is not None and answers is not None and np.array_equal(said == answers, success)
    quarters = np.array_split(rows, NUM_QUARTERS)
    shares = [float(success[quarter].mean()) for quarter in quarters]
    found = []
    for score, place in zip(scores, (NUM_QUARTERS - 1, 0), strict=True):
        chance, quarter = None, quarters[place]
        if is_same and said is not None and answers is not None:
            rng = np.random.default_rng([options.seed, *b"agreement", place])
            draws = [
                float((said[quarter] == rng.permutation(answers[quarter])).mean())
                for _ in range(NUM_PERMUTATIONS)
            ]
            chance = Chance.from_permutations(np.array(draws), seed=options.seed, bounds=(0.0, 1.0))
        details = {"by_quarter": {str(number + 1): share for number, share in enumerate(shares)}}
        found.append(score(value=shares[place], chance=chance, details=details))
    return found


LISTENER, STEP, BEGAN = "listener", "step", "began"
"""Columns: hearer of a message (-1: none), step of an evaluation, step at which its speaker began."""
MAX_ORDERS = 720
"""Maximum number of orders of speakers (six have 720) that are enumerated; above this, `NUM_PERMUTATIONS` are drawn."""

PSEUDO_DYADS = Traits(
    name="pseudo_dyads",
    about="similarity of speakers that met, minus others",
    title="similarity of speakers that met, minus the similarity of pairs that never met",
    high="above chance if speakers resemble their partners more than agents that they never met",
    question="shared",
    bounds=(-1.0, 1.0),
    chance="exchanged speakers",
    needs=("meanings", "speakers"),
    depends_on_size="the most frequent message of a meaning is known better from more messages",
    by_name_only=True,
)


@metric(PSEUDO_DYADS)
def pseudo_dyads(corpus: Corpus, options: Options) -> list[Score]:
    """Similarity of speakers that met, minus the similarity of pairs that never met.

    The similarity of two speakers is 1 minus the edit distance of their most frequent messages about a meaning, divided
    by the longer length, mean over the meanings that all speakers express. Two speakers met if one talked to the other,
    or if they had a common partner: by the column `listener`, or else by the run's config in the metadata.

    Chance: speakers are exchanged while meetings stay, as in the test of Mantel (1967, Cancer Research 27), since pairs
    that share a speaker are not independent. With up to six speakers all orders are enumerated: two islands of two can
    be exchanged in three ways, so the p-value is at least 1/3. The 95 % interval is Student's over meanings. Renaming
    symbols for all speakers, and the order of messages, change nothing. The details have both means.

    Undefined if the meetings are unknown, if all pairs met, or if none did.
    """
    settings = {"message": "mode", "meanings": MAX_MEANINGS, "seed": options.seed, "eos": "strip"}
    score = unscored(PSEUDO_DYADS, **settings)
    speakers, whole, partners = speakers_of(corpus), whole_meanings(corpus), _partners(corpus)
    if len(speakers) < 2 or whole is None or not partners:
        reason = "needs speakers, meanings, and who met whom: a column `listener`, or the corpus of a society's run"
        return [score(value=None, reason=reason)]
    rng, number = np.random.default_rng(options.seed), len(speakers)
    near = [partners.get(str(speaker), set()) | {str(speaker)} for speaker in speakers]
    table = np.array([[bool(one & other) for other in near] for one in near])
    first, second = np.triu_indices(number, 1)
    met = table[first, second]
    said = [most_used(corpus, whole, corpus.has(SPEAKER, speaker)) for speaker in speakers]
    shared = sorted(set.intersection(*map(set, said)))
    if met.all() or not met.any() or not shared:
        reason = "all speakers met, or had a partner in common" if met.all() else "no two speakers met"
        return [score(value=None, reason=reason if shared else "no meaning has messages of all speakers")]
    chosen = np.sort(rng.choice(shared, min(len(shared), MAX_MEANINGS), replace=False)).tolist()
    alike = np.array([
        [1 - _distance(said[one][meaning], said[other][meaning]) for meaning in chosen]
        for one, other in zip(first, second, strict=True)
    ])  # fmt: skip
    means, is_exact = alike.mean(1), math.factorial(number) <= MAX_ORDERS
    drawn = (rng.permutation(number).tolist() for _ in range(NUM_PERMUTATIONS))
    orders = list(map(list, permutations(range(number)) if is_exact else drawn))
    exchanged = [table[np.ix_(order, order)][first, second] for order in orders]
    chance = Chance.from_permutations(
        [float(means[each].mean() - means[~each].mean()) for each in exchanged],
        seed=options.seed,
        bounds=(-1.0, 1.0),
        num_pairings=len(orders) if is_exact else None,
    )
    value, half_width = mean_and_half_width((alike[met].mean(0) - alike[~met].mean(0)).tolist())
    details = {
        name: {"similarity": float(means[which].mean()), "pairs": int(which.sum())}
        for name, which in (("met", met), ("never_met", ~met))
    }
    return [score(value=value, ci95=clipped(value, half_width, -1.0, 1.0), chance=chance, details=details)]


def _partners(corpus: Corpus) -> dict[str, set[str]]:
    """Partners of each agent, by name; empty if they are unknown."""
    pairs: set[tuple[str, str]] = set()
    if LISTENER in corpus.columns:
        both = zip(corpus.columns[SPEAKER].tolist(), corpus.columns[LISTENER].tolist(), strict=True)
        pairs = {(str(one), str(other)) for one, other in set(both) if other not in (-1, None)}
    elif isinstance(config := corpus.metadata.get("config"), Mapping):
        from ecsuite.games.config.experiment import from_tree
        from ecsuite.games.players.schedule import meetings_of

        with suppress(ConfigError):  # a config of another program or version, or with untrusted code
            pairs = meetings_of(from_tree(config, "config"))
    partners: dict[str, set[str]] = {}
    for one, other in pairs:
        partners.setdefault(one, set()).add(other)
        partners.setdefault(other, set()).add(one)
    return partners


DRIFT = Traits(
    name="drift",
    about="change of messages between two evaluations",
    title="edit distance of a speaker's messages at consecutive evaluations",
    high="0 if nothing changes; at chance level, every evaluation has a new language; renamed symbols count as change",
    bounds=(0.0, 1.0),
    chance="shuffled meanings",
    needs=("meanings",),
    by_name_only=True,
    of_languages=True,
)
DRIFT_AT_REPLACEMENT = replace(
    DRIFT,
    name="drift_at_replacement",
    about="change of messages when a speaker is replaced",
    title="edit distance between the messages of a new speaker and of its predecessor",
    high="0 if new speakers use the same messages; at chance level, nothing is passed on",
)
DRIFT_FROM_FIRST = replace(
    DRIFT,
    name="drift_from_first",
    about="change of messages since the first evaluation",
    title="edit distance of a speaker's last messages to its first ones",
    high="0 if nothing changed; at chance level, nothing of the first language is left",
)


@metric(DRIFT, DRIFT_AT_REPLACEMENT, DRIFT_FROM_FIRST)
def drift(corpus: Corpus, options: Options) -> list[Score]:
    """Change of a speaker's language over evaluations, from `languages.jsonl` of a run.

    The distance of two evaluations is the edit distance of the most frequent messages about a meaning, divided by the
    longer length (Levenshtein 1966), mean over the meanings that occur at all evaluations. `drift` is its mean over
    consecutive evaluations with the same speaker; `drift_at_replacement` is its mean over consecutive evaluations
    between which the speaker was replaced (`began` differs); `drift_from_first` is the distance between the first and
    the last evaluation, whoever spoke.

    Chance: the meanings of the later evaluation are permuted, as for a language without relation to the earlier one.
    The 95 % interval is Student's over meanings. An unchanged greedy speaker has drift 0. Renaming symbols at all
    evaluations, and the order of messages, change nothing; renaming them at one is drift. The value depends on the
    steps between evaluations, `every` in the signature. The details have the distance by step of the later evaluation.

    Undefined without the column `step`, for one evaluation, and without evaluations of the kind.
    """
    kinds = (DRIFT, DRIFT_AT_REPLACEMENT, DRIFT_FROM_FIRST)
    whole, steps = whole_meanings(corpus), corpus.columns.get(STEP, np.zeros(0))
    is_of_training = steps.dtype.kind in "iuf" and "episode" not in corpus.columns
    known = np.unique(steps).tolist() if is_of_training else []
    every = "+".join(sorted({f"{other - one:g}" for one, other in pairwise(known)})[:2])
    settings = {"every": every, "seed": options.seed, "eos": "strip"}
    scores = [unscored(traits, **settings) for traits in kinds]
    if whole is None or not every:
        reason = "fewer than two evaluations (the column `step`: train with --keep languages), or no meanings"
        return [score(value=None, reason=reason) for score in scores]
    said = [most_used(corpus, whole, steps == step) for step in known]
    shared = sorted(set.intersection(*map(set, said)))
    if not shared:
        return [score(value=None, reason="no meaning has messages at all evaluations") for score in scores]
    words = [[each[meaning] for meaning in shared] for each in said]
    began = [corpus.columns[BEGAN][steps == step][0] if BEGAN in corpus.columns else 0 for step in known]
    consecutive = list(pairwise(range(len(known))))
    pairs = [
        [pair for pair in consecutive if (began[pair[0]] == began[pair[1]]) == is_same]
        for is_same in (True, False)
    ]
    rng = np.random.default_rng(options.seed)
    orders = [rng.permutation(len(shared)).tolist() for _ in range(NUM_PERMUTATIONS)]

    def distances(pairs: Sequence[tuple[int, int]], order: Sequence[int]) -> Floats:
        return np.array([
            [_distance(each, words[other][place]) for each, place in zip(words[one], order, strict=True)]
            for one, other in pairs
        ])  # fmt: skip

    found = []
    for score, own in zip(scores, [*pairs, [(0, len(known) - 1)]], strict=True):
        if not own:
            reason = "the speaker is replaced between all evaluations, or never replaced"
            found.append(score(value=None, reason=reason))
            continue
        chance = Chance.from_permutations(
            [float(distances(own, order).mean()) for order in orders],
            seed=options.seed,
            bounds=(0.0, 1.0),
            num_meanings=len(shared),
        )
        value, ci95 = mean_of_shares(distances(own, range(len(shared))).mean(0).tolist())
        curve = own if own in pairs else [(0, place) for place in range(1, len(known))]
        means = distances(curve, range(len(shared))).mean(1).tolist()
        details = {
            "by_step": {f"{known[step]:g}": mean for (_, step), mean in zip(curve, means, strict=True)}
        }
        found.append(score(value=value, ci95=ci95, chance=chance, details=details))
    return found
