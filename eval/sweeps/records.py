"""Runs as records: settings, seed and figures, from the folder of a sweep or from any run folders; imports no code.

A corpus of a scored collection is a record, too: its system and its name are the settings.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from ecsuite.eval.metrics import SCORES
from ecsuite.eval.reports.frames import as_frame
from ecsuite.eval.reports.scorecard import read_scores
from ecsuite.files.checksums import require_unchanged_text
from ecsuite.files.format_numbers import without_format
from ecsuite.formats.strict_json import read_json
from ecsuite.parts.config import decoded, parse_yaml
from ecsuite.runtime.errors import ConfigError

SWEEP = "sweep.json"
"""The file of a sweep's folder with its runs."""
COLLECTION = "scores.json"
"""The file of the folder of a scored collection."""
STORE = "jobs"
"""The folder, in that of a sweep, with the kept results of its jobs."""
SEED = "training.seed"
"""The setting that does not tell settings apart: rows are means over it."""
INCOMPLETE = ("minutes", "interrupt", "preempted", "pruned")
"""Why the training of a run ended that is not taken for a whole one."""
PROVENANCE = ("name", "about", "data", "code", "format")
"""Keys of a config that are no settings."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Record:
    """One run."""

    name: str
    """Its folder."""
    settings: Mapping[str, Any]
    """Values by `section.key`; of a sweep, those that vary."""
    seed: int | None
    """Its seed."""
    measures: Mapping[str, float]
    """Measures of the training: accuracy, loss, length, …"""
    scores: Mapping[str, float | None]
    """Scores by name; None where one is not defined."""
    stopped: str | None = None
    """Why the training ended: epochs, accuracy, minutes, …; None if it is not known, or failed."""
    failure: str | None = None
    """Why it failed; None if it did not."""

    @property
    def is_whole(self) -> bool:
        """Whether its training ended as its settings say: not by the clock, a stop, or pruning."""
        return self.stopped not in INCOMPLETE

    @property
    def figures(self) -> dict[str, float | None]:
        """Measures and scores."""
        return {**self.measures, **self.scores}


class _Run(msgspec.Struct):
    settings: dict[str, Any]
    seed: int
    folder: str
    training: dict[str, Any]
    scores: list[dict[str, Any]]
    failure: str | None = None


class _Corpus(msgspec.Struct):
    member: dict[str, Any]
    scores: list[dict[str, Any]]


class _Collection(msgspec.Struct):
    corpora: list[_Corpus]


class _Sweep(msgspec.Struct):
    runs: list[_Run]
    metrics: list[str] = []


def read_records(paths: Iterable[str | Path]) -> list[Record]:
    """The runs of folders: run folders, and folders that hold these, such as that of a sweep; or scored corpora.

    Of one sweep, the settings are those that it varies; otherwise those that differ between the runs.

    Raises:
        ConfigError: If a path holds no run, or a file can't be read.
        FormatError: If a newer version wrote a file.
    """
    folders = [Path(path).parent if Path(path).name == SWEEP else Path(path) for path in paths]
    if len(folders) == 1 and (folders[0] / SWEEP).is_file():
        return _of_sweep(folders[0] / SWEEP)
    if len(folders) == 1 and (corpora := _corpora_of(folders[0])):
        return corpora
    return _with_varying_settings([_of_run(run) for folder in folders for run in run_folders(folder)])


def run_folders(folder: Path) -> list[Path]:
    """A run folder itself, or those in a folder and in its `runs/`.

    Raises:
        ConfigError: If there is none.
    """
    if (folder / "config.yaml").is_file():
        return [folder]
    found = sorted(file.parent for place in ("*", "runs/*") for file in folder.glob(f"{place}/config.yaml"))
    if not found:
        raise ConfigError(f"{folder}: expected a run folder (with config.yaml), or a folder of runs")
    return found


def _of_sweep(file: Path) -> list[Record]:
    tree = read_json(file)
    try:
        return records_of(without_format("result", tree, file))
    except (msgspec.ValidationError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"{file}: not the file of a sweep: {error}") from None


def records_of(sweep: Mapping[str, Any]) -> list[Record]:
    """The runs of a sweep, from its JSON."""
    found = msgspec.convert(sweep, _Sweep)
    return [
        Record(
            name=run.folder,
            settings=run.settings,
            seed=run.seed,
            measures=_measures(run.training),
            scores=_asked(run.scores, found.metrics),
            stopped=run.training.get("stopped"),
            failure=run.failure,
        )
        for run in found.runs
    ]


def _corpora_of(path: Path) -> list[Record]:
    """The corpora of a file of `ecsuite score` with several of them, or of such a file in a folder; else nothing."""
    file = path if path.suffix == ".json" else path / COLLECTION
    if (file.parent / "config.yaml").is_file() or not file.is_file():
        return []
    tree = read_json(file)
    if not isinstance(tree, dict) or "corpora" not in tree:
        return []
    try:
        found = msgspec.convert(without_format("result", tree, file), _Collection).corpora
        records = [
            Record(
                name=each.member["name"],
                settings={"system": each.member["system"], "corpus": each.member["name"]},
                seed=each.member["seed"],
                measures={},
                scores=_asked(each.scores, ()),
            )
            for each in found
        ]
    except (msgspec.ValidationError, KeyError) as error:
        raise ConfigError(f"{file}: not the scores of a collection: {error}") from None
    keys = ("system", "corpus") if any(each.settings["system"] for each in records) else ("corpus",)
    return [replace(each, settings={key: each.settings[key] for key in keys}) for each in records]


def frame_of(records: Sequence[Record]) -> Any:
    """A row a run, as a `pandas.DataFrame`: folder, settings, seed, measures, scores.

    Raises:
        ConfigError: If pandas is not installed.
    """
    return as_frame(
        [{"run": each.name, **each.settings, "seed": each.seed, **each.figures} for each in records]
    )


def _of_run(folder: Path) -> Record:
    config = folder / "config.yaml"
    try:
        content = config.read_bytes()
        require_unchanged_text(content, config)
        tree = parse_yaml(decoded(content, config), str(config))
        metadata = folder / "metadata.json"
        known = read_json(metadata) if metadata.is_file() else {}
        training = dict(known.get("training", {}))
        settings = flat({key: value for key, value in tree.items() if key not in PROVENANCE})
        values = _asked(read_scores(folder / "scores.json").get("scores", []), ())
    except (OSError, ValueError, AttributeError, TypeError, KeyError, RecursionError) as error:
        raise ConfigError(f"{folder}: can't be read as a run folder: {error}") from None
    return Record(
        name=str(folder),
        settings={"name": tree.get("name"), **settings},
        seed=settings.get(SEED),
        measures=_measures({"measures": training, "extra_evaluations": known.get("extra_evaluations", {})}),
        scores=values,
        stopped=training.get("stopped"),
    )


def flat(tree: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    """The values of a tree by their dotted paths."""
    found: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, Mapping):
            found |= flat(value, f"{path}{key}.")
        else:
            found[f"{path}{key}"] = value
    return found


def _measures(training: Mapping[str, Any]) -> dict[str, float]:
    """The last evaluation, and those of other rounds: `seen objects accuracy`."""
    found = dict(training.get("measures", {}))
    for rounds, measures in training.get("extra_evaluations", {}).items():
        found |= {f"{rounds} {name}": value for name, value in measures.items()}
    names = ("step", "num_steps", "epoch")
    return {name: value for name, value in found.items() if type(value) in (int, float) and name not in names}


def _asked(scores: Sequence[Mapping[str, Any]], metrics: Sequence[str]) -> dict[str, float | None]:
    """Scores by name; of our metrics that give one of their own name, that one only, and all of users' metrics."""
    values = {str(score["name"]): score["value"] for score in scores}
    return {name: value for name, value in values.items() if name in metrics or name not in SCORES} or values


def _with_varying_settings(records: list[Record]) -> list[Record]:
    """The records with the settings that all have and that differ between them; the seed is none of these."""
    keys = dict.fromkeys(key for record in records for key in record.settings if key != SEED)
    common = [key for key in keys if all(key in record.settings for record in records)]
    varying = [key for key in common if len({repr(record.settings[key]) for record in records}) > 1]
    ordered = sorted(records, key=lambda record: [_order(record.settings[key]) for key in varying])
    return [replace(each, settings={key: each.settings[key] for key in varying}) for each in ordered]


def _order(value: Any) -> tuple[str, float, str]:
    """A key for sorting: numbers by size, all else by its text."""
    return ("", value, "") if isinstance(value, int | float) else ("other", 0.0, str(value))
