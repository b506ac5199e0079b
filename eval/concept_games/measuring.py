"""Measuring a study: every game is trained with every seed, and its corpus is scored."""

import hashlib
import json
import multiprocessing
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import torch
from scipy.stats import spearmanr

import ecsuite
from ecsuite.config import DivergedError
from ecsuite.corpus import Corpus
from ecsuite.devices import choose_device, choose_precision
from ecsuite.eval.concept_games.study import Row, Study
from ecsuite.eval.metrics import ami as information
from ecsuite.eval.metrics import cbm, topsim
from ecsuite.eval.metrics.cbm_sensitivity import sensitivity
from ecsuite.eval.metrics.distances import cosine_distance, edit_distance
from ecsuite.eval.metrics.score import Options, Score, signature
from ecsuite.eval.statistics.counting import concept_sets
from ecsuite.formats import read_corpus
from ecsuite.games.experiment import Experiment, with_training
from ecsuite.games.run_folder import identity, with_data
from ecsuite.games.training import train
from ecsuite.jobs.runner import Job, JobRunner, ProgressCallback
from ecsuite.jobs.signals import stop_signals

VERSION = 1
"""Increased whenever the same inputs would give another result."""

SLOWNESS = {"thing": 1.0, "shape": 3.0}
"""Relative time per example of a world; only used to order jobs and to estimate the remaining time."""

