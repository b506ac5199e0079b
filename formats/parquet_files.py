"""Tables of Parquet and Arrow files, as long as they take no more memory than is allowed."""

from pathlib import Path
from typing import Any

from ecsuite.runtime.errors import ConfigError, shown
from ecsuite.runtime.memory import max_memory, require_memory

VALUE = 8
"""Bytes for a value in memory; a million equal values take some bytes in a file."""
ROWS = 4096
"""Rows that are read at once."""


def read_parquet(file: Path) -> Any:
    """The table of a Parquet, Arrow or Feather file, or of one with an Arrow stream, as those of a saved data set.

    Raises:
        ConfigError: If it takes more memory than is allowed, or columns have the same name.
        OSError: If it can't be read, or is damaged.
        pyarrow.ArrowException: If it is damaged.
    """
    import pyarrow

    with open(file, "rb") as opened:
        start = opened.read(6)
    if start[:4] == b"PAR1":
        from pyarrow import parquet

        with parquet.ParquetFile(file) as reader:
            # Of the footer no more than this: where it is damaged, pyarrow ends the process as it reads of single
            # columns.
            require_memory(VALUE * reader.metadata.num_rows * reader.metadata.num_columns, file)
            return _table(reader.iter_batches(ROWS), reader.schema_arrow, file)
    memory = pyarrow.memory_map(str(file))
    reader = pyarrow.ipc.open_file(memory) if start == b"ARROW1" else pyarrow.ipc.open_stream(memory)
    with reader:
        is_file = start == b"ARROW1"
        batches = map(reader.get_batch, range(reader.num_record_batches)) if is_file else reader
        table = _table(batches, reader.schema, file)
    # Places of values may lie outside of the file, and reading there may end the process.
    table.validate(full=True)
    return table


def _table(batches: Any, schema: Any, file: Path) -> Any:
    import pyarrow

    names = list(schema.names)
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ConfigError(
            f"{file}: expected a name for each column, got several that are called {shown(twice)}"
        )
    allowed, size, found = max_memory(), 0, []
    for batch in batches:
        size += batch.nbytes
        require_memory(size, file, allowed=allowed)
        found.append(batch)
    return pyarrow.Table.from_batches(found, schema)
