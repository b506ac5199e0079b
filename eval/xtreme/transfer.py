"""Transfer of a backbone to a task: fine-tuning of a head in one language and evaluation in others; retrieval.

A head is one linear layer on hidden states that classifies each position, or predicts the start and end of a span.

Retrieval finds translations by the hidden states of sentences, without fine-tuning (Hu et al. 2020, section 3.2). The
benchmark's program takes the states of layer 7 of 12: for Tatoeba their mean over a sentence, for BUCC the state of the
first symbol.
"""

import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.functional import pad
from torch.nn.utils.rnn import pad_sequence

from ecsuite.eval.models.backbones import Backbone
from ecsuite.eval.models.training import NO_CALLBACKS, Callbacks, job_callbacks, rate_by_update, train
from ecsuite.eval.models.vocabulary import SubWords
from ecsuite.eval.xtreme.data import ExampleSet
from ecsuite.eval.xtreme.presets import Scope, XtremeTuning
from ecsuite.eval.xtreme.rows import (
    IGNORED,
    TokenRows,
    pair_rows,
    predicted_answers,
    predicted_labels,
    predicted_tags,
    question_rows,
    tagging_rows,
)
from ecsuite.eval.xtreme.scoring.bitexts import (
    Pair,
    Retrieval,
    mine_bitext,
    nearest,
    pairs_above,
    tune_threshold,
)
from ecsuite.eval.xtreme.scoring.task import ENGLISH, Bitext
from ecsuite.eval.xtreme.scoring.tasks import TASKS
from ecsuite.files.disk_space import require_space
from ecsuite.jobs.job import Context
from ecsuite.runtime.devices import sent

INIT_STD = 0.02
"""Standard deviation of the initial weights, as in BERT."""


class Head(nn.Module, ABC):
    """A linear layer on hidden states.

    Args:
        width: Width of the states.
        num_outputs: Logits per position.
        generator: Draws the initial weights.
    """

    def __init__(self, width: int, num_outputs: int, generator: torch.Generator) -> None:
        super().__init__()
        self.linear = nn.Linear(width, num_outputs)
        with torch.no_grad():
            self.linear.weight.normal_(0, INIT_STD, generator=generator)
            self.linear.bias.zero_()

    def forward(self, states: Tensor) -> Tensor:
        """Logits (batch, length, num_outputs) of `states` (batch, length, width)."""
        logits: Tensor = self.linear(states)
        return logits

    @abstractmethod
    def loss(self, states: Tensor, mask: Tensor, targets: Tensor) -> Tensor:
        """Mean cross-entropy in nats per target.

        Args:
            states: Hidden states, (batch, length, width).
            mask: False at padding, (batch, length).
            targets: On the CPU, which avoids waiting for the device, or on CUDA.
        """


class LabelHead(Head):
    """Classifies each position that has a target."""

    def loss(self, states: Tensor, mask: Tensor, targets: Tensor) -> Tensor:
        """Mean cross-entropy of the `targets` (batch, length) that are not `IGNORED`; 0 without targets."""
        labels = targets.flatten()
        if labels.is_cuda:  # compute all positions, so that no shape depends on the number of targets
            total = functional.cross_entropy(
                self(states).flatten(0, 1), labels, ignore_index=IGNORED, reduction="sum"
            )
            return total / (labels != IGNORED).sum().clamp(min=1)
        positions = (labels != IGNORED).nonzero()[:, 0]
        chosen = states.flatten(0, 1)[sent(positions, states.device)]
        total = functional.cross_entropy(
            self(chosen), sent(labels[positions], states.device), reduction="sum"
        )
        return total / max(1, len(positions))


class SpanHead(Head):
    """Start and end of a span: two logits per position."""

    def loss(self, states: Tensor, mask: Tensor, targets: Tensor) -> Tensor:
        """Mean cross-entropy of start and end, `targets` (batch, 2), over the positions that are not padding."""
        logits = self(states).masked_fill(~mask[..., None], -torch.inf)  # (batch, length, 2)
        return functional.cross_entropy(logits, sent(targets, states.device))


TEST_BATCH = 64
"""Rows per batch at evaluation."""
MOST_IN_MEMORY = 2**30
"""Maximum bytes of a frozen backbone's states on the device; larger states are stored in a file."""


