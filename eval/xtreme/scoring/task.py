"""A task of XTREME as one object: where its files are, how they are read, and how predictions are scored.

A data folder has one subfolder per task (and `squad`, the training data of xquad and mlqa), with the files of XTREME's
scripts or of the tasks' authors, each plain, `.xz` or `.gz`. If both exist, the first with labels is read, as XTREME
removes the labels from its test files. Examples do not depend on file formats; errors name file and line.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from ecsuite.downloads.languages import LANGUAGES
from ecsuite.eval.xtreme.scoring import TRANSLATED
from ecsuite.formats.stored_text import ENDINGS, read_lines
from ecsuite.runtime.errors import ConfigError, look_up, shown, unknown_name
from ecsuite.runtime.printable import counted


@dataclass(frozen=True, kw_only=True, slots=True)
class TaggedSentence:
    """Words with one tag each."""

    words: tuple[str, ...]
    """The words; at least one."""
    tags: tuple[str, ...] | None
    """One tag per word; None if the tags are withheld."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TextPair:
    """Two sentences and their relation."""

    first: str
    """The premise, or the first sentence."""
    second: str
    """The hypothesis, or the second sentence."""
    label: str | None
    """The relation; None if it is withheld."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """A span of a context."""

    text: str
    """Text of the answer."""
    start: int
    """Position of its first character in the context."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ExtractiveQuestion:
    """A question about a context that contains its answer."""

    id: str
    """Identifier in predictions."""
    question: str
    """Text of the question."""
    context: str
    """Text that contains the answer."""
    answers: tuple[Answer, ...]
    """All correct answers; empty if they are withheld."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Bitext:
    """Sentences in two languages, some of which are translations of each other."""

    source_ids: tuple[str, ...]
    """Names of the query sentences; for Tatoeba their rows, "0" and so on."""
    sources: tuple[str, ...]
    """The query sentences; for Tatoeba the English ones, sorted."""
    target_ids: tuple[str, ...]
    """Names of the candidate sentences."""
    targets: tuple[str, ...]
    """The candidate sentences."""
    gold: frozenset[tuple[str, str]] | None
    """Pairs of names of translations; None if they are withheld."""


ENGLISH = "en"
"""The training language of tasks, whose labels baselines may use."""
SPLITS = ("train", "dev", "test")

Metrics = Mapping[str, float]
"""Metrics of one language, 0 to 100."""
Predict = Callable[[Any], Any]
"""Function from examples to predictions for `XtremeTask.score`."""
Fit = Callable[[Any, Path], Predict]
"""Function from a task and the data folder to a baseline."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FileLayout:
    """Paths and format of the files of a task."""

    pattern: str
    """Path with placeholders {language}, {iso3}, {name} (English, lower case) and {split}; * matches anything."""
    format: str
    """A format of files that the kind of task reads."""
    splits: Mapping[str, str] = field(default_factory=lambda: dict(zip(SPLITS, SPLITS, strict=True)))
    """Name of each available split in file names."""
    languages: tuple[str, ...] | None = None
    """Languages of files without a language in their names; None if the name has it."""

    def relative(self, language: str, split: str) -> str:
        """Path of the file relative to the folder."""
        iso3 = LANGUAGES[language].iso3 if language in LANGUAGES else language
        return self.pattern.format(
            language=language, iso3=iso3, name=english_name(language), split=self.splits[split]
        )

    def files(self, folder: Path, language: str, split: str) -> list[Path]:
        """The files of a split in the order of their names; a plain and a compressed copy count once."""
        if split not in self.splits or (self.languages is not None and language not in self.languages):
            return []
        relative = self.relative(language, split)
        if "*" not in relative:
            return [path for ending in ENDINGS if (path := folder / f"{relative}{ending}").is_file()][:1]
        by_name: dict[str, Path] = {}
        for path in sorted(folder.glob(f"{relative}*"), key=lambda path: path.name):
            if path.suffix in (".conllu", *ENDINGS):
                by_name.setdefault(path.name.removesuffix(".xz").removesuffix(".gz"), path)
        return list(by_name.values())


