"""One door for every format: look at what there is, read it, find the EOS."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from ecsuite.corpus import Corpus, CorpusError, Ragged
from ecsuite.formats.directory import with_siblings
from ecsuite.formats.lines import FORMATS, read_lines
from ecsuite.formats.tables import FOLDER_HOLDS, is_table, read_table


def read_corpus(path: Path | str, format: str = "auto") -> Corpus:  # noqa: A002
    """Read a corpus directory, or a file or folder of another tool; `Corpus.metadata` says what was found.

    The first line that has a format decides; a line of another format is then a fault:

    - `ints`: `[4, 7, 0]` (our `corpus.jsonl`, XferBench, ELCC). `[]` is an empty message, and legal.
    - `strings`: `"da bu"`, symbols between white space; ids in order of appearance, see `symbol_names`.
    - `cbm`: `["4.7.0", "19"]`, symbols and concepts joined by dots (Concept Best Matching).
    - `csar`: `[4, 7], ["red"]`, also with a tab or space between, or both in one array.
    - `table`: a Parquet file, a folder of them, or what Hugging Face `save_to_disk` wrote. The first column
      of `input_ids`, `messages`, `tokens`, `text` is taken; rows are counted like lines, from 1.

    With `corpus.jsonl`, or its directory, `metadata.json` (if it is ours) and `meanings.jsonl` beside it are
    used, and their SHA-256 checked. A byte order mark and CRLF are accepted. An empty line is a fault.

    EOS is what our metadata declares. Otherwise it is detected by ELCC's rule (`EoS Token Present`):
    every message that is not empty ends in the same symbol, and after its first occurrence only that symbol
    follows, as padding. Besides, two different messages must remain without it.

    Args:
        path: A directory or a file.
        format: One of the above, or `auto`.

    Raises:
        CorpusError: If there is nothing to read, or faults: one line each, all counted, the first 20 shown.
        ValueError: If `format` is unknown.
    """
    path = Path(path)
    if format not in (choices := ("auto", *FORMATS, "table")):
        raise ValueError(f"unknown corpus format {format!r}; choose from {', '.join(choices)}")
    try:
        if path.is_dir() and (path / "corpus.jsonl").is_file():
            path = path / "corpus.jsonl"
        if format == "table" or (format == "auto" and is_table(path)):
            corpus = read_table(path)
        elif path.is_dir():
            raise CorpusError(f"{path}: no {FOLDER_HOLDS} in it")
        else:
            corpus = read_lines(path, format)
            if path.name == "corpus.jsonl":
                corpus = with_siblings(corpus, path.parent)
    except OSError as error:
        raise CorpusError(f"cannot read {error.filename or path}: {error.strerror or error}") from None
    metadata = {"eos_source": "declared", **corpus.metadata, "source_path": str(path)}
    if "eos" not in corpus.metadata:
        metadata["eos_source"] = "detected"
        return replace(corpus, eos=detect_eos(corpus.messages), metadata=metadata)
    return replace(corpus, metadata=metadata)


def detect_eos(messages: Ragged) -> int | None:
    """The symbol that ends every message, by the rule of `read_corpus`."""
    is_said = messages.lengths > 0
    last = messages.values[messages.offsets[1:][is_said] - 1]
    if last.size == 0 or (last != last[0]).any():
        return None
    content = messages.before(last[0])
    if np.count_nonzero(messages.values != last[0]) != len(content.values):
        return None
    lengths = content.lengths[is_said]
    if (lengths == lengths[0]).all():
        rows = content.values.reshape(len(lengths), -1)
        if (rows == rows[0]).all():
            return None
    return int(last[0])
