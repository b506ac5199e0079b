"""The scorecard: requested metrics of one corpus, as a table and as JSON."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console

from ecsuite.corpus import EPISODE, Corpus
from ecsuite.eval.counts.counting import (
    flat,
    has_attributes,
    meaning_labels,
    message_labels,
    narrow_content,
    num_distinct_rows,
)
from ecsuite.eval.metrics import METRIC_OF, find_metric, metric_names
from ecsuite.eval.metrics.computing import compute_parallel, speakers_of
from ecsuite.eval.metrics.conclusions import Conclusion, conclusions
from ecsuite.eval.metrics.score import Options, Score
from ecsuite.eval.statistics.cache import corpus_cache
from ecsuite.eval.statistics.contingency import num_labels
from ecsuite.eval.views.console import Report
from ecsuite.eval.views.language import Example, examples_of
from ecsuite.eval.views.score_tables import WIDTH, ShortTable, full_tables, score_fields, score_table
from ecsuite.files.format_numbers import with_format
from ecsuite.games.tasks.directions import held_out_of
from ecsuite.jobs.graph import Runner
from ecsuite.parts.own_code import foreign_kinds, is_foreign
from ecsuite.runtime.errors import ConfigError, unknown_name
from ecsuite.runtime.printable import preformatted
from ecsuite.tables.forms import Form, as_text
from ecsuite.tables.table import Table, as_frame

if TYPE_CHECKING:
    from ecsuite.games.runs.run import Run

_PROVENANCE = ("source_path", "source_format", "reading", "where", "sha256", "vocab_size", "eos_source")
"""Keys of the metadata that identify a corpus."""

_FEWEST_OBJECTS = 20
"""Minimum number of objects for naming attributes; with fewer, other attributes may also have as many values."""
_FIRST_OBJECTS = 1000
"""Number of objects of a large corpus that are compared first."""
_PROGRESS = ("step", "num_steps", "accuracy")  # accuracy: if the game has one
"""Keys of the metadata about the progress of training."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Scorecard(Mapping[str, Score]):
    """Scores of one corpus: a mapping from their names, in the order of the requested metrics."""

    corpus: dict[str, Any]
    """Origin and sizes of the corpus, JSON-ready (no sizes for the baseline without a corpus)."""
    scores: tuple[Score, ...]
    """The scores, in the order of the requested metrics."""
    samples: tuple[Example, ...] = ()
    """Example messages with their meanings."""

    def __getitem__(self, name: str) -> Score:
        """The score with this name, the first if there are several."""
        for score in self.scores:
            if score.name == name:
                return score
        raise KeyError(str(unknown_name("score", name, list(self))))

    def __iter__(self) -> Iterator[str]:
        """The names of the scores."""
        return iter(dict.fromkeys(score.name for score in self.scores))

    def __len__(self) -> int:
        """Number of distinct names."""
        return len(list(iter(self)))

    @property
    def conclusions(self) -> list[Conclusion]:
        """Conclusion on each score, corrected for the number of all scores."""
        return conclusions(self.scores, self.corpus.get("num_messages"))

    def __str__(self) -> str:
        """The table as text."""
        return as_text(self.short_table(), width=WIDTH)

    __repr__ = __str__

    def full(self, width: int = 100) -> str:
        """The full table as text.

        Args:
            width: Number of columns.
        """
        return "\n".join(as_text(table, width=width) for table in self.full_tables())

    def _repr_html_(self) -> str:
        """The table in a notebook."""
        return preformatted(str(self))

    def to_frame(self) -> Any:
        """One row per score, as a `pandas.DataFrame` with name, value, low and high (95 %), reason and signature.

        Raises:
            ConfigError: If pandas is not installed.
        """
        names = {"score": "name", "value_low": "low", "value_high": "high"}
        columns = ("score", "value", "value_low", "value_high", "reason", "signature")
        rows = [
            {names.get(name, name): fields[name] for name in columns}
            for fields in map(score_fields, self.scores)
        ]
        return as_frame(rows)

    def to_json(self, *, is_kept: bool = False) -> dict[str, Any]:
        """The scorecard as JSON-ready data, without NaN.

        With XferBench, it also has the keys of the authors' results: `score`, `by_target` and, with ELCC, `analysis`.

        Args:
            is_kept: See `Score.to_json`.
        """
        pairs = zip(self.scores, self.conclusions, strict=True)
        scores = [score.to_json(is_kept=is_kept) | conclusion.to_json() for score, conclusion in pairs]
        samples = [sample.to_json() for sample in self.samples]
        data = with_format("scores", {"corpus": self.corpus, "samples": samples, "scores": scores})
        by_name = {score.name: score for score in self.scores if score.value is not None}
        if "xferbench" not in by_name:
            return data
        found = by_name["xferbench"]
        analysis = {
            name: score.value for name, score in by_name.items() if score.signature.startswith("elcc|")
        }
        return data | {"score": found.value, "by_target": found.details["by_target"], "analysis": analysis}

    def publish(
        self, *, out: Path | None, as_json: bool, form: Form = Form.TEXT, is_full: bool = False
    ) -> None:
        """Write the requested file, and print JSON, the short page, or a table in a form.

        Args:
            out: The file.
            as_json: Whether JSON is printed.
            form: Text is the short page; other forms print the table of scores.
            is_full: Whether to print every score with its details and signature.
        """
        is_short = form is Form.TEXT and not as_json and not is_full
        if out is not None or not is_short:
            tables = self.full_tables() if is_full else [self.table()]
            report = Report(tables=tables, notes=(), data=self.to_json())
            if not is_short:
                report.publish(out=out, picture=None, as_json=as_json, form=form)
                return
            report.write(out)
        Console(force_jupyter=False).print(self.short_table())

    def table(self) -> Table:
        """Table with one row per score: value, interval, chance level, corrected p-value, conclusion."""
        return score_table(self.scores, self.conclusions)

    def full_tables(self) -> list[Table]:
        """Tables of every score with meaning, details and signature, and of morphemes if measured."""
        return full_tables(self.corpus, self.scores, self.conclusions)

    def short_table(self) -> ShortTable:
        """Short view: the corpus, ten messages, and one line per score, by question, with its conclusion."""
        return ShortTable(
            corpus=self.corpus, scores=self.scores, conclusions=self.conclusions, samples=self.samples
        )


