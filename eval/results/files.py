"""Results on disk as sources: run folders, sweeps, collections, corpora and scores files; imports no user code."""

import hashlib
import json
import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any

import msgspec

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics.score import Score, is_number
from ecsuite.eval.results.sources import CAPPED, INCOMPLETE, STORE, UNENDED, Source, Status, read_config
from ecsuite.files.atomic_files import remove_abandoned, write_atomically
from ecsuite.files.checksums import CHECKSUM, sealed
from ecsuite.files.format_numbers import without_format
from ecsuite.files.locks import Lock
from ecsuite.formats.corpora import Reading
from ecsuite.formats.directory import ANSWERS, CORPUS, require_no_answers
from ecsuite.formats.reading import read_as
from ecsuite.formats.strict_json import read_json
from ecsuite.games.runs.run_folder import CONFIG, SCORES, SWEEP, RunFolder
from ecsuite.games.tasks.directions import measure_bound
from ecsuite.runtime.errors import ConfigError, CorpusError

FILES = (SCORES, "results.json")
"""Names of scores files, searched for in folders and their subfolders."""
XFERBENCH = "xferbench"
"""Name of the score in a `results.json` of the authors' program, which has the keys `score` and `by_target`."""
OTHER_SIZES = ("min_length", "max_length", "vocab_size")
"""Sizes of a corpus whose names do not begin with num_."""
NOT_SCORES = ("seed", "format")
"""Numbers in the JSON of a command that are not scores."""
NOT_MEASURES = ("step", "num_steps", "epoch", "best_step", "evaluations_since_best")
"""Numbers in the metadata of a training that are not measures."""
SEED = "training.seed"
"""Setting that the rows of tables average over."""
NOT_FINITE = re.compile(r"(?:is|are|was) not finite|the loss is -?(?:nan|inf)")
"""Pattern of failure messages of diverged trainings."""


class _Run(msgspec.Struct):
    settings: dict[str, Any]
    seed: int
    folder: str
    training: dict[str, Any]
    scores: list[dict[str, Any]]
    failure: str | None = None


class _Sweep(msgspec.Struct):
    runs: list[_Run]
    metrics: list[str] = []
    set: dict[str, Any] = {}


def sources_at(place: Path) -> list[Source]:
    """Read the sources at a path; a run folder has all its settings, a run of a sweep the varied ones.

    Raises:
        ConfigError: See `Results.read`.
    """
    if (sweep := sweep_file(place)) is not None:
        return _of_sweep(sweep)
    if place.is_dir():
        return _in_folder(place)
    if not place.exists():
        raise ConfigError(f"{place}: no such file or folder of results")
    if place.name == CORPUS and RunFolder(place.parent).is_run:
        return [run_source(place.parent)]
    if place.suffix == ".json":
        return sources_of(place, read_json(place))
    return [_corpus_source(place)]


def has_scores(path: Path, metrics: Collection[str] = ()) -> bool:
    """Whether a path has scores to compare; otherwise it is a corpus or a run, which needs scoring.

    Args:
        path: File or folder.
        metrics: Names of scores and measures that a folder of one run or corpus must have.

    Raises:
        ConfigError: If nothing is at the path.
    """
    if not path.exists():
        raise ConfigError(f"{path}: no such file or folder of results")
    if not path.is_dir():
        return path.suffix == ".json"
    if metrics and RunFolder(path).metadata.is_file():
        is_run = RunFolder(path).is_run
        of_one = [run_source(path)] if is_run else sources_of(path / SCORES, read_scores(path / SCORES))
        records = [record for source in of_one for record in source.records]
        return {*metrics} <= {record.figure if record.is_measure else record.name for record in records}
    if any(next(path.rglob(name), None) for name in (*FILES, SWEEP)):
        return True
    if RunFolder(path).corpus.is_file():
        return False
    files = [file for file in sorted(path.glob("*.json")) if file.is_file()]  # as in a pulled repository
    found = [source for file in files for source in sources_of(file, read_json(file))]
    return any(record.signature for source in found for record in source.records)


def sweep_file(place: Path) -> Path | None:
    """Path of sweep.json, from its own path or its folder; None if there is none."""
    file = place if place.name == SWEEP else place / SWEEP
    return file if file.is_file() else None


