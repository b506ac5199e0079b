"""A collection of corpora: its study, its benchmark, and its scores as a table and as a picture.

    corpora: elcc
    score: [elcc, has, zla]

`corpora` is a downloaded data set, or patterns of paths such as `runs/*/corpus.jsonl`.
"""

import json
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from glob import glob
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from ecsuite.eval.experiments.benchmark import Benchmark
from ecsuite.eval.experiments.corpora import (
    FACTS,
    CollectionMember,
    CorpusContent,
    FileFacts,
    MessageSelection,
    Read,
    ScoredMember,
    files_of,
    members_of,
)
from ecsuite.eval.experiments.correlations import SIZES
from ecsuite.eval.experiments.grids import SWEEP, StudySource, at
from ecsuite.eval.experiments.jobs import in_order_of, scoring_jobs
from ecsuite.eval.experiments.study import COLLECTION_KEY, metrics_of
from ecsuite.eval.metrics import find_metric, table_order, traits_of
from ecsuite.eval.metrics.conclusions import limits_of
from ecsuite.eval.metrics.score import Options, Score
from ecsuite.eval.results.files import sources_of
from ecsuite.eval.results.sources import STORE, Source
from ecsuite.eval.statistics.cache import corpus_cache
from ecsuite.eval.statistics.contingency import Floats
from ecsuite.eval.statistics.estimates import average_ranks
from ecsuite.eval.views.console import Report
from ecsuite.eval.views.figures.canvas import ARROWS, label, save
from ecsuite.eval.views.figures.heat_map import heat_map
from ecsuite.eval.views.language import Example, examples_of
from ecsuite.eval.views.scorecard import Scorecard, describe, score_corpus
from ecsuite.files.atomic_files import write_if_changed
from ecsuite.files.data_folder import data_folder
from ecsuite.files.format_numbers import with_format
from ecsuite.games.runs.run_folder import SCORES
from ecsuite.jobs.graph import Runner
from ecsuite.jobs.job import Job, Location, Result, canonical
from ecsuite.parts.config import Seed, build
from ecsuite.parts.own_code import foreign_kinds
from ecsuite.runtime.errors import ConfigError, DivergedError, shown
from ecsuite.tables.cells import count, number, text
from ecsuite.tables.table import Column, Table, name_column, number_column, row_of

if TYPE_CHECKING:
    from ecsuite.games.runs.run import Run


DATA_SETS = {"elcc": "systems/*/data/*/corpus.jsonl", "wcs": "languages/*/corpus.jsonl"}
"""Pattern of the corpora of each downloaded data set in its folder."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CollectionKeys:
    """The keys of the YAML file of a study of a collection."""

    name: str
    """Name of the study; by default its file name."""
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
    """Corpora with their metrics."""

    name: str
    """Name of the study."""
    members: tuple[CollectionMember, ...]
    """The corpora."""
    metrics: tuple[str, ...]
    """Names of the metrics."""
    seed: int
    """Seed of metrics with random draws."""


def load_collection(study: StudySource) -> CollectionStudy:
    """Read a study, and find its corpora.

    Args:
        study: A shipped study such as `paper/elcc`, a YAML file, or its content.

    Raises:
        ConfigError: If a key is not valid, or there is no such corpus.
    """
    tree, source = SWEEP.read(study)
    header: CollectionKeys = build(CollectionKeys, {"score": [], **tree}, source)
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
    """Paths of the corpora of a data set or of patterns, sorted and without repeats."""
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


MOST_WITH_NUMBERS = 40
"""Maximum number of corpora whose scores are also written as numbers."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoreMap:
    """The scores of a collection as a heat map, with their ranks."""

    corpora: tuple[str, ...]
    """Names of the rows: the corpora in their order."""
    scores: tuple[str, ...]
    """Names of the columns."""
    values: Floats
    """The scores, shape (num_corpora, num_scores); NaN if undefined."""
    ranks: Floats
    """The rank of each score in its column, from 0 (lowest) to 1; equal scores share their mean rank."""
    num_left_out: int
    """Number of scores that are equal for all corpora, or undefined for more than half of the corpora."""


