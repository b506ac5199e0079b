"""A part of each kind in a short file, with torch, numpy and ecsuite alone: trained, written as a corpus, scored."""

import ast
import json
from pathlib import Path

import pytest

from ecsuite.parts import own_code

MAX_LINES = 30
MODULES = {"torch", "numpy", "ecsuite"}
PARTS = {
    "sender": """
import torch
from torch import nn
from ecsuite.agents.message import embed_symbols
from ecsuite.agents.senders import Sender

class Own(Sender):
    def __init__(self, options, *, num_features, vocab_size, max_len):
        super().__init__()
        self.perceive, self.scores = nn.Linear(num_features, 32), nn.Linear(32, vocab_size + 1)
        self.embed, self.cell = nn.Embedding(vocab_size + 1, 32), nn.GRUCell(32, 32)

    def forward(self, meanings, builder):
        state = self.perceive(meanings)
        symbol = torch.zeros_like(state)
        while not builder.done:
            state = self.cell(symbol, state)
            symbol = embed_symbols(self.embed, builder.step(self.scores(state)))
        return builder.message()
""",
    "receiver": """
from torch import nn
from ecsuite.agents.message import embed_symbols
from ecsuite.agents.receivers import Receiver

class Own(Receiver):
    def __init__(self, options, *, vocab_size, max_len):
        super().__init__(state_size=32)
        self.embed, self.encode = nn.Embedding(vocab_size + 1, 32), nn.GRU(32, 32)

    def forward(self, message):
        states, _ = self.encode(embed_symbols(self.embed, message.symbols))
        return message.at_ends(states)
""",
    "channel": """
import torch
from ecsuite.games.channels.channels import GumbelChannel

class Own(GumbelChannel):
    def start_training_message(self, like, generator, epoch):
        builder = super().start_training_message(like, generator, epoch)
        builder.noise = builder.noise + torch.randn(builder.noise.shape, generator=generator, device=like.device)
        return builder
""",
    "world": """
import numpy as np
from ecsuite.games.worlds.world import Batch, World, one_hot

class Own(World):
    num_values, object_shape = (9,), (9,)
    value_names = [[f"place={place}" for place in range(9)]]

    def __init__(self, options, *, rounds, sizes):
        super().__init__(rounds, sizes)

    def draw(self, split, number, size):
        rng = np.random.default_rng([self.seed, *split.encode(), number])
        places = rng.permuted(np.tile(np.arange(9), (size, 1)), axis=1)[:, : 1 + self.num_distractors]
        labels = self.targets_first(size)
        objects = places.reshape(-1, 1)
        return Batch(objects=objects, shown=np.flatnonzero(labels)[:, None], num_positive=1, candidates=None,
                     labels=labels, values=objects)

    def features(self, objects, dtype):
        return one_hot(objects, 9, dtype)
""",
    "task": """
from ecsuite.games.tasks.tasks import Task, TaskOutput
from ecsuite.games.worlds.world import RoundSpec

class Own(Task):
    @staticmethod
    def rounds(options):
        return RoundSpec(num_distractors=3)

    def forward(self, answer, truth):
        target = (answer * truth.labels).sum(-1, keepdim=True)
        loss = (answer - target + 1).relu().mean(-1)
        return TaskOutput(loss=loss, measures={"accuracy": (answer <= target).all(-1).float()})

    def chance(self):
        return {"accuracy": 1 / 4}
""",
    "metric": """
import numpy as np

def own(corpus):
    return float(np.mean(corpus.messages.lengths)) if len(corpus.messages) else None
""",
    "grammar": """
def own(meanings, rng):
    words = rng.permutation(int(meanings.max()) + 1) + 1
    return [words[meaning].tolist() for meaning in meanings]
""",
}
QUICK = [
    part
    for setting in ("training.num_examples=64", "training.batch_size=32", "training.num_epochs=1")
    for part in ("--set", setting)
]


@pytest.fixture(autouse=True)
def nothing_is_trusted(monkeypatch):
    monkeypatch.setattr(own_code, "_trusted", set())


@pytest.mark.sample(3)
@pytest.mark.parametrize("kind", PARTS)
def test_a_short_file_is_trained_and_scored(ecsuite, kind):
    code = PARTS[kind].strip()
    assert len([line for line in code.splitlines() if line.strip()]) <= MAX_LINES
    imports = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert {(getattr(each, "module", "") or each.names[0].name).split(".")[0] for each in imports} <= MODULES
    Path("own.py").write_text(code)
    metric = "topsim"
    if kind == "grammar":
        line = ("grammar", "./own.py:own", "--num-attributes", "2", "--num-values", "3", "--out", "runs/own")
    elif kind == "metric":
        line, metric = ("train-game", "disc_tiny", *QUICK, "--out", "runs/own"), "./own.py:own"
    else:
        line = ("train-game", "disc_tiny", f"--{kind}", "./own.py:Own", *QUICK, "--out", "runs/own")
    code, _, err = ecsuite(*line)
    assert code == 0, err
    code, out, err = ecsuite("score", "runs/own", "--metrics", metric, "--json")
    assert code == 0, err
    assert "topsim" in out or isinstance(json.loads(out)["scores"][0]["value"], float)
