"""Every sender and every receiver plays: a training step over each kind of channel, and then it speaks and reads."""

import pytest

from ecsuite.runtime.errors import ConfigError


def test_a_name_that_is_not_known_stops_before_anything_is_made(small):
    message = r"unknown receiver 'heir:gru'; did you mean 'hier:CELL'\? choices: bidirectional, "
    with pytest.raises(ConfigError, match=message):
        small("receiver.kind=heir:gru")
