"""Tasks with labels: a tag per word (POS, NER), or a label per pair of sentences (XNLI, PAWS-X).

**Tagging.** Lines `word<TAB>tag`, a blank line after each sentence (XTREME, WikiAnn), and CoNLL-U. Hu et al. (2020),
appendix A, and XTREME's `utils_preprocess.py`; raw sources give the same examples as its files. The metric is F1 over
spans of tags, as seqeval 0.0.12 counts it (table 1). A tag is split into a prefix, its first character, and a type, the
part after its last hyphen. The benchmark also applies it to tags without prefix such as `NOUN`. There a run of equal
tags is one span, and a wrong tag inside a run splits it; INTJ (`I`), SCONJ and SYM (`S`) accidentally begin with a
prefix letter. Later versions of seqeval drop the first character of a tag instead, so that CCONJ and SCONJ are equal.

**Pairs.** XTREME's columns, and files with named columns (XNLI, MultiNLI, PAWS-X). XTREME wrote its files with Python's
`csv`, which quotes a field that contains a quotation mark and doubles the marks inside; its own programs do not undo
this on reading. We undo it: a field is unquoted if it begins and ends with a quotation mark and all others are
doubled. In files written without quoting, only a sentence that is one quotation loses its outer marks. In files with
named columns, quotation marks are text.
"""

import operator
import re
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from ecsuite.eval.xtreme.scoring.task import (
    Predict,
    TaggedSentence,
    TextPair,
    XtremeTask,
    blocks,
    columns,
    most_frequent,
    most_of,
    one_of,
    read_values,
    require_equal_numbers,
    set_scores,
    stripped_lines,
)
from ecsuite.formats.stored_text import read_beginning, read_lines
from ecsuite.runtime.errors import ConfigError, shown
from ecsuite.runtime.printable import counted

OUTSIDE = "O"
"""Tag of words outside of entities; after a sentence, it ends the last span."""


def span_scores(predicted: Sequence[Sequence[str]], gold: Sequence[Sequence[str]]) -> dict[str, float]:
    """Precision, recall and F1 of the spans of all sentences, and tag accuracy.

    Args:
        predicted: The predicted tags of each sentence; no tag is empty.
        gold: The correct tags, of the same lengths.

    Returns:
        `f1`, `precision`, `recall` and `accuracy`, 0 to 100; 0 if a denominator is 0.

    Raises:
        ValueError: If the sentences differ in number or in length, or a tag is empty.
    """
    if list(map(len, predicted)) != list(map(len, gold)):
        raise ValueError("expected the same number of predicted and gold tags in every sentence")
    # An `O` after each sentence, so that no span continues into the next one.
    flat_predicted, flat_gold = (
        [tag for sentence in sentences for tag in (*sentence, OUTSIDE)] for sentences in (predicted, gold)
    )
    if "" in flat_predicted or "" in flat_gold:
        raise ValueError("expected tags, got an empty tag")
    num_tags = len(flat_gold) - len(gold)
    num_equal = sum(map(str.__eq__, flat_predicted, flat_gold)) - len(gold)
    scores = set_scores(spans(flat_predicted), spans(flat_gold))
    return scores | {"accuracy": num_equal / num_tags * 100 if num_tags else 0.0}


def spans(tags: Sequence[str]) -> set[tuple[int, int, str | None]]:
    """Start, end and type of each span."""
    spans: set[tuple[int, int, str | None]] = set()
    previous_kind: str | None = None
    start, previous = 0, OUTSIDE
    for position, tag in enumerate(tags):
        before, prefix, kind = previous[0], tag[0], tag.rpartition("-")[2]
        is_new = kind != previous_kind
        if before in "ES" or (before in "BI" and prefix in "BSO") or (before not in "O." and is_new):
            spans.add((start, position, previous_kind))
        if prefix in "BS" or (before in "ESO" and prefix in "EI") or (prefix not in "O." and is_new):
            start = position
        previous, previous_kind = tag, kind
    return spans


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
"""Order of tags by language: breaks ties between parts of a split word that are equally near to the root."""


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


def _word(line: str, location: str, num_columns: int, tags: Collection[str]) -> list[str]:
    expected = "a word without tag, as in the first line" if num_columns == 1 else "a word, a tab and a tag"
    word, *tag = row = columns(line, location, (min(num_columns, 2),), expected)
    if not word:
        raise ConfigError(f"{location}: expected a word before the tab, found nothing")
    if tag == [""]:
        raise ConfigError(f"{location}: no tag after the tab; expected one of {', '.join(sorted(tags))}")
    if tag:
        one_of(tag[0], sorted(tags), location, "tag")
    return row


