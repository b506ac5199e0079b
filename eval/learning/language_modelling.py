"""Learning to guess: a body reads a corpus, or the text of a language."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from ecsuite.eval.learning.bpe import encode
from ecsuite.eval.learning.data import stretches
from ecsuite.eval.learning.encoders import TrainableBackbone
from ecsuite.eval.learning.vocabulary import SubWords

WARM_UP = 20
"""Updates over which the learning rate rises from 0, or a tenth of them where they are few."""
CHECK_EVERY = 50
"""Updates between two looks at whether the loss is finite, each of which waits for the device."""


def learn(
    body: TrainableBackbone,
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
    """Train a body in place to guess symbols: AdamW, linear decay to 0, gradients clipped to norm 1.

    Args:
        body: What learns.
        windows: Symbols (num_windows, length), for decoders one more than they read at once.
        mask_symbol: What hides a symbol from an encoder.
        num_epochs: Passes over them.
        batch: Windows in an update.
        lr: The highest learning rate.
        parameters: What is tuned; the rest stays as it is.
        generator: Draws the order of the windows, and what is hidden.
        report_progress: Told the share that is done, after every update.

    Raises:
        ArithmeticError: If the loss is not finite.
    """
    device = body.embedding.weight.device
    num_updates = num_epochs * -(-len(windows) // batch)
    order = (
        index
        for _ in range(num_epochs)
        for index in torch.split(torch.randperm(len(windows), generator=generator), batch)
    )
    tuned = list(parameters)
    body.requires_grad_(False)
    for parameter in tuned:
        parameter.requires_grad_(True)
    optimizer = torch.optim.AdamW(tuned, lr=lr, weight_decay=0.01, fused=True)
    body.train()
    for update, index in enumerate(order):
        optimizer.param_groups[0]["lr"] = lr * schedule(update, num_updates, min(WARM_UP, num_updates // 10))
        loss = body.loss(windows[index].long().to(device), mask_symbol, generator)
        if (update % CHECK_EVERY == 0 or update == num_updates - 1) and not torch.isfinite(loss):
            raise ArithmeticError(f"the loss is {loss.item()} at update {update + 1} of {num_updates}")
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(tuned, 1.0)
        optimizer.step()
        report_progress((update + 1) / num_updates)
    body.requires_grad_(True)


def schedule(update: int, num_updates: int, warmup: int) -> float:
    """The learning rate's share of its highest: it rises over `warmup` updates, then falls linearly to 0."""
    rising = (update + 1) / warmup if update < warmup else 1.0
    falling = (num_updates - update) / max(1, num_updates - warmup)
    return min(rising, falling, 1.0)


def text_windows(
    sub_words: SubWords, texts: Sequence[Sequence[str]], num_tokens: int, context: int
) -> tuple[Tensor, list[float]]:
    """Windows of texts, of each as many sub-words, be it repeated or cut.

    Args:
        sub_words: How to read them.
        texts: Lines of each; none empty.
        num_tokens: Sub-words wanted of each.
        context: Length of a window.

    Returns:
        Sub-words (num_windows, context), and how often each text was repeated.
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
