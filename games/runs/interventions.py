"""Interventions on messages: accuracy of the receiver when symbols are dropped, permuted or replaced.

The agents of a run replay the rounds of its validation set with edited greedy messages.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import torch
from torch import Tensor

from ecsuite.agents.message import EOS, PAD, Message
from ecsuite.games.players.pair import Pair
from ecsuite.games.worlds.world import World
from ecsuite.runtime.errors import ConfigError, look_up
from ecsuite.tables.cells import count, nothing, number, percent, text
from ecsuite.tables.table import Column, Table, name_column, number_column, row_of

Intervention = Literal["permute", "drop", "replace", "noise"]
INTERVENTIONS: Mapping[str, str] = {
    "permute": "shuffle the symbols of each message",
    "drop": "remove the symbol at a position, or all occurrences of a symbol",
    "replace": "replace the symbol at a position by another symbol, uniformly at random",
    "noise": "replace each symbol with a probability",
}
"""Interventions, with a one-line description each."""
NOISE = (0.1, 0.25, 0.5)
"""Probabilities of `noise`."""
NUM_OTHERS = 10
"""Maximum number of symbols compared for a causal influence."""


@dataclass(frozen=True, kw_only=True, slots=True)
class InterventionOutcome:
    """The outcome of one intervention."""

    intervention: str
    """Name of the intervention; `none`: unchanged messages."""
    accuracy: float
    """Accuracy on the messages that the intervention changes, 0 to 1."""
    before: float
    """Accuracy on these messages before the intervention, 0 to 1."""
    num_messages: int
    """Number of changed messages."""
    position: int | None = None
    """Position in the message, from 1."""
    symbol: int | None = None
    """Symbol dropped at every position."""
    probability: float | None = None
    """Probability of replacing a symbol, for `noise`."""
    influence: float | None = None
    """Causal influence of the symbol at this position on the answer, in nats; see `causal_influence`."""

    def to_json(self) -> dict[str, Any]:
        """Fields that are not None, JSON-ready."""
        return {name: value for name in self.__slots__ if (value := getattr(self, name)) is not None}


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Interventions(Sequence[InterventionOutcome]):
    """The outcomes of interventions on the messages of a run; it prints as a table."""

    rows: tuple[InterventionOutcome, ...]
    """First the unchanged messages, then a row per intervention, position, symbol and probability."""
    chance: float
    """Chance level of accuracy."""

    def __getitem__(self, index: Any) -> Any:
        """One outcome, or several."""
        return self.rows[index]

    def __len__(self) -> int:
        """Number of outcomes."""
        return len(self.rows)

    def __str__(self) -> str:
        """Format as a text table."""
        return str(self.table())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Format as an HTML table, for notebooks."""
        return self.table().html()

    def table(self) -> Table:
        """Table with a row per intervention, and the accuracy on the same messages without it."""
        columns = [
            name_column("intervention"),
            *(Column(name, is_shown=False) for name in ("position", "symbol", "probability")),
        ]
        columns += [number_column(name) for name in ("accuracy", "before", "messages", "influence")]
        rows = []
        for each in self.rows:
            where = {"position": each.position, "symbol": each.symbol, "probability": each.probability}
            said = " ".join(f"{name} {value}" for name, value in where.items() if value is not None)
            label = "unchanged" if each.intervention == "none" else f"{each.intervention} {said}".strip()
            influence = nothing() if each.influence is None else number(each.influence, 3)
            figures = (percent(each.accuracy), percent(each.before), count(each.num_messages), influence)
            rows.append(row_of(text(each.intervention, shown=label), *map(text, where.values()), *figures))
        influence_of = "influence: causal influence of the symbol on the answer, in nats (Lowe et al. 2019)"
        note = f"chance level of accuracy: {self.chance:.1%}; {influence_of}"
        return Table(columns=columns, rows=rows, notes=[note])

    def to_frame(self) -> Any:
        """The table as a `pandas.DataFrame`.

        Raises:
            ConfigError: If pandas is not installed.
        """
        return self.table().to_frame()


def chosen_interventions(names: Sequence[str]) -> list[Intervention]:
    """Validate names of interventions; `all` selects all; `ConfigError` if a name is unknown or none is given."""
    chosen: list[Any] = [name.strip() if isinstance(name, str) else name for name in names]
    if chosen == ["all"]:
        return list(get_args(Intervention))
    if not chosen:
        raise ConfigError(f"expected interventions: {', '.join(INTERVENTIONS)}, or all")
    for name in chosen:
        look_up("intervention", name, INTERVENTIONS)
    return chosen


