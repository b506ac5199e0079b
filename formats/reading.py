"""`read_corpus`: detect the format of a file, read it as a table, and convert it to a corpus."""

import os
import shlex
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np

from ecsuite.corpus import Corpus
from ecsuite.formats.array_files import read_arrays
from ecsuite.formats.cells import PADDING
from ecsuite.formats.corpora import OF_CELLS, SPLITS, Reading, corpus_of
from ecsuite.formats.directory import CORPUS, require_no_answers, with_siblings
from ecsuite.formats.frames import FOLDER_CONTENTS, is_frame, is_table_folder, read_arrow_table, read_frame
from ecsuite.formats.json_tables import begins_document, read_json_table, read_packed_log
from ecsuite.formats.layouts import (
    BESIDE,
    Missing,
    Numeric,
    laid_out,
    layout_beside,
    named_layout,
    recognised,
)
from ecsuite.formats.stored_text import ending_of, opened
from ecsuite.formats.strict_json import ID_LIMIT, LineError, decode
from ecsuite.formats.table import NO_EOS, Cells, RawTable, parse_condition
from ecsuite.formats.text_tables import ENDINGS, read_text_table
from ecsuite.parts.config import RUN_CONFIG
from ecsuite.parts.error_messages import path_text
from ecsuite.runtime.errors import ConfigError, CorpusError, ReadingQuestion, look_up, shown
from ecsuite.runtime.memory import allowing, kept_memory
from ecsuite.runtime.printable import printable
from ecsuite.runtime.ragged import Ragged

