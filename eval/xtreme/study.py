"""Study of a transfer run: corpus or model, tasks, languages, protocol and sizes."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from ecsuite.corpus import Corpus
from ecsuite.downloads.languages import LANGUAGES
from ecsuite.eval.metrics.score import Signature
from ecsuite.eval.models.backbones import BACKBONES, require_transformers
from ecsuite.eval.models.training import Machine
from ecsuite.eval.xferbench.texts import TextFile
from ecsuite.eval.xtreme.data import (
    CORPUS,
    HUMAN,
    PARENTHESES,
    RANDOM_INIT,
    SHUFFLED,
    ExampleSet,
    LanguageText,
    Part,
    PublishedModel,
)
from ecsuite.eval.xtreme.presets import MODEL_PROTOCOLS, PRESETS, PROTOCOLS, XtremePreset, XtremeProtocol
from ecsuite.eval.xtreme.scoring import TRANSLATED
from ecsuite.eval.xtreme.scoring.task import ENGLISH
from ecsuite.eval.xtreme.scoring.tasks import MINED, TASKS
from ecsuite.runtime.errors import ConfigError, look_up

VERSION = 1
"""Increased whenever the same study would give different scores."""


@dataclass(frozen=True, kw_only=True, slots=True)
class XtremeStudy:
    """A corpus or a published model, its tasks and seeds; made by `make_study`."""

    corpus: Corpus | None
    """The corpus to pretrain on; None for a published model."""
    model: PublishedModel | None
    """A published encoder, instead of a corpus."""
    human: TextFile | None
    """A text in a human language, for an additional control."""
    body: str
    """Architecture of the pretrained backbone, a name in `BACKBONES`."""
    protocol: XtremeProtocol
    """Training before a task."""
    preset: XtremePreset
    """Sizes of the backbone, of its training data and of the tasks."""
    data: Path
    """The data folder of the tasks."""
    tasks: tuple[str, ...]
    """The requested tasks."""
    requested_languages: tuple[str, ...]
    """The requested test languages in addition to English; empty: all languages of a task."""
    examples: Mapping[tuple[Part, str, str], ExampleSet]
    """Examples by part, task and language: `train` (except for retrieval), `test`, and for BUCC `dev`, on which the
    threshold is tuned."""
    texts: Mapping[str, LanguageText]
    """The text of each language, from which a vocabulary is trained even without training on text; empty for a
    published model."""
    predictions: Path | None
    """Folder for the predictions of the evaluated backbone with the first seed, and their labels; None: not written."""
    seeds: tuple[int, ...]
    """Seeds of weights, heads, dropout and the order of the data."""
    machine: Machine
    """Device and precision."""

    @property
    def bodies(self) -> tuple[str, ...]:
        """Names of the backbones: the evaluated backbone, then its controls."""
        if self.model is not None:
            return (self.model.name,)
        return (CORPUS, RANDOM_INIT, PARENTHESES, SHUFFLED, *((HUMAN,) if self.human is not None else ()))

    @property
    def tested(self) -> Mapping[str, tuple[str, ...]]:
        """The test languages of each task."""
        languages: dict[str, tuple[str, ...]] = {}
        for part, task, language in self.examples:
            if part == "test":
                languages[task] = (*languages.get(task, ()), language)
        return languages

    @property
    def languages(self) -> tuple[str, ...]:
        """All languages, English first if it is the training language."""
        return _all_languages(self.protocol, self.tested)

    @property
    def signature(self) -> str:
        """Everything that can change a score, except the corpus."""
        content = hashlib.blake2b(digest_size=4)
        for name, value in sorted(self._digests().items()):
            content.update(f"{name} {value}\n".encode())
        for text in self.texts.values():
            content.update(text.digest.encode())
        if self.human is not None:
            content.update(self.human.job_key().encode())
        if self.model is not None:
            content.update(self.model.digest.encode())
        named = {"body": self.body} if self.model is None else {"model": Path(self.model.name).name}
        return Signature.of(
            "xtreme-transfer",
            VERSION,
            preset=self.preset.name,
            protocol=self.protocol.name,
            **named,
            tasks="+".join(self.tested),
            languages="+".join(self.languages),
            scope=self.preset.scope,
            data=content.hexdigest(),
            seeds="+".join(map(str, self.seeds)),
            precision=self.machine.precision,
        )

    def _digests(self) -> dict[tuple[Part, str, str], str]:
        """Hashes of all examples, by part, task and language."""
        digests = {name: each.digest for name, each in self.examples.items() if name[0] != "dev"}
        for (part, task, language), each in self.examples.items():
            if part == "dev":
                digests["test", task, language] += each.digest
            elif TASKS[task].kind == "retrieval":
                digests["train", task, ENGLISH] = ""
        return digests


def require_names(
    tasks: Sequence[str],
    languages: Sequence[str],
    *,
    protocol: str | None,
    preset: str,
    body: str,
    has_model: bool = False,
) -> None:
    """Raise `ConfigError` if a name is unknown, before anything is read; see `make_study`."""
    look_up("preset", preset, PRESETS)
    look_up("backbone", body, BACKBONES)
    _protocol(protocol, has_model=has_model)
    for task in tasks:
        look_up("task", task, TASKS)
    for language in languages:
        look_up("language", language, LANGUAGES)


def make_study(
    corpus: Corpus | None,
    data: Path,
    tasks: Sequence[str],
    *,
    skips_missing_tasks: bool = False,
    model: str | None = None,
    languages: Sequence[str] = (),
    protocol: str | None = None,
    preset: str = "mini",
    body: str = "decoder",
    texts: Path | None = None,
    human: Path | None = None,
    seeds: Sequence[int] = (),
    device: str = "auto",
    predictions: Path | None = None,
) -> XtremeStudy:
    """Validate the arguments and identify the data; all data are read once, so that missing data raise early.

    Args:
        corpus: The corpus to pretrain on; None for a published model.
        data: The data folder of the tasks.
        tasks: Names in `TASKS`.
        skips_missing_tasks: Whether tasks without data are skipped instead of an error.
        model: A published encoder, instead of a corpus: a folder, or a name on Hugging Face's hub.
        languages: Test languages in addition to English; empty: the languages of the preset.
        protocol: A name in `PROTOCOLS`, by default `adapt`; with `model` in `MODEL_PROTOCOLS`, by default `published`.
        preset: A name in `PRESETS`.
        body: A name in `BACKBONES`; not read with `model`.
        texts: Folder of texts of the languages; None: the tagged sentences of the tasks; not read with `model`.
        human: A text in a human language, for an additional control; not read with `model`.
        seeds: Seeds; empty: the default number of the preset.
        device: `auto`, `cpu`, `cuda` or `mps`.
        predictions: Folder for predictions and labels, as `xtreme evaluate` reads them; None: not written.

    Raises:
        ConfigError: If a name is unknown, a seed is given twice, or required data are missing.
    """
    require_names(tasks, languages, protocol=protocol, preset=preset, body=body, has_model=model is not None)
    sizes, rules = PRESETS[preset], _protocol(protocol, has_model=model is not None)
    if len(set(seeds)) < len(seeds):
        raise ConfigError(f"seeds: expected different numbers, got {', '.join(map(str, seeds))}")
    if corpus is not None and len(corpus.messages.values) == 0:
        raise ConfigError("the corpus has no symbols to learn from")
    if body == "encoder":
        require_transformers("an encoder")
    if not data.is_dir() or not any(data.iterdir()):
        raise ConfigError(
            f"{data}: expected a folder of tasks; run `ecsuite data xtreme` or give --data FOLDER"
        )
    requested = tuple(languages) or sizes.languages
    tested = {
        task: _test_languages(data, task, requested, rules, skips_missing_tasks=skips_missing_tasks)
        for task in tasks
    }
    if not any(tested.values()):
        raise ConfigError(f"{data}: expected labels of at least one task, found none")
    published = None if model is None else PublishedModel(name=model).identified()
    zero_shot = rules.is_zero_shot
    names: list[tuple[Part, str, str]] = []
    for task, of_task in tested.items():
        if of_task and TASKS[task].kind != "retrieval":
            names += [("train", task, language) for language in ((ENGLISH,) if zero_shot else of_task)]
    names += [("test", task, language) for task, of_task in tested.items() for language in of_task]
    names += [("dev", MINED, language) for language in tested.get(MINED, ())]
    examples = {
        (part, task, language): ExampleSet(
            data=data,
            task=task,
            language=language,
            part=part,
            is_zero_shot=zero_shot or bool(rules.translation),
            translation=_translation(rules, part, language),
        ).identified()
        for part, task, language in names
    }
    text = None if human is None else TextFile(human.name, human).identified()
    if text is not None:
        text.documents()  # raises on malformed text before the work
    return XtremeStudy(
        corpus=corpus,
        model=published,
        human=text,
        body=body,
        protocol=rules,
        preset=sizes,
        data=data,
        tasks=tuple(tasks),
        requested_languages=requested,
        examples=examples,
        texts={
            language: LanguageText(language=language, data=data, folder=texts).identified()
            for language in (() if model is not None else _text_languages(rules, tested))
        },
        predictions=predictions,
        seeds=tuple(seeds) or tuple(range(sizes.num_seeds)),
        machine=Machine.chosen(device, sizes.precision, is_reduced=sizes.is_reduced),
    )


def _test_languages(
    data: Path, task: str, requested: Sequence[str], protocol: XtremeProtocol, *, skips_missing_tasks: bool
) -> tuple[str, ...]:
    """The test languages of a task; empty if it is skipped."""
    info = TASKS[task]
    if protocol.translation and not _has_split(task, protocol.translation):
        if skips_missing_tasks:
            return ()
        names = ", ".join(each for each in TASKS if _has_split(each, protocol.translation))
        raise ConfigError(
            f"{task} has no {TRANSLATED[protocol.translation]}: protocol {protocol.name} is for {names}"
        )
    if skips_missing_tasks and protocol.translation and not info.available(data, protocol.translation):
        return ()
    if info.kind == "retrieval" and not protocol.is_zero_shot:
        if skips_missing_tasks:
            return ()
        raise ConfigError(
            f"{task} compares two languages, but protocol {protocol.name} uses one language at a time"
        )
    adds_english = protocol.tests_english and info.kind != "retrieval"
    candidates: Iterable[str] = (ENGLISH, *requested) if adds_english else requested
    is_pseudo, is_translated = (protocol.test_split == each for each in ("pseudo_test", "translated_test"))
    of_task = info.available(data, "pseudo_test") if is_pseudo else info.languages
    if not requested:
        candidates = (ENGLISH, *of_task) if is_pseudo else of_task
        candidates = (code for code in candidates if protocol.tests_english or code != ENGLISH)

    def is_tested(code: str) -> bool:
        has_labels = info.scored_split(data, code) is not None
        if code == ENGLISH or not (is_pseudo or is_translated):
            return has_labels
        return (is_translated and has_labels) or info.find(data, code, protocol.test_split) is not None

    available = tuple(filter(is_tested, dict.fromkeys(candidates)))
    expected = requested or tuple(code for code in of_task if code != ENGLISH)
    if set(available).intersection(expected):
        return available
    if skips_missing_tasks:
        return ()
    raise ConfigError(
        f"{data}: expected labels of {task} in one of {', '.join(requested or info.languages)}, found none; choose "
        "others by --languages or exclude the task by --tasks"
    )


def _all_languages(protocol: XtremeProtocol, tested: Mapping[str, Iterable[str]]) -> tuple[str, ...]:
    english = (ENGLISH,) if protocol.tests_english else ()
    return tuple(dict.fromkeys((*english, *chain.from_iterable(tested.values()))))


def _text_languages(protocol: XtremeProtocol, tested: Mapping[str, Iterable[str]]) -> tuple[str, ...]:
    """Languages whose texts are needed: all example languages, or only English if tests are translated to it."""
    return (ENGLISH,) if protocol.test_split == "translated_test" else _all_languages(protocol, tested)


def _protocol(name: str | None, *, has_model: bool) -> XtremeProtocol:
    """A protocol by name; by default the first."""
    protocols = MODEL_PROTOCOLS if has_model else PROTOCOLS
    if has_model and name in PROTOCOLS and name not in protocols:
        raise ConfigError(
            f"--protocol {name}: needs a corpus; for --model expected one of {', '.join(protocols)}"
        )
    return look_up("protocol", name or next(iter(protocols)), protocols)


def _translation(protocol: XtremeProtocol, part: Part, language: str) -> str:
    """The translated split for a part of the examples in a language; empty: the authors' split."""
    split = {"train": protocol.training_split, "test": protocol.test_split}.get(part, "")
    return split if split in TRANSLATED and language != ENGLISH else ""


def _has_split(task: str, split: str) -> bool:
    return any(split in layout.splits for layout in TASKS[task].layouts)