@torch.inference_mode()
def intervene(pair: Pair, world: World, names: list[Intervention], seed: int) -> list[InterventionOutcome]:
    """Edit the messages of the validation rounds, and measure the receiver's accuracy.

    Args:
        pair: The trained agents, in evaluation mode.
        world: World with the validation rounds.
        names: Interventions to apply.
        seed: Seed of random orders and symbols.

    Returns:
        First the unchanged messages, then a row for each intervention, position, symbol and probability.

    Raises:
        ConfigError: If the channel is not discrete, or `replace` is named and the task has no discrete answers.
    """
    if pair.channel.is_of_values:
        raise ConfigError("--intervene: the words of this channel are real-valued: expected symbols")
    if "replace" in names and not pair.task.has_choices:
        raise ConfigError(
            "--intervene: replace needs a task with discrete answers: expected permute, drop or noise"
        )
    rounds = _Rounds(pair, world)
    generator = torch.Generator().manual_seed(seed)
    vocabulary = range(1, pair.channel.vocab_size + 1)
    everywhere = torch.ones(len(rounds.ids), dtype=torch.bool)
    rows = [rounds.row("none", rounds.ids, everywhere)]
    if "permute" in names:
        rows.append(rounds.row("permute", _permuted(rounds.ids, generator), rounds.lengths > 1))
    positions = range(int(rounds.lengths.max()))
    if "drop" in names:
        for place in positions:
            lost = torch.zeros_like(rounds.ids, dtype=torch.bool)
            lost[:, place] = True
            rows.append(
                rounds.row("drop", _without(rounds.ids, lost), rounds.lengths > place, position=place + 1)
            )
        for symbol in vocabulary:
            lost = rounds.ids == symbol
            rows.append(rounds.row("drop", _without(rounds.ids, lost), lost.any(1), symbol=symbol))
    if "replace" in names:
        for place in positions:
            at_place = torch.zeros_like(rounds.ids, dtype=torch.bool)
            at_place[:, place] = rounds.ids[:, place] > EOS
            changed = _replaced(rounds.ids, at_place, len(vocabulary), generator)
            influence = causal_influence(rounds, place, len(vocabulary), generator)
            rows.append(
                rounds.row("replace", changed, at_place.any(1), position=place + 1, influence=influence)
            )
    if "noise" in names:
        for probability in NOISE:
            hit = (torch.rand(rounds.ids.shape, generator=generator) < probability) & (rounds.ids > EOS)
            changed = _replaced(rounds.ids, hit, len(vocabulary), generator)
            rows.append(rounds.row("noise", changed, everywhere, probability=probability))
    return [row for row in rows if row.num_messages]


