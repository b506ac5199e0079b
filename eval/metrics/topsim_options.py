"""What topographic similarity compares: its options, and the distances that they name."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

import ecsuite.parts.own_code as own_code
from ecsuite.corpus import Corpus
from ecsuite.eval.counts.counting import attribute_codes, concept_sets, flat, has_attributes, narrow_content
from ecsuite.eval.metrics import distances
from ecsuite.eval.metrics.distances import Distance, Divisor
from ecsuite.eval.statistics.contingency import Floats, Ints
from ecsuite.eval.statistics.pair_correlation import Pairs
from ecsuite.runtime.errors import ConfigError, PartError, unknown_name
from ecsuite.runtime.ragged import Ragged

EDITS: dict[str, tuple[str, Divisor]] = {
    "edit/mean": ("lev/mean", "mean"),
    "edit": ("lev", "none"),
    "edit/max": ("lev/max", "larger"),
}
"""Names of edit distances: that in signatures, and what edits are divided by."""
OF_MESSAGES = (*EDITS, "hamming", "jaccard")
OF_MEANINGS = ("auto", "hamming", "cosine", "euclidean", "jaccard", "levenshtein")
OF_SETS = {
    "hamming": distances.set_difference,
    "cosine": distances.set_cosine,
    "euclidean": distances.set_euclidean,
    "jaccard": distances.set_jaccard,
}
OWN = "./mine.py:my_distance"


@dataclass(frozen=True, kw_only=True, slots=True)
class TopsimOptions:
    """What topographic similarity compares, and how."""

    meaning_distance: Annotated[str, Meta(description=f"{', '.join(OF_MEANINGS)}, or {OWN}")] = "auto"
    """Of two meanings; auto: hamming of attribute values, cosine of features, jaccard of sets of concepts."""
    message_distance: Annotated[str, Meta(description=f"{', '.join(OF_MESSAGES)}, or {OWN}")] = "edit/mean"
    """Of two messages without EOS; edits are divided by the mean or the larger one of the two lengths, or not."""
    correlation: Literal["spearman", "pearson"] = "spearman"
    """Of both distances, over pairs of messages."""
    attribute: Annotated[int, Meta(ge=0)] | Literal["each"] | None = None
    """The meaning distance is of this attribute alone, from 0; each: a score of every attribute."""
    given: Literal["nothing", "length", "attributes", "both"] = "nothing"
    """Partial correlation: with the difference of lengths held fixed, the distance of the other attributes, or both."""

    def __post_init__(self) -> None:
        """Check what depends on each other, and the names."""
        for name, choices in (("meaning_distance", OF_MEANINGS), ("message_distance", OF_MESSAGES)):
            value = getattr(self, name)
            if value not in choices and not own_code.is_foreign(value):
                raise ConfigError(f"{name}: {unknown_name('distance', value, (*choices, OWN))}")
        if self.given in ("attributes", "both") and self.attribute is None:
            raise ConfigError(f"given: {self.given} needs attribute=0, or attribute=each")

    def settings(self, meaning: str) -> dict[str, Any]:
        """What is in the signature, `meaning` being the name of the meaning distance; more only where it is unusual."""
        own = [each for each in (self.message_distance, self.meaning_distance) if own_code.is_foreign(each)]
        return {
            "dist": EDITS.get(self.message_distance, (_plain(self.message_distance),))[0],
            "mdist": meaning,
            **({} if self.correlation == "spearman" else {"corr": self.correlation}),
            **({} if self.attribute is None else {"attribute": self.attribute}),
            **({} if self.given == "nothing" else {"given": self.given}),
            **(
                {"code": "+".join(own_code.checksum(each.partition(":")[0])[:12] for each in own)}
                if own
                else {}
            ),
        }


USUAL = TopsimOptions()
"""Without options."""


def _plain(name: str) -> str:
    """The name of a distance of a user's file, without the file."""
    return name.rpartition(":")[2]


