"""Morphemes: the forms that recur with a meaning, and the share of meanings that they express."""

from dataclasses import replace
from typing import Any

import numpy as np

from ecsuite.corpus import Corpus
from ecsuite.eval.counts.cooccurrence import NO_CONCEPTS
from ecsuite.eval.counts.counting import (
    attribute_codes,
    concept_sets,
    flat,
    numbered_by_use,
    row_labels,
    row_of,
)
from ecsuite.eval.metrics.morpheme_induction import (
    MAX_FORM,
    MAX_MEANING,
    MorphemeInventory,
    induce,
    induce_all,
    largest_meaning,
    num_meanings,
    pointwise_information,
)
from ecsuite.eval.metrics.score import Options, Score, unscored
from ecsuite.eval.metrics.traits import Traits, metric
from ecsuite.eval.statistics.chance import Chance
from ecsuite.eval.statistics.contingency import Floats, Ints, entropy, num_labels
from ecsuite.runtime.ragged import Ragged

NUM_SHUFFLES = 20
"""Exchanges of whole meanings; with 20, no pair is selected in 95 % of corpora without morphemes."""
MAX_MESSAGES = 20_000
"""Maximum number of messages that are searched, as pairs take memory; from larger corpora, drawn at random."""
MOST_MESSAGES = 2000
"""Maximum number of messages of `csar`; more have too many pairs that occur once."""
MOST_MEANINGS, MOST_MEANINGS_OF_ALL = 10_000_000, 1_000_000
"""Maximum number of sets of concepts for `morphemes` and `csar`; more need minutes, and gigabytes of memory."""
NUM_SEGMENTED = 10
"""Messages that are shown with their segmentation."""


MORPHEMES = Traits(
    name="morphemes",
    about="meanings that recurring forms express",
    high="1 if forms that recur with them express all meanings; 0 for a language without morphemes",
    question="compositional",
    direction="higher",
    version=4,
    bounds=(0.0, 1.0),
    chance="theory",
    needs=("concepts",),
    depends_on_size="rare forms exceed chance only in large corpora",
    most_messages=MAX_MESSAGES,
    by_name_only=True,
    details={
        "covered_symbols": "share of symbols that belong to a morpheme",
        "form_length": "mean symbols of a morpheme",
        "meaning_size": "mean concepts of a morpheme",
        "least_weight": "bits that a pair had to exceed",
        "synonymy": "mean bits of the form, given a meaning",
        "polysemy": "mean bits of the meaning, given a form",
        "npmi": "mean normalised pointwise mutual information of form and meaning",
    },
)
CSAR = replace(
    MORPHEMES,
    name="csar",
    about="meanings that some form expresses",
    title="morphemes by CSAR, without a stopping rule",
    high="near 1 also for languages without morphemes",
    question="other",
    direction=None,
    version=3,
    chance=None,
    depends_on_size="pairs that occur once also count",
    most_messages=None,
)


@metric(MORPHEMES)
def morphemes(corpus: Corpus, options: Options) -> list[Score]:
    """Share of meanings in morphemes found by CSAR: Boldt & Mortensen 2025, arXiv 2510.03439.

    A morpheme is a pair of a form (1 to 6 symbols in a row) and a meaning (one to three concepts, or two if a message
    has more than ten; without concepts, attribute values); `morpheme_induction` has the method, and its differences
    from the paper. The score is the share of the concepts of all messages that a morpheme in the message expresses,
    from 0 to 1. Chance is 0 by construction: pairs are selected only if the weight of one exceeds the weight of every
    pair in 20 corpora with exchanged whole meanings, which happens in 5 % of languages without morphemes; the p-value
    is by Student's t of the highest weights of these corpora.

    Details: `inventory` (form, meaning, weight in bits, number of messages, mean position of the first symbol), its
    mean `npmi` (see `pointwise_information`), `segmented` (some messages),
    `covered_symbols` (the share of symbols that belong to a morpheme), `synonymy` and `polysemy` (mean bits of the
    form of a meaning, and of the meaning of a form, weighted by uses; 0: one each), `form_length` and `meaning_size`
    (mean symbols, and concepts, of a morpheme of the inventory), `least_weight`.

    Symbols are without EOS. Neither the order of messages nor names of symbols change a score, except for symbols that
    occur in the same positions of the same meanings: the smaller id comes first. Another order of attributes, or other
    names of values and concepts, lead to other exchanges, which decide about pairs near the weight of chance. Undefined
    without concepts and attribute values, if none varies, without symbols, and if messages have too many sets of
    concepts, such as 1,000 messages of 140 attributes. From a larger corpus 20,000 messages are drawn; another order is
    another draw.
    """
    num_messages = len(corpus.messages)
    rng = np.random.default_rng(options.seed)
    drawn = {"messages": MAX_MESSAGES} if num_messages > MAX_MESSAGES else {}
    if drawn:
        corpus = corpus.take(np.sort(rng.choice(num_messages, MAX_MESSAGES, replace=False)))
    found = _IndexedCorpus(corpus)
    score = unscored(
        MORPHEMES,
        form=MAX_FORM,
        meaning=found.largest,
        stop=f"exchanged{NUM_SHUFFLES}",
        **drawn,
        seed=options.seed,
        label=found.label,
        eos="strip",
    )
    reason = found.reason_of_size(MOST_MEANINGS)
    if reason is not None:
        return [score(value=None, reason=reason)]
    assert found.concepts is not None
    inventory = induce(found.numbers, found.concepts, found.whole, rng, NUM_SHUFFLES)
    chance = Chance(kind="theory", level=0.0, p_of_theory=inventory.p_value)
    return [score(value=_coverage(inventory), chance=chance, details=found.described(inventory))]


