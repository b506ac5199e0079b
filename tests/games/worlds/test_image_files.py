"""Images of every form become squares of pixels, and what can't be read is named in one line."""

import numpy as np
import pytest

from ecsuite.games.worlds.images import read_images
from ecsuite.runtime.errors import ConfigError

Image = pytest.importorskip("PIL.Image")
SIDE = 16


def save(folder, name, image, **options):
    image.save(folder / name, **options)
    return read_images(str(folder), SIDE)


def sixteen_bits():
    return Image.fromarray(np.full((20, 20), 257 * 100, dtype=np.uint16))


@pytest.mark.parametrize(
    ("name", "make", "expected"),
    [
        ("a.png", lambda: Image.new("RGB", (30, 30), (1, 2, 3)), (1, 2, 3)),
        ("a.png", sixteen_bits, (100, 100, 100)),
        ("a.png", lambda: Image.new("RGBA", (30, 30), (255, 0, 0, 51)), (255, 204, 204)),
        ("a.png", lambda: Image.new("LA", (30, 30), (0, 0)), (255, 255, 255)),
        ("a.png", lambda: Image.new("1", (30, 30), 1), (255, 255, 255)),
        ("a.png", lambda: Image.new("L", (1, 1), 7), (7, 7, 7)),
        ("a.gif", lambda: Image.new("P", (30, 30), 0), (0, 0, 0)),
        ("a.tif", lambda: Image.fromarray(np.full((9, 9), 0.5, dtype=np.float32)), (128, 128, 128)),
        ("a.jpg", lambda: Image.new("CMYK", (30, 30), (0, 0, 0, 255)), (0, 0, 0)),
        ("A.JPG", lambda: Image.new("RGB", (30, 30), "white"), (255, 255, 255)),
    ],
)
def test_every_form_of_image(tmp_path, name, make, expected):
    found = save(tmp_path, name, make())
    assert found.images.shape == (1, SIDE, SIDE, 3) and found.images.dtype == np.uint8
    assert np.abs(found.images[0].astype(int) - expected).max() <= 2
    assert found.files == (name,) and found.class_id is None and found.notes == ()


def test_classes_equal_images_and_files_that_are_none(tmp_path):
    for name, color in (("b/1", "red"), ("b/2", "blue"), ("a/3", "red"), ("a/4", "green")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        Image.new("RGB", (SIDE, SIDE), color).save(tmp_path / f"{name}.png")
    (tmp_path / "notes.txt").write_text("")
    (tmp_path / "a" / "list.csv").write_text("")
    found = read_images(str(tmp_path), SIDE)
    assert found.files == ("a/3.png", "a/4.png", "b/2.png")
    assert found.class_names == ("a", "b") and found.class_id.tolist() == [0, 0, 1]
    assert [note.split(": ", 1)[1] for note in found.notes] == [
        "files with other endings are left out: a/list.csv, notes.txt",
        "equal images are used once: b/1.png equals a/3.png",
    ]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ([], "no images in it or its subfolders"),
        (["1.png", "a/1.png"], "1.png is in no subfolder, but a/1.png is"),
        (["train/a/1.png"], "is two folders deep: give the folder of the classes, such as .*train$"),
    ],
)
def test_folders_that_cannot_be_used(tmp_path, files, message):
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("L", (9, 9)).save(tmp_path / name)
    with pytest.raises(ConfigError, match=message):
        read_images(str(tmp_path), SIDE)
