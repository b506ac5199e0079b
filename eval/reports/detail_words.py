"""A word of explanation for each figure in the details of a score."""

from collections.abc import Mapping

WORDS: Mapping[str, str] = {
    "covered_symbols": "share of symbols that belong to a morpheme",
    "form_length": "mean symbols of a morpheme",
    "least_weight": "bits that a pair had to exceed",
    "meaning_size": "mean concepts of a morpheme",
    "csar.synonymy": "mean bits of the form, given a meaning",
    "csar.polysemy": "mean bits of the meaning, given a form",
    "morphemes.synonymy": "mean bits of the form, given a meaning",
    "morphemes.polysemy": "mean bits of the meaning, given a form",
    "above_half": "share of messages with an NPMI above 0.5",
    "ambiguity": "words whose matched concept is absent",
    "by_tokens": "with words counted by occurrence, not by message",
    "likeliest": "by_tokens, each concept with its likeliest word",
    "normalised": "divided by the entropy without condition",
    "paraphrase": "words of a concept beyond its matched word",
    "precision": "mean share of a message's words that match",
    "recall": "mean share of a phrase's concepts that match",
    "repeats": "passes over the corpus per epoch of pretraining",
    "residual_bits": "mean bits of an attribute, given its positions",
    "segment_length": "mean symbols of a segment",
    "segments": "different segments",
    "attribute_information.bits": "bits of this attribute that messages tell",
    "attribute_information.shares": "share of this attribute's entropy",
    "attribute_information.sum_bits": "bits of all attributes, added",
    "conflict_count.share": "share of all symbols",
    "tre7.share": "share of the error without meanings",
    "unaligned": "each word divided over all concepts of its phrase",
    "unmatched": "share of concepts without a matched word",
    "unmatched_program": "unmatched, counted as the authors' program does",
    "by_target": "nats per token, by target language",
    "reference": "score of a reference source",
    "residual_entropy": "share of this attribute's entropy that is left",
    "shuffled": "the same with shuffled symbols",
    "text_repeats": "passes over this target's text per epoch",
}
"""By the key of a detail, or of a group of details."""

COUNTS = ("segments",)
"""Details that are counts; means over shuffles of them have decimals."""


def words_about(score: str, key: str) -> str:
    """The explanation of a detail of a score; of a metric of one's own, the key in words."""
    return WORDS.get(f"{score}.{key}") or WORDS.get(key) or key.replace("_", " ")
