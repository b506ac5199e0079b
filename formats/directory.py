"""The package's own format: a corpus directory.

It contains `corpus.jsonl` (one JSON array of symbol ids per line), `meanings.jsonl` (line-aligned, if meanings are
known), further columns by name (`split.jsonl`, line-aligned) and `metadata.json` (counts, EOS, provenance, SHA-256 of
the other files; written last).
"""

import hashlib
import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.corpus import Corpus
from ecsuite.files.atomic_files import remove_abandoned, write_atomically
from ecsuite.files.checksums import CHECKSUM, changed, require_unchanged, sealed
from ecsuite.formats.stored_text import chunks
from ecsuite.formats.strict_json import ID_LIMIT, ErrorList, LineError, decode, encode, show, show_line
from ecsuite.formats.table import Rows
from ecsuite.parts.error_messages import path_text
from ecsuite.runtime.errors import ConfigError, CorpusError, DamagedError
from ecsuite.runtime.given_values import column_of, names_of
from ecsuite.runtime.plain_values import BITS, plain
from ecsuite.runtime.printable import printable
from ecsuite.runtime.ragged import Ragged

_FORMAT = "ecsuite-corpus"
_OWN_KEYS = (
    "sha256", CHECKSUM, "symbol_names", "concept_names", "attribute_names", "column_names", "notes", "source_format",
    "source_path", "reading", "where",
)  # fmt: skip
"""Keys of metadata that are not copied."""
CORPUS, MEANINGS, METADATA = "corpus.jsonl", "meanings.jsonl", "metadata.json"
"""Files of a corpus: messages; meanings; provenance, versions and checksums."""
INTERACTIONS_KEY, ROUNDS_KEY, LANGUAGES_KEY = "interactions", "rounds", "languages"
"""Keys of a run's metadata with the checksums of its interactions, rounds and languages."""
BESIDE = {
    INTERACTIONS_KEY: "interactions.parquet",
    ROUNDS_KEY: "rounds.jsonl",
    LANGUAGES_KEY: "languages.jsonl",
    "answers": "answers.jsonl",
}
"""Further files of a run whose checksums are in the metadata of its corpus, by metadata key."""
OTHER_FILES = ("corpus", "meanings", "log", "metadata")
"""Names of files in a corpus folder that are not columns."""
_NAME = re.compile(r"[a-z][a-z_]{0,39}")
_NUMBERED = re.compile(r"column_[0-9]+\.jsonl")
_MAX_KNOWN = 1 << 16
"""Maximum number of cached lines, which limits memory."""
ANSWERS = "people.db"
"""Database of a study with people; its folder is not a corpus."""


def require_no_answers(folder: Path) -> None:
    """Raise `CorpusError` if a folder has answers of people; the message has the command that makes corpora."""
    if (folder / ANSWERS).is_file():
        command = f"ecsuite people export {shlex.quote(path_text(folder))}"
        raise CorpusError(f"{folder}: has answers of people: `{command}` makes corpora of them")


