"""Convert a table to a corpus: messages, meanings and further columns."""

import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fnmatch import fnmatchcase
from itertools import chain
from typing import Any

import numpy as np

from ecsuite.corpus import Corpus
from ecsuite.formats.cells import ids_of, is_id, is_missing, is_number, without_padding
from ecsuite.formats.layouts import Layout, Missing, Numeric, first_rows, named_layout
from ecsuite.formats.meant import flat, leaves, note_words_for_none, parts_of, plain_attributes
from ecsuite.formats.roles import OF_MEANING, described, finds_meaning, roles_of, roles_of_log
from ecsuite.formats.signs import SIGNS, have_spaces, sign_between
from ecsuite.formats.signs import parts_of as symbols_of
from ecsuite.formats.strict_json import ID_LIMIT, ErrorList, LineError, show
from ecsuite.formats.table import RawTable, Rows, more, parse_condition
from ecsuite.runtime.errors import ConfigError, CorpusError, ReadingQuestion
from ecsuite.runtime.given_values import column_of, integer_vectors, named_attributes, word_vectors
from ecsuite.runtime.plain_values import BITS, MAX_INTEGER
from ecsuite.runtime.printable import printable
from ecsuite.runtime.ragged import Ragged

SPLITS = ("auto", "spaces", "letters")
"""Named values of the option `split`; any other value is the separator of symbols, such as `,`."""
OF_CELLS = ("split", "eos", "numeric", "missing")
"""Options about the content of cells, set by the user or by a layout; auto: by the layout, or inferred."""
CANONICAL = {each: each for each in ("speaker", "listener", "split", "weight")} | {"image": "file"}
"""Names of a corpus's columns by role, which replace the file's names."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """Options for reading a file: the arguments of `read_corpus`."""

    columns: Mapping[str, str] = field(default_factory=dict)
    attributes: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    layout: str | None = None
    split: str = "auto"
    eos: str = "auto"
    numeric: Numeric = "auto"
    missing: Missing = "auto"
    meanings: str | None = None
    is_log: bool = False
    """Whether rows are steps or rounds of agents, so that columns such as `agent` and `action` have a role."""

    def to_json(self) -> dict[str, Any]:
        """JSON-ready options that differ from the defaults, without `where`."""
        values = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "where"}
        return {name: value for name, value in values.items() if value != getattr(Reading(), name)}

    def job_key(self) -> dict[str, Any]:
        """Values that identify the options in the inputs of a job."""
        plain = {
            "columns": dict(self.columns), "split": self.split, "eos": self.eos, "meanings": self.meanings,
            "numeric": {"auto": "values"}.get(self.numeric, self.numeric),
            "missing": {"auto": "keep"}.get(self.missing, self.missing),
        }  # fmt: skip
        further = {"attributes": list(self.attributes), "layout": self.layout}
        return plain | {name: value for name, value in further.items() if value}


def corpus_of(table: RawTable, reading: Reading) -> Corpus:
    """Make the corpus of a table, without detecting EOS.

    `metadata` has `source_format`, the `roles` of named columns, `notes` on inferred properties, and, if values are
    missing, `missing`.

    Raises:
        ConfigError: If a role or a column does not exist.
        CorpusError: If messages or meanings can't be read; one line with the position.
        ReadingQuestion: If the table is ambiguous.
    """
    is_plain = reading.split in ("auto", "spaces") and reading.missing != "leave"
    if len(table.columns) == 1 and not table.is_header and not reading.columns and is_plain:
        ids = table.columns.get("message")
        if isinstance(ids, Ragged):  # a single column of messages needs no roles
            return Corpus(ids, metadata={"source_format": table.about})
    for name in (*reading.columns, *reading.attributes):
        table = table.with_part(name) or table
    layout = Layout() if table.layout is None else named_layout(table.layout)
    attributes = reading.attributes or [
        name for name in table.columns if any(fnmatchcase(name, each) for each in layout.attributes)
    ]
    if reading.is_log:  # only whole messages are compared, so that their symbols may stay ambiguous
        split = "spaces" if reading.split == "auto" and table.layout is None else reading.split
        reading = replace(reading, columns=roles_of_log(table, reading.columns), split=split)
    roles = roles_of(table, reading.columns, attributes=attributes)
    said = [name for name, role in roles.items() if role == "message"]
    if table.layout is not None:
        table, roles = _trials(table, layout, roles, said[0])
    if table.has_na and reading.missing == "auto":
        _ask_missing(table, roles)
    if reading.missing == "leave":
        table = _complete(table, roles)
    messages, names = messages_of(table, said, reading.split)
    metadata: dict[str, Any] = {"source_format": table.about}
    cells = table.columns[said[0]]
    sizes = [messages.lengths.tolist()]
    if not isinstance(cells, Ragged):
        sizes.append([len(cell) if isinstance(cell, str) else -1 for cell in cells])
    meant = _meant(table, roles, reading, attributes, sizes)
    if "missing" in meant:
        metadata["missing"] = meant.pop("missing")
    is_named = finds_meaning(roles) or not {*roles.values()} <= {"message", "meaning", "concept"}
    if is_named if table.is_header else len(roles) > 1 and not table.about.startswith("json"):
        table.notes.insert(0, f"{table.source}: {described(table, roles)} (--column NAME=ROLE)")
    _note_spellings(table, meant.get("concept_names", ()), "values")
    if pair := _alike(meant.get("concept_names", ()), str.casefold):  # probably a typing error
        table.note(f"{pair[0]} and {pair[1]} are two values")
    note_words_for_none(table, roles)
    for lacking in (table.missing(name) for name, role in roles.items() if role == "speaker"):
        if lacking:
            rows = f"{table.place(lacking[0])} lacks a speaker{more(lacking)}"
            table.notes.append(f"{rows}: scores of several speakers are without them")
    columns = _kept(table, roles)
    if table.is_header:
        metadata["roles"] = roles
    if table.layout is not None:
        metadata["layout"] = table.layout
    if table.notes:
        metadata["notes"] = list(map(printable, table.notes))
    return Corpus(messages, symbol_names=names, columns=columns, metadata=metadata, **meant)


def _trials(
    table: RawTable, layout: Layout, roles: dict[str, str], message: str
) -> tuple[RawTable, dict[str, str]]:
    """Select the rows with a message, each signal once, and remove symbols that the layout excludes."""
    found = first_rows(table, layout, message)
    if not len(found.rows):
        raise CorpusError(f"{table.source}: layout {table.layout}: no row has a message in column {message}")
    if len(found.rows) < len(table.rows):
        shares = f"{len(found.rows):,} of {len(table.rows):,} rows have a message of their own"
        table.note(f"layout {table.layout}: {shares}; the others are left out")
    if layout.leave:
        words = [str(cell).split() for cell in found.values(message)]
        cells = [" ".join(word for word in row if word not in layout.leave) for row in words]
        found = replace(found, columns={**found.columns, message: cells})
    if any(fnmatchcase(message, pattern) for pattern in layout.once):  # several speakers share a signal
        roles = {name: "kept" if role == "speaker" else role for name, role in roles.items()}
    return found, roles


def _ask_missing(table: RawTable, roles: Mapping[str, str]) -> None:
    for name in (name for name, role in roles.items() if role == "attribute"):
        if places := table.missing(name):
            asked = f"{len(places)} of {len(table.rows)} rows have NA without quotes, for example in column {name}"
            readings = [
                ({"missing": "leave"}, "missing: these rows are left out"),
                ({"missing": "value"}, "a value of its own, called missing"),
                ({"missing": "keep"}, "missing: scores that need all values are undefined"),
            ]
            raise ReadingQuestion(table.source, asked, readings, [f"the first is {table.place(places[0])}"])


def _complete(table: RawTable, roles: Mapping[str, str]) -> RawTable:
    names = [name for name, role in roles.items() if role in ("meaning", "attribute", "feature")]
    places = list(range(len(table.rows)))
    for cells in map(table.values, names):
        keys = {key for cell in cells if isinstance(cell, dict) for key in leaves(cell, "")}
        places = [place for place in places if _is_complete(cells[place], keys)]
    if not places:
        raise CorpusError(f"{table.source}: no row has a value of {', '.join(names)}")
    return table.with_rows(places)


def _is_complete(cell: Any, keys: Collection[str]) -> bool:
    if isinstance(cell, dict):
        return not any(is_missing(leaves(cell, "").get(key)) for key in keys)
    return not is_missing(cell) and not (isinstance(cell, list) and flat(cell) is None)


def _meant(
    table: RawTable,
    roles: dict[str, str],
    reading: Reading,
    chosen: Sequence[str],
    sizes: Sequence[Sequence[int]],
) -> dict[str, Any]:
    """Meanings and concepts as arguments of `Corpus`; empty if the table has none. Excluded columns become `kept`."""
    attributes, features, bare = parts_of(table, roles, said=reading.columns, numeric=reading.numeric)
    found: dict[str, Any] = {}
    if attributes:
        conditions = (parse_condition(each)[0] for each in reading.where)
        by_user = {*reading.columns, *chosen, *table.roles, *conditions}
        attributes = plain_attributes(table, attributes, by_user, numeric=reading.numeric, sizes=sizes)
        for name in [name for name, role in roles.items() if role == "attribute" and name in table.columns]:
            if name not in attributes and not any(key.startswith(f"{name}.") for key in attributes):
                roles[name] = "kept"
    if attributes:
        empty = {
            name: [at for at, cell in enumerate(own) if cell is None] for name, own in attributes.items()
        }
        lacking = sorted((place, name) for name, places in empty.items() for place in places)
        if reading.missing == "value":
            for place, name in lacking:
                attributes[name][place] = "missing"
        found = named_attributes(attributes)
        if lacking and reading.missing != "value":
            found |= _missing(table, [place for place, _ in lacking], f"a value of {lacking[0][1]}")
    if features:
        rows = [None if None in row else row for row in zip(*features.values(), strict=True)]
        found |= _features(table, rows, tuple(features))
    elif bare is not None:
        items = [item for row in bare if row is not None for item in row]
        are_numbers = bool(items) and all(map(is_number, items))
        has_decimals = are_numbers and any(isinstance(item, float) for item in items)
        _require_alike(table, bare)
        if has_decimals or (are_numbers and reading.numeric == "features"):
            if reading.numeric == "auto" and _are_whole(bare):
                table.note(
                    "meanings are whole numbers with decimals, such as 1.0, and are read as features; without decimals "
                    "they are read as values of attributes"
                )
            _require_one_length(table, bare)
            found |= _features(table, bare, ())
        else:
            found |= _vectors(table, bare)
    if concepts := [name for name, role in roles.items() if role == "concept"]:
        found |= _concepts(table, concepts)
    return found


def _missing(table: RawTable, places: Sequence[int], what: str) -> dict[str, Any]:
    """Note rows with missing values; return the text as metadata `missing`."""
    text = f"{table.place(min(places))} lacks {what}{more(places, what='values')}"
    advice = "--missing leave takes the complete rows, --missing value makes `missing` a value"
    table.notes.append(f"{text}: {advice}")
    return {"missing": text}


def _are_whole(rows: Sequence[Any]) -> bool:
    filled = [row for row in rows if row]
    if not all(float(item).is_integer() for row in filled for item in row):
        return False
    return all(2 * len({*column}) <= len(filled) for column in zip(*filled, strict=False))


def _features(table: RawTable, rows: Sequence[Any], names: tuple[str, ...]) -> dict[str, Any]:
    if lacking := [place for place, row in enumerate(rows) if row is None]:
        return {"meanings": None, **_missing(table, lacking, "a feature")}
    return {"meanings": np.array(rows, dtype=np.float64), "attribute_names": names}


def _vectors(table: RawTable, rows: Sequence[Any]) -> dict[str, Any]:
    """Read unnamed meanings as vectors, or as sets of concepts if lengths differ or all items are like `color=red`."""
    lacking = [place for place, row in enumerate(rows) if row is None]
    rows = [row or [] for row in rows]
    are_texts = all(isinstance(item, str) for row in rows for item in row)
    if are_texts and (len({*map(len, rows)}) > 1 or all("=" in item for row in rows for item in row)):
        return _named(rows)
    if lacking:
        return {"meanings": None, **_missing(table, lacking, "a meaning")}
    _require_one_length(table, rows)
    if not any(rows):
        return {"meanings": np.array(rows, dtype=np.float64)}
    if are_texts:
        return word_vectors(rows)
    return integer_vectors([[int(item) if isinstance(item, bool) else item for item in row] for row in rows])


def _require_one_length(table: RawTable, rows: Sequence[Any]) -> None:
    lengths = {len(row) for row in rows if row is not None}
    if len(lengths) > 1:
        listed = ", ".join(map(str, sorted(lengths)))
        raise CorpusError(f"{table.source}: expected meanings of one length, got {listed}")


def _require_alike(table: RawTable, rows: Sequence[Any]) -> None:
    first: list[Any] = next((row for row in rows if row), [])
    kinds = str if all(isinstance(item, str) for item in first) else (int, float)
    for place, row in enumerate(rows):
        if not all(isinstance(item, kinds) for item in row or ()):
            like = f"a meaning like the first, {show(first)}"
            raise table.error(place, like if row is not first else "numbers alone, or texts alone", row)
        if any(isinstance(item, int) and abs(item) >= MAX_INTEGER for item in row or ()):
            raise table.error(place, BITS, row)


def _concepts(table: RawTable, names: Sequence[str]) -> dict[str, Any]:
    rows: list[list[str]] = [[] for _ in table.rows]
    filled = False
    for name in names:
        for place, cell in enumerate(table.values(name)):
            items = [] if cell is None else cell.split() if isinstance(cell, str) else cell
            if not isinstance(items, list) or not all(isinstance(item, str | int) for item in items):
                raise table.error(place, "a list of concepts", cell, name)
            filled |= cell is not None
            rows[place] += map(str, items)
    return _named(rows) if filled else {"concepts": None, "concept_names": ()}


def _named(rows: Sequence[Sequence[str]]) -> dict[str, Any]:
    found = Rows()
    found.extend(rows)
    return {"concepts": found.ragged(), "concept_names": tuple(found.names)}


def _kept(table: RawTable, roles: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, role in roles.items():
        if role in ("message", *OF_MEANING):
            continue
        own = CANONICAL.get(role, name)
        if own in found or (own == name and role == "kept" and name in CANONICAL.values()):
            own = f"{own} (kept)"
        cells = table.columns[name]
        is_plain = not table.are_texts and not isinstance(cells, Ragged)  # a text like `[3]` stays a text
        found[own] = column_of(cells if is_plain else table.values(name, is_strict=False))
    return found


def messages_of(table: RawTable, columns: Sequence[str], split: str) -> tuple[Ragged, tuple[str, ...] | None]:
    """Read messages as symbol ids, with symbol names unless all symbols are non-negative integers such as `10`.

    Several columns have one symbol each, in this order. Raises `CorpusError` if a cell is not a message.
    """
    column, *others = columns
    if others:
        table = replace(table, columns={**table.columns, column: _joined(table, columns)}, are_texts=False)
    cells = table.columns[column]
    has_texts = not isinstance(cells, Ragged) and any(isinstance(cell, str) for cell in cells)
    if split not in ("auto", "spaces") and not has_texts:
        raise ConfigError(f"--split {split}: {table.source} has messages of symbols, not texts to split")
    if isinstance(cells, Ragged):
        return cells, None
    lacking = table.missing(column) if table.is_header else []
    if lacking:
        table.notes.append(
            f"{table.place(lacking[0])} has no message{more(lacking)}: taken as empty messages"
        )
    cells = _as_lists(table, column)
    how = _separator(table, cells) if split == "auto" else split
    expected = "a message as a list of integers or of strings, or as a text"
    errors = ErrorList(table.source, expected, table.unit)
    rows = [
        row
        for number, cell in zip(table.rows, cells, strict=True)
        for row in errors.parse([cell], number, lambda each: _symbols(each, how))
    ]
    errors.check()
    are_listed = any(isinstance(item, str) for cell in cells if isinstance(cell, list) for item in cell)
    distinct = set(chain.from_iterable(rows))
    if not are_listed and all(type(symbol) is int or is_id(symbol) for symbol in distinct):
        ids = {symbol: int(symbol) for symbol in distinct}
        if max(ids.values(), default=0) < ID_LIMIT:
            flat = np.array([ids[symbol] for symbol in chain.from_iterable(rows)], dtype=np.int32)
            return Ragged.from_lengths(flat, np.array([len(row) for row in rows], dtype=np.int64)), None
    named = Rows()
    named.extend([[str(symbol) for symbol in row] for row in rows])
    _note_spellings(table, list(named.names), "symbols")
    return named.ragged(), tuple(named.names)


def _joined(table: RawTable, columns: Sequence[str]) -> list[list[Any]]:
    """Join symbols of several columns to messages; empty cells at the end are ignored."""
    whole = [  # data frames convert integers to floats in columns with missing values
        [int(cell) if isinstance(cell, float) and cell.is_integer() else cell for cell in table.values(name)]
        for name in columns
    ]
    are_words = any(isinstance(cell, str) for column in whole for cell in column)
    rows = []
    for place, row in enumerate(map(list, zip(*whole, strict=True))):
        while row and row[-1] is None:
            row.pop()
        for column, cell in zip(columns, row, strict=False):
            if cell is None or isinstance(cell, list) or (are_words and len(str(cell).split()) > 1):
                got = "an empty cell before others" if cell is None else show(cell)
                listed = f"each of the {len(columns)} columns of the message"
                raise CorpusError(f"{table.place(place, column)}: expected one symbol in {listed}, got {got}")
        rows.append([str(cell) if are_words else cell for cell in row])
    return rows


def _as_lists(table: RawTable, column: str) -> Sequence[Any]:
    """Messages as lists or texts; from jsPsych's `{"Q0": "wa me"}`, the answer is taken."""
    cells = list(replace(table, are_texts=False).values(column))
    items = [item for cell in cells if isinstance(cell, list) for item in cell if isinstance(item, dict)]
    if items:
        part = ({"layout": f"rows:{column}"}, f"a part of each, such as {show(items[0])}")
        asked = f"column {column} has lists of objects: what is a message?"
        raise ReadingQuestion(table.source, asked, [part])
    objects = [cell for cell in cells if isinstance(cell, dict)]
    keys = dict.fromkeys(key for each in objects for key in each)
    if len(keys) > 1:
        readings = []
        for key in keys:
            answers = [each[key] for each in objects if each.get(key)]
            words = {"columns": {f"{column}.{key}": "message"}}
            readings.append((words, f"{len(answers)} messages such as {show(answers[:1])}"))
        raise ReadingQuestion(table.source, f"which part of column {column} is the message?", readings)
    if keys and all(isinstance(answer, str) for each in objects for answer in each.values()):
        cells = [next(iter(cell.values()), None) if isinstance(cell, dict) else cell for cell in cells]
    return [("" if table.are_texts else []) if is_missing(cell) else cell for cell in cells]


