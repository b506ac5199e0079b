"""Stored scores of run folders, parts of a corpus to score, and scores to compare."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from glob import glob
from pathlib import Path

from ecsuite.corpus import Corpus
from ecsuite.eval.results.files import read_scores, run_source, save_scores, sources_of
from ecsuite.eval.results.sources import Source
from ecsuite.eval.views.scorecard import Scorecard
from ecsuite.formats.directory import CORPUS
from ecsuite.parts.error_messages import NO_ACCESS
from ecsuite.parts.registry import split_names
from ecsuite.runtime.errors import ConfigError

MOST_PARTS = 24
"""Maximum number of parts of a corpus that are scored side by side."""


def scores_file(path: Path) -> Path | None:
    """File of the stored scores of a run folder, given by the folder or its `corpus.jsonl`; None for other paths."""
    from ecsuite.games.runs.run_folder import RunFolder

    folder = RunFolder(path if path.is_dir() else path.parent)
    is_folder = (path.is_dir() or path.name == CORPUS) and folder.metadata.is_file()
    return folder.scores if is_folder else None


def parts_by(corpus: Corpus, columns: str) -> dict[str, Corpus]:
    """Split a corpus by the values of one or several columns: `turn=1`, `turn=1,speaker=asker`.

    Raises:
        ConfigError: If there are more than `MOST_PARTS` parts.
        CorpusError: If a column does not exist.
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
    """Check that existing scores files can be read, before anything is computed."""
    for file in map(scores_file, paths):
        if file is not None:
            read_scores(file)


def keep_scores(path: Path, card: Scorecard, note: Callable[[str], None]) -> None:
    """Write scores into the run folder of a corpus, if there is one; note it if the folder is not writable."""
    file = scores_file(path)
    if file is None:
        return
    try:
        save_scores(file, card.to_json(is_kept=True), note)
    except OSError as error:
        if error.errno not in NO_ACCESS:
            raise
        note(f"{file.parent}: {os.strerror(error.errno).lower()}: the scores are not stored; add --out FILE")


def scored_sources(path: Path, card: Scorecard) -> list[Source]:
    """Make sources of a corpus or run from its scores, as if they were read from a file."""
    file = scores_file(path)
    from ecsuite.games.runs.run_folder import RunFolder

    if file is not None and RunFolder(file.parent).is_run:
        return [run_source(file.parent, card.to_json())]
    return sources_of(file or path, card.to_json())


def with_systems(paths: Sequence[Path]) -> tuple[list[Path], dict[Path, tuple[str, int]]]:
    """Expand `gs=runs/gs_*.jsonl` to the files of a system, one per seed; return all paths, with systems and seeds.

    Raises:
        ConfigError: If a system has no files, or a file belongs to two systems.
    """
    found, systems = list[Path](), dict[Path, tuple[str, int]]()
    for path in paths:
        name, equals, pattern = str(path).partition("=")
        if path.exists() or not equals or not name or os.sep in name:
            found.append(path)
            continue
        files = sorted(map(Path, glob(pattern)))
        if not files:
            raise ConfigError(
                f"{path}: no file matches {pattern}: expected NAME=PATTERN, such as gs=gs_*.jsonl"
            )
        for seed, file in enumerate(files):
            if file in systems:
                raise ConfigError(
                    f"{file}: belongs to two systems, {systems[file][0]} and {name}: expected one"
                )
            systems[file] = name, seed
        found += files
    return found, systems


def of_system(source: Source, path: Path, systems: Mapping[Path, tuple[str, int]]) -> Source:
    """Mark a source as one seed of its system; other sources are returned unchanged."""
    if path not in systems:
        return source
    name, seed = systems[path]
    return replace(source, game=name, seed=seed, group=f"system {name}")
