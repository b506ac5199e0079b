"""Images of every form, of IDX files and of a user become squares of pixels and games; bad ones are named in a line."""

import gzip
import json
import re
import shutil

import numpy as np
import pytest

from ecsuite.formats import read_corpus
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.config.sources import content_digest
from ecsuite.games.worlds.images import read_idx, read_images
from ecsuite.games.worlds.world import make_world
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


IMAGES = np.random.default_rng(0).integers(0, 256, (6, 28, 28), dtype=np.uint8)
LABELS = np.array([3, 1, 3, 0, 1, 3], np.uint8)
NO_IDX = "expected an IDX file of bytes in 3 dimensions, got"


def idx(array):
    """The bytes of an IDX file."""
    return bytes((0, 0, 8, array.ndim)) + np.array(array.shape, ">u4").tobytes() + array.tobytes()


def write_idx(folder, part, images, labels, pack=bytes, suffix=""):
    folder.mkdir(exist_ok=True)
    (folder / f"{part}-images-idx3-ubyte{suffix}").write_bytes(pack(idx(images)))
    (folder / f"{part}-labels-idx1-ubyte{suffix}").write_bytes(pack(idx(labels)))


@pytest.mark.parametrize(
    "content, message",
    [
        (b"", "expected an IDX file of bytes in 3 dimensions, got b''"),
        (idx(LABELS), NO_IDX),
        (b"\x00\x00\x0d\x03" + idx(IMAGES)[4:], NO_IDX),
        (idx(IMAGES)[:9], NO_IDX),
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
    write_idx(tmp_path, "train", IMAGES, LABELS[:5])
    with pytest.raises(ConfigError, match=r"expected 6 labels, as images, got 5"):
        read_images(str(tmp_path), 28)


def test_idx_files_of_all_parts_with_their_labels(tmp_path):
    write_idx(tmp_path / "raw", "train", IMAGES[:4], LABELS[:4], gzip.compress, ".gz")
    write_idx(tmp_path / "raw", "t10k", IMAGES[4:], LABELS[4:])
    found = read_images(str(tmp_path), 28)
    assert found.files == ("t10k/0", "t10k/1", *(f"train/{number}" for number in range(4)))
    assert (found.images == IMAGES[[4, 5, 0, 1, 2, 3], :, :, None]).all() and not found.notes
    assert found.class_names == ("0", "1", "3") and found.class_id.tolist() == [1, 2, 2, 1, 2, 0]


SMALL = (
    "training.num_examples=64", "training.num_epochs=1", "training.batch_size=32", "evaluation.num_valid=32",
    "task.num_distractors=2", "sender.hidden_size=8", "receiver.hidden_size=8",
)  # fmt: skip


LINE = [part for setting in (*SMALL, "world.size=16") for part in ("--set", setting)]


@pytest.fixture
def photos(image_folder, tmp_path):
    return shutil.copytree(image_folder, tmp_path / "photos")


@pytest.mark.slow
def test_a_folder_is_a_game(ecsuite, photos):
    code, out, err = ecsuite("train-game", "photos/", *LINE, "--set", "world.held_out_value=class=cat")
    assert code == 0 and "Corpus in runs/photos;" in out, err
    assert "16 of 16 images are not square" in err and "seen objects" in out
    assert "photos/: 16 images of 2 classes\nphotos/: 8 of 16 objects are held out from training\n" in err
    corpus = read_corpus("runs/photos")
    files = corpus.columns["file"].tolist()
    assert files == sorted(file.relative_to(photos).as_posix() for file in photos.glob("*/*.png"))
    for file, phrase, split in zip(files, corpus.concepts, corpus.columns["split"].tolist(), strict=True):
        name = file.split("/")[0]
        assert [corpus.concept_names[each] for each in phrase] == [f"class={name}"]
        assert split == ("held_out" if name == "cat" else "train")
    shutil.copytree(photos / "bird", "other/bird")
    code, out, err = ecsuite("evaluate", "runs/photos", "--objects", "other", "--json")
    assert code == 0 and list(json.loads(out)["evaluations"]) == ["valid"], err
    shutil.rmtree(photos / "cat")
    code, _, err = ecsuite("evaluate", "runs/photos")
    assert code == 2 and "world.objects: photos/ has other content than when this config was written" in err
    code, _, err = ecsuite("train-game", "photos", *LINE)
    assert code == 2 and err.splitlines()[-1].startswith("runs/photos holds another run (")


def test_classes_of_other_images_have_the_numbers_of_training(image_folder, photos):
    settings = [*SMALL[:-3], "task=reconstruction", "world.size=16"]
    trained = make_world(load_experiment(image_folder, settings))
    shutil.rmtree(photos / "bird")
    world = make_world(load_experiment(str(photos), settings), trained)
    assert set(world.objects.values_table.ravel()) == {1} and world.num_values == (2,)
    (photos / "cat").rename(photos / "cow")
    with pytest.raises(ConfigError, match=r"expected images of the training classes \(bird, cat\), got cow"):
        make_world(load_experiment(str(photos), settings), trained)


def test_images_of_a_batch_are_few(image_folder):
    settings = [*SMALL, "world.size=16", "world.images_per_batch=5"]
    world = make_world(load_experiment(image_folder, settings))
    batches = [world.batch("train", number) for number in (0, 1)]
    assert [len(batch.objects) for batch in batches] == [5, 5]
    assert not np.array_equal(*(batch.objects for batch in batches))


def test_an_unpacked_idx_file_is_taken_and_the_digest_is_of_all_files(tmp_path):
    images, labels = np.random.default_rng(0).integers(0, 256, (6, 28, 28), np.uint8), np.arange(6, dtype=np.uint8)

    def write(images, labels, pack=bytes, suffix=""):
        for name, array in (("images-idx3", images), ("labels-idx1", labels)):
            data = bytes((0, 0, 8, array.ndim)) + np.array(array.shape, ">u4").tobytes() + array.tobytes()
            (tmp_path / f"train-{name}-ubyte{suffix}").write_bytes(pack(data))

    write(images, labels)
    before = content_digest(str(tmp_path))
    write(255 - images, labels, gzip.compress, ".gz")
    assert (read_images(str(tmp_path), 28).images == images[..., None]).all()
    assert content_digest(str(tmp_path)) == before
    write(images, labels[::-1].copy())
    assert content_digest(str(tmp_path)) != before
