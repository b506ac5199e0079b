"""The memory that a Parquet file takes, from its footer."""

from pathlib import Path

from ecsuite.memory import require_memory

VALUE = 8
"""Bytes for a value in memory; a million equal values take some bytes in a file."""


def require_rows(file: Path) -> None:
    """Refuse a file whose values take more memory than is allowed, before they are unpacked.

    Args:
        file: A Parquet file.

    Raises:
        ConfigError: If it takes more than is allowed.
        OSError: If it can't be read.
        pyarrow.ArrowException: If its footer is damaged.
    """
    from pyarrow import parquet

    footer = parquet.read_metadata(file)
    groups = [footer.row_group(number) for number in range(footer.num_row_groups)]
    num_values = sum(group.column(place).num_values for group in groups for place in range(group.num_columns))
    size = sum(group.total_byte_size for group in groups)
    require_memory(max(size, VALUE * num_values), file)
