"""Pictures of objects in the page: which rows have one, each once, and not more than fit."""

import base64
from io import BytesIO

import numpy as np
import pytest

from ecsuite.eval.views.html import corpora
from ecsuite.runtime.errors import ConfigError

image = pytest.importorskip("PIL.Image")


@pytest.fixture
def pictured(tmp_path, write_run, monkeypatch):
    """A run of a world of images; every other row of its corpus has the same picture."""
    folder = tmp_path / "runs" / "a"
    write_run(folder, "gumbel", 5, 1)
    config = folder / "config.yaml"
    config.write_text(config.read_text().replace("kind: attributes", "kind: shape"))

    def pictures(folder, corpus, rows):
        assert len(corpus.messages) == 4
        shades = {row: np.full((8, 24, 3), 40 * (row % 2), dtype=np.uint8) for row in rows}
        return {row: (shade, f"shade {row % 2}") for row, shade in shades.items()}

    monkeypatch.setattr(corpora, "corpus_pictures", pictures)
    return folder


def test_each_picture_is_there_once(pictured, page_of):
    text, data = page_of(pictured)
    [corpus] = data["corpora"]
    # Of the pairs of message and meaning, the first messages are 0, 1 and 3.
    assert [words for _, words in corpus["pictures"]] == ["shade 0", "shade 1"]
    assert corpus["picture_of_row"] == [0, 1, 1] and len(corpus["rows"]) == 3
    kind, content = corpus["pictures"][1][0].split(",")
    assert kind == "data:image/webp;base64"
    assert image.open(BytesIO(base64.b64decode(content))).size == (24, 8)
    assert "img-src data:" in text


def test_what_does_not_fit_is_left_out(pictured, page_of, monkeypatch):
    monkeypatch.setattr(corpora, "PICTURES", 150)
    [corpus] = page_of(pictured)[1]["corpora"]
    assert corpus["picture_of_row"] == [0] and len(corpus["pictures"]) == 1


def test_a_page_without_pictures_says_why(pictured, page_of, monkeypatch):
    def fail(folder, corpus, rows):
        raise ConfigError("photos: no such folder")

    monkeypatch.setattr(corpora, "corpus_pictures", fail)
    text, data = page_of(pictured)
    assert "a: no pictures of its objects: photos: no such folder" in text
    assert data["corpora"][0]["pictures"] == []