def score_corpus(
    corpus: Corpus,
    names: Iterable[str] | None = None,
    options: Options | None = None,
    *,
    run: "Run | None" = None,
    runner: Runner | None = None,
    num_processes: int = 1,
) -> Scorecard:
    """Compute metrics of a corpus.

    Args:
        corpus: The corpus.
        names: Names of metrics, in the order of the results, see `metric_names`; None: the default metrics.
        options: Options of the metrics; None: the defaults.
        run: The run whose corpus it is, for metrics that need its agents.
        runner: Runs jobs of metrics that train models, reports progress, and says when to stop; None: without a cache.
        num_processes: Maximum number of processes that compute metrics, including this one. The others import the main
            module, so a script then needs `if __name__ == "__main__"`.

    Raises:
        ValueError: If there is no metric with a name, or a metric needs agents and `run` is None; nothing is computed
            then.
    """
    metrics = {name: find_metric(name) for name in metric_names(names)}
    own = [name.partition(":")[2] for name in metrics if is_foreign(name.partition(",")[0])]
    for name in own:  # tables would confuse them
        if name in METRIC_OF or own.count(name) > 1:
            other = "a score of ecsuite" if name in METRIC_OF else "another metric"
            raise ConfigError(f"{name}: {other} has this name: expected a unique name")
    for name, metric in metrics.items():
        if metric.shared.needs_agents and run is None:
            raise ConfigError(
                f"metric {name} needs the agents of a run: expected a run folder, as from train-game --out"
            )
    alone = {name for name, each in metrics.items() if foreign_kinds(name) or each.shared.is_asked_for}
    with corpus_cache(corpus):
        samples = examples_of(corpus)
        described = describe(corpus, num_labels(message_labels(corpus)))
        by_metric = compute_parallel(
            metrics,
            corpus,
            options or Options(),
            run=run,
            runner=runner,
            num_processes=num_processes,
            load=find_metric,
            alone=frozenset(alone),
        )
        scores = tuple(score for found in by_metric for score in found)
    return Scorecard(corpus=described, scores=scores, samples=samples)


