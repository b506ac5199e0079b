"""Scoring corpora for a command: reading them, keeping the scores of runs, and documents to compare."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ecsuite.commands.corpus_options import CorpusOptions
from ecsuite.corpus import Corpus
from ecsuite.eval.experiments.corpora import Selection
from ecsuite.eval.metrics.parallel import num_threads
from ecsuite.eval.metrics.score import Options
from ecsuite.eval.results.files import FILES, read_scores, save_scores, sources_of
from ecsuite.eval.results.reading import run_source
from ecsuite.eval.results.sources import CONFIG, CORPUS, SWEEP, Source
from ecsuite.eval.views.scorecard import Scorecard, score_corpus
from ecsuite.formats.strict_json import read_json
from ecsuite.jobs.graph import Runner
from ecsuite.parts.error_messages import NO_ACCESS
from ecsuite.parts.registry import split_names
from ecsuite.runtime.errors import ConfigError

if TYPE_CHECKING:
    from ecsuite.games.runs.run import Run


MOST_PARTS = 24
"""Most parts of a corpus that are scored side by side."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Scored:
    """Selection of the messages of corpora that are scored, and how their files are read."""

    options: CorpusOptions
    """How files are read."""
    where: str | None = None
    """`COLUMN=VALUE`: only these messages; None: all."""

    def read(self, path: Path) -> Corpus:
        """The messages of a path.

        Raises:
            CorpusError: If it cannot be read, or has no such messages.
        """
        corpus = self.options.read(path)
        return corpus if self.where is None else self.selection.of(corpus)

    @property
    def selection(self) -> Selection:
        """The selection for jobs."""
        return Selection(reading=self.options.reading(), where=self.where)

    @property
    def is_whole(self) -> bool:
        """Whether a file is scored as it is, so that a run keeps the scores."""
        return self.where is None and self.options == CorpusOptions()


def scores_file(path: Path) -> Path | None:
    """Where the scores of a corpus are kept: in its run folder, given as such or by its `corpus.jsonl`."""
    folder = path if path.is_dir() else path.parent
    is_folder = (path.is_dir() or path.name == "corpus.jsonl") and (folder / "metadata.json").is_file()
    return folder / "scores.json" if is_folder else None


def parts_by(corpus: Corpus, columns: str) -> dict[str, Corpus]:
    """The messages of each value of a column, or of several: `turn=1`, `turn=1,speaker=asker`, in their order.

    Raises:
        ConfigError: If these are more than can be compared.
        CorpusError: If there is no such column.
    """
    parts = {"": corpus}
    for column in split_names(columns):
        parts = {
            f"{label},{column}={value}".lstrip(","): part.where(column, value)
            for label, part in parts.items()
            for value in part.values_of(column)[: MOST_PARTS + 1]
        }
        if len(parts) > MOST_PARTS:
            raise ConfigError(
                f"--by {columns}: {column} has too many values: expected at most {MOST_PARTS} parts"
            )
    return parts


def prepare_scores(paths: Sequence[Path]) -> None:
    """Refuse scores files that cannot be read before anything is computed."""
    for file in map(scores_file, paths):
        if file is not None:
            read_scores(file)


def score_and_keep(
    path: Path,
    corpus: Corpus,
    names: Sequence[str] | None,
    options: Options,
    *,
    run: "Run | None" = None,
    runner: Runner | None = None,
    keeps: bool = True,
) -> Scorecard:
    """Score a corpus; a run folder keeps the scores.

    Args:
        path: Of the corpus.
        corpus: What it holds.
        names: See `score_corpus`.
        options: Of the metrics.
        run: See `score_corpus`.
        runner: See `score_corpus`; a note goes to it, or to standard error.
        keeps: Whether they are scores of all messages, and are kept. In a folder that may not be changed, as of a
            published run, they are not, which a note says.
    """
    card = score_corpus(corpus, names, options, run=run, runner=runner, num_processes=num_threads())
    if keeps:
        keep_scores(path, card, (runner or Runner()).note)
    return card


def keep_scores(path: Path, card: Scorecard, note: Callable[[str], None]) -> None:
    """Write scores into the run folder of a corpus, if it has one that may be changed; else a note says so."""
    file = scores_file(path)
    if file is None:
        return
    try:
        save_scores(file, card.to_json(is_kept=True), note)
    except OSError as error:
        if error.errno not in NO_ACCESS:
            raise
        note(f"{file.parent}: {os.strerror(error.errno).lower()}: the scores are not kept; --out keeps them")


def scored_sources(path: Path, card: Scorecard) -> list[Source]:
    """A corpus or a run with its scores, as if they were read from a file."""
    file = scores_file(path)
    if file is not None and (file.parent / CONFIG).is_file():
        return [run_source(file.parent, card.to_json())]
    return sources_of(file or path, card.to_json())


def _has_other_scores(folder: Path) -> bool:
    """Whether a file of scores with a name of its own is in a folder, as where it was pulled."""
    files = [file for file in sorted(folder.glob("*.json")) if file.is_file()]
    found = [source for file in files for source in sources_of(file, read_json(file))]
    return any(record.signature for source in found for record in source.records)


def has_scores(path: Path) -> bool:
    """Whether a path has scores; else it is one of a corpus.

    Raises:
        ConfigError: If there is nothing.
    """
    if not path.exists():
        raise ConfigError(f"{path}: no such file or folder of results")
    if path.is_dir():
        is_named = any(next(path.rglob(name), None) for name in (*FILES, SWEEP))
        return is_named or (not (path / CORPUS).is_file() and _has_other_scores(path))
    return path.suffix == ".json"
