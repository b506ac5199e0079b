"""Training and test examples of tasks: which split of the data is used, and what identifies it."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from ecsuite.eval.xtreme.contents import Contents, hash_of_text
from ecsuite.eval.xtreme.scoring.examples import Bitext
from ecsuite.eval.xtreme.scoring.task import Task
from ecsuite.eval.xtreme.scoring.tasks import TASKS
from ecsuite.runtime.errors import ConfigError

NUM_PARTS = 5
"""If a language has one labelled split, it is cut into this many parts: the last is the test set, the rest training."""
ENGLISH = "en"
Part = Literal["train", "test", "dev"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ExampleSet(Contents):
    """Examples of a task in a language."""

    data: Path
    """The data folder of the tasks."""
    task: str
    """A name in `TASKS`."""
    language: str
    """Code of the language."""
    part: Part
    """For training, for the test, or, of BUCC, for the threshold."""
    is_zero_shot: bool
    """Whether the test split must not be used for training."""

    def job_key(self) -> list[str]:
        """What can change a result."""
        return [self.task, self.language, self.digest]

    @property
    def title(self) -> str:
        """The folder and the examples."""
        return f"{self.data}: the set of examples of {self.task} in '{self.language}'"

    def hash_of(self, content: tuple[str, Any]) -> str:
        """Of the name and the examples; sets are sorted, as their order differs between processes."""
        name, examples = content
        if isinstance(examples, Bitext) and examples.gold is not None:
            content = (name, (replace(examples, gold=None), sorted(examples.gold)))
        return hash_of_text(repr(content))

    def stored(self) -> tuple[str, Any]:
        """The name of the set, such as `train`, and its examples.

        For the test the split with labels; for training train, else dev, else another task's, else most of the test.
        Splits whose labels are withheld teach nothing, and count as absent.

        Without training examples of its own, the end of the test split is the test, and the rest is for training.

        Raises:
            ConfigError: If there are none, or they are malformed.
        """
        task, substitute = TASKS[self.task], TASKS.get(TASKS[self.task].substitute)
        if self.part == "dev":
            return "dev", self._with_gold(task.read(self.data, self.language, "dev"))
        tested = task.scored_split(self.data, self.language)
        own: tuple[str, Task, str] | None = None
        if self._teaches(task, "train"):
            own = "train", task, "train"
        elif tested == "test" and task.dev_is_apart and self._teaches(task, "dev"):
            own = "dev", task, "dev"
        elif substitute is not None and self._teaches(substitute, "train"):
            own = f"train of {substitute.name}", substitute, "train"
        if self.part == "train" and own is not None:
            name, source, split = own
            return name, source.read(self.data, self.language, split)
        is_divided = own is None and not self.is_zero_shot
        if tested is None and self.part == "test":
            raise ConfigError(
                f"{self.data}: expected labels of {self.task} in '{self.language}' (test or dev), found none; exclude "
                "the language by --languages or the task by --tasks"
            )
        if tested is not None and (self.part == "test" or is_divided):
            examples = task.read(self.data, self.language, tested)
            if not is_divided:
                return tested, examples
            num_held_out = max(1, len(examples) // NUM_PARTS)
            if self.part == "test":
                return f"{tested}, last {1 / NUM_PARTS:.0%}", examples[-num_held_out:]
            if len(examples) > num_held_out:
                return f"{tested}, first {1 - 1 / NUM_PARTS:.0%}", examples[:-num_held_out]
        raise ConfigError(
            f"{self.data}: expected training examples of {self.task} in '{self.language}', found none"
        )

    def _teaches(self, task: Task, split: str) -> bool:
        return task.is_labelled(self.data, self.language, split)

    def _with_gold(self, bitext: Bitext) -> Bitext:
        if bitext.gold is None:
            raise ConfigError(
                f"{self.data}: expected translations of the dev set of {self.task} in '{self.language}' "
                f"({self.language}-en.dev.gold) to tune the threshold, found none"
            )
        return bitext