@dataclass(frozen=True, kw_only=True, slots=True)
class Compared:
    """What is compared of a corpus."""

    meaning: str
    """The name of the meaning distance in signatures; `none` if there is none."""
    reason: str | None = None
    """Why there is no score."""
    messages: Distance | None = None
    """Between messages."""
    meanings: Distance | None = None
    """Between meanings."""
    lengths: Distance | None = None
    """Between messages, held fixed."""
    others: Distance | None = None
    """Between meanings, held fixed."""
    is_of_sets: bool = True
    """Whether messages are equal in all that is compared if they, and their attributes or sets of concepts, are."""
    is_ranked: bool = True
    """Whether ranks are correlated."""

    def distances(self, left: Ints, right: Ints) -> list[Floats | None]:
        """Of pairs of messages, (num_pairs,) each: between messages, between meanings, and those held fixed."""
        compared = (self.messages, self.meanings, self.lengths, self.others)
        return [None if each is None else each(left, right) for each in compared]

    def standard(
        self, pairs: Pairs, distances: Sequence[Floats | None]
    ) -> tuple[Floats, Floats, Floats | None]:
        """Correlated distances, with mean 0 and variance 1; NaN if what is held fixed determines it.

        Returns:
            Of messages what all that is held fixed leaves, of meanings what other distances of meanings leave, and of
            the differences of lengths what these leave; None without any.
        """
        standardised = pairs.standard_ranks if self.is_ranked else pairs.standardised
        x, y, lengths, others = (
            standardised(each) if each is not None and np.ptp(each) > 0 else None for each in distances
        )
        assert x is not None and y is not None
        if others is not None:
            y = pairs.residuals(y, [others])
            lengths = None if lengths is None else pairs.residuals(lengths, [others])
        if lengths is not None and np.isnan(lengths).any():
            lengths = None
        fixed = [each for each in (lengths, others) if each is not None]
        return pairs.residuals(x, fixed) if fixed else x, y, lengths

    @classmethod
    def of(cls, corpus: Corpus, options: TopsimOptions) -> "Compared":
        """The distances that options name, for this corpus."""
        features = None if corpus.meanings is None else flat(corpus.meanings)
        rest: NDArray[Any] | None = None
        name = _meaning_name(corpus, options.meaning_distance)
        if options.attribute is not None:
            if features is None:
                return cls(meaning=name, reason="the corpus has no attributes")
            if int(options.attribute) >= features.shape[1]:
                return cls(meaning=name, reason=f"there is no attribute {options.attribute}")
            rest = np.delete(features, int(options.attribute), axis=1)
            features = features[:, [int(options.attribute)]]
        meanings = meaning_distance(corpus, features, options.meaning_distance)
        if isinstance(meanings, str):
            return cls(meaning=name, reason=meanings)
        content = narrow_content(corpus)
        others: Distance | None = None
        if options.given in ("attributes", "both"):
            found = meaning_distance(corpus, rest, options.meaning_distance)
            if isinstance(found, str):
                return cls(meaning=name, reason=found)
            others = found
        return cls(
            meaning=name,
            messages=message_distance(corpus, options.message_distance),
            meanings=meanings,
            lengths=distances.length_distance(content) if options.given in ("length", "both") else None,
            others=others,
            is_of_sets=corpus.meanings is not None or options.meaning_distance in (*OF_SETS, "auto"),
            is_ranked=options.correlation == "spearman",
        )


def _meaning_name(corpus: Corpus, name: str) -> str:
    """The name of a meaning distance in signatures."""
    if name != "auto":
        return _plain(name)
    if corpus.meanings is not None:
        return "hamming" if has_attributes(corpus.meanings) else "cosine"
    return "none" if concept_sets(corpus) is None else "jaccard"


def message_distance(corpus: Corpus, name: str) -> Distance:
    """The distance of this name between messages, or that of a user's file."""
    content = narrow_content(corpus)
    if name in EDITS:
        return distances.edit_distance(content, EDITS[name][1])
    if name == "hamming":
        return distances.position_distance(content)
    if name == "jaccard":
        return distances.jaccard_distance(distances.distinct_sets(content))
    wide = corpus.content()
    return _own_distance(name, lambda row: wide[row])


def meaning_distance(corpus: Corpus, features: NDArray[Any] | None, name: str) -> Distance | str:
    """The distance of this name between meanings, or why there is none.

    Args:
        corpus: Its concepts are compared where it has no attributes and no features.
        features: Attribute values or features, (num_messages, num_attributes); None: it has none.
        name: One of `OF_MEANINGS`, or that of a user's file.
    """
    if features is None:
        return _concept_distance(corpus, name)
    is_values, is_numbers = has_attributes(features), features.dtype.kind in "biuf"
    if is_numbers and not np.isfinite(features).all():
        return "a feature is not finite"
    if own_code.is_foreign(name):
        return _own_distance(name, lambda row: features[row])
    if name == "hamming" or (name == "auto" and is_values):
        return distances.hamming_distance(features)
    if name in ("auto", "cosine", "euclidean"):
        if not is_numbers:
            return f"{name} distance needs numbers, not names"
        return (
            distances.euclidean_distance(features)
            if name == "euclidean"
            else distances.cosine_distance(features)
        )
    codes = attribute_codes(replace(corpus, meanings=features))
    if codes is None:
        return f"{name} distance needs attribute values or concepts, not features"
    if name == "levenshtein":
        return distances.edit_distance(_rows(codes), "none")
    return distances.jaccard_distance(_rows(codes + np.cumsum([0, *(codes.max(0, initial=0) + 1)[:-1]])))


def _concept_distance(corpus: Corpus, name: str) -> Distance | str:
    """The distance of this name between sets of concepts; levenshtein and users' own take them in their order."""
    sets = concept_sets(corpus)
    if sets is None or corpus.concepts is None:
        return "the corpus has neither meanings nor concepts"
    if own_code.is_foreign(name):
        concepts, names = corpus.concepts, corpus.concept_names
        return _own_distance(
            name, lambda row: [names[each] if names else each for each in concepts[row].tolist()]
        )
    if name == "levenshtein":
        return distances.edit_distance(corpus.concepts, "none")
    return distances.set_distance(sets, OF_SETS["jaccard" if name == "auto" else name])


def _rows(codes: Ints) -> Ragged:
    """A table of codes as rows."""
    return Ragged.from_lengths(codes.astype(np.int32).ravel(), np.full(len(codes), codes.shape[1]))


def _own_distance(name: str, row_of: Callable[[int], Any]) -> Distance:
    """A distance of a user's file: called with two messages, or two meanings, it returns a number.

    Raises:
        PartError: If it returns none, when it is called.
    """
    function = own_code.named(name, "distance")

    def distance(left: Ints, right: Ints) -> np.ndarray[Any, Any]:
        found = np.empty(len(left))
        for place, (first, second) in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
            value = function(row_of(first), row_of(second))
            try:
                found[place] = value
            except (TypeError, ValueError):
                found[place] = np.nan
            if not np.isfinite(found[place]):
                expected = f"{_plain(name)}: expected a finite number"
                raise PartError(f"{own_code.place_of(name)}: {expected}; got {value!r:.80}")
        return found

    return distance