def write_corpus(corpus: Corpus, directory: Path | str) -> None:
    """Write a corpus directory; `metadata.json` is written last and marks it as complete.

    The bytes depend only on the corpus; checksums of further files of a run (`BESIDE`) are not copied to a folder
    without these files. Counts added to the metadata: `num_messages`, `num_empty` (messages without content),
    `num_symbols` (content symbols in all messages), `num_distinct_symbols`, and `vocab_size` (content symbols of the
    channel), which defaults to `num_distinct_symbols`, and is null if it does not fit into 64 bits.

    Args:
        corpus: The corpus.
        directory: Target directory; created if missing. Files of an older corpus in it are replaced.

    Raises:
        ConfigError: If an argument is not a corpus, or not a path.
        CorpusError: If a number in meanings, columns or metadata is not finite, which JSON does not allow, or an
            integer in the metadata has more than 64 bits; nothing is written then.
        ValueError: If there are no messages, or the name of a column can't be a file name.
        OSError: If the files cannot be written.
    """
    if not isinstance(corpus, Corpus) or not isinstance(directory, str | Path):
        given = f"{type(corpus).__name__} and {type(directory).__name__}"
        raise ConfigError(f"write_corpus: expected a Corpus and the path of a folder, got {given}")
    directory = Path(directory)
    if not len(corpus.messages):
        raise ValueError("cannot write a corpus without messages")
    files_of = column_files(corpus.columns)
    columns = {files_of[name]: column_lines(values) for name, values in corpus.columns.items()}
    _require_finite(corpus)
    content = corpus.content()
    num_distinct = len(content.reindexed()[1])
    computed: dict[str, Any] = {
        "format": _FORMAT,
        "format_version": 1,
        "num_messages": len(corpus.messages),
        "num_empty": int((content.lengths == 0).sum()),
        "num_symbols": len(content.values),
        "num_distinct_symbols": num_distinct,
        "eos": corpus.eos,
    }
    names = {
        "symbol_names": corpus.symbol_names,
        "concept_names": corpus.concept_names,
        "attribute_names": corpus.attribute_names if corpus.meanings is not None else (),
        "column_names": {file: name for name, file in files_of.items() if _NUMBERED.fullmatch(file)},
    }
    computed |= {key: value for key, value in names.items() if value}
    try:  # before any file is written
        provenance = {key: plain(value) for key, value in corpus.metadata.items() if key not in _OWN_KEYS}
        for key in [key for key, file in BESIDE.items() if not (directory / file).is_file()]:
            if isinstance(provenance.get(key), Mapping) and "sha256" in provenance[key]:
                del provenance[key]
        metadata = {"vocab_size": num_distinct} | provenance | computed
        encode(metadata)
    except OverflowError as error:
        raise CorpusError(f"metadata: expected {BITS}, got {show(error.args[0])}") from None
    except ValueError as error:
        raise CorpusError(f"metadata: expected values that JSON allows: {error}") from None

    directory.mkdir(parents=True, exist_ok=True)
    files = {CORPUS: message_lines(corpus.messages)}
    if corpus.meanings is not None or corpus.concepts is not None:
        files[MEANINGS] = meaning_lines(corpus)
    files |= columns
    remove_abandoned(directory)
    try:
        before = _read_manifest(directory / METADATA)
        replaced = {MEANINGS, *columns_in(before.get("sha256", {}), before.get("column_names", {})).values()}
    except (CorpusError, DamagedError):
        replaced = {MEANINGS}
    hashes = {}
    for name, lines in files.items():
        write_atomically(directory / name, lines)
        hashes[name] = _sha256(directory / name)
    write_atomically(directory / METADATA, encode(sealed(metadata | {"sha256": hashes}), indent=2))
    for name in replaced - set(files):
        (directory / name).unlink(missing_ok=True)


def _require_finite(corpus: Corpus) -> None:
    meanings = None if corpus.meanings is None else np.asarray(corpus.meanings)
    if meanings is not None and meanings.dtype.kind == "f" and not np.isfinite(meanings).all():
        row, column = np.argwhere(~np.isfinite(meanings))[0].tolist()
        named = f", attribute {corpus.attribute_names[column]}" if corpus.attribute_names else ""
        got = f"expected a finite number, got {meanings[row, column]}"
        raise CorpusError(f"meanings[{row}, {column}]{named}: {got}")
    for name, values in corpus.columns.items():
        places: Sequence[int] = ()
        if values.dtype.kind == "f":
            places = np.flatnonzero(~np.isfinite(values)).tolist()
        elif values.dtype.hasobject:
            places = [place for place, value in enumerate(values) if _has_no_json(value)]
        if places:
            got = show(values[places[0]])
            raise CorpusError(f"columns[{name!r}][{places[0]}]: expected finite numbers, got {got}")


def _has_no_json(value: Any) -> bool:
    if value is None or isinstance(value, str | int):
        return False
    try:
        encode(value)
        return False
    except ValueError:
        return True


