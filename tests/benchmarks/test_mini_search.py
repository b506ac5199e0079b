"""The search for a recipe of mini, with a model that takes a second."""

import mini_search
import numpy as np
from mini_search import HALVES, RECIPES, Recipe, verdict

from ecsuite.corpus import Corpus
from ecsuite.eval.xferbench.presets import MINI, PRESETS


def test_halves_share_the_baselines_only():
    assert set(HALVES["search"]) & set(HALVES["verdict"]) == {"no_pretrain", "random"}


def test_copies_of_a_message():
    corpus = Corpus([[1], [1], [2], [1], [1], [3, 3]])

    def rows(power):
        kept = Recipe(power=power).corpus(corpus)
        return [kept.messages[row].tolist() for row in range(len(kept.messages))]

    assert rows(1.0) == [[1], [1], [2], [1], [1], [3, 3]]
    assert rows(0.5) == [[1], [1], [2], [3, 3]]
    assert rows(0.0) == [[1], [2], [3, 3]]
    assert Recipe(power=0.0).corpus(None) is None


def test_passes_are_limited_for_small_corpora_only():
    small, large = Corpus([[1, 2]] * 10), Corpus([[1, 2, 3]] * 100_000)
    recipe = Recipe(most_passes=10, changes={"tune_epochs": 6})
    assert recipe.preset(small).pretrain_tokens == 10 * 30  # an end is a token
    assert recipe.preset(large).pretrain_tokens == recipe.preset(None).pretrain_tokens == MINI.pretrain_tokens
    assert recipe.preset(small).tune_epochs == 6


def test_the_verdict_names_games_that_are_wrongly_behind_noise():
    published = ("fr", "disc44", "recon44", "babyai_goto", "no_pretrain", "random")
    values = dict(zip(published, [[4.9], [5.0], [5.3, 5.2], [5.4], [5.1], [5.2]], strict=True))
    text = verdict(values)
    assert text.endswith("; wrongly behind noise: recon44")  # babyai_goto is behind noise as published, too
    assert text.startswith("all rho 0.83") and "games rho 1.00" in text


def test_a_search_runs_to_its_end_and_goes_on_from_what_is_kept(tmp_path, monkeypatch, capsys):
    nano = PRESETS["nano"]
    monkeypatch.setattr(mini_search, "MINI", nano)
    monkeypatch.setattr(mini_search, "STAND_INS", {})
    monkeypatch.setattr(mini_search, "RECIPES", {"default": Recipe(), "distinct": RECIPES["distinct"]})
    corpus = tmp_path / "corpus.jsonl"
    rng = np.random.default_rng(1)
    corpus.write_text("".join(f"{row.tolist()}\n" for row in rng.integers(1, 5, size=(40, 4))))
    (tmp_path / "fr.txt").write_text("un deux trois\n\nquatre cinq six\n" * 60)
    command = [
        f"--texts={tmp_path}", f"--corpus=disc44={corpus}", f"--cache={tmp_path / 'cache'}",
        "--recipes", "default", "distinct",
    ]  # fmt: skip
    mini_search.main(command)
    first = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in first[::2]] == ["default", "distinct"]
    assert all(" disc44 " in line and " random " in line for line in first[1::2])
    kept = sorted((tmp_path / "cache").rglob("*"))
    mini_search.main(command)
    assert capsys.readouterr().out.splitlines()[1::2] == first[1::2]
    assert sorted((tmp_path / "cache").rglob("*")) == kept
