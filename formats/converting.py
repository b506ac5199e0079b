"""Write a corpus in the formats of other tools; lost information is reported, and `read_corpus` reads back the rest."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save

from ecsuite.corpus import SPEAKER, Corpus
from ecsuite.files.atomic_files import write_atomically
from ecsuite.formats.cells import are_read_as, written
from ecsuite.formats.corpora import CANONICAL, messages_of
from ecsuite.formats.json_tables import is_tokens
from ecsuite.formats.meant import one_hot_values, plain_attributes
from ecsuite.formats.reading import detect_eos
from ecsuite.formats.roles import (
    MESSAGE_NAMES,
    NAMES,
    OF_MEANING,
    ROLES,
    has_digits,
    plain_name,
    role_of_name,
    roles_of,
    split_header,
)
from ecsuite.formats.signs import joined_columns
from ecsuite.formats.table import RawTable
from ecsuite.runtime.errors import ConfigError, ReadingQuestion, look_up, missing_extra
from ecsuite.runtime.given_values import integer_vectors, named_attributes, word_vectors
from ecsuite.runtime.ragged import Ragged

_EGG_EOS = 0
_TRUTH = {0: False, 1: True, "False": False, "True": True}
"""Boolean values in meanings, as numbers and as texts."""


def convert(corpus: Corpus, form: str, out: Path) -> list[str]:
    """Write a corpus in a format of `FORMS` to a new file, or for `hf` a folder; `ConfigError` if it can't be written.

    Returns:
        Descriptions of the information that the format can't hold.
    """
    require_new(form, out)
    write, _ = FORMS[form]
    out.parent.mkdir(parents=True, exist_ok=True)
    ended = corpus.ended()  # other tools would read the padding after EOS as symbols
    lost = write(replace(corpus, messages=ended), out)
    return lost if ended is corpus.messages else ["what stood after EOS", *lost]


def require_new(form: str, out: Path) -> None:
    """Raise `ConfigError` if the format is unknown, or the file exists."""
    look_up("form", form, FORMS)
    if out.exists():
        raise ConfigError(f"{out}: exists already: choose another name")


def _named(corpus: Corpus, messages: Ragged) -> list[list[Any]]:
    names, rows = corpus.symbol_names, _rows(messages)
    return rows if names is None else [[names[symbol] for symbol in row] for row in rows]


def _rows(ragged: Ragged) -> list[list[int]]:
    return [ragged[index].tolist() for index in range(len(ragged))]


def _concepts(corpus: Corpus) -> list[list[str]]:
    return [corpus.concepts_of(row) for row in range(len(corpus.messages))]


def _columns(corpus: Corpus) -> tuple[dict[str, list[Any]], list[str]]:
    """Columns of meanings and further columns, with headers that keep their roles; and a list of lost information."""
    columns = _meant(corpus)
    told = corpus.metadata.get("roles")  # metadata may have any content
    roles = dict(told) if isinstance(told, Mapping) else {}
    roles |= {name: role for role, name in CANONICAL.items()}
    for name, values in corpus.columns.items():
        role, cells = roles.get(name), values.tolist()
        if not isinstance(role, str) or role not in ROLES or role in ("message", *OF_MEANING):
            role = "kept"
        columns[_header(name, role, columns, says_role=role == "time" and not has_digits(cells))] = cells
    bare = [value for row in columns.get(_free("meaning", corpus), ()) for value in row]
    are_concepts = bool(bare) and all(isinstance(value, str) and "=" in value for value in bare)
    return columns, ["that meanings are texts (now concepts)"] * are_concepts


def _meant(corpus: Corpus) -> dict[str, list[Any]]:
    """Columns of meanings: one per named attribute, otherwise lists; and concepts that do not follow from them."""
    columns: dict[str, list[Any]] = {}
    derived: dict[str, Any] = {}
    if corpus.meanings is not None:
        flat = corpus.meanings.reshape(len(corpus.messages), -1)
        names = corpus.attribute_names
        if not names:  # attribute names from concepts such as `color=red`
            before = (name.partition("=") for name in corpus.concept_names if "=" in name)
            names = tuple(dict.fromkeys(name for name, _, _ in before))
            names = names if len(names) == flat.shape[1] and all(names) else ()
        names = () if names == tuple(f"attribute{place}" for place in range(len(names))) else names
        by_name = {name: flat[:, place].tolist() for place, name in enumerate(names)}
        for name, cells in by_name.items():
            # A Boolean concept.
            if name in corpus.concept_names and set(cells) <= _TRUTH.keys():
                by_name[name] = [_TRUTH[cell] for cell in cells]
        if names and flat.dtype.kind == "f":
            columns = {_header(name, "feature", {}): cells for name, cells in by_name.items()}
        elif names and _is_same(found := named_attributes(by_name), corpus):
            lengths = [rows.lengths.tolist() for rows in (corpus.messages, corpus.content())]
            derived, guessed = found, _read_otherwise(by_name, lengths)
            for name, cells in by_name.items():
                columns[_header(name, "attribute", {}, says_role=name in guessed)] = cells
        else:
            name, rows = _free("meaning", corpus), flat.tolist()
            is_one_hot = ":" not in name and one_hot_values(rows) is not None
            columns = {f"{name}:meaning" if is_one_hot else name: rows}
            if flat.shape[1] and flat.dtype.kind in "Ui":
                derived = word_vectors(rows) if flat.dtype.kind == "U" else integer_vectors(rows)
    if derived.get("concepts") is not None and _is_same(derived, corpus):
        return columns
    if corpus.concepts is not None:
        columns[_free("concept", corpus)] = _concepts(corpus)
    elif derived.get("concepts") is not None:
        columns[_free("concept", corpus)] = [None] * len(corpus.messages)
    return columns


def _read_otherwise(columns: dict[str, list[Any]], sizes: Sequence[Sequence[int]]) -> set[str]:
    """The attributes whose role `read_corpus` would not infer from their names and values."""
    table = RawTable(source="", about="", columns=columns, rows=range(len(next(iter(columns.values())))))
    try:
        roles = roles_of(table, {}, needs_message=False)
        found = plain_attributes(table, columns, (), sizes=sizes)
    except ReadingQuestion:
        return set(columns)
    guessed = {name for name, role in roles.items() if role != "attribute"}
    return guessed | (columns.keys() - joined_columns(columns).keys()) | (columns.keys() - found.keys())


def _is_same(derived: dict[str, Any], corpus: Corpus) -> bool:
    """Whether the concepts derived from meanings equal the concepts of the corpus."""
    if corpus.concepts is None:
        return derived.get("concepts") is None
    names, own = derived["concept_names"], map(sorted, _concepts(corpus))
    return [sorted(names[each] for each in row) for row in _rows(derived["concepts"])] == list(own)


def _free(role: str, corpus: Corpus) -> str:
    taken = {plain_name(name) for name in (*corpus.columns, *corpus.attribute_names)}
    plain = sorted(NAMES[role][:2], key=lambda name: name == "concept")
    numbered = (f"{role}{number}:{role}" for number in count() if f"{role}{number}" not in taken)
    return next((name for name in plain if name not in taken), None) or next(numbered)


def _header(name: str, role: str, others: dict[str, list[Any]], *, says_role: bool = False) -> str:
    """Header of a column: its name, followed by the role if it can't be inferred, or if `says_role`."""
    is_plain = role_of_name(name) == role and plain_name(name) not in MESSAGE_NAMES
    is_plain &= not (role == "attribute" and ":" in name)
    return name if is_plain and name not in others and not says_role else f"{name}:{role}"