@metric(CSAR)
def csar(corpus: Corpus, options: Options) -> list[Score]:
    """Share of meanings in morphemes found by CSAR without a stopping rule, as in its authors' program.

    Boldt & Mortensen 2025, arXiv 2510.03439. Details as in `morphemes`, which stops at chance level; the inventory also
    has pairs that occur once, so it is long, and the score near 1, even for languages without morphemes: there is no
    chance level, and the results are for comparison with figures of that program. Defined for up to 2,000 messages, and
    1,000,000 sets of concepts, such as 1,000 messages of 44 attributes have.
    """
    found = _IndexedCorpus(corpus)
    score = unscored(
        CSAR,
        form=MAX_FORM,
        meaning=found.largest,
        stop="nothing",
        label=found.label,
        eos="strip",
    )
    if found.reason is None and len(corpus.messages) > MOST_MESSAGES:
        return [score(value=None, reason=f"takes too long for more than {MOST_MESSAGES:,} messages")]
    reason = found.reason_of_size(MOST_MEANINGS_OF_ALL)
    if reason is not None:
        return [score(value=None, reason=reason)]
    assert found.concepts is not None
    inventory = induce_all(found.numbers, found.concepts, found.whole)
    return [score(value=_coverage(inventory), details=found.described(inventory))]


class _IndexedCorpus:
    """Messages and concepts of a corpus, with symbols numbered independently of their names.

    Messages are sorted by meaning and content, so that the order of the corpus does not matter.
    """

    def __init__(self, corpus: Corpus) -> None:
        self.corpus, self.content = corpus, corpus.content()
        self.names, self.concepts = _concepts(corpus)
        self.largest = MAX_MEANING if self.concepts is None else largest_meaning(self.concepts)
        self.label = "attributes" if corpus.concepts is None else "concepts"
        self.reason: str | None = None
        if self.concepts is None:
            self.label, self.reason = "none", NO_CONCEPTS
        elif not len(self.concepts.values):
            self.reason = "no meaning differs from another"
        elif not len(self.content.values):
            self.reason = "the corpus has no symbols"
        else:
            whole = _sorted_labels(self.concepts)
            numbers = Ragged(numbered_by_use(self.content, whole).astype(np.int32), self.content.offsets)
            order = np.lexsort([_sorted_labels(numbers), whole])
            self.numbers, self.content = numbers.take(order), self.content.take(order)
            self.concepts, self.whole = self.concepts.take(order), whole[order]

    def reason_of_size(self, most: int) -> str | None:
        """Reason why there is no score, including messages with more than `most` sets of concepts."""
        if (
            self.reason is None
            and self.concepts is not None
            and (number := num_meanings(self.concepts)) > most
        ):
            longest = int(self.concepts.lengths.max())
            return f"takes too long for {number:,} sets of concepts: a message has up to {longest:,} concepts"
        return self.reason

    def described(self, inventory: MorphemeInventory) -> dict[str, Any]:
        """Details of the score."""
        assert self.concepts is not None
        information = pointwise_information(inventory, self.numbers, self.concepts)
        places = np.arange(len(self.numbers.values)) - self.numbers.offsets[row_of(self.numbers)]
        middle = [float(places[inventory.of_symbol == n].mean()) for n in range(len(inventory.morphemes))]
        shown = np.zeros(int(self.numbers.values.max()) + 1, np.int64)
        shown[self.numbers.values] = self.content.values
        return {
            "covered_symbols": float((inventory.of_symbol >= 0).mean()),
            "num_morphemes": len(inventory.morphemes),
            **_ambiguity(inventory),
            "least_weight": inventory.least_weight,
            "npmi": float(information.mean()) if len(information) else None,
            "inventory": [
                {
                    "form": [_symbol(self.corpus, shown[symbol]) for symbol in each.form],
                    "meaning": [self.names[concept] for concept in each.meaning],
                    "weight": each.weight,
                    "num_messages": each.num_messages,
                    "position": position - (len(each.form) - 1) / 2,
                }
                for each, position in zip(inventory.morphemes, middle, strict=True)
            ],
            "segmented": _segmented(
                self.corpus, self.content, self.concepts, self.whole, self.names, inventory
            ),
        }


