"""`ecsuite cite`: BibTeX of what a run, a game or a metric rests on."""

import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from ecsuite.config import ConfigError, decoded, look_up, packaged_yaml, parse_yaml
from ecsuite.formats.strict_json import read_json
from ecsuite.version import __version__

ECSUITE = {
    "type": "software",
    "author": "{The ecsuite authors}",
    "title": "{ecsuite}: games of emergent communication, and metrics and benchmarks of emergent languages",
    "version": __version__,
    "year": 2026,
}
"""The entry of this package; CITATION.cff says the same."""


def cite(
    what: Annotated[
        list[str] | None,
        typer.Argument(help="Run folders, and names of games, parts, metrics, grammars, commands or data."),
    ] = None,
) -> None:
    """Print BibTeX of ecsuite and of the works behind runs (with their scores), games, metrics and data."""
    table = packaged_yaml("ecsuite.commands", "citations.yaml")
    sources: dict[str, list[str]] = {}
    for names in table["rests_on"].values():
        sources.update(names)
    keys: dict[str, list[str]] = {}
    for each in what or ():
        for name in _names(each, sources):
            for key in sources.get(name, ()):
                users = keys.setdefault(key, [])
                users += [] if name in users else [name]
    print(entry("ecsuite", ECSUITE))
    for key in sorted(keys):
        print(f"% {', '.join(keys[key])}\n{entry(key, table['works'][key])}")
    if not what:
        print("ecsuite cite RUN... adds the works behind a run and its scores", file=sys.stderr)


def entry(key: str, work: Mapping[str, Any]) -> str:
    """A work as BibTeX."""
    fields = "".join(f"  {name} = {{{value}}},\n" for name, value in work.items() if name != "type")
    return f"@{work['type']}{{{key},\n{fields}}}\n"


def _names(what: str, sources: Mapping[str, object]) -> Iterable[str]:
    """The names that a run or a name stands for.

    Raises:
        ConfigError: If it is neither.
    """
    path = Path(what)
    if path.is_dir() or "/" in what:
        return dict.fromkeys(_names_in_run(path))
    if what not in sources:
        from ecsuite.commands.named import KINDS

        shipped = [
            name
            for kind in ("games", "channels", "worlds", "metrics", "grammars")
            for name in KINDS[kind].names()
        ]
        if what not in shipped:
            look_up("game, part, metric or run", what, dict.fromkeys([*sources, *shipped]))
        print(f"{what}: rests on no published work that is known here", file=sys.stderr)
    return [what]


def _names_in_run(folder: Path) -> Iterator[str]:
    """The game, the parts, the grammar and the metrics of a run folder; reads its files, and imports nothing."""
    config, scores, metadata = (folder / name for name in ("config.yaml", "scores.json", "metadata.json"))
    if not config.is_file() and not metadata.is_file():
        raise ConfigError(f"{folder}: expected a run folder, with a config.yaml or a metadata.json")
    if config.is_file():
        tree = parse_yaml(decoded(config.read_bytes(), config), str(config))
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


def _json(file: Path) -> Mapping[str, Any]:
    found = read_json(file)
    return found if isinstance(found, Mapping) else {}
