"""Data and models that jobs read, identified by their content, not by their path: examples, texts, published models.

Pretraining data are from the evaluated corpus or from its controls.
"""

import hashlib
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np

from ecsuite.corpus import Corpus
from ecsuite.eval.models import TransformerSizes
from ecsuite.eval.models.backbones import PublishedBackbone, require_transformers
from ecsuite.eval.models.data import PretrainingData
from ecsuite.eval.xferbench.presets import MINI, XferBenchPreset
from ecsuite.eval.xferbench.protocols import strict_source
from ecsuite.eval.xferbench.texts import TextFile, in_hash_order, read_texts, tokens_of
from ecsuite.eval.xtreme.presets import XtremePretraining
from ecsuite.eval.xtreme.scoring import TRANSLATED
from ecsuite.eval.xtreme.scoring.task import ENGLISH, Bitext, XtremeTask
from ecsuite.eval.xtreme.scoring.tasks import TASKS
from ecsuite.grammars.baselines import zipf_parentheses
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.ragged import Ragged


@dataclass(frozen=True, kw_only=True, slots=True)
class IdentifiedContent(ABC):
    """Content that a job reads; its hash is part of the job's key, and changed content is rejected."""

    digest: str = ""
    """A hash of the content."""

    @property
    @abstractmethod
    def title(self) -> str:
        """Path and description, for messages."""

    @abstractmethod
    def stored(self) -> Any:
        """Current content.

        Raises:
            ConfigError: If there is no content.
        """

    @abstractmethod
    def hash_of(self, content: Any) -> str:
        """A hash of the content that does not depend on the process."""

    def identified(self) -> Self:
        """A copy with the hash of the current content, and absolute paths.

        Raises:
            ConfigError: If there is no content, or it is malformed.
        """
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        paths = {name: value.resolve() for name, value in values.items() if isinstance(value, Path)}
        return replace(self, digest=self.hash_of(self.stored()), **paths)

    def read(self) -> Any:
        """The content.

        Raises:
            ConfigError: If it has changed since it was identified.
        """
        content = self.stored()
        if self.hash_of(content) != self.digest:
            raise ConfigError(f"{self.title} has changed during the run: run the same command again")
        return content


def hash_of_text(text: str) -> str:
    """A hash of 12 bytes in hexadecimal digits."""
    return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()


