"""Where claims stand: the sources at a place, and the corpus of each."""

from collections.abc import Iterator
from pathlib import Path

from ecsuite.eval.results.reading import run_source, sources_at
from ecsuite.eval.results.sources import CONFIG, CORPUS, METADATA, Source
from ecsuite.runtime.errors import ConfigError


def folder_of(place: Path) -> Path | None:
    """The folder of a run or a corpus, given as such or by its messages; None of what holds several, or scores.

    Raises:
        ConfigError: If nothing is there.
    """
    if not place.exists():
        raise ConfigError(f"{place}: no such run, corpus or file of scores")
    folder = place if place.is_dir() else place.parent
    is_one = (place.is_dir() or place.name == CORPUS) and any(
        (folder / name).is_file() for name in (CONFIG, METADATA)
    )
    return folder if is_one else None


def sources_of(place: Path) -> list[Source]:
    """The runs, corpora and files of scores at a place.

    Raises:
        ConfigError: If there are none, or a file can't be read.
        DamagedError: If a file that says what is claimed was changed.
    """
    folder = folder_of(place)
    return sources_at(place) if folder is None else [run_source(folder)]


def corpus_of(source: Source) -> Path | None:
    """The corpus of a source, where its file says or beside that; None if it is not there."""
    return next((each for each in _places(source) if each.exists()), None)


def _places(source: Source) -> Iterator[Path]:
    """Where the corpus may be: as the file says, from here or from the file; beside the file."""
    beside = source.file.parent
    if source.corpus is not None:
        yield from (source.corpus, beside / source.corpus, beside / source.corpus.name)
    yield beside / CORPUS