def _in_folder(folder: Path) -> list[Source]:
    """Read the runs, sweeps and scores of a folder and its subfolders; without any, its corpora."""
    sources: list[Source] = []
    for top, folders, files in os.walk(folder):
        place = Path(top)
        folders.sort()
        if SWEEP in files:
            sources += _of_sweep(place / SWEEP)
        elif CONFIG in files:
            sources.append(run_source(place))
        else:
            scored = [name for name in FILES if name in files]
            read = [
                source
                for name in scored
                for source in sources_of(
                    place / name, (read_scores if name == FILES[0] else read_json)(place / name)
                )
            ]
            if CORPUS in files and len(read) == 1:
                read = [replace(read[0], folder=place, corpus=place)]
            elif CORPUS in files and place == folder:
                read = [_corpus_source(place)]
            sources += read
            continue
        folders.clear()
    if sources:
        return sources
    corpora = sorted({file.parent for file in folder.glob(f"*/{CORPUS}")})
    scores = [
        source
        for file in sorted(folder.glob("*.json"))
        for source in sources_of(file, read_json(file))
        if source.records  # other JSON has none, such as croissant.json in a pulled repository
    ]
    if not corpora and not scores:
        require_no_answers(folder)
        raise ConfigError(
            f"{folder}: no run, corpus or scores: expected a folder of `ecsuite sweep`, `train-game` or "
            "`grammar`, a corpus, or a file of `ecsuite score --out`"
        )
    return [*map(_corpus_source, corpora), *scores]


def run_source(folder: Path, scores: Any = None) -> Source:
    """Read a run folder as a source with all its settings.

    Args:
        folder: The run folder.
        scores: Its scores, as in a scores file; None: the scores in the folder.

    Raises:
        ConfigError: If one of its files can't be read.
        DamagedError: If one of its files was changed.
    """
    file = folder / FILES[0]
    [scored] = sources_of(file, read_scores(file) if scores is None else scores)
    source = replace(scored, name=folder.resolve().name, file=folder / CONFIG, is_run=True, folder=folder)
    training = source.metadata.get("training")
    training = training if isinstance(training, Mapping) else {}
    measures = {"measures": training, "extra_evaluations": source.metadata.get("extra_evaluations", {})}
    try:
        measured = measure_records(measures)
    except (AttributeError, TypeError) as error:
        raise ConfigError(f"{folder}: can't be read as a run folder: {error}") from None
    stopped, step = (
        training.get("stopped", None if RunFolder(folder).metadata.is_file() else UNENDED),
        training.get("step"),
    )
    return replace(
        source,
        records=(*measured, *source.records),
        corpus=folder if RunFolder(folder).corpus.is_file() else None,
        settings=source.config,
        game=scored.game if scored.is_run else source.config.get("name"),
        seed=scored.seed if scored.is_run else source.config.get(SEED),
        group=scored.group,
        status=_status(stopped),
        stopped=stopped,
        failure=f"step {step}: the training diverged" if stopped == "diverged" else None,
    )


def _status(stopped: Any) -> Status:
    """End of a training, by the reason why it ended."""
    return "diverged" if stopped == "diverged" else "capped" if stopped in INCOMPLETE else "done"


def _of_sweep(file: Path) -> list[Source]:
    """Read the runs of a sweep file; run folders that were moved with it are searched next to it."""
    tree = read_json(file)
    try:
        return sweep_sources(without_format("result", tree, file), file)
    except (msgspec.ValidationError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"{file}: not a sweep file: {error}") from None


def sweep_sources(sweep: Mapping[str, Any], file: Path) -> list[Source]:
    """Sources of the runs of a sweep, from its JSON, including scores that were added to their folders later.

    Args:
        sweep: The JSON, as from `Sweep.to_json`.
        file: Its actual or intended path.
    """
    content = msgspec.convert(sweep, _Sweep)
    sources = []
    for run in content.runs:
        # Folders next to the file come first, so that a copied sweep reads its own runs, and not the originals.
        places = (file.parent / "runs" / Path(run.folder).name, Path(run.folder))
        folder = next((place for place in places if place.is_dir()), None)
        later = read_scores(folder / FILES[0]).get("scores", []) if folder is not None else []
        scores = {(score.get("name"), score.get("signature")): score for score in [*later, *run.scores]}
        stopped = run.training.get("stopped")
        sources.append(
            Source(
                name=Path(run.folder).name,
                file=file,
                records=(*measure_records(run.training), *records_of(file, scores.values())),
                is_run=True,
                folder=folder or Path(run.folder),
                corpus=folder if folder is not None and RunFolder(folder).corpus.is_file() else None,
                game=str(sweep.get("name", "")) or None,
                settings=run.settings,
                fixed=content.set,
                seed=run.seed,
                group=f"{file} {sorted(map(str, run.settings.items()))}",
                sizes={},
                status=("diverged" if NOT_FINITE.search(run.failure) else "failed")
                if run.failure is not None
                else "capped"
                if stopped in CAPPED
                else "done",
                stopped=stopped,
                failure=run.failure,
                training=run.training,
                asked=tuple(content.metrics),
            )
        )
    return sources


