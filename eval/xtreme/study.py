"""A request to try a corpus, or a published model, on tasks: checked, with all that follows from it."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ecsuite.config import ConfigError, look_up
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
    text_tunes_body=False,
    is_zero_shot=True,
)
"""The benchmark's ordinary use."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """What a user asks for."""

    corpus: Corpus | None
    """What to learn first; None where a published model is tried."""
    data: Path
    """The folder of the tasks."""
    tasks: tuple[str, ...]
    """Names in `TASKS`."""
    takes_what_is_there: bool = False
    """Whether tasks without data are left out, and not an error."""
    model: str | None = None
    """A published encoder instead of a corpus."""
    languages: tuple[str, ...] = ()
    """Languages to be tested in, beside English; none for the preset's."""
    protocol: str = "adapt"
    """A name in `PROTOCOLS`."""
    preset: str = "mini"
    """A name in `PRESETS`."""
    body: str = "decoder"
    """A name in `BACKBONES`."""
    texts: Path | None = None
    """Texts of the languages; None for the words of tagged sentences."""
    human: Path | None = None
    """A text of a human language, as one more control."""
    seeds: tuple[int, ...] = ()
    """None for as many as the preset has."""
    device: str = "auto"
    """`auto`, `cpu` or `cuda`."""
    folder: Path | None = None
    """Where the result of every stage is kept; None keeps nothing."""
    num_workers: int = 1
    """Processes, where the device is a CPU and the preset a reduced one."""
    progress: Callable[[str, float, float], None] = no_progress
    """Told the work done and to do."""


class Study:
    """A request that has been checked, and what follows from it.

    Args:
        request: What a user asks for.

    Raises:
        ConfigError: If a name is unknown, or data that are needed are missing.
    """

    def __init__(self, request: Request) -> None:
        self.request = request
        self.preset: Preset = look_up("preset", request.preset, PRESETS)
        look_up("body", request.body, BACKBONES)
        self.published = ""
        if request.model is not None:
            require_transformers("--model")
            self.protocol, self.published = PUBLISHED, _hash_of_model(request.model)
        else:
            self.protocol = look_up("protocol", request.protocol, PROTOCOLS)
            assert request.corpus is not None
            if len(request.corpus.messages.values) == 0:
                raise ConfigError("the corpus has no symbols to learn from")
        if request.body == "encoder":
            require_transformers("an encoder")
        if not request.data.is_dir() or not any(request.data.iterdir()):
            raise ConfigError(
                f"{request.data}: no folder of tasks: run `ecsuite data xtreme`, or give --data FOLDER"
            )
        self.device = choose_device(request.device)
        self.precision = choose_precision(self.preset.precision, self.device)
        self.seeds = request.seeds or tuple(range(self.preset.num_seeds))
        tested = {task: self._tested_in(task) for task in request.tasks}
        self.tested = {task: languages for task, languages in tested.items() if languages}
        if not self.tested:
            raise ConfigError(f"{request.data}: no task has labels to score against")
        self.bodies = self._bodies()

    def _tested_in(self, task: str) -> tuple[str, ...]:
        """The languages that a task is tested in."""
        request = self.request
        known = look_up("task", task, TASKS)
        if known.kind == "retrieval" and not self.protocol.is_zero_shot:
            if request.takes_what_is_there:
                return ()
            raise ConfigError(
                f"{task} compares two languages: protocol {self.protocol.name} has one at a time"
            )
        asked = request.languages or self.preset.languages
        for language in asked:
            look_up("language", language, LANGUAGES)
        with_english = self.protocol.is_zero_shot and known.kind != "retrieval"
        candidates = (ENGLISH, *asked) if with_english else asked
        if not asked:
            candidates = tuple(
                code for code in known.languages if self.protocol.is_zero_shot or code != ENGLISH
            )
        found = tuple(
            code for code in dict.fromkeys(candidates) if scored_split(request.data, task, code) is not None
        )
        sought = asked or tuple(code for code in known.languages if code != ENGLISH)
        if set(found).intersection(sought):
            return found
        if request.takes_what_is_there:
            return ()
        raise ConfigError(
            f"{request.data}: {task} has labels to score against in none of {', '.join(asked or known.languages)}; "
            "choose others by --languages, or leave it out by --tasks"
        )

    def _bodies(self) -> tuple[str, ...]:
        if self.request.model is not None:
            return (self.request.model,)
        human = (HUMAN,) if self.request.human is not None else ()
        return (CORPUS, RANDOM_INIT, PARENTHESES, SHUFFLED, *human)

    @property
    def languages(self) -> tuple[str, ...]:
        """All that are read, English first where it is."""
        tested = (language for languages in self.tested.values() for language in languages)
        return tuple(dict.fromkeys((*((ENGLISH,) if self.protocol.is_zero_shot else ()), *tested)))

    def asked(self, task: str, language: str) -> tuple[str, Any]:
        """What a body is asked in a language."""
        split, asked = tested_examples(
            self.request.data, task, language, is_zero_shot=self.protocol.is_zero_shot
        )
        return split, asked if TASKS[task].kind == "retrieval" else asked[: self.preset.max_test]

    @cached_property
    def examples(self) -> dict[tuple[str, str, str], str]:
        """Hashes of what is learnt and tested."""
        data, zero_shot = self.request.data, self.protocol.is_zero_shot
        found = {}
        for task, languages in self.tested.items():
            for language in (ENGLISH,) if zero_shot else languages:
                if TASKS[task].kind == "retrieval":
                    found["train", task, language] = ""
                else:
                    found["train", task, language] = digest_of(
                        training_examples(data, task, language, is_zero_shot=zero_shot)
                    )
            for language in languages:
                asked = digest_of(tested_examples(data, task, language, is_zero_shot=zero_shot))
                if task == MINED:
                    known: Any = read_examples(data, task, language, "dev")
                    if known.gold is None:
                        raise ConfigError(
                            f"{data}: {task} has no translations of dev in '{language}', such as "
                            f"{language}-en.dev.gold, to find the threshold with"
                        )
                    asked += digest_of(("dev", known))
                found["test", task, language] = asked
        return found

    @cached_property
    def texts(self) -> dict[str, str]:
        """Hashes of the texts, of which vocabularies at least are learnt."""
        if self.request.model is not None:
            return {}
        return {
            language: language_text(language, self.request.data, self.request.texts).digest
            for language in self.languages
        }

    @property
    def signature(self) -> str:
        """Everything that can change a score, but the corpus."""
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


def _hash_of_model(name: str) -> str:
    """The name on the hub; of a folder, whose model may be another one by now, a hash of its files."""
    files = sorted(file for file in Path(name).glob("*") if file.is_file())
    content = hashlib.sha256()
    for file in files:
        with file.open("rb") as opened:
            content.update(f"{file.name} {hashlib.file_digest(opened, 'sha256').hexdigest()}\n".encode())
    return content.hexdigest() if files else name
