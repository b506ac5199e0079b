"""Pictures of objects in the page: which rows have one, each once, and not more than fit."""

import numpy as np
import pytest

from ecsuite.eval.views.html import corpora


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


def test_what_does_not_fit_is_left_out(pictured, page_of, monkeypatch):
    monkeypatch.setattr(corpora, "PICTURES", 150)
    [corpus] = page_of(pictured)[1]["corpora"]
    assert corpus["picture_of_row"] == [0] and len(corpus["pictures"]) == 1
