"""Concept best matching: the translation graph, its scores, and scores as a function of the corpus size.

Carmeli et al. (2024), https://arxiv.org/abs/2403.14705. All metrics and figures are computed from the translation
graph: co-occurrences of words and concepts, and their best matching (section 3 and figure 2).

Words and phrases are counted chunk by chunk, so that large corpora take little memory. Corpora have far fewer different
phrases than samples, so figures of phrases are computed once per different phrase.
"""

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array

from ecsuite.corpus import Corpus
from ecsuite.eval.counts.cooccurrence import Count, Occurrences, are_first, with_concepts
from ecsuite.eval.counts.counting import dense_content, message_labels, row_labels, row_of
from ecsuite.eval.counts.exchange import of_phrases
from ecsuite.eval.metrics.score import Options, Score, unscored
from ecsuite.eval.metrics.traits import Traits, metric
from ecsuite.eval.statistics.contingency import (
    Floats,
    Ints,
    counted,
    first_rows,
    index_type,
    num_labels,
    renumbered,
)
from ecsuite.eval.statistics.matching import MAX_TABLE, assigned_concepts, best_match, tied_pairs
from ecsuite.eval.statistics.resampling import Statistics, resample, stacked_figures
from ecsuite.runtime.errors import CorpusError
from ecsuite.runtime.ragged import Ragged

