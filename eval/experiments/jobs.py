"""Jobs of experiments: each run is trained once, and each corpus is scored once."""

import hashlib
import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file, save

from ecsuite.corpus import Corpus
from ecsuite.eval.experiments.corpora import Member, Selection
from ecsuite.eval.experiments.study import SweepStudy, Variant
from ecsuite.eval.metrics import traits_of_metric
from ecsuite.eval.metrics.score import Options
from ecsuite.eval.reports.scorecard import score_corpus
from ecsuite.eval.statistics import resampling
from ecsuite.formats import read_corpus
from ecsuite.formats.reading import read_as
from ecsuite.games.runs import load_run
from ecsuite.games.training_jobs import Game, train_in_job
from ecsuite.jobs.job import Context, Job, Location, Outcome, Resources, Result, job_function
from ecsuite.parts import own_code
from ecsuite.parts.own_code import foreign_kinds
from ecsuite.runtime.errors import ConfigError, DamagedError, shown

VERSION = 2
"""Increased whenever the same inputs would give another result."""
GPU_SHARE = 0.25
"""Share of a GPU that a training run uses: agents are small."""
SCORES = "scores.json"
"""The file of a run folder with its scores."""
PRUNED = "pruned"
"""Why the training of a run of a search ended that was worse than earlier ones."""
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
class Metric:
    """A metric as the input of a job: known by its name, its version, and the content of a user's files."""

    name: str
    """Its name, or `./mine.py:my_metric`, with options after commas."""

    @property
    def asks_agents(self) -> bool:
        """Whether it asks the agents of a run."""
        traits = traits_of_metric(self.name)
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
        version = traits_of_metric(self.name).version
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


def _label_of_score(*, metric: Metric, game: str, **_: Any) -> str:
    return f"{metric.name} of {game}"


@job_function(version=VERSION, work=lambda **_: 500.0, label=_label_of_score, resources=needs_of)
def score_run(
    *, run: Result, game: str, metric: Metric, device: str = "cpu", context: Context
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


def _device_of(metric: Metric, study: SweepStudy) -> dict[str, str]:
    """The device of a metric that trains a model, as an input of its job."""
    return {"device": study.device.type} if traits_of_metric(metric.name).trains else {}


def plan(study: SweepStudy, folder: Path) -> list[PlannedRun]:
    """The runs of a sweep with their jobs."""
    return [plan_run(study, variant, seed, folder) for variant in study.variants for seed in study.seeds]


def plan_run(study: SweepStudy, variant: Variant, seed: int, folder: Path) -> PlannedRun:
    """A run with its jobs; its folder is in `runs/` of the folder of the sweep."""
    game = Game.of(variant.experiment, seed, study.device)
    location = Location(path=(folder / "runs").resolve())
    metrics = {name: Metric(name=name) for name in study.metrics}
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


VERSION = 1
"""Increased whenever the same inputs would give another result."""
SYMBOLS_OF_WORK = 1000
"""Symbols that cost about as much as what every metric does for any corpus."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Content:
    """What a corpus holds."""

    digest: str
    """Hash of everything that a metric may read."""
    num_symbols: int
    """Symbols of all messages."""

    def job_key(self) -> str:
        """The hash."""
        return self.digest

    @classmethod
    def of(cls, corpus: Corpus) -> "Content":
        """The content of a corpus that was read."""
        digest = hashlib.sha256()
        known: list[Any] = [corpus.eos, corpus.symbol_names, corpus.concept_names, sorted(corpus.columns)]
        known += [corpus.attribute_names, corpus.why_no_meanings]
        digest.update(json.dumps(known).encode())
        rows = [corpus.messages, *([] if corpus.concepts is None else [corpus.concepts])]
        arrays = [array for row in rows for array in (row.offsets, row.values)]
        arrays += [corpus.columns[name] for name in sorted(corpus.columns)]
        arrays += [] if corpus.meanings is None else [corpus.meanings]
        for array in arrays:
            digest.update(_bytes(array))
        return cls(digest=digest.hexdigest(), num_symbols=len(corpus.messages.values))


def _bytes(array: NDArray[Any]) -> bytes:
    """Shape, type and values of an array."""
    array = np.asarray(array)
    values = json.dumps(array.tolist()).encode() if array.dtype.hasobject else array.tobytes()
    return f"{array.dtype.kind}{array.dtype.itemsize}{array.shape}".encode() + values


@job_function(
    version=VERSION,
    work=lambda *, content, **_: 1 + content.num_symbols / SYMBOLS_OF_WORK,
    label=lambda *, metric, name, **_: f"{metric.name} of {name.key}",
)
def score_file(
    *,
    file: Location,
    content: Content,
    selection: Selection,
    metric: Metric,
    seed: int,
    name: "Label",
    context: Context,
) -> list[dict[str, Any]]:
    """Compute one metric of a corpus.

    Args:
        file: Where the corpus is.
        content: What it held when the job was planned.
        selection: How its file is read, and which messages are scored.
        metric: Which metric.
        seed: Of its random draws.
        name: Of the corpus, for progress.
        context: See `Context`.

    Returns:
        Its scores, as in the JSON of `ecsuite score`.

    Raises:
        ConfigError: If the corpus has changed since.
    """
    corpus = selection.of(read_as(file.path, selection.reading))
    if Content.of(corpus).digest != content.digest:
        raise ConfigError(f"{file.path}: changed while it was to be scored; run the same command again")
    return [
        score.to_json(is_kept=True)
        for score in score_corpus(corpus, [metric.name], Options(seed=seed)).scores
    ]


@dataclass(frozen=True, kw_only=True, slots=True)
class Label:
    """A name for people; it cannot change a result."""

    key: str
    """The name."""

    def job_key(self) -> None:
        """Nothing."""


def is_job(metric: str, *, is_of_run: bool = False) -> bool:
    """Whether a metric is a job of its own: it trains nothing, asks no agents, and is none of the user's.

    Args:
        metric: Its name.
        is_of_run: Whether there are agents that it may ask.
    """
    if foreign_kinds(metric):
        return False
    traits = traits_of_metric(metric)
    return not (traits.trains or traits.needs_agents or (traits.asks_agents and is_of_run))


def plan_member(
    member: Member,
    corpus: Corpus,
    metrics: Sequence[str],
    *,
    seed: int,
    selection: Selection,
) -> dict[str, Job]:
    """The jobs of a corpus, by metric.

    Args:
        member: The corpus.
        corpus: The messages that are scored.
        metrics: Names of metrics that are jobs.
        seed: Of random draws.
        selection: How its file is read, and which messages those are.
    """
    content, place = Content.of(corpus), Location(path=member.path.resolve())
    return {
        metric: Job(
            score_file,
            file=place,
            content=content,
            selection=selection,
            metric=Metric(name=metric),
            seed=seed,
            name=Label(key=member.name),
        )
        for metric in metrics
    }
