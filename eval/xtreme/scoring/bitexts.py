"""Retrieval of translations: Tatoeba, a sentence per line, and BUCC, one `id<TAB>sentence` per line.

Tatoeba's queries are the English sentences, sorted as in XTREME so that rows do not reveal the translations. Only the
original files (LASER) have the original rows; XTREME's files have no gold translations. In BUCC most sentences have no
translation, so pairs are mined.

Translations are found by sentence embeddings: nearest neighbours for Tatoeba, mined pairs for BUCC (Hu et al. 2020,
section 3.2; Artetxe and Schwenk 2019, "Margin-based Parallel Corpus Mining", section 3): the margin is the similarity
of two sentences relative to the mean similarity of their neighbours. For BUCC, the paper of XTREME describes plain
cosine, but its program uses the margin.
"""

import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ecsuite.eval.xtreme.scoring.labels import share_right
from ecsuite.eval.xtreme.scoring.task import (
    Bitext,
    Predict,
    XtremeTask,
    columns,
    read_values,
    set_scores,
    stripped_lines,
)
from ecsuite.formats.stored_text import ENDINGS, read_lines
from ecsuite.runtime.errors import ConfigError, shown

NUM_NEIGHBOURS = 4
"""Number of neighbours on each side over which the margin averages."""

Embeddings = NDArray[np.floating[Any]]
"""One row per sentence, shape (num_sentences, width)."""
Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Pair = tuple[str, str]

_ROUNDING = 1e-6
"""Rounding error of a cosine of 0 in single precision."""
_ROWS = 256
"""Number of queries whose similarities to all candidates are in memory at once: 0.5 GB for the largest set of BUCC."""


def nearest(queries: Embeddings, candidates: Embeddings) -> Ints:
    """The row of the candidate with the highest cosine for each query (in a tie the first), shape (num_queries,).

    Raises:
        ValueError: If there are no candidates, or widths differ.
    """
    return _neighbours(_unit(queries), _unit(candidates), 1)[1][:, 0]


def mine_pairs(
    sources: Embeddings, targets: Embeddings, num_neighbours: int = NUM_NEIGHBOURS
) -> tuple[Ints, Ints, Floats]:
    """Select pairs greedily by score; each sentence is in at most one pair.

    The score of a pair is its cosine over the mean cosine of both sentences with their nearest neighbours on the
    other side (the ratio margin). Candidates are the best-scored neighbour of each source and of each target.

    Args:
        sources: Embeddings of one side.
        targets: Embeddings of the other side.
        num_neighbours: Maximum number of neighbours.

    Returns:
        Rows of sources, rows of targets and scores of the pairs, shape (num_pairs,) each, by decreasing score. A score
        is 0 if the mean over neighbours is not above 0.

    Raises:
        ValueError: If one side is empty, or widths differ.
    """
    sources, targets = _unit(sources), _unit(targets)
    source_cosines, targets_near = _neighbours(sources, targets, min(num_neighbours, len(targets)))
    target_cosines, sources_near = _neighbours(targets, sources, min(num_neighbours, len(sources)))
    source_level, target_level = source_cosines.mean(1), target_cosines.mean(1)
    from_sources = _margin(source_cosines, (source_level[:, None] + target_level[targets_near]) / 2)
    from_targets = _margin(target_cosines, (target_level[:, None] + source_level[sources_near]) / 2)
    best_target, score = _best(from_sources, targets_near)
    best_source, target_score = _best(from_targets, sources_near)

    source_rows = np.concatenate((np.arange(len(sources)), best_source))
    target_rows = np.concatenate((best_target, np.arange(len(targets))))
    scores = np.concatenate((score, target_score))
    chosen = []
    paired_sources, paired_targets = np.zeros(len(sources), dtype=bool), np.zeros(len(targets), dtype=bool)
    for pair in np.argsort(-scores, kind="stable"):  # by decreasing score, as a pair excludes later ones
        source, target = source_rows[pair], target_rows[pair]
        if not (paired_sources[source] or paired_targets[target]):
            paired_sources[source] = paired_targets[target] = True
            chosen.append(pair)
    return source_rows[chosen], target_rows[chosen], scores[chosen]


