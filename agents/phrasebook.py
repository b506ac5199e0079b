"""Phrasebooks: agents made of an inventory of forms with meanings, which speak and listen by rule.

After Boldt & Mortensen (2026, ACL 2026.acl-long.1389), of which only the abstract was read: the rules are ours.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import msgspec
import numpy as np
import torch
from torch import Tensor

from ecsuite.agents.message import Message
from ecsuite.agents.options import AgentOptions
from ecsuite.agents.receivers import Receiver
from ecsuite.agents.scripted import CERTAIN
from ecsuite.agents.senders import MessageBuilder, Sender, build_message
from ecsuite.formats.strict_json import read_json
from ecsuite.parts.config import Count
from ecsuite.runtime.errors import ConfigError, unknown_name

Order = Literal["kept", "shuffled"]
Fill = Literal["repeat", "nothing"]
Unknown = Literal["skip", "stop"]


class Phrase(msgspec.Struct, frozen=True, kw_only=True):
    """A form, what it means, and where it stands: an entry of an inventory in JSON."""

    form: Annotated[tuple[str | int, ...], msgspec.Meta(min_length=1)]
    """Symbols, by name."""
    meaning: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]
    """Concepts, by name, such as `color=red`."""
    weight: Annotated[float, msgspec.Meta(ge=0)] = 1.0
    """Evidence for the meaning in bits; those of the highest weight are said first."""
    position: float | None = None
    """Mean position of the first symbol in messages, from 0; None: unknown."""


class Phrasebook:
    """Forms with meanings, by which messages are made and read.

    Args:
        phrases: Forms of symbols and meanings of concepts.
        symbols: Number of each symbol, by name.
        concepts: Number of each concept, by name.
        place: Origin of the phrases, for messages.
        size: Number of phrases, those of the highest weight; None: all.

    Raises:
        ConfigError: If there are no phrases, or one has an unknown symbol or concept.
    """

    def __init__(
        self,
        phrases: Sequence[Phrase],
        symbols: Mapping[str, int],
        concepts: Mapping[str, int],
        place: str,
        size: int | None = None,
    ) -> None:
        if not phrases:
            raise ConfigError(f"{place}: expected pairs of a form and a meaning, got none")
        numbered = []
        for number, each in enumerate(phrases, 1):
            for word, names, known in (("symbol", each.form, symbols), ("meaning", each.meaning, concepts)):
                if absent := [str(name) for name in names if str(name) not in known]:
                    raise ConfigError(f"{place}: pair {number}: {unknown_name(word, absent[0], known)}")
            form = tuple(symbols[str(name)] for name in each.form)
            numbered.append((each, form, frozenset(concepts[name] for name in each.meaning)))
        self.phrases = sorted(numbered, key=lambda phrase: -phrase[0].weight)[:size]
        self._meanings: dict[tuple[int, ...], dict[int, float]] = {}
        """Evidence of each form for concepts; that for a meaning is divided evenly."""
        for each, form, meaning in self.phrases:
            evidence = self._meanings.setdefault(form, {})
            for concept in meaning:
                evidence[concept] = evidence.get(concept, 0.0) + each.weight / len(meaning)
        self._longest_first = sorted(self._meanings, key=len, reverse=True)

    def say(
        self, meaning: Collection[int], room: int, rng: np.random.Generator, order: Order, fill: Fill
    ) -> list[int]:
        """A message: phrases that cover the meaning, each concept once, while there is room.

        Args:
            meaning: Concepts.
            room: Most symbols.
            rng: Draws an order.
            order: kept: by the positions in which the forms stand. shuffled: at random.
            fill: repeat: the phrases are said again until there is no room. nothing: the message ends.
        """
        left, free, said = set(meaning), room, list[tuple[Phrase, tuple[int, ...]]]()
        for each, form, concepts in self.phrases:
            if concepts <= left and len(form) <= free:
                left, free = left - concepts, free - len(form)
                said.append((each, form))
        if order == "kept":
            said.sort(key=lambda phrase: np.inf if phrase[0].position is None else phrase[0].position)
        else:
            said = [said[number] for number in rng.permutation(len(said)).tolist()]
        symbols = [symbol for _, form in said for symbol in form]
        return (symbols * room)[:room] if fill == "repeat" else symbols

    def read(self, message: Sequence[int], unknown: Unknown) -> dict[int, float]:
        """Evidence for concepts in bits: the sum over the forms in a message, of which no two overlap, long ones first.

        Args:
            message: Symbols; a number of no symbol is in no form.
            unknown: Treatment of symbols in no form. skip: what comes after them is read. stop: it is not.
        """
        found, is_free = dict[int, tuple[int, ...]](), [True] * len(message)
        for form in self._longest_first:
            for start in range(len(message) - len(form) + 1):
                stop = start + len(form)
                if tuple(message[start:stop]) == form and all(is_free[start:stop]):
                    found[start] = form
                    is_free[start:stop] = [False] * len(form)
        end = is_free.index(True) if unknown == "stop" and True in is_free else len(message)
        evidence = dict[int, float]()
        for start in sorted(found):
            if start < end:
                for concept, weight in self._meanings[found[start]].items():
                    evidence[concept] = evidence.get(concept, 0.0) + weight
        return evidence


def read_phrases(inventory: str, place: str) -> tuple[list[Phrase], str]:
    """The phrases of a file, and its place for messages.

    Args:
        inventory: A JSON file: a list of pairs, or what `ecsuite score --metrics csar --json` prints.
        place: The key of the option.

    Raises:
        ConfigError: If it can't be read, or has no inventory, or several.
    """
    if not inventory:
        raise ConfigError(f"{place}: expected a file with pairs of a form and a meaning")
    place, data = f"{place}: {inventory}", read_json(Path(inventory))
    if isinstance(data, dict):
        scores = [each for each in data.get("scores") or () if "inventory" in (each.get("details") or ())]
        if len(scores) != 1:
            names = ", ".join(str(each.get("name")) for each in scores) or "none"
            raise ConfigError(f"{place}: expected one score with an inventory (csar, morphemes), got {names}")
        data = scores[0]["details"]["inventory"]
    try:
        return msgspec.convert(data, list[Phrase]), place
    except msgspec.ValidationError as error:
        raise ConfigError(f"{place}: {error}".replace("`", "")) from None


def _book_of_game(
    options: Any, role: str, num_features: int | None, vocab_size: int, value_names: Sequence[Sequence[str]]
) -> tuple[Phrasebook, int]:
    """The phrasebook of an agent, and the number of attribute values that objects may have."""
    names = [name for values in value_names for name in values]
    if options.perception.kind != "identity":
        raise ConfigError(f"{role}.perception: expected identity, since phrases mean attribute values")
    if not names or num_features not in (None, len(names)):
        raise ConfigError(
            f"{role} phrasebook: expected a world and a task that show attribute values of targets alone"
        )
    phrases, place = read_phrases(options.inventory, f"{role}.inventory")
    symbols = {str(number): number for number in range(1, vocab_size + 1)}
    concepts = {name: number for number, name in enumerate(names)}
    return Phrasebook(phrases, symbols, concepts, place, options.size), len(names)


class PhrasebookSender(Sender):
    """Covers the values that its targets have in common with the phrases of an inventory; it is not trained.

    Raises:
        ConfigError: If the inventory can't be read, or does not fit the game.
    """

    knows_names = True

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options(AgentOptions):
        """Options of a speaker with a phrasebook."""

        inventory: str = ""
        """JSON file of pairs of a form and a meaning, as `ecsuite score --metrics csar --json` prints."""
        size: Count | None = None
        """Number of pairs, those of the highest weight; null: all."""
        order: Order = "kept"
        """kept: forms stand in the order of their mean positions. shuffled: each meaning has its own random order."""
        fill: Fill = "repeat"
        """repeat: forms are said again until the message is full. nothing: it ends, where its length is variable."""

        data_files: ClassVar[tuple[str, ...]] = ("inventory",)

    def __init__(
        self,
        options: Options,
        *,
        num_features: int,
        vocab_size: int,
        max_len: int,
        value_names: Sequence[Sequence[str]],
        has_eos: bool,
    ) -> None:
        super().__init__()
        if options.fill == "nothing" and not has_eos:
            raise ConfigError("sender.fill: messages of this channel have a fixed length: expected repeat")
        self.options, self.vocab_size, self.max_len = options, vocab_size, max_len
        self.book, _ = _book_of_game(options, "sender", num_features, vocab_size, value_names)
        self.has_eos = has_eos

    def forward(self, meanings: Tensor, builder: MessageBuilder) -> Message:
        """Say a message for each meaning, (batch, num_features), one-hot or a mean of one-hot vectors."""
        rows = [tuple(row) for row in (meanings > 1 - 1e-3).tolist()]
        said = {row: self._symbols(np.flatnonzero(row).tolist()) for row in dict.fromkeys(rows)}
        ids = torch.tensor([said[row] for row in rows], device=meanings.device)  # (batch, max_len)
        symbols = torch.arange(self.vocab_size + 1, device=meanings.device)
        return build_message(builder, ((ids[..., None] == symbols).float() * CERTAIN).transpose(0, 1))

    def _symbols(self, meaning: list[int]) -> list[int]:
        """A message with EOS in the rest of it; without phrases, one of a fixed length is drawn."""
        rng, options = np.random.default_rng(meaning), self.options
        said = self.book.say(meaning, self.max_len, rng, options.order, options.fill)
        if not said and not self.has_eos:
            said = rng.integers(1, self.vocab_size + 1, self.max_len).tolist()
        return said + [0] * (self.max_len - len(said))


class PhrasebookReceiver(Receiver):
    """Adds up what the forms in a message are evidence for; it is not trained.

    The score of a candidate is the sum of the evidence for its attribute values, in bits. In training over a relaxed
    channel it reads the most likely symbols, so that the sender gets no gradient through them.

    Raises:
        ConfigError: If the inventory can't be read, or does not fit the game.
    """

    needs_projection = False
    knows_names = True
    states_are_values = True

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options(AgentOptions):
        """Options of a listener with a phrasebook."""

        inventory: str = ""
        """JSON file of pairs of a form and a meaning, as `ecsuite score --metrics csar --json` prints."""
        size: Count | None = None
        """Number of pairs, those of the highest weight; null: all."""
        unknown: Unknown = "skip"
        """Symbols that are in no form. skip: what comes after them is read. stop: it is not."""

        data_files: ClassVar[tuple[str, ...]] = ("inventory",)

    def __init__(
        self, options: Options, *, vocab_size: int, max_len: int, value_names: Sequence[Sequence[str]]
    ) -> None:
        self.options = options
        self.book, size = _book_of_game(options, "receiver", None, vocab_size, value_names)
        super().__init__(state_size=size)

    def forward(self, message: Message) -> tuple[Tensor, Tensor]:
        """See the base class."""
        symbols = message.symbols
        ids = (symbols.argmax(-1) if symbols.is_floating_point() else symbols).t()  # (batch, num_steps)
        if message.ends is None:
            return self._states(ids)[None], torch.ones_like(message.length)[None]
        return torch.stack([self._states(ids[:, : end + 1]) for end in range(ids.shape[1])]), message.ends

    def _states(self, ids: Tensor) -> Tensor:
        """Evidence for each attribute value after messages, (batch, num_features)."""
        rows = [tuple(row) for row in ids.tolist()]
        states = dict[tuple[int, ...], list[float]]()
        for row in dict.fromkeys(rows):
            length = next((place for place, symbol in enumerate(row) if symbol < 1), len(row))
            evidence = self.book.read(row[:length], self.options.unknown)
            states[row] = [evidence.get(value, 0.0) for value in range(self.state_size)]
        return torch.tensor([states[row] for row in rows], device=ids.device)
