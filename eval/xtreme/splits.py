"""Training and test examples of tasks: which split of the data is used, and what identifies it."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from ecsuite.eval.xtreme.scoring.examples import Bitext
from ecsuite.eval.xtreme.scoring.tasks import TASKS
from ecsuite.runtime.errors import ConfigError

NUM_PARTS = 5
"""If a language has one labelled split, it is cut into this many parts: the last is the test set, the rest training."""
ENGLISH = "en"


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
        found = self._found()
        if digest_of(found) != self.digest:
            raise ConfigError(
                f"{self.data}: the examples of {self.task} in '{self.language}' have changed while they were in use: "
                "run the same command again"
            )
        return found

    def _found(self) -> tuple[str, Any]:
        if self.part == "train":
            return self._training()
        if self.part == "test":
            return self._tested()
        bitext = self._examples_of("dev")
        if bitext.gold is None:
            raise ConfigError(
                f"{self.data}: expected translations of the dev set of {self.task} in '{self.language}' "
                f"({self.language}-en.dev.gold) to tune the threshold, found none"
            )
        return "dev", bitext

    def _tested(self) -> tuple[str, Any]:
        """The split with labels; its end, if the rest is for training."""
        split = self._scored_split()
        if split is None:
            raise ConfigError(
                f"{self.data}: expected labels of {self.task} in '{self.language}' (test or dev), found none; exclude "
                "the language by --languages or the task by --tasks"
            )
        examples = self._examples_of(split)
        substitute = TASKS[self.task].substitute or self.task
        if self.is_zero_shot or self._training_split(split) is not None or self._has("train", substitute):
            return split, examples
        return f"{split}, last {1 / NUM_PARTS:.0%}", examples[-_num_held_out(examples) :]

    def _training(self) -> tuple[str, Any]:
        """Train, else dev unless it is the test set, else those of another task, else most of the test set."""
        tested_split = self._scored_split()
        split = self._training_split(tested_split)
        if split is not None:
            return split, self._examples_of(split)
        substitute = TASKS[self.task].substitute
        if substitute and self._has("train", substitute):
            return f"train of {substitute}", TASKS[substitute].read(self.data, self.language, "train")
        can_divide = tested_split is not None and not self.is_zero_shot
        examples = self._examples_of(tested_split) if can_divide else []
        training = examples[: -_num_held_out(examples)]
        if not training:
            raise ConfigError(
                f"{self.data}: expected training examples of {self.task} in '{self.language}', found none"
            )
        return f"{tested_split}, first {1 - 1 / NUM_PARTS:.0%}", training

    def _training_split(self, tested_split: str | None) -> str | None:
        """The split for training that is not the test split; None if there is none."""
        if self._has("train", self.task):
            return "train"
        is_apart = tested_split == "test" and TASKS[self.task].dev_is_apart
        return "dev" if is_apart and self._has("dev", self.task) else None

    def _scored_split(self) -> str | None:
        return TASKS[self.task].scored_split(self.data, self.language)

    def _has(self, split: str, task: str) -> bool:
        return TASKS[task].find(self.data, self.language, split) is not None

    def _examples_of(self, split: str | None) -> Any:
        assert split is not None
        return TASKS[self.task].read(self.data, self.language, split)


def find_examples(
    data: Path, task: str, language: str, part: Literal["train", "test", "dev"], *, is_zero_shot: bool
) -> ExampleSet:
    """Read examples once, to identify them; for the arguments see `ExampleSet`.

    Raises:
        ConfigError: If there are none.
    """
    found = ExampleSet(
        data=data, task=task, language=language, part=part, is_zero_shot=is_zero_shot, digest=""
    )
    return replace(found, data=data.resolve(), digest=digest_of(found._found()))


def _num_held_out(examples: Sequence[Any]) -> int:
    return max(1, len(examples) // NUM_PARTS)


def digest_of(part: tuple[str, Any]) -> str:
    """Hash of the name and the examples of a data set; sets are sorted, as their order differs between processes."""
    name, examples = part
    content = (name, examples)
    if isinstance(examples, Bitext) and examples.gold is not None:
        content = (name, (replace(examples, gold=None), sorted(examples.gold)))
    return hashlib.blake2b(repr(content).encode(), digest_size=12).hexdigest()
