"""Signals: the first is noted, the second acts; only the main thread handles them, and their handlers come back."""

import signal

import pytest

from ecsuite.jobs.signals import stop_signals


@pytest.fixture
def keyboard():
    """Ctrl-C raises KeyboardInterrupt, also where the tests run in the background and would not hear of it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("keyboard")
def test_the_first_signal_is_noted_and_the_second_acts():
    with stop_signals() as should_stop:
        assert should_stop() is None
        signal.raise_signal(signal.SIGINT)
        assert should_stop() == "interrupt"
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