ROWS = 1 << 18
"""Samples of a chunk."""
FEW_ROWS = 1 << 14
"""Samples of a chunk that is counted without a table, so that it fits the cache."""
_MAX_TABLE = 1 << 22
"""Maximum number of entries of a table of words and phrases; above this, each sample's phrase is counted separately."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Chunk:
    """Consecutive samples."""

    rows: slice
    """Their positions in the corpus."""
    row: Ints
    """Sample of each word, from 0 in the chunk, ascending, shape (num_words_in_chunk,)."""
    kind: Ints
    """Id of each word, from 0."""
    phrase: NDArray[np.integer[Any]]
    """The phrase of each sample of the chunk."""

    def matrix(self, num_words: int) -> Any:
        """Sparse array of word counts, shape (num_samples_in_chunk, num_words); repetitions are added."""
        starts = np.searchsorted(self.row, np.arange(len(self.phrase) + 1))
        ones = np.ones(len(self.kind), np.int64)
        return csr_array((ones, self.kind, starts), shape=(len(self.phrase), num_words))


class Samples:
    """The words of each sample and its phrase.

    Args:
        corpus: Messages with concepts.
        count: Whether words and concepts count at each occurrence in a sample, or once per sample.
    """

    def __init__(self, corpus: Corpus, count: Count) -> None:
        assert corpus.concepts is not None
        self.count = count
        self.messages, self.word_ids = dense_content(corpus)
        """The messages without EOS, with dense ids of words, in the smallest type."""
        self.concepts = corpus.concepts
        """The concepts of each message."""
        names, ids = corpus.symbol_names, self.word_ids.tolist()
        self.word_names: list[str | int] = [names[each] for each in ids] if names else ids
        """The name of each word, or its id if it has no name."""
        self.phrase: NDArray[np.integer[Any]] = row_labels(self.concepts)
        """The phrase of each sample, from 0, in order of first occurrence, shape (num_samples,)."""
        first = first_rows(self.phrase, num_labels(self.phrase))
        self.phrases = Occurrences.of(self.concepts.take(first), count, corpus.concept_names or None)
        """The concepts of each different phrase."""

    def parts(self, num_rows: int = ROWS) -> Iterator[Chunk]:
        """Chunks of all samples, in corpus order."""
        offsets = self.messages.offsets
        for start in range(0, len(self.messages), num_rows):
            rows = slice(start, min(start + num_rows, len(self.messages)))
            bounds = offsets[rows.start : rows.stop + 1]
            words = Ragged(self.messages.values[bounds[0] : bounds[-1]], bounds - bounds[0])
            row, kind = row_of(words), words.values.astype(np.int64)
            if self.count == "types":
                is_first = are_first(words, row)
                row, kind = row[is_first], kind[is_first]
            yield Chunk(rows=rows, row=row, kind=kind, phrase=self.phrase[rows])

    def by_word(self) -> tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]]]:
        """The sample of each word, from 0, and the words, both sorted by word and then by sample.

        Consecutive words are then counted in memory cells that are near to each other, which is faster.
        """
        size = int(self.words_per_row().sum())
        row, kind = np.empty(size, index_type(len(self.messages))), np.empty(size, self.messages.values.dtype)
        filled = 0
        for part in self.parts(FEW_ROWS):
            place = slice(filled, filled + len(part.row))
            row[place], kind[place] = part.row + part.rows.start, part.kind
            filled = place.stop
        order = np.argsort(kind, kind="stable")
        return row[order], kind[order]

    def words_per_row(self) -> NDArray[np.integer[Any]]:
        """Number of words of each sample, shape (num_samples,)."""
        narrow = index_type(len(self.messages.values))
        if self.count == "tokens":
            lengths: NDArray[np.integer[Any]] = self.messages.lengths.astype(narrow)
            return lengths
        counts = [np.bincount(part.row, minlength=len(part.phrase)).astype(narrow) for part in self.parts()]
        all_counts: NDArray[np.integer[Any]] = np.concatenate(counts)
        return all_counts

    def concepts_per_row(self) -> NDArray[np.integer[Any]]:
        """Number of concepts of each sample, shape (num_samples,)."""
        per_row: NDArray[np.integer[Any]] = self.phrases.per_row.astype(index_type(len(self.concepts.values)))
        of_samples: NDArray[np.integer[Any]] = per_row[self.phrase]
        return of_samples

    @cached_property
    def word_totals(self) -> Ints:
        """Number of occurrences of each word, shape (num_words,)."""
        totals = np.zeros(len(self.word_ids), np.int64)
        for part in self.parts(FEW_ROWS):
            totals += np.bincount(part.kind, minlength=len(totals))
        return totals

    @cached_property
    def concept_totals(self) -> Ints:
        """Number of occurrences of each concept, shape (num_concepts,)."""
        samples = np.bincount(self.phrase)[self.phrases.row]
        return np.bincount(self.phrases.kind, self.phrases.count * samples, len(self.phrases.ids)).astype(
            np.int64
        )

    def cooccurrences(self) -> tuple[Ints, Ints]:
        """Words with concepts, each shape (num_words, num_concepts).

        Returns:
            The number of co-occurrences, summed over samples, with repetitions of both counted; and the number of
            occurrences of the word in samples whose phrase has the concept, which is equal if no phrase repeats a
            concept.
        """
        num_words, num_phrases = len(self.word_ids), len(self.phrases.per_row)
        repeats = bool((self.phrases.count > 1).any())
        tables = [self.phrases.matrix(), *([self.phrases.once().matrix()] if repeats else [])]
        if num_words * num_phrases <= _MAX_TABLE:
            with_phrase = np.zeros(num_words * num_phrases, np.int64)
            for part in self.parts(max(FEW_ROWS, len(with_phrase) // 8)):
                codes = part.kind * num_phrases
                codes += part.phrase[part.row]
                with_phrase += np.bincount(codes, minlength=len(with_phrase))
            by_word = with_phrase.reshape(num_words, num_phrases)
            found = [np.asarray((table.T @ by_word.T).T) for table in tables]
        else:
            found = [np.zeros((num_words, table.shape[1]), np.int64) for table in tables]
            for part in self.parts():
                words = part.matrix(num_words).T
                for total, table in zip(found, tables, strict=True):
                    total += (words @ table[part.phrase]).toarray()
        return found[0], found[-1]

    def understood(self, word: Ints, concept: Ints) -> tuple[NDArray[np.integer[Any]], Ints]:
        """Count matched words in samples whose phrase has their concept.

        Args:
            word: Distinct words, shape (num_pairs,).
            concept: The concept of each word.

        Returns:
            The number of distinct words of each sample whose concept is in its phrase, shape (num_samples,); and for
            each pair the number of occurrences of the concept in samples with the word, shape (num_pairs,).
        """
        num_concepts = len(self.phrases.ids)
        concept_of = np.full(len(self.word_ids), num_concepts)
        concept_of[word] = concept
        named_by = np.zeros(num_concepts, np.int64)
        different = np.zeros(len(self.phrase), np.min_scalar_type(num_concepts))
        width = num_concepts + 1  # the last one stands for no concept
        counts = self.phrases.matrix().astype(np.int64)
        counts.resize(len(self.phrases.per_row), width)
        known = None
        if counts.shape[0] * width <= _MAX_TABLE:
            known = counts.toarray().ravel()
            known = known.astype(np.min_scalar_type(known.max(initial=0)))  # so that it fits the cache

        def times_of(phrase: NDArray[np.integer[Any]], row: Ints, concept: Ints) -> NDArray[np.integer[Any]]:
            """Number of times that the phrases of rows contain a concept, shape (num_pairs,)."""
            if known is None:
                return np.asarray(counts[phrase[row], concept]).ravel()
            times: NDArray[np.integer[Any]] = known[(phrase * np.int64(width))[row] + concept]
            return times

        for part in self.parts(FEW_ROWS):
            named = concept_of[part.kind]
            good = np.flatnonzero(times_of(part.phrase, part.row, named))
            size = len(part.phrase) * num_concepts
            cells = part.row[good] * num_concepts + named[good]
            if size <= _MAX_TABLE:
                is_there = np.zeros(size, bool)
                is_there[cells] = True
                cells = np.flatnonzero(is_there)
            else:
                cells = counted(cells, size)[0]
            row, named = cells // num_concepts, cells % num_concepts
            different[part.rows] = np.bincount(row, minlength=len(part.phrase))
            named_by += np.bincount(named, times_of(part.phrase, row, named), num_concepts).astype(np.int64)
        return different, named_by[concept]


Labels = NDArray[np.integer[Any]]
Counter = Callable[[Labels, Labels], Any]
"""Function that counts words with the concepts of the phrases that they are paired with."""
_MAX_CODES_TABLE = 1 << 20
"""Maximum number of entries of the table of words and groups; larger ones do not fit the CPU cache."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """Subset of the concepts of each phrase, as one label."""

    label: Ints
    """The label of each phrase, from 0, shape (num_phrases,)."""
    counts: csr_array
    """Count of each concept in the group of a label, shape (num_labels, num_concepts); mostly 0."""


def cooccurrence_counter(concepts: Occurrences, num_words: int, num_tokens: int) -> Counter:
    """Make a function that counts words with concepts, for many pairings of messages and phrases.

    Args:
        concepts: The concepts of each phrase.
        num_words: Number of different words.
        num_tokens: Number of words in all messages.

    Returns:
        A function of words, from 0 (faster if ascending), and of the phrase paired with the message of each word, both
        (num_tokens,). Its table has shape (num_words, num_concepts); a table of more than `MAX_TABLE` entries is
        sparse.
    """
    if num_words * len(concepts.ids) > MAX_TABLE:
        of_phrases = concepts.matrix()

        def product(words: Labels, phrases: Labels) -> csr_array:
            with_phrase = csr_array(
                (np.ones(len(words), np.int64), (words, phrases)), shape=(num_words, of_phrases.shape[0])
            )
            return csr_array(with_phrase @ of_phrases)

        return product
    groups = groups_of(concepts, num_words, num_tokens)

    def total(words: Labels, phrases: Labels) -> Ints:
        tables = []
        for group in groups:
            size = group.counts.shape[0]
            codes = words * np.int64(size)
            codes += group.label[phrases]
            table = np.bincount(codes, minlength=num_words * size).reshape(num_words, size)
            tables.append(np.asarray((group.counts.T @ table.T).T))
        return functools.reduce(np.add, tables)

    return total


def groups_of(concepts: Occurrences, num_words: int, num_tokens: int) -> list[Group]:
    """Split the concepts of phrases into as few groups as their tables of words and labels allow."""
    num_concepts, groups = len(concepts.ids), list[Group]()
    kind, row = np.repeat(concepts.kind, concepts.count), np.repeat(concepts.row, concepts.count)
    place = np.arange(len(kind)) - (np.cumsum(concepts.per_row) - concepts.per_row)[row]
    for position in range(int(concepts.per_row.max())):
        column = np.full(
            len(concepts.per_row), num_concepts
        )  # the concept of each phrase here; the last: none
        is_here = place == position
        column[row[is_here]] = kind[is_here]
        counts = eye_array(num_concepts + 1, num_concepts, dtype=np.int64, format="csr")
        if groups:
            last, size = groups[-1], num_concepts + 1
            label, codes = renumbered(last.label * size + column, last.counts.shape[0] * size)
            if len(codes) * num_words <= min(_MAX_CODES_TABLE, num_tokens):
                groups[-1] = Group(label=label, counts=last.counts[codes // size] + counts[codes % size])
                continue
        groups.append(Group(label=column, counts=counts))
    return groups


@dataclass(frozen=True, kw_only=True, slots=True)
class TranslationGraph:
    """Words and concepts of a corpus, their co-occurrences and their best matching."""

    samples: Samples
    """The words of each sample, without EOS, and its phrase."""
    weights: Ints
    """Number of co-occurrences of word and concept in samples, repetitions counted, shape (num_words, num_concepts)."""
    present: Ints
    """Number of occurrences of the word with the concept in the phrase of their sample, shape as `weights`;
    equal to `weights` if no phrase repeats a concept."""
    word: Ints
    """The words of the best matching, in order of decreasing weight, shape (num_pairs,)."""
    concept: Ints
    """The concepts matched with these words."""

    @property
    def edges(self) -> int:
        """The sum over samples of max(number of words, number of concepts)."""
        return int(np.maximum(self.samples.words_per_row(), self.samples.concepts_per_row()).sum())

    @property
    def share(self) -> float:
        """The score: number of words whose matched concept is in the phrase of their sample, divided by `edges`."""
        return int(self.present[self.word, self.concept].sum()) / self.edges

    def shares(self, with_word: Ints | None = None) -> Floats:
        """Purity of each pair of the best matching, shape (num_pairs, 2).

        Args:
            with_word: The second result of `Samples.understood` of the pairs, if already computed.

        Returns:
            The share of the word's occurrences with the concept in their phrase, and the share of the concept's
            occurrences with the word in their message.
        """
        if with_word is None:
            with_word = self.samples.understood(self.word, self.concept)[1]
        of_word = self.present[self.word, self.concept] / self.samples.word_totals[self.word]
        return np.stack([of_word, with_word / self.samples.concept_totals[self.concept]], axis=1)


def translate(corpus: Corpus, count: Count = "tokens") -> TranslationGraph | None:
    """Match the words of a corpus with its concepts: Carmeli et al. (2024), section 3.

    Args:
        corpus: Messages with concepts.
        count: `tokens` as in the authors' program, or `types` as in the text of the paper.

    Returns:
        None if the corpus has no concepts.
    """
    described = with_concepts(corpus)
    if described is None:
        return None
    samples = Samples(described, count)
    weights, present = samples.cooccurrences()
    word, concept = best_match(weights)
    order = np.argsort(-weights[word, concept], kind="stable")
    return TranslationGraph(
        samples=samples, weights=weights, present=present, word=word[order], concept=concept[order]
    )


NUM_SUBSAMPLES = 30
"""Half-samples for the interval: a matching is slow, and Student's t allows for their number."""


