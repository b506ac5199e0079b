"""The thirteen sizes and entropies that the ELCC collection reports of a corpus.

They are computed from all tokens up to the first EOS, with it. They describe this corpus and are not estimates of a
population, so they have no intervals; what entropies would be in a larger corpus of the same language is in their
details.
"""

import math

import numpy as np

from ecsuite.corpus import Corpus
from ecsuite.eval.counts.counting import num_distinct_rows
from ecsuite.eval.metrics.score import Options, Score, signature
from ecsuite.eval.metrics.traits import CORRECTED, Traits, metric
from ecsuite.eval.statistics.contingency import Counts, chao_shen, entropy
from ecsuite.runtime.ragged import Ragged

_MEASURES = {
    "Token Count": "symbols, including EOS",
    "Line Count": "non-empty messages",
    "Tokens per Line": "mean length of a message",
    "Tokens per Line SD": "standard deviation of message lengths",
    "Unique Tokens": "distinct symbols",
    "Unique Lines": "distinct messages",
    "1-gram Entropy": "bits per symbol, without context",
    "1-gram Normalized Entropy": "evenness of symbol use, 0 to 1",
    "2-gram Entropy": "bits per pair of adjacent symbols",
    "2-gram Conditional Entropy": "bits per symbol, given the previous one",
    "Entropy per Line": "bits per message, symbols independent",
    "EoS Token Present": "all messages end with the same symbol",
    "EoS Padding": "messages are padded with EOS",
}
"""The measures and their meanings, with the names and the order of the collection's JSON."""


_UNSIZED = ("Tokens per Line", "Tokens per Line SD", "EoS Token Present", "EoS Padding")
_ENTROPIES = ("1-gram Entropy", "2-gram Entropy", "2-gram Conditional Entropy", "Entropy per Line")
TRAITS = tuple(
    Traits(
        name=name,
        about=about,
        question="sizes",
        version=2,
        draws=False,
        depends_on_size=None
        if name in _UNSIZED
        else "plug-in entropies are too low in small corpora"
        if "Entropy" in name
        else "it counts all messages",
        details={"chao_shen": CORRECTED} if name in _ENTROPIES else {},
    )
    for name, about in _MEASURES.items()
)


@metric(*TRAITS)
def elcc(corpus: Corpus, options: Options) -> list[Score]:
    """Measure sizes and entropies as in Boldt and Mortensen, ELCC (2024), https://arxiv.org/abs/2407.04158.

    With H1 and H2 the plug-in entropies of symbols and of pairs of adjacent symbols, T symbols, L lines and V distinct
    symbols: normalized entropy is H1 / log2 V, conditional entropy H2 - H1, entropy per line H1 T / L. An EOS token is
    present if all lines end with the same symbol and no other symbol follows its first occurrence in a line; padding
    means that it also pads all lines to the same length. The standard deviation is that of a population (divisor L);
    pairs do not cross lines; empty messages are left out, as in the collection. The details of the entropies have the
    same with estimates that have less bias (`chao_shen`, see `contingency.chao_shen`).

    Where the corpus has an EOS, nothing after the first one in a message is counted; only `EoS Padding` is about what
    stands there. The collection counts padding as symbols: its figures are those of a corpus that was read with no EOS
    (`--eos none`).

    Returns:
        Thirteen scores, named and ordered as in the collection.
    """
    ended = corpus.ended()
    values, corrected = _measure(ended)
    if ended is not corpus.messages:
        values["EoS Padding"] = _measure(corpus.messages)[0]["EoS Padding"]
    line = signature("elcc", TRAITS[0].version, eos="kept")
    scores = []
    for traits in TRAITS:
        value = values.get(traits.name, "every message is empty")
        known = {"value": None, "reason": value} if isinstance(value, str) else {"value": value}
        details = {"chao_shen": corrected[traits.name]} if traits.name in corrected else {}
        scores.append(Score(name=traits.name, about=traits.about, signature=line, details=details, **known))
    return scores


def _measure(messages: Ragged) -> tuple[dict[str, float | int | bool | str], dict[str, float]]:
    """The measures of a corpus, a string being the reason why one is undefined; and the entropies with less bias."""
    lengths = messages.lengths
    has_empty = not lengths.all()
    if has_empty:
        lengths = lengths[lengths > 0]
    num_tokens, num_lines = len(messages.values), len(lengths)
    values: dict[str, float | int | bool | str] = {"Token Count": num_tokens, "Line Count": num_lines}
    if not num_tokens:
        return values | {"Unique Tokens": 0, "Unique Lines": 0}, {}
    spread, is_level = float(lengths.std()), bool((lengths == lengths[0]).all())
    del lengths
    messages, ids = messages.narrowed().reindexed()
    num_types, last = len(ids), int(messages.values[-1])
    counts, pair_counts = Counts(num_types), Counts(num_types**2)
    eos_present = True
    for block in messages.blocks():
        tokens = block.values.astype(np.int64)
        counts.add(tokens)
        is_last = np.zeros(len(tokens), bool)
        is_last[block.offsets[1:][np.diff(block.offsets) > 0] - 1] = True
        inner = ~is_last[:-1]  # where the next token is in the same line
        pair_counts.add((tokens[:-1] * num_types + tokens[1:])[inner])
        is_eos = tokens == last
        eos_present &= bool(is_eos[is_last].all()) and not bool((inner & is_eos[:-1] & ~is_eos[1:]).any())
    of_tokens, of_pairs = counts.of_codes(), pair_counts.of_codes()
    token_entropy, pair_entropy = entropy(of_tokens), entropy(of_pairs)
    no_evenness, no_pairs = "there is only one distinct symbol", "no message has two symbols"
    of_token = chao_shen(of_tokens)
    corrected = {"1-gram Entropy": of_token, "Entropy per Line": of_token * num_tokens / num_lines}
    if len(of_pairs):
        of_pair = chao_shen(of_pairs)
        corrected |= {"2-gram Entropy": of_pair, "2-gram Conditional Entropy": max(0.0, of_pair - of_token)}
    return values | {
        "Tokens per Line": num_tokens / num_lines,
        "Tokens per Line SD": spread,
        "Unique Tokens": num_types,
        "Unique Lines": num_distinct_rows(messages) - has_empty,
        "1-gram Entropy": token_entropy,
        "1-gram Normalized Entropy": token_entropy / math.log2(num_types) if num_types > 1 else no_evenness,
        "2-gram Entropy": pair_entropy if len(of_pairs) else no_pairs,
        "2-gram Conditional Entropy": pair_entropy - token_entropy if len(of_pairs) else no_pairs,
        "Entropy per Line": token_entropy * num_tokens / num_lines,
        "EoS Token Present": eos_present,
        "EoS Padding": eos_present and is_level and int(of_tokens[last]) > num_lines,
    }, corrected
