"""BibTeX of the works behind games, parts, metrics and data, which `citations.yaml` lists."""

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
"""BibTeX fields of this package, as in CITATION.cff."""
COMBINING = {"`": "\u0300", "'": "\u0301", "^": "\u0302", "~": "\u0303", '"': "\u0308", "v": "\u030c"}
"""Unicode combining characters for LaTeX accents."""
LETTERS = {r"\aa": "å", r"\o": "ø", r"\L": "Ł", r"\l": "ł"}
"""Letters for LaTeX commands."""


def sources() -> dict[str, list[str]]:
    """Keys of the works that each name (game, part, metric, score, study and so on) is based on."""
    found: dict[str, list[str]] = {}
    for names in _table()["rests_on"].values():
        for name, keys in names.items():  # a metric and a part may share a name
            found[name] = [*found.get(name, ()), *(key for key in keys if key not in found.get(name, ()))]
    metrics = _table()["rests_on"]["metrics"]
    return {score: metrics[metric] for score, metric in METRIC_OF.items() if metric in metrics} | found


SITES = {"doi": "https://doi.org/", "eprint": "https://arxiv.org/abs/"}
"""URLs to which identifiers of works are appended."""
OWN = "ecsuite"
"""The key of this package."""


def bibliography(names: Iterable[str]) -> list[str]:
    """BibTeX of this package, and of each work behind these names or keys, with a comment that lists them."""
    known = {key: [key] for key in _table()["works"]} | sources()
    keys: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        for key in known.get(name, ()):
            keys.setdefault(key, []).append(name)
    return [bibtex(OWN), *(f"% {', '.join(keys[key])}\n{bibtex(key)}" for key in sorted(keys))]


def keys_of(names: Iterable[str]) -> list[str]:
    """Keys of the works that names are based on, without duplicates; `ecsuite` stands for the package."""
    known = {**sources(), OWN: [OWN]}
    return list(dict.fromkeys(key for name in names for key in known.get(name, ())))


def work(key: str) -> Mapping[str, Any]:
    """Look up a work by its key."""
    found: Mapping[str, Any] = ECSUITE if key == OWN else _table()["works"][key]
    return found


def bibtex(key: str) -> str:
    """Format a work as BibTeX."""
    found = dict(work(key))
    for name, site in SITES.items():
        if name in found:
            found.setdefault("url", site + str(found[name]))
    fields = "".join(f"  {name} = {{{value}}},\n" for name, value in found.items() if name != "type")
    return f"@{found['type']}{{{key},\n{fields}}}\n"


def author_year_of(key: str) -> str:
    """Authors and year of a work: `Boldt & Mortensen 2024`, `Dessì et al. 2019`."""
    found = work(key)
    authors = [_last_name(author) for author in str(found["author"]).split(" and ")]
    etal = len(authors) > 2 or authors[-1] == "others"
    return f"{f'{authors[0]} et al.' if etal else ' & '.join(authors)} {found['year']}"


def reference(key: str) -> str:
    """Format a work as a line in a list of references."""
    found = work(key)
    authors = _plain(str(found["author"])).replace(" and ", ", ")
    place = next((str(found[name]) for name in ("journal", "booktitle", "publisher") if name in found), None)
    place = f"arXiv {found['eprint']}" if place is None and "eprint" in found else place
    place = f"version {found['version']}" if place is None and "version" in found else place
    more = f". {_plain(place)}" if place else ""
    return f"{authors} ({found['year']}). {_plain(str(found['title']))}{more}."


def author_years(name: str) -> list[str]:
    """Works that a name is based on, such as `Lazaridou et al. 2017`."""
    return [author_year_of(key) for key in sources().get(name, ())]


def _last_name(author: str) -> str:
    """Last name of an author; text in braces is a single name."""
    return _plain(author) if author[0] + author[-1] == "{}" else _plain(author).split()[-1]


def _plain(text: str) -> str:
    """Convert LaTeX to text without braces and with accented letters."""
    accented = re.sub(r"\\([`'^~\"v])\s*{?(\w)}?", lambda found: found[2] + COMBINING[found[1]], text)
    for command, letter in LETTERS.items():
        accented = accented.replace(command, letter)
    return unicodedata.normalize("NFC", re.sub("[{}]", "", accented))


def names_in_run(folder: Path) -> Iterator[str]:
    """Names of the game, the parts, the grammar and the metrics of a run folder; imports no code of the run.

    Raises:
        ConfigError: If it is not a run folder, or a file can't be read.
    """
    from ecsuite.games.runs.run_folder import RunFolder

    run = RunFolder(folder)
    config, scores, metadata = run.config, run.scores, run.metadata
    if not run.is_run_or_corpus:
        raise ConfigError(f"{folder}: expected a run folder, with a config.yaml or a metadata.json")
    if config.is_file():
        tree = parse_yaml(config.read_text("utf-8"), str(config))
        yield str(tree.get("name"))
        for section in ("world", "task", "channel", "sender", "receiver"):
            part = tree.get(section)
            if isinstance(part, Mapping):
                yield from (str(part[key]) for key in ("kind", "cell") if key in part)
        play = tree.get("play") or {}
        yield str(play.get("kind"))
        for key, part in play.items():
            if isinstance(part, Mapping) and (key != "other" or play.get("num_others")):
                yield from (str(part[key]) for key in ("kind", "prompt") if key in part)
    if metadata.is_file():
        grammar = _json(metadata).get("grammar")
        yield from (step.partition(",")[0] for step in str(grammar or "").split("+"))
    if scores.is_file():
        for score in _json(scores).get("scores", ()):
            yield str(score.get("name"))


def names_in_study(name: str, study: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of a study, and of its games and metrics."""
    yield name
    rows = study.get("rows", ())
    yield from (str(part["base"]) for part in (study, *rows) if "base" in part)
    yield from (str(metric).partition(",")[0] for metric in study.get("score", ()))


@cache
def _table() -> Mapping[str, Any]:
    return dict(packaged_yaml("ecsuite.eval.views", "citations.yaml"))


def _json(file: Path) -> Mapping[str, Any]:
    try:
        found = json.loads(file.read_text("utf-8"))
    except ValueError:
        raise ConfigError(f"{file}: expected JSON") from None
    return found if isinstance(found, Mapping) else {}
