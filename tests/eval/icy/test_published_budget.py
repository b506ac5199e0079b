"""The paper's accuracies after a fixed number of updates, as data."""

from ecsuite.eval.icy.models import parse_model
from ecsuite.eval.icy.published_budget import (
    RECEIVER_GRAMMARS,
    SENDER_GRAMMARS,
    TABLE_16,
    TABLE_17,
    TABLE_18,
    TABLE_20,
    published_budget,
    published_pair,
)


def test_published_figures():
    assert published_budget("RNNAutoReg:LSTM", "sender", "soft") == TABLE_20["lstm"]
    assert published_budget("fc1l", "sender", "soft")["shufdet"] == 0.741
    assert published_budget("fc1l", "sender", "soft")["pairsum"] == 0.538
    assert published_budget("hier:gru,stop=first,reset=on", "receiver", "gumbel")["shuf"] == 1.0
    assert published_budget("fc2l,hidden=1280", "sender", "soft") == {}
    assert published_pair("gru", "gru", "reinforce")["perm"] == 0.68
    assert published_pair("rnn-z", "rnn", "soft").keys() == {"concat", "perm", "shufdet", "pairsum"}
    assert published_pair("lstm", "lstm", "soft") == {}


def test_published_tables_are_whole_and_their_names_canonical():
    for table, role, num_models, grammars in (
        (TABLE_16, "sender", 7, SENDER_GRAMMARS),
        (TABLE_17, "receiver", 8, RECEIVER_GRAMMARS),
    ):
        for models in table.values():
            assert len(models) == num_models
            for model, figures in models.items():
                assert str(parse_model(role, model)) == model and tuple(figures) == grammars
    assert all(len(pairs) == 6 for pairs in TABLE_18.values())