def message_lines(messages: Ragged) -> Iterator[bytes]:
    """Yield the messages as JSON lines, in blocks of 8192 messages."""
    for start in range(0, len(messages), 8192):
        offsets = messages.offsets[start : start + 8193]
        symbols = messages.values[offsets[0] : offsets[-1]].tolist()
        bounds = (offsets - offsets[0]).tolist()
        yield "".join([f"{symbols[i:j]}\n" for i, j in pairwise(bounds)]).encode()


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def with_siblings(corpus: Corpus, folder: Path, manifest: dict[str, Any] | None = None) -> Corpus:
    """Add metadata, meanings and columns from a corpus folder; `manifest`: its metadata, if read before."""
    file, num_messages = folder / METADATA, len(corpus.messages)
    manifest = _read_manifest(file) if manifest is None else _own_manifest(manifest, file)
    hashes = manifest.get("sha256", {})
    columns = columns_in(hashes, manifest.get("column_names", {}))
    for name in (CORPUS, MEANINGS, *columns.values()):
        if name in hashes and hashes[name] != _sha256(folder / name):
            raise changed(folder / name)
    found: dict[str, Any] = {}
    if manifest:
        names = manifest.get("symbol_names")
        highest = int(corpus.messages.values.max(initial=0))
        if names is not None and len(names) <= highest:
            raise CorpusError(f"metadata.json: expected symbol_names up to id {highest}, got {len(names)}")
        kept = {key: value for key, value in manifest.items() if key not in ("reading", "where", "notes")}
        found["metadata"] = kept | {"source_format": "ecsuite corpus"}
        found |= {"eos": manifest["eos"], "symbol_names": names and tuple(names)}
    if MEANINGS in hashes or (not manifest and (folder / MEANINGS).is_file()):
        found |= meanings_in(folder / MEANINGS, manifest.get("concept_names", []), num_messages)
        if found.get("meanings") is not None:
            found["attribute_names"] = tuple(manifest.get("attribute_names", ()))
    if columns:
        found["columns"] = {name: read_column(folder / file, num_messages) for name, file in columns.items()}
    return replace(corpus, **found) if found else corpus


