"""The games as a user of plain torch would write them: a training loop of modules, autograd and Adam, and no ecsuite.

    python benchmarks/peers/plain_torch.py disc_tiny
    python benchmarks/peers/plain_torch.py disc_small --channel reinforce --steps 50

Senders are `nn.GRUCell` or `nn.LSTMCell` in a loop over symbols, receivers `nn.GRU` or `nn.LSTM`, or both are
layers of `nn.Linear`; symbols are drawn by `torch.nn.functional.gumbel_softmax` or `torch.distributions.Categorical`.
Objects are drawn by `torch.randint` and encoded by `one_hot`. Messages of variable length end with symbol 0: for Gumbel
the loss is the expectation over the end, for REINFORCE it is that at the end. Prints milliseconds of CPU time a step.
"""

import argparse
import dataclasses
import itertools
import json
import statistics
import time
from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, gumbel_softmax, one_hot


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sizes:
    """Sizes of a game."""

    num_values: tuple[int, ...]
    """Values of each attribute."""
    num_distractors: int | None
    """Distractors of a round; None: the receiver reconstructs the object."""
    channel: str
    """gumbel or reinforce."""
    vocab_size: int
    max_len: int
    is_fixed: bool
    """Whether messages have `max_len` symbols; else they end with symbol 0."""
    cell: str
    """gru, lstm or mlp."""
    hidden: int
    receiver_hidden: int
    embedding: int
    batch_size: int
    lr: float
    temperature: float = 1.0
    entropy: float = 0.1
    """Weight of the entropy bonus of REINFORCE."""
    image_size: int = 0
    """Pixels of an image instead of attributes; 0: attributes."""
    is_scripted: bool = False
    """Whether the sender says each value as a symbol and learns nothing."""


GAMES = {
    "disc_tiny": Sizes(
        num_values=(4, 4), num_distractors=3, channel="gumbel", vocab_size=5, max_len=3, is_fixed=False, cell="gru",
        hidden=64, receiver_hidden=64, embedding=16, batch_size=128, lr=0.003,
    ),
    "objects_game": Sizes(
        num_values=(4, 4, 4, 4), num_distractors=1, channel="gumbel", vocab_size=100, max_len=1, is_fixed=True,
        cell="gru", hidden=50, receiver_hidden=50, embedding=10, batch_size=128, lr=0.003,
    ),
    "channel": Sizes(
        num_values=(30,), num_distractors=None, channel="reinforce", vocab_size=20, max_len=10, is_fixed=False,
        cell="lstm", hidden=64, receiver_hidden=64, embedding=10, batch_size=128, lr=0.003, entropy=0.2,
    ),
    "digits": Sizes(
        num_values=(10,), num_distractors=3, channel="gumbel", vocab_size=20, max_len=2, is_fixed=True, cell="gru",
        hidden=64, receiver_hidden=64, embedding=16, batch_size=64, lr=0.003, image_size=64,
    ),
    "fixed_language": Sizes(
        num_values=(31, 31), num_distractors=None, channel="reinforce", vocab_size=31, max_len=2, is_fixed=True,
        cell="lstm", hidden=0, receiver_hidden=100, embedding=50, batch_size=64, lr=0.003, is_scripted=True,
    ),
    "compo_vs_generalization": Sizes(
        num_values=(10, 10), num_distractors=None, channel="gumbel", vocab_size=50, max_len=3, is_fixed=True,
        cell="mlp", hidden=128, receiver_hidden=128, embedding=128, batch_size=128, lr=0.005,
    ),
    "disc_small": Sizes(
        num_values=(4,) * 4, num_distractors=5, channel="gumbel", vocab_size=5, max_len=10, is_fixed=False,
        cell="gru", hidden=256, receiver_hidden=512, embedding=32, batch_size=1024, lr=0.001,
    ),
    "disc_large": Sizes(
        num_values=(8,) * 12, num_distractors=5, channel="gumbel", vocab_size=99, max_len=30, is_fixed=False,
        cell="gru", hidden=256, receiver_hidden=512, embedding=32, batch_size=1024, lr=0.001,
    ),
}  # fmt: skip


@dataclasses.dataclass(frozen=True, kw_only=True)
class Rounds:
    """Rounds of a batch; the target of a round is the first candidate."""

    candidates: Tensor
    """Features, (batch, num_candidates, num_features)."""
    values: Tensor
    """Attribute values of the targets, (batch, num_attributes)."""


def draw_rounds(sizes: Sizes, images: Tensor | None = None) -> Rounds:
    """Draw objects uniformly.

    Args:
        sizes: Sizes of the game.
        images: Images to draw from, (number, image_size); None: objects are attribute values.
    """
    shape = (sizes.batch_size, 1 + (sizes.num_distractors or 0))
    if images is not None:
        return Rounds(candidates=images[torch.randint(len(images), shape)], values=torch.zeros(0))
    values = torch.stack([torch.randint(number, shape) for number in sizes.num_values], -1)
    features = [one_hot(values[..., i], number) for i, number in enumerate(sizes.num_values)]
    return Rounds(candidates=torch.cat(features, -1).float(), values=values[:, 0])


