"""What a report is about: the runs, corpora and files of scores at its paths, read without importing code."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ecsuite.corpus import Corpus
from ecsuite.eval.reports.scorecard import read_scores
from ecsuite.eval.sweeps.records import PROVENANCE, SWEEP, Record, flat, read_records, run_folders
from ecsuite.formats.corpora import Reading
from ecsuite.formats.reading import read_as
from ecsuite.formats.strict_json import read_json
from ecsuite.parts.config import parse_yaml
from ecsuite.runtime.errors import ConfigError

CORPUS = "corpus.jsonl"
"""The file of a folder with its messages."""
MOST_SETTINGS = 4
"""Most varying settings in a title."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """A run, or a corpus or scores without one."""

    record: Record
    """Its settings, seed and figures; those that are no run have no settings."""
    is_run: bool
    """Whether a game was trained."""
    path: Path | None = None
    """Where its corpus can be read; None if there is none."""
    folder: Path | None = None
    """Its folder; None for a file."""
    config: Mapping[str, Any] = field(default_factory=dict)
    """All settings by `section.key`."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """The content of `metadata.json`."""
    scores: Sequence[Mapping[str, Any]] = ()
    """The scores, as in the JSON of `ecsuite score`."""
    reading: Reading = field(default_factory=Reading)
    """How a file of another tool is read."""

    @property
    def title(self) -> str:
        """What it is called: its varying settings and its seed if they are few, else the name of its folder or file."""
        settings = [f"{key}={value}" for key, value in self.record.settings.items()]
        if self.is_run and 0 < len(settings) <= MOST_SETTINGS:
            return ", ".join([*settings, f"seed {self.record.seed}"])
        return Path(self.record.name).name or self.record.name

    def corpus(self) -> Corpus:
        """Its messages.

        Raises:
            CorpusError: If they can't be read.
        """
        assert self.path is not None
        return read_as(self.path, self.reading)


def read_sources(paths: Iterable[str | Path]) -> list[Source]:
    """The runs at the paths, then what is no run.

    Raises:
        ConfigError: If there is nothing at a path, or a file can't be read.
    """
    runs: list[Path] = []
    others: list[Source] = []
    for path in dict.fromkeys(map(Path, paths)):
        if not path.exists():
            raise ConfigError(f"{path}: no such file or folder")
        if path.name == SWEEP or (path / SWEEP).is_file() or _has_runs(path):
            runs.append(path.parent if path.name == SWEEP else path)
        elif path.name == CORPUS and _has_runs(path.parent):
            runs.append(path.parent)
        elif path.suffix == ".json":
            others.append(_of_scores(path))
        elif path.is_file() or (path / CORPUS).is_file():
            others.append(_of_corpus(path))
        else:
            found = sorted({file.parent for file in path.glob(f"*/{CORPUS}")} | set(path.glob("*.json")))
            if not found:
                raise ConfigError(
                    f"{path}: no run, corpus or scores in it: expected a folder of `ecsuite sweep`, `train-game` or "
                    "`grammar`, a corpus, or a file of `ecsuite score --out`"
                )
            others += [_of_scores(each) if each.suffix == ".json" else _of_corpus(each) for each in found]
    records = read_records(runs) if runs else []
    return [*(_of_run(record, runs) for record in records), *others]


def _has_runs(folder: Path) -> bool:
    try:
        return bool(run_folders(folder))
    except ConfigError:
        return False


def _of_run(record: Record, places: Sequence[Path]) -> Source:
    """A run with the content of its folder, which may have been moved with that of its sweep."""
    name = Path(record.name)
    found = (each for each in (name, *(place / "runs" / name.name for place in places)) if each.is_dir())
    folder = next(found, None)
    if folder is None:
        return Source(record=record, is_run=True)
    file = folder / "config.yaml"
    tree = parse_yaml(file.read_text("utf-8"), str(file)) if file.is_file() else {}
    has_corpus = (folder / CORPUS).is_file()
    return Source(
        record=replace(record, name=str(folder)),
        is_run=True,
        path=folder if has_corpus else None,
        folder=folder,
        config=flat({key: value for key, value in tree.items() if key not in PROVENANCE} | _name(tree)),
        metadata=_mapping(folder / "metadata.json"),
        scores=_scores_of(read_scores(folder / "scores.json")),
    )


def _name(tree: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": tree["name"]} if "name" in tree else {}


def _of_corpus(path: Path) -> Source:
    folder = path if path.is_dir() else path.parent if path.name == CORPUS else None
    scores = _scores_of(read_scores(folder / "scores.json")) if folder else ()
    return Source(
        record=_record(str(folder or path), scores),
        is_run=False,
        path=path,
        folder=folder,
        metadata=_mapping(folder / "metadata.json") if folder else {},
        scores=scores,
    )


def _of_scores(file: Path) -> Source:
    data = read_scores(file)
    scores = _scores_of(data)
    if not scores:
        raise ConfigError(f"{file}: no scores in it: expected a file of `ecsuite score --out`")
    corpus = data.get("corpus")
    source = corpus.get("source_path") if isinstance(corpus, Mapping) else None
    path = Path(source) if isinstance(source, str) and Path(source).exists() else None
    return Source(record=_record(str(file), scores), is_run=False, path=path, scores=scores)


def _record(name: str, scores: Sequence[Mapping[str, Any]]) -> Record:
    values = {str(score["name"]): score.get("value") for score in scores}
    return Record(name=name, settings={}, seed=None, measures={}, scores=values)


def _scores_of(data: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    scores = data.get("scores")
    return tuple(_valid(scores)) if isinstance(scores, list) else ()


def _valid(scores: Iterable[Any]) -> Iterator[Mapping[str, Any]]:
    """Those that are scores with a number or without a value."""
    for score in scores:
        if isinstance(score, Mapping) and isinstance(score.get("name"), str):
            value = score.get("value")
            if value is None or isinstance(value, int | float):
                yield score


def _mapping(file: Path) -> Mapping[str, Any]:
    """The JSON object in a file; empty if there is none."""
    found = read_json(file) if file.is_file() else None
    return found if isinstance(found, Mapping) else {}