def read_conllu(paths: Sequence[Path], language: str) -> list[TaggedSentence]:
    """Read treebanks as XTREME does: surface words; a word that is split into parts counts as one word.

    A split word gets the tag of its part nearest to the root; of equally near parts, the tag that comes first in
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
        location = f"{path}:{number}"
        if row.startswith("#"):
            continue
        name, form, _, tag, _, _, head, *_ = columns(row, location, (10,), "the 10 columns of CoNLL-U")
        form = form.replace(" ", "").replace(_ZERO_WIDTH_NON_JOINER, "")
        if "." in name:  # an empty node, not in the text
            continue
        match = re.fullmatch(r"([0-9]{1,9})(?:-([0-9]{1,9}))?", name)
        if match is None:
            raise ConfigError(f"{location}: expected a word index such as 1, 1-2 or 1.1, found {shown(name)}")
        index = int(match[1])
        if match[2] is not None:
            spans[index] = (int(match[2]), form)
            continue
        forms[index], tags[index] = form, one_of(tag, PARTS_OF_SPEECH, location, "tag")
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
    surface = [index for index in forms if index not in fused_parts]
    return [forms[index] for index in surface], [tags[index] for index in surface]


def _num_ancestors(index: int, heads: dict[int, int]) -> int:
    visited: set[int] = set()
    while index in heads and index not in visited:
        visited.add(index)
        index = heads[index]
    return len(visited)


def _majority_tag(task: XtremeTask, folder: Path) -> Predict:
    _, labels = task.english_examples(folder)
    tag = most_frequent(chain.from_iterable(labels))
    return lambda examples: [(tag,) * len(sentence.words) for sentence in examples]


def _lexicon(task: XtremeTask, folder: Path) -> Predict:
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
class Tagging(XtremeTask):
    """A tag per word; F1 is over spans of tags."""

    kind = "tagging"
    group = "tagging"
    metrics = ("f1", "precision", "recall")
    main = ("f1",)
    baselines = {"lexicon": _lexicon, "majority": _majority_tag}  # noqa: RUF012

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
        """Read one tag per line and an empty line between sentences; number and lengths must be equal in both files."""
        predicted, gold = (list(_tags(file)) for file in (predictions, labels))
        for (line, tags), (gold_line, gold_tags) in zip(predicted, gold, strict=False):
            if len(tags) != len(gold_tags):
                raise ConfigError(
                    f"{predictions}:{line}: expected a sentence of {len(gold_tags)} tags as at {labels}:{gold_line}, "
                    f"got {len(tags)}"
                )
        after_last = predicted[-1][0] + len(predicted[-1][1]) + 1 if predicted else 1
        line = predicted[len(gold)][0] if len(predicted) > len(gold) else after_last
        require_equal_numbers(f"{predictions}:{line}", len(predicted), labels, len(gold), "sentences")
        return [tags for _, tags in predicted], [tags for _, tags in gold]


def _tags(file: Path) -> list[tuple[int, list[str]]]:
    """First line number and tags of each sentence."""
    sentences = list(blocks(stripped_lines(file)))
    for first, tags in sentences:
        for number, tag in enumerate(tags, first):
            if len(tag.split()) != 1:
                raise ConfigError(f"{file}:{number}: expected one tag, got {shown(tag)}")
    return sentences


FIRST_COLUMNS = ("sentence1", "premise")
"""Names of the column of the first sentence: in XNLI and PAWS-X, and in MultiNLI."""
SECOND_COLUMNS = ("sentence2", "hypo", "hypothesis")
LABEL_COLUMNS = ("gold_label", "label")
LANGUAGE_COLUMN = "language"
"""Column of XNLI, whose files contain all languages."""

_OTHER_NAMES = {"contradictory": "contradiction"}
"""Label names in XNLI's machine translations."""
_NUM_HEADER_BYTES = 1 << 16


def has_labels(path: Path) -> bool:
    """Whether the first line has a third column, or names a label column; fast."""
    first = read_beginning(path, _NUM_HEADER_BYTES).partition("\n")[0].split("\t")
    return len(first) in (3, 5) or any(name in first for name in LABEL_COLUMNS)


def read_pairs(path: Path, labels: Sequence[str]) -> list[TextPair]:
    """Read lines `first<TAB>second<TAB>label`, or without the label if it is withheld.

    Args:
        path: The file.
        labels: The valid labels.

    Raises:
        ConfigError: If the file cannot be read, a line has a different number of columns than the first, or an
            invalid label.
    """
    pairs = []
    lines = read_lines(path)
    is_withheld = bool(lines) and lines[0].count("\t") == 1
    expected = (
        "two sentences without label, as in the first line" if is_withheld else "two sentences and a label"
    )
    for number, line in enumerate(lines, 1):
        location = f"{path}:{number}"
        first, second, *rest = columns(line, location, (2 if is_withheld else 3,), expected)
        label = _label(rest[0], labels, location) if rest else None
        pairs.append(TextPair(first=_unquoted(first), second=_unquoted(second), label=label))
    return _require_pairs(pairs, path, "`first<TAB>second<TAB>label`")


