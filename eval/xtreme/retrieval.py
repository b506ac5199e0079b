"""Retrieval: find translations by the hidden states of sentences, without fine-tuning.

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
from ecsuite.eval.learning.encoders import Backbone
from ecsuite.eval.learning.vocabulary import SubWords
from ecsuite.eval.xtreme.presets import Tuning
from ecsuite.eval.xtreme.rows import Rows
from ecsuite.eval.xtreme.scoring.examples import Bitext
from ecsuite.eval.xtreme.scoring.retrieval import Pair, mine_bitext, nearest, pairs_above, tune_threshold
from ecsuite.eval.xtreme.scoring.scoring import MINED, score_predictions
from ecsuite.eval.xtreme.splits import ENGLISH, ExampleSet

States = Callable[[Tensor, Tensor], Tensor]
"""From sub-words and their mask, (batch, length) each, to hidden states (batch, length, width)."""
Floats = NDArray[np.float32]


def mean_state(states: Tensor, mask: Tensor) -> Tensor:
    """The mean of `states` (batch, length, width) over the positions in `mask` (batch, length)."""
    present = mask[..., None].to(states.dtype)
    return (states * present).sum(1) / present.sum(1)


def first_state(states: Tensor, mask: Tensor) -> Tensor:
    """The states of the first position: the sentence representation of an encoder."""
    return states[:, 0]


def last_state(states: Tensor, mask: Tensor) -> Tensor:
    """The states of the last position before padding, the only ones of a decoder that depend on the whole sentence."""
    return states[torch.arange(len(states), device=states.device), mask.sum(1) - 1]


POOLINGS: Mapping[str, Callable[[Tensor, Tensor], Tensor]] = {
    "mean": mean_state,
    "first": first_state,
    "last": last_state,
}
"""Poolings by name: from states and mask to one vector per sentence."""
PUBLISHED_POOLING = {"tatoeba": "mean", MINED: "first"}
"""Pooling by task, as in the benchmark's program."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EmbeddedBitext:
    """A bitext and the vectors of its sentences."""

    bitext: Bitext
    """The sentences."""
    sources: Floats
    """Query vectors, shape (num_sources, width)."""
    targets: Floats
    """Candidate vectors, shape (num_targets, width)."""


def embed(
    backbone: Any,
    sub_words: SubWords,
    sentences: Sequence[str],
    batch: int,
    device: torch.device,
    *,
    pooling: str = "mean",
    states: States | None = None,
    context: int | None = None,
) -> Floats:
    """Vectors of sentences, not normalised.

    Args:
        backbone: A module with `states` and `context`; it is set to evaluation mode.
        sub_words: The vocabulary.
        sentences: The sentences; each is cut to the maximum row length, which includes special symbols.
        batch: Sentences per batch.
        device: The device of the backbone.
        pooling: A name in `POOLINGS`.
        states: Computes the hidden states; None for the backbone's last ones.
        context: Maximum row length in sub-words, at most that of the backbone; None for that of the backbone.

    Returns:
        Shape (num_sentences, width).

    Raises:
        ConfigError: If there is no such pooling.
    """
    pool = look_up("pooling", pooling, POOLINGS)
    longest = min(context or backbone.context, backbone.context)
    room = longest - len(sub_words.first) - len(sub_words.last)
    ids = [
        [*sub_words.first, *(encoding.ids[:room] or [sub_words.unknown]), *sub_words.last]
        for encoding in sub_words.texts(sentences)
    ]
    rows = Rows(ids=ids, targets=[()] * len(ids), padding=sub_words.padding)
    batches = rows.batches(batch)
    backbone.eval()
    vectors = []
    with torch.inference_mode():
        for index in batches:
            row_ids, mask, _ = rows.take(index, device)
            vectors.append(pool((states or backbone.states)(row_ids, mask).float(), mask).cpu())
    order = np.concatenate(batches)
    return torch.cat(vectors).numpy()[np.argsort(order)]


def retrieve(task: str, test: EmbeddedBitext, dev: EmbeddedBitext | None = None) -> list[int] | set[Pair]:
    """Predictions of a retrieval task, for `score_predictions`.

    Args:
        task: `tatoeba` or `bucc2018`.
        test: The sentences to predict.
        dev: For BUCC, sentences with known translations, on which the threshold is tuned.

    Returns:
        For Tatoeba, the row of the nearest target of each source; for BUCC, the names of the pairs above the threshold.

    Raises:
        ValueError: If the translations of `dev` are not known.
    """
    if task != MINED:
        return [int(row) for row in nearest(test.sources, test.targets)]
    if dev is None or dev.bitext.gold is None:
        raise ValueError("BUCC: expected a dev set with translations to tune the threshold, found none")
    threshold = tune_threshold(mine_bitext(dev.bitext, dev.sources, dev.targets), dev.bitext.gold)
    return pairs_above(mine_bitext(test.bitext, test.sources, test.targets), threshold)


def run_retrieval(
    backbone: Backbone,
    load_vocabulary: Callable[[str], SubWords],
    tuning: Tuning,
    test: ExampleSet,
    threshold: ExampleSet | None,
) -> dict[str, Any]:
    """Find the translations of a test set by the states of its sentences, and score them.

    Args:
        backbone: The model.
        load_vocabulary: Gives the backbone the embedding of a language, and returns its vocabulary.
        tuning: The size of a batch, and the row length.
        test: The test examples.
        threshold: For BUCC, the examples on which the threshold is tuned.

    Returns:
        `split` and `metrics`.
    """
    pooling = PUBLISHED_POOLING[test.task]
    if pooling == "first" and not backbone.is_bidirectional:
        pooling = "last"
    # Tatoeba's queries are the English sentences; BUCC's are those of the other language.
    languages = (ENGLISH, test.language) if test.task != MINED else (test.language, ENGLISH)

    def embedded(bitext: Bitext) -> EmbeddedBitext:
        def vectors(sentences: Sequence[str], language: str) -> Floats:
            sub_words = load_vocabulary(language)
            return embed(
                backbone,
                sub_words,
                sentences,
                tuning.batch,
                backbone.embedding.weight.device,  # to which `load_vocabulary` moves it
                pooling=pooling,
                states=backbone.retrieval_states,
                context=tuning.context,
            )

        sources = vectors(bitext.sources, languages[0])
        return EmbeddedBitext(bitext=bitext, sources=sources, targets=vectors(bitext.targets, languages[1]))

    split, examples = test.read()
    bitexts = [embedded(examples)]
    if threshold is not None:
        split += ", its threshold from itself" if split == "dev" else ""
        bitexts.append(embedded(threshold.read()[1]))
    metrics = score_predictions(test.task, test.language, retrieve(test.task, *bitexts), examples)
    return {"split": split, "metrics": metrics}