def mine_bitext(bitext: Bitext, sources: Embeddings, targets: Embeddings) -> dict[Pair, float]:
    """Scores of the pairs of names that `mine_pairs` finds in a bitext, best first.

    As in the benchmark's program, sentences with the same text count as one neighbour and are in no pair, as their
    names are ambiguous.
    """
    source_rows, is_source_single = _distinct(bitext.sources)
    target_rows, is_target_single = _distinct(bitext.targets)
    mined = mine_pairs(sources[source_rows], targets[target_rows])
    return {
        (bitext.source_ids[source_rows[source]], bitext.target_ids[target_rows[target]]): float(score)
        for source, target, score in zip(*mined, strict=True)
        if is_source_single[source] and is_target_single[target]
    }


def tune_threshold(scores: Mapping[Pair, float], gold: AbstractSet[Pair]) -> float:
    """The threshold with the highest F1 of the pairs that reach it, for use on other sentences.

    Returns:
        The midpoint between the last accepted score and the next; the first maximum of F1. 0 if no pair is correct.
    """
    values = np.array(list(scores.values()), dtype=np.float64)
    order = np.argsort(-values, kind="stable")
    values = values[order]
    num_right = np.cumsum(np.array([pair in gold for pair in scores], dtype=np.int64)[order])
    if not len(values) or num_right[-1] == 0:
        return 0.0
    # F1 = 2 correct / (accepted + gold); pairs with equal scores are accepted together.
    f1 = 2 * num_right / (np.arange(1, len(values) + 1) + len(gold))
    f1[:-1][values[:-1] == values[1:]] = 0.0
    best = int(f1.argmax())
    following = values[min(best + 1, len(values) - 1)]
    return float((values[best] + following) / 2)


def pairs_above(scores: Mapping[Pair, float], threshold: float) -> set[Pair]:
    """The pairs with at least the threshold score: predictions for BUCC."""
    return {pair for pair, score in scores.items() if score >= threshold}


def _unit(embeddings: Embeddings) -> Floats:
    """Rows normalised to length 1; zero rows stay zero, with cosine 0 to all."""
    if embeddings.ndim != 2 or not len(embeddings):
        raise ValueError(f"expected embeddings of at least one sentence, got shape {embeddings.shape}")
    lengths = np.linalg.norm(embeddings, axis=1, keepdims=True)
    return (embeddings / np.where(lengths > 0, lengths, 1)).astype(np.float32)


def _neighbours(queries: Floats, candidates: Floats, num_neighbours: int) -> tuple[Floats, Ints]:
    """The highest cosines and their candidates, in decreasing order, shape (num_queries, num_neighbours) each."""
    if queries.shape[1] != candidates.shape[1]:
        raise ValueError(f"expected equal widths, got {queries.shape[1]} and {candidates.shape[1]}")
    cosines = np.empty((len(queries), num_neighbours), dtype=np.float32)
    rows = np.empty((len(queries), num_neighbours), dtype=np.int64)
    for begin in range(0, len(queries), _ROWS):
        block = slice(begin, begin + _ROWS)
        values = queries[block] @ candidates.T  # (rows, num_candidates)
        positions = np.arange(len(values))
        for rank in range(num_neighbours):  # faster than a partition for a small number; ties: the first
            best = values.argmax(1)
            rows[block, rank], cosines[block, rank] = best, values[positions, best]
            values[positions, best] = -np.inf
    return cosines, rows


def _margin(cosine: Floats, level: Floats) -> Floats:
    return np.divide(cosine, level, out=np.zeros_like(cosine), where=level > _ROUNDING)


def _best(scores: Floats, rows: Ints) -> tuple[Ints, Floats]:
    """The neighbour with the highest score in each row, and its score."""
    column = scores.argmax(1)[:, None]
    return np.take_along_axis(rows, column, 1)[:, 0], np.take_along_axis(scores, column, 1)[:, 0]


def _distinct(sentences: Sequence[str]) -> tuple[Ints, NDArray[np.bool_]]:
    """The first row of each distinct sentence, and whether that sentence occurs once."""
    numbers: dict[str, int] = {}
    text = np.array([numbers.setdefault(sentence.strip(), len(numbers)) for sentence in sentences])
    _, first, times = np.unique(text, return_index=True, return_counts=True)
    return first, times == 1