def _message_header(corpus: Corpus) -> str:
    taken = {plain_name(name) for name in (*corpus.columns, *corpus.attribute_names)}
    name = "message" if "message" not in taken else f"message{len(taken)}:message"
    if detect_eos(corpus.messages) == corpus.eos:
        return name
    eos = _eos(corpus)
    is_plain = corpus.eos is None or (eos.isalnum() and eos != "none")
    return f"{name.partition(':')[0]}:eos={eos if is_plain else json.dumps(eos)}"


def _eos(corpus: Corpus) -> str:
    if corpus.eos is None:
        return "none"
    return str(corpus.eos) if corpus.symbol_names is None else corpus.symbol_names[corpus.eos]


def _write_elcc(corpus: Corpus, out: Path) -> list[str]:
    rows, lost = _named(corpus, corpus.messages), list[str]()
    if corpus.symbol_names is not None and not is_tokens(rows):
        rows, lost = _rows(corpus.messages), ["names of symbols"]
    names = corpus.values_of(SPEAKER) if SPEAKER in corpus.columns else []
    if len(names) < 2:
        write_atomically(out, _lines(rows))
    else:
        out.mkdir()
        for place, name in enumerate(names):
            spoken = np.flatnonzero(corpus.has(SPEAKER, name)).tolist()
            number = name if isinstance(name, int) else place  # a text may not be a valid file name
            write_atomically(out / f"speaker-{number}.jsonl", _lines(rows[row] for row in spoken))
        unknown = sum(speaker is None for speaker in corpus.column(SPEAKER).tolist())
        lost = [f"{unknown:,} messages without a speaker", *lost] if unknown else lost
        lost = lost if all(isinstance(name, int) for name in names) else ["names of speakers", *lost]
    if corpus.meanings is not None or corpus.concepts is not None:
        lost.append("meanings and concepts")
    lost += [f"the column {name}" for name in corpus.columns if name != SPEAKER or len(names) < 2]
    if detect_eos(corpus.messages) != corpus.eos:
        lost.append(f"EOS (read it with --eos {_eos(corpus)})")
    return [*lost, "metadata"]


def _lines(rows: Iterable[list[Any]]) -> Iterator[bytes]:
    return (json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)


