"""From a study to its figures: every game is trained with every seed, and what it says is scored."""

import hashlib
import json
import multiprocessing
import signal
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import torch
from scipy.stats import spearmanr

import ecsuite
from ecsuite.config import ConfigError, Experiment, with_training
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
from ecsuite.games.training import DivergedError, train
from ecsuite.jobs.runner import Job, JobRunner, ProgressCallback

VERSION = 1
"""Raised whenever the same inputs would give other figures than before."""

SLOWNESS = {"thing": 1.0, "shape": 3.0}
"""How long an example of a world takes, about; decides only what begins first, and the ETA."""

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
"""Our names for the counts of `cbm`, which has a share and a count under one name."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MeasuredRow:
    """One game with all its seeds."""

    row: Row
    runs: tuple[dict[str, Any], ...]
    """One a seed, in the order of the seeds; see `train_and_score`."""

    def values(self, measure: str) -> list[float | None]:
        """A measure of each seed; None where it is not defined."""
        return [run["values"][measure] for run in self.runs]

    def mean(self, measure: str) -> float | None:
        """Mean over the seeds; None if it is not defined for all of them."""
        values = [value for value in self.values(measure) if value is not None]
        return float(np.mean(values)) if len(values) == len(self.runs) else None

    def deviation(self, measure: str) -> float | None:
        """Standard deviation over the seeds (n - 1); None for one seed, or where there is no mean."""
        values = [value for value in self.values(measure) if value is not None]
        return float(np.std(values, ddof=1)) if len(values) == len(self.runs) > 1 else None

    def to_json(self) -> dict[str, Any]:
        """The row as JSON-ready data."""
        names = list(self.runs[0]["values"])
        return {
            "name": self.row.name,
            "config": asdict(self.row.experiment),
            "mean": {name: self.mean(name) for name in names},
            "sd": {name: self.deviation(name) for name in names},
            "published": dict(self.row.published),
            "runs": list(self.runs),
        }


def measure_rows(study: Study, *, runner: JobRunner, folder: Path, device: str) -> list[MeasuredRow]:
    """Train and score every game of a study with every seed.

    Args:
        study: What to train.
        runner: Where it is done.
        folder: Run folders go here, `NAME-SEED-…`; an unfinished run goes on from its newest checkpoint.
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
    """The job of one run; its result is what `train_and_score` gives."""
    place = choose_device(device)
    experiment = with_training(experiment, precision=choose_precision(experiment.training.precision, place))
    run = {
        "what": "cbm study",
        "experiment": asdict(experiment),
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
    """Train a game, and score its language.

    Returns:
        `seed`, `folder`, `stopped` (why), `step`, `seconds` (of this call), `values` by measure (None where one is
        not defined), `signatures` by metric, `probes`, and the curves of `sensitivity`.

    Raises:
        ConfigError: If the loss is not finite.
        KeyboardInterrupt: If the user stopped it.
        SystemExit: With 75, if it was asked to leave the machine.
    """
    name, seed = experiment.name, experiment.training.seed

    def told(label: str, done: float, total: float) -> None:
        report_progress(f"{name} {seed}: {label}", done / total)

    began, threads = time.monotonic(), torch.get_num_threads()
    torch.set_num_threads(1)  # in this process as in a worker, so that the figures are the same
    try:
        result = train(experiment, folder, resume=True, device=device, progress=told, note=_silent)
    except DivergedError as error:  # can't be pickled, and knows no names
        raise ConfigError(f"{name}, seed {seed}: {error}") from None
    finally:
        torch.set_num_threads(threads)
    if result.stopped in ("interrupt", "preempted"):
        _leave(result.stopped)
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
    # The paper's figures are its program's, which calls a concept matched that has a word if only at weight 0.
    values |= {"unmatched": details["unmatched_program"], "without_word": details["unmatched"]}
    values |= {name: details["counts"][key] for name, key in COUNTS.items()}
    return {
        "seed": seed,
        "folder": str(folder),
        "stopped": result.stopped,
        "step": result.step,
        "seconds": time.monotonic() - began,
        "values": values,
        "chance": result.chance,
        "signatures": {key: score.signature for key, score in scores.items()},
        "probes": result.probes,
        "sensitivity": sensitivity(corpus),
    }


def topsim_published(corpus: Corpus) -> Score:
    """Topographic similarity as the CBM paper has it (section 2.3): Spearman's correlation over all pairs.

    Messages are compared by Levenshtein distance on words, not divided by any length, phrases by the cosine of their
    multi-hot vectors. The paper has the cosine of object representations, which sets of objects do not have.
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
        return Score(
            **score, value=None, reason="it takes three messages with concepts to have pairs to rank"
        )
    left, right = np.triu_indices(num_rows, 1)
    content = corpus.content()
    mean_lengths = (content.lengths[left] + content.lengths[right]) / 2
    edits = np.rint(edit_distance(content)(left, right) * np.maximum(0.5, mean_lengths))
    vectors = np.zeros((num_rows, int(phrases.values.max(initial=0)) + 1))
    vectors[np.repeat(np.arange(num_rows), phrases.lengths), phrases.values] = 1
    apart = cosine_distance(vectors)(left, right)
    for distances, what in ((edits, "messages"), (apart, "phrases")):
        if np.ptp(distances) == 0:
            return Score(**score, value=None, reason=f"all {what} are equally far apart")
    return Score(**score, value=float(spearmanr(edits, apart).statistic))


def sensitivity_curves(rows: Sequence[MeasuredRow]) -> dict[str, Any]:
    """The score by sample size of each row's first seed, for `draw_sensitivity`."""
    return {measured.row.name: measured.runs[0]["sensitivity"] for measured in rows}


def _leave(stopped: str) -> NoReturn:
    """Go as the signal asked that ended a training run early."""
    if multiprocessing.parent_process() is not None:
        signal.raise_signal(signal.SIGTERM)  # an exception would not keep a worker from beginning another run
    raise SystemExit(75) if stopped == "preempted" else KeyboardInterrupt


def _silent(_: str) -> None:
    """Notes of single runs are not for the user of a study."""
