"""Interface to EGG (Kharitonov et al. 2019): games of ecsuite in EGG's trainer, and corpora from EGG's interactions.

EGG is imported only to play games in its trainer; the rest of ecsuite does not need it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ecsuite.agents.message import EOS, PAD, Message
from ecsuite.corpus import Corpus
from ecsuite.games.channels.channels import Mode, RelaxedOptions, SoftChannel
from ecsuite.games.channels.noise import noise_generator
from ecsuite.games.players.pair import Pair
from ecsuite.games.tasks.tasks import Truth
from ecsuite.games.tasks.views import SeenRounds, View
from ecsuite.games.worlds.world import attribute_names, describe
from ecsuite.runtime.ragged import Ragged


class EGGGame(nn.Module):
    """A game of ecsuite with the interface of EGG's games, for `egg.core.Trainer`.

    In training the channel is in `train` mode, with noise from torch's global generator; in evaluation it is in
    `greedy` mode. `egg.core.TemperatureUpdater(agent=egg_game)` sets the channel's temperature.
    """

    def __init__(self, pair: Pair) -> None:
        super().__init__()
        self.pair = pair

    @property
    def temperature(self) -> float:
        """The channel's temperature; EGG's updater sets it. Channels without one, or that learn it, ignore it."""
        options = self.pair.channel.options
        return options.temperature_in(0) if isinstance(options, RelaxedOptions) else 1.0

    @temperature.setter
    def temperature(self, value: float) -> None:
        channel = self.pair.channel
        if isinstance(channel, SoftChannel) and not channel.options.trainable_temperature:
            value = max(value, channel.options.temperature_min)
            channel.options = replace(channel.options, temperature=value)
            channel.temperature.fill_(value)

    def forward(
        self,
        sender_input: Tensor,
        labels: Tensor,
        receiver_input: Tensor | None = None,
        aux_input: Mapping[str, Tensor] | None = None,
    ) -> tuple[Tensor, Any]:
        """Play one batch of EGG's data format.

        Args:
            sender_input: Input of the sender's perception: the target, (batch, num_features), or
                several objects, targets first, (batch, num_shown, *object_shape).
            labels: discrimination: index of the target, (batch,). concept: mask of targets among candidates, (batch,
                num_candidates). reconstruction: attribute values of the target, (batch, num_attributes).
            receiver_input: The candidates, (batch, num_candidates, *object_shape); None in reconstruction.
            aux_input: Copied into the interaction.

        Returns:
            The objective to minimise, and EGG's `Interaction`. Its messages have EGG's shape: weights
            (batch, num_steps, vocab_size + 1) if the channel is relaxed, else ids, filled with EOS. The receiver
            output is None.
        """
        from egg.core.interaction import Interaction

        pair, shape = self.pair, self.pair.world.object_shape
        shown = self._view(sender_input if sender_input.ndim > 1 + len(shape) else sender_input[:, None])
        if receiver_input is None:
            candidates = None
            truth = Truth(labels=torch.ones_like(labels[:, :1], dtype=torch.bool), values=labels)
        else:
            candidates = self._view(receiver_input)
            is_target = nn.functional.one_hot(labels, candidates.num_seen) if labels.ndim == 1 else labels
            truth = Truth(labels=is_target.bool(), values=None)
        num_positive = pair.world.rounds.num_targets
        rounds = SeenRounds(shown=shown, candidates=candidates, truth=truth, num_positive=num_positive)
        # EGG seeds only torch's global generator.
        noise = noise_generator(int(torch.randint(2**62, ())), "egg", 0, pair.device)
        mode: Mode = "train" if self.training else "greedy"
        played = pair.play_views(rounds, mode=mode, generator=noise)
        message, measures = played.message, dict(played.measures)
        interaction = Interaction(
            sender_input=sender_input,
            receiver_input=receiver_input,
            labels=labels,
            aux_input=aux_input or {},  # EGG concatenates interactions, which fails for None
            message=self._egg_message(message),
            receiver_output=None,
            message_length=message.length.detach(),
            aux={"acc": measures.pop("accuracy"), **measures, "length": message.length.detach()},
        )
        return pair.result(played, pair.likely(rounds, mode)).objective, interaction

    def _view(self, objects: Tensor) -> View:
        """Convert objects, (batch, num_seen, *object_shape), to an agent's view."""
        features = objects.flatten(0, 1).to(self.pair.speaker.dtype)
        return View(features=features, num_seen=objects.shape[1], indices=None)

    def _egg_message(self, message: Message) -> Tensor:
        """The message with the batch dimension first, filled with EOS after its end."""
        channel, symbols = self.pair.channel, message.symbols.detach().transpose(0, 1)
        if symbols.is_floating_point():
            return symbols
        num_steps = channel.max_len + channel.has_eos
        ids = nn.functional.pad(
            symbols.where(symbols != PAD, EOS), (0, num_steps - symbols.shape[1]), value=EOS
        )
        if isinstance(channel.options, RelaxedOptions):
            return nn.functional.one_hot(ids, channel.symbol_size).to(self.pair.speaker.dtype)
        return ids


