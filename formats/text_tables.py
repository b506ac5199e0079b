"""Read texts as tables: CSV, TSV and spreadsheet exports, and texts with one message, or two columns, per line."""

import csv
import io
import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ecsuite.formats.cells import is_decimal, is_id
from ecsuite.formats.layouts import named_layout, table_of_lines
from ecsuite.formats.roles import MESSAGE_NAMES, plain_name, roles_in, split_header
from ecsuite.formats.stored_text import LINES, ending_of, read_text
from ecsuite.formats.strict_json import place_of, shorten
from ecsuite.formats.table import RawTable, columns_of, more
from ecsuite.runtime.errors import ConfigError, CorpusError, ReadingQuestion
from ecsuite.runtime.printable import counted

CELLS = 12.0
"""Peak memory per byte of a table while it is read."""
ENDINGS = (".csv", ".tsv")
"""Endings of files that are always read as tables."""
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
"""Separators of the cells of a table; in `.txt` files also spaces, if the header is separated by spaces."""
CELL_SEPARATORS = (*SEPARATORS, " ")
PAIRS = (" ||| ", "|||", " -> ", "->", " => ", " = ", "\t", ": ")
"""Separators of the two columns of a text, in addition to `SEPARATORS`."""
_R_CODE = re.compile(r"\s*(?:[\w.]+ *<- *)?(?:structure|data\.frame|tibble|list|c)\((?:list\(|[\w.`]+ *=|\")")
_TOKEN = re.compile(r"[0-9]+(?:[-.][0-9]+)?")
_RULE = re.compile(r":?-+:?")
_COMMENT = "\0#"
"""Prefix that marks comment lines."""
SAMPLE = 200
"""Number of lines from which the separator is inferred."""


def read_text_table(
    file: Path,
    name: str,
    *,
    given: Collection[str] = (),
    has_messages: bool = True,
    layout: str | None = None,
) -> RawTable:
    """Read a text as a table.

    Args:
        file: Plain or compressed UTF-8 text.
        name: Name of the file in messages; its ending may imply a table.
        given: Names of columns whose role the user sets; numbers if the file has no header.
        has_messages: Whether rows are messages, so that a file without a header may contain messages.
        layout: The layout that the user names; None: a layout whose regular expression matches all lines.

    Raises:
        ConfigError, CorpusError: If the file is not a text, or not a table; one line with the position.
    """
    is_named = ending_of(name) in ENDINGS
    is_table = is_named or not has_messages
    try:
        text = read_text(file, factor=CELLS if is_table else LINES)
    except ConfigError as error:
        raise CorpusError(str(error)) from None
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))  # a message may be long
    told = re.match(
        r'"?sep=([,;|\t])"?\n', text, re.IGNORECASE
    )  # declaration of the separator for spreadsheets
    if told:
        text = "\n" + text[told.end() :]  # rows keep their numbers
    has_lines = layout is not None and bool(named_layout(layout).line)
    if (has_lines or not is_table) and (found := table_of_lines(text.split("\n"), name, layout)) is not None:
        return found
    if _R_CODE.match(text):
        raise CorpusError(f"{name}: R code, as dput writes it: save the frame with write.csv")
    if has_messages and (found := _of_sentences(text, name)) is not None:
        return found
    text, notes = _without_comments(text, name, is_table=is_table)
    lines = [line.strip(" ") for line in text.split("\n") if line.strip() and line != _COMMENT][:SAMPLE]
    separator = told[1] if told else _separator(lines, given, is_named=is_named, has_messages=has_messages)
    if separator is None:
        return replace(_of_lines(text, name), notes=notes)
    quoted = text
    if separator in CELL_SEPARATORS and _has_quoted_names(lines, separator):
        # In R's files, NA without quotes is a missing value, and "NA" is a word.
        bare_or_quoted = rf'("(?:[^"]|"")*")|(?<![^{separator}\n])NA(?![^{separator}\n])'
        text = re.sub(bare_or_quoted, lambda found: found[1] or '""', text)
    if not (rows := _rows(text, separator, name)):
        objects, messages = "a header and a row for each object", "a header with a column `message`"
        raise CorpusError(f"{name}: empty file, expected {messages if has_messages else objects}")
    found = _of_rows(rows, name, separator, given, is_table=is_table, has_messages=has_messages)
    return replace(found, has_na=quoted != text, notes=[*notes, *found.notes])


