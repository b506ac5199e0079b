"""`ecsuite score`: compute the metrics of a corpus."""

import sys
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ecsuite.commands.completion import names_of
from ecsuite.commands.options import OUTPUT, CorpusOptions, Seed, StudyOptions, TrustCode, given_options
from ecsuite.eval.views.figures.canvas import prepare_picture, require_matplotlib
from ecsuite.files.atomic_files import check_output_file
from ecsuite.parts.config import refuse_unread
from ecsuite.parts.registry import split_names
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.printable import note

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ecsuite.corpus import Corpus
    from ecsuite.eval.experiments.corpora import MessageSelection
    from ecsuite.eval.metrics.score import Options
    from ecsuite.eval.results.files import Messages
    from ecsuite.eval.results.sources import Source
    from ecsuite.eval.views.console import Report
    from ecsuite.eval.views.scorecard import Scorecard
    from ecsuite.eval.xferbench.presets import XferBenchOptions
    from ecsuite.jobs.graph import Runner

XFERBENCH = ("seed", "cache", "workers", "on", "slurm", "plan", "device")
"""Options that xferbench uses."""
SAMPLING = ("seed",)
"""Options that metrics with random draws use; all other options apply to any metric."""
JOBS = ("cache", "workers", "on", "slurm", "plan")
"""Options for the execution of a collection's jobs."""

