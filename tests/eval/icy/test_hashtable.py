"""Lookup tables: the first stored answer is kept, unknown inputs get the default answer."""

import pytest
import torch
from torch.nn.functional import one_hot

from ecsuite.eval.icy.acquisition import TrainingRun, learn
from ecsuite.eval.icy.agents import HashtableSender, make_agent, parameter_count, parse_model
from ecsuite.eval.icy.protocol import Protocol
from ecsuite.grammars.geometry import Geometry


def test_the_first_stored_message_is_kept():
    table = HashtableSender(vocab_size=3, max_len=2)
    meanings = torch.tensor([[0, 1], [1, 0], [0, 1]])
    messages = torch.tensor([[1, 2], [3, 3], [2, 2]])
    assert table.predict(meanings).tolist() == [[1, 1]] * 3
    assert table.score(meanings, messages) == pytest.approx(1 / 6)
    table.add(meanings, messages)
    assert table.predict(meanings).tolist() == [[1, 2], [3, 3], [1, 2]]
    assert table.predict(meanings.float()).tolist() == [[1, 2], [3, 3], [1, 2]]
    assert table.score(meanings, messages) == pytest.approx(5 / 6)
    messages.zero_()
    assert table.predict(meanings[:1]).tolist() == [[1, 2]]


def test_it_has_no_parameters_and_certain_logits(soft_message_builder):
    table = HashtableSender(vocab_size=3, max_len=2)
    assert parameter_count(table) == 0
    meanings = one_hot(torch.tensor([2, 0]), 4).float()
    table.add(meanings[:1], torch.tensor([[3, 2]]))
    logits = table(meanings, soft_message_builder(2))
    assert logits.shape == (2, 2, 4) and logits.argmax(-1).t().tolist() == [[3, 2], [1, 1]]
    assert logits.softmax(-1).amax(-1).min() > 0.999999


def receiver(name):
    """A receiver of two attributes and messages of four symbols."""
    return make_agent(
        parse_model("receiver", name), "receiver", Geometry(num_attributes=2, num_values=3, word_length=2), 8
    )


@pytest.mark.parametrize("name", ["hashtable", "knn"])
def test_receivers_give_the_first_meaning_of_a_message(name):
    table = receiver(name)
    messages = torch.tensor([[1, 2, 3, 4], [4, 4, 4, 4], [1, 2, 3, 4]])
    meanings = torch.tensor([[2, 1], [1, 2], [0, 2]])
    assert parameter_count(table) == 0
    assert table.predict(messages).tolist() == [[0, 0]] * 3
    assert table.score(messages, meanings) == pytest.approx(1 / 6)
    table.add(messages, meanings)
    assert table.predict(messages).tolist() == [[2, 1], [1, 2], [2, 1]]
    table.add(messages[1:2], torch.tensor([[0, 0]]))
    assert table.predict(messages[1:2]).tolist() == [[1, 2]]


def test_an_unknown_message_gets_values_0_or_the_meaning_of_the_nearest_one():
    table, nearest = receiver("hashtable"), receiver("knn")
    messages = torch.tensor([[1, 1, 1, 1], [2, 2, 2, 2], [1, 1, 2, 2]])
    meanings = torch.tensor([[1, 1], [2, 2], [1, 2]])
    unknown = torch.tensor([[1, 1, 2, 1], [2, 2, 2, 3], [4, 4, 4, 4]])  # two are as near to 1, 1, 2, 1
    for each in (table, nearest):
        each.add(messages[:2], meanings[:2])
        each.add(messages[2:], meanings[2:])
    assert table.predict(unknown).tolist() == [[0, 0]] * 3
    assert nearest.predict(unknown).tolist() == [[1, 1], [2, 2], [1, 1]]


def test_only_the_nearest_neighbour_generalises():
    """CONCAT's neighbours share words; in HOL they share nothing, so that held-out meanings stay at chance level."""
    geometry = Geometry(num_attributes=3, num_values=4, word_length=3)
    protocol = Protocol(target=None, held_out=0.25)

    def held_out(name, grammar):
        run = TrainingRun(grammar=grammar, seed=1, cap=40)
        ((_, outcome),) = learn(name, "receiver", geometry, [run], protocol)
        return outcome.held_out

    assert held_out("knn", "concat") > 0.6 > 0.45 > held_out("knn", "hol")
    assert held_out("hashtable", "concat") == held_out("hashtable", "hol") < 0.45
