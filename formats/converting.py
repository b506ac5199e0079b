"""A corpus in the forms of other tools; what each form cannot hold is said."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save

from ecsuite.corpus import Corpus, Ragged
from ecsuite.files.atomic_files import write_atomically
from ecsuite.runtime.errors import ConfigError, look_up, missing_extra

EGG_EOS = 0
"""The symbol that ends a message in all of EGG."""


def convert(corpus: Corpus, form: str, out: Path) -> list[str]:
    """Write a corpus in another form.

    Args:
        corpus: The corpus.
        form: A key of `FORMS`.
        out: The file, or for `hf` the folder; it must not exist.

    Returns:
        What of the corpus the form does not hold, in words.

    Raises:
        ConfigError: If there is no such form, the file exists, or a package is missing.
    """
    write, _ = look_up("form", form, FORMS)
    if out.exists():
        raise ConfigError(f"{out} is there already: choose another name")
    out.parent.mkdir(parents=True, exist_ok=True)
    return write(corpus, out)


def _named(corpus: Corpus, messages: Ragged) -> list[list[Any]]:
    """Messages as lists of symbols: their names where they have some, else their ids."""
    names, rows = corpus.symbol_names, _rows(messages)
    return [row if names is None else [names[symbol] for symbol in row] for row in rows]


def _rows(ragged: Ragged) -> list[list[int]]:
    return [ragged[index].tolist() for index in range(len(ragged))]


def _columns(corpus: Corpus) -> dict[str, list[Any]]:
    """Meanings as a column an attribute, concepts as a column of texts, and the corpus's own columns."""
    columns: dict[str, list[Any]] = {}
    if corpus.meanings is not None:
        flat = corpus.meanings.reshape(len(corpus.messages), -1)
        columns |= {f"attribute{place}": flat[:, place].tolist() for place in range(flat.shape[1])}
    if corpus.concepts is not None:
        names = corpus.concept_names
        columns["concepts"] = [" ".join(names[each] for each in row) for row in _rows(corpus.concepts)]
    return columns | {name: values.tolist() for name, values in corpus.columns.items()}


def _lost(corpus: Corpus, *, keeps_meanings: bool, keeps_eos: bool) -> list[str]:
    """What of a corpus is left out."""
    has_meanings = corpus.meanings is not None or corpus.concepts is not None
    lost = ["meanings and concepts"] if has_meanings and not keeps_meanings else []
    lost += [f"the column {name}" for name in corpus.columns if not keeps_meanings]
    lost += ["EOS"] if corpus.eos is not None and not keeps_eos else []
    return [*lost, "metadata"]


def _write_elcc(corpus: Corpus, out: Path) -> list[str]:
    """A file; for several speakers a folder with a file of each, since a language of ELCC is one file."""
    rows = _named(corpus, corpus.messages)
    speakers = corpus.columns.get("speaker", np.zeros(0))
    lost = _lost(corpus, keeps_meanings=False, keeps_eos=True)
    if len(names := np.unique(speakers).tolist()) < 2:
        write_atomically(out, (json.dumps(row).encode() + b"\n" for row in rows))
        return lost
    out.mkdir()
    for place, name in enumerate(names):
        spoken = np.flatnonzero(speakers == name).tolist()
        file = out / f"speaker-{name if isinstance(name, int) else place}.jsonl"  # a text may be no file name
        write_atomically(file, (json.dumps(rows[row]).encode() + b"\n" for row in spoken))
    return [each for each in lost if each != "the column speaker"]


def _write_csv(corpus: Corpus, out: Path) -> list[str]:
    columns, text = _columns(corpus), io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["message", *columns])
    messages = (" ".join(map(str, row)) for row in _named(corpus, corpus.content()))
    writer.writerows(zip(messages, *columns.values(), strict=True))
    write_atomically(out, text.getvalue().encode())
    return _lost(corpus, keeps_meanings=True, keeps_eos=False)


def _write_egg(corpus: Corpus, out: Path) -> list[str]:
    """The fields of an `egg.core.Interaction`; EGG's own files are pickles, which run code when they are read."""
    content = corpus.content()
    shift = int(content.values.min(initial=1) == EGG_EOS)  # where 0 is a symbol
    lengths = content.lengths + 1  # EGG counts EOS
    messages = np.full((len(content), int(lengths.max(initial=1))), EGG_EOS, dtype=np.int64)
    rows = np.repeat(np.arange(len(content)), content.lengths)
    messages[rows, np.arange(len(rows)) - content.offsets[rows]] = content.values + shift
    fields: dict[str, NDArray[Any]] = {"message": messages, "message_length": lengths.astype(np.float32)}
    if corpus.meanings is not None:
        flat = corpus.meanings.reshape(len(content), -1)
        if flat.dtype.kind in "iu" and flat.min(initial=0) >= 0:
            is_value = flat[:, :, None] == np.arange(flat.max(initial=0) + 1)
            fields["labels"], flat = flat.astype(np.int64), is_value.reshape(len(content), -1)
        fields["sender_input"] = flat.astype(np.float32)
    write_atomically(out, save(fields))
    lost = ["concept names"] if corpus.concepts is not None else []
    lost += ["symbol names"] if corpus.symbol_names is not None else []
    return [*lost, *(["ids of symbols (now one more)"] if shift else []), "metadata"]


def _write_hf(corpus: Corpus, out: Path) -> list[str]:
    try:
        from datasets import Dataset
    except ImportError:
        raise missing_extra("Hugging Face's form needs datasets", "data") from None
    columns = {"messages": _named(corpus, corpus.messages), **_columns(corpus)}
    Dataset.from_dict(columns).save_to_disk(str(out))
    return _lost(corpus, keeps_meanings=True, keeps_eos=True)


FORMS: dict[str, tuple[Callable[[Corpus, Path], list[str]], str]] = {
    "elcc": (_write_elcc, "a JSON array of symbols a line, as ELCC and XferBench have it; a file a speaker"),
    "hf": (_write_hf, "a data set saved with Hugging Face's `save_to_disk`"),
    "egg": (_write_egg, "the fields of EGG's `Interaction` as tensors, in a safetensors file"),
    "csv": (_write_csv, "a column of messages and one of each attribute"),
}
"""How a corpus is written, and a line about the form, by name."""
