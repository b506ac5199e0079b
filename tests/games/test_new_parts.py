"""A new part is a class and a line in its registry: then it is named, set, trained, written down and trained again."""

import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml
from torch import nn

from ecsuite.agents.options import AgentOptions, PerceptionOptions
from ecsuite.agents.perception import Perception
from ecsuite.agents.receivers import Receiver
from ecsuite.agents.registry import PERCEPTIONS, RECEIVERS, SENDERS
from ecsuite.agents.senders import Sender
from ecsuite.formats import read_corpus
from ecsuite.games.channels.channels import RelaxedOptions, SymbolChannel
from ecsuite.games.channels.message_builders import RelaxedMessageBuilder
from ecsuite.games.config.experiment import load_experiment, override
from ecsuite.games.config.registry import CHANNELS, LOSSES, OPTIMIZERS, SCHEDULES, TASKS, WORLDS
from ecsuite.games.engine.optimizers import Optimizer, OptimizerOptions
from ecsuite.games.tasks.losses import Loss
from ecsuite.games.tasks.tasks import Task, TaskOutput
from ecsuite.games.worlds.world import Batch, RoundSpec, World, one_hot
from ecsuite.parts import own_code
from ecsuite.parts.config import Count, Levels, Positive, Share, Weight
from ecsuite.parts.own_code import UntrustedError
from ecsuite.runtime.errors import ConfigError

options = dataclass(frozen=True, kw_only=True, slots=True)


class Ring(World):
    """Places on a ring; the candidates of a round are neighbours."""

    @options
    class Options:
        size: Levels = 6

    def __init__(self, options, *, rounds, sizes):
        super().__init__(rounds, sizes)
        self.num_values, self.object_shape = (options.size,), (options.size,)
        self.value_names = [[f"place={place}" for place in range(options.size)]]

    def draw(self, split, number, size):
        rng = np.random.default_rng([self.seed, *split.encode(), number])
        first, target = rng.integers(self.num_values[0], size=(2, size, 1))
        num_candidates = 1 + self.num_distractors
        objects = ((first + np.arange(num_candidates)) % self.num_values[0]).reshape(-1, 1)
        labels = np.arange(num_candidates) == target % num_candidates
        shown = np.flatnonzero(labels)[:, None]
        of_round = {"num_positive": 1, "candidates": None, "labels": labels, "values": objects}
        return Batch(objects=objects, shown=shown, **of_round)

    def features(self, objects, dtype):
        return one_hot(objects, self.num_values[0], dtype)


class Margin(Task):
    """Give the target a higher score than every other candidate, by a margin."""

    @options
    class Options:
        margin: Positive = 1.0

    @staticmethod
    def rounds(options):
        return RoundSpec(num_distractors=2)

    def forward(self, answer, truth):
        of_target = answer[:, truth.labels][..., None]
        loss = (answer - of_target + self.options.margin).relu().mean(-1)
        return TaskOutput(loss=loss, measures={"accuracy": (answer <= of_target).all(-1).float()})

    def chance(self):
        return {"accuracy": 1 / 3}


class Flipping(SymbolChannel):
    """Softmax weights mixed with those of the symbols in reverse order."""

    @options
    class Options(RelaxedOptions):
        flip: Share = 0.0

    def start_training_message(self, like, generator, epoch):
        flip = self.options.flip

        class Builder(RelaxedMessageBuilder):
            def step(self, logits):
                return super().step(torch.lerp(logits, logits.flip(-1), flip))

        return Builder(self.options, None, self.options.temperature_in(epoch))


class OneLayer(Sender):
    """A sender of one layer of torch, which does not see its own symbols."""

    @options
    class Options(AgentOptions):
        flip: Share = 0.0

    def __init__(self, options, *, num_features, vocab_size, max_len):
        super().__init__()
        self.flip, self.shape = options.flip, (max_len, vocab_size + 1)
        self.layer = nn.Linear(num_features, max_len * (vocab_size + 1))

    def forward(self, meanings, builder):
        logits = self.layer(meanings).unflatten(-1, self.shape) * (1 - 2 * self.flip)
        for step in logits.unbind(1):
            builder.step(step)
        return builder.message()


class Counting(Receiver):
    """A receiver that adds up a vector for each symbol."""

    @options
    class Options(AgentOptions):
        width: Count = 4

    def __init__(self, options, *, vocab_size, max_len):
        super().__init__(state_size=options.width)
        self.vectors = nn.Parameter(torch.randn(vocab_size + 1, options.width))

    def forward(self, message):
        symbols = message.symbols
        if not symbols.is_floating_point():
            symbols = nn.functional.one_hot(symbols.clamp(min=0), len(self.vectors)).float()
        return message.at_ends(list((symbols @ self.vectors).cumsum(0)))


class Scaled(Perception):
    """The features, times a number that is learnt."""

    @options
    class Options(PerceptionOptions):
        scale: Positive = 1.0

    def __init__(self, options, *, object_shape, state_size=None):
        super().__init__()
        self.out_features = object_shape[0]
        self.scale = nn.Parameter(torch.tensor(options.scale))

    def forward(self, features):
        return features * self.scale


class Descent(Optimizer):
    """Stochastic gradient descent."""

    @options
    class Options(OptimizerOptions):
        momentum: Share = 0.0

    def optimizer(self, parameters):
        return torch.optim.SGD(parameters, lr=self.options.lr, momentum=self.options.momentum)


