"""A user's own function or class as a metric: it gets a corpus, or a run, and returns a number, None, or scores."""

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import ecsuite.parts.own_code as own_code
from ecsuite.corpus import Corpus
from ecsuite.eval.metrics.score import Metric, Options, Score
from ecsuite.eval.metrics.traits import Traits, traits_in, with_size
from ecsuite.parts.own_functions import called
from ecsuite.runtime.errors import PartError
from ecsuite.runtime.ragged import Ragged

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
    first, *further = _traits(function, named)
    plain = inspect.unwrap(function)  # its scores get their traits here, as they may have any names

    def metric(corpus: Corpus, options: Options) -> list[Score]:
        found = called(plain, _read_only(corpus) if isinstance(corpus, Corpus) else corpus, options)
        scores = [found] if isinstance(found, Score) else found
        if not isinstance(scores, list | tuple) or not all(isinstance(score, Score) for score in scores):
            scores = [_score(found, kind, first)]
        own = {
            score.name: next((each for each in further if each.name == score.name), first) for score in scores
        }
        return [
            replace(
                with_size(score, own[score.name], corpus, f"|{more}"),
                traits=replace(own[score.name], name=score.name),
            )
            for score in scores
        ]

    vars(metric)["traits"] = (first, *further)
    return metric


def _traits(function: Callable[..., Any], named: str) -> list[Traits]:
    """The traits of each score of a user's own metric; the first one's name is that by which the user calls it."""
    about = (inspect.getdoc(function) or named).split("\n")[0].rstrip(".")
    asks_agents = next(iter(inspect.signature(function).parameters), "") == "run"
    declared = [
        replace(
            each,
            about=each.about or about,
            needs=("agents", *each.needs) if asks_agents and not each.needs_agents else each.needs,
        )
        for each in traits_in(function) or (Traits(),)
    ]
    return [replace(declared[0], name=named), *declared[1:]]


def _read_only(corpus: Corpus) -> Corpus:
    """A corpus whose arrays can't be changed, as other metrics read them, too; nothing is copied."""

    def ragged(rows: Ragged) -> Ragged:
        return Ragged(_view(rows.values), _view(rows.offsets))

    return replace(
        corpus,
        messages=ragged(corpus.messages),
        meanings=None if corpus.meanings is None else _view(corpus.meanings),
        concepts=None if corpus.concepts is None else ragged(corpus.concepts),
        columns={name: _view(values) for name, values in corpus.columns.items()},
    )


def _view(array: NDArray[Any]) -> NDArray[Any]:
    view = array.view()
    view.flags.writeable = False
    return view


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # of an integer that no float has
        return False


def _score(found: Any, kind: str, traits: Traits) -> Score:
    """The score of a number or None.

    Raises:
        PartError: If it is neither.
    """
    value = found.item() if isinstance(found, np.generic) or getattr(found, "ndim", None) == 0 else found
    name = traits.name
    if value is not None and not (isinstance(value, int | float) and _is_finite(value)):
        place = own_code.place_of(kind.partition(",")[0], "__call__")
        expected = "a finite number, None where it is not defined, or scores"
        raise PartError(f"{place}: {name}: expected {expected}; got {value!r:.80}")
    reason = UNDEFINED if value is None else None
    return Score(name=name, value=value, about=traits.about, reason=reason, signature=name.partition(",")[0])
