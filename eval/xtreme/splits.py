"""Training and test examples of tasks: which split of the data is used, and what identifies it."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from ecsuite.config import ConfigError
from ecsuite.eval.xtreme.scoring.examples import Bitext, TaggedSentence
from ecsuite.eval.xtreme.scoring.reading import find_file, read_examples, scored_split
from ecsuite.eval.xtreme.scoring.tasks import TASKS

NUM_PARTS = 5
"""If a language has one labelled split, it is cut into this many parts: the last is the test set, the rest training."""
ENGLISH = "en"
SUBSTITUTES = {"xquad": "tydiqa", "mlqa": "tydiqa"}
"""Tasks whose training data replace SQuAD if it is missing; the output notes this."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ExampleSet:
    """Examples of a task in a language: known by their content, not by their place."""

    data: Path
    """The data folder of the tasks."""
    task: str
    """A name in `TASKS`."""
    language: str
    """Code of the language."""
    part: Literal["train", "test", "dev"]
    """For training, for the test, or, of BUCC, for the threshold."""
    is_zero_shot: bool
    """Whether the test split must not be used for training."""
    digest: str
    """A hash of the name and the examples."""

    def job_key(self) -> list[str]:
        """What can change a result."""
        return [self.task, self.language, self.digest]

    def read(self) -> tuple[str, Any]:
        """The name of the set, such as `train`, and its examples.

        Raises:
            ConfigError: If the data have changed since they were found.
        """
        found = _read(self.data, self.task, self.language, self.part, is_zero_shot=self.is_zero_shot)
        if digest_of(found) != self.digest:
            raise ConfigError(
                f"{self.data}: the examples of {self.task} in '{self.language}' have changed while they were in use: "
                "run the same command again"
            )
        return found


def find_examples(
    data: Path, task: str, language: str, part: Literal["train", "test", "dev"], *, is_zero_shot: bool
) -> ExampleSet:
    """Read examples once, to identify them.

    Args:
        data: The data folder of the tasks.
        task: A name in `TASKS`.
        language: Code of the language.
        part: See `ExampleSet`.
        is_zero_shot: See `ExampleSet`.

    Raises:
        ConfigError: If there are none.
    """
    return ExampleSet(
        data=data.resolve(),
        task=task,
        language=language,
        part=part,
        is_zero_shot=is_zero_shot,
        digest=digest_of(_read(data, task, language, part, is_zero_shot=is_zero_shot)),
    )


def _read(data: Path, task: str, language: str, part: str, *, is_zero_shot: bool) -> tuple[str, Any]:
    if part == "train":
        return training_examples(data, task, language, is_zero_shot=is_zero_shot)
    if part == "test":
        return tested_examples(data, task, language, is_zero_shot=is_zero_shot)
    examples = read_examples(data, task, language, "dev")
    assert isinstance(examples, Bitext)
    if examples.gold is None:
        raise ConfigError(
            f"{data}: expected translations of the dev set of {task} in '{language}' ({language}-en.dev.gold) to tune "
            "the threshold, found none"
        )
    return "dev", examples


def tested_examples(data: Path, task: str, language: str, *, is_zero_shot: bool) -> tuple[str, Any]:
    """The name of the test set of a task in a language, and its examples.

    Raises:
        ConfigError: If the task has no labelled split in the language.
    """
    split = scored_split(data, task, language)
    if split is None:
        raise ConfigError(
            f"{data}: expected labels of {task} in '{language}' (test or dev), found none; exclude the language by "
            "--languages or the task by --tasks"
        )
    examples = read_examples(data, task, language, split)
    if is_zero_shot or not _is_divided(data, task, language, split):
        return split, examples
    assert isinstance(examples, list)
    return f"{split}, last {1 / NUM_PARTS:.0%}", examples[-_num_held_out(examples) :]


def training_examples(data: Path, task: str, language: str, *, is_zero_shot: bool) -> tuple[str, Any]:
    """Training examples of a task in a language: train, else dev unless it is the test set, else most of the test set.

    Args:
        data: The data folder of the tasks.
        task: A name in `TASKS`.
        language: Code of the language.
        is_zero_shot: Whether the test split must not be used for training.

    Returns:
        The name of the training set, and its examples.

    Raises:
        ConfigError: If there are no training examples.
    """
    split = scored_split(data, task, language)
    part = _training_part(data, task, language, split)
    if part is not None:
        return part, read_examples(data, task, language, part)
    substitute = SUBSTITUTES.get(task)
    if substitute is not None and find_file(data, substitute, language, "train") is not None:
        return f"train of {substitute}", read_examples(data, substitute, language, "train")
    examples = [] if split is None or is_zero_shot else read_examples(data, task, language, split)
    assert isinstance(examples, list)
    training = examples[: -_num_held_out(examples)]
    if not training:
        raise ConfigError(f"{data}: expected training examples of {task} in '{language}', found none")
    return f"{split}, first {1 - 1 / NUM_PARTS:.0%}", training


def _num_held_out(examples: Sequence[Any]) -> int:
    return max(1, len(examples) // NUM_PARTS)


def _training_part(data: Path, task: str, language: str, tested_split: str | None) -> str | None:
    """The split for training that is not the test split; None if there is none."""
    if find_file(data, task, language, "train") is not None:
        return "train"
    # XQuAD's dev split is SQuAD's, from which its test split was translated.
    is_apart = tested_split == "test" and task != "xquad"
    return "dev" if is_apart and find_file(data, task, language, "dev") is not None else None


def _is_divided(data: Path, task: str, language: str, tested_split: str) -> bool:
    """Whether one split is divided into training and test examples."""
    substitute = SUBSTITUTES.get(task, task)
    return (
        _training_part(data, task, language, tested_split) is None
        and find_file(data, substitute, language, "train") is None
    )


def labels_in(task: str, examples: Sequence[Any]) -> tuple[str, ...]:
    """The labels that occur, in alphabetical order; empty for tasks without labels."""
    kind = TASKS[task].kind
    if kind == "tagging":
        sentences: Sequence[TaggedSentence] = examples
        return tuple(sorted({tag for sentence in sentences for tag in sentence.tags or ()}))
    if kind == "pairs":
        return tuple(sorted({example.label for example in examples if example.label is not None}))
    return ()


def digest_of(part: tuple[str, Any]) -> str:
    """Hash of the name and the examples of a data set; sets are sorted, as their order differs between processes."""
    name, examples = part
    content = (name, examples)
    if isinstance(examples, Bitext) and examples.gold is not None:
        content = (name, (replace(examples, gold=None), sorted(examples.gold)))
    return hashlib.blake2b(repr(content).encode(), digest_size=12).hexdigest()