def _of_sentences(text: str, name: str) -> RawTable | None:
    """Read CoNLL-U, with a sentence as a message; None for other texts."""
    lines = [(number, line.strip()) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    cells = [line.split("\t") for _, line in lines if not line.startswith("#")]
    if not cells or not all(len(row) == 10 and _TOKEN.fullmatch(row[0]) for row in cells):
        return None
    rows, numbers, about = list[dict[str, Any]](), list[int](), dict[str, str]()
    for number, line in lines:
        key, equals, value = line.lstrip("# ").partition("=")
        place, word, *_ = line.split("\t") if not line.startswith("#") else ("#", "")
        if place == "#":
            about |= {key.strip(): value.strip()} if equals else {}
        elif place == "1":
            rows.append({"message": [word], **about})
            numbers.append(number)
            about = {}
        elif place.isdecimal():  # not a contraction such as `1-2`, or an empty node `1.1`
            if not rows:
                raise CorpusError(f"{name}:{number}: expected the first word of a sentence, 1, got {place}")
            rows[-1]["message"].append(word)
    columns = columns_of(rows)
    roles = {key: "message" if key == "message" else "kept" for key in columns}
    return RawTable(source=name, about="CoNLL-U", columns=columns, rows=numbers, unit="line", roles=roles)


def _without_comments(text: str, name: str, *, is_table: bool) -> tuple[str, list[str]]:
    """Mark comment lines, which begin with `#` (in tables, only above the header); return the text and notes."""
    lines = text.split("\n")
    others = [number for number, line in enumerate(lines) if line.strip() and not line.startswith("#")]
    last = min(others, default=0) if is_table else len(lines)
    marked = [_COMMENT if line.startswith("#") and at < last else line for at, line in enumerate(lines)]
    number = marked.count(_COMMENT)
    if not number or not others:
        return text, []
    begin = "begins" if number == 1 else "begin"
    return "\n".join(marked), [f"{name}: {counted(number, 'line')} that {begin} with # left out"]


def _separator(
    lines: Sequence[str], given: Collection[str], *, is_named: bool, has_messages: bool
) -> str | None:
    """Infer the separator that splits all lines into the same, highest number of cells; None: one message per line."""
    found = {each: _num_cells(lines, each) for each in (*SEPARATORS, *PAIRS)}
    most = max(SEPARATORS, key=lambda each: (_num_cells(lines[:1], each), found[each] > 0))
    known = {*MESSAGE_NAMES, *(plain_name(name) for name in given if not name.isdecimal())}
    is_table = is_named or not has_messages
    has_header = is_table or any(known & {*_header(lines, each)} for each in SEPARATORS)
    if lines and most in lines[0] and has_header:
        return most
    if not is_named and _is_spaced(lines, has_messages=has_messages):
        return " "
    if is_table:
        return ","
    return next((each for each in PAIRS if found[each] == 2 or (each == "\t" and found[each] > 1)), None)


def _is_spaced(lines: Sequence[str], *, has_messages: bool) -> bool:
    """Whether cells are separated by spaces, as in R's tables: the names of the header do not occur below."""
    header, *rows = _cells(lines, " ") or [[]]
    names = [plain_name(split_header(cell)[0]) for cell in header]
    if len(names) < 2 or (has_messages and not {*names} & {*MESSAGE_NAMES}):
        return False
    counts = {len(row) for row in rows}
    are_equal = len(rows) >= 3 and counts in ({len(names)}, {len(names) + 1}) and "\t" not in lines[0]
    return _has_quoted_names(lines, " ") or (are_equal and not any({*header} & {*row} for row in rows))


def _has_quoted_names(lines: Sequence[str], separator: str) -> bool:
    header = next(iter(_cells(lines[:1], separator)), [])
    return bool(header) and lines[0].strip() == separator.join(f'"{cell}"' for cell in header)


def _cells(lines: Sequence[str], separator: str) -> list[list[str]]:
    try:
        return list(csv.reader(lines, delimiter=separator, skipinitialspace=separator == " "))
    except csv.Error:
        return []


def _header(lines: Sequence[str], separator: str) -> list[str]:
    """Normalised names in a first line with several cells; otherwise an empty list."""
    named = [split_header(cell) for cell in next(iter(_cells(lines[:1], separator)), [])]
    names = ["message" if role == "message" else plain_name(name) for name, role in named]
    return names if len(names) > 1 else []


def _num_cells(lines: Sequence[str], separator: str) -> int:
    """The number of cells per line; 0 if it differs between lines, or is 1."""
    if not lines or separator not in lines[0]:
        return 0
    is_plain = separator not in SEPARATORS
    counts = {*map(len, [line.split(separator) for line in lines] if is_plain else _cells(lines, separator))}
    return counts.pop() if len(counts) == 1 and counts != {1} else 0


def _rows(text: str, separator: str, name: str) -> list[tuple[int, list[str]]]:
    if separator not in CELL_SEPARATORS:
        lines = [(at, line) for at, line in enumerate(text.split("\n"), 1) if line.strip()]
        return [(number, line.split(separator)) for number, line in lines if line != _COMMENT]
    if separator == " ":
        text = "\n".join(map(str.strip, text.split("\n")))
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=separator == " ")
    try:
        rows = enumerate(reader, 1)
        return [(number, row) for number, row in rows if any(map(str.strip, row)) and row != [_COMMENT]]
    except csv.Error as error:
        raise CorpusError(f"{name}:{reader.line_num}: can't be read as a table: {error}") from None


