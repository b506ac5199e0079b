"""Format numbers of the files that the package writes and reads, except corpora (see `ecsuite.formats`).

A file has its format number under the key `format`, which is optional in files of users. The number describes the file
only: it is not part of an experiment, of a signature or of the key of a stored result.
"""

from collections.abc import Mapping
from typing import Any

from ecsuite.runtime.errors import FormatError

KEY = "format"
FORMATS = {"config": 1, "scores": 1, "result": 1, "kept result": 1}
"""Format number of each kind of file.

config: users' YAML files, and the `config.yaml` of a run folder, whose number applies to the whole folder. scores: the
output of `score` and `score reference`. result: the output of every other command with `--out`. kept result: the
result of a job in a store.
"""


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
        FormatError: If this version does not know the format.
        TypeError: If the content is not a JSON object.
    """
    if not isinstance(data, Mapping):
        raise TypeError(f"expected a JSON object, got {type(data).__name__}")
    found = data[KEY] if KEY in data else FORMATS[kind]
    if type(found) is not int or found != FORMATS[kind]:
        is_short = isinstance(found, int) and found.bit_length() < 64
        told = found if is_short else type(found).__name__
        raise FormatError(
            f"{file}: format {told} of a {kind} file is not known; this version of ecsuite reads {FORMATS[kind]}"
        )
    return {key: value for key, value in data.items() if key != KEY}
