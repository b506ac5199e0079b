"""The messages of corpora for the page's browser: what is said of what, how often, and what words mean."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from ecsuite.corpus import Corpus
from ecsuite.eval.html_report.thumbnails import BUDGET as PICTURES
from ecsuite.eval.html_report.thumbnails import add_thumbnails, has_pictures
from ecsuite.eval.metrics.cbm import translate
from ecsuite.eval.reports.languages import Language, heading
from ecsuite.eval.reports.samples import MOST_SYMBOLS, meaning_text
from ecsuite.eval.results.files import Messages
from ecsuite.eval.results.sources import Source
from ecsuite.eval.views.figures.canvas import ink_on
from ecsuite.eval.views.figures.tiles import MARKERS, NAMED_COLOURS, PALE, symbol_colours
from ecsuite.formats.corpora import Reading
from ecsuite.runtime.errors import ConfigError, CorpusError

BUDGET = 3_000_000
"""Most characters of all messages of a page."""
MAX_CORPORA = 100
"""Most corpora of a page."""
MAX_ROWS = 20_000
"""Most different messages with their meanings of a corpus."""
MAX_TABLE = 4_000_000
"""Most words times concepts that are matched for translations."""
MAX_TEXT = 200
"""Most characters of a meaning."""


def corpora_data(sources: Sequence[Source], reading: Reading) -> tuple[list[dict[str, Any]], list[str]]:
    """The messages of the sources, JSON-ready, and notes on what was left out.

    Of runs that differ in their seed only, the first come first, so that every setting has a corpus.

    Args:
        sources: The sources.
        reading: How corpora of other tools are read.
    """
    with_corpus = [source for source in sources if source.corpus is not None and source.corpus.exists()]
    seen: Counter[str] = Counter()
    order = []
    for source in with_corpus:
        key = repr(source.settings) if source.is_run else source.title
        order.append(seen[key])
        seen[key] += 1
    chosen = sorted(sorted(range(len(with_corpus)), key=lambda place: order[place])[:MAX_CORPORA])
    notes = []
    if len(with_corpus) > MAX_CORPORA:
        notes.append(
            f"{MAX_CORPORA} of {len(with_corpus)} corpora are here; `ecsuite report PATH` of a run shows another"
        )
    num_with_pictures = sum(has_pictures(with_corpus[place]) for place in chosen)
    found = []
    for place in chosen:
        source = with_corpus[place]
        try:
            assert source.corpus is not None
            messages = Messages(source.corpus, source.how)
            language = Language(messages.read(Reading() if source.is_run else reading))
        except (CorpusError, ConfigError, OSError) as error:
            notes.append(f"{source.title}: {error}")
            continue
        data, rows = corpus_data(language, source, BUDGET // len(chosen))
        note = add_thumbnails(data, source, language.corpus, rows, PICTURES // max(1, num_with_pictures))
        notes += [note] if note else []
        found.append(data)
    return found, notes


def corpus_data(language: Language, source: Source, budget: int) -> tuple[dict[str, Any], list[int]]:
    """One corpus: its most used messages with their meanings, within so many characters.

    Returns:
        JSON-ready data; and for each of its rows, the first message of the language that it is of.
    """
    assert source.corpus is not None
    _, lines = heading(language, source.folder or source.corpus)
    texts: dict[str, int] = {}
    meanings: list[list[str]] = []
    ids: dict[Any, int] = {}
    of_row = []
    for index in range(len(language)):
        names = tuple(language.concepts(index)) or meaning_text(language.corpus, index) or ""
        if names not in ids:
            ids[names] = len(meanings)
            meanings.append([names] if isinstance(names, str) else list(names))
        of_row.append(ids[names])
    uses = Counter(language.messages)
    all_pairs = list(zip(language.messages, of_row, strict=True))
    pairs = Counter(all_pairs)
    first = {pair: len(all_pairs) - 1 - place for place, pair in enumerate(reversed(all_pairs))}
    ordered = sorted(pairs, key=lambda pair: (-uses[pair[0]], pair[0], -pairs[pair], pair[1]))
    rows: list[list[Any]] = []
    shown_messages: dict[tuple[int, ...], int] = {}
    shown_meanings: dict[int, int] = {}
    size = 0
    for pair in ordered[:MAX_ROWS]:
        message, meaning = pair
        size += 12
        size += 0 if message in shown_messages else 5 * min(len(message), MOST_SYMBOLS) + 12
        size += 0 if meaning in shown_meanings else 8 * len(meanings[meaning]) + 4
        for name in meanings[meaning]:
            size += 0 if name in texts else min(len(name), MAX_TEXT) + 4
        if size > budget and rows:
            break
        for name in meanings[meaning]:
            texts.setdefault(name, len(texts))
        rows.append(
            [
                shown_messages.setdefault(message, len(shown_messages)),
                shown_meanings.setdefault(meaning, len(shown_meanings)),
                pairs[pair],
            ]
        )
    data = {
        "title": source.title,
        "about": lines,
        "num_messages": len(language.all_messages.messages),
        "num_pairs": len(ordered),
        "messages": [list(message[:MOST_SYMBOLS]) for message in shown_messages],
        "uses": [uses[message] for message in shown_messages],
        "lengths": [len(message) for message in shown_messages],
        "concepts": [_short(name) for name in texts],
        "meanings": [[texts[name] for name in meanings[meaning]] for meaning in shown_meanings],
        "rows": rows,
        "symbols": _symbols(language, set().union(*shown_messages)),
        "translations": _translations(language.corpus, texts),
    }
    return data, [first[pair] for pair in ordered[: len(rows)]]


def object_data() -> dict[str, Any]:
    """How the script draws objects whose concepts name a shape and a colour."""
    return {"shapes": sorted(MARKERS), "colours": dict(NAMED_COLOURS)}


def _symbols(language: Language, used: set[int]) -> dict[str, list[str]]:
    """By id, the name of a symbol, its colour, and that of the text on it."""
    colours = symbol_colours(language)
    return {
        str(symbol): [_short(language.name(symbol)), colour, ink_on(colour)]
        for symbol in sorted(used)
        for colour in [colours.get(symbol, PALE)]
    }


def _translations(corpus: Corpus, texts: dict[str, int]) -> dict[str, list[Any]]:
    """By symbol, its concept in the best matching, the number of their co-occurrences, and the share of its uses."""
    if corpus.concepts is None:
        return {}
    num_words, num_concepts = (len(np.unique(each.values)) for each in (corpus.content(), corpus.concepts))
    if num_words * num_concepts > MAX_TABLE or not num_words * num_concepts:
        return {}
    found = translate(corpus)
    if found is None:
        return {}
    words = found.samples.word_ids[found.word].tolist()
    concepts = found.samples.phrases.ids[found.concept].tolist()
    weights = found.weights[found.word, found.concept].tolist()
    return {
        str(word): [_short(_name(corpus, concept)), weight, round(share, 3)]
        for word, concept, weight, (share, _) in zip(
            words, concepts, weights, found.shares().tolist(), strict=True
        )
    }


def _name(corpus: Corpus, concept: int) -> str:
    return corpus.concept_names[concept] if corpus.concept_names else str(concept)


def _short(text: str) -> str:
    """A text on one line, cut."""
    text = re.sub(r"\s+", " ", text)
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "…"
