"""Cache of results that several metrics compute from the same corpus, or of draws that they share."""

import functools
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeVar

Corpus = TypeVar("Corpus")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Cache:
    corpus: object
    """The scored corpus; results for other corpora, such as a single speaker's, are not cached by function."""
    results: dict[Hashable, Any] = field(default_factory=dict)


_cache: ContextVar[_Cache | None] = ContextVar("_cache", default=None)


@contextmanager
def corpus_cache(corpus: object) -> Iterator[None]:
    """Context that caches results for a corpus, which must not change meanwhile."""
    outer = _cache.get()
    token = _cache.set(outer if outer is not None and outer.corpus is corpus else _Cache(corpus))
    try:
        yield
    finally:
        _cache.reset(token)


def cached_per_corpus(function: Callable[[Corpus], T]) -> Callable[[Corpus], T]:
    """Decorator that caches a function's result for the scored corpus; the result must not be modified."""

    @functools.wraps(function)
    def cached(corpus: Corpus) -> T:
        cache = _cache.get()
        if cache is None or cache.corpus is not corpus:
            return function(corpus)
        if cached not in cache.results:
            cache.results[cached] = function(corpus)
        result: T = cache.results[cached]
        return result

    return cached


def cached_by(key: Hashable, make: Callable[[], T]) -> T | None:
    """Cached object for a key, such as a growing list, created by `make` at first use; None outside `corpus_cache`."""
    cache = _cache.get()
    if cache is None:
        return None
    if key not in cache.results:
        cache.results[key] = make()
    result: T = cache.results[key]
    return result
