"""A small collection in the layout of ELCC, with known languages."""

import json

import pytest

LANGUAGES = {
    ("egg-disc", "4-attr"): [[1, 3, 0], [1, 4, 0], [2, 3, 0], [2, 4, 0]] * 5,
    ("egg-disc", "8-attr"): [[1, 1, 0], [2, 2, 0], [2, 1, 0], [1, 2, 0]] * 5,
    ("egg-disc", "2-attr"): [[1, 0], [2, 0]] * 5,
    ("rlupus", "9-player.run-3"): [[5, 6, 7, 8], [8], [7, 7]] * 7,
    ("rlupus", "9-player.run-4"): [[5], [8, 8], [6, 7]] * 7,
    ("nav", "lexicon"): [[1, 2], [2, 1], [3]] * 6,
    ("nav", "lexicon_2"): [[1, 2, 3], [3, 3], [2]] * 6,
}


@pytest.fixture
def collection(tmp_path):
    """The paths of the corpora."""
    paths = []
    for (system, variant), messages in LANGUAGES.items():
        folder = tmp_path / "systems" / system / "data" / variant
        folder.mkdir(parents=True)
        (folder / "corpus.jsonl").write_text("".join(f"{message}\n" for message in messages))
        (folder / "metadata.json").write_text(json.dumps({"variant": variant}))
        (folder.parent.parent / "system.json").write_text(json.dumps({"game_type": system}))
        paths.append(folder / "corpus.jsonl")
    return paths
