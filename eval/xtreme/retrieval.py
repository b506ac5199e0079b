"""Retrieval: find translations by the hidden states of sentences, without fine-tuning.

Hu et al. (2020), section 3.2. The benchmark's program takes the states of layer 7 of 12; of Tatoeba their mean over a
sentence, of BUCC those of the first symbol.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ecsuite.eval.models.backbones import Backbone
from ecsuite.eval.models.vocabulary import SubWords
from ecsuite.eval.xtreme.presets import Tuning
from ecsuite.eval.xtreme.rows import Rows
from ecsuite.eval.xtreme.scoring.bitexts import Retrieval
from ecsuite.eval.xtreme.scoring.examples import Bitext
from ecsuite.eval.xtreme.scoring.mining import Pair, mine_bitext, nearest, pairs_above, tune_threshold
from ecsuite.eval.xtreme.scoring.tasks import TASKS
from ecsuite.eval.xtreme.splits import ENGLISH, ExampleSet

Floats = NDArray[np.float32]


def pooled(states: Tensor, mask: Tensor, pooling: str) -> Tensor:
    """A vector per sentence of `states` (batch, length, width) with `mask` (batch, length), which is False at padding.

    `mean` is that of the positions, `first` the sentence representation of an encoder, and `last` the only state of a
    decoder that depends on the whole sentence.
    """
    if pooling == "mean":
        present = mask[..., None].to(states.dtype)
        return (states * present).sum(1) / present.sum(1)
    if pooling == "first":
        return states[:, 0]
    return states[torch.arange(len(states), device=states.device), mask.sum(1) - 1]


def embed(
    backbone: Backbone, sub_words: SubWords, sentences: Sequence[str], tuning: Tuning, pooling: str
) -> Floats:
    """Vectors of sentences, not normalised.

    Args:
        backbone: The model; it is set to evaluation mode.
        sub_words: The vocabulary.
        sentences: The sentences; each is cut to the maximum row length, which includes special symbols.
        tuning: Sentences per batch, and the row length, which is also limited by the context of the backbone.
        pooling: See `pooled`.

    Returns:
        Shape (num_sentences, width).
    """
    longest = min(tuning.context, backbone.context)
    room = longest - len(sub_words.first) - len(sub_words.last)
    ids = [
        [*sub_words.first, *(encoding.ids[:room] or [sub_words.unknown]), *sub_words.last]
        for encoding in sub_words.texts(sentences)
    ]
    rows = Rows(ids=ids, targets=[()] * len(ids), padding=sub_words.padding)
    batches = rows.batches(tuning.batch)
    backbone.eval()
    vectors = []
    with torch.inference_mode():
        for index in batches:
            row_ids, mask, _ = rows.take(index, backbone.embedding.weight.device)
            states = backbone.retrieval_states(row_ids, mask).float()
            vectors.append(pooled(states, mask, pooling).cpu())
    order = np.concatenate(batches)
    return torch.cat(vectors).numpy()[np.argsort(order)]


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
        load_vocabulary: Moves the backbone to its device, gives it the embedding of a language, and returns the
            vocabulary.
        tuning: The size of a batch, and the row length.
        test: The test examples.
        threshold: For BUCC, the examples on which the threshold is tuned.

    Returns:
        `split` and `metrics`.
    """
    task = TASKS[test.task]
    assert isinstance(task, Retrieval)
    pooling = "last" if task.pooling == "first" and not backbone.is_bidirectional else task.pooling
    # Tatoeba's queries are the English sentences; BUCC's are those of the other language.
    languages = (ENGLISH, test.language) if threshold is None else (test.language, ENGLISH)

    def vectors(bitext: Bitext) -> list[Floats]:
        sides = zip(languages, (bitext.sources, bitext.targets), strict=True)
        return [embed(backbone, load_vocabulary(each), texts, tuning, pooling) for each, texts in sides]

    split, bitext = test.read()
    predicted: list[int] | set[Pair]
    if threshold is None:
        predicted = nearest(*vectors(bitext)).tolist()
    else:
        split += ", its threshold from itself" if split == "dev" else ""
        scores = mine_bitext(bitext, *vectors(bitext))
        _, dev = threshold.read()
        predicted = pairs_above(scores, tune_threshold(mine_bitext(dev, *vectors(dev)), dev.gold))
    return {"split": split, "metrics": task.score(test.language, predicted, task.labels(bitext))}
