"""Signals that end long work early; only the main thread of a process handles them, at a command's request.

Windows has no SIGUSR1, and no thread but the main one can handle signals.
"""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType
from typing import Any, Literal, NoReturn

StopRequest = Literal["interrupt", "preempted"]
"""Reason to stop: Ctrl-C, or SIGTERM or SIGUSR1 of a scheduler such as Slurm."""


_ends_at_once = ContextVar("ends_at_once", default=False)


@contextmanager
def stop_signals() -> Iterator[Callable[[], StopRequest | None]]:
    """Note SIGINT, SIGTERM and SIGUSR1 instead of ending; the second signal has its usual effect.

    In other threads than the main one nothing is changed, and there is never a request to stop.

    Yields:
        Returns the request to stop of the first signal; None without one.
    """
    received: list[int] = []
    before = _usual_handlers("SIGINT", "SIGTERM", "SIGUSR1")

    def should_stop() -> StopRequest | None:
        if not received:
            return None
        return "interrupt" if received[0] == signal.SIGINT else "preempted"

    def note_signal(number: int, _: FrameType | None) -> None:
        # Both may be pending at once, so the handler of one is not changed while the other is handled.
        if received:
            signal.signal(number, before[number])
            signal.raise_signal(number)
        received.append(number)
        if _ends_at_once.get() and (request := should_stop()) is not None:
            end_as_requested(request)

    with _handled(before, note_signal):
        yield should_stop


@contextmanager
def ending_at_once() -> Iterator[None]:
    """During a computation without checkpoints, end at the first signal of `stop_signals`.

    Raises:
        KeyboardInterrupt, SystemExit: See `end_as_requested`.
    """
    before = _ends_at_once.set(True)
    try:
        yield
    finally:
        _ends_at_once.reset(before)


@contextmanager
def exit_at_sigterm() -> Iterator[None]:
    """Raise SystemExit with code 75 at SIGTERM, so that clean-up runs; nothing is changed in other threads."""
    with _handled(_usual_handlers("SIGTERM"), lambda *_: sys.exit(75)):
        yield


@contextmanager
def handlers_kept() -> Iterator[None]:
    """Restore the present handlers of signals afterwards: a library may set its own."""
    before = _usual_handlers("SIGINT", "SIGTERM", "SIGUSR1")
    try:
        yield
    finally:
        for number, usual in before.items():
            signal.signal(number, usual)


def _usual_handlers(*names: str) -> dict[int, Any]:
    """The current handlers of the signals that this system has and this thread can handle."""
    if threading.current_thread() is not threading.main_thread():
        return {}
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    return {number: signal.getsignal(number) for number in numbers}


@contextmanager
def _handled(before: dict[int, Any], handler: Callable[[int, FrameType | None], object]) -> Iterator[None]:
    """Handle signals, and restore the previous handlers afterwards."""
    for number in before:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number, usual in before.items():
            signal.signal(number, usual)


def end_as_requested(request: StopRequest, told: str | None = None) -> NoReturn:
    """End in the way of the signal that asked for it.

    Args:
        request: Reason.
        told: Message that was already printed; the command line then prints no other.

    Raises:
        KeyboardInterrupt: If it was Ctrl-C.
        SystemExit: With code 75, which tells schedulers that the work resumes when it is started again.
    """
    end = SystemExit(75) if request == "preempted" else KeyboardInterrupt()
    if told is not None:
        end.add_note(told)
    raise end
