"""`ecsuite compare`: scores of several sources, side by side."""

from typing import Annotated

import typer

from ecsuite.commands.completion import names_of
from ecsuite.commands.options import As, CorpusOptions, Incomplete, Json, Out, Plot, Results, names_in
from ecsuite.eval.views.figures.canvas import check_picture, prepare_picture
from ecsuite.files.atomic_files import check_output_file, prepare_output_file
from ecsuite.parts.registry import split_names
from ecsuite.runtime.printable import note
from ecsuite.tables.forms import Form


def compare(
    results: Results,
    metric: Annotated[
        str | None,
        typer.Option(
            help="The score to compare, such as `topsim` or `xferbench`, a measure such as `accuracy`, or several, "
            "with commas; default all scores in common."
        ),
        names_of("metrics"),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            help="Settings of runs to compare, such as channel.max_len, averaged over all others; default each "
            "combination of settings that vary."
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            help="The source to compare with, or (XferBench) `published`; default no pretraining if it is among "
            "the results, else all pairs.",
        ),
    ] = None,
    incomplete: Incomplete = False,
    out: Out = None,
    plot: Plot = None,
    as_json: Json = False,
    form: As = Form.TEXT,
    *,
    read_with: CorpusOptions,
) -> None:
    """Compare runs, corpora or results in every score: differences, variation between seeds, Holm's correction."""
    from ecsuite.commands.scoring import keep_scores, of_system, prepare_scores, scored_sources, with_systems
    from ecsuite.eval.metrics.computing import num_threads
    from ecsuite.eval.metrics.score import Options
    from ecsuite.eval.results.equal_sizes import EqualSizes
    from ecsuite.eval.results.files import has_scores, sources_at
    from ecsuite.eval.results.results import Results
    from ecsuite.eval.views.console import Reporter
    from ecsuite.eval.views.scorecard import score_corpus
    from ecsuite.eval.xferbench.comparison_report import compare_sources
    from ecsuite.jobs.graph import Runner

    if metric == "language_similarity":
        return _between(results, read_with, out, as_json, form)
    if plot is not None:
        check_picture(plot)
    if out is not None:
        check_output_file(out)
    results, systems = with_systems(results)
    found = []
    is_scored = [has_scores(path) for path in results]
    if all(is_scored):
        read_with.require_unset("results with scores")
    read = {path: sources_at(path) for path, has in zip(results, is_scored, strict=True) if has}
    if unscored := [path for path in results if path not in read]:
        prepare_scores(unscored)
    for path in results:
        if path in read:
            found += read[path]
        else:
            corpus = read_with.read(path)
            note(f"{path} has no scores yet: scoring it")
            card = score_corpus(corpus, None, Options(), num_processes=num_threads())
            if read_with == CorpusOptions():
                keep_scores(path, card, Runner().note)
            found += [of_system(each, path, systems) for each in scored_sources(path, card)]
    sources = Results(found).without_copies(note).merged().varied()
    names = None if metric is None else split_names(metric)
    with Reporter() as reporter:
        shown = compare_sources(
            sources,
            names,
            baseline,
            by=None if by is None else names_in(by),
            with_incomplete=incomplete,
            sizes=EqualSizes(progress=reporter.progress),
        )
    if plot is not None:
        prepare_picture(plot)
    if out is not None:
        prepare_output_file(out)
    shown.publish(out=out, picture=plot, as_json=as_json, form=form)


def _between(results: Results, read_with: CorpusOptions, out: Out, as_json: bool, form: Form) -> None:
    from ecsuite.eval.metrics.language_similarity import joined
    from ecsuite.eval.metrics.score import Options
    from ecsuite.eval.views.scorecard import score_corpus
    from ecsuite.runtime.errors import ConfigError

    if len(results) != 2:
        raise ConfigError(f"language_similarity compares 2 languages, got {len(results)} results")
    if out is not None:
        prepare_output_file(out)
    first, second = map(read_with.read, results)
    card = score_corpus(joined(first, second), ["language_similarity"], Options())
    card.publish(out=out, as_json=as_json, form=form)
