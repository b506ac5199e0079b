"""Tables of Parquet and Arrow files, as long as they take no more memory than is allowed."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ecsuite.runtime.errors import ConfigError, shown
from ecsuite.runtime.memory import max_memory, require_memory

VALUE = 8
"""Bytes for a value in memory; a million equal values take some bytes in a file."""
ROWS = 4096
"""Rows that are read at once."""


def read_parquet(file: Path) -> Any:
    """The table of a Parquet file.

    Raises:
        ConfigError: If it takes more memory than is allowed, or columns have the same name.
        OSError: If it can't be read, or is damaged.
        pyarrow.ArrowException: If it is damaged.
    """
    from pyarrow import parquet

    with parquet.ParquetFile(file) as opened:
        # Of the footer no more than this: where it is damaged, pyarrow ends the process as it reads of single columns.
        require_memory(VALUE * opened.metadata.num_rows * opened.metadata.num_columns, file)
        return _table(opened.iter_batches(ROWS), opened.schema_arrow, file)


def read_arrow(file: Path) -> Any:
    """The table of a file with an Arrow stream, as those of a saved data set, or of an Arrow or Feather file.

    Errors are those of `read_parquet`.
    """
    import pyarrow

    with open(file, "rb") as opened:
        is_file = opened.read(6) == b"ARROW1"
    memory = pyarrow.memory_map(str(file))
    if is_file:
        with pyarrow.ipc.open_file(memory) as reader:
            batches = (reader.get_batch(number) for number in range(reader.num_record_batches))
            table = _table(batches, reader.schema, file)
    else:
        with pyarrow.ipc.open_stream(memory) as stream:
            table = _table(stream, stream.schema, file)
    # Places of values may lie outside of the file, and reading there may end the process.
    table.validate(full=True)
    return table


def _table(batches: Iterable[Any], schema: Any, file: Path) -> Any:
    import pyarrow

    names = list(schema.names)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ConfigError(
            f"{file}: expected a name for each column, got several that are called {shown(twice)}"
        )
    allowed, size, found = max_memory(), 0, []
    for batch in batches:
        size += batch.nbytes
        require_memory(size, file, allowed=allowed)
        found.append(batch)
    return pyarrow.Table.from_batches(found, schema)
