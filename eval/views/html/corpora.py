"""Messages of corpora for the page's browser: meanings, counts, translations of words, pictures of objects."""

import base64
import re
from collections import Counter
from collections.abc import Sequence
from io import BytesIO
from typing import Any

import numpy as np

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics.cbm import translate
from ecsuite.eval.results.files import Messages
from ecsuite.eval.results.sources import Source
from ecsuite.eval.views.figures.canvas import ink_on
from ecsuite.eval.views.language import (
    MOST_SYMBOLS,
    NUM_EXAMPLES,
    PALE,
    LanguageView,
    example_indices,
    heading,
    meaning_text,
    message_text,
)
from ecsuite.formats.corpora import Reading
from ecsuite.games.pictures.corpora import DRAWN, LISTED, corpus_pictures
from ecsuite.runtime.errors import ConfigError, CorpusError, missing_extra

BUDGET = 3_000_000
"""Maximum number of characters of all messages on a page."""
MAX_CORPORA = 100
"""Maximum number of corpora on a page."""
MAX_ROWS = 20_000
"""Maximum number of distinct pairs of message and meaning per corpus."""
MAX_TABLE = 4_000_000
"""Maximum size (words times concepts) of a matching for translations."""
MAX_TEXT = 200
"""Maximum number of characters of a meaning."""
PICTURES = 1_200_000
"""Maximum number of characters of all pictures on a page."""
MAX_PICTURES = 1_000
"""Maximum number of pictures per corpus."""
QUALITY = 80
"""WebP quality, 0-100."""


