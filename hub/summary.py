"""What a source is, in the words of its card: what was trained and how, how large it is, and what it rests on."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ecsuite.eval.records.reading import SEED, read_sources
from ecsuite.eval.records.source import CONFIG, METADATA, Source
from ecsuite.eval.reports.citations import names_in_run
from ecsuite.formats.reading import read_corpus
from ecsuite.formats.strict_json import read_json
from ecsuite.hub.contents import Contents
from ecsuite.runtime.errors import ConfigError, CorpusError

Origin = Literal["game", "grammar", "other"]
"""Who speaks: agents that were trained, an artificial grammar, or who is not known here."""
SECTIONS = ("world", "task", "channel", "sender", "receiver", "society", "loss", "optimizer", "schedule")
"""Sections of a config that say what is trained."""
TRAINING = ("num_examples", "num_epochs", "batch_size", "precision")
"""Settings of the training that a card has."""
UNSAID: tuple[Any, ...] = (None, "none", "auto", "", [], 0)
"""Values of settings that say that something is not there."""
SIZES = ("num_messages", "num_symbols", "num_distinct_symbols", "num_attributes")
"""Sizes of a corpus that a card has."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Summary:
    """What is pushed."""

    origin: Origin
    """Who speaks."""
    sources: tuple[Source, ...]
    """The runs, corpora and scores."""
    what: str
    """What it is, in a few words."""
    facts: Mapping[str, str]
    """What was trained and how, or how large the corpus is, by a heading each."""
    names: tuple[str, ...]
    """Names of games, parts, metrics and grammars, whose works are cited."""
    num_messages: int
    """Messages in all corpora."""
    own_data: tuple[str, ...] = ()
    """Files of objects that the runs read and that do not go along."""

    @property
    def runs(self) -> list[Source]:
        """The trained runs."""
        return [source for source in self.sources if source.is_run]


def summary_of(place: Path, contents: Contents) -> Summary:
    """Read what is pushed.

    Raises:
        ConfigError: If it is no run, no corpus and no record of these.
        CorpusError: If a corpus can't be read.
        DamagedError: If a file was changed.
    """
    if place.is_file() and place.suffix != ".json":
        return _of_file(place)
    if not any(each.name.endswith(("json", "jsonl", "yaml")) for each in contents.files):
        raise ConfigError(
            f"{place}: expected a run, a corpus, the folder of a sweep, or a file of one of them"
        )
    sources = tuple(read_sources([place]))
    if place.is_file() and not any(source.records for source in sources):
        return _of_file(place)
    for source in sources:
        if source.is_run and source.corpus is None and source.status == "done" and len(sources) == 1:
            raise CorpusError(f"{place}: the run has no corpus yet: wait until its training ends")
    folders = sorted({each.file.parent for each in contents.files if each.file.name == METADATA})
    found = {folder: read_json(folder / METADATA) for folder in folders}
    metadata = {folder: data for folder, data in found.items() if isinstance(data, dict)}
    names = [name for folder in folders for name in _cited(folder)]
    names += [record.score for source in sources for record in source.records if not record.is_measure]
    is_run = any(source.is_run for source in sources)
    grammars = [str(data["grammar"]) for data in metadata.values() if "grammar" in data]
    facts = _facts_of_runs(sources, metadata) if is_run else _facts_of_corpora(metadata, grammars)
    sizes = [data.get("num_messages") for data in metadata.values()]
    return Summary(
        origin="game" if is_run else "grammar" if grammars and len(grammars) == len(metadata) else "other",
        sources=sources,
        what=_what(sources, len(metadata), grammars),
        facts=facts,
        names=tuple(dict.fromkeys(names)),
        num_messages=sum(size for size in sizes if type(size) is int),
        own_data=tuple(sorted(_own_data(metadata.values()))),
    )


def _of_file(place: Path) -> Summary:
    """A corpus in a file of any format that is read."""
    corpus = read_corpus(place)
    content = corpus.content()
    facts = {
        "messages": f"{len(content):,}",
        "symbols": f"{len(content.values):,}, {len(content.distinct()):,} distinct",
        "format": str(corpus.metadata.get("source_format", "")),
        "columns": ", ".join(f"{name} ({role})" for name, role in corpus.metadata.get("roles", {}).items()),
    }
    return Summary(
        origin="other", sources=(), what="A corpus of messages", names=(), num_messages=len(content),
        facts={name: value for name, value in facts.items() if value},
    )  # fmt: skip


