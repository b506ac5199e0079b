"""The Python interface, as `import ecsuite as ec`: train, open, score and compare in a few lines.

Example:
    run = ec.train("disc_small", overrides={"channel.vocab_size": 20})
    run.speak([[0, 3, 1, 2, 0]])
    ec.score(run.corpus, ["topsim", "cbm"])
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any

import ecsuite.parts.own_code as own_code
from ecsuite.corpus import Corpus
from ecsuite.runtime.errors import ConfigError, look_up, shown
from ecsuite.runtime.plain_values import settings_of

if TYPE_CHECKING:
    from ecsuite.eval.experiments.result import Sweep
    from ecsuite.eval.metrics.score import Options
    from ecsuite.eval.results.results import Results
    from ecsuite.eval.results.sources import Source
    from ecsuite.eval.results.verification.outcome import Verification
    from ecsuite.eval.views.console import Findings
    from ecsuite.eval.views.methods.methods import Methods
    from ecsuite.eval.views.scorecard import Scorecard
    from ecsuite.games.config.sections import Experiment
    from ecsuite.games.runs.run import Run
    from ecsuite.jobs.graph import Runner

MAX_SEEDS = 10_000
"""Maximum number of seeds of a study."""


def train(
    game: "str | Path | Experiment",
    *,
    out: str | Path | None = None,
    seed: int | None = None,
    resume: bool = False,
    device: str = "auto",
    overrides: Mapping[str, Any] | None = None,
    log: str | Iterable[str] = (),
    trust_code: bool = False,
    progress: Callable[[str, float, float], None] | None = None,
    note: Callable[[str], None] | None = None,
) -> "Run":
    """Train the agents of a game and write their corpus; can be called in any thread.

    Args:
        game: The name of a shipped experiment, a YAML file, or an experiment.
        out: The run folder; None: `runs/NAME`.
        seed: Random seed, which replaces `training.seed` of the game and the overrides; None: `training.seed`.
        resume: Whether to continue an unfinished run in the folder.
        device: auto, cpu, cuda or mps.
        overrides: Values by `section.key`, such as `{"channel.vocab_size": 20}`.
        log: Loggers of the figures: csv, tensorboard, wandb, trackio, mlflow, or `./mine.py:MyLogger`.
        trust_code: Whether Python code of other people that a run's config names is imported.
        progress: Called as `progress(label, steps done, steps in total)`; None: a progress bar on standard error.
        note: Called with each message; None: standard error.

    Raises:
        ConfigError: If the experiment can't be run, or the folder holds another run.
        DamagedError: If the folder's files can't be read.
        DivergedError: If the loss, the weights or an evaluation are not finite.
        KeyboardInterrupt: If training was interrupted: a checkpoint and the corpus of the unfinished agents are
            written, and the same call with `resume=True` continues.
        SystemExit: With code 75 after SIGTERM, which writes a checkpoint and no corpus.
    """
    from ecsuite.eval.run_metrics.language_metrics import LanguageMetrics
    from ecsuite.eval.views.console import Reporter
    from ecsuite.games.config.experiment import load_experiment, with_changes
    from ecsuite.games.config.sections import Experiment
    from ecsuite.games.runs.run import Run
    from ecsuite.games.training import train as training
    from ecsuite.games.training.loggers import make_loggers
    from ecsuite.jobs.signals import end_as_requested, stop_signals

    _require("game", game, (str, Path, Experiment), "a name, a YAML file or an Experiment")
    _require("out", out, (str, Path, NoneType), "a folder")
    loggers = [log] if isinstance(log, str) else list(log) if isinstance(log, Iterable) else [log]
    for each in loggers:
        _require("log", each, (str,), "names of loggers, such as csv")
    _require("overrides", overrides, (Mapping, NoneType), "values by key, such as {'channel.vocab_size': 20}")
    _require_flags(resume=resume, trust_code=trust_code)
    _require_calls(progress=progress, note=note)
    seeds = {} if seed is None else settings_of({"training.seed": seed})
    with ExitStack() as stack:
        reporter = stack.enter_context(Reporter())
        should_stop = stack.enter_context(stop_signals())
        note = note or reporter.note
        if isinstance(game, Experiment):
            experiment = with_changes(game, overrides or {}, changed_by="overrides")
            experiment = with_changes(experiment, seeds, changed_by="seed")
        else:
            experiment = load_experiment(
                str(game),
                flags=seeds,
                flags_by_key={"training.seed": "seed"},
                note=note,
                changes=overrides,
                changed_by="overrides",
                trust_code=trust_code,
            )
        folder = Path(out) if out is not None else Path("runs") / experiment.name
        result = training.train(
            experiment,
            folder,
            resume=resume,
            device=device,
            scorer=LanguageMetrics,
            loggers=make_loggers(loggers),
            announce=note,
            progress=progress or reporter.progress,
            note=note,
            should_stop=should_stop,
        )
    if result.stopped == "interrupt" or result.stopped == "preempted":
        end_as_requested(result.stopped)
    return Run(folder, experiment, note)


def load_run(folder: str | Path, *, trust_code: bool = False) -> "Run":
    """Open a run folder: config, log as arrays, corpus, and the trained agents.

    Args:
        folder: The run folder.
        trust_code: Whether Python code of other people that the run's config names is imported.

    Raises:
        ConfigError: If the folder is not a run folder.
        UntrustedError: If the config names code of other people and `trust_code` is False.
    """
    from ecsuite.games.runs import run as runs

    _require("folder", folder, (str, Path), "a run folder")
    _require_flags(trust_code=trust_code)
    return runs.load_run(folder, trust_code=trust_code)


def score(
    corpus: "Corpus | Run | str | Path", metrics: str | Iterable[str] | None = None, **options: Any
) -> "Scorecard":
    """Score a corpus.

    Args:
        corpus: A corpus, a run, or a path that `read_corpus` reads; metrics may query the agents of a run.
        metrics: Names of metrics, or `./mine.py:my_metric`; None: all.
        **options: `seed` and `device`, see `ecsuite.eval.metrics.score.Options`, and `runner`, which trains models.

    Raises:
        ConfigError: If a metric is unknown.
        CorpusError: If the corpus can't be read.
    """
    from ecsuite.eval.metrics import metric_names
    from ecsuite.eval.run_metrics import load_run_if_needed
    from ecsuite.eval.views.scorecard import score_corpus
    from ecsuite.formats import read_corpus
    from ecsuite.games.runs.run import Run

    _require(
        "corpus", corpus, (Corpus, Run, str, Path), "a Corpus, a Run or a path; lists are ec.Corpus([[1, 2]])"
    )
    names = None if metrics is None else _names("metrics", metrics)
    own_code.trust(names or ())
    chosen, runner = _options("score", options)
    run = corpus if isinstance(corpus, Run) else None
    if isinstance(corpus, str | Path):
        messages = read_corpus(Path(corpus))
        run = load_run_if_needed(Path(corpus), metric_names(names), trust_code=False)
    else:
        messages = corpus.corpus if isinstance(corpus, Run) else corpus
    return score_corpus(messages, names, chosen, run=run, runner=runner)


def language_similarity(
    first: "Corpus | Run | str | Path", second: "Corpus | Run | str | Path", seed: int = 0
) -> "Scorecard":
    """Measure how similarly two languages express the same meanings, such as the languages of two generations.

    Args:
        first: A corpus, a run, or a path that `read_corpus` reads.
        second: A corpus, a run or a path that `first` is compared with.
        seed: Random seed.

    Returns:
        `language_similarity`, `language_ami` and `language_topsim`, see `ecsuite list metrics language_similarity`.

    Raises:
        CorpusError: If a corpus can't be read, or the two corpora have different kinds of meanings.
    """
    from ecsuite.corpus import Corpus
    from ecsuite.eval.metrics.language_similarity import joined
    from ecsuite.formats import read_corpus
    from ecsuite.games.runs.run import Run

    for name, corpus in (("first", first), ("second", second)):
        _require(name, corpus, (Corpus, Run, str, Path), "a Corpus, a Run or a path")
    corpora = [
        each.corpus
        if isinstance(each, Run)
        else each
        if isinstance(each, Corpus)
        else read_corpus(Path(each))
        for each in (first, second)
    ]
    return score(joined(*corpora), "language_similarity", seed=seed)


def compare(
    *sources: "Run | Corpus | Scorecard | str | Path | Mapping[str, Any]",
    metric: str | Sequence[str] | None = None,
    baseline: str | None = None,
    by: "str | Iterable[str] | None" = None,
    incomplete: bool = False,
    **options: Any,
) -> "Findings":
    """Compare scores of several sources, as `ecsuite compare` does: differences, intervals, Holm's correction.

    Args:
        *sources: Runs, corpora, scorecards, or paths of runs and results; or mappings from names to sources, or from
            names of systems to lists of sources, one per seed. Sources without the score are scored, and the score is
            not stored. Runs of one game with several seeds are one source.
        metric: Name of the score, or several names; None: all scores that at least two sources have.
        baseline: The source that the others are compared with; None: all pairs.
        by: Settings of runs to compare, averaged over all other settings and seeds; None: all settings that vary.
        incomplete: Whether to include runs that ended early, by a time limit, a stop or pruning.
        **options: Fields of `ecsuite.eval.metrics.score.Options`, such as `seed`, for sources that are scored now.

    Returns:
        The differences, printed as the command's tables.

    Raises:
        ConfigError: If a metric is unknown, or the scores were measured with different settings.
        CorpusError: If a corpus can't be read.
    """
    from ecsuite.eval.results.equal_sizes import EqualSizes
    from ecsuite.eval.results.files import Messages
    from ecsuite.eval.results.results import Results
    from ecsuite.eval.views.console import Findings
    from ecsuite.eval.views.scorecard import Scorecard
    from ecsuite.eval.xferbench.comparison_report import compare_sources
    from ecsuite.runtime.printable import note

    _require("metric", metric, (str, list, tuple, NoneType), "the name of a metric, or a list of names")
    names = None if metric is None else _names("metric", metric)
    named: list[tuple[str | None, Any]] = []
    systems: dict[int, tuple[str, int]] = {}
    for source in sources:
        if isinstance(source, Mapping) and not isinstance(source, Scorecard):
            for name, each in source.items():
                if isinstance(each, list | tuple):
                    named += [(None, one) for one in each]
                    systems |= {len(named) - len(each) + seed: (name, seed) for seed in range(len(each))}
                else:
                    named.append((name, each))
        else:
            named.append((None, source))
    _options("compare", options, ("metric", "baseline", "by", "incomplete"))
    _require_flags(incomplete=incomplete)
    scored: list[Source] = []
    corpora: dict[Messages, Corpus] = {}
    for number, (own_name, source) in enumerate(named, 1):
        # With `by`, runs are named by their settings.
        of_one = _scored(source, names, f"source {number}", own_name if by is None else None, options)
        if isinstance(source, Corpus):  # a corpus in memory has no file of its own
            of_one = [replace(each, corpus=Path(f"source {number}")) for each in of_one]
            corpora |= {Messages(Path(f"source {number}"), each.how): source for each in of_one}
        if number - 1 in systems:
            system, seed = systems[number - 1]
            of_one = [replace(each, game=system, seed=seed, group=f"system {system}") for each in of_one]
        scored += of_one
    results = Results(scored).without_copies(note)
    if all(own_name is None for own_name, _ in named):
        results = results.merged()
    shown = compare_sources(
        results.varied(),
        names,
        baseline,
        by=None if by is None else [key for each in _names("by", by) for key in each.split(",")],
        with_incomplete=incomplete,
        sizes=EqualSizes(corpora=corpora),
    )
    return Findings(report=shown)


def icy(
    models: str | Iterable[str] = (),
    *,
    study: str | Path | None = None,
    seeds: int | Iterable[int] | None = None,
    cache: str | Path = "runs/icy",
    workers: int = 1,
    device: str = "cpu",
    progress: Callable[[str, float, float], None] | None = None,
    note: Callable[[str], None] | None = None,
    **settings: Any,
) -> "Findings":
    """Measure how fast agents learn artificial grammars, as `ecsuite icy` does; finished runs are stored.

    Args:
        models: Names of agents (`lstm`, `husendz:dgsend`), or `./mine.py:MySender`.
        study: A shipped study such as `paper/icy_table3`, or a YAML file; the other arguments override its settings.
        seeds: Number of seeds, or a list of seeds.
        cache: Folder of finished runs, which are not computed again.
        workers: Number of processes; a script that asks for more than one needs `if __name__ == "__main__":`.
        device: auto, cpu, cuda or mps.
        progress: Called as `progress(label, done, total)`; None: a progress bar on standard error.
        note: Called with each message; None: standard error.
        **settings: Further settings of a study, such as `protocol`, `role`, `grammars`, `receivers`, `channels`,
            `target`, `cap_ratio`, `num_attributes`, `num_values`.

    Returns:
        The rows, printed as the command's tables.

    Raises:
        ConfigError: If a setting is not valid, or the protocol does not use it.
        KeyboardInterrupt: If it was interrupted; the same call continues from the stored runs.
    """
    from ecsuite.eval.experiments.benchmark import run
    from ecsuite.eval.icy.benchmark import Icy
    from ecsuite.eval.icy.study import FIRST_SEED, load_study, resolve
    from ecsuite.eval.views.console import Findings
    from ecsuite.jobs.engines import Place
    from ecsuite.runtime.devices import choose_device

    _require("study", study, (str, Path, NoneType), "the name of a study or a YAML file")
    _require("cache", cache, (str, Path), "a folder")
    _require_calls(progress=progress, note=note)
    if type(workers) is not int or workers < 1:
        raise ConfigError(f"workers: expected a number of processes from 1, got {shown(workers)}")
    for key in ("models", "grammars", "receivers", "channels"):
        given = models if key == "models" else settings.get(key)
        if given is not None and given != ():
            settings[key] = _names(key, given)
    seeds, settings = settings_of(seeds), settings_of(settings)
    if isinstance(seeds, int) and not isinstance(seeds, bool):
        if not 0 < seeds <= MAX_SEEDS:
            raise ConfigError(f"seeds: expected 1 to {MAX_SEEDS:,}, got {seeds}")
        seeds = range(FIRST_SEED, FIRST_SEED + seeds)
    if seeds is not None:
        is_text = isinstance(seeds, str | bytes | Mapping)
        settings["seeds"] = list(seeds) if isinstance(seeds, Iterable) and not is_text else []
        if not settings["seeds"]:
            raise ConfigError(f"seeds: expected a number of seeds, or a list of them, got {shown(seeds)}")
    config = load_study(None if study is None else str(study), settings)
    own_code.trust([*config.models, *config.receivers])
    chosen = resolve(config, device=choose_device(device).type)
    result = run(
        lambda runner: Icy().measure(chosen, runner),
        folder=Path(cache),
        place=Place(num_workers=workers),
        progress=progress,
        note=note,
    )
    return Findings(report=Icy().report(chosen, result))


def sweep(
    study: "str | Path | Mapping[str, Any]",
    *,
    out: str | Path | None = None,
    on: str = "local",
    slurm: str | None = None,
    device: str = "auto",
    progress: Callable[[str, float, float], None] | None = None,
    note: Callable[[str], None] | None = None,
) -> "Sweep":
    """Train a game with many settings and seeds, and score every corpus; runs stored in the folder are not repeated.

    Args:
        study: A YAML file, or its content: `{"base": "disc_tiny", "vary": {"channel.max_len": [2, 4]}, "seeds": 3}`.
        out: The folder; None: `runs/NAME`.
        on: here, local (one process per core), local:N, slurm, ray, or workers (started by `ecsuite work`); options
            follow after commas, as in `ray,address=head:6379,cpus=2`.
        slurm: Options of sbatch, such as `partition=low,time=2:00:00`.
        device: auto, cpu, cuda or mps.
        progress: Called as `progress(label, done, total)`; None: a progress bar on standard error.
        note: Called with each message; None: standard error.

    Returns:
        The runs: a sequence that prints as the table of means over seeds; see `to_frame`.

    Raises:
        ConfigError: If a key, a value or a combination of settings is not valid; raised before any training.
        DivergedError: If no run finished.
    """
    from ecsuite.eval.experiments.benchmark import run
    from ecsuite.eval.experiments.study import load_study
    from ecsuite.eval.experiments.sweep import Sweeps
    from ecsuite.jobs.engines import place_of

    _require("study", study, (str, Path, Mapping), "a YAML file or its content")
    _require("out", out, (str, Path, NoneType), "a folder")
    _require("on", on, (str,), "here, local, slurm, ray or workers")
    _require("slurm", slurm, (str, NoneType), "options of sbatch, such as partition=low")
    _require_calls(progress=progress, note=note)
    place = place_of(on, slurm)
    with place.planning():
        chosen = load_study(settings_of(study), device=device)
    sweeps = Sweeps(folder=Path(out) if out is not None else Path("runs") / chosen.name)
    return run(
        lambda runner: sweeps.measure(chosen, runner),
        folder=sweeps.store,
        place=place,
        device=chosen.device.type,
        progress=progress,
        note=note,
    )


def results(*paths: "Run | str | Path") -> "Results":
    """Read runs, sweeps, collections, corpora and files of scores.

    Args:
        *paths: Runs, or paths of files and folders.

    Returns:
        The sources, with `filter`, `group`, `means` over seeds, `compare`, and `to_frame`: a `pandas.DataFrame` with
        one row per run, or one row per value.

    Raises:
        ConfigError: If a path has no results.
    """
    from ecsuite.eval.results.results import Results
    from ecsuite.eval.views.console import Reporter

    places = _paths(paths)
    with Reporter() as reporter:
        return Results.read(places, reporter.note)


def report(
    *paths: "Run | str | Path",
    out: str | Path = "report.html",
    base: str | None = None,
    by: Iterable[str] | None = None,
    metrics: Iterable[str] | None = None,
    title: str | None = None,
) -> Path:
    """Write one HTML page, as `ecsuite report` does: what was run, scores, differences, curves, messages.

    Args:
        *paths: Runs, or folders of sweeps or runs, corpora, and files of scores.
        out: Path of the page to write.
        base: The baseline: settings (`channel.kind=gumbel`) or a run folder; None: the first row of the table.
        by: Settings that define the rows of tables; None: all settings that vary.
        metrics: Scores in the tables; None: the scores that the sweep lists.
        title: Heading of the page; None: the names of the paths.

    Returns:
        Path of the page.

    Raises:
        ConfigError: If a path has no results, a name is unknown, or Jinja is not installed.
    """
    from ecsuite.eval.views.html.page import write_report

    _require("base", base, (str, NoneType), "settings such as channel.kind=gumbel, or a folder")
    _require("title", title, (str, NoneType), "a text")
    _require("out", out, (str, Path), "the file of the page; runs and folders come first")
    return write_report(
        _paths(paths),
        Path(out),
        base=base,
        by=None if by is None else _names("by", by),
        metrics=None if metrics is None else _names("metrics", metrics),
        title=title,
    ).path


def verify(
    source: "Run | str | Path",
    *,
    trained: bool = False,
    metrics: str | Iterable[str] = (),
    targets: str | Path | None = None,
    trust_code: bool = False,
    device: str = "auto",
    note: Callable[[str], None] | None = None,
) -> "Verification":
    """Recompute the stored results of a source, as `ecsuite verify` does: checksums, figures of the agents, scores.

    Args:
        source: A run, or the path of a run folder, a corpus, a file of scores, or a sweep.
        trained: Whether to recompute scores that train models, too, which takes long.
        metrics: Your own metrics among the scores: `./mine.py:my_metric`.
        targets: Folder of target texts for XferBench; None: the texts of the preset.
        trust_code: Whether Python code of other people that a run's config names is imported.
        device: Device of the agents; auto: the device that they were trained on, if this machine has it.
        note: Called with each message about files; None: standard error.

    Returns:
        One row per stored result, see `rows`; `agrees` is True if all rows agree.

    Raises:
        ConfigError: If the path does not exist, or has no results.
        UntrustedError: If a run's config names code of other people and `trust_code` is False.
    """
    from ecsuite.eval.results.verification.recompute import VerifyOptions
    from ecsuite.eval.results.verification.verify import verify_all
    from ecsuite.eval.views.console import Reporter
    from ecsuite.games.runs.run import Run

    _require("source", source, (Run, str, Path), "a run or a path")
    _require("targets", targets, (str, Path, NoneType), "a folder")
    _require_flags(trained=trained, trust_code=trust_code)
    _require_calls(note=note)
    own = tuple(_names("metrics", metrics)) if metrics else ()
    own_code.trust(own)
    texts = None if targets is None else Path(targets)
    with Reporter() as reporter:
        options = VerifyOptions(
            is_all=trained,
            own=own,
            targets=texts,
            device=device,
            trust_code=trust_code,
            note=note or reporter.note,
        )
        return verify_all(_paths([source]), options)


def methods(
    *sources: "Run | str | Path", metrics: str | Iterable[str] | None = None, hardware: bool = False
) -> "Methods":
    r"""Write the methods section of a paper, as `ecsuite methods` does, from the files alone.

    Args:
        *sources: Runs, or paths of run folders, sweeps, corpora and files of scores, all of one study.
        metrics: The scores to describe; None: all scores of the sources.
        hardware: Whether to describe the machine.

    Returns:
        The section, which prints as Markdown; `text("latex")` has `\cite` commands, and `bibtex()` their entries.

    Raises:
        ConfigError: If a path has no results, or no source has the score.
    """
    from ecsuite.eval.views.methods.methods import methods as methods_of

    _require_flags(hardware=hardware)
    return methods_of(
        _paths(sources), metrics=None if metrics is None else _names("metrics", metrics), hardware=hardware
    )


def list_parts(kind: str) -> dict[str, str]:
    """Names of all parts of a kind, with a one-line description, as `ecsuite list` prints them.

    Args:
        kind: A kind that `ecsuite list` knows, singular or plural: games, channel, senders, metrics, grammar, ...

    Raises:
        ConfigError: If the kind is unknown.
    """
    from ecsuite.commands.named import KINDS, read_kind

    _require("kind", kind, (str,), "a kind of parts, such as channels")
    return dict(KINDS[read_kind(kind)].names())


def push(
    source: "Run | str | Path",
    address: str,
    *,
    license: str,  # noqa: A002, the word of the hub
    about: str | Path | None = None,
    private: bool = False,
    agents: bool = True,
    plan: bool = False,
    note: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """Upload a run, a corpus or results to the Hugging Face hub, with a card, Croissant metadata and checksums.

    The access token comes from `hf auth login`, or from the environment variable HF_TOKEN.

    Args:
        source: A run, a corpus (a folder or a file), the folder of a sweep or a collection, or a file of scores.
        address: `hf:OWNER/NAME`, or `hf:OWNER/NAME@BRANCH`.
        license: Identifier such as `cc-by-4.0`, or the https address of another licence.
        about: YAML file with statements on the data: description, personal_information, biases, limitations, ...
        private: Whether a new repository is private.
        agents: Whether to upload the weights of trained agents, too.
        plan: Whether to list the files only, and upload nothing.
        note: Called with each message; None: standard error.

    Returns:
        `address`, `bytes`, `files` (each with `name`, `bytes`, `sha256`), `left_out` (reasons by name), and after the
        upload its `commit` and `page`.

    Raises:
        ConfigError: If the source can't be pushed, contains secrets or paths of this machine, or the hub rejects it.
        DamagedError: If a file does not match its checksum.
    """
    from ecsuite.eval.views.console import Reporter
    from ecsuite.games.runs.run import Run
    from ecsuite.hub import pushing
    from ecsuite.hub.address import read_address, read_licence
    from ecsuite.hub.card import read_statements

    _require("source", source, (Run, str, Path), "a run or a path")
    _require("address", address, (str,), "hf:OWNER/NAME")
    _require("license", license, (str, NoneType), "a licence such as cc-by-4.0")
    _require("about", about, (str, Path, NoneType), "a YAML file")
    _require_flags(private=private, agents=agents, plan=plan)
    _require_calls(note=note)
    place, terms = read_address(address), read_licence(license)
    parcel = pushing.pack(
        source.folder if isinstance(source, Run) else Path(source),
        place,
        licence=terms,
        statements=read_statements(None if about is None else Path(about)),
        with_agents=agents,
    )
    if plan:
        return parcel.to_json()
    with Reporter() as reporter:
        commit = pushing.send(parcel, is_private=private, note=note or reporter.note)
    return {**parcel.to_json(), "commit": commit, "page": pushing.page_of(place)}


def pull(
    address: str,
    folder: str | Path | None = None,
    *,
    progress: Callable[[str, float, float], None] | None = None,
    note: Callable[[str], None] | None = None,
) -> Path:
    """Download what `push` uploaded to the Hugging Face hub, and verify every file; no downloaded code is run.

    Args:
        address: `hf:OWNER/NAME`, or `hf:OWNER/NAME@REVISION` with a branch, a tag or a commit.
        folder: A new folder; None: `NAME` in the current folder.
        progress: Called as `progress(label, bytes done, bytes in total)`; None: a progress bar on standard error.
        note: Called with each message; None: standard error.

    Returns:
        The folder, a path for all functions that take runs or corpora.

    Raises:
        ConfigError: If the folder exists, or the repository can't be read; finished downloads are stored, and the same
            call continues.
        DamagedError: If a file does not match its checksum.
    """
    from ecsuite.eval.views.console import Reporter
    from ecsuite.hub import pulling
    from ecsuite.hub.address import read_address

    _require("address", address, (str,), "hf:OWNER/NAME")
    _require("folder", folder, (str, Path, NoneType), "a folder")
    _require_calls(progress=progress, note=note)
    place = read_address(address)
    with Reporter() as reporter:
        return pulling.pull(
            place,
            Path(place.name if folder is None else folder),
            progress=progress or reporter.progress,
            note=note or reporter.note,
        ).folder


def _scored(
    source: Any, metrics: list[str] | None, place: str, name: str | None, options: Mapping[str, Any]
) -> "list[Source]":
    """Scores of a source: the stored ones if there are any, else new ones, reported under `place`."""
    from ecsuite.eval.results.files import has_scores, read_scores, run_source, sources_of
    from ecsuite.eval.results.results import Results
    from ecsuite.eval.views.scorecard import Scorecard
    from ecsuite.games.runs.run import Run
    from ecsuite.games.runs.run_folder import RunFolder

    _require("sources", source, (Run, Corpus, Scorecard, str, Path), "runs, corpora, scorecards or paths")
    path = (
        source.folder if isinstance(source, Run) else Path(source) if isinstance(source, str | Path) else None
    )
    is_folder = path is not None and RunFolder(path).metadata.is_file()
    if path is None or not has_scores(path, metrics or ()):
        data = (source if isinstance(source, Scorecard) else score(source, metrics, **options)).to_json()
    elif not is_folder:
        return list(Results.read([path]))
    else:
        data = read_scores(RunFolder(path).scores)
    if name is not None:
        return sources_of(Path(place), {**data, "name": name})
    if path is not None and is_folder and RunFolder(path).is_run:
        return [run_source(path, data)]
    return sources_of(RunFolder(path).scores if path is not None and is_folder else Path(place), data)


def _paths(sources: "Iterable[Run | str | Path]") -> list[Path]:
    from ecsuite.games.runs.run import Run

    paths = []
    for source in sources:
        _require("sources", source, (Run, str, Path), "runs or paths")
        paths.append(source.folder if isinstance(source, Run) else Path(source))
    if not paths:
        raise ConfigError("sources: expected at least one run or path")
    return paths


def _require(name: str, value: object, kinds: tuple[Any, ...], expected: str) -> None:
    """Raise ConfigError if the value has none of the types."""
    if not isinstance(value, kinds):
        raise ConfigError(f"{name}: expected {expected}; got {shown(value)}")


def _require_calls(**calls: object) -> None:
    for name, call in calls.items():
        _require(name, call, (Callable, NoneType), "a function, or None")


def _require_flags(**flags: object) -> None:
    """Validate Booleans: the text `no`, for example, would count as true."""
    for name, flag in flags.items():
        _require(name, flag, (bool,), "True or False")


def _options(
    of: str, given: Mapping[str, Any], others: Iterable[str] = ()
) -> "tuple[Options, Runner | None]":
    """Split keyword options into scoring options and a runner; `others`: names of further arguments."""
    from ecsuite.eval.metrics.score import Options
    from ecsuite.jobs.graph import Runner

    known = [*(name for name in Options.__dataclass_fields__ if name != "run"), "runner"]
    for name in given:
        look_up(f"option of {of}", name, dict.fromkeys([*others, *known]))
    settings = dict(settings_of(given))
    runner = settings.pop("runner", None)
    chosen = Options(**settings)
    if "runner" in given and not isinstance(runner, Runner):
        raise ConfigError(f"runner: expected a Runner, got {shown(runner)}")
    return chosen, runner


def _names(name: str, given: Any) -> list[str]:
    is_list = isinstance(given, Iterable) and not isinstance(given, Mapping)
    names = [given] if isinstance(given, str) else list(given) if is_list else []
    if not names or not all(isinstance(each, str) for each in names):
        raise ConfigError(f"{name}: expected a name or a list of names, got {shown(given)}")
    return names