def finetune(
    backbone: Backbone,
    head: Head,
    rows: TokenRows,
    tuning: XtremeTuning,
    parameters: list[nn.Parameter],
    *,
    trains_backbone: bool,
    generator: torch.Generator,
    callbacks: Callbacks = NO_CALLBACKS,
) -> None:
    """Train in place with AdamW, warm-up, linear decay to 0, and gradients clipped to norm 1.

    Args:
        backbone: Computes hidden states.
        head: Computes logits from the states.
        rows: Training examples.
        tuning: Learning rate, epochs and so on.
        parameters: The parameters to train, including those of the head.
        trains_backbone: Whether some of them are parameters of the backbone or its embedding.
        generator: Draws the order of the rows.
        callbacks: Callbacks for progress, checkpoints and stopping.

    Raises:
        ConfigError: If the states of a frozen backbone fit neither in memory nor on the disk.
        DivergedError: If the loss or the final weights are not finite.
        Stopped: If the training was asked to stop.
    """
    device = head.linear.weight.device
    num_updates = tuning.epochs * len(rows.batches(tuning.batch))
    backbone.train(trains_backbone)
    frozen = None if trains_backbone else _frozen_states(backbone, rows, device, callbacks)

    def inputs_of(index: list[int]) -> Sequence[Tensor]:
        ids, mask, targets = rows.take(index, device, backbone.context)
        if frozen is None:
            return ids, mask, targets
        states = pad_sequence([frozen(row) for row in index], batch_first=True)  # (batch, length, width)
        return pad(states, (0, 0, 0, ids.shape[1] - states.shape[1])), mask, targets

    def loss_of(inputs: Tensor, mask: Tensor, targets: Tensor) -> Tensor:
        return head.loss(backbone.states(inputs, mask) if frozen is None else inputs, mask, targets)

    train(
        parameters,
        lambda: rows.shuffled(tuning.batch, generator),
        inputs_of,
        loss_of,
        total=num_updates,
        lr=tuning.lr,
        schedule=lambda update: rate_by_update(update, num_updates, tuning.warmup),
        weight_decay=tuning.weight_decay,
        generators=[generator],
        callbacks=callbacks,
    )


def _frozen_states(
    backbone: Backbone, rows: TokenRows, device: torch.device, callbacks: Callbacks
) -> Callable[[int], Tensor]:
    """Compute the states (length, width) of rows under a frozen backbone once; returns them by row index.

    The states are held in memory or in a file, with equal values; the file is removed with the process.
    """
    num_bytes = 4 * rows.num_tokens * backbone.width
    if num_bytes <= MOST_IN_MEMORY:
        return {row: states.clone() for row, states in states_of(backbone, rows, device)}.__getitem__
    folder = Path(tempfile.gettempdir()) if callbacks.checkpoint is None else callbacks.checkpoint.file.parent
    require_space(num_bytes, folder, "for the states of the training examples")
    folder.mkdir(parents=True, exist_ok=True)
    starts: dict[int, int] = {}
    with tempfile.TemporaryFile(dir=folder) as file:
        for row, states in states_of(backbone, rows, device):
            starts[row] = file.tell() // (4 * backbone.width)
            file.write(states.cpu().numpy().tobytes())
        file.flush()
        # Copied on write, as tensors are writable; the mapping stays valid after the file is removed.
        mapped = np.memmap(file, np.float32, "c", shape=(rows.num_tokens, backbone.width))
    return lambda row: torch.from_numpy(mapped[starts[row] :][: len(rows.ids[row])]).to(device)


@torch.no_grad()
def states_of(backbone: Backbone, rows: TokenRows, device: torch.device) -> Iterator[tuple[int, Tensor]]:
    """Number and hidden states (length, width) of each row, without gradients; computed a batch at a time."""
    backbone.eval()
    for index in rows.batches(TEST_BATCH):
        ids, mask, _ = rows.take(index, device)
        states = backbone.states(ids, mask)
        for position, row in enumerate(index):
            yield row, states[position, : len(rows.ids[row])]


@torch.no_grad()
def logits_of(backbone: Backbone, head: Head, rows: TokenRows) -> Sequence[Tensor]:
    """Logits of each row, (length, outputs), on the CPU, without gradients.

    The states of one batch are in memory at a time. The head is applied row by row, so that the size of the batch does
    not change how its products are rounded.
    """
    device = head.linear.weight.device
    logits_by_row = {row: head(states).float().cpu() for row, states in states_of(backbone, rows, device)}
    return [logits_by_row[row] for row in range(len(rows))]


Floats = NDArray[np.float32]


def pooled(states: Tensor, mask: Tensor, pooling: str) -> Tensor:
    """A vector per sentence of `states` (batch, length, width) with `mask` (batch, length), which is False at padding.

    `mean` averages over positions, `first` is the sentence representation of an encoder, and `last` the only state of
    a decoder that depends on the whole sentence.
    """
    if pooling == "mean":
        present = mask[..., None].to(states.dtype)
        return (states * present).sum(1) / present.sum(1)
    if pooling == "first":
        return states[:, 0]
    return states[torch.arange(len(states), device=states.device), mask.sum(1) - 1]


