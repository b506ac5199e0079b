"""How much memory reading may take, and files that would take more: refused before they are unpacked."""

import gzip
import lzma
import math
from pathlib import Path

import pytest

from ecsuite.corpus import Corpus
from ecsuite.formats import read_corpus
from ecsuite.jobs.job import Job, Outcome, job_function
from ecsuite.jobs.store import Store
from ecsuite.runtime import memory
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.memory import max_memory, read_size, require_memory, set_max_memory, size_text


@job_function(version=1)
def count(*, corpus, context):
    """A job whose result is kept."""


@pytest.fixture
def one_mebibyte(monkeypatch):
    monkeypatch.setenv("ECSUITE_MAX_MEMORY", "1M")


@pytest.mark.parametrize(
    ("text", "size"),
    [("1000000", 10**6), ("500M", 500 << 20), ("8G", 8 << 30), ("1.5 GiB", 3 << 29), ("2kb", 2048)],
)
def test_sizes(text, size):
    assert read_size(text, "--max-memory") == size


@pytest.mark.parametrize("text", ["", "0", "-1G", "8 apples", "1e9", "nan", "9" * 99, "٣G"])
def test_what_is_no_size(ecsuite, text):
    code, out, err = ecsuite("list", "games", "--max-memory", text)
    assert (code, out) == (2, "") and err.startswith("--max-memory: expected a size such as 500M or 8G, got ")


def test_the_variable_is_read_as_well(monkeypatch):
    monkeypatch.setenv("ECSUITE_MAX_MEMORY", "1G")
    set_max_memory("3G")
    assert max_memory() == 3 << 30
    monkeypatch.setenv("ECSUITE_MAX_MEMORY", "much")
    with pytest.raises(ConfigError, match=r"^ECSUITE_MAX_MEMORY: expected a size"):
        max_memory()


def test_unless_it_is_set_a_share_of_what_is_free_is_allowed(monkeypatch):
    monkeypatch.setenv("ECSUITE_MAX_MEMORY", "")
    assert 1 << 26 < max_memory() < 1 << 50
    monkeypatch.setattr(memory, "free_memory", lambda: 4 << 30)
    require_memory(3 << 30, "a.npz")
    with pytest.raises(ConfigError) as error:
        require_memory((3 << 30) + 1, "a.npz")
    assert str(error.value) == (
        "a.npz: needs 3.0 GiB of memory to be read, and 3.0 GiB are allowed; --max-memory 4G allows more"
    )


@pytest.mark.parametrize(
    ("files", "free"),
    [
        ({}, math.inf),
        ({"memory.max": "max", "memory.current": "1", "memory.stat": ""}, math.inf),
        ({"memory.max": "100", "memory.current": "60", "memory.stat": "file 9\ninactive_file 20\n"}, 60),
        ({"../memory.max": "30", "../memory.current": "10", "../memory.stat": ""}, 20),
    ],
)
def test_the_limit_of_a_container(tmp_path, files, free):
    (tmp_path / "own").write_text("0::/job/step\n")
    (tmp_path / "group" / "job" / "step").mkdir(parents=True)
    for name, content in files.items():
        (tmp_path / "group" / "job" / "step" / name).write_text(content)
    assert memory._free_in_group(tmp_path / "group", tmp_path / "own") == free


def test_sizes_for_people():
    assert [size_text(size) for size in (7, 2048, 1_500_000, 3 << 30, 2000 << 40)] == [
        "7 bytes", "2.0 KiB", "1.4 MiB", "3.0 GiB", "2,000.0 TiB",
    ]  # fmt: skip


@pytest.mark.parametrize(("name", "pack"), [("a.gz", gzip.compress), ("a.xz", lzma.compress)])
def test_packed_zeros(ecsuite, one_mebibyte, name, pack):
    """Ten thousand bytes that hold ten million."""
    Path(name).write_bytes(pack(bytes(10**7)))
    Path("run").mkdir()
    (Path("run") / "corpus.jsonl").write_text("[1, 2]\n")
    code, _, err = ecsuite("translate", "run", "--pairs", name, "--plan")
    assert code == 2 and err.startswith(f"{name}: needs ") and "are allowed; --max-memory" in err


def test_a_parquet_file_of_equal_values(tmp_path, one_mebibyte):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    file = tmp_path / "a.parquet"
    parquet.write_table(pyarrow.table({"text": pyarrow.array(["a"] * 10**6)}), file)
    assert file.stat().st_size < 5000
    with pytest.raises(
        ValueError, match=r"^.*a\.parquet: needs 7\.6 MiB of memory to be read, and 1\.0 MiB are"
    ):
        read_corpus(file)


def test_an_image_of_many_pixels(tmp_path, one_mebibyte):
    from PIL import Image

    from ecsuite.games.worlds.images import read_images

    Image.new("1", (3000, 3000)).save(tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size < 5000
    with pytest.raises(ConfigError, match=r"a\.png \(3000 x 3000 pixels: needs 68\.7 MiB of memory"):
        read_images(str(tmp_path), 8)


def test_texts_and_weights(tmp_path, one_mebibyte):
    """Checkpoints, kept results, published models and corpora: by the size of their files."""
    import torch

    from ecsuite.eval.models.backbones import PublishedBackbone
    from ecsuite.files.tensor_files import read_tensors, write_tensors

    model, corpus = tmp_path / "model.safetensors", tmp_path / "corpus.jsonl"
    write_tensors(model, {"a": torch.zeros(300_000)}, {})
    corpus.write_text("[3, 1, 4]\n" * 120_000)
    for read, path, size in [
        (read_tensors, model, "2.3 MiB"),
        (lambda path: PublishedBackbone(str(path)), tmp_path, "1.1 MiB"),
        (read_corpus, corpus, "1.1 MiB"),
    ]:
        with pytest.raises(ConfigError) as error:
            read(path)
        assert str(error.value).startswith(f"{path}: needs {size} of memory ")
        assert str(error.value).endswith(" allows more")


def test_kept_arrays(tmp_path, one_mebibyte):
    store, job = Store(tmp_path), Job(count, corpus=Corpus.from_strings(["da bu"]))
    store.write(job, Outcome(value=1, arrays=bytes(2 << 20)), seconds=1.0)
    assert store.read(job) is not None
    with pytest.raises(
        ConfigError, match=r"\.safetensors: needs 2\.0 MiB of memory to be read, and 1\.0 MiB"
    ):
        store.read(job, needs_arrays=True)


def test_what_a_caller_in_python_allows(tmp_path, one_mebibyte):
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text("[3, 1, 4]\n" * 120_000)
    with pytest.raises(ConfigError, match=r"1\.0 MiB are allowed; max_memory='2M' allows more$"):
        read_corpus(corpus, max_memory="1000k")
    assert len(read_corpus(corpus, max_memory="2M").messages) == 120_000
    with pytest.raises(ConfigError, match=r"^max_memory: expected a size such as 500M or 8G, got 'all'"):
        read_corpus(corpus, max_memory="all")
    assert max_memory() == 1 << 20
