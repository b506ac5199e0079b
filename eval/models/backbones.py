"""Backbones: transformers that are pretrained on a corpus and then used on texts, and language modelling with them.

A backbone is a transformer whose symbol embedding is replaced for every vocabulary. A decoder is XferBench's GPT-2,
which predicts the next symbol; an encoder is BERT, which predicts masked symbols from both sides.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from torch import Tensor, nn

from ecsuite.eval.models import TransformerSizes
from ecsuite.eval.models.data import IGNORED, shuffled, stretches
from ecsuite.eval.models.gpt2 import INIT_STD, LanguageModel, tied_loss
from ecsuite.eval.models.training import NO_CALLBACKS, Callbacks, rate_by_update, train
from ecsuite.eval.models.vocabulary import SubWords, encode, published_subwords
from ecsuite.runtime.devices import sent
from ecsuite.runtime.errors import ConfigError, missing_extra
from ecsuite.runtime.memory import require_weights_fit
from ecsuite.runtime.randomness import initial_weights

PREDICTED_SHARE = 0.15
"""Share of the symbols that an encoder predicts (Devlin et al. 2019, section 3.1)."""
MASKED_SHARE, REPLACED_SHARE = 0.8, 0.1
"""Shares of the predicted symbols that are masked, and that are replaced by random symbols."""
DECODER_ENDINGS = ("LMHeadModel", "ForCausalLM")
"""Suffixes of the architecture names of published decoders."""
RETRIEVAL_LAYERS = {12: 7, 24: 13}
"""Layer whose states XTREME's program compares in retrieval, by number of layers; otherwise 7/12 of the layers."""
WARMUP_UPDATES = 20
"""Maximum number of warm-up updates of the learning rate; at most a tenth of all updates."""


