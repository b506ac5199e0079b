"""Inputs of jobs as JSON, for other processes and machines; corpora and results are files of the store beside it.

Of a corpus, jobs read the messages and the names of the symbols: only these are sent, and only these are in keys.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, get_type_hints

import msgspec
import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.numpy import save

from ecsuite.corpus import Corpus
from ecsuite.runtime.ragged import Ragged


def corpus_digest(corpus: Corpus) -> str:
    """A hash of what jobs read of a corpus."""
    content = hashlib.sha256(corpus.messages.offsets.astype(np.int64).tobytes())
    content.update(corpus.messages.values.astype(np.int32).tobytes())
    content.update(json.dumps(corpus.symbol_names).encode())
    return content.hexdigest()


def corpus_to_bytes(corpus: Corpus) -> bytes:
    """What jobs read of a corpus, as a safetensors file."""
    arrays: dict[str, NDArray[Any]] = {
        "offsets": np.ascontiguousarray(corpus.messages.offsets, dtype=np.int64),
        "values": np.ascontiguousarray(corpus.messages.values, dtype=np.int32),
    }
    return save(arrays, {"symbol_names": json.dumps(corpus.symbol_names)})


def read_corpus_file(file: Path) -> Corpus:
    """The corpus of `corpus_to_bytes`."""
    with safe_open(file, framework="np") as opened:
        names = json.loads(opened.metadata()["symbol_names"])
        messages = Ragged(opened.get_tensor("values"), opened.get_tensor("offsets"))
    return Corpus(messages=messages, symbol_names=None if names is None else tuple(names))


def to_wire(inputs: Mapping[str, Any], encode: Callable[[Any], Any]) -> dict[str, Any]:
    """Inputs as JSON values; `encode` turns jobs and corpora at any depth into them, and returns others unchanged."""

    def walk(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [walk(each) for each in value]
        if isinstance(value, Mapping):
            return {str(name): walk(each) for name, each in value.items()}
        return encode(value)

    wire: dict[str, Any] = msgspec.to_builtins(walk(inputs), enc_hook=_as_text)
    return wire


def from_wire(
    inputs: Mapping[str, Any], function: Callable[..., Any], decode: Callable[[str, str], Any]
) -> dict[str, Any]:
    """Inputs from JSON values, by the annotations of the function.

    Args:
        inputs: Made by `to_wire`.
        function: The function that is called with them.
        decode: Reads what a mapping with the one key `$KIND` stands for; takes the kind and the value.
    """
    hints = get_type_hints(function, include_extras=True)

    def walk(value: Any) -> Any:
        if isinstance(value, list):
            return [walk(each) for each in value]
        if isinstance(value, Mapping):
            if len(value) == 1 and (name := next(iter(value))).startswith("$"):
                return decode(name[1:], value[name])
            return {name: walk(each) for name, each in value.items()}
        return value

    def read(name: str, value: Any) -> Any:
        found = walk(value)
        return found if found != value else msgspec.convert(value, hints[name], dec_hook=_from_text)

    return {name: read(name, value) for name, value in inputs.items()}


def _as_text(value: Any) -> str:
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} cannot be sent to a job")


def _from_text(kind: type, value: Any) -> Any:
    if kind is Path:
        return Path(value)
    raise TypeError(f"{kind.__name__} cannot be read from JSON")