def _coverage(found: MorphemeInventory) -> float:
    """The share of the concepts of all messages that belong to a morpheme."""
    return float((found.of_concept >= 0).mean())


def _concepts(corpus: Corpus) -> tuple[list[str], Ragged | None]:
    """Concepts, or attribute values, that some but not all messages have: names, and concepts of each message."""
    concepts, names = concept_sets(corpus), list(corpus.concept_names)
    codes = attribute_codes(corpus)
    if concepts is not None and names:
        names, concepts = _in_order_of_names(names, concepts)
    elif concepts is None and codes is not None:
        assert corpus.meanings is not None
        values = flat(corpus.meanings)
        num_values = codes.max(0, initial=0) + 1
        starts = np.cumsum(num_values) - num_values
        names = [
            f"{corpus.name_of_attribute(place)}={value}"
            for place in range(codes.shape[1])
            for value in np.unique(values[:, place]).tolist()
        ]
        concepts = Ragged.from_lengths(
            (codes + starts).astype(np.int32).ravel(), np.full(len(codes), codes.shape[1])
        )
    if concepts is None:
        return names, None
    varies = np.bincount(concepts.values) < len(concepts)
    kept = varies[concepts.values]
    lengths = np.add.reduceat(np.append(kept, False).astype(np.int64), concepts.offsets[:-1])
    lengths[concepts.lengths == 0] = 0
    concepts = Ragged.from_lengths(concepts.values[kept], lengths)
    return names or [str(number) for number in range(len(varies))], concepts


def _in_order_of_names(names: list[str], concepts: Ragged) -> tuple[list[str], Ragged]:
    """Concepts numbered by name; files number them in the order of their messages."""
    order = sorted(range(len(names)), key=names.__getitem__)
    number = np.empty(len(names), np.int32)
    number[order] = np.arange(len(names), dtype=np.int32)
    values = number[concepts.values]
    ascending = np.lexsort((values, row_of(concepts)))
    return [names[concept] for concept in order], Ragged(values[ascending], concepts.offsets)


def _sorted_labels(rows: Ragged) -> Ints:
    """Rank of each row among the distinct rows, independent of the order of rows."""
    label = row_labels(rows)
    first = np.unique(label, return_index=True)[1].tolist()
    order = sorted(range(num_labels(label)), key=lambda number: rows[first[number]].tolist())
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return np.asarray(rank[label])


def _ambiguity(found: MorphemeInventory) -> dict[str, float]:
    """Bits of forms per meaning and of meanings per form, and mean sizes; 0 without morphemes."""
    uses = np.array([each.num_messages for each in found.morphemes], float)
    figures = {
        name: _conditional(uses, [getattr(each, of) for each in found.morphemes])
        for name, of in (("synonymy", "meaning"), ("polysemy", "form"))
    }
    for name, of in (("form_length", "form"), ("meaning_size", "meaning")):
        sizes = [len(getattr(each, of)) for each in found.morphemes]
        figures[name] = float(np.mean(sizes)) if sizes else 0.0
    return figures


def _conditional(uses: Floats, groups: list[tuple[int, ...]]) -> float:
    """Mean entropy in bits of the uses within groups, weighted by uses."""
    members: dict[tuple[int, ...], list[float]] = {}
    for use, group in zip(uses.tolist(), groups, strict=True):
        members.setdefault(group, []).append(use)
    bits = sum(sum(each) * entropy(np.array(each)) for each in members.values())
    return float(bits / uses.sum()) if len(uses) else 0.0


def _segmented(
    corpus: Corpus, content: Ragged, concepts: Ragged, whole: Ints, names: list[str], found: MorphemeInventory
) -> list[dict[str, str]]:
    """Messages of different meanings with a bracket around each morpheme, and their meanings."""
    rows = np.unique(whole, return_index=True)[1]
    rows = rows[np.unique(np.linspace(0, len(rows) - 1, NUM_SEGMENTED).astype(int))]
    texts = []
    for row in rows.tolist():
        begin, end = content.offsets[row], content.offsets[row + 1]
        text: list[str] = []
        place = begin
        while place < end:
            number = found.of_symbol[place]
            size = len(found.morphemes[number].form) if number >= 0 else 1
            symbols = " ".join(_symbol(corpus, each) for each in content.values[place : place + size])
            if number >= 0:
                meaning = " ".join(names[each] for each in found.morphemes[number].meaning)
                symbols = f"[{symbols}: {meaning}]"
            text.append(symbols)
            place += size
        about = " ".join(names[each] for each in concepts[row])
        texts.append({"message": " ".join(text), "meaning": about})
    return texts


def _symbol(corpus: Corpus, symbol: int) -> str:
    return corpus.symbol_names[symbol] if corpus.symbol_names else str(symbol)