class Backbone(nn.Module, ABC):
    """Interface of all backbones: hidden states of symbols.

    Args:
        width: Width of the hidden states.
        context: Maximum number of input symbols.
    """

    is_bidirectional: bool
    """Whether a state depends on the symbols after it."""
    model: Any
    """The transformer, with the embedding methods of models in the package transformers."""

    def __init__(self, width: int, context: int) -> None:
        super().__init__()
        self.width, self.context = width, context
        self.products = torch.float32
        """Data type of the factors of matrix products; weights and sums are fp32."""

    @property
    def embedding(self) -> nn.Embedding:
        """The symbol embedding, tied to the output layer."""
        embedding: nn.Embedding = self.model.get_input_embeddings()
        return embedding

    def states(self, ids: Tensor, mask: Tensor | None) -> Tensor:
        """Last hidden states (batch, length, width) of `ids` (batch, length).

        `mask` is False at padding; None: no padding.
        """
        with autocast(ids.device, self.products):
            states = self.last_states(ids, mask)
        return states.float()

    @abstractmethod
    def last_states(self, ids: Tensor, mask: Tensor | None) -> Tensor:
        """The last hidden states as the model computes them."""

    def retrieval_states(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Hidden states for the comparison of sentences; by default the last hidden states."""
        return self.states(ids, mask)

    def without_embedding(self) -> dict[str, nn.Parameter]:
        """All weights except the embedding, by name."""
        embedding = self.embedding.weight
        return {name: weight for name, weight in self.named_parameters() if weight is not embedding}


class TrainableBackbone(Backbone):
    """A randomly initialised backbone with a language-modelling loss."""

    def set_embedding(self, weight: Tensor) -> None:
        """Replace the embedding by `weight` (symbols, width)."""
        self.model.set_input_embeddings(nn.Embedding.from_pretrained(weight, freeze=False))

    def loss(self, ids: Tensor, mask_symbol: int, generator: torch.Generator) -> Tensor:
        """Mean cross-entropy of predicting `ids` (batch, length), in nats per predicted symbol."""
        return self.loss_of(*self.inputs_and_targets(ids, mask_symbol, generator))

    @abstractmethod
    def inputs_and_targets(
        self, ids: Tensor, mask_symbol: int, generator: torch.Generator
    ) -> tuple[Tensor, Tensor]:
        """Input symbols, and targets or `IGNORED`, both (batch, length)."""

    @abstractmethod
    def loss_of(self, inputs: Tensor, targets: Tensor) -> Tensor:
        """The loss of inputs and targets; draws only from torch's global generators."""


class DecoderBackbone(TrainableBackbone):
    """GPT-2.

    Args:
        sizes: Model sizes.
        generator: Draws the initial weights.
    """

    is_bidirectional = False

    def __init__(self, sizes: TransformerSizes, generator: torch.Generator) -> None:
        super().__init__(sizes.width, sizes.context)
        self.model = LanguageModel(1, sizes, generator)

    def last_states(self, ids: Tensor, mask: Tensor | None) -> Tensor:
        """Compute last hidden states without a mask: padding is at the end, so causal attention never reads it."""
        states: Tensor = self.model(ids)
        return states

    def inputs_and_targets(
        self, ids: Tensor, mask_symbol: int, generator: torch.Generator
    ) -> tuple[Tensor, Tensor]:
        """Inputs are all symbols except the last, targets all symbols except the first."""
        return ids[:, :-1], ids[:, 1:]

    def loss_of(self, inputs: Tensor, targets: Tensor) -> Tensor:
        """The loss of XferBench's model."""
        self.model.products = self.products
        loss: Tensor = self.model.loss(inputs, targets)
        return loss


class EncoderBackbone(TrainableBackbone):
    """BERT (needs transformers).

    Args:
        sizes: Model sizes.
        generator: Draws the initial weights.
    """

    is_bidirectional = True

    def __init__(self, sizes: TransformerSizes, generator: torch.Generator) -> None:
        super().__init__(sizes.width, sizes.context)
        transformers = require_transformers("an encoder")
        config = transformers.BertConfig(
            vocab_size=1,
            hidden_size=sizes.width,
            num_hidden_layers=sizes.num_layers,
            num_attention_heads=sizes.num_heads,
            intermediate_size=4 * sizes.width,
            max_position_embeddings=sizes.context,
            hidden_dropout_prob=sizes.dropout,
            attention_probs_dropout_prob=sizes.dropout,
            pad_token_id=0,
        )
        with initial_weights(int(torch.randint(2**31, (), generator=generator))):
            self.model = transformers.BertModel(config, add_pooling_layer=False)

    def last_states(self, ids: Tensor, mask: Tensor | None) -> Tensor:
        """Compute last hidden states; attention skips the padding."""
        if ids.is_cuda:
            # Without a mask, some versions of transformers make a mask in graphs only, and attention then draws its
            # dropout differently. The device would have to wait for a mask of two dimensions.
            mask = (torch.ones_like(ids, dtype=torch.bool) if mask is None else mask)[:, None, None]
        states: Tensor = self.model(ids, attention_mask=mask).last_hidden_state
        return states

    def inputs_and_targets(
        self, ids: Tensor, mask_symbol: int, generator: torch.Generator
    ) -> tuple[Tensor, Tensor]:
        """Predict masked symbols (Devlin et al. 2019, section 3.1)."""
        draws = sent(torch.rand(ids.shape, generator=generator), ids.device)
        is_predicted = draws < PREDICTED_SHARE
        masked_ids = ids.masked_fill(draws < PREDICTED_SHARE * MASKED_SHARE, mask_symbol)
        drawn = torch.randint(len(self.embedding.weight), ids.shape, generator=generator)
        is_replaced = is_predicted & (draws >= PREDICTED_SHARE * (1 - REPLACED_SHARE))
        inputs = torch.where(is_replaced, sent(drawn, ids.device), masked_ids)
        return inputs, ids.masked_fill(~is_predicted, IGNORED)

    def loss_of(self, inputs: Tensor, targets: Tensor) -> Tensor:
        """Cross-entropy of the predicted positions."""
        return tied_loss(self.states(inputs, None), self.embedding.weight, targets, self.products)


class PublishedBackbone(Backbone):
    """A published pretrained model with its own vocabulary (needs transformers).

    Args:
        name: A folder, or a name on Hugging Face's hub.

    Raises:
        ConfigError: If it cannot be loaded or needs too much memory; only safetensors weights are read.
    """

    def __init__(self, name: str) -> None:
        transformers = require_transformers("--model")
        require_weights_fit(Path(name))
        try:
            model = transformers.AutoModel.from_pretrained(name, use_safetensors=True)
            tokenizer = transformers.AutoTokenizer.from_pretrained(name, use_fast=True)
        except (OSError, ValueError, KeyError, SafetensorError) as error:
            reason = str(error).strip().split("\n")[0]
            raise ConfigError(f"--model {name}: cannot be loaded: {reason}") from error
        # If the tokenizer files are missing, transformers returns a tokenizer with only special symbols.
        if len(tokenizer) <= len(tokenizer.all_special_ids):
            raise ConfigError(f"--model {name}: expected a tokenizer next to the weights, found none")
        config = model.config
        if config.is_encoder_decoder:
            raise ConfigError(f"--model {name}: expected an encoder or a decoder, got both")
        super().__init__(config.hidden_size, min(getattr(config, "max_position_embeddings", 512), 512))
        self.model = model
        self.is_bidirectional = not any(
            architecture.endswith(DECODER_ENDINGS) for architecture in config.architectures or ()
        )
        self.num_types = getattr(config, "type_vocab_size", 1)
        self.sub_words: SubWords = published_subwords(tokenizer)

    def last_states(self, ids: Tensor, mask: Tensor | None) -> Tensor:
        """Last hidden states, with segments for models with segment embeddings."""
        mask = torch.ones_like(ids) if mask is None else mask
        states: Tensor = self.model(**self._inputs(ids, mask)).last_hidden_state
        return states

    def retrieval_states(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Hidden states of the layer that XTREME's program uses in retrieval."""
        with autocast(ids.device, self.products):
            hidden_states = self.model(**self._inputs(ids, mask), output_hidden_states=True).hidden_states
        num_layers = len(hidden_states) - 1
        states: Tensor = hidden_states[RETRIEVAL_LAYERS.get(num_layers, round(7 / 12 * num_layers))]
        return states.float()

    def _inputs(self, ids: Tensor, mask: Tensor) -> dict[str, Tensor]:
        """Keyword arguments of the model; with segment embeddings (BERT), also the segment of each symbol."""
        inputs = {"input_ids": ids, "attention_mask": mask}
        if self.num_types > 1 and self.sub_words.between:
            ends = (ids == self.sub_words.between[0]).long()
            inputs["token_type_ids"] = (ends.cumsum(1) - ends).clamp(max=1) * mask
        return inputs


BACKBONES: dict[str, type[DecoderBackbone] | type[EncoderBackbone]] = {
    "decoder": DecoderBackbone,
    "encoder": EncoderBackbone,
}
"""Trainable backbones by name."""


def autocast(device: torch.device, products: torch.dtype) -> torch.autocast:
    """Context in which matrix products are bf16 if `products` is bf16."""
    return torch.autocast(device.type, torch.bfloat16, enabled=products == torch.bfloat16)


def initial_embedding(num_symbols: int, width: int, generator: torch.Generator) -> Tensor:
    """Random initial embedding weights (num_symbols, width); they do not depend on the type of backbone."""
    return torch.empty(num_symbols, width).normal_(0, INIT_STD, generator=generator)


def require_transformers(what: str) -> Any:
    """Import the package transformers.

    Args:
        what: The feature that needs it, for the error message.

    Raises:
        ConfigError: If it is not installed.
    """
    try:
        import transformers
    except ImportError:
        raise missing_extra(f"{what} needs transformers", "xtreme") from None
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    return transformers


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
    callbacks: Callbacks = NO_CALLBACKS,
) -> None:
    """Train a backbone in place to predict symbols: AdamW, linear decay to 0; see `training.train`.

    Args:
        backbone: The model.
        windows: Symbols (num_windows, length); decoders need windows one symbol longer than their input.
        mask_symbol: The id of the mask symbol; used by encoders only.
        num_epochs: Passes over the windows.
        batch: Windows per update.
        lr: Maximum learning rate.
        parameters: The parameters to train; all others are frozen.
        generator: Draws the order of the windows and the masked symbols.
        callbacks: See `Callbacks`.
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
        lambda index: backbone.inputs_and_targets(
            sent(windows[index].long(), device), mask_symbol, generator
        ),
        backbone.loss_of,
        total=num_updates,
        lr=lr,
        schedule=lambda update: rate_by_update(update, num_updates, warmup),
        weight_decay=0.01,
        generators=[generator],
        callbacks=callbacks,
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