def _of_lines(text: str, name: str) -> RawTable:
    all_lines = enumerate(text.removesuffix("\n").split("\n"), 1)
    numbered = [(number, line) for number, line in all_lines if line != _COMMENT]
    lines = [line for _, line in numbered]
    if len(lines) > 1 and plain_name(split_header(lines[0])[0]) in ("message", "messages"):
        cells = [(number, [line]) for number, line in numbered]
        return _of_rows(cells, name, "\n", (), is_table=True, has_messages=True)
    filled = [line.split() for line in lines if line.strip()]
    if not filled:
        raise CorpusError(f"{name}: empty file, expected one message per line, such as 3 1 4")
    words = [cell for row in filled[:SAMPLE] for cell in row]
    if all(map(is_decimal, words)) and not all(re.fullmatch(r"[0-9]+", word) for word in words):
        expected = "expected messages: symbols are whole numbers from 0, or words"
        raise CorpusError(f"{name}: a table of decimals, {expected}")
    return RawTable(
        source=name, about="text of symbols", columns={"message": lines}, rows=[number for number, _ in numbered],
        unit="line", is_header=False, roles={"message": "message"}, are_texts=True, unclear=_shared_word(filled, name),
    )  # fmt: skip


def _shared_word(lines: Sequence[Sequence[str]], name: str) -> ReadingQuestion | None:
    """Make the question whether a word that is once in each line is a symbol, or separates two columns."""
    first = lines[0]
    shared = {word for word in first[1:-1] if not is_decimal(word)}
    for line in lines:
        counts = Counter(line)
        shared = {word for word in shared if counts[word] == 1 and word not in (line[0], line[-1])}
        if not shared:
            return None
    if lines.count(first) == len(lines):
        return None
    word = next(filter(shared.__contains__, first))
    left, _, right = " ".join(first).partition(f" {word} ")
    pair, turned = (
        rf"line:(?P<{one}>.+) {re.escape(word)} (?P<{other}>.+)"
        for one, other in (("meaning", "message"), ("message", "meaning"))
    )
    asked = f"all lines have {shorten(word)}: is it between two columns, or a symbol?"
    readings = [
        ({"layout": pair}, f"{shorten(left)} is the meaning, {shorten(right)} the message"),
        ({"layout": turned}, f"{shorten(right)} is the meaning, {shorten(left)} the message"),
        ({"split": "spaces"}, "a symbol of each message"),
    ]
    return ReadingQuestion(name, asked, readings, [f"the first line is {' '.join(first)[:60]}"])


