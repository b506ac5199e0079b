"""Layouts: descriptions in YAML of the files that programs write, and their application to tables.

A layout defines how a file is recognised, which rows are trials, and which roles columns have. Shipped layouts are in
`configs/layouts`; users name their own layout (`--layout lab.yaml`), or put `corpus.yaml` next to their file.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cache
from itertools import accumulate, groupby
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import yaml

from ecsuite.corpus import Corpus
from ecsuite.formats.cells import is_missing
from ecsuite.formats.roles import ROLES
from ecsuite.formats.stored_text import read_text
from ecsuite.formats.strict_json import show
from ecsuite.formats.table import Cells, RawTable, columns_of, is_written, parse_condition
from ecsuite.parts.config import parse_yaml, shipped_configs
from ecsuite.runtime.errors import ConfigError, CorpusError, ReadingQuestion, look_up, unknown_name
from ecsuite.runtime.printable import printable

Numeric = Literal["auto", "values", "features"]
"""Whether numbers in meanings are values of attributes or features; auto: integers are values."""
Missing = Literal["auto", "keep", "leave", "value"]
"""Treatment of rows without a value of an attribute."""
LINE, ROWS, WIDE = "line:", "rows:", "wide:"
"""Prefixes of one-line layouts: an expression whose groups are columns, names of columns of lists, or `wide`."""
BESIDE = "corpus.yaml"
"""File name of the layout of a folder's files."""


