"""The files of a folder: whether each is what its checksum says, and can be read."""

import hashlib
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from ecsuite.eval.results.sources import SWEEP
from ecsuite.eval.verification.rows import Row
from ecsuite.files.checksums import CHECKSUM, MARK, require_unchanged, require_unchanged_text
from ecsuite.files.tensor_files import read_tensors
from ecsuite.formats import read_corpus
from ecsuite.formats.directory import BESIDE
from ecsuite.games.run_log import LOG, require_unchanged_log
from ecsuite.runtime.errors import ConfigError, CorpusError, DamagedError, FormatError

CONFIG, METADATA, SCORES, CORPUS = "config.yaml", "metadata.json", "scores.json", "corpus.jsonl"
"""Files of a run folder; a corpus has the second and the last."""
SEALED = (METADATA, SCORES, SWEEP)
"""JSON with a checksum of its own."""
NO_CHECKSUM = "it has no checksum"
"""Of a file that another program wrote, or a person."""


def file_rows(folder: Path) -> list[Row]:
    """A row a file of a run, corpus or sweep."""
    rows = [_row(folder / CONFIG, _text)] if (folder / CONFIG).is_file() else []
    rows += [_row(folder / name, _json) for name in SEALED if (folder / name).is_file()]
    rows += _corpus_rows(folder) if all(row.verdict != "damaged" for row in rows) else []
    rows += [_row(folder / LOG, _log)] if (folder / LOG).is_file() else []
    tensors = [*folder.glob("checkpoint-*.safetensors"), *folder.glob("best-*.safetensors")]
    return [*rows, *(_row(file, _tensors) for file in sorted(tensors))]


def is_damaged(rows: list[Row], *names: str) -> bool:
    """Whether one of these files is damaged."""
    return any(row.verdict == "damaged" and row.name in names for row in rows)


def _row(file: Path, check: Callable[[Path], str]) -> Row:
    """The row of a file: `check` returns why nothing is known of it, if so."""
    try:
        unknown = check(file)
    except (DamagedError, CorpusError, ConfigError, FormatError, OSError) as error:
        text = str(error).removeprefix(f"{file}: ").partition(": restore it")[0]
        return Row(kind="file", name=file.name, verdict="damaged", reason=text)
    return Row(
        kind="file", name=file.name, verdict="not verified" if unknown else "identical", reason=unknown
    )


def _text(file: Path) -> str:
    content = file.read_bytes()
    require_unchanged_text(content, file)
    return "" if MARK in content else NO_CHECKSUM


def _json(file: Path) -> str:
    try:
        data = json.loads(file.read_bytes())
    except (ValueError, RecursionError) as error:
        raise DamagedError(f"not JSON: {error}") from None
    require_unchanged(data, file)
    return "" if isinstance(data, dict) and CHECKSUM in data else NO_CHECKSUM


def _corpus_rows(folder: Path) -> list[Row]:
    """A row a file whose checksum the metadata have, then one of the whole corpus if it can't be read."""
    metadata = folder / METADATA
    content: Any = json.loads(metadata.read_bytes()) if metadata.is_file() else {}
    content = content if isinstance(content, dict) else {}
    hashes = content.get("sha256")
    hashes = dict(hashes) if isinstance(hashes, dict) else {}
    for key, file in BESIDE.items():
        kept = content.get(key)
        hashes |= {file: kept.get("sha256")} if isinstance(kept, dict) else {}
    rows = [_row(folder / name, partial(_bytes, hashes[name])) for name in hashes]
    is_there = (folder / CORPUS).is_file()
    rows += [_row(folder / CORPUS, lambda _: NO_CHECKSUM)] if is_there and CORPUS not in hashes else []
    if is_there and all(row.verdict != "damaged" for row in rows):
        whole = _row(folder / CORPUS, _corpus)
        rows += [whole] if whole.verdict == "damaged" else []
    return rows


def _bytes(digest: Any, file: Path) -> str:
    if not file.is_file():
        raise DamagedError("it is not there")
    with file.open("rb") as opened:
        if hashlib.file_digest(opened, "sha256").hexdigest() != digest:
            raise DamagedError("damaged or edited since it was written")
    return ""


def _corpus(file: Path) -> str:
    read_corpus(file.parent)
    return ""


def _log(file: Path) -> str:
    require_unchanged_log(file.parent)
    has_checksum = any(file.parent.glob("checkpoint-*.safetensors"))
    return "" if has_checksum else "its checksum is in a checkpoint, of which there is none"


def _tensors(file: Path) -> str:
    read_tensors(file)
    return ""