def _of_rows(
    rows: Sequence[tuple[int, list[str]]],
    name: str,
    separator: str,
    given: Collection[str],
    *,
    is_table: bool,
    has_messages: bool,
) -> RawTable:
    first = [cell.strip() for cell in rows[0][1]]
    named = [split_header(cell) for cell in first]
    names = {plain_name(each) for each, _ in named}
    numbers = [str(place) for place in range(1, len(first) + 1)]
    are_numbers = bool(given) and {*given} <= {*numbers}
    told = () if are_numbers else map(plain_name, given)
    is_known = bool(names & {*MESSAGE_NAMES, *told} or any(role for _, role in named))
    has_header = is_known or (is_table and not are_numbers and not all(map(is_decimal, first)))
    if not has_header and has_messages and is_table and not are_numbers:
        return _messages_of_integers(rows, name)
    unit = "row" if is_table else "line"
    place = place_of(name, unit, rows[0][0])
    if not has_messages and not (has_header and _are_names(first, rows[1:])):
        raise CorpusError(f"{place}: expected the names of the columns, got {', '.join(first):.100}")
    body = rows
    if has_header:
        body, seen = rows[1:], [each for each, _ in named if each]
        if twice := next((each for each in seen if seen.count(each) > 1), None):
            raise CorpusError(f"{place}: two columns have the name {shorten(twice)}")
        if all(len(row) == len(named) + 1 for _, row in body):
            if not any(row[-1].strip() for _, row in body):
                body = [(number, row[:-1]) for number, row in body]  # a separator ends each row
            elif _are_row_names(body):
                named = [("", None), *named]
    header = [each or f"Unnamed: {at}" for at, (each, _) in enumerate(named)] if has_header else numbers
    notes = []
    if has_header:  # files that were joined; the line below the header of a Markdown table
        again = [number for number, row in body[1:] if [cell.strip() for cell in row] == first]
        marks = [cell.strip() for cell in body[0][1] if cell.strip()] if body else []
        rules = [body[0][0]] if marks and separator == "|" and all(map(_RULE.fullmatch, marks)) else []
        body = [(number, row) for number, row in body if number not in {*again, *rules}]
        notes = (
            [f"{place_of(name, unit, again[0])} repeats the header{more(again)}: left out"] if again else []
        )
    if not body:
        raise CorpusError(
            f"{name}: a header and no rows, expected one {'message' if has_messages else 'object'} per row"
        )
    if wrong := [(number, len(row)) for number, row in body if len(row) != len(header)]:
        expected = f"{len(header)} cells{', as in the header' if has_header else ''}, got {wrong[0][1]}"
        others = f"{more(wrong)} have another number of cells" if len(wrong) > 1 else ""
        raise CorpusError(f"{place_of(name, unit, wrong[0][0])}: expected {expected}{others}")
    columns = {each: [row[at].strip() for _, row in body] for at, each in enumerate(header)}
    between = {**SEPARATORS, " ": "spaces", ": ": "colons"}.get(separator, separator.strip() or "tabs")
    about = f"{len(header)} columns with {between}"
    about = f"table with a header, {between} between cells" if has_header else about
    roles = {each: role for each, (_, role) in zip(header, named, strict=True) if has_header}
    return RawTable(
        source=name, about=about, columns=columns, rows=[number for number, _ in body], unit=unit,
        is_header=has_header, are_texts=True, has_decimal_comma=separator != ",", notes=notes, **roles_in(roles),
    )  # fmt: skip


def _are_names(first: Sequence[str], rows: Sequence[tuple[int, list[str]]]) -> bool:
    """Whether the first row is a header: some of its texts, or of their words, do not occur below."""
    below = [
        {word for _, row in rows for cell in row[at : at + 1] for word in cell.split()}
        for at in range(len(first))
    ]
    return not rows or not all({*cell.split()} <= column for cell, column in zip(first, below, strict=True))


def _are_row_names(rows: Sequence[tuple[int, list[str]]]) -> bool:
    """Whether first cells without a header are row names, as R writes them: 1, 2, 3, or texts."""
    cells = [row[0].strip() for _, row in rows]
    is_numbered = cells == [str(place) for place in range(1, len(cells) + 1)]
    return is_numbered or (len(set(cells)) == len(cells) and not any(map(is_decimal, cells)))


def _messages_of_integers(rows: Sequence[tuple[int, list[str]]], name: str) -> RawTable:
    messages = []
    for number, row in rows:
        cells = [cell.strip() for cell in row]
        while cells and not cells[-1]:
            cells.pop()
        bad = next((cell for cell in cells if not is_id(cell)), None)
        if bad is not None:
            expected = "expected integers, or a header with a column `message`"
            raise CorpusError(f"{name}: row {number}: {expected}; got {shorten(bad)}")
        messages.append([int(cell) for cell in cells])
    return RawTable(
        source=name, about="table of integers", columns={"message": messages}, rows=[number for number, _ in rows],
        is_header=False, roles={"message": "message"},
    )  # fmt: skip