def _corpus_source(place: Path) -> Source:
    folder = place if place.is_dir() else place.parent if place.name == CORPUS else None
    name = place.resolve().name if folder is None else folder.resolve().name
    return Source(name=name, file=place, folder=folder, corpus=place)


def sources_of(file: Path, data: Any) -> list[Source]:
    """Read the sources of a scores file.

    Args:
        file: Its actual or intended path, named in errors.
        data: Its content: from `ecsuite score` for one corpus or several, or with `name` and numbers, as from `ecsuite
            translate`, or with the keys of the authors' program for XferBench, `by_target`.

    Raises:
        ConfigError: If a score is not valid, with its position.
        FormatError: If a newer version of ecsuite wrote it.
    """
    if not isinstance(data, dict):
        return [Source(name=name_of_file(file), file=file)]
    if isinstance(data.get("corpora"), list):
        content = without_format("result", data, file)
        return [_of_member(file, member, index) for index, member in enumerate(content["corpora"])]
    data = without_format("scores", data, file)
    corpus = data["corpus"] if isinstance(data.get("corpus"), dict) else {}
    scores = data.get("scores")
    records = records_of(file, scores) if isinstance(scores, list) else _other_records(data)
    folder = file.resolve().parent if file.name == FILES[0] else None
    run = None if folder is None else run_seed_and_group(folder)
    path, own_seed = corpus.get("source_path"), data.get("seed")
    system = folder.parent.parent.name if folder is not None and folder.parent.name == "data" else None
    game, seed, group = run or (None, own_seed if type(own_seed) is int else None, "")
    name = _name(file, data.get("name"), corpus)
    return [
        Source(
            name=f"{system}/{folder.name}" if system and folder else name,
            file=file,
            records=tuple(records),
            is_run=run is not None,
            is_of_run="training" in corpus,
            folder=folder,
            corpus=Path(path) if isinstance(path, str) and path else None,
            how=how_of(corpus),
            system=system,
            game=game,
            seed=seed,
            group=group,
            digest=json.dumps(corpus["sha256"], sort_keys=True) if corpus.get("sha256") else "",
            sizes=sizes_of(corpus),
        )
    ]


def run_seed_and_group(folder: Path) -> tuple[str, int, str] | None:
    """Name of the game of a run folder, its seed, and an identifier shared by runs that differ only in the seed."""
    run = RunFolder(folder)
    metadata = read_json(run.metadata) if run.metadata.is_file() else None
    config = metadata.get("config") if isinstance(metadata, dict) else None
    if config is None and run.is_run:
        config = read_config(run.config)
    training = config.get("training") if isinstance(config, dict) else None
    seed = training.get("seed") if isinstance(training, dict) else None
    if not isinstance(config, dict) or not isinstance(training, dict) or type(seed) is not int:
        return None
    rest = config | {"training": {key: value for key, value in training.items() if key != "seed"}}
    return str(config.get("name", folder.name)), seed, json.dumps(rest, sort_keys=True)


def _of_member(file: Path, data: Any, index: int) -> Source:
    corpus = data.get("corpus") if isinstance(data, dict) else None
    if not isinstance(corpus, dict) or not isinstance(data.get("scores"), list):
        raise ConfigError(f"{file}: corpora[{index}]: expected a `corpus` and its `scores`")
    member = data["member"] if isinstance(data.get("member"), dict) else {}
    path, seed, system, game = (
        corpus.get("source_path"), member.get("seed"), member.get("system"), member.get("game")
    )  # fmt: skip
    name, place = member.get("name"), Path(path) if isinstance(path, str) and path else None
    folder = place if place is None or place.is_dir() else place.parent if place.name == CORPUS else None
    training = Source(name="", file=file, folder=folder).metadata.get("training")  # {} if it is not there
    stopped = training.get("stopped") if isinstance(training, Mapping) else None
    return Source(
        name=name if isinstance(name, str) else _name(file, data.get("name"), corpus),
        file=file,
        records=tuple(records_of(file, data["scores"])),
        is_of_run="training" in corpus,
        corpus=place,
        how=how_of(corpus),
        stopped=stopped if isinstance(stopped, str) else None,
        status=_status(stopped),
        system=system if isinstance(system, str) else None,
        game=game if isinstance(game, str) else None,
        seed=seed if type(seed) is int else None,
        group=str(member.get("settings") or f"{file} {index}"),
        digest=json.dumps(corpus["sha256"], sort_keys=True) if corpus.get("sha256") else "",
        sizes=sizes_of(corpus),
    )