CBM = Traits(
    name="cbm",
    about="words that occur with their matched concept",
    title="concept best matching",
    high="1 if each symbol names one concept and every concept is named; low if words have several symbols",
    question="concepts",
    direction="higher",
    version=3,
    bounds=(0.0, 1.0),
    chance="shuffled meanings",
    needs=("concepts",),
    depends_on_size="in small corpora the best matching fits noise",
    details={
        "ambiguity": "words whose matched concept is absent",
        "paraphrase": "words of a concept beyond its matched word",
        "precision": "mean share of a message's words that match",
        "recall": "mean share of a phrase's concepts that match",
        "unmatched": "share of concepts without a matched word",
        "unmatched_program": "unmatched, counted as the authors' program does",
    },
)
CBM_TYPES = replace(
    CBM,
    name="cbm_types",
    about="cbm with words counted once per message",
    title="concept best matching of sets",
)


@metric(CBM)
def cbm(corpus: Corpus, options: Options) -> list[Score]:
    """Score a corpus by concept best matching: Carmeli et al. (2024), section 3, https://arxiv.org/abs/2403.14705.

    The weight of word w and concept v is the number of their co-occurrences in samples, with all repeated occurrences
    counted; B is the one-to-one matching of maximum weight (equation 1). Words and concepts are counted with
    repetitions and without EOS, as in the authors' program. With Q the sum over samples of max(number of words,
    number of concepts):

    - the score is the share of Q that is words whose matched concept is in the phrase of their sample;
    - `ambiguity` is the share of Q that is words whose matched concept is not in this phrase;
    - `paraphrase` is the share of Q that is words without a matched concept;
    - `unmatched` is the share of all concept occurrences whose concept has no matched word;
    - `precision` and `recall` are the means over samples of the number of distinct words whose concept is in the
      phrase, divided by the number of words and of concepts (appendix D); 0 if there are none.
    The chance level is the mean score with messages exchanged between phrases, all messages of a phrase together; if
    phrases differ by a single concept, single messages are exchanged.

    Every draw of the null distribution and of the interval has a new matching; see docs/reading_a_score.md. There are
    100 permutations and 30 half-samples, and fewer, down to 20, if the number of words times concepts plus a tenth of
    the co-occurrences is above 600,000.

    A pair of weight 0 is not a match, so `unmatched` does not depend on how a solver completes its assignment. The
    authors' program counts such pairs, so that no concept is unmatched if there are as many words as concepts:
    `unmatched_program`.

    `tied` is true if another matching has the same weight; `tied_pairs` is the number of pairs that such a matching may
    lack. The values listed in `tie_dependent` are then those of the matching in `map`, a list of `[word, concept,
    weight]` in order of decreasing weight. `map_shares` has for each pair the share of the word's occurrences with the
    concept in their phrase, and the share of the concept's occurrences with the word in their message. `counts` has
    the columns of table 4 of the paper.
    """
    return _score(corpus, options, CBM, "tokens")