KEEPS_NO_IDS = ("tydiqa",)
"""Tasks whose questions get new ids in the benchmark's preprocessing, so that translations cannot be matched."""
NUM_PARTS = 5
"""Number of parts of a language's only labelled split: the last part is the test set, the other parts are training."""
Part = Literal["train", "test", "dev"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ExampleSet(IdentifiedContent):
    """Examples of a task in a language."""

    data: Path
    """The data folder of the tasks."""
    task: str
    """A name in `TASKS`."""
    language: str
    """Code of the language."""
    part: Part
    """Use: training, test, or for BUCC the threshold."""
    is_zero_shot: bool
    """Whether the test split must not be used for training."""
    translation: str = ""
    """The split with machine translations that is read instead, a name in `TRANSLATED`; empty: the authors' split."""

    def job_key(self) -> list[str]:
        """Identity in the key of a job."""
        return [self.task, self.language, self.digest]

    @property
    def title(self) -> str:
        """The folder and the examples."""
        return f"{self.data}: the set of examples of {self.task} in '{self.language}'"

    def hash_of(self, content: tuple[str, Any]) -> str:
        """A hash of the name and the examples; sets are sorted, as their order differs between processes."""
        name, examples = content
        if isinstance(examples, Bitext) and examples.gold is not None:
            content = (name, (replace(examples, gold=None), sorted(examples.gold)))
        return hash_of_text(repr(content))

    def stored(self) -> tuple[str, Any]:
        """The name of the set, such as `train`, and its examples.

        For the test, the split with labels. For training, the first available of train, dev, another task's training
        data, and most of the test split, whose end is then the test set. Splits with withheld labels count as absent.

        Raises:
            ConfigError: If there are no examples, or they are malformed.
        """
        task, substitute = TASKS[self.task], TASKS.get(TASKS[self.task].substitute)
        if self.translation:
            return self._translated(task, substitute)
        if self.part == "dev":
            bitext = task.read(self.data, self.language, "dev")
            if bitext.gold is None:
                raise ConfigError(
                    f"{self.data}: expected translations of the dev set of {self.task} in '{self.language}' "
                    f"({self.language}-en.dev.gold) to tune the threshold, found none"
                )
            return "dev", bitext
        tested = task.scored_split(self.data, self.language)
        training: tuple[str, XtremeTask, str] | None = None
        if self._teaches(task, "train"):
            training = "train", task, "train"
        elif tested == "test" and task.dev_is_apart and self._teaches(task, "dev"):
            training = "dev", task, "dev"
        elif substitute is not None and self._teaches(substitute, "train"):
            training = f"train of {substitute.name}", substitute, "train"
        if self.part == "train" and training is not None:
            name, source, split = training
            return name, source.read(self.data, self.language, split)
        is_divided = training is None and not self.is_zero_shot
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

    def _translated(self, task: XtremeTask, substitute: XtremeTask | None) -> tuple[str, Any]:
        """The name of the set and its machine-translated examples; labels of a test set may come from the original."""
        if self.part == "train" and substitute is not None:
            original = next(
                (one for one in (task, substitute) if one.is_labelled(self.data, ENGLISH, "train")), task
            )
            examples = original.read(self.data, self.language, self.translation)
            if original is not task:
                return f"train of {original.name}", examples
        else:
            examples = task.read(self.data, self.language, self.translation)
        translated_from = ENGLISH if self.translation != "translated_test" else self.language
        split = "train" if self.part == "train" else "test"
        location = f"{self.data}: {TRANSLATED[self.translation]} of {task.name} in '{self.language}'"
        if task.kind == "questions" and task.name not in KEEPS_NO_IDS:
            originals = (
                task.read(self.data, translated_from, split)
                if task.find(self.data, translated_from, split)
                else []
            )
            if originals and not {each.id for each in originals} & {each.id for each in examples}:
                raise ConfigError(
                    f"{location}: expected ids of questions of {task.name}, got ids of another task"
                )
        if task.kind == "pairs" and any(each.label is None for each in examples):
            originals = task.read(self.data, translated_from, split)
            if len(originals) != len(examples):
                raise ConfigError(
                    f"{location}: expected {len(originals):,} pairs as in {split}, got {len(examples):,}"
                )
            examples = [replace(each, label=one.label) for each, one in zip(examples, originals, strict=True)]
        return split, examples

    def _teaches(self, task: XtremeTask, split: str) -> bool:
        return task.is_labelled(self.data, self.language, split)


@dataclass(frozen=True, kw_only=True, slots=True)
class LanguageText(IdentifiedContent):
    """The text of a language; its content is its lines."""

    language: str
    """Code of the language."""
    data: Path
    """The data folder of the tasks."""
    folder: Path | None
    """Folder of texts; None: the tagged sentences of the tasks outside all test sets."""

    def job_key(self) -> list[str]:
        """Identity in the key of a job."""
        return [self.language, self.digest]

    @property
    def title(self) -> str:
        """The folder and the text."""
        return f"{self.folder or self.data}: the text in '{self.language}'"

    def hash_of(self, content: list[str]) -> str:
        """A hash of the lines."""
        return hash_of_text("\n".join(content))

    def stored(self) -> list[str]:
        """The distinct lines in a pseudorandom order; at least one.

        Raises:
            ConfigError: If there is no text.
        """
        if self.folder is None:
            lines = in_hash_order(_untested_sentences(self.language, self.data))
        else:
            texts = read_texts(self.folder)
            if self.language not in texts:
                raise ConfigError(
                    f"{self.folder}: no text of '{self.language}', such as {self.language}.txt.gz"
                )
            lines = in_hash_order(texts[self.language].documents())
        if not lines:
            raise ConfigError(
                f"{self.data}: expected text in '{self.language}' outside the test sets, found none; give --texts "
                f"FOLDER with a file such as {self.language}.txt.gz"
            )
        return lines


def _untested_sentences(language: str, data: Path) -> list[str]:
    """Sentences of tagging tasks outside all test sets."""
    lines: list[str] = []
    tested_split: set[str] = set()
    for task in (TASKS["udpos"], TASKS["panx"]):
        split = task.scored_split(data, language)
        for part in ("train", "dev", "test"):
            if task.find(data, language, part) is None:
                continue
            sentences: Any = task.read(data, language, part)
            sentence_texts = [" ".join(sentence.words) for sentence in sentences]
            if part == "test" or part == split:
                tested_split.update(sentence_texts)
            else:
                lines += sentence_texts
    return [line for line in lines if line not in tested_split]


@dataclass(frozen=True, kw_only=True, slots=True)
class PublishedModel(IdentifiedContent):
    """A model from a folder or from Hugging Face's hub, identified by its files."""

    name: str
    """The folder, or the name on the hub."""

    def job_key(self) -> str:
        """Identity in the key of a job."""
        return self.digest

    @property
    def title(self) -> str:
        """The option and the model."""
        return f"--model {self.name}: the model"

    def stored(self) -> str:
        """A hash of the files of the folder; on the hub, the name and the commit, which is a hash of its files.

        Raises:
            ConfigError: If there is no such model, or the package transformers is not installed.
        """
        require_transformers("--model")
        if not Path(self.name).is_dir():
            return f"{self.name}@{_commit(self.name)}"
        content = hashlib.sha256()
        for file in sorted(file for file in Path(self.name).glob("*") if file.is_file()):
            with file.open("rb") as opened:
                digest = hashlib.file_digest(opened, "sha256").hexdigest()
            content.update(f"{file.name} {digest}\n".encode())
        return content.hexdigest()

    def hash_of(self, content: str) -> str:
        """Return the content itself, which is already a hash."""
        return content

    def load(self) -> PublishedBackbone:
        """The model with its weights.

        Raises:
            ConfigError: If it cannot be loaded, or its files have changed since it was identified.
        """
        self.read()
        return PublishedBackbone(self.name)


def _commit(name: str) -> str:
    """Current commit of a model on the hub, or offline the downloaded commit."""
    from transformers.utils.hub import cached_file

    try:
        config = cached_file(name, "config.json")
    except (OSError, ValueError) as error:
        reason = str(error).strip().split("\n")[0]
        raise ConfigError(f"--model {name}: cannot be loaded: {reason}") from error
    assert config is not None
    return Path(config).parent.name  # …/snapshots/COMMIT/config.json


CORPUS = "corpus"
"""The evaluated corpus; all other sources are its controls."""
RANDOM_INIT = "random init"
"""No pretraining: randomly initialised weights."""
PARENTHESES = "parentheses"
"""Nested pairs of symbols whose frequencies follow Zipf-Mandelbrot's law."""
SHUFFLED = "shuffled corpus"
"""The corpus's symbols in random order, in messages of the same lengths."""
HUMAN = "human text"
"""A text in a human language (`--human`)."""


def source(
    name: str,
    corpus: Corpus | None,
    text: TextFile | None,
    sizes: TransformerSizes,
    pretraining: XtremePretraining,
    seed: int,
) -> PretrainingData:
    """The pretraining data of a backbone, as windows of XferBench's protocol `strict`.

    Args:
        name: One of the names above except `RANDOM_INIT`.
        corpus: The evaluated corpus, for `CORPUS` and `SHUFFLED`.
        text: The text of `HUMAN`.
        sizes: Sizes of the backbone.
        pretraining: Sizes of the data.
        seed: Seed of generated corpora, and of the order of the messages.
    """
    preset = replace(
        MINI,
        context=sizes.context,
        vocab_size=pretraining.num_types,
        pretrain_vocabulary="occurring",  # symbols are numbered by occurrence
        pretrain_tokens=pretraining.tokens,
        bpe_bytes=pretraining.text_bytes,
    )
    return strict_source(_corpus(name, corpus, text, preset, seed), preset, seed)


def _corpus(
    name: str, corpus: Corpus | None, text: TextFile | None, preset: XferBenchPreset, seed: int
) -> Corpus:
    rng = np.random.default_rng(seed)
    if name == PARENTHESES:
        return zipf_parentheses(preset.pretrain_tokens, rng, num_types=preset.vocab_size)
    if name == HUMAN:
        assert text is not None
        return tokens_of(text, preset)
    assert corpus is not None
    if name == CORPUS:
        return corpus
    messages = Ragged(offsets=corpus.messages.offsets, values=rng.permutation(corpus.messages.values))
    return Corpus(messages=messages, symbol_names=corpus.symbol_names)
