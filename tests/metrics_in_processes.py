"""Metrics that say in which process they ran, for tests: a module that other processes can import."""

import os
import time
from pathlib import Path

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics.score import Options, Score, unscored
from ecsuite.eval.metrics.traits import Metric, Traits

SECONDS = 60


def load(name: str) -> Metric:
    """`first` waits until `last` began in another process; `fails` and `ends` do so in other processes alone."""
    traits = Traits(name=name, about="the process that computed it")

    def metric(corpus: Corpus, options: Options) -> list[Score]:
        folder = Path(os.environ["TEST_FOLDER"])
        is_here = os.environ["TEST_PROCESS"] == str(os.getpid())
        if is_here and name == "first":
            deadline = time.monotonic() + SECONDS
            while not any(folder.iterdir()):
                assert time.monotonic() < deadline
                time.sleep(0.01)
        if not is_here:
            (folder / name).touch()
            if name == "fails":
                raise ValueError("of the metric")
            if name == "ends":
                os._exit(3)
        return [unscored(traits)(value=os.getpid())]

    return Metric(metric, (traits,), name)
