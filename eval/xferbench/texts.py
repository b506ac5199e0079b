"""Target languages as lists of documents: texts of a folder, or the artificial languages."""

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from ecsuite.eval.xferbench.presets import Preset
from ecsuite.formats.stored_text import digest_of, read_beginning, read_text
from ecsuite.formats.strict_json import parse_json
from ecsuite.runtime.errors import ConfigError

SUFFIXES = (".txt", ".txt.gz", ".jsonl", ".jsonl.gz")
BYTES_PER_TOKEN = 4
"""An upper bound, so that no artificial text is too short."""
NUM_BEGINNING_BYTES = 1 << 16
"""Bytes by which it is seen whether there is text, and whether a plain one could be read as JSON lines."""


class TextFile(msgspec.Struct, frozen=True, tag=True):
    """A text file, a document per line: plain text or, in a .jsonl file, a JSON string."""

    name: str
    """File name without its suffix."""
    path: Path
    """The file."""
    digest: str = ""
    """The `job_key` with which its jobs were planned; empty: it was not asked for."""

    def identified(self) -> "TextFile":
        """The same, with its whole path and the hash of what is stored now: no other content is read then.

        Raises:
            ConfigError: If the file can't be read, or has no text.
        """
        self.require_text()
        return msgspec.structs.replace(self, path=self.path.absolute(), digest=self._stored_key())

    def require_text(self) -> None:
        """Check that there is a document; of a long file, only the beginning is read.

        Raises:
            ConfigError: If there is none, or the file can't be read.
        """
        beginning = read_beginning(self.path, NUM_BEGINNING_BYTES)
        is_long = len(beginning.encode()) >= NUM_BEGINNING_BYTES
        if not (is_long and beginning.strip()) and not self.documents():
            raise ConfigError(f"{self.path}: expected text, found none")

    def job_key(self) -> str:
        """A hash of the content and of how it is read, wherever the file is.

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
            raise ConfigError(f"{self.path}: has changed while it was in use: run the same command again")
        found = self._json_lines(text) if self._is_json else map(str.strip, text.splitlines())
        return [document for document in found if document]

    @property
    def _is_json(self) -> bool:
        return ".jsonl" in self.path.name

    def _stored_key(self) -> str:
        digest = digest_of(self.path)
        # The same bytes in a .jsonl file are other documents.
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


def choose_texts(folder: Path | None, preset: Preset) -> list[Text]:
    """The target texts of a preset: those of a folder, or the artificial languages.

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
            "or give targets=FOLDER with a file such as da.txt.gz for each language"
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


def preset_folder(given: Path | None, preset: Preset) -> Path | None:
    """The folder of target texts: `given`, or the downloaded texts if it is None and the preset needs texts."""
    if given is not None or not preset.languages:
        return given
    from ecsuite.files.data_folder import data_folder

    downloaded = data_folder("wikipedia")
    is_there = downloaded.is_dir() and any(path.name.endswith(SUFFIXES) for path in downloaded.iterdir())
    return downloaded if is_there else None


def read_texts(folder: Path) -> dict[str, Text]:
    """The texts of a folder, by name.

    Raises:
        ConfigError: If there is no such folder, it has no text, or two files have one name.
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
            raise ConfigError(f"{folder}: two files named {name}: expected one")
        texts[name] = TextFile(name, path)
    if not texts:
        raise ConfigError(f"{folder}: expected target texts such as da.txt or da.txt.gz, found none")
    return texts


def fingerprint(texts: Sequence[Text]) -> str:
    """The names of texts and a short hash of their content."""
    content = hashlib.blake2b(digest_size=4)
    for text in texts:
        content.update(f"{text.name}\n{text.job_key()}\n".encode())
    return f"{'+'.join(text.name for text in texts)}#{content.hexdigest()}"
