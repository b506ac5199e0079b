"""Changes bytes of valid input as damage, mistakes and attacks do."""

import gzip
import io
import lzma
import random
import re
import zipfile
from collections.abc import Sequence

TOKENS = (
    *(
        b"[", b"]", b"{", b"}", b'"', b",", b":", b"\n", b"\r\n", b"\r", b"\t", b" ", b"\0", b"\\", b"&a ", b"*a",
        b"- ",
    ),
    *(b"\xff", b"\xef\xbb\xbf", b"\xfe\xff", b"\xc0\x80", b"\xed\xa0\x80", b'"\\ud800"', "é\u2028٣\u200b".encode()),
    *(b"NaN", b"Infinity", b"-Infinity", b"1e999", b"-1", b"0", b"1.5", b"null", b"true", b"{}", b"[]", b'""'),
    *(b"9" * 5000, b"-" + b"7" * 400, b"2147483648", b"9223372036854775808", b"1e308", b"0x" + b"f" * 5000),
    *(b"[" * 3000, b"{" * 400, b'{"a":' * 3000, b"- " * 400, b"]" * 50, b"a" * 2000, b"," * 3000, b"../../passwd"),
    *(b"!!python/object:os.system", b"!!timestamp x", b"!!binary x", b"<<: *t", b"? [a]", b"%YAML 9.9\n", b"...\n"),
    *(b"\x1b[31m", b"PAR1", b"\x1f\x8b", b"PK\x03\x04", b"=cmd|'/c calc'!A0", b"$(reboot)", b"%s%n", b"__class__"),
)  # fmt: skip
"""What is put into input."""
NUMBERS = (0, 1, 127, 128, 255, 2**15 - 1, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**63 - 1, 2**64 - 1)
"""Sizes and offsets that formats do not expect."""


def mutated(data: bytes, random_: random.Random, others: Sequence[bytes], ending: str) -> bytes:
    """A changed copy of input.

    Args:
        data: The content of a file.
        random_: Draws the changes.
        others: Contents to take pieces of.
        ending: That of the file's name; what is packed is changed inside, too.
    """
    if ending in (".gz", ".xz", ".npz") and random_.random() < 0.6:
        return _inside(data, random_, others, ending)
    for _ in range(random_.choice((1, 1, 1, 2, 3, 6))):
        data = random_.choice(_CHANGES)(data, random_, others)[:MAX_BYTES]
    return data


MAX_BYTES = 1 << 16
"""Largest input."""


def _inside(data: bytes, random_: random.Random, others: Sequence[bytes], ending: str) -> bytes:
    """Packed input whose content is changed, with a right checksum; some of it is a bomb of zeros."""
    if ending == ".npz":
        packed = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(data)) as before, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as after:
            chosen = random_.choice(before.namelist())
            for name in before.namelist():
                content = before.read(name)
                after.writestr(name, mutated(content, random_, others, "") if name == chosen else content)
        return packed.getvalue()
    module = gzip if ending == ".gz" else lzma
    content = bytes(1 << 26) if random_.random() < 0.01 else mutated(module.decompress(data), random_, others, "")
    return module.compress(content)


def _place(data: bytes, random_: random.Random) -> tuple[int, int]:
    start = random_.randrange(len(data) + 1)
    return start, min(len(data), start + random_.choice((0, 1, 2, 4, 8, 30, 200)))


def _flip(data: bytes, random_: random.Random, others: Sequence[bytes]) -> bytes:
    if not data:
        return b"\0"
    place = random_.randrange(len(data))
    return data[:place] + bytes([data[place] ^ 1 << random_.randrange(8)]) + data[place + 1 :]


def _insert(data: bytes, random_: random.Random, others: Sequence[bytes]) -> bytes:
    start, end = _place(data, random_)
    return data[:start] + random_.choice(TOKENS) + data[random_.choice((start, end)) :]


def _delete(data: bytes, random_: random.Random, others: Sequence[bytes]) -> bytes:
    start, end = _place(data, random_)
    return data[:start] + data[end:]


def _cut(data: bytes, random_: random.Random, others: Sequence[bytes]) -> bytes:
    return data[: random_.randrange(len(data) + 1)]


def _repeat(data: bytes, random_: random.Random, others: Sequence[bytes]) -> bytes:
    start, end = _place(data, random_)
    return data[:end] + data[start:end] * random_.choice((1, 2, 100)) + data[end:]


def _splice(data: bytes, random_: random.Random, others: Sequence[bytes]) -> bytes:
    other = random_.choice(others)
    start, end = _place(other, random_)
    at = random_.randrange(len(data) + 1)
    return (
        data[:at] + other[start : random_.choice((end, len(other)))] + data[at + random_.choice((0, end - start)) :]
    )  # fmt: skip


def _renumber(data: bytes, random_: random.Random, others: Sequence[bytes]) -> bytes:
    found = list(re.finditer(rb"\d+", data[:MAX_BYTES]))
    if not found:
        return _flip(data, random_, others)
    number = random_.choice(found)
    other = str(random_.choice(NUMBERS) * random_.choice((1, -1))).encode()
    return data[: number.start()] + other + data[number.end() :]


def _resize(data: bytes, random_: random.Random, others: Sequence[bytes]) -> bytes:
    size = random_.choice((1, 2, 4, 8))
    value = (random_.choice(NUMBERS) & (1 << 8 * size) - 1).to_bytes(size, random_.choice(("little", "big")))
    start = random_.randrange(len(data) + 1)
    return data[:start] + value + data[start + size :]


def _swap(data: bytes, random_: random.Random, others: Sequence[bytes]) -> bytes:
    lines = data.splitlines(keepends=True)
    random_.shuffle(lines)
    return b"".join(lines)


_CHANGES = (_flip, _insert, _insert, _insert, _delete, _cut, _repeat, _splice, _renumber, _resize, _swap)
