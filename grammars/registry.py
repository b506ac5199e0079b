"""Grammars by name. A new grammar is a function and an entry here; functions are imported on first use."""

from ecsuite.parts.registry import Registry

BASES = {
    "concat": (
        "ecsuite.grammars.words:concatenate",
        "Concatenate the words of a meaning's attribute values (CONCAT, section 3.1.1).",
    ),
    "hol": (
        "ecsuite.grammars.words:draw_messages",
        "Draw a random message for each meaning, (num_meanings, message_length) (HOL, section 3.1.2).",
    ),
}
"""Grammars that generate messages: the first step of a chain, by default concat."""

CORRUPTIONS = {
    "perm": (
        "ecsuite.grammars.corruptions:permute",
        "Permute the positions, in the same way in all messages (PERM, section 3.1.3).",
    ),
    "proj": (
        "ecsuite.grammars.corruptions:project",
        "Apply a random projection to the one-hot message, then argmax per position (PROJ, section 3.1.4).",
    ),
    "rot": (
        "ecsuite.grammars.corruptions:rotate",
        "Replace symbols by their cumulative sum, modulo the vocabulary size (ROT, section 3.1.5).",
    ),
    "shufdet": (
        "ecsuite.grammars.corruptions:shuffle_by_value",
        "Reorder the words by an order that depends on the value of one attribute (SHUFDET, section 3.1.6).",
    ),
    "shuf": (
        "ecsuite.grammars.corruptions:shuffle",
        "Reorder the words of each message by a random order of its own (SHUF, appendix H).",
    ),
    "pairsum": (
        "ecsuite.grammars.corruptions:add_pairs",
        "Add the next word to each word, symbol by symbol modulo the vocabulary size (PAIRSUM, appendix G).",
    ),
}
"""Called as `function(messages, meanings, geometry, rng, **options)`; the options are in `corruptions.OPTIONS`."""

SENTENCES = {
    "clauses": (
        "ecsuite.grammars.clauses:clauses",
        "Transitive clauses in word orders and with case markers of given shares (Lian et al. 2023).",
    ),
}
"""Grammars with their own meanings: called as `function(name, seed)`."""

BASELINES = {
    "zipf_parentheses": (
        "ecsuite.grammars.baselines:zipf_parentheses",
        "Nested pairs: every symbol occurs twice, and pairs may enclose but never cross each other.",
    ),
    "text_parentheses": (
        "ecsuite.grammars.baselines:text_parentheses",
        "Nested pairs whose symbols have the word frequencies of a text.",
    ),
    "dyck": (
        "ecsuite.grammars.sentences:dyck",
        "Nested brackets of many kinds: a sentence ends when its first bracket is closed.",
    ),
    "shuffle_dyck": (
        "ecsuite.grammars.sentences:shuffle_dyck",
        "Brackets of many kinds that may cross: a sentence ends when no bracket is open.",
    ),
    "regular": (
        "ecsuite.grammars.sentences:regular",
        "Sentences of ten symbols, each repeated once or more: the regular language s1+ s2+ … s10+.",
    ),
    "bag_of_words": (
        "ecsuite.grammars.sentences:bag_of_words",
        "Sentences of independent symbols, of geometrically distributed length.",
    ),
    "zipf_noise": (
        "ecsuite.grammars.baselines:zipf_noise",
        "Independent symbols from a Zipf-Mandelbrot distribution: natural frequencies, but no structure.",
    ),
    "uniform_noise": (
        "ecsuite.grammars.baselines:uniform_noise",
        "Independent symbols from the uniform distribution: no structure to learn.",
    ),
}
"""Grammars without meanings: called as `function(num_symbols, rng, num_types=…)`; each has further options."""

GRAMMARS = Registry(word="grammar", parts={**BASES, **CORRUPTIONS, **SENTENCES, **BASELINES})
"""All grammars; see `make_corpus`."""