def image_layers(sizes: Sizes) -> nn.Module:
    """Two layers that look at an image."""
    return nn.Sequential(
        nn.Linear(sizes.image_size, sizes.hidden), nn.ReLU(), nn.Linear(sizes.hidden, sizes.hidden)
    )


class Sender(nn.Module):
    """A sender: one symbol after another from the hidden state of a cell, or all symbols from a hidden layer."""

    def __init__(self, sizes: Sizes, num_features: int) -> None:
        super().__init__()
        self.sizes, num_symbols = sizes, sizes.vocab_size + 1
        self.see = image_layers(sizes) if sizes.image_size else nn.Identity()
        self.perceive = nn.Linear(sizes.hidden if sizes.image_size else num_features, sizes.hidden)
        if sizes.cell == "mlp":
            self.scores = nn.Linear(sizes.hidden, sizes.max_len * num_symbols)
            return
        self.scores = nn.Linear(sizes.hidden, num_symbols)
        self.embed = nn.Linear(num_symbols, sizes.embedding)
        self.start = nn.Parameter(torch.randn(sizes.embedding) * 0.01)
        cell = nn.GRUCell if sizes.cell == "gru" else nn.LSTMCell
        self.cell = cell(sizes.embedding, sizes.hidden)

    def forward(self, objects: Tensor, noise: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """Say a message for each object.

        Args:
            objects: (batch, num_features).
            noise: Gumbel noise of each logit, (max_len, batch, vocab_size + 1); None: it is drawn.

        Returns:
            Weights of symbols (Gumbel) or one-hot samples (REINFORCE), (max_len, batch, vocab_size + 1), and of samples
            log-probability and entropy of each, (max_len, batch).
        """
        sizes, hidden = self.sizes, self.perceive(self.see(objects))
        if sizes.cell == "mlp":
            logits = self.scores(hidden.tanh()).unflatten(-1, (sizes.max_len, -1)).transpose(0, 1)
            return self.draw(logits, noise)
        memory, inputs = torch.zeros_like(hidden), self.start.expand(len(objects), -1)
        drawn = []
        for step in range(sizes.max_len):
            if sizes.cell == "gru":
                hidden = self.cell(inputs, hidden)
            else:
                hidden, memory = self.cell(inputs, (hidden, memory))
            drawn.append(self.draw(self.scores(hidden), None if noise is None else noise[step]))
            inputs = self.embed(drawn[-1][0])
        symbols, log_probabilities, entropies = map(torch.stack, zip(*drawn, strict=True))
        return symbols, log_probabilities, entropies

    def draw(self, logits: Tensor, noise: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        """Draw symbols by logits, (..., vocab_size + 1)."""
        if self.sizes.is_fixed:  # there is no end
            logits = logits.index_fill(-1, torch.zeros(1, dtype=torch.long), -1e9)
        if self.sizes.channel == "reinforce":
            distribution = torch.distributions.Categorical(logits=logits)
            ids = distribution.sample()
            symbols = one_hot(ids, logits.shape[-1]).float()
            return symbols, distribution.log_prob(ids), distribution.entropy()
        if noise is None:
            return gumbel_softmax(logits, self.sizes.temperature), logits, logits
        return ((logits + noise) / self.sizes.temperature).softmax(-1), logits, logits


class Receiver(nn.Module):
    """A receiver: the state after each symbol, compared with the candidates or decoded into values."""

    def __init__(self, sizes: Sizes, num_features: int) -> None:
        super().__init__()
        self.sizes, width = sizes, sizes.receiver_hidden
        self.embed = nn.Linear(sizes.vocab_size + 1, sizes.embedding)
        if sizes.cell != "mlp":
            encoder = nn.GRU if sizes.cell == "gru" else nn.LSTM
            self.encode = encoder(sizes.embedding, width)
        if sizes.num_distractors is None:
            self.decode = nn.Linear(width * (sizes.max_len if sizes.cell == "mlp" else 1), num_features)
        else:
            layers = nn.Sequential(nn.Linear(num_features, width), nn.Tanh())
            self.see = image_layers(sizes) if sizes.image_size else layers
            self.project = nn.Linear(width, width, bias=False) if sizes.image_size else nn.Identity()

    def forward(self, symbols: Tensor) -> Tensor:
        """States after each symbol, (num_steps, batch, width), of symbols (num_steps, batch, vocab_size + 1)."""
        if self.sizes.cell == "mlp":
            return self.embed(symbols).tanh().transpose(0, 1).flatten(1)[None]
        states: Tensor = self.encode(self.embed(symbols))[0]
        return states

    def losses(self, states: Tensor, rounds: Rounds) -> tuple[Tensor, Tensor]:
        """Loss and whether the answer is right, (num_states, batch), for states (num_states, batch, width)."""
        shape = states.shape[:2]
        if self.sizes.num_distractors is not None:
            vectors = self.see(rounds.candidates)  # (batch, num_candidates, width)
            scores = torch.einsum("tbh,bch->tbc", self.project(states), vectors)
            target = torch.zeros(shape.numel(), dtype=torch.long)
            loss = cross_entropy(scores.flatten(0, 1), target, reduction="none")
            return loss.view(shape), scores.argmax(-1) == 0
        loss, right = torch.zeros(shape), torch.ones(shape, dtype=torch.bool)
        for i, scores in enumerate(self.decode(states).split(self.sizes.num_values, -1)):
            target = rounds.values[:, i].expand(shape)
            loss = loss + cross_entropy(scores.flatten(0, 1), target.flatten(), reduction="none").view(shape)
            right = right & (scores.argmax(-1) == target)
        return loss / len(self.sizes.num_values), right


class Game(nn.Module):
    """A game of a sender and a receiver."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.sizes = sizes
        num_features = sizes.image_size or sum(sizes.num_values)
        self.sender = None if sizes.is_scripted else Sender(sizes, num_features)
        self.receiver = Receiver(sizes, num_features)
        self.baseline, self.num_steps = 0.0, 0

    def forward(self, rounds: Rounds, noise: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The objective, a scalar, and the mean accuracy; see `Sender.forward` for the noise."""
        sizes = self.sizes
        if self.sender is None:  # each value is a symbol
            symbols = one_hot(rounds.values.t() + 1, sizes.vocab_size + 1).float()
            loss, right = self.receiver.losses(self.receiver(symbols)[-1:], rounds)
            return loss.mean(), right.float().mean()
        symbols, log_probabilities, entropies = self.sender(rounds.candidates[:, 0], noise)
        if sizes.is_fixed:
            loss, right = self.receiver.losses(self.receiver(symbols)[-1:], rounds)
            ends, said = torch.ones_like(loss), torch.ones_like(entropies)
        else:  # the last symbol after all others is the end
            last = torch.zeros_like(symbols[:1])
            last[..., 0] = 1
            symbols = torch.cat([symbols, last])
            remains = torch.cumprod(1 - symbols[..., 0], 0)
            reached = torch.cat([torch.ones_like(remains[:1]), remains[:-1]])
            ends, said = symbols[..., 0] * reached, reached[: sizes.max_len].detach()
            loss, right = self.receiver.losses(self.receiver(symbols), rounds)
        loss, accuracy = (ends * loss).sum(0), (ends * right).sum(0).mean().detach()
        if sizes.channel == "gumbel":
            return loss.mean(), accuracy
        log_probability = (said * log_probabilities).sum(0)
        entropy = ((said * entropies).sum(0) / said.sum(0)).mean()
        advantage = loss.detach() - self.baseline
        self.num_steps += 1
        self.baseline += (loss.mean().item() - self.baseline) / self.num_steps
        return (advantage * log_probability).mean() + loss.mean() - sizes.entropy * entropy, accuracy


def train(sizes: Sizes, images: Tensor | None = None) -> Iterator[tuple[float, float]]:
    """Train a game without end; yields the CPU seconds and the accuracy of each step."""
    game = Game(sizes)
    optimizer = torch.optim.Adam(game.parameters(), lr=sizes.lr)
    while True:
        began = time.process_time()
        objective, accuracy = game(draw_rounds(sizes, images))
        optimizer.zero_grad()
        objective.backward()
        optimizer.step()
        yield time.process_time() - began, accuracy.item()


def changed(sizes: Sizes, channel: str | None = None, length: str | None = None) -> Sizes:
    """The sizes with another channel, `gumbel` or `reinforce`, or length, `fixed` or `variable`."""
    return dataclasses.replace(
        sizes,
        channel=channel or sizes.channel,
        is_fixed=sizes.is_fixed if length is None else length == "fixed",
    )


def digit_images() -> Tensor:
    """The handwritten digits of scikit-learn, (1797, 64), from 0 to 1."""
    from sklearn.datasets import load_digits

    return torch.from_numpy(load_digits().data).float() / 16


def main() -> None:
    """Print the time of a step and the accuracy of the last tenth of the steps."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("game", choices=GAMES)
    parser.add_argument("--channel", choices=["gumbel", "reinforce"])
    parser.add_argument("--length", choices=["fixed", "variable"])
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(arguments.seed)
    sizes = changed(GAMES[arguments.game], arguments.channel, arguments.length)
    images = digit_images() if sizes.image_size else None
    seconds, accuracies = zip(*itertools.islice(train(sizes, images), arguments.steps), strict=True)
    milliseconds = 1e3 * statistics.median(seconds[arguments.steps // 5 :])
    accuracy = statistics.mean(accuracies[-max(1, arguments.steps // 10) :])
    if arguments.json:
        print(json.dumps({"milliseconds": milliseconds, "accuracy": accuracy}))
    else:
        print(f"{arguments.game}: {milliseconds:.2f} ms of CPU a step, accuracy {accuracy:.3f}")


if __name__ == "__main__":
    main()
