"""The stages as jobs: what each is given, and all that can change its result."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from ecsuite.eval.xferbench.texts import TextFile
from ecsuite.eval.xferbench.transfer import digest
from ecsuite.eval.xtreme.sources import CORPUS, HUMAN, RANDOM_INIT, SHUFFLED
from ecsuite.eval.xtreme.stages import VERSION, finetune_task, learn_text, pretrain_backbone
from ecsuite.eval.xtreme.study import Study
from ecsuite.eval.xtreme.task import Trial
from ecsuite.jobs.runner import Job

BODY = ("num_layers", "width", "num_heads", "dropout", "context", "batch", "is_reduced")
"""Of a preset, what can change every stage."""
File = tuple[Path, str]
"""Weights, and their hash."""


class Jobs:
    """Makes the stages of a study.

    Args:
        study: The request.
        folder: Where weights are written.
    """

    def __init__(self, study: Study, folder: Path) -> None:
        self.study, self.request, self.folder = study, study.request, folder
        self.preset, self.protocol = study.preset, study.protocol

    @property
    def _settings(self) -> dict[str, Any]:
        """What all stages are told."""
        return {
            "kind": self.request.body,
            "preset": self.preset,
            "device": self.study.device.type,
            "precision": self.study.precision,
        }

    def _key(self, seed: int, *sizes: str) -> dict[str, Any]:
        """What can change the result of a stage, besides its data: of the preset what begins with one of `sizes`."""
        told = {
            "kind": self.request.body,
            "device": self.study.device.type,
            "precision": self.study.precision,
        }
        kept = {name: value for name, value in asdict(self.preset).items() if name.startswith(sizes)}
        return {"xtreme": VERSION, "sizes": kept, "seed": seed, **told}

    def raising(self, body: str, seed: int) -> Job:
        """Let a body learn its source."""
        text = self.request.human if body == HUMAN else None
        corpus = self.request.corpus if body in (CORPUS, SHUFFLED) else None
        key = self._key(seed, *BODY, "pretrain_") | {"body": body, "corpus": digest(corpus)}
        if text is not None:
            key["text"] = TextFile(text.name, text).digest
        inputs = {**self._settings, "name": body, "corpus": corpus, "text": text, "seed": seed}
        work = self.preset.pretrain_tokens * self.preset.pretrain_epochs if body != RANDOM_INIT else 1
        return self._writing(Job(function=pretrain_backbone, inputs=inputs, key=key, work=work))

    def learning(self, seed: int, born: File, group: tuple[str, ...]) -> Job:
        """Let the body of a file learn the texts of some languages."""
        file, sha256 = born
        inputs = {
            **self._settings,
            "born": file,
            "languages": group,
            "protocol": self.protocol.name,
            "data": self.request.data,
            "texts": self.request.texts,
            "seed": seed,
        }
        rules = {"learns": self.protocol.learns_text, "tunes": self.protocol.text_tunes_body}
        texts = {language: self.study.texts[language] for language in group}
        key = self._key(seed, *BODY, "vocab_", "text_", "embedding_lr") | {
            "born": sha256,
            "texts": texts,
            **rules,
        }
        work = self.preset.text_tokens * len(group) if self.protocol.learns_text else 1
        return self._writing(Job(function=learn_text, inputs=inputs, key=key, work=work))

    def trying(
        self, seed: int, born: File | None, learnt: Mapping[str, File], task: str, learnt_in: str
    ) -> Job:
        """Let a body, with the texts that it has learnt by language, do a task."""
        tested_in = self.study.tested[task] if self.protocol.is_zero_shot else (learnt_in,)
        trial = Trial(
            data=self.request.data,
            task=task,
            learnt_in=learnt_in,
            tested_in=tested_in,
            is_zero_shot=self.protocol.is_zero_shot,
            swaps_embedding=self.protocol.is_zero_shot and not self.protocol.shares_vocabulary,
        )
        spoken = {language: learnt[language] for language in (learnt_in, *tested_in) if language in learnt}
        inputs = {
            **self._settings,
            "born": None if born is None else born[0],
            "model": self.request.model,
            "learnt": {language: file for language, (file, _) in spoken.items()},
            "trial": trial,
            "seed": seed,
        }
        key = self._key(seed, *BODY, "scope", "tuning", "max_") | {
            "born": self.study.published if born is None else born[1],
            "learnt": {language: sha256 for language, (_, sha256) in spoken.items()},
            "task": task,
            "learnt_in": learnt_in,
            "is_zero_shot": trial.is_zero_shot,
            "examples": {
                f"{part} {one}": self.study.examples[part, task, one]
                for part, ones in (("train", (learnt_in,)), ("test", tested_in))
                for one in ones
            },
        }
        num_sentences = (self.preset.max_train or 10_000) + (self.preset.max_test or 1_000) * len(tested_in)
        return Job(function=finetune_task, inputs=inputs, key=key, work=200 * num_sentences)

    def _writing(self, job: Job) -> Job:
        """The job, told where to write its weights."""
        file = self.folder / "weights" / f"{job.digest}.safetensors"
        return replace(job, inputs={**job.inputs, "file": file})