def embed(
    backbone: Backbone, sub_words: SubWords, sentences: Sequence[str], tuning: XtremeTuning, pooling: str
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
    rows = TokenRows(ids=ids, targets=[()] * len(ids), padding=sub_words.padding)
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
    tuning: XtremeTuning,
    test: ExampleSet,
    threshold: ExampleSet | None,
) -> dict[str, Any]:
    """Retrieve the translations of a test set by the states of its sentences, and score them.

    Args:
        backbone: The model.
        load_vocabulary: Moves the backbone to its device, gives it the embedding of a language, and returns the
            vocabulary.
        tuning: The size of a batch, and the row length.
        test: The test examples.
        threshold: For BUCC, the examples on which the threshold is tuned.

    Returns:
        `split`, `metrics` and `predictions`.
    """
    task = TASKS[test.task]
    assert isinstance(task, Retrieval)
    pooling = "last" if task.pooling == "first" and not backbone.is_bidirectional else task.pooling
    # Queries are the English sentences in Tatoeba, and the sentences of the other language in BUCC.
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
    metrics = task.score(test.language, predicted, task.labels(bitext))
    return {"split": split, "metrics": metrics, "predictions": list(predicted)}


KINDS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "tagging": (tagging_rows, predicted_tags),
    "pairs": (pair_rows, predicted_labels),
    "questions": (question_rows, predicted_answers),
}
"""Functions from examples to rows, and from logits of these rows to predictions, by kind of task."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TransferSetting:
    """Fine-tuning of a backbone on a task; retrieval reads only `task` and `tuning`."""

    task: str
    """A name in `TASKS`."""
    tuning: XtremeTuning
    """Learning rate, epochs and so on."""
    scope: Scope = "head"
    """Scope of training: the head only, on frozen states, or the backbone as well."""
    max_train: int | None = None
    """Number of training examples per language, taken from the start; None: all."""
    max_test: int | None = None
    """Number of test examples per language, taken from the start; None: all."""
    swaps_embedding: bool = False
    """Whether each language has its own embedding, which replaces the current one before the test."""


def run_task(
    backbone: Backbone,
    load_vocabulary: Callable[[str], SubWords],
    setting: TransferSetting,
    training: ExampleSet,
    tests: Sequence[ExampleSet],
    generator: torch.Generator,
    context: Context,
    also: Sequence[ExampleSet] = (),
) -> dict[str, Any]:
    """Train a head, and the backbone depending on the setting's scope, and score the predictions.

    Args:
        backbone: The model.
        load_vocabulary: Gives the backbone the embedding of a language, and returns its vocabulary.
        setting: Fine-tuning settings.
        training: The training examples.
        tests: The test examples of each language.
        generator: Draws the head and the order of the examples.
        context: See `Context`.
        also: Training examples in further languages with the same vocabulary, for joint training.

    Returns:
        `learnt_from`, the name of the training data; and `by_language`, with `split`, `metrics` and `predictions` by
        language.

    Raises:
        DivergedError: If the loss or the weights are not finite.
        Stopped: If the training was asked to stop.
    """
    task = TASKS[setting.task]
    prepare, predict = KINDS[task.kind]
    row_length = min(setting.tuning.context, backbone.context)
    sub_words = load_vocabulary(training.language)
    read = {each.language: each.read() for each in (training, *also)}
    examples = [one for _, of_language in read.values() for one in of_language[: setting.max_train]]
    names = dict.fromkeys(name for name, _ in read.values())
    name = ", ".join(names if len(names) == 1 else (f"{code} {each}" for code, (each, _) in read.items()))
    labels = task.choices_in(examples)
    prepared = prepare(examples, sub_words, row_length, backbone.is_bidirectional, labels)
    head = (LabelHead if labels else SpanHead)(backbone.width, len(labels) or 2, generator)
    head = head.to(backbone.embedding.weight.device)
    # Do not train an embedding that will be replaced: the other embeddings must fit as well (Artetxe et al. 2020).
    weights = backbone.without_embedding().values() if setting.swaps_embedding else backbone.parameters()
    finetune(
        backbone,
        head,
        prepared.rows,
        setting.tuning,
        [*head.parameters(), *(weights if setting.scope == "all" else ())],
        trains_backbone=setting.scope == "all",
        generator=generator,
        callbacks=job_callbacks(context, f"{setting.task} in {training.language}", share=0.8),
    )
    by_language: dict[str, Any] = {}
    current_language = training.language
    for number, test in enumerate(tests, start=1):
        if setting.swaps_embedding and test.language != current_language:
            sub_words, current_language = load_vocabulary(test.language), test.language
        split, examples = test.read()
        examples = examples[: setting.max_test]
        prepared = prepare(examples, sub_words, row_length, backbone.is_bidirectional, labels)
        predicted = predict(logits_of(backbone, head, prepared.rows), prepared)
        metrics = task.score(test.language, predicted, task.labels(examples))
        by_language[test.language] = {"split": split, "metrics": metrics, "predictions": predicted}
        context.report_progress(f"{setting.task} in {test.language}", 0.8 + 0.2 * number / len(tests))
    return {"learnt_from": name, "by_language": by_language}
