"""A bridge to EGG (Kharitonov et al. 2019): our games in its trainer, its interactions as a corpus.

EGG is imported only when a game of ours is played in it; nothing else in ecsuite needs it.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ecsuite.agents.message import EOS, PAD, Message
from ecsuite.corpus import Corpus, Ragged
from ecsuite.games.channels import RelaxedMessageBuilder
from ecsuite.games.corpus_generation import attribute_concepts
from ecsuite.games.game import Game


class EGGGame(nn.Module):
    """A game of ours with the interface of EGG's games, for `egg.core.Trainer`.

    In training mode the channel is open in `train` mode with noise from torch's global generator, in evaluation
    mode in `greedy` mode. `egg.core.TemperatureUpdater(agent=egg_game)` sets the channel's temperature.

    Args:
        game: The game, whose parameters are trained.
    """

    def __init__(self, game: Game) -> None:
        super().__init__()
        self.game = game

    @property
    def temperature(self) -> float:
        """The channel's temperature, which EGG's updater lowers."""
        return self.game.channel.temperature(0)

    @temperature.setter
    def temperature(self, value: float) -> None:
        self.game.channel.config = replace(self.game.channel.config, temperature=value)

    def forward(
        self,
        sender_input: Tensor,
        labels: Tensor,
        receiver_input: Tensor | None = None,
        aux_input: Mapping[str, Tensor] | None = None,
    ) -> tuple[Tensor, Any]:
        """Play one batch as EGG's data readers make them.

        Args:
            sender_input: The target, one-hot for each attribute, (batch, num_attributes * num_values).
            labels: Discrimination: index of the target, (batch,). Reconstruction: not used.
            receiver_input: Discrimination: the candidates, like the target, (batch, num_candidates, ...).
            aux_input: Passed on into the interaction.

        Returns:
            What to minimise, and EGG's `Interaction`. Its messages have the shape that EGG's have: weights
            (batch, num_steps, vocab_size + 1) where the channel is relaxed, else ids, filled with EOS. Its receiver
            output is None.
        """
        from egg.core.interaction import Interaction

        game = self.game
        meanings = attribute_values(sender_input, game.num_values)
        if receiver_input is None:
            candidates, targets = meanings[:, None], torch.zeros_like(meanings[:, 0])
        else:
            candidates, targets = attribute_values(receiver_input, game.num_values), labels
        message = game.generate_message(meanings, "train" if self.training else "greedy")
        states, ends = game.receiver(message, game.dtype)
        output = game.task(states, candidates, targets)
        figures = {name: (ends * figure).sum(0).detach() for name, figure in output.measures.items()}
        interaction = Interaction(
            sender_input=sender_input,
            receiver_input=receiver_input,
            labels=labels,
            aux_input=aux_input or {},  # EGG adds interactions up, and cannot add None
            message=self._as_egg_has_it(message),
            receiver_output=None,
            message_length=message.length.detach(),
            aux={"acc": figures.pop("accuracy"), **figures, "length": message.length.detach()},
        )
        return game.channel.objective((ends * output.loss).sum(0), message), interaction

    def _as_egg_has_it(self, message: Message) -> Tensor:
        """The message batch first, rectangular, with EOS after its end."""
        channel, symbols = self.game.channel, message.symbols.detach().transpose(0, 1)
        if symbols.is_floating_point():
            return symbols
        num_steps = channel.config.max_len + (channel.config.length == "variable")
        ids = nn.functional.pad(
            symbols.where(symbols != PAD, EOS), (0, num_steps - symbols.shape[1]), value=EOS
        )
        if channel.train_builder is RelaxedMessageBuilder:
            return nn.functional.one_hot(ids, channel.config.vocab_size + 1).to(self.game.dtype)
        return ids


def as_egg_game(game: Game) -> EGGGame:
    """Wrap a game of ours for `egg.core.Trainer`."""
    return EGGGame(game)


def corpus_from_interaction(
    interaction: Any, *, num_values: int | None = None, metadata: Mapping[str, Any] | None = None
) -> Corpus:
    """Make a corpus of what was said in any EGG game.

    Messages of several symbols end with their first EOS (id 0 in all of EGG), as its games read them; a message of a
    game with a single symbol is that symbol.

    Args:
        interaction: An `egg.core.Interaction`, such as `egg.core.dump_interactions` returns.
        num_values: Values of an attribute, if the sender's input is one-hot for each attribute; meanings are then
            attribute values, with concepts. Otherwise they are the sender's input as it is.
        metadata: How the corpus was made.

    Raises:
        ValueError: If the interaction has no messages or continuous ones, or its input is not one-hot for attributes
            of so many values.
    """
    said = interaction.message
    if said is None:
        raise ValueError("the interaction has no messages: EGG's logging strategy did not store them")
    ids = said.detach().cpu()
    if ids.is_floating_point():
        if (ids < 0).any() or not torch.allclose(ids.sum(-1), torch.ones(ids.shape[:-1]), atol=1e-3):
            raise ValueError("the messages are neither ids nor weights over symbols")
        ids = ids.argmax(-1)
    has_eos = ids.ndim == 2
    rows = ids.reshape(len(ids), -1).numpy().astype(np.int32)
    is_eos = (rows == EOS) & has_eos
    is_said = np.cumsum(is_eos, axis=1) - is_eos == 0  # not after the first EOS
    messages = Ragged.from_lengths(rows[is_said], is_said.sum(1))
    corpus = Corpus(messages=messages, eos=EOS if has_eos else None, metadata=dict(metadata or {}))
    if interaction.sender_input is None:
        return corpus
    features = interaction.sender_input.detach().cpu()
    if num_values is None:
        return replace(corpus, meanings=features.flatten(1).numpy())
    meanings = attribute_values(features, num_values).numpy()
    concepts, names = attribute_concepts(meanings, num_values)
    return replace(corpus, meanings=meanings, concepts=concepts, concept_names=names)


def attribute_values(features: Tensor, num_values: int) -> Tensor:
    """One-hot features (..., num_attributes * num_values) to attribute values (..., num_attributes).

    Raises:
        ValueError: If the features are anything else.
    """
    if features.shape[-1] % num_values:
        raise ValueError(f"{features.shape[-1]} features can't be attributes of {num_values} values each")
    choices: Tensor = features.unflatten(-1, (-1, num_values))
    if not ((choices == 0) | (choices == 1)).all() or not (choices.sum(-1) == 1).all():
        raise ValueError(f"the features are not one-hot for attributes of {num_values} values each")
    return choices.argmax(-1)
