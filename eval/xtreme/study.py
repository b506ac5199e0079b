"""A request to evaluate a corpus or a published model on tasks, and its validated form with resolved settings."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from ecsuite.config import ConfigError, look_up, refuse_unread
from ecsuite.corpus import Corpus
from ecsuite.devices import choose_device, choose_precision
from ecsuite.downloads.languages import LANGUAGES
from ecsuite.eval.learning.encoders import BACKBONES, require_transformers
from ecsuite.eval.metrics.score import no_progress
from ecsuite.eval.metrics.score import signature as make_signature
from ecsuite.eval.xferbench.texts import TextFile
from ecsuite.eval.xtreme.presets import PRESETS, Preset
from ecsuite.eval.xtreme.protocols import PROTOCOLS, Protocol
from ecsuite.eval.xtreme.scoring.reading import read_examples, scored_split
from ecsuite.eval.xtreme.scoring.scoring import MINED
from ecsuite.eval.xtreme.scoring.tasks import TASKS
from ecsuite.eval.xtreme.sources import CORPUS, HUMAN, PARENTHESES, RANDOM_INIT, SHUFFLED
from ecsuite.eval.xtreme.stages import VERSION
from ecsuite.eval.xtreme.texts import (
    ENGLISH,
    digest_of,
    language_text,
    tested_examples,
    training_examples,
)

PUBLISHED = Protocol(
    name="published",
    about="a published encoder with its own vocabulary; the task in English",
    shares_vocabulary=True,
    learns_text=False,
    text_trains_backbone=False,
    is_zero_shot=True,
)
"""The usual use of the benchmark."""


READS = {"corpus": ("protocol", "body", "texts", "human"), "model": ()}
"""By what is evaluated, the settings of a request that it reads and the other does not."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """What a user requests."""

    corpus: Corpus | None
    """Pretraining corpus; None for a published model."""
    data: Path
    """The data folder of the tasks."""
    tasks: tuple[str, ...]
    """Names in `TASKS`."""
    skips_missing_tasks: bool = False
    """Whether tasks without data are skipped instead of an error."""
    model: str | None = None
    """Name or folder of a published encoder, instead of a corpus."""
    languages: tuple[str, ...] = ()
    """Test languages beside English; empty for those of the preset."""
    protocol: str = "adapt"
    """A name in `PROTOCOLS`."""
    preset: str = "mini"
    """A name in `PRESETS`."""
    body: str = "decoder"
    """A name in `BACKBONES`."""
    texts: Path | None = None
    """Folder of texts of the languages; None for the tagged sentences of the tasks."""
    human: Path | None = None
    """A text in a human language, for an additional control."""
    seeds: tuple[int, ...] = ()
    """Seeds; empty for as many as the preset says."""
    device: str = "auto"
    """`auto`, `cpu` or `cuda`."""
    folder: Path | None = None
    """Cache folder of the results of stages; None for no cache."""
    num_workers: int = 1
    """Processes, if the device is a CPU and the preset is reduced; otherwise 1."""
    progress: Callable[[str, float, float], None] = no_progress
    """Called as `progress(label, done, total)`."""


class Study:
    """A validated request with resolved settings.

    Args:
        request: What a user requests.

    Raises:
        ConfigError: If a name is unknown, data that are needed are missing, or a setting is not read.
    """

    def __init__(self, request: Request) -> None:
        self.request = request
        source = "corpus" if request.model is None else "model"
        names = [field.name for field in fields(request) if getattr(request, field.name) != field.default]
        refuse_unread(f"a {source}", [source], {name: name for name in names}, READS)
        self.preset: Preset = look_up("preset", request.preset, PRESETS)
        look_up("backbone", request.body, BACKBONES)
        self.published = ""
        if request.model is not None:
            require_transformers("--model")
            self.protocol, self.published = PUBLISHED, _model_id(request.model)
        else:
            self.protocol = look_up("protocol", request.protocol, PROTOCOLS)
            assert request.corpus is not None
            if len(request.corpus.messages.values) == 0:
                raise ConfigError("the corpus has no symbols to learn from")
        if request.body == "encoder":
            require_transformers("an encoder")
        if not request.data.is_dir() or not any(request.data.iterdir()):
            raise ConfigError(
                f"{request.data}: expected a folder of tasks; run `ecsuite data xtreme` or give --data FOLDER"
            )
        self.device = choose_device(request.device)
        self.precision = choose_precision(self.preset.precision, self.device)
        self.seeds = request.seeds or tuple(range(self.preset.num_seeds))
        tested = {task: self._test_languages(task) for task in request.tasks}
        self.tested = {task: languages for task, languages in tested.items() if languages}
        if not self.tested:
            raise ConfigError(f"{request.data}: expected labels of at least one task, found none")
        self.bodies = self._bodies()

    def _test_languages(self, task: str) -> tuple[str, ...]:
        """The test languages of a task; empty if it is skipped."""
        request = self.request
        task_info = look_up("task", task, TASKS)
        if task_info.kind == "retrieval" and not self.protocol.is_zero_shot:
            if request.skips_missing_tasks:
                return ()
            raise ConfigError(
                f"{task} compares two languages, but protocol {self.protocol.name} uses one language at a time"
            )
        requested = request.languages or self.preset.languages
        for language in requested:
            look_up("language", language, LANGUAGES)
        adds_english = self.protocol.is_zero_shot and task_info.kind != "retrieval"
        candidates = (ENGLISH, *requested) if adds_english else requested
        if not requested:
            candidates = tuple(
                code for code in task_info.languages if self.protocol.is_zero_shot or code != ENGLISH
            )
        available = tuple(
            code for code in dict.fromkeys(candidates) if scored_split(request.data, task, code) is not None
        )
        expected = requested or tuple(code for code in task_info.languages if code != ENGLISH)
        if set(available).intersection(expected):
            return available
        if request.skips_missing_tasks:
            return ()
        raise ConfigError(
            f"{request.data}: expected labels of {task} in one of {', '.join(requested or task_info.languages)}, "
            "found none; choose others by --languages or exclude the task by --tasks"
        )

    def _bodies(self) -> tuple[str, ...]:
        if self.request.model is not None:
            return (self.request.model,)
        human = (HUMAN,) if self.request.human is not None else ()
        return (CORPUS, RANDOM_INIT, PARENTHESES, SHUFFLED, *human)

    @property
    def languages(self) -> tuple[str, ...]:
        """All languages, English first if tasks are trained in it."""
        tested = (language for languages in self.tested.values() for language in languages)
        return tuple(dict.fromkeys((*((ENGLISH,) if self.protocol.is_zero_shot else ()), *tested)))

    def test_set(self, task: str, language: str) -> tuple[str, Any]:
        """Name of the test set of a task in a language, and its examples."""
        split, requested = tested_examples(
            self.request.data, task, language, is_zero_shot=self.protocol.is_zero_shot
        )
        return split, requested if TASKS[task].kind == "retrieval" else requested[: self.preset.max_test]

    @cached_property
    def examples(self) -> dict[tuple[str, str, str], str]:
        """Hashes of the training and test examples, by part, task and language."""
        data, zero_shot = self.request.data, self.protocol.is_zero_shot
        available = {}
        for task, languages in self.tested.items():
            for language in (ENGLISH,) if zero_shot else languages:
                if TASKS[task].kind == "retrieval":
                    available["train", task, language] = ""
                else:
                    available["train", task, language] = digest_of(
                        training_examples(data, task, language, is_zero_shot=zero_shot)
                    )
            for language in languages:
                requested = digest_of(tested_examples(data, task, language, is_zero_shot=zero_shot))
                if task == MINED:
                    task_info: Any = read_examples(data, task, language, "dev")
                    if task_info.gold is None:
                        raise ConfigError(
                            f"{data}: expected translations of the dev set of {task} in '{language}' "
                            f"({language}-en.dev.gold) to tune the threshold, found none"
                        )
                    requested += digest_of(("dev", task_info))
                available["test", task, language] = requested
        return available

    @cached_property
    def texts(self) -> dict[str, str]:
        """Hashes of the training texts, from which vocabularies are trained even without training on text."""
        if self.request.model is not None:
            return {}
        return {
            language: language_text(language, self.request.data, self.request.texts).digest
            for language in self.languages
        }

    @property
    def signature(self) -> str:
        """Everything that can change a score, except the corpus."""
        request, preset = self.request, self.preset
        content = hashlib.blake2b(digest_size=4)
        for name, value in sorted(self.examples.items()):
            content.update(f"{name} {value}\n".encode())
        for text in self.texts.values():
            content.update(text.encode())
        if request.human is not None:
            content.update(TextFile(HUMAN, request.human).digest.encode())
        content.update(self.published.encode())
        named = {"body": request.body} if request.model is None else {"model": Path(request.model).name}
        return make_signature(
            "xtreme-transfer",
            VERSION,
            preset=preset.name,
            protocol=self.protocol.name,
            **named,
            tasks="+".join(self.tested),
            languages="+".join(self.languages),
            scope=preset.scope,
            data=content.hexdigest(),
            seeds="+".join(map(str, self.seeds)),
            precision=self.precision,
        )


def _model_id(name: str) -> str:
    """The name on the hub; for a folder, a hash of its files, as the model in it may change."""
    files = sorted(file for file in Path(name).glob("*") if file.is_file())
    content = hashlib.sha256()
    for file in files:
        with file.open("rb") as opened:
            content.update(f"{file.name} {hashlib.file_digest(opened, 'sha256').hexdigest()}\n".encode())
    return content.hexdigest() if files else name
