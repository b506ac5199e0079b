"""The thirteen sizes and entropies with which the ELCC collection describes a corpus.

They speak of tokens as said, EOS included. They describe the corpus at hand, all of it, and estimate
nothing beyond it: so they have no intervals.
"""

import math

import numpy as np

from ecsuite.corpus import Corpus, Ragged
from ecsuite.eval.metrics.score import Options, Score, signature
from ecsuite.eval.statistics.counting import entropy, row_labels, tally

VERSION = 1

_MEASURES = {
    "Token Count": "symbols said, EOS included",
    "Line Count": "messages that are not empty",
    "Tokens per Line": "mean length of a message",
    "Tokens per Line SD": "standard deviation of the lengths",
    "Unique Tokens": "different symbols in use",
    "Unique Lines": "different messages",
    "1-gram Entropy": "bits a symbol, out of context",
    "1-gram Normalized Entropy": "evenness of symbol use, 0 to 1",
    "2-gram Entropy": "bits a pair of neighbours",
    "2-gram Conditional Entropy": "bits a symbol, given the last",
    "Entropy per Line": "bits a message, symbols taken singly",
    "EoS Token Present": "all messages end in one symbol",
    "EoS Padding": "messages are filled up with EOS",
}
"""The measures, named and ordered as in the collection's JSON, and what they mean."""


def elcc(corpus: Corpus, options: Options) -> list[Score]:
    """Measure sizes and entropies as in Boldt and Mortensen, ELCC (2024), https://arxiv.org/abs/2407.04158.

    With H1 and H2 the plug-in entropies of symbols and of neighbouring pairs, T symbols, L lines and V
    different symbols: normalized entropy is H1 / log2 V, conditional entropy H2 - H1, entropy per line
    H1 T / L. An EOS token is present if all lines end in the same symbol and nothing else follows its first
    occurrence; padding means that it also fills lines up to one common length. The spread is that of a whole
    population (divisor L); pairs do not cross lines; empty messages are left out, as by the collection.

    Returns:
        Thirteen scores, named and ordered as in the collection.
    """
    values = _measure(corpus.messages)
    line = signature("elcc", VERSION, eos="kept")
    scores = []
    for name, about in _MEASURES.items():
        value = values.get(name, "every message is empty")
        known = {"value": None, "reason": value} if isinstance(value, str) else {"value": value}
        scores.append(Score(name=name, about=about, signature=line, **known))
    return scores


def _measure(messages: Ragged) -> dict[str, float | int | bool | str]:
    """The measures of a corpus; a string says why a measure is undefined."""
    lengths = messages.lengths[messages.lengths > 0]
    num_tokens, num_lines = len(messages.values), len(lengths)
    values: dict[str, float | int | bool | str] = {"Token Count": num_tokens, "Line Count": num_lines}
    if not num_tokens:
        return values | {"Unique Tokens": 0, "Unique Lines": 0}
    lines, ids = Ragged.from_lengths(messages.values, lengths).reindexed()
    tokens, num_types = lines.values, len(ids)
    token_entropy = entropy(np.bincount(tokens))
    is_last = np.zeros(num_tokens, dtype=bool)
    is_last[lines.offsets[1:] - 1] = True
    inner = ~is_last[:-1]  # where the next token is in the same line
    pairs = tokens[:-1].astype(np.int64)
    pairs *= num_types
    pairs += tokens[1:]
    pairs = pairs[inner]
    pair_entropy = entropy(tally(pairs))

    is_eos = tokens == tokens[-1]
    eos_present = bool(is_eos[is_last].all()) and not bool((inner & is_eos[:-1] & ~is_eos[1:]).any())
    is_level = bool((lengths == lengths[0]).all())
    no_evenness, no_pairs = "only one symbol is used", "no message has two symbols"
    return values | {
        "Tokens per Line": num_tokens / num_lines,
        "Tokens per Line SD": float(lengths.std()),
        "Unique Tokens": num_types,
        "Unique Lines": int(row_labels(lines).max()) + 1,
        "1-gram Entropy": token_entropy,
        "1-gram Normalized Entropy": token_entropy / math.log2(num_types) if num_types > 1 else no_evenness,
        "2-gram Entropy": pair_entropy if len(pairs) else no_pairs,
        "2-gram Conditional Entropy": pair_entropy - token_entropy if len(pairs) else no_pairs,
        "Entropy per Line": token_entropy * num_tokens / num_lines,
        "EoS Token Present": eos_present,
        "EoS Padding": eos_present and is_level and int(is_eos.sum()) > num_lines,
    }
