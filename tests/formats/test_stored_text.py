"""Plain and compressed files give the same text; errors name file and line."""

import gzip
import lzma

import pytest

from ecsuite.formats.stored_text import read_beginning, read_lines, read_text
from ecsuite.runtime.errors import ConfigError

TEXT = "a\tb\r\n\u2028c\x85d\r\n\nlast"
PACK = {"": bytes, ".xz": lzma.compress, ".gz": gzip.compress}


@pytest.fixture(params=PACK)
def stored(tmp_path, request):
    """Writes bytes, plain or compressed."""

    def store(data):
        path = tmp_path / f"file.tsv{request.param}"
        path.write_bytes(PACK[request.param](data))
        return path

    return store


def test_only_a_newline_ends_a_line(stored):
    path = stored(TEXT.encode())
    assert read_lines(path) == ["a\tb", "\u2028c\x85d", "", "last"]
    assert read_text(path) == "a\tb\n\u2028c\x85d\n\nlast"


def test_the_last_newline_begins_no_line(stored):
    assert read_lines(stored(b"a\nb\n")) == ["a", "b"]
    assert read_lines(stored(b"")) == []


def test_a_byte_order_mark_is_removed(stored):
    assert read_lines(stored(b"\xef\xbb\xbfa\n")) == ["a"]
    assert read_beginning(stored(b"\xef\xbb\xbfab\n"), 4) == "a"


def test_the_beginning_may_end_within_a_character(stored):
    assert read_beginning(stored("åå".encode()), 3) == "å\ufffd"
    assert read_beginning(stored(b"a\r\nb"), 100) == "a\nb"


def test_other_encodings_are_an_error_with_the_line(stored):
    path = stored("good\nbad é\n".encode("latin-1"))
    with pytest.raises(ConfigError) as error:
        read_text(path)
    assert str(error.value) == f"{path}:2: not UTF-8: byte 0xe9: save it as UTF-8"


@pytest.mark.parametrize("ending", [".xz", ".gz"])
@pytest.mark.parametrize("read", [read_text, lambda path: read_beginning(path, 1 << 20)])
def test_a_truncated_archive_is_an_error(tmp_path, ending, read):
    path = tmp_path / f"file{ending}"
    path.write_bytes(PACK[ending](bytes(range(256)) * 40)[:-30])
    with pytest.raises(ConfigError) as error:
        read(path)
    assert str(error.value).startswith(f"{path}: cannot be read: Compressed file ended before")


@pytest.mark.parametrize("ending", [".xz", ".gz", ".XZ", ".GZ"])
def test_an_invalid_archive_is_an_error(tmp_path, ending):
    path = tmp_path / f"file{ending}"
    path.write_bytes(b"word\tNOUN\n")
    with pytest.raises(ConfigError) as error:
        read_text(path)
    assert str(error.value).startswith(f"{path}: cannot be read: ")