def _read_manifest(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        manifest = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise CorpusError(f"{path.name}: expected JSON, got an error: {error}") from None
    require_unchanged(manifest, path)
    return _own_manifest(manifest, path)


def _own_manifest(manifest: Any, path: Path) -> dict[str, Any]:
    if not isinstance(manifest, dict) or manifest.get("format") != _FORMAT:
        return {}
    has_names = sorted({"symbol_names", "concept_names", "attribute_names"} & manifest.keys())
    eos, hashes = manifest.get("eos", ...), manifest.get("sha256", ...)
    is_right = {
        "format_version": manifest.get("format_version") == 1,
        "eos": eos is None or (type(eos) is int and 0 <= eos < ID_LIMIT),
        "sha256": isinstance(hashes, dict) and CORPUS in hashes,
        "column_names": isinstance(manifest.get("column_names", {}), dict),
    }
    for key in has_names:
        names = manifest[key]
        is_right[key] = isinstance(names, list) and all(isinstance(each, str) for each in names)
    if wrong := next((key for key, value in is_right.items() if not value), None):
        got = show(manifest.get(wrong, ...))
        raise CorpusError(f'{path.name}: "{wrong}" is {got}: damaged, or of a newer version')
    for key in has_names:
        names_of(f"{path.name}: {key}", manifest[key], 0)
    return manifest


def meaning_lines(corpus: Corpus) -> Iterator[bytes]:
    """Yield the meanings and concepts of a corpus as JSON lines."""
    for index in range(len(corpus.messages)):
        line: dict[str, Any] = {}
        if corpus.meanings is not None:
            line["meaning"] = corpus.meanings[index].tolist()
        if corpus.concepts is not None:
            line["concepts"] = corpus.concepts_of(index)
        yield encode(line)


def meanings_in(path: Path, names: Iterable[str], num_messages: int) -> dict[str, Any]:
    """Read `meanings.jsonl` as fields of a corpus; `names`: concept names in the order of their ids.

    All lines must have the keys, lengths and types of the first valid line. Most lines are repeated, so that decoded
    lines are cached.

    Raises:
        CorpusError: If a line has other keys, another length or other types, or the number of lines differs from
            `num_messages`.
    """
    errors = ErrorList(path.name, 'an object such as {"meaning": [0, 2], "concepts": ["color=red"]}')
    concepts, first, num_lines, num_distinct = Rows(names), dict[str, Any](), 0, 0
    known: dict[bytes, int] = {}
    distinct: list[dict[str, Any]] = []
    meanings: list[NDArray[Any]] = []
    places = [np.zeros(0, np.int32)]

    def place_of(line: bytes) -> int:
        """Index of a line among the distinct lines."""
        place = known.get(line)
        if place is None:
            distinct.append(_meaning_line(decode(line), first))
            place = num_distinct + len(distinct) - 1
            if place < _MAX_KNOWN:
                known[line] = place
        return place

    for number, block in chunks(path):
        lines = block[:-1].split(b"\n")
        found = list(map(known.get, lines))
        places.append(np.array(errors.parse(lines, number, place_of) if None in found else found, np.int32))
        if distinct:
            rows = (line.get("meaning", []) for line in distinct)
            safe = [[printable(item) if isinstance(item, str) else item for item in row] for row in rows]
            meanings.append(np.array(safe))
            concepts.extend([line.get("concepts", []) for line in distinct])
            num_distinct += len(distinct)
            distinct.clear()
        num_lines += len(lines)
    errors.check()
    _require_lines(path, num_messages, num_lines)
    fields: dict[str, Any] = {}
    places_of_rows = np.concatenate(places)
    if "meaning" in first:
        values, limits = np.concatenate(meanings), np.iinfo(np.int32)
        is_whole = values.dtype == np.int64
        if is_whole and limits.min <= values.min(initial=0) and values.max(initial=0) <= limits.max:
            values = values.astype(np.int32)  # needs half of the memory
        fields["meanings"] = values.take(places_of_rows, axis=0)
    if "concepts" in first:
        fields |= {"concepts": concepts.ragged().take(places_of_rows), "concept_names": tuple(concepts.names)}
    return fields


def _require_lines(path: Path, expected: int, got: int) -> None:
    if got != expected:
        raise CorpusError(f"{path.name}: expected {expected} lines, one per message, got {got}")


def _meaning_line(values: list[Any], first: dict[str, Any]) -> dict[str, Any]:
    """Check a line of `meanings.jsonl`; `first` is the first valid line, or an empty mapping to be filled with it."""
    match values:
        case [dict(line)] if line and line.keys() <= {"meaning", "concepts"}:
            meaning, concepts = line.get("meaning", []), line.get("concepts", [])
        case _:
            raise LineError(show_line(values))
    if not isinstance(concepts, list) or not all(isinstance(concept, str) for concept in concepts):
        raise LineError(show(concepts), "concepts to be a list of strings")
    kinds = {type(item) for item in meaning} if isinstance(meaning, list) else {dict}
    if not (kinds <= {str} or kinds <= {int, float}):
        raise LineError(show(meaning), "a meaning to be a list of numbers, or of strings")
    first.update({} if first else line)
    like = first.get("meaning", [])
    are_alike = len(meaning) == len(like) and (kinds <= {str}) == all(isinstance(item, str) for item in like)
    if line.keys() != first.keys() or not are_alike:
        raise LineError(show(line), f"a line like the first, {show(first)}")
    return line


def column_files(names: Iterable[str]) -> dict[str, str]:
    """File of each column: `split.jsonl`; `column_3.jsonl` if the column's name can't be a file name."""
    return {
        name: f"{name}.jsonl"
        if _NAME.fullmatch(name) and name not in OTHER_FILES and not name.startswith("column_")
        else f"column_{place}.jsonl"
        for place, name in enumerate(names)
    }


def columns_in(hashes: Mapping[str, Any], named: Mapping[str, Any]) -> dict[str, str]:
    """Files of columns among the files with checksums; `named` has the column names of numbered files."""
    found = {}
    for file in hashes:
        name = file.removesuffix(".jsonl")
        if _NUMBERED.fullmatch(file) and isinstance(named.get(file), str):
            found[named[file]] = file
        elif file.endswith(".jsonl") and _NAME.fullmatch(name) and name not in OTHER_FILES:
            found[name] = file
    return found


def column_lines(values: NDArray[Any]) -> Iterator[bytes]:
    """Yield the values of a column as JSON lines."""
    yield b"".join(encode(value) for value in values.tolist())


def read_column(path: Path, num_messages: int) -> NDArray[Any]:
    """Read a column, one JSON value per line; `CorpusError` if the number of lines differs from `num_messages`."""
    errors = ErrorList(path.name, 'one JSON value per line, such as "train"')
    values: list[Any] = []

    def value_of(line: bytes) -> Any:
        found = decode(line)
        if len(found) == 1:
            return found[0]
        raise LineError(show_line(found))

    for number, lines in chunks(path):
        values += errors.parse(lines[:-1].split(b"\n"), number, value_of)
    errors.check()
    _require_lines(path, num_messages, len(values))
    return column_of(values)
