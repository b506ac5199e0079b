"""The stage from beginning to end: raise bodies, let them learn texts, try the tasks, gather what came of it."""

import hashlib
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ecsuite.agents.precision import choose_device, choose_precision
from ecsuite.config import ConfigError, look_up
from ecsuite.corpus import Corpus
from ecsuite.eval.score import no_progress, signature
from ecsuite.eval.workshop import Job, Workshop
from ecsuite.eval.xferbench.texts import TextFile
from ecsuite.eval.xferbench.transfer import digest
from ecsuite.eval.xtreme.baselines import fit_baseline
from ecsuite.eval.xtreme.languages import LANGUAGES
from ecsuite.eval.xtreme.reading import read_examples, scored_split
from ecsuite.eval.xtreme.scoring import MINED, chance, labels_of, score_predictions
from ecsuite.eval.xtreme.tasks import TASKS
from ecsuite.eval.xtreme_transfer.bodies import BODIES, require_transformers
from ecsuite.eval.xtreme_transfer.presets import PRESETS, Preset
from ecsuite.eval.xtreme_transfer.protocols import PROTOCOLS, Protocol
from ecsuite.eval.xtreme_transfer.result import Cell, TransferResult
from ecsuite.eval.xtreme_transfer.sources import CORPUS, HUMAN, PARENTHESES, RANDOM_INIT, SHUFFLED
from ecsuite.eval.xtreme_transfer.stages import VERSION, learn_text, raise_body, try_task
from ecsuite.eval.xtreme_transfer.task import Trial
from ecsuite.eval.xtreme_transfer.texts import (
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
    model: str | None = None
    """A published encoder instead of a corpus."""
    languages: tuple[str, ...] = ()
    """Languages to be tested in, beside English; none for the preset's."""
    protocol: str = "adapt"
    """A name in `PROTOCOLS`."""
    preset: str = "mini"
    """A name in `PRESETS`."""
    body: str = "decoder"
    """A name in `BODIES`."""
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


def xtreme_transfer(request: Request) -> TransferResult:
    """Try a corpus, or a published model, on tasks in human languages.

    Raises:
        ConfigError: If a name is unknown, or data that are needed are missing.
    """
    return _Study(request).result()


class _Study:
    """A request that has been checked, and what follows from it."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.preset: Preset = look_up("preset", request.preset, PRESETS)
        look_up("body", request.body, BODIES)
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
        if not request.data.is_dir():
            raise ConfigError(
                f"{request.data}: no such folder of tasks: run `ecsuite data xtreme`, or give --data FOLDER"
            )
        self.device = choose_device(request.device)
        self.precision = choose_precision(self.preset.precision, self.device)
        self.seeds = request.seeds or tuple(range(self.preset.num_seeds))
        self.tested = {task: self._tested_in(task) for task in request.tasks}
        self.bodies = self._bodies()

    def _tested_in(self, task: str) -> tuple[str, ...]:
        """The languages that a task is tested in."""
        request = self.request
        known = look_up("task", task, TASKS)
        if known.kind == "retrieval" and not self.protocol.is_zero_shot:
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
        if not set(found).intersection(sought):
            raise ConfigError(
                f"{request.data}: {task} has labels to score against in none of {', '.join(asked or known.languages)}; "
                "choose others by --languages, or leave it out by --tasks"
            )
        return found

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

    @property
    def settings(self) -> dict[str, Any]:
        """What all stages are told."""
        return {
            "kind": self.request.body,
            "preset": self.preset,
            "device": self.device.type,
            "precision": self.precision,
        }

    def key(self, seed: int) -> dict[str, Any]:
        """What can change the result of any stage, besides its data."""
        told = {"kind": self.request.body, "device": self.device.type, "precision": self.precision}
        sizes = {name: value for name, value in asdict(self.preset).items() if name not in UNTOLD}
        return {"xtreme": VERSION, "sizes": sizes, "seed": seed, **told}

    def result(self) -> TransferResult:
        """Run what is not there yet, and gather everything."""
        request = self.request
        with ExitStack() as stack:
            kept = request.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
            workers = request.num_workers if self.device.type == "cpu" and self.preset.is_reduced else 1
            work = stack.enter_context(Workshop(num_workers=workers, folder=kept, progress=request.progress))
            tried = self._try(work, kept)
        cells: list[Cell] = []
        learnt_from: dict[str, dict[str, str | None]] = {}
        for (body, seed, task, learnt_in), found in tried:
            learnt_from.setdefault(task, {})[learnt_in] = found["learnt_from"]
            cells += [
                Cell(body=body, seed=seed, task=task, language=language, **scored)
                for language, scored in found["by_language"].items()
            ]
        guesses = {
            task: {language: self._chance(task, language) for language in languages}
            for task, languages in self.tested.items()
        }
        return TransferResult.from_cells(
            cells,
            protocol=self.protocol.name,
            preset=self.preset.name,
            corpus=self.bodies[0],
            baselines=self._baselines(),
            chance=guesses,
            notes=self._notes(learnt_from),
            signature=self._signature(),
        )

    def _try(self, work: Workshop, kept: Path) -> list[tuple[tuple[str, int, str, str], Any]]:
        """All stages, in their order."""
        pairs = [(body, seed) for body in self.bodies for seed in self.seeds]
        born, learnt = {}, {}
        examples, texts = self._examples(), self._texts()  # before anything is learnt, as they may be missing
        if self.request.model is None:
            born = self._finish(work, kept, {pair: self._raising(*pair) for pair in pairs})
            groups = (
                [self.languages] if self.protocol.shares_vocabulary else [(one,) for one in self.languages]
            )
            learnt = self._finish(
                work,
                kept,
                {
                    (*pair, group): self._learning(pair, born[pair], group, texts)
                    for pair in pairs
                    for group in groups
                },
            )
        trials = {}
        for body, seed in pairs:
            files = {
                language: file
                for (name, number, group), file in learnt.items()
                for language in group
                if (name, number) == (body, seed)
            }
            for task, tested_in in self.tested.items():
                for learnt_in in (ENGLISH,) if self.protocol.is_zero_shot else tested_in:
                    trials[body, seed, task, learnt_in] = self._trying(
                        (body, seed), born.get((body, seed)), files, task, learnt_in, examples
                    )
        return list(zip(trials, work.run(list(trials.values())), strict=True))

    def _finish(self, work: Workshop, kept: Path, jobs: dict[Any, Job]) -> dict[Any, tuple[Path, str]]:
        """Run jobs that write files; the files, and their hashes."""
        made = work.run([_with_file(job, kept) for job in jobs.values()])
        files = {}
        for name, job, born in zip(jobs, jobs.values(), made, strict=True):
            whole = _with_file(job, kept)
            file = whole.inputs["file"]
            if not (file.is_file() and hashlib.sha256(file.read_bytes()).hexdigest() == born["sha256"]):
                Workshop(num_workers=1, folder=None, progress=self.request.progress).run([whole])
            files[name] = (file, born["sha256"])
        return files

    def _raising(self, body: str, seed: int) -> Job:
        text = self.request.human if body == HUMAN else None
        corpus = self.request.corpus if body in (CORPUS, SHUFFLED) else None
        key = self.key(seed) | {"body": body, "corpus": digest(corpus)}
        if text is not None:
            key["text"] = TextFile(text.name, text).digest
        inputs = {**self.settings, "name": body, "corpus": corpus, "text": text, "seed": seed}
        work = self.preset.pretrain_tokens * self.preset.pretrain_epochs if body != RANDOM_INIT else 1
        return Job(function=raise_body, inputs=inputs, key=key, work=work)

    def _learning(
        self, pair: tuple[str, int], born: tuple[Path, str], group: tuple[str, ...], texts: dict[str, str]
    ) -> Job:
        file, sha256 = born
        inputs = {
            **self.settings,
            "born": file,
            "languages": group,
            "protocol": self.protocol.name,
            "data": self.request.data,
            "texts": self.request.texts,
            "seed": pair[1],
        }
        rules = {"learns": self.protocol.learns_text, "tunes": self.protocol.text_tunes_body}
        key = self.key(pair[1]) | {"born": sha256, "texts": {one: texts[one] for one in group}, **rules}
        work = self.preset.text_tokens * len(group) if self.protocol.learns_text else 1
        return Job(function=learn_text, inputs=inputs, key=key, work=work)

    def _trying(
        self,
        pair: tuple[str, int],
        born: tuple[Path, str] | None,
        files: dict[str, tuple[Path, str]],
        task: str,
        learnt_in: str,
        examples: dict[tuple[str, str, str], str],
    ) -> Job:
        tested_in = self.tested[task] if self.protocol.is_zero_shot else (learnt_in,)
        trial = Trial(
            data=self.request.data,
            task=task,
            learnt_in=learnt_in,
            tested_in=tested_in,
            is_zero_shot=self.protocol.is_zero_shot,
            swaps_embedding=self.protocol.is_zero_shot and not self.protocol.shares_vocabulary,
        )
        spoken = {language: files[language] for language in (learnt_in, *tested_in) if language in files}
        inputs = {
            **self.settings,
            "born": None if born is None else born[0],
            "model": self.request.model,
            "learnt": {language: file for language, (file, _) in spoken.items()},
            "trial": trial,
            "seed": pair[1],
        }
        key = self.key(pair[1]) | {
            "born": self.published if born is None else born[1],
            "learnt": {language: sha256 for language, (_, sha256) in spoken.items()},
            "task": task,
            "learnt_in": learnt_in,
            "is_zero_shot": trial.is_zero_shot,
            "examples": {
                f"{part} {one}": examples[part, task, one]
                for part, ones in (("train", (learnt_in,)), ("test", tested_in))
                for one in ones
            },
        }
        num_sentences = (self.preset.max_train or 10_000) + (self.preset.max_test or 1_000) * len(tested_in)
        return Job(function=try_task, inputs=inputs, key=key, work=200 * num_sentences)

    def _examples(self) -> dict[tuple[str, str, str], str]:
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

    def _texts(self) -> dict[str, str]:
        """Hashes of the texts, of which vocabularies at least are learnt."""
        if self.request.model is not None:
            return {}
        return {
            language: language_text(language, self.request.data, self.request.texts).digest
            for language in self.languages
        }

    def _asked(self, task: str, language: str) -> tuple[str, Any]:
        """What a body is asked in a language."""
        split, asked = tested_examples(
            self.request.data, task, language, is_zero_shot=self.protocol.is_zero_shot
        )
        return split, asked if TASKS[task].kind == "retrieval" else asked[: self.preset.max_test]

    def _chance(self, task: str, language: str) -> dict[str, float]:
        return chance(task, language, labels_of(task, self._asked(task, language)[1]))

    def _baselines(self) -> dict[str, dict[str, dict[str, float]]]:
        """What needs no model, on the same examples."""
        found: dict[str, dict[str, dict[str, float]]] = {}
        for task, languages in self.tested.items():
            predict = fit_baseline(self.request.data, task)
            for language in languages:
                _, asked = self._asked(task, language)
                metrics = score_predictions(task, language, predict(asked), asked)
                found.setdefault(task, {})[language] = metrics
        return found

    def _notes(self, learnt_from: dict[str, dict[str, str | None]]) -> list[str]:
        """What was reduced, and from what tasks were learnt."""
        preset, request = self.preset, self.request
        lines = []
        if preset.is_reduced:
            limits = f"at most {preset.max_train:,} examples learnt and {preset.max_test:,} a language tested"
            tuned = "heads alone tuned, on states as they are" if preset.scope == "head" else "all tuned"
            lines.append(f"Preset {preset.name}: not the benchmark's settings; {limits}; {tuned}.")
        for task, parts in learnt_from.items():
            others = {language: part for language, part in parts.items() if part not in (None, "train")}
            if others:
                told = ", ".join(f"{language} {part}" for language, part in others.items())
                lines.append(f"{TASKS[task].title} was learnt from: {told}.")
        if request.model is None and self.protocol.learns_text and request.texts is None:
            lines.append("Texts: the words of tagged sentences that are not tested (others by --texts).")
        for task, languages in self.tested.items():
            asked = request.languages or preset.languages or TASKS[task].languages
            missing = [one for one in asked if one not in languages and one != ENGLISH]
            if missing:
                lines.append(f"{TASKS[task].title}: nothing to score against in {', '.join(missing)}.")
        return lines

    def _signature(self) -> str:
        request, preset = self.request, self.preset
        content = hashlib.blake2b(digest_size=4)
        for name, value in sorted(self._examples().items()):
            content.update(f"{name} {value}\n".encode())
        for text in self._texts().values():
            content.update(text.encode())
        named = {"body": request.body} if request.model is None else {"model": Path(request.model).name}
        return signature(
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


UNTOLD = ("name", "about", "languages", "num_seeds")
"""Of a preset, what does not change a result."""


def _hash_of_model(name: str) -> str:
    """The name on the hub; of a folder, whose model may be another one by now, a hash of its files."""
    files = sorted(file for file in Path(name).glob("*") if file.is_file())
    content = hashlib.sha256()
    for file in files:
        with file.open("rb") as opened:
            content.update(f"{file.name} {hashlib.file_digest(opened, 'sha256').hexdigest()}\n".encode())
    return content.hexdigest() if files else name


def _with_file(job: Job, folder: Path) -> Job:
    """The job, told where to write its weights."""
    file = folder / "weights" / f"{job.digest}.safetensors"
    return Job(function=job.function, inputs={**job.inputs, "file": file}, key=job.key, work=job.work)