def map_of(scored: Sequence[ScoredMember], names: Sequence[str]) -> ScoreMap:
    """Select the scores that differ between corpora and are defined for half of the corpora, without sizes."""
    names = [name for name in names if name not in SIZES]
    table = np.array(
        [
            [np.nan if name not in each.card or (value := each.card[name].value) is None else value for name in names]
            for each in scored
        ],
        dtype=np.float64,
    ).reshape(len(scored), len(names))  # fmt: skip
    ranks = np.full_like(table, np.nan)
    columns = []
    for column in range(len(names)):
        defined = np.isfinite(table[:, column])
        values = table[defined, column]
        if 2 * len(values) < len(scored) or len(np.unique(values)) < 2:
            continue
        ranks[defined, column] = (average_ranks(values) - 1) / (len(values) - 1)
        columns.append(column)
    return ScoreMap(
        corpora=tuple(each.member.name for each in scored),
        scores=tuple(names[column] for column in columns),
        values=table[:, columns],
        ranks=ranks[:, columns],
        num_left_out=len(names) - len(columns),
    )


def draw_map(score_map: ScoreMap, *files: Path) -> None:
    """Draw the ranks as colours, and for few corpora also the scores as numbers.

    Args:
        score_map: The scores; at least one.
        *files: Output files, .svg, .pdf or .png.

    Raises:
        ConfigError: If matplotlib is missing, or a file is not .svg, .pdf or .png.
    """
    notes = ["↑ higher is better, ↓ lower is better; grey: undefined"]
    if score_map.num_left_out:
        more = f"{score_map.num_left_out} scores" if score_map.num_left_out > 1 else "1 score"
        notes.append(f"not drawn: {more}, equal for all corpora or undefined for most")
    has_numbers = len(score_map.corpora) <= MOST_WITH_NUMBERS
    figure = heat_map(
        score_map.ranks,
        score_map.corpora,
        [label(name) + ARROWS[traits_of(name).direction] for name in score_map.scores],
        texts=[[_number(value) for value in row] for row in score_map.values] if has_numbers else None,
        has_texts=has_numbers,
        limits=(0, 1),
        scale="rank among the corpora",
        ends=("lowest", "highest"),
        title="Scores of a collection: the colour is the rank among the corpora",
        notes=notes,
    )
    save(figure, *files)


def _number(value: float) -> str:
    """A number of at most six characters."""
    if not np.isfinite(value):
        return ""
    return f"{value:.2f}" if abs(value) < 100 else f"{value:.3g}" if abs(value) >= 1e4 else f"{value:.0f}"


COLUMNS = 5
"""Maximum number of printed scores."""
HEADING_WIDTH = 14
"""Maximum width of a line of a heading in characters; longer words are not split."""
ABOUT = ("system", "game", "seed")
"""Extra CSV columns, after the name of the corpus."""
FILES = (SCORES, "scores.csv")
"""The files in the folder of a study."""


def collection_report(scored: Sequence[ScoredMember], *, folder: Path | None = None) -> Report:
    """The report of a scored collection.

    Args:
        scored: The corpora with their scores.
        folder: Folder of `FILES`; None: they are not written.
    """
    names = score_names(scored)
    num_printed = len(_most_defined(scored, names))
    lines = []
    if len(names) > num_printed:
        where = (
            "--out FILE.csv (one row per corpus), --out FILE.json (all)"
            if folder is None
            else f"{folder / FILES[1]} (one row per corpus)"
        )
        lines.append(f"{len(names) - num_printed} more scores: {where}")
    signatures = [score.signature for each in scored for score in each.card.scores]
    lines += [f"xferbench: {limits}." for limits in dict.fromkeys(map(limits_of, signatures)) if limits]
    systems = {each.member.system for each in scored if each.member.system is not None}
    of_systems = f" of {len(systems)} systems" if systems else ""
    source = "FILE.json" if folder is None else shlex.quote(str(folder))
    lines.append(f"{len(scored)} corpora{of_systems}; next: ecsuite compare correlations {source}")
    # The comparison of all pairs needs few corpora; the key stays for programs that read it.
    data = {"corpora": [each.to_json() for each in scored], "comparison": None, "notes": lines}
    return Report(tables=[table_of(scored)], notes=tuple(lines), data=data, draw=_drawing(scored, names))


def _drawing(scored: Sequence[ScoredMember], names: Sequence[str]) -> Callable[[Path], None] | None:
    """Function that draws the heat map; None if no score differs between the corpora."""
    score_map = map_of(scored, names)
    return (lambda file: draw_map(score_map, file)) if score_map.scores else None