@metric(CBM_TYPES)
def cbm_types(corpus: Corpus, options: Options) -> list[Score]:
    """Concept best matching as in the text of the paper: the words and the concepts of a sample are sets.

    As `cbm`, but a word counts once per message and a concept once per phrase. The two metrics differ only if messages
    repeat words or phrases repeat concepts.
    """
    return _score(corpus, options, CBM_TYPES, "types")


def _score(corpus: Corpus, options: Options, traits: Traits, count: Count) -> list[Score]:
    score = unscored(traits, count=count, eos="strip")
    graph = translate(corpus, count)
    if graph is None:
        return [score(value=None, reason="the corpus has no concepts")]
    samples, weights, word, concept = graph.samples, graph.weights, graph.word, graph.concept
    different_in_row, with_word = samples.understood(word, concept)
    per_row = samples.words_per_row(), samples.concepts_per_row()
    total_edges = int(np.maximum(*per_row).sum())
    shares = (different_in_row / np.maximum(1, counts, out=counts) for counts in per_row)
    precision, recall = (float(np.mean(each)) for each in shares)
    del different_in_row, per_row  # they take much memory for a large corpus
    of_words, of_concepts = samples.word_totals, samples.concept_totals
    good, matched = int(graph.present[word, concept].sum()), int(of_words[word].sum())
    total_concepts = int(of_concepts.sum())
    counts = {
        "good": good,
        "ambiguous": matched - good,
        "paraphrase": int(of_words.sum()) - matched,
        "unmatched": total_concepts - int(of_concepts[concept].sum()),
        "unmatched_program": total_concepts - int(of_concepts[assigned_concepts(weights)].sum()),
        "total_edges": total_edges,
        "total_concepts": total_concepts,
        "unique_messages": num_labels(message_labels(corpus)),
        "unique_words": len(of_words),
        "unique_phrases": num_labels(samples.phrase),
        "unique_concepts": len(of_concepts),
    }
    value = good / total_edges
    details: dict[str, Any] = {
        "ambiguity": counts["ambiguous"] / total_edges,
        "paraphrase": counts["paraphrase"] / total_edges,
        "unmatched": counts["unmatched"] / total_concepts,
        "unmatched_program": counts["unmatched_program"] / total_concepts,
        "precision": precision,
        "recall": recall,
    }
    tied = int(tied_pairs(weights, word, concept).sum())
    repeats = (samples.phrases.count > 1).any()
    dependent = [*(["value"] if repeats else []), *details, "map", "map_shares"] if tied else []
    # Table entries of a draw; co-occurrences are sorted, so counting them is ten times faster.
    work = int(samples.phrases.per_row.max()) * int(of_words.sum()) // 10 + len(of_words) * len(of_concepts)
    (found,) = resample(
        None,
        [value],
        num_rows=len(corpus.messages),
        exchange=of_phrases(corpus),
        seed=options.seed,
        work=work,
        max_subsamples=NUM_SUBSAMPLES,
        of_rows=functools.partial(paired_score, samples.messages, samples.concepts, count=count),
    )
    pairs = zip(word.tolist(), concept.tolist(), weights[word, concept].tolist(), strict=True)
    details |= {
        **found.details,
        **{"tied": tied > 0, "tied_pairs": tied, "tie_dependent": dependent, "counts": counts},
        "map": [[samples.word_names[w], samples.phrases.names[c], number] for w, c, number in pairs],
        "map_shares": graph.shares(with_word).tolist(),
    }
    return [score(value=value, ci95=found.ci95, chance=found.chance, details=details)]


