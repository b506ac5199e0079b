"""Tagged words: a line `word<TAB>tag` each, a blank line after a sentence; of XTREME, of WikiAnn, and of CoNLL-U.

Hu et al. (2020), appendix A, and XTREME's `utils_preprocess.py`, with whose files those of the raw sources agree.
"""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from ecsuite.config import ConfigError
from ecsuite.eval.xtreme.scoring.examples import TaggedSentence
from ecsuite.eval.xtreme.scoring.stored_text import num_columns_in_words, read_beginning, read_lines

PARTS_OF_SPEECH = tuple(
    "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X".split()
)
"""Tags of udpos: the universal ones."""
ENTITY_TAGS = ("B-LOC", "B-ORG", "B-PER", "I-LOC", "I-ORG", "I-PER", "O")
"""Tags of panx: where an entity begins, where it goes on, and outside."""
TAGS: dict[str, tuple[str, ...]] = {"udpos": PARTS_OF_SPEECH, "panx": ENTITY_TAGS}
"""By task."""

_NUM_BYTES_OF_BEGINNING = 1 << 16
"""Enough for a line with a word, below any comments."""
_NUM_COLUMNS_OF_CONLLU = 10
_ZERO_WIDTH_NON_JOINER = "\u200c"

_RANKS = {
    "es": "VERB AUX PRON ADP DET",
    "fr": "VERB AUX PRON NOUN ADJ ADV ADP DET PART SCONJ CONJ",
    "it": "VERB AUX ADV PRON ADP DET INTJ",
}
_RANKS_ELSE = "VERB NOUN PROPN PRON ADJ NUM ADV INTJ AUX ADP DET PART CCONJ SCONJ X PUNCT"
"""Which of a fused word's parts gives its tag, of those that are nearest to the root."""


def has_tags(path: Path) -> bool:
    """Whether the first word of a file has a tag; quick."""
    lines = read_beginning(path, _NUM_BYTES_OF_BEGINNING).split("\n")
    return "\t" in next((line for line in lines if line and not line.startswith("# ")), "")


def read_tagged(path: Path, tags: Collection[str], *, language: str = "") -> list[TaggedSentence]:
    """Read `word<TAB>tag` lines, or words alone where the tags are held back.

    Args:
        path: The file.
        tags: Which there may be.
        language: A prefix `LANGUAGE:` that WikiAnn's words have, to be removed; none if empty.

    Raises:
        ConfigError: If the file cannot be read, a line has another form than the first, or a tag is unknown.
    """
    lines = read_lines(path)
    prefix = f"{language}:" if language else ""
    known = frozenset(tags)
    sentences = []
    num_columns = 0
    for first, rows in _blocks(lines):
        columns = [row.split("\t") for row in rows]
        num_columns = num_columns or len(columns[0])
        good = {len(row) for row in columns} == {num_columns} and num_columns in (1, 2)
        if good:
            words, *rest = (tuple(column) for column in zip(*columns, strict=True))
            found = rest[0] if rest else None
            good = all(words) and (found is None or known.issuperset(found))
        if not good:
            raise _fault(path, first, columns, num_columns, known)
        if prefix:
            words = tuple(word.removeprefix(prefix) for word in words)
        sentences.append(TaggedSentence(words=words, tags=found))
    if not sentences:
        raise ConfigError(
            f"{path}: no sentence in it; expected lines `word<TAB>tag` and a blank line after a sentence"
        )
    return sentences


def read_conllu(paths: Sequence[Path], language: str) -> list[TaggedSentence]:
    """Read treebanks as XTREME does: the words of the text, a word that was split into parts as one.

    Such a fused word has the tag of its part nearest to the root; where two are equally near, of the one that XTREME's
    list for the language puts first. Spaces within a word and zero-width non-joiners are removed; sentences whose text
    is held back (words `_`, at most one not) are left out.

    Args:
        paths: The files, in the order in which their sentences are wanted.
        language: Its code; es, fr and it have lists of their own.

    Raises:
        ConfigError: If a file cannot be read, or a line is no word of CoNLL-U with a universal tag.
    """
    ranks = _RANKS.get(language, _RANKS_ELSE).split()
    sentences = []
    for path in paths:
        for first, rows in _blocks(read_lines(path)):
            words, tags = _fused(path, first, rows, ranks)
            num_held_back = words.count("_")
            if words and not 0 < num_held_back >= len(words) - 1:
                sentences.append(TaggedSentence(words=tuple(words), tags=tuple(tags)))
    if not sentences:
        raise ConfigError(f"{paths[0]}: no sentence in it; expected CoNLL-U with text")
    return sentences


def _blocks(lines: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """The lines between blank ones, with the number of their first, from 1."""
    block: list[str] = []
    for number, line in enumerate(lines, 1):
        if line and not line.isspace():
            block.append(line)
        elif block:
            yield number - len(block), block
            block = []
    if block:
        yield len(lines) + 1 - len(block), block


def _fault(
    path: Path, first: int, columns: list[list[str]], num_columns: int, known: frozenset[str]
) -> ConfigError:
    """What is wrong with the first line of a block that is not as the others."""
    for number, row in enumerate(columns, first):
        place = f"{path}:{number}"
        if len(row) != num_columns or num_columns > 2:
            wanted = "a word alone, as in the first line" if num_columns == 1 else "a word, a tab and a tag"
            return ConfigError(f"{place}: expected {wanted}, found {num_columns_in_words(len(row))}")
        if not row[0]:
            return ConfigError(f"{place}: expected a word before the tab, found nothing")
        if num_columns == 2 and row[1] not in known:
            found = f"tag '{row[1]}'" if row[1] else "no tag after the tab"
            return ConfigError(f"{place}: {found}; expected one of {', '.join(sorted(known))}")
    raise AssertionError("called for a block without fault")


def _fused(path: Path, first: int, rows: list[str], ranks: list[str]) -> tuple[list[str], list[str]]:
    """Words and tags of a sentence."""
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
        start, dash, end = name.partition("-")
        if "." in name:  # a word that the text does not have
            continue
        if not start.isdigit() or (dash and not end.isdigit()):
            raise ConfigError(f"{place}: '{name}' numbers no word; expected such as 1, 1-2 or 1.1")
        if dash:
            spans[int(start)] = (int(end), form)
            continue
        if tag not in PARTS_OF_SPEECH:
            raise ConfigError(f"{place}: tag '{tag}'; expected one of {', '.join(PARTS_OF_SPEECH)}")
        index = int(start)
        forms[index], tags[index] = form, tag
        heads[index] = int(head) if head.isdigit() else 0
    inside: set[int] = set()
    for start_index, (end_index, form) in spans.items():
        parts = range(start_index, end_index + 1)
        if not parts or not all(part in tags for part in parts):
            raise ConfigError(
                f"{path}:{first}: words {start_index}-{end_index} of the sentence are not in it"
            )
        forms[start_index], tags[start_index] = form, tags[_tag_giver(parts, tags, heads, ranks)]
        inside.update(parts[1:])
    kept = [index for index in forms if index not in inside]
    return [forms[index] for index in kept], [tags[index] for index in kept]


def _tag_giver(parts: Sequence[int], tags: dict[int, str], heads: dict[int, int], ranks: list[str]) -> int:
    def order(index: int) -> tuple[int, int]:
        rank = ranks.index(tags[index]) if tags[index] in ranks else len(ranks)
        return _num_ancestors(index, heads), rank

    return min(parts, key=order)


def _num_ancestors(index: int, heads: dict[int, int]) -> int:
    seen: set[int] = set()
    while index in heads and index not in seen:
        seen.add(index)
        index = heads[index]
    return len(seen)