class _Rounds:
    """Validation rounds with the greedy messages of the sender.

    Attributes:
        ids: Content symbols, (num_messages, max_length), padded with 0.
        lengths: Number of content symbols of each message, (num_messages,).
    """

    def __init__(self, pair: Pair, world: World) -> None:
        self.pair = pair
        size = world.sizes.evaluation_batch_size
        self.batches = [world.batch("valid", number) for number in range(-(-world.num_valid // size))]
        seen = [(pair.speaker.shown(batch), batch.num_positive) for batch in self.batches]
        said = [message.symbols.t().cpu() for message in pair.speaker.messages(seen)]
        self.sizes = [len(each) for each in said]
        width = max(each.shape[1] for each in said)
        padded = [torch.nn.functional.pad(each, (0, width - each.shape[1]), value=PAD) for each in said]
        self.ids = torch.cat(padded).clamp(min=EOS)
        self.lengths = (self.ids > EOS).sum(1)
        self.correct = self._ask(self.ids, self._is_right)

    def row(self, name: str, ids: Tensor, changed: Tensor, **place: Any) -> InterventionOutcome:
        """Accuracy on edited messages; only messages that the edit `changed`, (num_messages,), count."""
        correct = self.correct if name == "none" else self._ask(ids, self._is_right)
        return InterventionOutcome(
            intervention=name,
            accuracy=_mean(correct[changed]),
            before=_mean(self.correct[changed]),
            num_messages=int(changed.sum()),
            **place,
        )

    def choices(self, ids: Tensor) -> Tensor:
        """Log-probabilities of the answers to messages, (num_messages, num_choices, num_options).

        With in-batch candidates, the last batch may have fewer options; missing ones get log-probability -inf.
        """

        def log_probabilities(answer: Tensor, ends: Tensor, truth: Any) -> Tensor:
            logits: Tensor = self.pair.task.choices(answer).float()
            return (logits if logits.dim() == 3 else logits[:, None]).log_softmax(-1)

        found = self._asked(ids, log_probabilities)
        width = max(each.shape[-1] for each in found)
        return torch.cat(
            [torch.nn.functional.pad(each, (0, width - each.shape[-1]), value=-torch.inf) for each in found]
        )

    def _is_right(self, answer: Tensor, ends: Tensor, truth: Any) -> Tensor:
        right: Tensor = (ends * self.pair.task(answer, truth).measures["accuracy"]).sum(0)
        return right

    def _ask(self, ids: Tensor, of_answer: Callable[[Tensor, Tensor, Any], Tensor]) -> Tensor:
        """Apply `of_answer` to the receiver's answers to one message per round, (num_messages, ...)."""
        return torch.cat(self._asked(ids, of_answer))

    def _asked(self, ids: Tensor, of_answer: Callable[[Tensor, Tensor, Any], Tensor]) -> list[Tensor]:
        """Apply `of_answer` to the receiver's answers; one tensor per batch, (batch, ...)."""
        found = []
        for batch, rows in zip(self.batches, ids.split(self.sizes), strict=True):
            candidates, truth = self.pair.round_parts(batch)
            message = _message(rows, self.pair.channel.has_eos, self.pair.device)
            found.append(of_answer(*self.pair.answer(message, candidates, None), truth).cpu())
        return found


def causal_influence(rounds: _Rounds, place: int, vocab_size: int, generator: torch.Generator) -> float:
    """Causal influence of the symbol at a position on the answer (Lowe et al. 2019, arXiv 1903.05168, algorithm 1).

    Mutual information of symbol and answer, in nats, under a uniform intervention on the symbol (over the vocabulary,
    or at most `NUM_OTHERS` symbols drawn at random) with the rest of the message fixed: the entropy of the mean answer
    distribution minus the mean entropy, averaged over messages and over the choices of an answer.
    """
    symbols = torch.randperm(vocab_size, generator=generator)[:NUM_OTHERS] + 1
    having = rounds.lengths > place
    mean: Tensor | float = 0.0
    entropy: Tensor | float = 0.0
    for symbol in symbols.tolist():
        changed = rounds.ids.clone()
        changed[having, place] = symbol
        log_probabilities = rounds.choices(changed)[having]
        mean = mean + log_probabilities.exp() / len(symbols)
        entropy = entropy + _entropy(log_probabilities.exp()) / len(symbols)
    return max(0.0, _mean(_entropy(torch.as_tensor(mean)) - entropy))


def _entropy(probabilities: Tensor) -> Tensor:
    """Entropy in nats over the last axis."""
    entropy: Tensor = torch.special.entr(probabilities).sum(-1)
    return entropy


def _mean(values: Tensor) -> float:
    return float(values.double().mean()) if values.numel() else 0.0


def _message(ids: Tensor, has_eos: bool, device: torch.device) -> Message:
    """Convert content symbols, padded with 0, to the receiver's input."""
    lengths = (ids > EOS).sum(1)
    padded = torch.nn.functional.pad(ids, (0, 1)).to(device)
    places = torch.arange(padded.shape[1], device=device)
    ends = lengths.to(device)[:, None]
    if has_eos:
        # As many steps as the longest message: a receiver may have a maximum length.
        symbols = torch.where(places <= ends, padded, PAD)[:, : int(lengths.max()) + 1]
        return Message(symbols=symbols.t(), ends=None, length=lengths.to(device).float() + 1)
    symbols = torch.where(places < ends, padded, PAD)[:, : max(1, int(lengths.max()))]
    # A message without symbols is one step of padding.
    return Message(symbols=symbols.t(), ends=None, length=lengths.to(device).float().clamp(min=1))


def _without(ids: Tensor, lost: Tensor) -> Tensor:
    """Drop the symbols in the mask `lost`; later symbols shift left."""
    order = torch.where(lost | (ids <= EOS), 1, 0).sort(dim=1, stable=True).indices
    kept = torch.where(lost, EOS, ids)
    moved: Tensor = kept.gather(1, order)
    return moved


def _permuted(ids: Tensor, generator: torch.Generator) -> Tensor:
    """Shuffle the content symbols of each message."""
    keys = torch.rand(ids.shape, generator=generator).masked_fill(ids <= EOS, 2.0)
    return ids.gather(1, keys.argsort(dim=1))


def _replaced(ids: Tensor, places: Tensor, vocab_size: int, generator: torch.Generator) -> Tensor:
    """Replace the symbols in the mask `places` by another symbol, uniformly at random."""
    if vocab_size == 1:
        return ids
    shift = torch.randint(1, vocab_size, ids.shape, generator=generator)
    return torch.where(places, (ids - 1 + shift) % vocab_size + 1, ids)
