"""Verify a source: a run, a corpus, a file of scores, a sweep or a collection."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from ecsuite.corpus import Corpus
from ecsuite.eval.results.files import Messages, sizes_of
from ecsuite.eval.results.reading import SEED, names_apart, run_source, sources_at
from ecsuite.eval.results.sources import SWEEP, Record, Source
from ecsuite.eval.verification.agents import CHANCE, LANGUAGE, agent_rows
from ecsuite.eval.verification.circumstances import Circumstances, circumstances
from ecsuite.eval.verification.claims import corpus_of, folder_of
from ecsuite.eval.verification.files import (
    CONFIG,
    CORPUS,
    METADATA,
    NO_CHECKSUM,
    SCORES,
    file_rows,
    is_damaged,
)
from ecsuite.eval.verification.result import Verification, Verified
from ecsuite.eval.verification.rows import Bound, Kind, Row, compared, differences, told
from ecsuite.eval.verification.scores import Scoring, score_rows
from ecsuite.eval.views.scorecard import describe
from ecsuite.formats import read_corpus
from ecsuite.games.experiment import ignore
from ecsuite.games.run_folder import METRICS
from ecsuite.games.runs import Run, load_run
from ecsuite.jobs.graph import no_progress
from ecsuite.parts.config import dotted_values
from ecsuite.parts.own_code import UntrustedError
from ecsuite.runtime.errors import ConfigError, CorpusError, DamagedError

SIZES = ("num_messages", "num_empty", "num_symbols", "num_distinct_symbols")
"""What the metadata of a corpus claim of its messages."""
OTHERS = "not the messages that were scored"
"""Of scores whose corpus has another checksum now."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """What is verified, and how."""

    scoring: Scoring = field(default_factory=Scoring)
    """How scores are computed again."""
    device: str = "auto"
    """Where agents are asked: auto is where they were trained, if it is here."""
    trust_code: bool = False
    """Whether the foreign parts of runs are imported."""
    note: Callable[[str], None] = ignore
    """Called with each message about files."""

    @property
    def progress(self) -> Callable[[str, float, float], None]:
        """Called as `progress(label, done, total)`, of several sources with the number of these."""
        return self.scoring.runner.progress

    @property
    def of_one(self) -> Self:
        """The same for one of several sources, whose own progress is not told."""
        return replace(
            self, scoring=replace(self.scoring, runner=replace(self.scoring.runner, progress=no_progress))
        )


def verify_all(places: Sequence[Path], asked: Asked) -> Verification:
    """Check the files of sources, score again what they claim, and ask their agents again.

    Args:
        places: Run folders, corpora, files of scores, and folders of sweeps or of several of these.
        asked: What is verified, and how.

    Raises:
        ConfigError: If one is none of these, or claims nothing.
        UntrustedError: If a run names foreign parts that are not trusted.
    """
    sources = [source for place in places for source in _verified(place, asked)]
    return Verification(place=", ".join(map(str, places)), sources=tuple(sources))


def _verified(place: Path, asked: Asked) -> list[Verified]:
    """The sources at a place."""
    folder = folder_of(place)
    verified = _of_several(place, asked) if folder is None else [_of_folder(folder, [], asked)]
    if not any(row.kind != "file" or row.verdict == "damaged" for each in verified for row in each.rows):
        if not any(each.failure for each in verified):
            raise ConfigError(
                f"{place}: claims nothing: expected a trained run, a corpus with its metadata, or scores"
            )
    return verified


def _of_several(place: Path, asked: Asked) -> list[Verified]:
    """The sources of a sweep, a collection, a file of scores, or a folder of these."""
    verified = []
    sweep = place if place.name == SWEEP else place / SWEEP
    if sweep.is_file():
        rows = [row for row in file_rows(sweep.parent) if row.name == SWEEP]
        verified.append(Verified(name=SWEEP, rows=tuple(rows)))
        if is_damaged(rows, SWEEP):
            return verified
    try:
        sources = names_apart(sources_at(place))
    except DamagedError as error:
        others = [
            replace(
                each,
                rows=(
                    *each.rows,
                    Row(kind="file", name="its figures", verdict="not verified", reason=str(error)),
                ),
            )
            for each in verified
        ]
        return [*others, *_by_folder(place, asked)]
    for number, source in enumerate(sources):
        asked.progress(source.name, number, len(sources))
        is_folder = source.folder is not None and any(
            (source.folder / name).is_file() for name in (CONFIG, METADATA)
        )
        if source.failure is not None:
            told_rows = tuple(_told_failure(source)) if is_folder else ()
            verified.append(
                Verified(name=source.title, rows=told_rows, failure=source.failure, seed=source.seed)
            )
        elif is_folder:
            verified.append(_of_folder(source.folder, list(source.records), asked.of_one, source))  # type: ignore[arg-type]
        elif len(sources) > 1 and (missing := _what_is_missing(source)):
            verified.append(_of_nothing(source, missing))
        else:
            verified.append(_of_scores(source, asked.of_one))
    return verified


def _of_nothing(source: Source, reason: str) -> Verified:
    """A source of several whose messages are not there: a run folder of a sweep was removed, or a corpus moved."""
    rows = tuple(
        _unverifiable("evaluation" if each.is_measure else "score", each, reason) for each in source.records
    )
    return Verified(name=source.title if source.is_run else source.name, seed=source.seed, rows=rows)


def _by_folder(place: Path, asked: Asked) -> list[Verified]:
    """Each run and corpus of a folder by itself, where what is known of all can't be read: a file of one is damaged."""
    metadata = {file.parent for name in (CONFIG, METADATA) for file in place.rglob(name)}
    folders = sorted(folder for folder in metadata if not folder.name.startswith("."))
    verified = []
    for number, folder in enumerate(folders):
        asked.progress(folder.name, number, len(folders))
        verified.append(_of_folder(folder, [], asked.of_one))
    return verified