def corpora_data(sources: Sequence[Source], reading: Reading) -> tuple[list[dict[str, Any]], list[str]]:
    """Messages of the sources, JSON-ready, and notes on omissions.

    From runs that differ only in their seed, the first one is taken first, so that every setting has a corpus.

    Args:
        sources: The sources.
        reading: Reading options for corpora of other tools.
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
            f"this page has {MAX_CORPORA} of {len(with_corpus)} corpora; for another, type `ecsuite report RUN`"
        )
    num_with_pictures = sum(has_pictures(with_corpus[place]) for place in chosen)
    found = []
    for place in chosen:
        source = with_corpus[place]
        try:
            assert source.corpus is not None
            messages = Messages(source.corpus, source.how)
            language = LanguageView(messages.read(Reading() if source.is_run else reading))
        except (CorpusError, ConfigError, OSError) as error:
            notes.append(f"{source.title}: {error}")
            continue
        data, rows = corpus_data(language, source, BUDGET // len(chosen))
        if num_with_pictures and has_pictures(source):
            note = add_thumbnails(data, source, language.corpus, rows, PICTURES // num_with_pictures)
            notes += [note] if note else []
        found.append(data)
    return found, notes


def corpus_data(language: LanguageView, source: Source, budget: int) -> tuple[dict[str, Any], list[int]]:
    """Data of one corpus: examples and its most used messages with meanings, within `budget` characters.

    Returns:
        JSON-ready data, and the index of the first message of each of its rows.
    """
    assert source.corpus is not None
    _, lines = heading(language, source.folder or source.corpus)
    texts: dict[str, int] = {}
    meanings: list[list[str]] = []  # concepts
    spelt: list[str | None] = []  # texts of meanings, unless they are the concepts joined by spaces
    ids: dict[Any, int] = {}
    of_row = []
    for index in range(len(language)):
        names, shown = tuple(language.concepts(index)), meaning_text(language.corpus, index) or ""
        meaning_key = names, shown
        if meaning_key not in ids:
            ids[meaning_key] = len(meanings)
            meanings.append(list(names) or [shown])
            spelt.append(None if shown == " ".join(meanings[-1]) else _short(shown))
        of_row.append(ids[meaning_key])
    uses = Counter(language.messages)
    all_pairs = list(zip(language.messages, of_row, strict=True))
    pairs = Counter(all_pairs)
    first = {pair: len(all_pairs) - 1 - place for place, pair in enumerate(reversed(all_pairs))}
    examples = dict.fromkeys(all_pairs[index] for index in example_indices(language.corpus, NUM_EXAMPLES))
    ordered = sorted(
        pairs, key=lambda pair: (pair not in examples, -uses[pair[0]], pair[0], -pairs[pair], pair[1])
    )
    rows: list[list[Any]] = []
    shown_messages: dict[tuple[int, ...], int] = {}
    shown_meanings: dict[int, int] = {}
    size = 0
    for pair in ordered[:MAX_ROWS]:
        message, meaning = pair
        size += 12
        size += 0 if message in shown_messages else 5 * min(len(message), MOST_SYMBOLS) + 12
        size += 0 if meaning in shown_meanings else 8 * len(meanings[meaning]) + len(spelt[meaning] or "") + 4
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
        "spelt": [spelt[meaning] for meaning in shown_meanings],
        "rows": rows,
        "symbols": {
            str(symbol): [_short(message_text(language.corpus, (symbol,))), colour, ink_on(colour)]
            for symbol in sorted(set().union(*shown_messages))
            for colour in [language.colours.get(symbol, PALE)]
        },
        "translations": _translations(language.corpus, texts),
        "pictures": [],
        "picture_of_row": [],
    }
    return data, [first[pair] for pair in ordered[: len(rows)]]


def _translations(corpus: Corpus, texts: dict[str, int]) -> dict[str, list[Any]]:
    """Symbols with their concept in the best matching, the number of co-occurrences, and the share of uses."""
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
    names = corpus.concept_names
    return {
        str(word): [_short(names[concept] if names else str(concept)), weight, round(share, 3)]
        for word, concept, weight, (share, _) in zip(
            words, concepts, weights, found.shares().tolist(), strict=True
        )
    }


def _short(text: str) -> str:
    text = re.sub(r"\s+", " ", text)
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "…"


def has_pictures(source: Source) -> bool:
    """Whether the objects of a source can be shown as pictures."""
    return (
        source.is_run and source.folder is not None and source.config.get("world.kind") in (*LISTED, *DRAWN)
    )


def thumbnails(
    source: Source, corpus: Corpus, rows: Sequence[int], budget: int
) -> tuple[list[list[str]], list[int]]:
    """Pictures of some rows of a corpus, most important first, within `budget` characters.

    Returns:
        The distinct pictures, each as a data URL and a description; and the index of each row's picture, for as many
        rows as fit, -1 without one.

    Raises:
        ConfigError: If Pillow is not installed, or pictures can't be made.
    """
    try:
        from PIL import Image
    except ImportError:
        raise missing_extra("pictures of objects need pillow", "images") from None
    assert source.folder is not None
    found = corpus_pictures(source.folder, corpus, rows[:MAX_PICTURES])
    places: dict[tuple[str, str], int] = {}
    of_row: list[int] = []
    size = 0
    for row in rows[:MAX_PICTURES]:
        if row not in found:
            of_row.append(-1)
            continue
        pixels, about = found[row]
        buffer = BytesIO()
        Image.fromarray(pixels).save(buffer, format="WEBP", quality=QUALITY, method=4)
        picture = (f"data:image/webp;base64,{base64.b64encode(buffer.getvalue()).decode()}", about)
        if picture not in places:
            size += sum(map(len, picture)) + 8
            if size > budget:
                break
        of_row.append(places.setdefault(picture, len(places)))
    return [list(picture) for picture in places], of_row


def add_thumbnails(
    data: dict[str, Any], source: Source, corpus: Corpus, rows: Sequence[int], budget: int
) -> str | None:
    """Add pictures to the data of a corpus; return a note if they can't be made."""
    try:
        data["pictures"], data["picture_of_row"] = thumbnails(source, corpus, rows, budget)
    except (ConfigError, OSError) as error:
        return f"{source.title}: no pictures of its objects: {error}"
    return None
