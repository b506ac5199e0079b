"""The readers of users' and of kept files, each as a function of a path."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ecsuite.corpus import Corpus
from ecsuite.downloads.downloads import read_sources as read_downloads
from ecsuite.eval.experiments.cbm import load_table as load_cbm_study
from ecsuite.eval.experiments.study import load_study as load_sweep
from ecsuite.eval.results.logs import read_log
from ecsuite.eval.results.results import Results
from ecsuite.eval.results.samples import samples_of
from ecsuite.eval.translation.pairs import read_pairs as read_translation_pairs
from ecsuite.eval.xferbench.texts import TextFile
from ecsuite.eval.xtreme.scoring.bitexts import read_bucc, read_tatoeba
from ecsuite.eval.xtreme.scoring.labels import read_conllu, read_named_pairs, read_pairs, read_tagged
from ecsuite.eval.xtreme.scoring.questions import read_questions
from ecsuite.eval.xtreme.scoring.tasks import TASKS
from ecsuite.formats import read_corpus
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.plays.interactions import read_interactions
from ecsuite.games.runs.checkpoints import newest_weights
from ecsuite.games.worlds.feature_files import read_features
from ecsuite.games.worlds.images import read_images
from ecsuite.games.worlds.tables import read_objects
from ecsuite.games.worlds.text_files import read_examples
from ecsuite.grammars.frequencies import unigrams
from ecsuite.jobs.job import Job, Outcome, corpus_digest, job_function
from ecsuite.jobs.store import Store
from ecsuite.runtime.errors import ConfigError, CorpusError, DamagedError, FormatError

REFUSALS = {ConfigError: 2, CorpusError: 2, FormatError: 2, OSError: 2, DamagedError: 3}
"""How a command ends after these errors."""
LABELS = ("entailment", "neutral", "contradiction")


@dataclass(frozen=True, kw_only=True, slots=True)
class Reader:
    """A reader; its seeds are in the folder of its name, a file or a folder each."""

    read: Callable[[Path], Any]
    """Reads a seed, or raises an error of `REFUSALS`."""
    kept: Any = None
    """What a file of the package's own holds: changed bytes are refused, in JSON those that change what it holds; None:
    for a user's file, of which there is no checksum."""


@job_function(version=1)
def count(*, corpus: Corpus, context: Any) -> Any:
    raise AssertionError("a kept result needs no computation")


KEPT_JOB = Job(count, corpus=Corpus.from_strings(["da bu", "ka"]))
KEPT_VALUE = Outcome(value={"loss": [0.5, 0.25], "name": "é"}, arrays=b"\x02\0\0\0\0\0\0\0{}")
"""The result; its arrays are the shortest safetensors file."""


OWN_CORPUS = ([3, 1, 0, 4, 0, 1, 5, 0], [[0, 1], [1, 1], [1, 0]], ["train", "train", "held_out"])


def own_corpus(folder: Path) -> Any:
    """Symbols, meanings and splits of a corpus folder; its metadata, which the user may add to, has no checksum."""
    corpus = read_corpus(folder)
    if corpus.meanings is None or "split" not in corpus.columns:
        return OWN_CORPUS  # of changed metadata that name no such file
    return corpus.messages.values.tolist(), corpus.meanings.tolist(), corpus.columns["split"].tolist()


def kept_result(folder: Path) -> Any:
    """The result of a store; damage means that it counts as absent, with a note."""
    notes: list[str] = []
    found = Store(folder, notes.append).read(KEPT_JOB, needs_arrays=True)
    if found is None:
        raise DamagedError("; ".join(notes) or f"{folder}: absent")
    return found.value


def kept_corpus(folder: Path) -> Any:
    with tempfile.TemporaryDirectory() as other:
        sent = Store(Path(other)).send(KEPT_JOB)
    return corpus_digest(Store(folder).receive(sent, count)["corpus"])


