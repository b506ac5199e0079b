"""A collection is scored by jobs that are kept, into one table with names by system."""

import pytest

from ecsuite.eval.experiments.corpora import members_of
from ecsuite.runtime.errors import ConfigError


def test_other_corpora_get_names_that_differ(tmp_path):
    for folder in ("a/run", "b/run", "c"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "corpus.jsonl").write_text("[1]\n")
    paths = [tmp_path / folder / "corpus.jsonl" for folder in ("a/run", "b/run", "c")]
    assert [member.name for member in members_of(paths)] == ["a/run", "b/run", "c"]
    with pytest.raises(ConfigError, match=r": given 2 times$"):
        members_of([paths[0], paths[0].parent])
