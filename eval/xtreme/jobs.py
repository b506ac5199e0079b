"""The stages as jobs: inputs, and cache keys with everything that can change a result."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from ecsuite.eval.xferbench.texts import TextFile
from ecsuite.eval.xtreme.sources import CORPUS, HUMAN, RANDOM_INIT, SHUFFLED
from ecsuite.eval.xtreme.stages import VERSION, finetune_task, pretrain_backbone, train_on_text
from ecsuite.eval.xtreme.study import Study
from ecsuite.eval.xtreme.task import TransferSetting
from ecsuite.jobs.runner import Job
from ecsuite.jobs.wire import corpus_digest

BACKBONE_SIZES = ("num_layers", "width", "num_heads", "dropout", "context", "batch", "is_reduced")
"""Preset fields that can change the result of every stage."""
File = tuple[Path, str]
"""A weight file and its SHA-256."""
# The names in cache keys are part of the identity of cached results and must not change.


class Jobs:
    """Builds the jobs of a study.

    Args:
        study: The study.
        folder: Output folder of weights.
    """

    def __init__(self, study: Study, folder: Path) -> None:
        self.study, self.request, self.folder = study, study.request, folder
        self.preset, self.protocol = study.preset, study.protocol

    @property
    def _settings(self) -> dict[str, Any]:
        """Inputs of all stages."""
        return {
            "kind": self.request.body,
            "preset": self.preset,
            "device": self.study.device.type,
            "precision": self.study.precision,
        }

    def _key(self, seed: int, *sizes: str) -> dict[str, Any]:
        """The part of a key that is not data; of the preset, the fields whose names begin with one of `sizes`."""
        common = {
            "kind": self.request.body,
            "device": self.study.device.type,
            "precision": self.study.precision,
        }
        sizes_of_stage = {
            name: value for name, value in asdict(self.preset).items() if name.startswith(sizes)
        }
        return {"xtreme": VERSION, "sizes": sizes_of_stage, "seed": seed, **common}

    def pretraining(self, backbone: str, seed: int) -> Job:
        """Pretrain a backbone."""
        text = self.request.human if backbone == HUMAN else None
        corpus = self.request.corpus if backbone in (CORPUS, SHUFFLED) else None
        key = self._key(seed, *BACKBONE_SIZES, "pretrain_") | {
            "body": backbone,
            "corpus": None if corpus is None else corpus_digest(corpus),
        }
        if text is not None:
            key["text"] = TextFile(text.name, text).digest
        inputs = {**self._settings, "name": backbone, "corpus": corpus, "text": text, "seed": seed}
        work = self.preset.pretrain_tokens * self.preset.pretrain_epochs if backbone != RANDOM_INIT else 1
        return self._with_output_file(Job(function=pretrain_backbone, inputs=inputs, key=key, work=work))

    def text_training(self, seed: int, backbone_file: File, languages: tuple[str, ...]) -> Job:
        """Train the backbone of a file on the texts of some languages."""
        file, sha256 = backbone_file
        inputs = {
            **self._settings,
            "backbone_file": file,
            "languages": languages,
            "protocol": self.protocol.name,
            "data": self.request.data,
            "texts": self.request.texts,
            "seed": seed,
        }
        rules = {"learns": self.protocol.learns_text, "tunes": self.protocol.text_trains_backbone}
        texts = {language: self.study.texts[language] for language in languages}
        key = self._key(seed, *BACKBONE_SIZES, "vocab_", "text_", "embedding_lr") | {
            "born": sha256,
            "texts": texts,
            **rules,
        }
        work = self.preset.text_tokens * len(languages) if self.protocol.learns_text else 1
        return self._with_output_file(Job(function=train_on_text, inputs=inputs, key=key, work=work))

    def finetuning(
        self,
        seed: int,
        backbone_file: File | None,
        trained_on_text: Mapping[str, File],
        task: str,
        train_language: str,
    ) -> Job:
        """Fine-tune a backbone, with its weights by language, on a task and evaluate it."""
        test_languages = self.study.tested[task] if self.protocol.is_zero_shot else (train_language,)
        setting = TransferSetting(
            data=self.request.data,
            task=task,
            train_language=train_language,
            test_languages=test_languages,
            is_zero_shot=self.protocol.is_zero_shot,
            swaps_embedding=self.protocol.is_zero_shot and not self.protocol.shares_vocabulary,
        )
        needed = dict.fromkeys((train_language, *test_languages))
        text_files = {code: trained_on_text[code] for code in needed if code in trained_on_text}
        inputs = {
            **self._settings,
            "backbone_file": None if backbone_file is None else backbone_file[0],
            "model": self.request.model,
            "text_files": {language: file for language, (file, _) in text_files.items()},
            "setting": setting,
            "seed": seed,
        }
        key = self._key(seed, *BACKBONE_SIZES, "scope", "tuning", "max_") | {
            "born": self.study.published if backbone_file is None else backbone_file[1],
            "learnt": {language: sha256 for language, (_, sha256) in text_files.items()},
            "task": task,
            "learnt_in": train_language,
            "is_zero_shot": setting.is_zero_shot,
            "examples": {
                f"{part} {language_code}": self.study.examples[part, task, language_code]
                for part, language_codes in (("train", (train_language,)), ("test", test_languages))
                for language_code in language_codes
            },
        }
        num_sentences = (self.preset.max_train or 10_000) + (self.preset.max_test or 1_000) * len(
            test_languages
        )
        return Job(function=finetune_task, inputs=inputs, key=key, work=200 * num_sentences)

    def _with_output_file(self, job: Job) -> Job:
        """The job with the path of its weight file."""
        file = self.folder / "weights" / f"{job.digest}.safetensors"
        return replace(job, inputs={**job.inputs, "file": file})
