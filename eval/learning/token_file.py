"""Kept tokens: a text that was tokenised once is read again, if checksum and key of its file are right."""

from collections.abc import Callable
from pathlib import Path

from ecsuite.config import DamagedError
from ecsuite.eval.learning.data import Target, Windows
from ecsuite.tensor_files import read_tensors, write_tensors


def kept_target(
    file: Path, key: str, make: Callable[[], Target], note: Callable[[str], None] = lambda _: None
) -> Target:
    """The data of a target language, from a file or made anew and written to it.

    Args:
        file: The file; its folder is made if it is missing.
        key: Everything that determines the data; a file with another key is not used.
        make: Makes the data.
        note: Called with a message if a file is there and cannot be used.
    """
    if file.is_file():
        try:
            return _read(file, key)
        except (DamagedError, OSError, AttributeError, KeyError, TypeError, ValueError) as error:
            note(f"{file}: not usable ({error}); its text is tokenised anew")
    target = make()
    file.parent.mkdir(parents=True, exist_ok=True)
    windows = {"tune": target.tune, "test": target.test}
    values = {
        "key": key,
        "vocab_size": target.vocab_size,
        "repeats": target.repeats,
        "rules": {name: [each.num_context, each.ignored] for name, each in windows.items()},
    }
    write_tensors(file, {name: each.symbols for name, each in windows.items()}, values)
    return target


def _read(file: Path, key: str) -> Target:
    """The data of a file; whatever is wrong with it is an error."""
    tensors, values = read_tensors(file)
    if values["key"] != key:
        raise DamagedError("it is of another text or other settings")
    windows = {
        name: Windows(symbols=tensors[name], num_context=context, ignored=ignored)
        for name, (context, ignored) in values["rules"].items()
    }
    return Target(vocab_size=values["vocab_size"], repeats=values["repeats"], **windows)
