"""Agent names: canonical forms, errors that list the choices, and sizes of the reference model."""

import pytest

from ecsuite.agents.registry import RECEIVERS, SENDERS
from ecsuite.agents.spec import families, parse_agent
from ecsuite.eval.icy.agents import parameter_count
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.players.pair import make_pair
from ecsuite.games.worlds.world import make_world
from ecsuite.parts.registry import option_types
from ecsuite.runtime.errors import ConfigError


@pytest.mark.parametrize(
    ("role", "text", "canonical"),
    [
        ("sender", "lstm", "lstm"),
        ("sender", "LSTM-Z", "lstm-z"),
        ("sender", "LSTM-1L", "lstm"),
        ("sender", "GRU-2L-Z", "gru-2l-z"),
        ("sender", "sru-tanh-3l", "sru-tanh-3l"),
        ("sender", "RNNAutoReg:LSTM", "lstm"),
        ("sender", "RNNAutoReg2L:LSTM", "lstm-2l"),
        ("sender", "RNNZero:GRU", "gru-z"),
        ("sender", "RNNZero2L:SRU", "sru-2l-z"),
        ("sender", "HierZero:dgsend", "husendz:dgsend"),
        ("sender", "HierAutoReg:RNN", "husenda:rnn"),
        ("sender", "HUSendZ:dgsend", "husendz:dgsend"),
        ("sender", "TransDecSoft", "transformer"),
        ("sender", "TransDecSoft2L,init=copied", "transformer-2l,init=copied"),
        ("sender", "FC1L", "fc1l"),
        ("sender", "FC2L, hidden = 1280", "fc2l,hidden=1280"),
        ("receiver", "RNN:LSTM", "lstm"),
        ("receiver", "RNN1L:LSTM", "lstm"),
        ("receiver", "RNN2L:GRU", "gru-2l"),
        ("receiver", "Hier:GRU,stop=first,reset=on", "hier:gru,reset=on,stop=first"),
        ("receiver", "hier:gru,stop=each,reset=off", "hier:gru"),
        ("receiver", "CNN,blocks=3", "cnn,blocks=3"),
        ("receiver", "FC2L,form=flat", "fc2l"),
        ("receiver", "FC3L", "fc3l"),
        ("receiver", "MeanEmbeddings", "mean_embeddings"),
    ],
)
def test_names_become_canonical(role, text, canonical):
    spec = parse_agent(role, text)
    assert str(spec) == canonical and parse_agent(role, canonical) == spec
    assert hash(spec) == hash(parse_agent(role, canonical))


def test_fields_of_a_spec():
    spec = parse_agent("sender", "lstm-2l-z,hidden=64")
    found = (spec.name, spec.family, spec.cell, spec.num_layers, spec.zero_input)
    assert found == ("lstm-2l-z", "lstm", "lstm", 2, True) and spec.number("hidden") == 64
    spec = parse_agent("receiver", "hier:dgrecv")
    assert (spec.name, spec.family, spec.cell) == ("hier:dgrecv", "hier:CELL", "dgrecv")
    assert spec.options == () and spec.number("hidden") is None


@pytest.mark.parametrize(
    ("role", "text", "message"),
    [
        ("sender", "lsmt", r"unknown sender 'lsmt'; did you mean 'lstm'\? choices: dgrecv, "),
        ("sender", "husend:gru", r"unknown sender 'husend:gru'; did you mean 'husend[az]:CELL'\? choices: dgrecv, "),
        ("receiver", "HierAutoReg:dgsend", r"unknown receiver 'HierAutoReg:dgsend'.* choices: bidirectional, cnn, "
         "dgrecv, dgsend, fc1l, fc2l, fc3l, gru, hier:CELL, lexicon, lstm, mean_embeddings, phrasebook, rnn, sru, "
         "sru-tanh, transformer$"),
        ("receiver", "HierZero:GRU", "unknown receiver 'HierZero:GRU'"),
        ("sender", "HierZero:DGSND", r"unknown cell 'DGSND'; did you mean 'dgsend'\? choices: dgrecv, dgsend, gru, "),
        ("sender", "RNNAutoReg:LSTM,Hiden=4", "unknown option of RNNAutoReg:LSTM 'Hiden'; did you mean 'hidden'"),
        ("receiver", "FC2L,form=Summ", "unknown value of form 'Summ'; did you mean 'sum'"),
        ("sender", "husendz", r"unknown sender 'husendz'; did you mean 'husendz:CELL'\?"),
        ("sender", "husendz:CELL", r"unknown cell 'CELL'; choices: "),
        ("sender", "husendz:dgsnd", r"unknown cell 'dgsnd'; did you mean 'dgsend'\? choices: dgrecv, dgsend, gru"),
        ("sender", "fc1l-z", r"unknown sender 'fc1l-z'; did you mean 'fc1l'\?"),
        ("sender", "hier:gru", "unknown sender 'hier:gru'; .* husenda:CELL, husendz:CELL, "),
        ("sender", "", "unknown sender ''; choices: "),
        ("sender", "Hashtable", "sender Hashtable learns from a given language only; see `ecsuite icy`"),
        ("receiver", "KNN", "receiver KNN learns from a given language only; see `ecsuite icy`"),
        ("receiver", "gru-z", r"unknown receiver 'gru-z'; did you mean 'gru'\?"),
        ("receiver", "transfomer", r"unknown receiver 'transfomer'; did you mean 'transformer'\?"),
        ("sender", "lstm,64", "lstm: expected key=value after the comma, got '64'"),
        ("sender", "lstm,hiden=4", r"unknown option of lstm 'hiden'; did you mean 'hidden'\? choices: hidden"),
        ("sender", "lstm,hidden=0", "lstm: hidden: expected a number from 1 to 999999, got '0'"),
        ("sender", "fc1l,hidden=4", "fc1l has no options; leave out ',hidden=4'"),
        ("receiver", "hier:gru,stop=frist", r"unknown value of stop 'frist'; did you mean 'first'\? choices: each"),
        ("receiver", "cnn,blocks=two", "cnn: blocks: expected a number from 1 to 999999, got 'two'"),
        ("receiver", "cnn,blocks=" + "9" * 5000, "cnn: blocks: expected a number from 1 to 999999, got '9999"),
        ("sender", "lstm," + "x" * 5000, "lstm: expected key=value after the comma, got 'xxxx"),
        ("sender", "fc1l," + "x=" * 5000, "fc1l has no options; leave out ',x=x"),
    ],
)  # fmt: skip
def test_errors_of_unknown_names(role, text, message):
    with pytest.raises(ConfigError, match=message) as error:
        parse_agent(role, text)
    assert len(str(error.value)) < 300


@pytest.mark.parametrize("role", ["sender", "receiver"])
def test_every_part_has_a_name_whose_section_it_can_read(role):
    registry, kinds = {"sender": SENDERS, "receiver": RECEIVERS}[role], set()
    for family in families(role):
        section = parse_agent(role, family.replace("CELL", "gru")).section()
        kind = section.pop("kind")
        kinds.add(kind)
        assert set(section) <= set(option_types(registry.load(kind).Options))
    assert kinds == set(registry.parts)


def test_sizes_are_those_of_the_reference_model():
    """EGG's model for the same game has 228,870 and 847,584 parameters (its receiver has the candidate encoder)."""
    experiment = load_experiment("disc_small")
    game = make_pair(experiment, make_world(experiment))
    assert parameter_count(game.speaker.network) == 228_870
    of_receiver = (game.listener.network, game.listener.perception, game.task)
    assert sum(parameter_count(part) for part in of_receiver) == 847_584
    assert parameter_count(game) == 228_870 + 847_584