def _of_folder(folder: Path, claimed: list[Record], asked: Asked, source: Source | None = None) -> Verified:
    """A run or corpus by its folder.

    Args:
        folder: The folder.
        claimed: What the file of a sweep claims of it, beside what the folder does.
        asked: What is verified.
        source: The run of a sweep; None of a folder alone.
    """
    files = file_rows(folder)
    name = folder.resolve().name if source is None else source.title
    seed = None if source is None else source.seed
    if is_damaged(files, CONFIG, METADATA, SCORES):
        return Verified(name=name, seed=seed, rows=tuple(files))
    own = run_source(folder)
    records = [
        *own.records,
        *(each for each in claimed if not any(_says(record, each) for record in own.records)),
    ]
    scores = [record for record in records if not record.is_measure]
    of_corpus = {CORPUS, *own.metadata.get("sha256", {})}
    damaged = next((row.name for row in files if row.verdict == "damaged" and row.name in of_corpus), None)
    corpus = read_corpus(folder) if damaged is None and (folder / CORPUS).is_file() else None
    rows, found, run = list(files), None, None
    if (folder / CONFIG).is_file():
        run, found = _opened(folder, own, asked)
        measures = [record for record in records if record.is_measure]
        rows += _told_settings(own, source)
        rows += _asked_agents(run, own, measures, found, corpus)
    if corpus is None:
        reason = f"{damaged} is damaged" if damaged else f"{CORPUS} is not there"
        rows += [_unverifiable("score", record, reason) for record in scores]
    else:
        rows += _size_rows(own.metadata, corpus)
        if _is_of_others(own, corpus):
            rows.append(Row(kind="file", name=SCORES, verdict="differs", reason=OTHERS))
        rows += _told_sizes(own.sizes, corpus)
        rows += _scored(corpus, scores, asked, run, found)
    return Verified(name=name, seed=seed, rows=tuple(rows), circumstances=found)


def _opened(folder: Path, source: Source, asked: Asked) -> tuple[Run, Circumstances]:
    """The run of a folder, and where its agents are asked."""
    run = load_run(folder, trust_code=asked.trust_code, note=asked.note)
    return run, circumstances(source.metadata, run.experiment.training.precision, asked.device)


def _asked_agents(
    run: Run, source: Source, records: list[Record], found: Circumstances, corpus: Corpus | None
) -> Iterator[Row]:
    """The rows of the agents; each claim is unverifiable where these can't be asked."""
    if not records:
        return
    try:
        yield from agent_rows(run.folder, run.experiment, source.metadata, records, found, corpus)
    except UntrustedError:
        raise
    except (ConfigError, DamagedError, CorpusError) as error:
        reason = str(error).removeprefix(f"{run.folder}: ")
        yield from (_unverifiable("evaluation", record, reason) for record in records)


def _unverifiable(kind: Kind, record: Record, reason: str) -> Row:
    """The row of a claim that can't be computed again."""
    return Row(
        kind=kind,
        name=record.name,
        verdict="unverifiable",
        claimed=record.value,
        reason=reason,
        signature=record.signature,
    )


def _size_rows(metadata: dict[str, Any], corpus: Corpus) -> Iterator[Row]:
    """The sizes that the metadata of a corpus claim."""
    content = corpus.content()
    here = (
        len(corpus.messages),
        int((content.lengths == 0).sum()),
        len(content.values),
        len(content.distinct()),
    )
    for name, value in zip(SIZES, here, strict=True):
        if name in metadata:
            yield compared("corpus", name, metadata[name], value, Bound())


def _told_sizes(claimed: Mapping[str, float], corpus: Corpus) -> Iterator[Row]:
    """One row of what a file of scores says of its corpus: how many of the numbers are so here."""
    yield from told("corpus", "sizes", claimed, sizes_of(describe(corpus)) if claimed else {})


