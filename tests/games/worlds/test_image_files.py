"""Images of every form become squares of pixels, and what can't be read is named in one line."""

import numpy as np
import pytest

from ecsuite.games.config.sources import content_digest
from ecsuite.games.worlds.images import read_images
from ecsuite.runtime.errors import ConfigError

Image = pytest.importorskip("PIL.Image")
SIDE = 16


def save(folder, name, image, **options):
    image.save(folder / name, **options)
    return read_images(str(folder), SIDE)


def sixteen_bits():
    return Image.fromarray(np.full((20, 20), 257 * 100, dtype=np.uint16))


def turned():
    """Green at the left, which the photo's own note puts at the top."""
    image = Image.new("RGB", (40, 40), "blue")
    image.paste((0, 255, 0), (0, 0, 20, 40))
    image.getexif()[0x0112] = 6
    return image


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


def test_a_photo_is_turned_back(tmp_path):
    image = turned()
    pixels = save(tmp_path, "a.jpg", image, exif=image.getexif()).images[0].astype(int)
    assert pixels[2, :, 1].min() > 200 and pixels[-3, :, 2].min() > 200


def test_the_first_frame_of_an_animation(tmp_path):
    frames = [Image.new("RGB", (20, 20), color) for color in ("red", "blue")]
    found = save(tmp_path, "a.gif", frames[0], save_all=True, append_images=frames[1:])
    assert found.images[0, 0, 0].tolist() == [255, 0, 0]
    assert found.notes == (f"{tmp_path}: the first frame of animated images is used: a.gif",)


def test_what_is_no_square_is_padded_or_cut(tmp_path):
    image = Image.new("RGB", (60, 20), "red")
    image.paste("blue", (20, 0, 40, 20))
    padded = save(tmp_path, "a.png", image)
    assert padded.images[0, 0].min() == 255 and padded.images[0, SIDE // 2, 0].tolist() == [255, 0, 0]
    assert padded.notes[0].endswith(
        "1 of 1 images are not square: padded with white (--set world.fit=crop cuts them)"
    )
    cut = read_images(str(tmp_path), SIDE, "crop")
    assert (cut.images[0, :, SIDE // 2] == [0, 0, 255]).all() and "cut to squares" in cut.notes[0]


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


def test_damaged_images_are_named_in_one_line(tmp_path):
    Image.new("RGB", (30, 30)).save(tmp_path / "whole.jpg")
    whole = (tmp_path / "whole.jpg").read_bytes()
    (tmp_path / "cut.jpg").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "empty.png").write_bytes(b"")
    (tmp_path / "text.png").write_text("text")
    Image.fromarray(np.full((9, 9), 7, dtype=np.float32)).save(tmp_path / "values.tiff")
    with pytest.raises(ConfigError, match=r"4 images can't be read: cut\.jpg") as found:
        read_images(str(tmp_path), SIDE)
    message = str(found.value)
    assert (
        "empty.png (empty), text.png (not an image, or in a format that Pillow does not read) and 1 more"
        in message
    )
    assert "\n" not in message and "whole" not in message


def test_an_image_of_too_many_pixels(tmp_path, monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    with pytest.raises(ConfigError, match=r"an image can't be read: a.png \(more than 178 million pixels\)"):
        save(tmp_path, "a.png", Image.new("L", (30, 30)))


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


def test_the_checksum_is_of_images_alone(tmp_path):
    Image.new("L", (9, 9)).save(tmp_path / "a.png")
    before = content_digest(str(tmp_path))
    (tmp_path / "notes.txt").write_text("x")
    assert content_digest(str(tmp_path)) == before
    Image.new("L", (9, 9), 1).save(tmp_path / "a.png")
    assert content_digest(str(tmp_path)) != before
