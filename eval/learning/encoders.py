"""Bodies: what learns a corpus, and then reads the texts of the tasks.

A body is a transformer without its embedding of symbols, which is given to it anew for every vocabulary. A decoder is
XferBench's GPT-2, which guesses the next symbol; an encoder is BERT, which guesses hidden ones from both sides.
"""

from abc import ABC, abstractmethod
from typing import Any

import torch
from safetensors import SafetensorError
from torch import Tensor, nn

from ecsuite.config import ConfigError
from ecsuite.eval.learning.data import IGNORED
from ecsuite.eval.learning.gpt2 import INIT_STD, LanguageModel, tied_loss
from ecsuite.eval.learning.sizes import TransformerSizes
from ecsuite.eval.learning.vocabulary import SubWords, published_subwords

MASKED = 0.15
"""Share of the symbols that an encoder guesses (Devlin et al. 2019, section 3.1) …"""
HIDDEN, REPLACED = 0.8, 0.1
"""… of which so many are hidden, and so many replaced by any other."""
LEFT_TO_RIGHT = ("LMHeadModel", "ForCausalLM")
"""How the names of published decoders end."""
LAYER_OF_RETRIEVAL = {12: 7, 24: 13}
"""By the number of layers, the one by whose states XTREME's program compares sentences; else the share of the first."""


