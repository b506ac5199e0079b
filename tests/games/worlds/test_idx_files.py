"""IDX files, the form of MNIST: read as folders of images are, and refused in one line where they are damaged."""

import gzip
import re

import numpy as np
import pytest

from ecsuite.games.worlds.images import read_idx, read_images
from ecsuite.runtime.errors import ConfigError

RNG = np.random.default_rng(0)
IMAGES = RNG.integers(0, 256, (6, 28, 28), dtype=np.uint8)
LABELS = np.array([3, 1, 3, 0, 1, 3], np.uint8)


def idx(array):
    """The bytes of an IDX file."""
    return bytes((0, 0, 8, array.ndim)) + np.array(array.shape, ">u4").tobytes() + array.tobytes()


def write(folder, part, images, labels, pack=bytes, suffix=""):
    folder.mkdir(exist_ok=True)
    (folder / f"{part}-images-idx3-ubyte{suffix}").write_bytes(pack(idx(images)))
    (folder / f"{part}-labels-idx1-ubyte{suffix}").write_bytes(pack(idx(labels)))


def test_a_game_about_them(tmp_path, ecsuite):
    write(tmp_path / "mnist", "train", IMAGES, LABELS)
    sizes = ("--set", "world.size=16", "--set", "task.num_distractors=1", "--set", "evaluation.num_valid=8")
    code, _, errors = ecsuite("train-game", tmp_path / "mnist", "--epochs", "1", *sizes,
                              "--set", "training.num_examples=8", "--out", tmp_path / "run")  # fmt: skip
    assert code == 0 and "6 images of 3 classes" in errors


@pytest.mark.parametrize(
    "content, message",
    [
        (b"", "expected an IDX file of bytes in 3 dimensions, got b''"),
        (idx(LABELS), "expected an IDX file of bytes in 3 dimensions, got"),
        (b"\x00\x00\x0d\x03" + idx(IMAGES)[4:], "expected an IDX file of bytes in 3 dimensions, got"),
        (idx(IMAGES)[:9], "expected an IDX file of bytes in 3 dimensions, got"),
        (idx(IMAGES)[:-1], "expected 4,704 values according to its header, got 4,703"),
        (idx(IMAGES) + b"1", "expected 4,704 values according to its header, got more"),
    ],
)
def test_damaged_files(tmp_path, content, message):
    file = tmp_path / "train-images-idx3-ubyte"
    file.write_bytes(content)
    with pytest.raises(ConfigError, match=re.escape(f"{file}: {message}")):
        read_idx(file, 3)
    packed = tmp_path / "train-images-idx3-ubyte.gz"
    packed.write_bytes(gzip.compress(content)[:-9])
    with pytest.raises(ConfigError, match=r"can't be read|expected"):
        read_idx(packed, 3)


def test_sizes_beyond_memory_and_missing_labels(tmp_path):
    file = tmp_path / "train-images-idx3-ubyte"
    file.write_bytes(bytes((0, 0, 8, 3)) + b"\xff" * 12)
    with pytest.raises(ConfigError, match="4294967295 x 4294967295 x 4294967295 values"):
        read_idx(file, 3)
    with pytest.raises(ConfigError, match=r"expected labels in the same folder, in train-labels-idx1-ubyte"):
        read_images(str(tmp_path), 28)
    write(tmp_path, "train", IMAGES, LABELS[:5])
    with pytest.raises(ConfigError, match=r"expected 6 labels, as images, got 5"):
        read_images(str(tmp_path), 28)