class Halving:
    """Half the rate after some steps."""

    @options
    class Options:
        after: Count = 100

    def __init__(self, options, *, steps_per_epoch):
        self.after = options.after

    @staticmethod
    def horizon(options, num_epochs):
        return options

    def factor(self, step):
        return 0.5 ** (step // self.after)


class Weighted(Loss):
    """The task's loss times a number."""

    @options
    class Options:
        weight: Weight = 1.0

    def forward(self, output, ends, message):
        return self.options.weight * (ends * output.loss).sum(0), torch.zeros_like(message.length)


NEW = {
    "world": (WORLDS, Ring, "size=7"),
    "task": (TASKS, Margin, "margin=0.5"),
    "channel": (CHANNELS, Flipping, "flip=0.2"),
    "sender": (SENDERS, OneLayer, "flip=0.2"),
    "receiver": (RECEIVERS, Counting, "width=6"),
    "sender.perception": (PERCEPTIONS, Scaled, "scale=2.5"),
    "receiver.perception": (PERCEPTIONS, Scaled, "scale=2.5"),
    "optimizer": (OPTIMIZERS, Descent, "momentum=0.5"),
    "schedule": (SCHEDULES, Halving, "after=1"),
    "loss": (LOSSES, Weighted, "weight=0.5"),
}
"""Registry, class and a setting that is not the default, by section."""
TINY = ("training.num_examples=64", "training.num_epochs=1", "evaluation.corpus_size=9")


@pytest.mark.slow
@pytest.mark.parametrize("section", NEW)
def test_a_new_part_is_trained_with_its_options_and_written_down(section, small, run, contents, tmp_path, monkeypatch):
    registry, made, setting = NEW[section]
    monkeypatch.setitem(registry.parts, "mine", (f"{made.__module__}:{made.__name__}", "made in a test"))
    plain, (option, _, value) = override(small(*TINY), [f"{section}.kind=mine"]), setting.partition("=")
    result = run(override(plain, [f"{section}.{setting}"]), tmp_path / "run")
    assert result.step == 2 and np.isfinite(list(result.measures.values())).all()
    assert len(read_corpus(tmp_path / "run").messages) == 9
    written = yaml.safe_load((tmp_path / "run" / "config.yaml").read_text())
    for part in section.split("."):
        written = written[part]
    assert written["kind"] == "mine" and written[option] == yaml.safe_load(value)
    run(load_experiment(str(tmp_path / "run" / "config.yaml")), tmp_path / "again")
    run(plain, tmp_path / "plain")
    here, again, other = (contents(tmp_path / name) for name in ("run", "again", "plain"))
    assert here == again and here["log.jsonl"] != other["log.jsonl"]


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A copy of this file in the current folder, whose code nobody has trusted yet."""
    monkeypatch.setattr(own_code, "_trusted", set())
    monkeypatch.chdir(tmp_path)
    return Path(shutil.copy(__file__, tmp_path / "own.py"))


def test_all_parts_from_one_file(small, run, own):
    settings = [f"{section}=./own.py:{part.__name__},{option}" for section, (_, part, option) in NEW.items()]
    assert run(override(small(*TINY), settings), Path("run")).step == 2


def test_a_part_from_a_file_is_repeated_from_its_copy_and_a_change_is_another_run(small, run, own):
    changes = (*TINY, "channel=./own.py:Flipping,flip=0.2")
    run(small(*changes), Path("run"))
    config = yaml.safe_load(Path("run/config.yaml").read_text())
    assert config["code"] == {"./own.py": own_code.checksum("own.py")}
    assert run(small(*changes), Path("run")).was_done
    own.write_text(own.read_text() + "# changed\n")
    for resume in (False, True):
        with pytest.raises(ConfigError, match=r"^run holds another run \(channel.kind is run/code/\w{8}/own"):
            run(small(*changes), Path("run"), resume=resume)
    own_code._trusted.clear()
    with pytest.raises(UntrustedError, match=r"would run the code in run/code/.*/own.py: .* --trust-code"):
        load_experiment("run/config.yaml")
    notes = []
    again = load_experiment("run/config.yaml", note=notes.append, trust_code=True)
    assert len(notes) == 1 and notes[0].endswith("the copy, as ./own.py or its imports have changed")
    run(again, Path("again"))
    for name in ("corpus.jsonl", "meanings.jsonl"):
        assert Path("run", name).read_bytes() == Path("again", name).read_bytes()


def test_a_lost_copy_is_told(small, run, own):
    run(small(*TINY, "channel=./own.py:Flipping"), Path("run"))
    shutil.rmtree("run/code")
    own.unlink()
    with pytest.raises(ConfigError, match=r"run: the code in ./own.py is missing: expected a file with SHA"):
        load_experiment("run/config.yaml", trust_code=True)


@pytest.mark.slow
def test_own_meetings_are_recorded_and_copied(small, run, own):
    registry = "from ecsuite.games.config.registry import MEETINGS\n"
    own.write_text(registry + "class Apart(MEETINGS.load('all')): pass\n")
    run(small(*TINY, "society.senders=2", "society.receivers=2", "society.meets=./own.py:Apart"), Path("run"))
    config = yaml.safe_load(Path("run/config.yaml").read_text())
    assert config["code"] == {"./own.py": own_code.checksum("own.py")}
    assert [file.name for file in Path("run/code").rglob("*.py")] == ["own.py"]
