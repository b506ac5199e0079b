"""The card of a repository, `README.md`: description, download, provenance, scores and limitations.

The responsible-AI fields follow Croissant (mlcommons.org/croissant/RAI/1.0); users may add statements.
"""

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml

from ecsuite.eval.results.results import Results
from ecsuite.eval.results.sources import Source, kind_of
from ecsuite.eval.views.citations import OWN, bibtex
from ecsuite.eval.views.means import means_table
from ecsuite.eval.views.methods.methods import Methods, cited, methods
from ecsuite.eval.views.runs import failed_runs, failed_runs_table
from ecsuite.formats.directory import METADATA, ROUNDS_KEY
from ecsuite.formats.reading import read_corpus
from ecsuite.formats.strict_json import read_json
from ecsuite.hub.address import Address, Licence
from ecsuite.hub.contents import Contents, messages_in
from ecsuite.language_models.backend import PERSON
from ecsuite.parts.config import decoded, parse_yaml
from ecsuite.runtime.errors import ConfigError, CorpusError, look_up, shown
from ecsuite.tables.cells import interval, number, text
from ecsuite.tables.table import Column, Table, name_column, number_column, row_of
from ecsuite.version import __version__

Origin = Literal["game", "rounds", "people", "grammar", "other"]
"""Speakers: trained agents, agents in rounds, people, an artificial grammar, or unknown."""
REFERENCES = "**References**"
"""Heading of the list of works in a methods section; a card has them as BibTeX."""
OWN_DATA = ("objects", "features", "images")
"""Settings of worlds with the path of a user's file."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Summary:
    """Summary of a pushed source."""

    origin: Origin
    """Kind of the speakers."""
    sources: tuple[Source, ...]
    """The runs, corpora and scores."""
    what: str
    """Description in a few words."""
    methods: Methods | None
    """Provenance, from `ecsuite methods`; None if unknown."""
    num_messages: int
    """Number of messages in all corpora."""
    own_data: tuple[str, ...] = ()
    """Files of objects that the runs read and that are not pushed."""

    @property
    def made(self) -> str:
        """Provenance in Markdown; empty if unknown."""
        return "" if self.methods is None else self.methods.text().partition(REFERENCES)[0].strip()

    @property
    def plain(self) -> str:
        """Provenance as text without citations."""
        return "" if self.methods is None else " ".join(each.text() for each in self.methods.paragraphs)

    @property
    def citation(self) -> str:
        """BibTeX of ecsuite and of the cited works."""
        works = [] if self.methods is None else cited(self.methods.paragraphs)
        return "\n".join(map(bibtex, dict.fromkeys([OWN, *sorted(works)]))).strip()


def summary_of(place: Path, contents: Contents) -> Summary:
    """Summarise the pushed source.

    Raises:
        ConfigError: If it is no run, no corpus and no record of these.
        CorpusError: If a corpus can't be read.
        DamagedError: If a file was changed.
    """
    sources = () if place.is_file() and place.suffix != ".json" else tuple(Results.read([place]))
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
    """Kind of the speakers in corpora that are no runs; people if one corpus is by people."""
    kinds = set(map(kind_of, metadata))
    if "people" in kinds or _origin_of_runs(metadata) == "people":
        return "people"
    return "grammar" if kinds == {"grammar"} else "other"


def _origin_of_runs(metadata: Sequence[Mapping[str, Any]]) -> Origin:
    """Kind of the speakers in runs, by the participants of rounds in the metadata."""
    participants = [data.get("participants") for data in metadata]
    asked = [each for known in participants if isinstance(known, Mapping) for each in known.values()]
    if any(isinstance(each, Mapping) and PERSON in (each.get("models") or ()) for each in asked):
        return "people"
    return "rounds" if any(ROUNDS_KEY in data for data in metadata) else "game"


def _methods(place: Path) -> Methods | None:
    try:
        return methods([place])
    except ConfigError:  # sources without provenance; other errors were raised before
        return None


def _what(sources: Sequence[Source], num_corpora: int, grammars: Sequence[str], *, has_rounds: bool) -> str:
    runs = [source for source in sources if source.is_run]
    games = ", ".join(dict.fromkeys(str(run.game) for run in runs if run.game))
    if runs and has_rounds:
        number = (
            "Messages of agents in rounds"
            if len(runs) == 1
            else f"{len(runs)} runs in which agents played rounds"
        )
        return f"{number} ({games}), with all rounds, languages and scores"
    if len(runs) == 1:
        return f"A language that agents invented in the game {games}, with the agents' weights and scores"
    if runs:
        return f"{len(runs)} runs in which agents invented languages ({games}), with languages and scores"
    if grammars and num_corpora == 1:
        return f"A corpus of the artificial grammar {grammars[0]}"
    if num_corpora:
        return f"{num_corpora} corpora of messages" if num_corpora > 1 else "A corpus of messages"
    return f"Scores of {len(sources)} {'corpus' if len(sources) == 1 else 'corpora'} of messages"


def _own_data(metadata: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Names of the files of objects that runs read."""
    for data in metadata:
        config = data.get("config")
        world = config.get("world") if isinstance(config, Mapping) else None
        for key in OWN_DATA:
            value = world.get(key) if isinstance(world, Mapping) else None
            if isinstance(value, str) and "." in value:
                yield Path(value).name


