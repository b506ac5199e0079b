"""What is read of a language before the task: lines of text, and the examples to learn from and to be tested on."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ecsuite.config import ConfigError
from ecsuite.eval.xferbench.strict import shuffled
from ecsuite.eval.xferbench.texts import read_texts
from ecsuite.eval.xtreme.scoring.examples import Bitext, TaggedSentence
from ecsuite.eval.xtreme.scoring.reading import find_file, read_examples, scored_split
from ecsuite.eval.xtreme.scoring.tasks import TASKS

HELD_OUT = 5
"""Where a language has one labelled part, the last of so many equal parts is tested, and the others are learnt."""
ENGLISH = "en"
SUBSTITUTES = {"xquad": "tydiqa", "mlqa": "tydiqa"}
"""Where SQuAD is not at hand, another task's questions are learnt from, which the output says."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Text:
    """Lines of a language."""

    language: str
    """Its code."""
    lines: tuple[str, ...]
    """In an order as good as random."""
    digest: str
    """A hash of them."""


def language_text(language: str, data: Path, folder: Path | None) -> Text:
    """The text of a language: a file of `folder`, or else the words of tagged sentences that no task is tested on.

    Raises:
        ConfigError: If there is none.
    """
    if folder is not None:
        texts = read_texts(folder)
        if language not in texts:
            raise ConfigError(f"{folder}: no text of '{language}', such as {language}.txt.gz")
        lines = shuffled(texts[language].documents())
    else:
        lines = shuffled(_untested(language, data))
    if not lines:
        raise ConfigError(
            f"{data}: no text of '{language}' to learn beside what is tested: give --texts FOLDER with a file such as "
            f"{language}.txt.gz"
        )
    digest = hashlib.blake2b("\n".join(lines).encode(), digest_size=12).hexdigest()
    return Text(language=language, lines=tuple(lines), digest=digest)


def _untested(language: str, data: Path) -> list[str]:
    """Sentences of tagging tasks, less those of the parts that are tested."""
    lines: list[str] = []
    tested: set[str] = set()
    for task in ("udpos", "panx"):
        split = scored_split(data, task, language)
        for part in ("train", "dev", "test"):
            if find_file(data, task, language, part) is None:
                continue
            sentences: Any = read_examples(data, task, language, part)
            said = [" ".join(sentence.words) for sentence in sentences]
            if part == "test" or part == split:
                tested.update(said)
            else:
                lines += said
    return [line for line in lines if line not in tested]


def tested_examples(data: Path, task: str, language: str, *, is_zero_shot: bool) -> tuple[str, Any]:
    """What a language is tested on: its name for people, and the examples.

    Raises:
        ConfigError: If the task has no labelled part in the language.
    """
    split = scored_split(data, task, language)
    if split is None:
        raise ConfigError(
            f"{data}: {task} has neither test nor dev with labels in '{language}'; leave it out by --languages, or "
            "the task by --tasks"
        )
    examples = read_examples(data, task, language, split)
    if is_zero_shot or not _is_divided(data, task, language, split):
        return split, examples
    assert isinstance(examples, list)
    return f"{split}, last {1 / HELD_OUT:.0%}", examples[-_num_held_out(examples) :]


def training_examples(data: Path, task: str, language: str, *, is_zero_shot: bool) -> tuple[str, Any]:
    """What a task is learnt from in a language: train, else dev if it is not tested, else most of what is tested.

    Args:
        data: The folder of the tasks.
        task: A name in `TASKS`.
        language: Its code.
        is_zero_shot: Whether all of what is tested is held back.

    Returns:
        Its name for people, and the examples.

    Raises:
        ConfigError: If there is nothing.
    """
    split = scored_split(data, task, language)
    part = _own_training(data, task, language, split)
    if part is not None:
        return part, read_examples(data, task, language, part)
    substitute = SUBSTITUTES.get(task)
    if substitute is not None and find_file(data, substitute, language, "train") is not None:
        return f"train of {substitute}", read_examples(data, substitute, language, "train")
    examples = [] if split is None or is_zero_shot else read_examples(data, task, language, split)
    assert isinstance(examples, list)
    first = examples[: -_num_held_out(examples)]
    if not first:
        raise ConfigError(f"{data}: {task} has no examples in '{language}' to learn from")
    return f"{split}, first {1 - 1 / HELD_OUT:.0%}", first


def _num_held_out(examples: Sequence[Any]) -> int:
    return max(1, len(examples) // HELD_OUT)


def _own_training(data: Path, task: str, language: str, tested: str | None) -> str | None:
    """The part to learn from that is not tested."""
    if find_file(data, task, language, "train") is not None:
        return "train"
    # XQuAD's dev is SQuAD's, from which its test was translated.
    is_apart = tested == "test" and task != "xquad"
    return "dev" if is_apart and find_file(data, task, language, "dev") is not None else None


def _is_divided(data: Path, task: str, language: str, tested: str) -> bool:
    """Whether one part has to serve for learning and for the test."""
    substitute = SUBSTITUTES.get(task, task)
    return (
        _own_training(data, task, language, tested) is None
        and find_file(data, substitute, language, "train") is None
    )


def labels_in(task: str, examples: Sequence[Any]) -> tuple[str, ...]:
    """The labels that occur, in alphabetical order; of tasks without labels none."""
    kind = TASKS[task].kind
    if kind == "tagging":
        sentences: Sequence[TaggedSentence] = examples
        return tuple(sorted({tag for sentence in sentences for tag in sentence.tags or ()}))
    if kind == "pairs":
        return tuple(sorted({example.label for example in examples if example.label is not None}))
    return ()


def digest_of(part: tuple[str, Any]) -> str:
    """A hash of a part's name and its examples, the same in every process: sets have an order of their own in each."""
    name, examples = part
    told = (name, examples)
    if isinstance(examples, Bitext) and examples.gold is not None:
        told = (name, (replace(examples, gold=None), sorted(examples.gold)))
    return hashlib.blake2b(repr(told).encode(), digest_size=12).hexdigest()
