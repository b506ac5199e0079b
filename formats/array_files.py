"""Read arrays as tables: NumPy's .npy and .npz, and safetensors, such as the fields of EGG's interactions."""

import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load_file

from ecsuite.formats.cells import PADDING
from ecsuite.formats.meant import is_one_hot
from ecsuite.formats.roles import MESSAGE_NAMES, plain_name
from ecsuite.formats.strict_json import ID_LIMIT
from ecsuite.formats.table import Cells, RawTable
from ecsuite.runtime.errors import CorpusError
from ecsuite.runtime.memory import require_memory
from ecsuite.runtime.ragged import Ragged

LENGTHS = ("message_length", "lengths", "length")
"""Names of arrays with the lengths of messages."""
DAMAGE = (
    ValueError, OSError, EOFError, KeyError, SyntaxError, TypeError, RuntimeError, MemoryError, SafetensorError,
    tokenize.TokenError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip
"""Exceptions that NumPy, zipfile and safetensors raise for damaged files."""
Array = NDArray[Any]


def read_arrays(file: Path, name: str, given: Mapping[str, str]) -> RawTable:
    """Read arrays of NumPy or safetensors whose first dimension is the number of messages.

    Messages are integers, (num_messages, max_len), or one-hot symbols, (num_messages, max_len, vocab_size); the
    metadata of safetensors may declare `eos`, and roles by name of array, as the user can.

    Raises:
        ConfigError: If reading needs more memory than is allowed.
        CorpusError: If the file is damaged, or no array has messages; the message names the arrays.
    """
    require_memory(4.0 * file.stat().st_size, file)  # for the file and the symbols
    what, arrays, told = _arrays(file, name)
    arrays = {key: array for key, array in arrays.items() if array.ndim}
    chosen = [key for key, role in given.items() if role == "message" and key in arrays]
    chosen = chosen or [key for key in arrays if plain_name(key) in MESSAGE_NAMES]
    if not chosen:
        fitting = [key for key, array in arrays.items() if array.ndim in (2, 3) and array.dtype.kind in "iu"]
        chosen = fitting if len(fitting) == 1 else []
    if not chosen:
        listed = ", ".join(f"{key} {array.shape}" for key, array in arrays.items()) or "none"
        raise CorpusError(
            f"{name}: {what} with arrays {listed:.150}: name the messages with --column NAME=message"
        )
    key = chosen[0]
    number = len(arrays[key])
    if not number:
        raise CorpusError(f"{name}: array {key}: expected one message per row, got no rows")
    lengths = next((arrays[each] for each in arrays if plain_name(each) in LENGTHS), None)
    is_text = arrays[key].ndim == 1 and arrays[key].dtype.kind == "U"
    said = list(arrays[key]) if is_text else _messages(arrays[key], lengths, f"{name}: array {key}")
    columns: dict[str, Cells] = {key: said}
    if told.get("labels") == "meaning":
        arrays.pop("sender_input", None)  # a one-hot copy of the labels
    for each, array in arrays.items():
        if each != key and array is not lengths:
            if len(array) != number:
                expected = f"expected {number} rows, as array {key}; got {len(array)}"
                raise CorpusError(f"{name}: array {each}: {expected}")
            columns[each] = list(array)
    roles = {each: told[each] for each in columns if each in told}
    return RawTable(
        source=name, about=f"{what}, array {key}", columns=columns, rows=range(1, number + 1),
        is_header=len(columns) > 1, roles={**roles, key: "message"}, eos=told.get("eos"),
    ).plain()  # fmt: skip


def _arrays(file: Path, name: str) -> tuple[str, dict[str, Array], dict[str, str]]:
    with open(file, "rb") as begun:
        start = begun.read(6)
    try:
        if start == b"\x93NUMPY":
            return "a NumPy array", {"message": np.load(file, allow_pickle=False)}, {}
        if start[:2] == b"PK":
            with np.load(file, allow_pickle=False) as archive:
                return "a NumPy archive", {key: archive[key] for key in archive.files}, {}
        with safe_open(file, framework="numpy") as opened:
            told = opened.metadata() or {}
        return "a safetensors file", load_file(file), told
    except DAMAGE as error:
        said = f"{error!s:.120}"
        said = "Python objects, which can run code: save numbers" if "allow_pickle" in str(error) else said
        raise CorpusError(f"{name}: can't be read as arrays: {said}") from None


def _messages(array: Array, lengths: Array | None, place: str) -> Ragged:
    if array.ndim == 3 and is_one_hot(array):
        array = array.argmax(-1)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2:
        expected = "one-hot symbols, 0 or 1" if array.ndim == 3 else "whole numbers, (messages, symbols)"
        raise CorpusError(f"{place}: expected {expected}; got {array.dtype} {array.shape}")
    if array.dtype.kind == "f" and (array == np.floor(array)).all():
        array = array.astype(np.int64)
    if lengths is None and array.dtype.kind == "i":
        is_padding = array == PADDING
        if (np.maximum.accumulate(is_padding, axis=1) == is_padding).all():  # padding only at the end
            lengths, array = (~is_padding).sum(1), np.where(is_padding, 0, array)
    if array.dtype.kind not in "iu" or (array.size and (array.min() < 0 or array.max() >= ID_LIMIT)):
        got = str(array.dtype)
        if array.dtype.kind in "iuf":
            is_id = (array >= 0) & (array < ID_LIMIT) & (array == np.floor(array))
            row, column = np.argwhere(~is_id)[0]
            got = f"{array[row, column]} in row {row + 1}"
        raise CorpusError(f"{place}: expected whole numbers from 0 below {ID_LIMIT}, got {got}")
    ends = np.full(len(array), array.shape[1]) if lengths is None else lengths.reshape(-1)
    if ends.dtype.kind not in "iuf" or (ends != np.floor(ends)).any():
        raise CorpusError(f"{place}: its lengths are {ends.dtype}: expected whole numbers")
    ends = ends.astype(np.int64)
    if len(ends) != len(array) or (len(ends) and (ends.min() < 0 or ends.max() > array.shape[1])):
        raise CorpusError(f"{place}: its lengths do not fit: expected 0 to {array.shape[1]} for each message")
    is_said = np.arange(array.shape[1]) < ends[:, None]
    return Ragged.from_lengths(array[is_said].astype(np.int32), ends)