FIELDS = {
    "collection": "rai:dataCollection",
    "collection_type": "rai:dataCollectionType",
    "biases": "rai:dataBiases",
    "limitations": "rai:dataLimitations",
    "use_cases": "rai:dataUseCases",
    "social_impact": "rai:dataSocialImpact",
    "personal_information": "rai:personalSensitiveInformation",
    "annotation": "rai:machineAnnotationTools",
    "maintenance": "rai:dataReleaseMaintenancePlan",
}
"""Names of fields in a file of statements, and in Croissant."""
MANY = ("collection_type", "biases", "limitations", "use_cases", "personal_information", "annotation")
"""Fields that are lists in Croissant."""
DESCRIPTION = "description"
"""Further key of a file of statements: a description, which replaces the first sentence of the card."""
GENERATED_BY = {
    "game": "training of agents",
    "rounds": "rounds of agents",
    "grammar": "an artificial grammar",
}
"""Source of the messages by kind of speaker, if no person made them."""
UNKNOWN = "Not stated by the publisher."

_COLLECTION = {
    "game": "Agents invented the messages while they were trained on a game; no person wrote or read messages.",
    "rounds": "Agents (scripts, trained networks or language models, named in the card) played rounds with each other "
    "without further training; no person wrote messages.",
    "people": "People took part: they learned a language, or played with each other or with agents, and wrote.",
    "grammar": "A program wrote the messages by the rules of an artificial grammar; no person wrote them.",
    "other": UNKNOWN,
}
_BIASES = {
    "game": "The messages depend on the game, the agents' networks and the seeds, which the card names.",
    "rounds": "The messages depend on the rules, models and prompts of the agents; the training data of a language "
    "model may contain texts about such games.",
    "people": "The messages depend on the participants, about whom nothing is stated, and on their partners.",
    "grammar": "The messages depend only on the rules of the grammar.",
    "other": UNKNOWN,
}
_LIMITATIONS = {
    "game": "This is no natural language: symbols are numbers without sounds or predefined meanings. A few seeds are "
    "weak evidence about a game; intervals are over messages, not over seeds, unless the card says otherwise.",
    "rounds": "A few runs are weak evidence about a play. A language model may give other answers when it is queried "
    "again; the run can be repeated exactly from its stored answers.",
    "people": "The selection of participants is not stated, so that results do not generalise to other people.",
    "grammar": "This is no natural language, and it has no more structure than its grammar.",
    "other": "The selection of messages is not stated, so that results do not generalise to other messages.",
}
_PERSONAL = {
    "game": "None in the messages, whose meanings are the objects of the game.",
    "rounds": "None of participants, since no people took part. Nobody has read the texts of language models.",
    "people": "The files contain messages and answers of people. Their informed consent is not described.",
    "grammar": "None.",
    "other": "Not stated: check the files before you use them.",
}
_USES = "Research on the emergence of languages and on metrics; comparison with other systems by equal signatures."
_IMPACT = "None known: nobody speaks the language."
_MAINTENANCE = "Every version remains available as a commit of the repository: cite the commit."


