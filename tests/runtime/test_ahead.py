"""What other threads computed before it was asked for is what would have been computed then."""

import threading

import pytest

from ecsuite.runtime.ahead import NUM_AHEAD, Prefetcher


def test_values_are_those_of_the_arguments_in_any_order_of_calls():
    ahead = Prefetcher(lambda number, size: (number, size))
    asked = [(0, 2), (1, 2), (2, 3), (3, 3), (9, 3), (4, 3), (4, 3), (5, 2)]
    assert [ahead(*each) for each in asked] == asked


def test_what_follows_is_computed_by_other_threads_and_once():
    calls, last = [], threading.Event()

    def noted(number, size):
        calls.append((number, threading.current_thread()))
        if number == NUM_AHEAD:
            last.set()
        return number

    ahead = Prefetcher(noted)
    assert ahead(0, 1) == 0 and last.wait(30)
    assert [ahead(number, 1) for number in range(1, NUM_AHEAD + 1)] == list(range(1, NUM_AHEAD + 1))
    numbers = [number for number, _ in calls if number <= NUM_AHEAD]
    assert sorted(numbers) == list(range(NUM_AHEAD + 1))
    assert threading.current_thread() not in {thread for _, thread in calls}


def test_an_error_ahead_is_raised_where_its_value_is_asked_for():
    def failing(number, size):
        if number == 2:
            raise ValueError("no value")
        return number

    ahead = Prefetcher(failing)
    assert [ahead(0, 1), ahead(1, 1)] == [0, 1]
    with pytest.raises(ValueError, match="no value"):
        ahead(2, 1)
    assert ahead(3, 1) == 3
