"""Results that several metrics compute from the corpus that is scored, or draw alike: computed once meanwhile."""

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
    """The corpus that is scored; results of others, such as that of one speaker, are not cached by function."""
    results: dict[Hashable, Any] = field(default_factory=dict)


_cache: ContextVar[_Cache | None] = ContextVar("_cache", default=None)


@contextmanager
def corpus_cache(corpus: object) -> Iterator[None]:
    """Cache results for a corpus meanwhile; it must not change."""
    outer = _cache.get()
    token = _cache.set(outer if outer is not None and outer.corpus is corpus else _Cache(corpus))
    try:
        yield
    finally:
        _cache.reset(token)


def cached_per_corpus(function: Callable[[Corpus], T]) -> Callable[[Corpus], T]:
    """A function whose result for the corpus that is scored is cached, so that nobody may change it."""

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
    """The object of a key, such as a list to be extended, which `make` makes at first; None while nothing is cached."""
    cache = _cache.get()
    if cache is None:
        return None
    if key not in cache.results:
        cache.results[key] = make()
    result: T = cache.results[key]
    return result
