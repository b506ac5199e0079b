"""Lookup tables: the first stored answer is kept, unknown inputs get the default answer."""

import torch
from torch.nn.functional import one_hot

from ecsuite.eval.icy.agents import HashtableSender, make_agent, parameter_count, parse_model
from ecsuite.grammars.geometry import Geometry


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
