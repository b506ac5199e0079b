"""A published encoder is known by its files."""

import pytest
import transformers.utils.hub

from ecsuite.eval.models.backbones import PublishedBackbone
from ecsuite.eval.xtreme.data import PublishedModel
from ecsuite.runtime.errors import ConfigError


def test_a_model_of_a_folder_is_known_by_its_files(tiny_bert, tmp_path):
    found = PublishedModel(name=str(tiny_bert)).identified()
    moved = tiny_bert.rename(tmp_path / "moved")
    assert PublishedModel(name=str(moved)).identified().job_key() == found.job_key() == found.digest
    assert PublishedModel(name=str(moved)).identified().load().width == 16
    model = PublishedBackbone(str(moved)).model
    model.embeddings.word_embeddings.weight.data.mul_(-3)
    model.save_pretrained(moved)
    assert PublishedModel(name=str(moved)).identified().digest != found.digest


def test_a_model_that_has_changed_is_refused(tiny_bert):
    found = PublishedModel(name=str(tiny_bert)).identified()
    (tiny_bert / "notes.txt").write_text("changed")
    with pytest.raises(ConfigError, match="has changed during the run"):
        found.load()


def test_a_model_of_the_hub_is_known_by_its_commit(monkeypatch):
    """Before, it was known by its name, so that results of a former model were read again."""
    digests = []
    for commit in ("1a", "2b"):
        config = f"models--some--bert/snapshots/{commit}/config.json"
        monkeypatch.setattr(transformers.utils.hub, "cached_file", lambda *_, found=config: found)
        digests.append(PublishedModel(name="some/bert").identified().digest)
    assert digests == ["some/bert@1a", "some/bert@2b"]
