"""Updates on CUDA: graphs, and runs side by side, give what is given without them."""

import math
from dataclasses import replace

import pytest
import torch

from ecsuite.eval.icy import acquisition, agents
from ecsuite.eval.icy.acquisition import TrainingRun, Updates, learn
from ecsuite.eval.icy.protocol import Protocol
from ecsuite.grammars.geometry import Geometry
from ecsuite.runtime import recording
from ecsuite.runtime.errors import DivergedError

pytestmark = pytest.mark.device("pretended", "cuda")

GEOMETRY = Geometry(num_attributes=2, num_values=3, word_length=2)
PROTOCOL = Protocol(hidden_size=16, batch_size=16, window=1, target=None, held_out=0.25)


def test_transformers_side_by_side_learn_as_one_by_one(monkeypatch):
    runs = [TrainingRun(grammar="concat", seed=seed, cap=2) for seed in range(2)]

    def learnt():
        return dict(learn("transformer", "sender", GEOMETRY, runs, PROTOCOL, device=torch.device("cuda")))

    together = learnt()
    monkeypatch.setattr(agents, "SIDE_BY_SIDE", ())
    for index, outcome in learnt().items():
        assert together[index] == outcome  # without their weights
        for name, weight in outcome.weights.items():
            if not name.endswith("inward.bias"):  # whose gradient is zero for keys
                torch.testing.assert_close(together[index].weights[name], weight, rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("model", "fewest", "num_made"),
    [("lstm-2l", 1, 4), ("fc2l", 8, 2), pytest.param("transformer", 1, 4, marks=pytest.mark.slow)],
)
def test_runs_of_graphs_end_as_those_without_graphs(monkeypatch, model, fewest, num_made):
    """At different updates, two of them at once, and one whose weights are not finite from an update on."""
    for name in ("NUM_CALLS_BEFORE", "NUM_CALLS_BEFORE_GRAPH"):
        monkeypatch.setattr(recording, name, 1)
    monkeypatch.setattr(acquisition, "MAX_UNDROPPED", fewest)
    runs = [TrainingRun(grammar="concat", seed=seed, cap=cap) for seed, cap in enumerate((12, 4, 99, 5, 5, 9))]
    protocol, made = replace(PROTOCOL, clip=1.0), []

    class Watched(Updates):
        has_none = False

        def __init__(self, *arguments):
            super().__init__(*arguments)
            assert self.has_graphs
            self.has_graphs, self.updates = not self.has_none, 0
            made.append(self.recorded)

        def step(self):
            super().step()
            self.updates += 1
            if self.updates == 7:  # runs 0, 2 and 5 are left
                place = 1 if self.replicas.count == 3 else 2
                next(iter(self.replicas.parameters().values())).detach()[place] = math.nan

        def keep(self, kept):
            super().keep(kept)
            made.append(self.recorded)

    def learnt():
        found = {}
        with pytest.raises(DivergedError, match=r"concat, seed 2: the loss is not finite after 7 updates"):
            for index, outcome in learn(model, "sender", GEOMETRY, runs, protocol, device=torch.device("cuda")):
                found[index] = outcome
        return found

    monkeypatch.setattr(acquisition, "Updates", Watched)
    found = learnt()
    assert [len(recorded.replays) for recorded in made] == [2] * num_made
    assert not any(recorded.reasons for recorded in made)
    Watched.has_none = True
    without = learnt()
    assert sorted(found) == [0, 1, 3, 4, 5] and found == without  # without their weights
    for index, outcome in found.items():
        for name, weight in outcome.weights.items():
            torch.testing.assert_close(weight, without[index].weights[name], rtol=0, atol=1e-6)