def records_of(file: Path, scores: Iterable[Any]) -> list[Score]:
    """Read the scores of a file.

    Raises:
        ConfigError: If a value or an interval is not numeric, with its position.
    """
    return [Score.of_json(score, file) for score in scores if isinstance(score, Mapping) and "name" in score]


def _other_records(data: Mapping[str, Any]) -> list[Score]:
    """Read the numbers of a command's JSON, or the XferBench score of another program."""
    text = data.get("signature")
    signature = text if isinstance(text, str) else ""
    if "by_target" in data:
        value = float(data["score"]) if is_number(data.get("score")) else None
        reason = "" if value is None else None
        return [Score(name=XFERBENCH, value=value, reason=reason, signature=signature, details=data)]
    numbers = {key: value for key, value in data.items() if is_number(value) and key not in NOT_SCORES}
    return [Score(name=key, value=value, signature=signature) for key, value in numbers.items()]


def measure_records(training: Mapping[str, Any]) -> list[Score]:
    """Measures of the last evaluation of a training, including other rounds: `held out accuracy`.

    Args:
        training: Mapping with `measures`, and `extra_evaluations` by rounds.
    """
    by_rounds = {"": training.get("measures", {}), **training.get("extra_evaluations", {})}
    return [
        Score(
            name=name,
            value=value,
            unit={"rounds": rounds} if rounds else {},
            is_measure=True,
            bound=measure_bound(name, measures),
        )
        for rounds, measures in by_rounds.items()
        for name, value in measures.items()
        if is_number(value) and name not in NOT_MEASURES
    ]


def sizes_of(corpus: Mapping[str, Any]) -> dict[str, float]:
    """Sizes of a corpus by name, including the accuracy of its training."""
    sizes = {
        name: float(value)
        for name, value in corpus.items()
        if (name.startswith("num_") or name in OTHER_SIZES) and is_number(value)
    }
    training = corpus.get("training")
    if isinstance(training, Mapping) and is_number(training.get("accuracy")):
        sizes["accuracy"] = float(training["accuracy"])
    return sizes


def source_name(path: str) -> str:
    """Name in tables of a path: the name of the file, or of the folder of a `corpus.jsonl`."""
    parts = PurePath(path)
    return (parts.parent.name if parts.stem == "corpus" else parts.name.split(".")[0]) or parts.stem


def name_by_folders(path: str, others: Sequence[str]) -> str | None:
    """Shortest end of a path that distinguishes it from others; None if there is none."""
    own, *of_others = map(_folders, (path, *others))
    for length in range(min(2, len(own)), len(own) + 1):
        if all(own[-length:] != parts[-length:] for parts in of_others):
            return "/".join(own[-length:])
    return None


def _folders(path: str) -> tuple[str, ...]:
    """Parts of a path, without a generic file name."""
    parts = PurePath(path)
    return parts.parent.parts if parts.stem in ("corpus", "scores", "results") else parts.parts


def name_of_file(file: Path) -> str:
    """Name of a scores file in tables: the name of its folder, or its own if it is not generic."""
    folder = file.resolve().parent.name
    return folder.removeprefix("xferbench-") if file.name in FILES and folder else file.stem


