"""Target texts as lists of documents, from a folder or an artificial language; and the paper's baseline corpora."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from ecsuite.corpus import Corpus
from ecsuite.eval.xferbench.presets import XferBenchPreset
from ecsuite.formats.stored_text import digest_of, read_beginning, read_text
from ecsuite.formats.strict_json import parse_json
from ecsuite.grammars.baselines import text_parentheses, uniform_noise, zipf_parentheses
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.ragged import Ragged

SUFFIXES = (".txt", ".txt.gz", ".jsonl", ".jsonl.gz")
BYTES_PER_TOKEN = 4
"""Upper bound of bytes per token, so that no artificial text is too short."""
NUM_BEGINNING_BYTES = 1 << 16
"""Number of bytes read to detect whether there is text, and whether plain text looks like JSON lines."""


class TextFile(msgspec.Struct, frozen=True, tag=True):
    """A text file, a document per line: plain text or, in a .jsonl file, a JSON string."""

    name: str
    """File name without its suffix."""
    path: Path
    """The file."""
    digest: str = ""
    """The `job_key` when its jobs were planned; empty if the file was not identified."""

    def identified(self) -> "TextFile":
        """A copy with the absolute path and the hash of the current content; reading it rejects changed content.

        Raises:
            ConfigError: If the file can't be read, or has no text.
        """
        self.require_text()
        return msgspec.structs.replace(self, path=self.path.absolute(), digest=self._stored_key())

    def require_text(self) -> None:
        """Check that there is a document; only the beginning of a long file is read.

        Raises:
            ConfigError: If there is no document, or the file can't be read.
        """
        beginning = read_beginning(self.path, NUM_BEGINNING_BYTES)
        is_long = len(beginning.encode()) >= NUM_BEGINNING_BYTES
        if not (is_long and beginning.strip()) and not self.documents():
            raise ConfigError(f"{self.path}: expected text, found none")

    def job_key(self) -> str:
        """A hash of the content and its format, independent of the path.

        Raises:
            ConfigError: If the file can't be read.
        """
        return self.digest or self._stored_key()

    def documents(self) -> list[str]:
        """Non-empty documents, without white space at their ends.

        Raises:
            ConfigError: If the file can't be read, a line is not a document, or it has changed since it was identified.
        """
        text = read_text(self.path)
        if self.digest and self._stored_key() != self.digest:
            raise ConfigError(f"{self.path}: has changed during the run: run the same command again")
        documents = self._json_lines(text) if self._is_json else map(str.strip, text.splitlines())
        return [document for document in documents if document]

    @property
    def _is_json(self) -> bool:
        return ".jsonl" in self.path.name

    def _stored_key(self) -> str:
        digest = digest_of(self.path)
        # In a .jsonl file, the same bytes are different documents.
        is_like_json = read_beginning(self.path, NUM_BEGINNING_BYTES).lstrip().startswith(('"', "{"))
        return f"{digest} as plain text" if is_like_json and not self._is_json else digest

    def _json_lines(self, text: str) -> Iterator[str]:
        for number, line in enumerate(text.split("\n"), start=1):
            document = parse_json(line, self.path, number) if line.strip() else ""
            if isinstance(document, dict):
                document = document.get("text")
            if not isinstance(document, str):
                raise ConfigError(
                    f'{self.path}:{number}: expected a JSON string, or an object with a string as "text"'
                )
            yield document.strip()


class ArtificialText(msgspec.Struct, frozen=True, tag=True):
    """A text of an artificial language."""

    number: int
    """Number of the language, from 1."""
    num_bytes: int
    """Minimum size in bytes."""

    @property
    def name(self) -> str:
        """`artificial-NUMBER`."""
        return f"artificial-{self.number}"

    def job_key(self) -> str:
        """Number and size, which determine the content."""
        return f"artificial-{self.number}-{self.num_bytes}"

    def documents(self) -> list[str]:
        """Paragraphs of the language."""
        from ecsuite.eval.xferbench.languages import write

        return write(self.number, self.num_bytes)


Text = TextFile | ArtificialText
"""A text of one language, as documents; an input of jobs."""


def choose_texts(folder: Path | None, preset: XferBenchPreset) -> list[Text]:
    """The target texts of a preset, from a folder or of the artificial languages.

    Raises:
        ConfigError: If texts are missing, or the folder can't be read.
    """
    if folder is None and not preset.languages:
        num_tokens = 10 * max(preset.test_tokens, preset.tune_tokens / 9)
        size = round(BYTES_PER_TOKEN * num_tokens)
        return [ArtificialText(number, size) for number in range(1, preset.num_embedded + 1)]
    if folder is None:
        raise ConfigError(
            f"preset {preset.name} needs texts of {', '.join(preset.languages)}: run `ecsuite data wikipedia` once, "
            "or give targets=FOLDER (of ecsuite xferbench: --targets FOLDER) with a file such as da.txt.gz for each "
            "language"
        )
    texts = read_texts(folder)
    if not preset.languages:
        return list(texts.values())
    missing = [name for name in preset.languages if name not in texts]
    if missing:
        raise ConfigError(
            f"{folder}: preset {preset.name} needs {missing[0]}.txt, .txt.gz, .jsonl or .jsonl.gz"
        )
    return [texts[name] for name in preset.languages]


def preset_folder(folder: Path | None, preset: XferBenchPreset) -> Path | None:
    """The folder of target texts: `folder`, or the downloaded texts if it is None and the preset needs texts."""
    if folder is not None or not preset.languages:
        return folder
    from ecsuite.files.data_folder import data_folder

    downloaded = data_folder("wikipedia")
    is_there = downloaded.is_dir() and any(path.name.endswith(SUFFIXES) for path in downloaded.iterdir())
    return downloaded if is_there else None


def read_texts(folder: Path) -> dict[str, Text]:
    """The texts of a folder, by name.

    Raises:
        ConfigError: If there is no such folder, it has no text, or two files have the same name.
    """
    if not folder.is_dir():
        raise ConfigError(f"{folder}: no such folder of target texts")
    texts: dict[str, Text] = {}
    for path in sorted(folder.iterdir()):
        ending = next((ending for ending in SUFFIXES if path.name.endswith(ending)), None)
        if ending is None:
            continue
        name = path.name.removesuffix(ending)
        if name in texts:
            raise ConfigError(f"{folder}: expected one file named {name}, got several")
        texts[name] = TextFile(name, path)
    if not texts:
        raise ConfigError(f"{folder}: expected target texts such as da.txt or da.txt.gz, found none")
    return texts


def in_hash_order(lines: Iterable[str]) -> list[str]:
    """The distinct lines in the order of their hashes, a pseudorandom but reproducible order."""
    return sorted(set(lines), key=lambda line: hashlib.blake2b(line.encode(), digest_size=16).digest())


def fingerprint(texts: Sequence[Text]) -> str:
    """The names of texts and a short hash of their content."""
    content = hashlib.blake2b(digest_size=4)
    for text in texts:
        content.update(f"{text.name}\n{text.job_key()}\n".encode())
    return f"{'+'.join(text.name for text in texts)}#{content.hexdigest()}"


PROGRAM_OPEN_PROBABILITY = 0.5
"""Probability that the authors' program opens a pair; the paper's source, and `strict`, have 0.4."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BaselineSettings:
    """Settings of a baseline corpus."""

    preset: XferBenchPreset
    """Numbers of symbols and of symbol types."""
    protocol: str
    """The authors' protocols use the probability of an opening parenthesis in their program."""
    seed: int
    """Seed of random draws."""
    text: Path | None
    """A text file, for sources that need one."""


