"""Language modelling: train a backbone on a corpus, or on texts of languages."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from ecsuite.config import DivergedError
from ecsuite.eval.learning.bpe import encode
from ecsuite.eval.learning.data import stretches
from ecsuite.eval.learning.encoders import TrainableBackbone
from ecsuite.eval.learning.vocabulary import SubWords

WARMUP_UPDATES = 20
"""Most updates over which the learning rate rises from 0; at most a tenth of all updates."""
CHECK_EVERY = 50
"""Updates between two checks that the loss is finite; each check synchronises with the device."""


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
    report_progress: Callable[[float], None],
) -> None:
    """Train a backbone in place to predict symbols: AdamW, linear decay to 0, gradients clipped to norm 1.

    Args:
        backbone: The model.
        windows: Symbols (num_windows, length); decoders need windows one symbol longer than their input.
        mask_symbol: The id of the mask symbol; used by encoders only.
        num_epochs: Passes over the windows.
        batch: Windows per update.
        lr: The highest learning rate.
        parameters: The parameters to train; all others are frozen.
        generator: Draws the order of the windows and the masked symbols.
        report_progress: Called after every update with the share that is done, 0 to 1.

    Raises:
        DivergedError: If the loss is not finite.
    """
    device = backbone.embedding.weight.device
    num_updates = num_epochs * -(-len(windows) // batch)
    order = (
        index
        for _ in range(num_epochs)
        for index in torch.split(torch.randperm(len(windows), generator=generator), batch)
    )
    trained = list(parameters)
    backbone.requires_grad_(False)
    for parameter in trained:
        parameter.requires_grad_(True)
    optimizer = torch.optim.AdamW(trained, lr=lr, weight_decay=0.01, fused=True)
    backbone.train()
    for update, index in enumerate(order):
        optimizer.param_groups[0]["lr"] = lr * schedule(
            update, num_updates, min(WARMUP_UPDATES, num_updates // 10)
        )
        loss = backbone.loss(windows[index].long().to(device), mask_symbol, generator)
        if (update % CHECK_EVERY == 0 or update == num_updates - 1) and not torch.isfinite(loss):
            raise DivergedError(f"the loss is {loss.item()} at update {update + 1} of {num_updates}")
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        report_progress((update + 1) / num_updates)
    backbone.requires_grad_(True)


def schedule(update: int, num_updates: int, warmup: int) -> float:
    """Factor of the learning rate: rises linearly over `warmup` updates, then falls linearly to 0."""
    rising = (update + 1) / warmup if update < warmup else 1.0
    falling = (num_updates - update) / max(1, num_updates - warmup)
    return min(rising, falling, 1.0)


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