COUNTS = {
    "unique_messages": "unique_messages",
    "unique_words": "unique_words",
    "unique_phrases": "unique_phrases",
    "unique_concepts": "unique_concepts",
    "total_edges": "total_edges",
    "good_edges": "good",
    "ambiguous_edges": "ambiguous",
    "paraphrase_edges": "paraphrase",
    "total_concepts": "total_concepts",
    "unmatched_concepts": "unmatched_program",
}
"""Names of measures and of the counts in the details of `cbm`, which uses some names for a share and a count."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MeasuredRow:
    """A game with the results of all seeds."""

    row: Row
    runs: tuple[dict[str, Any], ...]
    """One result per seed, in the order of the seeds; see `train_and_score`."""

    def values(self, measure: str) -> list[float | None]:
        """A measure for each seed; None where it is not defined."""
        return [run["values"][measure] for run in self.runs]

    def mean(self, measure: str) -> float | None:
        """Mean over the seeds; None unless defined for all of them."""
        values = [value for value in self.values(measure) if value is not None]
        return float(np.mean(values)) if len(values) == len(self.runs) else None

    def deviation(self, measure: str) -> float | None:
        """Standard deviation over the seeds (n - 1); None for one seed or without a mean."""
        values = [value for value in self.values(measure) if value is not None]
        return float(np.std(values, ddof=1)) if len(values) == len(self.runs) > 1 else None

    def to_json(self) -> dict[str, Any]:
        """The row as JSON-ready data."""
        names = list(self.runs[0]["values"])
        return {
            "name": self.row.name,
            "config": self.row.experiment.to_tree(),
            "mean": {name: self.mean(name) for name in names},
            "sd": {name: self.deviation(name) for name in names},
            "published": dict(self.row.published),
            "runs": list(self.runs),
        }


def measure_rows(study: Study, *, runner: JobRunner, folder: Path, device: str) -> list[MeasuredRow]:
    """Train and score every game of a study with every seed.

    Args:
        study: What to train.
        runner: Runs the jobs.
        folder: Parent of the run folders `NAME-SEED-…`; an unfinished run resumes from its newest checkpoint.
        device: auto, cpu or cuda.
    """
    jobs = [
        job(with_training(row.experiment, seed=seed), folder, device)
        for row in study.rows
        for seed in study.header.seeds
    ]
    results = runner.run(jobs)
    size = len(study.header.seeds)
    return [
        MeasuredRow(row=row, runs=tuple(results[place * size : (place + 1) * size]))
        for place, row in enumerate(study.rows)
    ]


def job(experiment: Experiment, folder: Path, device: str) -> Job:
    """The job of one run, which calls `train_and_score`."""
    place = choose_device(device)
    experiment = with_training(experiment, precision=choose_precision(experiment.training.precision, place))
    experiment = with_data(experiment)
    run = {
        "what": "cbm study",
        "experiment": identity(experiment),
        "device": place.type,
        "ecsuite": ecsuite.__version__,
        "version": VERSION,
    }
    digest = hashlib.sha256(json.dumps(run, sort_keys=True).encode()).hexdigest()[:8]
    settings = experiment.training
    return Job(
        function=train_and_score,
        inputs={
            "experiment": experiment,
            "folder": folder / f"{experiment.name}-{settings.seed}-{digest}",
            "device": place.type,
        },
        key=run | {"metrics": [cbm.VERSION, topsim.VERSION, information.VERSION], "unmatched": "program"},
        work=settings.num_examples * settings.num_epochs * SLOWNESS.get(experiment.world.kind, 1.0),
    )


def train_and_score(
    *, experiment: Experiment, folder: Path, device: str, report_progress: ProgressCallback
) -> dict[str, Any]:
    """Train a game, and score its corpus.

    Returns:
        `seed`, `folder`, `stopped` (the reason), `step`, `seconds` (of this call), `values` by measure (None if not
        defined), `signatures` by metric, `probes`, and the curves of `sensitivity`.

    Raises:
        DivergedError: If the loss is not finite; the message has the name and the seed.
        KeyboardInterrupt: If the user interrupted the training.
        SystemExit: With code 75, if the training was preempted.
    """
    name, seed = experiment.name, experiment.training.seed

    def report_run_progress(label: str, done: float, total: float) -> None:
        report_progress(f"{name} {seed}: {label}", done / total)

    start, threads = time.monotonic(), torch.get_num_threads()
    torch.set_num_threads(1)  # as in worker processes, so that results are the same
    try:
        with stop_signals() as should_stop:
            result = train(
                experiment,
                folder,
                resume=True,
                device=device,
                progress=report_run_progress,
                note=_ignore_note,
                should_stop=should_stop,
            )
    except DivergedError as error:
        raise DivergedError(f"{name}, seed {seed}: {error}", error.outcome) from None
    finally:
        torch.set_num_threads(threads)
    if result.stopped in ("interrupt", "preempted"):
        _exit_as_signalled(result.stopped)
    corpus = read_corpus(folder)
    scores = {
        "cbm": cbm.cbm(corpus, Options())[0],
        "topsim": topsim.topsim(corpus, Options())[0],
        "topsim_published": topsim_published(corpus),
        "ami": information.ami(corpus, Options())[0],
    }
    details = scores["cbm"].details
    values: dict[str, Any] = {key: value for key, value in result.measures.items() if key != "length"}
    values |= {key: score.value for key, score in scores.items()}
    values |= {key: details[key] for key in ("ambiguity", "paraphrase", "precision", "recall")}
    # The paper's figures are from its program, which also counts a concept with a word of weight 0 as matched.
    values |= {"unmatched": details["unmatched_program"], "without_word": details["unmatched"]}
    values |= {name: details["counts"][key] for name, key in COUNTS.items()}
    return {
        "seed": seed,
        "folder": str(folder),
        "stopped": result.stopped,
        "step": result.step,
        "seconds": time.monotonic() - start,
        "values": values,
        "chance": result.chance,
        "signatures": {key: score.signature for key, score in scores.items()},
        "probes": result.extra_evaluations,
        "sensitivity": sensitivity(corpus),
    }


def topsim_published(corpus: Corpus) -> Score:
    """Topographic similarity as defined in the CBM paper (section 2.3): Spearman correlation over all pairs.

    The distance of messages is the unnormalised Levenshtein distance on words, that of phrases the cosine distance of
    multi-hot vectors. The paper uses the cosine of object representations, which sets of objects do not have.
    """
    num_rows = len(corpus.messages)
    score: dict[str, Any] = {
        "name": "topsim_published",
        "about": "close phrases have close messages",
        "signature": signature(
            "topsim_published",
            1,
            dist="lev",
            mdist="cosine-of-concepts",
            eos="strip",
            pairs="all",
            n=num_rows,
        ),
    }
    phrases = concept_sets(corpus)
    if phrases is None or num_rows < 3:
        return Score(**score, value=None, reason="expected at least three messages with concepts")
    left, right = np.triu_indices(num_rows, 1)
    content = corpus.content()
    mean_lengths = (content.lengths[left] + content.lengths[right]) / 2
    message_distances = np.rint(edit_distance(content)(left, right) * np.maximum(0.5, mean_lengths))
    vectors = np.zeros((num_rows, int(phrases.values.max(initial=0)) + 1))
    vectors[np.repeat(np.arange(num_rows), phrases.lengths), phrases.values] = 1
    phrase_distances = cosine_distance(vectors)(left, right)
    for distances, what in ((message_distances, "messages"), (phrase_distances, "phrases")):
        if np.ptp(distances) == 0:
            return Score(**score, value=None, reason=f"all {what} are equally far apart")
    return Score(**score, value=float(spearmanr(message_distances, phrase_distances).statistic))


def sensitivity_curves(rows: Sequence[MeasuredRow]) -> dict[str, Any]:
    """Match scores by sample size, for the first seed of each row; input of `draw_sensitivity`."""
    return {measured.row.name: measured.runs[0]["sensitivity"] for measured in rows}


def _exit_as_signalled(stopped: str) -> NoReturn:
    """Exit in the way of the signal that stopped a training run."""
    if multiprocessing.parent_process() is not None:
        signal.raise_signal(signal.SIGTERM)  # an exception would let a worker start another run
    raise SystemExit(75) if stopped == "preempted" else KeyboardInterrupt


def _ignore_note(_: str) -> None:
    """Discard notes of single runs, which are not shown in a study."""
