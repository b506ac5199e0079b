"""Data sets of Hugging Face that lie in a folder: images are a world of images, other columns a table."""

import numpy as np
import pytest

from ecsuite.games.config.sources import content_digest, digest, kind_of, name_of
from ecsuite.games.worlds.images import read_images
from ecsuite.games.worlds.tables import read_objects
from ecsuite.runtime.errors import ConfigError

datasets = pytest.importorskip("datasets")
Image = pytest.importorskip("PIL.Image")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Data sets in both forms: `saved` and `parquet` of images with two splits, `table` of attributes."""
    datasets.disable_progress_bars()
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    images = [Image.fromarray(rng.integers(256, size=(8, 8, 3)).astype(np.uint8)) for _ in range(6)]
    kind = datasets.ClassLabel(names=["cat", "bird"])
    features = datasets.Features({"image": datasets.Image(), "kind": kind})
    splits = {
        name: datasets.Dataset.from_dict({"image": images[part], "kind": [0, 1, 1][: len(images[part])]}, features)
        for name, part in (("test", slice(4, 6)), ("train", slice(0, 3)))
    }  # fmt: skip
    datasets.DatasetDict(splits).save_to_disk(str(folder / "saved"))
    (folder / "parquet").mkdir()
    for name, rows in splits.items():
        rows.to_parquet(str(folder / "parquet" / f"{name}-00000-of-00001.parquet"))
    columns = {"shape": ["a", "b", "a", "b"], "size": [1, 1, 2, 2]}
    datasets.Dataset.from_dict(columns).save_to_disk(str(folder / "table"))
    datasets.Dataset.from_dict({"words": [["a"], ["b"]]}).save_to_disk(str(folder / "lists"))
    return folder


@pytest.mark.parametrize("form", ["saved", "parquet", "hf:{}/saved", "hf:{}/parquet:train"])
def test_images_of_a_data_set(folder, form):
    source = form.format(folder) if form.startswith("hf:") else str(folder / form)
    found = read_images(source, 16)
    assert found.images.shape == (3, 16, 16, 3) and found.files == ("row 0", "row 1", "row 2")
    assert found.class_names == ("bird", "cat") and found.class_id.tolist() == [1, 0, 0]
    assert kind_of(source) == "images" and name_of(source) == form.split("/")[-1].split(":")[0]


def test_the_checksum_is_of_the_content_in_any_form(folder):
    one, other, test = (content_digest(f"hf:{folder}/{name}") for name in ("saved", "parquet", "saved:test"))
    assert one == other == digest(str(folder / "saved")) != test and len(one) == 64


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("saved:valid", "unknown split of .*saved: 'valid'; choices: "),
        ("table:test", "has no splits: leave out :test"),
        ("lists", 'column "words": expected texts or numbers, got list'),
        ("nothing", "can't be loaded: .*without a network, run on another machine: python -c .*save_to_disk"),
    ],
)
def test_mistakes(folder, name, message, monkeypatch):
    def load_dataset(name, split=None):
        raise ConnectionError("no network")

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    with pytest.raises(ConfigError, match=message) as found:
        read_objects(f"hf:{folder}/{name}")
    assert "\n" not in str(found.value)


def test_a_data_set_of_images_is_no_table(folder):
    with pytest.raises(ConfigError, match="expected a column of images, got shape, size"):
        read_images(str(folder / "table"), 16)
