"""Tagging, a tag per word: lines `word<TAB>tag`, a blank line after each sentence (XTREME, WikiAnn), and CoNLL-U.

Hu et al. (2020), appendix A, and XTREME's `utils_preprocess.py`; raw sources give the same examples as its files.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from ecsuite.eval.xtreme.scoring.examples import TaggedSentence
from ecsuite.eval.xtreme.scoring.rows_of_text import blocks, columns, one_of, require_as_many, stripped_lines
from ecsuite.eval.xtreme.scoring.span_f1 import span_scores
from ecsuite.eval.xtreme.scoring.task import Predict, Task, most_frequent
from ecsuite.formats.stored_text import read_beginning, read_lines
from ecsuite.runtime.errors import ConfigError, shown

PARTS_OF_SPEECH = tuple(
    "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X".split()
)
"""The universal parts of speech."""
_NUM_HEADER_BYTES = 1 << 16
"""Enough for a line with a word, below any comments."""
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
    prefix = f"{language}:" if language else ""
    sentences: list[TaggedSentence] = []
    num_columns = 0
    for first, lines in blocks(read_lines(path)):
        num_columns = num_columns or lines[0].count("\t") + 1
        rows = [
            _word(line, f"{path}:{number}", num_columns, tags) for number, line in enumerate(lines, first)
        ]
        words, *rest = zip(*rows, strict=True)
        words = tuple(word.removeprefix(prefix) for word in words)
        sentences.append(TaggedSentence(words=words, tags=rest[0] if rest else None))
    if not sentences:
        raise ConfigError(
            f"{path}: expected lines `word<TAB>tag` and a blank line after each sentence, found no sentence"
        )
    return sentences


def _word(line: str, place: str, num_columns: int, tags: Collection[str]) -> list[str]:
    """A word, and its tag if there are two columns."""
    wanted = "a word without tag, as in the first line" if num_columns == 1 else "a word, a tab and a tag"
    word, *tag = row = columns(line, place, (min(num_columns, 2),), wanted)
    if not word:
        raise ConfigError(f"{place}: expected a word before the tab, found nothing")
    if tag == [""]:
        raise ConfigError(f"{place}: no tag after the tab; expected one of {', '.join(sorted(tags))}")
    if tag:
        one_of(tag[0], sorted(tags), place, "tag")
    return row


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


def _read_sentence(
    path: Path, first: int, rows: list[str], priority: list[str]
) -> tuple[list[str], list[str]]:
    """Words and tags of a CoNLL-U sentence."""
    forms: dict[int, str] = {}
    tags: dict[int, str] = {}
    heads: dict[int, int] = {}
    spans: dict[int, tuple[int, str]] = {}
    for number, row in enumerate(rows, first):
        place = f"{path}:{number}"
        if row.startswith("#"):
            continue
        name, form, _, tag, _, _, head, *_ = columns(row, place, (10,), "the 10 columns of CoNLL-U")
        form = form.replace(" ", "").replace(_ZERO_WIDTH_NON_JOINER, "")
        if "." in name:  # an empty node, not in the text
            continue
        match = re.fullmatch(r"([0-9]{1,9})(?:-([0-9]{1,9}))?", name)
        if match is None:
            raise ConfigError(f"{place}: expected a word index such as 1, 1-2 or 1.1, found {shown(name)}")
        index = int(match[1])
        if match[2] is not None:
            spans[index] = (int(match[2]), form)
            continue
        forms[index], tags[index] = form, one_of(tag, PARTS_OF_SPEECH, place, "tag")
        heads[index] = int(head) if re.fullmatch("[0-9]{1,9}", head) else 0

    def order(index: int) -> tuple[int, int]:
        rank = priority.index(tags[index]) if tags[index] in priority else len(priority)
        return _num_ancestors(index, heads), rank

    fused_parts: set[int] = set()
    for start, (end, form) in spans.items():
        parts = range(start, end + 1)
        if not parts or not all(part in tags for part in parts):
            raise ConfigError(
                f"{path}:{first}: expected words {start}-{end} in the sentence, found none or only some"
            )
        forms[start], tags[start] = form, tags[min(parts, key=order)]
        fused_parts.update(parts[1:])
    kept = [index for index in forms if index not in fused_parts]
    return [forms[index] for index in kept], [tags[index] for index in kept]


def _num_ancestors(index: int, heads: dict[int, int]) -> int:
    visited: set[int] = set()
    while index in heads and index not in visited:
        visited.add(index)
        index = heads[index]
    return len(visited)


def _majority(task: Task, folder: Path) -> Predict:
    """The most frequent tag in English."""
    _, labels = task.english_examples(folder)
    tag = most_frequent(chain.from_iterable(labels))
    return lambda examples: [(tag,) * len(sentence.words) for sentence in examples]


def _lexicon(task: Task, folder: Path) -> Predict:
    """The most frequent tag of each English word, ignoring case.

    It tags the words, numbers and punctuation marks that other languages share with English. An unknown word gets the
    most frequent tag of numbers if it consists of digits, else the most frequent tag.
    """
    tags_of: defaultdict[str, list[str]] = defaultdict(list)
    for sentence, tags in zip(*task.english_examples(folder), strict=True):
        for word, tag in zip(sentence.words, tags, strict=True):
            tags_of[word.lower()].append(tag)
    default_tag = most_frequent(chain.from_iterable(tags_of.values()))
    numbers = [tag for word, tags in tags_of.items() if word.isdigit() for tag in tags]
    number_tag = most_frequent(numbers) if numbers else default_tag
    tag_of = {word: most_frequent(tags) for word, tags in tags_of.items()}

    def predict_tag(word: str) -> str:
        return tag_of.get(word.lower()) or (number_tag if word.isdigit() else default_tag)

    return lambda examples: [tuple(map(predict_tag, sentence.words)) for sentence in examples]


@dataclass(frozen=True, kw_only=True)
class Tagging(Task):
    """A tag per word; F1 is over spans of tags."""

    kind = "tagging"
    group = "tagging"
    metrics = ("f1", "precision", "recall")
    main = ("f1",)
    baselines = {"lexicon": _lexicon, "majority": _majority}  # noqa: RUF012

    tags: tuple[str, ...]
    """The valid tags."""

    def _read(self, form: str, paths: Sequence[Path], language: str) -> list[TaggedSentence]:
        if form == "conllu":
            return read_conllu(paths, language)
        return read_tagged(paths[0], self.tags, language=language if form == "wikiann" else "")

    def _is_labelled(self, form: str, path: Path) -> bool:
        return form == "conllu" or has_tags(path)

    def labels(self, examples: Sequence[TaggedSentence]) -> Any:
        """The tags of each sentence."""
        return self._given([sentence.tags for sentence in examples])

    def choices_in(self, examples: Sequence[TaggedSentence]) -> tuple[str, ...]:
        """The tags that occur."""
        return tuple(sorted({tag for sentence in examples for tag in sentence.tags or ()}))

    def constant(self, labels: Any) -> Any:
        """The most frequent tag."""
        tag = most_frequent(chain.from_iterable(labels))
        return [[tag] * len(tags) for tags in labels]

    def _metrics(self, language: str, predictions: Any, labels: Any) -> dict[str, float]:
        return span_scores(predictions, labels)

    def read_submission(self, predictions: Path, labels: Path) -> tuple[Any, Any]:
        """One tag per line, an empty line between sentences, which are of equal number and lengths in both files."""
        predicted, gold = (list(_tags(file)) for file in (predictions, labels))
        for (line, tags), (gold_line, gold_tags) in zip(predicted, gold, strict=False):
            if len(tags) != len(gold_tags):
                raise ConfigError(
                    f"{predictions}:{line}: expected a sentence of {len(gold_tags)} tags as at {labels}:{gold_line}, "
                    f"got {len(tags)}"
                )
        after_last = predicted[-1][0] + len(predicted[-1][1]) + 1 if predicted else 1
        line = predicted[len(gold)][0] if len(predicted) > len(gold) else after_last
        require_as_many(f"{predictions}:{line}", len(predicted), labels, len(gold), "sentences")
        return [tags for _, tags in predicted], [tags for _, tags in gold]


def _tags(file: Path) -> list[tuple[int, list[str]]]:
    """First line number and tags of each sentence."""
    sentences = list(blocks(stripped_lines(file)))
    for first, tags in sentences:
        for number, tag in enumerate(tags, first):
            if len(tag.split()) != 1:
                raise ConfigError(f"{file}:{number}: expected one tag, got {shown(tag)}")
    return sentences