def paren_synth(request: BaselineSettings) -> Corpus:
    """Nested pairs of symbols whose frequencies follow Zipf-Mandelbrot's law."""
    is_strict = request.protocol == "strict"
    return _draw(
        zipf_parentheses, request, **({} if is_strict else {"open_probability": PROGRAM_OPEN_PROBABILITY})
    )


def paren_real(request: BaselineSettings) -> Corpus:
    """Nested pairs of symbols with the frequencies of the words of a text (--text)."""
    return _draw(text_parentheses, request, text=_required("paren_real", request))


def random(request: BaselineSettings) -> Corpus:
    """Symbols drawn independently and uniformly."""
    return _draw(uniform_noise, request)


def no_pretrain(request: BaselineSettings) -> None:
    """No corpus: the model is fine-tuned from its initial weights."""
    return None


def human(request: BaselineSettings) -> Corpus:
    """BPE tokens of a human language (--text), a message per line."""
    path = _required("human", request)
    return tokens_of(TextFile(path.name, path), request.preset)


def tokens_of(text: TextFile, preset: XferBenchPreset) -> Corpus:
    """BPE tokens of a text in a human language, a message per line, up to the size of pretraining.

    Raises:
        ConfigError: If the text can't be read, has changed, or is empty.
    """
    from ecsuite.eval.models.vocabulary import encode, train_bpe

    lines = in_hash_order(text.documents())
    if not lines:
        raise ConfigError(f"{text.path}: expected text, found none")
    tokenizer = train_bpe(lines, preset.vocab_size, preset.bpe_bytes)
    rows: list[list[int]] = []
    num_tokens = 0
    for row in encode(tokenizer, lines):
        rows.append(row)
        num_tokens += len(row)
        if num_tokens > preset.pretrain_tokens:
            break
    names = tuple(str(tokenizer.id_to_token(token)) for token in range(tokenizer.get_vocab_size()))
    return Corpus(messages=Ragged.from_rows(rows), symbol_names=names)


def _draw(baseline: Callable[..., Corpus], request: BaselineSettings, **options: Any) -> Corpus:
    preset, rng = request.preset, np.random.default_rng(request.seed)
    return baseline(preset.pretrain_tokens, rng, num_types=preset.vocab_size - 10, **options)


def _required(name: str, request: BaselineSettings) -> Path:
    if request.text is None:
        raise ConfigError(f"{name} needs a text: give --text FILE, such as fr.txt.gz")
    return request.text
