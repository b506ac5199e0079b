"""The scores: what each is, its options and its version, intervals and chance levels."""

from collections.abc import Iterator, Sequence
from typing import Any

from ecsuite.eval.methods.prose import Cite, Paragraph, Sentence, listed
from ecsuite.eval.methods.settings import line_of
from ecsuite.eval.metrics import METRIC_OF, METRICS, traits_of
from ecsuite.eval.results.sources import Record, Source
from ecsuite.runtime.errors import look_up

SIZE, VERSION = "n", "v"
"""Keys of a signature that are no options: the number of messages, and the version."""


def scores_paragraph(sources: Sequence[Source], chosen: Sequence[str] | None) -> Paragraph | None:
    """A sentence a score; None without scores.

    Args:
        sources: Runs and corpora.
        chosen: The scores by name; None: all that they have.

    Raises:
        ConfigError: If one is chosen that they have not.
    """
    scores: dict[str, Record] = {}
    for source in sources:
        for record in source.records:
            if not record.is_measure and record.signature is not None:
                scores.setdefault(record.score, record)
    for name in chosen or ():
        look_up("score", name, scores)
    told = [scores[name] for name in (scores if chosen is None else chosen)]
    if not told:
        return None
    sentences: list[Sentence] = [["Languages were scored by the following metrics."]]
    sizes = [record for record in told if metric_of(record) == "elcc"]
    if len(sizes) > 1:
        told = [record for record in told if record not in sizes]
    sentences += [_sentence(record) for record in told]
    if len(sizes) > 1:
        line = line_of(METRICS, "elcc").partition(",")[0]
        sentences.append([f"Beside them stand {line}", Cite.of("elcc"), "."])
    sentences += _how_read([*told, *sizes])
    return Paragraph(about="scores", sentences=tuple(sentences))


def metric_of(record: Record) -> str | None:
    """The metric of a score; None of a metric that is none of ours."""
    return METRIC_OF.get(record.score.partition(",")[0])


def _sentence(record: Record) -> Sentence:
    """What a score is."""
    name, metric = record.score, metric_of(record)
    if metric is None:
        return [
            f"{name}, a metric of our own{f': {record.about}' if record.about else ''}{_options(record)}."
        ]
    traits = traits_of(name)
    title = f" ({traits.title})" if traits.title and traits.title.lower() != name.lower() else ""
    high = traits.high.partition(";")[0]
    more = f"; {high}" if high else ""
    return [f"{name}{title}", Cite.of(name.partition(",")[0]), f": {traits.about}{more}{_options(record)}."]


def _options(record: Record) -> str:
    """The options and the version in a signature."""
    fields = [part.partition(":")[::2] for part in str(record.signature).split("|")[1:]]
    options = [f"{key.replace('_', ' ')} {value}" for key, value in fields if key not in (SIZE, VERSION)]
    version = [f"version {value}" for key, value in fields if key == VERSION]
    told = ", ".join([*options, *version])
    return f" ({told})" if told else ""


def _how_read(records: Sequence[Record]) -> Iterator[Sentence]:
    """Intervals and chance levels."""
    if any(record.ci95 for record in records):
        yield [
            "Intervals are 95 % intervals over messages, or over the speakers of a society, not over seeds."
        ]
    levels: dict[tuple[Any, ...], list[str]] = {}
    for record in records:
        chance = record.chance or {}
        if chance.get("kind") == "shuffle":
            what = traits_of(record.score).chance or "shuffles"
            levels.setdefault((what, chance.get("shuffles"), chance.get("seed")), []).append(record.score)
    for (what, number, seed), names in levels.items():
        drawn = f"{number} draws" if number else "draws"
        yield [f"The chance level of {listed(names)} is the mean over {drawn} of {what} (seed {seed})."]
