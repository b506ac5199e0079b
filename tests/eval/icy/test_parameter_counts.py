"""The parameter counts of the paper's tables and of its program, exactly."""

import pytest

from ecsuite.eval.icy.agents import published_parameters

SENDERS = {
    "FC1L": 5100,
    "FC2L": 19428,
    "RNNAutoReg:RNN": 40837,
    "RNNZero:RNN": 40069,
    "RNNAutoReg:GRU": 106885,
    "RNNZero:GRU": 106117,
    "RNNAutoReg:LSTM": 139909,
    "RNNZero:LSTM": 139141,
    "RNNAutoReg2L:LSTM": 272005,
    "RNNAutoReg:dgsend": 106117,
    "RNNZero:dgsend": 105349,
    "HierAutoReg:RNN": 64262,
    "HierZero:RNN": 40710,
    "HierAutoReg:dgsend": 178566,
    "HierZero:dgsend": 138758,
    "TransDecSoft": 272389,
    "TransDecSoft2L": 536965,
    "RNNAutoReg:LSTM,hidden=1280": 13195525,
    "FC2L,hidden=1280": 193380,
    "HierZero:GRU": 107782,
    "HierZero:LSTM": 141318,
    "HierAutoReg:GRU": 163846,
    "RNNZero2L:RNN": 73093,
    "RNNZero2L:GRU": 205189,
    "RNNZero2L:LSTM": 271237,
    "RNNZero2L:SRU": 106373,
    "Hashtable": 0,
}
RECEIVERS = {
    "CNN,blocks=3": 161970,
    "FC1L": 5000,
    "FC2L,form=sum": 19250,
    "FC3L": 335538,
    "Hashtable": 0,
    "KNN": 0,
    "RNN:RNN": 42044,
    "RNN:GRU": 108092,
    "RNN:LSTM": 141116,
    "RNN:dgrecv": 205628,
    "RNN:SRU": 58684,
    "RNN2L:RNN": 75068,
    "RNN2L:GRU": 207164,
    "RNN2L:LSTM": 273212,
    "RNN2L:SRU": 108348,
    "RNN2L:dgrecv": 402236,
    "Hier:RNN": 73907,
    "Hier:GRU": 206003,
    "Hier:LSTM": 272051,
    "Hier:dgrecv": 401075,
}


@pytest.mark.parametrize(("name", "count"), SENDERS.items())
def test_senders_have_the_published_sizes(name, count):
    assert published_parameters(name, "sender") == count


@pytest.mark.parametrize(("name", "count"), RECEIVERS.items())
def test_receivers_have_the_published_sizes(name, count):
    assert published_parameters(name, "receiver") == count
