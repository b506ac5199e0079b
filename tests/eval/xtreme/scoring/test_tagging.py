"""Tagged words: columns with and without tags, WikiAnn's prefixes, and CoNLL-U as converted by XTREME."""

import pytest

from ecsuite.eval.xtreme.scoring.labels import has_tags, read_tagged
from ecsuite.eval.xtreme.scoring.tasks import TASKS
from ecsuite.runtime.errors import ConfigError

ENTITY_TAGS = TASKS["panx"].tags


@pytest.fixture
def stored(tmp_path):
    def store(text, name="dev-xx.tsv"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return store


@pytest.mark.parametrize("text", ["", "\n\n"])
def test_no_sentence_is_an_error(stored, text):
    path = stored(text)
    with pytest.raises(ConfigError) as error:
        read_tagged(path, ENTITY_TAGS)
    assert str(error.value) == (
        f"{path}: expected lines `word<TAB>tag` and a blank line after each sentence, found no sentence"
    )
    assert not has_tags(path)
