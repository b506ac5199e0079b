"""Reads tagged words: lines `word<TAB>tag`, a blank line after each sentence (XTREME, WikiAnn), and CoNLL-U.

Hu et al. (2020), appendix A, and XTREME's `utils_preprocess.py`; raw sources give the same examples as its files.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from ecsuite.eval.xtreme.scoring.examples import TaggedSentence
from ecsuite.formats.stored_text import num_columns_in_words, read_beginning, read_lines
from ecsuite.runtime.errors import ConfigError, shown

PARTS_OF_SPEECH = tuple(
    "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X".split()
)
"""Tags of udpos: the universal parts of speech."""
ENTITY_TAGS = ("B-LOC", "B-ORG", "B-PER", "I-LOC", "I-ORG", "I-PER", "O")
"""Tags of panx: beginning of an entity, inside one, and outside."""
TAGS: dict[str, tuple[str, ...]] = {"udpos": PARTS_OF_SPEECH, "panx": ENTITY_TAGS}
"""Tags by task."""

_NUM_HEADER_BYTES = 1 << 16
"""Enough for a line with a word, below any comments."""
_NUM_COLUMNS_OF_CONLLU = 10
_ZERO_WIDTH_NON_JOINER = "\u200c"

_TAG_PRIORITY = {
    "es": "VERB AUX PRON ADP DET",
    "fr": "VERB AUX PRON NOUN ADJ ADV ADP DET PART SCONJ CONJ",
    "it": "VERB AUX ADV PRON ADP DET INTJ",
}
_DEFAULT_TAG_PRIORITY = "VERB NOUN PROPN PRON ADJ NUM ADV INTJ AUX ADP DET PART CCONJ SCONJ X PUNCT"
"""Order of tags by language: decides between parts of a fused word that are equally near to the root."""


def has_tags(path: Path) -> bool:
    """Whether the first word of a file has a tag; fast."""
    lines = read_beginning(path, _NUM_HEADER_BYTES).split("\n")
    return "\t" in next((line for line in lines if line and not line.startswith("# ")), "")


def read_tagged(path: Path, tags: Collection[str], *, language: str = "") -> list[TaggedSentence]:
    """Read `word<TAB>tag` lines, or words only if the tags are withheld.

    Args:
        path: The file.
        tags: The valid tags.
        language: Language of the prefix `LANGUAGE:` of WikiAnn's words, which is removed; empty for no prefix.

    Raises:
        ConfigError: If the file cannot be read, a line differs in format from the first, or a tag is unknown.
    """
    lines = read_lines(path)
    prefix = f"{language}:" if language else ""
    known = frozenset(tags)
    sentences = []
    num_columns = 0
    for first, rows in blocks(lines):
        columns = [row.split("\t") for row in rows]
        num_columns = num_columns or len(columns[0])
        for number, row in enumerate(columns, first):
            _require_word(row, num_columns, known, f"{path}:{number}")
        words, *rest = (tuple(column) for column in zip(*columns, strict=True))
        if prefix:
            words = tuple(word.removeprefix(prefix) for word in words)
        sentences.append(TaggedSentence(words=words, tags=rest[0] if rest else None))
    if not sentences:
        raise ConfigError(
            f"{path}: expected lines `word<TAB>tag` and a blank line after each sentence, found no sentence"
        )
    return sentences


def read_conllu(paths: Sequence[Path], language: str) -> list[TaggedSentence]:
    """Read treebanks as XTREME does: surface words, with a word that is split into parts as one.

    Such a fused word gets the tag of its part nearest to the root; of equally near parts, the one that is first in
    XTREME's list for the language. Spaces within a word and zero-width non-joiners are removed; sentences with withheld
    text (all words `_`, except at most one) are skipped.

    Args:
        paths: The files, in the order of the returned sentences.
        language: Code of the language; es, fr and it have their own lists of tags.

    Raises:
        ConfigError: If a file cannot be read, or a line is not a CoNLL-U word with a universal tag.
    """
    priority = _TAG_PRIORITY.get(language, _DEFAULT_TAG_PRIORITY).split()
    sentences = []
    for path in paths:
        for first, rows in blocks(read_lines(path)):
            words, tags = _read_sentence(path, first, rows, priority)
            num_held_back = words.count("_")
            if words and not 0 < num_held_back >= len(words) - 1:
                sentences.append(TaggedSentence(words=tuple(words), tags=tuple(tags)))
    if not sentences:
        raise ConfigError(f"{paths[0]}: expected CoNLL-U with text, found no sentence")
    return sentences


def blocks(lines: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Blocks of lines between blank lines, with the number of the first line, from 1."""
    block: list[str] = []
    for number, line in enumerate(lines, 1):
        if line and not line.isspace():
            block.append(line)
        elif block:
            yield number - len(block), block
            block = []
    if block:
        yield len(lines) + 1 - len(block), block


