"""Phrasebooks: agents that speak and listen by fixed rules, with an inventory of forms and meanings.

After the abstract of Boldt & Mortensen (2026, ACL 2026.acl-long.1389); the rules are ours.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
import torch
from torch import Tensor

from ecsuite.agents.message import EOS, Message
from ecsuite.agents.options import AgentOptions
from ecsuite.agents.receivers import Receiver
from ecsuite.agents.scripted import CERTAIN
from ecsuite.agents.senders import MessageBuilder, Sender, build_message
from ecsuite.formats.strict_json import parse_json, read_json
from ecsuite.parts.config import Count
from ecsuite.runtime.errors import ConfigError, unknown_name


class PhrasebookEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of an inventory in JSON."""

    form: Annotated[tuple[str | int, ...], msgspec.Meta(min_length=1)]
    """Names of symbols."""
    meaning: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]
    """Names of concepts, such as `color=red`."""
    weight: Annotated[float, msgspec.Meta(ge=0)] = 1.0
    """Evidence for the meaning in bits."""
    position: float = float("inf")
    """Mean position of the first symbol in messages, from 0."""


class Phrasebook:
    """Inventory of forms with meanings, for generating and reading messages.

    Args:
        inventory: A JSON file, or JSON text: a list of pairs, or the output of `ecsuite score --metrics csar --json`.
        symbols: Index of each symbol, by name.
        concepts: Index of each concept, by name.
        place: Key of the option, for error messages.
        size: Number of pairs with the highest weights to use; None: all.

    Raises:
        ConfigError: If there are no pairs, or a pair has an unknown symbol or concept.
    """

    def __init__(
        self,
        inventory: str,
        symbols: Mapping[str, int],
        concepts: Mapping[str, int],
        place: str,
        size: int | None = None,
    ) -> None:
        is_text, place = inventory.startswith("["), f"{place}: {inventory:.200}"
        data = parse_json(inventory, Path(place)) if is_text else read_json(Path(inventory))
        if isinstance(data, dict):
            scores = data.get("scores")
            known = (
                [each.get("details") for each in scores if isinstance(each, dict)]
                if isinstance(scores, list)
                else []
            )
            lists = [each["inventory"] for each in known if isinstance(each, dict) and "inventory" in each]
            if len(lists) != 1:
                raise ConfigError(f"{place}: expected one score with an inventory, got {len(lists)}")
            [data] = lists
        try:
            phrases = msgspec.convert(data, Annotated[list[PhrasebookEntry], msgspec.Meta(min_length=1)])
        except msgspec.ValidationError as error:
            raise ConfigError(f"{place}: {error}".replace("`", "")) from None
        self.phrases: list[tuple[PhrasebookEntry, tuple[int, ...], set[int]]] = []
        """Pairs in descending order of weight, with indices of their symbols and concepts."""
        self._evidence: dict[tuple[int, ...], dict[int, float]] = {}
        """Evidence of each form for concepts, longest forms first; evidence for a meaning is divided evenly."""
        for number, each in enumerate(phrases, 1):
            for word, names, known_names in (
                ("symbol", each.form, symbols),
                ("meaning", each.meaning, concepts),
            ):
                for name in map(str, names):
                    if name not in known_names:
                        raise ConfigError(f"{place}: pair {number}: {unknown_name(word, name, known_names)}")
            form = tuple(symbols[str(name)] for name in each.form)
            self.phrases.append((each, form, {concepts[name] for name in each.meaning}))
        self.phrases = sorted(self.phrases, key=lambda phrase: -phrase[0].weight)[:size]
        for each, form, meaning in sorted(self.phrases, key=lambda phrase: -len(phrase[1])):
            evidence = self._evidence.setdefault(form, {})
            for concept in meaning:
                evidence[concept] = evidence.get(concept, 0.0) + each.weight / len(meaning)

    def say(self, meaning: Collection[int], room: int, rng: np.random.Generator, rules: Any) -> list[int]:
        """Generate a message of phrases that cover the meaning, each concept once, in descending order of weight.

        Args:
            meaning: Concepts.
            room: Maximum number of symbols.
            rng: Source of the order of forms, if it is shuffled.
            rules: Options `order` and `fill`.
        """
        left, free, said = set(meaning), room, list[tuple[float, tuple[int, ...]]]()
        for each, form, concepts in self.phrases:
            if concepts <= left and len(form) <= free:
                left, free = left - concepts, free - len(form)
                said.append((each.position, form))
        if rules.order == "kept":
            said.sort(key=lambda phrase: phrase[0])
        else:
            rng.shuffle(said)
        symbols = [symbol for _, form in said for symbol in form]
        return (symbols * room)[:room] if rules.fill == "repeat" else symbols

    def read(self, message: Sequence[int], unknown: str) -> dict[int, float]:
        """Sum the evidence for concepts, in bits, over non-overlapping forms in a message, longest forms first.

        Args:
            message: Indices of symbols; unknown indices are in no form.
            unknown: See `PhrasebookRules`.
        """
        found, is_free = dict[int, tuple[int, ...]](), [True] * len(message)
        for form in self._evidence:
            for start in range(len(message) - len(form) + 1):
                stop = start + len(form)
                if tuple(message[start:stop]) == form and all(is_free[start:stop]):
                    found[start] = form
                    is_free[start:stop] = [False] * len(form)
        end = is_free.index(True) if unknown == "stop" and True in is_free else len(message)
        evidence = dict[int, float]()
        for start in sorted(each for each in found if each < end):
            for concept, weight in self._evidence[found[start]].items():
                evidence[concept] = evidence.get(concept, 0.0) + weight
        return evidence


