"""A language model in one GGUF file, the format of llama.cpp, run by transformers.

The file's weights are quantised; they are converted to 32 bits once, which takes half a minute, and stored as a folder
of safetensors by the SHA-256 of the file. transformers was faster than llama.cpp for short answers among given choices
(docs/language_models.md).
"""

import hashlib
import json
import shutil
import tempfile
from contextlib import redirect_stderr
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any, ClassVar

from ecsuite.files.atomic_files import write_atomically
from ecsuite.files.data_folder import data_folder
from ecsuite.files.locks import Lock
from ecsuite.language_models.backend import MODEL_SHA256, SMOLLM2, model_file
from ecsuite.language_models.causal import CausalModel, folder_digest, load, transformers
from ecsuite.parts.config import Accuracy, Count, Weight
from ecsuite.runtime.errors import ConfigError, missing_extra, shown

MAGIC = b"GGUF"
"""First bytes of a file."""


class GgufModel(CausalModel):
    """A GGUF file.

    Raises:
        ConfigError: If the file does not exist or is damaged, or a library is not installed.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of a model in one file."""

        file: str = SMOLLM2
        """Path of the file; smollm2: the model of `ecsuite data smollm2`."""
        temperature: Weight = 1.0
        """Temperature of the answers; 0: the most likely answers, and equal questions are asked once."""
        top_p: Accuracy = 1.0
        """Nucleus sampling: share of the probability that answers are drawn from."""
        max_prompt: Count | None = None
        """Maximum number of tokens of a prompt, whose beginning is cut; null: the maximum of the model."""
        batch_size: Count = 1
        """Maximum number of answers generated at once; more than 1 is faster on a GPU."""

        changeable: ClassVar[tuple[str, ...]] = ("batch_size",)
        """Options that may change when a run is resumed."""

    def __init__(self, options: Options) -> None:
        is_shipped = options.file == SMOLLM2
        try:
            file = model_file() if is_shipped else Path(options.file)
            with file.open("rb") as opened:
                begins = opened.read(len(MAGIC))
                opened.seek(0)
                self.revision = hashlib.file_digest(opened, "sha256").hexdigest()
        except OSError as error:
            raise ConfigError(f"file: {options.file}: {error.strerror}") from None
        except ConfigError as error:
            raise ConfigError(f"file: {error}") from None
        if is_shipped and self.revision != MODEL_SHA256:
            raise ConfigError(f"file: {file}: is damaged; download it again with ecsuite data {SMOLLM2}")
        if begins != MAGIC:
            raise ConfigError(f"file: {file}: expected a GGUF file, which begins with {MAGIC.decode()}")
        self._use(options, load(str(_converted(file, self.revision)), self.revision))
        self._name = f"{file.name} {self.revision[:16]}"

    @property
    def settings(self) -> dict[str, Any]:
        """See the base class."""
        return {**super().settings, "backend": "gguf"}


def _converted(file: Path, digest: str) -> Path:
    """Folder with a file's tokenizer and weights as safetensors; written again if missing or damaged."""
    base = data_folder("gguf")
    base.mkdir(parents=True, exist_ok=True)
    folder, record = base / digest[:16], base / f"{digest[:16]}.json"
    lock = Lock(base / f".{digest[:16]}.lock")
    lock.acquire(waits=True)
    try:
        if not _is_whole(folder, record):
            with tempfile.TemporaryDirectory(dir=base, prefix=f".{digest[:16]}.") as place:
                _convert(file, Path(place) / "new")
                shutil.rmtree(folder, ignore_errors=True)
                (Path(place) / "new").rename(folder)
            content = {"gguf": digest, "folder": folder_digest(folder)}
            write_atomically(record, json.dumps(content).encode() + b"\n")
    finally:
        lock.release()
    return folder


def _is_whole(folder: Path, record: Path) -> bool:
    try:
        return bool(json.loads(record.read_bytes())["folder"] == folder_digest(folder))
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _convert(file: Path, folder: Path) -> None:
    """Write the tokenizer and the weights of a file, in 32 bits, to a new folder."""
    library = transformers()
    try:
        import accelerate  # noqa: F401
        import gguf  # noqa: F401
    except ImportError:
        raise missing_extra("a model in a GGUF file needs gguf and accelerate", "tiny-llm") from None
    where = {"gguf_file": file.name, "local_files_only": True}
    try:
        with redirect_stderr(StringIO()):  # hides a progress bar that ignores the library's settings
            tokenizer = library.AutoTokenizer.from_pretrained(str(file.parent), **where)
            model = library.AutoModelForCausalLM.from_pretrained(
                str(file.parent), quantization_config=library.GgufConfig(dequantize=True), **where
            )
            tokenizer.save_pretrained(str(folder))
            model.save_pretrained(str(folder))
    except Exception as error:  # of transformers, of gguf or of the file, by version
        raise ConfigError(f"file: {file} can't be read: {shown(str(error))}") from None