class Backbone(nn.Module, ABC):
    """What all bodies can do: read."""

    reads_both_ways: bool
    """Whether a state knows what comes after it."""
    width: int
    """Of the states."""
    context: int
    """The longest row that is read."""
    products: torch.dtype
    """Type of the factors of products; weights and sums are fp32."""

    @property
    @abstractmethod
    def embedding(self) -> nn.Embedding:
        """What each symbol looks like, and by what it is guessed."""

    @abstractmethod
    def states(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Last hidden states (batch, length, width) of `ids`, of which those in `mask` are there."""

    def states_within(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Hidden states by which sentences are compared: the last, but for deep bodies."""
        return self.states(ids, mask)

    def without_embedding(self) -> dict[str, nn.Parameter]:
        """The weights that are kept when the embedding is replaced, by name."""
        embedding = self.embedding.weight
        return {name: weight for name, weight in self.named_parameters() if weight is not embedding}


class TrainableBackbone(Backbone):
    """A body that is born here, and learns texts."""

    @abstractmethod
    def embed(self, weight: Tensor) -> None:
        """Replace the embedding by `weight` (symbols, width)."""

    @abstractmethod
    def loss(self, ids: Tensor, mask_symbol: int, generator: torch.Generator) -> Tensor:
        """What guessing `ids` (batch, length) costs, in nats a guess."""


class Decoder(TrainableBackbone):
    """GPT-2.

    Args:
        sizes: Of the model.
        generator: Draws the weights.
    """

    reads_both_ways = False

    def __init__(self, sizes: TransformerSizes, generator: torch.Generator) -> None:
        super().__init__()
        self.width, self.context = sizes.width, sizes.context
        self.products = torch.float32
        self.model = LanguageModel(1, sizes, generator)

    @property
    def embedding(self) -> nn.Embedding:
        """The model's."""
        return self.model.embedding

    def embed(self, weight: Tensor) -> None:
        """Replace the embedding by `weight` (symbols, width)."""
        self.model.embedding = nn.Embedding.from_pretrained(weight, freeze=False)

    def states(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Last hidden states; padding comes after what is read, so that it is never seen."""
        with autocast(ids.device, self.products):
            states: Tensor = self.model(ids)
        return states.float()

    def loss(self, ids: Tensor, mask_symbol: int, generator: torch.Generator) -> Tensor:
        """Guess each symbol but the first from those before it."""
        self.model.products = self.products
        return self.model.loss(ids[:, :-1], ids[:, 1:])


class Encoder(TrainableBackbone):
    """BERT (needs transformers).

    Args:
        sizes: Of the model.
        generator: Draws the weights.
    """

    reads_both_ways = True

    def __init__(self, sizes: TransformerSizes, generator: torch.Generator) -> None:
        super().__init__()
        transformers = require_transformers("an encoder")
        self.width, self.context = sizes.width, sizes.context
        self.products = torch.float32
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
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(torch.randint(2**31, (), generator=generator)))
            self.model = transformers.BertModel(config, add_pooling_layer=False)

    @property
    def embedding(self) -> nn.Embedding:
        """The model's."""
        embedding: nn.Embedding = self.model.get_input_embeddings()
        return embedding

    def embed(self, weight: Tensor) -> None:
        """Replace the embedding by `weight` (symbols, width)."""
        self.model.set_input_embeddings(nn.Embedding.from_pretrained(weight, freeze=False))

    def states(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Last hidden states."""
        with autocast(ids.device, self.products):
            states: Tensor = self.model(ids, attention_mask=mask).last_hidden_state
        return states.float()

    def loss(self, ids: Tensor, mask_symbol: int, generator: torch.Generator) -> Tensor:
        """Guess symbols of which most are hidden (Devlin et al. 2019, section 3.1)."""
        chance = torch.rand(ids.shape, generator=generator).to(ids.device)
        wanted = chance < MASKED
        seen = ids.masked_fill(chance < MASKED * HIDDEN, mask_symbol)
        others = torch.randint(len(self.embedding.weight), ids.shape, generator=generator).to(ids.device)
        is_replaced = wanted & (chance >= MASKED * (1 - REPLACED))
        states = self.states(torch.where(is_replaced, others, seen), torch.ones_like(ids))
        return tied_loss(states, self.embedding.weight, ids.masked_fill(~wanted, IGNORED), self.products)


class Published(Backbone):
    """A model that others have trained, with its own vocabulary (needs transformers).

    Args:
        name: A folder, or a name on Hugging Face's hub.

    Raises:
        ConfigError: If it can't be loaded; weights are read from safetensors alone.
    """

    def __init__(self, name: str) -> None:
        super().__init__()
        transformers = require_transformers("--model")
        try:
            self.model = transformers.AutoModel.from_pretrained(name, use_safetensors=True)
            tokenizer = transformers.AutoTokenizer.from_pretrained(name, use_fast=True)
        except (OSError, ValueError, KeyError, SafetensorError) as error:
            reason = str(error).strip().split("\n")[0]
            raise ConfigError(f"--model {name}: cannot be loaded: {reason}") from error
        # Where its files are missing, transformers makes one up that knows nothing but special symbols.
        if len(tokenizer) <= len(tokenizer.all_special_ids):
            raise ConfigError(f"--model {name}: expected a tokenizer with it, found none")
        config = self.model.config
        if config.is_encoder_decoder:
            raise ConfigError(f"--model {name}: expected an encoder or a decoder, got both")
        self.reads_both_ways = not any(
            architecture.endswith(LEFT_TO_RIGHT) for architecture in config.architectures or ()
        )
        self.num_types = getattr(config, "type_vocab_size", 1)
        self.products = torch.float32
        self.width = config.hidden_size
        self.context = min(getattr(config, "max_position_embeddings", 512), 512)
        self.sub_words: SubWords = published_subwords(tokenizer)

    @property
    def embedding(self) -> nn.Embedding:
        """The model's."""
        embedding: nn.Embedding = self.model.get_input_embeddings()
        return embedding

    def states(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Last hidden states."""
        with autocast(ids.device, self.products):
            states: Tensor = self.model(**self._inputs(ids, mask)).last_hidden_state
        return states.float()

    def states_within(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Hidden states of the layer that retrieval compares."""
        with autocast(ids.device, self.products):
            found = self.model(**self._inputs(ids, mask), output_hidden_states=True).hidden_states
        num_layers = len(found) - 1
        states: Tensor = found[LAYER_OF_RETRIEVAL.get(num_layers, round(7 / 12 * num_layers))]
        return states.float()

    def _inputs(self, ids: Tensor, mask: Tensor) -> dict[str, Tensor]:
        """What the model is told: for those that tell two texts apart (BERT), also which symbols are of the second."""
        inputs = {"input_ids": ids, "attention_mask": mask}
        if self.num_types > 1 and self.sub_words.between:
            ends = (ids == self.sub_words.between[0]).long()
            inputs["token_type_ids"] = (ends.cumsum(1) - ends).clamp(max=1) * mask
        return inputs


BACKBONES: dict[str, type[Decoder] | type[Encoder]] = {"decoder": Decoder, "encoder": Encoder}
"""By name."""


def autocast(device: torch.device, products: torch.dtype) -> torch.autocast:
    """Take products of bf16 where they are wanted."""
    return torch.autocast(device.type, torch.bfloat16, enabled=products == torch.bfloat16)


def new_embedding(num_symbols: int, width: int, generator: torch.Generator) -> Tensor:
    """Weights (num_symbols, width) to begin with, for every body alike."""
    return torch.empty(num_symbols, width).normal_(0, INIT_STD, generator=generator)


def require_transformers(what: str) -> Any:
    """The package transformers.

    Raises:
        ConfigError: If it is not installed.
    """
    try:
        import transformers
    except ImportError:
        raise ConfigError(f"{what} needs transformers: pip install 'ecsuite[xtreme]'") from None
    transformers.logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    transformers.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    return transformers