def statements_of(summary: Summary, given: Mapping[str, str]) -> dict[str, str]:
    """Make the statements by the names of `FIELDS`, in their order; given statements replace generated ones.

    Args:
        summary: Summary of the source.
        given: See `read_statements`.
    """
    origin = summary.origin
    personal = _PERSONAL[origin]
    if summary.own_data:
        files = ", ".join(summary.own_data)
        personal = "None in the messages." if origin == "game" else personal
        personal += (
            f" Personal information in the authors' data ({files}), which they describe, is not stated."
        )
    said = {
        "collection": _COLLECTION[origin],
        "collection_type": "Others" if origin == "other" else "Experiments",
        "biases": _BIASES[origin],
        "limitations": _LIMITATIONS[origin],
        "use_cases": _USES,
        "social_impact": _IMPACT if origin in GENERATED_BY else UNKNOWN,
        "personal_information": personal,
        "annotation": f"Scores: ecsuite {__version__}",
        "maintenance": _MAINTENANCE,
    }
    return said | {name: text for name, text in given.items() if name in FIELDS}


def responsible(summary: Summary, said: Mapping[str, str]) -> dict[str, Any]:
    """The statements as fields of Croissant."""
    fields: dict[str, Any] = {FIELDS[name]: [text] if name in MANY else text for name, text in said.items()}
    if summary.origin in GENERATED_BY:
        fields["rai:hasSyntheticData"] = True
        fields["prov:wasGeneratedBy"] = {
            "@type": "prov:Activity",
            "prov:label": GENERATED_BY[summary.origin],
            "sc:description": summary.plain,
        }
    return fields


def read_statements(file: Path | None) -> dict[str, str]:
    """The statements in a YAML file: texts by the names of `FIELDS`, and `description`.

    Raises:
        ConfigError: If it can't be read, has another key, or a value that is no text.
    """
    if file is None:
        return {}
    try:
        tree = parse_yaml(decoded(file.read_bytes(), file), str(file))
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read ({error.strerror})") from None
    if not isinstance(tree, Mapping):
        raise ConfigError(f"{file}: expected texts by key, such as personal_information: none")
    for key, value in tree.items():
        look_up("statement", str(key), dict.fromkeys((DESCRIPTION, *FIELDS)))
        if not isinstance(value, str) or not value.strip():
            raise ConfigError(f"{file}: {key}: expected a text, got {shown(value)}")
    return {str(key): " ".join(value.split()) for key, value in tree.items()}


TAGS = ("emergent-communication", "emergent-language", "language-creation", "ecsuite", "croissant")
"""Tags of every repository."""
SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
"""Size categories of the hub, by upper bound of the number of messages."""
HEADINGS = {
    "collection": "Collection",
    "biases": "Biases",
    "limitations": "Limits",
    "use_cases": "Uses",
    "social_impact": "Impact",
    "personal_information": "Personal information",
    "maintenance": "Versions",
}
"""Statements of the card."""
DIGITS = 3
"""Decimals of scores."""