JSON = (".json", ".jsonl", ".ndjson")
"""File name endings of JSON."""
BINARY = (".parquet", ".arrow", ".feather", ".npy", ".npz", ".safetensors")
"""File name endings of binary formats."""
_WORKBOOK = "an Excel workbook: save the sheet as CSV"
_PICKLE = "a pickle, which can run code when it is read: save lists as JSON, or arrays as .npy"
_CONVERTED = "save it there as CSV"
OTHER: Mapping[str, Sequence[bytes]] = {
    "a PNG image": (b"\x89PNG",),
    "a JPEG image": (b"\xff\xd8\xff",),
    "a GIF image": (b"GIF8",),
    "an SVG image": (b"<svg",),
    "XML": (b"<?xml",),
    "an HTML page": (b"<!DOCTYPE", b"<html"),
    "a PDF": (b"%PDF",),
    f"a file of SPSS: {_CONVERTED}": (b"$FL2", b"$FL3"),
    f"a file of R: {_CONVERTED}": (b"RDX2\n", b"RDX3\n", b"X\n\0\0\0", b"A\n2\n", b"A\n3\n"),
    f"a file of Stata: {_CONVERTED}": (b"<stata_dta", b"r\x02\x01", b"s\x02\x01", b"r\x01\x01", b"s\x01\x01"),
    f"a file of SAS: {_CONVERTED}": (bytes(12) + b"\xc2\xea\x81\x60",),
    "a file of MATLAB: save the table as CSV": (b"MATLAB 5.0",),
    "HDF5: save the arrays as .npz": (b"\x89HDF",),
    "7-Zip data: unpack it first": (b"7z\xbc\xaf",),
    "an SQLite database": (b"SQLite",),
    _WORKBOOK: (b"\xd0\xcf\x11\xe0",),
    "bzip2 data: unpack it with bunzip2 first": (b"BZh",),
    "zstandard data: unpack it with unzstd first": (b"\x28\xb5\x2f\xfd",),
    "a Feather file of version 1: save it with version 2, or as CSV": (b"FEA1",),
    _PICKLE: (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05"),
}
"""First bytes of unsupported binary formats, by description."""
OTHER_ENDINGS = {".yaml": "YAML", ".yml": "YAML", ".toml": "TOML", ".ipynb": "a notebook", ".py": "Python"}
"""Unsupported text formats by file name ending."""


def read_corpus(
    source: Any,
    *,
    columns: Mapping[str, str] | None = None,
    attributes: str | Sequence[str] = (),
    where: str | Sequence[str] = (),
    layout: Path | str | None = None,
    split: str = "auto",
    eos: str | int | None = "auto",
    numeric: Numeric = "auto",
    missing: Missing = "auto",
    meanings: Path | str | None = None,
    max_memory: str | None = None,
) -> Corpus:
    """Read a corpus from a corpus folder, a file of messages, a table of any tool, or a data frame.

        ec.read_corpus("experiment.csv", columns={"code_string": "message", "rt": "kept"})
        ec.read_corpus(frame)

    The format is detected from the content: JSON (one message, pair or record per line, or one or several documents),
    tables with commas, semicolons, tabs or bars between cells, texts with one message per line, Parquet, Arrow and
    Feather, NumPy and safetensors; files may be compressed with gzip or xz, or be pipes. Frames are data frames of
    pandas, polars, Arrow and `datasets`, a mapping of columns, or a list of records. See `docs/file_formats.md`.

    EOS is read from the metadata of a corpus folder. Otherwise it is detected by ELCC's rule (`EoS Token Present`):
    every non-empty message ends in the same symbol, and only that symbol follows its first occurrence, as padding. In
    addition, the messages without it must not all be equal.

    Args:
        source: A path, or a frame.
        columns: Roles (`ecsuite.formats.roles.ROLES`) by name of column; other columns' roles are inferred. Columns
            without a header are "1", "2", and so on; parts of object cells are `response.word`.
        attributes: The columns that are attributes of the meaning; empty: inferred.
        where: Conditions on rows, such as "trial_type=survey-text", "color!=red", or "word!=" for any word.
        layout: The name of a layout (`ecsuite list layouts`), or a YAML file with a layout; None: `corpus.yaml` next to
            the file, or the layout that is recognised.
        split: Separator of symbols in messages that are texts: auto, spaces, letters, or a sign.
        eos: The EOS symbol; None (or "none") if there is none; "auto": detected, see above.
        numeric: Whether numbers in meanings are "values" of attributes or "features"; "auto": integers are values, and
            decimals raise a ReadingQuestion.
        missing: "keep" rows without a value of an attribute, "leave" them out, or take `missing` as a "value".
        meanings: A second file with the meaning of each message, row by row.
        max_memory: Maximum memory for reading a file, such as `"8G"`; None: `ECSUITE_MAX_MEMORY`, or three quarters of
            the free memory.

    Returns:
        The corpus. `metadata` has `source_format`, `roles`, and `notes` on inferred properties.

    Raises:
        ConfigError: If a file needs more memory than is allowed, or an argument is not valid.
        CorpusError: If the source is empty or not valid; one line with the first position.
        ReadingQuestion: If the source is ambiguous; the error lists the options that choose each reading.
    """
    if not isinstance(columns, Mapping | None):
        raise ConfigError(f"columns: expected roles by name of column, got {shown(columns)}")
    if not isinstance(meanings, str | os.PathLike | None):
        raise ConfigError(f"meanings: expected the path of a file, got {type(meanings).__name__}")
    roles = {str(name): role for name, role in (columns or {}).items()}
    for name, words in (("attributes", attributes), ("where", where)):
        if not isinstance(words, str | list | tuple) or not all(isinstance(each, str) for each in words):
            raise ConfigError(f"{name}: expected a text, or a list of texts, got {shown(words)}")
    reading = Reading(
        columns=roles, layout=None if layout is None else str(layout),
        attributes=tuple(attributes.split(",")) if isinstance(attributes, str) else tuple(attributes),
        where=(where,) if isinstance(where, str) else tuple(where), split=split,
        eos="none" if eos is None else str(eos), numeric=numeric,
        missing=missing, meanings=None if meanings is None else str(meanings),
    )  # fmt: skip
    return read_as(source, reading, max_memory=max_memory)


def read_as(source: Any, reading: Reading, *, max_memory: str | None = None) -> Corpus:
    """Read a corpus with the options of a `Reading`."""
    split = reading.split
    is_sign = isinstance(split, str) and bool(split) and not any(c.isalnum() or c.isspace() for c in split)
    if split not in SPLITS and not is_sign:
        expected = f"{', '.join(SPLITS)}, or the sign between symbols, such as , or -"
        raise ConfigError(f"split: expected {expected}, got {shown(split)}")
    for name, choices in (("numeric", Numeric), ("missing", Missing)):
        look_up(name, getattr(reading, name), dict.fromkeys(get_args(choices)))
    with allowing(max_memory), kept_memory():
        if isinstance(source, str | os.PathLike):
            return _read_path(Path(source), reading)
        if not is_frame(source):
            expected = "a path, a frame, a mapping of columns or a list of records"
            raise ConfigError(f"expected {expected}, got {type(source).__name__}")
        table = read_frame(source)
        if reading.meanings is not None:
            table = _with_meanings(table, Path(reading.meanings), reading)
        return _corpus_of(table, reading, None)


def _read_path(path: Path, reading: Reading) -> Corpus:
    folder = path.parent if path.name == CORPUS else path
    if not (folder / CORPUS).exists() and (folder / RUN_CONFIG).is_file():
        resume = ["ecsuite", "train-game", str(folder / RUN_CONFIG), "--out", str(folder), "--resume"]
        advice = f"wait until its training ends, or continue it with `{shlex.join(resume)}`"
        raise CorpusError(f"{folder}: the run has no corpus yet: {advice}")
    if path.suffix == ".safetensors" and (path.parent / RUN_CONFIG).is_file():
        raise CorpusError(f"{path}: a checkpoint of a run: ecsuite score {shlex.quote(str(path.parent))}")
    try:
        path = path / CORPUS if path.is_dir() and (path / CORPUS).is_file() else path
        folder = path if path.is_dir() else path.parent
        is_beside = path.name != CORPUS and reading.layout is None and layout_beside(path) is not None
        name = str(folder / BESIDE) if is_beside else reading.layout
        table = read_table(path, reading.columns, layout=name)
        if reading.meanings is not None:
            table = _with_meanings(table, Path(reading.meanings), reading)
        is_ours = path.name == CORPUS and set(table.columns) == {"message"} and reading.meanings is None
        return _corpus_of(table, reading, path, name, is_ours=is_ours)
    except OSError as error:
        raise CorpusError(f"cannot read {error.filename or path}: {error.strerror or error}") from None
    except CorpusError as error:
        name = str(error).partition(":")[0]
        if Path(name).name != name or not (folder / name).is_file():
            raise
        if isinstance(error, ReadingQuestion):
            raise error.inside(folder) from None
        raise CorpusError(f"{folder / name}{str(error).removeprefix(name)}", error.num_errors) from None


def _corpus_of(
    table: RawTable, reading: Reading, path: Path | None, layout: str | None = None, *, is_ours: bool = False
) -> Corpus:
    used = reading
    has_names = table.is_header and not is_ours
    name = layout or reading.layout or table.layout or (recognised(table) if has_names else None)
    if name is not None:
        found = named_layout(name)
        if found.line and table.layout != name:
            raise CorpusError(f"{table.source}: layout {name} does not fit: expected a text of lines")
        unsaid = [each for each in OF_CELLS if getattr(reading, each) == "auto"]
        used = replace(reading, **{each: getattr(found, each) for each in unsaid})
        is_own = name.endswith((".yaml", ".yml"))
        table = laid_out(table, found, name, chooses=not reading.where, is_own=is_own)
        gone = {*found.rows} - table.columns.keys()
        used = replace(used, columns={key: role for key, role in used.columns.items() if key not in gone})
    of_rows = [each for each in reading.where if has_names and table.with_part(parse_condition(each)[0])]
    corpus = corpus_of(table.chosen(of_rows), used)
    if is_ours and path is not None:
        corpus = with_siblings(corpus, path.parent)
    corpus = _with_eos(corpus, used, path, table.eos, reading)
    for each in reading.where:
        if each not in of_rows:
            column, is_not, value = parse_condition(each)
            corpus = corpus.where(column, value, is_not=is_not)
    said = {"where": list(reading.where)} if of_rows else {}
    return replace(corpus, metadata={**corpus.metadata, **said})


def read_table(
    path: Path, given: Mapping[str, str], *, has_messages: bool = True, layout: str | None = None
) -> RawTable:
    """Read a file, or a folder of Parquet files, as a table.

    Args:
        path: The file or folder.
        given: Roles of columns that the user sets.
        has_messages: Whether rows are messages; otherwise they are objects, and a text needs a header.
        layout: The layout that the user names; its regular expression, if any, parses the lines of a text.

    Raises:
        ConfigError, CorpusError: If it can't be read, or is not a table; one line with the detected format.
    """
    name = path.name or str(path)
    if path.is_dir() and is_table_folder(path):
        return read_arrow_table(path, str(path))
    if path.is_dir() and (path / "forms.csv").is_file():  # a word list of CLDF
        path, name = path / "forms.csv", "forms.csv"
    if path.is_dir():
        require_no_answers(path)
        files = sorted(each.name for each in path.glob("[!.]*.*") if each.is_file())
        listed = ", ".join(map(printable, files[:3])) + (", ..." if len(files) > 3 else "")
        choose = f"; name one of its files: {listed}" if files else ""
        levels = ("*", "*/*", "*/*/*")  # levels of folders in the Emergent Language Corpus Collection
        if corpora := sorted(each.parent for level in levels for each in path.glob(f"{level}/{CORPUS}")):
            example = printable(str(corpora[0]))
            choose = f"; it contains {len(corpora):,} corpora: name one of them, such as {example}"
            if len(corpora) == 1:
                choose = f"; it contains one corpus: {example}"
        raise CorpusError(f"{path}: the folder has no {FOLDER_CONTENTS}{choose}")
    with local_file(path) as file:
        try:
            with opened(file) as content:
                start = content.read(4096)
        except ConfigError as error:
            raise CorpusError(str(error)) from None
        kind = _kind(start, name)
        if kind == "arrays":
            return read_arrays(file, name, given)
        if kind == "log":
            return read_packed_log(file, name)
        if kind == "arrow":
            return read_arrow_table(file, name)
        ending = ending_of(name)
        if ending in JSON or (ending not in ENDINGS and _begins_as_json(start)):
            return read_json_table(file, name)
        return read_text_table(file, name, given=tuple(given), has_messages=has_messages, layout=layout)


def _kind(start: bytes, name: str) -> str:
    ending = Path(name.lower()).suffix
    is_archive = start[:2] == b"PK"
    if is_archive and ending == ".eval":
        return "log"
    other = next((what for what, starts in OTHER.items() if start.startswith(tuple(starts))), None)
    if is_archive and (b"data.pkl" in start or b"/version" in start):
        other = "a file of torch, which is a pickle"
    elif is_archive and b".npy" not in start[:512]:
        other = _WORKBOOK if b"xl/" in start or b"[Content" in start else "a zip archive: unpack it first"
        other = "a Word document: save the table as CSV" if b"word/" in start else other
        other = "an OpenDocument file: save the sheet as CSV" if b"opendocument" in start else other
    other = "a tar archive: unpack it first" if start[257:262] == b"ustar" else other
    other = other or OTHER_ENDINGS.get(ending)
    is_safetensors = len(start) > 9 and start[8:9] == b"{" and int.from_bytes(start[:8], "little") < 1 << 30
    if other is None and (start[:6] == b"\x93NUMPY" or is_archive or is_safetensors):
        return "arrays"
    if other is None and start[:4] in (b"PAR1", b"ARRO", b"\xff\xff\xff\xff"):
        return "arrow"
    if other is None and ending in BINARY:
        raise CorpusError(f"{name}: can't be read as {ending[1:]}: it does not begin as such a file")
    is_utf_16 = start[:2] in (b"\xff\xfe", b"\xfe\xff")  # the error names the line later, as for JSON
    if other is None and b"\0" in start and not is_utf_16 and ending not in JSON:
        other = "binary data, such as a picture or a sound"
    if other is not None:
        raise CorpusError(f"{name}: {other}; expected messages: JSON lines, a table, a text, or arrays")
    return "text"


def _begins_as_json(start: bytes) -> bool:
    start = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    if start[:1] not in (b"[", b"{", b'"'):
        return False
    line = start.split(b"\n", 1)[0].strip()
    try:
        values = decode(line)
        return len(values) < 2 or not all(isinstance(each, str) for each in values)  # cells in quotes
    except LineError:
        return begins_document(line) or (b"\n" not in start and len(start) > 1000)


@contextmanager
def local_file(path: Path) -> Iterator[Path]:
    """Yield the file itself, or a temporary copy of a pipe or device, which can be read twice."""
    mode = os.stat(path).st_mode
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / (path.name or "input")
        with open(path, "rb") as source, open(copy, "wb") as target:
            shutil.copyfileobj(source, target)
        try:
            yield copy
        except (ConfigError, CorpusError) as error:
            if isinstance(error, ReadingQuestion):
                raise
            raise type(error)(str(error).replace(str(copy), str(path))) from None


def _with_meanings(table: RawTable, path: Path, reading: Reading) -> RawTable:
    try:
        other = read_table(path, reading.columns)
    except OSError as error:
        raise CorpusError(f"cannot read {path}: {error.strerror or error}") from None
    if len(other.rows) != len(table.rows):
        rows = f"{len(table.rows):,} rows, one per message"
        raise CorpusError(f"{path}: expected {rows}, got {len(other.rows):,}")
    columns: dict[str, Cells] = {
        name: cells if table.roles.get(name) == "message" else table.values(name)
        for name, cells in table.columns.items()
    }
    for name in other.columns:
        is_text = other.roles.get(name) == "message"  # a file without a header
        own = "meaning" if is_text else name
        if own in columns:
            raise CorpusError(f"{path}: column {own} is in both files: expected other names")
        columns[own] = replace(other, are_texts=other.are_texts and not is_text).values(name)
    about = f"{table.about}, meanings of {path.name}"
    notes = [*table.notes, *other.notes]
    return replace(table, columns=columns, are_texts=False, is_header=True, about=about, notes=notes)


def _with_eos(
    corpus: Corpus, reading: Reading, path: Path | None, of_file: str | None, said: Reading
) -> Corpus:
    metadata = {"eos_source": "declared", **corpus.metadata}
    if path is not None:
        metadata["source_path"] = path_text(path)
    if how := said.to_json():
        metadata["reading"] = how
    text = {"auto": of_file, "none": NO_EOS}.get(reading.eos, reading.eos)
    if text is None and "eos" in corpus.metadata:
        return replace(corpus, metadata=metadata)
    is_given = said.eos != "auto"
    metadata["eos_source"] = "detected" if text is None else "given" if is_given else "declared"
    names = corpus.symbol_names
    if text is None:
        eos = detect_eos(corpus.messages)
    elif text in (NO_EOS, str(PADDING)):  # the reader has removed padding already
        eos = None
    elif names is not None:
        look_up("symbol", text, dict.fromkeys(names))
        eos = names.index(text)
    elif not text.isdecimal() or len(text) > 19 or int(text) >= ID_LIMIT:
        source = "--eos" if is_given or path is None else f"{path_text(path)}: EOS"
        raise ConfigError(f"{source} {text:.40}: expected a symbol such as 0, or none")
    else:
        eos = int(text)
    return replace(corpus, eos=eos, metadata=metadata)


def detect_eos(messages: Ragged) -> int | None:
    """Detect the EOS symbol by the rule of `read_corpus`; None if there is none."""
    if not len(messages.values):
        return None
    eos = int(messages.values[-1])
    first, are_equal = None, True
    for block in messages.blocks():  # limits memory, and ends early in most corpora without EOS
        is_nonempty = block.lengths > 0
        if (block.values[block.offsets[1:][is_nonempty] - 1] != eos).any():
            return None
        content = block.before(eos)
        if np.count_nonzero(block.values != eos) != len(content.values):
            return None
        lengths = content.lengths[is_nonempty]
        if not are_equal or not len(lengths):
            continue
        if first is None:
            first = content.values[: lengths[0]].copy()
        are_equal = bool((lengths == len(first)).all()) and bool(
            (content.values.reshape(len(lengths), len(first)) == first).all()
        )
    return None if are_equal else eos
