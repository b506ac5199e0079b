"""Checksums inside of files: what is edited is noticed, and what says the same is not."""

from pathlib import Path

import pytest

from ecsuite.files.checksums import require_unchanged, require_unchanged_text, sealed, sealed_text
from ecsuite.files.format_numbers import with_format, without_format
from ecsuite.runtime.errors import DamagedError, FormatError

FILE = Path("runs/a/config.yaml")
DATA = {"b": (1, 2), "a": {"y": None, "x": 1}}


def test_keys_in_another_order_say_the_same():
    found = dict(reversed(sealed(DATA).items()))
    require_unchanged({**found, "a": {"x": 1, "y": None}}, FILE)


@pytest.mark.parametrize("change", [{"a": {"y": None, "x": 2}}, {"c": 1}, {"b": [2, 1]}])
def test_other_values_are_noticed(change):
    with pytest.raises(DamagedError, match="damaged or edited"):
        require_unchanged({**sealed(DATA), **change}, FILE)


def test_a_file_without_a_checksum_is_as_its_user_wrote_it():
    require_unchanged(DATA, FILE)
    require_unchanged_text(b"a: 1\n", FILE)


@pytest.mark.parametrize(
    "edited",
    [
        sealed_text(b"a: 1\n").replace(b"a: 1", b"a: 2"),
        sealed_text(b"a: 1\n") + b"b: 2\n",
        b"b: 2\n" + sealed_text(b"a: 1\n"),
    ],
    ids=["changed", "added after it", "added before it"],
)
def test_an_edited_text_is_noticed(edited):
    require_unchanged_text(sealed_text(b"a: 1\n"), FILE)
    with pytest.raises(DamagedError, match="damaged or edited"):
        require_unchanged_text(edited, FILE)
    require_unchanged_text(sealed_text(edited), FILE)
    assert sealed_text(edited).count(b"sha256") == 1


@pytest.mark.parametrize("number", [2, 0, True, 1.0, "1", None, 10**400], ids=lambda number: repr(number)[:9])
def test_only_the_format_of_this_version_is_read(number):
    assert without_format("result", with_format("result", {"a": 1}), FILE) == {"a": 1}
    with pytest.raises(FormatError, match="of a result file is not known"):
        without_format("result", {"format": number, "a": 1}, FILE)