@dataclass(frozen=True, kw_only=True)
class XtremeTask(ABC):
    """A task of the benchmark; a subclass is a kind of task."""

    kind: ClassVar[str]
    """Kind of prediction: a label per pair, a tag per word, a span of a context, or a translation."""
    group: ClassVar[str]
    """Group of tasks over which scores are averaged."""
    metrics: ClassVar[tuple[str, ...]]
    """Metrics that the benchmark's program reports."""
    main: ClassVar[tuple[str, ...]]
    """The metrics whose mean is the task's score; the first is used for the transfer gap."""
    baselines: ClassVar[Mapping[str, Fit]]
    """Baselines without a model by name, the strongest first: a score below it shows no learning."""
    is_aligned: ClassVar[bool] = True
    """Whether there is one prediction per label, in the same order."""
    ending: ClassVar[str] = "tsv"
    """Suffix of the files of predictions and labels."""

    name: str
    """Name of its folder in the benchmark."""
    title: str
    """Name in tables."""
    about: str
    """Metrics and numbers of examples as published (table 1): in English, and of the test set in each language."""
    short_title: str = ""
    """Name in narrow columns, if the title is too long."""
    languages: tuple[str, ...]
    """Codes of the test languages; for retrieval, of the languages paired with English."""
    substitute: str = ""
    """The task whose training data replace missing training data of this task; the output notes this."""
    dev_is_apart: bool = True
    """Whether the test split is independent of the dev split."""
    layouts: tuple[FileLayout, ...]
    """Layouts of the files, XTREME's own first (except for Tatoeba, where XTREME's has no gold translations)."""

    @abstractmethod
    def labels(self, examples: Any) -> Any:
        """The labels of examples, for `score`.

        Raises:
            ValueError: If an example has no label.
        """

    def choices_in(self, examples: Any) -> tuple[str, ...]:
        """The labels that occur, in alphabetical order; empty for tasks without a choice of labels."""
        return ()

    @abstractmethod
    def constant(self, labels: Any) -> Any:
        """The best constant prediction; None if there is none."""

    @abstractmethod
    def read_submission(self, predictions: Path, labels: Path) -> tuple[Any, Any]:
        """Read predictions and labels of one language from their files, for `score`.

        Raises:
            ConfigError: With file and line, if a file is malformed or the two do not match.
        """

    @abstractmethod
    def _read(self, form: str, paths: Sequence[Path], language: str) -> Any:
        """Read the examples of files of a format."""

    @abstractmethod
    def _is_labelled(self, form: str, path: Path) -> bool:
        """Whether files of a format have labels, judged quickly by the first file."""

    @abstractmethod
    def _metrics(self, language: str, predictions: Any, labels: Any) -> dict[str, float]:
        """The metrics of checked predictions."""

    def score(self, language: str, predictions: Any, labels: Any) -> dict[str, float]:
        """Score predictions of one language.

        Args:
            language: Code of the language.
            predictions: A sequence of labels (pairs) or of tag sequences (tagging), answers by question (questions), a
                sequence with the row of the target for each source (Tatoeba), or a set of pairs of names (BUCC).
            labels: As from `labels`.

        Returns:
            The task's metrics, 0 to 100; for tagging also `accuracy`, the share of correct tags.

        Raises:
            ConfigError: If MLQA has no such language.
            ValueError: If there are no labels, or the numbers of predictions and labels differ.
        """
        if not labels:
            raise ValueError(f"{self.title}: expected labels, found none")
        if self.is_aligned and len(predictions) != len(labels):
            raise ValueError(
                f"{self.title}: expected a prediction for each of {len(labels)} labels, got {len(predictions)}"
            )
        return self._metrics(language, predictions, labels)

    def chance(self, language: str, labels: Any) -> dict[str, float]:
        """Chance level: the metrics of the best constant prediction, 0 if there is none."""
        constant = self.constant(labels)
        return (
            dict.fromkeys(self.metrics, 0.0) if constant is None else self.score(language, constant, labels)
        )

    def fit_baseline(self, folder: Path, baseline: str = "") -> Predict:
        """A function from examples to predictions, without a model.

        Args:
            folder: The data folder; pairs and tagging need labels in English.
            baseline: A name in `baselines`; empty for the first.

        Raises:
            ConfigError: If the baseline is unknown, or data or labels are missing.
        """
        return look_up("baseline", baseline or next(iter(self.baselines)), self.baselines)(self, folder)

    def english_examples(self, folder: Path) -> tuple[Any, Any]:
        """Examples in English, and their labels: train, else dev.

        Raises:
            ConfigError: If data or labels are missing.
        """
        split = "train" if self.is_labelled(folder, ENGLISH, "train") else "dev"
        examples = self.read(folder, ENGLISH, split)
        try:
            return examples, self.labels(examples)
        except ValueError:
            raise ConfigError(
                f"{folder}: expected labels of {self.name} in '{ENGLISH}' ({split}), found none"
            ) from None

    def read(self, folder: Path, language: str, split: str) -> Any:
        """The examples of a language, in the order of the file.

        Args:
            folder: The folder with one subfolder per task.
            language: Code of two letters.
            split: train, dev or test, or a name in `TRANSLATED`. As in XTREME, test is the authors' dev split for
                tydiqa and their training split for bucc2018; train of xquad and mlqa is SQuAD's.

        Returns:
            Tagged sentences, pairs, questions or a bitext, by the kind of the task; without labels if the file has
            none.

        Raises:
            ConfigError: If data are missing or malformed (with file and line).
        """
        stored = self.find(folder, language, split)
        if stored is None:
            patterns = [layout.relative(language, split) for layout in self.layouts if split in layout.splits]
            if not patterns:
                raise ConfigError(f"{self.name} has no {TRANSLATED.get(split, split)}")
            languages = ", ".join(self.available(folder, split)) or "none"
            raise ConfigError(
                f"{folder}: expected {TRANSLATED.get(split, split)} of {self.name} in '{language}', such as "
                f"{patterns[0]}, found none; available languages: {languages}"
            )
        layout, paths = stored
        return self._read(layout.format, paths, language)

    def find(self, folder: Path, language: str, split: str) -> tuple[FileLayout, list[Path]] | None:
        """The first layout with labels, else the first layout, with its files; None without files.

        Raises:
            ConfigError: If there is no such split, or a file cannot be opened.
        """
        if split not in (*SPLITS, *TRANSLATED):
            raise unknown_name("split", split, (*SPLITS, *TRANSLATED))
        stored = [
            (layout, files) for layout in self.layouts if (files := layout.files(folder, language, split))
        ]
        labelled = (
            each for each in stored if len(stored) == 1 or self._is_labelled(each[0].format, each[1][0])
        )
        return next(labelled, stored[0] if stored else None)

    def available(self, folder: Path, split: str) -> tuple[str, ...]:
        """Languages with a split, labelled or not: the task's languages in its order, then other known languages."""
        candidates = dict.fromkeys((*self.languages, *LANGUAGES))
        return tuple(language for language in candidates if self.find(folder, language, split))

    def scored_split(self, folder: Path, language: str) -> str | None:
        """The split for scoring: test if it has labels, else dev if it has labels, else None."""
        return next((split for split in ("test", "dev") if self.is_labelled(folder, language, split)), None)

    def is_labelled(self, folder: Path, language: str, split: str) -> bool:
        """Whether there is such a split, with labels."""
        stored = self.find(folder, language, split)
        return stored is not None and self._is_labelled(stored[0].format, stored[1][0])

    def _given(self, labels: list[Any]) -> list[Any]:
        """Return labels; raise if one is withheld."""
        if None in labels:
            raise ValueError(f"{self.title}: example {labels.index(None)} has no label")
        return labels


