"""Jobs of experiments: each run is trained once, and each corpus is scored once."""

import hashlib
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from safetensors.numpy import load_file, save

from ecsuite.eval.experiments.corpora import CorpusContent, MessageSelection
from ecsuite.eval.experiments.study import SweepStudy, Variant
from ecsuite.eval.metrics import METRIC_OF, find_metric
from ecsuite.eval.metrics.score import Options
from ecsuite.eval.run_metrics.language_metrics import LanguageMetrics
from ecsuite.eval.statistics import resampling
from ecsuite.eval.views.scorecard import score_corpus
from ecsuite.formats import read_corpus
from ecsuite.games.runs.run import load_run
from ecsuite.games.runs.run_folder import SCORES, WEIGHTS
from ecsuite.games.training.train import TrainingJob, train_in_job
from ecsuite.jobs.job import Context, Job, Location, Outcome, Resources, Result, job_function
from ecsuite.parts import own_code
from ecsuite.runtime.errors import ConfigError, DamagedError, shown

T = TypeVar("T")
VERSION = 2
"""Version of training jobs; increased whenever the same inputs would give another result."""
SCORING_VERSION = 3
"""Version of scoring jobs."""
WORK = 500.0
"""Expected cost of a metric of a run, in training examples."""
SYMBOLS_OF_WORK = 1000
"""Number of symbols whose cost equals the size-independent cost of a metric."""
GPU_SHARE = 0.25
"""Share of a GPU that a training run uses: agents are small."""
PRUNED = "pruned"
"""Value of `stopped` for a pruned run of a search."""
KEPT = (".jsonl", ".json", ".yaml")
"""Suffixes of the files of a run folder that every stored result has."""
SOURCE_PATH = "source_path"
"""Key of the path in the description of a corpus; no result may depend on it."""


def needs_of(*, device: str = "cpu", **_: Any) -> Resources:
    """Resources of a run, or of a score that trains a model."""
    return Resources(num_gpus=GPU_SHARE if device == "cuda" else 0)


