"""The formats of the files that the package writes and reads back, beside the corpus, which `ecsuite.formats` knows.

A file says its format under the key `format`. Version 0.1.0 wrote none, and what lacks it is read as 0.1.0 wrote it.
A number rises when a file of the new form would be misread by an older version. It tells how to read a file, and
nothing of what the file is about: it is no part of an experiment, of a signature or of the key of a kept result.
"""

from collections.abc import Mapping
from typing import Any

KEY = "format"
FORMATS = {"config": 1, "scores": 1, "result": 1, "kept result": 1}
"""The newest format of each kind of file, which is the one that is written.

config: YAML of users, and the `config.yaml` of a run folder, which tells the format of that folder. scores: what
`score` and `baseline` print and write. result: the same of every other command that has `--out`. kept result: a
finished stage that a command keeps and finds again.
"""


class FormatError(ValueError):
    """A file of a format that this version cannot read: which file, what was found, what can be read."""


def with_format(kind: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """The content of a file with its format, which comes first.

    Args:
        kind: A name in `FORMATS`.
        data: The content.
    """
    return {KEY: FORMATS[kind], **data}


def without_format(kind: str, data: Mapping[str, Any], file: object) -> dict[str, Any]:
    """The content of a file that was read, without its format, which is checked.

    Args:
        kind: A name in `FORMATS`.
        data: What was read.
        file: Where from, for the message.

    Raises:
        FormatError: If the format is not one that this version reads.
    """
    newest = FORMATS[kind]
    if KEY in data and not (type(data[KEY]) is int and 1 <= data[KEY] <= newest):
        known = "1" if newest == 1 else f"1 to {newest}"
        raise FormatError(
            f"{file}: format {data[KEY]!r} of a {kind} file is not known; this version of ecsuite reads {known}, "
            "and files without a format"
        )
    return {key: value for key, value in data.items() if key != KEY}
