"""Checks of grammars: a message for each meaning, and the same ones for the same seed."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from ecsuite.corpus import Corpus
from ecsuite.formats import write_corpus
from ecsuite.games.config.experiment import override
from ecsuite.grammars.geometry import Geometry
from ecsuite.grammars.making import make_corpus
from ecsuite.grammars.own_grammars import OWN
from ecsuite.grammars.words import all_meanings, stream
from ecsuite.parts.own_functions import called
from ecsuite.testing.check import Check, bound, option_checks, require
from ecsuite.testing.games import training_resumes
from ecsuite.testing.trial import SHARED, SOCIETIES, Trial, scratch_folder


def checks(kind: str, name: str, settings: Sequence[str]) -> list[Check]:
    """The checks of a grammar. See `ecsuite.testing.checks`."""
    geometry = Geometry(num_attributes=3, num_values=4)
    own = option_checks(
        OWN, name, lambda function: called(function, all_meanings(geometry), stream(0, "check"), geometry)
    )
    return [*bound(ALL, lambda: partial(made, name)), *own]


def made(name: str, seed: int) -> Corpus:
    """A small language of the grammar."""
    return make_corpus(name, seed=seed, num_attributes=3, num_values=4)


def a_seed_gives_the_same_language(make: Callable[[int], Corpus]) -> None:
    """The same seed gives the same messages, whatever was drawn before."""
    np.random.seed(1)
    first = make(0)
    np.random.seed(2)
    make(1)
    again = make(0)
    require(_equal(first, again), "two calls with one seed differ")


def every_meaning_has_a_message(make: Callable[[int], Corpus]) -> None:
    """Every meaning has a message of symbols from 1."""
    corpus = make(0)
    number = len(np.unique(np.asarray(corpus.meanings), axis=0))
    require(len(corpus.messages) == number, f"{len(corpus.messages)} messages for {number} meanings")
    require(bool((corpus.messages.lengths > 0).all()), "a message is empty")
    require(bool((corpus.messages.values >= 1).all()), "a symbol is below 1")


def the_language_says_something(make: Callable[[int], Corpus]) -> None:
    """Messages of different meanings are not all the same."""
    corpus = make(0)
    distinct = {tuple(corpus.messages[index].tolist()) for index in range(len(corpus.messages))}
    require(len(distinct) > 1, "all meanings have one message")


def the_signature_names_the_seed(make: Callable[[int], Corpus]) -> None:
    """Languages of two seeds have different signatures."""
    signatures = [make(seed).metadata["signature"] for seed in (0, 1)]
    require(signatures[0] != signatures[1], f"both are {signatures[0]}")


def agents_can_be_taught_it(make: Callable[[int], Corpus]) -> None:
    """Agents of a pair and of a society can be taught it before they play, and such runs resume to the same bytes."""
    with scratch_folder() as folder:
        write_corpus(make(0), folder / "language")
        corpus = make(0)
        sizes = [int(each) for each in np.asarray(corpus.meanings).max(0) + 1]
        world = f"{{kind: events, entities: {sizes[0]}, actions: {sizes[-1]}}}"
        if len(corpus.messages) == np.prod(sizes):
            world = f"{{kind: unequal_attributes, num_values: {sizes}}}"
        channel = (
            f"channel.vocab_size={corpus.messages.values.max()}",
            f"channel.max_len={corpus.messages.lengths.max()}",
        )
        taught = f"{{language: {folder / 'language'}, epochs: 1}}"
        trial = Trial.of("world", "attributes", ["training.num_examples=32"])  # six steps, two of them taught
        settings = [f"world={world}", *channel, f"sender.taught={taught}", f"receiver.taught={taught}"]
        trial = replace(trial, experiment=override(trial.experiment, settings))
        for society in ((), SOCIETIES[1], SHARED):
            training_resumes(trial.in_society(society))


ALL = (
    a_seed_gives_the_same_language,
    every_meaning_has_a_message,
    the_language_says_something,
    the_signature_names_the_seed,
    agents_can_be_taught_it,
)


def _equal(first: Corpus, second: Corpus) -> bool:
    return np.array_equal(first.messages.values, second.messages.values)