NUMBER = "[0-9]{1,18}"
"""Pattern of a row number; Python rejects numbers of thousands of digits."""
_LONGEST_CHARACTER_SEQUENCE = 4


def partner(path: Path, ending: str) -> Path | None:
    """The file with the same stem and another suffix, plain or compressed; None if it does not exist."""
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
        english_ending: Suffix of the English file in the same folder, after the last dot.
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
    """Read named sentences of another language and of English, and the gold translations, if any.

    Args:
        path: The sentences of the other language; `.en` and optionally `.gold` are in the same folder.

    Raises:
        ConfigError: If a file is missing or cannot be read, a line does not have two columns, a name is repeated,
            or a gold pair has an unknown name.
    """
    sources, targets = _read_named(path), _read_named(_require_partner(path, "en"))
    gold_path = partner(path, "gold")
    gold = None if gold_path is None else set[tuple[str, str]]()
    for location, source, target in _rows(gold_path, "the names of two sentences"):
        if source not in sources or target not in targets:
            missing = source if source not in sources else target
            raise ConfigError(f"{location}: expected a sentence name, found {shown(missing)}")
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
        raise ConfigError(f"{path}: expected a file .{ending} of the same name in its folder, found none")
    return other


def _read_named(path: Path) -> dict[str, str]:
    sentences: dict[str, str] = {}
    for location, name, sentence in _rows(path, "a name, a tab and a sentence"):
        if name in sentences:
            raise ConfigError(f"{location}: expected unique names, found {shown(name)} again")
        sentences[name] = sentence
    if not sentences:
        raise ConfigError(f"{path}: expected sentences, found none")
    return sentences


def _rows(path: Path | None, expected: str) -> list[tuple[str, str, str]]:
    """Location and the two columns of each line; empty without a file."""
    rows = []
    for number, line in enumerate(read_lines(path) if path is not None else (), 1):
        first, second = columns(line, f"{path}:{number}", (2,), expected)
        rows.append((f"{path}:{number}", first.strip(), second.strip()))
    return rows


def _characters(task: XtremeTask, folder: Path) -> Predict:
    """The most similar sentence by tf-idf of character n-grams of length 1 to 4."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    def rows(bitext: Bitext) -> list[int]:
        vectorizer = TfidfVectorizer(analyzer="char_wb", ngram_range=(1, _LONGEST_CHARACTER_SEQUENCE))
        vectorizer.fit((*bitext.sources, *bitext.targets))
        similarities = vectorizer.transform(bitext.sources) @ vectorizer.transform(bitext.targets).T
        return [int(row) for row in similarities.toarray().argmax(1)]

    return rows


@dataclass(frozen=True, kw_only=True)
class Retrieval(XtremeTask):
    """Retrieval of translations by the states of sentences, without training."""

    kind = "retrieval"
    group = "retrieval"
    pooling: ClassVar[str] = "mean"
    """Pooling of the states of a sentence into a vector, as in the benchmark's program."""

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
        # One row is correct, the expected number for random rows.
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
        """None: no pair is correct in every bitext."""
        return None

    def _metrics(self, language: str, predictions: Any, labels: Any) -> dict[str, float]:
        return set_scores(set(predictions), set(labels))

    def read_submission(self, predictions: Path, labels: Path) -> tuple[Any, Any]:
        """Read lines of two names separated by a tab, in any order."""
        return _named_pairs(predictions), _named_pairs(labels)


def _row(line: str, location: str) -> int:
    if not re.fullmatch(NUMBER, line):
        raise ConfigError(f"{location}: expected the row of a sentence, 0 or above, got {shown(line)}")
    return int(line)


def _named_pairs(file: Path) -> frozenset[tuple[str, str]]:
    pairs = []
    for number, line in enumerate(stripped_lines(file), 1):
        names = line.split("\t")
        if len(names) != 2 or not all(names):
            raise ConfigError(f"{file}:{number}: expected two names separated by a tab, got {shown(line)}")
        pairs.append((names[0], names[1]))
    return frozenset(pairs)
