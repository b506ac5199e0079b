"""A user's own function or class as a metric: it gets a corpus, or a run, and returns a number, None, or scores."""

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

import ecsuite.parts.own_code as own_code
from ecsuite.corpus import Corpus
from ecsuite.eval.metrics.score import Metric, Options, Score
from ecsuite.parts.own_functions import called
from ecsuite.runtime.errors import PartError

UNDEFINED = "the function returned None"


def as_metric(function: Callable[..., Any], kind: str, options: Mapping[str, Any]) -> Metric:
    """A function of a user's file, or an instance of a class, as a metric.

    Its signature holds its options and the SHA-256 of its files, so that scores of another version are not taken for
    comparable.

    Args:
        function: Called as `function(corpus)` or `function(corpus, options)`; a run if its first parameter is `run`.
        kind: Its name, with the options that the user gave: `./mine.py:my_metric`, `./mine.py:MyMetric,base=2`.
        options: All its own options.
    """
    source, _, named = kind.partition(":")
    own = [f"{key}:{value}" for key, value in options.items()]
    more = "|".join([*own, f"code:{own_code.checksum(source)[:12]}"])

    def metric(corpus: Corpus, options: Options) -> list[Score]:
        found = called(function, corpus, options)
        scores = [found] if isinstance(found, Score) else found
        if not isinstance(scores, list | tuple) or not all(isinstance(score, Score) for score in scores):
            scores = [_score(function, found, kind, named)]
        return [replace(score, signature=f"{score.signature}|{more}") for score in scores]

    vars(metric)["bounds"] = getattr(function, "bounds", None)
    vars(metric)["asks_agents"] = next(iter(inspect.signature(function).parameters), "") == "run"
    return metric


def _score(function: Callable[..., Any], found: Any, kind: str, name: str) -> Score:
    """The score of a number or None.

    Raises:
        PartError: If it is neither.
    """
    value = found.item() if isinstance(found, np.generic) or getattr(found, "ndim", None) == 0 else found
    if value is not None and not (isinstance(value, int | float) and math.isfinite(value)):
        place = own_code.place_of(kind.partition(",")[0], "__call__")
        expected = "a finite number, None where it is not defined, or scores"
        raise PartError(f"{place}: {name}: expected {expected}; got {value!r:.80}")
    about = (inspect.getdoc(function) or name).split("\n")[0].rstrip(".")
    reason = UNDEFINED if value is None else None
    return Score(name=name, value=value, about=about, reason=reason, signature=name.partition(",")[0])