@job_function(
    version=VERSION,
    work=lambda *, game, **_: game.work,
    label=lambda *, game, **_: f"train {game.name}, seed {game.seed}",
    resources=needs_of,
)
def train_game(
    *, game: TrainingJob, folder: Location, device: str, keeps_weights: bool = False, context: Context
) -> Outcome:
    """Train a game.

    Args:
        game: The experiment, with its seed.
        folder: Parent of the run folder; a stopped run in it is resumed.
        device: cpu, cuda or mps.
        keeps_weights: Whether the result has the checkpoints, for metrics that need the agents.
        context: See `Context`.

    Returns:
        The fields of `ecsuite.games.runs.run_folder.RunResult`, and the files of the run folder.

    Raises:
        DivergedError: If the loss is not finite.
        Stopped: If the training was asked to stop.
    """
    run_folder = folder.path / game.folder_name
    result = train_in_job(game, run_folder, device, context, LanguageMetrics)
    return Outcome(
        value=result.to_json() | {"was_done": False}, arrays=save(packed(run_folder, keeps_weights))
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class MetricInput:
    """A metric as the input of a job, identified by name, version, and the content of a user's files."""

    name: str
    """Its name, or `./mine.py:my_metric`, with options after commas."""

    @property
    def asks_agents(self) -> bool:
        """Whether it needs the agents of a run."""
        traits = find_metric(self.name).shared
        return traits.needs_agents or traits.asks_agents

    @property
    def is_alone(self) -> bool:
        """Whether it has its own job: it is slow, needs agents, or is the user's. Other metrics share a job."""
        return (
            bool(own_code.foreign_kinds(self.name))
            or self.asks_agents
            or find_metric(self.name).shared.is_asked_for
        )

    def job_key(self) -> Any:
        """Everything that can change its scores."""
        kind, _, options = self.name.partition(",")
        data = _data_in(options)
        if kind == "xferbench":  # its presets may read downloaded texts, if no folder is given
            from ecsuite.eval.xferbench.metric import own_options, texts_of
            from ecsuite.eval.xferbench.presets import PRESETS
            from ecsuite.eval.xferbench.texts import fingerprint

            own_of_metric = own_options(self.name)
            if PRESETS[own_of_metric.preset].languages and not own_of_metric.targets:
                data["texts"] = fingerprint(texts_of(own_of_metric))
        if own_code.is_foreign(kind):
            return {
                "code": own_code.checksum(own_code.source_of(kind)),
                "part": kind.partition(":")[2],
                "options": options,
                "draws": resampling.VERSION,
                **({"data": data} if data else {}),
            }
        version = find_metric(self.name).shared.version
        own = {
            each: own_code.checksum(own_code.source_of(each)) for each in own_code.foreign_kinds(self.name)
        }
        return {
            "name": self.name,
            "version": version,
            "draws": resampling.VERSION,
            **({"code": own} if own else {}),
            **({"data": data} if data else {}),
        }


def _data_in(options: str) -> dict[str, str]:
    """SHA-256 of the files, and of all files in folders, in options such as `need=./need.csv`."""
    files: list[Path] = []
    for key, _, value in (each.partition("=") for each in options.split(",")):
        path = Path(value.strip())
        if path.is_file():
            files.append(path)
        elif path.is_dir() and (
            key == "targets" or "/" in value
        ):  # a word may have the name of a local folder
            files += sorted(file for file in path.rglob("*") if file.is_file())
    digests = {}
    for file in files:
        with open(file, "rb") as opened:
            digests[str(file)] = hashlib.file_digest(opened, "sha256").hexdigest()
    return digests


@dataclass(frozen=True, kw_only=True, slots=True)
class Label:
    """A name for display that does not change a result."""

    key: str
    """The name."""

    def job_key(self) -> None:
        """Nothing."""


@job_function(
    version=SCORING_VERSION,
    work=lambda *, metrics, content=None, **_: (
        len(metrics) * (WORK if content is None else 1 + content.num_symbols / SYMBOLS_OF_WORK)
    ),
    label=lambda *, metrics, name, **_: f"{', '.join(each.name for each in metrics)} of {name.key}",
    resources=needs_of,
)
def score_messages(
    *,
    metrics: list[MetricInput],
    name: Label,
    run: Result | None = None,
    file: Location | None = None,
    content: CorpusContent | None = None,
    selection: MessageSelection | None = None,
    seed: int = 0,
    device: str = "cpu",
    context: Context,
) -> dict[str, Any]:
    """Compute metrics of a run or of the file of a corpus.

    Args:
        metrics: The metrics.
        name: Name of the run or the corpus, for progress.
        run: The result of `train_game`; None: `file` is scored.
        file: Path of a corpus.
        content: Content of the file when the job was planned.
        selection: How the file is read, and which messages are scored.
        seed: Seed of random draws.
        device: Device on which models are trained: cpu, cuda or mps.
        context: See `Context`.

    Returns:
        `scores`, see `Score.to_json`; for a run also `corpus`, see `describe`, without its path.

    Raises:
        ConfigError: If the corpus has changed since the job was planned.
    """
    options, names = Options(seed=seed, device=device), [metric.name for metric in metrics]
    if run is None:
        assert file is not None and content is not None and selection is not None
        corpus = selection.read(file.path)
        if CorpusContent.of(corpus).digest != content.digest:
            raise ConfigError(f"{file.path}: changed during scoring; run the same command again")
        described = {}  # the description depends on metadata, which are not in the key
        card = score_corpus(corpus, names, options)
    else:
        assert run.arrays is not None
        with tempfile.TemporaryDirectory() as folder:
            unpack(run.arrays, Path(folder))
            asked = load_run(folder) if any(metric.asks_agents for metric in metrics) else None
            card = score_corpus(read_corpus(Path(folder)), names, options, run=asked)
        described = {"corpus": {key: value for key, value in card.corpus.items() if key != SOURCE_PATH}}
    return {**described, "scores": [score.to_json(is_kept=True) for score in card.scores]}


def scoring_jobs(
    metrics: Sequence[str], name: str, *, device: str | None = None, **inputs: Any
) -> dict[str, Job]:
    """Jobs that score a run or a corpus, by their metrics.

    Args:
        metrics: Names of metrics.
        name: Name of the run or the corpus.
        device: Device of metrics that train models; None: no metric does.
        **inputs: Further inputs of `score_messages`.
    """
    groups: dict[str, list[MetricInput]] = {}
    for each in sorted(metrics):  # so that job keys do not depend on the order
        metric = MetricInput(name=each)
        groups.setdefault(each if metric.is_alone else "", []).append(metric)
    jobs = {}
    for group in groups.values():
        trains = find_metric(group[0].name).shared.trains
        more = {"device": device} if trains and device is not None else {}
        names = ", ".join(metric.name for metric in group)
        jobs[names] = Job(score_messages, metrics=group, name=Label(key=name), **inputs, **more)
    return jobs


def in_order_of(metrics: Sequence[str], scores: Iterable[tuple[str, T]]) -> list[T]:
    """Sort scores into the order of metrics.

    Args:
        metrics: Names of metrics.
        scores: Name and score; the order within a metric is kept.
    """
    positions: dict[str, int] = {}
    for position, metric in enumerate(metrics):
        positions.setdefault(metric.partition(",")[0].rpartition(":")[2], position)
    ranked: list[tuple[int, T]] = []
    for name, score in scores:
        kind = name.partition(",")[0]
        ranked.append(
            (positions.get(METRIC_OF.get(name) or METRIC_OF.get(kind) or kind, len(positions)), score)
        )
    return [score for _, score in sorted(ranked, key=itemgetter(0))]


def packed(folder: Path, keeps_weights: bool = False) -> dict[str, np.ndarray[Any, Any]]:
    """The files of a run folder, each as an array of bytes; checkpoints only with `keeps_weights`."""
    suffixes = (*KEPT, WEIGHTS) if keeps_weights else KEPT
    files = [file for file in sorted(folder.iterdir()) if file.suffix in suffixes and file.name != SCORES]
    return {file.name: np.frombuffer(file.read_bytes(), dtype=np.uint8) for file in files}


def unpack(arrays: Path, folder: Path) -> None:
    """Write the run files of a stored result into a folder, except files that exist.

    Raises:
        DamagedError: If a name is not the name of a file of a run.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in load_file(arrays).items():
        if Path(name).name != name or Path(name).suffix not in (*KEPT, WEIGHTS):
            raise DamagedError(f"{arrays}: expected files of a run, got {shown(name)!r}")
        if not (folder / name).exists():
            (folder / name).write_bytes(content.tobytes())


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannedRun:
    """One run: a combination of settings with one seed."""

    variant: Variant
    """The settings."""
    seed: int
    """The seed."""
    folder: Path
    """The run folder."""
    training: Job
    """Training job."""
    scores: Mapping[str, Job]
    """Scoring jobs by metric name."""
    further: Job | None = None
    """Job of further figures in the tables of a paper; None: there are no further figures."""

    @property
    def jobs(self) -> tuple[Job, ...]:
        """All its jobs."""
        return (self.training, *self.scores.values(), *(() if self.further is None else (self.further,)))


def plan(study: SweepStudy, runs: Path) -> list[PlannedRun]:
    """The runs of a sweep with their jobs.

    Args:
        study: The study.
        runs: Parent of the run folders.
    """
    return [plan_run(study, variant, seed, runs) for variant in study.variants for seed in study.seeds]


def plan_run(study: SweepStudy, variant: Variant, seed: int, runs: Path) -> PlannedRun:
    """A run with its jobs, and its folder in `runs`."""
    game, device = TrainingJob.of(variant.experiment, seed, study.device), study.device.type
    # Weights are large: results have them only if a metric needs the agents.
    weights = (
        {"keeps_weights": True} if any(MetricInput(name=each).asks_agents for each in study.metrics) else {}
    )
    training = Job(train_game, game=game, folder=Location(path=runs.resolve()), device=device, **weights)
    return PlannedRun(
        variant=variant,
        seed=seed,
        folder=runs / game.folder_name,
        training=training,
        scores=scoring_jobs(study.metrics, game.folder_name, device=device, run=training),
    )