Stored = TypeVar("Stored")
Example = TypeVar("Example")


def most_of(stored: Iterable[Stored], parse: Callable[[Stored], Example]) -> list[Example]:
    """Parse examples, skipping malformed ones (the benchmark's machine translations have a few).

    Raises:
        ConfigError: If most examples are malformed, as in the file of another task; it is the first error.
    """
    examples: list[Example] = []
    errors: list[ConfigError] = []
    for each in stored:
        try:
            examples.append(parse(each))
        except ConfigError as error:
            errors.append(error)
    if len(errors) > len(examples):
        raise errors[0]
    return examples


def most_frequent(labels: Iterable[str]) -> str:
    """The most frequent label; in a tie the first."""
    return Counter(labels).most_common(1)[0][0]


def set_scores(predicted: "set[Any] | frozenset[Any]", gold: "set[Any] | frozenset[Any]") -> dict[str, float]:
    """F1, precision and recall of a set of pairs or spans, 0 to 100; 0 if a denominator is 0."""
    num_right = len(predicted & gold)
    precision = num_right / len(predicted) if predicted else 0.0
    recall = num_right / len(gold) if gold else 0.0
    f1 = 2 * precision * recall / (precision + recall) if num_right else 0.0
    return {"f1": f1 * 100, "precision": precision * 100, "recall": recall * 100}


def english_name(language: str) -> str:
    """The English name of a language in lower case; the code if it is unknown."""
    return LANGUAGES[language].name.lower() if language in LANGUAGES else language


def columns(line: str, location: str, numbers: Container[int], expected: str) -> list[str]:
    """The columns of a line, whose number must be one of `numbers`."""
    fields = line.split("\t")
    if len(fields) not in numbers:
        raise ConfigError(f"{location}: expected {expected}, found {counted(len(fields), 'column')}")
    return fields


def one_of(label: str, labels: Sequence[str], location: str, name: str = "label") -> str:
    """Return a label, which must be one of `labels`."""
    if label not in labels:
        raise ConfigError(f"{location}: {name} {shown(label)}; expected one of {', '.join(labels)}")
    return label


def blocks(lines: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Blocks of lines between blank lines, with the number of the first line, from 1."""
    block: list[str] = []
    for number, line in enumerate((*lines, ""), 1):
        if line and not line.isspace():
            block.append(line)
        elif block:
            yield number - len(block), block
            block = []


def stripped_lines(file: Path) -> list[str]:
    """Stripped lines, without empty lines at the end."""
    lines = [line.strip() for line in read_lines(file)]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def read_values(
    predictions: Path, labels: Path, parse: Callable[[str, str], Any]
) -> tuple[list[Any], list[Any]]:
    """Read one value per line of two files of equal length; `parse` gets a line and its location."""
    predicted, gold = (
        [parse(line, f"{file}:{number}") for number, line in enumerate(stripped_lines(file), 1)]
        for file in (predictions, labels)
    )
    location = f"{predictions}:{min(len(predicted), len(gold)) + 1}"
    require_equal_numbers(location, len(predicted), labels, len(gold), "labels")
    return predicted, gold


def require_equal_numbers(location: str, num_predicted: int, labels: Path, num_right: int, unit: str) -> None:
    """Raise an error if numbers differ; `location` is the first missing or surplus line."""
    if num_right == 0:
        raise ConfigError(f"{labels}: expected {unit}, the file has none")
    if num_predicted != num_right:
        raise ConfigError(f"{location}: expected {num_right:,} {unit} as in {labels}, got {num_predicted:,}")