def _require_word(row: Sequence[str], num_columns: int, known: Collection[str], place: str) -> None:
    """Check the columns of a line: a word, and a tag if there are two columns."""
    if len(row) != num_columns or num_columns > 2:
        wanted = "a word without tag, as in the first line" if num_columns == 1 else "a word, a tab and a tag"
        raise ConfigError(f"{place}: expected {wanted}, found {num_columns_in_words(len(row))}")
    if not row[0]:
        raise ConfigError(f"{place}: expected a word before the tab, found nothing")
    if num_columns == 2 and row[1] not in known:
        found = f"tag {shown(row[1])}" if row[1] else "no tag after the tab"
        raise ConfigError(f"{place}: {found}; expected one of {', '.join(sorted(known))}")


def _read_sentence(
    path: Path, first: int, rows: list[str], priority: list[str]
) -> tuple[list[str], list[str]]:
    """Words and tags of a CoNLL-U sentence."""
    forms: dict[int, str] = {}
    tags: dict[int, str] = {}
    heads: dict[int, int] = {}
    spans: dict[int, tuple[int, str]] = {}
    for number, row in enumerate(rows, first):
        if row.startswith("#"):
            continue
        columns = row.split("\t")
        place = f"{path}:{number}"
        if len(columns) != _NUM_COLUMNS_OF_CONLLU:
            raise ConfigError(
                f"{place}: expected the {_NUM_COLUMNS_OF_CONLLU} columns of CoNLL-U, found {len(columns)}"
            )
        name, form, tag, head = columns[0], columns[1], columns[3], columns[6]
        form = form.replace(" ", "").replace(_ZERO_WIDTH_NON_JOINER, "")
        if "." in name:  # an empty node, not in the text
            continue
        found = re.fullmatch(r"([0-9]{1,9})(?:-([0-9]{1,9}))?", name)
        if found is None:
            raise ConfigError(f"{place}: expected a word index such as 1, 1-2 or 1.1, found {shown(name)}")
        index = int(found[1])
        if found[2] is not None:
            spans[index] = (int(found[2]), form)
            continue
        if tag not in PARTS_OF_SPEECH:
            raise ConfigError(f"{place}: tag {shown(tag)}; expected one of {', '.join(PARTS_OF_SPEECH)}")
        forms[index], tags[index] = form, tag
        heads[index] = int(head) if re.fullmatch("[0-9]{1,9}", head) else 0
    fused_parts: set[int] = set()
    for start_index, (end_index, form) in spans.items():
        parts = range(start_index, end_index + 1)
        if not parts or not all(part in tags for part in parts):
            raise ConfigError(
                f"{path}:{first}: expected words {start_index}-{end_index} in the sentence, found none or only some"
            )
        forms[start_index], tags[start_index] = form, tags[_tag_source(parts, tags, heads, priority)]
        fused_parts.update(parts[1:])
    kept = [index for index in forms if index not in fused_parts]
    return [forms[index] for index in kept], [tags[index] for index in kept]


def _tag_source(
    parts: Sequence[int], tags: dict[int, str], heads: dict[int, int], priority: list[str]
) -> int:
    def order(index: int) -> tuple[int, int]:
        rank = priority.index(tags[index]) if tags[index] in priority else len(priority)
        return _num_ancestors(index, heads), rank

    return min(parts, key=order)


def _num_ancestors(index: int, heads: dict[int, int]) -> int:
    visited: set[int] = set()
    while index in heads and index not in visited:
        visited.add(index)
        index = heads[index]
    return len(visited)