def _cited(folder: Path) -> Iterator[str]:
    """The names in a folder that works stand behind."""
    if (folder / CONFIG).is_file() or (folder / METADATA).is_file():
        yield from names_in_run(folder)


def _what(sources: Sequence[Source], num_corpora: int, grammars: Sequence[str]) -> str:
    runs = [source for source in sources if source.is_run]
    games = ", ".join(dict.fromkeys(str(run.game) for run in runs if run.game))
    if len(runs) == 1:
        return f"A language that agents invented in the game {games}, with the agents' weights and scores"
    if runs:
        return f"{len(runs)} trainings of agents that invent languages ({games}), with languages and scores"
    if grammars and num_corpora == 1:
        return f"A corpus of the artificial grammar {grammars[0]}"
    if num_corpora:
        return f"{num_corpora} corpora of messages" if num_corpora > 1 else "A corpus of messages"
    return f"Scores of {len(sources)} {'corpus' if len(sources) == 1 else 'corpora'} of messages"


def _facts_of_runs(sources: Sequence[Source], metadata: Mapping[Path, Mapping[str, Any]]) -> dict[str, str]:
    """The settings that are the same in all runs, what is varied, seeds, and how training went."""
    runs = [source for source in sources if source.is_run]
    varied = [key for key in runs[0].settings if key != SEED] if len(runs) > 1 else []
    config = next((run.config for run in runs if run.config), {})
    facts = {"game": str(config.get("name") or runs[0].game)}
    for section in SECTIONS:
        settings = {
            key.removeprefix(f"{section}."): value
            for key, value in config.items()
            if key.startswith(f"{section}.") and key not in varied and value not in UNSAID
        }
        if settings:
            kind = settings.pop("kind", "")
            rest = ", ".join(f"{key} {value}" for key, value in settings.items())
            facts[section] = ": ".join(each for each in (str(kind), rest) if each)
    facts["training"] = ", ".join(
        f"{key.replace('_', ' ').removeprefix('num ')} {config[f'training.{key}']}"
        for key in TRAINING
        if f"training.{key}" in config and f"training.{key}" not in varied
    )
    steps = [data["training"].get("step") for data in metadata.values() if "training" in data]
    facts["steps"] = _range([step for step in steps if type(step) is int])
    for key in varied:
        values = dict.fromkeys(str(run.settings[key]) for run in runs if key in run.settings)
        facts[f"varied: {key}"] = ", ".join(values)
    seeds = sorted({run.seed for run in runs if run.seed is not None})
    facts["seeds"] = ", ".join(map(str, seeds))
    versions: Mapping[str, Any] = next(
        (data["versions"] for data in metadata.values() if "versions" in data), {}
    )
    facts["computed with"] = ", ".join(
        f"{name} {versions[key]}"
        for key, name in (("ecsuite", "ecsuite"), ("torch", "PyTorch"), ("hardware", "on"))
        if key in versions
    )
    return {name: value for name, value in facts.items() if value}


def _facts_of_corpora(metadata: Mapping[Path, Mapping[str, Any]], grammars: Sequence[str]) -> dict[str, str]:
    facts = {"corpora": str(len(metadata))} if len(metadata) > 1 else {}
    if grammars:
        facts["grammar"] = ", ".join(dict.fromkeys(grammars))
    for key in SIZES:
        values = [data[key] for data in metadata.values() if type(data.get(key)) is int]
        facts[key.removeprefix("num_").replace("_", " ")] = _range(values)
    seeds = sorted({data["seed"] for data in metadata.values() if type(data.get("seed")) is int})
    facts["seeds"] = ", ".join(map(str, seeds))
    return {name: value for name, value in facts.items() if value}


def _range(values: Sequence[int]) -> str:
    if not values:
        return ""
    low, high = min(values), max(values)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _own_data(metadata: Any) -> set[str]:
    """The names of the files of objects that runs read."""
    found = set()
    for data in metadata:
        config = data.get("config")
        world = config.get("world") if isinstance(config, Mapping) else None
        for key in ("objects", "features", "images"):
            value = world.get(key) if isinstance(world, Mapping) else None
            if isinstance(value, str) and "." in value:
                found.add(Path(value).name)
    return found
