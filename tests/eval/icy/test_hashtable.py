"""The hashtable: the first stored message is kept, unknown meanings get symbols 1."""

import pytest
import torch
from torch.nn.functional import one_hot

from ecsuite.eval.icy.agents import HashtableSender, parameter_count


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