class Layout(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The form of a program's files."""

    about: str = ""
    """A one-line description."""
    program: str = ""
    """The program and version whose export is in the tests, or a reference to the format's documentation."""
    layout: str | None = None
    """Name of a base layout, which this layout extends."""
    files: tuple[str, ...] = ()
    """Patterns of file names, such as `*.csv`; empty: any name."""
    has: tuple[str, ...] = ()
    """Columns, or keys such as `turns.*.*.action`, that a file needs to be recognised."""
    line: str = ""
    """A regular expression that all lines of a text match; its named groups are columns."""
    header_rows: Annotated[int, msgspec.Meta(ge=1, le=9)] = 1
    """Number of rows above the trials; the first row has the names of the columns."""
    wide: str = ""
    """A regular expression for columns that become rows; its group `column` is the name, other groups are columns.

    Without this group, the cells are messages.
    """
    rows: tuple[str, ...] = ()
    """Columns whose cells are lists or mappings with one row per item; several columns are parallel."""
    items: tuple[str, ...] = ()
    """Names of the values if an item of `rows` is a list, in their order."""
    copies: bool = False
    """Whether an item of `rows` that equals the previous item is a copy for another listener."""
    unwrap: bool = False
    """Whether a mapping with a single key that begins with `$` is replaced by its value."""
    none: tuple[str, ...] = ()
    """Texts that mark missing values."""
    below: tuple[str, ...] = ()
    """Columns, or patterns, whose empty cells repeat the value above."""
    where: tuple[str, ...] = ()
    """Conditions on rows that are trials, in the syntax of `--where`."""
    once: Mapping[str, tuple[str, ...]] = {}
    """Columns that identify a signal, by column of messages: only the first row of each signal is read."""
    columns: Mapping[str, str] = {}
    """Roles by name, or pattern, of a column; the first match counts."""
    attributes: tuple[str, ...] = ()
    """The columns that are attributes of the meaning."""
    leave: tuple[str, ...] = ()
    """Symbols to remove from messages, such as word boundaries."""
    split: str = "auto"
    eos: str = "auto"
    numeric: Numeric = "auto"
    missing: Missing = "auto"


def layout_at(file: Path) -> Layout:
    """Read a layout file; `ConfigError` if a key is not valid, or the base layout does not exist."""
    try:
        tree = parse_yaml(read_text(file), str(file))
    except OSError as error:
        raise ConfigError(f"{file}: {error.strerror or error}") from None
    return _made(tree, str(file))


def _made(tree: Any, place: str) -> Layout:
    try:
        own = msgspec.convert({} if tree is None else tree, Layout)
        for each in (own.line, own.wide):
            re.compile(each)
    except (msgspec.ValidationError, re.error) as error:
        raise ConfigError(f"{place}: {error}") from None
    for role in own.columns.values():
        look_up("role", role, ROLES)
    if own.wide and "(?P<" not in own.wide:
        raise ConfigError(f"{place}: wide: expected a group (?P<column>...), got {own.wide}")
    if own.layout is None:
        return own
    base = named_layout(own.layout)
    values = msgspec.structs.asdict(own)
    said = {name: value for name, value in values.items() if value != getattr(Layout(), name)}
    return msgspec.structs.replace(base, **{**said, "columns": {**own.columns, **base.columns}})


@cache
def shipped_layouts() -> dict[str, Layout]:
    """The layouts of this package by name."""
    files = shipped_configs("layouts")
    return {name: _made(parse_yaml(file.read_text("utf-8"), name), name) for name, file in files.items()}


def named_layout(name: str) -> Layout:
    """Read the layout that a user names: a shipped layout, a .yaml file, or a one-line layout.

    `line:` is followed by a regular expression for lines, `wide:` by a regular expression for columns that become rows,
    `rows:` by names of columns with one row per item; `*` is the row itself.
    """
    for start in (LINE, WIDE):
        if name.startswith(start):
            return _made({start[:-1]: name.removeprefix(start)}, name)
    if name.startswith(ROWS):
        roles = {"key": "meaning", "value": "message", "turn": "kept"}
        return _made({"rows": name.removeprefix(ROWS).split(","), "columns": roles}, name)
    if name.endswith((".yaml", ".yml")):
        return layout_at(Path(name))
    return look_up("layout", name, shipped_layouts())


def layout_beside(path: Path) -> Layout | None:
    """The layout in `corpus.yaml` next to a file; None if there is none, or it is for other files."""
    file = path / BESIDE if path.is_dir() else path.with_name(BESIDE)
    if not file.is_file():
        return None
    found = layout_at(file)
    return found if _fits(path.name, found) else None


def recognised(table: RawTable) -> str | None:
    """Name of the shipped layout whose required columns a table has; None if there is none."""
    for name, each in shipped_layouts().items():
        if each.has and not each.line and _fits(table.source, each) and _lacking(table, each) is None:
            return name
    return None


def _fits(name: str, layout: Layout) -> bool:
    return not layout.files or any(fnmatchcase(Path(name).name, pattern) for pattern in layout.files)


def _lacking(table: RawTable, layout: Layout) -> str | None:
    for name in layout.has:
        column, *path = name.split(".")
        cells: Any = table.columns.get(column)
        firsts = cells[:1] if path and not table.are_texts and isinstance(cells, list) else ()
        has_key = any(True for cell in firsts for _ in _at(cell, path))
        if not has_key and not any(fnmatchcase(each, name) for each in table.columns):
            return name
    return None


def _at(cell: Any, path: Sequence[str]) -> Iterator[Any]:
    """Yield the values at a path of keys in a cell; `*` matches any item of a list."""
    if not path:
        yield cell
    elif path[0] == "*" and isinstance(cell, list):
        for item in cell:
            yield from _at(item, path[1:])
    elif isinstance(cell, dict) and path[0] in cell:
        yield from _at(cell[path[0]], path[1:])


def table_of_lines(lines: Sequence[str], name: str, layout: str | None) -> RawTable | None:
    """Parse a text with a layout whose regular expression matches all lines; None if no layout matches.

    Raises `CorpusError` with the first other line if the named layout does not match.
    """
    asked = {layout: named_layout(layout)} if layout is not None else shipped_layouts()
    filled = [(number, line.strip()) for number, line in enumerate(lines, 1) if line.strip()]
    for key, each in asked.items():
        pattern = re.compile(each.line)
        is_own = _fits(name, each) and filled and pattern.fullmatch(filled[0][1])
        if not each.line or (layout is None and not is_own):
            continue
        found = [pattern.fullmatch(line) for _, line in filled]
        if found and all(found):
            groups = pattern.groupindex
            columns = {name: [(match[name] or "").strip() for match in found if match] for name in groups}
            return RawTable(
                source=name, about="text", columns=columns, rows=[number for number, _ in filled], unit="line",
                are_texts=True, layout=key,
            )  # fmt: skip
        if layout is not None:
            bad = next((number for (number, _), match in zip(filled, found, strict=True) if not match), 1)
            expected = f"expected a line like {each.line:.80}"
            raise CorpusError(f"{name}:{bad}: layout {layout} does not fit: {expected}")
    return None


def laid_out(table: RawTable, layout: Layout, name: str, *, chooses: bool, is_own: bool) -> RawTable:
    """Select the trials of a table by a layout, and set the roles of their columns.

    Args:
        table: The content of the file.
        layout: The layout.
        name: Name of the layout in messages.
        chooses: Whether the layout selects the rows; otherwise the user does.
        is_own: Whether the user wrote the layout; its columns must then exist.
    """
    if (lacking := _lacking(table, layout)) is not None:
        raise CorpusError(f"{table.source}: layout {name} does not fit: no column {lacking}")
    if layout.header_rows > 1:
        table = table.with_rows(range(layout.header_rows - 1, len(table.rows)))
    if layout.wide:
        table = _lengthened(table, re.compile(layout.wide))
    if layout.rows:
        table = unfolded(table, layout.rows, layout.items, has_copies=layout.copies)
    columns: dict[str, Cells] = dict(table.columns)
    for key, cells in columns.items():
        own = [_plain(cell, layout) for cell in cells] if isinstance(cells, list) else cells
        if isinstance(own, list) and any(fnmatchcase(key, pattern) for pattern in layout.below):
            own = list(accumulate(own, lambda above, each: above if is_missing(each) else each))
        columns[key] = own
    table = replace(table, columns=columns)
    roles: dict[str, str] = {}
    of_base = () if layout.layout is None else named_layout(layout.layout).columns
    for pattern, role in layout.columns.items():
        fitting = [each for each in table.columns if fnmatchcase(each, pattern)]
        if pattern in table.columns or (not fitting and table.with_part(pattern) is not None):
            table, fitting = table.with_part(pattern) or table, [pattern]
        if not fitting and is_own and pattern not in of_base and not set(pattern) & set("*?["):
            raise unknown_name("column", pattern, table.columns)
        roles = {**dict.fromkeys(fitting, role), **roles}
    table = replace(table, columns=table.columns, roles={**roles, **table.roles}, layout=name)
    for condition in layout.where if chooses else ():
        column, is_not, value = parse_condition(condition)
        part = table.with_part(column)
        cells = [] if part is None else list(part.values(column, is_strict=False))
        if not any(is_written(cell, value) != is_not for cell in cells):
            kinds = Counter(str(cell) for cell in cells if not is_missing(cell)).items()
            readings = [({"where": (f"{column}={each}",)}, f"{count} rows") for each, count in kinds]
            asked = f"layout {name}: no row with {condition}: which are the trials?"
            raise ReadingQuestion(table.source, asked, readings)
        table = table.chosen([condition])
    return table


def _plain(cell: Any, layout: Layout) -> Any:
    if isinstance(cell, str) and cell in layout.none:
        return None
    if layout.unwrap and isinstance(cell, dict) and len(cell) == 1:
        [(key, value)] = cell.items()
        is_long = key == "$numberLong" and isinstance(value, str) and value.lstrip("-").isdigit()
        return int(value) if is_long else value if key.startswith("$") else cell
    return cell


def _lengthened(table: RawTable, pattern: re.Pattern[str]) -> RawTable:
    """Convert a wide table to a long one: `naming.1.player.color` is a column of round 1."""
    parts: dict[tuple[tuple[str, str], ...], dict[str, str]] = {}
    others = [name for name in table.columns if not pattern.fullmatch(name)]
    for name in table.columns:
        if found := pattern.fullmatch(name):
            groups = found.groupdict()
            column = groups.pop("column", None) or "message"
            parts.setdefault(tuple(groups.items()), {})[column] = name
    rows = [
        {name: table.columns[name][place] for name in others}
        | dict(part)
        | {column: table.columns[name][place] for column, name in own.items()}
        for place in range(len(table.rows))
        for part, own in parts.items()
    ]
    numbers = [number for number in table.rows for _ in parts]
    return replace(table, columns=columns_of(rows, ""), rows=numbers) if parts else table


def unfolded(
    table: RawTable, names: Sequence[str], parts: Sequence[str] = (), *, has_copies: bool = False
) -> RawTable:
    """Make one row for each item of the lists or mappings in the cells of some columns.

    The keys of a mapping in a list become columns; a mapping as a cell becomes the columns `key` and `value`; `turn` is
    the number of the item. `parts` names the columns of items that are lists; with `has_copies`, repeated items are
    dropped.
    """
    found, rows = list[dict[str, Any]](), []
    paths = [[] if name == "*" else name.split(".") for name in names]
    if unknown := next((path[0] for path in paths if path and path[0] not in table.columns), None):
        raise unknown_name("column", unknown, table.columns)
    if table.are_texts:
        read = {name: table.values(name, is_strict=False) for name in table.columns}
        table = replace(table, columns=read, are_texts=False)
    others = [name for name in table.columns if name not in names and names[0] != "*"]
    for place, number in enumerate(table.rows):
        row = {name: table.columns[name][place] for name in table.columns}
        cells: list[Any] = [next(_at(row, path), None) for path in paths]
        same = {name: row[name] for name in others}
        if all(cell is None for cell in cells):
            items = list[dict[str, Any]]()
        elif len(names) == 1 and isinstance(cells[0], dict):
            items = [{"key": key, "value": value} for key, value in cells[0].items()]
        elif bad := [name for name, cell in zip(names, cells, strict=True) if not isinstance(cell, list)]:
            raise table.error(place, "a list", cells[names.index(bad[0])], bad[0])
        elif len({len(cell) for cell in cells}) > 1:
            counts = ", ".join(f"{name} {len(cell)}" for name, cell in zip(names, cells, strict=True))
            raise CorpusError(f"{table.place(place)}: expected lists of one length, got {counts}")
        else:
            said = [each for each, _ in groupby(cells[0])] if has_copies else cells[0]
            parallel = [(item,) for item in said] if parts else zip(*cells, strict=True)
            items = [
                {**each, "turn": turn}
                for turn, item in enumerate(parallel)
                for each in _items(names, item, parts, table.place(place))
            ]
        found += [{**same, **item} for item in items]
        rows += [number] * len(items)
    return replace(table, columns=columns_of(found), rows=rows, unclear=None)


def _items(
    names: Sequence[str], cells: Sequence[Any], parts: Sequence[str], place: str
) -> Sequence[dict[str, Any]]:
    item = cells[0]
    if parts:
        if not isinstance(item, list) or len(item) != len(parts):
            raise CorpusError(f"{place}: expected a list of {', '.join(parts)}, got {show(item)}")
        return [dict(zip(parts, item, strict=True))]
    if len(names) == 1 and isinstance(item, list) and all(isinstance(each, dict) for each in item):
        return item
    return [item if len(names) == 1 and isinstance(item, dict) else dict(zip(names, cells, strict=True))]


def first_rows(table: RawTable, layout: Layout, message: str) -> RawTable:
    """Select the rows with a message, each signal once."""
    cells = table.columns[message]
    places = [place for place in range(len(table.rows)) if not is_missing(cells[place])]
    for names in (names for pattern, names in layout.once.items() if fnmatchcase(message, pattern)):
        keys = [table.columns[name] for name in names if name in table.columns]
        seen: dict[tuple[str, ...], int] = {}
        for place in places:
            seen.setdefault(tuple(str(cells[place]) for cells in keys), place)
        places = list(seen.values())
    return table.with_rows(places)


def proposal(corpus: Corpus, words: Any, name: str, asked: Sequence[ReadingQuestion]) -> str:
    """Write the layout that a file was read with as YAML to edit; answered questions become comments."""
    names = ("where", "attributes", "split", "eos", "numeric", "missing")
    own = {each: getattr(words, each) for each in names}
    told = {"layout": corpus.metadata.get("layout"), "columns": corpus.metadata.get("roles", {})}
    made = Layout(about=f"how {name} is read", files=(name,), **told, **own)
    text = yaml.safe_dump(msgspec.to_builtins(made), sort_keys=False, allow_unicode=True, width=1000)
    lines = [f"# asked: {printable(line)}" for each in asked for line in str(each).splitlines()]
    return "\n".join([*lines, text])
