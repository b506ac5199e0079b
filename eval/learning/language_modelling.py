"""Language modelling: train a backbone on a corpus, or on texts of languages."""

from collections.abc import Iterable, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from ecsuite.eval.learning.bpe import encode
from ecsuite.eval.learning.data import shuffled, stretches
from ecsuite.eval.learning.encoders import TrainableBackbone
from ecsuite.eval.learning.training import UNFOLLOWED, Followed, rate_by_update, train
from ecsuite.eval.learning.vocabulary import SubWords
from ecsuite.runtime.devices import sent

WARMUP_UPDATES = 20
"""Most updates over which the learning rate rises from 0; at most a tenth of all updates."""


def train_language_model(
    backbone: TrainableBackbone,
    windows: Tensor,
    *,
    mask_symbol: int,
    num_epochs: int,
    batch: int,
    lr: float,
    parameters: Iterable[nn.Parameter],
    generator: torch.Generator,
    followed: Followed = UNFOLLOWED,
) -> None:
    """Train a backbone in place to predict symbols: AdamW, linear decay to 0; see `training.train`.

    Args:
        backbone: The model.
        windows: Symbols (num_windows, length); decoders need windows one symbol longer than their input.
        mask_symbol: The id of the mask symbol; used by encoders only.
        num_epochs: Passes over the windows.
        batch: Windows per update.
        lr: The highest learning rate.
        parameters: The parameters to train; all others are frozen.
        generator: Draws the order of the windows and the masked symbols.
        followed: See `Followed`.
    """
    device = backbone.embedding.weight.device
    num_updates = num_epochs * -(-len(windows) // batch)
    warmup = min(WARMUP_UPDATES, num_updates // 10)
    trained = list(parameters)
    backbone.requires_grad_(False)
    for parameter in trained:
        parameter.requires_grad_(True)
    backbone.train()
    train(
        trained,
        lambda: shuffled(len(windows), batch, generator),
        lambda index: backbone.exercise(sent(windows[index].long(), device), mask_symbol, generator),
        backbone.loss_of,
        total=num_updates,
        lr=lr,
        schedule=lambda update: rate_by_update(update, num_updates, warmup),
        weight_decay=0.01,
        generators=[generator],
        followed=followed,
    )
    backbone.requires_grad_(True)


def text_windows(
    sub_words: SubWords, texts: Sequence[Sequence[str]], num_tokens: int, context: int
) -> tuple[Tensor, list[float]]:
    """Windows of several texts; each text is repeated or cut to the same number of sub-words.

    Args:
        sub_words: The vocabulary.
        texts: The lines of each text; none empty.
        num_tokens: Sub-words per text.
        context: Length of a window, in sub-words.

    Returns:
        Sub-words (num_windows, context), and the number of times each text is repeated.
    """
    length = max(1, num_tokens // context) * context
    windows, repeats = [], []
    for lines in texts:
        tokens: list[int] = []
        for row in encode(sub_words.tokenizer, lines):
            tokens += row
            if len(tokens) >= length:
                break
        repeats.append(length / len(tokens))
        windows.append(stretches(np.resize(np.asarray(tokens[:length]), length), context, context))
    return torch.cat(windows), repeats
