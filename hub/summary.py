"""What a source is, in the words of its card: what was made how, how large it is, and what it rests on."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ecsuite.eval.results.reading import read_sources
from ecsuite.eval.results.sources import METADATA, Source, kind_of
from ecsuite.eval.views.citations import OWN, bibtex
from ecsuite.eval.views.methods.methods import Methods, cited, methods
from ecsuite.formats.reading import read_corpus
from ecsuite.formats.strict_json import read_json
from ecsuite.games.runs.log import ROUNDS_KEY
from ecsuite.hub.contents import Contents
from ecsuite.language_models.backend import PERSON
from ecsuite.runtime.errors import ConfigError, CorpusError

Origin = Literal["game", "rounds", "people", "grammar", "other"]
"""Who speaks: agents that were trained, or others, or people, in rounds; an artificial grammar; or nobody knows."""
REFERENCES = "**References**"
"""What stands above the list of works in a methods section; a card has them as BibTeX."""
OWN_DATA = ("objects", "features", "images")
"""Settings of worlds that name a file of the user's."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Summary:
    """What is pushed."""

    origin: Origin
    """Who speaks."""
    sources: tuple[Source, ...]
    """The runs, corpora and scores."""
    what: str
    """What it is, in a few words."""
    methods: Methods | None
    """How it was made, as of `ecsuite methods`; None where nothing says it."""
    num_messages: int
    """Messages in all corpora."""
    own_data: tuple[str, ...] = ()
    """Files of objects that the runs read and that do not go along."""

    @property
    def made(self) -> str:
        """How it was made, in Markdown; empty where nothing says it."""
        return "" if self.methods is None else self.methods.text().partition(REFERENCES)[0].strip()

    @property
    def plain(self) -> str:
        """How it was made, as text without citations."""
        return "" if self.methods is None else " ".join(each.text() for each in self.methods.paragraphs)

    @property
    def citation(self) -> str:
        """BibTeX of ecsuite and of the works behind what is pushed."""
        works = [] if self.methods is None else cited(self.methods.paragraphs)
        return "\n".join(map(bibtex, dict.fromkeys([OWN, *sorted(works)]))).strip()


def summary_of(place: Path, contents: Contents) -> Summary:
    """Read what is pushed.

    Raises:
        ConfigError: If it is no run, no corpus and no record of these.
        CorpusError: If a corpus can't be read.
        DamagedError: If a file was changed.
    """
    sources = () if place.is_file() and place.suffix != ".json" else tuple(read_sources([place]))
    if place.is_file() and not any(source.records for source in sources):
        corpus = read_corpus(place)
        what = (
            f"A corpus of {len(corpus.messages):,} messages, {len(corpus.content().values):,} symbols in all"
        )
        return Summary(origin="other", sources=(), what=what, methods=None, num_messages=len(corpus.messages))
    for source in sources:
        is_waited_for = source.status == "done" or not source.is_whole
        if source.is_run and source.corpus is None and is_waited_for and len(sources) == 1:
            raise CorpusError(f"{place}: the run has no corpus yet: wait until its training ends")
    metadata = [
        data
        for each in contents.files
        if each.file.name == METADATA and isinstance(data := read_json(each.file), dict)
    ]
    grammars = [str(data["grammar"]) for data in metadata if kind_of(data) == "grammar"]
    sizes = [data.get("num_messages") for data in metadata]
    is_run = any(source.is_run for source in sources)
    return Summary(
        origin=_origin_of_runs(metadata) if is_run else _origin_of_corpora(metadata),
        sources=sources,
        what=_what(sources, len(metadata), grammars, has_rounds=any(ROUNDS_KEY in data for data in metadata)),
        methods=_methods(place),
        num_messages=sum(size for size in sizes if type(size) is int),
        own_data=tuple(sorted(set(_own_data(metadata)))),
    )


def _origin_of_corpora(metadata: Sequence[Mapping[str, Any]]) -> Origin:
    """Who speaks in corpora that are no runs; people where they wrote one of them."""
    kinds = set(map(kind_of, metadata))
    if "people" in kinds or _origin_of_runs(metadata) == "people":
        return "people"
    return "grammar" if kinds == {"grammar"} else "other"


def _origin_of_runs(metadata: Sequence[Mapping[str, Any]]) -> Origin:
    """Who speaks in runs, by what their metadata say of the participants of rounds."""
    participants = [data.get("participants") for data in metadata]
    asked = [each for known in participants if isinstance(known, Mapping) for each in known.values()]
    if any(isinstance(each, Mapping) and PERSON in (each.get("models") or ()) for each in asked):
        return "people"
    return "rounds" if any(ROUNDS_KEY in data for data in metadata) else "game"


def _methods(place: Path) -> Methods | None:
    try:
        return methods([place])
    except ConfigError:  # of sources that say nothing of how they were made; others were refused before
        return None


def _what(sources: Sequence[Source], num_corpora: int, grammars: Sequence[str], *, has_rounds: bool) -> str:
    runs = [source for source in sources if source.is_run]
    games = ", ".join(dict.fromkeys(str(run.game) for run in runs if run.game))
    if runs and has_rounds:
        number = (
            "What agents said in rounds"
            if len(runs) == 1
            else f"{len(runs)} runs in which agents played rounds"
        )
        return f"{number} ({games}), with all rounds, languages and scores"
    if len(runs) == 1:
        return f"A language that agents invented in the game {games}, with the agents' weights and scores"
    if runs:
        return f"{len(runs)} trainings of agents that invent languages ({games}), with languages and scores"
    if grammars and num_corpora == 1:
        return f"A corpus of the artificial grammar {grammars[0]}"
    if num_corpora:
        return f"{num_corpora} corpora of messages" if num_corpora > 1 else "A corpus of messages"
    return f"Scores of {len(sources)} {'corpus' if len(sources) == 1 else 'corpora'} of messages"


def _own_data(metadata: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The names of the files of objects that runs read."""
    for data in metadata:
        config = data.get("config")
        world = config.get("world") if isinstance(config, Mapping) else None
        for key in OWN_DATA:
            value = world.get(key) if isinstance(world, Mapping) else None
            if isinstance(value, str) and "." in value:
                yield Path(value).name