def table_of(scored: Sequence[ScoredMember]) -> Table:
    """A row per corpus: name, sizes and scores. Only the most defined scores are printed; CSV and frames have all."""
    names = score_names(scored)
    printed = _most_defined(scored, names)
    sizes = list(dict.fromkeys(name for each in scored for name in _sizes(each)))
    columns = [name_column("name", "corpus"), *(Column(name, is_shown=False) for name in ABOUT)]
    columns += [number_column(size, "messages", is_shown=size == "num_messages") for size in sizes]
    for name in names:
        heading = f"{name}{ARROWS[traits_of(name).direction]}".replace("_", " ").strip()
        lines = tuple(wrap(heading, HEADING_WIDTH, break_long_words=False))
        columns.append(number_column(name, lines, is_shown=name in printed))
    rows = []
    for each in scored:
        own = _sizes(each)
        values = [each.card[name].value if name in each.card else None for name in names]
        rows.append(
            row_of(
                each.member.name,
                *(text(getattr(each.member, name)) for name in ABOUT),
                *(count(own.get(size)) for size in sizes),
                *map(number, values),
            )
        )
    return Table(columns=columns, rows=rows)


def score_names(scored: Sequence[ScoredMember]) -> list[str]:
    """The names of all scores, in the order of tables."""
    found = dict.fromkeys(name for each in scored for name in each.card)
    return sorted(found, key=table_order)


def _sizes(each: ScoredMember) -> dict[str, Any]:
    """The sizes of a corpus."""
    return {key: value for key, value in each.card.corpus.items() if key.startswith("num_")}


def _most_defined(scored: Sequence[ScoredMember], names: Sequence[str]) -> list[str]:
    """The scores to print: the scores that most corpora have, in the order of tables."""

    def share(name: str) -> int:
        return sum(name in each.card and each.card[name].value is not None for each in scored)

    defined = sorted((name for name in names if share(name)), key=lambda name: share(name) * 2 < len(scored))
    chosen = defined[:COLUMNS]
    return [name for name in names if name in chosen]


