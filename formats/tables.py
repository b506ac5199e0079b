"""Tables with one message per row: Parquet files, and data sets saved with Hugging Face `save_to_disk`."""

import re
from pathlib import Path
from typing import Any

from ecsuite.corpus import Corpus
from ecsuite.formats.line_errors import ErrorList, LineError, shorten, show_line
from ecsuite.formats.lines import FORMATS, LineParser, ints, strings
from ecsuite.formats.parquet_files import read_parquet, read_stream
from ecsuite.formats.records import CONCEPTS, MEANINGS, MESSAGES, read_meanings
from ecsuite.formats.rows import ID_LIMIT, Arrays, Rows
from ecsuite.runtime.errors import ConfigError, CorpusError, missing_extra

FOLDER_CONTENTS = "corpus.jsonl, Parquet file or saved dataset"

_COLUMNS = ("input_ids", *MESSAGES)
_ATTRIBUTE = re.compile(r"attribute\d+")


def is_table(path: Path) -> bool:
    """Whether the path is a Parquet file, a folder of such files, or a saved Hugging Face dataset."""
    if path.is_dir():
        return any(any(path.glob(pattern)) for pattern in ("*.parquet", "data*.arrow", "dataset_dict.json"))
    with open(path, "rb") as file:
        return file.read(4) == b"PAR1"


def read_table(path: Path) -> Corpus:
    """Read a Parquet file or a folder of them, or a saved Hugging Face dataset (Arrow stream files).

    Raises:
        CorpusError: If rows are not valid, there are none, or pyarrow is not installed.
        OSError: If a file cannot be read.
    """
    try:
        import pyarrow
        from pyarrow import types
    except ImportError:
        raise CorpusError(str(missing_extra(f"{path}: tables need pyarrow", "data"))) from None
    if (path / "dataset_dict.json").is_file():
        splits = sorted(state.parent for state in path.glob("*/state.json"))
        if len(splits) != 1:
            raise CorpusError(f"{path}: choose a split: {', '.join(map(str, splits)) or 'none found'}")
        path = splits[0]
    files = [path] if path.is_file() else [*sorted(path.glob("*.parquet")), *sorted(path.glob("data*.arrow"))]
    if not files:
        raise CorpusError(f"{path}: no {FOLDER_CONTENTS} in it")
    try:
        tables = [read_stream(file) if file.suffix == ".arrow" else read_parquet(file) for file in files]
        table = pyarrow.concat_tables(tables)
        names = table.column_names
    except ConfigError as error:
        raise CorpusError(str(error)) from None
    except (pyarrow.ArrowException, UnicodeDecodeError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # pyarrow's own have no number
            raise
        raise CorpusError(f"{path.name}: cannot be read as a table: {shorten(str(error))}") from None
    name = next((name for name in _COLUMNS if name in names), None)
    if name is None:
        found = shorten(", ".join(names))
        raise CorpusError(f"{path.name}: expected one of the columns {', '.join(_COLUMNS)}, got {found}")
    if not len(table):
        raise CorpusError(f"{path.name}: empty table, expected one message per row")
    kind = table.schema.field(name).type
    item_kind = getattr(kind, "value_type", pyarrow.null())
    parse: LineParser = ints
    expected = FORMATS["ints"].expected
    if not types.is_nested(kind):
        parse, expected = strings, FORMATS["strings"].expected
    elif types.is_string(item_kind) or types.is_large_string(item_kind):
        parse, expected = _tokens, "a list of strings"
    messages, errors, number = Rows(), ErrorList(path, expected), 1
    for chunk in table.column(name).chunks:
        if parse is ints and (plain := _plain_lists(chunk)) is not None:
            messages.arrays.append(plain)
        else:
            messages.extend(errors.parse(chunk, number, lambda row: parse([_value(row)])[0]))
        number += len(chunk)
    errors.check()
    return Corpus(
        messages=messages.ragged(),
        symbol_names=None if parse is ints else tuple(messages.names),
        metadata={"source_format": f"table, column {name}: {expected}"},
        **_meanings(table, path),
    )


def _meanings(table: Any, path: Path) -> dict[str, Any]:
    """What the columns of a table say of meanings."""
    wanted = {*MEANINGS, CONCEPTS}
    names = [name for name in table.column_names if name in wanted or _ATTRIBUTE.fullmatch(name)]
    columns = {name: table.column(name).to_pylist() for name in names}
    return read_meanings(columns, path, attributes=[name for name in names if _ATTRIBUTE.fullmatch(name)])


def _value(row: Any) -> Any:
    """A row of an Arrow array as a Python value."""
    try:
        return row.as_py()
    except UnicodeDecodeError as error:
        raise LineError(f"a byte that is not UTF-8: 0x{error.object[error.start]:02x}") from None


def _tokens(values: list[Any]) -> tuple[list[str], list[str]]:
    """Parse `["da", "bu"]`."""
    match values:
        case [list(tokens)] if all(type(token) is str for token in tokens):
            return tokens, []
    raise LineError(show_line(values))


def _plain_lists(lists: Any) -> Arrays | None:
    """The symbols and lengths of an Arrow array of integer lists; None if any value is not a symbol id."""
    from pyarrow import compute, null, types

    if lists.null_count or not types.is_integer(getattr(lists.type, "value_type", null())):
        return None
    flat = lists.flatten()
    values = flat.to_numpy(zero_copy_only=False)
    if flat.null_count or values.min(initial=0) < 0 or values.max(initial=0) >= ID_LIMIT:
        return None
    lengths = compute.list_value_length(lists).to_numpy(zero_copy_only=False)
    return values, lengths
