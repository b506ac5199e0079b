"""Interventions on messages: on sequences with known answers, and on a run."""

import json

import pytest
import torch

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.runs import interventions
from ecsuite.games.runs.interventions import (
    _message,
    _permuted,
    _replaced,
    _without,
    causal_influence,
    chosen_interventions,
)
from ecsuite.games.runs.run import load_run
from ecsuite.games.training.train import train
from ecsuite.runtime.errors import ConfigError

IDS = torch.tensor([[1, 2, 3, 0], [2, 2, 0, 0], [3, 0, 0, 0]])


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    changes = ["training.num_examples=1024", "training.num_epochs=4", "evaluation.num_valid=64"]
    train(
        load_experiment("disc_tiny", changes), folder, device="cpu", progress=lambda *_: None, note=lambda _: None
    )  # fmt: skip
    return load_run(folder)


class Rounds:
    """Answers that are known: the first symbol decides between two, and nothing else does."""

    ids, lengths = torch.tensor([[1, 1], [2, 1]]), torch.tensor([2, 2])

    def choices(self, ids):
        certain = torch.stack([ids[:, 0] == 1, ids[:, 0] == 2], dim=1).float()
        return certain[:, None].clamp(min=1e-12).log()


def test_a_symbol_that_decides_has_the_influence_of_a_coin():
    generator = torch.Generator().manual_seed(0)
    assert causal_influence(Rounds(), 0, 2, generator) == pytest.approx(0.6931, abs=1e-4)
    assert causal_influence(Rounds(), 1, 2, generator) == 0


def test_symbols_that_are_lost_let_the_others_move_up():
    assert _without(IDS, IDS == 2).tolist() == [[1, 3, 0, 0], [0, 0, 0, 0], [3, 0, 0, 0]]


def test_an_order_keeps_symbols_and_length():
    found = _permuted(IDS.repeat(50, 1), torch.Generator().manual_seed(1))
    assert torch.equal(found.sort(dim=1).values, IDS.repeat(50, 1).sort(dim=1).values)
    assert torch.equal(found > 0, IDS.repeat(50, 1) > 0)
    assert len({tuple(row) for row in found[::3].tolist()}) == 6


def test_messages_have_no_more_steps_than_they_need():
    """A receiver of a fixed number of places, such as a transformer, has none for more of them."""
    for has_eos, steps in ((True, 4), (False, 3)):
        assert _message(IDS, has_eos, torch.device("cpu")).symbols.shape == (steps, 3)


def test_another_symbol_is_never_the_same_nor_the_end():
    places = IDS > 0
    for seed in range(20):
        found = _replaced(IDS, places, 3, torch.Generator().manual_seed(seed))
        assert (
            (found[places] != IDS[places]).all()
            and (found[~places] == 0).all()
            and (found[places] <= 3).all()
        )
    assert torch.equal(_replaced(IDS, places, 1, torch.Generator()), IDS)


def test_messages_as_they_were_said_are_understood_as_in_the_evaluation(run):
    rows = run.intervene("permute,noise")
    assert rows[0].intervention == "none" and rows[0].num_messages == 64
    assert rows[0].accuracy == pytest.approx(run.evaluate()["valid"]["accuracy"])
    noise = [row for row in rows if row.intervention == "noise"]
    assert [row.probability for row in noise] == list(interventions.NOISE)
    assert noise[-1].accuracy < noise[-1].before == pytest.approx(rows[0].accuracy)
    assert run.intervene("permute,noise") == rows


def test_every_position_and_symbol_has_a_row(run):
    rows = run.intervene("all")
    longest = max(map(len, run.speak(torch.cartesian_prod(torch.arange(4), torch.arange(4)).numpy())))
    for name in ("drop", "replace"):
        assert [row.position for row in rows if row.intervention == name and row.position] == [
            *range(1, longest + 1)
        ]
    assert all(0 <= row.accuracy <= 1 and row.num_messages > 0 for row in rows)
    assert all(row.influence >= 0 for row in rows if row.intervention == "replace")
    json.dumps([row.to_json() for row in rows], allow_nan=False)


@pytest.mark.parametrize(
    "changes",
    [
        ["task=reconstruction"],
        ["channel.length=fixed", "channel.max_len=2"],
        ["channel=reinforce", "channel.vocab_size=1", "receiver=transformer"],
        ["task=in_batch", "evaluation.batch_size=10"],
    ],
)
def test_games_of_other_kinds(changes, tmp_path):
    small = ["training.num_examples=64", "training.num_epochs=1", "evaluation.num_valid=16"]
    experiment = load_experiment("disc_tiny", [*changes, *small])
    train(experiment, tmp_path, device="cpu", progress=lambda *_: None, note=lambda _: None)
    rows = load_run(tmp_path).intervene("all")
    assert rows[0].accuracy == pytest.approx(load_run(tmp_path).evaluate()["valid"]["accuracy"])


def test_what_can_not_be_is_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"^unknown intervention 'dorp'; did you mean 'drop'\?"):
        chosen_interventions(["dorp"])
    small = ["training.num_examples=64", "training.num_epochs=1", "channel=quantized"]
    experiment = load_experiment("disc_tiny", small)
    train(experiment, tmp_path, device="cpu", progress=lambda *_: None, note=lambda _: None)
    with pytest.raises(ConfigError, match="the words of this channel are real-valued"):
        load_run(tmp_path).intervene("drop")