def _symbols(cell: Any, how: str) -> list[Any]:
    if isinstance(cell, str):
        if how == "letters":
            return [letter for letter in unicodedata.normalize("NFC", cell) if not letter.isspace()]
        return without_padding(cell.split() if how == "spaces" else symbols_of(cell, how))
    items = without_padding(cell) if isinstance(cell, list) else [cell]
    if list in map(type, items):
        raise LineError(show(cell), "a list of symbols, not of lists")
    if not items or not isinstance(items[0], str):
        return ids_of(items)
    for item in items:
        if not isinstance(item, str):
            raise LineError(show(item))
    return items


def _separator(table: RawTable, cells: Sequence[Any]) -> str:
    """Infer the separator of symbols: an unambiguous sign, otherwise spaces; raise ReadingQuestion if unclear."""
    if table.unclear is not None:
        raise table.unclear
    texts = list(dict.fromkeys(cell for cell in cells if isinstance(cell, str) and cell))
    sign = sign_between(texts)
    are_ids = all(len(text) == 1 or is_id(text) for text in texts) and {*map(len, texts)} <= {1}
    # Numbers of which all have two digits, for example, may be messages of two symbols.
    are_ids |= all(map(is_id, texts)) and len({*map(len, texts)}) > 1
    is_sure = have_spaces(texts) or len(texts) < 2 or are_ids
    if sign is not None or is_sure:
        return sign or "spaces"
    most = max(SIGNS, key=lambda each: sum(each in text.strip(each) for text in texts))
    num_signs = sum(most in text.strip(most) for text in texts)
    example = max(texts, key=lambda text: (most in text.strip(most), len(text)))[:40]
    readings = [("letters", list(example)), ("spaces", [example])]
    seen = [f"{len(texts)} different messages without spaces, such as {', '.join(texts[:3])[:60]}"]
    if num_signs:
        readings.insert(0, (most, symbols_of(example, most)))
        seen.append(f"{num_signs} of them have {most}")
    choices = []
    for how, symbols in readings:
        shown = f"{len(symbols)} symbols: {' '.join(symbols[:6])}{' ...' if len(symbols) > 6 else ''}"
        choices.append(({"split": how}, f"{example} is {shown if len(symbols) > 1 else 'one symbol'}"))
    raise ReadingQuestion(table.source, "is a message one symbol, or several?", choices, seen)


def _note_spellings(table: RawTable, names: Sequence[str], what: str) -> None:
    if pair := _alike(names, lambda name: unicodedata.normalize("NFC", name)):
        forms = "two Unicode spellings (composed and decomposed letters)"
        table.note(f"{pair[1]} has {forms}, which count as two {what}")


def _alike(names: Sequence[str], form: Callable[[str], str]) -> tuple[str, str] | None:
    """The first two names with the same form; None if all forms differ."""
    forms: dict[str, str] = {}
    pairs = ((forms.setdefault(form(name), name), name) for name in names)
    return next((pair for pair in pairs if pair[0] != pair[1]), None)
