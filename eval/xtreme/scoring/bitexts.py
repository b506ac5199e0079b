"""Retrieval of translations: Tatoeba, a sentence per line, and BUCC, one `id<TAB>sentence` per line.

Tatoeba's queries are the English sentences, sorted as in XTREME so that rows do not reveal the translations. Only the
original files (LASER) have the original rows; XTREME's files have no gold translations. In BUCC most sentences have no
translation, so pairs are mined.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from ecsuite.eval.xtreme.scoring.examples import Bitext
from ecsuite.eval.xtreme.scoring.pairs import share_right
from ecsuite.eval.xtreme.scoring.rows_of_text import columns, read_values, stripped_lines
from ecsuite.eval.xtreme.scoring.task import Predict, Task, set_scores
from ecsuite.formats.stored_text import ENDINGS, read_lines
from ecsuite.runtime.errors import ConfigError, shown

NUMBER = "[0-9]{1,18}"
"""A row; Python refuses to read numbers of thousands of digits."""
_LONGEST_CHARACTER_SEQUENCE = 4


def partner(path: Path, ending: str) -> Path | None:
    """The file with the same stem and another ending, plain or compressed; None if there is none."""
    name = path.name
    for packed in ENDINGS[1:]:
        name = name.removesuffix(packed)
    stem = name.rpartition(".")[0]
    candidates = (path.with_name(f"{stem}.{ending}{packed}") for packed in ENDINGS)
    return next((other for other in candidates if other.is_file()), None)


def read_tatoeba(path: Path, english_ending: str, *, is_sorted: bool) -> Bitext:
    """Read the sentences of a language and their English translations.

    Args:
        path: The sentences of the language.
        english_ending: Ending of the English file in the same folder, after the last dot.
        is_sorted: Whether the English file is already sorted (XTREME), so that gold translations are unknown.

    Raises:
        ConfigError: If a file is missing or cannot be read, or the numbers of lines differ.
    """
    english_path = _require_partner(path, english_ending)
    targets, english = ([line.strip() for line in read_lines(file)] for file in (path, english_path))
    if len(targets) != len(english):
        raise ConfigError(
            f"{path}: expected {len(english)} lines as in {english_path.name}, found {len(targets)}"
        )
    if not targets:
        raise ConfigError(f"{path}: expected sentences, found none")
    rows = sorted(range(len(english)), key=english.__getitem__)
    names = tuple(map(str, range(len(targets))))
    return Bitext(
        source_ids=names,
        sources=tuple(english[row] for row in rows),
        target_ids=names,
        targets=tuple(targets),
        gold=None if is_sorted else frozenset(zip(names, map(str, rows), strict=True)),
    )


def read_bucc(path: Path) -> Bitext:
    """Read named sentences of another language and of English, and the gold translations if there are any.

    Args:
        path: The sentences of the other language; `.en` and optionally `.gold` are in the same folder.

    Raises:
        ConfigError: If a file is missing or cannot be read, a line does not have two columns, a name is repeated,
            or a gold pair has an unknown name.
    """
    sources, targets = _read_named(path), _read_named(_require_partner(path, "en"))
    gold_path = partner(path, "gold")
    gold = None if gold_path is None else set[tuple[str, str]]()
    for place, source, target in _rows(gold_path, "the names of two sentences"):
        if source not in sources or target not in targets:
            missing = source if source not in sources else target
            raise ConfigError(f"{place}: expected a sentence name, found {shown(missing)}")
        assert gold is not None
        gold.add((source, target))
    return Bitext(
        source_ids=tuple(sources),
        sources=tuple(sources.values()),
        target_ids=tuple(targets),
        targets=tuple(targets.values()),
        gold=None if gold is None else frozenset(gold),
    )


def _require_partner(path: Path, ending: str) -> Path:
    other = partner(path, ending)
    if other is None:
        raise ConfigError(f"{path}: expected a file .{ending} of the same name beside it, found none")
    return other


def _read_named(path: Path) -> dict[str, str]:
    sentences: dict[str, str] = {}
    for place, name, sentence in _rows(path, "a name, a tab and a sentence"):
        if name in sentences:
            raise ConfigError(f"{place}: expected unique names, found {shown(name)} again")
        sentences[name] = sentence
    if not sentences:
        raise ConfigError(f"{path}: expected sentences, found none")
    return sentences


def _rows(path: Path | None, wanted: str) -> list[tuple[str, str, str]]:
    """Place and two columns of each line; no lines without a file."""
    rows = []
    for number, line in enumerate(read_lines(path) if path is not None else (), 1):
        first, second = columns(line, f"{path}:{number}", (2,), wanted)
        rows.append((f"{path}:{number}", first.strip(), second.strip()))
    return rows


def _characters(task: Task, folder: Path) -> Predict:
    """The most similar sentence by tf-idf of character n-grams of length 1 to 4."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    def rows(bitext: Bitext) -> list[int]:
        vectorizer = TfidfVectorizer(analyzer="char_wb", ngram_range=(1, _LONGEST_CHARACTER_SEQUENCE))
        vectorizer.fit((*bitext.sources, *bitext.targets))
        similarities = vectorizer.transform(bitext.sources) @ vectorizer.transform(bitext.targets).T
        return [int(row) for row in similarities.toarray().argmax(1)]

    return rows


