"""Read data frames as tables: pandas, polars, Arrow, Hugging Face, Parquet and Arrow files, and Python mappings."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ecsuite.formats.roles import MESSAGE_NAMES, plain_name, roles_in, split_header
from ecsuite.formats.strict_json import ID_LIMIT, shorten, show
from ecsuite.formats.table import Cells, RawTable, columns_of
from ecsuite.runtime.errors import ConfigError, CorpusError, missing_extra, shown
from ecsuite.runtime.given_values import with_index
from ecsuite.runtime.memory import max_memory, require_memory
from ecsuite.runtime.ragged import Ragged

FOLDER_CONTENTS = "corpus.jsonl, Parquet file or saved dataset"


def _named(columns: Mapping[str, Cells], **about: Any) -> RawTable:
    """Make a table of columns whose names may declare roles: `rt:kept`."""
    headers = {name: split_header(name) for name in columns}
    if len({name for name, _ in headers.values()}) < len(headers):
        headers = {name: (name, None) for name in columns}
    named = {headers[name][0]: cells for name, cells in columns.items()}
    return RawTable(columns=named, **roles_in(dict(headers.values())), **about).plain()


def is_table_folder(path: Path) -> bool:
    """Whether a folder has Parquet files, or a saved data set."""
    return any(any(path.glob(pattern)) for pattern in ("*.parquet", "data*.arrow", "dataset_dict.json"))


def read_arrow_table(path: Path, name: str) -> RawTable:
    """Read a Parquet, Arrow or Feather file, a folder of Parquet files, or a saved data set.

    Raises:
        CorpusError: If it can't be read, there are no rows, or pyarrow is not installed.
    """
    try:
        import pyarrow
    except ImportError:
        raise CorpusError(str(missing_extra(f"{name}: tables need pyarrow", "data"))) from None
    if (path / "dataset_dict.json").is_file():
        splits = sorted(state.parent for state in path.glob("*/state.json"))
        if len(splits) != 1:
            raise CorpusError(f"{name}: choose a split: {', '.join(map(str, splits)) or 'none found'}")
        path = splits[0]
    files = [path] if path.is_file() else [*sorted(path.glob("*.parquet")), *sorted(path.glob("data*.arrow"))]
    if not files:
        raise CorpusError(f"{name}: the folder has no {FOLDER_CONTENTS}")
    try:
        return _of_arrow(pyarrow.concat_tables(map(read_parquet, files)), name)
    except ConfigError as error:
        raise CorpusError(str(error)) from None
    except (pyarrow.ArrowException, UnicodeDecodeError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # pyarrow's own errors have no errno
            raise
        raise CorpusError(f"{name}: cannot be read as a table: {shorten(str(error))}") from None


def _of_arrow(table: Any, name: str) -> RawTable:
    """Convert an Arrow table; class numbers of `datasets` (`ClassLabel`) are replaced by their names."""
    if not len(table):
        raise CorpusError(f"{name}: empty table, expected one message per row")
    try:
        told = json.loads((table.schema.metadata or {}).get(b"huggingface", b"{}"))
        classes = {each: kind["names"] for each, kind in told["info"]["features"].items() if "names" in kind}
    except (ValueError, KeyError, TypeError, AttributeError):  # metadata of another program
        classes = {}
    columns: dict[str, Cells] = {}
    for each, column in zip(table.column_names, table.columns, strict=True):
        plain = _plain_lists(column) if plain_name(split_header(each)[0]) in MESSAGE_NAMES else None
        cells = list[Any]()
        try:
            cells += () if plain is not None else column.to_pylist()
        except UnicodeDecodeError:
            for number, cell in enumerate(column, 1):
                try:
                    cell.as_py()
                except UnicodeDecodeError as error:
                    got = f"a byte that is not UTF-8: 0x{error.object[error.start]:02x}"
                    raise CorpusError(f"{name}: row {number}: expected a text, got {got}") from None
        columns[each] = _with_names(cells, classes.get(each)) if plain is None else plain
    return _named(columns, source=name, about="table of Arrow or Parquet", rows=range(1, len(table) + 1))


def _with_names(cells: list[Any], names: Sequence[str] | None) -> list[Any]:
    if names is None:
        return cells
    return [names[cell] if isinstance(cell, int) and 0 <= cell < len(names) else None for cell in cells]


def _plain_lists(column: Any) -> Ragged | None:
    """Convert a column of lists of symbol ids; None if any value is missing or not an id."""
    from pyarrow import compute, null, types

    kind = getattr(column.type, "value_type", null())
    if column.null_count or not types.is_integer(kind) or types.is_fixed_size_list(column.type):
        return None
    values, lengths = [np.zeros(0, np.int32)], [np.zeros(0, np.int64)]
    for chunk in column.chunks:
        flat = chunk.flatten()
        found = flat.to_numpy(zero_copy_only=False)
        if flat.null_count or found.min(initial=0) < 0 or found.max(initial=0) >= ID_LIMIT:
            return None
        values.append(found.astype(np.int32))
        lengths.append(compute.list_value_length(chunk).to_numpy(zero_copy_only=False))
    return Ragged.from_lengths(np.concatenate(values), np.concatenate(lengths))


def is_frame(source: Any) -> bool:
    """Whether `read_frame` accepts a Python value."""
    is_records = isinstance(source, list) and bool(source) and all(isinstance(row, Mapping) for row in source)
    has_columns = hasattr(source, "columns") or hasattr(source, "column_names")
    return is_records or isinstance(source, Mapping) or (has_columns and hasattr(source, "__len__"))


def read_frame(frame: Any) -> RawTable:
    """Read a data frame of pandas, polars, Arrow or Hugging Face, a mapping of columns, or a list of records.

    Raises:
        CorpusError: If there are no rows, or columns have different lengths.
    """
    kind = f"{type(frame).__module__.partition('.')[0]} {type(frame).__name__}"
    names: list[Any]
    if isinstance(frame, list):
        frame = columns_of(frame)
    if isinstance(frame, Mapping):
        for key, each in frame.items():
            if isinstance(each, str | bytes | Mapping) or not hasattr(each, "__iter__"):
                got = f"expected a list of cells, got {show(each)}"
                raise CorpusError(f"the frame: column {shorten(str(key))}: {got}")
        names, cells = list(frame), list(map(list, frame.values()))
    elif kind.startswith("pandas"):
        frame = with_index(frame)
        names = list(frame.columns)
        cells = [frame.iloc[:, place].astype(object).tolist() for place in range(len(names))]
    elif kind.startswith("polars"):
        names, cells = list(frame.columns), list(frame.to_dict(as_series=False).values())
    else:  # Arrow's and Hugging Face's
        columns = frame.to_pydict() if hasattr(frame, "to_pydict") else frame.to_dict()
        names = list(frame.column_names)
        features = getattr(frame, "features", None) or {}
        cells = [_with_names(columns[name], getattr(features.get(name), "names", None)) for name in names]
    texts = list(map(str, names))
    twice = next((name for name in texts if texts.count(name) > 1), None)
    if twice is not None:
        raise CorpusError(f"the frame: two columns have the name {shorten(twice)}")
    lengths = sorted({len(each) for each in cells})
    if len(lengths) != 1 or lengths == [0]:
        got = " and ".join(map(str, lengths)) or "no"
        raise CorpusError(f"the frame: expected columns of the same length, got {got} cells")
    columns = dict(zip(texts, cells, strict=True))
    return _named(columns, source="the frame", about=kind, rows=range(lengths[0]))


def read_parquet(file: Path) -> Any:
    """Read a Parquet, Arrow or Feather file, or an Arrow stream, which saved data sets contain.

    Raises:
        ConfigError: If reading needs more memory than is allowed, or columns have the same name.
        OSError, pyarrow.ArrowException: If the file can't be read, or is damaged.
    """
    import pyarrow

    with open(file, "rb") as opened:
        start = opened.read(6)
    if start[:4] == b"PAR1":
        from pyarrow import parquet

        with parquet.ParquetFile(file) as reader:
            # 8 bytes per value, since a million equal values take few bytes in a file. No more of the footer is read:
            # if it is damaged, pyarrow crashes when it reads single columns.
            require_memory(8 * reader.metadata.num_rows * reader.metadata.num_columns, file)
            return _checked(reader.iter_batches(4096), reader.schema_arrow, file)
    memory = pyarrow.memory_map(str(file))
    reader = pyarrow.ipc.open_file(memory) if start == b"ARROW1" else pyarrow.ipc.open_stream(memory)
    with reader:
        is_file = start == b"ARROW1"
        batches = map(reader.get_batch, range(reader.num_record_batches)) if is_file else reader
        table = _checked(batches, reader.schema, file)
    # Offsets in a damaged file may point outside of it, and reading there may crash the process.
    table.validate(full=True)
    return table


def _checked(batches: Any, schema: Any, file: Path) -> Any:
    import pyarrow

    names = list(schema.names)
    if twice := next((name for name in names if names.count(name) > 1), None):
        got = f"got several columns {shown(twice)}"
        raise ConfigError(f"{file}: expected distinct names of columns, {got}")
    allowed, size, found = max_memory(), 0, []
    for batch in batches:
        size += batch.nbytes
        require_memory(size, file, allowed=allowed)
        found.append(batch)
    return pyarrow.Table.from_batches(found, schema)
