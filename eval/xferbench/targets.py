"""The languages to transfer to: texts of a folder, or the embedded artificial languages.

A target is cut by line, each line's hash deciding its place, so tuning and test never share a line, the
order of the file does not matter, and every seed of every score sees the same data. BPE is trained on
tuning lines alone.
"""

import gzip
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from ecsuite.config import ConfigError
from ecsuite.eval.xferbench.languages import write
from ecsuite.eval.xferbench.presets import Preset

SUFFIXES = (".txt", ".txt.gz")
BPE_BYTES = 1_000_000
"""How much tuning text BPE is trained on."""
LINES_AT_ONCE = 2_000
TEST_SHARE = 8
"""One line in so many is for testing."""
BYTES_PER_TOKEN = 4
"""Generous, so that no embedded text is too short."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """One language's data as token ids."""

    name: str
    """`da` for `da.txt.gz`, or the number of an embedded language."""
    vocab_size: int
    """Size of its BPE vocabulary."""
    tune: NDArray[np.int64]
    """Tokens to tune on, shape (tune_tokens + 1,)."""
    test: NDArray[np.int64]
    """Held-out tokens, shape (test_tokens + 1,)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Text:
    """A language as distinct lines."""

    name: str
    """Its name in tables."""
    lines: Sequence[str]
    """Lines without their ends, none empty."""


def read_texts(folder: Path) -> list[Text]:
    """Read a folder's `*.txt` and `*.txt.gz`, by name.

    Raises:
        ConfigError: If there is no such folder, it has no such file, two files have one name, or one is not
            UTF-8 or damaged.
    """
    if not folder.is_dir():
        raise ConfigError(f"{folder}: no such folder of target texts")
    paths = sorted(path for path in folder.iterdir() if path.name.endswith(SUFFIXES))
    if not paths:
        raise ConfigError(f"{folder}: expected target texts such as da.txt or da.txt.gz, found none")
    names = [path.name.removesuffix(".gz").removesuffix(".txt") for path in paths]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"{folder}: both {name}.txt and {name}.txt.gz are there; keep one")
    return [Text(name=name, lines=_read_lines(path)) for name, path in zip(names, paths, strict=True)]


def _read_lines(path: Path) -> list[str]:
    try:
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (EOFError, OSError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path}:{line}: not UTF-8: byte 0x{data[error.start]:02x}") from error
    return [line for line in map(str.strip, text.splitlines()) if line]


def embedded_texts(preset: Preset) -> list[Text]:
    """The first `preset.num_targets` artificial languages, each with as much text as the preset needs."""
    num_tokens = TEST_SHARE * max(preset.test_tokens, preset.tune_tokens / (TEST_SHARE - 1))
    num_bytes = round(BYTES_PER_TOKEN * num_tokens)
    return [
        Text(name=f"artificial-{number}", lines=write(number, num_bytes))
        for number in range(1, preset.num_targets + 1)
    ]


def fingerprint(texts: Sequence[Text]) -> str:
    """The names of texts and a short hash of what they say."""
    content = hashlib.blake2b(digest_size=4)
    for text in texts:
        content.update("\n".join((text.name, *text.lines, "")).encode())
    return f"{'+'.join(text.name for text in texts)}#{content.hexdigest()}"


def prepare(text: Text, preset: Preset) -> Target:
    """Split the lines, train BPE on those for tuning, and tokenise both parts.

    Raises:
        ConfigError: If the text is shorter than the preset needs.
    """
    lines = shuffled(text.lines)
    num_test = len(lines) // TEST_SHARE
    test_lines, tune_lines = lines[:num_test], lines[num_test:]
    tokenizer = train_bpe(tune_lines, preset.bpe_size)
    return Target(
        name=text.name,
        vocab_size=tokenizer.get_vocab_size(),
        tune=_tokens(tokenizer, tune_lines, preset.tune_tokens + 1, f"{text.name}: tuning"),
        test=_tokens(tokenizer, test_lines, preset.test_tokens + 1, f"{text.name}: testing"),
    )


def shuffled(lines: Iterable[str]) -> list[str]:
    """The different lines, by their hashes: an order as good as random, and always the same."""
    return sorted(set(lines), key=lambda line: hashlib.blake2b(line.encode(), digest_size=16).digest())


def train_bpe(lines: Sequence[str], vocab_size: int) -> Tokenizer:
    """Byte-level BPE of at most `vocab_size` types, learnt from the first megabyte of `lines`."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        min_frequency=2,
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    num_bytes = np.cumsum([len(line.encode()) for line in lines])
    tokenizer.train_from_iterator(lines[: int(np.searchsorted(num_bytes, BPE_BYTES)) + 1], trainer)
    return tokenizer


def encode(tokenizer: Tokenizer, lines: Sequence[str]) -> Iterator[list[int]]:
    """Token ids of each line, its end included."""
    for start in range(0, len(lines), LINES_AT_ONCE):
        ended = [line + "\n" for line in lines[start : start + LINES_AT_ONCE]]
        yield from (encoding.ids for encoding in tokenizer.encode_batch_fast(ended))


def _tokens(tokenizer: Tokenizer, lines: Sequence[str], length: int, what: str) -> NDArray[np.int64]:
    tokens: list[int] = []
    for line in encode(tokenizer, lines):
        tokens += line
        if len(tokens) >= length:
            return np.asarray(tokens[:length], dtype=np.int64)
    raise ConfigError(f"{what} needs {length} tokens, the text has {len(tokens)}; give a longer text")