def describe(corpus: Corpus, num_distinct: int | None = None) -> dict[str, Any]:
    """Description of a corpus: provenance if known, sizes without EOS, and EOS.

    Args:
        corpus: The corpus.
        num_distinct: The number of distinct messages, if known; counting takes time in a large corpus.
    """
    if num_distinct is None:
        num_distinct = num_distinct_rows(narrow_content(corpus))
    num_meanings = None  # computed before `content`, as both take much memory
    if corpus.meanings is None or has_attributes(corpus.meanings):
        labels = meaning_labels(corpus)
        num_meanings = None if labels is None else num_labels(labels)
        del labels
    content = narrow_content(corpus)
    lengths = content.lengths
    num_empty, shortest = int((lengths == 0).sum()), int(lengths.min()) if len(content) else 0
    longest = int(lengths.max(initial=0))
    del lengths
    names, meanings, concepts = corpus.symbol_names, corpus.meanings, corpus.concepts
    known = {key: corpus.metadata[key] for key in _PROVENANCE if key in corpus.metadata}
    return {**known, **training_progress(corpus.metadata)} | {
        "num_messages": len(content),
        "num_distinct_messages": num_distinct,
        "num_empty": num_empty,
        "min_length": shortest,
        "max_length": longest,
        "num_symbols": len(content.values),
        "num_distinct_symbols": len(content.distinct()),
        "eos": corpus.eos if corpus.eos is None or not names else names[corpus.eos],
        "num_attributes": None if meanings is None else flat(meanings).shape[1],
        "num_distinct_meanings": num_meanings,
        "num_concepts": None if concepts is None else len(concepts.distinct()),
        **({"num_speakers": number} if (number := len(speakers_of(corpus))) > 1 else {}),
        **({"num_episodes": len(corpus.values_of(EPISODE))} if EPISODE in corpus.columns else {}),
        **({"naming_attributes": naming} if (naming := naming_attributes(corpus)) else {}),
    }


def training_progress(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Progress of the agents' training, and the objects of its accuracy if objects were held out.

    Args:
        metadata: Metadata of a corpus, which are checked, as any program may have written them.
    """
    known, others = metadata.get("training"), metadata.get("extra_evaluations")
    progress = {key: known[key] for key in _PROGRESS if key in known} if isinstance(known, Mapping) else {}
    is_valid = all(type(value) in (int, float) and math.isfinite(value) for value in progress.values())
    if not is_valid or not {*_PROGRESS[:2]} <= progress.keys():
        return {}
    about = held_out_of(others) if isinstance(others, Mapping) and "accuracy" in progress else ""
    return {"training": progress, **({"accuracy_of": about} if about else {})}


def naming_attributes(corpus: Corpus) -> list[int]:
    """Indices of the attributes with as many values as there are distinct objects.

    No two objects share a value of such an attribute (e.g. a file name): no part of a message can express it, and
    scores of composition count it as one more attribute that is or is not expressed. If a single attribute varies and
    its values recur, there is none, as the values may be kinds of objects.
    """
    if corpus.meanings is None or not has_attributes(corpus.meanings):
        return []
    table = flat(corpus.meanings)
    if not table.size:
        return []
    for some in (table[:_FIRST_OBJECTS], table)[len(table) <= _FIRST_OBJECTS :]:
        number = len(np.unique(some, axis=0))
        places = [place for place, column in enumerate(some.T) if len(np.unique(column)) == number]
        if not places:
            return []  # identifying attributes also identify a subset
    num_varying = sum((column != column[0]).any() for column in table.T)
    are_kinds = num_varying < 2 and number < len(table)
    return [] if number < _FEWEST_OBJECTS or are_kinds else places