def card(
    address: Address,
    summary: Summary,
    contents: Contents,
    licence: Licence,
    description: str,
    statements: Mapping[str, str],
) -> str:
    """The text of `README.md`.

    Args:
        address: Destination.
        summary: Summary of the source.
        contents: The files.
        licence: Terms of use.
        description: Description in a paragraph.
        statements: See `statements_of`.
    """
    scored = any(source.records for source in summary.sources)
    messages = messages_in(address.name, [each.name for each in contents.files], has_scores=scored)
    look = f"score {shlex.quote(messages)}" if messages else f"compare {address.name}"
    parts = [
        _front_matter(address, summary, licence),
        f"# {address.name}",
        f"{description} Made with ecsuite {__version__}.",
        f"    ecsuite pull {address}\n    ecsuite {look}",
        "`ecsuite pull` verifies every file against the checksums in `croissant.json`, and runs nothing.",
        *(["## How it was made", summary.made] if summary.made else []),
        *_scores(summary.sources),
        *_failed([source for source in summary.sources if source.is_run]),
        "## Collection, uses and limits",
        "\n".join(f"- **{HEADINGS[name]}**: {statements[name]}" for name in HEADINGS),
        f"- **Licence**: [{licence.name}]({licence.url})",
        "## Citation",
        f"```bibtex\n{summary.citation}\n```",
    ]
    return "\n\n".join(parts).replace("\n\n- **Licence", "\n- **Licence") + "\n"


def _front_matter(address: Address, summary: Summary, licence: Licence) -> str:
    size = next((name for bound, name in SIZES if summary.num_messages < bound), "n>1M")
    data = {
        "pretty_name": address.name,
        "license": licence.name,
        **({"license_name": "other", "license_link": licence.url} if licence.name == "other" else {}),
        "language_creators": ["machine-generated" if summary.origin in GENERATED_BY else "other"],
        "size_categories": [size],
        "tags": list(TAGS),
        "viewer": False,  # lines are arrays, which it does not show
    }
    return f"---\n{yaml.safe_dump(data, sort_keys=False, allow_unicode=True)}---"


def _scores(sources: Sequence[Source]) -> list[str]:
    """The section with the scores: with intervals for one source, as means for several."""
    scored = [source for source in sources if source.records]
    if not scored:
        return []
    if len(scored) == 1:
        tables = [_of_one(scored[0])]
        note = "Intervals are over messages. Scores with equal signatures are comparable."
    else:
        if any(source.is_run for source in scored):
            scored = [source for source in scored if source.is_run]
        tables = [means_table(Results(scored).means()), _signatures(scored)]
        note = "Means over runs, with 95 % intervals over their seeds."
    return ["## Scores", *(table.markdown().strip() for table in tables), note]


def _of_one(source: Source) -> Table:
    levels = source.metadata.get("chance")
    measured = levels if isinstance(levels, Mapping) else {}
    columns = (
        name_column("score"),
        number_column("value", parts=("low", "high")),
        number_column("chance"),
        Column("signature"),
    )
    rows = [
        row_of(
            record.figure,
            interval(_value(record.value), record.ci95, DIGITS),
            number(
                _value(measured.get(record.figure) if record.chance is None else record.chance.level), DIGITS
            ),
            text(record.signature or (f"undefined: {record.reason}" if record.reason else "")),
        )
        for record in source.records
    ]
    return Table(columns=columns, rows=rows)


def _value(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _signatures(sources: Sequence[Source]) -> Table:
    found = dict.fromkeys(
        (record.name, record.signature) for source in sources for record in source.records if record.signature
    )
    rows = [row_of(score, text(signature)) for score, signature in found]
    return Table(columns=(name_column("score"), Column("signature")), rows=rows)


def _failed(runs: Sequence[Source]) -> list[str]:
    """The section with the failed and stopped runs; every started run is counted."""
    if len(runs) < 2:
        return []
    failed = failed_runs(runs)
    completed = f"{len(runs) - len(failed)} of {len(runs)} runs were completed."
    if not failed:
        return ["## Failed seeds", completed]
    return [
        "## Failed seeds",
        f"{completed} These runs failed or were stopped, and are in no mean:",
        failed_runs_table(runs).markdown().strip(),
    ]
