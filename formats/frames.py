"""Reads frames as tables: of pandas, polars, Arrow and Hugging Face, Parquet and Arrow files, and columns in Python."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ecsuite.formats.parquet_files import read_parquet
from ecsuite.formats.roles import MESSAGE_NAMES, eos_in, plain_name, split_header
from ecsuite.formats.strict_json import ID_LIMIT, shorten, show
from ecsuite.formats.table import Cells, RawTable
from ecsuite.runtime.errors import ConfigError, CorpusError, missing_extra
from ecsuite.runtime.given_values import with_index
from ecsuite.runtime.ragged import Ragged

FOLDER_CONTENTS = "corpus.jsonl, Parquet file or saved dataset"


def _named(columns: Mapping[str, Cells], **about: Any) -> RawTable:
    """The table of columns, of which some may say their role: `rt:kept`."""
    headers = {name: split_header(name) for name in columns}
    if len({name for name, _ in headers.values()}) < len(headers):
        headers = {name: (name, None) for name in columns}
    roles = {name: role for name, role in headers.values() if role is not None}
    eos = eos_in(roles)
    return RawTable(
        columns={headers[name][0]: cells for name, cells in columns.items()}, eos=eos,
        roles={name: "message" if role.startswith("eos=") else role for name, role in roles.items()}, **about,
    ).plain()  # fmt: skip


def is_table_folder(path: Path) -> bool:
    """Whether a folder holds Parquet files, or a saved data set."""
    return any(any(path.glob(pattern)) for pattern in ("*.parquet", "data*.arrow", "dataset_dict.json"))


def read_arrow_table(path: Path, name: str) -> RawTable:
    """Read a Parquet, Arrow or Feather file, a folder of Parquet files, or a saved data set.

    Raises:
        CorpusError: If it can't be read, there are no rows, or pyarrow is not installed.
        OSError: If a file cannot be read.
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
        raise CorpusError(f"{name}: no {FOLDER_CONTENTS} in it")
    try:
        return _of_arrow(pyarrow.concat_tables(map(read_parquet, files)), name)
    except ConfigError as error:
        raise CorpusError(str(error)) from None
    except (pyarrow.ArrowException, UnicodeDecodeError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # pyarrow's own have no number
            raise
        raise CorpusError(f"{name}: cannot be read as a table: {shorten(str(error))}") from None


def _of_arrow(table: Any, name: str) -> RawTable:
    """The table of an Arrow table; columns of messages of integers are not made into Python's.

    Classes that Hugging Face's `datasets` wrote as numbers (`ClassLabel`) have their names.

    Raises:
        CorpusError: If there are no rows, or a text is not UTF-8; with its row.
    """
    if not len(table):
        raise CorpusError(f"{name}: empty table, expected one message per row")
    try:
        told = json.loads((table.schema.metadata or {}).get(b"huggingface", b"{}"))
        classes = {each: kind["names"] for each, kind in told["info"]["features"].items() if "names" in kind}
    except (ValueError, KeyError, TypeError, AttributeError):  # whatever another program wrote there
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
    """Classes by their names; -1 is none."""
    if names is None:
        return cells
    return [names[cell] if isinstance(cell, int) and 0 <= cell < len(names) else None for cell in cells]


def _plain_lists(column: Any) -> Ragged | None:
    """A column of lists of symbol ids; None if any value is none."""
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
    """Whether a Python value is one that `read_frame` takes."""
    is_records = isinstance(source, list) and bool(source) and all(isinstance(row, Mapping) for row in source)
    has_columns = hasattr(source, "columns") or hasattr(source, "column_names")
    return is_records or isinstance(source, Mapping) or (has_columns and hasattr(source, "__len__"))


def read_frame(frame: Any) -> RawTable:
    """The table of a frame of pandas, polars, Arrow or Hugging Face, of a mapping of columns, or of a list of records.

    Raises:
        CorpusError: If it has no rows, or columns of different lengths.
    """
    kind = f"{type(frame).__module__.partition('.')[0]} {type(frame).__name__}"
    names: list[Any]
    if isinstance(frame, list):
        names = list(dict.fromkeys(key for row in frame for key in row))
        cells = [[row.get(key) for row in frame] for key in names]
    elif isinstance(frame, Mapping):
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
        raise CorpusError(f"the frame: expected columns with a cell a row, got {got} cells")
    return _named(
        dict(zip(texts, cells, strict=True)), source="the frame", about=kind, rows=range(lengths[0])
    )
