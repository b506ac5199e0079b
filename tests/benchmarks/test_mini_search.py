from dataclasses import replace

import early_stopping
import mini_search
import numpy as np
import pytest
from mini_search import HALVES, RECIPES, Recipe, summary

from ecsuite.corpus import Corpus
from ecsuite.eval.xferbench.jobs import make_study
from ecsuite.eval.xferbench.presets import MINI, PRESETS, XferBenchPretraining
from ecsuite.jobs.graph import Runner


def test_halves_share_the_baselines_only():
    for half in ("held_out", "held_out_texts"):
        assert set(HALVES["search"]) & set(HALVES[half]) == {"no_pretrain", "random"}


def test_copies_of_a_message():
    corpus = Corpus([[1], [1], [2], [1], [1], [3, 3]])

    def rows(power):
        kept = Recipe(power=power).corpus(corpus)
        return [kept.messages[row].tolist() for row in range(len(kept.messages))]

    assert rows(1.0) == [[1], [1], [2], [1], [1], [3, 3]]
    assert rows(0.5) == [[1], [1], [2], [3, 3]]
    assert rows(0.0) == [[1], [2], [3, 3]]
    assert Recipe(power=0.0).corpus(None) is None


@pytest.mark.slow
def test_passes_are_limited_for_small_corpora_only():
    small, large = Corpus([[1, 2]] * 10), Corpus([[1, 2, 3]] * 100_000)
    recipe = Recipe(most_passes=10, changes={"tune_epochs": 6})
    assert recipe.preset(small).pretrain_tokens == 10 * 30  # an end is a token
    assert recipe.preset(large).pretrain_tokens == recipe.preset(None).pretrain_tokens == MINI.pretrain_tokens
    assert recipe.preset(small).tune_epochs == 6


def test_the_summary_names_games_that_are_wrongly_behind_noise():
    published = ("fr", "disc44", "recon44", "babyai_goto", "no_pretrain", "random")
    values = dict(zip(published, [[4.9], [5.0], [5.3, 5.2], [5.4], [5.1], [5.2]], strict=True))
    text = summary(values)
    assert text.endswith("; wrongly behind noise: recon44")  # babyai_goto is behind noise as published, too
    assert text.startswith("all rho 0.83") and "games rho 1.00" in text


@pytest.mark.slow
def test_a_search_runs_to_its_end_and_goes_on_from_what_is_kept(tmp_path, monkeypatch, capsys):
    nano = PRESETS["nano"]
    monkeypatch.setattr(mini_search, "MINI", nano)
    monkeypatch.setattr(mini_search, "STAND_INS", {})
    recipes = {"early": RECIPES["early"]}
    monkeypatch.setattr(mini_search, "RECIPES", recipes)
    corpus = tmp_path / "corpus.jsonl"
    rng = np.random.default_rng(1)
    corpus.write_text("".join(f"{row.tolist()}\n" for row in rng.integers(1, 5, size=(40, 4))))
    (tmp_path / "fr.txt").write_text("un deux trois\n\nquatre cinq six\n" * 60)
    command = [
        f"--texts={tmp_path}", f"--corpus=disc44={corpus}", f"--cache={tmp_path / 'cache'}", "--recipes", "early",
    ]  # fmt: skip
    mini_search.main(command)
    first = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in first[::2]] == ["early"]
    assert all(" disc44 " in line and " random " in line for line in first[1::2])
    kept = sorted((tmp_path / "cache").rglob("*"))
    mini_search.main(command)
    assert capsys.readouterr().out.splitlines()[1::2] == first[1::2]
    assert sorted((tmp_path / "cache").rglob("*")) == kept


@pytest.mark.slow
def test_held_out_messages_are_not_trained_on_and_training_ends_at_the_least_loss(tmp_path):
    rng = np.random.default_rng(0)
    corpus = Corpus([[1, *rng.integers(2, 30, size=6).tolist()] for _ in range(30)] * 3)
    sizes = replace(PRESETS["nano"], pretrain_epochs=40, lr=1e-2).part(XferBenchPretraining)
    train, held_out, num_types = early_stopping.halves(corpus.messages, sizes, seed=0)
    assert num_types == len(np.unique(corpus.messages.values))

    def messages(windows):
        stream = windows.symbols[:, :-1].flatten().tolist()
        starts = [place for place, symbol in enumerate(stream) if symbol == 0]
        return {tuple(stream[start : start + 7]) for start in starts if start + 7 <= len(stream)}

    assert len(messages(train)) == 27 and len(messages(held_out)) == 3
    assert not messages(train) & messages(held_out)
    study = make_study(corpus, [], replace(PRESETS["nano"], pretrain_epochs=40, lr=1e-2), [0], device="cpu")
    [job] = early_stopping.plan_early(study).values()
    value = Runner(folder=tmp_path, num_workers=1).run([job])[job].value
    assert value["num_tokens"] < 40 * sizes.pretrain_tokens / 2  # random messages are soon learnt by heart
    assert value["held_out_loss"] > 0
