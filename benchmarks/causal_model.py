"""A small causal language model, made on the spot: a folder that the backend `transformers` reads.

It learns prompts that are callbacks by the right answer: texts of a grammar, in which the word of an object is to be
said that was given above, and the object of a word is to be found.
"""

from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

END = "<end>"


def make_model(
    folder: Path, texts: list[str], steps: int = 0, *, width=32, layers=2, longest=512, seed=1
) -> float:
    """Make a model whose tokens are characters, train it on texts, and write it.

    Args:
        folder: Where it is written.
        texts: Prompts with answers; the loss is of what stands after the last line break or colon.
        steps: Updates, of 32 texts each.
        width: Units of a layer.
        layers: Layers.
        longest: Most tokens of a text.
        seed: Of the weights, and of the order of the texts.

    Returns:
        The last loss in nats a character of the answers; 0 without updates.
    """
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    letters = sorted({letter for text in texts for letter in text} | set("\n abcdefghijklmnopqrstuvwxyz"))
    tokenizer = Tokenizer(models.BPE({END: 0, **{letter: n for n, letter in enumerate(letters, 1)}}, []))
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.Split("", "isolated"), decoders.Fuse()
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token=END, clean_up_tokenization_spaces=False
    )
    torch.manual_seed(seed)
    sizes = {"n_positions": longest, "n_embd": width, "n_layer": layers, "n_head": 4}
    ids = {"bos_token_id": 0, "eos_token_id": 0}
    model = GPT2LMHeadModel(GPT2Config(vocab_size=len(letters) + 1, **sizes, **ids))
    rows = [fast(text)["input_ids"] + [0] for text in texts]
    answers = [len(text) - 1 - max(text.rfind("\n"), text.rfind(":")) for text in texts]
    rng, loss = np.random.default_rng(seed), torch.zeros(())
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for step in range(steps):
        chosen = rng.integers(len(rows), size=32)
        width_of = max(len(rows[n]) for n in chosen)
        inputs = torch.zeros(len(chosen), width_of, dtype=torch.long)
        labels = torch.full_like(inputs, -100)
        for place, n in enumerate(chosen):
            inputs[place, : len(rows[n])] = torch.tensor(rows[n])
            first = len(rows[n]) - 1 - answers[n]
            labels[place, first : len(rows[n])] = inputs[place, first : len(rows[n])]
        for group in optimizer.param_groups:
            group["lr"] = 2e-3 * min(1, (step + 1) / 50) * (1 - step / steps)
        loss = model(input_ids=inputs, attention_mask=torch.ones_like(inputs), labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    model.eval().save_pretrained(folder)
    fast.save_pretrained(folder)
    return loss.item()