def plain(name: str) -> str:
    """A name in lower case without punctuation: `no_pretrain` for "No pretrain"."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


def group_digest(group: str) -> str:
    """Short identifier of a group of runs that differ only in their seeds."""
    return hashlib.sha256(group.encode()).hexdigest()[:16]


def _name(file: Path, own: Any, corpus: Mapping[str, Any]) -> str:
    """Name of a source in tables: its own name or the name of its folder or file, and its selection of messages."""
    for name in (own, corpus.get("name")):
        if isinstance(name, str) and name:
            return name
    path = corpus.get("source_path")
    name = source_name(path) if isinstance(path, str) and path else name_of_file(file)
    where = corpus.get("where")
    return ", ".join([name, *map(str, where)]) if isinstance(where, list) else name


HOW = ("reading", "where")
"""Keys in the metadata and JSON of a corpus: how its file was read, and which messages were selected."""


@dataclass(frozen=True, slots=True)
class Messages:
    """Reference to a corpus: its path, and how it was read."""

    path: Path
    """Path of the file or folder."""
    how: str = ""
    """Reading options, as JSON text with the keys of `HOW`; empty: no options, all messages."""

    def read(self, otherwise: Reading | None = None) -> Corpus:
        """Read the messages as they were read for their scores.

        Args:
            otherwise: Reading options if the scores do not have them.

        Raises:
            ConfigError: If the file needs more memory than is allowed.
            CorpusError: If the file can't be read with these options.
        """
        try:
            known = msgspec.convert(json.loads(self.how or "{}"), _How)
        except msgspec.ValidationError as error:
            raise CorpusError(f"reading options in the scores of a corpus: {error}") from None
        return read_as(self.path, replace(known.reading or otherwise or Reading(), where=tuple(known.where)))


class _How(msgspec.Struct):
    reading: Reading | None = None
    where: list[str] = []


def how_of(corpus: Mapping[str, Any]) -> str:
    """Reading options of a corpus as JSON text, from its entry in a scores file."""
    known = {key: corpus[key] for key in HOW if corpus.get(key)}
    return json.dumps(known, sort_keys=True) if known else ""


FOLDER_FILES = {
    "a sweep": (SWEEP, STORE),
    "a run or a corpus": (CONFIG, CORPUS),
    "a study with people": (ANSWERS,),
}
"""Folder types by characteristic files."""


def kind_of_folder(folder: Path) -> str | None:
    """Return the folder type, a key of `FOLDER_FILES`, or None."""
    return next(
        (kind for kind, names in FOLDER_FILES.items() if any((folder / name).exists() for name in names)),
        None,
    )


def require_no_other(folder: Path, kind: str, option: str = "--out") -> None:
    """Raise `ConfigError` if an output folder has another type.

    Args:
        folder: The folder, which may not exist yet.
        kind: Type of the folder to write, a key of `FOLDER_FILES` or another word.
        option: Command-line option that names the folder.
    """
    known = kind_of_folder(folder)
    if known not in (None, kind):
        raise ConfigError(f"{folder} is the folder of {known}: choose another folder with {option}")


def read_scores(file: Path) -> dict[str, Any]:
    """The content of the scores file of a run folder; empty if there is none, or it is not a JSON object.

    Raises:
        ConfigError: If it is not JSON.
        DamagedError: If it was changed.
        FormatError: If a newer version of ecsuite wrote it.
    """
    if not file.exists():
        return {}
    before = read_json(file)
    if not isinstance(before, dict):
        return {}
    return without_format("scores", {key: before[key] for key in before if key != CHECKSUM}, file)


def save_scores(file: Path, data: dict[str, Any], note: Callable[[str], None] = lambda _: None) -> None:
    """Write scores to the file of a run folder; its scores of the same corpus with other signatures stay.

    The file is locked meanwhile, so that concurrent processes do not lose each other's scores. A file that has these
    scores already is not touched.
    """
    if file.exists() and file.read_bytes() == _with_scores_of(file, data):
        return
    lock = Lock(file.with_name(f".{file.name}.lock"), note)
    lock.acquire(waits=True)
    try:
        remove_abandoned(file.parent, file.name)
        write_atomically(file, _with_scores_of(file, data))
    finally:
        lock.release()


def _with_scores_of(file: Path, data: Mapping[str, Any]) -> bytes:
    """Content of a scores file with new scores, and its older scores of the same corpus."""
    before = read_scores(file)
    try:
        is_same = before["corpus"]["sha256"] == data["corpus"]["sha256"]
        older = {(score["name"], score["signature"]): score for score in before["scores"] if is_same}
    except (KeyError, TypeError):
        older = {}  # no file, or not a scores file
    newer = {(score["name"], score["signature"]): score for score in data["scores"]}
    kept = sealed({**data, "scores": list((older | newer).values())})
    return (json.dumps(kept, indent=2, allow_nan=False, ensure_ascii=False) + "\n").encode()
