"""The jobs of a sweep: each run is trained once, and each metric of its corpus is computed once."""

import hashlib
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save

from ecsuite.eval.metrics import find_metric
from ecsuite.eval.metrics.score import Options
from ecsuite.eval.statistics import resampling
from ecsuite.eval.sweeps.study import Study, Variant
from ecsuite.eval.views.scorecard import score_corpus
from ecsuite.formats import read_corpus
from ecsuite.games.runs import load_run
from ecsuite.games.training_jobs import Game, train_in_job
from ecsuite.jobs.job import Context, Job, Location, Outcome, Resources, Result, job_function
from ecsuite.parts import own_code
from ecsuite.runtime.errors import DamagedError, shown

VERSION = 2
"""Increased whenever the same inputs would give another result."""
GPU_SHARE = 0.25
"""Share of a GPU that a training run uses: agents are small."""
SCORES = "scores.json"
"""The file of a run folder with its scores."""
KEPT = (".jsonl", ".json", ".yaml")
"""Endings of the files of a run folder that every kept result holds."""
WEIGHTS = ".safetensors"
"""The ending of checkpoints."""


def needs_of(*, device: str = "cpu", **_: Any) -> Resources:
    """What a run, or a score that trains a model, needs of a machine."""
    return Resources(num_gpus=GPU_SHARE if device == "cuda" else 0)


@job_function(
    version=VERSION,
    work=lambda *, game, **_: game.work,
    label=lambda *, game, **_: f"train {game.name}, seed {game.seed}",
    resources=needs_of,
)
def train_game(
    *, game: Game, folder: Location, device: str, keeps_weights: bool = False, context: Context
) -> Outcome:
    """Train a game.

    Args:
        game: The experiment, with its seed.
        folder: Parent of the run folder; a run that was stopped there goes on.
        device: cpu, cuda or mps.
        keeps_weights: Whether the result holds the checkpoints, too: some metrics ask the agents.
        context: See `Context`.

    Returns:
        The fields of `ecsuite.games.training.Result`, and the files of the run folder.

    Raises:
        DivergedError: If the loss is not finite.
        Stopped: If the training was asked to stop.
    """
    run_folder = folder.path / game.folder_name
    result = train_in_job(game, run_folder, device, context)
    return Outcome(
        value=result.to_json() | {"was_done": False}, arrays=save(packed(run_folder, keeps_weights))
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class MetricInput:
    """A metric as the input of a job: known by its name, its version, and the content of a user's files."""

    name: str
    """Its name, or `./mine.py:my_metric`, with options after commas."""

    @property
    def asks_agents(self) -> bool:
        """Whether it asks the agents of a run."""
        traits = find_metric(self.name).shared
        return traits.needs_agents or traits.asks_agents

    def job_key(self) -> Any:
        """What can change its scores."""
        kind, _, options = self.name.partition(",")
        data = _data_in(options) | _downloaded_texts(self.name)
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
    """SHA-256 of the files, and of those in the folders, that options after commas name: `need=./need.csv`."""
    files: list[Path] = []
    for key, _, value in (each.partition("=") for each in options.split(",")):
        place = Path(value.strip())
        if place.is_file():
            files.append(place)
        elif place.is_dir() and (
            key == "targets" or "/" in value
        ):  # a word may be called as a folder that is here
            files += sorted(file for file in place.rglob("*") if file.is_file())
    found = {}
    for file in files:
        with open(file, "rb") as opened:
            found[str(file)] = hashlib.file_digest(opened, "sha256").hexdigest()
    return found


def _downloaded_texts(metric: str) -> dict[str, str]:
    """The names and a hash of the downloaded texts that a preset of XferBench reads where no folder is named."""
    if metric.partition(",")[0] != "xferbench":
        return {}
    from ecsuite.eval.xferbench.metric import own_options, texts_of
    from ecsuite.eval.xferbench.presets import PRESETS
    from ecsuite.eval.xferbench.texts import fingerprint

    own = own_options(metric)
    reads_downloaded = PRESETS[own.preset].languages and not own.targets
    return {"texts": fingerprint(texts_of(own))} if reads_downloaded else {}


def _label_of_score(*, metric: MetricInput, game: str, **_: Any) -> str:
    return f"{metric.name} of {game}"


@job_function(version=VERSION, work=lambda **_: 500.0, label=_label_of_score, resources=needs_of)
def score_run(
    *, run: Result, game: str, metric: MetricInput, device: str = "cpu", context: Context
) -> list[dict[str, Any]]:
    """Compute one metric of a run: of its corpus, or of its agents.

    Args:
        run: The result of `train_game`.
        game: The name of the run, for progress.
        metric: Which metric.
        device: Where a metric that trains a model does so: cpu, cuda or mps.
        context: See `Context`.

    Returns:
        Its scores, see `Score.to_json`.
    """
    assert run.arrays is not None
    with tempfile.TemporaryDirectory() as folder:
        unpack(run.arrays, Path(folder))
        of_agents = load_run(folder) if metric.asks_agents else None
        corpus = read_corpus(Path(folder))
        scores = score_corpus(corpus, [metric.name], Options(device=device), run=of_agents).scores
    return [score.to_json(is_kept=True) for score in scores]


def packed(folder: Path, keeps_weights: bool = False) -> dict[str, np.ndarray[Any, Any]]:
    """The files of a run folder, each as an array of bytes; checkpoints if weights are kept."""
    kept = (*KEPT, WEIGHTS) if keeps_weights else KEPT
    files = [file for file in sorted(folder.iterdir()) if file.suffix in kept and file.name != SCORES]
    return {file.name: np.frombuffer(file.read_bytes(), dtype=np.uint8) for file in files}


def unpack(arrays: Path, folder: Path) -> None:
    """Write the files of a run that a kept result holds into a folder, where they are missing.

    Raises:
        DamagedError: If one is not the name of a file of a run.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in load_file(arrays).items():
        if Path(name).name != name or Path(name).suffix not in (*KEPT, WEIGHTS):
            raise DamagedError(f"{arrays}: it holds {shown(name)!r}, which is no file of a run")
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
    """Trains it."""
    scores: dict[str, Job]
    """Scores it, by metric."""


def _device_of(metric: MetricInput, study: Study) -> dict[str, str]:
    """The device of a metric that trains a model, as an input of its job."""
    return {"device": study.device.type} if find_metric(metric.name).shared.trains else {}


def plan(study: Study, folder: Path) -> list[PlannedRun]:
    """The runs of a sweep with their jobs."""
    return [plan_run(study, variant, seed, folder) for variant in study.variants for seed in study.seeds]


def plan_run(study: Study, variant: Variant, seed: int, folder: Path) -> PlannedRun:
    """A run with its jobs; its folder is in `runs/` of the folder of the sweep."""
    game = Game.of(variant.experiment, seed, study.device)
    location = Location(path=(folder / "runs").resolve())
    metrics = {name: MetricInput(name=name) for name in study.metrics}
    # Where no metric asks agents, results keep the keys that they had before weights could be kept.
    weights = {"keeps_weights": True} if any(each.asks_agents for each in metrics.values()) else {}
    training = Job(train_game, game=game, folder=location, device=study.device.type, **weights)
    scores = {
        name: Job(score_run, run=training, game=game.folder_name, metric=metric, **_device_of(metric, study))
        for name, metric in metrics.items()
    }
    return PlannedRun(
        variant=variant,
        seed=seed,
        folder=folder / "runs" / game.folder_name,
        training=training,
        scores=scores,
    )