def read_named_pairs(path: Path, labels: Sequence[str], language: str) -> list[TextPair]:
    """Read pairs from a file whose first line names the columns.

    Args:
        path: The file; other columns are ignored.
        labels: The valid labels.
        language: Language of the rows to read, if there is a column `language`.

    Raises:
        ConfigError: If the file cannot be read, lacks a column or rows of the language, or a row does not match the
            first line.
    """
    lines = read_lines(path)
    names = lines[0].split("\t") if lines else []
    first, second, labelled = (
        _column(path, names, choices) for choices in (FIRST_COLUMNS, SECOND_COLUMNS, LABEL_COLUMNS)
    )
    pairs = []
    for number, line in enumerate(lines[1:], 2):
        location = f"{path}:{number}"
        fields = columns(line, location, (len(names),), counted(len(names), "column"))
        if dict(zip(names, fields, strict=True)).get(LANGUAGE_COLUMN, language) == language:
            label = _label(fields[labelled], labels, location)
            pairs.append(TextPair(first=fields[first].strip(), second=fields[second].strip(), label=label))
    return _require_pairs(pairs, path, f"rows in '{language}'")


def read_translated_pairs(path: Path, labels: Sequence[str]) -> list[TextPair]:
    """Read the benchmark's machine translations: pair, translated pair and label, or translated pair and label.

    The label may be withheld if both pairs are given. Malformed lines (a few in the published files) are left out.

    Args:
        path: The file.
        labels: The valid labels.

    Raises:
        ConfigError: If the file cannot be read, or most lines are malformed.
    """

    def parse(numbered: tuple[int, str]) -> TextPair:
        location = f"{path}:{numbered[0]}"
        fields = columns(numbered[1], location, (3, 4, 5), "a pair, its translation and a label")
        first, second, *rest = fields[2:] if len(fields) > 3 else fields
        label = _label(rest[0], labels, location) if rest else None
        return TextPair(first=_unquoted(first), second=_unquoted(second), label=label)

    pairs = most_of(enumerate(read_lines(path), 1), parse)
    return _require_pairs(pairs, path, "translated pairs")


def _require_pairs(pairs: list[TextPair], path: Path, expected: str) -> list[TextPair]:
    if not pairs:
        raise ConfigError(f"{path}: expected {expected}, found no pair")
    return pairs


def _column(path: Path, names: Sequence[str], choices: Sequence[str]) -> int:
    for name in choices:
        if name in names:
            return names.index(name)
    raise ConfigError(
        f"{path}:1: expected a column named {' or '.join(choices)}, found {', '.join(names)[:200]}"
    )


def _label(stored: str, labels: Sequence[str], location: str) -> str:
    return one_of(_OTHER_NAMES.get(stored.strip(), stored.strip()), labels, location)


def _unquoted(field: str) -> str:
    """A field without the quoting of `csv`, if it is quoted."""
    if len(field) > 1 and field[0] == field[-1] == '"':
        inside = field[1:-1].replace('""', "\0")
        if '"' not in inside:
            field = inside.replace("\0", '"')
    return field.strip()


def _majority_label(task: XtremeTask, folder: Path) -> Predict:
    _, labels = task.english_examples(folder)
    label = most_frequent(labels)
    return lambda examples: [label] * len(examples)


def share_right(predictions: Sequence[Any], labels: Sequence[Any]) -> dict[str, float]:
    """The share of predictions that equal their labels."""
    return {"accuracy": sum(map(operator.eq, predictions, labels)) / len(labels) * 100}


@dataclass(frozen=True, kw_only=True)
class PairTask(XtremeTask):
    """A label per pair."""

    kind = "pairs"
    group = "classification"
    metrics = ("accuracy",)
    main = ("accuracy",)
    baselines = {"majority": _majority_label}  # noqa: RUF012

    choices: tuple[str, ...]
    """The valid labels."""

    def _read(self, form: str, paths: Sequence[Path], language: str) -> list[TextPair]:
        if form == "pairs":
            return read_pairs(paths[0], self.choices)
        if form == "translated_pairs":
            return read_translated_pairs(paths[0], self.choices)
        return read_named_pairs(paths[0], self.choices, language)

    def _is_labelled(self, form: str, path: Path) -> bool:
        return has_labels(path)

    def labels(self, examples: Sequence[TextPair]) -> Any:
        """The label of each pair."""
        return self._given([example.label for example in examples])

    def choices_in(self, examples: Sequence[TextPair]) -> tuple[str, ...]:
        """The labels that occur."""
        return tuple(sorted({example.label for example in examples if example.label is not None}))

    def constant(self, labels: Any) -> Any:
        """The most frequent label."""
        return [most_frequent(labels)] * len(labels)

    def _metrics(self, language: str, predictions: Any, labels: Any) -> dict[str, float]:
        return share_right(predictions, labels)

    def read_submission(self, predictions: Path, labels: Path) -> tuple[Any, Any]:
        """Read one label per line; predictions of a generative model may be other text."""
        predicted, gold = read_values(predictions, labels, _one_label)
        if not set(self.choices).intersection(predicted):
            raise ConfigError(
                f"{predictions}:1: expected labels such as {', '.join(self.choices)}, got {shown(predicted[0])}"
            )
        return predicted, gold


def _one_label(line: str, location: str) -> str:
    if not line or "\t" in line:
        raise ConfigError(f"{location}: expected one label, got {shown(line)}")
    return line