@dataclass(frozen=True, kw_only=True, slots=True)
class PhrasebookAgentOptions(AgentOptions):
    """Options of a sender or receiver with a phrasebook."""

    inventory: str = ""
    """JSON file of pairs of a form and a meaning: the output of `ecsuite score --metrics csar --json`."""
    size: Count | None = None
    """Number of pairs with the highest weights to use; null: all."""

    def book(self, role: str, vocab_size: int, value_names: Sequence[Sequence[str]]) -> Phrasebook:
        """Make the phrasebook of an agent of a game; `ConfigError` if it does not fit."""
        if self.perception.kind != "identity" or not value_names:
            raise ConfigError(f"{role}.perception: expected identity, and a world of attribute values")
        symbols = {str(number): number for number in range(1, vocab_size + 1)}
        names = [name for values in value_names for name in values]
        concepts = {name: number for number, name in enumerate(names)}
        return Phrasebook(self.inventory, symbols, concepts, f"{role}.inventory", self.size)


class PhrasebookSender(Sender):
    """Untrained sender that covers the common values of its targets with phrases of an inventory.

    Raises:
        ConfigError: If the inventory can't be read, or does not fit the game.
    """

    knows_names = True

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options(PhrasebookAgentOptions):
        """Options of a sender with a phrasebook."""

        order: Literal["kept", "shuffled"] = "kept"
        """kept: forms are ordered by their mean positions. shuffled: in a random order for each meaning."""
        fill: Literal["repeat", "nothing"] = "repeat"
        """repeat: forms are repeated until the message is full. nothing: the message ends, if its length may vary."""

    def __init__(
        self,
        options: Options,
        *,
        num_features: int,
        vocab_size: int,
        max_len: int,
        value_names: Any,
        has_eos: bool,
    ) -> None:
        super().__init__()
        self.book = options.book("sender", vocab_size, value_names)
        if num_features != sum(map(len, value_names)):
            raise ConfigError("sender phrasebook: expected it to see only the attribute values of targets")
        if options.fill == "nothing" and not has_eos:
            raise ConfigError("sender.fill: messages of this channel have a fixed length: expected repeat")
        self.options, self.vocab_size, self.max_len, self.has_eos = options, vocab_size, max_len, has_eos

    def forward(self, meanings: Tensor, builder: MessageBuilder) -> Message:
        """Generate a message for each meaning, (batch, num_features), one-hot or a mean of one-hot vectors."""
        rows = [tuple(np.flatnonzero(row).tolist()) for row in (meanings > 0.999).cpu().numpy()]
        said = {row: self._symbols(row) for row in dict.fromkeys(rows)}
        ids = torch.tensor([said[row] for row in rows], device=meanings.device)  # (batch, max_len)
        symbols = torch.arange(self.vocab_size + 1, device=meanings.device)
        return build_message(builder, ((ids[..., None] == symbols).float() * CERTAIN).transpose(0, 1))

    def _symbols(self, meaning: tuple[int, ...]) -> list[int]:
        """Message with EOS after its end; without phrases, a message of fixed length is random."""
        rng = np.random.default_rng(meaning)
        said = self.book.say(meaning, self.max_len, rng, self.options)
        if not said and not self.has_eos:
            said = rng.integers(1, self.vocab_size + 1, self.max_len).tolist()
        return said + [EOS] * (self.max_len - len(said))


class PhrasebookReceiver(Receiver):
    """Untrained receiver that sums the evidence of the forms in a message, in bits per attribute value.

    In training over a relaxed channel it reads the most likely symbols, so the sender gets no gradient.

    Raises:
        ConfigError: If the inventory can't be read, or does not fit the game.
    """

    needs_projection = False
    knows_names = True
    states_are_values = True

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options(PhrasebookAgentOptions):
        """Options of a receiver with a phrasebook."""

        unknown: Literal["skip", "stop"] = "skip"
        """Treatment of symbols that are in no form. skip: continue after them. stop: do not read the rest."""

    def __init__(self, options: Options, *, vocab_size: int, max_len: int, value_names: Any) -> None:
        super().__init__(state_size=max(1, sum(map(len, value_names))))
        self.book, self.unknown = options.book("receiver", vocab_size, value_names), options.unknown

    def forward(self, message: Message) -> tuple[Tensor, Tensor]:
        """See the base class."""
        symbols = message.symbols
        ids = (symbols.argmax(-1) if symbols.is_floating_point() else symbols).t()  # (batch, num_steps)
        if message.ends is None:
            return self._states(ids)[None], torch.ones_like(message.length)[None]
        return torch.stack([self._states(ids[:, : end + 1]) for end in range(ids.shape[1])]), message.ends

    def _states(self, ids: Tensor) -> Tensor:
        """Evidence for attribute values after messages, (batch, num_values)."""
        rows, states = list(map(tuple, ids.tolist())), dict[tuple[int, ...], list[float]]()
        for row in dict.fromkeys(rows):
            length = next((place for place, symbol in enumerate(row) if symbol <= EOS), len(row))
            evidence = self.book.read(row[:length], self.unknown)
            states[row] = [evidence.get(value, 0.0) for value in range(self.state_size)]
        return torch.tensor([states[row] for row in rows], device=ids.device)
