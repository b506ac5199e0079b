"""Pretraining data: the corpus and its controls."""

import pytest

from ecsuite.eval.xferbench.texts import TextFile
from ecsuite.eval.xtreme.data import source


@pytest.fixture
def draw(tiny, tiny_preset):
    """The symbols of all windows of a source."""

    def draw(name, corpus=None, text=None, seed=0):
        found = source(name, corpus, text, tiny, tiny_preset.pretraining, seed)
        assert found.windows.symbols.shape[1] == tiny.context + 1
        return found.windows.symbols[:, :-1].flatten().tolist()

    return draw


def test_a_text_becomes_subwords(draw, tmp_path):
    file = tmp_path / "da.txt"
    file.write_text("en and svømmer\nto ænder svømmer\n" * 20)
    assert len(set(draw("human text", text=TextFile("da", file)))) > 1
