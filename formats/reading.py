"""`read_corpus`: detect the format, read the corpus, determine the EOS."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from ecsuite.corpus import Corpus, Ragged
from ecsuite.formats.directory import with_siblings
from ecsuite.formats.lines import FORMATS, RECORDS, read_lines
from ecsuite.formats.plain_text import is_plain_text, read_plain_text
from ecsuite.formats.tables import FOLDER_CONTENTS, is_table, read_table
from ecsuite.parts.error_messages import path_text
from ecsuite.runtime.allocator import kept_memory
from ecsuite.runtime.errors import CorpusError
from ecsuite.runtime.memory import allowing


def read_corpus(
    path: Path | str,
    format: str = "auto",  # noqa: A002
    *,
    max_memory: str | None = None,
) -> Corpus:
    """Read a corpus directory, or a file or folder of another tool; `Corpus.metadata` records the format.

    The first valid line determines the format; a line of another format is then an error:

    - `ints`: `[4, 7, 0]` (our `corpus.jsonl`, XferBench, ELCC). `[]` is a valid, empty message.
    - `strings`: `"da bu"`, symbols between white space; ids in order of appearance, see `symbol_names`.
    - `cbm`: `["4.7.0", "19"]`, symbols and concepts joined by dots (Concept Best Matching).
    - `csar`: `[4, 7], ["red"]`, also separated by a tab or space, or both in one array.
    - `records`: `{"message": [3, 1, 4], "meaning": {"color": "red"}}`; a message may be a list of integers or
      strings, or a text; a meaning a list, a text or an object of attributes.
    - `symbols`: a `.txt` with spaces between symbols, a `.csv` or `.tsv` with a column `message` or of integers.
    - `table`: a Parquet file, a folder of them, or a data set saved with Hugging Face `save_to_disk`. The
      first existing column of `input_ids`, `messages`, `message`, `tokens`, `text` is read, and meanings from
      `meanings` or `meaning`, `concepts`, `attribute0` and so on; rows are numbered from 1.

    With `corpus.jsonl`, or its directory, `metadata.json` (if this package wrote it) and `meanings.jsonl` in the same
    folder are read, and SHA-256 checked. A byte order mark and CRLF are accepted. An empty line is an error.

    EOS is taken from the package's metadata. Otherwise it is detected by ELCC's rule (`EoS Token Present`):
    every non-empty message ends in the same symbol, and only that symbol follows its first occurrence, as padding.
    In addition, the messages without it must not all be equal.

    Args:
        path: A directory or a file.
        format: One of the above, or `auto`.
        max_memory: Most memory that a file may take to be read, such as `"8G"`; None: as `ECSUITE_MAX_MEMORY` says, or
            three quarters of what is free.

    Raises:
        ConfigError: If a file needs more memory, or `max_memory` is no size.
        CorpusError: If there is nothing to read, or lines are not valid; the message names the first.
        ValueError: If `format` is unknown.
    """
    path = Path(path)
    if format not in (choices := ("auto", *FORMATS, RECORDS, "symbols", "table")):
        raise ValueError(f"unknown corpus format {format!r}; choose from {', '.join(choices)}")
    _require_ended(path)
    with allowing(max_memory), kept_memory():
        return _read(path, format)


def _read(path: Path, form: str) -> Corpus:
    """`read_corpus` with a format of its choices."""
    try:
        if path.is_dir() and (path / "corpus.jsonl").is_file():
            path = path / "corpus.jsonl"
        if form == "table" or (form == "auto" and is_table(path)):
            corpus = read_table(path)
        elif form == "symbols" or (form == "auto" and is_plain_text(path)):
            corpus = read_plain_text(path)
        elif path.is_dir():
            raise CorpusError(f"{path}: no {FOLDER_CONTENTS} in it")
        else:
            corpus = read_lines(path, form)
            if path.name == "corpus.jsonl":
                corpus = with_siblings(corpus, path.parent)
    except OSError as error:
        raise CorpusError(f"cannot read {error.filename or path}: {error.strerror or error}") from None
    except CorpusError as error:
        raise _with_folder(error, path if path.is_dir() else path.parent) from None
    metadata = {"eos_source": "declared", **corpus.metadata, "source_path": path_text(path)}
    if "eos" not in corpus.metadata:
        metadata["eos_source"] = "detected"
        return replace(corpus, eos=detect_eos(corpus.messages), metadata=metadata)
    return replace(corpus, metadata=metadata)


def _require_ended(path: Path) -> None:
    """Refuse the folder of a run that has not ended, or its corpus that is not there yet.

    Raises:
        CorpusError: One line that says what to do.
    """
    folder = path.parent if path.name == "corpus.jsonl" else path
    if (folder / "corpus.jsonl").exists() or not (folder / "config.yaml").is_file():
        return
    resume = f"ecsuite train-game {folder / 'config.yaml'} --out {folder} --resume"
    raise CorpusError(
        f"{folder}: the run has no corpus yet: wait until its training ends, or continue it with `{resume}`"
    )


def _with_folder(error: CorpusError, folder: Path) -> CorpusError:
    """The error of a file of a folder, with the folder before the name of the file."""
    name = str(error).partition(":")[0]
    if Path(name).name != name or not (folder / name).is_file():
        return error
    return CorpusError(f"{folder / name}{str(error).removeprefix(name)}", error.num_errors)


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