def corpus_from_interaction(
    interaction: Any, *, num_values: int | None = None, metadata: Mapping[str, Any] | None = None
) -> Corpus:
    """Make a corpus from the messages of any EGG game, an `egg.core.Interaction` as returned by `dump_interactions`.

    Messages of several symbols end with their first EOS (id 0 in all of EGG), as in EGG's games; a message of a game
    with a single symbol is that symbol. If `num_values` is given, the sender's input is one-hot for attributes with
    that number of values, which become meanings, with concepts. Otherwise meanings are the sender's unchanged input.

    Raises:
        ValueError: If the interaction has no messages or continuous ones, or its input is not one-hot for attributes
            of `num_values` values.
    """
    egg_messages = interaction.message
    if egg_messages is None:
        raise ValueError("the interaction has no messages: EGG's logging strategy did not store them")
    ids = egg_messages.detach().cpu()
    if ids.is_floating_point():
        if (ids < 0).any() or not torch.allclose(ids.sum(-1), torch.ones(ids.shape[:-1]), atol=1e-3):
            raise ValueError("messages: expected ids or weights over symbols, got continuous values")
        ids = ids.argmax(-1)
    has_eos = ids.ndim == 2
    rows = ids.reshape(len(ids), -1).numpy().astype(np.int32)
    is_eos = (rows == EOS) & has_eos
    in_message = np.cumsum(is_eos, axis=1) - is_eos == 0  # not after the first EOS
    messages = Ragged.from_lengths(rows[in_message], in_message.sum(1))
    corpus = Corpus(messages=messages, eos=EOS if has_eos else None, metadata=dict(metadata or {}))
    if interaction.sender_input is None:
        return corpus
    features = interaction.sender_input.detach().cpu()
    if num_values is None:
        return replace(corpus, meanings=features.flatten(1).numpy())
    meanings = attribute_values(features, num_values).numpy()
    described = describe(meanings, attribute_names((num_values,) * meanings.shape[1]))
    return replace(
        corpus, meanings=meanings, concepts=described.concepts, concept_names=described.concept_names
    )


class _FirstTraining(BaseException):
    """Ends an EGG program after its first training; not an `Exception`, which the program might catch."""

    def __init__(self, interaction: Any) -> None:
        super().__init__()
        self.interaction = interaction


def corpus_of_egg_game(
    main: Callable[[list[str]], object], arguments: Sequence[str], *, num_values: int | None = None
) -> Corpus:
    """Run an unmodified EGG game, and make a corpus of its sender's messages on the validation data.

    Args:
        main: Main function of the program, such as `egg.zoo.channel.train.main`.
        arguments: Command-line arguments.
        num_values: See `corpus_from_interaction`.

    Returns:
        Corpus of the first trainer of the program, which then ends: later analyses and trainings are
        skipped. The metadata contain the arguments and the accuracy.

    Raises:
        ValueError: As `corpus_from_interaction`, or if the program trains nothing.
    """
    from egg.core import Trainer

    train = Trainer.train

    def only_first(self: Any, *args: Any, **named: Any) -> None:
        train(self, *args, **named)
        raise _FirstTraining(_interaction(self))

    Trainer.train = only_first
    try:
        main(list(arguments))
        raise ValueError(f"{main.__module__}: expected a program that calls egg.core.Trainer.train")
    except _FirstTraining as ended:
        interaction = ended.interaction
    finally:
        Trainer.train = train
    metadata: dict[str, Any] = {"egg_game": main.__module__, "egg_arguments": " ".join(arguments)}
    if (accuracy := interaction.aux.get("acc")) is not None:
        metadata["accuracy"] = float(accuracy.float().mean())
    return corpus_from_interaction(interaction, num_values=num_values, metadata=metadata)


@torch.no_grad()
def _interaction(trainer: Any) -> Any:
    """Evaluate the game of an EGG trainer on its validation data; return EGG's `Interaction`."""
    from egg.core.batch import Batch
    from egg.core.interaction import Interaction

    trainer.game.eval()
    found = []
    for each in trainer.validation_data:
        batch = each if isinstance(each, Batch) else Batch(*each)
        _, interaction = trainer.game(*batch.to(trainer.device))
        interaction.aux_input = (
            interaction.aux_input or {}
        )  # EGG concatenates interactions, which fails for None
        found.append(interaction.to("cpu"))
    return Interaction.from_iterable(found)


def attribute_values(features: Tensor, num_values: int) -> Tensor:
    """Convert one-hot features (..., num_attributes * num_values) to attribute values (..., num_attributes)."""
    if features.shape[-1] % num_values:
        raise ValueError(
            f"expected a multiple of {num_values} features (the values of an attribute), got {features.shape[-1]}"
        )
    choices: Tensor = features.unflatten(-1, (-1, num_values))
    if not ((choices == 0) | (choices == 1)).all() or not (choices.sum(-1) == 1).all():
        raise ValueError(f"expected one-hot features for attributes of {num_values} values each")
    return choices.argmax(-1)
