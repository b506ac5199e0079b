"""The Python interface, as `import ecsuite as ec`: train, open, score and compare in a few lines.

run = ec.train("disc_small", overrides={"channel.vocab_size": 20})
run.speak([[0, 3, 1, 2, 0]])
ec.score(run.corpus, ["topsim", "cbm"])
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ecsuite.foreign as foreign
from ecsuite.components import Registry
from ecsuite.config import look_up
from ecsuite.corpus import Corpus

if TYPE_CHECKING:
    from ecsuite.eval.reports.scorecard import Scorecard
    from ecsuite.games.experiment import Experiment
    from ecsuite.games.runs import Run


def train(
    game: "str | Path | Experiment",
    *,
    out: str | Path | None = None,
    resume: bool = False,
    device: str = "auto",
    overrides: Mapping[str, Any] | None = None,
    trust_code: bool = False,
    progress: Callable[[str, float, float], None] | None = None,
    note: Callable[[str], None] | None = None,
) -> "Run":
    """Train the agents of a game, and write their corpus. Works in any thread; an interrupt ends it with a checkpoint.

    Args:
        game: The name of a shipped experiment, a YAML file, or an experiment.
        out: The run folder; None: `runs/NAME`.
        resume: Whether to continue an unfinished run in the folder.
        device: auto, cpu or cuda.
        overrides: Values by `section.key`, such as `{"channel.vocab_size": 20}`.
        trust_code: Whether the foreign parts of a config that a run wrote are imported.
        progress: Called as `progress(label, steps done, steps in total)`; None: a progress bar on standard error.
        note: Called with each message; None: standard error.

    Raises:
        ConfigError: If the experiment can't be run, or the folder holds another run.
        DamagedError: If the folder's files can't be read.
        DivergedError: If the loss, the weights or an evaluation are not finite.
    """
    from ecsuite.eval.reports.console import Reporter
    from ecsuite.games import training
    from ecsuite.games.experiment import Experiment, load_experiment, with_changes
    from ecsuite.games.runs import Run
    from ecsuite.jobs.signals import stop_signals

    with ExitStack() as stack:
        reporter = stack.enter_context(Reporter())
        should_stop = stack.enter_context(stop_signals())
        note = note or reporter.note
        if isinstance(game, Experiment):
            experiment = with_changes(game, overrides or {})
        else:
            experiment = load_experiment(str(game), changes=overrides, note=note, trust_code=trust_code)
        folder = Path(out) if out is not None else Path("runs") / experiment.name
        training.train(
            experiment,
            folder,
            resume=resume,
            device=device,
            progress=progress or reporter.progress,
            note=note,
            should_stop=should_stop,
        )
    return Run(folder, experiment, note)


def load_run(folder: str | Path, *, trust_code: bool = False) -> "Run":
    """Open a run folder: config, log as arrays, corpus, and agents ready to be asked.

    Args:
        folder: The run folder.
        trust_code: Whether the foreign parts that its config names are imported.

    Raises:
        ConfigError: If it is no run folder.
        UntrustedError: If its config names foreign parts that nobody else named.
    """
    from ecsuite.games import runs

    return runs.load_run(folder, trust_code=trust_code)


def score(
    corpus: "Corpus | Run | str | Path", metrics: str | Iterable[str] | None = None, **options: Any
) -> "Scorecard":
    """Score a corpus.

    Args:
        corpus: A corpus, a run, or a path that `read_corpus` reads.
        metrics: Names of metrics, or `./mine.py:my_metric`; None: all.
        **options: Fields of `ecsuite.eval.metrics.score.Options`, such as `seed`, `preset`, `num_seeds`.

    Raises:
        ConfigError: If there is no such metric.
        CorpusError: If the corpus can't be read.
    """
    from ecsuite.eval.metrics.score import Options
    from ecsuite.eval.reports.scorecard import score_corpus
    from ecsuite.formats import read_corpus
    from ecsuite.games.runs import Run

    names = [metrics] if isinstance(metrics, str) else None if metrics is None else list(metrics)
    foreign.trust(names or [])
    if isinstance(corpus, Run):
        corpus = corpus.corpus
    found = corpus if isinstance(corpus, Corpus) else read_corpus(Path(corpus))
    return score_corpus(found, names, Options(**options))


def list_parts(kind: str) -> dict[str, str]:
    """The registered parts of a kind, with a line about each.

    Args:
        kind: world, task, channel, sender, receiver, perception, cell, loss, optimizer, schedule or metric.

    Raises:
        ConfigError: If there is no such kind.
    """
    return look_up("kind", kind, _registries()).lines()


def _registries() -> dict[str, Registry]:
    from ecsuite.agents.registry import CELLS, PERCEPTIONS, RECEIVERS, SENDERS
    from ecsuite.eval.metrics import METRICS
    from ecsuite.games.registry import CHANNELS, LOSSES, OPTIMIZERS, SCHEDULES, TASKS, WORLDS

    found = (
        WORLDS,
        TASKS,
        CHANNELS,
        SENDERS,
        RECEIVERS,
        PERCEPTIONS,
        CELLS,
        LOSSES,
        OPTIMIZERS,
        SCHEDULES,
        METRICS,
    )
    return {registry.word: registry for registry in found}