def paired_score(messages: Ragged, concepts: Ragged, rows: Ints, count: Count) -> Statistics:
    """The score as a function of a pairing of messages and phrases, with a new best matching each time.

    Args:
        messages: Symbols without EOS.
        concepts: The concepts of each message.
        rows: The messages and phrases that are paired, ascending; ids in pairings are positions in `rows`.
        count: Whether tokens or types are counted.
    """
    if len(rows) < len(messages):
        messages, concepts = messages.take(rows), concepts.take(rows)
    samples = Samples(Corpus(messages, concepts=concepts), count)
    row, kind = samples.by_word()
    phrase, num_words = samples.phrase, len(samples.word_ids)
    words_per_row, concepts_per_row = samples.words_per_row(), samples.concepts_per_row()
    repeats = bool((samples.phrases.count > 1).any())
    counters = [
        cooccurrence_counter(each, num_words, len(kind))
        for each in ([samples.phrases, samples.phrases.once()] if repeats else [samples.phrases])
    ]
    del samples, messages, concepts

    def statistic(rows: Ints, partners: Ints) -> Floats:
        phrase_of = np.full(len(phrase), -1, phrase.dtype)
        phrase_of[rows] = phrase[partners]
        paired, words = phrase_of[row], kind
        if len(rows) < len(phrase):
            used = np.flatnonzero(paired >= 0)
            paired, words = paired[used], kind[used]

        weights = counters[0](words, paired)
        word, concept = best_match(weights)
        present = counters[-1](words, paired) if repeats else weights
        edges = np.maximum(words_per_row[rows], concepts_per_row[partners]).sum()
        return np.array([present[word, concept].sum() / edges if edges else np.nan])

    return functools.partial(stacked_figures, statistic)


