from ecsuite.runtime.ahead import Prefetcher


def test_values_are_those_of_the_arguments_in_any_order_of_calls():
    ahead = Prefetcher(lambda number, size: (number, size))
    asked = [(0, 2), (1, 2), (2, 3), (3, 3), (9, 3), (4, 3), (4, 3), (5, 2)]
    assert [ahead(*each) for each in asked] == asked
