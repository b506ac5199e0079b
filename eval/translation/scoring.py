"""Translations by beam search, and their sacrebleu scores."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer

from ecsuite.eval.models.encoder_decoder import Specials, autocast, padded
from ecsuite.eval.translation.encoding import decode
from ecsuite.eval.translation.presets import Decoding


@dataclass(frozen=True, kw_only=True, slots=True)
class BeamScore:
    """Scores of the translations of one beam width."""

    chrf: float
    """chrF, 0 to 100."""
    bleu: float
    """BLEU, 0 to 100."""
    length_ratio: float
    """Number of words of the translations divided by that of the references."""
    ended: float
    """Fraction of translations that ended with the end token, 0 to 1."""


@torch.inference_mode()
def translate(
    model: Any,
    tokenizer: Tokenizer,
    sources: Sequence[NDArray[np.int64]],
    decoding: Decoding,
    *,
    vocab_size: int,
    beam: int,
    precision: str,
    report_progress: Callable[[float], None],
) -> tuple[list[str], float]:
    """Translate sentences.

    Args:
        model: A fine-tuned model.
        tokenizer: BPE of both languages.
        sources: Token ids with end tokens.
        decoding: Lengths and batch size.
        vocab_size: Rows of the embedding, including the special ids.
        beam: Beam width; 1 is greedy decoding.
        precision: bf16 or fp32.
        report_progress: Called after every batch with the share that is done, 0 to 1.

    Returns:
        The translations in the order of the sources, and the fraction that ended with the end token.
    """
    from transformers import GenerationConfig

    special = Specials.of(vocab_size)
    settings = GenerationConfig(
        max_new_tokens=decoding.num_new_tokens,
        num_beams=beam,
        do_sample=False,
        bos_token_id=special.start,
        decoder_start_token_id=special.start,
        eos_token_id=special.end,
        pad_token_id=special.pad,
    )
    model.eval()
    device = next(model.parameters()).device
    # Sentences are batched by length, longest first, so that a lack of memory shows in the first batch.
    order = sorted(range(len(sources)), key=lambda index: -len(sources[index]))
    translations, num_ended = [""] * len(sources), 0
    for begin in range(0, len(order), decoding.batch):
        chosen = order[begin : begin + decoding.batch]
        inputs = torch.from_numpy(padded([sources[index] for index in chosen], special.pad)).to(device)
        with autocast(device, precision):
            found = model.generate(
                input_ids=inputs, attention_mask=(inputs != special.pad).long(), generation_config=settings
            )
        for index, row in zip(chosen, found[:, 1:].cpu().numpy(), strict=True):  # without the start token
            translations[index], has_ended = decode(tokenizer, row, special.end)
            num_ended += has_ended
        report_progress((begin + len(chosen)) / len(order))
    return translations, num_ended / len(sources)


def score_translations(translations: Sequence[str], references: Sequence[str], ended: float) -> BeamScore:
    """Score translations by sacrebleu's chrF and BLEU with their default settings, as the paper does."""
    chrf, bleu = (metric.corpus_score(translations, [references]) for metric in _metrics().values())
    return BeamScore(
        chrf=chrf.score, bleu=bleu.score, length_ratio=bleu.sys_len / max(1, bleu.ref_len), ended=ended
    )


def lacks_four_words(references: Sequence[str]) -> bool:
    """Whether no reference has four words, so that BLEU, a mean over sequences of one to four words, is 0."""
    return bool(_metrics()["bleu"].corpus_score(references, [references]).totals[3] == 0)


def sacrebleu_signatures() -> dict[str, str]:
    """The signatures of chrF and BLEU by sacrebleu."""
    found = {}
    for name, metric in _metrics().items():
        metric.corpus_score(["a"], [["a"]])  # the signature has the number of references, known after a call
        found[name] = str(metric.get_signature())
    return found


def _metrics() -> dict[str, Any]:
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    return {"chrf": CHRF(), "bleu": BLEU()}