DEFAULTS_BESIDE = {"rounds": ["agreement", "elcc"], "languages": ["drift"]}
"""Default metrics of a run's further files; the run's language is scored with the corpus of its folder."""
MOST_COMPARED = 6
"""Maximum number of corpora that are compared with each other; more corpora are a collection."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Request:
    """Corpora to score, and the options of the command."""

    corpora: list[Path]
    """Paths of the corpora, without duplicates."""
    names: list[str]
    """Names of metrics, with options after commas."""
    of_metrics: "Options"
    """Seed and device."""
    options: StudyOptions
    """Options for output and execution."""
    read: "Callable[[Path], Corpus]"
    """Function that reads a corpus and selects messages."""
    plot: Path | None
    """File of a picture, or folder of pictures."""
    load_run: "Callable[[Path], Any]"
    """Function that loads the run of a corpus, if a metric needs its agents."""
    is_whole: bool
    """Whether all messages are scored without reading options, so that the scores are stored."""


def _distinct(corpora: list[Path]) -> list[Path]:
    """Corpora without repetitions, which are noted."""
    from ecsuite.commands.scoring import scores_file

    first_of: dict[Path, Path] = {}
    for path in corpora:
        place = (scores_file(path) or path).resolve()
        if place in first_of:
            note(f"{path}: given twice, scored once")
        first_of.setdefault(place, path)
    return list(first_of.values())


def score(
    ctx: typer.Context,
    corpora: Annotated[
        list[Path],
        typer.Argument(
            help="Run folders, corpus.jsonl files, or other tools' files; some are compared, seven or more in a table.",
            show_default=False,
        ),
    ],
    metrics: Annotated[
        str | None,
        typer.Option(
            help="Names separated by commas, or `./mine.py:my_metric`; `all`, the default, trains no model; "
            "`+xferbench` adds one to all."
        ),
        names_of("metrics"),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Print every score with its details and signature.")
    ] = False,
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=VALUE",
            help="Only these messages: split=held_out, color!=red, word!= (not empty); such scores are not stored.",
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Score the messages of each value of a column or attribute side by side: turn, or turn,color.",
        ),
    ] = None,
    seed: Seed = 0,
    plot: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel=OUTPUT,
            metavar="PATH",
            help="Draw the scores into this file (.svg, .pdf, .png), or words and concepts into this folder.",
        ),
    ] = None,
    trust_code: TrustCode = False,
    *,
    read_with: CorpusOptions,
    options: Annotated[StudyOptions, {"cache": Path("runs/xferbench")}],
) -> None:
    """Score a corpus: compositionality, words, entropies; a run stores its scores in scores.json."""
    from ecsuite.eval.metrics import METRICS, find_metric, metric_names, require_files
    from ecsuite.eval.metrics.score import Options
    from ecsuite.eval.run_metrics import load_run_if_needed
    from ecsuite.formats.directory import BESIDE
    from ecsuite.parts.own_code import foreign_kinds, trust

    corpora = _distinct(corpora)
    names = metric_names(None if metrics is None else split_names(metrics))
    for key, defaults in DEFAULTS_BESIDE.items():
        if metrics is None and all(path.name == BESIDE[key] for path in corpora):
            names = defaults
    trust(kind for name in names for kind in foreign_kinds(name))
    traits = {name: find_metric(name).shared for name in names}
    if not any(each.draws for each in traits.values()):  # imports all metrics to name those with random draws
        traits = {name: find_metric(name).shared for name in METRICS.parts} | traits
    of_jobs = JOBS if len(corpora) > MOST_COMPARED else ()
    reads = {name: (*of_jobs, *(SAMPLING if traits[name].draws else ())) for name in traits}
    of_xferbench = [name for name in names if name.partition(",")[0] == "xferbench"]
    reads |= dict.fromkeys(("xferbench", *of_xferbench), XFERBENCH)
    chosen = f"--metrics {metrics}" if metrics else "the default metrics (`--metrics +xferbench` adds it)"
    refuse_unread(chosen, names, given_options(ctx), reads)
    for name in names:
        require_files(name)
    transfers: list[XferBenchOptions] = []
    if of_xferbench:
        from ecsuite.eval.xferbench.metric import own_options

        transfers = list(map(own_options, of_xferbench))
    if more := [str(path) for path in corpora if str(path) in METRICS.parts and not path.exists()]:
        listed = ",".join([*names, *more] if metrics else more)
        raise ConfigError(f"{more[0]}: no such file or folder; {more[0]} is a metric: --metrics {listed}")
    request = _Request(
        corpora=corpora,
        names=names,
        of_metrics=Options(seed=seed, device=options.device),
        options=options,
        read=partial(read_with.read, where=where or ()),
        plot=plot,
        load_run=partial(load_run_if_needed, names=names, trust_code=trust_code, is_whole=not where),
        is_whole=not where and read_with == CorpusOptions(),
    )
    draws = plot is not None and not plot.suffix
    if every and (by is not None or len(corpora) > 1):
        others = "several corpora" if by is None else "--by"
        raise ConfigError(f"--all: not read with {others}: expected one corpus")
    if by is not None:
        _score_parts(request, by)
        return
    if len(corpora) > MOST_COMPARED:
        from ecsuite.eval.experiments.corpora import MessageSelection

        _score_collection(request, MessageSelection(reading=read_with.reading(), where=tuple(where or ())))
        return
    if options.plan:
        from ecsuite.eval.xferbench.metric import jobs_of  # the only metric with jobs

        jobs = (
            jobs_of(corpus, request.of_metrics, own)
            for corpus in map(request.read, corpora)
            for own in transfers
        )
        options.print_plan([*chain.from_iterable(jobs)])
        return
    if draws and len(corpora) > 1:
        raise ConfigError(
            f"--plot {plot}: expected a file such as scores.svg for several corpora, got a folder"
        )
    options.prepare_output()
    if plot is not None and draws:
        require_matplotlib()
        check_output_file(plot / "accuracy.svg")
    elif plot is not None:
        prepare_picture(plot)
    messages, scorecards = _score_each(request, has_jobs=bool(transfers))
    if len(scorecards) > 1:
        _publish_several(request, messages, scorecards)
        return
    line = None if plot is None else _draw(scorecards[0], messages[0], plot)
    scorecards[0].publish(out=options.out, as_json=options.as_json, form=options.form, is_full=every)
    if line is not None:
        print(line, file=sys.stderr if options.as_json else sys.stdout)


def _score_each(request: _Request, *, has_jobs: bool) -> "tuple[list[Corpus], list[Scorecard]]":
    """Read and score corpora; scores of whole corpora are stored in their run folders."""
    from ecsuite.commands.scoring import keep_scores, prepare_scores
    from ecsuite.eval.metrics.computing import num_threads
    from ecsuite.eval.views.scorecard import score_corpus

    corpora = request.corpora
    prepare_scores(corpora)
    messages, runs = list(map(request.read, corpora)), list(map(request.load_run, corpora))

    def score_all(runner: "Runner") -> "list[Scorecard]":
        cards = []
        for path, corpus, run in zip(corpora, messages, runs, strict=True):
            card = score_corpus(
                corpus,
                request.names,
                request.of_metrics,
                run=run,
                runner=runner,
                num_processes=num_threads(),
            )
            if request.is_whole:
                keep_scores(path, card, runner.note)
            cards.append(card)
        return cards

    return messages, request.options.run(score_all, has_jobs=has_jobs)


def _draw(card: "Scorecard", corpus: "Corpus", plot: Path) -> str | None:
    """Draw scores into a file, or words and concepts into a folder; for a folder, return a line about the pictures."""
    from ecsuite.eval.views.figures.corpora import draw_score
    from ecsuite.eval.views.figures.intervals import draw_scores
    from ecsuite.eval.views.language import corpus_name

    if plot.suffix:
        draw_scores(card.scores, card.conclusions, f"{corpus_name(corpus)}: scores of the language", plot)
        return None
    drawn = draw_score(corpus, plot)
    nothing = "nothing to draw: the corpus has no concepts and is not in a run folder"
    return f"Pictures: {', '.join(map(str, drawn))}" if drawn else nothing


def _score_collection(request: _Request, selection: "MessageSelection") -> None:
    """Score many corpora as jobs, and print one table; CSV output has all scores."""
    from ecsuite.commands.scoring import keep_scores, prepare_scores
    from ecsuite.eval.experiments.collection import Collections, CollectionStudy, collection_report
    from ecsuite.eval.experiments.corpora import members_of
    from ecsuite.eval.results.files import sources_of
    from ecsuite.eval.results.samples import is_one_game
    from ecsuite.eval.views import means

    options, plot = request.options, request.plot
    if plot is not None and not plot.suffix:
        raise ConfigError(
            f"--plot {plot}: expected a file that ends with .svg, .pdf or .png for a collection, got a folder"
        )
    study = CollectionStudy(
        name="score",
        members=tuple(members_of(request.corpora)),
        metrics=tuple(request.names),
        seed=request.of_metrics.seed,
    )
    benchmark = Collections(
        read=request.read, selection=selection, options=request.of_metrics, kept=options.cache, note=note
    )
    if options.plan:
        options.print_plan(benchmark.plan(study))
        return
    options.prepare_output()
    if plot is not None:
        prepare_picture(plot)
    prepare_scores(request.corpora)
    runs = list(map(request.load_run, request.corpora))
    found_scores = options.run(lambda runner: replace(benchmark, runs=runs).measure(study, runner))
    for each in found_scores if request.is_whole else ():
        keep_scores(each.member.path, each.card, note)
    content = {"corpora": [each.to_json() for each in found_scores]}
    from ecsuite.games.runs.run_folder import SCORES

    sources = sources_of(options.out or Path(SCORES), content)
    found = collection_report(found_scores)
    if is_one_game(sources):
        of_seeds = means.seed_report(sources)
        found = replace(of_seeds, data={**found.data, **of_seeds.data})
    if plot is not None and found.draw is None:
        note(f"{plot}: not drawn: no score differs between the corpora")
    _publish(found, request)


def _score_parts(request: _Request, by: str) -> None:
    """Score parts of a corpus by the values of columns, and print one table."""
    from ecsuite.commands.scoring import parts_by
    from ecsuite.eval.metrics import find_metric
    from ecsuite.eval.metrics.computing import num_threads
    from ecsuite.eval.results.equal_sizes import EqualSizes
    from ecsuite.eval.results.files import sources_of
    from ecsuite.eval.results.results import Results
    from ecsuite.eval.views import comparison
    from ecsuite.eval.views.scorecard import score_corpus

    options, plot = request.options, request.plot
    if len(request.corpora) > 1 or (plot is not None and not plot.suffix) or options.plan:
        raise ConfigError(f"--by {by}: expected one corpus, without --plan and without a folder of pictures")
    (path,) = request.corpora
    if asking := [name for name in request.names if find_metric(name).shared.needs_agents]:
        raise ConfigError(f"--by {by}: metric {asking[0]} needs the agents of a run, and can't score parts")
    options.prepare_output()
    if plot is not None:
        prepare_picture(plot)
    corpus = request.read(path)
    parts = parts_by(corpus, by)
    if len(parts) == 1:
        raise ConfigError(
            f"--by {by}: all {len(corpus.messages):,} messages have {next(iter(parts))}: expected at least 2 values"
        )
    cards = options.run(
        lambda runner: [
            score_corpus(part, request.names, request.of_metrics, runner=runner, num_processes=num_threads())
            for part in parts.values()
        ]
    )
    # Parts have no files of their own, and values of columns are not safe as file names.
    files = [path / f"part {number}" for number in range(len(parts))]
    sources = [
        replace(source, name=label, corpus=file, is_of_run=False)  # parts can't be trained with other seeds
        for label, file, card in zip(parts, files, cards, strict=True)
        for source in sources_of(file, card.to_json())
    ]
    sizes = EqualSizes(corpora=_read(sources, parts.values()))
    found = comparison.report(Results(sources).compare(sizes=sizes))
    data = {
        "corpora": [{"name": label, **card.to_json()} for label, card in zip(parts, cards, strict=True)],
        "comparison": found.data,
    }
    _publish(replace(found, data=data), request)


def _read(sources: "Iterable[Source]", corpora: "Iterable[Corpus]") -> "dict[Messages, Corpus]":
    """The corpora that were read, by source."""
    from ecsuite.eval.results.files import Messages

    pairs = zip(sources, corpora, strict=True)
    return {Messages(source.corpus, source.how): each for source, each in pairs if source.corpus is not None}


def _publish_several(request: _Request, messages: "list[Corpus]", scorecards: "list[Scorecard]") -> None:
    """Print one table of several corpora; runs that differ only in the seed are averaged."""
    from ecsuite.commands.scoring import scored_sources
    from ecsuite.eval.results.equal_sizes import EqualSizes
    from ecsuite.eval.results.results import Results
    from ecsuite.eval.results.samples import is_one_game
    from ecsuite.eval.views import comparison, means

    pairs = zip(request.corpora, scorecards, strict=True)
    sources = [source for path, card in pairs for source in scored_sources(path, card)]
    if is_one_game(sources):
        found = means.seed_report(sources)
        data = {"corpora": [card.to_json() for card in scorecards], "comparison": None, **found.data}
    else:
        sizes = EqualSizes(corpora=_read(sources, messages))
        found = comparison.report(Results(sources).compare(sizes=sizes, distinct=True))
        data = {"corpora": [card.to_json() for card in scorecards], "comparison": found.data}
    _publish(replace(found, data=data), request)


def _publish(report: "Report", request: _Request) -> None:
    report.publish(
        out=request.options.out,
        picture=None if report.draw is None else request.plot,
        as_json=request.options.as_json,
        form=request.options.form,
    )