def _write_csv(corpus: Corpus, out: Path) -> list[str]:
    (columns, lost), text = _columns(corpus), io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([_message_header(corpus), *columns])
    cells = {name: written(values) for name, values in columns.items()}
    writer.writerows(zip(_cells(corpus), *cells.values(), strict=True))
    write_atomically(out, text.getvalue().encode())
    others = [name for name, values in columns.items() if not are_read_as(cells[name], values)]
    told = [f"types of the values of {split_header(name)[0]}" for name in others]
    return [*told, *lost, "metadata"]


def _cells(corpus: Corpus) -> list[str]:
    """Messages as cells: symbols separated by spaces if `read_corpus` reads them unchanged, otherwise lists."""
    rows = _named(corpus, corpus.messages)
    plain = [" ".join(map(str, row)) for row in rows]
    if all(plain) and not any(any(c in cell for c in '\r\n"') for cell in plain):
        columns, rows_of = {"message": plain}, range(len(plain))
        table = RawTable(source="", about="", columns=columns, rows=rows_of, are_texts=True)
        try:
            messages, names = messages_of(table, ["message"], "auto")
            read = Corpus(messages, symbol_names=names)
            if (names is None) == (corpus.symbol_names is None) and _named(read, read.messages) == rows:
                return plain
        except ValueError:
            pass
    return [json.dumps(row, ensure_ascii=False) for row in rows]


def _write_egg(corpus: Corpus, out: Path) -> list[str]:
    """Write the fields of an `egg.core.Interaction`; EGG's own files are pickles, which run code when they are read."""
    content = corpus.content()
    shift = int(content.values.min(initial=1) == _EGG_EOS)  # 1 if 0 is a content symbol, since EGG's EOS is 0
    lengths = content.lengths + 1  # EGG counts EOS
    messages = np.full((len(content), int(lengths.max(initial=1))), _EGG_EOS, dtype=np.int64)
    rows = np.repeat(np.arange(len(content)), content.lengths)
    messages[rows, np.arange(len(rows)) - content.offsets[rows]] = content.values + shift
    fields: dict[str, NDArray[Any]] = {"message": messages, "message_length": lengths.astype(np.float32)}
    lost = []
    if corpus.meanings is not None:
        flat = corpus.meanings.reshape(len(content), -1)
        if flat.dtype.kind in "iu" and flat.min(initial=0) >= 0:
            is_value = flat[:, :, None] == np.arange(flat.max(initial=0) + 1)
            fields["labels"], flat = flat.astype(np.int64), is_value.reshape(len(content), -1)
        elif flat.dtype.kind == "i":
            lost = ["that meanings are whole numbers (now features)"]
        if flat.dtype.kind in "iufb":
            exact = flat.astype(np.float64)
            single = exact.astype(np.float32)
            fields["sender_input"] = single if (single == exact).all() else exact
        else:
            lost = ["meanings that are texts"]
    told = {"labels": "meaning"} if "labels" in fields else {}  # `sender_input` is a one-hot copy of labels
    write_atomically(out, save(fields, metadata={"eos": str(_EGG_EOS), **told}))
    is_same = corpus.eos == _EGG_EOS and np.array_equal(corpus.messages.lengths, lengths)
    others = {
        "names of attributes": bool(corpus.attribute_names) and "sender_input" in fields,
        "concept names": corpus.concepts is not None,
        "that there are no concepts": corpus.concepts is None,
        "symbol names": corpus.symbol_names is not None,
        **{f"the column {name}": True for name in corpus.columns},
        "where EOS stood (now 0, once a message)": not is_same,
        "ids of symbols (now one more)": bool(shift),
        "metadata": True,
    }
    return lost + [what for what, is_lost in others.items() if is_lost]


def _write_hf(corpus: Corpus, out: Path) -> list[str]:
    try:
        from datasets import Dataset
    except ImportError:
        raise missing_extra("Hugging Face's form needs datasets", "data") from None
    mixed = []  # columns of several types, which Arrow does not support
    for name, values in corpus.columns.items():
        kinds = {type(value) for value in values.tolist() if value is not None}
        mixed += [name] if len(kinds) > 1 or kinds & {dict, list} else []
    kept = {name: values for name, values in corpus.columns.items() if name not in mixed}
    columns, lost = _columns(replace(corpus, columns=kept))
    messages = {_message_header(corpus): _named(corpus, corpus.messages)}
    Dataset.from_dict(messages | columns).save_to_disk(str(out))
    told = [f"the column {name}, of several types" for name in mixed]
    return [*told, *lost, "metadata"]


FORMS: dict[str, tuple[Callable[[Corpus, Path], list[str]], str]] = {
    "elcc": (
        _write_elcc,
        "one JSON array of symbols per line, as in ELCC and XferBench; one file per speaker",
    ),
    "hf": (_write_hf, "a data set saved with Hugging Face's `save_to_disk`"),
    "egg": (_write_egg, "the fields of EGG's `Interaction` as tensors, in a safetensors file"),
    "csv": (_write_csv, "a table: a column of messages, a column per attribute, and further columns"),
}
"""Writer and one-line description of each format."""
