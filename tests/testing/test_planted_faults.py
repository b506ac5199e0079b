import pytest

from ecsuite.parts import own_code
from ecsuite.testing import checks, kind_of, run
from quick_checks import TRAIN_MORE, without

SENDER = """
import random
from dataclasses import dataclass
import torch
from torch import nn
from torch.nn import functional
from ecsuite.agents import receivers, senders, perception
from ecsuite.agents.message import EOS, PAD, Message, embed_symbols
from ecsuite.agents.options import AgentOptions, PerceptionOptions
from ecsuite.parts.config import Share
from ecsuite.games.channels.channels import GumbelChannel
from ecsuite.games.channels.message_builders import DiscreteMessageBuilder

class Sender(senders.Sender):
    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options(AgentOptions):
        scale: Share = 0.5
    def __init__(self, options, *, num_features, vocab_size, max_len):
        super().__init__()
        self.scale = options.scale
        self.perceive, self.scores = nn.Linear(num_features, 16), nn.Linear(16, vocab_size + 1)
        self.embed, self.cell = nn.Embedding(vocab_size + 1, 16), nn.GRUCell(16, 16)
    def forward(self, meanings, builder):
        state = self.perceive(meanings) * self.scale
        inputs = torch.zeros_like(state)
        while not builder.done:
            state = self.cell(inputs, state)
            inputs = embed_symbols(self.embed, builder.step(self.scores(state)))
        return builder.message()
"""
METRIC = """
import numpy as np
def metric(corpus):
    return float(np.mean(corpus.messages.lengths)) if len(corpus.messages) else None
"""
WALK = """
import numpy as np
from ecsuite.games.environments.environment import AgentSpec, Environment, Moment, choices
class Walk(Environment):
    agents = (
        AgentSpec(name="guide", num_features=3),
        AgentSpec(name="walker", num_features=1, num_actions=3, num_heard=1),
    )
    max_steps, attribute_names = 2, ("goal",)
    def reset(self, seed, episodes):
        return self.moment(choices(seed, "goal", episodes, 1, 3)[:, 0], 0)
    def moment(self, goals, step):
        right = np.stack([goals * 0 - 1, goals], 1)
        heard = np.repeat(np.array([[[-1], [0]]]), len(goals), 0)
        return Moment(observations=(np.eye(3)[goals], np.zeros((len(goals), 1))), heard=heard,
                      active=np.ones((len(goals), 2), bool), done=np.full(len(goals), step >= 2), right=right,
                      meanings=np.repeat(goals[:, None, None], 2, 1), inner=(goals, step))
    def step(self, moment, actions):
        goals, step = moment.inner
        return self.moment(goals, step + 1), np.repeat((actions[:, 1:] == goals[:, None]) * 1.0, 2, 1)
"""
PLAY = """
import numpy as np
import torch
from ecsuite.corpus import Corpus
from ecsuite.runtime.ragged import Ragged
from ecsuite.games.plays.play import Play
class Counting(Play):
    count = 0
    def train_step(self, step):
        self.count += 1
        return {"accuracy": 1.0}
    def evaluate(self):
        said = self.count
        return {"accuracy": 1.0}
    def corpus(self, evaluation):
        return Corpus(messages=Ragged.from_rows([[1], [2]]), meanings=np.array([[0], [1]]))
    def state(self):
        return {"count": torch.tensor(self.count)}
    def restore(self, state):
        self.count = int(state["count"])
"""
TALKING_CHANNEL = """
class Talking(DiscreteMessageBuilder):
    def message(self):
        found = super().message()
        return Message(symbols=found.symbols.clamp(min=EOS), ends=None, length=found.length)
class Channel(GumbelChannel):
    def start_message(self, mode, like, generator, epoch=0):
        if mode == "train":
            return super().start_message(mode, like, generator, epoch)
        return Talking(self.options, None, track=False)
"""
RECEIVER = """
class Receiver(receivers.Receiver):
    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options(AgentOptions):
        pass
    def __init__(self, options, *, vocab_size, max_len=0):
        super().__init__(state_size=16)
        self.embed = nn.Embedding(vocab_size + 1, 8)
        self.encode = nn.GRU(8, 8, bidirectional=True)
    def forward(self, message):
        states, _ = self.encode(embed_symbols(self.embed, message.symbols))
        return message.at_ends(states)
"""
MOVING_CHANNEL = """
class Channel(GumbelChannel):
    def received(self, message, generator):
        from dataclasses import replace
        return replace(message, symbols=message.symbols.roll(1, dims=0))
"""
PERCEPTION = """
class Perception(perception.Perception):
    Options = PerceptionOptions
    def __init__(self, options, *, object_shape, state_size=None):
        super().__init__()
        self.out_features = 16
        self.layer = nn.Linear(object_shape[0], 16)
    def forward(self, features):
        return self.layer(features)
"""
CLASS = """
from dataclasses import dataclass
class Metric:
    @dataclass(frozen=True, kw_only=True)
    class Options:
        base: float = 2.0
    def __init__(self, options): self.options = options
    def __call__(self, corpus): return len(corpus.messages) / self.options.base
"""
SHUFFLED = """
from ecsuite.eval.metrics.score import Score
from ecsuite.eval.statistics.chance import Chance
def metric(corpus):
    if corpus.meanings is None:
        return None
    rows = [corpus.messages[index] for index in range(len(corpus.messages))]
    first = [row[0] if len(row) else 0 for row in rows]
    draws = (0.0, 0.5)
    chance = Chance(kind="shuffle", level=max(draws) / 2, draws=draws, bounds=(0.0, max(draws)))
    return Score(name="metric", value=len(set(zip(first, corpus.meanings[:, 0].tolist()))) / 100, about="pairs",
                 signature="metric|v:1", chance=chance)
"""
TASK = """
from ecsuite.games.tasks.tasks import Discrimination
class Task(Discrimination):
    def choices(self, answer):
        return answer[-1]
"""
LOSS = """
from ecsuite.games.tasks.losses import TaskLoss
class Loss(TaskLoss):
    def forward(self, output, ends, message):
        return (ends * output.loss).sum(0), self.options.cost(output, ends, message)
"""
WORLD = """
import numpy as np
from dataclasses import replace
from ecsuite.games.worlds.attributes import AttributeWorld
class World(AttributeWorld):
    def draw(self, split, number, size):
        drawn = super().draw(split, number, size)
        return replace(drawn, values=drawn.values + 0)
"""
FAULTS = [
    (SENDER, "state = self.perceive(meanings)",
     "state = torch.randn(len(meanings), 16) + self.perceive(meanings)", "draws from the generator"),
    (SENDER, "* self.scale", "* self.scale * random.random()", "draws from the generator"),
    (SENDER, "nn.Linear(num_features, 16)",
     "nn.Linear(num_features, 16 if max_len > 1 else 1)", "Messages of one symbol"),
    (SENDER, "inputs = torch.zeros_like(state)", "inputs = torch.zeros_like(state).squeeze(0)", "batch of one round"),
    (SENDER, "* self.scale", "* functional.dropout(self.perceive(meanings), 0.5)", "scores are deterministic"),
    (SENDER, "* self.scale",
     "* self.scale + (self.perceive.weight[0, 0] - self.perceive.weight[0, 0]).sqrt()", "finite gradient"),
    (SENDER, "self.scale = options.scale", "self.scale = 0.5", "option is read"),
    (SENDER, "        inputs = torch.zeros_like(state)",
     "        self.mean = getattr(self, 'mean', 0) + state.detach().mean()\n"
     "        inputs = torch.zeros_like(state) + self.mean",
     "on earlier batches"),
    (SENDER, "inputs = torch.zeros_like(state)",
     "inputs = torch.zeros(len(state), 16)", "on the device of its inputs"),
    (SENDER, "super().__init__()",
     "super().__init__()\n        self.hook = lambda value: value", "sent to another process"),
    (SENDER, "self.scale = options.scale",
     "self.scale = options.scale\n        self.more = nn.Linear(3, 3)", "finite gradient"),
    (SENDER + TALKING_CHANNEL, "", "", "end at the first EOS"),
    (SENDER + RECEIVER, "", "", "rest of the batch"),
    (SENDER + MOVING_CHANNEL, "", "", "length of a message agree"),
    (SENDER + PERCEPTION, "", "", "In bf16"),
    (METRIC, "if len(corpus.messages)", "* float('nan') if len(corpus.messages)", "with a reason"),
    (CLASS, " / self.options.base", "", "option is read"),
    (METRIC, "def metric(corpus)",
     "from ecsuite.eval.metrics.traits import Traits\n"
     "from ecsuite.eval.metrics.traits import metric as judged\n"
     "@judged(Traits(bounds=(0, 0.5)))\n"
     "def metric(corpus)",
     "within its bounds"),
    (SHUFFLED, "(0.0, 0.5)", "(0.0, 0.01)", "shuffled meanings"),
    (METRIC, "np.mean(corpus.messages.lengths)", "np.mean(corpus.messages.values)", "Other symbol ids"),
    (TASK, "return answer[-1]", "return -answer[-1]", "choices are all right"),
    (LOSS, "ends * output.loss", "ends * output.loss.detach()", "for either agent"),
    (WORLD, "drawn.values + 0",
     "np.random.default_rng().permutation(drawn.values)", "depends on the seed, the split"),
    (WALK, "right=right", "right=np.random.default_rng().permutation(right)", "Equal seeds, episodes and actions"),
    (WALK, "right=right", "right=right * 0 + right.max()", "other episodes of its batch"),
    (PLAY, "said = self.count", "self.count += 1; said = self.count", "leaves its state"),
]  # fmt: skip


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(own_code, "_trusted", set())


def outcomes(path, code, words=""):
    """What the checks whose statement has these words say of the last part in some code."""
    path.write_text(code)
    name = [line.split()[1].split("(")[0].strip(":") for line in code.splitlines() if line[:4] in ("clas", "def ")][-1]
    part = f"./{path.name}:{name}"
    found = [check for check in without(TRAIN_MORE, checks(kind_of(part), part)) if words in str(check)]
    return {str(each.check): each.problem for each in map(run, found)}


@pytest.mark.parametrize(("code", "right", "wrong", "words"), FAULTS, ids=[words for *_, words in FAULTS])
def test_the_fault_is_found(code, right, wrong, words, tmp_path):
    assert right in code
    found = outcomes(tmp_path / "own.py", code.replace(right, wrong) if right else code, words)
    assert any(found.values()), found


@pytest.mark.sample(2)
@pytest.mark.parametrize("code", [SENDER, METRIC, WALK, PLAY], ids=["sender", "metric", "environment", "play"])
def test_parts_without_faults_pass(code, tmp_path):
    found = outcomes(tmp_path / "own.py", code)
    assert not [problem for problem in found.values() if problem]