STEP = 100
"""Samples per segment in figure 4."""
MAX_POINTS = 50
"""Maximum number of points of a curve; larger corpora have longer segments, in multiples of `STEP`."""


def sensitivity(corpus: Corpus, count: Count = "tokens", step: int | None = None) -> dict[str, Any]:
    """The two curves of figure 4: scores of growing prefixes of the corpus, and of separate segments.

    Args:
        corpus: Messages with concepts.
        count: Tokens as in the metric `cbm`, types as in `cbm_types`.
        step: Samples per segment; None: `STEP`, or more if the corpus has more than `STEP * MAX_POINTS` samples.

    Returns:
        JSON-ready data: `step`; `sizes`, numbers of samples in steps up to the whole corpus; `accumulated`, the score
        of the first `sizes[i]` samples; `segmented`, the score of each complete segment, in corpus order, where
        segment i ends at `sizes[i]`; `accumulated_sd` and `segmented_sd`, the standard deviations of the two curves
        (n - 1; None for fewer than two values). A score is None if the samples have neither words nor concepts.

    Raises:
        CorpusError: If the corpus has no concepts.
        ValueError: If `step` is below 1.
    """
    described = with_concepts(corpus)
    if described is None:
        raise CorpusError("the corpus has no concepts to match words with")
    num_rows = len(corpus.messages)
    if step is None:
        step = STEP * max(1, -(-num_rows // (STEP * MAX_POINTS)))
    if step < 1:
        raise ValueError(f"step {step}: expected at least 1 sample per segment")

    samples = Samples(described, count)
    phrases = samples.phrases
    repeats = bool((phrases.count > 1).any())
    tables = [phrases.matrix(), *([phrases.once().matrix()] if repeats else [])]
    larger = np.maximum(samples.words_per_row(), samples.concepts_per_row())
    weights, present = np.zeros((2, len(samples.word_ids), len(phrases.ids)), np.int64)
    num_edges = 0
    sizes: list[int] = []
    accumulated: list[float | None] = []
    segmented: list[float | None] = []
    for part in samples.parts(step):
        # Few words make the assignment problem small.
        used, kind = np.unique(part.kind, return_inverse=True)
        segment_words = replace(part, kind=kind).matrix(len(used)).T
        segment_weights, *once = ((segment_words @ table[part.phrase]).toarray() for table in tables)
        segment_present = once[0] if once else segment_weights
        segment_edges = int(larger[part.rows].sum())
        weights[used] += segment_weights
        present[used] += segment_present
        num_edges += segment_edges
        sizes.append(part.rows.stop)
        accumulated.append(_score_of_part(weights, present, num_edges))
        if len(part.phrase) == step:
            segmented.append(_score_of_part(segment_weights, segment_present, segment_edges))
    return {
        "step": step,
        "count": count,
        "sizes": sizes,
        "accumulated": accumulated,
        "accumulated_sd": _deviation(accumulated),
        "segmented": segmented,
        "segmented_sd": _deviation(segmented),
    }


def _score_of_part(weights: Ints, present: Ints, num_edges: int) -> float | None:
    """Score of a part of a corpus; None if it has neither words nor concepts."""
    word, concept = best_match(weights)
    return float(present[word, concept].sum() / num_edges) if num_edges else None


def _deviation(scores: list[float | None]) -> float | None:
    """Standard deviation of the defined scores; None for fewer than two."""
    known = [score for score in scores if score is not None]
    return float(np.std(known, ddof=1)) if len(known) > 1 else None
