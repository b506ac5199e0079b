"""Retrieval: which sentences translate each other, by the states that a body has for them, without tuning.

Hu et al. (2020), section 3.2. The benchmark's program takes the states of layer 7 of 12; of Tatoeba their mean over a
sentence, of BUCC those of the first symbol.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ecsuite.config import look_up
from ecsuite.eval.learning.vocabulary import SubWords
from ecsuite.eval.xtreme.rows import Rows
from ecsuite.eval.xtreme.scoring.examples import Bitext
from ecsuite.eval.xtreme.scoring.retrieval import Pair, mine_bitext, nearest, taken, tune_threshold
from ecsuite.eval.xtreme.scoring.scoring import MINED

States = Callable[[Tensor, Tensor], Tensor]
"""From sub-words and which of them are there, (batch, length) each, to states (batch, length, width)."""
Floats = NDArray[np.float32]


def mean_state(states: Tensor, mask: Tensor) -> Tensor:
    """The mean of `states` (batch, length, width) over the places in `mask` (batch, length)."""
    there = mask[..., None].to(states.dtype)
    return (states * there).sum(1) / there.sum(1)


def first_state(states: Tensor, mask: Tensor) -> Tensor:
    """The states of the first place: what an encoder gathers of a sentence."""
    return states[:, 0]


def last_state(states: Tensor, mask: Tensor) -> Tensor:
    """The states of the last place that is there: all that a decoder knows of a sentence."""
    return states[torch.arange(len(states), device=states.device), mask.sum(1) - 1]


POOLINGS: Mapping[str, Callable[[Tensor, Tensor], Tensor]] = {
    "mean": mean_state,
    "first": first_state,
    "last": last_state,
}
"""By name: from states and which are there to a vector a sentence."""
PUBLISHED_POOLING = {"tatoeba": "mean", MINED: "first"}
"""By task, as in the benchmark's program."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Embedded:
    """A bitext and its sentences as vectors."""

    bitext: Bitext
    """The sentences."""
    sources: Floats
    """A row a sentence to look for, shape (num_sources, width)."""
    targets: Floats
    """A row a sentence to look among, shape (num_targets, width)."""


def embed(
    body: Any,
    sub_words: SubWords,
    sentences: Sequence[str],
    batch: int,
    device: torch.device,
    *,
    pooling: str = "mean",
    states: States | None = None,
    context: int | None = None,
) -> Floats:
    """Vectors of sentences, as long as they come out.

    Args:
        body: A module with `states` and `context`; it is in evaluation mode afterwards.
        sub_words: What the body reads.
        sentences: The sentences; each is cut to the longest row. Special symbols around it count as others do.
        batch: Sentences that are read at once.
        device: Where the body is.
        pooling: A name in `POOLINGS`.
        states: Another layer's states; None for the body's last.
        context: The longest row, in sub-words; None, or more than the body reads, for what the body reads.

    Returns:
        Shape (num_sentences, width).

    Raises:
        ConfigError: If there is no such pooling.
    """
    pool = look_up("pooling", pooling, POOLINGS)
    longest = min(context or body.context, body.context)
    room = longest - len(sub_words.first) - len(sub_words.last)
    ids = [
        [*sub_words.first, *(encoding.ids[:room] or [sub_words.unknown]), *sub_words.last]
        for encoding in sub_words.texts(sentences)
    ]
    rows = Rows(ids=ids, targets=[()] * len(ids), padding=sub_words.padding)
    batches = rows.batches(batch)
    body.eval()
    vectors = []
    with torch.inference_mode():
        for index in batches:
            row_ids, mask, _ = rows.take(index, device)
            vectors.append(pool((states or body.states)(row_ids, mask).float(), mask).cpu())
    order = np.concatenate(batches)
    return torch.cat(vectors).numpy()[np.argsort(order)]


def retrieve(task: str, test: Embedded, dev: Embedded | None = None) -> list[int] | set[Pair]:
    """What `score_predictions` takes.

    Args:
        task: Tatoeba or BUCC.
        test: The sentences to find.
        dev: For BUCC, sentences whose translations are known; the threshold of `test` is the best for them.

    Returns:
        For Tatoeba the row of the nearest target for each source; for BUCC the names of the pairs that are near enough.

    Raises:
        ValueError: If the translations of `dev` are not known.
    """
    if task != MINED:
        return [int(row) for row in nearest(test.sources, test.targets)]
    if dev is None or dev.bitext.gold is None:
        raise ValueError("BUCC: expected dev with its translations, to find the threshold with")
    threshold = tune_threshold(mine_bitext(dev.bitext, dev.sources, dev.targets), dev.bitext.gold)
    return taken(mine_bitext(test.bitext, test.sources, test.targets), threshold)