@dataclass(frozen=True, kw_only=True)
class Retrieval(Task):
    """Translations, found by the states of sentences without training."""

    kind = "retrieval"
    group = "retrieval"
    pooling: ClassVar[str] = "mean"
    """How the states of a sentence become its vector, as in the benchmark's program."""

    def labels(self, examples: Bitext) -> Any:
        """The gold translations."""
        if examples.gold is None:
            raise ValueError(f"{self.title}: expected gold translations, found none")
        return examples.gold


@dataclass(frozen=True, kw_only=True)
class Tatoeba(Retrieval):
    """The row of the translation of each sentence."""

    metrics = ("accuracy",)
    main = ("accuracy",)
    baselines = {  # noqa: RUF012
        "characters": _characters,
        # One is correct, as many as at random on average.
        "first row": lambda task, folder: lambda bitext: [0] * len(bitext.sources),
    }

    def _read(self, form: str, paths: Sequence[Path], language: str) -> Bitext:
        is_sorted = form == "tatoeba_sorted"
        return read_tatoeba(paths[0], "en" if is_sorted else "eng", is_sorted=is_sorted)

    def _is_labelled(self, form: str, path: Path) -> bool:
        return form == "tatoeba"

    def labels(self, examples: Bitext) -> Any:
        """The row of the translation of each sentence."""
        target_of = dict(super().labels(examples))
        row_of = {name: row for row, name in enumerate(examples.target_ids)}
        return [row_of[target_of[source]] for source in examples.source_ids]

    def constant(self, labels: Any) -> Any:
        """Any fixed row."""
        return [labels[0]] * len(labels)

    def _metrics(self, language: str, predictions: Any, labels: Any) -> dict[str, float]:
        return share_right(predictions, labels)

    def read_submission(self, predictions: Path, labels: Path) -> tuple[Any, Any]:
        """The row of the translation of each sentence, from 0."""
        return read_values(predictions, labels, _row)


@dataclass(frozen=True, kw_only=True)
class Bucc(Retrieval):
    """A set of pairs of names of translations (Zweigenbaum et al. 2017)."""

    metrics = ("f1", "precision", "recall")
    main = ("f1",)
    baselines = {"nothing": lambda task, folder: lambda bitext: set()}  # noqa: RUF012
    is_aligned = False
    pooling = "first"

    def _read(self, form: str, paths: Sequence[Path], language: str) -> Bitext:
        return read_bucc(paths[0])

    def _is_labelled(self, form: str, path: Path) -> bool:
        return partner(path, "gold") is not None

    def constant(self, labels: Any) -> Any:
        """No pair is right in every bitext."""
        return None

    def _metrics(self, language: str, predictions: Any, labels: Any) -> dict[str, float]:
        return set_scores(set(predictions), set(labels))

    def read_submission(self, predictions: Path, labels: Path) -> tuple[Any, Any]:
        """Lines of two names separated by a tab, in any order."""
        return _named_pairs(predictions), _named_pairs(labels)


def _row(line: str, place: str) -> int:
    if not re.fullmatch(NUMBER, line):
        raise ConfigError(f"{place}: expected the row of a sentence, 0 or above, got {shown(line)}")
    return int(line)


def _named_pairs(file: Path) -> frozenset[tuple[str, str]]:
    pairs = []
    for number, line in enumerate(stripped_lines(file), 1):
        names = line.split("\t")
        if len(names) != 2 or not all(names):
            raise ConfigError(f"{file}:{number}: expected two names separated by a tab, got {shown(line)}")
        pairs.append((names[0], names[1]))
    return frozenset(pairs)
