"""Signals: the first is noted, the second acts; only the main thread handles them, and their handlers come back."""

import signal
import threading

import pytest

from ecsuite.jobs.signals import ending_at_once, exit_at_sigterm, stop_signals


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


def test_of_two_stops_that_come_at_once_the_second_acts_as_usual():
    """Both handlers are called one right after the other, so the first must leave that of the second in place."""
    both = {signal.SIGTERM, signal.SIGUSR1}
    as_usual = []
    before = {number: signal.signal(number, lambda number, _: as_usual.append(number)) for number in both}
    try:
        with stop_signals() as should_stop:
            signal.pthread_sigmask(signal.SIG_BLOCK, both)
            for number in both:
                signal.raise_signal(number)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, both)
            assert should_stop() == "preempted"
        assert set(as_usual) < both and len(as_usual) == 1
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def test_a_system_without_sigusr1(monkeypatch):
    monkeypatch.delattr(signal, "SIGUSR1")
    before = signal.getsignal(signal.SIGTERM)
    with stop_signals() as should_stop:
        signal.raise_signal(signal.SIGTERM)
        assert should_stop() == "preempted"
    assert signal.getsignal(signal.SIGTERM) is before


def test_other_threads_change_no_handler():
    before, found = signal.getsignal(signal.SIGTERM), []

    def work():
        with stop_signals() as should_stop, exit_at_sigterm():
            found.extend([should_stop(), signal.getsignal(signal.SIGTERM)])

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [None, before]


def test_exit_at_sigterm_and_never_again():
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(SystemExit) as ended, exit_at_sigterm():
        signal.raise_signal(signal.SIGTERM)
    assert ended.value.code == 75 and signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize(("number", "expected"), [("SIGINT", KeyboardInterrupt), ("SIGTERM", SystemExit)])
def test_what_keeps_nothing_ends_at_once(number, expected):
    with stop_signals() as should_stop, pytest.raises(expected) as raised, ending_at_once():
        signal.raise_signal(getattr(signal, number))
    assert should_stop() == ("interrupt" if number == "SIGINT" else "preempted")
    assert expected is KeyboardInterrupt or raised.value.code == 75
    with stop_signals() as should_stop:
        signal.raise_signal(getattr(signal, number))
        assert should_stop() is not None