def checkpoint(folder: Path) -> Any:
    """The weights of the newest checkpoint that is not damaged, of which there is one."""
    found = newest_weights(folder, lambda _: None)
    assert found is not None
    return {name: tensor.tolist() for name, tensor in found.items()}


def submissions(folder: Path) -> Any:
    found = []
    for task in ("xnli", "panx", "tatoeba", "bucc2018"):
        file = folder / task / "test-de.tsv"
        found.append(TASKS[task].read_submission(file, file))
    found.append(TASKS["xquad"].read_submission(folder / "xquad" / "test-de.json", folder / "labels.json"))
    return found


def run_folder(folder: Path) -> Any:
    return Results.read([folder]).runs(), read_log(folder)


def report_sources(folder: Path) -> Any:
    return [
        (source.title, source.figures, source.config, read_corpus(source.corpus) if source.corpus else None)
        for source in Results.read([folder])
    ]


ROUNDS = {"meaning": [[0, 1], [1, 1]], "correct": [True, False]}
"""The interactions of a run."""


def interactions(folder: Path) -> Any:
    found = read_interactions(folder)
    return ROUNDS if found is None else found.to_pydict()


def images(file: Path) -> Any:
    return read_images(str(file.parent), 8)


def texts(file: Path) -> Any:
    return TextFile(file.name, file).documents()


READERS = {
    "jsonl": Reader(read=read_corpus),
    "strings": Reader(read=read_corpus),
    "cbm": Reader(read=read_corpus),
    "records": Reader(read=read_corpus),
    "symbols": Reader(read=read_corpus),
    "corpus_folder": Reader(read=own_corpus, kept=OWN_CORPUS),
    "parquet": Reader(read=read_corpus),
    "saved_corpus": Reader(read=read_corpus),
    "saved_objects": Reader(read=lambda folder: read_objects(str(folder))),
    "npz": Reader(read=lambda path: read_features(str(path), 0)),
    "images": Reader(read=images),
    "objects": Reader(read=lambda path: read_objects(str(path))),
    "egg_rounds": Reader(read=lambda path: read_examples(str(path), several=True, num_values=4)),
    "egg_objects": Reader(read=lambda path: read_examples(str(path), several=False, num_values=4)),
    "game_yaml": Reader(read=lambda path: load_experiment(str(path))),
    "sweep_yaml": Reader(read=load_sweep),
    "study_yaml": Reader(read=lambda path: load_cbm_study(str(path))),
    "search_yaml": Reader(read=load_sweep),
    "run_folder": Reader(read=run_folder),
    "report_sources": Reader(read=report_sources),
    "interactions": Reader(read=interactions, kept=ROUNDS),
    "sweep_file": Reader(read=lambda path: Results.read([path]).runs()),
    "scores": Reader(
        read=lambda path: samples_of(Results.read([path]), "topsim" if path.stem == "scores" else "xferbench")
    ),
    "checkpoint": Reader(read=checkpoint, kept={"a": [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]}),
    "kept_result": Reader(read=kept_result, kept=KEPT_VALUE.value),
    "kept_corpus": Reader(read=kept_corpus, kept=corpus_digest(KEPT_JOB.inputs["corpus"])),
    "texts": Reader(read=texts),
    "words": Reader(read=lambda path: unigrams(path, 10)),
    "translation_pairs": Reader(read=read_translation_pairs),
    "labelled_pairs": Reader(read=lambda path: read_pairs(path, LABELS)),
    "named_pairs": Reader(read=lambda path: read_named_pairs(path, LABELS, "de")),
    "tagged": Reader(read=lambda path: read_tagged(path, ("DET", "NOUN", "VERB"))),
    "conllu": Reader(read=lambda path: read_conllu([path], "es")),
    "questions": Reader(read=read_questions),
    "tatoeba": Reader(read=lambda folder: read_tatoeba(folder / "a.de", "en", is_sorted=False)),
    "bucc": Reader(read=lambda folder: read_bucc(folder / "a.de")),
    "submissions": Reader(read=submissions),
    "downloads": Reader(read=read_downloads),
}
"""By name."""
