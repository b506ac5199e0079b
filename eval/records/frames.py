"""Results as a `pandas.DataFrame`; pandas is imported when it is used, and is no dependency."""

from collections.abc import Mapping, Sequence
from typing import Any

from ecsuite.runtime.errors import ConfigError


def as_frame(rows: Sequence[Mapping[str, Any]]) -> Any:
    """The rows as a `pandas.DataFrame`, whose columns are their keys.

    Raises:
        ConfigError: If pandas is not installed.
    """
    try:
        import pandas
    except ImportError:
        raise ConfigError("a frame needs pandas: pip install pandas") from None
    return pandas.DataFrame(rows)