def is_job(metric: str, *, is_of_run: bool = False) -> bool:
    """Whether a metric is computed by jobs: it trains no model, reads nothing else of a run, and is not a user's own.

    Args:
        metric: Its name.
        is_of_run: Whether agents are available.
    """
    if foreign_kinds(metric):
        return False
    traits = find_metric(metric).shared
    reads_run = traits.needs_agents or traits.of_languages or (traits.asks_agents and is_of_run)
    return not (traits.trains or reads_run)


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannedCorpus:
    """A corpus with the jobs that score it."""

    member: CollectionMember
    """The corpus."""
    facts: Mapping[str, Any]
    """Digest, description, samples and notes of the reader, as long as the files have not changed."""
    jobs: Mapping[str, Job]
    """Jobs by metric name."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Collections(Benchmark[CollectionStudy, list[ScoredMember]]):
    """Corpora by metrics; stored scores are reused, and corpora with stored scores are not read again."""

    read: Read
    """Reads the messages to score from a path."""
    selection: MessageSelection = field(default_factory=MessageSelection)
    """Selection that `read` applies; an input of jobs."""
    options: Options = field(default_factory=Options)
    """Options of XferBench, and of metrics without a job of their own."""
    runs: Sequence["Run | None"] = ()
    """Run of each corpus, for metrics that need the agents; empty if no metric does."""
    folder: Path | None = None
    """Folder of the stored results and of `FILES`; None: the default of the command."""
    kept: Path | None = None
    """Folder of stored results; None: in the folder of the collection."""
    note: Callable[[str], None] = lambda _: None
    """Prints the reader's notes about a corpus that is not read again."""

    @property
    def store(self) -> Path | None:
        """The folder of stored results; by default in the folder of the study, if it has one."""
        return self.kept if self.kept is not None or self.folder is None else self.folder / STORE

    def plan(self, study: CollectionStudy) -> list[Job]:
        """The jobs of each corpus, and the jobs of XferBench."""
        jobs = [job for corpus in self.planned(study) for job in corpus.jobs.values()]
        for name in (name for name in study.metrics if name.partition(",")[0] == "xferbench"):
            from ecsuite.eval.xferbench.metric import jobs_of, own_options

            own = own_options(name)
            for member in study.members:
                jobs += jobs_of(self.read(member.path), self.options, own)
        return jobs

    def planned(self, study: CollectionStudy, *, saves_facts: bool = False) -> list[PlannedCorpus]:
        """The corpora with their jobs; one corpus at a time is in memory.

        Args:
            study: The study.
            saves_facts: Whether facts about the corpora are stored, so that they are not read again.
        """
        facts = FileFacts((self.store or Path(os.devnull)) / FACTS)
        corpora = []
        for index, member in enumerate(study.members):
            known = self._facts_of(member, facts)
            metrics = [name for name in study.metrics if is_job(name, is_of_run=self._run(index) is not None)]
            jobs = scoring_jobs(
                metrics,
                member.name,
                file=Location(path=member.path.resolve()),
                content=CorpusContent(digest=known["digest"], num_symbols=known["num_symbols"]),
                selection=self.selection,
                seed=study.seed,
            )
            corpora.append(PlannedCorpus(member=member, facts=known, jobs=jobs))
        if saves_facts and self.store is not None:
            facts.save()
        return corpora

    def _facts_of(self, member: CollectionMember, facts: FileFacts) -> dict[str, Any]:
        key = json.dumps([str(member.path), str(member.path.resolve()), canonical(self.selection)])
        files = files_of(member.path, self.selection.reading.meanings)
        known: dict[str, Any] | None = facts.get(key, files)
        if known is not None:
            for line in known["notes"]:
                self.note(f"note: {line}")
            return known
        corpus = self.read(member.path)
        with corpus_cache(corpus):
            known = {
                **canonical(asdict(CorpusContent.of(corpus))),
                "corpus": describe(corpus),
                "samples": [example.to_json() for example in examples_of(corpus)],
                "notes": list(corpus.metadata.get("notes", ())),
            }
        facts.put(key, files, known)
        return known

    def _run(self, index: int) -> "Run | None":
        """The run of a corpus, if its agents are needed."""
        return self.runs[index] if self.runs else None

    def measure(self, study: CollectionStudy, runner: Runner) -> list[ScoredMember]:
        """Compute the missing scores; metrics that train models, need agents or are the user's own run sequentially."""
        corpora = self.planned(study, saves_facts=True)
        results = runner.run([job for corpus in corpora for job in corpus.jobs.values()])
        return self._scored(study, corpora, results, runner)

    def collect(self, study: CollectionStudy, results: Mapping[Job, Result]) -> list[ScoredMember]:
        """A scorecard for each corpus, with the scores in the order of the metrics.

        Raises:
            DivergedError: If a metric fails.
        """
        return self._scored(study, self.planned(study), results)

    def _scored(
        self,
        study: CollectionStudy,
        corpora: Sequence[PlannedCorpus],
        results: Mapping[Job, Result],
        runner: Runner | None = None,
    ) -> list[ScoredMember]:
        scored = []
        for index, each in enumerate(corpora):
            scores: list[Score] = []
            for names, job in each.jobs.items():
                try:
                    scores += [
                        Score.of_json(score, each.member.name) for score in results[job].checked()["scores"]
                    ]
                except DivergedError as error:
                    raise DivergedError(f"{each.member.name}: {names}: {error}") from None
            run = self._run(index)
            if others := [name for name in study.metrics if not is_job(name, is_of_run=run is not None)]:
                corpus = self.read(each.member.path)
                for name in others:
                    scores += score_corpus(corpus, [name], self.options, run=run, runner=runner).scores
            card = Scorecard(
                corpus=dict(each.facts["corpus"]),
                scores=tuple(in_order_of(study.metrics, ((score.name, score) for score in scores))),
                samples=tuple(Example(**example) for example in each.facts["samples"]),
            )
            scored.append(ScoredMember(member=each.member, card=card))
        return scored

    def record(self, study: CollectionStudy, finding: list[ScoredMember]) -> list[Source]:
        """The corpora with their scores."""
        data = with_format("result", {"corpora": [scored.to_json() for scored in finding]})
        return sources_of((self.folder or Path()) / FILES[0], data)

    def report(self, study: CollectionStudy, finding: list[ScoredMember]) -> Report:
        """A row per corpus; all scores are written to `FILES`, if there is a folder."""
        if self.folder is not None:
            write_if_changed(self.folder / FILES[1], table_of(finding).csv().encode())
        return collection_report(finding, folder=self.folder)
