"""What several metrics make of the same corpus, or draw alike: made once while they are computed."""

import functools
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ecsuite.corpus import Corpus

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Kept:
    corpus: Corpus
    """What is scored; of others, such as that of one speaker, nothing is kept."""
    results: dict[Hashable, Any] = field(default_factory=dict)


_kept: ContextVar[_Kept | None] = ContextVar("_kept", default=None)


@contextmanager
def kept_while_scored(corpus: Corpus) -> Iterator[None]:
    """Keep meanwhile what is made of a corpus; it must not change meanwhile."""
    known = _kept.get()
    token = _kept.set(known if known is not None and known.corpus is corpus else _Kept(corpus))
    try:
        yield
    finally:
        _kept.reset(token)


def once(function: Callable[[Corpus], T]) -> Callable[[Corpus], T]:
    """A function whose result for the corpus that is scored is kept, so that nobody may change it."""

    @functools.wraps(function)
    def kept(corpus: Corpus) -> T:
        known = _kept.get()
        if known is None or known.corpus is not corpus:
            return function(corpus)
        if kept not in known.results:
            known.results[kept] = function(corpus)
        found: T = known.results[kept]
        return found

    return kept


def kept_list(key: Hashable) -> list[Any] | None:
    """What is kept by a key, at first an empty list; None while nothing is kept."""
    known = _kept.get()
    return None if known is None else known.results.setdefault(key, [])
