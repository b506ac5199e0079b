"""Metrics side by side: those of one corpus in several threads, with the same scores as one after another.

Most of the time is spent in sorting, products and solvers, which hold no lock of Python's.
"""

import os
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import replace

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics.score import Metric, Options, Score
from ecsuite.jobs.executors import num_cores
from ecsuite.jobs.graph import Runner
from ecsuite.jobs.signals import end_as_requested

MAX_SYMBOLS = 2_000_000
"""Symbols of a corpus up to which metrics are computed side by side; those of a larger one take much memory each."""
MAX_THREADS = 4
"""Threads beyond which nothing is gained: one metric takes a quarter of the time of all."""


def computed(
    metrics: Mapping[str, Metric], corpus: Corpus, options: Options, *, alone: frozenset[str]
) -> Iterator[list[Score]]:
    """The scores of each metric, in their order; progress is told of between metrics.

    Args:
        metrics: By name.
        corpus: What to score.
        options: Of the metrics.
        alone: Metrics that are computed in this thread: those that start processes, and those of users, whose code
            may not be safe in a thread.

    Raises:
        KeyboardInterrupt, SystemExit: If the runner is asked to stop.
    """
    width = min(num_threads(), MAX_THREADS) if len(corpus.messages.values) <= MAX_SYMBOLS else 1
    ahead = [name for name in metrics if name not in alone] if width > 1 else []
    quiet = replace(options, runner=Runner())
    with ThreadPoolExecutor(width) as threads:
        begun: dict[str, Future[list[Score]]] = {
            # the slowest, which are named last, begin first; a context a thread, as it holds the number of draws
            name: threads.submit(copy_context().run, metrics[name], corpus, quiet)
            for name in reversed(ahead)
        }
        try:
            for done, (name, metric) in enumerate(metrics.items()):
                request = options.runner.should_stop()
                if request is not None:
                    end_as_requested(request)
                options.progress(name, done, len(metrics))
                yield begun[name].result() if name in begun else metric(corpus, options)
        finally:
            threads.shutdown(wait=False, cancel_futures=True)


def num_threads() -> int:
    """A thread a core, or as many as this process may have beside others: `OMP_NUM_THREADS`."""
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return min(num_cores(), int(asked)) if asked.isdecimal() and int(asked) else num_cores()
