"""Format numbers of the files that the package writes and reads, except corpora (see `ecsuite.formats`).

A file has its format number under the key `format`. Files without it are read as files of version 0.1.0, which wrote
none. The number increases when an older version would misread the new files. It describes the file only: it is not
part of an experiment, of a signature or of the key of a cached result.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from ecsuite.runtime.errors import FormatError

KEY = "format"
FORMATS = {"config": 2, "scores": 1, "result": 1, "kept result": 2}
"""The newest format of each kind of file; this is the one that is written.

config: users' YAML files, and the `config.yaml` of a run folder, whose number holds for the whole folder. scores: the
output of `score` and `baseline`. result: the output of every other command that has `--out`. kept result: that of a
job in a store; those of format 1 were kept elsewhere, and are not read.
"""


FORMER_KEYS = {"conclusion": "verdict"}
"""Keys in JSON files of fields that are called otherwise: files of version 0.1 have them."""


def with_format(kind: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """Add the format number to the content of a file, as its first key.

    Args:
        kind: A name in `FORMATS`.
        data: The content.
    """
    return {KEY: FORMATS[kind], **data}


def without_format(kind: str, data: Mapping[str, Any], file: object) -> dict[str, Any]:
    """Check and remove the format number of the content of a file.

    Args:
        kind: A name in `FORMATS`.
        data: The content as read.
        file: Path of the file, for the message.

    Raises:
        FormatError: If this version cannot read the format.
    """
    newest, found = FORMATS[kind], data[KEY] if KEY in data else 1
    if type(found) is not int or not 1 <= found <= newest:
        known = "1" if newest == 1 else f"1 to {newest}"
        is_short = isinstance(found, int) and found.bit_length() < 64
        told = found if is_short else type(found).__name__
        raise FormatError(
            f"{file}: format {told} of a {kind} file is not known; this version of ecsuite reads {known}, "
            "and files without a format"
        )
    return {key: value for key, value in data.items() if key != KEY}


def fields_as_json(data: Any) -> dict[str, Any]:
    """The fields of a dataclass, and of those in it, by their keys in JSON files."""

    def with_keys(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
        return {FORMER_KEYS.get(name, name): value for name, value in pairs}

    return asdict(data, dict_factory=with_keys)
