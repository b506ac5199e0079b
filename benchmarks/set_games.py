"""Set games on images: a round of training, compared with plain PyTorch written from the paper (Mu & Goodman 2021).

    python benchmarks/set_games.py                        # the concept, set-reference and reference games
    python benchmarks/set_games.py mu_shapeworld --set sender.perception.kind=conv4 --set receiver.perception.kind=conv4

The plain version follows sections 3 and 4 of the paper and their appendices: both agents encode every image of every
round by four blocks of convolutions; the speaker's recurrent network starts from the mean vectors of both sets and
draws symbols by straight-through Gumbel-softmax; the listener compares each image with the last state of its own. It
has the sizes of the shipped game and takes rendered images from memory, so that drawing them costs it nothing. The
versions take turns; figures are CPU time per round, all threads together.
"""

import argparse
import itertools
from collections.abc import Callable, Iterator

import torch
from game_training import Update
from rows import add_json_option, collect, publish, timed
from torch import Tensor, nn
from torch.nn import functional

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.config.sections import Experiment
from ecsuite.runtime.devices import choose_precision, routed_products

GAMES = ["mu_shapeworld", "mu_shapeworld_setref", "mu_shapeworld_ref"]
POOL = 512
"""Rendered images that rounds of the plain version are made of."""


def encoder() -> nn.Sequential:
    """Four blocks of a convolution to 64 channels, batch normalisation, ReLU and pooling: 1,024 features."""
    widths = [3, 64, 64, 64, 64]
    blocks = [
        nn.Sequential(
            nn.Conv2d(inner, outer, 3, padding=1), nn.BatchNorm2d(outer), nn.ReLU(), nn.MaxPool2d(2)
        )
        for inner, outer in itertools.pairwise(widths)
    ]
    return nn.Sequential(*blocks, nn.Flatten())


class PlainGame(nn.Module):
    """A speaker and a listener, as the paper describes them.

    Args:
        experiment: The game whose sizes are taken.
    """

    def __init__(self, experiment: Experiment) -> None:
        super().__init__()
        channel, sender = experiment.channel.options, experiment.sender.options
        self.max_len, size, width = channel.max_len, sender.hidden_size, sender.embedding_size
        num_symbols = channel.vocab_size + 2  # and start and end
        self.speaker_sees, self.listener_sees = encoder(), encoder()
        self.start = nn.Linear(2 * 1024, size)
        self.speaker_embedding = nn.Linear(num_symbols, width, bias=False)
        self.speaker, self.says = nn.GRUCell(width, size), nn.Linear(size, num_symbols)
        self.listener_embedding = nn.Linear(num_symbols, width, bias=False)
        self.listener, self.compares = nn.GRU(width, size, batch_first=True), nn.Linear(size, 1024)

    def forward(self, shown: Tensor, candidates: Tensor, labels: Tensor) -> Tensor:
        """The loss of a batch.

        Args:
            shown: Images that the speaker sees, the targets first, (batch, num_images, 3, height, width).
            candidates: Images that the listener sees, the same shape.
            labels: Whether each candidate is a target, (batch, num_images).
        """
        seen = self.speaker_sees(shown.flatten(0, 1)).unflatten(0, shown.shape[:2])
        targets, others = seen.chunk(2, 1)
        state = self.start(torch.cat([targets.mean(1), others.mean(1)], 1))
        symbol = functional.one_hot(torch.zeros(len(shown), dtype=torch.long), self.says.out_features).float()
        message = []
        for _ in range(self.max_len):
            state = self.speaker(self.speaker_embedding(symbol), state)
            symbol = functional.gumbel_softmax(self.says(state), hard=True)
            message.append(symbol)
        _, (heard,) = self.listener(self.listener_embedding(torch.stack(message, 1)))
        looked_at = self.listener_sees(candidates.flatten(0, 1)).unflatten(0, candidates.shape[:2])
        scores = (looked_at @ self.compares(heard)[:, :, None])[..., 0]
        return functional.binary_cross_entropy_with_logits(scores, labels)


def plain_update(experiment: Experiment, batch: int) -> Callable[[], object]:
    """An update of the plain version."""
    torch.manual_seed(0)
    game, task = PlainGame(experiment), experiment.task.options
    optimizer = torch.optim.Adam(game.parameters(), lr=1e-3)
    num_images = task.num_targets + task.num_distractors
    pool = torch.rand(POOL, 3, 64, 64)
    labels = (torch.arange(num_images) < task.num_targets).float().expand(batch, -1)

    def update() -> None:
        shown = pool[torch.randint(POOL, (batch, num_images))]
        if task.variant == "reference":
            shown[:, : task.num_targets] = shown[:, :1]
        is_new = task.variant == "concept"
        candidates = pool[torch.randint(POOL, (batch, num_images))] if is_new else shown
        optimizer.zero_grad()
        game(shown, candidates, labels).backward()
        optimizer.step()

    return update


def figures(
    names: list[str], changes: list[str], batch: int, repeats: int
) -> Iterator[tuple[str, str, float]]:
    """CPU milliseconds of a round, for each game and alternating versions."""
    device = torch.device("cpu")
    for name in names:
        experiment = load_experiment(name, changes)
        precisions = dict.fromkeys(["fp32", choose_precision("auto", device)])
        updates = {f"ecsuite {each}": Update(experiment, device, each).run for each in precisions}
        plain = plain_update(experiment, batch)
        for update in (*updates.values(), plain):
            update()
        for _ in range(repeats):
            for version, update in updates.items():
                with routed_products(device, version.removeprefix("ecsuite ")):
                    _, cpu, _ = timed(update)
                yield f"{name}, {version}", "ms", 1000 * cpu / experiment.training.batch_size
            _, cpu, _ = timed(plain)
            yield f"{name}, plain PyTorch", "ms", 1000 * cpu / batch


def main() -> None:
    """Print the rows, and how many times as fast ours are."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("games", nargs="*", default=GAMES)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="change a setting")
    parser.add_argument("--plain-batch", type=int, default=8, help="rounds of an update of the plain version")
    parser.add_argument("--repeats", type=int, default=3, help="timed updates of each")
    add_json_option(parser)
    given = parser.parse_args()
    rows = collect(figures(given.games, given.set, given.plain_batch, given.repeats))
    publish(rows, as_json=given.json)
    best = {row.name: row.best for row in rows}
    for name, milliseconds in best.items():
        game, _, version = name.partition(", ")
        if version.startswith("ecsuite") and not given.json:
            print(f"{game}: {version} is {best[f'{game}, plain PyTorch'] / milliseconds:.1f} x as fast")


if __name__ == "__main__":
    main()
