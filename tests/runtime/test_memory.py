"""How much memory reading may take, and files that would take more: refused before they are unpacked."""

import pytest

from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.memory import max_memory, set_max_memory


def test_the_variable_is_read_as_well(monkeypatch):
    monkeypatch.setenv("ECSUITE_MAX_MEMORY", "1G")
    set_max_memory("3G")
    assert max_memory() == 3 << 30
    monkeypatch.setenv("ECSUITE_MAX_MEMORY", "much")
    with pytest.raises(ConfigError, match=r"^ECSUITE_MAX_MEMORY: expected a size"):
        max_memory()