def _told_settings(own: Source, source: Source | None) -> Iterator[Row]:
    """A row of the settings in the metadata of a run, and one of what a sweep says of it, beside its config."""
    config, copy = own.config, own.metadata.get("config")
    if isinstance(copy, Mapping):
        yield from told("evaluation", "settings", dotted_values({**copy}), config)
    if source is not None:
        short = {key: _kind(value) for key, value in source.settings.items() if key in config}
        claimed = {
            **short,
            SEED: source.seed,
            "stopped": source.stopped,
            **_of_training(source.training, source.training),
        }
        known = {key: _kind(config.get(key)) for key in short}
        ended = {} if own.stopped is None else {"stopped": own.stopped}
        ended |= _of_training(own.metadata.get("training"), own.metadata)
        yield from told("evaluation", "settings in the sweep", claimed, {**known, SEED: own.seed, **ended})


def _of_training(training: Any, levels: Mapping[str, Any]) -> dict[str, Any]:
    """How long a training was, and its chance levels and scores of the language, by name.

    Args:
        training: Has the steps.
        levels: Has `chance` and `metrics`.
    """
    steps = training if isinstance(training, Mapping) else {}
    found = {name: steps[name] for name in ("step", "num_steps", "best_step") if name in steps}
    for key, begin in (("chance", CHANCE), (METRICS, LANGUAGE)):
        values = levels.get(key)
        found |= (
            {f"{begin}{name}": value for name, value in values.items()} if isinstance(values, Mapping) else {}
        )
    return found


def _told_failure(source: Source) -> Iterator[Row]:
    """A row where a sweep says that a training failed whose folder says that it ended; scores may fail of any run."""
    failure, folder = str(source.failure), source.folder
    assert folder is not None
    if (folder / METADATA).is_file() and not failure.startswith(tuple(f"{name}: " for name in source.asked)):
        stopped = run_source(folder).stopped
        if stopped != "diverged":
            yield from told("evaluation", "failure in the sweep", {"stopped": "failed"}, {"stopped": stopped})


def _kind(value: Any) -> Any:
    """A setting without the options of a short name such as `reinforce,baseline=mean`, and paths as any other."""
    return value.partition(",")[0].rpartition("/")[2] if isinstance(value, str) else value


def _scored(
    corpus: Corpus, scores: list[Record], asked: Asked, run: Run | None, found: Circumstances | None
) -> Iterator[Row]:
    """The rows of the scores."""
    if scores:
        agents = Bound() if found is None else found.bound
        yield from score_rows(corpus, scores, asked.scoring, run=run, agents=agents)


def _of_scores(source: Source, asked: Asked) -> Verified:
    """A file of scores, with the corpus that it names.

    Raises:
        ConfigError: If the corpus is not there.
    """
    place = corpus_of(source)
    if place is None:
        raise ConfigError(f"{source.file}: {_what_is_missing(source)}")
    corpus = Messages(place, source.how).read()
    is_other = _is_of_others(source, corpus)
    row = Row(
        kind="file",
        name=place.name,
        verdict="differs" if is_other else "identical" if source.digest else "not verified",
        reason=OTHERS if is_other else "" if source.digest else NO_CHECKSUM,
    )
    is_of_run = place.name == CORPUS and (place.parent / CONFIG).is_file()
    run = load_run(place.parent, trust_code=asked.trust_code, note=asked.note) if is_of_run else None
    rows = [row, *_told_sizes(source.sizes, corpus), *_scored(corpus, list(source.records), asked, run, None)]
    return Verified(name=source.name, seed=source.seed, rows=tuple(rows))


def _is_of_others(source: Source, corpus: Corpus) -> bool:
    """Whether scores are of other messages than those of a corpus, where both are known by their checksums."""
    digest = corpus.metadata.get("sha256")
    return bool(source.digest and digest) and source.digest != json.dumps(digest, sort_keys=True)


def _what_is_missing(source: Source) -> str:
    """Why a source can't be computed again; empty if its corpus is there."""
    if source.is_run and source.folder is not None and not source.folder.is_dir():
        return f"its folder {source.folder} is not there"
    if source.corpus is None and not corpus_of(source):
        return "it names no corpus"
    return "" if corpus_of(source) else f"the corpus that it scores, {source.corpus}, is not there"


def _says(record: Record, claim: Record) -> bool:
    """Whether a record says all that a claim of a sweep does, which has less of the draws of chance."""
    facts = [(each.name, each.signature, each.value, each.ci95, each.is_measure) for each in (record, claim)]
    parts = ((claim.chance, record.chance), (claim.details, record.details))
    return facts[0] == facts[1] and not [place for pair in parts for place in differences(*pair, Bound())]
