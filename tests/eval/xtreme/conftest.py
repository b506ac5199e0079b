"""Files of tasks, and the data of XTREME if they are there."""

import gzip
import lzma
from pathlib import Path

import pytest

DATA = Path(__file__).parents[4] / "shared" / "data" / "xtreme"


@pytest.fixture
def store(tmp_path):
    """Writes a file below `tmp_path`, compressed as its name says."""

    def store(name, text):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pack = {".xz": lzma.compress, ".gz": gzip.compress}.get(path.suffix, bytes)
        path.write_bytes(pack(text.encode()))
        return path

    return store


@pytest.fixture
def data():
    """The folder of the real data."""
    if not DATA.is_dir():
        pytest.skip("shared/data/xtreme is not there")
    return DATA
