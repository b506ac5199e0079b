"""A study of a collection: its corpora and the metrics of each, read from YAML.

    corpora: elcc
    score: [elcc, has, zla]

`corpora` is a downloaded data set, or patterns of paths such as `runs/*/corpus.jsonl`.
"""

from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import Any

from ecsuite.eval.collections.members import Member, members_of
from ecsuite.eval.studies.files import SWEEP, Source
from ecsuite.eval.sweeps.grids import at
from ecsuite.eval.sweeps.study import COLLECTION_KEY, metrics_of
from ecsuite.files.data_folder import data_folder
from ecsuite.parts.config import Seed, build
from ecsuite.runtime.errors import ConfigError, shown

DATA_SETS = {"elcc": "systems/*/data/*/corpus.jsonl", "wcs": "languages/*/corpus.jsonl"}
"""By the name of a downloaded data set, the pattern of its corpora in its folder."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Header:
    """The keys of the YAML file of a study of a collection."""

    name: str
    """Name of the study; by default that of its file."""
    corpora: Any
    """A downloaded data set by name, or patterns of paths: one, or a list."""
    score: Any
    """Metrics of every corpus: a list, or names separated by commas."""
    about: str = ""
    """One-line description."""
    seed: Seed = 0
    """Seed of metrics with random draws."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CollectionStudy:
    """What is scored."""

    name: str
    """Name of the study."""
    members: tuple[Member, ...]
    """The corpora."""
    metrics: tuple[str, ...]
    """Names of the metrics."""
    seed: int
    """Seed of metrics with random draws."""


def load_study(study: Source) -> CollectionStudy:
    """Read a study, and find its corpora.

    Args:
        study: A shipped study such as `paper/elcc`, a YAML file, or its content.

    Raises:
        ConfigError: If a key is not valid, or there is no such corpus.
    """
    tree, source = SWEEP.read(study)
    header: Header = build(Header, {"score": [], **tree}, source)
    metrics = metrics_of(header.score, source)
    if not metrics:
        raise ConfigError(f"{source}: score: expected names of metrics, got none")
    return CollectionStudy(
        name=header.name,
        members=tuple(members_of(_paths(header.corpora, source))),
        metrics=metrics,
        seed=header.seed,
    )


def _paths(corpora: Any, source: str) -> list[Path]:
    """The corpora of a data set or of patterns, sorted, each once."""
    patterns = [corpora] if isinstance(corpora, str) else corpora
    if not isinstance(patterns, list) or not patterns or not all(isinstance(each, str) for each in patterns):
        expected = f"{', '.join(DATA_SETS)}, or patterns such as runs/*/corpus.jsonl"
        raise ConfigError(f"{at(source, COLLECTION_KEY)}: expected {expected}, got {shown(corpora)}")
    found: list[Path] = []
    for pattern in patterns:
        if pattern in DATA_SETS:
            folder = data_folder(pattern)
            paths = sorted(folder.glob(DATA_SETS[pattern]))
            missing = f"no corpora of {pattern} in {folder}: `ecsuite data {pattern}` downloads them"
        else:
            paths = sorted(map(Path, glob(str(Path(pattern).expanduser()), recursive=True)))
            missing = f"no corpus at {shown(pattern)}; expected {', '.join(DATA_SETS)}, or a pattern of paths"
        if not paths:
            raise ConfigError(f"{at(source, COLLECTION_KEY)}: {missing}")
        found += paths
    return list(dict.fromkeys(found))
