"""BibTeX of the works behind games, parts, metrics and data; `citations.yaml` has the works."""

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ecsuite.eval.metrics import METRIC_OF
from ecsuite.parts.config import packaged_yaml, parse_yaml
from ecsuite.runtime.errors import ConfigError
from ecsuite.version import __version__

ECSUITE = {
    "type": "software",
    "author": "{The ecsuite authors}",
    "title": "{ecsuite}: games of emergent communication, and metrics and benchmarks of emergent languages",
    "version": __version__,
    "year": 2026,
}
"""The entry of this package; CITATION.cff says the same."""
COMBINING = {"`": "\u0300", "'": "\u0301", "^": "\u0302", "~": "\u0303", '"': "\u0308", "v": "\u030c"}
"""The accents of LaTeX as combining characters of Unicode."""


def sources() -> dict[str, list[str]]:
    """The keys of the works that each name of a game, part, metric, score, study and so on rests on."""
    found: dict[str, list[str]] = {}
    for names in _table()["rests_on"].values():
        found.update(names)
    return {score: found[metric] for score, metric in METRIC_OF.items() if metric in found} | found


def bibliography(names: Iterable[str]) -> list[str]:
    """BibTeX of this package, and of each work behind these names, which a comment above it lists."""
    known, works = sources(), _table()["works"]
    keys: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        for key in known.get(name, ()):
            keys.setdefault(key, []).append(name)
    return [
        entry("ecsuite", ECSUITE),
        *(f"% {', '.join(keys[key])}\n{entry(key, works[key])}" for key in sorted(keys)),
    ]


def author_years(name: str) -> list[str]:
    """The works that a name rests on, such as `Lazaridou et al. 2017`."""
    works = _table()["works"]
    return [_author_year(works[key]) for key in sources().get(name, ())]


def _author_year(work: Mapping[str, Any]) -> str:
    """A work by its authors and year: `Boldt & Mortensen 2024`, `Dessì et al. 2019`."""
    authors = [_plain(author).split()[-1] for author in str(work["author"]).split(" and ")]
    said = f"{authors[0]} et al." if len(authors) > 2 else " & ".join(authors)
    return f"{said} {work['year']}"


def _plain(text: str) -> str:
    """LaTeX without its braces and with accented letters."""
    accented = re.sub(r"\\([`'^~\"v])\s*{?(\w)}?", lambda found: found[2] + COMBINING[found[1]], text)
    return unicodedata.normalize("NFC", re.sub("[{}]", "", accented.replace(r"\L", "Ł").replace(r"\l", "ł")))


def entry(key: str, work: Mapping[str, Any]) -> str:
    """A work as BibTeX."""
    fields = "".join(f"  {name} = {{{value}}},\n" for name, value in work.items() if name != "type")
    return f"@{work['type']}{{{key},\n{fields}}}\n"


def names_in_run(folder: Path) -> Iterator[str]:
    """The game, the parts, the grammar and the metrics of a run folder; reads its files, and imports nothing.

    Raises:
        ConfigError: If it is no run folder, or a file can't be read.
    """
    config, scores, metadata = (folder / name for name in ("config.yaml", "scores.json", "metadata.json"))
    if not config.is_file() and not metadata.is_file():
        raise ConfigError(f"{folder}: expected a run folder, with a config.yaml or a metadata.json")
    if config.is_file():
        tree = parse_yaml(config.read_text("utf-8"), str(config))
        yield str(tree.get("name"))
        for section in ("world", "task", "channel", "sender", "receiver"):
            part = tree.get(section)
            if isinstance(part, Mapping):
                yield from (str(part[key]) for key in ("kind", "cell") if key in part)
    if metadata.is_file():
        grammar = _json(metadata).get("grammar")
        yield from (step.partition(",")[0] for step in str(grammar or "").split("+"))
    if scores.is_file():
        for score in _json(scores).get("scores", ()):
            yield str(score.get("name"))


def names_in_study(name: str, study: Mapping[str, Any]) -> Iterator[str]:
    """A study, and the games and metrics that it has."""
    yield name
    rows = study.get("rows", ())
    yield from (str(part["base"]) for part in (study, *rows) if "base" in part)
    yield from (str(metric).partition(",")[0] for metric in study.get("score", ()))


@cache
def _table() -> Mapping[str, Any]:
    return dict(packaged_yaml("ecsuite.eval.reports", "citations.yaml"))


def _json(file: Path) -> Mapping[str, Any]:
    try:
        found = json.loads(file.read_text("utf-8"))
    except ValueError:
        raise ConfigError(f"{file}: expected JSON") from None
    return found if isinstance(found, Mapping) else {}
